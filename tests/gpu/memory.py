# SPDX-License-Identifier: Apache-2.0
"""SUITE=memory: memory of best-effort processes leaves for a latency-critical allocation, in the
middle of kernels, and comes back. On a card with PyTorch, JAX and CuPy in --python."""
import os
import re
import time

from bench import harness

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "memory_programs.py")
ROWS = ("rate", "start", "exact", "cost", "allocs")
OUT_BAR, IN_BAR = 0.95, 0.88    # of a plain copy's rate
START_EXTRA_S = 0.05            # beyond bytes / rate
COST_BAR, ALLOCS_BAR = 1.005, 1.1
EXACT_LEFT_GIB = 22             # contexts of 8 programs and their movers
WAITED = re.compile(r"an allocation waited ([\d.]+) ms for room, and had it in ([\d.]+) ms")
MOVED = re.compile(r"moved (\d+) MiB (to the host|back) in ([\d.]+) ms, ([\d.]+)")


def names():
    return list(ROWS)


class Programs:
    def __init__(self, rig, python, gpu_gib):
        self.rig, self.python, self.gpu_gib = rig, python, 1 if rig.soft else gpu_gib
        self.env = {"GPREEMPT_LOG": "info"}
        if rig.soft:
            self.env.update(GPREEMPT_SOFTGPU_MEMORY=str(self.gpu_gib << 10))

    def start(self, name, *args, cls=None, how=(), ready=True, env=None):
        proc = self.rig.start([self.python, PROGRAMS, name, *map(str, args)], cls, name=name,
                              how=how, env={**self.env, **(env or {})})
        if ready:
            proc.expect("ready", 180)
        return proc

    def be(self, name, *args, **more):
        return self.start(name, *args, cls="be", how=["--mem"], **more)

    def output(self, name, *args, **more):
        return self.end(self.start(name, *args, ready=False, **more), 180)

    def end(self, proc, timeout_s=120):
        fields = harness.fields(proc.expect("done", timeout_s))
        proc.finish(60)
        self.rig.drop(proc)
        return fields

    @staticmethod
    def moves(proc):
        """[(GiB, out, seconds, seconds of copies)] so far."""
        return [(int(m[1]) / 1024, m[2] != "back", float(m[3]) / 1e3, float(m[4]) / 1e3)
                for m in MOVED.finditer(proc.stderr())]

    def await_moves(self, procs, count, out, timeout_s=60):
        """Each of @procs has moved @count times in that direction."""
        end = time.monotonic() + timeout_s
        for proc in procs:
            while sum(m[1] == out for m in self.moves(proc)) < count:
                if time.monotonic() > end:
                    proc.fail(f"no move {count} {'out' if out else 'back'} in {timeout_s} s")
                time.sleep(0.01)

    def pinned(self, proc, timeout_s=120):
        """Its host memory is pinned ahead: it grows no more."""
        end, before, same = time.monotonic() + timeout_s, 0, 0
        while same < 10 and time.monotonic() < end:
            with open(f"/proc/{proc.app_pid}/status") as f:
                kib = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
            same = same + 1 if kib <= before + 4096 else 0
            before = max(before, kib)
            time.sleep(0.1)


def take(lc):
    lc.send("take")
    return harness.fields(lc.expect("got", 60))


def give(lc):
    lc.send("give")
    lc.expect("gave")


def median(values):
    return sorted(values)[len(values) // 2]


def rate(p, opt, table, plain):
    for gib in ((0.25,) if p.rig.soft else (22, 60)):
        be = p.be("hold", gib, 64 if p.rig.soft else 1024)
        p.pinned(be)
        # Only as much leaves as is missing: here nearly all.
        lc = p.start("room", 0.9 if p.rig.soft else p.gpu_gib - 3, cls="lc")
        for i in range(3):
            took = take(lc)
            if int(took["error"]):
                be.fail(f"error {took['error']}")
            give(lc)
            p.await_moves([be], i + 1, False)
        for out, name, bar in ((True, "out", OUT_BAR), (False, "in", IN_BAR)):
            moves = sorted((m for m in p.moves(be) if m[1] == out), key=lambda m: m[2])
            moved, _, s, c = moves[len(moves) // 2]
            table.note(f"rate: {gib} GiB {name}, and the copies of it",
                       f"{s * 1e3:.0f} {c * 1e3:.0f} ms")
            # A software GPU copies through memory of its own.
            table.at_least(f"rate: {gib} GiB {name}, of a plain copy",
                           moved * 2**30 / s / plain[name], 0 if p.rig.soft else bar, "x")
        be.send("end")
        wrong = p.end(be)["wrong"]
        table.check(f"rate: {gib} GiB, wrong words", str(wrong), "0", wrong == 0)
        p.rig.drop(lc)


def start(p, opt, table, plain):
    lc = p.start("room", 100, cls="lc")
    alone = float(take(lc)["took"])
    give(lc)
    table.note("start: allocation of 100 GiB alone", f"{alone * 1e3:.0f} ms")
    p.rig.drop(lc)
    be = p.be("eager", 58, 20)
    p.pinned(be)
    lc = p.start("room", 100, cls="lc")
    moved = 0
    for i in range(3):
        got = take(lc)
        if int(got["error"]):
            be.fail(f"error {got['error']}")
        p.await_moves([be], i + 1, True)
        moved = p.moves(be)[-1][0]
        over = float(got["took"]) - moved * 2**30 / plain["out"]
        table.at_most(f"start: 100 GiB beside {moved:.0f}, beyond bytes / rate", over * 1e3,
                      START_EXTRA_S * 1e3, "ms")
        table.note("start: allocation, the move out, the copies of it", " ".join(
            f"{s * 1e3:.0f}" for s in (float(got["took"]), *p.moves(be)[-1][2:])) + " ms")
        # The rest of it is the attempt that failed.
        waits = WAITED.findall(lc.stderr())
        table.note("start: of it, the wait for room, the attempt after it",
                   " ".join(waits[-1]) + " ms" if waits else "none")
        give(lc)
        p.await_moves([be], i + 1, False)
    be.send("end")
    same = p.end(be)["same"] == 1
    table.check("start: training", "same bits" if same else "OTHER BITS", "same bits", same)
    p.rig.drop(lc)


def exact(p, opt, table, _):
    kinds = (("eager", 4), ("graph", 4), ("jax", 6), ("cupy", 4)) * 2
    procs = [p.start(name, gib, 50, cls="be", how=["--mem"], ready=False) for name, gib in kinds]
    for proc in procs:
        proc.expect("ready", 180)
    lc = p.start("room", p.gpu_gib - EXACT_LEFT_GIB, cls="lc")
    end = time.monotonic() + (opt.seconds or 60)
    rounds = 0
    while time.monotonic() < end:
        got = take(lc)
        if int(got["error"]):
            lc.fail(f"error {got['error']}")
        give(lc)
        rounds += 1
        p.await_moves(procs, rounds, False)
    moves = 0
    for (name, _), proc in zip(kinds, procs):
        n = len(p.moves(proc))
        moves += n
        proc.send("end")
        done = p.end(proc)
        table.check(f"exact: {name}, {n} moves in {done['repetitions']} repetitions",
                    "same bits" if done["same"] == 1 else "OTHER BITS", "same bits",
                    done["same"] == 1)
    table.check("exact: moves together", str(moves), "> 0", moves > 0)
    p.rig.drop(lc)


def pause(proc):
    proc.send("pause")
    proc.expect("paused", 60)


def seconds_each(proc, times, seconds):
    """Of its repetitions while it runs for @seconds."""
    start_ns = time.monotonic_ns()
    proc.send("go")
    time.sleep(seconds)
    pause(proc)
    ends = [ns for ns in harness.read_times(times) if ns > start_ns]
    return (ends[-1] - ends[0]) / (len(ends) - 1) / 1e9


def cost(p, opt, table, _):
    """A program as LC, and as BE with --mem, over the same without gpreempt, in turn. Each has the
    device alone: the others are paused."""
    hows = {"plain": (None, []), "lc": ("lc", []), "mem": ("be", ["--mem"])}
    for name, gib in (("eager", 0), ("eager", 4), ("graph", 4)):
        procs = {}
        for how, (cls, more) in hows.items():
            times = os.path.join(p.rig.out, f"cost-{name}-{gib}-{how}.times")
            procs[how] = (p.start(name, gib, 50, cls=cls, how=more, env={"TIMES": times},
                                  ready=False), times)
        for proc, _ in procs.values():
            proc.expect("ready", 180)
            pause(proc)
        found = [{how: seconds_each(*proc, opt.seconds or 2) for how, proc in procs.items()}
                 for _ in range(opt.rounds)]
        for how in ("lc", "mem"):
            ratios = sorted(one[how] / one["plain"] for one in found)
            table.at_most(f"cost: {name}, {gib} GiB, as {how} / without", median(ratios),
                          COST_BAR, "x")
            table.note(f"cost: {name}, {gib} GiB, as {how}, of each round",
                       " ".join(f"{ratio:.4f}" for ratio in ratios))
        for proc, _ in procs.values():
            proc.send("end")
            p.end(proc)


def allocs(p, opt, table, _):
    for mib in (2, 20):
        took = {how: [] for how in ("plain", "mem")}
        for _ in range(3):
            for how in took:
                done = p.output("allocs", 1000, mib, cls="be",
                                how=["--mem"] if how == "mem" else [])
                took[how].append((float(done["alloc"]), float(done["free"])))
        a, b = median(took["plain"]), median(took["mem"])
        table.at_most(f"allocs: 1000 of {mib} MiB, with --mem / without", b[0] / a[0],
                      ALLOCS_BAR, "x")
        table.note(f"allocs: {mib} MiB, alloc and free", f"{a[0]*1e3:.1f} {a[1]*1e3:.1f} ms, "
                   f"--mem {b[0]*1e3:.1f} {b[1]*1e3:.1f} ms")


def run(rig, opt, table):
    rig.users = False           # memory moves between processes of one user
    p = Programs(rig, opt.python, opt.gpu_gib)
    found = p.output("copy", 0.125 if rig.soft else 8)
    plain = {"out": float(found["out"]), "in": float(found["in"])}
    table.note("plain pinned copy, out and in", f"{plain['out']/1e9:.1f} {plain['in']/1e9:.1f} GB/s")
    for row in opt.only or ROWS:
        globals()[row](p, opt, table, plain)
    harness.progress_end()
