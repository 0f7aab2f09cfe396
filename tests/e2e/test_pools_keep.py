#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MPS pool that ends when it is unused, and goes on after faults and kills. MPS is a stand-in."""
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_pools  # noqa: E402
from rig import PATIENCE_S  # noqa: E402


class Classes(test_pools.Pools):
    def test_a_pool_for_each_class(self):
        self.start_daemon()
        be, lc = self.client(), self.client(cls="lc")
        self.assertNotEqual(be.server, lc.server)
        self.until_known(be, lc)
        rows = self.rows()
        self.assertEqual([rows[c.server]["class"] for c in (be, lc)], ["be", "lc"])
        # A client with a fault takes its pool alone, and that is back.
        other = self.client()
        began = time.monotonic()
        self.obey(be, "fault")
        self.assertEqual([p.wait(PATIENCE_S) for p in (be, other)], [1, 1])
        back = self.client()
        took = time.monotonic() - began
        print(f"the pool is back after {took:.1f} s")
        self.assertEqual(lc.poll(), None)
        self.until_known(back, lc)

    def test_a_refused_class(self):
        """At once, or, where the daemon comes later, in the keeper's log."""
        client = self.client(cls="lc")
        self.start_daemon("default_max_class: be:60\n")
        why = (f"lc:0 is higher than default_max_class: be:60 ({self.dir}/gpreempt.yaml:1), and no "
               f"rule matches; raise that, or add to rules: - {{user: {os.getuid()}, max_class: "
               "lc:0}")
        self.eventually("the keeper says so", lambda: (
            f"gpreemptd refused the class of MPS server {client.server}: {why}\n" in
            self.said_by_keeper("lc-0")))
        done = self.gp("run", "--class=lc", "--device=soft0", "--pool", "--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            125, "", f"gpreempt: run: --pool: gpreemptd refused the class: {why}\n"))


class Ends(test_pools.Pools):
    def test_when_unused(self):
        """It has its own daemon, and all is gone some seconds after the last client."""
        del self.env["GPREEMPT_DAEMON"]
        client = self.client()
        self.until_known(client)
        self.assertNotIn(None, self.keepers())
        self.kill(client)
        self.eventually("all has ended", lambda: not self.pool_processes())
        self.assertIn("no process has used this pool for 5 s; stopping", self.said_by_keeper())
        self.assertFalse(os.path.exists(os.path.join(self.pool("be-100"), "ready")))
        # And begins again.
        self.client()

    def test_on_request(self):
        """SIGTERM to the process in its file ends it, and its clients."""
        client = self.client()
        with open(os.path.join(self.pool("be-100"), "keeper")) as f:
            guard = int(f.read())
        self.assertEqual(guard, self.keepers()[0])
        os.kill(guard, signal.SIGTERM)
        self.assertEqual(client.wait(PATIENCE_S), 1)
        self.eventually("all has ended", lambda: not self.pool_processes())
        self.assertNotIn("stopping", self.said_by_keeper())

    def test_keepers_are_killed(self):
        self.start_daemon()
        client = self.client()
        self.until_known(client)
        for role, said in (0, "guard was killed"), (1, "keeper was killed"), (0, "guard was"):
            before = self.said_by_keeper().count(said)
            os.kill(self.keepers()[role], signal.SIGKILL)
            self.eventually("it is noticed", lambda: (
                self.said_by_keeper().count(said) == before + 1 and None not in self.keepers()))
        self.until_known(client)
        # Both at once: the pool goes on, and the next process finds it.
        both = self.keepers()
        for number in signal.SIGSTOP, signal.SIGKILL:
            for pid in both:
                os.kill(pid, number)
        second = self.client()
        self.assertEqual((client.poll(), second.server), (None, client.server))
        self.until_known(client, second)


class Breaks(test_pools.Pools):
    def setUp(self):
        super().setUp()
        self.start_daemon()
        self.victim = self.client()
        self.until_known(self.victim)

    def is_back(self):
        began = time.monotonic()
        client = self.client()
        print(f"{self.id().rsplit('.', 1)[1]}: back after {time.monotonic() - began:.1f} s")
        self.assertNotEqual(client.server, self.victim.server)
        self.until_known(client)

    def test_the_server_is_killed(self):
        os.kill(self.victim.server, signal.SIGKILL)
        self.assertEqual(self.victim.wait(PATIENCE_S), 1)
        self.is_back()

    def test_the_control_daemon_is_killed(self):
        with open(os.path.join(self.pool("be-100"), "pipe/nvidia-cuda-mps-control.pid")) as f:
            os.kill(int(f.read()), signal.SIGKILL)
        self.eventually("the keeper says so", lambda: "MPS does not answer; restarting it" in
                        self.said_by_keeper())
        self.is_back()

    def test_a_client_ignores_the_fault(self):
        self.obey(self.victim, "stubborn")
        self.obey(self.victim, "fault")
        self.eventually("the keeper says so", lambda: (
            f"a client of MPS server {self.victim.server} had a fault" in self.said_by_keeper()))
        self.is_back()


if __name__ == "__main__":
    unittest.main()
