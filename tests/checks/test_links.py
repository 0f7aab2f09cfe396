#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/links.py finds links, headings and paths that do not exist."""
import os
import sys
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests"))

import links  # noqa: E402


class Links(unittest.TestCase):
    def links(self, text):
        return [line for line, _ in links.bad_links("docs/x.md", text)]

    def paths(self, text, name="docs/x.md"):
        return [what for _, what in links.bad_paths(name, text, ["docs", "sched"])]

    def test_a_file(self):
        self.assertEqual([], self.links("[a](sched.md) [b](../README.md)\n"))
        self.assertEqual([2], self.links("x\n[a](none.md)\n"))

    def test_a_heading(self):
        self.assertEqual([], self.links("[a](../README.md#quick-start)\n"))
        self.assertEqual([1], self.links("[a](../README.md#none)\n"))

    def test_others_are_left_alone(self):
        self.assertEqual([], self.links("[a](https://example.org/none.md)\n"))
        self.assertEqual([], self.links("```\n[a](none.md)\n```\n"))

    def test_a_path(self):
        self.assertEqual([], self.paths("`sched/sched.c`, sched/policy_*.c, sched/NAME.c\n"))
        self.assertEqual(["sched/none.c: no such file"], self.paths("In sched/none.c.\n"))
        self.assertEqual(["sched/none_*.c: no such file"], self.paths("`sched/none_*.c`\n"))

    def test_a_function(self):
        def found(text):
            return [what for _, what in links.bad_functions(text)]

        self.assertEqual([], found("`gp_sched_step()`\n(sched/sched.c), `main()` (cli)\n"))
        self.assertEqual(["gp_none() is not in sched/sched.c"],
                         found("`gp_none()` (sched/sched.c)\n"))
        # A longer name is another function.
        self.assertEqual(["sched_step() is not in sched/sched.c"],
                         found("`sched_step()` (sched/sched.c)\n"))

    def test_a_document_without_a_link(self):
        with mock.patch.object(links, "tracked", return_value=["LICENSE", "SECURITY.md"]):
            self.assertEqual(list(links.unreachable()),
                             ["LICENSE: no links lead here from README.md"])


if __name__ == "__main__":
    unittest.main()
