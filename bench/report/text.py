# SPDX-License-Identifier: Apache-2.0
"""Figures as they are written, in the page and in the tables of text alike."""

NONE = "-"


def short(value):
    """Three digits or a little more, thousands apart."""
    if value == 0:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def us(ns):
    return f"{ns / 1000:,.0f}" if ns >= 100_000 else f"{ns / 1000:.1f}"


def plain_us(value):
    return us(value * 1000)


def count(value):
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def percent(value):
    return f"{100 * value:.1f} %"


def index(value):
    return f"{value:.3f}"


def time_of(ns):
    """With a unit that suits it, for a sentence."""
    for unit, per in (("s", 1e9), ("ms", 1e6)):
        if ns >= per:
            return f"{ns / per:.3g} {unit}"
    return f"{ns / 1000:.3g} µs"


def middle(spread, write):
    return NONE if spread is None else write(spread.median)


def extent(spread, write):
    """The range over repetitions; nothing where all of them are written alike."""
    if spread is None or write(spread.low) == write(spread.high):
        return ""
    return f"{write(spread.low)} – {write(spread.high)}"


def in_line(spread, write):
    around = extent(spread, write)
    return middle(spread, write) + (f" ({around})" if around else "")


def cut(text, most):
    """For where there is room for so many letters only."""
    return text if len(text) <= most else text[:most - 1] + "…"
