# SPDX-License-Identifier: Apache-2.0
"""How many requests were done within which time: a line for each scheduler."""
import math

import figures
import plot
import svg
from text import percent, time_of

POINTS = 200
LEAST = 2 * figures.BEYOND      # samples; with fewer there is no p50 either
SHARES = (0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def nines(share):
    """90 % is one step up, 99 % two: late requests are visible."""
    return -math.log10(1 - share)


def pooled(row, identity):
    """The latencies of all repetitions, sorted; None without samples."""
    found = [figures.latencies(c) for c in figures.of_client(row.runs, identity)]
    values = sorted(value for one in found if one is not None for value in one)
    return values if len(values) >= LEAST else None


def curve(ordered):
    """[(ns, share)], as far up as BEYOND samples are left."""
    top = len(ordered) - figures.BEYOND
    height = nines(top / len(ordered))
    ranks = {1, top}
    for i in range(1, POINTS):
        share = 1 - 10 ** (-height * i / POINTS)
        ranks.add(min(max(math.ceil(share * len(ordered)), 1), top))
    return [(ordered[0], 0)] + [(ordered[at - 1], at / len(ordered)) for at in sorted(ranks)]


def describe(curves, samples):
    return "; ".join(
        f"{scheduler}: half of the requests within "
        f"{time_of(figures.percentile(samples[scheduler], 500))}, {percent(points[-1][1])} within "
        f"{time_of(points[-1][0])}" for scheduler, points in curves.items()) + "."


def alone_mark(x, alone_ns):
    at = x(alone_ns)
    return [svg.line(at, svg.TOP, at, plot.BOTTOM, "alone"),
            svg.text(max(at - 24, svg.LEFT), svg.TOP - 5, "alone, p50", cls="label")]


def axis_of_time(curves, alone_ns):
    """(scale, parts): from p50 of the request alone, or from a faster one."""
    times = [ns for points in curves for ns, _ in points]
    low, high, ticks, unit = plot.log_axis(min([*times, alone_ns or times[0]]), max(times))
    x = svg.logarithmic(low, high, svg.LEFT, svg.WIDTH - svg.RIGHT)
    parts = svg.x_axis(x, ticks, plot.BOTTOM, f"time from when it was due to its end, {unit}")
    if alone_ns and alone_ns <= high:
        parts += alone_mark(x, alone_ns)
    return x, parts


def axis_of_share(curves):
    top = nines(max(points[-1][1] for points in curves))
    y = svg.linear(0, top * 1.03, plot.BOTTOM, svg.TOP)
    ticks = [(nines(share), f"{100 * share:.6g} %") for share in SHARES if nines(share) <= top]
    return y, svg.y_axis(y, ticks, plot.BOTTOM, "share of requests done")


def figure(name, plan, known, numbers):
    """None where no scheduler has samples enough of that client."""
    samples = {row.scheduler: pooled(row, known.id) for row in plan.rows}
    curves = {scheduler: curve(ordered) for scheduler, ordered in samples.items() if ordered}
    if not curves:
        return None
    x, parts = axis_of_time(curves.values(), known.alone_us and known.alone_us.median * 1000)
    y, more = axis_of_share(curves.values())
    parts += [*more, svg.frame(svg.PLOT_HEIGHT)]
    parts += [svg.polyline([(x(ns), y(nines(share))) for ns, share in points],
                           numbers[scheduler]) for scheduler, points in curves.items()]
    return plot.figure(name, f"{plan.name}: how fast {known.id} was served",
                       *plot.with_legend(parts, list(curves), numbers),
                       describe(curves, samples),
                       "The further left a line, the faster; each step up leaves out fewer of the "
                       f"slowest requests, and a line ends where {figures.BEYOND} are left.")
