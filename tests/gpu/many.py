# SPDX-License-Identifier: Apache-2.0
"""SUITE=many: up to 16 BE processes and LC ones under gpreemptd, in interleaved rounds. The
suite measures the rate of all BE together, the fairness of equal ones, and LC's latency.

Every process starts once and idles, as a tenant, between its rows.
"""
import os
import time

from bench import harness
from bench.harness import fields, median, progress, rank
from crowd import Crowd
from daemon import END, START, Daemon, cpu_ns

PERIOD_US = 5000
REQUESTS = 600              # of a row, at most: five rounds of all rows take 8 minutes
HINT_US = 300
LEVEL0_HINT_US = 1000       # preempting level 1 takes longer
LEVEL1_PERIOD_US = 40000
LEVEL1_KERNELS = 10         # of 1 ms
LEARN_S = 1.5               # added to a level row: both periods are predicted by then
WAYS = {"no-hint": ["--no-predict"], "learned": [], "hint": []}
# Above alone, us: p50 and p99.
BARS = {"no-hint": (190, 260), "learned": (190, 260), "hint": (20, 60)}
LEVELS = {"level0-hint": "hint", "level0": "learned"}
NO_LEVEL1 = "level0-hint-alone"     # as level0-hint, and level 1 has no work
APART = ", switches to level 0 and back apart"
KNOWN = ", once rhythms are known"


class Size:
    """Extent of the suite."""

    def __init__(self, soft, seconds=None):
        self.counts = [1, 2]
        self.beside = [1, 4] if soft else [1, 4, 16]
        self.fair = {4: 1.02} if soft else {4: 1.02, 8: 1.05, 16: 1.05}
        self.quantum_ms = 50
        # Kernels at both edges of a window count in part, in all processes at about the
        # same point. With 8 processes that is 2 % of 3 s. So more than two processes are
        # counted over 30 s.
        self.sum_s = seconds or 3
        self.fair_s = 30
        self.kernel_us = 2000 if soft else None


def names():
    size = Size(False)
    rows = [f"be-{n}" for n in size.counts] + [f"fair-{n}" for n in size.fair]
    rows += [f"{way}-{n}" for way in WAYS for n in size.beside]
    return rows + list(LEVELS)


def ratio(done):
    return max(done.values()) / max(min(done.values()), 1e-9)


def stretches(rows, pid, switches):
    """[(start, end)] in ns of a process on the device, by a daemon's trace. @switches:
    include the switches before and after."""
    found, start, off, ended = [], None, None, None
    for at, kind, who, _ in sorted(row for row in rows if row[1] in (START, END)):
        if kind == END:
            if who == pid and start is not None:
                found.append((start, at))
                ended = switches
            start, off = None, at
            continue
        if ended:
            found[-1] = (found[-1][0], at)
        ended = None
        if who == pid:
            start = off if switches and off is not None else at
    return found


class Many:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.size = Size(rig.soft, opt.seconds)
        kernel_us = self.size.kernel_us or opt.be_kernel_us
        self.requests = min(opt.requests, REQUESTS)
        self.crowd = Crowd(rig, kernel_us)
        self.iters = rig.calibrate("lc", 110)["iters"]
        self.ms_iters = rig.calibrate("lc", 1000)["iters"]
        self.lc = {}
        self.alone_rate = []        # in kernels a second
        self.sums = {}              # count -> [kernels a second]
        self.spread = {}            # count -> [max / min], of short windows
        self.fair = {}              # count -> max / min
        self.results = {}           # row -> [result line]
        self.late = {}              # row -> [[us]], of level 1
        self.level1_alone_us = None
        table.note("device", str(self.crowd.calibrated["device"]))
        table.note("BE kernel alone",
                   f"{self.crowd.calibrated['kernel_ns'] / 1e6:.2f} ms")

    def wants(self, row):
        return not self.opt.only or row in self.opt.only

    def be(self, count):
        return [f"be{i}" for i in range(count)]

    # ---- processes ----------------------------------------------------------

    def most(self):
        wanted = [int(row.rsplit("-", 1)[1]) for row in names()
                  if self.wants(row) and row not in LEVELS]
        wanted = [n for n in wanted if n <= max(self.size.beside)]
        return max(wanted + [4 if any(map(self.wants, LEVELS)) else 1])

    def start_lc(self, name, cls, how=()):
        self.lc[name] = self.rig.lc("--control", f"--iters={self.iters}", cls=cls,
                                    name=name, how=how)

    def start(self):
        self.crowd.add("be-alone", None)
        for name in self.be(self.most()):
            self.crowd.add(name)
        self.start_lc("alone", None)
        for way, how in WAYS.items():
            self.start_lc(way, "lc", how)
        if any(map(self.wants, LEVELS)):
            self.start_lc("level1", "lc:1")
        self.crowd.await_ready()
        for proc in self.lc.values():
            proc.expect("ready", 120)
        ours = [p.app_pid for n, p in self.crowd.procs.items() if n != "be-alone"]
        ours += [p.app_pid for n, p in self.lc.items() if n != "alone"]
        self.daemon.await_tenants(ours)
        self.table.note("tenants", f"{len(ours)}")

    # ---- best-effort --------------------------------------------------------

    def measure_sum(self, count):
        done = self.crowd.together(self.be(count) if count else ["be-alone"],
                                   self.size.sum_s)
        rate = sum(done.values()) / self.size.sum_s
        if count > 1:
            self.spread.setdefault(count, []).append(ratio(done))
        (self.sums.setdefault(count, []) if count else self.alone_rate).append(rate)

    def measure_fair(self, count):
        done = self.crowd.together(self.be(count), self.size.fair_s)
        path = os.path.join(self.rig.out, f"many-fair-{count}.kernels")
        with open(path, "w") as f:
            f.writelines(f"{name} {kernels:.3f}\n" for name, kernels in done.items())
        self.fair[count] = ratio(done)
        self.sums[count] = [sum(done.values()) / self.size.fair_s]

    # ---- latency-critical ---------------------------------------------------

    def line(self, way, path, hint_us=HINT_US, more=0):
        words = [f"--requests={self.requests + more}", f"--period-us={PERIOD_US}",
                 f"--out={path}"]
        if way == "hint":
            words.append(f"--hint-us={hint_us}")
        return " ".join(words)

    def path(self, row, number):
        return os.path.join(self.rig.out, f"many-{row}-{number}.ns")

    def measure_lc(self, row, way, count, number, hint_us=HINT_US):
        names = self.be(count)
        if count:
            self.crowd.start(names)
        self.lc[way].send(self.line(way, self.path(row, number), hint_us))
        seconds = self.requests * PERIOD_US / 1e6
        result = fields(self.lc[way].expect("lc requests", 60 + 3 * seconds))
        if count:
            self.crowd.pause(names)
        self.results.setdefault(row, []).append(result)

    def level1_line(self, path, seconds):
        return " ".join([f"--requests={int(seconds * 1e6 / LEVEL1_PERIOD_US)}",
                         f"--period-us={LEVEL1_PERIOD_US}", "--warmup=0",
                         f"--kernels={LEVEL1_KERNELS}", f"--iters={self.ms_iters}",
                         f"--out={path}"])

    def measure_level1_alone(self):
        path = self.path("level1-alone", 0)
        self.lc["alone"].send(self.level1_line(path, 1.5))
        result = fields(self.lc["alone"].expect("lc requests", 60))
        self.level1_alone_us = result["p50_ns"] / 1000
        self.table.note("level 1's work alone: p50", f"{self.level1_alone_us:.0f} us")

    def measure_no_level1(self, number):
        """The reference for level0-hint, with the same hints, and traced, too."""
        with self.daemon.trace():
            self.measure_lc(NO_LEVEL1, "hint", 4, number, LEVEL0_HINT_US)

    def measure_level(self, row, number):
        """Level 0 beside 4 BE and level 1, which begins earlier and ends later."""
        way = LEVELS[row]
        path, path1 = self.path(row, number), self.path(f"{row}-level1", number)
        more = int(LEARN_S * 1e6 / PERIOD_US)
        seconds = (self.requests + more) * PERIOD_US / 1e6
        be = self.be(4)
        self.crowd.start(be)
        with self.daemon.trace() as trace:
            self.lc["level1"].send(self.level1_line(path1, seconds + 0.3))
            self.lc[way].send(self.line(way, path, LEVEL0_HINT_US, more))
            self.results.setdefault(row, []).append(
                fields(self.lc[way].expect("lc requests", 60 + 3 * seconds)))
            result1 = fields(self.lc["level1"].expect("lc requests", 60 + 3 * seconds))
        self.crowd.pause(be)
        self.results.setdefault(f"{row}-level1", []).append(result1)
        for kind, switches, since_s in (("", False, 0), (KNOWN, False, LEARN_S),
                                        (APART, True, 0)):
            had = stretches(trace.rows, self.lc[way].app_pid, switches)
            self.late.setdefault(row + kind, []).append(
                self.lateness(path, path1, had, since_s))
        with open(os.path.join(self.rig.out, f"many-{row}-{number}.trace"), "w") as f:
            f.writelines(f"{at} {kind} {who} {value}\n" for at, kind, who, value in trace.rows)

    def lateness(self, path0, path1, had0, since_s):
        """Delay in us of each request of level 1, from @since_s after level 0's first on.
        Its own time alone and level 0's time on the device (@had0) are subtracted."""
        level0 = [(at, end) for at, _, end, _ in harness.read_samples(path0)]
        late = []
        for at, _, end, _ in harness.read_samples(path1):
            if at < level0[0][0] + since_s * 1e9 or end > level0[-1][1]:
                continue
            meanwhile = sum(max(0, min(end, end0) - max(at, at0)) for at0, end0 in had0)
            late.append((end - at - meanwhile) / 1000 - self.level1_alone_us)
        return late

    # ---- the suite ----------------------------------------------------------

    def lc_rows(self):
        return [(f"{way}-{n}", way, n) for way in WAYS for n in self.size.beside
                if self.wants(f"{way}-{n}")]

    def daemon_cpu(self):
        """CPU time of gpreemptd and its keepers, ns."""
        return sum(map(cpu_ns, self.daemon.roles().values()))

    def round(self, number):
        progress(f"many: round {number + 1} of {self.opt.rounds}")
        for count in [0] + self.size.counts:
            if not count or self.wants(f"be-{count}"):
                self.measure_sum(count)
        self.measure_lc("alone", "alone", 0, number)
        for row, way, count in self.lc_rows():
            self.measure_lc(row, way, count, number)
        if self.wants("level0-hint"):
            self.measure_no_level1(number)
        for row in LEVELS:
            if self.wants(row):
                self.measure_level(row, number)

    def run(self):
        self.daemon = Daemon(self.rig, "many", f"be_quantum: {self.size.quantum_ms}ms\n")
        self.start()
        if any(map(self.wants, LEVELS)):
            self.measure_level1_alone()
        cpu, start = self.daemon_cpu(), time.monotonic_ns()
        for number in range(self.opt.rounds):
            self.round(number)
        cpu = (self.daemon_cpu() - cpu) / (time.monotonic_ns() - start)
        self.table.note("gpreemptd's CPU meanwhile", f"{100 * cpu:.2f} % of a core")
        for count in self.size.fair:
            if self.wants(f"fair-{count}"):
                progress(f"many: {count} equals for {self.size.fair_s} s")
                self.measure_fair(count)
        harness.progress_end()
        self.say_daemon()
        self.end()
        self.bars()

    def say_daemon(self):
        with self.daemon.connect() as c:
            device = c.device()
        self.table.note("its controls: suspends, resumes, preempts, failed",
                        " ".join(str(device[k]) for k in
                                 ("suspends", "resumes", "preempts", "failed")))
        controls = sum(device[k] for k in ("suspends", "resumes", "preempts", "slices"))
        self.table.note("a control takes",
                        f"{device['control_ns'] / max(controls, 1) / 1000:.0f} us")

    def end(self):
        for name, proc in self.lc.items():
            proc.send("quit")
            status, text = proc.finish(60)
            if status or "WRONG" in text:
                self.table.check(f"{name}: its result", f"status {status}", "right",
                                 False)
            self.rig.drop(proc)
        self.crowd.finish(self.table)
        for line in self.daemon.warnings()[:5]:
            self.table.note("gpreemptd says", line)
        status = self.daemon.stop()
        self.table.check("gpreemptd, told to end", f"exit {status}", "exit 0",
                         status == 0)

    def us(self, row, what):
        return median([r[f"{what}_ns"] for r in self.results[row]]) / 1000

    def bars(self):
        alone = median(self.alone_rate)
        self.table.note("one BE alone", f"{alone:.1f} kernels/s")
        for count, rates in sorted(self.sums.items()):
            self.table.at_least(f"be-{count}: sum of kernels, of one alone",
                                median(rates) / alone, 0.98, "x")
        for count, spreads in self.spread.items():
            self.table.note(f"be-{count}: most / least, {self.size.sum_s:g} s",
                            f"{median(spreads):.3f} x")
        for count, spread in self.fair.items():
            self.table.at_most(f"fair-{count}: most / least of equals", spread,
                               self.size.fair[count], "x")
        self.print_lc()
        self.bars_lc()
        self.bars_levels()

    def print_lc(self):
        for row, results in self.results.items():
            self.table.note(f"{row}: p50 / p99 of {sum(r['requests'] for r in results)}",
                            f"{self.us(row, 'p50'):.1f} / {self.us(row, 'p99'):.1f} us")
            wrong = sum(r["result"] != "right" for r in results)
            if wrong:
                self.table.check(f"{row}: results", f"{wrong} WRONG", "0", False)

    def bars_lc(self):
        for way, above in BARS.items():
            for count in self.size.beside:
                row = f"{way}-{count}"
                if row not in self.results:
                    continue
                for what, us in zip(("p50", "p99"), above):
                    self.table.at_most(f"{row}: {what} against alone",
                                       self.us(row, what),
                                       self.us("alone", what) + us, "us")

    def bars_levels(self):
        if "level0-hint" in self.results:
            self.table.at_most("level0-hint: p99 against no level 1",
                               self.us("level0-hint", "p99"),
                               1.05 * self.us(NO_LEVEL1, "p99"), "us")
        if "level0" in self.results:
            self.table.at_most("level0: p99 against alone", self.us("level0", "p99"),
                               self.us("alone", "p99") + 700, "us")
        for row, rounds in self.late.items():
            p50, p99 = (median([rank(us, per_mille) for us in rounds])
                        for per_mille in (500, 990))
            if row in LEVELS:
                self.table.at_most(f"level 1 beside {row}: p99 beyond both's time",
                                   p99, 1000, "us")
            else:
                self.table.note(f"level 1 beside {row}: p50 / p99",
                                f"{p50:.1f} / {p99:.1f} us")


def run(rig, opt, table):
    Many(rig, opt, table).run()
