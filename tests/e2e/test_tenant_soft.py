#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs under gpreempt run as tenants of a daemon, on the software GPU. The test plays the
daemon and checks messages and pages byte by byte (wire/wire.h, wire/page.h)."""
import array
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, PATIENCE_S, Rig  # noqa: E402

MAGIC, VERSION = 0x47505245, 1
HELLO, FILES, RULE, WELCOME = 16, 17, 31, 80
HEAD = struct.Struct("=IHHIi")
REQUEST = struct.Struct("=IIIIQQQ")
HELLO_BODY = struct.Struct("=16sII" + REQUEST.format[1:] + "64x")
ASKS = 1
LC, BE = 1, 2
PAGE_HEAD = struct.Struct("=III")
PAGE_MAGIC, PAGE_BYTES = 0x47505047, 4096
F_ADD_SEALS, SEALS = 1033, 0x7
# activity, provides, next_ns, hints, segments, holds, holds_late, holds_expired,
# held_ns, margin_ns, samples: from byte 64 on
TENANT = struct.Struct("=IIQQQQQQQQQ")
# segments_timed, segment_ns: from byte 3216 on
SEGMENTS = struct.Struct("=Q64Q")
SEGMENT, HELD, WORK = 1, 2, 4
PROVIDES_NEXT = 2


class Daemon:
    """One connection at a time."""

    def __init__(self, path):
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(16)
        self.listener.settimeout(PATIENCE_S)
        self.conn = self.page = self.wake = None

    def close(self):
        for thing in (self.conn, self.listener):
            if thing:
                thing.close()
        self.conn = None
        if os.path.exists(self.path):
            os.unlink(self.path)

    def hear(self):
        """Type, body, number of files."""
        files = array.array("i")
        data, more, _, _ = self.conn.recvmsg(65536, socket.CMSG_SPACE(64))
        for _, _, given in more:
            files.frombytes(given[:len(given) - len(given) % files.itemsize])
        for fd in files:
            os.close(fd)
        magic, version, kind, size, _ = HEAD.unpack_from(data)
        assert (magic, version, size) == (MAGIC, VERSION, len(data))
        return kind, data[HEAD.size:], len(files)

    def greet(self):
        """The next client's hello: flags, class, value, cap, .., files. Before it gpreempt run may
        ask for a rule, and needs no answer."""
        kind = RULE
        while kind == RULE:
            if self.conn:
                self.conn.close()
            self.conn, _ = self.listener.accept()
            self.conn.settimeout(PATIENCE_S)
            kind, body, files = self.hear()
        assert kind == HELLO, kind
        _, flags, _, cls, value, cap, _, period, deadline, runtime = \
            HELLO_BODY.unpack(body)
        return (flags, cls, value, cap, period, deadline, runtime), files

    def welcome(self, cls, value):
        fd = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, PAGE_BYTES)
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        self.page = mmap.mmap(fd, PAGE_BYTES)
        self.page[:PAGE_HEAD.size] = PAGE_HEAD.pack(PAGE_MAGIC, 1, PAGE_BYTES)
        libc = ctypes.CDLL(None, use_errno=True)
        self.wake = libc.eventfd(0, os.O_CLOEXEC | os.O_NONBLOCK)
        body = struct.pack("=iI", os.getpid(), 0) + \
            REQUEST.pack(cls, value, 0, 0, 0, 0, 0) + b"a rule".ljust(512, b"\0")
        head = HEAD.pack(MAGIC, VERSION, WELCOME, HEAD.size + len(body), 0)
        socket.send_fds(self.conn, [head + body], [fd, self.wake])
        os.close(fd)

    def reported(self):
        names = ("activity", "provides", "next_ns", "hints", "segments", "holds", "late",
                 "expired", "held_ns", "margin_ns", "samples")
        return dict(zip(names, TENANT.unpack_from(self.page, 64)))


class Tenant(Rig):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.dir, "d.sock")
        self.env["GPREEMPT_DAEMON"] = self.path
        self.daemon = Daemon(self.path)
        self.addCleanup(lambda: self.daemon.close())

    def start_lc(self, cls):
        proc = subprocess.Popen(
            [CLI, "run", f"--class={cls}", "--device=soft0", "--",
             os.path.join(BUILD, "bench/lc"), "--iters=1000", "--control"],
            env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.append(proc)
        return proc

    def slot(self, proc):
        return self.rows()[proc.pid]["short_slice"]

    def weight(self, proc):
        return self.rows()[proc.pid]["weight"]

    def rows(self):
        """The process's own report: the daemon is not asked."""
        mine, self.env["GPREEMPT_DAEMON"] = self.env["GPREEMPT_DAEMON"], "none"
        try:
            return super().rows()
        finally:
            self.env["GPREEMPT_DAEMON"] = mine

    def test_best_effort(self):
        """It passes its files, and sets no slice while the daemon does; without a daemon it
        has one."""
        proc = self.start("be:7,cap=30%", args=["--control"])
        # gpreempt run first checks whether there is a daemon at all.
        self.daemon.listener.accept()[0].close()
        asked, files = self.daemon.greet()
        self.assertEqual(asked, (ASKS, BE, 7, 30, 0, 0, 0))
        self.assertGreater(files, 0)
        self.assertFalse(self.slot(proc))
        self.daemon.welcome(BE, 40)
        self.eventually("its class", lambda: self.weight(proc) == 40)
        self.assertFalse(self.slot(proc))
        # Another daemon starts: the same again.
        self.daemon.conn.close()
        asked, files = self.daemon.greet()
        self.assertEqual(asked, (ASKS, BE, 7, 30, 0, 0, 0))
        self.assertGreater(files, 0)
        self.daemon.welcome(BE, 41)
        self.eventually("its class", lambda: self.weight(proc) == 41)
        # No daemon starts.
        start = time.monotonic()
        self.daemon.close()
        self.eventually("its own slice", lambda: self.slot(proc))
        self.assertGreater(time.monotonic() - start, 1.4)
        self.assertEqual(self.rows()[proc.pid]["slice_us"], 1)

    def test_latency_critical(self):
        """Its page has its activity; no message does."""
        proc = self.start_lc("lc:2")
        asked, files = self.daemon.greet()
        self.assertEqual(asked, (ASKS, LC, 2, 0, 0, 0, 0))
        self.assertGreater(files, 0)
        self.daemon.welcome(LC, 2)
        proc.stdin.write("--requests=50 --hint-us=2000 --segment --kernels=1\n")
        proc.stdin.flush()
        self.eventually("its segments",
                        lambda: self.daemon.reported()["segments"] >= 50)
        reported = self.daemon.reported()
        self.assertEqual(reported["provides"] & PROVIDES_NEXT, PROVIDES_NEXT)
        self.assertGreaterEqual(reported["hints"], 50)
        self.assertGreaterEqual(reported["holds"], 50)
        self.assertGreater(reported["held_ns"], 0)
        self.eventually("nothing is going on",
                        lambda: not self.daemon.reported()["activity"] & (SEGMENT | HELD))
        self.assertGreaterEqual(self.daemon.reported()["samples"], 49)
        timed, *segment_ns = SEGMENTS.unpack_from(self.daemon.page, 3216)
        self.assertEqual(timed, self.daemon.reported()["segments"])
        # Each has a kernel in it, and none ends with the next one's.
        self.assertGreater(min(segment_ns[:timed]), 1000)
        self.assertLess(max(segment_ns[:timed]), PATIENCE_S * 10 ** 9)
        # Messages may come about its groups, but not about holds.
        self.daemon.conn.setblocking(False)
        with self.assertRaises(BlockingIOError):
            while True:
                self.assertEqual(self.daemon.hear()[0], FILES)


    def holds_made(self, segments):
        """By @segments of a millisecond each; each hold is a sample."""
        proc = self.start_lc("lc:2")
        self.daemon.greet()
        self.daemon.welcome(LC, 2)
        proc.stdin.write(f"--requests={segments} --warmup=0 --segment "
                         "--kernels=10 --iters=27500\n")
        proc.stdin.flush()
        self.eventually("the segments",
                        lambda: self.daemon.reported()["segments"] == segments)
        self.assertIn("ready", proc.stdout.readline())
        self.assertIn("result=right", proc.stdout.readline())
        self.assertEqual(self.daemon.reported()["holds"], segments)
        return self.daemon.reported()["samples"]

    def test_one_hold_a_segment(self):
        # The last one's end may come later.
        self.assertIn(self.holds_made(50), (49, 50))

    def test_pieces(self):
        """If waits for the device cannot be observed."""
        self.env["GPREEMPT_INTERCEPT"] = "0"
        self.assertGreaterEqual(self.holds_made(50), 149)


class Nobody(Rig):
    def test_deadlines(self):
        """Options beyond a class are refused if nothing can enforce them."""
        done = self.gp("run", "--class=lc:1,period=20ms,runtime=3ms", "true",
                       env={"GPREEMPT_DAEMON": os.path.join(self.dir, "none")})
        self.assertEqual(done.returncode, 125)
        self.assertIn("need gpreemptd", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
