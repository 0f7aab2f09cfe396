# SPDX-License-Identifier: Apache-2.0
"""Which 50 ms of a run are worth a look. Pure."""
from collections import namedtuple

WINDOW_NS = 50_000_000
BEFORE_NS = 10_000_000      # of the window, before the slowest request
AFTER_NS = 5_000_000        # and after its end, where it is too long for that

Request = namedtuple("Request", "client intended end")
# slowest: the Request in it that took longest.
Moment = namedtuple("Moment", "start end slowest")


def span(timeline):
    return timeline.start[0], max(timeline.end)


def requests(run, first, last):
    """Of all latency-critical clients, what was under way between @first and @last."""
    for client in run.clients:
        if client.samples:
            for intended, end in zip(client.samples.intended, client.samples.end):
                if end >= first and intended <= last:
                    yield Request(client.id, intended, end)


def latency(request):
    return request.end - request.intended


def around(request):
    """Of a request that is longer than the window, its end."""
    start = request.intended - BEFORE_NS
    if request.end + AFTER_NS > start + WINDOW_NS:
        start = request.end + AFTER_NS - WINDOW_NS
    return Moment(start, start + WINDOW_NS, request)


def slowest(run, timeline):
    """The moment around the slowest request; None where there is no request."""
    found = max(requests(run, *span(timeline)), key=latency, default=None)
    return found and around(found)


def quietest(run, timeline):
    """Windows lie end to end over the run. Of those with a request, the one with the fastest
    slowest request; None where that would be the only one."""
    first, last = span(timeline)
    worst = {}
    for request in requests(run, first, last):
        for at in {(request.intended - first) // WINDOW_NS, (request.end - first) // WINDOW_NS}:
            if at not in worst or latency(request) > latency(worst[at]):
                worst[at] = request
    whole = sorted(at for at in worst if 0 <= at < (last - first) // WINDOW_NS)
    if len(whole) < 2:
        return None
    best = min(whole, key=lambda at: latency(worst[at]))
    start = first + best * WINDOW_NS
    return Moment(start, start + WINDOW_NS, worst[best])


def within(timeline, place, moment):
    """(start, end) of the stretches of one client, cut to the moment."""
    return [(max(start, moment.start), min(end, moment.end))
            for start, end, who in zip(timeline.start, timeline.end, timeline.who)
            if who == place and end > moment.start and start < moment.end]
