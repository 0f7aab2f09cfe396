#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-gpu: one suite on the card, or with --soft on a software GPU.

Raw samples stay below --out, and a table is printed at the end. The exit status is 1 if
a bar is missed or something did not run, 77 without a card.
"""
import argparse
import os
import shutil
import signal
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [TOP, os.path.dirname(os.path.abspath(__file__))]

import controls  # noqa: E402
import copies   # noqa: E402
import devices  # noqa: E402
import edf      # noqa: E402
import exact    # noqa: E402
import frameworks  # noqa: E402
import kill     # noqa: E402
import latency  # noqa: E402
import leave    # noqa: E402
import pile     # noqa: E402
import many     # noqa: E402
import memory   # noqa: E402
import moves    # noqa: E402
import rules    # noqa: E402
import safety   # noqa: E402
import share    # noqa: E402
import sjf      # noqa: E402
from bench import harness  # noqa: E402
from table import Table    # noqa: E402

SUITES = {"latency": latency, "exact": exact, "kill": kill, "safety": safety,
          "many": many, "share": share, "sjf": sjf, "edf": edf, "rules": rules,
          "controls": controls, "copies": copies, "devices": devices, "frameworks": frameworks,
          "leave": leave,
          "memory": memory, "moves": moves, "pile": pile}
LIMIT_S = 570
WHOLE_S = 480               # a whole suite on the card


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", help="raw samples (BUILD/check-gpu)")
    parser.add_argument("--archive", metavar="DIR",
                        help="put the table and all raw samples, in one file, "
                        "there too")
    parser.add_argument("--soft", action="store_true",
                        help="on a software GPU, and short")
    parser.add_argument("--only", action="append", metavar="ROW", default=[],
                        help="this row (and what it is held against); repeat")
    parser.add_argument("--list", action="store_true", help="the rows there are")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--requests", type=int, default=None)
    parser.add_argument("--kills", type=int, default=None)
    parser.add_argument("--kernels", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None,
                        help="of many best-effort processes together, each time")
    parser.add_argument("--python", default=sys.executable,
                        help="with PyTorch and others, for memory and frameworks")
    parser.add_argument("--gpu-gib", type=int, default=138,
                        help="memory that the card has free, for memory")
    parser.add_argument("--settle-s", type=float, default=0.2,
                        help="BE runs so long before LC starts")
    parser.add_argument("--be-kernel-us", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--same-user", action="store_true",
                        help="don't give LC and BE users of their own")
    return parser.parse_args()


def defaults(opt, suite):
    """Fill in missing options: full figures for a card, short ones for a software GPU."""
    full = {"rounds": getattr(suite, "ROUNDS", 5), "requests": 2000, "kills": 200, "kernels": 1100}
    short = {"rounds": 1, "requests": 100, "kills": 20, "kernels": 40}
    for name, value in (short if opt.soft else full).items():
        if getattr(opt, name) is None:
            setattr(opt, name, value)
    opt.out = opt.out or os.path.join(opt.build, "check-gpu", opt.suite)


def on_alarm(sig, frame):
    raise harness.BenchError(f"not through after {LIMIT_S} s")


def main():
    opt = arguments()
    suite = SUITES[opt.suite]
    if opt.list:
        print("\n".join(suite.names()))
        return 0
    unknown = set(opt.only) - set(suite.names())
    if unknown:
        print(f"suite.py: --only={unknown.pop()}: no such row; --list has them",
              file=sys.stderr)
        return 2
    gpus = getattr(suite, "GPUS", 1)
    if not opt.soft and harness.cards() < gpus:
        print(f"suite.py: NVIDIA cards here: {harness.cards()} (/dev/nvidia*), {opt.suite} "
              f"takes {gpus}; --soft runs it on the software GPU", file=sys.stderr)
        return 77
    defaults(opt, suite)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(LIMIT_S)
    start = time.monotonic()
    table = Table(f"check-gpu {opt.suite}"
                  + (" (software GPU, its own clock)" if opt.soft else ""))
    error = None
    try:
        with harness.Rig(opt.build, opt.out, opt.soft,
                         not opt.same_user, gpus) as rig:
            suite.run(rig, opt, table)
    except harness.BenchError as bad:
        error = bad
    if not table.rows and error:
        print(f"suite.py: {error}", file=sys.stderr)
        return 1
    took_s = time.monotonic() - start
    if opt.soft or opt.only:
        table.note("took", f"{took_s:.0f} s")
    else:
        table.at_most("took", took_s, WHOLE_S, "s")
    os.makedirs(opt.out, exist_ok=True)
    with open(os.path.join(opt.out, f"{opt.suite}.txt"), "w") as f:
        f.write(f"{table}\n")
    if opt.archive:
        name = os.path.join(opt.archive, f"check-gpu-{opt.suite}")
        shutil.make_archive(name, "gztar", opt.out)
        shutil.copy(f.name, f"{name}.txt")
    print(table)
    if error:
        print(f"suite.py: {error}", file=sys.stderr)
    return 1 if error or table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
