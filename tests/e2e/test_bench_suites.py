#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench's suites: their list, and all of GPreempt's and DISB's own plans, on a
software GPU."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
BENCH = os.path.join(BUILD, "bin/gpreempt-bench")
COLUMNS = ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"]
# Names in GPreempt's and DISB's plans, for themselves or for their stand-ins.
MODELS = ("vgg19", "resnet152", "densenet201", "inception_v3", "encoder6", "miniweather",
          "bfs", "sssp", "pagerank", "cc")


class Suites(unittest.TestCase):
    def bench(self, *args):
        with tempfile.TemporaryDirectory() as folder:
            models, peers = os.path.join(folder, "models"), os.path.join(folder, "peers")
            os.mkdir(models)
            os.mkdir(peers)
            shutil.copy(os.path.join(TOP, "bench/data/peers/time-slicing.yaml"), peers)
            for i, name in enumerate(MODELS):
                with open(os.path.join(models, f"{name}.json"), "w", encoding="ascii") as f:
                    json.dump({"schema_version": 1, "name": name, "what": "made up",
                               "device": "none", "driver": "none", "solo_us": 200 + 10 * i,
                               "columns": COLUMNS, "kernels": [
                                   [2, 60, 64, 128, 32, 0], [1, 110 + 10 * i, 90, 64, 64, 9]]}, f)
            done = subprocess.run([BENCH, *args, "--device=soft0", f"--workloads={models}",
                                   f"--peers={peers}"], text=True, capture_output=True,
                                  timeout=600, env=dict(
                                      os.environ, GPREEMPT_SOFTGPU=f"{folder}/soft.sock"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_lists(self):
        """Each folder is a suite, and contains all of our own plans."""
        listed = subprocess.run([BENCH, "list"], text=True, capture_output=True, timeout=300)
        top = os.path.join(TOP, "bench/data/plans")
        suites = [name for name in os.listdir(top) if os.path.isdir(os.path.join(top, name))]
        self.assertGreater(len(suites), 10)
        for suite in suites + ["paper"]:
            self.assertIn(f"\n{suite} ", listed.stdout)
        for suite in set(suites) - {"gpreempt", "disb"}:
            for name in os.listdir(os.path.join(top, suite)):
                if name.endswith(".json"):
                    done = subprocess.run([BENCH, "list", os.path.join(top, suite, name)],
                                          text=True, capture_output=True, timeout=300)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertNotIn("not taken", done.stdout)

    def test_its_own_peers(self):
        """A suite's file names them; --peers means others."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "a.json"), "w", encoding="ascii") as f:
                json.dump({"time": 1, "tasks": [{
                    "id": "one", "load": {"type": "periodic", "frequency": 20},
                    "client": {"priority": 0, "model_name": "spin:1ms,blocks=2"}}]}, f)
            names = os.path.join(folder, "peers")
            for text, status, line in (
                    ("sequential time-slicing\n", 0, r"(?s)sequential .*time-slicing "),
                    ("none-such\n", 2, "gpreempt-bench: .*/peers: no peer of the suite is there: "
                     "none-such\n")):
                with open(names, "w", encoding="ascii") as f:
                    f.write(text)
                done = subprocess.run(
                    [BENCH, "run", folder, "--device=soft0"], text=True, capture_output=True,
                    timeout=300, env=dict(os.environ, GPREEMPT_SOFTGPU=f"{folder}/soft.sock"))
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertRegex(done.stdout + done.stderr, line)
                self.assertNotIn("gpreemptd", done.stdout)

    def test_a_plan_that_lacks_something(self):
        """The others run anyway, and the exit status reports it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, model in (("a", "none-such"), ("b", "spin:1ms")):
                with open(os.path.join(folder, f"{name}.json"), "w", encoding="ascii") as f:
                    json.dump({"time": 0.1, "tasks": [{"load": {"type": "continuous"},
                                                       "client": {"model_name": model}}]}, f)
            done = subprocess.run([BENCH, "run", folder], text=True, capture_output=True,
                                  timeout=300)
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
        """One factor for all rates, and latency-critical clients offer their intended load."""
        plan = os.path.join(TOP, "bench/data/plans/gpreempt/C.json")
        out = self.bench("calibrate", plan, "--offered=0.3").splitlines()
        self.assertEqual(out[2].split()[:4], ["vgg_rt", "lc", "vgg19", "for"])
        self.assertEqual(out[2].split()[-1], "0.300")
        times = {line.split()[-2] for line in out[2:] if line}
        self.assertEqual({f"C: rates times {one}" for one in times}, {out[0]})
        out = self.bench("run", plan, "--offered=0.3", "--seconds=0.2")
        self.assertIn(f"C, 0.2 s, run 1, rates {times.pop()} times those of its file\n", out)


if __name__ == "__main__":
    unittest.main()
