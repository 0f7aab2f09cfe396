#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo - one latency-critical and one best-effort process on one GPU: first
alone, then as the driver shares it, then with gpreempt, then with hints.
"""
import argparse
import os
import signal
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOP)

from bench import harness, picture     # noqa: E402
from bench.harness import BenchError, fields, progress   # noqa: E402

WINDOW_NS = 12_000_000
BEFORE_NS = 1_000_000   # the window starts so long before a request
WIDTH = 72
BE_MS = 10


class Phase:
    """One way of sharing, and its measurements."""

    def __init__(self, name, lc_class=None, be_class=None, be=True, hint_us=0,
                 how=()):
        self.name, self.be, self.hint_us, self.how = name, be, hint_us, how
        self.lc_class, self.be_class = lc_class, be_class
        self.p50 = self.p99 = self.be_rate = None
        self.samples = []
        self.pids = {}
        self.offset_ns = 0


def phases():
    return [
        Phase("LC alone", be=False),
        Phase("as the driver shares"),
        Phase("gpreempt run --no-predict", "lc", "be", how=["--no-predict"]),
        Phase("gpreempt run + hints", "lc", "be", hint_us=300),
    ]


class Demo:
    def __init__(self, rig, opt):
        self.rig, self.opt = rig, opt
        self.log = None
        self.log_error = None
        self.device = ""

    def path(self, name):
        return os.path.join(self.rig.out, f"demo-{name}")

    def calibrate(self):
        progress("demo: measuring the kernels' length")
        be = self.rig.calibrate("be", BE_MS * 1000)
        self.lc_iters = self.rig.calibrate("lc", 110)["iters"]
        self.be_iters = be["iters"]
        self.device = be["device"]

    def start_log(self):
        """The picture's source; without it there is no picture."""
        self.log = self.rig.start(self.rig.looking(
            "ctxlog", f"--out={self.path('switches.log')}"))
        try:
            self.log.expect("ready", 10)
        except BenchError:
            self.log_error = self.log.stderr() or "no answer"
            self.rig.drop(self.log)
            self.log = None

    def stop_log(self):
        if not self.log:
            return []
        status, _ = self.log.finish(20)
        if status:
            self.log_error = self.log.stderr()
            return []
        return harness.read_log(self.path("switches.log"))

    def start_be(self, phase, times):
        be = self.rig.be(f"--iters={self.be_iters}", f"--out={times}",
                         cls=phase.be_class)
        phase.pids["BE"] = fields(be.expect("ready"))["pid"]
        return be

    def run_lc(self, phase, out):
        words = [f"--iters={self.lc_iters}", f"--out={out}",
                 f"--requests={self.opt.requests}"]
        if phase.hint_us:
            words.append(f"--hint-us={phase.hint_us}")
        lc = self.rig.lc(*words, cls=phase.lc_class, how=phase.how)
        phase.pids["LC"] = fields(lc.expect("ready"))["pid"]
        result = fields(lc.expect("lc requests"))
        status, _ = lc.finish()
        if status:
            lc.fail(f"exit status {status}")
        self.rig.drop(lc)
        return result

    def run_phase(self, number, phase):
        times = self.path(f"{number}-be.times")
        out = self.path(f"{number}-lc.ns")
        # The card's log is in real time, the samples count from the boot.
        if not self.rig.soft:
            phase.offset_ns = time.time_ns() - time.monotonic_ns()
        be = self.start_be(phase, times) if phase.be else None
        result = self.run_lc(phase, out)
        phase.p50, phase.p99 = result["p50_ns"], result["p99_ns"]
        phase.samples = harness.read_samples(out)
        if be:
            status, _ = be.finish(sig=signal.SIGTERM)
            if status:
                be.fail(f"exit status {status}: its result is wrong")
            self.rig.drop(be)
            first, last = phase.samples[0][0], phase.samples[-1][2]
            phase.be_rate = harness.kernels_between(
                harness.read_times(times), first, last) / ((last - first) / 1e9)

    def run(self):
        self.calibrate()
        self.start_log()
        all_phases = phases()
        for number, phase in enumerate(all_phases):
            progress(f"demo: {number + 1} of {len(all_phases)}: {phase.name}")
            self.run_phase(number, phase)
        harness.progress_end()
        self.print_head()
        self.print_table(all_phases)
        self.print_pictures(all_phases, self.stop_log())
        self.check_effect(all_phases)

    @staticmethod
    def check_effect(all_phases):
        """Without its layer a program runs on, and only its figures tell."""
        _, shared, managed, _ = (phase.p50 for phase in all_phases)
        if managed > 0.95 * shared:
            raise BenchError(
                "gpreempt had no effect: LC's p50 is "
                f"{managed / 1000:.0f} us with it and {shared / 1000:.0f} us "
                "without it; \"gpreempt doctor\" checks what it needs")

    # ---- the output ---------------------------------------------------------

    def print_head(self):
        if self.rig.soft:
            print(f"On the {self.device}: a model of one H200, no real card."
                  "\nTimes are in its own clock, not this machine's.")
        else:
            print(f"On {self.device}; times are this machine's.")
        print("LC: every 5 ms a request of five kernels of 110 us, timed from its "
              "intended arrival.\nBE: another process, kernels of "
              f"{BE_MS} ms back to back; alone it would run "
              f"{1000 // BE_MS} a second.\n")

    @staticmethod
    def print_table(all_phases):
        alone = all_phases[0].p50
        print(f"{'':26}{'LC p50':>10}{'LC p99':>10}{'x alone':>9}"
              f"{'BE kernels/s':>14}")
        for phase in all_phases:
            rate = "-" if phase.be_rate is None else f"{phase.be_rate:.1f}"
            print(f"{phase.name:26}{phase.p50 / 1000:7.0f} us"
                  f"{phase.p99 / 1000:7.0f} us{phase.p50 / alone:9.2f}"
                  f"{rate:>14}")

    def print_pictures(self, all_phases, log):
        if not log:
            print("\nNo picture: the context-switch log may not be read here: "
                  f"{self.log_error or 'it is empty'}")
            return
        found = picture.stretches(log)
        named = any(pid for _, _, pid in found)
        ramp = picture.BLOCKS if self.opt.unicode else picture.ASCII
        print("\nWho had the GPU when, 12 ms of each, from "
              + ("the software GPU's" if self.rig.soft else "the card's own")
              + " context-switch log"
              + ("" if named else "\n(it names no process to this user: LC's is "
                 "where a request of LC ended)"))
        for phase in all_phases[1:]:
            self.print_picture(phase, found, named, ramp)

    @staticmethod
    def print_picture(phase, found, named, ramp):
        at = phase.samples[len(phase.samples) // 2][0] + phase.offset_ns
        from_ns, to_ns = at - BEFORE_NS, at - BEFORE_NS + WINDOW_NS
        near = [s for s in found if s[1] > from_ns and s[0] < to_ns]
        if not named:
            near = picture.name_by_samples(near, phase.samples,
                                           phase.offset_ns, phase.pids["LC"],
                                           phase.pids["BE"])
        print(f"\n{phase.name}")
        for who in ("LC", "BE"):
            line = picture.row(near, phase.pids[who], from_ns, to_ns, WIDTH,
                               ramp)
            print(f"  {who} |{line}|")
        print("      " + picture.scale(WINDOW_NS, WIDTH))


def can_unicode():
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--out", help="raw samples (BUILD/demo)")
    parser.add_argument("--soft", action="store_true",
                        help="on a software GPU, also where there is a card")
    parser.add_argument("--requests", type=int, default=None)
    parser.add_argument("--ascii", dest="unicode", action="store_false",
                        default=can_unicode())
    return parser.parse_args()


def main():
    opt = arguments()
    soft = (opt.soft or os.environ.get("GPREEMPT_BACKEND") == "softgpu"
            or not harness.cards())
    opt.requests = opt.requests or (100 if soft else 600)
    out = opt.out or os.path.join(opt.build, "demo")
    try:
        with harness.Rig(opt.build, out, soft, users=False) as rig:
            Demo(rig, opt).run()
    except BenchError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
