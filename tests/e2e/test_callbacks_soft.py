#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library's view of a program on the software GPU, by its driver calls: holds for work
without hints, and holds that end before a wait for the whole device. Also the behaviour where
it may not watch. All figures are in the GPU's own clock."""
import os
import re
import subprocess
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [TOP, os.path.dirname(os.path.abspath(__file__))]
from bench import harness  # noqa: E402
from rig import BUILD, CLI, FIGURES, PATIENCE_S, Rig  # noqa: E402

OUT = os.path.join(BUILD, "e2e-callbacks")
TOOL = os.path.join(BUILD, "tests/softface/tool")
REQUESTS, WARMUP = 100, 20
UNSEEN = {"GPREEMPT_INTERCEPT": "0"}
US = 1000


class Figures(unittest.TestCase):
    """Requests of kernels of 22 us, with a best-effort program beside them or not."""

    @classmethod
    def setUpClass(cls):
        with harness.Rig(BUILD, OUT, soft=True) as rig:
            cls.be = rig.calibrate("be", 10000)["iters"]
            cls.lc = rig.calibrate("lc", 22)["iters"]

    def run_lc(self, *args, cls="lc", how=(), env=None, beside=True):
        """lc's figures for its requests, and its stderr. Checks the results of both programs."""
        with harness.Rig(BUILD, OUT, soft=True) as rig:
            be = rig.be(f"--iters={self.be}", cls="be") if beside else None
            if be:
                be.expect("ready")
            lc = rig.lc(f"--iters={self.lc}", f"--requests={REQUESTS}",
                        f"--warmup={WARMUP}", *args, cls=cls, how=how, env=env)
            status, text = lc.finish(PATIENCE_S)
            said = harness.fields(text.strip().splitlines()[-1])
            self.assertEqual((status, said["result"]), (0, "right"), lc.stderr())
            if be:
                self.assertEqual(be.finish(PATIENCE_S, sig=15)[0], 0)
            return said, lc.stderr()


class Unannounced(Figures):
    # The program waits when the next launch is not there yet.
    GAPS = ["--kernels=10", "--gap-us=100"]

    def test_hold(self):
        """As alone: one switch, hidden in the first gap, instead of one per gap."""
        alone, _ = self.run_lc(*self.GAPS, cls=None, beside=False)
        plain, _ = self.run_lc(*self.GAPS, how=["--no-predict"])
        held, said = self.run_lc(*self.GAPS, how=["--auto-hold"])
        self.assertEqual(said, "")
        if FIGURES:
            self.assertGreater(plain["p50_ns"], alone["p50_ns"] + 50 * US)
            self.assertLess(held["p50_ns"], alone["p50_ns"] + 20 * US)
            self.assertLess(held["p99_ns"], alone["p50_ns"] + 20 * US)

    def test_unseen(self):
        """A warning that there are no holds; nothing gets worse."""
        plain, _ = self.run_lc(*self.GAPS, how=["--no-predict"])
        held, said = self.run_lc(*self.GAPS, how=["--auto-hold"], env=UNSEEN)
        self.assertIn("GPREEMPT_INTERCEPT=0", said)
        self.assertIn("--auto-hold has no effect", said)
        if FIGURES:
            self.assertLess(abs(held["p50_ns"] - plain["p50_ns"]), US)


class Waits(Figures):
    """A wait for the whole device inside a segment."""

    def test_the_hold_ends_first(self):
        for inside in "sync", "free":
            with self.subTest(inside=inside):
                args = ["--segment", f"--inside={inside}"]
                alone, _ = self.run_lc(f"--inside={inside}", cls=None, beside=False)
                seen, said = self.run_lc(*args, beside=False)
                self.assertEqual(said, "")
                self.assertEqual(seen["syncs_cut"], REQUESTS + WARMUP)
                self.assertEqual(seen["holds_expired"], 0)
                if FIGURES:
                    self.assertLess(seen["max_ns"], alone["max_ns"] + 20 * US)
                # A few switches more, but far from the limit of 20 ms.
                beside, _ = self.run_lc(*args)
                self.assertEqual(beside["syncs_cut"], REQUESTS + WARMUP)
                if FIGURES:
                    self.assertLess(beside["max_ns"], alone["max_ns"] + 600 * US)

    def test_a_loaded_function(self):
        """Calls on a function wait for the device the first time, when they load it."""
        seen, _ = self.run_lc("--segment", "--inside=attribute", beside=False)
        self.assertLessEqual(seen["syncs_cut"], 1)
        self.assertEqual(seen["holds_expired"], 0)

    def test_unseen(self):
        """It waits for the piece, which is short, and for nothing else."""
        seen, _ = self.run_lc("--segment", "--inside=sync", beside=False)
        unseen, said = self.run_lc("--segment", "--inside=sync", beside=False,
                                   env=UNSEEN)
        self.assertIn("pieces of 500 us", said)
        self.assertEqual(unseen["syncs_cut"], 0)
        if FIGURES:
            self.assertGreater(unseen["p50_ns"], seen["p50_ns"] + 100 * US)
            self.assertLess(unseen["max_ns"], seen["max_ns"] + 500 * US)


class Tool(Rig):
    """A profiler in the program works beside gpreempt, which leaves CUPTI to it."""

    def tool(self, *how):
        self.start("be")
        done = subprocess.run(
            [CLI, "run", "--class=lc", "--device=soft0", *how, "--", TOOL],
            env=self.env, text=True, capture_output=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = re.fullmatch(r"subscribe=0 entered=(\d+) left=(\d+) of 80 result=right\n",
                            done.stdout)
        self.assertTrue(said, done.stdout)
        # As on a card it sees the holds' launches too.
        entered, left = map(int, said.groups())
        self.assertEqual(entered, left)
        self.assertGreater(entered, 80)
        return done.stderr

    def test_segments(self):
        self.assertEqual(self.tool(), "")

    def test_auto_hold(self):
        self.assertEqual(self.tool("--auto-hold"), "")

    def test_injection_alone(self):
        said = self.tool("--no-preload")
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("pieces of 500 us", said)


class Listed(Rig):
    """The output of gpreempt ls."""

    def seen_after_a_segment(self, **env):
        errors = os.path.join(self.dir, "errors")
        with open(errors, "w") as f:
            lc = subprocess.Popen(
                [CLI, "run", "--class=lc", "--device=soft0", "--",
                 os.path.join(BUILD, "bench/lc"), "--iters=1000", "--control"],
                env=dict(self.env, GPREEMPT_PREDICT="0", **env), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=f)
        self.programs.append(lc)
        self.assertIn("ready", lc.stdout.readline())
        # Not watched before, as nothing is predicted.
        self.assertFalse(self.rows()[lc.pid]["sync_seen"])
        lc.stdin.write("--requests=1 --warmup=0 --segment\n")
        lc.stdin.flush()
        self.assertIn("result=right", lc.stdout.readline())
        with open(errors) as f:
            return self.rows()[lc.pid]["sync_seen"], f.read()

    def test_seen(self):
        self.assertEqual(self.seen_after_a_segment(), (True, ""))

    def test_unseen(self):
        seen, said = self.seen_after_a_segment(**UNSEEN)
        self.assertFalse(seen)
        self.assertIn("GPREEMPT_INTERCEPT=0", said)


if __name__ == "__main__":
    unittest.main()
