#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/sched/test_explore finds mistakes in the core: some of tests/mutations.py."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
sys.path.insert(0, os.path.join(TOP, "tests"))
from mutations import MUTATIONS  # pylint: disable=wrong-import-position

# The test that finds it, and its words.
FOUND = {
    "short-beside-short": ("test_credit", "1: two groups run at the short slice"),
    "made-short-beside-short": ("test_credit", "1: two groups run at the short slice"),
    "short-only-when-set": ("test_credit", "1: two groups run at the short slice"),
    "failed-suspend-counts-as-off": ("test_credit", "1: two groups run at the short slice"),
    "no-timer-for-retries": ("test_credit", "2: a group that was left is not restored"),
    "left-group-forgotten-with-its-slice": ("test_credit", "1: two groups run at the short slice"),
    "own-part-stays-counted": ("test_credit", "3: a BE tenant with work did not run"),
    "resident-never-yields": ("test_stubborn", "2: a group that was left is not restored"),
    "more-loaded-than-slots": ("test_slots", "more groups loaded than slots"),
    "failed-hold-blocks-others": ("test_alone", "4: a segment is not held"),
}


class Explorer(unittest.TestCase):
    def explore(self, mutation, test):
        with open(os.path.join(TOP, mutation.file), encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(text.count(mutation.old), 1)
        name = os.path.basename(mutation.file)[:-2]
        others = [f"{BUILD}/obj/{c[:-2]}.o" for c in sorted(glob.glob("sched/*.c", root_dir=TOP))
                  if c != mutation.file]
        with tempfile.TemporaryDirectory() as tree:
            with open(f"{tree}/{name}.c", "w", encoding="utf-8") as f:
                f.write(text.replace(mutation.old, mutation.new))
            subprocess.run(["cc", "-std=gnu11", "-O1", "-w", "-I.", "-Iinclude", "-D_GNU_SOURCE",
                            "-o", f"{tree}/explore", f"{tree}/{name}.c",
                            f"{BUILD}/obj/tests/sched/test_explore.o", *others,
                            f"{BUILD}/obj/tests/common/gp_run.o", "-lcmocka"],
                           cwd=TOP, check=True)
            return subprocess.run([f"{tree}/explore", test], stdout=subprocess.PIPE, text=True,
                                  check=False)

    def test_mistakes(self):
        for mutation in (m for m in MUTATIONS if m.name in FOUND):
            with self.subTest(mistake=mutation.name):
                test, words = FOUND[mutation.name]
                done = self.explore(mutation, test)
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"{words}, after\n", done.stdout)

    def test_all_are_mutations(self):
        self.assertLessEqual(set(FOUND), {m.name for m in MUTATIONS})


if __name__ == "__main__":
    unittest.main()
