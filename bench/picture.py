# SPDX-License-Identifier: Apache-2.0
"""The GPU's timeline, drawn from a context-switch log."""

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#@"


def stretches(log):
    """[(start, end, pid)]: one context's time on the device each."""
    found, running = [], {}
    for ns, kind, pid, context, _ in sorted(log):
        if kind == "start":
            running[(pid, context)] = ns
        elif kind == "end" and (pid, context) in running:
            found.append((running.pop((pid, context)), ns, pid))
        elif kind == "lost":
            running.clear()
    return sorted(found)


def name_by_samples(found, samples, offset_ns, lc_pid, be_pid):
    """The same for a reader whom the log does not tell the PIDs: the device
    was LC's in the stretch in which a request of LC ended."""
    ends = sorted(end + offset_ns for _, _, end, _ in samples)
    named, at = [], 0
    for start, end, _ in found:
        while at < len(ends) and ends[at] < start:
            at += 1
        # Completion is seen some µs after the context's last instruction.
        ours = at < len(ends) and ends[at] < end + 100_000
        named.append((start, end, lc_pid if ours else be_pid))
    return named


def row(found, pid, from_ns, to_ns, width, ramp):
    """One line: how much of each column's time was @pid's."""
    cell_ns = (to_ns - from_ns) / width
    share = [0.0] * width
    for start, end, who in found:
        if who != pid or end <= from_ns or start >= to_ns:
            continue
        first = int(max(start - from_ns, 0) / cell_ns)
        last = min(int((end - from_ns) / cell_ns), width - 1)
        for i in range(first, last + 1):
            left = from_ns + i * cell_ns
            share[i] += max(min(end, left + cell_ns) - max(start, left), 0)
    top = len(ramp) - 1
    return "".join(ramp[min(round(s / cell_ns * top), top)] for s in share)


def scale(window_ns, width):
    """A ruler: a mark and its number each 2 ms."""
    cells = [" "] * (width + 6)
    for ms in range(0, window_ns // 1_000_000 + 1, 2):
        at = min(int(ms * 1_000_000 / window_ns * width), width)
        for i, char in enumerate(f"{ms}"):
            cells[at + i] = char
    return "".join(cells).rstrip() + " ms"
