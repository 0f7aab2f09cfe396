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
        """[(GiB, out, seconds)] so far."""
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
        lc = p.start("room", 0.9 if p.rig.soft else p.gpu_gib - gib + 4, cls="lc")
        for i in range(3):
            took = take(lc)
            if int(took["error"]):
                be.fail(f"error {took['error']}")
            give(lc)
            p.await_moves([be], i + 1, False)
        for out, name, bar in ((True, "out", OUT_BAR), (False, "in", IN_BAR)):
            s = median([m[2] for m in p.moves(be) if m[1] == out])
            c = median([m[3] for m in p.moves(be) if m[1] == out])
            table.note(f"rate: {gib} GiB {name}, and the copies of it",
                       f"{s * 1e3:.0f} {c * 1e3:.0f} ms")
            # A software GPU copies through memory of its own.
            table.at_least(f"rate: {gib} GiB {name}, of a plain copy",
                           gib * 2**30 / s / plain[name], 0 if p.rig.soft else bar, "x")
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
    kinds = (("eager", 4), ("graph", 4), ("jax", 6), ("cupy", 4))
    procs = {name: p.be(name, gib, 50) for name, gib in kinds}
    lc = p.start("room", p.gpu_gib - 12, cls="lc")
    end = time.monotonic() + (opt.seconds or 60)
    rounds = 0
    while time.monotonic() < end:
        got = take(lc)
        if int(got["error"]):
            lc.fail(f"error {got['error']}")
        give(lc)
        rounds += 1
        p.await_moves(procs.values(), rounds, False)
    moves = 0
    for name, proc in procs.items():
        n = sum(m[1] for m in p.moves(proc))
        moves += n
        proc.send("end")
        done = p.end(proc)
        table.check(f"exact: {name}, {n} moves in {done['repetitions']} repetitions",
                    "same bits" if done["same"] == 1 else "OTHER BITS", "same bits",
                    done["same"] == 1)
    table.check("exact: moves together", str(moves), "> 0", moves > 0)
    p.rig.drop(lc)


def cost(p, opt, table, _):
    for name in ("eager", "graph"):
        step = {how: [] for how in ("plain", "mem")}
        for _ in range(3):
            for how, more in (("plain", []), ("mem", ["--mem"])):
                done = p.output(name, 4, 50, 2, cls="be", how=more)
                step[how].append(float(done["step_us"]))
        table.at_most(f"cost: {name}, a step with --mem / without",
                      median(step["mem"]) / median(step["plain"]), COST_BAR, "x")
        table.note(f"cost: {name}, steps", f"{step}")


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
