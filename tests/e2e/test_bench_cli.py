#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench: lists, runs and refusals."""
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
BENCH = os.path.join(BUILD, "bin/gpreempt-bench")

# Kernels of few blocks: with as many as fill the device, one block would wait for the hold's
# place. The time until prediction starts would then decide the length of requests.
PLAN = {"time": 2, "tasks": [
    {"id": "lc", "load": {"type": "periodic", "frequency": 200},
     "client": {"priority": 0, "model_name": "train:5x110us,blocks=32",
                "preprocess_time": 300}},
    {"id": "be", "load": {"type": "continuous"},
     "client": {"priority": 1, "model_name": "spin:10ms"}}]}


def bench(*args):
    return subprocess.run([BENCH, *args], text=True, capture_output=True, timeout=300)


class Bench(unittest.TestCase):
    def run_on_soft(self, plan, *peers, more=()):
        """{scheduler: {client: its samples}} of a plan on a software GPU; the output."""
        with tempfile.TemporaryDirectory() as folder:
            path, kept, mine = (os.path.join(folder, n) for n in ("p.json", "kept", "peers"))
            os.mkdir(mine)
            for peer in peers:
                shutil.copy(os.path.join(TOP, f"bench/data/peers/{peer}.yaml"), mine)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            done = subprocess.run(
                [BENCH, "run", path, "--device=soft0", f"--peers={mine}", f"--dir={kept}", *more],
                text=True, capture_output=True, timeout=300,
                env=dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock")))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                runs = json.load(f)["runs"]
            found = {}
            for run in runs:
                rows = found.setdefault(run["scheduler"], {})
                for client in run["clients"]:
                    with gzip.open(os.path.join(kept, client["samples"]), "rt") as f:
                        rows[client["id"]] = [tuple(map(int, line.split(",")))
                                              for line in f.read().split()[1:]]
            return found, done.stdout

    @staticmethod
    def had_device(kept, run):
        """{client: ns on the device}, from the kept log."""
        if not run.get("timeline"):
            return None
        had = {}
        with gzip.open(os.path.join(kept, run["timeline"]), "rt") as f:
            for line in f.read().split()[1:]:
                start, end, client = line.split(",")
                had[client] = had.get(client, 0) + int(end) - int(start)
        return had

    def test_lists(self):
        done = bench("list")
        self.assertEqual(done.returncode, 0, done.stderr)
        for suite in ("edf ", "quick ", "quick-rig ", "theory ", "switch "):
            self.assertIn(f"\n{suite}", f"\n{done.stdout}")
        for line in ("spin:LENGTH[,blocks=NUMBER][,shared=SIZE]", "uvm:SIZE", "be credit",
                     "lc sjf"):
            self.assertIn(f"\n  {line}\n", done.stdout)

    def test_lists_a_plan(self):
        done = bench("list", os.path.join(TOP, "bench/data/plans/disb/hellodisb.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(": ", 1)[1], "6 clients for 5 s")
        self.assertIn("task_d               lc -                      periodic 100/s", lines)
        self.assertIn("dependent after task_d", lines[5])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write('{"time": 1, "tasks": [{"load": {"type": "often"}, "client": {}}]}')
            f.flush()
            done = bench("list", f.name)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"gpreempt-bench: {f.name}: tasks[0].load.type: found "
                         '"often", periodic, poisson, bursty, continuous, trace or dependent is '
                         "wanted\n")

    def test_lists_a_workload(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump({"schema_version": 1, "name": "vgg19", "what": "a model, batch 1",
                       "device": "NVIDIA H200", "driver": "580.159.04", "solo_us": 50.5,
                       "columns": ["gap_us", "length_us", "blocks", "threads", "registers",
                                   "shared_bytes"],
                       "kernels": [[3.2, 10.4, 512, 256, 64, 0], [0.5, 20, 1, 32, 8, 1024]]}, f)
            f.flush()
            done = bench("list", f.name)
            with open(f.name, encoding="utf-8") as again:
                piped = subprocess.run([BENCH, "list", "/dev/stdin"], text=True, timeout=300,
                                       capture_output=True, input=again.read())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            f"{f.name}: vgg19, a model, batch 1",
            "recorded on    NVIDIA H200, driver 580.159.04",
            "alone          50.5 us, from launch to completion",
            "kernels        2, together 30.4 us, with gaps of 3.7 us in all",
            "the longest    20.0 us: 1 blocks of 32 threads, 8 registers a thread, "
            "1024 bytes shared"])
        self.assertEqual(piped.stdout.splitlines()[1:], done.stdout.splitlines()[1:])
        self.assertNotIn("tokens", done.stdout)
        for text, says in (('{"schema_version": 1, "kernels": []}',
                            "name: found nothing, a line of 1 to 200 characters is wanted"),
                           ('{"suite": "theory"}', 'found neither "tasks" nor "kernels", a '
                                                   "plan or a workload is wanted")):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                f.write(text)
                f.flush()
                done = bench("list", f.name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"gpreempt-bench: {f.name}: {says}\n")

    def test_same_seed_same_table(self):
        few = ("run", "theory", "--requests=2000")
        first, again, other = bench(*few), bench(*few), bench(*few, "--seed=2")
        rows = [line.split() for line in first.stdout.splitlines() if line[:2] == "M/"]
        self.assertEqual(len(rows), 12, first.stdout + first.stderr)
        self.assertEqual(first.stdout, again.stdout)
        self.assertNotEqual(first.stdout, other.stdout)
        # Its exit status agrees with its table.
        self.assertEqual(first.returncode, "FAIL" in first.stdout)

    def test_switch(self):
        done = bench("run", "switch")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("  pass"), 6)

    def test_compares(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b, c = (os.path.join(folder, name) for name in ("a", "b", "c"))
            bench("run", "switch", "--runs=3", f"--out={a}")
            bench("run", "switch", "--runs=3", f"--out={b}")
            same = bench("compare", a, b)
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            lines = same.stdout.splitlines()
            self.assertEqual(len(lines), 6)
            self.assertTrue(all(line.endswith("same") for line in lines), same.stdout)
            with open(a, encoding="utf-8") as f:
                found = json.load(f)
            for figure in found["figures"]:
                figure["values"] = [1.1 * value for value in figure["values"]]
            with open(c, "w", encoding="utf-8") as f:
                json.dump(found, f)
            for first, second, verdict, status in ((a, c, "worse", 1), (c, a, "better", 0)):
                done = bench("compare", first, second)
                self.assertEqual(done.returncode, status)
                self.assertEqual(done.stdout.count(f"  {verdict}"), 6, done.stdout)

    def test_as_it_was(self):
        """Virtual time: the model gives the same nanoseconds as when the file was written.
        After an intended change this command writes the file again."""
        for suite, figures, more in (("theory", 36, ["--requests=2000"]),
                                     ("quick", 171, []), ("edf", 21, [])):
            with tempfile.TemporaryDirectory() as folder:
                now = os.path.join(folder, "now.json")
                bench("run", suite, *more, f"--out={now}")
                done = bench("compare", os.path.join(TOP, f"tests/bench/{suite}.json"), now)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stdout.count("  same"), figures, done.stdout)

    def test_runs_a_plan(self):
        """Its samples agree with its table."""
        with tempfile.TemporaryDirectory() as folder:
            plan, kept = os.path.join(folder, "mine.json"), os.path.join(folder, "kept")
            with open(plan, "w", encoding="utf-8") as f:
                json.dump(PLAN, f)
            done = bench("run", plan, f"--dir={kept}")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                runs = json.load(f)["runs"]
            self.assertEqual([run["scheduler"] for run in runs],
                             ["time-slicing", "gpreempt", "gpreempt, hinted"])
            rows = [line for line in done.stdout.splitlines() if " lc lc " in
                    " ".join(line.split())]
            for run, row in zip(runs, rows):
                client = run["clients"][0]
                with gzip.open(os.path.join(kept, client["samples"]), "rt") as f:
                    table = [line.split(",") for line in f.read().split()[1:]]
                took = sorted(int(end) - int(intended) for intended, _, end in table)
                self.assertEqual(len(took), client["requests"])
                self.assertIn(f" {took[(len(took) + 1) // 2 - 1] / 1000:.1f} ", row)
            again = bench("run", plan, f"--dir={kept}")
            self.assertEqual(again.returncode, 2)
            self.assertEqual(again.stderr, f"gpreempt-bench: --dir={kept}: the folder has a "
                             "run; name a new folder\n")

    def test_on_a_device(self):
        """The same plan with processes of their own on a software GPU, under each peer's
        command; a peer that is not installed is reported absent."""
        with tempfile.TemporaryDirectory() as folder:
            peers, plan, kept = (os.path.join(folder, n) for n in ("peers", "p.json", "kept"))
            shutil.copytree(os.path.join(TOP, "bench/data/peers"), peers)
            with open(os.path.join(peers, "other.yaml"), "w", encoding="utf-8") as f:
                f.write("name: other\nwhat: not there\nlc: [no-such-scheduler]\nbe: []\n"
                        "hint: false\nneeds: [no-such-scheduler]\n")
            with open(plan, "w", encoding="utf-8") as f:
                json.dump({**PLAN, "time": 1}, f)
            env = dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))
            done = subprocess.run(
                [BENCH, "run", plan, "--device=soft0", f"--peers={peers}", f"--dir={kept}"],
                text=True, capture_output=True, timeout=300, env=env)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("other             absent: no-such-scheduler is not installed\n",
                          done.stdout)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                runs = {run["scheduler"]: run for run in json.load(f)["runs"]}
            had = {name: self.had_device(kept, run) for name, run in runs.items()}
        self.assertEqual(runs["other"]["absent"], "no-such-scheduler is not installed")
        p50, mean = {}, {}
        for line in done.stdout.splitlines():
            words = line[17:].split()
            if words[:3] == ["all", "lc:", "mean"]:
                mean[line[:17].strip()] = float(words[3].rstrip(","))
            if words[:2] == ["lc", "lc"]:
                p50[line[:17].strip()] = (float(words[2]), float(words[3]))
        alone = p50["gpreempt"][0]
        self.assertAlmostEqual(alone, 868, delta=30)
        self.assertGreater(p50["time-slicing"][1], alone + 100)
        self.assertGreater(mean["time-slicing"], 1.3)
        self.assertLess(p50["gpreempt"][1], alone + 190)
        self.assertLess(p50["gpreempt, hinted"][1], alone + 20)
        for scheduler in ("time-slicing", "gpreempt", "gpreempt, hinted"):
            lc, be = runs[scheduler]["clients"]
            self.assertEqual(lc["requests"], 199)
            self.assertGreater(be["done_per_s"], 60)
            # Five kernels of 110 us, and the switches, 199 times.
            self.assertGreater(had[scheduler]["lc"] / 199, 550000)
            self.assertLess(had[scheduler]["lc"] / 199, 1200000)
            self.assertGreater(had[scheduler]["be"], 700000000)
        self.assertIsNone(had["other"])

    def test_a_peer_that_is_wrong(self):
        """Reports its file, the line and the error; runs nothing."""
        with tempfile.TemporaryDirectory() as folder:
            peer, plan = (os.path.join(folder, n) for n in ("mine.yaml", "p.json"))
            with open(plan, "w", encoding="utf-8") as f:
                json.dump(PLAN, f)
            args = ("run", plan, "--device=soft0", f"--peers={folder}")
            done = bench(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"gpreempt-bench: --peers={folder}: no file there "
                             "ends in .yaml\n")
            with open(peer, "w", encoding="utf-8") as f:
                f.write("name: mine\nwhat: of mine\nlc: [a, {device}]\n")
            done = bench(*args)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"gpreempt-bench: {peer}:3: lc: found a mapping; write one "
                         "value, in quotes if it begins with {\n")

    def test_a_decoder(self):
        """Token by token, as processes on a software GPU and in virtual time, the same."""
        plan = {"time": 1, "tasks": [
            {"id": "llm", "load": {"type": "periodic", "frequency": 50},
             "client": {"priority": 0, "model_name": "decoder:2ms,next=9x500us,gap=50us"}}]}
        with tempfile.TemporaryDirectory() as folder:
            peers, path, kept = (os.path.join(folder, n) for n in ("peers", "p.json", "kept"))
            os.mkdir(peers)
            shutil.copy(os.path.join(TOP, "bench/data/peers/time-slicing.yaml"), peers)
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            env = dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))
            for more in ([], ["--device=soft0", f"--peers={peers}", f"--dir={kept}"]):
                done = subprocess.run([BENCH, "run", path, *more], text=True, timeout=300,
                                      capture_output=True, env=env)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                rows = [line.split() for line in done.stdout.splitlines() if "token" in line]
                self.assertAlmostEqual(float(rows[0][-3]), 2010, delta=40)
                self.assertAlmostEqual(float(rows[1][-3]), 560, delta=30)
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                client = json.load(f)["runs"][0]["clients"][0]
            with gzip.open(os.path.join(kept, client["samples"]), "rt") as f:
                table = [line.split(",") for line in f.read().splitlines()[1:]]
        self.assertEqual((client["tokens"], len(table)), (10, client["requests"]))
        for _, start, end, came in table:
            came = [int(start), *map(int, came.split())]
            self.assertEqual((len(came), came), (11, sorted(came)))
            self.assertEqual(came[-1], int(end))

    @staticmethod
    def plan_of(path, kind):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"time": 1, "tasks": [{
                "id": "a", "load": {"type": "periodic", "frequency": 50},
                "client": {"model_name": kind}}]}, f)

    @staticmethod
    def client(folder, *args):
        """A client on a software GPU of its own."""
        env = dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"),
                   LD_LIBRARY_PATH=os.path.join(BUILD, "lib/gpreempt/softgpu"))
        return subprocess.run([os.path.join(BUILD, "bench/client"), *args], text=True,
                              timeout=300, capture_output=True, env=env,
                              stdin=subprocess.DEVNULL)

    def test_kinds(self):
        """Each kind with a length to choose, as a process on a software GPU, with a checked
        result, and in virtual time."""
        with tempfile.TemporaryDirectory() as folder:
            peers, path = os.path.join(folder, "peers"), os.path.join(folder, "p.json")
            os.mkdir(peers)
            shutil.copy(os.path.join(TOP, "bench/data/peers/time-slicing.yaml"), peers)
            env = dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))
            for kind in ("spin:3ms,blocks=32,shared=40KiB", "memory:3ms,set=64KiB,blocks=8",
                         "smem:3ms,blocks=1", "tensor:3ms,blocks=1", "coop:3ms,blocks=2",
                         "graph:3ms,blocks=8"):
                self.plan_of(path, kind)
                for more in ([], ["--device=soft0", f"--peers={peers}"]):
                    done = subprocess.run([BENCH, "run", path, *more], text=True, timeout=300,
                                          capture_output=True, env=env)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    row = [line.split() for line in done.stdout.splitlines() if " a " in line][0]
                    self.assertAlmostEqual(float(row[3]), 3015, delta=30)

    def test_kinds_that_take_what_they_take(self):
        """Kinds without a known length: right results on a software GPU, refused in virtual
        time."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.json")
            for kind in ("copy:in,bytes=1MiB", "copy:out,bytes=3B", "bfs:9", "sssp:10",
                         "components:9", "pagerank:8", "stencil:40x30,steps=9"):
                done = self.client(folder, f"--workload={kind}", "--length-ms=1000",
                                   "--period-ns=20000000")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("client requests=49 ", done.stdout)
                self.assertIn(" result=right\n", done.stdout)
                self.plan_of(path, kind)
                done = bench("run", path)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr, f"gpreempt-bench: p: a: {kind}: its time is known "
                                 "only on a device; add --device=ID\n")

    def test_a_kind_that_the_device_lacks(self):
        """Nothing faults on the software GPU, so it has no managed memory."""
        with tempfile.TemporaryDirectory() as folder:
            for more, says in ((["--workload=uvm:1MiB"], "uvm: gpreempt software GPU has no "
                                "managed memory that faults"),
                               (["--workload=bfs:9", "--graph"], "bfs:9: cannot run as a graph; "
                                "only a workload of kernels alone can"),
                               (["--workload=copy:in,bytes=64GiB"], "the device has ")):
                done = self.client(folder, *more)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertTrue(done.stderr.startswith(f"client: {says}"), done.stderr)

    def test_a_trace_and_who_waits(self):
        """On a device requests come at listed times, and after others' requests end. "both"
        waits for two clients; the one that ends sooner counts twice."""
        def task(identity, load, model):
            return {"id": identity, "load": load,
                    "client": {"priority": 0, "model_name": model}}

        after = {"type": "dependent", "prev_task_ids": ["list", "often"]}
        tasks = [task("both", after, "spin:100us"),
                 task("list", {"type": "trace", "trace": [3, 50.5, 51, 400]}, "spin:2ms"),
                 task("often", {"type": "periodic", "frequency": 10}, "spin:1ms"),
                 task("last", {"type": "dependent", "prev_task_ids": ["both"]}, "spin:50us")]
        runs, out = self.run_on_soft({"time": 0.5, "tasks": tasks}, "time-slicing")
        rows = runs["time-slicing"]
        begin = rows["list"][0][0] - 3000000
        self.assertEqual([at - begin for at, _, _ in rows["list"]],
                         [3000000, 50500000, 51000000, 400000000], out)
        often = [end for _, _, end in rows["often"]]
        self.assertEqual(len(often), 4)
        lists = [end for _, _, end in rows["list"]]
        # At 100 ms, arrivals at 3, 50.5 and 51 count as one; at 400, with 200 and 300.
        self.assertEqual([at for at, _, _ in rows["both"]], [often[0], lists[3]], out)
        self.assertEqual([at for at, _, _ in rows["last"]],
                         [end for _, _, end in rows["both"]], out)
        for mine in rows.values():
            for intended, start, _ in mine:
                self.assertLess(start - intended, 3000000)

    KILLED = {"time": 1, "tasks": [PLAN["tasks"][0], {
        "id": "be", "load": {"type": "continuous"},
        "client": {"priority": 1, "model_name": "spin:2ms", "killed_every_s": 0.1}}]}

    @staticmethod
    def peer_for_be(folder, name, script):
        """A shell in front of each best-effort client."""
        with open(os.path.join(folder, f"{name}.yaml"), "w", encoding="utf-8") as f:
            json.dump({"name": name, "what": "a shell", "lc": [],
                       "be": ["sh", "-c", script + '; exec "$@"', "sh"], "hint": False,
                       "needs": []}, f)

    def run_killed(self, folder, script):
        """The lines on KILLED under "mine", with @script, and under "sequential"."""
        peers, plan, kept = (os.path.join(folder, n) for n in ("peers", "p.json", "kept"))
        os.mkdir(peers)
        shutil.copy(os.path.join(TOP, "bench/data/peers/sequential.yaml"), peers)
        self.peer_for_be(peers, "mine", script)
        with open(plan, "w", encoding="utf-8") as f:
            json.dump(self.KILLED, f)
        return subprocess.run(
            [BENCH, "run", plan, "--device=soft0", f"--peers={peers}", f"--dir={kept}",
             "--seconds=6", f"--out={folder}/out"], text=True, capture_output=True, timeout=300,
            env=dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))), kept

    def run_and_read_killed(self):
        """(what it printed, the killed client's PIDs, its runs, rows and table)"""
        with tempfile.TemporaryDirectory() as folder:
            lives = os.path.join(folder, "lives")
            done, kept = self.run_killed(folder, f"echo $$ >>{lives}")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(lives, encoding="ascii") as f:
                pids = [int(line) for line in f]
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                runs = {run["scheduler"]: run for run in json.load(f)["runs"]}
            with open(f"{folder}/out", encoding="utf-8") as f:
                rows = {figure["row"] for figure in json.load(f)["figures"]}
            page = subprocess.run([BENCH, "report", kept], text=True, capture_output=True,
                                  timeout=300)
            self.assertEqual(page.returncode, 0, page.stderr)
            with open(os.path.join(kept, "report.md"), encoding="utf-8") as f:
                table = f.read()
        return done, pids, runs, rows, table

    def test_killed(self):
        """A client is killed and restarted, and the other's requests are all there; none of
        its processes remains."""
        # On a busy machine the software GPU's clock may pass many kills before the bench runs.
        for _ in range(3):
            done, pids, runs, rows, table = self.run_and_read_killed()
            lc, be = runs["mine"]["clients"]
            if be["killed"] > 1:
                break
        self.assertEqual((lc["requests"], lc["left"]), (1199, 0), done.stdout)
        self.assertNotIn("killed", lc)
        self.assertGreater(be["killed"], 1)
        self.assertEqual((be["requests"], be["done_per_s"]), (None, None))
        # A process that was killed at once had not reported its PID.
        self.assertGreater(len(pids), 1)
        self.assertLessEqual(len(pids), be["killed"] + 1)
        for pid in pids:
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        self.assertIn(f"  {be['killed']} killed\n", done.stdout)
        self.assertIn(f"| be | mine | - | - | {be['killed']} |\n", table)
        self.assertEqual(rows, {"p, mine: lc", "p, mine: all"})
        self.assertEqual(runs["sequential"]["absent"],
                         "its clients share one process, but the plan kills some of them")

    def test_killed_and_does_not_come_back(self):
        """Then the other client ran alone, which is no result."""
        with tempfile.TemporaryDirectory() as folder:
            done, kept = self.run_killed(folder, f"[ ! -e {folder}/was ] || exit 3; "
                                                 f": >{folder}/was")
            with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
                absent = [run["absent"] for run in json.load(f)["runs"]]
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(absent[0], "^mine, be: (its process ended before the planned "
                                    "kill|did not restart after a kill)$")
        self.assertIn(absent[0], done.stderr)

    def test_killed_in_virtual_time(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "p.json")
            with open(plan, "w", encoding="utf-8") as f:
                json.dump(self.KILLED, f)
            done = bench("run", plan)
            listed = bench("list", plan)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "gpreempt-bench: p: be: client.killed_every_s: virtual "
                         "time has no processes to kill; add --device=ID\n")
        self.assertIn("continuous, killed every 0.1 s\n", listed.stdout)

    def test_a_model_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(TOP, "bench/data/plans/gpreempt/A.json")
            done = bench("run", plan, f"--workloads={folder}")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, "gpreempt-bench: A: vgg_rt: vgg, replaced by "
                             f"vgg19: unable to open {folder}/vgg19.json: No such file or "
                             "directory; name the folder of recorded models with "
                             "--workloads=DIR\n")
            aliases = os.path.join(folder, "aliases.json")
            with open(aliases, "w", encoding="utf-8") as f:
                json.dump({"schema_version": 1, "aliases": {"vgg": "spin:1ms"}}, f)
            done = bench("run", plan, f"--workloads={folder}")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, "gpreempt-bench: A: resnet152_be: resnet152 is neither "
                             f"a file of --workloads={folder} nor in {aliases}; record it "
                             "with bench/record/record.py, or name a substitute there\n")

    def test_out_of_reach(self):
        """Nothing is run for it."""
        done = bench("run", "switch", "--out=/none/such/file")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/none/such/file: No such file or directory", done.stderr)

    def test_without_its_device(self):
        """A plan that cannot run leaves no folder behind."""
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            done = bench("run", "quick-rig", f"--dir={kept}")
            self.assertEqual((done.returncode, os.listdir(folder)), (2, []))
        self.assertEqual(done.stderr, "gpreempt-bench: run quick-rig: needs --device=ID of an AMD "
                         'GPU; "make bench-rig" runs it in the rig\n')

    def test_refuses(self):
        for args, says in ((("run", "quick-rig"), "run quick-rig: needs --device=ID of an AMD GPU"),
                           (("run", "switch", "--dir=/tmp/x"),
                            "run switch: the suite has no raw samples"),
                           (("run", "switch", "--device=soft0"), "run switch: the suite runs no "
                            "plans; --device, --offered and --seconds are for plans"),
                           (("run", "theory", "--seconds=1"),
                            "run theory: the suite runs no plans"),
                           (("run", "quick", "--peers=/tmp"), "--peers=/tmp: schedulers need a "
                            "device; add --device=ID"),
                           (("run", "none"), 'none: no such suite; see "gpreempt-bench list"'),
                           (("run",), 'write "gpreempt-bench run SUITE|PLAN"'),
                           (("walk",), "walk: no such command; write list [FILE], run "),
                           ((), "command missing; write list [FILE], run SUITE|PLAN, calibrate "
                            "SUITE|PLAN, compare FILE FILE, or report DIR"),
                           (("run", "theory", "theory"), 'write "gpreempt-bench run'),
                           (("list", "a", "b"), 'write "gpreempt-bench list [FILE]"'),
                           (("list", "/none/x"), "/none/x: No such file"),
                           (("report",), 'write "gpreempt-bench report DIR'),
                           (("report", "a", "b"), 'write "gpreempt-bench report DIR'),
                           (("compare", "x"), 'write "gpreempt-bench compare FILE'),
                           (("compare", "/none/x", "y"), "/none/x: No such file"),
                           (("compare", "a", "b", "c"), "c: unexpected argument"),
                           (("run", "theory", "--requests=-3"),
                            "--requests=-3: a number from 1 to 100000000 is wanted"),
                           (("run", "switch", "--out="), "--out=: the name of a file"),
                           (("run", "switch", "--dir="), "--dir=: the name of a folder"),
                           (("run", "/none/x.json"), "/none/x.json: No such file"),
                           (("run", "theory", "--offered=1.5"), "--offered=1.5: a number above"),
                           (("run", "theory", "--offered=-1"), "--offered=-1: a number above"),
                           (("calibrate",), 'write "gpreempt-bench calibrate SUITE|PLAN"'),
                           (("calibrate", "theory"), "theory: the suite has no rates of its own"),
                           (("calibrate", "none"), "none: no such suite"),
                           (("run", "shares", "--device=soft9"), "soft9: no such device"),
                           (("run", "shares", "--device=soft"), "soft: no such device"),
                           (("run", "theory", "--seed"), "--seed: value missing; write --seed=N"),
                           (("run", "theory", "--wrong-option"),
                            "gpreempt-bench: --wrong-option: unknown option; see gpreempt-bench --help"),
                           (("run", "theory", "--seed=1x"), "--seed=1x: a number")):
            done = bench(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
