#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests of the core catch plausible mistakes in it?

Applies one mutation at a time to a copy of sched/, builds the core as a shared library, and runs
the tests of tests/sched over it until one fails. A mutation is caught if a test fails, crashes or
hangs. One that does not apply or build is an error of the table, tests/mutations.py.
"""
import argparse
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mutations import MUTATIONS  # pylint: disable=wrong-import-position

CFLAGS = ["-std=gnu11", "-O2", "-fPIC", "-I.", "-Iinclude", "-D_GNU_SOURCE", "-DGP_UNTIMED", "-w"]
LIBS = ["-lcmocka", "-ldl", "-lm"]
CAUGHT_MIN = 0.9  # of all mutations that are not argued to be equivalent
TIMEOUT_S = 120
# The others take less than a second each.
SLOW = ["test_explore", "test_property", "test_edf_admission", "test_policy", "test_waiting",
        "test_many", "test_hour"]


class TableError(Exception):
    """A mutation of the table does not apply, or does not build."""


def compiler():
    return os.environ.get("CC", "cc").split()


def run(args, cwd, **more):
    return subprocess.run(args, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **more)


def must(args, cwd):
    done = run(args, cwd)
    if done.returncode:
        raise TableError(done.stdout)


def library(tree, changed=None):
    """Build the core of tree as a shared library; only the file that changed is compiled."""
    for source in sorted(glob.glob("sched/*.c", root_dir=tree)):
        if changed in (None, source):
            must(compiler() + CFLAGS + ["-c", source, "-o", source[:-2] + ".o"], tree)
    must(compiler() + ["-shared", "-o", "libcore.so"] +
         sorted(glob.glob("sched/*.o", root_dir=tree)), tree)


def build_tests(tree):
    """Build all tests of the core once: they find libcore.so in the working directory."""
    names = []
    for source in sorted(glob.glob("tests/sched/test_*.c", root_dir=tree)):
        name = os.path.basename(source)[:-2]
        must(compiler() + CFLAGS + [source] + sorted(glob.glob("tests/common/*.c", root_dir=tree)) +
             ["-o", name, "-L.", "-lcore", "-Wl,-rpath,$ORIGIN"] + LIBS, tree)
        names.append(name)
    return sorted(names, key=lambda n: SLOW.index(n) if n in SLOW else -1)


def first_failure(tree, names):
    """Name of the first test that fails; None: all pass."""
    for name in names:
        try:
            done = run([f"./{name}"], tree, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"{name} (hangs)"
        if done.returncode:
            return name
    return None


def mutate(tree, mutation):
    path = os.path.join(tree, mutation.file)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(mutation.old) != 1:
        raise TableError(f"{mutation.file} has this {text.count(mutation.old)} times:\n"
                         f"{mutation.old}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(mutation.old, mutation.new))


def judge(base, names, mutation):
    """(mutation, test that caught it or None, error of the table or None)"""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(base)) as tree:
        for part in ["include", "sched", "tests"]:
            shutil.copytree(os.path.join(base, part), os.path.join(tree, part))
        for name in names:
            os.link(os.path.join(base, name), os.path.join(tree, name))
        try:
            mutate(tree, mutation)
            library(tree, mutation.file)
        except TableError as e:
            return mutation, None, str(e)
        return mutation, first_failure(tree, names), None


def copy_base(root, base):
    for part in ["include", "sched", "tests/common", "tests/sched"]:
        shutil.copytree(os.path.join(root, part), os.path.join(base, part))


def report(results):
    """Print each result. Return: all is well."""
    errors = [r for r in results if r[2]]
    caught = [r for r in results if r[1]]
    survived = [r for r in results if not r[1] and not r[2]]
    wrong = [m for m, test, _ in caught if m.equivalent]
    counted = [r for r in results if not r[0].equivalent]
    share = sum(1 for r in counted if r[1]) / max(len(counted), 1)
    print(f"{len(results)} mutations: {len(caught)} caught, {len(survived)} survived, "
          f"{len(errors)} errors of the table; {share:.0%} of {len(counted)} that are not "
          "equivalent")
    for mutation in wrong:
        print(f"{mutation.name}: a test tells the difference, so it is not equivalent")
    unargued = [m.name for m, _, _ in survived if not m.equivalent]
    for name in unargued:
        print(f"survived without an argument: {name}")
    return not errors and not wrong and not unargued and share >= CAUGHT_MIN


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("names", nargs="*", help="only these mutations")
    args = parser.parse_args()
    chosen = [m for m in MUTATIONS if not args.names or m.name in args.names]
    if args.list:
        print("\n".join(m.name for m in chosen))
        return 0
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as top:
        base = os.path.join(top, "base")
        copy_base(root, base)
        library(base)
        names = build_tests(base)
        failed = first_failure(base, names)
        if failed:
            print(f"{failed} fails without a mutation")
            return 1
        results = []
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for mutation, test, error in pool.map(lambda m: judge(base, names, m), chosen):
                results.append((mutation, test, error))
                state = f"error: {error}" if error else f"caught by {test}" if test else \
                    f"survived: {mutation.equivalent}" if mutation.equivalent else "SURVIVED"
                print(f"{mutation.name}: {state}", flush=True)
    return 0 if report(results) else 1


if __name__ == "__main__":
    sys.exit(main())
