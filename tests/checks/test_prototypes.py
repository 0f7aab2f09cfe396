#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows of preload/driver_calls.def against NVIDIA's cuda.h, where that is installed."""
import os
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CUDA = next((folder for folder in (os.environ.get("CUDA_HOME", "") + "/include",
                                   "/usr/local/cuda/include", "/usr/include")
             if os.path.exists(os.path.join(folder, "cudaTypedefs.h"))), None)


@unittest.skipUnless(CUDA, "cuda.h is not installed")
class Prototypes(unittest.TestCase):
    def compile(self, top):
        """With @top's table."""
        return subprocess.run(
            ["g++", "-std=c++17", "-fsyntax-only", f"-I{top}", f"-I{TOP}", f"-I{CUDA}",
             os.path.join(TOP, "tests/preload/prototypes.cc")], capture_output=True, text=True)

    def test_rows(self):
        done = self.compile(TOP)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])

    def test_faults_are_found(self):
        table = os.path.join(TOP, "preload/driver_calls.def")
        with open(table) as f:
            rows = f.read()
        for row, fault in (("cuMemAlloc_v2, 3020, 2, P, L)", "cuMemAlloc_v2, 3020, 2, P, U)"),
                           ("cuMemAlloc_v2, 3020, 2, P, L)", "cuMemAlloc_v2, 3020, 1, P)"),
                           ("cuMemAlloc_v2, 3020, 2", "cuMemAlloc_v2, 3030, 2"),
                           ("cuGraphLaunch, cuGraphLaunch,", "cuGraphLaunch, cuGraphLunch,"),
                           ("4010, 3, P, H, U", "4010, 3, P, P, U")):
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as top:
                self.assertEqual(rows.count(row), 1)
                os.mkdir(os.path.join(top, "preload"))
                with open(os.path.join(top, "preload/driver_calls.def"), "w") as f:
                    f.write(rows.replace(row, fault))
                self.assertNotEqual(self.compile(top).returncode, 0)


if __name__ == "__main__":
    unittest.main()
