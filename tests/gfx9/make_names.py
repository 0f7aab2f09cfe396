#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes names.h: make_names.py [llvm-mc]. It has an encoding for every opcode of every
format, with the name that LLVM's disassembler gives it on gfx906, or NULL. Some opcodes
allow only some values of a format's fields, so the script tries several."""
import itertools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
V = 0x100   # a vector register as a nine-bit source


def product(*choices):
    return list(itertools.product(*choices))


def sop(base, shift):
    return lambda op: [[base | op << shift | d << 16 | s] for d, s in
                       product((4, 0), (2 << 8 | 0, 2, 0))]


def sopc(op):
    return [[0xBF000000 | op << 16 | 4 << 8 | 2]]


def sopk(op):
    return [[0xB0000000 | op << 23 | 4 << 16 | 1], [0xB0000000 | op << 23 | 1],
            [0xB0000000 | op << 23 | 1, 5]]


def sopp(op):
    return [[0xBF800000 | op << 16 | 1], [0xBF800000 | op << 16]]


def smem(op):
    return [[0xC0000000 | op << 18 | imm << 17 | data << 6 | base, offset]
            for imm, data, base, offset in product((1, 0), (8, 0), (2, 0), (16, 0))]


def vop2(op):
    return [[op << 25 | 4 << 17 | 2 << 9 | V | 1], [op << 25 | 4 << 17 | 2 << 9 | V | 1, 7]]


def vop1(op):
    return [[0x7E000000 | d << 17 | op << 9 | s] for d, s in product((4, 0), (V | 2, 2, 0))]


def vopc(op):
    return [[0x7C000000 | op << 17 | 2 << 9 | V | 2]]


def vop3(op):
    return [[0xD0000000 | op << 16 | d | sd << 8, a | b << 9 | c << 18]
            for d, sd, a, b, c in product((4, 2, 0), (0, 2), (V | 2, 2, 0),
                                          (V | 4, 4, 0), (V | 6, 6, 0))]


def vop3p(op):
    return [[0xD3800000 | op << 16 | d | high << 14,
             (3 * high) << 27 | a | b << 9 | c << 18]
            for d, high, a, b, c in product((4, 0), (1, 0), (V | 2, 0), (V | 4, 0),
                                            (V | 6, 0))]


def ds(op):
    return [[0xD8000000 | op << 17 | gds << 16 | off, a | x << 8 | y << 16 | d << 24]
            for gds, off, a, x, y, d in product((0, 1), (0, 1), (0, 2), (0, 4), (0, 6),
                                                (0, 8))]


def mubuf(op):
    return [[0xE0000000 | op << 18 | offen << 12 | lds << 16,
             soff << 24 | res << 16 | data << 8 | a]
            for offen, lds, soff, res, data, a in
            product((1, 0), (0, 1), (0, 128), (2, 0), (4, 0), (2, 0))]


def flat(segment):
    return lambda op: [[0xDC000000 | op << 18 | segment << 14 | glc << 16,
                        d << 24 | saddr << 16 | data << 8 | a]
                       for glc, d, saddr, data, a in
                       product((0, 1), (4, 0), (0x7f, 0, 2), (6, 0), (2, 0))]


FORMATS = [
    (sop(0x80000000, 23), range(0x60)),
    (sopk, range(29)),
    (sop(0xBE800000, 8), range(256)),
    (sopc, range(128)),
    (sopp, range(128)),
    (smem, range(256)),
    (vop2, range(62)),
    (vop1, range(256)),
    (vopc, range(256)),
    (vop3, range(0x380)),
    (vop3p, range(128)),
    (ds, range(256)),
    (mubuf, range(128)),
    (flat(0), range(128)),
    (flat(1), range(128)),
    (flat(2), range(128)),
]


def as_bytes(words):
    return ",".join(f"0x{w >> s & 255:02x}" for w in words for s in (0, 8, 16, 24))


def disassemble(llvm_mc, encodings):
    text = "\n".join(as_bytes(words) for words in encodings)
    out = subprocess.run([llvm_mc, "-arch=amdgcn", "-mcpu=gfx906", "-disassemble",
                          "-show-encoding"], input=text, capture_output=True,
                         text=True).stdout
    names = {}
    for line in out.splitlines():
        found = re.match(r"\s*(\S+).*; encoding: \[(.*)\]", line)
        if found:
            names[found[2]] = re.sub(r"_e(32|64)$", "", found[1])
    return names


def main():
    llvm_mc = sys.argv[1] if len(sys.argv) > 1 else "llvm-mc-15"
    tries = [encode(op) for encode, ops in FORMATS for op in ops]
    names = disassemble(llvm_mc, {tuple(w) for variants in tries for w in variants})
    rows, seen = [], set()
    for variants in tries:
        best = next((w for w in variants if as_bytes(w) in names), variants[0])
        key = tuple(best)
        if key not in seen:
            seen.add(key)
            rows.append((best, names.get(as_bytes(best))))
    with open(os.path.join(HERE, "names.h"), "w") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n"
                "/* Generated: make_names.py. LLVM 15's names for gfx906. */\n"
                "static const struct named {\n\tu32 words[2];\n\tu32 size;\n"
                "\tconst char *name;\n} names[] = {\n")
        for words, name in rows:
            both = (words + [0])[:2]
            quoted = f'"{name}"' if name else "NULL"
            f.write(f"\t{{ {{ 0x{both[0]:08x}, 0x{both[1]:08x} }}, {len(words)}, "
                    f"{quoted} }},\n")
        f.write("};\n")


if __name__ == "__main__":
    main()
