#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages against the programs: options of --help, and messages in the code."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, PATIENCE_S, TOP  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "tests"))
from kerneldoc import exported  # noqa: E402

VALUE = "\0"                # a placeholder of a page, a conversion of a format
LITERALS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', re.S)
CONVERSION = re.compile(r"%[-#0 +]*[0-9*]*(?:\.[0-9*]+)?(?:hh|h|ll|l|j|z)?[a-zA-Z]")
PLACEHOLDER = re.compile(r"_[A-Z]+_")
EVERYWHERE = ("--help", "--usage", "--version")


def section(page, heading):
    """The lines of a page after @heading, up to the next one of its rank or above."""
    rank = heading.split()[0]
    with open(os.path.join(TOP, "docs/man", page), encoding="utf-8") as file:
        lines = file.read().split("\n")
    begin = lines.index(heading) + 1
    for end in range(begin, len(lines)):
        word = lines[end].split(" ")[0]
        if word and set(word) == {"#"} and len(word) <= len(rank):
            return lines[begin:end]
    return lines[begin:]


def terms(lines):
    """The terms of a section: what stands above an indented text."""
    held = []
    for line in lines:
        if line.startswith("\t") and held:
            yield " ".join(held)
        held = held + [line] if line and not line.startswith("\t") else []


def options_of_page(lines):
    """As in --help: "-c, --class=CLASS"."""
    return [re.sub(r"[*_\\]", "", term) for term in terms(lines) if term.startswith("*-")]


def options_of_help(*command):
    done = subprocess.run([*command, "--help"], text=True, capture_output=True,
                          timeout=PATIENCE_S, stdin=subprocess.DEVNULL, check=True)
    return [re.split(r"\s{2,}", line.strip())[0] for line in done.stdout.split("\n")
            if re.match(r" {2,6}-", line)]


def literals_of(text):
    """The string literals of a C file, with VALUE for each conversion."""
    for match in LITERALS.findall(text):
        if match.startswith('"'):
            literal = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match))
            yield CONVERSION.sub(VALUE, literal)


def messages(*folders):
    found = []
    for folder in folders:
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(where, name), encoding="utf-8") as file:
                        found += literals_of(file.read())
    return found


def is_message(headline, literals):
    wanted = PLACEHOLDER.sub(VALUE, re.sub(r"[*\\]", "", headline))
    return any(wanted in literal for literal in literals)


class Options(unittest.TestCase):
    maxDiff = None

    def same(self, page, heading, *command):
        def named(options):
            return sorted(o for o in options if not o.endswith(EVERYWHERE))

        self.assertEqual(named(options_of_page(section(page, heading))),
                         named(options_of_help(*command)), command)

    def test_gpreempt(self):
        done = subprocess.run([CLI, "--help"], text=True, capture_output=True,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, check=True)
        verbs = re.findall(r"^  (\w+) ", done.stdout, re.M)
        self.assertGreater(len(verbs), 10)
        for verb in verbs:
            with self.subTest(verb):
                self.same("gpreempt.1.scd", f"## gpreempt {verb}", CLI, verb)
        described = [line.split()[-1] for line in section("gpreempt.1.scd", "# COMMANDS")
                     if line.startswith("## ")]
        self.assertEqual(sorted(described), sorted(verbs))

    def test_others(self):
        for page, name in (("gpreemptd.8.scd", "gpreemptd"),
                           ("gpreempt-bench.1.scd", "gpreempt-bench")):
            with self.subTest(name):
                self.same(page, "# OPTIONS", os.path.join(BUILD, "bin", name))


@unittest.skipUnless(shutil.which("scdoc"), "no scdoc")
class Pages(unittest.TestCase):
    """All pages are built by `make man`: those in docs/man, and one for each call of the
    libraries."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gpreempt-man-")
        self.addCleanup(shutil.rmtree, self.dir)

    def make(self, **env):
        plain = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        return subprocess.run(["make", "-C", TOP, f"O={self.dir}", "man"], text=True,
                              capture_output=True, env={**plain, **env}, timeout=PATIENCE_S)

    def test_all_are_built(self):
        done = self.make()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        pages = os.listdir(os.path.join(self.dir, "man"))
        sources = os.listdir(os.path.join(TOP, "docs/man"))
        calls = {f"{name}.3" for path in ("client/libgpreempt.map", "libhsaq/libhsaq.map")
                 for name in exported(os.path.join(TOP, path))}
        self.assertGreater(len(calls), 20)
        self.assertEqual(set(pages), {name[:-4] for name in sources} | calls)
        for page in pages:
            with open(os.path.join(self.dir, "man", page), encoding="utf-8") as file:
                self.assertIn(f'.TH "{page.rpartition(".")[0]}"', file.read(), page)

    def test_one_is_not(self):
        """A page that scdoc refuses ends make."""
        with open(os.path.join(self.dir, "scdoc"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\n(cat; printf "\n*bold\n\n") | '
                       f'{shutil.which("scdoc")}\n')
        os.chmod(file.name, 0o755)
        done = self.make(PATH=f"{self.dir}:{os.environ['PATH']}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("Expected * before", done.stderr)


class Install(unittest.TestCase):
    def test_prefix(self):
        """Both spellings name the folder of an installation; the small letters win."""
        for words, prefix in (([], "/usr/local"), (["prefix=/opt/a"], "/opt/a"),
                              (["PREFIX=/opt/b"], "/opt/b"),
                              (["PREFIX=/opt/b", "prefix=/opt/a"], "/opt/a")):
            done = subprocess.run(
                ["make", "-s", "-C", TOP, "--eval=show: ; @echo $(bindir)", "show", *words],
                text=True, capture_output=True, timeout=PATIENCE_S, check=True,
                env={k: v for k, v in os.environ.items()
                     if k.lower() != "prefix" and not k.startswith(("MAKE", "MFLAGS"))})
            self.assertEqual(done.stdout, f"{prefix}/bin\n")


class Diagnostics(unittest.TestCase):
    def found(self, page, *folders):
        literals = messages(*folders)
        headlines = list(terms(section(page, "# DIAGNOSTICS")))
        self.assertGreater(len(headlines), 4, page)
        missing = [line for line in headlines if not is_message(line, literals)]
        self.assertEqual(missing, [], f"{page}: no such message in {', '.join(folders)}")
        for wrong in ("*no message of any program*", f"*x*{headlines[0]}"):
            self.assertFalse(is_message(wrong, literals), wrong)

    def test_gpreemptd(self):
        self.found("gpreemptd.8.scd", "daemon")

    def test_gpreempt(self):
        self.found("gpreempt.1.scd", "cli", "client", "preload")

    def test_hsaq(self):
        self.found("hsaq.1.scd", "libhsaq")


if __name__ == "__main__":
    unittest.main()
