# SPDX-License-Identifier: Apache-2.0
"""The same tables as text, for where no page can be shown."""
import re

import columns
import figures
import text
from markup import clean

SPECIAL = re.compile(r"([\\`*_\[\]|#~])")


def plain(words):
    """What came from outside, as letters and nothing more."""
    words = SPECIAL.sub(r"\\\1", clean(words))
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(titles, rows, words=1):
    """@words: so many columns from the left are no figures."""
    line = ["---"] * words + ["---:"] * (len(titles) - words)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (titles, line, *rows)) + "\n"


def client_table(plan, clients, wanted, pick):
    """A row for each scheduler, of one client after the other."""
    rows = []
    for known in clients:
        for row in plan.rows:
            mine = pick(row).get(known.id)
            if mine:
                rows.append([plain(known.id), plain(row.scheduler),
                             *(text.in_line(mine[name], write) for _, name, write in wanted)])
    return table(["client", "scheduler", *(title for title, _, _ in wanted)], rows, 2)


def jain_table(plan):
    return table(["scheduler", *(f"Jain's index, {plain(title)}" for title, _ in plan.equal)],
                 [[plain(row.scheduler), *(text.in_line(row.jain[title], text.index)
                                           for title, _ in plan.equal)]
                  for row in plan.rows if row.runs])


def clients(plan):
    lines = [f"- {plain(c.id)}, latency-critical: {plain(columns.work(c))}; {columns.offered(c)}, "
             f"{columns.alone(c)}\n" for c in plan.lc]
    lines += [f"- {plain(c.id)}, best-effort: {plain(columns.work(c))}\n" for c in plan.be]
    return "".join(lines) + "\n"


def section(plan):
    parts = [f"## Plan {plain(plan.name)}\n\n{columns.repetitions(plan)}\n\n"]
    if plan.lc or plan.be:
        parts.append(clients(plan))
    for some, wanted in ((plan.lc, columns.LATENCY_CRITICAL),
                         ([known for known in plan.lc if known.tokens], columns.TOKENS)):
        if some:
            parts.append(client_table(plan, some, wanted, lambda row: row.lc))
    killed = [known for known in plan.be if known.killed]
    for some, wanted in (([known for known in plan.be if not known.killed], columns.BEST_EFFORT),
                         (killed, columns.BEST_EFFORT + columns.KILLED)):
        if some:
            parts.append(client_table(plan, some, wanted, lambda row: row.be))
    if plan.equal:
        parts.append(jain_table(plan))
    if figures.has_alone(plan):
        parts.append(table(list(columns.TOGETHER_TITLES),
                           [[plain(cells[0])] + cells[1:]
                            for cells in columns.together_rows(plan)]))
        parts.append(columns.TOGETHER_LEGEND + "\n\n")
    if figures.was_measured(plan):
        parts.append(table(list(columns.TOOK_TITLES),
                           [[plain(cell) for cell in cells[:2]] + cells[2:]
                            for cells in columns.took_rows(plan)], 2))
        parts.append(columns.TOOK_LEGEND + "\n\n")
    parts += [f"{plain(row.scheduler)}: absent: {plain(row.absent)}\n\n" for row in plan.rows
              if row.absent]
    return "".join(parts)


def markdown(results, plans):
    about = table(["", ""], [[title, plain(str(results.about[name])) or text.NONE]
                             for title, name in columns.ABOUT], 2)
    return (f"# gpreempt-bench: {plain(results.about['suite'])}\n\n{about}"
            + "".join(map(section, plans)) + columns.LEGEND + "\n")
