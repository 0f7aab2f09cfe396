#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt attach, set, hint and ls on running programs of the software GPU."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import FIGURES, Rig, processes  # noqa: E402

LC_US, BE_US, DRIVER_US = 5000000, 1, 2048
# A tenant with one device, in wire.h's words, for test_ls_waits_for_all_at_once().
STUB = """
import errno, os, socket, struct, sys, threading, time
delay = sys.argv[1]
me = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
me.bind(f"\\0gpreempt/1/tenant/{os.getpid()}")
me.listen(64)
print("ready", flush=True)
def head(kind, size, result=0):
    return struct.pack("=IHHIi", 0x47505245, 1, kind, size, result)
def serve(peer):
    while message := peer.recv(1000):
        if delay == "never":
            continue
        time.sleep(float(delay))
        kind, number = struct.unpack_from("=6xH8xI", message.ljust(20, b"\\0"))
        if kind == 5 and number == 0:
            body = struct.pack("=iIIIIIII12QII3Q16s64s48s", os.getpid(), 0, 2, 100, 1, 0, 1, 1,
                               *[0] * 12, 0, 0, *[0] * 3, b"stub", b"soft0", b"GPU-0")
            peer.send(head(64, 16 + len(body)) + body)
        else:
            peer.send(head(65, 16, -errno.ENODEV))
while True:
    threading.Thread(target=serve, args=(me.accept()[0],), daemon=True).start()
"""


def open_files(pid):
    """Targets of its descriptors; skips one that closes meanwhile."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/{pid}/fd/{fd}")


class Attach(Rig):
    def slice(self, proc):
        return self.rows()[proc.pid]["slice_us"]

    def keepers(self, proc):
        return processes(f"keep-slot {proc.pid} ")

    def test_best_effort_then_latency_critical(self):
        be = self.start()
        self.assertEqual(self.slice(be), DRIVER_US)
        self.assertEqual(self.ok("attach", "--class=be", str(be.pid)).stderr, "")
        self.assertEqual(self.slice(be), BE_US)
        self.eventually("one keeper", lambda: len(self.keepers(be)) == 1)
        self.ok("attach", "--class=lc", str(be.pid))
        self.assertEqual(self.slice(be), LC_US)
        self.eventually("no keeper", lambda: not self.keepers(be))

    def test_keeper_holds_nothing_of_the_target(self):
        be = self.start()
        self.ok("attach", "--class=be", str(be.pid))
        self.eventually("keeper", lambda: len(self.keepers(be)) == 1)
        keeper = self.keepers(be)[0]
        # It has just begun, and closes its parent's files.
        self.eventually("nothing of it", lambda: not [
            at for at in open_files(keeper) if "soft-rm" in at])
        self.kill(be)
        self.eventually("keeper gone", lambda: not self.keepers(be))

    def test_slot_is_passed_on(self):
        first, second = self.start(), self.start()
        self.ok("attach", "--class=be", str(first.pid))
        said = self.ok("attach", "--class=be", str(second.pid)).stderr
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("short slice", said)
        self.assertEqual((self.slice(first), self.slice(second)),
                         (BE_US, DRIVER_US))
        self.kill(first)
        self.eventually("the slot passed on", lambda: self.slice(second) == BE_US)

    def test_attached_again(self):
        be = self.start()
        for _ in range(2):
            self.ok("attach", "--class=be", str(be.pid))
        self.assertEqual(self.slice(be), BE_US)
        self.eventually("one keeper", lambda: len(self.keepers(be)) == 1)


class Tenants(Rig):
    def test_set_changes_a_tenant(self):
        be = self.start("be:7")
        row = self.rows()[be.pid]
        self.assertEqual((row["class"], row["weight"], row["tenant"]),
                         ("be", 7, True))
        self.assertEqual(row["slice_us"], BE_US)
        self.ok("set", "-p", str(be.pid), "--class=lc:2")
        row = self.rows()[be.pid]
        self.assertEqual((row["class"], row["level"]), ("lc", 2))
        self.assertEqual(row["slice_us"], LC_US)

    def test_slot_is_beside_the_socket(self):
        """A program with the software GPU has its lock, without /run/gpreempt."""
        del self.env["GPREEMPT_SOFTGPU"]
        self.env["XDG_RUNTIME_DIR"] = self.dir
        be = self.start("be")
        self.assertTrue(os.path.exists(os.path.join(self.dir, "gpreempt/slot")))
        self.assertEqual(self.rows()[be.pid]["slice_us"], BE_US)

    def test_hint(self):
        lc = self.start("lc")
        before = self.rows()[lc.pid]["hints"]
        self.ok("hint", str(lc.pid), "--in=300us")
        self.assertEqual(self.rows()[lc.pid]["hints"], before + 1)

    def test_hint_to_best_effort_is_refused(self):
        be = self.start("be")
        done = self.gp("hint", str(be.pid), "--in=300us")
        self.assertEqual(done.returncode, 125)
        self.assertIn("--class=lc", done.stderr)

    def test_a_stopped_tenant_does_not_hang_us(self):
        be = self.start("be")
        be.send_signal(signal.SIGSTOP)
        try:
            done = [self.gp("set", "-p", str(be.pid), "--class=lc"),
                    self.gp("hint", str(be.pid), "--in=1us")]
        finally:
            be.send_signal(signal.SIGCONT)
        for one in done:
            self.assertEqual(one.returncode, 125)
            self.assertEqual(one.stderr.count("\n"), 1, one.stderr)
            self.assertIn("stopped", one.stderr)

    def test_ls_shows_those_that_do_not_answer(self):
        """With all that is known of them."""
        be, unknown = self.start("be"), self.stub("never")
        self.assertEqual(self.rows()[be.pid]["answers"], True)
        be.send_signal(signal.SIGSTOP)
        try:
            rows, table = self.rows(), self.ok("ls").stdout
        finally:
            be.send_signal(signal.SIGCONT)
        for row in rows[be.pid], rows[unknown]:
            self.assertEqual((row["tenant"], row["answers"], row["class"]), (False, False, None))
        self.assertEqual(rows[be.pid]["compute_groups"], 1)
        self.assertEqual(rows[be.pid]["slice_us"], BE_US)
        self.assertRegex(table, rf"(?m)^ *{be.pid} .* be, does not answer$")
        self.assertRegex(table, rf"(?m)^ *{unknown} .*, does not answer$")

    def stub(self, delay):
        """The PID of a tenant that answers after @delay seconds; "never": it does not."""
        proc = subprocess.Popen([sys.executable, "-c", STUB, str(delay)], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)   # ls has gone, mostly
        self.programs.append(proc)
        self.assertEqual(proc.stdout.readline(), "ready\n")
        return proc.pid

    def test_ls_waits_for_all_at_once(self):
        """Silent processes delay a list as one does, and a slow one is not missed for them."""
        def ls_s():
            begin = time.monotonic()
            self.ok("ls")
            return time.monotonic() - begin

        self.stub("never")
        alone_s = min(ls_s() for _ in range(3))
        slow = [self.stub(0.1)]
        for _ in range(7):
            self.stub("never")
        slow.append(self.stub(0.1))
        self.eventually("the slow ones", lambda: all(
            pid in self.rows() and self.rows()[pid]["tenant"] for pid in slow))
        if FIGURES:
            self.assertLess(min(ls_s() for _ in range(3)), 4 * alone_s)

    def test_garbage_for_an_answer(self):
        """This process takes its own tenant's address and answers every request with garbage,
        also to a gpreempt ls of another test."""
        me = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        me.bind(f"\0gpreempt/1/tenant/{os.getpid()}")
        me.listen()

        def answer():
            while True:
                try:
                    peer = me.accept()[0]
                except OSError:     # shut down below
                    return
                with peer, contextlib.suppress(OSError):
                    peer.recv(1000)
                    peer.send(b"nonsense")

        talker = threading.Thread(target=answer)
        talker.start()
        self.addCleanup(me.close)
        self.addCleanup(talker.join)
        self.addCleanup(me.shutdown, socket.SHUT_RDWR)
        pid = str(os.getpid())
        for args in (["set", "-p", pid, "--class=lc"], ["hint", pid, "--in=1us"],
                     ["attach", "--class=be", pid]):
            done = self.gp(*args)
            self.assertEqual(done.returncode, 125)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn("another protocol", done.stderr)


if __name__ == "__main__":
    unittest.main()
