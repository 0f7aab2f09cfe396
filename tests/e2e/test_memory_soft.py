#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of a best-effort process leaves the software GPU for a latency-critical allocation that
does not fit, in the middle of kernels, and comes back."""
import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import (BE_MIB, LC_MIB, LEAVES_MIB, MEMORY_MIB, NO_MEMORY, NOT_INITIALIZED, PART_MIB, PIECE_MIB, ROUNDS,  # noqa: E402
                        MemoryRig)
from rig import PATIENCE_S  # noqa: E402

COPIES = 8                      # that succeed before one fails: the room is too small for LC_MIB

class Memory(MemoryRig):
    def test_without_mem_nothing_moves(self):
        be, lc = self.app("be", BE_MIB), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.right(be)

    def test_moves_and_comes_back(self):
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", LC_MIB)
        for _ in range(ROUNDS):
            self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
            self.give(lc)
            time.sleep(random.uniform(0, 2))
        self.assertGreater(self.right(be), 0)
        self.assertEqual(self.said("be") + self.said("lc"), "")

    def test_log_of_a_wait(self):
        self.env["GPREEMPT_LOG"] = "info"
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.assertRegex(self.said("lc"), r"an allocation waited [\d.]+ ms for room, and had it in [\d.]+ ms\n")
        self.give(lc)
        self.right(be)

    def test_ls(self):
        be = self.app("be", BE_MIB, "--mem", role="plain")
        lc = self.app("lc", LC_MIB)
        row = self.rows()[be.pid]["memory"]
        del row["pinned_bytes"]         # it rises in the background
        self.assertEqual(row, {"movable_bytes": BE_MIB << 20, "fixed_bytes": 0, "kept_bytes": 0,
                               "host_max_bytes": None, "out_bytes": 0, "moves": 0, "moved_bytes": 0,
                               "move_ns": 0})
        self.assertEqual(self.take(lc), "got 0\n")
        row = self.rows()[be.pid]["memory"]
        out = row["out_bytes"] >> 20
        self.assertEqual((row["movable_bytes"] >> 20, out >= LEAVES_MIB), (BE_MIB - out, True))
        moves = row["moves"]
        self.assertIn(f", {out} MiB on the host\n", self.ok("ls").stdout)
        self.give(lc)
        self.until_back(be)
        self.assertEqual(self.rows()[lc.pid]["memory"]["movable_bytes"], 0)
        row = self.rows()[be.pid]["memory"]
        self.assertEqual((row["moves"], row["moved_bytes"]), (moves, 2 * out << 20))
        self.assertGreater(row["move_ns"], 0)
        self.right(be)

    def test_own_memory(self):
        """That of cuMemCreate() leaves as well, whatever the program did with its handles."""
        be, lc = self.app("be", BE_MIB, "--mem", role="own"), self.app("lc", LC_MIB)
        for what in None, "again", None:
            if what:
                self.assertEqual(self.take(be, what), "done\n", self.said("be"))
            self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
            out = self.rows()[be.pid]["memory"]["out_bytes"] >> 20
            self.assertGreaterEqual(out, LEAVES_MIB)
            self.give(lc)
            time.sleep(random.uniform(0, 2))
        self.right(be)
        self.assertEqual(self.said("be") + self.said("lc"), "")

    def test_own_memory_of_others_too(self):
        """Memory that was exported stays; the rest leaves."""
        be, lc = self.app("be", BE_MIB, "--mem", role="own"), self.app("lc", BE_MIB)
        self.assertEqual(self.take(be, "export"), "done\n", self.said("be"))
        self.eventually("its size is counted as fixed", lambda: self.rows()[be.pid]["memory"][
            "fixed_bytes"] >= PIECE_MIB << 20)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        out = self.rows()[be.pid]["memory"]["out_bytes"] >> 20
        self.assertIn(out, (BE_MIB - PIECE_MIB, BE_MIB - PIECE_MIB + 2))
        self.give(lc)
        self.right(be)

    def test_own_memory_comes_back_late(self):
        """Steps that fail on the way back are repeated."""
        be, lc = self.app("be", BE_MIB, "--mem", role="own"), self.app("lc", LC_MIB)
        for op in "create", "map", "copy":
            self.assertEqual(self.take(lc), "got 0\n")
            self.plant(op)
            self.give(lc)
            time.sleep(1.5)
            os.unlink(self.faults)
            self.until_back(be)
        self.right(be)

    def test_fork_and_exit(self):
        """A child gets the driver's own error, and waits for no memory of its parent's."""
        be, lc = self.app("be", BE_MIB, "--mem", role="fork"), self.app("lc", LC_MIB)
        for taken in False, True:
            self.assertEqual(self.take(be, "fork"), f"child{3 * f' {NOT_INITIALIZED}'}\n")
            if not taken:
                self.assertEqual(self.take(lc), "got 0\n")
        self.assertGreater(self.rows()[be.pid]["memory"]["out_bytes"], 0)
        be.stdin.close()
        self.assertEqual(be.wait(PATIENCE_S), 0, self.said("be"))
        self.give(lc)

    def test_too_much_for_all(self):
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", 2 * MEMORY_MIB)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.right(be)

    def plant(self, *ops):
        with open(self.faults, "w") as f:
            f.write(" ".join(ops))

    def test_way_out_fails(self):
        """Then the memory stays where it is, and the program runs on."""
        be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", LC_MIB)
        self.plant("copy")
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        os.unlink(self.faults)
        self.right(be)
        self.assertIn("memory stays on the device: Input/output error", self.said("be"))

    def out(self, proc):
        return self.row_of(proc)["memory"]["out_bytes"] >> 20

    def until_back(self, proc):
        self.eventually("it is back", lambda: not self.out(proc))

    def test_only_what_is_missing(self):
        """In the middle of kernels. The rest stays on the device until it is needed, too."""
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", LC_MIB)
        for _ in range(ROUNDS):
            self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
            self.assertIn(self.out(be), range(LEAVES_MIB, BE_MIB))
            self.give(lc)
            time.sleep(random.uniform(0, 2))
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        second = self.app("lc", LC_MIB // 2)
        self.assertEqual(self.take(second), "got 0\n", self.said("be"))
        self.assertGreaterEqual(self.out(be), LEAVES_MIB + LC_MIB // 2 - 4)
        self.give(second)
        self.give(lc)
        self.until_back(be)
        self.assertGreater(self.right(be), 0)

    def test_many_small_requests(self):
        """Each move doubles the memory that is out, so there are few."""
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", 0, role="limit")
        for _ in range(40):
            self.assertEqual(self.do(lc, "alloc 2"), ["0"], self.said("be"))
        row = self.row_of(be)["memory"]
        self.assertGreaterEqual(row["out_bytes"] >> 20, 80 - (MEMORY_MIB - BE_MIB))
        self.assertLessEqual(row["moves"], 5)
        self.assertEqual(self.do(lc, *["free"] * 40), ["0"] * 40)
        self.until_back(be)
        self.assertGreater(self.right(be), 0)

    def test_leaves_piece_by_piece(self):
        """Memory is released while the rest is copied."""
        self.env["GPREEMPT_SOFTGPU_LINK"] = "25"
        be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", LC_MIB)
        lc.stdin.write("take\n")
        lc.stdin.flush()
        self.eventually("a part that is out", lambda: 0 < self.out(be) < LEAVES_MIB)
        self.assertEqual(lc.stdout.readline(), "got 0\n", self.said("be"))
        self.assertGreaterEqual(self.out(be), LEAVES_MIB)
        self.kill(lc)
        self.right(be)

    def test_way_out_fails_half_way(self):
        """Then the parts that left come back before the program runs on."""
        be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", LC_MIB)
        self.plant(f"copy={COPIES}+1")
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.until_back(be)
        row = self.rows()[be.pid]["memory"]
        self.assertEqual(row["moves"], 0)
        self.assertGreater(row["moved_bytes"], 0)
        self.right(be)
        self.assertIn("memory stays on the device: Input/output error", self.said("be"))

    def test_way_out_fails_and_the_way_back(self):
        """Then the parts that left wait on the host, and the rest on the device."""
        for fault in f"copy={COPIES}", f"copy={COPIES} create", f"copy={COPIES}+1 map":
            be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", LC_MIB)
            self.plant(fault)
            self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
            out = self.out(be)
            self.assertTrue(0 < out <= COPIES * PART_MIB, out)
            time.sleep(1.5)             # longer than it stays away
            self.assertEqual(self.out(be), out)
            os.unlink(self.faults)
            self.until_back(be)
            self.right(be)
            self.kill(lc)

    def test_the_rest_leaves_later(self):
        """For the next allocation, if the first took the room of the parts that left."""
        be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", LC_MIB)
        self.plant(f"copy={LEAVES_MIB // PART_MIB - 1}")
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        os.unlink(self.faults)
        self.assertTrue(0 < self.out(be) < BE_MIB, self.said("be"))
        time.sleep(1.5)                 # longer than a move that failed counts
        second = self.app("lc", LC_MIB)
        self.assertEqual(self.take(second), "got 0\n", self.said("be"))
        self.assertEqual(self.out(be), BE_MIB)
        self.give(lc)
        self.give(second)
        self.until_back(be)
        self.assertEqual(self.rows()[be.pid]["memory"]["moves"], 1)
        self.right(be)

    def test_killed_half_way(self):
        """Its memory on both sides is free at once."""
        be, lc = self.app("be", BE_MIB, "--mem", role="plain"), self.app("lc", MEMORY_MIB)
        self.plant(f"copy={COPIES}")
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.assertGreater(self.out(be), 0)
        self.kill(be, signal.SIGKILL)
        self.assertEqual(self.take(lc), "got 0\n")

    def test_way_back_fails(self):
        """Then it is repeated, and nothing is lost."""
        for op in "create", "map", "copy":
            be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", LC_MIB)
            self.assertEqual(self.take(lc), "got 0\n")
            self.plant(op)
            self.give(lc)
            time.sleep(1.5)                 # longer than it stays away
            os.unlink(self.faults)
            self.right(be)
            self.kill(lc)

    def test_kills(self):
        """At any moment: the room of a killed process is there at once for the next."""
        lc = self.app("lc", LC_MIB)
        for _ in range(ROUNDS):
            be = self.app("be", BE_MIB, "--mem")
            lc.stdin.write("take\n")
            lc.stdin.flush()
            time.sleep(random.uniform(0, 0.5))
            self.kill(be, signal.SIGKILL)
            self.assertEqual(lc.stdout.readline(), "got 0\n")
            self.give(lc)

    def test_latency_critical_killed(self):
        """While it waits: the others come back."""
        be = self.app("be", BE_MIB, "--mem")
        for _ in range(ROUNDS):
            lc = self.app("lc", LC_MIB)
            lc.stdin.write("take\n")
            lc.stdin.flush()
            time.sleep(random.uniform(0, 0.3))
            self.kill(lc)
        self.right(be)

    def test_other_class(self):
        """Only best-effort memory leaves."""
        be, lc = self.app("be", BE_MIB, "--mem"), self.app("lc", LC_MIB)
        self.ok("set", "--class=lc", str(be.pid))
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.right(be)

    def test_usage(self):
        self.wrong_options({("--mem",): "--mem needs --class=be; latency-critical memory stays"}, "lc")


if __name__ == "__main__":
    unittest.main()
