#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LC or BE killed or stopped at random moments, on the software GPU: GP_KILLS
of them (20)."""
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
KILLS = int(os.environ.get("GP_KILLS", "20"))
SEED = int(os.environ.get("GP_SEED", "3"))


class Kills(unittest.TestCase):
    """Survivors get back to full speed."""

    def test_at_random_moments(self):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [sys.executable, os.path.join(TOP, "tests/gpu/suite.py"), "kill",
                 "--soft", "--build", BUILD, "--out", out, f"--kills={KILLS}",
                 f"--seed={SEED}"], text=True, capture_output=True,
                timeout=max(600, KILLS * 8))
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("slowest"), 4)
        self.assertNotIn("FAIL", done.stdout)


if __name__ == "__main__":
    unittest.main()
