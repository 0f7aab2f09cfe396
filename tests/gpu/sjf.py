# SPDX-License-Identifier: Apache-2.0
"""SUITE=sjf: three LC processes of one level with requests at random moments, beside BE.
The suite measures the short one under both policies. With lc_policy level, processes of
one level run one after the other. With sjf, the short one waits for no longer one."""
import os

from bench import harness
from bench.harness import BenchError, LC_UID, fields, progress, rank
from crowd import Crowd
from daemon import Daemon

# Kernels of 1 ms in a request. Requests of each are 40 ms apart on average: 42 % load.
KERNELS = {"short": 1, "middle": 4, "long": 12}
PERIOD_US = 40000
POLICIES = ["level", "sjf"]
# Added time of a more urgent request without hints, for two preemptions of longer ones.
CUTS_US = 2 * 700


def names():
    return POLICIES


class Equals:
    def __init__(self, rig, opt, table, policy):
        self.rig, self.table, self.policy = rig, table, policy
        self.requests = 75 if rig.soft else 400
        self.kernel = rig.calibrate("lc", 1000)
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)
        self.procs = {}

    def path(self, name, how):
        return os.path.join(self.rig.out, f"sjf-{self.policy}-{name}-{how}.ns")

    def start(self, seed):
        user = LC_UID if self.rig.users else os.geteuid()
        self.daemon = Daemon(self.rig, f"sjf-{self.policy}", f"lc_policy: {self.policy}\n", [user])
        self.crowd.add("be")
        for number, name in enumerate(KERNELS):
            self.procs[name] = self.rig.lc("--control", f"--iters={self.kernel['iters']}",
                                           f"--seed={seed + number}", cls="lc:0", name=name,
                                           how=["--no-predict"])
            self.procs[name].expect("ready", 120)
        self.crowd.await_ready()
        self.daemon.await_tenants(self.crowd.pids() + [p.app_pid for p in self.procs.values()])

    def send(self, name, how):
        self.procs[name].send(" ".join([
            f"--period-us={PERIOD_US}", "--arrivals=poisson", f"--kernels={KERNELS[name]}",
            "--warmup=20", f"--requests={self.requests}", f"--out={self.path(name, how)}"]))

    def await_result(self, name):
        result = fields(self.procs[name].expect("lc requests", 300))
        if result["result"] != "right":
            self.table.check(f"{name}: results", "WRONG", "right", False)

    def took_us(self, name, how):
        """p50 and p95, as there are too few requests for p99."""
        took = [(end - at) / 1000 for at, _, end, _ in
                harness.read_samples(self.path(name, how))]
        return rank(took, 500), rank(took, 950)

    def measure(self):
        for name in KERNELS:
            progress(f"sjf: {self.policy}: {name} alone")
            self.send(name, "alone")
            self.await_result(name)
        progress(f"sjf: {self.policy}: all")
        self.crowd.start(["be"])
        for name in KERNELS:
            self.send(name, "all")
        for name in KERNELS:
            self.await_result(name)
        self.crowd.pause(["be"])

    def tell(self):
        for name in KERNELS:
            alone, together = self.took_us(name, "alone"), self.took_us(name, "all")
            self.table.note(f"{self.policy}: {name}: p50 / p95, alone",
                            "{:.0f} / {:.0f} us, {:.0f} / {:.0f}".format(*together, *alone))
        if self.policy == "sjf":
            self.table.at_most("sjf: short: p95 beyond alone",
                               self.took_us("short", "all")[1] - self.took_us("short", "alone")[1],
                               CUTS_US, "us")

    def finish(self):
        for proc in self.procs.values():
            self.rig.quit(proc)
        self.crowd.finish(self.table)
        status = self.daemon.stop()
        if status:
            raise BenchError(f"gpreemptd: exit status {status}")


def run(rig, opt, table):
    for policy in POLICIES:
        if opt.only and policy not in opt.only:
            continue
        equals = Equals(rig, opt, table, policy)
        equals.start(opt.seed)
        equals.measure()
        harness.progress_end()
        equals.tell()
        equals.finish()
