# SPDX-License-Identifier: Apache-2.0
"""SUITE=devices: two devices, without gpreemptd and with one daemon for both. Work on one
does not affect the other. A process that uses both has its class, LC or BE, on each."""
import os

from bench import harness
from bench.harness import BE_UID, LC_UID, fields, median, progress
from crowd import Crowd
from daemon import Daemon

GPUS = 2
HINT_US, PERIOD_US = 300, 5000
ABOVE = (20, 60)            # us: p50 and p99 above alone
KEEPS = 0.99                # BE on the device without LC, of its rate alone
FIRST, SECOND = "0", "1"
PHASES = {"no-daemon": None, "daemon": "be_quantum: 50ms\n"}


def names():
    return list(PHASES)


def only(device):
    return {"CUDA_VISIBLE_DEVICES": device}


class Phase:
    """The whole suite, with a daemon or without one."""

    def __init__(self, rig, opt, table, name):
        self.rig, self.opt, self.table, self.name = rig, opt, table, name
        self.soft = ["--blocks=2"] if rig.soft else []
        self.requests = min(opt.requests, 400)
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)
        self.iters = self.crowd.calibrated["iters"]
        self.lc_iters = rig.calibrate("lc", 110)["iters"]
        self.users = [LC_UID if rig.users else os.geteuid()]
        self.daemon = None
        self.results, self.kept = {}, {}
        self.lc = {}
        self.number = 0

    # ---- processes ----------------------------------------------------------

    def add_be(self, name, device, cls="be"):
        self.crowd.add(name, cls, env=only(device))

    def start_lc(self, name, cls):
        self.lc[name] = self.rig.lc("--control", f"--iters={self.lc_iters}", cls=cls,
                                    name=name, env=only(SECOND))
        self.lc[name].expect("ready", 120)

    def both(self, name, cls, user, *args):
        proc = self.rig.start([self.rig.program("both"), *args], cls, user, name=name)
        proc.expect("ready", 120)
        if self.daemon and cls:
            self.daemon.await_tenants([proc.app_pid])
        return proc

    def path(self, row):
        return os.path.join(self.rig.out,
                            f"devices-{self.name}-{row.replace(' ', '-')}-{self.number}")

    # ---- rows ---------------------------------------------------------------

    def note(self, row, result):
        self.results.setdefault(row, []).append(result)

    def measure_lc(self, row, who):
        """Measure requests on the second device. Returns their first and last time."""
        hint = [f"--hint-us={HINT_US}"] if who == "lc" else []
        self.lc[who].send(" ".join([f"--requests={self.requests}",
                                    f"--period-us={PERIOD_US}", f"--out={self.path(row)}",
                                    *hint]))
        self.note(row, fields(self.lc[who].expect("lc requests", 120)))
        samples = harness.read_samples(self.path(row))
        return samples[0][0], samples[-1][2]

    def measure_kept(self, row, times, window):
        """BE's rate in @window, relative to its rate alone."""
        done = harness.kernels_between(times, *window) / (window[1] - window[0]) * 1e9
        self.kept.setdefault(row, []).append(done / self.alone_rate)

    def measure_alone_rate(self):
        seconds = 0.3 if self.rig.soft else 2
        self.alone_rate = self.crowd.together(["first"], seconds)["first"] / seconds

    def other_device(self):
        """A BE process on each device, and requests on the second."""
        self.crowd.start(["first", "second"])
        window = self.measure_lc("one of each on both", "lc")
        self.crowd.pause(["first", "second"])
        self.measure_kept("one of each on both", self.crowd.times("first"), window)

    def best_effort_on_both(self):
        out = self.path("be-on-both")
        be = self.both("be-on-both", "be", BE_UID, f"--iters={self.iters}", f"--out={out}",
                       *self.soft)
        be.send("go")
        harness.await_times(f"{out}.0", 3)
        window = self.measure_lc("one process on both", "lc")
        be.send("quit")
        self.right(be, "be-on-both")
        self.measure_kept("one process on both", harness.read_times(f"{out}.0"), window)

    def requests_on_both(self, row, cls, *hint):
        lc = self.both("lc-on-both", cls, LC_UID, f"--iters={self.lc_iters}",
                       f"--requests={self.requests}", f"--period-us={PERIOD_US}", *hint)
        if hint:
            self.crowd.start(["first", "second"])
        lc.send("go")
        self.note(row, fields(lc.expect("both requests", 120)))
        if hint:
            self.crowd.pause(["first", "second"])
        self.right(lc, row)

    def right(self, proc, name):
        status, text = proc.finish(60)
        if status or "result=right" not in text:
            self.table.check(f"{self.name}: {name}: its result", f"status {status}", "right",
                             False)
        self.rig.drop(proc)

    def rotate(self):
        """Two BE processes on the first device take turns; one on the second is unaffected."""
        self.add_be("third", FIRST)
        self.crowd.await_ready()
        self.daemon.await_tenants(self.crowd.pids())
        seconds = 3
        done = self.crowd.together(["first", "second", "third"], seconds)
        whole = self.alone_rate * seconds
        self.table.at_least("daemon: two in turn on the first device, of one alone",
                            (done["first"] + done["third"]) / whole, 0.98, "x")
        self.table.at_least("daemon: one on the second meanwhile, of one alone",
                            done["second"] / whole, 0.98, "x")

    # ---- the suite ----------------------------------------------------------

    def begin(self):
        config = PHASES[self.name]
        self.rig.daemon = None
        if config:
            self.daemon = Daemon(self.rig, "devices", config, self.users)
        self.start_lc("alone", None)
        self.start_lc("lc", "lc")
        for name, device in (("first", FIRST), ("second", SECOND)):
            self.add_be(name, device)
        self.crowd.await_ready()
        self.measure_alone_rate()

    def end(self):
        for name, proc in self.lc.items():
            proc.send("quit")
            self.right(proc, name)
        if self.crowd.procs:
            self.crowd.finish(self.table)
        if not self.daemon:
            return
        for line in self.daemon.warnings()[:5]:
            self.table.note("gpreemptd says", line)
        status = self.daemon.stop()
        self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0", status == 0)

    def run(self):
        self.begin()
        for self.number in range(self.opt.rounds):
            progress(f"devices: {self.name}: round {self.number + 1} of {self.opt.rounds}")
            self.measure_lc("alone", "alone")
            self.other_device()
            self.requests_on_both("requests on both, alone", None)
            self.requests_on_both("requests on both", "lc", f"--hint-us={HINT_US}")
            self.requests_on_both("segments on both", "lc", f"--hint-us={HINT_US}", "--segment")
        if self.daemon:
            self.rotate()
        # Without a daemon only one BE group of a device has the short slice.
        self.crowd.finish(self.table)
        for self.number in range(self.opt.rounds):
            self.best_effort_on_both()
        self.end()
        harness.progress_end()
        self.bars()

    def us(self, row, what):
        return median([r[f"{what}_ns"] for r in self.results[row]]) / 1000

    def bars(self):
        for row in self.results:
            self.table.note(f"{self.name}: {row}: p50 / p99",
                            f"{self.us(row, 'p50'):.1f} / {self.us(row, 'p99'):.1f} us")
        for row, alone in (("one of each on both", "alone"), ("one process on both", "alone"),
                           ("segments on both", "requests on both, alone")):
            for what, above in zip(("p50", "p99"), ABOVE):
                self.table.at_most(f"{self.name}: {row}: {what}", self.us(row, what),
                                   self.us(alone, what) + above, "us")
        for row, kept in self.kept.items():
            self.table.at_least(f"{self.name}: {row}: the first device keeps", median(kept),
                                KEEPS, "x")


def run(rig, opt, table):
    for name in PHASES:
        if not opt.only or name in opt.only:
            Phase(rig, opt, table, name).run()
