# SPDX-License-Identifier: Apache-2.0
"""The part of SUITE=kill with gpreemptd. Its processes, clients and tenants are killed at
random moments, one or two at once. Then its cost is measured while all idle, and the
effect of a flood of clients on turns."""
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time

from bench import harness
from bench.harness import BenchError, fields, progress
from crowd import Crowd
from daemon import TURN, Connection, Daemon, message, rss_kb, threads_cpu_ns, threads_wakes

RUN_AGAIN_S = 2.5
STUCK_S, SOFT_STUCK_S = 30, 300
LC_PERIOD_US = 5000
LC_REQUESTS = 200           # a line; LC gets the next line when it has completed one
VICTIMS = ["daemon", "keeper", "second", "client", "tenant"]
IDLE_TENANTS = 16
FINDS = "gpreempt-find"     # the discovery thread
IDLE_CPU, IDLE_MB = 0.001, 20
HOLD_WAKES = 0.5            # if a hold took a message, it would be >= 1
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))

CLIENTS = 1000
FLOOD_UID = 12003
LATE_US = 1000
SOFT_TURNS, SOFT_WAIT_S = 8, 60
GARBAGE = [b"", b"x", b"\0" * 16, b"\xff" * 64, message(9999), message(24, b"x" * 40),
           message(16, b"\xff" * 80), b"GPRE" * 1000]


def names():
    return ["daemon-killed", "daemon-idle", "daemon-flood"]


class DaemonKill:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.random = random.Random(opt.seed)
        self.kernel_us = 2000 if rig.soft else opt.be_kernel_us
        self.lc_iters = rig.calibrate("lc", 110)["iters"]
        self.born = 0

    def daemon(self, name, config=""):
        return Daemon(self.rig, name, f"be_quantum: {10 if self.rig.soft else 50}ms\n"
                      f"limits_per_user:\n  tenants: 32\n  connections: 64\n{config}")

    # ---- kills --------------------------------------------------------------

    def add_tenant(self):
        """Start a BE process that works until the end or until it is killed."""
        self.born += 1
        name = f"kill-be{self.born}"
        proc = self.crowd.add(name)
        proc.expect("ready", 120)
        proc.expect("paused", 60)
        proc.send("go")
        return name

    def lc_go_on(self):
        """Give LC its next line of requests once it has completed the last one."""
        if self.lc_busy:
            while (line := self.lc.next_line(0)) is not None:
                if line.startswith("lc requests"):
                    self.lc_busy = False
                    self.wrong += fields(line)["result"] != "right"
        if not self.lc_busy:
            self.lc.send(f"--requests={LC_REQUESTS} --period-us={LC_PERIOD_US} "
                         "--warmup=0 --hint-us=300 --segment")
            self.lc_busy = True

    def start_client(self):
        return subprocess.Popen([self.rig.cli, "top", "-b", "-d", "0.05"],
                                env=self.rig.env(), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def kill(self, victim):
        """A role may have no PID at the moment, as one of two victims restarts."""
        if victim == "client":
            self.client.kill()
            self.client.wait()
            self.client = self.start_client()
        elif victim == "tenant":
            name = self.random.choice(list(self.crowd.procs))
            proc = self.crowd.procs.pop(name)
            proc.kill()
            self.rig.drop(proc)
            self.dead += 1
        else:
            pid = self.gpd.roles().get(victim)
            if pid:
                os.kill(pid, signal.SIGKILL)

    def stuck_s(self):
        """On a software GPU the machine's load decides how long a kernel takes."""
        return SOFT_STUCK_S if self.rig.soft else STUCK_S

    def slowest_s(self, had):
        """The time until each living process has completed two more kernels. The first
        of them may have completed before, unseen."""
        start = time.monotonic()
        while True:
            self.lc_go_on()
            if all(len(self.crowd.times(n)) >= had[n] + 2 for n in had):
                return time.monotonic() - start
            if time.monotonic() > start + self.stuck_s():
                return None
            time.sleep(0.02)

    def one(self, number):
        victims = self.random.sample(VICTIMS, 2)
        if number % 3 != 2:
            victims = [VICTIMS[(number - number // 3) % len(VICTIMS)]]
        time.sleep(self.random.uniform(0.05, 0.3))
        self.lc_go_on()
        for victim in victims:
            self.kill(victim)
        start = time.monotonic()
        had = {n: len(self.crowd.times(n)) for n in self.crowd.procs}
        runs_s = self.slowest_s(had)
        self.gpd.await_tenants(
            [p.app_pid for p in self.crowd.procs.values()] + [self.lc.app_pid])
        has_s = time.monotonic() - start
        while self.dead:
            self.dead -= 1
            self.add_tenant()
        return " and ".join(victims), runs_s, has_s

    def note_kills(self, found):
        with open(os.path.join(self.rig.out, "kill-daemon.txt"), "w") as f:
            f.writelines(f"{who}: everyone runs after {runs_s} s, it has all "
                         f"after {has_s:.3f} s\n"
                         for who, runs_s, has_s in found)
        limit_s = self.stuck_s() if self.rig.soft else RUN_AGAIN_S
        lost = sum(runs_s is None or runs_s > limit_s for _, runs_s, _ in found)
        self.table.check(f"daemon-killed: not all running within {limit_s} s",
                         f"{lost} of {len(found)}", "0", lost == 0)
        for victim in VICTIMS + ["two"]:
            rows = [(r, h) for who, r, h in found if r is not None and
                    (victim == who or (victim == "two" and " and " in who))]
            if rows:
                self.table.note(
                    f"daemon-killed: {victim}: everyone runs, it has all tenants",
                    f"{max(r for r, _ in rows):.2f} s, {max(h for _, h in rows):.2f} s "
                    f"at most of {len(rows)}")

    def killed(self):
        self.crowd = Crowd(self.rig, self.kernel_us)
        self.gpd = self.daemon("kill")
        self.dead, self.wrong, self.lc_busy = 0, 0, False
        self.lc = self.rig.lc("--control", f"--iters={self.lc_iters}", cls="lc",
                              name="kill-lc")
        self.lc.expect("ready", 120)
        for _ in range(3):
            self.add_tenant()
        self.gpd.await_tenants(self.crowd.pids() + [self.lc.app_pid])
        self.client = self.start_client()
        count = max(self.opt.kills // 4, 12)
        found = []
        try:
            for number in range(count):
                progress(f"kill: daemon: {number + 1} of {count}")
                found.append(self.one(number))
        finally:
            self.client.kill()
            self.client.wait()
            self.note_kills(found)
        if self.lc_busy:
            line = self.lc.expect("lc requests", 120)
            self.wrong += fields(line)["result"] != "right"
        self.lc.send("quit")
        self.lc.finish(60)
        self.rig.drop(self.lc)
        self.table.check("daemon-killed: LC's results", f"{self.wrong} WRONG", "0 WRONG",
                         not self.wrong)
        self.crowd.finish(self.table)       # and BE's
        self.table.check("daemon-killed: those left, told to end",
                         f"exit {self.stop_left()}", "all ended", not self.gpd.roles())
        self.gpd.destroy()

    def stop_left(self):
        """End the roles that are left by SIGTERM to any of them. Returns the exit status."""
        pids = self.gpd.roles()
        os.kill(pids.get("keeper", next(iter(pids.values()), 0)), signal.SIGTERM)
        end = time.monotonic() + 10
        while self.gpd.roles() and time.monotonic() < end:
            time.sleep(0.05)
        return self.gpd.proc.popen.poll()

    # ---- idle ---------------------------------------------------------------

    def cpu(self, pids):
        """Name of a thread -> CPU time in ns, of all three processes."""
        found = {}
        for pid in pids.values():
            for name, ns in threads_cpu_ns(pid).items():
                found[name] = found.get(name, 0) + ns
        return found

    def idle(self):
        progress("kill: 16 idle tenants")
        seconds = 5 if self.rig.soft else 20
        crowd = Crowd(self.rig, self.kernel_us)
        gpd = self.daemon("idle")
        for i in range(IDLE_TENANTS):
            crowd.add(f"idle-be{i}")
        crowd.await_ready()
        gpd.await_tenants(crowd.pids())
        time.sleep(2)
        pids = gpd.roles()
        before = self.cpu(pids)
        time.sleep(seconds)
        used = {name: 100 * (ns - before.get(name, 0)) / seconds / 1e9
                for name, ns in self.cpu(pids).items()}
        mb = {role: rss_kb(pid) / 1024 for role, pid in pids.items()}
        # Discovery depends on the machine's processes: it checks young ones often.
        finding = used.pop(FINDS, 0)
        whole = sum(used.values())
        self.table.note("daemon-idle: CPU, by thread", ", ".join(
            f"{name} {part:.3f} %" for name, part in used.items()))
        self.table.note("daemon-idle: CPU of finding processes", f"{finding:.3f} %")
        if self.rig.soft:
            self.table.note("daemon-idle: CPU", f"{whole:.3f} % of a core (no bar here)")
        else:
            self.table.check("daemon-idle: CPU of all three but that", f"{whole:.3f} %",
                             f"<= {100 * IDLE_CPU:.1f} %", whole <= 100 * IDLE_CPU)
        name = "daemon-idle: memory of the daemon"
        if SANITIZED:       # the sanitizer's memory is not the daemon's
            self.table.note(name, f"{mb['daemon']:.1f} MB (no bar here)")
        else:
            self.table.at_most(name, mb["daemon"], IDLE_MB, "MB")
        self.table.note("daemon-idle: memory of all three", f"{sum(mb.values()):.1f} MB")
        self.holds(gpd, pids["daemon"], seconds)
        crowd.finish(self.table)
        gpd.stop()

    def holds(self, gpd, pid, seconds):
        """Count the daemon's wake-ups by an LC process's holds."""
        def wakes():
            return sum(n for name, n in threads_wakes(pid).items() if name != FINDS)

        lc = self.rig.lc("--control", f"--iters={self.lc_iters}", cls="lc", name="idle-lc")
        lc.expect("ready", 120)
        gpd.await_tenants([lc.app_pid])
        idle = wakes()
        time.sleep(seconds)
        idle = wakes() - idle
        busy, start = wakes(), time.monotonic()
        # All these processes share a software GPU's clock, so a request takes long there.
        requests = 50 if self.rig.soft else int(seconds * 1e6 / LC_PERIOD_US)
        lc.send(f"--requests={requests} --period-us={LC_PERIOD_US} --warmup=0 "
                "--hint-us=300 --segment")
        result = fields(lc.expect("lc requests", 120))
        busy, took = wakes() - busy, time.monotonic() - start
        with gpd.connect() as c:
            held = c.tenants()[lc.app_pid]["holds"]
        lc.send("quit")
        lc.finish(60)
        self.rig.drop(lc)
        self.table.check("daemon-idle: holds beside it", f"{held}",
                         f">= {result['requests']:.0f}", held >= result["requests"])
        if self.rig.soft:   # there each read of the clock is a wake-up
            return
        more = busy - idle * took / seconds
        self.table.check("daemon-idle: its wake-ups for a hold",
                         f"{more / max(held, 1):.3f} (idle: {idle} in {seconds} s)",
                         f"<= {HOLD_WAKES:g}", more <= HOLD_WAKES * held)

    # ---- a flood ------------------------------------------------------------

    def turns_us(self, trace, seconds):
        """Lengths of turns, by the daemon's trace. On a busy machine a software GPU's
        clock may stand for long, so this reads until some turns are over."""
        times = []
        end = time.monotonic() + seconds
        give_up = end + (SOFT_WAIT_S if self.rig.soft else 0)
        while ((now := time.monotonic()) < end
               or (len(times) < SOFT_TURNS and now < give_up)):
            times += [at for at, kind, _, _ in trace.trace_read(0.2) if kind == TURN]
        if len(times) < 2:
            raise BenchError(f"{len(times)} turns were traced in {seconds} s and more")
        return [(b - a) / 1000 for a, b in zip(times, times[1:])]

    def flood(self):
        progress("kill: a flood of clients")
        seconds = 2 if self.rig.soft else 6
        crowd = Crowd(self.rig, self.kernel_us)
        gpd = self.daemon("flood")
        for i in range(2):
            crowd.add(f"flood-be{i}")
        crowd.await_ready()
        gpd.await_tenants(crowd.pids())
        crowd.start(list(crowd.procs))
        # A software GPU's clock stands while the daemon works: the flood needs pauses.
        flood = Flood(gpd.socket, FLOOD_UID if self.rig.users else None,
                      0.3 if self.rig.soft else 0)
        with gpd.connect() as trace:
            trace.trace_start()
            calm = self.turns_us(trace, seconds)
            try:
                flood.start()
                turns = self.turns_us(trace, seconds)
            finally:
                flood.stop()
        crowd.pause(list(crowd.procs))
        self.keep("calm", calm)
        self.keep("flooded", turns)
        # Compare with the median, as the longest calm turn may be an outlier.
        late = max(turns) - harness.median(calm)
        figure = (f"{late:.0f} us later (calm: median {harness.median(calm):.0f} of "
                  f"{len(calm)}, flooded: {max(turns):.0f} of {len(turns)}; "
                  f"{flood.count} connections)")
        if self.rig.soft:
            self.table.note("daemon-flood: longest turn", figure + " (no bar here)")
        else:
            self.table.check("daemon-flood: longest turn", figure,
                             f"<= {LATE_US} us later", late <= LATE_US)
        crowd.finish(self.table)
        status = gpd.stop()
        self.table.check("daemon-flood: told to end", f"exit {status}", "exit 0",
                         status == 0)

    def keep(self, name, turns):
        with open(os.path.join(self.rig.out, f"kill-flood-{name}.us"), "w") as f:
            f.writelines(f"{us:.1f}\n" for us in turns)

    def run(self):
        only = self.opt.only
        if not only or "daemon-killed" in only:
            self.killed()
        if not only or "daemon-idle" in only:
            self.idle()
        if not only or "daemon-flood" in only:
            self.flood()
        harness.progress_end()


FLOOD = """
import sys
sys.path.insert(0, sys.argv[2])
import daemon_kill
daemon_kill.flood_from(sys.argv[1], float(sys.argv[3]))
"""


def flood_from(path, pause_s):
    """Again and again, a thousand clients at once that send invalid messages, and one that
    sends requests and never reads the answers."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    count = 0
    while True:
        clients = []
        try:
            deaf = Connection(path)
            deaf.socket.setblocking(False)
            clients.append(deaf.socket)
        except OSError:
            deaf = None
        for i in range(CLIENTS):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            clients.append(s)
            s.setblocking(False)
            try:
                s.connect(path)
                s.send(GARBAGE[i % len(GARBAGE)])
                count += 1
                if deaf:
                    deaf.send(message(24))
            except OSError:
                pass
        print(count, flush=True)
        for s in clients:
            s.close()
        time.sleep(pause_s)


class Flood:
    """A flood from a process of @user (None: the suite's user)."""

    def __init__(self, path, user, pause_s):
        self.path, self.user, self.pause_s = path, user, pause_s
        self.count = 0

    def start(self):
        here = os.path.dirname(os.path.abspath(__file__))
        top = os.path.dirname(os.path.dirname(here))
        self.popen = subprocess.Popen(
            [sys.executable, "-c", FLOOD, self.path, here, str(self.pause_s)],
            stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=top), cwd="/",
            user=self.user)

    def stop(self):
        self.popen.kill()
        lines = self.popen.communicate()[0].split()
        self.count = int(lines[-1]) if lines else 0


def run(rig, opt, table):
    DaemonKill(rig, opt, table).run()
