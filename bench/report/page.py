# SPDX-License-Identifier: Apache-2.0
"""The page: one file that needs no other, well-formed as HTML and as XML."""
import os

import columns
import curves
import figures
import lanes
import loads
import text
from markup import Markup, element, join


def style():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css")
    with open(path, encoding="utf-8") as f:
        return Markup(f.read())


def about(results):
    rows = []
    for title, name in columns.ABOUT:
        words = str(results.about[name]) or text.NONE
        rows.append(element("div", None, element("dt", None, title), element(
            "dd", None, element("code", None, words) if name == "command" else words)))
    return element("dl", None, *rows)


# ---- tables --------------------------------------------------------------------------

def cell(spread, write, cls=None):
    around = text.extent(spread, write)
    return element("td", {"class": cls}, text.middle(spread, write),
                   *([element("small", None, around)] if around else []))


def groups(plan):
    """(client, its words, its columns, {figures of a row}) of all columns."""
    for known in plan.lc:
        yield (known, f"latency-critical: {columns.work(known)}; {columns.offered(known)}, "
               f"{columns.alone(known)}", columns.latency_critical(known), lambda row: row.lc)
    for known in plan.be:
        yield (known, f"best-effort: {columns.work(known)}", columns.best_effort(known),
               lambda row: row.be)


def head(plan):
    above, below = [], []
    for known, words, wanted, _ in groups(plan):
        above.append(element("th", {"scope": "colgroup", "colspan": len(wanted), "class": "first"},
                             element("b", None, known.id), element("small", None, words)))
        below += [element("th", {"scope": "col", "class": None if i else "first"}, title)
                  for i, (title, _, _) in enumerate(wanted)]
    above += [element("th", {"scope": "col", "rowspan": 2, "class": "first"}, "Jain's index",
                      element("small", None, title)) for title, _ in plan.equal]
    first = element("th", {"scope": "col", "rowspan": 2 if below else 1}, "scheduler")
    return element("thead", None, element("tr", None, first, *above),
                   element("tr", None, *below) if below else "")


def figures_of(plan, row):
    found = []
    for known, _, wanted, pick in groups(plan):
        mine = pick(row).get(known.id, {})
        found += [cell(mine.get(name), write, None if i else "first")
                  for i, (_, name, write) in enumerate(wanted)]
    return found + [cell(row.jain[title], text.index, "first") for title, _ in plan.equal]


def body(plan):
    wide = sum(len(wanted) for _, _, wanted, _ in groups(plan)) + len(plan.equal)
    rows = []
    for row in plan.rows:
        name = element("th", {"scope": "row"}, row.scheduler)
        if row.runs:
            rows.append(element("tr", None, name, *figures_of(plan, row)))
        if row.absent:
            rows.append(element("tr", None, name, element(
                "td", {"class": "absent", "colspan": max(wide, 1)}, f"absent: {row.absent}")))
    return element("tbody", None, *rows)


def table(plan):
    title = f"Plan {plan.name}"
    return element("div", {"class": "wide", "role": "region", "tabindex": 0, "aria-label": title},
                   element("table", None, element("caption", None, title), head(plan),
                           body(plan)))


def small_table(title, titles, rows, legend):
    """A table without groups of columns, with its note; a row is its name, and its cells."""
    heads = [element("th", {"scope": "col"}, head) for head in titles]
    rows = [element("tr", None, element("th", {"scope": "row"}, name), *cells)
            for name, cells in rows]
    return join([
        element("div", {"class": "wide", "role": "region", "tabindex": 0, "aria-label": title},
                element("table", None, element("caption", None, title),
                        element("thead", None, element("tr", None, *heads)),
                        element("tbody", None, *rows))),
        element("p", {"class": "note"}, legend)])


def together(plan):
    """Nothing where nobody was measured alone."""
    if not figures.has_alone(plan):
        return ""
    rows = [(row.scheduler, [cell(row.together[name], write)
                             for _, name, write in columns.TOGETHER])
            for row in plan.rows if row.runs]
    return small_table(f"Plan {plan.name}: all clients", columns.TOGETHER_TITLES, rows,
                       columns.TOGETHER_LEGEND)


def took(plan):
    """Costs of the run; empty where none are known."""
    if not figures.was_measured(plan):
        return ""
    rows = [(cells[0], [element("td", None, one) for one in cells[1:]])
            for cells in columns.took_rows(plan)]
    return small_table(f"Plan {plan.name}: what it took", columns.TOOK_TITLES, rows,
                       columns.TOOK_LEGEND)


# ---- pictures ------------------------------------------------------------------------

def gallery(title, found, note=""):
    """Nothing where there are neither pictures nor something to say of that."""
    return join([element("h3", None, title) if found or note else "",
                 element("div", {"class": "gallery"}, *found) if found else "",
                 element("p", {"class": "note"}, note) if note else ""])


def how_fast(name, plan, numbers):
    found = [curves.figure(f"{name}-fast-{i}", plan, known, numbers)
             for i, known in enumerate(plan.lc)]
    without = [known.id for known, one in zip(plan.lc, found) if one is None]
    return gallery("How fast", [one for one in found if one],
                   f"Too few samples for a picture: {', '.join(without)}." if without else "")


def when(name, plan):
    found, without = [], []
    for i, row in enumerate(plan.rows):
        if row.runs:
            some = lanes.figures(f"{name}-when-{i}", plan, row)
            found += some
            without += [] if some else [row.scheduler]
    return gallery("Who had the device when", found,
                   f"No timeline to show: {'; '.join(without)}." if without else "")


def plan_section(name, plan, numbers, legend):
    return element("section", {"id": name}, element("h2", None, f"Plan {plan.name}"),
                   element("p", {"class": "note"}, columns.repetitions(plan)), table(plan),
                   element("p", {"class": "note"}, columns.LEGEND) if legend else "",
                   together(plan), took(plan), how_fast(name, plan, numbers), when(name, plan))


def load_section(name, base, at, numbers):
    ids = dict.fromkeys(known.id for _, plan in at for known in plan.lc)
    found = [loads.figure(f"{name}-{i}-{which}", base, at, identity, which, numbers)
             for i, identity in enumerate(ids) for which in ("p50", "p99")]
    found = [one for one in found if one]
    return element("section", {"id": name}, element("h2", None, f"{base}: latency by load"),
                   gallery("As the load grows", found)) if found else ""


# ---- all of it -----------------------------------------------------------------------

def contents(plans, by_load):
    """Where there is more than one thing to jump to."""
    links = [(f"load-{i}", f"{base} by load") for i, base in enumerate(by_load)]
    links += [(f"plan-{i}", f"plan {plan.name}") for i, plan in enumerate(plans)]
    items = [element("li", None, element("a", {"href": f"#{name}"}, words))
             for name, words in links]
    return element("nav", None, element("ul", None, *items)) if len(items) > 1 else ""


def page(results, plans):
    title = f"gpreempt-bench: {results.about['suite']}"
    by_load = figures.by_load(plans)
    numbers = {s: i for i, s in enumerate(dict.fromkeys(e.scheduler for e in results.entries))}
    parts = [load_section(f"load-{i}", base, at, numbers)
             for i, (base, at) in enumerate(by_load.items())]
    parts += [plan_section(f"plan-{i}", plan, numbers, not i) for i, plan in enumerate(plans)]
    return "<!DOCTYPE html>\n" + element(
        "html", {"xmlns": "http://www.w3.org/1999/xhtml", "lang": "en"},
        element("head", None, element("meta", {"charset": "utf-8"}),
                element("meta", {"name": "viewport",
                                 "content": "width=device-width, initial-scale=1"}),
                element("meta", {"name": "color-scheme", "content": "light dark"}),
                element("title", None, f"{title}, {results.about['device']}"),
                element("style", None, style())),
        element("body", None,
                element("header", None, element("h1", None, title), about(results),
                        contents(plans, by_load)),
                element("main", None, *parts)))
