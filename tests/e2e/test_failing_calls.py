#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One call after another fails (files or memory run out), in the daemon and in a tenant: nobody
stays suspended. GP_FAIL_STEP: every so many calls (40); GP_FAIL_STEP=1 is all of them."""
import errno
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, PATIENCE_S  # noqa: E402
from test_daemon_soft import DAEMON, Daemon, lines  # noqa: E402

FAIL_CALLS = os.path.join(BUILD, "tests/e2e/fail_calls.so")
STEP = int(os.environ.get("GP_FAIL_STEP", "80"))
FIRST = int(os.environ.get("GP_FAIL_FIRST", "0"))
LINES_MAX = 8
REASONS = tuple(os.strerror(number) for number in (
    errno.EMFILE, errno.ENOMEM, errno.ENOSPC, errno.EIO)) + ("out of memory",)


class FailingCalls(Daemon):
    def setUp(self):
        super().setUp()
        self.mark = os.path.join(self.dir, "mark")
        self.silent = []

    def failing(self, number, place, role=None):
        env = {**self.env, "LD_PRELOAD": FAIL_CALLS, "GP_FAIL_AT": str(number),
               "GP_FAIL_IN": place, "GP_FAIL_MARK": self.mark}
        if role:
            env["GP_FAIL_ROLE"] = role
        return env

    def failed(self):
        """The call that failed; None: there are not so many. Its mark is removed."""
        try:
            with open(self.mark) as f:
                text = f.read().strip()
        except FileNotFoundError:
            return None
        os.remove(self.mark)
        return text or "?"

    def out(self, name):
        return os.path.join(self.dir, name)

    def work_goes_on(self, what, *names):
        """Each of these has work done from now on."""
        before = {name: lines(self.out(name)) for name in names}
        until = time.monotonic() + PATIENCE_S
        for name in names:
            while lines(self.out(name)) <= before[name] + 2:
                self.assertLess(time.monotonic(), until, f"{what}: {name} does no work\n"
                                + self.said()[-3000:])
                time.sleep(0.01)

    def each_works(self, what, procs):
        """While the other is stopped: a process with the short slice gets nearly nothing beside
        one that no daemon manages."""
        for name, other in (("a", procs[1]), ("b", procs[0])):
            other.send_signal(signal.SIGSTOP)
            self.work_goes_on(what, name)
            other.send_signal(signal.SIGCONT)

    @staticmethod
    def names_reason(said):
        return any(reason in line for line in said for reason in REASONS)

    def messages(self):
        return [line for line in self.said().splitlines() if line[:3] in ("<3>", "<4>")]

    def daemon_with(self, number):
        if os.path.exists(self.log):
            os.remove(self.log)
        with open(self.log, "a") as log:
            self.daemon = subprocess.Popen(
                [DAEMON, f"--run-dir={self.run_dir}"], stderr=log, stdin=subprocess.DEVNULL,
                env=self.failing(number, "gpreemptd", "--role=daemon"))

    def test_in_the_daemon(self):
        procs = [self.start("be", args=[f"--out={self.out(name)}"]) for name in "ab"]
        number = FIRST
        while True:
            self.daemon_with(number)
            until = time.monotonic() + 3
            while len(self.rows_or_none()) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            failed = self.failed()
            if not failed and number:
                break
            if self.daemon.poll() is None:
                self.work_goes_on(f"call {number}, {failed}", "a", "b")
                self.daemon.send_signal(signal.SIGTERM)
                self.daemon.wait(PATIENCE_S)
            said = self.messages()
            self.each_works(f"after call {number}, {failed}", procs)
            self.assertLess(len(said), LINES_MAX, said)
            self.assertTrue(self.names_reason(said), f"call {number}, {failed}: {said}")
            for number_of in ("6", "11"):
                self.assertNotIn(f"killed by signal {number_of}\n", self.said())
            print(number, failed, "|", said or "silent", flush=True)
            number += STEP

    def rows_or_none(self):
        done = self.gp("ls", "--json")
        if done.returncode or '"daemon": {' not in done.stdout:
            return {}
        return self.tenants()

    def test_in_a_tenant(self):
        self.start_daemon()
        first = self.start("be", args=[f"--out={self.out('a')}"])
        number = FIRST
        while True:
            proc = subprocess.Popen(
                [CLI, "run", "--class=be", "--device=soft0", "--",
                 os.path.join(BUILD, "bench/be"), "--iters=1000", "--blocks=2",
                 f"--out={self.out('b')}"], env=self.failing(number, "libgpreempt"),
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
            self.programs.append(proc)
            self.assertIn("ready", proc.stdout.readline())
            time.sleep(0.3)
            failed = self.failed()
            self.each_works(f"call {number}, {failed}", (first, proc))
            proc.send_signal(signal.SIGTERM)
            said = proc.communicate(timeout=PATIENCE_S)[1].splitlines()
            if not failed and number:
                break
            self.work_goes_on(f"after call {number}, {failed}", "a")
            self.assertLess(len(said), LINES_MAX, said)
            self.assertTrue(self.names_reason(said), f"call {number}, {failed}: {said}")
            print(number, failed, "|", said or "silent", flush=True)
            number += STEP


if __name__ == "__main__":
    unittest.main()
