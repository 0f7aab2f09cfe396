#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench's peers: what runs beside the clients and is gone with them, and clients in
one process."""
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
FAKE = """#!/bin/sh
if [ "$1" = -d ]; then echo "began in $CUDA_MPS_PIPE_DIRECTORY" >>"$SAID"; exit 0; fi
cat >>"$SAID"
"""


def soft_env(folder):
    return dict(os.environ, GPREEMPT_SOFTGPU=os.path.join(folder, "soft.sock"))


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
                shutil.copy(os.path.join(TOP, f"bench/peers/{name}.yaml"), peers)
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


class Docs(unittest.TestCase):
    def test_whole_example(self):
        """What docs/bench.md shows as a peer is one."""
        texts = []
        for name in ("docs/bench.md", "bench/peers/mps-priority.yaml"):
            with open(os.path.join(TOP, name), encoding="utf-8") as f:
                texts.append(f.read())
        self.assertIn(f"```yaml\n{texts[1]}```\n", texts[0])


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
