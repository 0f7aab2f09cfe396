#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzz: run.py [--tally FILE] SECONDS BUILD NAME... One line a target, one
total, as tests/run.py. What is found is left in BUILD/fuzz/."""
import concurrent.futures
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = re.compile(r"number_of_executed_units: (\d+)")


def fuzz(name, seconds, build):
    """(executions, output); no executions: it found something."""
    found = os.path.join(build, "fuzz", f"corpus_{name}")
    os.makedirs(found, exist_ok=True)
    done = subprocess.run(
        [os.path.join(build, "fuzz", f"fuzz_{name}"), "-seed=1", "-timeout=10",
         f"-max_total_time={seconds}", "-print_final_stats=1",
         f"-artifact_prefix={build}/fuzz/{name}-", found,
         os.path.join(HERE, "corpus", name)],
        text=True, errors="replace", stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    with open(os.path.join(build, "fuzz", f"{name}.log"), "w") as f:
        f.write(done.stdout)
    runs = RUNS.search(done.stdout)
    return int(runs[1]) if runs and not done.returncode else 0, done.stdout


def main():
    args = sys.argv[1:]
    tally = None
    if args[0] == "--tally":
        tally, args = args[1], args[2:]
    seconds, build, names = int(args[0]), os.path.abspath(args[1]), args[2:]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = {n: pool.submit(fuzz, n, seconds, build) for n in names}
        for name, job in jobs.items():
            runs, output = job.result()
            print(f"{'ok' if runs else 'FAIL':4} fuzz {name} ({seconds} s, "
                  f"{runs} inputs)", flush=True)
            if not runs:
                failed += 1
                print("\n".join(output.splitlines()[-40:]))
    print(f"{len(names) - failed} passed, {failed} failed, 0 skipped")
    if tally:
        with open(tally, "a") as f:
            print(len(names) - failed, failed, 0, file=f)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
