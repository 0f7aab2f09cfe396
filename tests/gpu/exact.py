# SPDX-License-Identifier: Apache-2.0
"""SUITE=exact: six kinds of BE program, each preempted thousands of times, give the same
bits as undisturbed."""
import os

from bench import harness
from bench.harness import BE_UID, fields, progress

KINDS = ["plain", "smem", "tensor", "coop", "graph", "live"]
PERIOD_US = 5000
PREEMPTIONS = 2000
LIVE_REGISTERS = range(248, 256)    # of a thread of "live": up to the hardware's maximum


def names():
    return KINDS


class Exact:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.lc_iters = rig.calibrate("lc", 110)["iters"]

    def alone(self, kind):
        """Iterations of a 10 ms kernel, and the undisturbed checksum."""
        progress(f"exact: {kind}: undisturbed")
        found = self.rig.calibrate("be", self.opt.be_kernel_us, f"--kind={kind}")
        iters = found["iters"]
        if kind == "live" and not self.opt.soft:    # a software GPU compiles nothing
            self.table.check("live: registers a thread, by cuFuncGetAttribute",
                             str(found["registers"]),
                             f"{LIVE_REGISTERS[0]} to {LIVE_REGISTERS[-1]}",
                             int(found["registers"]) in LIVE_REGISTERS)
        result = self.rig.output([self.rig.program("be"), *self.args(kind, iters)],
                                 timeout_s=120, user=BE_UID)
        return iters, result

    def args(self, kind, iters):
        return [f"--kind={kind}", f"--iters={iters}",
                f"--kernels={self.opt.kernels}"]

    def requests(self):
        """A few requests less than BE's run would need. BE keeps about 0.82 of the device
        (docs/results.md)."""
        us = self.opt.kernels * self.opt.be_kernel_us / 0.84
        return max(int(us / PERIOD_US), 10)

    def disturb(self, lc):
        """Half the preemptions are by slices alone, half by hints."""
        half = self.requests() // 2
        for hint_us in (0, 300):
            lc.send(f"--requests={half} --hint-us={hint_us} "
                    f"--period-us={PERIOD_US} --iters={self.lc_iters}")

    def disturbed(self, kind, iters):
        progress(f"exact: {kind}: disturbed")
        path = os.path.join(self.rig.out, f"exact-{kind}.log")
        log = self.rig.start(self.rig.looking("ctxlog", f"--out={path}"))
        lc = self.rig.lc("--control", f"--iters={self.lc_iters}", cls="lc")
        lc.expect("ready")
        be = self.rig.be(*self.args(kind, iters), cls="be")
        pid = fields(be.expect("ready"))["pid"]
        self.disturb(lc)
        status, text = be.finish(180)
        if status not in (0, 1):
            be.fail(f"exit status {status}")
        result = fields(text.strip().splitlines()[-1])
        for _ in range(2):
            lc.expect("lc requests", 120)
        lc.send("quit")
        lc_status, _ = lc.finish()
        status, _ = log.finish()
        for proc in (log, lc, be):
            self.rig.drop(proc)
        if status:
            raise harness.BenchError("ctxlog failed: no count of preemptions")
        return result, lc_status, self.count(path, pid)

    @staticmethod
    def count(path, pid):
        """(preemptions of pid, records lost)."""
        log = harness.read_log(path)
        lost = sum(row[4] for row in log if row[1] == "lost")
        if any(row[2] for row in log):
            return harness.preemptions(log, pid), lost
        # The log has no PIDs. LC and BE alternate, so two starts are one preemption.
        return sum(row[1] == "start" for row in log) // 2, lost

    def one(self, kind):
        iters, alone = self.alone(kind)
        result, lc_status, (cuts, lost) = self.disturbed(kind, iters)
        bar = min(PREEMPTIONS, self.requests() * 9 // 10)
        self.table.check(f"{kind}: preemptions in the context-switch log",
                         f"{cuts}" + (f" ({lost} records lost)" if lost else ""),
                         f">= {bar}", cuts >= bar)
        self.table.check(f"{kind}: checksum of {alone['kernels']} kernels",
                         str(result["checksum"]), str(alone["checksum"]),
                         result["checksum"] == alone["checksum"] and
                         result["kernels"] == alone["kernels"])
        self.table.check(f"{kind}: against the CPU, and LC's",
                         f"{result['result']}, LC exit {lc_status}",
                         "right, LC exit 0",
                         result["result"] == "right" and not lc_status)

    def run(self):
        for kind in KINDS:
            if not self.opt.only or kind in self.opt.only:
                self.one(kind)
        harness.progress_end()


def run(rig, opt, table):
    Exact(rig, opt, table).run()
