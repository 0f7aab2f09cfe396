#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite over the NVIDIA backend on the software GPU."""
import os
import re
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
SUITE = os.path.join(BUILD, "tests/conformance/test_conformance_nvidia")
# Faults on demand, classes, and the driver's account of a group's time are what
# NVIDIA's driver has not.
SKIPPED = {"slice_that_fails_leaves_the_old", "classes_are_taken_of_others",
           "hold_leaves_who_is_as_urgent", "suspend_that_fails_halfway_is_undone",
           "resume_that_fails_halfway_suspends_nobody", "usage_counts_what_runs",
           # Nothing is preloaded there.
           "control_files_are_handed_over"}


class Conformance(unittest.TestCase):
    def test_suite_passes(self):
        with tempfile.TemporaryDirectory() as tmp:
            env = dict(os.environ, GP_BUILD=BUILD, GPREEMPT_BACKEND="softgpu",
                       GPREEMPT_SOFTGPU=os.path.join(tmp, "soft0.sock"),
                       LD_LIBRARY_PATH=os.path.join(BUILD, "lib/gpreempt/softgpu"))
            with open(os.path.join(tmp, "log"), "w+", encoding="utf-8") as log:
                done = subprocess.run([SUITE], env=env, stdout=log,
                                      stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, timeout=300)
                log.seek(0)
                said = log.read()
        self.assertEqual(done.returncode, 0, said)
        ran = re.search(r"^conformance: (\d+) run", said, re.M)
        self.assertTrue(ran and int(ran.group(1)) >= 32, said)
        self.assertEqual(set(re.findall(r"SKIPPED +\] (\w+)$", said, re.M)), SKIPPED)


if __name__ == "__main__":
    unittest.main()
