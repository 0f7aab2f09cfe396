# SPDX-License-Identifier: Apache-2.0
"""SUITE=copies: an LC process whose requests copy in, compute and copy out, hinted, beside BE
processes that copy all the time."""
import os

from bench import harness
from bench.harness import LC_UID, BE_UID, fields, median, progress
from crowd import Crowd
from daemon import Daemon

LC_BYTES, BE_BYTES = 2 << 20, 64 << 20
COPIERS = {"one": 1, "four": 4}
P50_BAR, P99_BAR, KEEPS_BAR = 1.02, 1.10, 0.95
HINT_US = 300


def names():
    return list(COPIERS)


class Copies:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.seconds = 0.5 if rig.soft else 3
        self.iters = rig.calibrate("lc", 110)["iters"]
        self.crowd = Crowd(rig, 1000)
        self.copy = f"--copy-bytes={BE_BYTES >> 4 if rig.soft else BE_BYTES}"

    def lc(self, name, cls=None):
        proc = self.rig.lc("--control", f"--iters={self.iters}", f"--copy-bytes={LC_BYTES}",
                           cls=cls, name=name)
        proc.expect("ready")
        return proc

    def requests(self, proc, row, round_, hint):
        """(p50, p99) in us of one round."""
        out = os.path.join(self.rig.out, f"copies-{row}-{round_}.samples")
        proc.send(f"--requests={self.opt.requests} --out={out}"
                  + (f" --hint-us={HINT_US}" if hint else ""))
        got = fields(proc.expect("lc", 120))
        if got["result"] != "right":
            proc.fail("a wrong result")
        return got["p50_ns"] / 1e3, got["p99_ns"] / 1e3

    def alone_rate(self):
        self.crowd.add("copier-alone", None, self.copy)
        self.crowd.await_ready()
        done = self.crowd.together(["copier-alone"], self.seconds)["copier-alone"]
        self.crowd.finish(self.table)
        return done / self.seconds

    def beside(self, proc, row, round_, copiers):
        """The round's (p50, p99) and the pairs of copies a second of all together."""
        start_ns = self.crowd.start(copiers)
        latency = self.requests(proc, row, round_, hint=True)
        end_ns = max(self.crowd.times(name)[-1] for name in copiers)
        self.crowd.pause(copiers)
        done = sum(harness.kernels_between(self.crowd.times(name), start_ns, end_ns)
                   for name in copiers)
        return (*latency, done * 1e9 / (end_ns - start_ns))

    def row(self, row, rate):
        users = [LC_UID, BE_UID] if self.rig.users else [os.geteuid()]
        daemon = Daemon(self.rig, f"copies-{row}", "", users)
        alone, hinted = self.lc(f"{row}-alone"), self.lc(f"{row}-lc", "lc")
        copiers = [f"{row}-{i}" for i in range(COPIERS[row])]
        for name in copiers:
            self.crowd.add(name, "be", self.copy)
        self.crowd.await_ready()
        daemon.await_tenants(self.crowd.pids())
        rounds = []
        for round_ in range(self.opt.rounds):
            progress(f"copies: {row}: round {round_ + 1} of {self.opt.rounds}")
            before = self.requests(alone, f"{row}-alone", round_, hint=False)
            p50, p99, kept = self.beside(hinted, row, round_, copiers)
            rounds.append((before[0], p50 / before[0], p99 / before[1], kept / rate))
        self.report(row, [median(column) for column in zip(*rounds)])
        for proc in (alone, hinted):
            self.rig.quit(proc)
        self.crowd.finish(self.table)
        status = daemon.stop()
        if status:
            self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0", False)

    def report(self, row, figures):
        alone, p50, p99, keeps = figures
        self.table.note(f"{row}: LC alone, p50", f"{alone:.1f} us")
        # With several copiers one has its turn, and the others' copies stop.
        self.table.at_most(f"{row}: LC p50, of alone", p50, P50_BAR, "x")
        self.table.at_most(f"{row}: LC p99, of alone", p99, P99_BAR, "x")
        self.table.at_least(f"{row}: copies keep, of one alone", keeps, KEEPS_BAR, "x")

    def run(self):
        rate = self.alone_rate()
        self.table.note("one copier alone", f"{rate:.1f} copies in and out a second")
        for row in COPIERS:
            if not self.opt.only or row in self.opt.only:
                self.row(row, rate)
        harness.progress_end()


def run(rig, opt, table):
    Copies(rig, opt, table).run()
