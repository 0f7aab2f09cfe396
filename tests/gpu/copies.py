# SPDX-License-Identifier: Apache-2.0
"""SUITE=copies: an LC process whose requests copy in, compute and copy out, hinted, beside BE
processes that copy all the time."""
from beside import Beside
from bench import harness

LC_BYTES, BE_BYTES, BE_SOFT_BYTES = 2 << 20, 64 << 20, 4 << 20
COPIERS = {"one": 1, "four": 4}
P50_BAR, P99_BAR, KEEPS_BAR = 1.02, 1.10, 0.95


def names():
    return list(COPIERS)


def run(rig, opt, table):
    both = Beside(rig, opt, table, [f"--copy-bytes={LC_BYTES}"],
                  [f"--copy-bytes={BE_SOFT_BYTES if rig.soft else BE_BYTES}"],
                  ["--hint-us=300"])
    rate = both.alone_rate(0.5 if rig.soft else 3)
    table.note("one copier alone", f"{rate:.1f} copies in and out a second")
    for row, copiers in COPIERS.items():
        if opt.only and row not in opt.only:
            continue
        alone, p50, p99, done = both.row(f"copies-{row}", copiers, "", opt.rounds,
                                         f"--requests={opt.requests}")
        table.note(f"{row}: LC alone, p50", f"{alone:.1f} us")
        table.at_most(f"{row}: LC p50, of alone", p50, P50_BAR, "x")
        table.at_most(f"{row}: LC p99, of alone", p99, P99_BAR, "x")
        table.at_least(f"{row}: copies keep, of one alone", done / rate, KEEPS_BAR, "x")
    harness.progress_end()
