# SPDX-License-Identifier: Apache-2.0
"""The device's timeline: a lane for each client, 50 ms of it."""
import moments
import plot
import read
import svg
from markup import element
from text import cut, percent, time_of

HEIGHT, STEP = 18, 46           # between them: a request's mark, the next one's name
LEFT, MARK_BELOW = 14, 6
SEEN = 0.4                      # units: a thinner line would not be visible


def joined(stretches, x):
    """(place, width) in the picture; touching stretches become one."""
    found = []
    for start, end in stretches:
        at, to = x(start), max(x(end), x(start) + SEEN)
        if found and at <= found[-1][1] + 0.02:
            found[-1][1] = max(to, found[-1][1])
        else:
            found.append([at, to])
    return [(at, to - at) for at, to in found]


def request_mark(request, moment, x, top):
    """A line from when it was due to its end, with a stroke at each that is in sight."""
    start, end = max(request.intended, moment.start), min(request.end, moment.end)
    ends = [at for at in (request.intended, request.end) if moment.start <= at <= moment.end]
    return element("g", {"class": "mark"}, svg.line(x(start), top, x(end), top, "mark"),
                   *(svg.line(x(at), top - 4, x(at), top + 4, "mark") for at in ends))


def lane(client, stretches, moment, x, top):
    """A client's name, when it had the device, and below that its slowest request."""
    kind = "lc" if client.lc else "be"
    parts = [svg.text(LEFT, top - 5, cut(f"{client.id}, {kind}", 50)),
             element("rect", {"class": "track", "x": LEFT, "y": top, "height": HEIGHT,
                              "width": svg.WIDTH - svg.RIGHT - LEFT}),
             svg.lane(joined(stretches, x), top, HEIGHT, kind)]
    if client.id == moment.slowest.client:
        parts.append(request_mark(moment.slowest, moment, x, top + HEIGHT + MARK_BELOW))
    return parts


def describe(client, stretches):
    share = sum(end - start for start, end in stretches) / moments.WINDOW_NS
    return f"{client.id} had the device for {percent(share)} of it, in {len(stretches)} stretches"


def figure(name, title, caption, run, timeline, moment):
    """One lane for each client, latency-critical ones first."""
    order = sorted(run.clients, key=lambda c: not c.lc)
    x = svg.linear(moment.start, moment.end, LEFT, svg.WIDTH - svg.RIGHT)
    bottom, after = len(order) * STEP + 4, (moment.start - timeline.start[0]) / 1e9
    parts = svg.x_axis(x, [(moment.start + ms * 1_000_000, str(ms)) for ms in range(0, 51, 10)],
                       bottom, f"time, ms; 0 is {after:.3f} s after the first stretch", 0, LEFT)
    said = []
    for row, client in enumerate(order):
        stretches = moments.within(timeline, run.clients.index(client), moment)
        parts += lane(client, stretches, moment, x, row * STEP + 20)
        said.append(describe(client, stretches))
    return plot.figure(name, title, bottom + 40, parts, "; ".join(said) + ".", caption)


def figures(name, plan, row):
    """The slowest request of the first repetition, and a quiet moment of it."""
    run = row.runs[0]
    timeline = run.timeline and read.timeline(run)
    if not timeline:
        return []
    found = []
    slowest, quiet = moments.slowest(run, timeline), moments.quietest(run, timeline)
    who = f"{plan.name}, {row.scheduler}"
    if slowest:
        took = time_of(moments.latency(slowest.slowest))
        found.append(figure(
            f"{name}-slowest", f"{who}: around the slowest request",
            "Who had the device when; the bar with ends is the slowest request, of "
            f"{slowest.slowest.client}, due at its left end and done {took} later.",
            run, timeline, slowest))
    if quiet:
        took = time_of(moments.latency(quiet.slowest))
        found.append(figure(
            f"{name}-quiet", f"{who}: a quiet moment",
            "The same when requests were served soonest: the slowest one here, marked, took "
            f"{took}.", run, timeline, quiet))
    return found
