#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version has one place, VERSION of the Makefile; all else follows it."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "kfd-patch/dkms"))

import make_source  # noqa: E402


def text_of(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


OTHERS = ("setup", "*.mk", "*/*.mk", "*/*.in", "*/*/*.in", "*/*.c", "[!t]*/*/*.c", "docs/man/*",
          "*/*.py", "kfd-patch/*/*.py", "systemd/*")
VERSION = re.search(r"^VERSION\s*:= (\S+)$", text_of("Makefile"), re.M)[1]


class Version(unittest.TestCase):
    def test_changelog_begins_with_it(self):
        self.assertEqual(VERSION, re.search(r"^## (\S+)", text_of("CHANGELOG.md"), re.M)[1])

    def test_debian_packages_have_it(self):
        self.assertEqual(VERSION, re.match(r"gpreempt \((\S+)\)", text_of("debian/changelog"))[1])

    def test_dkms_has_it(self):
        self.assertEqual(VERSION, make_source.version())

    def test_pkg_config_has_it(self):
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
        with tempfile.TemporaryDirectory() as out:
            for name in ("gpreempt", "hsaq"):
                path = os.path.join(out, f"{name}.pc")
                done = subprocess.run(["make", "-s", "-C", TOP, f"O={out}", path], text=True,
                                      capture_output=True, env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(path, encoding="utf-8") as f:
                    self.assertIn(f"\nVersion: {VERSION}\n", f.read())

    def test_no_call_is_newer(self):
        for name in ("gpreempt/gpreempt.h", "gpreempt/hal.h", "hsaq.h"):
            since = re.findall(r"Since: (\S+)", text_of(f"include/{name}"))
            self.assertTrue(since)
            for version in since:
                self.assertLessEqual([int(n) for n in version.split(".")],
                                     [int(n) for n in VERSION.split(".")])

    def test_no_other_file_has_it(self):
        """Headers name the version in which a call appeared; tests have results of old ones."""
        names = [name for pattern in OTHERS for name in glob.glob(pattern, root_dir=TOP)]
        self.assertGreater(len(names), 100)
        self.assertEqual([], [name for name in names if VERSION in text_of(name)])


if __name__ == "__main__":
    unittest.main()
