#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A best-effort tenant suspends its work on the software GPU when asked to. It resumes it when
asked to, when the requester is gone, and at the limit."""
import errno
import mmap
import os
import socket
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import Rig  # noqa: E402

HEAD = struct.Struct("=IHHIi")          # wire/wire.h
YIELD = struct.Struct("=IHHIi II Q 16s")
MAGIC, VERSION, TYPE = 0x47505245, 1, 4
LEVEL_MAX = 15
LOOK_S = 0.2
SECONDS = float(os.environ.get("GP_SECONDS", "4"))
NOBODY = 65534
ROUNDS = 20 if SECONDS >= 60 else 4
REST_S = 0.5


class Asker:
    """One connection to a tenant."""

    def __init__(self, pid):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(30)
        self.sock.connect(f"\0gpreempt/1/tenant/{pid}")

    def ask(self, uuid, on=1, limit_ms=900, level=LEVEL_MAX):
        """The tenant's answer: 0 or a negative errno."""
        self.sock.send(YIELD.pack(MAGIC, VERSION, TYPE, YIELD.size, 0, on, level,
                                  limit_ms * 1000000, uuid))
        return HEAD.unpack(self.sock.recv(4096)[:HEAD.size])[4]

    def close(self):
        self.sock.close()


class Yield(Rig):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.dir, "be.times")

    def tenant(self, cls="be"):
        proc = self.start(cls, args=[f"--out={self.out}"])
        self.uuid = bytes.fromhex(
            self.rows()[proc.pid]["uuid"].removeprefix("GPU-").replace("-", ""))
        asker = Asker(proc.pid)
        self.addCleanup(asker.close)
        self.eventually("work", self.works)
        return proc, asker

    def works(self):
        """Does the file grow that records ends of kernels?"""
        before = os.path.getsize(self.out)
        time.sleep(LOOK_S)
        return os.path.getsize(self.out) > before

    def test_off_and_on(self):
        _, asker = self.tenant()
        self.assertEqual(asker.ask(self.uuid), 0)
        self.assertFalse(self.works())
        self.assertEqual(asker.ask(self.uuid, on=0), 0)
        self.eventually("work again", self.works)

    def test_ends_with_who_asked(self):
        _, asker = self.tenant()
        self.assertEqual(asker.ask(self.uuid), 0)
        self.assertFalse(self.works())
        asker.close()
        self.eventually("work again", self.works)

    def test_ends_at_its_limit(self):
        _, asker = self.tenant()
        start = time.monotonic()
        self.assertEqual(asker.ask(self.uuid, limit_ms=600), 0)
        self.assertFalse(self.works())
        self.eventually("work again", self.works)
        self.assertGreaterEqual(time.monotonic() - start, 0.6)

    def test_of_two_the_last_ends_it(self):
        proc, first = self.tenant()
        second = Asker(proc.pid)
        self.addCleanup(second.close)
        self.assertEqual(first.ask(self.uuid), 0)
        self.assertEqual(second.ask(self.uuid), 0)
        first.close()
        self.assertFalse(self.works())
        second.close()
        self.eventually("work again", self.works)

    def test_latency_critical_stays(self):
        _, asker = self.tenant("lc")
        self.assertEqual(asker.ask(self.uuid), 0)
        self.assertTrue(self.works())

    def test_no_longer_than_a_second(self):
        _, asker = self.tenant()
        self.assertEqual(asker.ask(self.uuid, limit_ms=1001), -errno.ERANGE)
        self.assertTrue(self.works())

    def test_another_device(self):
        _, asker = self.tenant()
        self.assertEqual(asker.ask(bytes(16)), 0)
        self.assertTrue(self.works())

    @unittest.skipIf(os.geteuid(), "takes root: to become somebody else")
    def test_another_user_may_ask_where_he_could_hold(self):
        proc, _ = self.tenant()
        result, go = os.pipe()
        child = os.fork()
        if not child:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            asker = Asker(proc.pid)
            os.write(go, struct.pack("=i", asker.ask(self.uuid)))
            time.sleep(60)
            os._exit(0)
        try:
            self.assertEqual(struct.unpack("=i", os.read(result, 4))[0], 0)
            self.assertFalse(self.works())
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        self.eventually("work again", self.works)

    def asks_without_end(self, pid, place):
        """Another user's requests on several connections, short ones too. @place: whether for
        this device, "y", or for one that @pid does not use. These cost the same, and suspend
        nothing."""
        os.setresuid(NOBODY, NOBODY, NOBODY)
        askers = [Asker(pid) for _ in range(4)]
        here = True
        while True:
            for i, asker in enumerate(askers):
                if here and place[0:1] != b"y":
                    for other in askers:
                        other.ask(self.uuid, on=0)
                here = place[0:1] == b"y"
                uuid = self.uuid if here else bytes(16)
                asker.ask(uuid, limit_ms=1000)
                if i == 0:
                    asker.ask(uuid, on=0)

    def ends(self, seconds):
        """How many kernels end in that time, and the time."""
        def count():
            with open(self.out) as f:
                return f.read().count("\n")

        begun, before = time.monotonic(), count()
        time.sleep(seconds)
        return count() - before, time.monotonic() - begun

    @unittest.skipIf(os.geteuid(), "takes root: to become somebody else")
    def test_other_users_cannot_stop_it_for_good(self):
        """The machine's speed changes: so short stretches with such requests, SECONDS in all, and
        without them take turns."""
        proc, _ = self.tenant()
        sums = {True: [0, 0.0], False: [0, 0.0]}
        with mmap.mmap(-1, mmap.PAGESIZE) as place:
            place[0:1] = b"y"
            child = os.fork()
            if not child:
                self.asks_without_end(proc.pid, place)
            try:
                for _ in range(ROUNDS):
                    for here in (True, False):
                        place[0:1] = b"y" if here else b"n"
                        # All that was asked for has ended.
                        time.sleep(0 if here else REST_S)
                        n, took = self.ends(SECONDS / ROUNDS / (1 if here else 3))
                        sums[here][0] += n
                        sums[here][1] += took
            finally:
                os.kill(child, 9)
                os.waitpid(child, 0)
        beside, alone = (n / took for n, took in (sums[True], sums[False]))
        print(f"beside requests without end: {beside / alone:.3f} of alone")
        # 0.4 s at first, then 4 %. Without the limit it is 0. A short run judges only that.
        self.assertGreater(beside / alone, 0.90 if SECONDS >= 60 else 0.2)


if __name__ == "__main__":
    unittest.main()
