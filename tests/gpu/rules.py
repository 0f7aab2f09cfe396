# SPDX-License-Identifier: Apache-2.0
"""SUITE=rules: processes that start without gpreempt get their rule's class in time. The
time is between two records of gpreemptd's trace. The first is the process's first stretch
on the device, by the hardware's log, when its channel groups exist. The second is the
first executed control on them."""
import os
import sys
import time

from bench import harness
from bench.harness import BE_UID, BenchError, median, progress
from crowd import Crowd
from daemon import JOIN, SLICE, START, SUSPEND, Daemon

WITHIN_MS = 100
CONFIG = """rules:
  - exe: {be}
    class: be:50
  - exe: {python}
    class: be:70
"""
PROGRAMS = {"be": 50, "pytorch": 70}    # with their rules' weights


def names():
    return list(PROGRAMS)


class Rules:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.crowd = Crowd(rig, 2000 if rig.soft else opt.be_kernel_us)
        self.count = 3 if rig.soft else 10

    def start(self, program):
        if program == "be":
            argv = [self.rig.program("be"), *self.crowd.args]
        else:
            argv = [sys.executable, self.rig.program("resnet.py")]
        return self.rig.start(argv, None, BE_UID, name=f"unaware {program}")

    def await_class(self, trace, pid):
        """(first stretch of @pid on the device, first control on it) in ns. The log is
        late, so this reads on until it has the first stretch."""
        first, joined, controlled = None, None, None
        end = time.monotonic() + 60
        while first is None or controlled is None:
            if time.monotonic() > end:
                raise BenchError(f"process {pid}: first stretch {first}, joined "
                                 f"{joined}, first control {controlled}")
            for at, kind, who, _ in trace.trace_read(0.2):
                if who != pid:
                    continue
                if kind == START:
                    first = min(at, first or at)
                elif kind == JOIN:
                    joined = at
                elif kind in (SLICE, SUSPEND) and joined and not controlled:
                    controlled = at
        return first, controlled

    def once(self, program):
        with self.daemon.connect() as trace:
            trace.trace_start()
            proc = self.start(program)
            first, controlled = self.await_class(trace, proc.pid)
        with self.daemon.connect() as c:
            tenant = c.tenants()[proc.pid]
        got = f"{tenant['cls']}:{tenant['value']}"
        if got != f"be:{PROGRAMS[program]}":
            self.table.check(f"{program}: its class", got, f"be:{PROGRAMS[program]}",
                             False)
        proc.kill()
        self.rig.drop(proc)
        return (controlled - first) / 1e6

    def program(self, program, count):
        took_ms = []
        for number in range(count):
            progress(f"rules: {program}: {number + 1} of {count}")
            took_ms.append(self.once(program))
        with open(os.path.join(self.rig.out, f"rules-{program}.ms"), "w") as f:
            f.writelines(f"{ms:.3f}\n" for ms in took_ms)
        self.table.note(f"{program}: from its first stretch to its class, median",
                        f"{median(took_ms):.1f} ms of {count}")
        if self.rig.soft:       # discovery runs in real time, the trace in virtual time
            self.table.note(f"{program}: longest", f"{max(took_ms):.1f} ms (no bar here)")
        else:
            self.table.at_most(f"{program}: longest", max(took_ms), WITHIN_MS, "ms")

    def run(self):
        config = CONFIG.format(be=os.path.realpath(self.rig.program("be")),
                               python=os.path.realpath(sys.executable))
        self.daemon = Daemon(self.rig, "rules", config, None)
        # Another process works all the time, as gpreemptd watches a lone one less closely.
        self.crowd.add("other")
        self.crowd.await_ready()
        self.daemon.await_tenants(self.crowd.pids())
        self.crowd.start(["other"])
        only = self.opt.only
        if not only or "be" in only:
            self.program("be", self.count)
        if not self.rig.soft and (not only or "pytorch" in only):
            self.program("pytorch", 3)
        self.crowd.pause(["other"])
        harness.progress_end()
        self.crowd.finish(self.table)
        status = self.daemon.stop()
        self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0",
                         status == 0)


def run(rig, opt, table):
    Rules(rig, opt, table).run()
