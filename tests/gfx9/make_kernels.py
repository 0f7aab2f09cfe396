#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes kernels_co.h from kernels.hip: make_kernels.py [hipcc]. The tree keeps the code
objects, so that the tests need no compiler for gfx9."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["--genco", "--no-gpu-bundle-output", "--offload-arch=gfx906", "-O2"]


def code_object(hipcc, source):
    with tempfile.TemporaryDirectory() as where:
        out = os.path.join(where, "out.co")
        subprocess.run([hipcc, *FLAGS, source, "-o", out], check=True, cwd=where)
        subprocess.run(["llvm-objcopy-15", "--strip-all", out], check=True)
        with open(out, "rb") as f:
            return f.read()


def main():
    hipcc = sys.argv[1] if len(sys.argv) > 1 else "hipcc"
    data = code_object(hipcc, os.path.join(HERE, "kernels.hip"))
    lines = [data[i:i + 16] for i in range(0, len(data), 16)]
    with open(os.path.join(HERE, "kernels_co.h"), "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n"
                "/* Generated: make_kernels.py, hipcc " + " ".join(FLAGS) + " */\n"
                "static const uint8_t kernels_co[] __attribute__((aligned(8))) = {\n")
        for line in lines:
            f.write("\t" + ",".join(f"{b}" for b in line) + ",\n")
        f.write("};\n")


if __name__ == "__main__":
    main()
