#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --mem-turns on the software GPU: best-effort programs whose memory does not fit together
take turns on it. Each checks its results."""
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import APP, BE_MIB, LC_MIB, MEMORY_MIB, MemoryRig  # noqa: E402
from rig import BUILD, CLI, PATIENCE_S  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

PAIR_MIB = 48           # two fit, and three do not
ROUNDS = 1


class Turns(MemoryRig, Daemon):
    def setUp(self):
        super().setUp()
        self.start_daemon("be_quantum: 10ms\n")

    def turns(self, mib=BE_MIB, *how):
        return self.app("be", mib, "--mem", "--mem-turns", *how)

    def memory(self, proc):
        return self.rows()[proc.pid]["memory"]

    def until_moved(self, times, *procs):
        for proc in procs:
            self.eventually(f"{times} moves", lambda: self.memory(proc)["moves"] >= times)

    def test_two(self):
        two = [self.turns(), self.turns()]
        self.until_moved(ROUNDS, *two)
        moves = [self.memory(p)["moves"] for p in two]
        self.assertLess(max(moves) - min(moves), 3, moves)
        for proc in two:
            self.assertGreater(self.right(proc), 0)
        self.assertEqual(self.said("be"), "")

    def test_three_of_which_two_fit(self):
        """Only one is out at a time."""
        three = [self.turns(PAIR_MIB) for _ in range(3)]
        self.until_moved(1, *three)
        out = [sum(self.memory(p)["out_bytes"] > 0 for p in three) for _ in range(20)]
        # At a change of places two may be.
        self.assertLessEqual(sorted(out)[len(out) // 2], 1, out)
        for proc in three:
            self.assertGreater(self.right(proc), 0)
        self.assertEqual(self.said("be"), "")

    def test_one_ends(self):
        """The other comes back, and stays."""
        one, other = self.turns(), self.turns()
        self.kill(one if self.memory(other)["out_bytes"] else other)
        left = other if one.poll() is not None else one
        self.eventually("it is back", lambda: not self.memory(left)["out_bytes"])
        moves = self.memory(left)["moves"]
        time.sleep(3)
        self.assertEqual(self.memory(left)["moves"], moves)
        self.assertGreater(self.right(left), 0)

    def test_one_never_fits(self):
        """It has all the device, and then CUDA's own error. The other comes back."""
        one = self.turns()
        with open(os.path.join(self.dir, "be"), "a") as err:
            big = subprocess.Popen(
                [CLI, "run", "--class=be", "--device=soft0", "--mem", "--mem-turns", "--", sys.executable,
                 APP, "be", str(2 * MEMORY_MIB)], env={**self.env, "GP_BUILD": BUILD}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        self.programs.append(big)
        self.until_moved(1, one)
        self.eventually("it is back", lambda: not self.memory(one)["out_bytes"])
        self.assertNotEqual(big.wait(PATIENCE_S), 0)
        self.assertGreater(self.right(one), 0)

    def test_latency_critical(self):
        """It has room of both at once, at any moment of their turns."""
        two, lc = [self.turns(), self.turns()], self.app("lc", LC_MIB)
        for _ in range(ROUNDS):
            self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
            time.sleep(1)
            self.give(lc)
            time.sleep(1)
        self.until_moved(ROUNDS, *two)
        for proc in two:
            self.assertGreater(self.right(proc), 0)

    def test_without_daemon(self):
        self.stop_daemon()
        done = self.gp("run", "--class=be", "--mem", "--mem-turns", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (
            0, "gpreempt: run: --mem-turns has no effect until gpreemptd runs; start it first\n"))

    def test_refused(self):
        done = self.gp("run", "--class=be", "--mem-turns", "--", "true")
        self.assertEqual((done.returncode, done.stderr),
                         (125, "gpreempt: run: --mem-turns needs --mem; else no memory leaves\n"))


class Rule(MemoryRig, Daemon):
    """gpreemptd's rules say that programs take turns."""

    def setUp(self):
        super().setUp()
        self.start_daemon(f"be_quantum: 10ms\nrules:\n- user: {os.getuid()}\n  max_class: lc\n"
                          "  memory: {turns: true}\n")

    def test_two(self):
        two = [self.app("be", BE_MIB), self.app("be", BE_MIB, "--mem")]
        for proc in two:
            self.eventually("a move", lambda: self.rows()[proc.pid]["memory"]["moves"])
        for proc in two:
            self.assertGreater(self.right(proc), 0)
        self.assertEqual(self.said("be"), "")

    def test_latency_critical(self):
        """Its memory stays."""
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n")
        self.assertEqual(self.rows()[lc.pid]["memory"]["movable_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
