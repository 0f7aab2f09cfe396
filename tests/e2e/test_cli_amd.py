#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt doctor and run on AMD cards of a fake sysfs: schedulers, CWSR, routes."""
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, PATIENCE_S  # noqa: E402

FAKE = os.path.join(BUILD, "tests/hsaq")
CARD = "device 4711: "
PID = str(os.getpid())


def gpreempt(*args, place, tool="gpreempt_fake", **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPREEMPT_", "GPU_"))}
    return subprocess.run([os.path.join(FAKE, tool), *args], timeout=PATIENCE_S, text=True,
                          check=False, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**clean, "FAKE_HSAQ": place, "GPREEMPT_DAEMON": "none", **env})


class Fake(unittest.TestCase):
    def setUp(self):
        self.state = tempfile.mkdtemp(prefix="gpreempt-state-")
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)

    def gp(self, *args, **how):
        return gpreempt(*args, XDG_STATE_HOME=self.state, **how)


class Doctor(Fake):
    def card(self, place):
        """The verdict and text of each line about the first card."""
        done = self.gp("doctor", place=place)
        self.assertEqual(done.stderr, "")
        lines = [line.split(CARD) for line in done.stdout.splitlines() if CARD in line]
        self.assertEqual(len(lines), 3, done.stdout)
        return done, [(verdict.strip(), text) for verdict, text in lines]

    def check(self, place, facts, route, disturbs=None):
        done, lines = self.card(place)
        self.assertEqual(lines[0][1], "vega20 " + facts.format(platform.release()))
        self.assertIn(route, lines[2][1])
        self.assertEqual("disturbs" in lines[2][1], disturbs is not None)
        self.assertIn(disturbs or "", lines[2][1])
        works = not route.startswith("routes: none")
        self.assertEqual(lines[2][0], "ok" if works else "missing")
        self.assertEqual("-- CMD works here\n" in done.stdout, works, done.stdout)

    def test_stock(self):
        own = "routes: own queues, for run alone"
        self.check("stock-hws", "gfx906, Linux {}, scheduler HWS (firmware), CWSR on",
                   own, "all processes on this card")
        self.check("gfx10", "gfx1030, Linux {}, scheduler HWS (firmware), CWSR on",
                   own, "all processes on this card")
        self.check("stock", "gfx906, Linux {}, scheduler NO_HWS (the driver), CWSR on",
                   own, "no other process")

    def test_refused(self):
        self.check("no-cwsr", "gfx906, Linux {}, scheduler HWS (firmware), CWSR off",
                   "routes: none: amdgpu.cwsr_enable=0")
        self.check("gfx7", "gfx701, Linux {}, scheduler NO_HWS (the driver), CWSR off",
                   "routes: none: this card cannot save")
        for place, gfx, scheduler in (("gfx11", "gfx1100", "MES (firmware)"),
                                      ("gfx11-no-hws", "gfx1100", "NO_HWS (the driver)"),
                                      ("gfx10-mes", "gfx1030", "MES (firmware)")):
            self.check(place, f"{gfx}, Linux {{}}, scheduler {scheduler}, CWSR on",
                       "routes: none: the MES firmware may reset the GPU")

    def test_patched(self):
        self.check("patched", "gfx906, Linux {}, scheduler NO_HWS (the driver), CWSR on",
                   "routes: classes and holds of the driver")

    def test_no_card(self):
        done = self.gp("doctor", place="no-kfd")
        self.assertNotIn(CARD, done.stdout)


class Run(Fake):
    def environment(self, *args, place, **env):
        done = self.gp("run", *args, "--", "env", place=place, **env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def test_few_queues(self):
        """Only where each queue of a best-effort process takes a call at each switch."""
        name = "GPU_MAX_HW_QUEUES"
        for place in "stock", "stock-hws":
            self.assertEqual(self.environment("--class=be", place=place)[name], "2")
            self.assertEqual(self.environment("--class=be:50", place=place)[name], "2")
            self.assertEqual(self.environment("--class=be", place=place, **{name: "7"})[name], "7")
            self.assertNotIn(name, self.environment("--class=lc", place=place))
        self.assertNotIn(name, self.environment("--class=be", place="patched"))

    def test_refused(self):
        for place, word in (("no-cwsr", "amdgpu.cwsr_enable=0"), ("gfx7", "cannot save"),
                            ("gfx11", "HSA_CU_MASK"), ("gfx10-mes", "MES firmware")):
            for verb in "run", "stat":
                done = self.gp(verb, "--class=be", "--", "true", place=place)
                self.assertEqual((done.returncode, done.stdout), (125, ""), place)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(f"gpreempt: {verb}: AMD vega20 gfx", done.stderr)
                self.assertIn(word, done.stderr)

    def test_other_tools(self):
        done = self.gp("ls", tool="hsaq_fake", place="gfx10")
        self.assertIn("gfx1030", done.stdout)


class Pause(Fake):
    def test_refused(self):
        for place, args, words in (
                ("stock-hws", ("--pause=0s", PID), ("--pause=0s", "from 1ms to 1s")),
                ("stock-hws", ("--pause=2s", PID), ("from 1ms to 1s",)),
                ("stock-hws", ("--pause", "--device=GPU-1", PID), ("all its GPUs",)),
                ("stock-hws", ("--pause", "--class=lc", PID), ("only with --class=be",)),
                ("stock-hws", ("--pause", "1"), ("process 1 has no queue",)),
                ("patched", ("--pause", PID), ("leave out --pause",)),
                ("no-cwsr", ("--pause", PID), ("amdgpu.cwsr_enable=0",)),
                ("gfx11", ("--pause", PID), ("doctor --soak",))):
            done = self.gp("attach", "--class=be", *args, place=place, FAKE_PID=PID)
            self.assertEqual((done.returncode, done.stdout), (125, ""), (args, done.stderr))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)


class Soak(Fake):
    """A program of one queue, whose cycles are those of the fake driver."""

    APP = os.path.join(FAKE, "soak_app")

    def soak(self, *args, cycles=20, place="gfx11"):
        return self.gp("doctor", "--soak", f"--cycles={cycles}", "--", *args, place=place)

    def refused(self, done, *words):
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in ("gpreempt: doctor", *words):
            self.assertIn(word, done.stderr)

    def test_a_mark_opens_the_route(self):
        for place in "gfx11", "gfx11-no-hws", "gfx10-mes", "stock-hws":
            done = self.soak(self.APP, "3000", place=place)
            self.assertEqual((done.returncode, done.stderr), (0, ""), place)
            self.assertIn("20 cycles; off after", done.stdout)
            doctor = self.gp("doctor", place=place).stdout
            self.assertIn(CARD + "soak passed: 20 cycles", doctor)
            self.assertNotIn("device 4712: soak", doctor)
            self.assertEqual(self.gp("run", "--class=be", "--", "true", place=place).returncode, 0)
            shutil.rmtree(os.path.join(self.state, "gpreempt"))
            if place != "stock-hws":
                self.refused_run(place)

    def refused_run(self, place):
        done = self.gp("run", "--class=be", "--", "true", place=place)
        self.assertEqual(done.returncode, 125)
        self.assertIn("run gpreempt doctor --soak -- PROGRAM first", done.stderr)

    def test_failures_leave_no_mark(self):
        for args, words in (
                ((self.APP, "3000", "7"), ("failed: cycle", "of 20")),
                ((self.APP, "3000", "0", "3"), ("20 cycles", "status 3")),
                ((self.APP, "300"), ("the program ended in cycle", "--cycles")),
                (("true",), ("ended before it had a queue",)),
                (("/nowhere/cmd",), ("/nowhere/cmd", "not found"))):
            cycles = 1000000 if words[0].startswith("the program") else 20
            done = self.soak(*args, cycles=cycles)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)
            self.refused_run("gfx11")

    def test_no_soak_helps(self):
        self.refused(self.soak("true", place="no-cwsr"), "amdgpu.cwsr_enable=0")
        self.refused(self.soak("true", place="gfx7"), "cannot save")
        self.refused(self.soak("true", place="patched"), "its driver has holds")

    def test_words(self):
        for args, words in (((), ("gpreempt doctor --soak -- CMD",)),
                            (("--cycles=0", "true"), ("--cycles=0", "1 to 10000000")),
                            (("--cycles=1x", "true"), ("--cycles=1x",)),
                            (("--device=GPU-1", "true"), ("GPU-1",))):
            self.refused(self.gp("doctor", "--soak", *args, place="gfx11"), *words)
        self.refused(self.gp("doctor", "--cycles=5", place="gfx11"), "only with --soak")
        self.refused(self.gp("doctor", "a", "b", place="gfx11"), "b: unexpected argument")


if __name__ == "__main__":
    unittest.main()
