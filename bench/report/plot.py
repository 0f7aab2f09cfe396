# SPDX-License-Identifier: Apache-2.0
"""A figure of the page: title, picture, sentence; and what plots have in common."""
import svg
from markup import element

BOTTOM = svg.TOP + svg.PLOT_HEIGHT


def figure(name, title, height, parts, description, caption):
    return element("figure", {"id": name}, element("h4", None, title),
                   element("div", {"class": "picture"},
                           svg.picture(name, height, title, description, *parts)),
                   element("figcaption", None, caption))


def with_legend(parts, schedulers, numbers):
    """(height, parts) of a plot with its lines' names below."""
    top = BOTTOM + svg.AXIS_HEIGHT
    entries = [(numbers[scheduler], scheduler) for scheduler in schedulers]
    return (top + svg.LEGEND_ROW * (len(entries) - 1) + 8,
            parts + svg.legend(entries, top))


def unit_of(high_ns):
    """(ns, name) of the unit that keeps an axis's numbers short."""
    for unit in ((1e9, "s"), (1e6, "ms")):
        if high_ns >= 5 * unit[0]:
            return unit
    return 1e3, "µs"


def tick_words(value):
    return f"{value:,.6g}" if value < 1e6 else f"{value:.0e}"


def log_axis(low_ns, high_ns):
    """(lowest, highest, [(ns, words)], unit's name), with a little room at both ends."""
    low = max(low_ns, 1) / 1.04
    high = max(high_ns, low * 1.1) * 1.04
    per, unit = unit_of(high)
    return low, high, [(tick * per, tick_words(tick))
                       for tick in svg.log_ticks(low / per, high / per)], unit
