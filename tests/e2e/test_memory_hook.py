#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --mem-hook on the software GPU: a program frees its memory itself, by HTTP, in place of
a move. If it does not, the memory moves."""
import os
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import BE_MIB, LC_MIB, LEAVES_MIB, MEMORY_MIB, MemoryRig  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

LIMIT = "500ms"


class HookRig(MemoryRig):
    def setUp(self):
        super().setUp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.env["ENGINE_PORT"] = str(self.port)
        self.sleep, self.wake = (f"http://localhost:{self.port}/{name}" for name in ("sleep", "wake"))

    def figures(self, proc):
        row = self.rows()[proc.pid]["memory"]
        return row["movable_bytes"] >> 20, row["out_bytes"] >> 20, row["moves"]

    def calls(self, engine):
        return [int(word) for word in self.take(engine, "figures").split()]

    def until_awake(self, engine):
        self.eventually("its memory", lambda: self.figures(engine)[:2] == (BE_MIB, 0))


class Hook(HookRig):
    def engine(self, how="ok", limit=LIMIT):
        engine = self.app("be", BE_MIB, "--mem", f"--mem-hook={self.sleep},{self.wake},{limit}",
                          role="engine")
        self.assertEqual(self.take(engine, how), "done\n")
        return engine

    def test_sleeps_and_wakes(self):
        engine, lc = self.engine(limit="60s"), self.app("lc", LC_MIB)
        for n in range(1, 4):
            self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
            self.assertEqual(self.figures(engine), (0, 0, 0))
            time.sleep(1.5)             # longer than it stays away if there is room
            self.assertEqual(self.calls(engine), [n, n - 1])
            self.give(lc)
            self.until_awake(engine)
            self.eventually("its answer", lambda: self.calls(engine) == [n, n])
        self.right(engine)
        self.assertEqual(self.said("be") + self.said("lc"), "")

    def moved(self, engine):
        movable, out, moves = self.figures(engine)
        self.assertEqual((movable + out, out >= LEAVES_MIB, moves > 0), (BE_MIB, True, True))

    def moves(self, engine, lc):
        """It left by a move, and is back."""
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.moved(engine)
        self.give(lc)
        self.until_awake(engine)
        self.right(engine)

    def test_refuses(self):
        """It gets no call for its wake then."""
        engine, lc = self.engine("fail"), self.app("lc", LC_MIB)
        self.moves(engine, lc)
        self.assertIn(f"gpreempt: /sleep on port {self.port} frees no memory: Remote I/O error; it "
                      "moves\n", self.said("be"))

    def test_hangs(self):
        """It gets the call for its wake after the move, as it may have slept."""
        engine, lc = self.engine("hang"), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.moved(engine)
        self.give(lc)
        self.eventually("a call for its wake", lambda: self.calls(engine)[1])
        self.assertEqual(self.take(engine, "ok"), "done\n")
        self.until_awake(engine)
        calls = self.calls(engine)[1]
        self.eventually("a call that it answers", lambda: self.calls(engine)[1] > calls)
        self.right(engine)
        self.assertIn("frees no memory: Connection timed out; it moves\n", self.said("be"))

    def test_listens_not(self):
        self.sleep = self.sleep.replace(str(self.port), "1")
        engine, lc = self.engine(), self.app("lc", LC_MIB)
        self.moves(engine, lc)
        self.assertIn("/sleep on port 1 frees no memory: Connection refused; it moves\n", self.said("be"))

    def test_killed_asleep(self):
        engine, lc = self.engine(), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.kill(engine)
        self.give(lc)
        self.assertEqual(self.take(self.app("lc", MEMORY_MIB - 8)), "got 0\n")

    def test_usage(self):
        url = "http://localhost:1/a"
        alone = "--mem-hook needs --mem, and excludes --mem-turns"
        self.wrong_options({
            (f"--mem-hook={url},{url}",): alone, ("--mem", "--mem-turns", f"--mem-hook={url},{url}"): alone,
            ("--mem", f"--mem-hook={url}"): f"--mem-hook={url}: not SLEEP,WAKE or SLEEP,WAKE,TIME with a "
            "TIME up to 60s; write URLs such as http://127.0.0.1:8000/sleep"})


class Rule(HookRig, Daemon):
    """By a rule of gpreemptd, which chooses the program that sleeps."""

    def setUp(self):
        super().setUp()
        self.start_daemon(f"rules:\n- user: {os.getuid()}\n  max_class: lc\n  memory:\n    hook: {self.sleep}\n"
                          f"    wake: {self.wake}\n    hook_limit: 60s\n")

    def test_sleeps_and_wakes(self):
        engine, lc = self.app("be", BE_MIB, "--mem", role="engine"), self.app("lc", LC_MIB)
        self.until_taken(engine, lc)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.assertEqual(self.figures(engine), (0, 0, 0))
        self.give(lc)
        self.until_awake(engine)
        self.right(engine)
        self.assertEqual(self.said("be") + self.said("lc"), "")

    def test_without_mem(self):
        engine, lc = self.app("be", BE_MIB, role="engine"), self.app("lc", LC_MIB)
        self.until_taken(engine, lc)
        self.assertEqual(self.take(lc), "got 2\n")
        self.assertEqual(self.calls(engine), [0, 0])


if __name__ == "__main__":
    unittest.main()
