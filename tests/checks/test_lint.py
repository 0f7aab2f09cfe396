#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tests/lint.py finds in folders that break their arrows."""
import importlib.util
import os
import shutil
import tempfile
import unittest

LINT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint.py")
SPEC = importlib.util.spec_from_file_location("lint", LINT)
lint = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lint)


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="gpreempt-lint-")
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)

    def found(self, check, **files):
        """Findings in files: a name, as folder__file, and a text."""
        paths = []
        for name, text in files.items():
            folder, file = name.split("__")
            path = os.path.join(folder, file.replace("_", "."))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
            paths.append(path)
        return list(check(paths))

    def test_one_place(self):
        for text, deed in (("\terr = gp_sched_step(core);\n", "steps the core"),
                           ("\tgp_sched_init(&core);\n", "steps the core"),
                           ("\tus = caps->max_slice_us;\n", "clamps a slice"),
                           ("\tif (caps.min_slice_us > us)\n", "clamps a slice"),
                           ("\t*out = (struct gp_wire_request){ 1 };\n", "maps a class")):
            with self.subTest(text):
                found = self.found(lint.check_only, daemon__a_c="\n" + text)
                self.assertEqual([line.split(";")[0].startswith(f"daemon/a.c:2: {deed}")
                                  for line in found], [True])
        self.assertEqual(self.found(
            lint.check_only, runtime__a_c="gp_sched_step(core, caps->max_slice_us);\n",
            wire__a_c="(struct gp_wire_request){ 1 };\n",
            daemon__a_c="caps.max_slice_us = 1;\n"), [])

    def test_arrows(self):
        found = self.found(lambda files: [line for line in lint.check_arrows(files)
                                          if not line.startswith("tests/lint.py")],
                           daemon__a_c='#include "client/keep.h"\n#include "runtime/runtime.h"\n',
                           runtime__a_c='#include "daemon/daemon.h"\n')
        self.assertEqual(found, [
            "daemon/a.c: includes client/keep.h, which daemon/ may not know",
            "runtime/a.c: includes daemon/daemon.h, which runtime/ may not know"])

    def test_circles(self):
        found = self.found(lint.check_circles, runtime__a_h='#include "hal/b.h"\n',
                           hal__b_c='#include "runtime/a.h"\n', hal__b_h="",
                           sched__a_h='#include "sched/b.h"\n', sched__b_h='#include "sched/a.h"\n')
        self.assertEqual(found, ["hal/b and runtime/a include each other by a circle"])


if __name__ == "__main__":
    unittest.main()
