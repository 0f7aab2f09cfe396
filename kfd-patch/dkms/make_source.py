#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_source - the source of a patched amdgpu.ko, laid out for DKMS.

Takes Debian's linux-source-6.12 and the series, and writes
DEST/amdgpu-gpreempt-VERSION: drivers/gpu/drm/amd, the two UAPI headers, and
dkms.conf. docs/amd.md says how to go on, and how to go back.
"""
import argparse
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "rig"))

from common import Failure  # noqa: E402
import tree as trees        # noqa: E402

NAME = "amdgpu-gpreempt"
MAKEFILE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "Makefile")
PARTS = ("drivers/gpu/drm/amd", "include/uapi/linux")


def version():
    """gpreempt's own."""
    with open(MAKEFILE, encoding="utf-8") as f:
        return re.search(r"^VERSION\s*:= (\S+)$", f.read(), re.M)[1]


def copy_part(tree, dest, part):
    """Only what is compiled: the tree may hold links and old objects."""
    def unwanted(folder, names):
        return [n for n in names if n.endswith((".o", ".ko", ".cmd", ".mod"))]
    shutil.copytree(os.path.join(tree, part), os.path.join(dest, part),
                    ignore=unwanted)


def make(dest):
    folder = os.path.join(dest, f"{NAME}-{version()}")
    if os.path.exists(folder):
        raise Failure(f"{folder} is there already; remove it first")
    if not trees.series():
        raise Failure("kfd-patch/series names no patch")
    with tempfile.TemporaryDirectory() as scratch:
        tree = trees.make_tree(scratch, "series", trees.series())
        os.makedirs(folder)
        for part in PARTS:
            copy_part(tree, folder, part)
    # The tracing headers name their files from include/trace of a whole tree.
    os.makedirs(os.path.join(folder, "include", "trace"))
    with open(os.path.join(HERE, "dkms.conf.in"), encoding="utf-8") as f:
        conf = f.read().replace("@version@", version())
    with open(os.path.join(folder, "dkms.conf"), "w", encoding="utf-8") as f:
        f.write(conf)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dest", nargs="?", default="/usr/src")
    try:
        print(make(parser.parse_args().dest))
    except (Failure, OSError) as error:
        print(f"make_source.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
