# SPDX-License-Identifier: Apache-2.0
"""SUITE=edf: periodic LC processes with deadlines that gpreemptd has admitted, BE beside
them, and processes that it must refuse."""
import os
import time

from bench import harness
from bench.harness import BenchError, LC_UID, fields, progress
from crowd import Crowd
from daemon import Daemon

# Period, deadline, and kernels of 1 ms: 20, 25 and 25 % of the device.
TASKS = {"a": (20, 10, 4), "b": (40, 25, 10), "c": (60, 60, 15)}
SWITCH_US = 300             # of each request, beyond its work
# load: too much of the device; deadline: others would miss their deadlines.
REFUSED = {"load": "lc:0,period=50ms,deadline=40ms,runtime=20ms",
           "deadline": "lc:0,period=1s,deadline=9ms,runtime=8ms"}
MAY = "lc:0,period=1ms,deadline=1ms,runtime=1ms"    # the whole device
CONFIG = "lc_policy: edf\nbe_min_pct: 0\n"


def names():
    return ["deadlines", *(f"refused-{name}" for name in REFUSED)]


class Edf:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.seconds = opt.seconds or (3 if rig.soft else 60)
        self.alone_s = min(self.seconds, 3)
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)
        self.kernel = rig.calibrate("lc", 1000)
        self.procs = {}

    def cls(self, name):
        period, deadline, kernels = TASKS[name]
        runtime_us = kernels * self.kernel["kernel_ns"] // 1000 + SWITCH_US
        return (f"lc:0,period={period}ms,deadline={deadline}ms,"
                f"runtime={runtime_us}us")

    def start_lc(self, name, cls):
        proc = self.rig.lc("--control", f"--iters={self.kernel['iters']}", cls=cls,
                           name=name)
        proc.expect("ready", 120)
        return proc

    def start(self):
        self.crowd.add("be")
        for name in TASKS:
            self.procs[name] = self.start_lc(name, self.cls(name))
        self.crowd.await_ready()
        self.daemon.await_tenants(
            self.crowd.pids() + [p.app_pid for p in self.procs.values()])
        refused = [line for line in self.daemon.warnings() if "does not get" in line]
        self.table.check("three that fit", f"{len(refused)} refused", "0 refused",
                         not refused)

    def line(self, name, path, seconds):
        period, _, kernels = TASKS[name]
        return " ".join([f"--period-us={period * 1000}", f"--kernels={kernels}",
                         "--warmup=5", f"--requests={int(seconds * 1000 / period)}",
                         "--segment", f"--out={path}"])

    def path(self, name, how):
        return os.path.join(self.rig.out, f"edf-{name}-{how}.ns")

    def send(self, name, how, seconds):
        self.procs[name].send(self.line(name, self.path(name, how), seconds))

    def missed(self, name, how):
        """(missed deadlines, requests, slowest in ms)"""
        limit_ns = TASKS[name][1] * 1000000
        took = [end - at for at, _, end, _ in
                harness.read_samples(self.path(name, how))]
        return sum(t > limit_ns for t in took), len(took), max(took) / 1e6

    def await_result(self, name, seconds):
        result = fields(self.procs[name].expect("lc requests", 120 + 5 * seconds))
        if result["result"] != "right":
            self.table.check(f"{name}: results", "WRONG", "right", False)

    def deadlines(self):
        for name in TASKS:
            progress(f"edf: {name} alone")
            self.send(name, "alone", self.alone_s)
            self.await_result(name, self.alone_s)
        progress(f"edf: all, {self.seconds} s")
        self.crowd.start(["be"])
        for name in TASKS:
            self.send(name, "all", self.seconds)
        for name in TASKS:
            self.await_result(name, self.seconds)
        self.crowd.pause(["be"])
        for name, (period, deadline, kernels) in TASKS.items():
            alone, _, slowest_alone = self.missed(name, "alone")
            missed, count, slowest = self.missed(name, "all")
            what = f"{name}: {kernels} ms every {period}, due after {deadline}"
            self.table.note(f"{what}: slowest, alone",
                            f"{slowest:.2f} ms, {slowest_alone:.2f} ms")
            self.table.check(f"{what}: missed", f"{missed} of {count}",
                             f"0 ({alone} alone)", missed <= alone)

    def refused(self, name):
        """A refused process runs with the class of its rule. The daemon and gpreempt run
        report the reason."""
        seen = len(self.daemon.warnings())
        proc = self.start_lc(f"refused {name}", REFUSED[name])
        end = time.monotonic() + 10
        reason = ""
        while not reason and time.monotonic() < end:
            reason = next((line for line in self.daemon.warnings()[seen:]
                           if f"process {proc.app_pid} " in line), "")
            time.sleep(0.1)
        with self.daemon.connect() as c:
            tenant = c.tenants().get(proc.app_pid)
        said = next((line for line in proc.stderr().splitlines()
                     if "refused" in line), "")
        self.table.note(f"refused: {name}", (reason.split(": ", 2) + ["-"])[2][:110])
        self.table.check(f"refused: {name}: reason, said to it, its class",
                         f"{'said' if reason else 'none'}, "
                         f"{'said' if said else 'not'}, "
                         f"{tenant['cls'] if tenant else '-'}", "said, said, none",
                         bool(reason and said and tenant and tenant["cls"] == "none"))
        self.rig.quit(proc)

    def run(self):
        user = LC_UID if self.rig.users else os.geteuid()
        self.daemon = Daemon(self.rig, "edf", CONFIG, [user], MAY)
        self.start()
        if not self.opt.only or "deadlines" in self.opt.only:
            self.deadlines()
        for name in REFUSED:
            if not self.opt.only or f"refused-{name}" in self.opt.only:
                self.refused(name)
        harness.progress_end()
        for proc in self.procs.values():
            self.rig.quit(proc)
        self.crowd.finish(self.table)
        status = self.daemon.stop()
        if status:
            raise BenchError(f"gpreemptd: exit status {status}")


def run(rig, opt, table):
    Edf(rig, opt, table).run()
