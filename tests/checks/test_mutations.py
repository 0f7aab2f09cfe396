#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/mutations.py: each mutation changes one place of the core as it is now."""
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))
from mutations import MUTATIONS  # noqa: E402


class Mutations(unittest.TestCase):
    def test_each_applies_once(self):
        for mutation in MUTATIONS:
            with self.subTest(mutation=mutation.name):
                with open(os.path.join(TOP, mutation.file), encoding="utf-8") as f:
                    self.assertEqual(f.read().count(mutation.old), 1)

    def test_names_differ(self):
        names = [m.name for m in MUTATIONS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
