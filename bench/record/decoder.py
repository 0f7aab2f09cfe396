#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""decoder - a decoder's request, token by token, of what was recorded of its prefill and of one
step (record.py decoder): one file of both.
"""
import argparse
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from bench.record import workload                   # noqa: E402
from bench.record.workload import RecordError       # noqa: E402


def natural(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefill", metavar="PREFILL.json")
    parser.add_argument("step", metavar="STEP.json")
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("--tokens", type=natural, default=32, help="the first included (32)")
    opt = parser.parse_args(words)
    name = os.path.splitext(os.path.basename(opt.out))[0]
    try:
        found = workload.decode(workload.read(opt.prefill), workload.read(opt.step),
                                opt.tokens, name)
        workload.write(opt.out, found)
    except (RecordError, OSError) as error:
        print(f"decoder: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
