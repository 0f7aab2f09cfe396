# SPDX-License-Identifier: Apache-2.0
"""The table at a suite's end: figures and their bars."""


class Table:
    def __init__(self, title):
        self.title = title
        self.rows = []

    def note(self, name, figure):
        """A figure without a bar."""
        self.rows.append((name, figure, "", ""))

    def at_most(self, name, value, bar, unit):
        digits = 3 if unit == "x" else 1
        self.check(name, f"{value:.{digits}f} {unit}",
                   f"<= {bar:.{digits}f} {unit}", value <= bar)

    def at_least(self, name, value, bar, unit):
        self.check(name, f"{value:.3f} {unit}", f">= {bar:.3f} {unit}",
                   value >= bar)

    def check(self, name, figure, bar, good):
        self.rows.append((name, figure, bar, "pass" if good else "FAIL"))

    @property
    def failed(self):
        return sum(row[3] == "FAIL" for row in self.rows)

    def __str__(self):
        head = ("what", "measured", "bar", "")
        width = [max(len(row[i]) for row in [head] + self.rows)
                 for i in range(4)]
        line = "  ".join("-" * w for w in width)
        rows = ["  ".join(cell.ljust(w) for cell, w in zip(row, width)).rstrip()
                for row in [head] + self.rows]
        return "\n".join([self.title, rows[0], line] + rows[1:])
