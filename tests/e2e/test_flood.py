#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users who flood gpreemptd: others are served all the same, in bounded time, and it takes
bounded memory and time. Two other users watch each flood, GP_SECONDS (0.5) each, and 2.5 times
that in the flood by 64 users.

The flooding processes also take CPU time from the watchers. So a watcher asks a plain echo server,
too: five times the time of an echo is added to each limit."""
import contextlib
import ctypes as c
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_daemon as wire  # noqa: E402
from rig import AHEAD  # noqa: E402
from test_daemon_soft import DAEMON, Daemon  # noqa: E402

SECONDS = float(os.environ.get("GP_SECONDS", "0.5"))
# Median and worst of a LIST.
LIMITS = ("kept", 0.02, 0.1), ("new", *((0.02, 0.1) if AHEAD else (0.1, 1.0)))
ECHOES = 5
LEAST = 5           # rows, however long they take
RSS_BYTES = 4 << 20
CORE = 0.10
EVE, OTHER, FIRST = 1001, 1002, 2000
BURST_S = 1.0       # each user's at first
HELLO = 16
CONNECTIONS = (1, 8, 64) if SECONDS > 5 else (64,)


class Hello(c.Structure):
    _fields_ = [("head", wire.Head), ("uuid", wire.U8x16), ("flags", c.c_uint32),
                ("pad", c.c_uint32), ("request", wire.Request), ("key", c.c_uint32 * 16)]


def message(kind, cls=wire.Head):
    msg = cls()
    head = msg if cls is wire.Head else msg.head
    head.magic, head.version, head.type = wire.MAGIC, wire.VERSION, kind
    head.size = c.sizeof(cls)
    return msg


def take():
    msg = message(wire.TAKE, wire.Take)
    msg.pid, msg.request.cls, msg.request.value = os.getpid(), wire.BE, 100
    return msg


def connect(path, timeout=30):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(timeout)
    sock.connect(path)
    return sock


def listed(sock):
    """Seconds of one LIST."""
    begun = time.monotonic()
    sock.send(bytes(message(wire.LIST)))
    while True:
        data = sock.recv(8192)
        if not data:
            raise ConnectionResetError
        if wire.Head.from_buffer_copy(data).type != wire.TENANT:
            return time.monotonic() - begun


def echo(sock):
    while data := sock.recv(64):
        sock.send(data)


def echoed(sock):
    """Seconds of one echo."""
    begun = time.monotonic()
    sock.send(b"echo")
    sock.recv(64)
    return time.monotonic() - begun


def as_user(uid, work):
    """PID of a child that runs @work as that user, until it is killed. Its status: did it end?"""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    with contextlib.suppress(BaseException):
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        work()
        status = 0
    os._exit(status)


def flood(path, connections, messages, reads, pause_s=0.001):
    """As many messages as the daemon takes, on so many connections, which are replaced."""
    socks = []
    while True:
        while len(socks) < connections:
            try:
                sock = connect(path, 1)
            except OSError:
                break
            sock.setblocking(False)
            socks.append(sock)
        for sock in list(socks):
            try:
                for data in messages:
                    sock.send(data)
                while reads:
                    if not sock.recv(8192):
                        raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                sock.close()
                socks.remove(sock)
        time.sleep(pause_s)


@unittest.skipUnless(os.geteuid() == 0, "only root can be several users")
class Flood(Daemon):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)

    def usage(self):
        """Resident bytes of the daemon, its seconds but for discovery, and those of discovery,
        which depend on how many processes the whole machine starts."""
        pid = self.role("daemon")[0]
        with open(f"/proc/{pid}/statm", encoding="ascii") as f:
            rss = int(f.read().split()[1]) * resource.getpagesize()
        took = {False: 0.0, True: 0.0}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
                name, _, rest = f.read().rpartition(")")
            words = rest.split()
            took[name.endswith("gpreempt-find")] += int(words[11]) + int(words[12])
        return rss, *(ticks / os.sysconf("SC_CLK_TCK") for ticks in took.values())

    def listed_newly(self):
        """Seconds of a connection and one LIST."""
        begun = time.monotonic()
        with connect(self.socket) as new:
            listed(new)
        return time.monotonic() - begun

    def times(self, uid, seconds, news):
        """Times that another user sees meanwhile: seconds of each echo, of each LIST on one connection,
        and with @news of each on a new connection."""
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server = as_user(0, lambda: echo(far))
        out, into = os.pipe()

        def work():
            end, rows = time.monotonic() + seconds, 0
            with connect(self.socket) as kept:
                while time.monotonic() < end or rows < LEAST:
                    rows += 1
                    took = [echoed(near), listed(kept)] + [self.listed_newly()] * news
                    os.write(into, b"%s\n" % " ".join(map(str, took)).encode())
                    time.sleep(0.01)

        pid = as_user(uid, work)
        os.close(into)
        with open(out) as f:
            rows = [[float(word) for word in line.split()] for line in f]
        os.waitpid(pid, 0)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        near.close()
        far.close()
        self.assertGreaterEqual(len(rows), LEAST, "it was not served")
        return zip(*rows)

    def served(self, what, uid, seconds, news):
        plain, *lists = self.times(uid, seconds, news)
        print(f"{what}, user {uid}, echo: median {statistics.median(plain) * 1e3:.1f} ms, "
              f"worst {max(plain) * 1e3:.1f}")
        for took, (how, median_s, worst_s) in zip(lists, LIMITS):
            print(f"{what}, user {uid}, {how} connection: median "
                  f"{statistics.median(took) * 1e3:.1f} ms, worst {max(took) * 1e3:.1f}")
            self.assertLess(statistics.median(took), median_s + ECHOES * statistics.median(plain))
            self.assertLess(max(took), worst_s + ECHOES * max(plain))

    def flooded(self, what, floods, seconds=SECONDS, news=True):
        """@floods: by user, its connections and messages. Two others watch, @seconds each; with
        @news by new connections, too, which have to queue behind others."""
        with connect(self.socket) as sock:
            listed(sock)
        before = self.usage()
        begun = time.monotonic()
        pids = [as_user(uid, lambda how=how: flood(self.socket, *how))
                for uid, how in floods.items()]
        try:
            self.served(what, OTHER, seconds, news)
            self.served(what, 0, seconds, news)
            rss, cpu, discovery = self.usage()
            passed = time.monotonic() - begun
            print(f"{what}: {(rss - before[0]) >> 10} KB more, "
                  f"{(cpu - before[1]) / passed:.3f} of a core, and discovery "
                  f"{(discovery - before[2]) / passed:.3f}", flush=True)
            self.assertLess(rss - before[0], RSS_BYTES)
            self.assertLess(cpu - before[1], CORE * passed + BURST_S)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def test_one_user(self):
        self.start_daemon()
        kinds = {"lists": ([message(wire.LIST)], True),
                 "lists that nobody reads": ([message(wire.LIST), message(wire.DEVICES)], False),
                 "garbage": ([b"garbage" * 9], True),
                 "scans": ([take()], True),
                 "hellos": ([message(HELLO, Hello)], True)}
        for kind, (messages, reads) in kinds.items():
            for connections in CONNECTIONS:
                self.flooded(f"{connections} x {kind}", {
                    EVE: (connections, [bytes(m) for m in messages], reads)})

    def test_many_users_and_few_files(self):
        """64 users with 64 connections each, and room for 1024 files."""
        args = ["prlimit", "--nofile=1024:1024", DAEMON, f"--run-dir={self.run_dir}"]
        with open(self.log, "a") as log:
            self.daemon = subprocess.Popen(args, env=self.env, stderr=log,
                                           stdin=subprocess.DEVNULL)
        self.eventually("the daemon answers", lambda: self.devices() is not None)
        # The daemon refuses most of them, and they come back at once.
        # All of them together must leave the measuring processes some time.
        self.flooded("64 users", {FIRST + i: (64, [bytes(message(wire.LIST))], True, 0.3)
                                  for i in range(64)}, 2.5 * SECONDS, news=False)


if __name__ == "__main__":
    unittest.main()
