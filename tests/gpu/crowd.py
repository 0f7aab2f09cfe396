# SPDX-License-Identifier: Apache-2.0
"""BE processes that run together for a while, and the work that each completes."""
import os
import time

from bench import harness
from bench.harness import BE_UID, BenchError


SETTLE_S = 0.3


class Crowd:
    """Processes that start once and idle until "go"."""

    def __init__(self, rig, kernel_us):
        self.rig = rig
        # On a software GPU only real computing takes time, so blocks are few.
        self.args = ["--blocks=2"] if rig.soft else []
        self.calibrated = rig.calibrate("be", kernel_us, *self.args)
        self.args.append(f"--iters={self.calibrated['iters']}")
        self.procs = {}

    def path(self, name):
        return os.path.join(self.rig.out, f"{name}.times")

    def add(self, name, cls="be", *more, env=None):
        """@cls None: the process runs without gpreempt."""
        argv = [self.rig.program("be"), "--control", f"--out={self.path(name)}",
                *self.args, *more]
        self.procs[name] = self.rig.start(argv, cls, BE_UID, env, name)
        return self.procs[name]

    def await_ready(self):
        for proc in self.procs.values():
            if proc.app_pid is None:
                proc.expect("ready", 120)
                proc.expect("paused", 60)

    def pids(self):
        return [proc.app_pid for proc in self.procs.values()]

    def times(self, name):
        return harness.read_times(self.path(name))

    def go(self, names):
        for name in names:
            self.procs[name].send("go")

    def pause(self, names):
        for name in names:
            self.procs[name].send("pause")
        for name in names:
            self.procs[name].expect("paused", 60)

    def await_kernels(self, names, had, more, timeout_s=60):
        """Wait until each has completed @more kernels beyond @had."""
        end = time.monotonic() + timeout_s
        for name in names:
            while len(self.times(name)) < had[name] + more:
                if time.monotonic() > end:
                    raise BenchError(f"{name}: no {more} kernels in {timeout_s} s")
                time.sleep(0.01)

    def start(self, names):
        """Let them go, and wait until each runs and gpreempt has settled. Returns that
        time, in their clock."""
        had = {name: len(self.times(name)) for name in names}
        self.go(names)
        self.await_kernels(names, had, 2)
        time.sleep(SETTLE_S)
        return max(self.times(name)[-1] for name in names)

    def together(self, names, window_s, timeout_s=120):
        """name -> kernels completed in @window_s, by the processes' clock."""
        start_ns = self.start(names)
        end_ns = start_ns + int(window_s * 1e9)
        end = time.monotonic() + timeout_s + window_s
        while max(self.times(name)[-1] for name in names) < end_ns:
            if time.monotonic() > end:
                raise BenchError(f"{window_s} s of the GPU's clock took too long")
            time.sleep(0.05)
        self.pause(names)
        return {name: harness.kernels_between(self.times(name), start_ns, end_ns)
                for name in names}

    def finish(self, table):
        """End all, and check their results."""
        for name, proc in self.procs.items():
            proc.send("quit")
        for name, proc in self.procs.items():
            status, text = proc.finish(60)
            if status or "result=right" not in text:
                table.check(f"{name}: its result", f"status {status}", "right",
                            False)
            self.rig.drop(proc)
        self.procs = {}
