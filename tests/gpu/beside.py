# SPDX-License-Identifier: Apache-2.0
"""Requests of an LC process alone, and beside BE processes under gpreemptd, round by round."""
import os

from bench import harness
from bench.harness import LC_UID, BE_UID, fields, median, progress
from crowd import Crowd
from daemon import Daemon


class Beside:
    """@lc, @be: options of both programs; @hint: of the LC process beside BE."""

    def __init__(self, rig, opt, table, lc, be, hint=()):
        self.rig, self.opt, self.table = rig, opt, table
        self.lc, self.be, self.hint = lc, be, hint
        self.how = []           # options of gpreempt run, for LC
        self.iters = rig.calibrate("lc", 110)["iters"]
        self.crowd = Crowd(rig, 2000)

    def start_lc(self, name, cls=None):
        proc = self.rig.lc("--control", f"--iters={self.iters}", *self.lc, cls=cls, name=name,
                           how=self.how if cls else ())
        proc.expect("ready")
        return proc

    def requests(self, proc, round_, *args):
        """(p50, p99) in us of one round."""
        out = os.path.join(self.rig.out, f"{proc.name}-{round_}.samples")
        proc.send(" ".join([f"--out={out}", *args]))
        got = fields(proc.expect("lc", 300))
        if got["result"] != "right":
            proc.fail("a wrong result")
        return got["p50_ns"] / 1e3, got["p99_ns"] / 1e3

    def alone_rate(self, seconds):
        """Units of work a second of one BE process alone, without gpreempt."""
        self.crowd.add("be-alone", None, *self.be)
        self.crowd.await_ready()
        done = self.crowd.together(["be-alone"], seconds)["be-alone"]
        self.crowd.finish(self.table)
        return done / seconds

    def round(self, proc, round_, names, args):
        """The round's (p50, p99), and the units of work a second of all BE together."""
        start_ns = self.crowd.start(names)
        latency = self.requests(proc, round_, *args, *self.hint)
        end_ns = max(self.crowd.times(name)[-1] for name in names)
        self.crowd.pause(names)
        done = sum(harness.kernels_between(self.crowd.times(name), start_ns, end_ns)
                   for name in names)
        return (*latency, done * 1e9 / (end_ns - start_ns))

    def row(self, row, processes, config, rounds, *args):
        """Medians of the rounds: p50 alone, p50 and p99 of alone, and BE's rate."""
        users = [LC_UID, BE_UID] if self.rig.users else [os.geteuid()]
        daemon = Daemon(self.rig, row, config, users)
        alone, beside = self.start_lc(f"{row}-alone"), self.start_lc(f"{row}-lc", "lc")
        names = [f"{row}-{i}" for i in range(processes)]
        for name in names:
            self.crowd.add(name, "be", *self.be)
        self.crowd.await_ready()
        daemon.await_tenants(self.crowd.pids())
        figures = []
        for round_ in range(rounds):
            progress(f"{row}: round {round_ + 1} of {rounds}")
            before = self.requests(alone, round_, *args)
            p50, p99, rate = self.round(beside, round_, names, args)
            figures.append((before[0], p50 / before[0], p99 / before[1], rate))
        for proc in (alone, beside):
            self.rig.quit(proc)
        self.crowd.finish(self.table)
        status = daemon.stop()
        if status:
            self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0", False)
        return [median(column) for column in zip(*figures)]
