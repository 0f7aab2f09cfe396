#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One limit of device memory for all programs of a cgroup: a rule with as: one and memory. Needs
version 2, and a cgroup that this user may write."""
import array
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_daemon import Head  # noqa: E402
from memory_rig import NO_MEMORY, MemoryRig  # noqa: E402
from test_frozen import Frozen  # noqa: E402

MAX_MIB = 32
MIB = 1 << 20
ASK, PLACES, PAGE_BYTES, BYTES_AT = 33, 512, 65856, 320     # wire/quota.h
MAGIC = 0x47505245


class Together(MemoryRig, Frozen):
    def setUp(self):
        super().setUp()
        self.path = self.cgroup[len(self.root):]
        self.start_daemon(f"default_max_class: any\nrules:\n- cgroup: {self.path}\n  max_class: lc\n"
                          f"  as: one\n  memory: {{max: {MAX_MIB}MiB}}\n")
        self.rule = f"the rule at {self.dir}/gpreempt.yaml:3 (cgroup {self.path})"

    def member(self, cls="be", *how, cgroup=None):
        with self.inside(cgroup or self.cgroup):
            return self.app(cls, 0, *how, role="limit")

    def do(self, proc, *lines):
        return [int(self.take(proc, line)) for line in lines]

    def free(self, proc):
        error, free, total = map(int, self.take(proc, "info").split())
        self.assertEqual((error, total), (0, MAX_MIB))
        return free

    def used(self, proc):
        row = self.rows()[proc.pid]["daemon"]
        return row["cgroup_memory_bytes"] // MIB, row["cgroup_memory_max_bytes"] // MIB

    def test_one_limit(self):
        below = self.make_cgroup("below", self.cgroup)
        one, two, lc = self.member(), self.member(cgroup=below), self.member("lc")
        self.assertEqual(self.do(one, "alloc 12", "create 4"), [0, 0])
        self.assertEqual([self.free(p) for p in (one, two, lc)], [16] * 3)
        self.assertEqual(self.do(two, "alloc 17"), [NO_MEMORY])
        self.assertEqual(self.said("be").splitlines(), [
            "gpreempt: --mem: an allocation of 17MiB fails as out of memory: the processes of its cgroup "
            f"have 16MiB of their {MAX_MIB}MiB, by {self.rule}"])
        self.assertEqual(self.do(two, "alloc 6"), [0])
        self.assertEqual(self.do(lc, "alloc 12", "alloc 8"), [NO_MEMORY, 0])
        self.assertEqual(self.do(one, "free", "alloc 15", "alloc 12", "drop"), [0, NO_MEMORY, 0, 0])
        self.assertEqual([self.free(p) for p in (one, two, lc)], [6] * 3)

    def test_views(self):
        one, two = self.member(), self.member()
        self.until_taken(one, two)
        self.assertEqual(self.do(one, "alloc 12") + self.do(two, "alloc 8"), [0, 0])
        self.assertEqual([self.used(p) for p in (one, two)], [(20, MAX_MIB)] * 2)
        self.assertRegex(self.ok("ls").stdout,
                         f"(?m) 2 processes of {self.path}, memory 20.0MiB of 32.0MiB together$")
        why = self.ok("why", str(two.pid)).stdout
        self.assertIn(f"\n  Memory of all processes of {self.path}: 20.0MiB of 32.0MiB\n", why)
        json_why = json.loads(self.ok("why", "--json", str(one.pid)).stdout)["reasons"][0]
        self.assertEqual((json_why["cgroup_memory_bytes"], json_why["cgroup_memory_max_bytes"]),
                         (20 * MIB, MAX_MIB * MIB))

    def test_a_killed_one_gives_back(self):
        one, two = self.member(), self.member()
        self.assertEqual(self.do(one, "alloc 24") + self.do(two, "alloc 16"), [0, NO_MEMORY])
        self.kill(one)
        self.eventually("its memory counts no more", lambda: self.free(two) == MAX_MIB)
        self.assertEqual(self.do(two, "alloc 16"), [0])

    def test_own_limit_and_other_cgroups(self):
        outside = self.app("be", 0, role="limit")
        one, two = self.member("be", "--mem=:8MiB"), self.member()
        self.assertEqual(self.do(outside, "alloc 48"), [0])
        self.assertEqual(self.do(one, "alloc 9", "alloc 8"), [NO_MEMORY, 0])
        self.assertIn("this process has 0B of its 8MiB, by MAX of run --mem=MIN:MAX\n", self.said("be"))
        self.assertEqual(self.do(two, "alloc 25", "alloc 24"), [NO_MEMORY, 0])
        self.assertIsNone(self.rows()[outside.pid]["daemon"]["cgroup_memory_bytes"])

    def test_daemon_killed(self):
        """The next one has the figures of all, also of those that allocate nothing."""
        one, two = self.member(), self.member()
        self.until_taken(one, two)
        self.assertEqual(self.do(one, "alloc 24"), [0])
        pids = self.role("daemon")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.eventually("the next daemon", lambda: set(self.role("daemon")) - set(pids))
        self.until_taken(one, two)
        self.eventually("its figures", lambda: self.used(one) == (24, MAX_MIB))
        self.assertEqual(self.do(two, "alloc 9", "alloc 8"), [NO_MEMORY, 0])

    def ask(self):
        """As the layer does. Place and file, or the error and None."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(self.socket)
            s.send(bytes(Head(MAGIC, 1, ASK, 24, 0)) + bytes(8))
            data, control, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(4))
        head = Head.from_buffer_copy(data)
        if head.type != ASK:
            return head.result, None
        files = array.array("i", control[0][2])
        return struct.unpack_from("<I", data, ctypes.sizeof(Head))[0], files[0]

    def test_liar(self):
        """It takes room away from its cgroup, and from nobody else."""
        honest, outside = self.member(), self.app("be", 0, role="limit")
        self.until_taken(honest, outside)
        self.assertEqual(self.do(honest, "alloc 8"), [0])
        self.assertIsNone(self.ask()[1])
        daemon = self.role("daemon")
        with self.inside(self.cgroup):
            place, file = self.ask()
            self.assertEqual(self.ask()[0], place)
        self.addCleanup(os.close, file)
        for size in (0, 4096, 1 << 40):
            self.assertRaises(PermissionError, os.ftruncate, file, size)
        page = mmap.mmap(file, PAGE_BYTES)
        page[BYTES_AT:] = b"\xff" * (PAGE_BYTES - BYTES_AT)
        self.assertEqual(self.do(honest, "alloc 1"), [NO_MEMORY])
        self.assertEqual(self.rows()[honest.pid]["daemon"]["cgroup_memory_bytes"], None)
        page[:] = os.urandom(PAGE_BYTES)
        self.ok("ls")
        self.ok("why", str(honest.pid))
        self.do(honest, "alloc 1", "free")
        page[:] = bytes(PAGE_BYTES)
        self.assertEqual(self.do(honest, "alloc 16"), [0])
        self.assertEqual(self.do(outside, "alloc 48"), [0])
        self.assertEqual(self.role("daemon"), daemon)

    def test_no_daemon(self):
        """Then each counts for itself."""
        self.stop_daemon()
        self.env.update(GPREEMPT_MEMORY_MAX=f"{MAX_MIB}MiB", GPREEMPT_MEMORY_AS="one")
        one, two = self.member(), self.member()
        self.assertEqual(self.do(one, "alloc 24") + self.do(two, "alloc 24"), [0, 0])
        self.assertEqual(self.do(two, "alloc 9"), [NO_MEMORY])
        self.assertIn("cannot count memory with the other processes of this cgroup: no gpreemptd, or no rule; "
                      "the limit is of this process alone; run gpreempt doctor\n", self.said("be"))


if __name__ == "__main__":
    unittest.main()
