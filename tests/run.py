#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run test programs and end-to-end test files; one line each, one total.

A program prints "NAME: N run, N failed, N skipped"; unittest runs a .py file. A program fails
if it prints no such line, dies or runs out of time, for any exit status. It also fails if a
sanitizer wrote a report. Some processes have no stderr of their own, so the sanitizers'
options in the environment name the folder --reports, where each test gets a folder.

With --seeds N each runs N times, with GP_SEED=1 to N.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

GROUP = re.compile(r"^\S+: (\d+) run, (\d+) failed, (\d+) skipped$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)
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


def command(path, match):
    if not path.endswith(".py"):
        return [path]
    return [sys.executable, "-m", "unittest", "-v", *(["-k", match] if match else []), path]


def run_one(path, argv, env, timeout, reports):
    is_python = path.endswith(".py")
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        proc = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, env=env,
                                start_new_session=True)
        try:
            status = proc.wait(timeout)
            why = f"exit status {status}"
        except subprocess.TimeoutExpired:
            why = f"no end after {timeout} s"
            status = None
        try:
            os.killpg(proc.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        proc.wait()
        log.seek(0)
        output = log.read()
    said = counts(output, is_python)
    passed, failed, skipped = said or (0, 0, 0)
    if not said or (status not in (0, 77) and not failed):
        failed += 1
    reported = reports_in(reports)
    if reported:
        failed, output, why = failed + 1, output + reported, "sanitizer"
    return path, passed, failed, skipped, time.monotonic() - start, why, output


def total(tally):
    """Add up the runs of one `make`, from the file @tally."""
    with open(tally) as f:
        rows = [[int(n) for n in line.split()] for line in f]
    passed, failed, skipped = (sum(column) for column in zip(*rows))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def options():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--timeout", type=int, default=180)
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--floor", type=int, default=1,
                    help="fail when fewer tests than this passed")
    ap.add_argument("--reports", help="the sanitizers' log_path, a folder")
    ap.add_argument("--tally", help="file to add a line with the counts to")
    ap.add_argument("--match", help="of a .py file: only the tests with this in their name")
    ap.add_argument("--seeds", type=int, default=0, help="run each so many times")
    ap.add_argument("tests", nargs="+")
    return ap.parse_args()


def main():
    if sys.argv[1:2] == ["--total"]:
        return total(sys.argv[2])
    args = options()
    env = dict(os.environ, GP_BUILD=os.path.abspath(args.build))
    envs = [{**env, "GP_SEED": str(n + 1)} for n in range(args.seeds)] or [env]
    sums = [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(run_one, test, command(test, args.match), env, args.timeout, own)
                for test in args.tests for plain in envs
                for env, own in [with_reports(plain, args.reports)]]
        for job in concurrent.futures.as_completed(jobs):
            path, passed, failed, skipped, secs, why, output = job.result()
            for i, n in enumerate((passed, failed, skipped)):
                sums[i] += n
            word = "FAIL" if failed else "ok" if passed else "skip"
            name = os.path.relpath(path, args.build) if path.startswith(
                args.build) else path
            print(f"{word:4} {name} ({passed} passed, {skipped} skipped, "
                  f"{secs:.1f} s)", flush=True)
            if failed:
                print(output.rstrip()[-8000:] + f"\n     {name}: {why}", flush=True)
    if sums[0] < args.floor:
        print(f"only {sums[0]} tests passed, expected at least {args.floor}")
        sums[1] += 1
    print(f"{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
    if args.tally:
        os.makedirs(os.path.dirname(os.path.abspath(args.tally)), exist_ok=True)
        with open(args.tally, "a") as f:
            print(*sums, file=f)
    return 1 if sums[1] else 0


if __name__ == "__main__":
    sys.exit(main())
