#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile tenants: gpreemptd serves the others in spite of files that a tenant shares or sends.

GP_SECONDS sets how long each attack lasts (default 2), GP_TIMES how often those with files
are repeated (default 2)."""
import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import random
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_daemon import BE, SAID  # noqa: E402
from hostile_peer import WELCOME, Peer, message, wire  # noqa: E402
from rig import AHEAD, FACE  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402
from test_flood import as_user, take  # noqa: E402

SECONDS = float(os.environ.get("GP_SECONDS", "2"))
TIMES = int(os.environ.get("GP_TIMES", "2"))
CONNECTS = 100000 if SECONDS >= 60 else 10000
STILL_S = 1.0       # no answer for so long: the daemon stands still
LIST_S, HELLO_S, BOUND_S = (0.05, 0.1, 5) if AHEAD else (STILL_S, STILL_S, 60)


class Watcher:
    """Another user's view: lists all tenants, and measures how long each answer takes. A process of
    its own, before all others: what is measured is the daemon, not the wait for a core."""

    def __init__(self, path):
        peer = Peer(path)
        peer.listed()       # it is accepted by then
        self.sock, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.sock.close()
                self.run(peer, other)
            finally:
                os._exit(0)
        other.close()
        peer.close()

    @staticmethod
    def run(peer, other):
        took = []
        if AHEAD:
            with contextlib.suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        try:
            while not select.select([other], [], [], 0.005)[0]:
                since = time.monotonic()
                peer.listed()
                took.append(time.monotonic() - since)
        except OSError:
            took.append(float("inf"))
        other.sendall(json.dumps(took).encode())

    def end(self):
        """Seconds of each answer."""
        self.sock.shutdown(socket.SHUT_WR)
        took = b"".join(iter(lambda: self.sock.recv(65536), b""))
        self.sock.close()
        os.waitpid(self.pid, 0)
        return json.loads(took)


class Hostile(Daemon):
    RSS_BYTES = 4 << 20

    def setUp(self):
        super().setUp()
        self.programs_to_end = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for proc in self.programs_to_end:
            self.end(proc)

    @staticmethod
    def end(proc):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(proc.pid, signal.SIGKILL)
        proc.wait()
        for pipe in (proc.stdout, proc.stderr):
            if pipe:
                pipe.close()

    @contextlib.contextmanager
    def others_are_served(self):
        watcher = Watcher(self.socket)
        yield
        took = watcher.end()
        print(f"\n{self.id().split('.')[-1]}: {len(took)} lists, median "
              f"{statistics.median(took) * 1e3:.1f} ms, longest {max(took) * 1e3:.1f} ms")
        self.assertGreater(len(took), 5)
        self.assertLess(max(took), LIST_S)

    @staticmethod
    def rss(pid):
        with open(f"/proc/{pid}/statm") as f:
            return int(f.read().split()[1]) * mmap.PAGESIZE

    def join(self):
        """A connection of this process that is a tenant, its page and its wake file."""
        peer = Peer(self.socket)
        peer.hello(peer.uuid())
        kind, result, data, files = peer.recv()
        self.assertEqual((kind, result, len(files)), (WELCOME, 0, 2), data[16:])
        for fd in files:
            self.addCleanup(os.close, fd)
        self.addCleanup(peer.close)
        return peer, files[0], files[1]


class Wakes(Hostile):
    READERS = ("import os,sys,threading\n"
               "def reads():\n"
               "  while True: os.read(int(sys.argv[1]), 8)\n"
               "for _ in range(3): threading.Thread(target=reads, daemon=True).start()\n"
               "reads()\n")

    def attack(self, wake):
        """Writes once a list. When the daemon reads in vain and blocks, no write frees it."""
        readers = subprocess.Popen([sys.executable, "-c", self.READERS, str(wake)],
                                   pass_fds=[wake], start_new_session=True)
        self.programs_to_end.append(readers)
        peer, writes = Peer(self.socket, timeout=STILL_S), 0
        self.addCleanup(peer.close)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            os.write(wake, (1).to_bytes(8, "little"))
            writes += 1
            peer.listed()
        return writes

    def test_wake_file_made_blocking(self):
        self.start_daemon()
        _, _, wake = self.join()
        flags = fcntl.fcntl(wake, fcntl.F_GETFL)
        fcntl.fcntl(wake, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
        with self.others_are_served():
            self.assertGreater(self.attack(wake), 20)

    def test_wake_file_at_its_greatest_count(self):
        """The tenant's further wakes fail, and that is all."""
        self.start_daemon()
        _, _, wake = self.join()
        os.write(wake, (2 ** 64 - 2).to_bytes(8, "little"))
        with self.assertRaises(BlockingIOError):
            os.write(wake, (1).to_bytes(8, "little"))
        with self.others_are_served():
            time.sleep(0.3)


class Pages(Hostile):
    """A tenant that stores anything in its page: 10 minutes with GP_SECONDS=60."""

    @staticmethod
    def stores(page, seconds):
        rng, until, n = random.Random(7), time.monotonic() + seconds, 0
        with mmap.mmap(page, os.fstat(page).st_size) as words:
            while time.monotonic() < until:
                at = rng.randrange(len(words) // 8) * 8
                value = rng.choice((0, 1, 2 ** 63, 2 ** 64 - 1, rng.getrandbits(64),
                                    time.monotonic_ns() + rng.randrange(10 ** 9)))
                words[at:at + 8] = value.to_bytes(8, "little")
                if n % 1000 == 0:
                    words[:] = rng.randbytes(len(words))
                n += 1
        return n

    def test_random_stores(self):
        self.start_daemon()
        bystander = self.start("be")
        _, page, wake = self.join()
        self.until_taken(bystander)
        daemon = self.role("daemon")
        before = self.rss(daemon[0])
        with self.others_are_served():
            waker = threading.Thread(target=self.wakes, args=(wake,), daemon=True)
            self.waking = True
            waker.start()
            n = self.stores(page, SECONDS * (10 if SECONDS >= 60 else 1))
            self.waking = False
            waker.join(60)
        grown = self.rss(daemon[0]) - before
        print(f"{n} stores, {grown >> 10} KB more")
        self.assertEqual(self.role("daemon"), daemon)
        self.assertLess(grown, self.RSS_BYTES)
        self.until_taken(bystander)

    def wakes(self, wake):
        while self.waking:
            os.write(wake, (1).to_bytes(8, "little"))
            time.sleep(0.01)


@unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
class Connects(Hostile):
    """Connections that end at once, or soon: CONNECTS of another user's."""
    ENDS = ("at once", "with garbage", "without its answer", "as a tenant")

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o711)

    def connects(self, end, count):
        """@count connections, each of which ends like that."""
        uuid = Peer(self.socket).uuid()
        for _ in range(count):
            peer = Peer(self.socket, timeout=None)
            # The daemon may have closed it already: the user had too many.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                if end == "with garbage":
                    peer.send(b"garbage" * 9)
                elif end == "without its answer":
                    peer.send(message(wire.LIST))
                elif end == "as a tenant":
                    peer.hello(uuid)
            peer.close()

    def test_without_end(self):
        self.start_daemon()
        bystander = self.start("be")
        self.until_taken(bystander)
        daemon = self.role("daemon")[0]
        self.connects("as a tenant", 100)
        before, files = self.rss(daemon), self.files(daemon)
        begun = time.monotonic()
        with self.others_are_served():
            pids = [as_user(USER, lambda end=end: self.connects(end, CONNECTS // len(self.ENDS)))
                    for end in self.ENDS]
            self.assertEqual([os.waitpid(pid, 0)[1] for pid in pids], [0] * len(pids))
        took = time.monotonic() - begun
        self.eventually("as many files as before", lambda: self.files(daemon) <= files)
        grown = self.rss(daemon) - before
        print(f"{CONNECTS} connections in {took:.1f} s, {grown >> 10} KB more")
        self.assertEqual(self.role("daemon"), [daemon])
        self.assertLess(grown, self.RSS_BYTES)
        self.until_taken(bystander)

    @staticmethod
    def files(pid):
        return len(os.listdir(f"/proc/{pid}/fd"))


FUSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile_fuse.py")
FUSECTL = "/sys/fs/fuse/connections"
USER = 1007
KINDS = ("hello", "files", "list", "odd", "burst")


def states(pid):
    """Of each thread of a process: "R", "S", "D", .."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{tid}/stat") as f:
            found.append(f.read().rsplit(")", 1)[1].split()[0])
    return found


@unittest.skipUnless(os.geteuid() == 0, "only root can be attacked by another user")
class Fuse(Hostile):
    """Files on FUSE mounts whose server never answers a flush."""

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o711)

    def attack(self, uid, options, *kinds):
        proc = subprocess.Popen([sys.executable, FUSE, self.socket, str(uid), options, *kinds],
                                stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.programs_to_end.append(proc)
        line = proc.stdout.readline()
        if "cannot" in line:
            self.skipTest(line.strip())
        self.assertEqual(line, "ready\n")
        return proc

    def hello(self):
        """How long another user's process waits to become a tenant."""
        peer = Peer(self.socket)
        uuid = peer.uuid()
        since = time.monotonic()
        peer.hello(uuid)
        kind = peer.recv()[0]
        took = time.monotonic() - since
        self.assertEqual(kind, WELCOME)
        peer.close()
        return took

    def attacked(self, uid, options, *kinds):
        """@kinds, TIMES each, beside others, which are served."""
        self.start_daemon()
        daemon = self.role("daemon")[0]
        took = []
        with self.others_are_served():
            for _ in range(TIMES):
                # A user has 64 connections, and each attack up to five.
                if len(self.programs_to_end) > 5:
                    self.end(self.programs_to_end.pop(0))
                self.attack(uid, options, *kinds)
                time.sleep(SECONDS / TIMES)
                took.append(self.hello())
            until = time.monotonic() + 1
            stuck = set(states(daemon))
            while time.monotonic() < until:
                stuck &= set(states(daemon))
                time.sleep(0.02)
        self.assertNotIn("D", stuck)
        self.assertEqual(self.role("daemon"), [daemon])
        # A server ends when its mount is aborted.
        self.assertEqual({proc.poll() for proc in self.programs_to_end}, {None})
        print(f"longest hello {max(took) * 1e3:.1f} ms")
        self.assertLess(max(took), HELLO_S)

    def test_of_its_own_user(self):
        self.attacked(0, "-", *KINDS)

    def test_of_its_own_user_for_all(self):
        self.attacked(0, "allow_other", *KINDS)

    def test_of_another_user(self):
        self.attacked(USER, "-", *KINDS)

    def test_of_another_user_for_all(self):
        self.attacked(USER, "allow_other", *KINDS)

    def test_overlay(self):
        self.attacked(0, "overlay", *KINDS)

    def test_overlay_of_another_user(self):
        self.attacked(USER, "overlay", *KINDS)

    def with_fusectl(self, options):
        """The daemon sees the folder in which root can abort any FUSE mount, and does not."""
        self.wrapper = ("unshare", "-m", "sh", "-c", f"mount -t fusectl -o {options} none {FUSECTL} "
                        "&& exec \"$@\"", "sh")
        if subprocess.run([*self.wrapper, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("cannot mount fusectl")
        self.attacked(USER, "-", *KINDS)
        pid = self.role("daemon")[0]
        with open(f"/proc/{pid}/mountinfo") as f:
            mount = next(line.split() for line in f if FUSECTL in line)
        self.assertEqual(mount[5].split(",")[0], options)

    def test_fusectl(self):
        self.with_fusectl("rw")

    def test_fusectl_read_only(self):
        self.with_fusectl("ro")

    def test_no_fusectl(self):
        self.wrapper = ("unshare", "-m", "sh", "-c", f"umount -q {FUSECTL}; exec \"$@\"", "sh")
        self.attacked(USER, "-", *KINDS)

    def test_last_reference_in_a_queue(self):
        self.attacked(0, "-", "lock")

    def test_killed_with_a_file_in_a_queue(self):
        """The daemon does not end. Another one takes its place, and serves its tenants."""
        self.start_daemon()
        be = [self.start("be") for _ in range(2)]
        self.until_taken(*be)
        self.attack(0, "-", "unread")
        killed, begun = self.role("daemon")[0], time.monotonic()
        os.kill(killed, signal.SIGKILL)
        self.eventually("another daemon", lambda: self.role("daemon") not in ([], [killed]))
        self.until_taken(*be)
        took = time.monotonic() - begun
        self.assertIn("D", states(killed))
        print(f"another daemon after {took:.2f} s")
        self.assertLess(took, BOUND_S)
        self.assertIn("hangs while it ends", self.said())

    def test_forged_path(self):
        """The process looks like one that uses the GPU: the daemon scans it."""
        self.attacked(0, "-", "path")
        self.until_taken(self.start("be"))

    def test_attach(self):
        self.start_daemon()
        hostile = self.attack(0, "-", "path")
        with open(f"/proc/{hostile.pid}/task/{hostile.pid}/children") as f:
            child = int(f.read().split()[0])
        with self.others_are_served():
            done = self.gp("attach", "--class=be", str(child))
            time.sleep(0.2)
        self.assertIn("no GPU work", done.stderr)


# A process that connects as USER, and becomes another program with the same PID. Its sibling has
# the connection, too, and sends a hello for it; prints the answer.
BECOMES = """
import os, sys
sys.path.insert(0, sys.argv[3])
import hostile_peer as p
os.setgroups([])
os.setresgid(*[int(sys.argv[2])] * 3)
os.setresuid(*[int(sys.argv[2])] * 3)
peer = p.Peer(sys.argv[1])
uuid = peer.uuid()
peer.sock.set_inheritable(True)
r, w = os.pipe()
if os.fork():
    os.dup2(w, 1)
    os.execv(sys.argv[4], [sys.argv[4], "1000"])
os.close(w)
while b"sleep" not in open(f"/proc/{os.getppid()}/comm", "rb").read()[:5]:
    pass
asks = int(sys.argv[5])
peer.hello(uuid, asks=(p.wire.LC, 0) if asks else None)
kind, result, data, _ = peer.recv()
cls = p.Welcome.from_buffer_copy(data).request.cls if kind == p.WELCOME else 0
print(kind, result, cls, file=sys.stderr, flush=True)
"""


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class Rights(Hostile):
    GROUP = 1008
    RULES = ("default_class: be\ndefault_max_class: be\nrules:\n"
             f"  - {{user: 0, class: 'lc:0'}}\n  - {{group: {GROUP}, class: 'lc:0'}}\n")

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o711)
        for parent in ("/", os.path.dirname(self.dir)):
            if os.statvfs(parent).f_flag & os.ST_NOSUID:
                self.skipTest(f"{parent} is mounted nosuid")

    def sleeper(self, gid, mode):
        path = os.path.join(self.dir, "sleeper")
        shutil.copy(shutil.which("sleep"), path)
        os.chown(path, 0, gid)
        os.chmod(path, mode)
        return path

    def becomes(self, path, asks):
        """(type, result, class) of the answer to the sibling's hello."""
        here = os.path.dirname(os.path.abspath(__file__))
        proc = subprocess.Popen([sys.executable, "-c", BECOMES, self.socket, str(USER), here,
                                 path, str(int(asks))], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.programs_to_end.append(proc)
        return tuple(map(int, proc.stderr.readline().split()))

    def refused(self, gid, mode):
        self.start_daemon(self.RULES)
        path = self.sleeper(gid, mode)
        for i in range(TIMES):
            # Its user has 64 connections.
            if len(self.programs_to_end) > 5:
                self.end(self.programs_to_end.pop(0))
            kind, result, cls = self.becomes(path, i % 2)
            self.assertEqual((kind, result, cls), (SAID, -errno.EACCES, 0))
        self.assertEqual(self.tenants(), {})

    def test_setuid_program_with_a_connection(self):
        self.refused(0, 0o4755)

    def test_setgid_program_with_a_connection(self):
        self.refused(self.GROUP, 0o2755)

    def test_program_without_another_user(self):
        """It is welcome, under its own user's rules."""
        self.start_daemon(self.RULES)
        self.assertEqual(self.becomes(self.sleeper(0, 0o755), False), (WELCOME, 0, BE))

    @staticmethod
    def computes(user, ready):
        """This process has a group on the software GPU, as @user; never returns."""
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            cuda, context = ctypes.CDLL(os.path.join(FACE, "libcuda.so.1")), ctypes.c_void_p()
            if not cuda.cuInit(0) and not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0):
                os.write(ready, b".")
            time.sleep(1000)
        finally:
            os._exit(1)

    def reused(self, pid, what=lambda: time.sleep(1000)):
        """A new process with that PID, which does @what, or None."""
        try:
            with open("/proc/sys/kernel/ns_last_pid", "w") as f:
                f.write(str(pid - 1))
        except OSError as e:
            self.skipTest(f"cannot choose a PID: {e}")
        got = os.fork()
        if not got:
            what()
        if got == pid:
            return got
        os.kill(got, signal.SIGKILL)
        os.waitpid(got, 0)
        return None

    def test_pid_reused(self):
        """A connection's process ends, and another one of root's gets its PID. The connection then says
        hello, or asks to attach a process."""
        self.start_daemon(self.RULES)
        tried, uuid = 0, Peer(self.socket).uuid()
        for _ in range(20 * TIMES):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            pid = os.fork()
            if not pid:
                try:
                    os.setresuid(USER, USER, USER)
                    own = Peer(self.socket)
                    socket.send_fds(theirs, [b"."], [own.sock.fileno()])
                finally:
                    os._exit(0)
            theirs.close()
            fds = socket.recv_fds(ours, 1, 1)[1]
            self.assertTrue(fds, "the process could not connect")
            peer = Peer(None, sock=socket.socket(fileno=fds[0]))
            os.waitpid(pid, 0)
            other = self.reused(pid)
            if other:
                tried += 1
                if tried % 2:
                    peer.hello(uuid, asks=(wire.LC, 0))
                else:
                    peer.send(take())
                try:
                    kind = peer.recv()[0]
                except ConnectionResetError:
                    kind = 0
                self.assertEqual(kind, 0, "the connection has to be closed")
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
            for s in (ours, peer):
                s.close()
        if not tried:
            self.skipTest("no PID was reused")
        print(f"{tried} PIDs reused")
        self.assertEqual(self.tenants(), {})

    def class_of(self, pid):
        """As the daemon has it; None: that has no such tenant."""
        for row in self.listed()["processes"]:
            if row["pid"] == pid and row["daemon"]:
                return row["class"]
        return None

    def test_pid_reused_in_a_scan(self):
        """A process of root's, which the daemon discovers, ends at some moment, and one of another
        user's gets its PID and computes, too."""
        self.start_daemon(self.RULES)
        os.chmod(self.env["GPREEMPT_SOFTGPU"], 0o666)
        patch = mock.patch.dict(os.environ, self.env)
        patch.start()
        self.addCleanup(patch.stop)
        tried = 0
        for _ in range(10 * TIMES):
            r, w = os.pipe()
            pid = os.fork()
            if not pid:
                self.computes(0, w)
            self.assertEqual(os.read(r, 1), b".")
            if not tried:
                self.eventually("root's class", lambda p=pid: self.class_of(p) == "lc")
            time.sleep(random.random() * 0.01)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            other = self.reused(pid, lambda: self.computes(USER, w))
            if other:
                self.assertEqual(os.read(r, 1), b".")
                self.eventually("the daemon finds it", lambda: self.class_of(other))
                self.assertEqual(self.class_of(other), "be")
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
                tried += 1
            for fd in (r, w):
                os.close(fd)
        if not tried:
            self.skipTest("no PID was reused")
        print(f"{tried} PIDs reused")


if __name__ == "__main__":
    unittest.main()
