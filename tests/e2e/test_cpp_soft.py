#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt.hpp, compiled as C++17 with all warnings as errors, on the software GPU."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, PATIENCE_S, Rig  # noqa: E402

SCOPES = os.path.join(BUILD, "tests/softface/scopes")


class Scopes(Rig):
    def scopes(self, *argv, **env):
        done = subprocess.run(argv, text=True, capture_output=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, env=dict(self.env, **env))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^ok [1-9]\d\n$")

    def test_alone(self):
        self.scopes(SCOPES, GPREEMPT_BACKEND="softgpu", LD_LIBRARY_PATH=FACE)

    def test_run(self):
        self.scopes(CLI, "run", "--class=lc", "--device=soft0", "--", SCOPES)


if __name__ == "__main__":
    unittest.main()
