# SPDX-License-Identifier: Apache-2.0
"""SUITE=pile: an LC process that launches for 8 ms kernels of 2 ms. Its launches pile up while BE
runs, or with --no-pile do not."""
from beside import Beside
from bench import harness

KERNELS, KERNEL_US, GAP_US, PERIOD_US = 100, 20, 80, 12000
ROWS = {"piles": [], "no-pile": ["--no-pile"]}
KEEPS_BAR = 0.9             # of the time that LC leaves
P50_BAR = 1.05              # 0.4 ms more
SECONDS = 10


def names():
    return list(ROWS)


def run(rig, opt, table):
    both = Beside(rig, opt, table, [f"--kernels={KERNELS}", f"--gap-us={GAP_US}"], [])
    both.iters = rig.calibrate("lc", KERNEL_US)["iters"]
    rate = both.alone_rate(0.5 if rig.soft else 3)
    left = 1 - KERNELS * KERNEL_US / PERIOD_US
    seconds = 2 if rig.soft else SECONDS
    for row, how in ROWS.items():
        if opt.only and row not in opt.only:
            continue
        both.how = how
        alone, p50, p99, done = both.row(
            f"pile-{row}", 1, "", 1 if rig.soft else 3, f"--period-us={PERIOD_US}",
            f"--warmup={4000000 // PERIOD_US}", f"--requests={seconds * 1000000 // PERIOD_US}")
        table.note(f"{row}: LC alone, p50", f"{alone:.1f} us")
        table.note(f"{row}: LC p99, of alone", f"{p99:.3f} x")
        if how:
            table.note(f"{row}: LC p50, of alone", f"{p50:.3f} x")
            table.note(f"{row}: BE keeps, of what LC leaves", f"{done / rate / left:.3f} x")
        else:
            table.at_most(f"{row}: LC p50, of alone", p50, P50_BAR, "x")
            table.at_least(f"{row}: BE keeps, of what LC leaves", done / rate / left,
                           0 if rig.soft else KEEPS_BAR, "x")
    harness.progress_end()
