#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench: what it lists, what it runs, what it refuses."""
import os
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(os.environ.get("GP_BUILD", os.path.join(TOP, "build")),
                     "bin/gpreempt-bench")


def bench(*args):
    return subprocess.run([BENCH, *args], text=True, capture_output=True, timeout=200)


class Bench(unittest.TestCase):
    def test_lists(self):
        done = bench("list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("theory ", done.stdout)

    def test_same_seed_same_table(self):
        few = ("run", "theory", "--requests=2000")
        first, again, other = bench(*few), bench(*few), bench(*few, "--seed=2")
        rows = [line.split() for line in first.stdout.splitlines() if line[:2] == "M/"]
        self.assertEqual(len(rows), 12, first.stdout + first.stderr)
        self.assertEqual(first.stdout, again.stdout)
        self.assertNotEqual(first.stdout, other.stdout)
        # Its exit status is what its table says.
        self.assertEqual(first.returncode, "FAIL" in first.stdout)

    def test_refuses(self):
        for args, says in ((("run", "none"), 'none: no such suite; "gpreempt-bench list"'),
                           (("run",), "no such suite"),
                           (("walk",), "walk: no such command; list, or run SUITE"),
                           ((), "what? list, or run SUITE"),
                           (("run", "theory", "theory"), "theory: one suite at a time"),
                           (("run", "theory", "--requests=-3"),
                            "--requests=-3: a number from 1 to 100000000 is wanted"),
                           (("run", "theory", "--seed=1x"), "--seed=1x: a number")):
            done = bench(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
