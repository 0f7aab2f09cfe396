#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make demo` on the software GPU: what it shows, and how soon."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))

from bench import harness, picture  # noqa: E402

ROW = re.compile(r"^(\S.*?)\s+(\d+) us\s+(\d+) us\s+([\d.]+)\s+([\d.]+|-)$", re.M)
PICTURE = re.compile(r"^  (LC|BE) \|(.*)\|$", re.M)


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        start = time.monotonic()
        cls.done = subprocess.run(
            [sys.executable, os.path.join(TOP, "bench/demo.py"), "--soft",
             "--ascii", "--build", BUILD], text=True, capture_output=True,
            timeout=300, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        cls.took_s = time.monotonic() - start
        cls.rows = {r[0]: r[1:] for r in ROW.findall(cls.done.stdout)}

    def test_ends_well_and_soon(self):
        self.assertEqual(self.done.returncode, 0,
                         self.done.stderr + self.done.stdout)
        self.assertLess(self.took_s, 60)
        self.assertIn("software GPU", self.done.stdout)

    def test_four_phases(self):
        self.assertEqual(list(self.rows), [
            "LC alone", "as the driver shares", "gpreempt run --no-predict",
            "gpreempt run + hints"], self.done.stdout)

    def test_hinted_is_as_fast_as_alone(self):
        alone, hinted = (int(self.rows[name][0]) for name in (
            "LC alone", "gpreempt run + hints"))
        self.assertLessEqual(hinted, alone * 1.05)

    def test_each_step_is_better(self):
        p50 = [int(self.rows[name][0]) for name in (
            "as the driver shares", "gpreempt run --no-predict", "gpreempt run + hints")]
        self.assertGreater(p50[0], p50[1] * 1.2)
        self.assertGreater(p50[1], p50[2] * 1.1)

    def test_best_effort_keeps_its_share(self):
        """1 - 200/s x (5 x 110 us + lead + switches), and a little."""
        self.assertGreater(float(self.rows["gpreempt run --no-predict"][3]), 78)
        self.assertGreater(float(self.rows["gpreempt run + hints"][3]), 74)

    def test_the_picture(self):
        rows = PICTURE.findall(self.done.stdout)
        self.assertEqual([who for who, _ in rows], ["LC", "BE"] * 3)
        for who, line in rows:
            self.assertEqual(len(line), 72)
            self.assertTrue(line.isascii())
            self.assertIn("@", line, f"{who} never had the device")
        for (_, lc), (_, be) in zip(rows[::2], rows[1::2]):
            both = sum(a == b == "@" for a, b in zip(lc, be))
            self.assertEqual(both, 0, "two had the device at once")


class WithoutLayer(unittest.TestCase):
    def test_a_demo_without_effect_fails(self):
        with tempfile.TemporaryDirectory() as build:
            for name in ("bin", "bench", "lib"):
                shutil.copytree(os.path.join(BUILD, name), os.path.join(build, name),
                                symlinks=True)
            os.unlink(os.path.join(build, "lib/libgpreempt-layer.so"))
            done = subprocess.run(
                [sys.executable, os.path.join(TOP, "bench/demo.py"), "--soft",
                 "--build", build, "--out", os.path.join(build, "out"),
                 "--requests=20"], text=True, capture_output=True, timeout=300,
                env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
        self.assertRegex(done.stderr, r"demo: gpreempt had no effect: LC's p50 is \d+ us")


class Drawing(unittest.TestCase):
    LOG = [(0, "start", 7, 1, 0), (500, "end", 7, 1, 0),
           (500, "start", 8, 2, 0), (1000, "end", 8, 2, 0)]

    def test_row(self):
        found = picture.stretches(self.LOG)
        self.assertEqual(found, [(0, 500, 7), (500, 1000, 8)])
        self.assertEqual(picture.row(found, 7, 0, 1000, 4, " #"), "##  ")
        self.assertEqual(picture.row(found, 8, 0, 1000, 4, " #"), "  ##")
        self.assertEqual(picture.row(found, 8, 400, 800, 2, " .#"), ".#")

    def test_lost_records_make_no_stretch(self):
        log = self.LOG[:3] + [(600, "lost", 0, 0, 5)] + self.LOG[3:]
        self.assertEqual(picture.stretches(log), [(0, 500, 7)])

    def test_names_by_samples(self):
        found = [(0, 500_000, 0), (500_000, 900_000, 0),
                 (900_000, 2_000_000, 0)]
        samples = [(0, 0, 880_000, "-")]
        named = picture.name_by_samples(found, samples, 15_000, 7, 8)
        self.assertEqual([pid for _, _, pid in named], [8, 7, 8])

    def test_preemptions(self):
        log = [(1, "start", 7, 0, 0), (2, "end", 7, 0, 0),
               (3, "start", 8, 0, 0), (4, "end", 8, 0, 0),
               (5, "start", 7, 0, 0), (6, "end", 7, 0, 0),
               (7, "start", 7, 0, 0), (8, "start", 9, 0, 0)]
        self.assertEqual(harness.preemptions(log, 7), 2)

    def test_kernels_between(self):
        self.assertAlmostEqual(
            harness.kernels_between([0, 10, 20, 30], 5, 25), 2.0)

    def test_rank(self):
        self.assertEqual(harness.rank(range(1, 101), 990), 99)
        self.assertEqual(harness.median([3, 1, 2]), 2)


if __name__ == "__main__":
    unittest.main()
