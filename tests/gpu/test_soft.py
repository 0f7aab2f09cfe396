#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-gpu's suites of gpreemptd on a software GPU: the quick rows, against the bars of
the card. SUITE=kill has tests/e2e/test_kill_soft.py."""
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))


class Suites(unittest.TestCase):
    def suite(self, name, rows, *more):
        """Run a suite, in which no row may miss its bar. Returns its table."""
        only = [f"--only={row}" for row in rows]
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [sys.executable, os.path.join(TOP, "tests/gpu/suite.py"), name, "--soft",
                 "--build", BUILD, "--out", out, *only, *more],
                text=True, capture_output=True, timeout=400)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("pass", done.stdout)
        return done.stdout

    def test_many(self):
        table = self.suite("many", ["be-2", "fair-4", "no-hint-4", "learned-4", "hint-4"])
        self.assertIn("fair-4: most / least", table)

    def test_devices(self):
        table = self.suite("devices", [])
        self.assertEqual(table.count(": the first device keeps"), 4)

    def test_share(self):
        self.suite("share", ["weights", "minimum"], "--seconds=30")

    def test_rules(self):
        self.suite("rules", ["be"])

    def test_controls(self):
        """On the model, controls of other groups do not preempt the running group."""
        table = self.suite("controls", [])
        for what in ("preempt", "slice", "suspend"):
            for who in ("idle", "waiting"):
                self.assertRegex(table, rf"{what} of one that is {who}: asked, cut +5, 0;")

    def test_leave(self):
        """A slow tenant is suspended when LC's work arrives."""
        self.suite("leave", [])

    def test_memory(self):
        self.assertIn("wrong words", self.suite("memory", ["rate"]))

    def test_moves(self):
        table = self.suite("moves", ["beside", "kills"], "--kills=20")
        self.assertIn("allocations of LC that failed", table)

    def test_pile(self):
        self.suite("pile", [])

    def test_sjf(self):
        table = self.suite("sjf", [])
        self.assertIn("level: long", table)

    def test_edf(self):
        table = self.suite("edf", [], "--seconds=0.6")
        self.assertEqual(table.count("missed"), 3)
        self.assertEqual(table.count("said, said, none  pass"), 2)


if __name__ == "__main__":
    unittest.main()
