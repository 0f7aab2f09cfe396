#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench report DIR: report.html and report.md of a run there.

Both are made whole before either is written. Exit status: 0; 1 if one could not be written; 2
for another directory.
"""
import os
import sys

import figures
import markdown
import page
import read
from markup import clean


def fail(why, status):
    """One line, for any names of files."""
    print(clean(f"gpreempt-bench: {why}"), file=sys.stderr)
    return status


def write(path, words):
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(words)


def report(folder):
    results = read.results(folder)
    plans = figures.plans(results)
    made = {"report.html": page.page(results, plans),
            "report.md": markdown.markdown(results, plans)}
    for name, words in made.items():
        write(os.path.join(folder, name), words)
        print(clean(os.path.join(folder, name)))


def main(argv):
    if len(argv) != 2:
        return fail('it is "gpreempt-bench report DIR"', 2)
    try:
        report(argv[1])
    except read.Refused as why:
        return fail(why, 2)
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}", 1)
    return 0


if __name__ == "__main__":
    # A name may hold bytes that are no text.
    sys.stdout.reconfigure(errors="replace")
    sys.stderr.reconfigure(errors="replace")
    sys.exit(main(sys.argv))
