#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench's peers and suites: what runs beside the clients and is gone with them,
clients in one process, and GPreempt's and DISB's own plans on a software GPU."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
BENCH = os.path.join(BUILD, "bin/gpreempt-bench")
COLUMNS = ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"]
# What GPreempt's and DISB's plans name, by itself or by what stands for it.
MODELS = ("vgg19", "resnet152", "densenet201", "inception_v3", "encoder6", "miniweather",
          "bfs", "sssp", "pagerank", "cc")
FAKE = """#!/bin/sh
if [ "$1" = -d ]; then echo "began in $CUDA_MPS_PIPE_DIRECTORY" >>"$SAID"; exit 0; fi
cat >>"$SAID"
"""


def soft_env(folder):
    return dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))


class Suites(unittest.TestCase):
    def bench(self, *args):
        with tempfile.TemporaryDirectory() as folder:
            models, peers = os.path.join(folder, "models"), os.path.join(folder, "peers")
            os.mkdir(models)
            os.mkdir(peers)
            shutil.copy(os.path.join(TOP, "bench/peers/time-slicing.json"), peers)
            for i, name in enumerate(MODELS):
                with open(os.path.join(models, f"{name}.json"), "w", encoding="ascii") as f:
                    json.dump({"schema_version": 1, "name": name, "what": "made up",
                               "device": "none", "driver": "none", "solo_us": 200 + 10 * i,
                               "columns": COLUMNS, "kernels": [
                                   [2, 60, 64, 128, 32, 0], [1, 110 + 10 * i, 90, 64, 64, 9]]}, f)
            done = subprocess.run([BENCH, *args, "--device=soft0", f"--workloads={models}",
                                   f"--peers={peers}"], text=True, capture_output=True,
                                  timeout=280, env=soft_env(folder))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_lists(self):
        """Each folder is a suite; of our own plans nothing is left aside."""
        listed = subprocess.run([BENCH, "list"], text=True, capture_output=True, timeout=60)
        top = os.path.join(TOP, "bench/plans")
        suites = [name for name in os.listdir(top) if os.path.isdir(os.path.join(top, name))]
        self.assertGreater(len(suites), 10)
        for suite in suites + ["paper"]:
            self.assertIn(f"\n{suite} ", listed.stdout)
        for suite in set(suites) - {"gpreempt", "disb"}:
            for name in os.listdir(os.path.join(top, suite)):
                if name.endswith(".json"):
                    done = subprocess.run([BENCH, "list", os.path.join(top, suite, name)],
                                          text=True, capture_output=True, timeout=60)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertNotIn("not taken", done.stdout)

    def test_a_plan_that_lacks_something(self):
        """The others run all the same, and the exit status tells."""
        with tempfile.TemporaryDirectory() as folder:
            for name, model in (("a", "none-such"), ("b", "spin:1ms")):
                with open(os.path.join(folder, f"{name}.json"), "w", encoding="ascii") as f:
                    json.dump({"time": 0.1, "tasks": [{"load": {"type": "continuous"},
                                                       "client": {"model_name": model}}]}, f)
            done = subprocess.run([BENCH, "run", folder], text=True, capture_output=True,
                                  timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("b, 0.1 s, run 1\n", done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("none-such is neither a file of --workloads=", done.stderr)

    def test_gpreempts_own(self):
        out = self.bench("run", "gpreempt", "--seconds=0.1")
        self.assertEqual(out.count(", 0.1 s, run 1\n"), 20, out)
        self.assertIn("gpreempt/micro-3.2.2/B0, ", out)

    def test_disbs_own(self):
        out = self.bench("run", "disb", "--seconds=0.1")
        self.assertEqual(out.count(", 0.1 s, run 1\n"), 7, out)

    def test_calibrates(self):
        """One factor for all rates, and latency-critical clients offer what they shall."""
        plan = os.path.join(TOP, "bench/plans/gpreempt/C.json")
        out = self.bench("calibrate", plan, "--offered=0.3").splitlines()
        self.assertEqual(out[2].split()[:4], ["vgg_rt", "lc", "vgg19", "for"])
        self.assertEqual(out[2].split()[-1], "0.300")
        times = {line.split()[-2] for line in out[2:] if line}
        self.assertEqual({f"C: rates times {one}" for one in times}, {out[0]})
        out = self.bench("run", plan, "--offered=0.3", "--seconds=0.2")
        self.assertIn(f"C, 0.2 s, run 1, rates {times.pop()} times those of its file\n", out)


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
        with tempfile.TemporaryDirectory() as folder:
            path, peers, kept = (os.path.join(folder, n) for n in ("p.json", "peers", "kept"))
            os.mkdir(peers)
            for name in ("streams", "sequential"):
                shutil.copy(os.path.join(TOP, f"bench/peers/{name}.json"), peers)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            done = subprocess.run([BENCH, "run", path, "--device=soft0", f"--peers={peers}",
                                   f"--dir={kept}"], text=True, capture_output=True,
                                  timeout=200, env=soft_env(folder))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                runs = {run["scheduler"]: run["clients"] for run in json.load(f)["runs"]}
        for name in ("streams, priority", "sequential"):
            lc, after, be = runs[name]
            self.assertEqual((lc["requests"], lc["left"]), (49, 0), name)
            self.assertEqual(after["requests"], 49, name)
            self.assertGreater(be["done_per_s"], 150)
        # One after the other: what is done together is what one can do.
        self.assertLess(runs["sequential"][2]["done_per_s"] * 4 + 49 + 4.9, 1000)


class Beside(unittest.TestCase):
    def test_what_it_used(self):
        """The CPU time of what runs beside the clients, with all that it starts; of a peer
        that runs nothing there is none."""
        with tempfile.TemporaryDirectory() as folder:
            peers, plan, kept, out = (os.path.join(folder, n)
                                      for n in ("peers", "p.json", "kept", "out"))
            os.mkdir(peers)
            for name in ("gpreemptd", "gpreemptd.json", "time-slicing.json"):
                shutil.copy(os.path.join(TOP, "bench/peers", name), peers)
            # Who is busy has been left by the one that started it.
            script = ("(sh -c 'while :; do :; done' & echo $! >{folder}/pid); echo ready; "
                      "cat >{folder}/none; kill $(cat {folder}/pid)")
            with open(os.path.join(peers, "busy.json"), "w", encoding="ascii") as f:
                json.dump({"schema_version": 1, "name": "busy", "what": "a CPU that is busy",
                           "lc": [], "be": [], "beside": ["sh", "-c", script], "hint": False,
                           "needs": []}, f)
            with open(plan, "w", encoding="ascii") as f:
                json.dump({"time": 1, "tasks": [
                    {"id": "lc", "load": {"type": "periodic", "frequency": 50},
                     "client": {"priority": 0, "model_name": "spin:1ms"}}]}, f)
            began = time.monotonic()
            done = subprocess.run([BENCH, "run", plan, "--device=soft0", f"--peers={peers}",
                                   f"--dir={kept}", f"--out={out}"], text=True, timeout=200,
                                  capture_output=True, env=soft_env(folder))
            took = time.monotonic() - began
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                used = {run["scheduler"]: run["beside_cpu_s"] for run in json.load(f)["runs"]}
            with open(out, encoding="utf-8") as f:
                figures = [one for one in json.load(f)["figures"]
                           if one["name"] == "beside_cpu_s"]
        self.assertIsNone(used["time-slicing"])
        self.assertGreater(used["gpreemptd"], 0)
        self.assertGreater(used["busy"], used["gpreemptd"])
        self.assertLess(used["busy"], took)
        self.assertEqual({one["row"]: one["values"] for one in figures},
                         {"p, busy": [used["busy"]], "p, gpreemptd": [used["gpreemptd"]]})
        for name in ("busy", "gpreemptd"):
            self.assertIn(f"\n{name:17} {used[name]:.4f} s of CPU beside the clients\n",
                          done.stdout)


class Deadlines(unittest.TestCase):
    def bench(self, folder, plan, *more):
        return subprocess.run(
            [BENCH, "run", os.path.join(TOP, f"bench/plans/deadlines/{plan}.json"),
             "--device=soft0", f"--peers={folder}/peers", "--seconds=0.5", *more], text=True,
            capture_output=True, timeout=200, env=soft_env(folder))

    def test_they_are_said(self):
        """As gpreempt run --class takes them, by those alone who have any."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/peers")
            said = f"echo {{class}}{{class_times}} >>{folder}/said; exec \"$@\""
            with open(f"{folder}/peers/says.json", "w", encoding="ascii") as f:
                json.dump({"schema_version": 1, "name": "says", "what": "the class", "needs": [],
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
        self.assertRegex(fast.stderr, "^gpreempt-bench: three: lc3: --offered: its requests would "
                         "come every 4[0-9]{4} us, and are due in 60000 us; no shorter than that, "
                         "and 10 s at most, is wanted\n$")

    def test_they_are_promised(self):
        """By the daemon of the peer, and what it cannot promise it refuses."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/peers")
            for name in ("gpreemptd", "gpreemptd-edf.json"):
                shutil.copy(os.path.join(TOP, "bench/peers", name), f"{folder}/peers")
            for plan, clients, refused in (("two", 2, 0), ("too-much", 4, 1)):
                done = self.bench(folder, plan)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(done.stdout.count(" missed"), clients, done.stdout)
                self.assertEqual(done.stderr.count("the class asked for is refused"), refused,
                                 done.stderr)


class Mps(unittest.TestCase):
    """Its script, with a control daemon that only says what it is told."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.said = os.path.join(self.folder, "said")
        program = os.path.join(self.folder, "nvidia-cuda-mps-control")
        with open(program, "w", encoding="ascii") as f:
            f.write(FAKE)
        os.chmod(program, 0o755)
        env = dict(os.environ, SAID=self.said, PATH=f"{self.folder}:{os.environ['PATH']}")
        self.start = lambda: subprocess.Popen(
            [os.path.join(TOP, "bench/peers/mps"), self.folder], text=True, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def was_told(self):
        for _ in range(200):
            with open(self.said, encoding="ascii") as f:
                text = f.read()
            if "quit" in text:
                break
            time.sleep(0.05)
        self.assertEqual(text, f"began in {self.folder}/mps\nquit\n")

    def test_begins_and_ends(self):
        with self.start() as mps:
            self.assertEqual(mps.stdout.readline(), "ready\n")
            self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.startswith("mps")),
                             ["mps", "mps-log"])
            mps.stdin.close()
            self.assertEqual(mps.wait(20), 0)
        self.was_told()

    def test_is_killed(self):
        with self.start() as mps:
            self.assertEqual(mps.stdout.readline(), "ready\n")
            mps.send_signal(signal.SIGKILL)
            mps.stdin.close()
            mps.wait(20)
            self.was_told()

    def test_one_is_there(self):
        """By its name as the kernel has it: one of nobody's, which sleeps."""
        sleeper = os.path.join(self.folder, "nvidia-cuda-mps-server")
        shutil.copy(shutil.which("sleep"), sleeper)
        with subprocess.Popen([sleeper, "60"]) as other, self.start() as mps:
            out, err = mps.communicate(timeout=20)
            other.kill()
        self.assertEqual((mps.returncode, out), (1, ""))
        self.assertEqual(err, f"mps: process {other.pid} is an MPS daemon already: end it first\n")
        self.assertFalse(os.path.exists(self.said))


if __name__ == "__main__":
    unittest.main()
