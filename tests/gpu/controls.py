# SPDX-License-Identifier: Apache-2.0
"""SUITE=controls: gpreemptd's controls of groups that do not have the device. Do they
preempt the group that has it, and how much time does its work lose? An LC process with
endless work has the device. Beside it is an idle process, or a BE one that waits. The
suite has no bars, as it measures facts about a driver."""
import os
import time

from bench import harness
from bench.harness import progress
from crowd import Crowd

WHATS = ["nothing", "preempt", "slice", "suspend"]
WHO = ["idle", "waiting"]
TIMES, EVERY_US = 50, 20000


def names():
    return [f"{what}-{who}" for who in WHO for what in WHATS]


class Controls:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.times = 5 if rig.soft else TIMES
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)

    def start(self):
        self.runs = self.crowd.add("controls-runs", "lc")
        self.others = {"idle": self.crowd.add("controls-idle", "be"),
                       "waiting": self.crowd.add("controls-waiting", "be")}
        self.crowd.await_ready()

    def poke(self, what, who):
        """poke's line; for "nothing", zeros after the same time."""
        if what == "nothing":
            time.sleep(0.3 if self.rig.soft else self.times * EVERY_US / 1e6)
            return {"p50_ns": 0, "max_ns": 0}
        return self.rig.output(self.rig.looking(
            "poke", f"--what={what}", f"--pid={self.others[who].app_pid}",
            f"--times={self.times}", f"--every-us={EVERY_US}"))

    def row(self, what, who):
        progress(f"controls: {what} of one that is {who}")
        path = os.path.join(self.rig.out, f"controls-{what}-{who}.log")
        self.crowd.go(["controls-runs"])
        if who == "waiting":
            self.crowd.go(["controls-waiting"])
        time.sleep(0.3)
        log = self.rig.start(self.rig.looking("ctxlog", f"--out={path}"))
        had = len(self.crowd.times("controls-runs"))
        line = self.poke(what, who)
        times = self.crowd.times("controls-runs")[had:]
        log.finish()
        self.rig.drop(log)
        # Pause the process with the device first, because the other waits for the device.
        self.crowd.pause(["controls-runs"])
        if who == "waiting":
            self.crowd.pause(["controls-waiting"])
        self.say(what, who, line, times, harness.read_log(path))

    def say(self, what, who, line, times, log):
        cuts = harness.preemptions(log, self.runs.app_pid)
        steps = sorted(b - a for a, b in zip(times, times[1:]))
        kernel = (f"{steps[len(steps) // 2] / 1e6:.2f} / {steps[-1] / 1e6:.2f} ms"
                  if steps else "-")
        asked = 0 if what == "nothing" else self.times
        self.table.note(f"{what} of one that is {who}: asked, cut",
                        f"{asked}, {cuts}; a call {line['p50_ns'] / 1e3:.0f} us (max "
                        f"{line['max_ns'] / 1e3:.0f}); its kernels p50 / max {kernel}")

    def run(self):
        self.start()
        for who in WHO:
            for what in WHATS:
                if not self.opt.only or f"{what}-{who}" in self.opt.only:
                    self.row(what, who)
        harness.progress_end()
        self.crowd.finish(self.table)
        self.table.check("all results", "WRONG" if self.table.failed else "right", "right",
                         not self.table.failed)


def run(rig, opt, table):
    Controls(rig, opt, table).run()
