# SPDX-License-Identifier: Apache-2.0
"""Columns of the tables: of all that ran (heading, field of run.json), of a client (heading, name
of the figure, its format).
"""
import text

ABOUT = (("what ran", "suite"), ("on", "device"), ("machine", "machine"), ("driver", "driver"),
         ("command", "command"), ("gpreempt", "version"), ("seed", "seed"), ("when", "date"))

LATENCY_CRITICAL = (
    ("requests", "requests", text.count),
    *((f"{name}, µs", name, text.us)
      for name in ("p50", "p90", "p95", "p99", "p99.9", "max")),
    ("p50 ÷ alone", "p50 over alone", text.short),
    ("p99 ÷ alone", "p99 over alone", text.short),
    ("missed", "missed", text.count),
    ("left", "left", text.count),
)
# Of a decoder besides: TTFT and inter-token latency.
TOKENS = tuple((f"{name} {words}", f"{name} {which}", write)
               for name in ("first token", "token after") for which, words, write in (
                   ("p50", "p50, µs", text.us), ("p99", "p99, µs", text.us),
                   ("p50 over alone", "p50 ÷ alone", text.short),
                   ("p99 over alone", "p99 ÷ alone", text.short)))
BEST_EFFORT = (
    ("done/s", "done/s", text.short),
    ("of alone", "of alone", text.percent),
)
# Of one that is killed besides.
KILLED = (("killed", "killed", text.count),)

# Of all clients of a class.
TOGETHER = (
    ("latency-critical: mean ÷ alone", "lc mean", text.index),
    ("p99 ÷ alone", "lc p99", text.index),
    ("best-effort: of alone", "be", text.percent),
)
TOGETHER_TITLES = ("scheduler", *(title for title, _, _ in TOGETHER))
TOGETHER_LEGEND = (
    "All clients together, each held against itself alone: of all requests of latency-critical "
    "ones, their time over p50 of their client's alone; of best-effort ones the sum of what they "
    "do of what they do alone.")

# Of each client, where one is known; the others are the scheduler's.
TOOK = (
    ("begun late, p50, µs", "late p50", text.plain_us),
    ("begun late, p99, µs", "late p99", text.plain_us),
    ("CPU", "CPU", text.percent),
)
TOOK_TITLES = ("scheduler", "client", *(title for title, _, _ in TOOK), "energy of all, J",
               "CPU beside, s")
TOOK_LEGEND = (
    "Begun late: the generator's own error, from when a request was due and the one before it "
    "done to when the client turned to it. CPU: of one, what the client's process used, or its "
    "thread. Energy: the device's, while all ran. CPU beside: meanwhile, of what runs beside the "
    "clients, such as a daemon, and of all that it started.")

# Said once, under the first table.
LEGEND = (
    "Each figure is the median over repetitions, with the range where they differ; a percentile of "
    "one repetition, with the interval that it lies in, 95 % sure. A dash: it is "
    "not known, or fewer than ten samples lie beyond it. Time counts from when a request was due "
    "to its end, a first token from there to when it was seen, a token after from the one before "
    "it. Left: requests that had come, and were not done when it ended. ÷ alone: over p50 of the "
    "same with the device to itself; of alone: of what the client does with the device to itself. Jain's index is 1 when best-effort clients "
    "that do the same get the same, and 1/n when one of n gets it all. Killed: so often; what a "
    "client did that is killed is not known.")


def latency_critical(known):
    return LATENCY_CRITICAL + (TOKENS if known.tokens else ())


def best_effort(known):
    return BEST_EFFORT + (KILLED if known.killed else ())


def work(known):
    """A client's description, as far as it is known."""
    return ", ".join(word for word in (known.workload, known.load) if word) or text.NONE


def alone(known):
    if known.alone_us is None:
        return f"alone {text.NONE}"
    return f"alone {text.in_line(known.alone_us, text.plain_us)} µs"


def offered(known):
    return f"offered load {text.in_line(known.offered, text.short)}"


def repetitions(plan):
    """How often, and how long each."""
    numbers = sorted({len(row.runs) for row in plan.rows if row.runs})
    seconds = sorted({run.seconds for row in plan.rows for run in row.runs
                      if run.seconds is not None})
    if not numbers:
        return "Nothing was run."
    often = " to ".join(str(n) for n in dict.fromkeys((numbers[0], numbers[-1])))
    long = " to ".join(f"{s:g}" for s in dict.fromkeys(seconds[:1] + seconds[-1:]))
    some = "repetition" if numbers == [1] else "repetitions, interleaved,"
    return f"{often} {some} of {long or text.NONE} s.{rates(plan)}"


def rates(plan):
    """Nothing where they are the file's."""
    times = sorted({run.rates_times for row in plan.rows for run in row.runs
                    if run.rates_times not in (None, 1)})
    if not times:
        return ""
    return f" Rates are {' to '.join(f'{t:.4g}' for t in times)} times those of the plan's file."


def together_rows(plan):
    for row in plan.rows:
        if row.runs:
            yield [row.scheduler, *(text.in_line(row.together[name], write)
                                    for _, name, write in TOGETHER)]


def took_rows(plan):
    """The cells of each row, as text."""
    for row in plan.rows:
        for i, (client, found) in enumerate(row.took.items()):
            yield [row.scheduler, client,
                   *(text.in_line(found[name], write) for _, name, write in TOOK),
                   *("" if i else text.in_line(of, text.short)
                     for of in (row.energy, row.beside))]
