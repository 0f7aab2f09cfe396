# SPDX-License-Identifier: Apache-2.0
"""SUITE=share: gpreemptd's policies give the configured shares: weights, caps, and BE's
minimum beside endless LC work."""
import os

from bench import harness
from bench.harness import progress
from crowd import Crowd
from daemon import Daemon

WITHIN = 0.02
MIN_PCT, MIN_BAR_PCT = 5, 4.9
ROWS = {"weights": ("fair", {"be:100": 1 / 7, "be:200": 2 / 7, "be:400": 4 / 7}),
        "caps": ("credit", {"be,cap=20%": 0.2, "be,cap=30%": 0.3, "be,cap=50%": 0.5})}


def names():
    return [*ROWS, "minimum"]


class Share:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.quantum_ms = 50
        self.seconds = opt.seconds or (6 if rig.soft else 30)
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)
        self.alone = None           # kernels a second

    def measure_alone(self):
        self.crowd.add("be-alone", None)
        self.crowd.await_ready()
        seconds = 0.3 if self.rig.soft else 3
        self.alone = self.crowd.together(["be-alone"], seconds)["be-alone"] / seconds
        self.table.note("one BE alone", f"{self.alone:.1f} kernels/s")
        self.crowd.finish(self.table)

    def daemon(self, name, config):
        users = [harness.BE_UID if self.rig.users else os.geteuid()]
        return Daemon(self.rig, f"share-{name}",
                      f"be_quantum: {self.quantum_ms}ms\n{config}", users)

    def keep(self, name, done, used):
        path = os.path.join(self.rig.out, f"share-{name}.kernels")
        with open(path, "w") as f:
            f.writelines(f"{who} {kernels:.3f} kernels, {used[who]} ns by the daemon\n"
                         for who, kernels in done.items())

    def used_ns(self, daemon):
        """name -> the time that the daemon charged."""
        with daemon.connect() as c:
            tenants = c.tenants()
        return {name: tenants[proc.app_pid]["used_ns"]
                for name, proc in self.crowd.procs.items()}

    def end(self, daemon):
        self.crowd.finish(self.table)
        for line in daemon.warnings()[:3]:
            self.table.note("gpreemptd says", line)
        status = daemon.stop()
        if status:
            self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0", False)

    def row(self, name):
        policy, shares = ROWS[name]
        progress(f"share: {name}: {self.seconds} s")
        daemon = self.daemon(name, f"be_policy: {policy}\n")
        for i, cls in enumerate(shares):
            self.crowd.add(f"{name}-{i}", cls)
        self.crowd.await_ready()
        daemon.await_tenants(self.crowd.pids())
        before = self.used_ns(daemon)
        done = self.crowd.together(list(self.crowd.procs), self.seconds)
        used = {who: ns - before[who] for who, ns in self.used_ns(daemon).items()}
        self.keep(name, done, used)
        all_kernels, all_ns = sum(done.values()), max(sum(used.values()), 1)
        # A cap is a share of the device, a weight one of all tenants' time.
        whole = all_kernels if name == "weights" else self.alone * self.seconds
        for who, (cls, share) in zip(done, shares.items()):
            part = done[who] / whole
            self.table.check(f"{name}: {cls}", f"{100 * part:.2f} %",
                             f"{100 * share:.2f} % +- {100 * WITHIN:.0f} %",
                             abs(part / share - 1) <= WITHIN)
            self.table.note(f"{name}: {cls}, by the daemon's account",
                            f"{100 * used[who] / all_ns:.2f} % of what all used")
        self.end(daemon)

    def minimum(self):
        """BE's minimum beside an LC process that always has kernels queued."""
        progress(f"share: minimum: {self.seconds} s")
        daemon = self.daemon("minimum", f"be_min_pct: {MIN_PCT}\n")
        self.crowd.add("endless-lc", "lc")
        self.crowd.add("minimum-be")
        self.crowd.await_ready()
        daemon.await_tenants(self.crowd.pids())
        self.crowd.go(["endless-lc"])
        done = self.crowd.together(["minimum-be"], self.seconds, 600)
        self.crowd.pause(["endless-lc"])
        share = 100 * done["minimum-be"] / (self.alone * self.seconds)
        self.table.at_least("minimum: BE beside endless LC", share, MIN_BAR_PCT, "%")
        self.end(daemon)

    def run(self):
        self.measure_alone()
        for name in ROWS:
            if not self.opt.only or name in self.opt.only:
                self.row(name)
        if not self.opt.only or "minimum" in self.opt.only:
            self.minimum()
        harness.progress_end()


def run(rig, opt, table):
    Share(rig, opt, table).run()
