#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory leaves the software GPU while gpreemptd gives turns, whichever process is killed
meanwhile. GP_WHOLE=1: with kills at random moments."""
import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import NO_MEMORY, MemoryRig  # noqa: E402
from rig import PATIENCE_S  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

LIGHT_MIB, HEAVY_MIB, FIXED_MIB = 48, 32, 16
ONE_MIB, BOTH_MIB = 48, 92      # an allocation that needs the light one's room, or that of both
ROUNDS = 3
WHOLE = bool(os.environ.get("GP_WHOLE"))


class MemoryDaemon(MemoryRig, Daemon):
    def setUp(self):
        super().setUp()
        self.start_daemon("be_quantum: 10ms\n")

    def tenant(self, proc):
        return self.tenants().get(proc.pid)

    def out(self, proc):
        """Is memory of it out? Without its page the daemon does not know."""
        memory = self.rows()[proc.pid]["memory"]
        return memory["out_bytes"] if memory else None

    def moves(self, proc):
        return self.rows()[proc.pid]["memory"]["moves"]

    def three(self, managed=True):
        """Two whose memory can leave, and one beside."""
        self.light = self.app("be", LIGHT_MIB, "--mem", weight=50)
        self.heavy = self.app("be", HEAVY_MIB, "--mem", weight=200)
        self.fixed = self.app("be", FIXED_MIB)
        self.lc = self.app("lc", ONE_MIB)
        if managed:
            self.until_taken(self.light, self.heavy, self.fixed, self.lc)
        return self.light, self.heavy, self.fixed

    def all_right(self, *procs):
        """None is left suspended, and each byte is right."""
        for proc in procs:
            self.assertGreater(self.right(proc), 0)

    def back(self, *procs):
        for proc in procs:
            self.eventually("memory that is back", lambda: self.out(proc) == 0)

    def kill_daemon(self):
        pids = self.role("daemon")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.eventually("the next daemon", lambda: set(self.role("daemon")) - set(pids))

    def test_least_weight_leaves_and_comes_back(self):
        three = self.three()
        for n in range(1, ROUNDS + 1):
            self.assertEqual(self.take(self.lc), "got 0\n", self.said("be"))
            self.assertEqual([self.moves(self.light), self.moves(self.heavy)], [n, 0])
            self.give(self.lc)
            self.back(self.light)
            time.sleep(random.uniform(0, 0.5))
        self.all_right(*three)
        self.assertEqual(self.said("be") + self.said("lc"), "")

    def test_views(self):
        three = self.three()
        self.assertEqual(self.take(self.lc), "got 0\n")
        self.assertEqual((self.tenant(self.light)["state"], self.tenant(self.heavy)["state"] != "out"),
                         ("out", True))
        why = self.ok("why", str(self.light.pid)).stdout
        self.assertIn(f"Its memory is on the host, as process {self.lc.pid} (python3", why)
        self.assertIn("It comes back when there is room.", why)
        self.assertIn('"reason": "out"', self.ok("why", "--json", str(self.light.pid)).stdout)
        self.assertRegex(self.ok("top", "-n1", "-b").stdout, rf"(?m)^ *{self.light.pid} .* out ")
        self.give(self.lc)
        self.back(self.light)
        self.eventually("another state", lambda: self.tenant(self.light)["state"] != "out")
        self.all_right(*three)

    def test_others_have_their_turns_meanwhile(self):
        self.three()
        self.assertEqual(self.take(self.lc), "got 0\n")
        before = self.tenants()
        self.eventually("five turns each", lambda: all(
            self.tenant(p)["turns"] >= before[p.pid]["turns"] + 5 for p in (self.heavy, self.fixed)))
        self.assertEqual(self.tenant(self.light)["turns"], before[self.light.pid]["turns"])
        self.give(self.lc)
        self.all_right(self.light, self.heavy, self.fixed)

    def test_the_same_one_gives_more(self):
        """It is stopped already, so the other one runs on."""
        light, heavy, fixed = self.three()
        self.assertEqual(self.take(self.lc), "got 0\n", self.said("be"))
        first = self.out(light)
        self.assertIn(first, range(1, LIGHT_MIB << 20))
        second = self.app("lc", 16)
        self.assertEqual(self.take(second), "got 0\n", self.said("be"))
        self.assertIn(self.out(light), range(first + (12 << 20), LIGHT_MIB << 20))
        self.assertEqual((self.out(heavy), self.moves(heavy)), (0, 0))
        self.give(second)
        self.give(self.lc)
        self.back(light)
        self.all_right(light, heavy, fixed)

    def test_both_leave_for_a_large_one(self):
        three = self.three()
        lc = self.app("lc", BOTH_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.assertEqual([self.moves(self.light), self.moves(self.heavy)], [1, 1])
        self.give(lc)
        self.all_right(*three)

    def test_too_much_for_all(self):
        three = self.three()
        lc = self.app("lc", 2 * 128)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.all_right(*three)

    def test_daemon_killed_while_out(self):
        three = self.three()
        self.assertEqual(self.take(self.lc), "got 0\n")
        self.kill_daemon()
        self.until_taken(*three)
        self.assertGreater(self.out(self.light), 0)
        self.assertEqual(self.tenant(self.light)["state"], "out")
        self.give(self.lc)
        self.back(self.light)
        self.all_right(*three)

    def test_daemon_killed_while_a_part_is_out(self):
        """The way out failed, and the way back does."""
        be = self.app("be", LIGHT_MIB, "--mem", role="plain")
        lc = self.app("lc", 96)
        self.until_taken(be, lc)
        with open(self.faults, "w") as f:
            f.write("copy=4")
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n", self.said("be"))
        self.assertTrue(0 < self.out(be) < LIGHT_MIB << 20, self.said("be"))
        self.kill_daemon()
        self.until_taken(be)
        self.assertEqual(self.tenant(be)["state"], "out")
        os.unlink(self.faults)
        self.back(be)
        self.all_right(be)

    def test_daemon_ends_while_out(self):
        """The process comes back by itself."""
        three = self.three()
        self.assertEqual(self.take(self.lc), "got 0\n")
        self.stop_daemon()
        time.sleep(random.uniform(0, 3))
        self.give(self.lc)
        self.all_right(*three)

    def test_daemon_begins_while_out(self):
        """It takes the process as it is: its memory left without a daemon."""
        self.stop_daemon()
        three = self.three(managed=False)
        self.assertEqual(self.take(self.lc), "got 0\n")
        out = [p for p in three[:2] if self.out(p)]
        self.start_daemon("be_quantum: 10ms\n")
        self.until_taken(*three)
        self.assertTrue(out)
        for proc in out:
            self.assertEqual(self.tenant(proc)["state"], "out")
        self.give(self.lc)
        self.back(*out)
        self.all_right(*three)

    def test_tenant_killed_while_out(self):
        self.three()
        self.assertEqual(self.take(self.lc), "got 0\n")
        self.kill(self.light)
        self.give(self.lc)
        self.eventually("no tenant", lambda: not self.tenant(self.light))
        self.all_right(self.heavy, self.fixed)

    def rounds(self):
        return 12 if WHOLE else 1

    def send(self, line):
        self.lc.stdin.write(line + "\n")
        self.lc.stdin.flush()

    def test_daemon_killed_at_random_moments(self):
        """While memory moves out, or comes back."""
        three = self.three()
        for _ in range(self.rounds()):
            self.send("take")
            time.sleep(random.uniform(0, 0.3))
            self.kill_daemon()
            self.assertEqual(self.lc.stdout.readline(), "got 0\n", self.said("be"))
            self.give(self.lc)
            time.sleep(random.uniform(0.8, 1.5))
            self.kill_daemon()
            self.back(*three)
        self.all_right(*three)

    def test_latency_critical_killed_at_random_moments(self):
        three = self.three()
        for _ in range(self.rounds()):
            self.send("take")
            time.sleep(random.uniform(0, 0.3))
            self.kill(self.lc)
            self.lc = self.app("lc", ONE_MIB)
        self.back(*three)
        self.all_right(*three)

    def test_tenant_killed_at_random_moments(self):
        self.three()
        for _ in range(self.rounds()):
            self.send("take")
            time.sleep(random.uniform(0, 0.3))
            self.kill(self.light)
            self.assertEqual(self.lc.stdout.readline(), "got 0\n")
            self.give(self.lc)
            self.light = self.app("be", LIGHT_MIB, "--mem", weight=50)
            self.until_taken(self.light)
        self.all_right(self.light, self.heavy, self.fixed)


if __name__ == "__main__":
    unittest.main()
