#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --class=lc --idle-out on the software GPU: models that together exceed its memory. Each
leaves when it is idle, and comes back for its next request."""
import contextlib
import fcntl
import os
import random
import signal
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import BE_MIB, MEMORY_MIB, MemoryRig  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

MODEL_MIB, MODELS = 48, 5
REQUESTS = 40
NEVER = "3600s"
HOST_PIECE = 64 << 20           # preload/host.h
LINK, LINKS = 4096, 256         # bytes of the file of slots (hal/slot.c)
F_OFD_SETLK = 37


class Idle(MemoryRig):
    def model(self, idle="100ms", mib=MODEL_MIB, cls="lc", how=()):
        return self.app(cls, mib, f"--idle-out={idle}", *how, role="model")

    def memory(self, proc):
        row = self.row_of(proc)["memory"]
        return {key: row[f"{key}_bytes"] >> 20 for key in ("movable", "fixed", "out")} | {"moves": row["moves"]}

    def is_out(self, proc):
        return self.memory(proc)["out"] == MODEL_MIB

    def request(self, proc, line="request"):
        self.assertEqual(self.take(proc, line), "wrong 0\n", self.said("lc"))

    def says_nothing(self):
        """But that the daemon is slow, on a busy machine."""
        lines = [line for line in self.said("lc").splitlines()
                 if not line.endswith("gpreemptd does not answer; continuing without it")]
        self.assertEqual(lines, [])

    def ends(self, *procs):
        for proc in procs:
            proc.stdin.write("end\n")
            proc.stdin.flush()
            self.assertRegex(proc.stdout.readline(), r"^wrong 0 \d+\n$")
            self.assertEqual(proc.wait(), 0)

    def test_leaves_and_comes_back(self):
        lc = self.model()
        for n in range(1, 4):
            self.eventually("memory that left", lambda: self.is_out(lc))
            self.assertEqual(self.memory(lc), {"movable": 0, "fixed": 0, "out": MODEL_MIB, "moves": n})
            self.request(lc)
        self.ends(lc)
        self.says_nothing()

    def test_more_models_than_memory(self):
        self.assertGreater(MODEL_MIB * MODELS, MEMORY_MIB)
        models = [self.model() for _ in range(MODELS)]
        for _ in range(REQUESTS):
            self.request(random.choice(models))
            time.sleep(random.choice([0, 0, 0.05, 0.2]))
        moved = [self.memory(m)["moves"] for m in models]
        self.assertGreaterEqual(sum(moved), MODELS, moved)
        self.ends(*models)
        self.says_nothing()

    @staticmethod
    def host_files(proc):
        """inode -> pieces, of the memory that it shares."""
        found, fds = {}, f"/proc/{proc.pid}/fd"
        for name in os.listdir(fds):
            if "memfd:gpreempt-host" in os.readlink(f"{fds}/{name}"):
                st = os.stat(f"{fds}/{name}")
                found[st.st_ino] = st.st_size // HOST_PIECE
        return found

    def shared_models(self, pieces):
        return [self.model(how=[f"--mem-host={pieces * HOST_PIECE >> 20}MiB"]) for _ in range(MODELS)]

    def test_they_share_host_memory(self):
        """Only as much as is out at a time: two are on the device, and a third of them leaves."""
        models = self.shared_models(MODELS - 1)
        for _ in range(REQUESTS):
            self.request(random.choice(models))
        files = [self.host_files(m) for m in models]
        self.assertEqual(len(files[0]), 1)
        self.assertTrue(all(f == files[0] for f in files), files)
        self.assertLessEqual(*files[0].values(), MODELS - 1)
        self.ends(*models)
        self.says_nothing()

    @staticmethod
    def pinned_pieces(proc):
        with open(f"/proc/{proc.pid}/maps") as f:
            ends = [line.split()[0].split("-") for line in f if "memfd:gpreempt-host" in line]
        return sum(int(to, 16) - int(at, 16) for at, to in ends) // HOST_PIECE

    def test_each_has_its_own_limit(self):
        models = [self.model() for _ in range(2)]
        self.eventually("memory that left", lambda: all(self.is_out(m) for m in models))
        little = self.model(how=[f"--mem-host={HOST_PIECE >> 20}MiB"])
        self.eventually("pinned memory", lambda: self.pinned_pieces(little))
        time.sleep(0.3)
        self.assertEqual(self.pinned_pieces(little), 1)
        for m in [little, *models] * 3:
            self.request(m)
        self.assertEqual([self.host_files(m) for m in models], [self.host_files(little)] * 2)
        self.assertGreater(self.pinned_pieces(models[0]), 1)
        self.assertEqual(self.pinned_pieces(little), 1)
        self.ends(little, *models)

    def test_the_dead_give_it_back(self):
        models = self.shared_models(MODELS - 1)
        for _ in range(MODELS):
            self.eventually("memory that left", lambda: any(self.is_out(m) for m in models))
            dead = next(m for m in models if self.is_out(m))
            self.kill(dead, signal.SIGKILL)
            models.remove(dead)
            models.append(self.model(how=[f"--mem-host={(MODELS - 1) * HOST_PIECE >> 20}MiB"]))
            for m in models:
                self.request(m)
        self.ends(*models)

    def test_without_the_others(self):
        """Nobody may use that folder: each has memory of its own."""
        self.env["XDG_RUNTIME_DIR"] = folder = os.path.join(self.dir, "open")
        os.makedirs(os.path.join(folder, "gpreempt"))
        os.chmod(os.path.join(folder, "gpreempt"), 0o777)
        lc = self.model()
        self.eventually("memory that left", lambda: self.is_out(lc))
        self.request(lc)
        self.assertEqual(self.host_files(lc), {})
        self.ends(lc)

    def test_requests_at_once(self):
        """Each gets its turn when another is idle."""
        models = [self.model() for _ in range(MODELS)]
        for _ in range(3):
            for m in models:
                m.stdin.write("request\n")
                m.stdin.flush()
            for m in models:
                self.assertEqual(m.stdout.readline(), "wrong 0\n", self.said("lc"))
        self.ends(*models)
        self.says_nothing()

    def test_work_without_calls(self):
        """It ends before memory leaves, however long that is after the last call."""
        lc = self.model("10ms")
        for _ in range(3):
            self.request(lc, "launch")
            self.eventually("memory that left", lambda: self.is_out(lc))
            self.request(lc, "wait")
        self.ends(lc)

    @contextlib.contextmanager
    def link_taken(self):
        """As by a process whose memory comes back."""
        with open(os.path.join(self.dir, "slot"), "a+b") as file:
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, LINK, LINKS, 0))
            yield

    def waits_to_leave(self):
        """A model; it has been idle for long enough."""
        lc = self.model()
        time.sleep(0.5)
        self.assertEqual(self.memory(lc)["out"], 0)
        return lc

    def test_others_come_back_first(self):
        """But not for ever: a process may lie."""
        for comes_back in True, False:
            with contextlib.ExitStack() as other:
                other.enter_context(self.link_taken())
                lc = self.waits_to_leave()
                if comes_back:
                    other.close()
                self.eventually("memory that left", lambda lc=lc: self.is_out(lc))
            self.request(lc)
            self.ends(lc)

    def test_a_request_ends_its_move(self):
        with self.link_taken():
            lc = self.waits_to_leave()
            self.request(lc)
            moved = self.row_of(lc)["memory"]["moved_bytes"] >> 20
        self.assertLess(moved, 2 * MODEL_MIB)
        self.ends(lc)

    def test_stays_until_then(self):
        lc = self.model(NEVER)
        self.request(lc)
        time.sleep(0.3)
        self.assertEqual(self.memory(lc), {"movable": MODEL_MIB, "fixed": 0, "out": 0, "moves": 0})
        self.ends(lc)

    def test_too_little_host_memory(self):
        lc = self.model(how=["--mem-host=32MiB"])
        time.sleep(0.4)
        self.assertEqual(self.memory(lc), {"movable": 0, "fixed": MODEL_MIB, "out": 0, "moves": 0})
        self.ends(lc)

    def test_best_effort_makes_room(self):
        """For memory that comes back, as for an allocation."""
        lc = self.model()
        self.eventually("memory that left", lambda: self.is_out(lc))
        be = self.app("be", BE_MIB, "--mem")
        self.request(lc)
        self.assertGreaterEqual(self.rows()[be.pid]["memory"]["moves"], 1)
        self.ends(lc)
        self.assertGreater(self.right(be), 0)

    def test_killed(self):
        """Its room is there at once, on the device and on the host."""
        for _ in range(3):
            lc = self.model()
            time.sleep(random.uniform(0, 0.3))
            self.kill(lc, signal.SIGKILL)
        other = self.model(NEVER, MEMORY_MIB - 16)
        self.request(other)
        self.ends(other)

    def test_usage(self):
        self.wrong_options({
            ("--idle-out=1s",): "--idle-out needs --class=lc; best-effort memory leaves with --mem"})
        self.wrong_options({
            (f"--idle-out={text}",): f"--idle-out={text}: not a time from 10ms to 24 h; write a number and a "
            "unit, such as 30s" for text in ("1", "1ms")}, "lc")


class IdleUnderDaemon(Idle, Daemon):
    # The daemon has no part in these.
    test_killed = test_stays_until_then = test_too_little_host_memory = test_usage = None
    test_the_dead_give_it_back = test_without_the_others = test_each_has_its_own_limit = None

    def setUp(self):
        super().setUp()
        self.start_daemon("be_quantum: 10ms\n")


if __name__ == "__main__":
    unittest.main()
