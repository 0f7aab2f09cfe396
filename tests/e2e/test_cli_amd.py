#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt doctor and run on AMD cards of a fake sysfs: schedulers, CWSR, routes."""
import os
import platform
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, PATIENCE_S  # noqa: E402

FAKE = os.path.join(BUILD, "tests/hsaq")
CARD = "device 4711: "


def gpreempt(*args, place, tool="gpreempt_fake", **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPREEMPT_", "GPU_"))}
    return subprocess.run([os.path.join(FAKE, tool), *args], timeout=PATIENCE_S, text=True,
                          check=False, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**clean, "FAKE_HSAQ": place, "GPREEMPT_DAEMON": "none", **env})


class Doctor(unittest.TestCase):
    def card(self, place):
        """The verdict and text of each line about the first card."""
        done = gpreempt("doctor", place=place)
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
        done = gpreempt("doctor", place="no-kfd")
        self.assertNotIn(CARD, done.stdout)


class Run(unittest.TestCase):
    def environment(self, *args, place, **env):
        done = gpreempt("run", *args, "--", "env", place=place, **env)
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
                done = gpreempt(verb, "--class=be", "--", "true", place=place)
                self.assertEqual((done.returncode, done.stdout), (125, ""), place)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(f"gpreempt: {verb}: AMD vega20 gfx", done.stderr)
                self.assertIn(word, done.stderr)

    def test_other_tools(self):
        done = gpreempt("ls", tool="hsaq_fake", place="gfx10")
        self.assertIn("gfx1030", done.stdout)


if __name__ == "__main__":
    unittest.main()
