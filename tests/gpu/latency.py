# SPDX-License-Identifier: Apache-2.0
"""SUITE=latency: the latency of an LC process and the rate that BE keeps beside it, in
interleaved rounds.

Every process starts once and idles between its rows. So start-up is not measured, and
only the two processes of a row have work.
"""
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from bench import harness
from bench.harness import BenchError, LC_UID, BE_UID, fields, median, progress

ALONE_S = 3                 # time for which BE's rate alone is counted
ATTACHES = 5
MPS_SECONDS = 3             # a backlog grows under MPS: the row ends early, and notes it


@dataclass
class Row:
    """One row of the table: an LC process, the BE beside it, its options."""
    name: str
    lc: str
    be: str = ""
    load: str = "five"      # kind of requests: five, poisson, segment, rush, resnet
    args: str = ""
    requests: int = 2000
    extra: bool = False         # runs only if --only names it


ROWS = [
    Row("alone", "lc"),
    Row("stock", "lc", "be-stock"),
    Row("mps", "lc-mps", "be-mps", args=f"--max-seconds={MPS_SECONDS}"),
    Row("no-hint", "lc-plain", "be-gp"),
    Row("learned", "lc-gp", "be-gp"),
    Row("poisson-plain", "lc-plain", "be-gp", "poisson", "--arrivals=poisson"),
    Row("poisson", "lc-gp", "be-gp", "poisson", "--arrivals=poisson"),
    Row("hint", "lc-hint", "be-gp", args="--hint-us=300"),
    Row("segment-alone", "lc", load="segment"),
    Row("segment", "segment-gp", "be-gp", "segment", "--segment"),
    Row("segment-hint", "segment-hint", "be-gp", "segment",
        "--segment --hint-us=250"),
    # All requests are late: each begins at the end of the last.
    Row("rush", "segment-gp", "be-gp", "rush", "--segment", extra=True),
    Row("resnet-alone", "resnet", load="resnet"),
    Row("resnet-plain", "resnet-plain", "be-gp", "resnet", extra=True),
    Row("resnet", "resnet-gp", "be-gp", "resnet"),
    Row("resnet-hold", "resnet-auto", "be-gp", "resnet", extra=True),
    Row("resnet-hint", "resnet-hint", "be-gp", "resnet", "--hint-us=300"),
]
EXTRA = ["attach", "cost"]
PERIOD_US = {"five": 5000, "poisson": 2000, "segment": 2000, "rush": 100, "resnet": 2000}
SERVICE_MS = 5              # of a rush's request, at most: a hold at its limit takes 20
# Options of gpreempt run, by the end of an LC process's name. Without hints gpreempt
# predicts, unless an option disables that.
HOW = {"-plain": ["--no-predict"], "-gp": [], "-hint": [], "-auto": ["--auto-hold"]}


def names():
    return [row.name for row in ROWS] + EXTRA


def needed(only):
    """The rows that --only names, and the alone row that each is compared with."""
    if not only:
        return [row for row in ROWS if not row.extra]
    loads = {row.load for row in ROWS if row.name in only}
    return [row for row in ROWS if row.name in only or
            (row.load in loads and not row.be)]


class Mps:
    """A private MPS pool for one ordinary user."""

    def __init__(self, rig):
        self.rig = rig
        self.dir = os.path.join(rig.scratch, "mps")
        os.makedirs(self.dir)
        self.user = LC_UID if rig.users else None
        if self.user:
            os.chown(self.dir, self.user, self.user)
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": self.dir,
                    "CUDA_MPS_LOG_DIRECTORY": self.dir}

    def control(self, args, text=""):
        ids = {"user": self.user, "group": self.user,
               "extra_groups": []} if self.user else {}
        return subprocess.run(["nvidia-cuda-mps-control", *args], input=text,
                              env=self.rig.env(self.env), text=True,
                              capture_output=True, timeout=20, cwd="/",
                              check=True, **ids)

    def start(self):
        self.control(["-d"])

    def stop(self):
        try:
            self.control([], "quit -t 1\n")
        except (subprocess.SubprocessError, OSError):
            pass


class Latency:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.rows = needed(opt.only)
        self.procs = {}
        self.iters = {}
        self.results = {row.name: [] for row in self.rows}
        self.kept = {row.name: [] for row in self.rows}
        self.took_ns = {}       # of each LC process's rows
        self.notes_of_holds = []
        self.services = []      # of a rush's requests, us
        self.windows = []
        self.rate_alone = []
        self.mps = None
        if rig.soft:
            self.drop(lambda row: row.load == "resnet" or "mps" in row.lc)

    def drop(self, unwanted):
        self.rows = [row for row in self.rows if not unwanted(row)]

    def wants(self, name):
        return not self.opt.only or name in self.opt.only

    # ---- processes ----------------------------------------------------------

    def calibrate(self):
        be = self.rig.calibrate("be", self.opt.be_kernel_us)
        five = self.rig.calibrate("lc", 110)
        segment = self.rig.calibrate("lc", 25)
        self.iters = {"be": be["iters"], "five": five["iters"],
                      "segment": segment["iters"]}
        self.lc_gpu_us = 5 * five["kernel_ns"] / 1000
        self.table.note("device", str(be["device"]))
        self.table.note("BE kernel alone", f"{be['kernel_ns'] / 1e6:.2f} ms")
        self.table.note("LC kernel alone", f"{five['kernel_ns'] / 1e3:.1f} us")

    def start_mps(self):
        if not any("mps" in row.lc for row in self.rows):
            return
        try:
            if not shutil.which("nvidia-cuda-mps-control"):
                raise BenchError("nvidia-cuda-mps-control is not installed")
            self.mps = Mps(self.rig)
            self.mps.start()
        except (BenchError, subprocess.SubprocessError, OSError) as error:
            self.table.note("mps", f"- ({error})")
            self.drop(lambda row: "mps" in row.lc)
            self.mps = None

    def start_lc(self, name, load):
        how = next((HOW[end] for end in HOW if name.endswith(end)), None)
        cls = None if how is None else "lc"
        env = self.mps.env if "mps" in name else None
        if load == "resnet":
            script = self.rig.program("resnet.py")
            lib = os.path.join(self.rig.build, "lib/libgpreempt.so.0")
            return self.rig.start([sys.executable, script, f"--lib={lib}"],
                                  cls, LC_UID, env, name, how or ())
        return self.rig.lc("--control", f"--iters={self.iters['five']}",
                           cls=cls, name=name, env=env, how=how or ())

    def start_be(self, name):
        times = os.path.join(self.rig.out, f"latency-{name}.times")
        args = ["--control", f"--iters={self.iters['be']}", f"--out={times}"]
        if name == "be-mps":
            # The processes of one user, here LC's, share an MPS server.
            return self.rig.start([self.rig.program("be"), *args], None, LC_UID,
                                  self.mps.env, name)
        return self.rig.be(*args, cls="be" if name == "be-gp" else None,
                           name=name)

    def start_some(self, rows):
        for row in rows:
            if row.lc not in self.procs:
                self.procs[row.lc] = self.start_lc(row.lc, row.load)
            if row.be and row.be not in self.procs:
                self.procs[row.be] = self.start_be(row.be)

    def wait_ready(self):
        for name, proc in list(self.procs.items()):
            try:
                proc.expect("ready", 120)
            except BenchError as error:
                if not name.startswith("resnet"):
                    raise
                self.without(name, error)   # the other rows do not need it
                continue
            if name.startswith("be"):
                proc.expect("paused", 20)

    def without(self, name, error):
        self.table.check(name, str(error).splitlines()[-1].strip()[:60], "runs",
                         False)
        self.rig.drop(self.procs.pop(name))
        self.drop(lambda row: row.lc == name)

    # ---- measuring ----------------------------------------------------------

    def be_go(self, name):
        if name:
            self.procs[name].send("go")
            time.sleep(self.opt.settle_s)

    def be_pause(self, name):
        if name:
            self.procs[name].send("pause")
            self.procs[name].expect("paused", 20)

    def be_times(self, name):
        return harness.read_times(os.path.join(self.rig.out,
                                               f"latency-{name}.times"))

    def line(self, row, path):
        count = min(row.requests, self.opt.requests)
        words = [row.args, f"--requests={count}", f"--out={path}",
                 f"--period-us={PERIOD_US[row.load]}"]
        if row.load in ("segment", "rush"):
            words += ["--kernels=20", "--gap-us=30",
                      f"--iters={self.iters['segment']}"]
        elif row.load in ("five", "poisson"):
            words += ["--kernels=5", f"--iters={self.iters['five']}"]
        return " ".join(words)

    def measure(self, row, number):
        path = os.path.join(self.rig.out, f"latency-{row.name}-{number}.ns")
        proc = self.procs[row.lc]
        seconds = max(PERIOD_US[row.load], 1000) * row.requests / 1e6
        self.be_go(row.be)
        proc.send(self.line(row, path))
        result = fields(proc.expect("lc requests", 20 + 3 * seconds))
        self.be_pause(row.be)
        self.results[row.name].append(result)
        samples = harness.read_samples(path)
        if samples:
            self.took_ns[row.lc] = (self.took_ns.get(row.lc, 0) + samples[-1][2] -
                                    samples[0][0])
        if row.load == "rush":
            self.services += [(end - start) / 1000 for _, start, end, *_ in samples]
        elif row.be and samples:
            self.windows.append((row, samples[0][0], samples[-1][2]))

    def note_holds(self):
        """The part of its rows' time for which each process of gpreempt held the device,
        over all its rows."""
        done = subprocess.run([self.rig.cli, "ls", "--json"], env=self.rig.env(), text=True,
                              capture_output=True, timeout=20, check=True)
        known = {one["pid"]: one for one in json.loads(done.stdout)["processes"]
                 if one["tenant"] and one["holds"]}
        for name, proc in self.procs.items():
            found = known.get(proc.app_pid)
            took_ns = self.took_ns.get(name)
            if found and took_ns:
                self.notes_of_holds.append((f"{name}: its holds", (
                    f"{found['holds']}, {found['held_ns'] / took_ns:.3f} of the time; "
                    f"margin {(found['margin_ns'] or 0) / 1000:.0f} us, longest switch "
                    f"{(found['switch_max_ns'] or 0) / 1000:.0f} us")))

    def measure_rate_alone(self):
        """BE kernels a second alone."""
        if "be-gp" not in self.procs:
            return
        self.be_go("be-gp")
        time.sleep(ALONE_S)
        self.be_pause("be-gp")
        times = self.be_times("be-gp")
        steps = [b - a for a, b in zip(times, times[1:])][-self.tail():]
        self.rate_alone.append(1e9 / median(steps))

    def tail(self):
        return max(int(ALONE_S * 5e5 / self.opt.be_kernel_us), 2)

    def count_kept(self):
        alone = median(self.rate_alone) if self.rate_alone else None
        for row, start_ns, end_ns in self.windows:
            times = self.be_times(row.be)
            rate = harness.kernels_between(times, start_ns, end_ns) / (
                (end_ns - start_ns) / 1e9)
            self.kept[row.name].append(rate / alone if alone else 0)

    def run_rounds(self):
        self.measure_rate_alone()
        for number in range(self.opt.rounds):
            for row in self.rows:
                progress(f"latency: round {number + 1} of {self.opt.rounds}: "
                         f"{row.name}")
                self.measure(row, number)
        self.measure_rate_alone()
        self.note_holds()
        harness.progress_end()
        for name, proc in self.procs.items():
            proc.send("quit")
            status, text = proc.finish(60)
            if status or "WRONG" in text:
                self.table.check(f"{name}: its result", f"status {status}",
                                 "right", False)
        self.count_kept()

    # ---- attach, cost -------------------------------------------------------

    def attach_once(self):
        watch = self.rig.start(self.rig.looking("slicewatch", f"--iters={self.iters['be']}"),
                               None, BE_UID)
        pid = fields(watch.expect("ready"))["pid"]
        user = BE_UID if harness_may_attach() else None
        attach = self.rig.start([self.rig.cli, "attach", "--class=be",
                                 str(pid)], None, user)
        seen = fields(watch.expect("slice", 30))
        status, _ = attach.finish(20)
        if status:
            attach.fail(f"exit status {status}")
        watch.finish(30)
        self.rig.drop(attach)
        self.rig.drop(watch)
        return (seen["at_ns"] - attach.start_ns) / 1e6, seen["us"]

    def attach(self):
        took = []
        for number in range(ATTACHES):
            progress(f"latency: attach {number + 1} of {ATTACHES}")
            took.append(self.attach_once())
        milliseconds = [ms for ms, _ in took]
        self.table.note("attach: slice read back",
                        f"{took[0][1]} us (max {max(milliseconds):.1f} ms)")
        self.bar_of_card("attach: start to new slice", median(milliseconds),
                         15, "ms")

    def bar_of_card(self, name, value, bar, unit):
        """A bar on CPU or wall time; with a software GPU, which is a process, a note."""
        if self.rig.soft:
            self.table.note(name, f"{value:.1f} {unit} (no bar here)")
        else:
            self.table.at_most(name, value, bar, unit)

    def cost(self):
        """Alternate runs with gpreempt and without, because the cost of a rest changes
        with the machine's other guests."""
        argv = [self.rig.program("cost"), f"--rounds={min(self.opt.requests, 60)}"]
        plain, ours = [], []
        for _ in range(self.opt.rounds):
            plain.append(self.rig.output(argv, user=LC_UID))
            ours.append(self.rig.output(argv + ["--hold"], cls="lc", user=LC_UID))

        def us(runs, what, readings=0):
            """Figures without the time of @readings reads of the clock."""
            return [(run[f"{what}_p50_ns"] - readings * run["clock_p50_ns"]) / 1e3
                    for run in runs]

        rested = us(ours, "rested_hold", 2)
        self.bar_of_card("hold + release, CPU time", median(rested), 15, "us")
        self.table.note("hold + release, of each run",
                        " ".join(f"{one:.1f}" for one in rested) + " us")
        self.table.note("two launches after 1 ms of rest, without gpreempt",
                        f"{median(us(plain, 'rested', 1)):.1f} us")
        self.table.note("reading the clock after it, taken off (twice of hold + release)",
                        f"{median(us(plain + ours, 'clock')):.1f} us")
        self.table.note("hold + release in a row, without a rest",
                        f"{median(us(ours, 'hold')):.1f} us")
        self.bar_of_card("a launch, more CPU time",
                         median(us(ours, "launch")) - median(us(plain, "launch")), 1, "us")

    # ---- the table ----------------------------------------------------------

    def row_us(self, name, what):
        return median([r[f"{what}_ns"] for r in self.results[name]]) / 1000

    def has(self, *wanted):
        return all(self.results.get(name) for name in wanted)

    def print_rows(self):
        for row in self.rows:
            if not self.results[row.name]:
                continue
            count = sum(r["requests"] for r in self.results[row.name])
            text = (f"{self.row_us(row.name, 'p50'):.1f} / "
                    f"{self.row_us(row.name, 'p99'):.1f} us")
            if self.kept[row.name] and row.be == "be-gp":
                text += f", BE keeps {median(self.kept[row.name]):.3f}"
            if row.name == "mps":
                text += (f" (open loop, cut after {MPS_SECONDS} s; service "
                         f"{self.row_us(row.name, 'service_p50'):.1f} us)")
            if row.load != "rush":      # a rush's latency means nothing
                self.table.note(f"{row.name}: p50 / p99 of {count}", text)
            wrong = sum(r["result"] != "right" for r in self.results[row.name])
            if wrong:
                self.table.check(f"{row.name}: results", f"{wrong} WRONG", "0",
                                 False)
        for what, text in self.notes_of_holds:
            self.table.note(what, text)

    def switch_us(self):
        """(µs, source) of a switch: gpreempt's own figure from the hinted runs, if any."""
        seen = [r["switch_ns"] for r in self.results.get("hint", [])
                if r.get("switch_ns")]
        if seen:
            return median(seen) / 1000, "its holds"
        return (self.row_us("no-hint", "p50") - self.row_us("alone", "p50"),
                "no-hint minus alone")

    def bar_above(self, name, alone, p50_us, p99_us=None):
        if not self.has(name, alone):
            return
        self.table.at_most(f"{name}: p50 against alone",
                           self.row_us(name, "p50"),
                           self.row_us(alone, "p50") + p50_us, "us")
        if p99_us is not None:
            self.table.at_most(f"{name}: p99 against alone",
                               self.row_us(name, "p99"),
                               self.row_us(alone, "p99") + p99_us, "us")

    def bar_times(self, name, alone, p50, p99=None):
        if not self.has(name, alone):
            return
        for what, factor in (("p50", p50), ("p99", p99)):
            if factor is not None:
                self.table.at_most(f"{name}: {what}, times alone",
                                   self.row_us(name, what) /
                                   self.row_us(alone, what), factor, "x")

    def bars_kept(self):
        if not self.has("alone", "no-hint") and not self.has("alone", "hint"):
            return
        switch, source = self.switch_us()
        rate = 1 / PERIOD_US["five"]
        self.table.note("one switch", f"{switch:.1f} us ({source})")
        for name, away in (("no-hint", self.lc_gpu_us + 2 * switch),
                           ("hint", self.lc_gpu_us + 300 + switch)):
            if self.kept.get(name):
                self.table.at_least(f"{name}: BE keeps",
                                    median(self.kept[name]),
                                    0.97 * (1 - rate * away), "of alone")

    def bars_poisson(self):
        """Without a period, the search for one harms neither LC nor BE."""
        self.bar_above("poisson", "poisson-plain", 10, 50)
        kept = [self.kept.get(name) for name in ("poisson", "poisson-plain")]
        if all(kept):
            self.table.at_least("poisson: BE keeps, against poisson-plain",
                                median(kept[0]), median(kept[1]) - 0.01,
                                "of alone")

    def bars_rush(self):
        if not self.services:
            return
        us = sorted(self.services)
        self.table.note(f"rush: service p50 / p99 of {len(us)}",
                        f"{us[len(us) // 2]:.1f} / {us[len(us) * 99 // 100]:.1f} us")
        late = sum(one > SERVICE_MS * 1000 for one in us)
        self.table.check(f"rush: longer than {SERVICE_MS} ms",
                         f"{late}, longest {us[-1] / 1000:.1f} ms", "0", not late)

    def bars(self):
        self.bar_above("no-hint", "alone", 190, 240)
        self.bar_above("learned", "alone", 30, 240)
        self.bar_above("hint", "alone", 20, 40)
        self.bars_poisson()
        self.bars_kept()
        self.bar_times("segment-hint", "segment-alone", 1.03, 1.08)
        self.bar_above("segment", "segment-alone", 190)
        self.bars_rush()
        self.bar_times("resnet", "resnet-alone", 1.08)
        self.bar_times("resnet-hint", "resnet-alone", 1.03, 1.06)

    def run(self):
        self.calibrate()
        if self.wants("attach"):
            self.attach()
        if self.wants("cost"):
            self.cost()
        if not any(self.wants(row.name) for row in ROWS):
            return
        try:
            self.start_mps()
            self.start_some(self.rows)
            self.wait_ready()
            self.run_rounds()
        finally:
            if self.mps:
                self.mps.stop()
            self.print_rows()   # even if the suite broke off
        self.bars()


def harness_may_attach():
    """Whether a user may attach to another process of the same user."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as f:
            return f.read().strip() == "0"
    except FileNotFoundError:
        return True


def run(rig, opt, table):
    Latency(rig, opt, table).run()
