#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants in cgroups that are frozen, or that count as one. Needs version 2, and a cgroup that this
user may write."""
import contextlib
import os
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_daemon import LIST, MAGIC, RESULT, Head, Tenant  # noqa: E402
from rig import FIGURES  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
ROUNDS = 30
OFF_S = 0.020       # from a freeze until it has taken effect
OFF = 1 << 9 | 1 << 1   # of a tenant's flags: frozen, and suspended


def own_cgroup():
    """Root of version 2's hierarchy, and this process's path there; None: there is none."""
    with open("/proc/self/cgroup", encoding="ascii") as f:
        paths = [line[3:].rstrip("\n") for line in f if line.startswith("0::")]
    for root in ROOTS:
        if paths and os.path.exists(f"{root}/cgroup.controllers"):
            return root, paths[0].rstrip("/")
    return None


def write(folder, name, text):
    with open(f"{folder}/{name}", "w", encoding="ascii") as f:
        f.write(text)


class Frozen(Daemon):
    def setUp(self):
        super().setUp()
        self.root, self.own = own_cgroup() or (None, None)
        self.home = self.root and self.root + self.own
        self.cgroups = []
        self.addCleanup(self.remove_cgroups)
        try:
            self.cgroup = self.make_cgroup(f"gp-test-{os.getpid()}")
        except (OSError, TypeError) as e:
            self.skipTest(f"no cgroup can be made: {e}")

    def make_cgroup(self, name, below=None):
        path = os.path.join(below or self.home, name)
        os.mkdir(path)
        self.cgroups.append(path)
        return path

    def remove_cgroups(self):
        for path in reversed(self.cgroups):
            if not os.path.exists(path):
                continue
            self.freeze(path, False)
            write(path, "cgroup.kill", "1")
            self.eventually("an empty cgroup", lambda p=path: "populated 0" in self.events(p))
            os.rmdir(path)

    def events(self, cgroup):
        with open(f"{cgroup}/cgroup.events", encoding="ascii") as f:
            return f.read()

    def freeze(self, cgroup, frozen=True):
        write(cgroup, "cgroup.freeze", str(int(frozen)))

    @contextlib.contextmanager
    def inside(self, cgroup):
        """What is started inside stays there."""
        write(cgroup, "cgroup.procs", str(os.getpid()))
        try:
            yield
        finally:
            write(self.home, "cgroup.procs", str(os.getpid()))

    def start_in(self, cgroup, *args, **how):
        with self.inside(cgroup):
            return self.start(*args, **how)

    def state(self, proc):
        return self.tenants()[proc.pid]["state"]

    def until_frozen(self, *procs):
        for proc in procs:
            self.eventually("it is frozen", lambda p=proc: self.state(p) == "frozen")

    def until_thawed(self, *procs):
        for proc in procs:
            self.eventually("it is thawed", lambda p=proc: self.state(p) != "frozen")

    def until_used(self, *procs):
        """Each has the device after this."""
        before = self.tenants()
        self.eventually("use of the device", lambda: all(
            self.tenants()[p.pid]["used_ns"] > before[p.pid]["used_ns"] for p in procs))

    def used_by(self, proc, other):
        """While @other works, @proc uses nothing once the log has been read."""
        self.until_used(other)
        before = self.tenants()
        self.until_used(other)
        after = self.tenants()
        return after[proc.pid]["used_ns"] - before[proc.pid]["used_ns"]


class Be(Frozen):
    def test_others_have_its_turns(self):
        self.start_daemon("be_quantum: 10ms\n")
        frozen, other = self.start_in(self.cgroup, "be"), self.start("be")
        self.until_taken(frozen, other)
        self.until_used(frozen, other)
        self.freeze(self.cgroup)
        self.until_frozen(frozen)
        self.eventually("it is suspended", lambda: self.tenants()[frozen.pid]["suspended"])
        turns = self.tenants()[frozen.pid]["turns"]
        self.assertEqual(self.used_by(frozen, other), 0)
        self.assertEqual(self.tenants()[frozen.pid]["turns"], turns)
        why = self.ok("why", str(frozen.pid)).stdout
        self.assertRegex(why, "Its cgroup is frozen, for .* It runs again when the cgroup is thawed")
        self.assertIn('"reason": "frozen"', self.ok("why", "--json", str(frozen.pid)).stdout)
        self.assertRegex(self.ok("top", "-n1", "-b").stdout, rf"(?m)^ *{frozen.pid} .* frozen ")
        self.freeze(self.cgroup, False)
        self.until_thawed(frozen)
        self.until_used(frozen, other)

    def is_off(self, daemon, proc):
        """By a connection: to start gpreempt takes half of the time that is measured."""
        daemon.send(bytes(Head(MAGIC, 1, LIST, 16, 0)))
        off = False
        while Head.from_buffer_copy(data := daemon.recv(8192)).type != RESULT:
            row = Tenant.from_buffer_copy(data)
            off |= row.pid == proc.pid and row.flags & OFF == OFF
        return off

    def test_how_fast(self):
        self.start_daemon()
        frozen = self.start_in(self.cgroup, "be")
        self.until_taken(frozen)
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(daemon.close)
        daemon.connect(self.socket)
        took_s = []
        # On a busy machine the daemon has no CPU at once.
        while len(took_s) < ROUNDS and (len(took_s) < 5 or min(took_s) >= OFF_S):
            self.until_used(frozen)
            start_s = time.monotonic()
            self.freeze(self.cgroup)
            while not self.is_off(daemon, frozen):
                time.sleep(0.0005)
            took_s.append(time.monotonic() - start_s)
            self.freeze(self.cgroup, False)
            self.until_thawed(frozen)
        if FIGURES:
            self.assertLess(min(took_s), OFF_S, took_s)

    def test_cgroup_above(self):
        below = self.make_cgroup("below", self.cgroup)
        self.start_daemon()
        frozen = self.start_in(below, "be")
        self.until_taken(frozen)
        self.freeze(self.cgroup)
        self.until_frozen(frozen)
        self.freeze(self.cgroup, False)
        self.until_thawed(frozen)
        self.until_used(frozen)

    def test_frozen_before_it_is_a_tenant(self):
        """Found by a rule, attached, and moved there."""
        self.start()        # the software GPU is not in that cgroup
        found = self.start_in(self.cgroup)
        self.freeze(self.cgroup)
        self.start_daemon(f"rules:\n- {{cgroup: {self.cgroup[len(self.root):]}, class: be}}\n")
        self.until_taken(found)
        self.until_frozen(found)
        moved = self.start()
        self.ok("attach", "--class=be", str(moved.pid))
        self.until_used(moved)
        write(self.cgroup, "cgroup.procs", str(moved.pid))
        self.until_frozen(moved)
        write(self.home, "cgroup.procs", str(moved.pid))
        self.until_thawed(moved)
        self.until_used(moved)
        self.assertEqual(self.state(found), "frozen")

    def test_cgroup_that_is_removed(self):
        self.start_daemon()
        moved = self.start_in(self.cgroup, "be")
        self.until_taken(moved)
        write(self.home, "cgroup.procs", str(moved.pid))
        os.rmdir(self.cgroup)
        os.mkdir(self.cgroup)
        write(self.cgroup, "cgroup.procs", str(moved.pid))
        self.freeze(self.cgroup)
        self.until_frozen(moved)
        self.freeze(self.cgroup, False)
        self.until_thawed(moved)
        self.until_used(moved)

    def test_killed_while_frozen(self):
        self.start_daemon()
        frozen, other = self.start_in(self.cgroup, "be"), self.start("be")
        self.until_taken(frozen, other)
        self.freeze(self.cgroup)
        self.until_frozen(frozen)
        self.kill(frozen)
        self.eventually("it has left", lambda: set(self.tenants()) == {other.pid})
        self.until_used(other)


class Lc(Frozen):
    def test_it_leaves_the_device(self):
        """Its kernels follow each other without a pause, so best-effort has nothing beside it."""
        self.start_daemon()
        lc, be = self.start_in(self.cgroup, "lc"), self.start("be")
        self.until_taken(lc, be)
        self.until_used(lc)
        self.freeze(self.cgroup)
        self.until_frozen(lc)
        self.assertEqual(self.used_by(lc, be), 0)
        self.freeze(self.cgroup, False)
        self.until_thawed(lc)
        self.until_used(lc)


class One(Frozen):
    """A rule with as: one. The processes of a cgroup, also of those below it, have the share and the
    turns of one."""
    MEMBERS = 8

    def rules(self, how):
        return ("be_quantum: 5ms\nrules:\n"
                f"- {{cgroup: {self.cgroup[len(self.root):]}, class: be, as: {how}}}\n")

    def part(self, lone, rounds=10):
        """Of the turns' time, in so many turns of @lone."""
        before = self.resident()
        turns = self.tenants()[lone.pid]["turns"]
        self.eventually("turns", lambda: self.tenants()[lone.pid]["turns"] >= turns + rounds)
        had = {pid: ns - before[pid] for pid, ns in self.resident().items()}
        return had[lone.pid] / sum(had.values())

    def test_share_freeze_and_kill(self):
        below = self.make_cgroup("below", self.cgroup)
        self.start_daemon(self.rules("one"))
        lone = self.start("be")
        members = [self.start_in((self.cgroup, below)[n % 2], "be") for n in range(self.MEMBERS)]
        self.until_taken(lone, *members)
        self.part(lone)
        self.assertAlmostEqual(self.part(lone), 1 / 2, delta=0.1)
        path = self.cgroup[len(self.root):]
        table = self.ok("ls").stdout
        self.assertEqual(table.count(" processes of "), 1, table)
        self.assertRegex(table, rf"(?m)^ *\d+ +be:100 .* {self.MEMBERS} processes of {path}$")
        rows = {int(line.split()[0]) for line in table.splitlines()[1:]}
        self.assertEqual(len(rows & {p.pid for p in members}), 1, table)
        self.assertEqual({self.tenants()[p.pid]["cgroup"] for p in members}, {path})
        self.assertIsNone(self.tenants()[lone.pid]["cgroup"])
        self.write_config(self.rules("each"))
        self.daemon.send_signal(signal.SIGHUP)
        self.eventually("the new rules", lambda: "configuration reloaded" in self.said())
        self.part(lone, 3)
        self.assertLess(self.part(lone, 5), 1 / 4)
        self.write_config(self.rules("one"))
        self.daemon.send_signal(signal.SIGHUP)
        self.eventually("the old rules", lambda: self.said().count("configuration reloaded") == 2)
        self.part(lone)
        self.assertAlmostEqual(self.part(lone), 1 / 2, delta=0.1)
        self.freeze(self.cgroup)
        self.until_frozen(*members)
        self.assertGreater(self.tenants()[lone.pid]["turns"], 0)
        self.assertEqual(self.used_by(members[0], lone), 0)
        write(self.cgroup, "cgroup.kill", "1")
        self.eventually("all have left", lambda: set(self.tenants()) == {lone.pid})
        self.until_used(lone)


class Keep(Frozen):
    def test_daemon_killed_while_frozen(self):
        """The next one keeps it off the device."""
        self.start_daemon()
        frozen, other = self.start_in(self.cgroup, "be"), self.start("be")
        self.until_taken(frozen, other)
        self.freeze(self.cgroup)
        self.until_frozen(frozen)
        pids = self.role("daemon")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.eventually("the next daemon", lambda: set(self.role("daemon")) - set(pids))
        self.until_taken(frozen, other)
        self.until_frozen(frozen)
        self.assertEqual(self.tenants()[frozen.pid]["class_from"],
                         "its cgroup was frozen when gpreemptd started")
        self.assertEqual(self.used_by(frozen, other), 0)
        self.freeze(self.cgroup, False)
        self.eventually("it connects again", lambda: self.tenants().get(
            frozen.pid, {}).get("origin") == "run")
        self.until_used(frozen, other)

    def test_daemon_ends_while_frozen(self):
        """It leaves nobody suspended."""
        self.start_daemon()
        frozen, other = self.start_in(self.cgroup, "be"), self.start("be")
        self.until_taken(frozen, other)
        self.freeze(self.cgroup)
        self.until_frozen(frozen)
        self.stop_daemon()
        self.assertNotIn("cannot restore", self.said())
        self.freeze(self.cgroup, False)
        self.start_daemon()
        self.until_taken(frozen, other)
        self.until_used(frozen, other)


if __name__ == "__main__":
    unittest.main()
