#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench's peers: programs that run beside the clients and end with them, and clients
in one process."""
import contextlib
import csv
import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import among_mps  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
PATIENCE_S = 300        # ends a wait that hangs
BENCH = os.path.join(BUILD, "bin/gpreempt-bench")
FAKE = """#!/bin/sh
pool=${CUDA_MPS_PIPE_DIRECTORY##*/}
if [ "$1" = -d ]; then
	echo "$pool began" >>"$SAID"
	sh -c 'until [ -e "$0" ] || [ ! -e "$SAID" ]; do sleep 0.1; done' "$SAID.quit-$pool" >/dev/null 2>&1 &
	echo $! >"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
	exit 0
fi
read -r what
case $what in
get_server_list) cat "$SAID.$pool" ;;
*) sleep 0.4; echo "$pool $what" >>"$SAID"; { sleep 0.4; : >"$SAID.quit-$pool"; } >/dev/null 2>&1 & ;;
esac
"""


def soft_env(folder):
    return dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))


def took_us(path):
    """Time of each request, from its intended arrival."""
    with gzip.open(path, "rt", encoding="ascii") as f:
        return [(int(row["end_ns"]) - int(row["intended_ns"])) / 1e3 for row in csv.DictReader(f)]


def run_plan(plan, *files):
    """{scheduler: clients} under the peers in these files of bench/data/peers."""
    with tempfile.TemporaryDirectory() as folder:
        path, peers, kept = (os.path.join(folder, n) for n in ("p.json", "peers", "kept"))
        os.mkdir(peers)
        for name in files:
            shutil.copy(os.path.join(TOP, "bench/data/peers", name), peers)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(plan, f)
        done = subprocess.run([BENCH, "run", path, "--device=soft0", f"--peers={peers}",
                               f"--dir={kept}"], text=True, capture_output=True, timeout=PATIENCE_S,
                              env=soft_env(folder))
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
            runs = {run["scheduler"]: run["clients"] for run in json.load(f)["runs"]}
        for client in (c for clients in runs.values() for c in clients):
            client["took_us"] = took_us(os.path.join(kept, client["samples"]))
        return runs


class Together(unittest.TestCase):
    def test_one_process(self):
        """All clients as threads: with a stream each, and one after the other."""
        plan = {"time": 1, "tasks": [
            {"id": "lc", "load": {"type": "periodic", "frequency": 50},
             "client": {"priority": 0, "model_name": "spin:1ms"}},
            {"id": "after", "load": {"type": "dependent", "prev_task_ids": ["lc"]},
             "client": {"model_name": "spin:100us"}},
            {"id": "be", "load": {"type": "continuous"},
             "client": {"priority": 1, "model_name": "spin:4ms"}}]}
        runs = run_plan(plan, "streams.yaml", "sequential.yaml")
        for name in ("streams, priority", "sequential"):
            lc, after, be = runs[name]
            self.assertEqual((lc["requests"], lc["left"]), (49, 0), name)
            self.assertEqual(after["requests"], 49, name)
            self.assertGreater(be["done_per_s"], 150)
        # In sequence, all together do only as much as one can do.
        self.assertLess(runs["sequential"][2]["done_per_s"] * 4 + 49 + 4.9, 1000)


class Docs(unittest.TestCase):
    def test_whole_example(self):
        """The peer in docs/bench-plans.md is valid."""
        texts = []
        for name in ("docs/bench-plans.md", "bench/data/peers/mps-priority.yaml"):
            with open(os.path.join(TOP, name), encoding="utf-8") as f:
                texts.append(f.read())
        self.assertIn(f"```yaml\n{texts[1]}```\n", texts[0])


class Beside(unittest.TestCase):
    def test_what_it_used(self):
        """CPU time of a peer's program and its children; a peer without a program uses none."""
        with tempfile.TemporaryDirectory() as folder:
            peers, plan, kept, out = (os.path.join(folder, n)
                                      for n in ("peers", "p.json", "kept", "out"))
            os.mkdir(peers)
            for name in ("gpreemptd", "gpreemptd.yaml", "time-slicing.yaml"):
                shutil.copy(os.path.join(TOP, "bench/data/peers", name), peers)
            # The busy process has been orphaned by its starter.
            script = ("(sh -c 'while :; do :; done' & echo $! >{folder}/pid); echo ready; "
                      "cat >{folder}/none; cp /proc/$(cat {folder}/pid)/stat " + folder +
                      "; kill $(cat {folder}/pid)")
            with open(os.path.join(peers, "busy.yaml"), "w", encoding="ascii") as f:
                json.dump({"name": "busy", "what": "a CPU that is busy",
                           "lc": [], "be": [], "beside": ["sh", "-c", script], "hint": False,
                           "needs": []}, f)
            with open(plan, "w", encoding="ascii") as f:
                json.dump({"time": 1, "tasks": [
                    {"id": "lc", "load": {"type": "periodic", "frequency": 50},
                     "client": {"priority": 0, "model_name": "spin:1ms"}}]}, f)
            began = time.monotonic()
            done = subprocess.run([BENCH, "run", plan, "--device=soft0", f"--peers={peers}",
                                   f"--dir={kept}", f"--out={out}"], text=True, timeout=PATIENCE_S,
                                  capture_output=True, env=soft_env(folder))
            took = time.monotonic() - began
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                used = {run["scheduler"]: run["beside_cpu_s"] for run in json.load(f)["runs"]}
            with open(out, encoding="utf-8") as f:
                figures = [one for one in json.load(f)["figures"]
                           if one["name"] == "beside_cpu_s"]
            with open(os.path.join(folder, "stat"), encoding="ascii") as f:
                in_user, in_kernel = f.read().rsplit(")", 1)[1].split()[11:13]
        ticks_s = (int(in_user) + int(in_kernel)) / os.sysconf("SC_CLK_TCK")
        self.assertIsNone(used["time-slicing"])
        self.assertGreater(used["gpreemptd"], 0)
        # Other tests may leave it few of its cores' time. A shell that sleeps uses none. It uses
        # no more than the kernel counted until its end.
        self.assertGreater(used["busy"], 0.002)
        self.assertLessEqual(used["busy"], ticks_s + 0.02)
        self.assertLess(used["busy"], took)
        self.assertEqual({one["row"]: one["values"] for one in figures},
                         {"p, busy": [used["busy"]], "p, gpreemptd": [used["gpreemptd"]]})
        for name in ("busy", "gpreemptd"):
            self.assertIn(f"\n{name:17} {used[name]:.4f} s of CPU beside the clients\n",
                          done.stdout)


class Partly(unittest.TestCase):
    def test_who_waits_for_work_keeps_nobody_off(self):
        """Two best-effort clients with work a tenth of the time, and one that always has work:
        under the daemon it gets most of the rest."""
        plan = {"time": 2, "tasks": [
            {"id": "full", "load": {"type": "continuous"},
             "client": {"priority": 1, "model_name": "spin:10ms"}}] + [
            {"id": name, "load": {"type": "periodic", "frequency": 50},
             "client": {"priority": 1, "model_name": "spin:2ms"}} for name in ("one", "two")]}
        full, one, two = run_plan(plan, "gpreemptd", "gpreemptd.yaml")["gpreemptd"]
        print(f"always {full['done_per_s']:.1f}, a tenth {one['done_per_s']:.1f} and "
              f"{two['done_per_s']:.1f} a second")
        for client in (one, two):
            self.assertGreater(client["done_per_s"], 45)
        # It was 33 a second when each kept all of its turn.
        self.assertGreater(full["done_per_s"], 60)


class Deadlines(unittest.TestCase):
    def bench(self, folder, plan, *more):
        return subprocess.run(
            [BENCH, "run", os.path.join(TOP, f"bench/data/plans/deadlines/{plan}.json"),
             "--device=soft0", f"--peers={folder}/peers", "--seconds=0.5", *more], text=True,
            capture_output=True, timeout=PATIENCE_S, env=soft_env(folder))

    def test_they_are_said(self):
        """In gpreempt run --class's form, only for clients that have them."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/peers")
            said = f"echo {{class}}{{class_times}} >>{folder}/said; exec \"$@\""
            with open(f"{folder}/peers/says.yaml", "w", encoding="ascii") as f:
                json.dump({"name": "says", "what": "the class", "needs": [],
                           "lc": ["sh", "-c", said, "sh"], "be": ["sh", "-c", said, "sh"],
                           "hint": False}, f)
            done = self.bench(folder, "three")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(f"{folder}/said", encoding="ascii") as f:
                said = f.read()
            fast = self.bench(folder, "three", "--offered=1")
        self.assertEqual(said, "lc,period=20000000ns,deadline=10000us,runtime=4300us\n"
                         "lc:1,period=40000000ns,deadline=25000us,runtime=10300us\n"
                         "lc:2,period=60000000ns,deadline=60000us,runtime=15300us\nbe\n")
        self.assertEqual((fast.returncode, fast.stdout), (2, ""))
        self.assertRegex(fast.stderr, "^gpreempt-bench: three: lc3: --offered: the period "
                         "of 4[0-9]{4} us is below the deadline of 60000 us, or above 10 s; "
                         "name another load\n$")

    def test_they_are_promised(self):
        """By the daemon of the peer, which refuses a deadline that it cannot promise."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/peers")
            for name in ("gpreemptd", "gpreemptd-edf.yaml"):
                shutil.copy(os.path.join(TOP, "bench/data/peers", name), f"{folder}/peers")
            for plan, clients, refused in (("two", 2, 0), ("too-much", 4, 1)):
                done = self.bench(folder, plan)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(done.stdout.count(" missed"), clients, done.stdout)
                self.assertEqual(done.stderr.count("refused the requested class"), refused,
                                 done.stderr)


class Equals(unittest.TestCase):
    def test_the_shorter_goes_first(self):
        """Three of one level at the same moments: under lc_policy: sjf each waits for shorter
        ones only. Their kernels fill the device, and their holds do not disturb."""
        def lc(name, length):
            return {"id": name, "load": {"type": "periodic", "frequency": 20},
                    "client": {"priority": 0, "model_name": f"spin:{length}ms",
                               "preprocess_time": 2000}}
        plan = {"time": 4, "tasks": [lc("long", 16), lc("short", 1), lc("middle", 4),
                {"id": "be", "load": {"type": "continuous"},
                 "client": {"priority": 1, "model_name": "spin:5ms"}}]}
        runs = run_plan(plan, "gpreemptd", "gpreemptd-hinted.yaml", "gpreemptd-sjf.yaml")
        # Lengths become known in about the first second.
        took = {name: {c["id"]: statistics.median(c["took_us"][len(c["took_us"]) // 2:])
                       for c in clients} for name, clients in runs.items()}
        one, shortest = took["gpreemptd, hinted"], took["gpreemptd, sjf"]
        self.assertGreater(one["short"], 3000 + 4000)
        self.assertLess(shortest["short"], 3000 + 1500)
        self.assertLess(shortest["middle"], 6000 + 1000 + 3000)
        self.assertLess(shortest["long"], 18000 + 5000 + 4500)


class Pools(unittest.TestCase):
    def test_begin_and_end(self):
        """gpreempt run --pool alone, with a stand-in for MPS's control daemon."""
        folder = tempfile.mkdtemp(prefix="gpreempt-pools-")
        self.addCleanup(shutil.rmtree, folder)
        control = os.path.join(folder, "nvidia-cuda-mps-control")
        shutil.copy(os.path.join(TOP, "tests/e2e/mps_control.py"), control)
        os.chmod(control, 0o755)
        peers, plan, kept = (os.path.join(folder, n) for n in ("peers", "p.json", "kept"))
        os.mkdir(peers)
        shutil.copy(os.path.join(TOP, "bench/data/peers/pools"), peers)
        with open(os.path.join(TOP, "bench/data/peers/gpreempt-pools.yaml"), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(peers, "gpreempt-pools.yaml"), "w", encoding="utf-8") as f:
            f.write(text.replace("cards_only: true", "cards_only: false"))
        with open(plan, "w", encoding="utf-8") as f:
            json.dump({"time": 1, "tasks": [
                {"id": name, "load": {"type": "periodic", "frequency": 20},
                 "client": {"priority": priority, "model_name": "spin:1ms"}}
                for name, priority in (("lc", 0), ("other", 0), ("be", 1))]}, f)
        env = dict(soft_env(folder), GPREEMPT_MPS_CONTROL=control,
                   PATH=f"{folder}:{os.environ['PATH']}")
        done = subprocess.run([BENCH, "run", plan, "--device=soft0", f"--peers={peers}",
                               f"--dir={kept}"], text=True, capture_output=True,
                              timeout=PATIENCE_S, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
            (run,) = json.load(f)["runs"]
        self.assertEqual(run["scheduler"], "gpreempt, pools")
        # On a busy machine many of the 20 requests in 1 s may be left. None is lost.
        for client in run["clients"]:
            self.assertGreater(client["requests"], 0, client["id"])
            self.assertIn(client["requests"] + client["left"], (19, 20), client["id"])
        # A pool for each class.
        for name in "lc:0", "be:100":
            self.assertEqual(done.stderr.count(f"gpreempt: run: pool {name}: "), 1, done.stderr)
        # Neither a pool nor its programs' gpreemptd, which has their environment.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words, \
                    open(f"/proc/{pid}/environ", "rb") as env:
                words = words.read()
                self.assertNotIn(control.encode(), words)
                self.assertFalse(b"gpreemptd" in words and control.encode() in env.read(), words)


class Mps(unittest.TestCase):
    """Its script, with a control daemon that only reports as configured."""

    def setUp(self):
        among_mps(self, alone=True)
        self.folder = tempfile.mkdtemp()
        # The control daemons of a test that failed still write to it.
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.said = os.path.join(self.folder, "said")
        program = os.path.join(self.folder, "nvidia-cuda-mps-control")
        with open(program, "w", encoding="ascii") as f:
            f.write(FAKE)
        os.chmod(program, 0o755)
        env = dict(os.environ, SAID=self.said, PATH=f"{self.folder}:{os.environ['PATH']}")
        self.start = lambda: subprocess.Popen(
            [os.path.join(TOP, "bench/data/peers/mps"), self.folder], text=True, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def told(self):
        with open(self.said, encoding="ascii") as f:
            return f.read().splitlines()

    def were_told(self, lines, *pools):
        """.. and each had ended, which takes a while after that."""
        for pool in pools:
            self.assertTrue(os.path.exists(f"{self.said}.quit-{pool}"))
        self.assertEqual(lines, [f"{pool} {what}" for what in ("began", "quit")
                                 for pool in pools])

    def test_begins_and_ends(self):
        with self.start() as mps:
            self.assertEqual(mps.stdout.readline(), "ready\n")
            self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.startswith("mps")),
                             ["mps", "mps-log"])
            mps.stdin.close()
            self.assertEqual(mps.wait(PATIENCE_S), 0)
            self.were_told(self.told(), "mps")

    def test_is_killed(self):
        with self.start() as mps:
            self.assertEqual(mps.stdout.readline(), "ready\n")
            mps.send_signal(signal.SIGKILL)
            mps.stdin.close()
            mps.stderr.read()       # until its children have ended, too
        self.were_told(self.told(), "mps")

    @contextlib.contextmanager
    def with_a_daemon(self, *more):
        env = dict(soft_env(self.folder), SAID=self.said, GPREEMPT_BACKEND="softgpu",
                   PATH=f"{self.folder}:{BUILD}/bin:{os.environ['PATH']}",
                   LD_LIBRARY_PATH=os.path.join(BUILD, "lib/gpreempt/softgpu"))
        with subprocess.Popen([os.path.join(TOP, "bench/data/peers/gpreemptd-mps"), self.folder,
                               *more], text=True, env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as both:
            self.assertEqual(both.stdout.readline(), "ready\n")
            try:
                yield env
            finally:
                both.stdin.close()
                self.status = both.wait(PATIENCE_S)
                self.told_by_then = self.told()
                self.err = both.stderr.read()
        self.assertFalse(os.path.exists(os.path.join(self.folder, "run/gpreemptd.sock")))

    def test_with_a_daemon(self):
        """MPS's server is best-effort by a rule; both end with their starter."""
        with self.with_a_daemon():
            shown = subprocess.run([os.path.join(BUILD, "bin/gpreemptd"), "--check-config",
                                    os.path.join(self.folder, "gpreempt.yaml")], text=True,
                                   capture_output=True, timeout=PATIENCE_S)
        self.assertEqual((self.status, self.err), (0, ""))
        self.were_told(self.told_by_then, "mps")
        self.assertIn("  - exe: /**/nvidia-cuda-mps-server\n    class: be:100\n", shown.stdout)

    def server(self, pool, env):
        """A program in place of an MPS server, with its pool's control daemon in its name."""
        program = os.path.join(self.folder, "nvidia-cuda-mps-server")
        if not os.path.exists(program):
            shutil.copy(os.path.join(BUILD, "bench/be"), program)
        server = subprocess.Popen([program, "--iters=1000", "--blocks=2"], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        self.assertIn("ready", server.stdout.readline())
        with open(f"{self.said}.{pool}", "w", encoding="ascii") as f:
            f.write(f"{server.pid}\n")
        return server.pid

    def test_a_pool_for_each_class(self):
        """The best-effort server has its class by the rule; the other one is raised."""
        with self.with_a_daemon("lc") as env:
            wanted = {self.server("mps", env): "be", self.server("lc", env): "lc"}
            env["GPREEMPT_DAEMON"] = os.path.join(self.folder, "run/gpreemptd.sock")
            until = time.monotonic() + PATIENCE_S
            has = None
            while has != wanted and time.monotonic() < until:
                listed = subprocess.run([os.path.join(BUILD, "bin/gpreempt"), "ls", "--json"],
                                        text=True, env=env, capture_output=True, timeout=PATIENCE_S)
                # Others may use devices of this machine.
                has = {row["pid"]: row["class"]
                       for row in json.loads(listed.stdout)["processes"] if row["pid"] in wanted}
        self.assertEqual(has, wanted)
        self.assertEqual((self.status, self.err), (0, ""))
        self.were_told(self.told_by_then, "mps", "lc")

    def test_a_pool_that_has_no_server(self):
        with self.with_a_daemon("lc"):
            pass
        self.assertEqual(self.status, 1)
        self.assertIn("gpreemptd-mps: the server of FOLDER/lc was never latency-critical: ",
                      self.err)

    def test_one_is_there(self):
        """By its name in the kernel: a foreign server, which sleeps."""
        sleeper = os.path.join(self.folder, "nvidia-cuda-mps-server")
        shutil.copy(shutil.which("sleep"), sleeper)
        with subprocess.Popen([sleeper, str(PATIENCE_S)]) as other, self.start() as mps:
            out, err = mps.communicate(timeout=PATIENCE_S)
            other.kill()
        self.assertEqual((mps.returncode, out), (1, ""))
        self.assertEqual(err, f"mps: process {other.pid} is an MPS daemon already: end it first\n")
        self.assertFalse(os.path.exists(self.said))


if __name__ == "__main__":
    unittest.main()
