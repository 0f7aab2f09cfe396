# SPDX-License-Identifier: Apache-2.0
"""Axes, lines and lanes as inline SVG. Colours are the page's: style.css.

All pictures are WIDTH units wide, about as many as a phone has pixels, so that
letters stay letters there.
"""
import math

from markup import element
from text import cut

WIDTH = 400
LEFT, RIGHT, TOP = 66, 14, 18
PLOT_HEIGHT = 210
AXIS_HEIGHT = 52            # below a plot: numbers and label
LEGEND_ROW = 17
COLOURS = 8                 # .s0 to .s7 of style.css
# Lines differ by more than colour: in print, and for readers who see no colours.
DASHES = (None, "7 3", "2 2.5", "9 3 2 3", "4 4", "12 3", "6 2 2 2 2 2", "1 3")


def num(value):
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# ---- scales --------------------------------------------------------------------------

def linear(low, high, at, to):
    """A function from values to units of the picture."""
    return lambda value: at + (value - low) / (high - low) * (to - at)


def logarithmic(low, high, at, to):
    """What is below it, as 0 is, is at its lower end."""
    place = linear(math.log10(low), math.log10(high), at, to)
    return lambda value: place(math.log10(max(value, low)))


def linear_ticks(low, high, most=6):
    """Round numbers from low to high, no more than @most."""
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    while math.floor(high / step) - math.ceil(low / step) + 1 > most:
        step *= 2.5 if f"{step:e}".startswith("2") else 2
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_ticks(low, high, most=7):
    """1, 2 and 5 of each decade while they are few, else decades; of a stretch that has
    few of those, round numbers."""
    if high / low < 10:
        return linear_ticks(low, high, most)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [d * 10.0 ** e for e in range(first, last + 1) for d in digits
                 if low <= d * 10.0 ** e <= high]
        if len(found) <= most:
            return found
    return found[::math.ceil(len(found) / most)]


# ---- parts ---------------------------------------------------------------------------

def text(x, y, words, anchor="start", cls=None, turn=None):
    return element("text", {"x": num(x), "y": num(y), "class": cls,
                            "text-anchor": None if anchor == "start" else anchor,
                            "transform": turn}, words)


def line(x1, y1, x2, y2, cls, dash=None):
    return element("line", {"x1": num(x1), "y1": num(y1), "x2": num(x2), "y2": num(y2),
                            "class": cls, "stroke-dasharray": dash})


def polyline(points, number):
    """@number: which of the page's schedulers it is."""
    return element("polyline", {"class": f"line s{number % COLOURS}",
                                "stroke-dasharray": dash_of(number),
                                "points": " ".join(f"{num(x)},{num(y)}" for x, y in points)})


def dot(x, y, number):
    return element("circle", {"class": f"dot s{number % COLOURS}", "cx": num(x), "cy": num(y),
                              "r": "3"})


def dash_of(number):
    # Past the last colour they begin again, each with another dash than before.
    return DASHES[(number + number // COLOURS) % len(DASHES)]


def frame(height):
    return element("rect", {"class": "frame", "x": LEFT, "y": TOP,
                            "width": WIDTH - LEFT - RIGHT, "height": num(height)})


def x_axis(place, ticks, bottom, label, top=TOP, left=LEFT):
    """@ticks: (value, words)."""
    parts = []
    for value, words in ticks:
        x = place(value)
        parts += [line(x, top, x, bottom, "grid"),
                  text(x, bottom + 14, words, "middle")]
    parts.append(text((left + WIDTH - RIGHT) / 2, bottom + 31, label, "middle", "label"))
    return parts


def y_axis(place, ticks, bottom, label):
    parts = []
    for value, words in ticks:
        y = place(value)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "grid"), text(LEFT - 5, y + 4, words, "end")]
    middle = (TOP + bottom) / 2
    parts.append(text(11, middle, label, "middle", "label",
                      f"rotate(-90 11 {num(middle)})"))
    return parts


def legend(entries, top):
    """One row each: (number, words). Names may be long, so each has a row."""
    parts = []
    for row, (number, words) in enumerate(entries):
        y = top + row * LEGEND_ROW
        parts.append(element("g", {"class": "legend"},
                             line(8, y - 4, 40, y - 4, f"line s{number % COLOURS}",
                                  dash_of(number)),
                             text(48, y, cut(words, 52))))
    return parts


def lane(stretches, top, height, cls):
    """One path for all: a picture may have thousands."""
    return element("path", {"class": f"lane {cls}", "d": "".join(
        f"M{num(x)} {num(top)}h{num(wide)}v{num(height)}h-{num(wide)}z"
        for x, wide in stretches)})


def picture(name, height, title, description, *parts):
    """@name is unique in the page."""
    return element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img",
                           "viewBox": f"0 0 {WIDTH} {num(height)}",
                           "aria-labelledby": f"{name}-title {name}-desc"},
                   element("title", {"id": f"{name}-title"}, title),
                   element("desc", {"id": f"{name}-desc"}, description), *parts)
