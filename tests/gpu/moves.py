# SPDX-License-Identifier: Apache-2.0
"""SUITE=moves: memory that moves under gpreemptd. LC's requests beside moves, models of which not
all fit, training in turns, and kills in the middle of a move. On a card with PyTorch in --python."""
import os
import random
import threading
import time

from bench import harness
from bench.harness import fields, progress
from daemon import Daemon
from memory import Programs, give, median, take

ROWS = ("beside", "models", "turns", "kills")
P50_BAR, P99_BAR = 1.03, 1.12
FIRST_EXTRA_S = 0.010           # beyond bytes / rate
SUM_BAR, SHARE_BAR = 0.88, 0.03
BACK_S = 5                      # after the LC process was killed


def names():
    return list(ROWS)


def size(p, gib):
    """Of a card's 138 GiB, or as much of the software GPU's 1 GiB."""
    return gib / 138 if p.rig.soft else gib


def piece_mib(p):
    return 16 if p.rig.soft else 1024


def most_gib(p):
    """All but the memory of contexts: only as much leaves as is missing."""
    return size(p, 124 if p.rig.soft else p.gpu_gib - 6)


def end_right(p, table, what, be):
    be.send("end")
    done = p.end(be)
    right = done["wrong"] == 0 if "wrong" in done else done["same"] == 1
    table.check(what, "same bits" if right else "OTHER BITS", "same bits", right)


# ---- LC beside moves --------------------------------------------------------------------

def requests(rig, proc, name, count, hint):
    out = os.path.join(rig.out, f"{name}.samples")
    proc.send(f"--out={out} --requests={count} {hint}")
    got = fields(proc.expect("lc", 300))
    if got["result"] != "right":
        proc.fail("a wrong result")
    return got["p50_ns"] / 1e3, got["p99_ns"] / 1e3


class Mover:
    """Takes and gives room until end(), so that @be moves without a pause."""

    def __init__(self, p, lc, be):
        self.p, self.lc, self.be = p, lc, be
        self.over = threading.Event()
        self.moves = 0
        self.error = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.over.is_set():
                got = take(self.lc)
                if int(got["error"]):
                    self.lc.fail(f"error {got['error']}")
                give(self.lc)
                self.moves += 1
                self.p.await_moves([self.be], self.moves, False)
        except harness.BenchError as bad:
            self.error = bad

    def end(self):
        self.over.set()
        self.thread.join()
        if self.error:
            raise self.error


def beside(p, opt, table, plain):
    rig = p.rig
    iters = f"--iters={rig.calibrate('lc', 110)['iters']}"
    alone = rig.lc("--control", iters, name="moves-alone")
    alone.expect("ready")
    count = 100 if rig.soft else 4000
    before = requests(rig, alone, "moves-alone", count, "")
    rig.quit(alone)
    lc = rig.lc("--control", iters, cls="lc", name="moves-lc")
    lc.expect("ready")
    be = p.be("eager", 58, 20) if not rig.soft else p.be("hold", size(p, 58), piece_mib(p))
    p.pinned(be)
    room = p.start("room", most_gib(p), "bare", cls="lc")
    mover = Mover(p, room, be)
    start = time.monotonic()
    after = requests(rig, lc, "moves-lc", count, "--hint-us=300")
    took = time.monotonic() - start
    mover.end()
    moving = sum(move[2] for move in p.moves(be))
    table.note("beside: moves in the time; part of it", f"{2 * mover.moves}; {moving / took:.2f}")
    for i, (what, bar) in enumerate((("p50", P50_BAR), ("p99", P99_BAR))):
        table.note(f"beside: LC, {what}, alone; beside moves",
                   f"{before[i]:.1f}; {after[i]:.1f} us")
        table.at_most(f"beside: LC {what}, of alone", after[i] / before[i], bar, "x")
    end_right(p, table, "beside: BE", be)
    rig.quit(lc)
    rig.drop(room)


# ---- more models than fit -----------------------------------------------------------------

def ask(proc):
    """(seconds, those until its memory was back, wrong words) of a request."""
    start = time.monotonic()
    proc.send("request")
    got = fields(proc.expect("answer", 120))
    return time.monotonic() - start, float(got["waited"]), int(got["wrong"])


def models(p, opt, table, plain):
    """Six models of 16 GiB where four fit. The requests come to a random one."""
    gib, count = size(p, 16), 60 if not p.rig.soft else 10
    ballast = p.start("hold", size(p, 68), piece_mib(p))
    procs = []
    for i in range(6):
        procs.append(p.start("model", gib, piece_mib(p), cls="lc", how=["--idle-out=300ms"]))
    for proc in procs:
        p.pinned(proc, 20)
    one = median([ask(procs[0])[0] for _ in range(5)])
    table.note("models: a request to one that is there", f"{one * 1e3:.1f} ms")
    chance, firsts, waits, others, wrong = random.Random(opt.seed), [], [], [], 0
    start = time.monotonic()
    for i in range(count):
        progress(f"models: request {i + 1} of {count}")
        proc = chance.choice(procs)
        before = sum(not move[1] for move in p.moves(proc))
        took, waited, bad = ask(proc)
        back = sum(not move[1] for move in p.moves(proc)) > before
        (firsts if back else others).append(took)
        waits += [waited] if back else []
        wrong += bad
        time.sleep(0.2)
    took = time.monotonic() - start
    table.note("models: requests, of which first ones", f"{count}, {len(firsts)}")
    table.note("models: requests a second, with 0.2 s after each", f"{count / took:.2f}")
    bytes_s = p.moves(procs[0])[-1][0] * 2**30 / plain["in"]
    table.at_most("models: first requests beyond bytes / rate, p50",
                  (median(firsts) - one - bytes_s) * 1e3, FIRST_EXTRA_S * 1e3, "ms")
    table.note("models: first requests, p50, longest; bytes / rate",
               f"{median(firsts) * 1e3:.0f}, {max(firsts) * 1e3:.0f}; {bytes_s * 1e3:.0f} ms")
    table.note("models: of these until the memory is back, p50", f"{median(waits) * 1e3:.0f} ms")
    if others:
        table.note("models: other requests, p50, longest",
                   f"{median(others) * 1e3:.1f}, {max(others) * 1e3:.1f} ms")
    table.check("models: wrong words", str(wrong), "0", wrong == 0)
    for proc in procs:
        p.rig.drop(proc)
    p.rig.drop(ballast)


# ---- training in turns ---------------------------------------------------------------------

TURNS_OF_EACH = 5


def alone_rate(times, seconds):
    """Repetitions a second, from now on."""
    start_ns = time.monotonic_ns()
    time.sleep(seconds + 1)     # the last one ends
    return harness.kernels_between(harness.read_times(times), start_ns,
                                   start_ns + int(seconds * 1e9)) / seconds


def turns(p, opt, table, plain):
    """Two programs that do not fit together take turns. One had the device alone before."""
    gib = 8
    ballast = p.start("hold", 118)
    times = [os.path.join(p.rig.out, f"turns-{i}.times") for i in range(2)]
    more = {"cls": "be", "how": ["--mem", "--mem-turns"]}
    first = p.start("eager", gib, 10, env={"TIMES": times[0]}, **more)
    p.pinned(first)
    alone = alone_rate(times[0], 4)
    procs = [first, p.start("eager", gib, 10, env={"TIMES": times[1]}, **more)]
    had = sum(not move[1] for move in p.moves(first)) + 1
    p.await_moves([first], had, False)
    start_ns = time.monotonic_ns()
    p.await_moves([first], had + TURNS_OF_EACH, False, 180)
    end_ns = time.monotonic_ns()
    time.sleep(2)
    rates = [harness.kernels_between(harness.read_times(t), start_ns, end_ns) * 1e9 /
             (end_ns - start_ns) for t in times]
    table.note("turns: of both, in the time; moves of 9 GiB, out and back",
               f"{2 * TURNS_OF_EACH}, {(end_ns - start_ns) / 1e9:.1f} s; " + " ".join(
                   f"{move[2] * 1e3:.0f}" for move in p.moves(first)[-2:]) + " ms")
    table.note("turns: repetitions a second, alone; of each",
               f"{alone:.2f}; {rates[0]:.2f}, {rates[1]:.2f}")
    table.at_least("turns: both together, of one alone", sum(rates) / alone, SUM_BAR, "x")
    table.at_most("turns: share of one, from a half", abs(rates[0] / sum(rates) - 0.5),
                  SHARE_BAR, "")
    for proc in procs:
        end_right(p, table, "turns: training", proc)
    p.rig.drop(ballast)


# ---- kills ------------------------------------------------------------------------------------

def kill_lc(p, be, room_gib, chance):
    """Kill an LC process at a random moment of its allocation. BE comes back by itself."""
    lc = p.start("room", room_gib, "bare", cls="lc")
    lc.send("take")
    time.sleep(chance.random())
    os.kill(lc.app_pid, 9)
    p.rig.drop(lc)
    killed = time.monotonic()
    time.sleep(0.7)             # a move out that has begun ends
    p.await_moves([be], sum(move[1] for move in p.moves(be)), False, BACK_S)
    return time.monotonic() - killed


def kill_be(p, be_gib, room_gib, chance):
    """Kill a BE process at a random moment of its move. LC has its memory."""
    be = p.be("hold", be_gib, piece_mib(p))
    lc = p.start("room", room_gib, "bare", cls="lc")
    p.pinned(be, 10)
    lc.send("take")
    time.sleep(chance.random() * 0.3)
    os.kill(be.app_pid, 9)
    got = fields(lc.expect("got", 60))
    for proc in (be, lc):
        p.rig.drop(proc)
    return int(got["error"])


def kills(p, opt, table, plain):
    chance, count = random.Random(opt.seed), max(opt.kills // 10, 2)
    be_gib, room_gib = size(p, 22), most_gib(p)
    be = p.be("eager", 22, 20) if not p.rig.soft else p.be("hold", be_gib, piece_mib(p))
    p.pinned(be)
    back = [kill_lc(p, be, room_gib, chance) for _ in range(count)]
    table.note(f"kills: {count} of LC: BE is back after, longest", f"{max(back):.2f} s")
    end_right(p, table, "kills: BE", be)
    failed = sum(kill_be(p, be_gib, room_gib, chance) != 0 for _ in range(count))
    table.check(f"kills: {count} of BE: allocations of LC that failed", str(failed), "0", not failed)


def run(rig, opt, table):
    rig.users = False           # memory moves between processes of one user
    p = Programs(rig, opt.python, opt.gpu_gib)
    found = p.output("copy", 0.125 if rig.soft else 8)
    plain = {"out": float(found["out"]), "in": float(found["in"])}
    for row in opt.only or ROWS:
        if rig.soft and row == "turns":
            continue            # it needs PyTorch
        daemon = Daemon(rig, f"moves-{row}", "be_policy: fair\n", [os.geteuid()])
        globals()[row](p, opt, table, plain)
        daemon.stop()
    harness.progress_end()
