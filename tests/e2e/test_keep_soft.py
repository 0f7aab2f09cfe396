#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A request that waits after each of its kernels, beside BE, on a software GPU: the device is kept
between the waits."""
import os
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
sys.path.insert(0, TOP)

from bench import harness  # noqa: E402

REQUESTS = 80
PERIOD_US = 20000


class Keep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.rig = harness.Rig(BUILD, folder.name, True, False, 1)
        self.addCleanup(self.rig.close)
        self.times = os.path.join(folder.name, "be.times")
        be_iters = self.rig.calibrate("be", 10000, "--blocks=2")["iters"]
        self.be = self.rig.be("--control", f"--iters={be_iters}", "--blocks=2",
                              f"--out={self.times}", cls="be")
        self.be.expect("ready")

    def requests(self, kernel_us, name, cls=None, how=()):
        """p50 in us."""
        iters = self.rig.calibrate("lc", kernel_us)["iters"]
        lc = self.rig.lc("--control", f"--iters={iters}", "--kernels=20", "--end=each",
                         "--gap-us=10", f"--period-us={PERIOD_US}", cls=cls, name=name, how=how)
        lc.expect("ready")
        lc.send(f"--requests={REQUESTS}")
        got = harness.fields(lc.expect("lc", 150))
        self.assertEqual(got["result"], "right")
        self.rig.quit(lc)
        return got["p50_ns"] / 1e3

    def waits(self, kernel_us):
        alone = self.requests(kernel_us, "alone")
        self.be.send("go")
        harness.await_times(self.times, 2)
        before = len(harness.read_times(self.times))
        kept = self.requests(kernel_us, "kept", "lc")
        done = len(harness.read_times(self.times)) - before
        lost = self.requests(kernel_us, "lost", "lc", ["--no-predict"])
        print(f"p50: alone {alone:.0f} us, kept {kept:.0f}, not kept {lost:.0f}; BE {done} kernels")
        self.assertLess(kept, 1.15 * alone)
        # Of 10 ms each, in what LC leaves of its time at least.
        self.assertGreater(done, 0.9 * REQUESTS * (PERIOD_US - alone) / 10000)
        return lost / alone

    def test_waits_of_a_request(self):
        self.assertGreater(self.waits(20), 3)

    def test_long_work_between_waits(self):
        self.assertGreater(self.waits(600), 1.2)


if __name__ == "__main__":
    unittest.main()
