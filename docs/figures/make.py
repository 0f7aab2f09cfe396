#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw docs/results/latency.svg from docs/results/latency.csv.

The same CSV gives the same bytes. --check writes nothing and fails where the file differs.
"""

import argparse
import csv
import sys
from pathlib import Path
from xml.sax.saxutils import escape

RESULTS = Path(__file__).resolve().parent.parent / "results"

WIDTH = 760
TOP = 74  # of the first row
ROW = 48
LEFT = 176  # of the latency bars
SCALE_US = 3000
LATENCY = 320  # px for SCALE_US
BE_LEFT = 600
BE = 100  # px for a share of 1
BAR = 14

# A viewer without media queries shows the light one, on its own background.
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328 }
.head { font-weight: 600 }
.note { font-size: 11px; fill: #59636e }
.back { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #d1d9e0 }
.p50 { fill: #0969da }
.p99 { fill: #8fc1f5 }
.be { fill: #1a7f37 }
.rest { fill: #dfe5ea }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .note { fill: #9198a1 }
  .back { fill: #0d1117; stroke: #3d444d }
  .grid { stroke: #3d444d }
  .p50 { fill: #58a6ff }
  .p99 { fill: #2b5a93 }
  .be { fill: #3fb950 }
  .rest { fill: #262c36 }
}
"""


def text(x, y, words, cls="", anchor="start"):
    kind = f' class="{cls}"' if cls else ""
    return f'<text x="{x:g}" y="{y:g}"{kind} text-anchor="{anchor}">{escape(words)}</text>'


def rect(x, y, width, height, cls):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" class="{cls}"/>'


def legend():
    """What the colours mean, above the bars."""
    return [
        text(16, 28, "Five kernels of 110 µs every 5 ms, beside a process that fills the GPU", "head"),
        rect(LEFT, 46, 10, 10, "p50"),
        text(LEFT + 15, 56, "LC latency, p50", "note"),
        rect(LEFT + 116, 46, 10, 10, "p99"),
        text(LEFT + 131, 56, "p99, µs", "note"),
        rect(BE_LEFT, 46, 10, 10, "be"),
        text(BE_LEFT + 15, 56, "BE keeps of its rate", "note"),
    ]


def grid(bottom):
    """A line and its latency each millisecond."""
    for us in range(0, SCALE_US + 1, 1000):
        x = LEFT + us / SCALE_US * LATENCY
        yield f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" class="grid"/>'
        yield text(round(x, 1), bottom + 15, f"{us // 1000} ms" if us else "0", "note", "middle")
    yield text(BE_LEFT, bottom + 15, "NVIDIA H200, 580.159.04", "note")


def bars(row, y):
    """One scheduler: two bars of latency, one of throughput."""
    yield text(LEFT - 12, y + BAR + 5, row["what"], anchor="end")
    for at, name in ((y, "p50"), (y + BAR + 2, "p99")):
        us = float(row[name + "_us"])
        width = us / SCALE_US * LATENCY
        yield rect(LEFT, at, width, BAR, name)
        yield text(round(LEFT + width + 6, 1), at + 11, f"{int(us + 0.5)}", "note")
    if row["be_kept"]:
        kept = float(row["be_kept"])
        yield rect(BE_LEFT, y + 8, BE, BAR, "rest")
        yield rect(BE_LEFT, y + 8, kept * BE, BAR, "be")
        yield text(BE_LEFT + BE + 6, y + 19, f"{100 * kept:.0f} %", "note")


def draw(rows):
    bottom = TOP + ROW * len(rows) - 6
    parts = legend() + list(grid(bottom))
    for number, row in enumerate(rows):
        parts += bars(row, TOP + ROW * number)
    height = bottom + 28
    label = "; ".join(f"{r['what']}: p50 {r['p50_us']}, p99 {r['p99_us']} µs" for r in rows)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' width="{WIDTH}" height="{height}" role="img">',
            f"<title>{escape(label)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6" class="back"/>',
            *parts,
            "</svg>\n",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    with open(RESULTS / "latency.csv", newline="", encoding="utf-8") as file:
        picture = draw(list(csv.DictReader(file)))
    path = RESULTS / "latency.svg"
    if not args.check:
        path.write_text(picture, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != picture:
        sys.exit(f"{path}: differs from latency.csv; run docs/figures/make.py")


if __name__ == "__main__":
    main()
