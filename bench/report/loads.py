# SPDX-License-Identifier: Apache-2.0
"""Latency against offered load, where a plan ran at several: a line for each scheduler."""
import plot
import svg
from text import time_of


def points_of(at, scheduler, identity, which):
    """[(load, Spread or None)]"""
    found = []
    for load, plan in at:
        rows = [row for row in plan.rows if row.scheduler == scheduler]
        found.append((load, rows[0].lc.get(identity, {}).get(which) if rows else None))
    return found


def unbroken(points):
    """Stretches of points that are known: a line leads over no gap."""
    found = [[]]
    for point in points:
        if point[1] is None:
            found.append([])
        else:
            found[-1].append(point)
    return [one for one in found if one]


def lines_of(points, x, y, number):
    parts = []
    for part in unbroken(points):
        parts.append(svg.polyline([(x(load), y(s.median)) for load, s in part], number))
        for load, s in part:
            parts += [svg.line(x(load), y(s.low), x(load), y(s.high),
                               f"range s{number % svg.COLOURS}"),
                      svg.dot(x(load), y(s.median), number)]
    return parts


def describe(lines):
    return "; ".join(f"{scheduler}: " + ", ".join(
        f"{time_of(s.median)} at {load:g}" for load, s in points if s)
        for scheduler, points in lines.items()) + "."


def axis_of_load(at):
    most = max(load for load, _ in at) * 1.05
    x = svg.linear(0, most, svg.LEFT, svg.WIDTH - svg.RIGHT)
    ticks = [(tick, f"{tick:g}") for tick in svg.linear_ticks(0, most)]
    return x, svg.x_axis(x, ticks, plot.BOTTOM, "offered load")


def axis_of_time(times, which):
    low, high, ticks, unit = plot.log_axis(min(times), max(times))
    y = svg.logarithmic(low, high, plot.BOTTOM, svg.TOP)
    return y, svg.y_axis(y, ticks, plot.BOTTOM, f"{which}, {unit}")


def figure(name, base, at, identity, which, numbers):
    """@at: (load, Plan), ascending; @which: p50 or p99. None where nobody has it."""
    schedulers = dict.fromkeys(row.scheduler for _, plan in at for row in plan.rows)
    lines = {s: points_of(at, s, identity, which) for s in schedulers}
    lines = {s: points for s, points in lines.items() if any(one for _, one in points)}
    times = [value for points in lines.values() for _, s in points if s
             for value in (s.low, s.high)]
    if not times:
        return None
    (x, parts), (y, more) = axis_of_load(at), axis_of_time(times, which)
    parts += [*more, svg.frame(svg.PLOT_HEIGHT)]
    for scheduler, points in lines.items():
        parts += lines_of(points, x, y, numbers[scheduler])
    return plot.figure(name, f"{base}: {which} of {identity} as the load grows",
                       *plot.with_legend(parts, list(lines), numbers), describe(lines),
                       f"The time that {which[1:]} % of the requests stayed within, at the loads "
                       "of the plans' names; upright bars are the range over repetitions.")
