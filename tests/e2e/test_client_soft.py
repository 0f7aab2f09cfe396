#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One client of a plan as a separate program, on the software GPU: a workload by name or from
a file, in an open loop, with a checked result."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, FIGURES, Rig  # noqa: E402

COLUMNS = ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"]
MODEL = {"schema_version": 1, "name": "mine", "what": "made up", "device": "none",
         "driver": "none", "solo_us": 700, "columns": COLUMNS,
         "kernels": [[2, 200, 64, 128, 32, 0], [1, 100, 3, 512, 64, 1024],
                     [40, 200, 2000, 256, 16, 0]]}


class Client(Rig):
    def client(self, *args, cls="lc", go="go\n"):
        """Its line's fields, and its samples."""
        out = os.path.join(self.dir, "samples.csv")
        done = subprocess.run(
            [CLI, "run", f"--class={cls}", "--device=soft0", "--",
             os.path.join(BUILD, "bench/client"), f"--out={out}", *args],
            env=self.env, text=True, input=go, capture_output=True, timeout=300)
        if done.returncode:
            return done, None
        with open(out, encoding="ascii") as f:
            rows = [tuple(map(int, line.split(","))) for line in f.readlines()[1:]]
        line = done.stdout.splitlines()[-1]
        return dict(word.split("=") for word in line.split()[1:]), rows

    def test_open_loop(self):
        """2.5 ms of preparation and work every 2 ms: each request is later than the last."""
        fields, rows = self.client("--workload=spin:1500us", "--period-ns=2000000",
                                   "--prepare-us=1000", "--length-ms=1000")
        self.assertEqual(fields["result"], "right")
        self.assertEqual(len(rows), 499)
        for before, after in zip(rows, rows[1:]):
            self.assertEqual(after[0] - before[0], 2000000)
            self.assertGreaterEqual(after[1], before[2])
        late = [end - intended for intended, _, end in rows]
        self.assertGreater(late[-1], 200e6)
        self.assertEqual(late, sorted(late))

    def test_a_recorded_one(self):
        """Alone, its request takes the time in the file for any kernel shapes, with CPU time
        between them, or as a graph."""
        path = os.path.join(self.dir, "mine.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump(MODEL, f)
        for how in ([], ["--graph"]):
            fields, rows = self.client(f"--workload={path}", "--period-ns=5000000",
                                       "--length-ms=1000", *how)
            self.assertEqual(fields["result"], "right")
            if FIGURES:
                self.assertAlmostEqual(int(fields["solo_ns"]), 700000, delta=15000)
                self.assertAlmostEqual(int(fields["p50_ns"]), 700000, delta=30000)
            self.assertEqual(len(rows), 199)

    def test_more_than_there_is(self):
        """Blocks get as much shared memory as the device has, with one warning."""
        path = os.path.join(self.dir, "mine.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump({**MODEL, "kernels": [[2, 200, 100, 384, 168, 262144],
                                            [0, 200, 7, 1, 255, 250000],
                                            [0, 200, 1, 1024, 255, 231424]]}, f)
        done = subprocess.run(
            [os.path.join(BUILD, "bench/client"), f"--workload={path}", "--length-ms=100"],
            env={**self.env, "LD_LIBRARY_PATH": FACE}, text=True, input="go\n",
            capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("result=right", done.stdout)
        self.assertEqual(done.stderr, "client: mine: blocks of up to 262144 bytes of shared "
                         "memory; the device allows 232448\n")

    def test_closed_loop_beside_nobody(self):
        fields, rows = self.client("--workload=train:4x200us,gap=50us", "--length-ms=1000",
                                   "--arrivals=continuous", cls="be")
        self.assertEqual(fields["result"], "right")
        for before, after in zip(rows, rows[1:]):
            # Reading the clock takes time there, charged in lumps of 1 us.
            self.assertIn(after[0] - before[2], (0, 1000))
        if FIGURES:
            self.assertAlmostEqual(int(fields["p50_ns"]), 950000, delta=30000)

    def beside_be(self, workload, *args):
        """A client's fields beside kernels of 10 ms, which begin once it is ready."""
        lc = subprocess.Popen(
            [CLI, "run", "--class=lc", "--no-predict", "--device=soft0", "--",
             os.path.join(BUILD, "bench/client"), f"--workload={workload}",
             "--prepare-us=1000", "--length-ms=1000", *args],
            env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.append(lc)
        self.assertIn("ready", lc.stdout.readline())
        self.start(cls="be", args=["--iters=2499750", "--blocks=1056"])
        print("go", file=lc.stdin, flush=True)
        line = lc.stdout.readline()
        self.assertEqual(lc.wait(60), 0)
        return dict(word.split("=") for word in line.split()[1:])

    def test_hinted_kernels_that_fill_the_device(self):
        """It reports that it has launched all. Until then the hold takes one block's place
        from each kernel, which takes twice as long."""
        alone_ns = 1000000 + 5 * 110000 + 22000
        hinted = self.beside_be("train:5x110us", "--hint", "--period-ns=5000000")
        self.assertEqual(hinted["result"], "right")
        if FIGURES:
            self.assertAlmostEqual(int(hinted["p50_ns"]), alone_ns, delta=30000)

    def decoder_beside_be(self, *args):
        return self.beside_be("decoder:2ms,next=31x800us,gap=50us", "--period-ns=100000000",
                              *args)

    def test_hinted_tokens(self):
        """A hinted decoder keeps the device between its tokens, even beyond a segment's 20 ms.
        Without hints it loses the device in each gap."""
        alone_ns, request_ns = 872000, 2022000 + 31 * 872000 + 1000000
        hinted = self.decoder_beside_be("--hint")
        self.assertEqual(hinted["result"], "right")
        if FIGURES:
            self.assertAlmostEqual(int(hinted["itl_p50_ns"]), alone_ns, delta=10000)
            # One token is the first of another segment.
            self.assertAlmostEqual(int(hinted["p50_ns"]), request_ns, delta=350000)
        self.end_programs()
        self.programs.clear()
        silent = self.decoder_beside_be()
        if FIGURES:
            self.assertGreater(int(silent["itl_p50_ns"]), alone_ns + 200000)

    def test_no_cuda(self):
        """A HIP stand-in, if HIP is there, for each call of the bench."""
        env = {name: value for name, value in os.environ.items()
               if name != "LD_LIBRARY_PATH" and not name.startswith("GPREEMPT_")}
        done = subprocess.run([os.path.join(BUILD, "bench/client"), "--workload=spin:1ms"],
                              env=env, text=True, input="", capture_output=True, timeout=300)
        self.assertNotIn("no twin", done.stderr)
        # 0: there is a GPU.
        self.assertIn(done.returncode, (0, 1), done.stderr)

    def test_refuses(self):
        for args, says in (([], "client: --workload is missing; name a workload"),
                           (["--workload=spin:"], "client: spin:"),
                           (["--workload=/none/x.json"], "/none/x.json: No such file"),
                           (["--workload=spin:1ms", "--arrivals=often"],
                            "client: --arrivals: write periodic,")):
            done, _ = self.client(*args)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        fields, _ = self.client("--workload=spin:1ms", "--length-ms=1000", "--out=/none/x")
        self.assertEqual(fields.returncode, 1)
        self.assertIn("client: --out=/none/x: No such file or directory", fields.stderr)


if __name__ == "__main__":
    unittest.main()
