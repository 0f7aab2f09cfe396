#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run test programs and end-to-end test files; one line each, one total.

A program prints "NAME: N run, N failed, N skipped"; unittest runs a .py file. A program fails
if it prints no such line, dies or runs out of time, for any exit status. It also fails if a
sanitizer wrote a report. Some processes have no stderr of their own, so the sanitizers'
options in the environment name the folder --reports, where each test gets a folder.

With --seeds N each runs N times, with GP_SEED=1 to N.

With --again N, up to N failed tests run a second time, one by one after all others. On a machine
that is too busy, a process may get no CPU for seconds. The total names tests that passed only
then. A sanitizer's report is final, and so is death by a signal.

The file BUILD/times remembers the length and the CPU time of each test. The longest start
first: one a core, and more of them while cores are idle, because tests wait.

With --pin each test has a core of its own. Processes that hand work to each other, as over the
software GPU, are faster on one core, and far slower where others take turns with them.
"""
import argparse
import ctypes
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

GROUP = re.compile(r"^\S+: (\d+) run, (\d+) failed, (\d+) skipped$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)
# cmocka's lines of a test that passed.
PASSED = re.compile(r"^\[ RUN +\] (\S+)\n\[ +OK \] \1\n", re.M)
END_LINES = 60  # of a failed step
WHAT = "passed", "failed", "skipped"
PARTS = re.compile(r"(failures|errors|skipped)=(\d+)")


def counts(output, is_python):
    """(passed, failed, skipped) from the test's own output, or None."""
    if not is_python:
        found = GROUP.findall(output)
        if not found:
            return None
        run, failed, skipped = (sum(int(g[i]) for g in found) for i in range(3))
        return run - failed, failed, skipped
    ran = UNITTEST.search(output)
    if not ran:
        return None
    parts = {k: int(v) for k, v in PARTS.findall(output.splitlines()[-1])}
    failed = parts.get("failures", 0) + parts.get("errors", 0)
    skipped = parts.get("skipped", 0)
    return int(ran.group(1)) - failed - skipped, failed, skipped


def with_reports(env, folder):
    """@env with a report folder of the test's own in the sanitizers' options, and that folder."""
    if not folder:
        return env, None
    os.makedirs(folder, exist_ok=True)
    own = tempfile.mkdtemp(dir=folder)
    return {name: value.replace(folder, own) for name, value in env.items()}, own


def reports_in(folder):
    """Text of the sanitizers' reports."""
    text = ""
    for name in sorted(os.listdir(folder)) if folder else []:
        with open(os.path.join(folder, name), errors="replace") as f:
            text += f"\n--- {name}\n{f.read()[:6000]}"
    return text


def short_name(path, build):
    return os.path.relpath(path, build) if path.startswith(build) else path


def command(path, match):
    if not path.endswith(".py"):
        return [path]
    return [sys.executable, "-m", "unittest", "-v", *(["-k", match] if match else []), path]


# ---- one test, and all that it starts ----------------------------------------

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def descendants():
    """PIDs of the processes below this one."""
    parent = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as f:
                # The name may have anything in it, and ends with the last bracket.
                parent[int(entry)] = int(f.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    below, found = {os.getpid()}, set()
    while below:
        below = {pid for pid, up in parent.items() if up in below}
        found |= below
    return found


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_descendants():
    """Stop all before the first is killed: some start each other again."""
    stopped = set()
    while new := descendants() - stopped:
        signal_all(new, signal.SIGSTOP)
        stopped |= new
    signal_all(stopped, signal.SIGKILL)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def supervise(argv, env, log):
    """The exit status of a test, or None after a SIGTERM. Orphans become children of this
    process: so it can kill them and wait for them."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    try:
        proc = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, env=env, start_new_session=True)
        pid = 0
        while pid != proc.pid:
            pid, status = os.wait()
        proc.returncode = os.waitstatus_to_exitcode(status)
        return proc.returncode
    except InterruptedError:
        return None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_descendants()


class Test:
    """A test that runs, under a process that supervises it."""

    def __init__(self, name, argv, env, timeout, reports, core=None):
        self.argv, self.reports, self.core = argv, reports, core
        self.start, self.why = time.monotonic(), None
        self.until = self.start + timeout
        self.timeout = timeout
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.pid = os.fork()
        if not self.pid:
            self.be_supervisor(env)
        self.pidfd = os.pidfd_open(self.pid)

    def be_supervisor(self, env):
        code = 1
        try:
            def stop(*_):
                raise InterruptedError
            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, lambda *_: None)
            if self.core is not None:
                os.sched_setaffinity(0, {self.core})
            status = supervise(self.argv, env, self.log)
            code = 0 if status is None else status if status >= 0 else 128 - status
        except BaseException as error:              # it must never go on as run.py
            print(f"run.py: {error!r}", file=self.log, flush=True)
        os._exit(code)

    def stop(self):
        self.why = f"no end after {self.timeout} s"
        self.until = float("inf")
        os.kill(self.pid, signal.SIGTERM)

    def result(self):
        """Its Result, now that its supervisor has ended."""
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pidfd)
        status = os.waitstatus_to_exitcode(status)
        self.log.seek(0)
        output = self.log.read()
        self.log.close()
        done = Result(output, counts(output, self.argv[-1].endswith(".py")))
        done.wall_s = time.monotonic() - self.start
        done.cpu_s = usage.ru_utime + usage.ru_stime
        done.status, done.why = status, self.why or f"exit status {status}"
        if self.why or not done.counted or (status not in (0, 77) and not done.failed):
            done.failed += 1
        reported = reports_in(self.reports)
        if reported:
            done.failed, done.output, done.why = \
                done.failed + 1, done.output + reported, "sanitizer"
        return done


class Result:
    """Counts, output and times of one test."""

    def __init__(self, output, said):
        self.output, self.counted, self.why, self.status = output, said is not None, "", 0
        self.passed, self.failed, self.skipped = said or (0, 0, 0)
        self.wall_s = self.cpu_s = 0


# ---- which runs when -----------------------------------------------------------

LOOK_S = 0.5                    # between two looks for idle cores


class Times:
    """Seconds, and CPU seconds, of each test's last run; in a file."""

    def __init__(self, path):
        self.path, self.last = path, {}
        try:
            with open(path) as f:
                for line in f:
                    wall_s, cpu_s, name = line.split(None, 2)
                    self.last[name.strip()] = float(wall_s), float(cpu_s)
        except (FileNotFoundError, ValueError):
            pass

    def length(self, name):
        """A new test is as long as can be: whether it is, nobody knows."""
        return self.last[name][0] if name in self.last else float("inf")

    def save(self):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(f"{self.path}.part", "w") as f:
            f.writelines(f"{wall_s:.2f} {cpu_s:.2f} {name}\n"
                         for name, (wall_s, cpu_s) in sorted(self.last.items()))
        os.replace(f"{self.path}.part", self.path)


class Idle:
    """Cores of the machine that were idle since the last call."""

    def __init__(self):
        self.last = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as f:
            ticks = [int(word) for word in f.readline().split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    def __call__(self):
        (idle, total), self.last = self.last, self.read()
        return (self.last[0] - idle) / max(self.last[1] - total, 1) * os.cpu_count()


def run_all(jobs, times, cores, most, idle, pin=()):
    """Run each job, the arguments of a Test; yield (job, Result) as they end. @most at once;
    over one for each of @cores only if @idle() reports more than half of a core. @pin: numbers of
    cores; each test has one of them."""
    jobs = sorted(jobs, key=lambda job: -times.length(job[0]))
    running = {}                                    # pidfd: Test
    poll = select.poll()
    look = 0
    try:
        while jobs or running:
            now = time.monotonic()
            more, look = (idle() > 0.5, now + LOOK_S) if now >= look else (False, look)
            while jobs and len(running) < most and (len(running) < cores or more):
                more = more and len(running) < cores
                job = jobs.pop(0)
                free = set(pin) - {test.core for _, test in running.values()}
                test = Test(*job, core=min(free, default=None))
                running[test.pidfd] = job, test
                poll.register(test.pidfd, select.POLLIN)
            until = min([look] * bool(jobs) + [test.until for _, test in running.values()])
            for fd, _ in poll.poll(min(max(until - time.monotonic(), 0), 3600) * 1000):
                poll.unregister(fd)
                job, test = running.pop(fd)
                yield job, test.result()
            for _, test in running.values():
                if test.until <= time.monotonic():
                    test.stop()
    finally:
        for _, test in running.values():
            test.stop()
        for _, test in running.values():
            os.waitpid(test.pid, 0)


class Report:
    """Prints each result, and adds them up."""

    def __init__(self, tally):
        self.tally, self.sums, self.failures = tally, [0, 0, 0], []

    def add(self, job, done):
        for i, n in enumerate((done.passed, done.failed, done.skipped)):
            self.sums[i] += n
        name = job[0]
        word = "FAIL" if done.failed else "ok" if done.passed else "skip"
        print(f"{word:4} {name} ({done.passed} passed, {done.skipped} skipped, "
              f"{done.wall_s:.1f} s)", flush=True)
        if done.failed:
            self.failures.append((job, done))
            print(PASSED.sub("", done.output).rstrip()[-8000:],
                  f"     {name}: {done.why}", sep="\n", flush=True)
        self.line(f"= {done.wall_s:.1f} {name}")

    def line(self, text):
        if self.tally:
            add_line(self.tally, text)

    def try_again(self, most, times):
        """Run failed tests once more, one by one, unless they are too many for bad luck."""
        first = {id(job): done for job, done in self.failures}
        if len(first) > most or not all(map(may_be_load, first.values())):
            return
        for job, done in run_all([job for job, _ in self.failures], times, 1, 1, lambda: 0):
            if done.failed:
                print(PASSED.sub("", done.output).rstrip()[-8000:],
                      f"     {job[0]} the second time: {done.why}", sep="\n", flush=True)
                continue
            self.failures = [failure for failure in self.failures if failure[0] is not job]
            self.sums[0] += done.passed - first[id(job)].passed
            self.sums[1] -= first[id(job)].failed
            self.sums[2] += done.skipped - first[id(job)].skipped
            print(f"ok   {job[0]} the second time, alone ({done.wall_s:.1f} s)", flush=True)
            self.line(f"again {job[0]}")

    def name_failures(self):
        for job, _ in self.failures:
            self.line(f"fail {job[0]}")


def may_be_load(done):
    """Can the machine's load have let this test fail?"""
    return done.why != "sanitizer" and not 128 < done.status < 256


def print_end(path):
    """The last lines of what a failed step printed."""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = f.read().splitlines()[-END_LINES:]
        print(f"---- the end of {path}", *lines, sep="\n")


def total(tally, logs):
    """Add up the runs of one `make`, from the file @tally. A run has "= SECONDS TEST" for each
    test, "again TEST" for each that passed only the second time, "fail TEST" for each that did
    not, and its counts. After all runs of a step comes "# STEP SECONDS FAILED". @logs: the folder of STEP.log."""
    sums, step, failing, tests, again, failed_tests = [0, 0, 0], [0, 0, 0], [], [], [], []
    with open(tally) as f:
        for kind, *words in map(str.split, f):
            if kind == "=":
                tests.append((float(words[0]), words[1], None))
            elif kind == "again":
                again.append(words[0])
            elif kind == "fail":
                failed_tests.append(words[0])
            elif kind == "#":
                name, seconds, failed = words
                tests = [(s, test, step_name or name) for s, test, step_name in tests]
                counted = ", ".join(f"{n} {what}" for n, what in zip(step, WHAT)) + ", "
                print(f"{'FAIL' if int(failed) else 'ok':4} {name}: "
                      f"{counted if any(step) else ''}{seconds} s")
                sums = [a + b for a, b in zip(sums, step)]
                step = [0, 0, 0]
                failing += [name] if int(failed) else []
            else:
                step = [a + int(n) for a, n in zip(step, (kind, *words))]
    for seconds, test, name in sorted(tests, reverse=True)[:10]:
        print(f"{seconds:8.1f} s {name}: {test}")
    for test in again:
        print(f"passed only the second time, alone: {test}")
    for name in failing:
        print_end(os.path.join(logs, f"{name}.log"))
    for test in failed_tests:
        print(f"failed: {test}")
    print(", ".join(f"{n} {what}" for n, what in zip(sums, WHAT)))
    return 1 if sums[1] or failing else 0


def add_line(path, line):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "a") as f:
        print(line, file=f)


def options():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--timeout", type=int, default=180)
    ap.add_argument("--jobs", type=int, help="tests at once, at most; else four a core")
    ap.add_argument("--pin", action="store_true", help="one test on each core")
    ap.add_argument("--floor", type=int, default=1,
                    help="fail when fewer tests than this passed")
    ap.add_argument("--reports", help="the sanitizers' log_path, a folder")
    ap.add_argument("--tally", help="file to add the tests' times and the counts to")
    ap.add_argument("--match", help="of a .py file: only the tests with this in their name")
    ap.add_argument("--again", type=int, default=0, metavar="N",
                    help="run up to N failed tests a second time, alone")
    ap.add_argument("--seeds", type=int, default=0, help="run each so many times")
    ap.add_argument("tests", nargs="+")
    return ap.parse_args()


def main():
    if sys.argv[1:2] == ["--total"]:
        return total(*sys.argv[2:4])
    args = options()
    env = dict(os.environ, GP_BUILD=os.path.abspath(args.build))
    envs = [{**env, "GP_SEED": str(n + 1)} for n in range(args.seeds)] or [env]
    times, start = Times(os.path.join(args.build, "times")), time.monotonic()
    cores = len(os.sched_getaffinity(0))
    jobs = [(short_name(test, args.build), command(test, args.match), env, args.timeout, own)
            for test in args.tests for plain in envs
            for env, own in [with_reports(plain, args.reports)]]
    report = Report(args.tally)
    pin = os.sched_getaffinity(0) if args.pin else ()
    for job, done in run_all(jobs, times, cores, args.jobs or len(pin) or 4 * cores, Idle(), pin):
        report.add(job, done)
        if not (done.failed or args.match or args.seeds):
            times.last[job[0]] = done.wall_s, done.cpu_s
    times.save()
    report.try_again(args.again, times)
    report.name_failures()
    sums = report.sums
    if sums[0] < args.floor:
        print(f"only {sums[0]} tests passed, expected at least {args.floor}")
        sums[1] += 1
    print(f"{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped, "
          f"{time.monotonic() - start:.0f} s")
    if args.tally:
        add_line(args.tally, " ".join(map(str, sums)))
    return 1 if sums[1] else 0


if __name__ == "__main__":
    sys.exit(main())
