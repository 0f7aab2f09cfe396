# SPDX-License-Identifier: Apache-2.0
"""From a profiler's trace of several requests to the kernels of one. Pure.

The trace is a Chrome trace as kineto writes it. The recorder waits for each request and then
pauses, so the pauses separate the requests. That needs only the device's own clock and the
kernels themselves. The profiler's marks are on the CPU's clock. They need records of CPU work,
which makes the gaps longer, and some versions draw none around the kernels of a graph.

A request that differs (it was interrupted for longer than a pause, say, and so counts as two)
is left out: those count that have the same kernels as most.
"""
import decimal
import json
import math
import statistics
from typing import NamedTuple, Optional

from bench.record.workload import RecordError

# A memory set or a copy within the device has a length; the trace lacks its share of the device.
# One warp is the least that has a length.
ONE_BLOCK = (1, 32, 0, 0)


class Event(NamedTuple):
    """Something on the device; no shape: a copy from or to the host."""
    start_ns: int
    length_ns: int
    shape: Optional[tuple]


class Request(NamedTuple):
    """(gap, length, blocks, threads, registers, shared bytes) of each kernel, in ns; how much
    of the lengths was at the same time; how many of the recorded requests were alike."""
    kernels: list
    overlapped_ns: int
    alike: int
    recorded: int


def load(path):
    """The events of a trace. Exact: its times, in us, can have more digits than a float."""
    with open(path) as f:
        return json.load(f, parse_float=decimal.Decimal)["traceEvents"]


def kernel_shape(args):
    try:
        return (math.prod(args["grid"]), math.prod(args["block"]),
                args["registers per thread"], args["shared memory"])
    except KeyError as missing:
        raise RecordError(f"the trace has a kernel without {missing}") from missing


def on_device(events):
    """Work on the device, in the order in which it began."""
    found = []
    for event in events:
        kind = event.get("cat")
        if event.get("ph") != "X" or kind not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        if kind == "kernel":
            shape = kernel_shape(event.get("args", {}))
        elif kind == "gpu_memset" or event["name"].startswith("Memcpy DtoD"):
            shape = ONE_BLOCK
        else:
            shape = None
        found.append(Event(round(event["ts"] * 1000), round(event["dur"] * 1000), shape))
    # Of two that begin together the same one is first in each request.
    return sorted(found, key=lambda e: (e.start_ns, e.shape or ()))


def requests(found, pause_ns):
    """@found in pieces: one ends where nothing is on the device for half a pause. Half,
    as a request has gaps of its own and a pause seen from the device may seem shorter."""
    pieces, end_ns = [], None
    for event in found:
        if end_ns is None or event.start_ns - end_ns > pause_ns / 2:
            pieces.append([])
            end_ns = event.start_ns
        pieces[-1].append(event)
        end_ns = max(end_ns, event.start_ns + event.length_ns)
    return pieces


def one_after_another(kernels):
    """([(gap, length)], overlapped): the file has no streams, so a kernel that begins while
    another runs comes after it, without a gap. The first's gap is not in the trace: 0."""
    rows, overlapped_ns = [], 0
    end_ns = kernels[0].start_ns
    for start_ns, length_ns, _ in kernels:
        rows.append((max(0, start_ns - end_ns), length_ns))
        overlapped_ns += max(0, min(end_ns, start_ns + length_ns) - start_ns)
        end_ns = max(end_ns, start_ns + length_ns)
    return rows, overlapped_ns


def median(values):
    return round(statistics.median(values))


def reduce(events, pause_us, asked):
    """The Request that most of the requests in @events are, of @asked that were recorded with
    @pause_us after each: of each kernel the median length and gap."""
    alike = {}
    pieces = requests(on_device(events), pause_us * 1000)
    for piece in pieces:
        # Host copies leave; their time stays, as part of a gap.
        kernels = [event for event in piece if event.shape]
        if kernels:
            alike.setdefault(tuple(k.shape for k in kernels), []).append(kernels)
    if not alike:
        raise RecordError("the trace has no kernels")
    shapes, same = max(alike.items(), key=lambda item: len(item[1]))
    recorded = max(asked, len(pieces))
    if 2 * len(same) < recorded:
        raise RecordError(f"only {len(same)} of {recorded} requests have the same kernels")
    laid = [one_after_another(kernels) for kernels in same]
    kernels = []
    for shape, *rows in zip(shapes, *(rows for rows, _ in laid)):
        gaps, lengths = zip(*rows)
        kernels.append((median(gaps), median(lengths), *shape))
    return Request(kernels, median(o for _, o in laid), len(same), recorded)
