#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run.py: counts, what ends with a test, and which test starts first."""
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import run  # noqa: E402

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run.py")
PASSES = "echo one: 3 run, 0 failed, 1 skipped"
# Each starts the other again when it ends.
KEEPERS = """
setsid sh -c 'while :; do sleep 1000 & wait $!; sh "$0" & done' "$0" &
"""


def alive(mark):
    """How many processes have @mark in their environment."""
    n = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                n += mark.encode() in f.read()
        except OSError:
            pass
    return n


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpreempt-run-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.mark = f"GP_MARK={self.folder}"

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def run_py(self, *args):
        env = dict(os.environ, GP_MARK=self.folder)
        return subprocess.run([sys.executable, RUN, "--build", self.folder, *args], text=True,
                              env=env, capture_output=True, timeout=120)

    def test_a_core_of_its_own(self):
        cores = os.path.join(self.folder, "cores")
        one = self.script("one", f"taskset -p $$ >>{cores}; sleep 1; {PASSES}")
        done = self.run_py("--pin", "--seeds", "2", one)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(cores) as f:
            masks = [int(line.split()[-1], 16) for line in f]
        self.assertEqual([mask.bit_count() for mask in masks], [1, 1])
        self.assertEqual(len(set(masks)), min(2, len(os.sched_getaffinity(0))))

    def test_counts(self):
        tally = os.path.join(self.folder, "tally")
        done = self.run_py("--tally", tally, self.script("a", PASSES), self.script("b", PASSES))
        self.assertEqual(done.returncode, 0)
        self.assertIn("6 passed, 0 failed, 2 skipped", done.stdout)
        with open(tally, "a") as f:
            f.write("again a\nfail b\n# step 7 0\n# lint 5 1\n")
        for step in "step", "lint":
            with open(os.path.join(self.folder, f"{step}.log"), "w") as f:
                f.write(f"first of {step}\n" + 59 * "more\n" + f"last of {step}\n")
        done = subprocess.run([sys.executable, RUN, "--total", tally, self.folder], text=True,
                              capture_output=True)
        # A step may fail without a test that does.
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\Aok   step: 6 passed, 0 failed, 2 skipped, 7 s\n"
                         r"FAIL lint: 5 s\n( +\d+\.\d s step: [ab]\n){2}"
                         r"passed only the second time, alone: a\n"
                         rf"---- the end of {self.folder}/lint.log\n(more\n){{59}}last of lint\n"
                         r"failed: b\n6 passed, 0 failed, 2 skipped\n\Z")

    def test_what_fails(self):
        for text, why in (("echo one: 3 run, 1 failed, 0 skipped; exit 1", "exit status 1"),
                          ("exit 0", "exit status 0"),
                          (f"{PASSES}; kill -SEGV $$", "exit status 139"),
                          (f"{PASSES}; sleep 30", "no end after 1 s")):
            with self.subTest(why):
                done = self.run_py("--timeout", "1", self.script("a", text))
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"a: {why}", done.stdout)

    def again(self, most, *tests):
        """The exit status, and how often each test ran."""
        tally = os.path.join(self.folder, "tally")
        paths = [self.script(f"t{i}", f"echo >>$0.ran; {text}") for i, text in enumerate(tests)]
        done = self.run_py("--again", str(most), "--timeout", "2", "--tally", tally, *paths)
        ran = []
        for path in paths:
            with open(f"{path}.ran") as f:
                ran.append(len(f.readlines()))
            os.remove(f"{path}.ran")
        with open(tally) as f:
            return done.returncode, ran, f.read()

    def test_a_second_time(self):
        fails = "echo one: 3 run, 1 failed, 0 skipped; exit 1"
        at_first = f"[ $(wc -l <$0.ran) -gt 1 ] || {{ {fails}; }}; {PASSES}"
        self.assertEqual(self.again(0, at_first)[:2], (1, [1]))
        status, ran, tally = self.again(1, at_first, PASSES)
        self.assertEqual((status, ran), (0, [2, 1]))
        self.assertIn("again t0\n6 0 2\n", tally)
        self.assertEqual(self.again(1, f"[ $(wc -l <$0.ran) -gt 1 ] || sleep 9; {PASSES}")[:2],
                         (0, [2]))
        for most, tests, ran in ((1, (fails, PASSES), [2, 1]), (1, (at_first,) * 2, [1, 1]),
                                 (2, (f"{PASSES}; kill -SEGV $$",), [1])):
            status, how_often, tally = self.again(most, *tests)
            self.assertEqual((status, how_often), (1, ran), tests)
            self.assertIn("fail t0\n", tally)

    def test_what_passed_is_left_out(self):
        """cmocka's lines, so that the record of a long run has the failure."""
        done = self.run_py(self.script("a", r"""printf '[ RUN      ] good\n[       OK ] good\n'
            printf '[ RUN      ] bad\nt.c:7: error\n[  FAILED  ] bad\n'
            echo a: 2 run, 1 failed, 0 skipped; exit 1"""))
        self.assertIn("] bad\nt.c:7: error\n[  FAILED  ] bad\n", done.stdout)
        self.assertNotIn("good", done.stdout)

    def test_nothing_is_left(self):
        """Daemons of a test end with it, also those that start each other again."""
        keepers = self.script("keepers", KEEPERS)
        for end in ("sleep 0.3", "sleep 30"):
            with self.subTest(end):
                self.run_py("--timeout", "1", self.script("a", f"{keepers}\n{end}\n{PASSES}"))
                self.assertEqual(alive(self.mark), 0)

    def test_orphans_are_counted(self):
        """The CPU time of a daemon is its test's."""
        self.run_py(self.script("a", f"setsid timeout 0.5 sh -c 'while :; do :; done' &\n"
                                     f"sleep 1\n{PASSES}"))
        with open(os.path.join(self.folder, "times")) as f:
            wall_s, cpu_s, name = f.read().split()
        self.assertEqual(name, "a")
        self.assertGreater(float(wall_s), 0.9)
        self.assertGreater(float(cpu_s), 0.02)

    def test_the_longest_starts_first(self):
        """From the second run on."""
        names = [self.script(name, PASSES) for name in "abc"]
        order = []
        for wall_s in ((), (0.1, 1, 0.5)):
            with open(os.path.join(self.folder, "times"), "w") as f:
                f.writelines(f"{s} 0.1 {name}\n" for s, name in zip(wall_s, "abc"))
            done = self.run_py("--jobs", "1", *names)
            order.append(re.findall(r"^ok +(\w)", done.stdout, re.M))
        self.assertEqual(order, [["a", "b", "c"], ["b", "c", "a"]])

    def most_at_once(self, tests, idle_cores):
        """Of @tests, each of which waits for the others: a minute if they can come."""
        log = os.path.join(self.folder, f"log{idle_cores}")
        path = self.script("meet", f"""echo + >>{log}; i=0
            until [ $(grep -c + {log}) -eq {tests} ] || [ $i -ge {600 if idle_cores else 3} ]; do
                i=$((i + 1)); sleep 0.1
            done
            echo - >>{log}; {PASSES}""")
        jobs = [(f"meet{i}", [path], dict(os.environ), 90, None) for i in range(tests)]
        for _, done in run.run_all(jobs, run.Times("/none"), 2, tests, lambda: idle_cores):
            self.assertEqual(done.failed, 0, done.output)
        with open(log) as f:
            steps = [1 if line == "+\n" else -1 for line in f]
        return max(itertools.accumulate(steps))

    def test_waiting_leaves_the_core(self):
        """More tests run than there are cores, but only on idle ones."""
        self.assertEqual(self.most_at_once(6, 1), 6)
        self.assertEqual(self.most_at_once(6, 0), 2)


if __name__ == "__main__":
    unittest.main()
