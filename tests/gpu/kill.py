# SPDX-License-Identifier: Apache-2.0
"""SUITE=kill: LC or BE is killed or stopped at random moments, also during holds. The
survivor is at full speed again about as soon as without gpreempt.

A thread of the victim raises the signal, so that its time is known in the clock of the
survivor's samples. Every third victim is killed from outside instead, at an unknown time.
Then the survivor only has to be at full speed at the end.

daemon_kill.py repeats this with gpreemptd.
"""
import os
import random
import signal
import time

import daemon_kill
from bench import harness
from bench.harness import BenchError, fields, median, progress

BATCH = 8               # victims that start together and idle
ALLOWED_MS = 50
LC_PERIOD_US = 5000
AFTER_MS = 250          # time for which the survivor is watched
LC_HINT_US = 1000       # long holds: a third of the time
REQUESTS_MORE = 20      # of LC, after a BE was killed from outside
REFERENCE_SHARE = 5     # one kill without gpreempt for so many with it

CASES = {
    "lc-killed": ("lc", signal.SIGKILL),
    "lc-stopped": ("lc", signal.SIGSTOP),
    "be-killed": ("be", signal.SIGKILL),
    "be-stopped": ("be", signal.SIGSTOP),
}


def names():
    return [*CASES, *daemon_kill.names()]


class Kill:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.random = random.Random(opt.seed)
        self.be_iters = rig.calibrate("be", opt.be_kernel_us)["iters"]
        self.lc_iters = rig.calibrate("lc", 110)["iters"]
        self.lc_alone_us = None
        self.be_alone_ns = None
        self.sequence = 0

    # ---- processes ----------------------------------------------------------

    def start_lc(self, ours, name):
        return self.rig.lc("--control", f"--iters={self.lc_iters}",
                           cls="lc" if ours else None, name=name)

    def start_be(self, ours, name, *args):
        return self.rig.be("--control", f"--iters={self.be_iters}", *args,
                           cls="be" if ours else None, name=name)

    def lc_line(self, requests, ours, *more):
        words = [f"--requests={requests}", f"--period-us={LC_PERIOD_US}",
                 "--warmup=0"]
        if ours:
            words += [f"--hint-us={LC_HINT_US}", "--segment"]
        return " ".join([*words, *more])

    def end(self, proc, sig=None):
        if sig is not None:
            proc.kill(sig)
        proc.destroy()
        self.rig.procs.remove(proc)

    # ---- undisturbed speed of each ------------------------------------------

    def measure_alone(self):
        lc = self.start_lc(False, "lc alone")
        lc.expect("ready")
        lc.send(self.lc_line(100, False))
        self.lc_alone_us = fields(lc.expect("lc requests"))["p50_ns"] / 1000
        self.end(lc)
        path = os.path.join(self.rig.out, "kill-be-alone.times")
        be = self.rig.be(f"--iters={self.be_iters}", "--kernels=20",
                         f"--out={path}")
        be.finish()
        self.rig.drop(be)
        times = harness.read_times(path)
        self.be_alone_ns = median([b - a for a, b in zip(times, times[1:])])
        self.table.note("alone: LC p50, BE kernel",
                        f"{self.lc_alone_us:.0f} us, "
                        f"{self.be_alone_ns / 1e6:.2f} ms")

    def be_recovery_ns(self, times, died_ns):
        """Time from the death to the start of two consecutive kernels at full speed; None:
        never. A kernel that ran at the death counts from the death on."""
        steps = list(zip(times, times[1:]))
        fast = [b - a <= 1.1 * self.be_alone_ns for a, b in steps]
        for i, (start, end) in enumerate(steps[:-1]):
            if end > died_ns and fast[i] and fast[i + 1]:
                return max(start - died_ns, 0)
        return None

    def lc_recovery_ns(self, samples, died_ns):
        """Time to the first of three consecutive requests that are as fast as alone."""
        limit_ns = (self.lc_alone_us + 80) * 1000
        fast = [end - at <= limit_ns for at, _, end, _ in samples]
        for i, (at, _, _, _) in enumerate(samples[:-2]):
            if at >= died_ns and all(fast[i:i + 3]):
                return at - died_ns
        return None

    # ---- one case -----------------------------------------------------------

    def moments(self, count):
        """(µs after the victim's start, killed from outside?)"""
        return [(self.random.randrange(60000, 250000), i % 3 == 2)
                for i in range(count)]

    def die_words(self, moment, sig):
        after_us, outside = moment
        if outside:
            return []
        return [f"--die-after-us={after_us}", f"--die-signal={int(sig)}"]

    def await_death(self, victim, moment, sig):
        """The time of the death, in the bench's clock; None: killed from outside."""
        after_us, outside = moment
        if outside:
            time.sleep(after_us / 1e6)
            victim.kill(sig)
            return None
        return fields(victim.expect("dying", 30))["at_ns"]

    def batches(self, count):
        moments = self.moments(count)
        for at in range(0, count, BATCH):
            yield moments[at:at + BATCH]

    def lc_dies(self, ours, sig, count):
        """Recoveries (ns, None: never) of one BE process that survives all victims."""
        path = self.path(f"be-{'ours' if ours else 'plain'}.times")
        be = self.start_be(ours, "surviving be", f"--out={path}")
        be.expect("paused")
        be.send("go")
        found = []
        for moments in self.batches(count):
            victims = [self.start_lc(ours, "lc") for _ in moments]
            for victim in victims:
                victim.expect("ready")
            for victim, moment in zip(victims, moments):
                victim.send(self.lc_line(100000, ours,
                                         *self.die_words(moment, sig)))
                died_ns = self.await_death(victim, moment, sig)
                found.append(self.watch_be(path, died_ns))
                self.end(victim)
        self.finish_right(be, "go on", found)
        return found

    def watch_be(self, path, died_ns):
        """Let BE complete more kernels, then compute its recovery."""
        more = int(AFTER_MS * 1e6 / self.be_alone_ns)
        had = len(harness.read_times(path))
        end = time.monotonic() + 20
        while len(harness.read_times(path)) < had + more:
            if time.monotonic() > end:
                return None
            time.sleep(0.01)
        times = harness.read_times(path)
        if died_ns is not None:
            return self.be_recovery_ns(times, died_ns)
        last = times[-1] - self.be_alone_ns * 4
        return 0 if self.be_recovery_ns(times, last) is not None else None

    def be_dies(self, ours, sig, count):
        lc = self.start_lc(ours, "surviving lc")
        lc.expect("ready")
        requests = (250 + AFTER_MS + 50) * 1000 // LC_PERIOD_US
        found = []
        for moments in self.batches(count):
            victims = []
            for moment in moments:
                victim = self.start_be(ours, "be", *self.die_words(moment, sig))
                victim.expect("paused")
                victims.append(victim)
            for victim, moment in zip(victims, moments):
                path = self.path("lc.ns")
                victim.send("go")
                lc.send(self.lc_line(requests, ours, f"--out={path}"))
                died_ns = self.await_death(victim, moment, sig)
                lc.expect("lc requests", 60)
                if died_ns is None:
                    # Its requests may have ended before the death. More requests are certainly
                    # after it, and the recovery counts from the first of them.
                    lc.send(self.lc_line(REQUESTS_MORE, ours, f"--out={path}"))
                    lc.expect("lc requests", 60)
                samples = harness.read_samples(path)
                if died_ns is None:
                    died_ns = samples[0][0]
                found.append(self.lc_recovery_ns(samples, died_ns))
                self.end(victim)
        self.finish_right(lc, "quit", found)
        return found

    def path(self, tail):
        self.sequence += 1
        return os.path.join(self.rig.out, f"kill-{self.sequence:04d}-{tail}")

    def finish_right(self, survivor, word, found):
        """End the survivor and check its result, which all recoveries depend on."""
        if word == "quit":
            survivor.send("quit")
            status, _ = survivor.finish()
        else:
            status, _ = survivor.finish(sig=signal.SIGTERM)
        self.rig.drop(survivor)
        if status:
            found.append(None)

    def case(self, name):
        victim, sig = CASES[name]
        how = self.lc_dies if victim == "lc" else self.be_dies
        count = max(self.opt.kills // len(CASES), 4)
        progress(f"kill: {name}: {count // REFERENCE_SHARE + 3} without gpreempt")
        plain = how(False, sig, count // REFERENCE_SHARE + 3)
        progress(f"kill: {name}: {count} with gpreempt")
        ours = how(True, sig, count)
        lost = sum(t is None for t in ours)
        self.table.check(f"{name}: survivors that stayed slow or went wrong",
                         f"{lost} of {len(ours)}", "0", lost == 0)
        known = [t / 1e6 for t in plain if t is not None]
        times = [t / 1e6 for t in ours if t is not None]
        if not known or not times:
            raise BenchError(f"{name}: nothing to compare with: no survivor of "
                             "the same kill got back to full speed")
        self.table.note(f"{name}: back at full speed, p50 / max",
                        f"{median(times):.1f} / {max(times):.1f} ms; without "
                        f"gpreempt {median(known):.1f} / {max(known):.1f} ms")
        self.table.at_most(f"{name}: slowest", max(times),
                           median(known) + ALLOWED_MS, "ms")

    def later_runs(self):
        """At the end, a pair of new processes works as before."""
        be = self.rig.be(f"--iters={self.be_iters}", "--kernels=30", cls="be")
        lc = self.rig.lc(f"--iters={self.lc_iters}", "--requests=40",
                         "--hint-us=300", "--segment", cls="lc")
        status = [be.finish()[0], lc.finish()[0]]
        for proc in (be, lc):
            self.rig.drop(proc)
        self.table.check("a later run of both", f"exit {status}", "exit [0, 0]",
                         status == [0, 0])

    def run(self):
        self.measure_alone()
        for name in CASES:
            if not self.opt.only or name in self.opt.only:
                self.case(name)
        self.later_runs()
        harness.progress_end()


def run(rig, opt, table):
    if not opt.only or set(opt.only) & set(CASES):
        Kill(rig, opt, table).run()
    if not opt.only or set(opt.only) & set(daemon_kill.names()):
        daemon_kill.run(rig, opt, table)
