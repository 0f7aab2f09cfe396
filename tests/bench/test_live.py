#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gp_live kernels really use the number of registers in their names, without spills.
Needs `ptxas`."""
import os
import re
import shutil
import subprocess
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PTXAS = shutil.which(os.environ.get("PTXAS", "ptxas")) or "/usr/local/cuda/bin/ptxas"
REGISTERS = [32, 40, 64, 96, 128, 168, 255]
ALLOCATED = 8       # registers are allocated in such steps


def ptx():
    """The PTX text in the file's C strings."""
    with open(os.path.join(TOP, "bench/gpu/live_ptx.c"), encoding="ascii") as f:
        lines = re.findall(r'^"(.*)\\n"$', f.read(), re.M)
    return "\n".join(re.sub(r"\\(.)", r"\1", line) for line in lines) + "\n"


@unittest.skipUnless(os.access(PTXAS, os.X_OK), "no ptxas")
class Live(unittest.TestCase):
    def compiled(self, arch):
        """Registers by the kernel's name -> registers that it uses."""
        done = subprocess.run([PTXAS, "-v", f"-arch={arch}", "-o", "/dev/null", "-"],
                              input=ptx(), text=True, capture_output=True, timeout=300)
        if done.returncode and "is not defined for option" in done.stderr:
            self.skipTest(f"this ptxas has no {arch}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(re.findall(r"(\d+) bytes spill", done.stderr)), {"0"})
        self.assertEqual(set(re.findall(r"(\d+) bytes stack", done.stderr)), {"0"})
        names = re.findall(r"entry function 'gp_live_(\d+)'", done.stderr)
        return dict(zip(map(int, names), map(int, re.findall(r"Used (\d+) reg", done.stderr))))

    def test_registers(self):
        found = self.compiled("sm_90")
        self.assertEqual(sorted(found), REGISTERS)
        for registers, has in found.items():
            self.assertIn(has, range(registers - ALLOCATED + 1, registers + 1), found)

    def test_elsewhere_no_more(self):
        """No kernel uses more than its name says, so its blocks fit on other cards, too."""
        for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120"):
            with self.subTest(arch):
                for registers, has in self.compiled(arch).items():
                    self.assertIn(has, range(registers - 2 * ALLOCATED, registers + 1))


if __name__ == "__main__":
    unittest.main()
