#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the arrows between folders, SPDX lines, headers that stand alone, and the style that
clang-format does not check: long strings, and Python.

A folder may include its own headers, the public ones, and those of the folders named here
(ARCHITECTURE.md, "Folder map").
"""
import os
import re
import subprocess
import sys
import tempfile

ARROWS = {
    "include": set(),
    "sched": set(),
    "hal": set(),
    "wire": set(),
    "yaml": set(),
    "nvidia-backend": {"hal"},
    "softgpu": {"hal"},
    "softgpu/server": {"softgpu"},
    "softgpu/cuda": {"softgpu"},
    "runtime": {"hal", "sched"},
    "client": {"wire", "hal", "sched", "runtime"},
    "preload": {"client"},
    "preload/stub": {"preload"},
    "libhsaq": {"hal"},
    "libhsaq/cmd": set(),
    "cli": {"wire", "hal", "sched", "runtime"},
    "daemon": {"daemon/config", "daemon/device", "daemon/discover", "daemon/loop", "daemon/pool",
               "daemon/receive", "daemon/serve", "daemon/supervise", "wire", "hal", "sched", "runtime"},
    "daemon/config": {"yaml", "hal", "sched", "runtime"},
    "daemon/device": {"daemon/discover", "daemon/config", "daemon/loop", "daemon/supervise",
                      "wire", "sched", "runtime"},
    "daemon/discover": {"daemon/config", "daemon/loop"},
    "daemon/loop": {"runtime"},
    "daemon/pool": {"daemon/loop", "wire", "runtime"},
    "daemon/receive": {"daemon/discover", "daemon/loop", "wire", "hal", "runtime"},
    "daemon/serve": {"daemon/config", "daemon/discover", "daemon/loop", "daemon/receive", "wire",
                     "runtime"},
    "daemon/supervise": {"daemon/config", "daemon/discover", "daemon/loop", "daemon/receive",
                         "wire"},
    "bench/plan": set(),
    "bench/gpu": {"bench/plan"},
    "bench/apps": {"bench/gpu", "bench/plan"},
    "bench/model": {"bench/plan", "runtime", "sched", "softgpu"},
    "bench/report": {"bench/plan"},
    "bench/run": {"bench/plan", "yaml"},
    "bench/cmd": {"bench/model", "bench/plan", "bench/report", "bench/run", "softgpu"},
    "examples": set(),
    "slurm": {"runtime"},
}
# Single headers that more folders share, and why.
SHARED = {
    "nvidia-backend/rm_abi.h": {"softgpu/server", "softgpu/cuda"},
    "nvidia-backend/track.h": {"preload"},
    "libhsaq/track.h": {"preload"},
    # how attach pauses a process that knows nothing of gpreempt
    "libhsaq/criu.h": {"cli"},
    # the UAPI of the kernel series, which both sides include
    "kfd-patch/uapi/linux/kfd_sched.h": {"libhsaq"},
    # the hold's parameters and stamp: its kernels run on the software GPU
    "nvidia-backend/hold_abi.h": {"softgpu/server"},
    # the measured kernels' computations, in one place: reference.c
    "bench/gpu/kernels.h": {"softgpu/server"},
    # exports of the software GPU's libcuda.so.1, found by dlsym
    "softgpu/softgpu.h": {"nvidia-backend"},
    # the preload speaks for its client
    "runtime/class.h": {"preload"},
    "runtime/log.h": {"preload"},
    # where its layer counts memory beside others
    "wire/quota.h": {"preload"},
    # and how it asks for the rule of its process
    "wire/rule.h": {"preload"},
    "wire/wire.h": {"preload"},
    # how ELF tables are read: with a C library and without
    "preload/stub/elf.h": {"preload"},
    "bench/gpu/opts.h": {"bench/cmd"},
    "runtime/options.h": {"bench/cmd"},
    "runtime/duration.h": {"bench/plan", "preload"},
    "runtime/hook.h": {"preload"},
    "runtime/size.h": {"bench/plan", "preload"},
    "runtime/clocks.h": {"bench/apps"},
    "cli/parse.h": {"libhsaq/cmd"},
    "cli/text.h": {"libhsaq/cmd"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def folder(path):
    head = os.path.dirname(path)
    while head and head not in ARROWS:
        head = os.path.dirname(head)
    return head


def check_arrows(files):
    unused = {(inc, home) for inc, homes in SHARED.items() for home in homes}
    for path in files:
        home = folder(path)
        if not home:
            continue
        for inc in INCLUDE.findall(text_of(path)):
            if os.path.exists(os.path.join(os.path.dirname(path), inc)):
                continue
            if inc.startswith("gpreempt/") or inc == "hsaq.h":
                continue
            there = folder(inc)
            if there == home or there in ARROWS[home]:
                continue
            if home in SHARED.get(inc, ()):
                unused.discard((inc, home))
                continue
            yield f"{path}: includes {inc}, which {home}/ may not know"
    for inc, home in sorted(unused):
        yield f"tests/lint.py: {home}/ does not include {inc}: no need to share it"


# Code that only these folders have: the runtime is the core's one host.
ONLY = (
    ("steps the core", r"\bgp_sched_(?:step|init)\(", ("runtime/", "sched/", "tests/")),
    # The software GPU refuses a slice out of its own range.
    ("clamps a slice", r"(?:->|\.)m(?:in|ax)_slice_us\b(?! = )", ("runtime/", "softgpu/", "tests/")),
    ("maps a class to its message", r"\(struct gp_wire_request\)\s*\{", ("wire/", "tests/")),
)


def check_only(files):
    for path in files:
        text = text_of(path)
        for deed, pattern, homes in ONLY:
            found = None if path.startswith(homes) else re.search(pattern, text)
            if found:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: {deed}; only {', '.join(homes)} may"


def check_circles(files):
    """Units, each a .c and its header, whose includes form a circle lie in one folder."""
    units = {}
    for path in files:
        if folder(path):
            units.setdefault(os.path.splitext(path)[0], set()).update(
                os.path.splitext(inc)[0] for inc in INCLUDE.findall(text_of(path)))
    reach = {}

    def reached(unit):
        if unit not in reach:
            reach[unit], todo = set(), [unit]
            while todo:
                for other in units.get(todo.pop(), set()) - reach[unit]:
                    reach[unit].add(other)
                    todo.append(other)
        return reach[unit]

    for unit in units:
        for other in reached(unit):
            if other > unit and folder(other) != folder(unit) and unit in reached(other):
                yield f"{unit} and {other} include each other by a circle"


def check_spdx(files):
    for path in files:
        first = text_of(path).split("\n")[0]
        if first.startswith("#!"):
            first = text_of(path).split("\n")[1]
        if "SPDX-License-Identifier:" not in first:
            yield f"{path}: no SPDX line at the top"
        elif path.endswith(".c") and not first.startswith("//"):
            yield f"{path}: the SPDX line of a .c file is a // comment"


GENERATED = {"bench/gpu/kernels_ptx.c"}
COLUMNS = 100


def check_style(files):
    for path in files:
        text = text_of(path)
        is_c = path.endswith((".c", ".cpp", ".h", ".hpp")) and path not in GENERATED
        if not text.endswith("\n") or text.endswith("\n\n"):
            yield f"{path}: does not end with one newline"
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{path}:{number}"
            if line != line.rstrip():
                yield f"{where}: blanks at the end"
            if is_c and len(line.expandtabs(8)) > COLUMNS:
                yield f"{where}: more than {COLUMNS} columns"


def check_headers(files):
    """Each public header compiles alone, as C and as C++."""
    for path in files:
        if not path.startswith("include/"):
            continue
        langs = (("c++", "c++17"),) if path.endswith(".hpp") else (("c", "gnu11"), ("c++", "c++17"))
        for lang, std in langs:
            with tempfile.NamedTemporaryFile(suffix=".o") as out:
                got = subprocess.run(
                    ["cc", "-x", lang, f"-std={std}", "-Wall", "-Werror",
                     "-Iinclude", "-c", "-o", out.name, path],
                    capture_output=True, text=True)
            if got.returncode and "cc1plus" not in got.stderr:
                yield f"{path}: does not compile alone as {lang}: {got.stderr}"


def main():
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True,
                           check=True).stdout.split()
    c_files = [f for f in files if f.endswith((".c", ".cpp", ".h", ".hpp"))]
    code = c_files + [f for f in files if f.endswith((".py", ".mk"))]
    bad = [*check_arrows(c_files), *check_only(c_files), *check_circles(c_files), *check_spdx(code),
           *check_style(code), *check_headers(c_files)]
    print("\n".join(bad) if bad else f"lint: {len(code)} files, nothing to say")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
