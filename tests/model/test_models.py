#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of the core: spin finds no violation in them, and one in each with a mistake.

The same traces run through groups.pml or turns.pml and through the core (replay.c).
GP_WHOLE=1 verifies larger models.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REPLAY = os.path.join(os.environ.get("GP_BUILD", "build"), "tests/model/replay")
WHOLE = os.environ.get("GP_WHOLE") == "1"
SEEDS = 50 if WHOLE else 5

# Two groups; a slice is given up after one failure, and no tenant is LC.
GROUPS = {"TRIES": 1, "IDLES": 0, "LCS": 0, "END": 0}
GROUPS_WHOLE = [{"TRIES": 1, "LCS": 0}, {"TRIES": 1, "IDLES": 0, "END": 0},
                {"TRIES": 2, "IDLES": 0, "LCS": 0}]
FAIR = {"POLICY": 0, "N": 3}
CREDIT = {"POLICY": 1, "N": 2}
TURNS_WHOLE = [{"POLICY": 0, "N": 3, "LEAVES": 3}, {"POLICY": 0, "N": 3, "W1": 300, "QUANTUM": 3},
               {"POLICY": 1, "N": 2, "LEAVES": 3, "W1": 900}]


class Models(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def run_in(self, *args, status=0, cwd=None, **more):
        done = subprocess.run(args, cwd=cwd or self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, **more)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout[-3000:])
        return done.stdout

    def spin(self, model, how, defines, status=0, cwd=None):
        shutil.copy(os.path.join(HERE, model + ".pml"), cwd or self.dir)
        return self.run_in("spin", *how, *(f"-D{k}={v}" for k, v in defines.items()),
                           model + ".pml", status=status, cwd=cwd)

    def verify(self, model, defines, compiled, *how):
        """Number of errors, 0 or 1, and pan's output."""
        cwd = tempfile.mkdtemp(dir=self.dir)
        self.spin(model, ["-a"], defines, cwd=cwd)
        self.run_in("cc", "-O2" if WHOLE else "-O0", "-w", *compiled, "-o", "pan", "pan.c", cwd=cwd)
        output = self.run_in(os.path.join(cwd, "pan"), *how, status=None, cwd=cwd)
        errors = re.search(r"errors: (\d+)", output)
        states = re.search(r"(\d+) states, stored", output)
        self.assertTrue(errors and states, output[-3000:])
        print(f"{model} {defines}: {states[1]} states, {errors[1]} errors", flush=True)
        return int(errors[1]), output

    def sound(self, model, defines, *how):
        errors, output = self.verify(model, defines, [] if how else ["-DSAFETY"], *how,
                                     "-m20000000" if WHOLE else "-m500000", "-w22")
        self.assertEqual(errors, 0)
        self.assertNotIn("max search depth too small", output)

    def mistakes(self, model, defines, numbers):
        def errors(number):
            return self.verify(model, {**defines, "MISTAKE": number}, ["-DSAFETY"],
                               "-m100000", "-w20")[0]
        with concurrent.futures.ThreadPoolExecutor(2) as two:
            for number, found in zip(numbers, two.map(errors, numbers)):
                with self.subTest(mistake=number):
                    self.assertEqual(found, 1)

    def test_groups(self):
        # -a: cycles that never come to rest, too
        for defines in GROUPS_WHOLE if WHOLE else [GROUPS]:
            self.sound("groups", defines, "-a")

    def test_groups_with_mistakes(self):
        self.mistakes("groups", GROUPS, range(1, 8))
        self.mistakes("groups", {**GROUPS, "IDLES": 1}, [8, 9])

    def test_turns(self):
        for defines in [FAIR, CREDIT] + (TURNS_WHOLE if WHOLE else []):
            self.sound("turns", defines)

    def test_fair_turns_with_mistakes(self):
        self.mistakes("turns", {**FAIR, "LEAVES": 0}, [2, 3, 6])

    def test_credit_turns_with_mistakes(self):
        self.mistakes("turns", CREDIT, [1, 4, 5])

    def test_holds_and_windows(self):
        self.sound("holds", {})
        for slow in range(4) if WHOLE else [1]:
            self.sound("windows", {"SLOW": slow})

    def test_holds_and_windows_with_mistakes(self):
        self.mistakes("holds", {}, range(1, 6))
        self.mistakes("windows", {}, range(1, 6))

    def replay(self, trace, how, status=0):
        return self.run_in(os.path.abspath(REPLAY), how, input=trace, status=status)

    def trace(self, model, seed, steps, defines):
        # A model with a mistake may end with a failed assertion.
        return self.spin(model, [f"-n{seed}", f"-u{steps}"], {"TRACE": 1, **defines},
                         status=None if "MISTAKE" in defines else 0)

    def test_core_takes_the_steps_of_groups(self):
        for seed in range(SEEDS):
            for end in (0, 1):
                trace = self.trace("groups", seed, 60000, {"TRIES": 5, "TIMERS": 0, "END": end})
                self.assertIn("replayed", self.replay(trace, "groups"))

    def test_core_takes_the_steps_of_turns(self):
        for seed in range(SEEDS):
            for policy, name in enumerate(("fair", "credit")):
                trace = self.trace("turns", seed, 60000,
                                   {"N": 3, "LEAVES": 250, "POLICY": policy})
                self.assertIn("replayed", self.replay(trace, name))

    def test_replay_sees_a_difference(self):
        for model, how, defines in (("groups", "groups", {"TRIES": 5, "TIMERS": 0, "MISTAKE": 2}),
                                    ("turns", "credit", {"N": 3, "POLICY": 1, "MISTAKE": 5}),
                                    ("turns", "fair", {"N": 3, "POLICY": 0, "MISTAKE": 2})):
            trace = self.trace(model, 1, 60000, {"END": 0, **defines})
            self.assertIn("the core has", self.replay(trace, how, status=1))

    def follow(self, seed, defines):
        with open(os.path.join(self.dir, "followed.h"), "w", encoding="ascii") as f:
            f.write(self.run_in(os.path.abspath(REPLAY), "record", str(seed)))
        return self.spin("groups", [], {"FOLLOW": 1, **defines}, status=None)

    def test_groups_takes_the_steps_of_the_core(self):
        for seed in range(SEEDS):
            self.assertIn("followed 400 steps", self.follow(seed, {"TRIES": 5}))

    def test_following_sees_a_difference(self):
        self.assertIn("of the trace differs", self.follow(1, {"TRIES": 5, "MISTAKE": 7}))


if __name__ == "__main__":
    unittest.main()
