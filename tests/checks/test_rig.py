#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kfd-patch/rig: limits of a guest, and which failures get a second try. Shell scripts stand in for
QEMU."""
import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "kfd-patch", "rig"))
import guest  # noqa: E402
import runner  # noqa: E402

PASSED = "echo T t_one; echo 'O 1..1'; echo 'O ok 1 - one'; echo 'E t_one exit 0 5'; "
FAILED = PASSED.replace("ok 1", "not ok 1").replace("exit 0", "exit 1")


class Rig(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpreempt-rig-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.report = runner.Report(False)
        self.said = io.StringIO()
        self.enterContext(contextlib.redirect_stdout(self.said))

    def boot(self, script, limits=None, *, virtual=False, between=5):
        """One guest that prints what @script does."""
        argv = ["sh", "-c", script, *(["-icount"] if virtual else [])]
        boot = guest.Boot(argv, limits or {}, self.folder, "guest", self.report, between)
        boot.run()
        return boot

    def boots(self, scripts, names=("t_one",)):
        """run_boot() with a script per guest; the number of guests."""
        left = list(scripts)

        def argv(*_, **__):
            return ["sh", "-c", left.pop(0)]

        args = argparse.Namespace(out=self.folder, time="wall", patience=1, env=[], flavour=None,
                                  params="", policy=None, suite="check", scale=None,
                                  kmemleak=False)
        session = mock.Mock(args=args, out=self.folder, kernel="")
        session.load_lines.return_value = []
        session.archive.side_effect = lambda *_: tempfile.mkstemp(dir=self.folder)[1]
        session.label.side_effect = iter(f"guest-{n}" for n in range(9))
        tests = [mock.Mock(program=n, time="wall", cpus=1, memory=1, cost=9, rocm=False, limit=5,
                           timeout=5, check_scale="1", long_scale="", files=[]) for n in names]
        for test, name in zip(tests, names):
            test.name = name
            test.load_params.return_value = ""
        with mock.patch.object(guest, "qemu_argv", argv), \
                mock.patch.object(runner, "files_for", return_value=[]):
            runner.run_boot(session, tests, runner.Cores(2), self.report)
        return len(scripts) - len(left)

    def counts(self):
        return self.report.passed, self.report.failed, self.report.skipped


class Limits(Rig):
    def test_passes_and_fails(self):
        self.boot(PASSED + FAILED.replace("t_one", "t_two") + "echo DONE")
        self.assertEqual(self.counts(), (1, 1, 0))

    def test_hangs(self):
        boot = self.boot("echo T t_one; exec sleep 60", {"t_one": 0.5})
        self.assertEqual(boot.outcomes["t_one"].how, "timeout")
        self.assertEqual(self.counts(), (0, 1, 0))

    def test_hangs_between(self):
        boot = self.boot("exec sleep 60", between=0.5)
        self.assertEqual(boot.other.how, "timeout")

    def test_own_cpu_time(self):
        """A guest in virtual time that had no CPU has ten times as long."""
        script = "echo T t_one; sleep 1.5; echo 'O 1..1'; echo 'O ok 1 - x';" \
            "echo 'E t_one exit 0 5'; echo DONE; exit"
        self.boot(script, {"t_one": 0.5}, virtual=True)
        self.assertEqual(self.counts(), (1, 0, 0))
        started = time.monotonic()
        boot = self.boot("echo T t_one; while :; do :; done", {"t_one": 0.5}, virtual=True)
        self.assertEqual(boot.outcomes["t_one"].how, "timeout")
        self.assertGreaterEqual(time.monotonic() - started, 0.5)
        boot = self.boot("echo T t_one; exec sleep 60", {"t_one": 0.2}, virtual=True)
        self.assertEqual(boot.outcomes["t_one"].how, "timeout")

    def test_stopped_host(self):
        """A gap in which this process did not run counts two seconds at most."""
        spent = guest.Spent(os.getpid(), False)
        spent.last -= 300
        self.assertLessEqual(spent.seconds(), 2)


class Second(Rig):
    def test_did_not_start(self):
        """A guest that ran no test gets one more boot."""
        self.assertEqual(self.boots(["exit 1", PASSED + "echo DONE"]), 2)
        self.assertEqual(self.counts(), (1, 0, 0))
        self.assertIn("the guest of t_one ran no test", self.said.getvalue())

    def test_never_starts(self):
        self.assertEqual(self.boots(["exit 1"] * 3), 2)
        self.assertEqual(self.counts(), (0 + 1, 1, 0))
        self.assertEqual(self.report.take_failures(3), ["t_one"])

    def test_kernel_complains_at_start(self):
        self.assertEqual(self.boots(["echo 'K 1.0 BUG: bad'; exit 1"] * 2), 1)
        self.assertEqual(self.report.take_failures(3), [])
        self.assertEqual(self.report.failed, 2)

    def test_slow_host(self):
        self.boots(["echo 'K 1.0 rcu: INFO: rcu_sched stalled'; " + PASSED + "echo DONE"])
        self.assertEqual(self.counts(), (2, 1, 0))
        self.assertEqual(self.report.take_failures(3), ["t_one"])
        self.assertEqual(self.counts(), (0, 0, 0))

    def test_failed_test(self):
        self.boots([FAILED + "echo DONE"])
        self.assertEqual(self.report.take_failures(0), [])
        self.assertEqual(self.report.take_failures(1), ["t_one"])
        self.assertEqual(self.counts(), (0, 0, 0))

    def test_remaining_tests(self):
        """After a test that breaks its guest, the others run in another."""
        two = PASSED.replace("t_one", "t_two") + "echo DONE"
        self.assertEqual(self.boots(["echo T t_one; exit 1", two], ("t_one", "t_two")), 2)
        self.assertEqual(self.counts(), (1, 1, 0))
        self.assertEqual(self.report.take_failures(3), ["t_one"])


if __name__ == "__main__":
    unittest.main()
