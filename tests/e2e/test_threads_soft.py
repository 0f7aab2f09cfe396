#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several threads of one process on the software GPU: its CUDA face, and
libgpreempt under `gpreempt run`."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, PATIENCE_S, Rig  # noqa: E402

THREADS = os.path.join(BUILD, "tests/softface/threads")
LAUNCHES = 4 * 3 * 10 * 3


class Threads(Rig):
    def threads(self, *argv, **env):
        done = subprocess.run(argv, text=True, capture_output=True,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                              env=dict(self.env, **env))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, f"ok {LAUNCHES}\n")
        return done

    def test_without_gpreempt(self):
        self.threads(THREADS, GPREEMPT_BACKEND="softgpu", LD_LIBRARY_PATH=FACE)

    def test_run(self):
        for cls in ("lc", "be"):
            self.threads(CLI, "run", f"--class={cls}", "--device=soft0", "--",
                         THREADS)

    def test_each_with_a_handle(self):
        self.start("be")
        self.threads(CLI, "run", "--class=lc", "--device=soft0", "--", THREADS,
                     "--client")


if __name__ == "__main__":
    unittest.main()
