#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --mem=MIN:MAX on the software GPU: memory that a program may have, and keeps."""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import BE_MIB, LC_MIB, MEMORY_MIB, NO_MEMORY, MemoryRig  # noqa: E402

MAX_MIB = 64
SMALL_MIB = 0.25                # stays the driver's own


class Limits(MemoryRig):
    def limited(self, *how):
        return self.app("be", 0, *how, role="limit")

    def do(self, proc, *lines):
        return [self.take(proc, line).strip() for line in lines]

    def info(self, proc):
        error, free, total = map(int, self.take(proc, "info").split())
        self.assertEqual(error, 0)
        return free, total

    def test_max(self):
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        self.assertEqual(self.info(be), (MAX_MIB, MAX_MIB))
        self.assertEqual(self.do(be, "alloc 32", f"alloc {SMALL_MIB}", "create 16"), ["0"] * 3)
        self.assertEqual(self.info(be), (15, MAX_MIB))
        self.assertEqual(self.do(be, "alloc 16", "create 16", "alloc 100000"), [str(NO_MEMORY)] * 3)
        self.assertEqual(self.do(be, "alloc 15.75", f"alloc {SMALL_MIB}"), ["0", str(NO_MEMORY)])
        self.assertEqual(self.info(be), (0, MAX_MIB))
        self.assertEqual(self.said("be").splitlines(), [
            "gpreempt: --mem: an allocation of 16MiB fails as out of memory: this process has "
            "49408KiB of its 64MiB; raise MAX of run --mem=MIN:MAX"])
        self.assertEqual(self.do(be, "free", "drop", "free", "alloc 32"), ["0"] * 4)

    def test_all_is_given_back(self):
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        for _ in range(3):
            self.assertEqual(self.do(be, "alloc 32", f"alloc {SMALL_MIB}", "create 16", "drop",
                                     "free", "free"), ["0"] * 6)
            self.assertEqual(self.info(be), (MAX_MIB, MAX_MIB))

    def test_context_that_is_reset(self):
        """Its memory of the driver's own is gone, and counts no more."""
        be = self.limited("--mem=:2MiB")
        self.assertEqual(self.do(be, "alloc 0.75", "alloc 0.75", "alloc 0.75"), ["0", "0", str(NO_MEMORY)])
        self.assertEqual(self.do(be, "reset", "alloc 0.75", "alloc 0.75", "alloc 0.75"),
                         ["0", "0", "0", str(NO_MEMORY)])

    def test_free_is_the_device_s(self):
        """Less than the limit leaves, if others have the rest."""
        be, lc = self.limited("--mem=:120MiB"), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n")
        free, total = self.info(be)
        self.assertEqual((free <= MEMORY_MIB - LC_MIB, total), (True, 120))

    def test_max_moves(self):
        """Memory that is out counts, and comes back."""
        be = self.app("be", BE_MIB, f"--mem=1MiB:{BE_MIB + 2}MiB")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.give(lc)
        self.assertGreater(self.right(be), 0)
        self.assertEqual(self.said("be"), "")

    def test_min_stays(self):
        be = self.app("be", BE_MIB, f"--mem={BE_MIB}MiB:", role="plain")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.assertEqual(self.rows()[be.pid]["memory"]["movable_bytes"], 0)
        self.assertGreater(self.right(be), 0)

    def test_more_than_min_leaves(self):
        be = self.app("be", BE_MIB, f"--mem={BE_MIB - 1}MiB:")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.give(lc)
        self.assertGreater(self.right(be), 0)

    def test_random_calls(self):
        """The device and the limit never disagree."""
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        has = {"free": [], "drop": []}
        for _ in range(100):
            word = random.choice(["alloc", "create", "free", "drop"])
            mib = random.choice([0.25, 2, 6, 16]) if word == "alloc" else random.choice([2, 8])
            had = sum(map(sum, has.values()))
            if word in has:
                if has[word]:
                    self.assertEqual(self.take(be, word), "0\n")
                    has[word].pop()
                continue
            fits = had + mib <= MAX_MIB
            self.assertEqual(self.take(be, f"{word} {mib}"), f"{0 if fits else NO_MEMORY}\n", has)
            if fits:
                has["free" if word == "alloc" else "drop"].append(mib)
            self.assertEqual(self.info(be)[0], int(MAX_MIB - sum(map(sum, has.values()))))

    def test_usage(self):
        for text, why in {
                "1GiB": "not MIN:MAX", "": "not MIN:MAX", ":": "not MIN:MAX", "1:2": "not MIN:MAX",
                "2GiB:1GiB": "MAX is 0, or less than MIN, or a size is too large",
                ":0B": "MAX is 0, or less than MIN, or a size is too large"}.items():
            done = self.gp("run", "--class=be", f"--mem={text}", "--device=soft0", "--", "true")
            self.assertEqual((done.returncode, done.stderr), (
                125, f"gpreempt: run: --mem={text}: {why}; write sizes with a unit, such as "
                "8GiB:20GiB, 8GiB: or :20GiB\n"))

    def test_environment(self):
        """A wrong GPREEMPT_MEMORY names itself, and the memory stays."""
        self.env["GPREEMPT_MEMORY"] = "20"
        be = self.limited()
        self.assertEqual(self.do(be, "alloc 32"), ["0"])
        self.assertEqual(self.said("be"), "gpreempt: GPREEMPT_MEMORY=20: not 1 or MIN:MAX; memory of "
                         "this process stays\n")


if __name__ == "__main__":
    unittest.main()
