#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make recipes: the commands of CONTRIBUTING.md's recipes work as they stand there.

Each recipe's fenced blocks of commands run in a copy of the tree and its build, one after
the other. The copy then still passes the quick parts of lint, and the tree is as before.
The README's example in C compiles.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
CC = os.environ.get("CC", "cc")
SECTION = re.compile(r"^## (.*)$", re.M)
COMMIT = "git -c user.name=recipes -c user.email=recipes@localhost commit -q -m recipes"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def text_of(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


def recipe(title):
    """The blocks of commands in the section "Recipe: @title"."""
    parts = SECTION.split(text_of("CONTRIBUTING.md"))
    sections = dict(zip(parts[1::2], parts[2::2]))
    return [text for kind, text in BLOCK.findall(sections[f"Recipe: {title}"]) if kind == "sh"]


def files():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [name for name in out.split("\0") if name and os.path.exists(os.path.join(TOP, name))]


def state():
    """What a changed, added or removed file changes."""
    found = {name: os.lstat(os.path.join(TOP, name)) for name in files()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = state()
        cls.copy = tempfile.mkdtemp(prefix="gpreempt-recipes-")
        cls.addClassCleanup(shutil.rmtree, cls.copy, ignore_errors=True)
        for name in files():
            to = os.path.join(cls.copy, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(TOP, name), to, follow_symlinks=False)
        # With its build, little is compiled again.
        subprocess.run(["cp", "-a", BUILD, os.path.join(cls.copy, "build")], check=True)
        cls.env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")
                   and not k.startswith("GP")}
        cls.env["MAKEFLAGS"] = "-j2"
        # lint asks git for the files.
        cls.run_in(cls, f"git init -q; git add -A; {COMMIT}")

    def run_in(self, script):
        done = subprocess.run(["sh", "-euc", script], cwd=self.copy, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            raise AssertionError(f"exit status {done.returncode}: {script}\n{done.stdout[-6000:]}")
        return done.stdout

    def follow(self, title, added, changed):
        """Run the recipe; it adds and changes these files, and no others."""
        self.run_in("git reset -q --hard; git clean -fdq")
        for block in recipe(title):
            self.run_in(block)
        status = self.run_in("git add -A; git diff --cached --name-status").split()
        self.assertEqual(dict(zip(status[1::2], status[0::2])),
                         {**{name: "A" for name in added}, **{name: "M" for name in changed}})
        self.run_in("python3 tests/lint.py")
        self.run_in("python3 tests/prose.py " + " ".join(added))
        self.run_in("clang-format --dry-run -Werror " + " ".join(
            name for name in added + changed if name.endswith((".c", ".h"))))
        self.run_in(COMMIT)
        self.assertEqual(state(), self.before, "the tree itself changed")

    def test_a_policy(self):
        self.follow("a policy", ["sched/policy_lifo.c", "tests/sched/test_lifo.c"],
                    ["sched/sched.h", "sched/policies.c", "docs/man/gpreempt.yaml.5.scd"])

    def test_a_workload(self):
        self.follow("a workload of gpreempt-bench", ["bench/gpu/move.c"], [
            "bench/gpu/kind.h", "bench/gpu/kind.c", "bench/plan/named.c", "bench/plan/workload.h",
            "docs/bench-plans.md", "tests/bench/test_workload.c", "tests/e2e/test_bench_cli.py"])


class Readme(unittest.TestCase):
    def test_its_example_compiles(self):
        example, = [text for kind, text in BLOCK.findall(text_of("README.md")) if kind == "c"]
        include, rest = example.split("\n", 1)
        done = subprocess.run([*CC.split(), "-fsyntax-only", "-Wall", "-Werror",
                               f"-I{TOP}/include", "-xc", "-"],
                              input=f"{include}\nint main(void)\n{{\n{rest}}}\n", text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
