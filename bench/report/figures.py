# SPDX-License-Identifier: Apache-2.0
"""Figures of each plan and scheduler, computed from the runs. Pure."""
import statistics
from collections import namedtuple

from read import Absent

# A percentile with fewer samples beyond it is chance.
BEYOND = 10
PERCENTILES = (("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p99.9", 999))

Spread = namedtuple("Spread", "median low high")
# equal: a list of (title, ids), of BE clients with the same work and load.
Plan = namedtuple("Plan", "name rows lc be equal")
# - absent: why there are no runs, or None
# - lc, be: {client: {name: Spread or None}}
# - took: the same of the run's costs, if known
# - energy: a Spread
# - beside: a Spread of the CPU time of processes beside the clients
# - together: {name: Spread or None} of all clients
Row = namedtuple("Row", "scheduler runs absent lc be jain took energy beside together")
# A client as all runs of a plan know it.
Known = namedtuple("Known", "id workload load tokens offered alone_us alone_per_s killed")


def rank(ordered, per_mille):
    """The place, from 1, of the smallest value that per_mille of all do not exceed."""
    return max((len(ordered) * per_mille + 999) // 1000, 1)


def percentile(ordered, per_mille):
    """None if too few samples lie beyond it."""
    at = rank(ordered, per_mille)
    return ordered[at - 1] if len(ordered) - at >= BEYOND else None


def spread(values):
    """Median and range over repetitions; None if one of them does not know it."""
    values = list(values)
    if not values or None in values:
        return None
    return Spread(statistics.median(values), min(values), max(values))


def ratio(value, over):
    return None if value is None or over is None else value / over


def jain(values):
    """Jain's index of fairness: 1 if all are equal, 1/n if one has all."""
    if None in values or not any(values):
        return None
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def latencies(client):
    """Sorted, ns; None without samples."""
    if client.samples is None:
        return None
    return sorted(end - at for at, end in zip(client.samples.intended, client.samples.end))


# ---- one repetition -------------------------------------------------------------------

def lc_once(client):
    ordered = latencies(client) or []
    found = {name: percentile(ordered, per_mille) for name, per_mille in PERCENTILES}
    found["max"] = ordered[-1] if ordered else None
    alone_ns = client.alone_us and client.alone_us * 1000
    for name in ("p50", "p99"):
        found[f"{name} over alone"] = ratio(found[name], alone_ns)
    for name in ("requests", "left", "missed"):
        found[name] = getattr(client, name)
    if client.tokens:
        found.update(tokens_once(client))
    return found


def tokens_once(client):
    found = {}
    for name, took, alone_us in (
            ("first token", client.samples and client.samples.first, client.alone_first_us),
            ("token after", client.samples and client.samples.next, client.alone_next_us)):
        ordered = sorted(took or [])
        for which, per_mille in (("p50", 500), ("p99", 990)):
            found[f"{name} {which}"] = percentile(ordered, per_mille)
            found[f"{name} {which} over alone"] = ratio(found[f"{name} {which}"],
                                                        alone_us and alone_us * 1000)
    return found


def be_once(client):
    return {"done/s": client.done_per_s,
            "of alone": ratio(client.done_per_s, client.alone_per_s),
            "killed": client.killed}


def over_alone(client):
    """Each latency / p50 of the client alone; None if that is not known."""
    ns = latencies(client)
    if ns is None or not client.alone_us:
        return None
    return [one / (client.alone_us * 1000) for one in ns]


def together_once(run):
    """Figures of all clients of a class, each relative to itself alone."""
    lc = [over_alone(c) for c in run.clients if c.lc]
    be = [ratio(c.done_per_s, c.alone_per_s) for c in run.clients if not c.lc]
    parts = [] if None in lc else sorted(one for client in lc for one in client)
    return {"lc mean": statistics.fmean(parts) if parts else None,
            "lc p99": percentile(parts, 990),
            "be": sum(be) if be and None not in be else None}


def took_once(run, client):
    return {"late p50": client.late_p50_us, "late p99": client.late_p99_us,
            "CPU": ratio(client.cpu_s, run.seconds)}


# ---- over repetitions ----------------------------------------------------------------

def together(found):
    """{name: Spread} of each repetition's {name: value}."""
    return {name: spread(one[name] for one in found) for name in found[0]}


def lc_over(clients):
    """As together(); a single repetition has its percentiles' own intervals."""
    found = together([lc_once(c) for c in clients])
    for name, (low, high) in (clients[0].intervals if len(clients) == 1 else {}).items():
        if found.get(name) and high is not None:
            found[name] = Spread(found[name].median, low * 1000, high * 1000)
    return found


def of_client(runs, identity):
    return [c for run in runs for c in run.clients if c.id == identity]


def known(runs, identity):
    """Figures of a client that do not depend on the scheduler."""
    mine = of_client(runs, identity)
    return Known(identity, mine[0].workload, mine[0].load, mine[0].tokens,
                 *(spread(getattr(c, name) for c in mine)
                   for name in ("offered", "alone_us", "alone_per_s")),
                 any(c.killed is not None for c in mine))


def equals(be):
    """(description, ids) of BE clients with the same work and load."""
    groups = {}
    for c in be:
        groups.setdefault((c.workload, c.load), []).append(c.id)
    return [(f"{len(ids)} × {workload}", ids) for (workload, _), ids in groups.items()
            if len(ids) > 1]


def jain_once(run, ids):
    done = [c.done_per_s for c in run.clients if c.id in ids]
    return jain(done) if len(done) == len(ids) else None


def jain_over(runs, ids):
    return spread(jain_once(run, ids) for run in runs)


def took_over(runs, identity):
    return together([took_once(run, c) for run in runs for c in run.clients if c.id == identity])


def row(scheduler, entries, be, equal):
    runs = sorted((e for e in entries if not isinstance(e, Absent)), key=lambda run: run.number)
    why = [e.why for e in entries if isinstance(e, Absent)]
    ids = dict.fromkeys((c.id, c.lc) for run in runs for c in run.clients)
    return Row(scheduler, runs, "; ".join(why) or None,
               {i: lc_over(of_client(runs, i)) for i, lc in ids if lc},
               {i: together([be_once(c) for c in of_client(runs, i)]) for i, lc in ids if not lc},
               {title: jain_over(runs, members) for title, members in equal},
               {i: took_over(runs, i) for i, _ in ids}, spread(run.energy_j for run in runs),
               spread(run.beside_cpu_s for run in runs),
               together([together_once(run) for run in runs]) if runs else {})


def plan(name, entries):
    runs = [e for e in entries if not isinstance(e, Absent)]
    ids = dict.fromkeys((c.id, c.lc) for run in runs for c in run.clients)
    lc = [known(runs, i) for i, is_lc in ids if is_lc]
    be = [known(runs, i) for i, is_lc in ids if not is_lc]
    equal = equals(be)
    schedulers = dict.fromkeys(e.scheduler for e in entries)
    return Plan(name, [row(s, [e for e in entries if e.scheduler == s], be, equal)
                       for s in schedulers], lc, be, equal)


def was_measured(plan):
    """Does any row know a cost of its run?"""
    return any(row.energy or row.beside
               or any(value for found in row.took.values() for value in found.values())
               for row in plan.rows)


def has_alone(plan):
    """Does any row know a figure of all clients together?"""
    return any(value for row in plan.rows for value in row.together.values())


def plans(results):
    """In the order of the file, as are the rows of each."""
    names = dict.fromkeys(e.plan for e in results.entries)
    return [plan(name, [e for e in results.entries if e.plan == name]) for name in names]


# ---- one plan at several loads -------------------------------------------------------

def load_of(name):
    """("NAME", 0.5) of "NAME@0.5", else None."""
    base, at, load = name.rpartition("@")
    if not at or not base or not load.replace(".", "", 1).isdecimal() or not load.isascii():
        return None
    return base, float(load)


def by_load(found):
    """{NAME: [(load, Plan)]}, ascending, of those that ran at several loads."""
    groups = {}
    for one in found:
        named = load_of(one.name)
        if named:
            groups.setdefault(named[0], []).append((named[1], one))
    return {base: sorted(at, key=lambda pair: pair[0]) for base, at in groups.items()
            if len({load for load, _ in at}) > 1}
