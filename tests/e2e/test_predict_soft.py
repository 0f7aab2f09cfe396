#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A latency-critical program without hints, beside a best-effort one, on the software GPU: its
period is predicted, and without a period nothing changes. All figures are in the GPU's own
clock."""
import json
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))

from bench import harness  # noqa: E402

OUT = os.path.join(BUILD, "e2e-predict")


class Predict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with harness.Rig(BUILD, OUT, soft=True) as rig:
            cls.be = rig.calibrate("be", 10000)["iters"]
            cls.lc = rig.calibrate("lc", 110)["iters"]

    def run_lc(self, *args, how=(), beside=True):
        """The figures of 500 requests of lc under gpreempt run."""
        with harness.Rig(BUILD, OUT, soft=True) as rig:
            if beside:
                rig.be(f"--iters={self.be}", cls="be").expect("ready")
            return rig.output([rig.program("lc"), f"--iters={self.lc}",
                               "--requests=500", *args], cls="lc", how=how)

    def test_periodic(self):
        """As with hints: one switch less for each request."""
        alone = self.run_lc(beside=False)
        plain = self.run_lc(how=["--no-predict"])
        learned = self.run_lc()
        self.assertGreater(plain["p50_ns"], alone["p50_ns"] + 100_000)
        self.assertLess(learned["p50_ns"], alone["p50_ns"] + 20_000)
        self.assertLess(learned["p99_ns"], plain["p99_ns"] + 20_000)

    def test_random(self):
        """Nothing gets worse without a period."""
        args = ["--arrivals=poisson", "--period-us=3000"]
        plain = self.run_lc(*args, how=["--no-predict"])
        learned = self.run_lc(*args)
        self.assertLess(learned["p50_ns"], plain["p50_ns"] + 10_000)
        self.assertLess(learned["p99_ns"], plain["p99_ns"] * 1.05)

    def test_said(self):
        """stat counts the predictions."""
        with harness.Rig(BUILD, OUT, soft=True) as rig:
            rig.be(f"--iters={self.be}", cls="be").expect("ready")
            path = os.path.join(rig.out, "stat.json")
            proc = rig.start([rig.cli, "stat", "--class=lc", "--json",
                              f"--output={path}", "--", rig.program("lc"),
                              f"--iters={self.lc}", "--requests=500"])
            self.assertEqual(proc.finish(60)[0], 0)
            with open(path) as f:
                row = json.load(f)["sampled"][0]
        self.assertGreater(row["predictions"], 100)
        self.assertGreater(row["prediction_hits"], 0.9 * row["predictions"] - 20)
        self.assertEqual(row["hints"], 0)


if __name__ == "__main__":
    unittest.main()
