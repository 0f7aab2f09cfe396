# SPDX-License-Identifier: Apache-2.0
"""SUITE=leave: an LC process with requests every 5 ms and every 100 ms. Beside it runs a BE process
with page faults on managed memory, which is slow to leave the device, and has no minimum."""
from beside import Beside
from bench import harness

ROWS = {"every-5-ms": (5000, 0), "every-100-ms": (100000, 0.8)}
P99_BAR = 1.5
SECONDS = 10
# Without a limit LC waits for BE; nothing is asked of that row.
LIMITS = {"": "3ms", ", limit off": "off"}
SOFT_LIMIT = "0.1ms"        # there nothing faults, and each suspend takes 0.3 ms


def names():
    return list(ROWS)


def run(rig, opt, table):
    both = Beside(rig, opt, table, [], [] if rig.soft else ["--workload=uvm:64MiB"])
    rate = both.alone_rate(0.5 if rig.soft else 3)
    seconds = 3 if rig.soft else SECONDS
    table.note("BE alone", f"{rate:.1f} requests/s")
    for row, (period_us, keeps) in ROWS.items():
        if opt.only and row not in opt.only:
            continue
        for how, limit in LIMITS.items():
            limit = SOFT_LIMIT if rig.soft and not how else limit
            alone, p50, p99, done = both.row(
                f"leave-{row}{how.replace(', ', '-').replace(' ', '-')}", 1,
                f"be_leave_limit: {limit}\nbe_min_pct: 0\n", 1 if rig.soft else 2,
                f"--period-us={period_us}", f"--warmup={5000000 // period_us}", f"--requests={seconds * 1000000 // period_us}")
            table.note(f"{row}{how}: LC alone, p50", f"{alone:.1f} us")
            table.note(f"{row}{how}: LC p50, of alone", f"{p50:.3f} x")
            if how:
                table.note(f"{row}{how}: LC p99, of alone", f"{p99:.3f} x")
                table.note(f"{row}{how}: BE keeps", f"{done / rate:.3f} x")
            else:
                table.at_most(f"{row}: LC p99, of alone", p99, P99_BAR, "x")
                table.at_least(f"{row}: BE keeps", done / rate, keeps, "x")
    harness.progress_end()
