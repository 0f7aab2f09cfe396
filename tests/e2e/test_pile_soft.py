#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An LC program whose CPU is the bottleneck, beside BE, on a software GPU. Its launches pile up, and
BE has the time that they take. LC's requests take no longer."""
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI  # noqa: E402
from test_on_demand import OnDemand  # noqa: E402

REQUESTS, PERIOD_US = 60, 12000
KERNELS, ITERS, GAP_US = 100, 5000, 80     # of 20 us; 8 ms of CPU for each request


TRIALS = 3
ALL_CAME_S = 3      # the daemon lets nothing pile up before: LC may still come to it


class Pile(OnDemand):
    def setUp(self):
        super().setUp()
        self.times = os.path.join(self.dir, "be.times")

    def program(self, cls, *args, how=()):
        """Started, and ready for commands."""
        proc = subprocess.Popen(
            [CLI, "run", f"--class={cls}", "--device=soft0", *how, "--",
             os.path.join(BUILD, "bench", args[0]), "--control", *args[1:]], text=True,
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.programs.append(proc)
        self.assertIn("ready", proc.stdout.readline())
        return proc

    def be(self):
        proc = self.program("be", "be", "--iters=2500000", f"--out={self.times}")
        proc.stdin.write("go\n")
        self.eventually("work", lambda: self.done() > 2)
        return proc

    def lc(self, how=(), kernels=KERNELS, gap_us=GAP_US, more=()):
        return self.program("lc", "lc", f"--iters={ITERS}", f"--kernels={kernels}",
                            f"--gap-us={gap_us}", f"--period-us={PERIOD_US}", *more, how=how)

    def done(self):
        try:
            with open(self.times, encoding="ascii") as f:
                return f.read().count("\n")
        except FileNotFoundError:
            return 0

    def requests(self, lc, count=REQUESTS):
        """p50 in us, and how many kernels BE did meanwhile."""
        before = self.done()
        lc.stdin.write(f"--requests={count}\n")
        line = lc.stdout.readline()
        self.assertIn("result=right", line)
        return int(re.search(r"p50_ns=(\d+)", line)[1]) / 1000, self.done() - before

    def piles(self, lc):
        return "Its requests launch for longer" in self.gp("why", str(lc.pid)).stdout

    def best(self, lc, least=0):
        """Of some rounds: as soon as one has @least kernels of BE. Its preemptions come late if
        another program has the CPUs."""
        rounds = []
        while len(rounds) < 3 or len(rounds) < 5 and max(rounds)[0] < least:
            us, done = self.requests(lc)
            rounds.append((done, us))
        return max(rounds)

    def piled(self, lc):
        """p50 in us, when its requests pile up."""
        self.eventually("BE beside piles", lambda: self.requests(lc)[1] > REQUESTS)
        return self.best(lc, REQUESTS)[1]

    def until_all_came(self, lc, *others):
        """To the daemon that LC's requests start, and it lets launches pile up."""
        self.eventually("a daemon", lambda: self.requests(lc) and self.daemons())
        self.until_tenants(lc, *others)
        time.sleep(ALL_CAME_S)
        self.requests(lc)

    def test_piles(self):
        """One best-effort process: LC starts the daemon, which lets its launches pile up."""
        be = self.be()
        lc = self.lc(how=["--no-pile"])
        dense, dense_us = self.best(lc)
        self.assertFalse(self.piles(lc))
        self.assertEqual(self.daemons(), {})
        # On a busy machine the software GPU's clock may jump over slices before the daemon runs.
        # Then the waits look long, and a process rests from piles.
        for _ in range(TRIALS):
            lc.stdin.close()
            lc = self.lc()
            self.until_all_came(lc, be)
            piled, piled_us = self.best(lc, 2 * dense)
            print(f"dense: {dense_us:.0f} us, BE {dense}; piled: {piled_us:.0f} us, BE {piled}")
            if piled > 1.5 * dense:
                break
        self.assertTrue(self.piles(lc))
        self.assertGreater(piled, 1.5 * dense)
        self.assertLess(piled_us, 1.1 * dense_us)

    def test_copy_out(self):
        """A request that ends with a copy to ordinary memory, as .item() does: that waits."""
        be = self.be()
        lc = self.lc()
        self.until_all_came(lc, be)
        wait_us = self.piled(lc)
        lc.stdin.close()
        lc = self.lc(more=["--end=copy"])
        self.until_all_came(lc, be)
        copy_us = self.piled(lc)
        print(f"a wait: {wait_us:.0f} us; a copy: {copy_us:.0f} us")
        self.assertLess(copy_us, wait_us + 450)

    def test_dense(self):
        """Kernels back to back: as ever, and without a daemon."""
        self.be()
        lc = self.lc(kernels=5, gap_us=0)
        self.requests(lc)
        self.assertEqual(self.daemons(), {})

    def test_both_kinds(self):
        """A dense program beside: its requests are as fast as before."""
        be = self.be()
        dense = self.lc(kernels=5, gap_us=0)
        before_us, _ = self.requests(dense)
        sparse = self.lc()
        self.until_all_came(sparse, be, dense)
        self.best(sparse)
        self.assertLess(self.requests(dense)[0], 1.1 * before_us)


if __name__ == "__main__":
    unittest.main()
