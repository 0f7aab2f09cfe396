#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --mem=MIN:MAX on the software GPU: memory that a program may have, and keeps."""
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import APP, BE_MIB, LC_MIB, MEMORY_MIB, NO_MEMORY, MemoryRig  # noqa: E402
from rig import CLI, PATIENCE_S  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

MAX_MIB = 64
SMALL_MIB = 0.25                # stays the driver's own


class Limits(MemoryRig):
    def limited(self, *how):
        return self.app("be", 0, *how, role="limit")

    def info(self, proc):
        error, free, total = map(int, self.take(proc, "info").split())
        self.assertEqual(error, 0)
        return free, total

    def test_max(self):
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        self.assertEqual(self.info(be), (MAX_MIB, MAX_MIB))
        self.assertEqual(self.do(be, "alloc 32", f"alloc {SMALL_MIB}", "create 16"), ["0"] * 3)
        self.assertEqual(self.info(be), (15, MAX_MIB))
        self.assertEqual(self.do(be, "alloc 16", "create 16", "alloc 100000"), [str(NO_MEMORY)] * 3)
        self.assertEqual(self.do(be, "alloc 15.75", f"alloc {SMALL_MIB}"), ["0", str(NO_MEMORY)])
        self.assertEqual(self.info(be), (0, MAX_MIB))
        self.assertEqual(self.said("be").splitlines(), [
            "gpreempt: --mem: an allocation of 16MiB fails as out of memory: this process has "
            "49408KiB of its 64MiB, by MAX of run --mem=MIN:MAX"])
        self.assertEqual(self.do(be, "free", "drop", "free", "alloc 32"), ["0"] * 4)

    def test_all_is_given_back(self):
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        for _ in range(3):
            self.assertEqual(self.do(be, "alloc 32", f"alloc {SMALL_MIB}", "create 16", "drop",
                                     "free", "free"), ["0"] * 6)
            self.assertEqual(self.info(be), (MAX_MIB, MAX_MIB))

    def test_handle_by_address(self):
        """It counts as the first one does, whether the memory can leave or not."""
        for how in "--mem=:24MiB", "--mem=24MiB:24MiB":
            be = self.limited(how)
            self.assertEqual(self.do(be, "create 16", "again 16", "create 16"), ["0", "0", str(NO_MEMORY)])
            self.assertEqual(self.info(be), (8, 24))
            self.assertEqual(self.do(be, "again 16", "drop", "create 16", "drop"), ["0"] * 4)
            # Memory of cuMemAlloc has no handle, as without gpreempt.
            self.assertEqual(self.do(be, "alloc 2", "retain"), ["0", "1"])
            self.assertEqual(self.info(be), (22, 24))

    def test_context_that_is_reset(self):
        """Its memory of the driver's own is gone, and counts no more."""
        be = self.limited("--mem=:2MiB")
        self.assertEqual(self.do(be, "alloc 0.75", "alloc 0.75", "alloc 0.75"), ["0", "0", str(NO_MEMORY)])
        self.assertEqual(self.do(be, "reset", "alloc 0.75", "alloc 0.75", "alloc 0.75"),
                         ["0", "0", "0", str(NO_MEMORY)])

    def test_free_is_the_device_s(self):
        """Less than the limit leaves, if others have the rest."""
        be, lc = self.limited("--mem=:120MiB"), self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n")
        free, total = self.info(be)
        self.assertEqual((free <= MEMORY_MIB - LC_MIB, total), (True, 120))

    def test_max_moves(self):
        """Memory that is out counts, and comes back."""
        be = self.app("be", BE_MIB, f"--mem=1MiB:{BE_MIB + 2}MiB")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.give(lc)
        self.assertGreater(self.right(be), 0)
        self.assertEqual(self.said("be"), "")

    def test_min_stays(self):
        be = self.app("be", BE_MIB, f"--mem={BE_MIB}MiB:", role="plain")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        self.assertEqual(self.rows()[be.pid]["memory"]["movable_bytes"], 0)
        self.assertGreater(self.right(be), 0)

    def test_more_than_min_leaves(self):
        be = self.app("be", BE_MIB, f"--mem={BE_MIB - 1}MiB:")
        lc = self.app("lc", LC_MIB)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.give(lc)
        self.assertGreater(self.right(be), 0)

    def test_random_calls(self):
        """The device and the limit never disagree."""
        be = self.limited(f"--mem=:{MAX_MIB}MiB")
        has = {"free": [], "drop": []}
        for _ in range(100):
            word = random.choice(["alloc", "create", "free", "drop"])
            mib = random.choice([0.25, 2, 6, 16]) if word == "alloc" else random.choice([2, 8])
            had = sum(map(sum, has.values()))
            if word in has:
                if has[word]:
                    self.assertEqual(self.take(be, word), "0\n")
                    has[word].pop()
                continue
            fits = had + mib <= MAX_MIB
            self.assertEqual(self.take(be, f"{word} {mib}"), f"{0 if fits else NO_MEMORY}\n", (has, self.said("be")))
            if fits:
                has["free" if word == "alloc" else "drop"].append(mib)
            self.assertEqual(self.info(be)[0], int(MAX_MIB - sum(map(sum, has.values()))))

    def test_usage(self):
        for text, why in {
                "1GiB": "not MIN:MAX", "": "not MIN:MAX", ":": "not MIN:MAX", "1:2": "not MIN:MAX",
                "2GiB:1GiB": "MAX is 0, or less than MIN, or a size is too large",
                ":0B": "MAX is 0, or less than MIN, or a size is too large"}.items():
            self.wrong_options({(f"--mem={text}",): f"--mem={text}: {why}; write sizes with a unit, such as "
                                "8GiB:20GiB, 8GiB: or :20GiB"})

    def test_environment(self):
        """A wrong GPREEMPT_MEMORY names itself, and the memory stays."""
        self.env["GPREEMPT_MEMORY"] = "20"
        be = self.limited()
        self.assertEqual(self.do(be, "alloc 32"), ["0"])
        self.assertEqual(self.said("be"), "gpreempt: GPREEMPT_MEMORY=20: not 1 or MIN:MAX; memory of "
                         "this process stays\n")


class Host(MemoryRig, Daemon):
    """Memory of the host has a limit; all that is movable fits, or none leaves. 64 MiB are pinned at a time."""

    def setUp(self):
        super().setUp()
        self.start_daemon("host_memory: 150MiB\n")

    def memory(self, proc):
        return {key: value if value is None else value >> 20
                for key, value in self.rows()[proc.pid]["memory"].items()}

    def test_too_little(self):
        be = self.app("be", BE_MIB, "--mem", "--mem-host=100MiB", role="plain")
        lc = self.app("lc", LC_MIB)
        self.until_taken(be, lc)
        self.assertEqual(self.take(lc), f"got {NO_MEMORY}\n")
        m = self.memory(be)
        self.assertEqual([m[f"{k}_bytes"] for k in ("movable", "fixed", "kept", "host_max", "pinned")],
                         [0, BE_MIB, BE_MIB, 100, 0])
        self.assertIn("96.0MiB of it cannot leave: the process may pin 100MiB of the host's memory; raise "
                      "--mem-host of gpreempt run, or host_memory: of gpreempt.yaml\n",
                      self.ok("why", str(be.pid)).stdout)
        self.assertGreater(self.right(be), 0)

    def test_operator_is_stricter(self):
        be = self.app("be", 0, "--mem", "--mem-host=10GiB", role="limit")
        self.assertEqual(self.take(be, "alloc 64"), "0\n")
        self.assertEqual((self.memory(be)["host_max_bytes"], self.memory(be)["movable_bytes"]), (150, 64))
        self.assertEqual(self.take(be, "alloc 64"), "0\n")
        self.assertEqual((self.memory(be)["movable_bytes"], self.memory(be)["kept_bytes"]), (128, 0))
        # Pinned ahead, but never more than it may.
        self.eventually("pinned memory", lambda: self.memory(be)["pinned_bytes"] == 128)
        self.assertEqual(self.take(be, "free"), "0\n")
        self.assertEqual(self.take(be, "create 64"), "0\n")
        self.assertEqual(self.memory(be)["movable_bytes"], 64)

    def test_enough(self):
        be, lc = self.app("be", BE_MIB, "--mem", "--mem-host=128MiB"), self.app("lc", LC_MIB)
        self.until_taken(be, lc)
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        self.assertEqual(self.memory(be)["pinned_bytes"], 128)
        self.give(lc)
        self.assertGreater(self.right(be), 0)

    def test_usage(self):
        unit = "not a size over 0; write it with a unit, such as 64GiB"
        self.wrong_options({
            ("--mem-host=1GiB",): "--mem-host needs --mem or --idle-out; else no memory leaves",
            **{("--mem", f"--mem-host={text}"): f"--mem-host={text}: {unit}" for text in ("0B", "64")}})


class Rules(MemoryRig, Daemon):
    """The operator's limits, by rules of gpreemptd."""

    def setUp(self):
        super().setUp()
        self.start_daemon(f"rules:\n- user: {os.getuid()}\n  max_class: lc\n"
                          "  memory: {min: 16MiB, max: 32MiB}\n")
        self.rule = f"the rule at {self.dir}/gpreempt.yaml:2 (user {os.getuid()})"

    def refuses(self, proc, cls):
        self.assertEqual([self.take(proc, line) for line in ("alloc 24", "alloc 16", "alloc 8")],
                         ["0\n", f"{NO_MEMORY}\n", "0\n"])
        self.assertEqual(self.take(proc, "info"), "0 0 32\n")
        self.assertEqual(self.said(cls).splitlines()[-1:], [
            "gpreempt: --mem: an allocation of 16MiB fails as out of memory: this process has 24MiB of "
            f"its 32MiB, by {self.rule}"])
        return proc

    def test_rule_is_stricter(self):
        self.refuses(self.app("be", 0, "--mem=:64MiB", role="limit"), "be")

    def test_without_mem(self):
        proc = self.refuses(self.app("be", 0, role="limit"), "be")
        self.assertEqual(self.rows()[proc.pid]["memory"]["movable_bytes"], 0)
        self.refuses(self.app("lc", 0, role="limit"), "lc")

    def test_without_run(self):
        """A program that has the layer by its environment asks for the rule itself."""
        for cls in "be", "lc":
            self.refuses(self.injected(cls), cls)
        self.assertEqual(self.do(self.injected("be", GPREEMPT_MEMORY_ASKED="1"), "alloc 40"), ["0"])

    def test_class_that_is_refused(self):
        """The limit is that of the process, whatever class it has."""
        self.stop_daemon()
        self.start_daemon(f"rules:\n- user: {os.getuid()}\n  class: be\n  memory: {{max: 32MiB}}\n")
        for start in self.app, self.injected:
            proc = start("lc", *([0] if start == self.app else []), role="limit")
            self.eventually("its class", lambda pid=proc.pid: self.rows().get(pid, {}).get("class") == "be")
            self.assertEqual(self.do(proc, "alloc 33", "alloc 32"), [str(NO_MEMORY), "0"])

    def test_turns_without_run(self):
        self.stop_daemon()
        self.start_daemon(f"rules:\n- user: {os.getuid()}\n  max_class: lc\n  memory: {{turns: true}}\n")
        for cls, movable in ("be", 8 << 20), ("lc", 0):
            proc = self.injected(cls)
            self.assertEqual(self.do(proc, "alloc 8"), ["0"])
            self.assertEqual(self.rows()[proc.pid]["memory"]["movable_bytes"], movable)

    def test_command_line_is_stricter(self):
        proc = self.app("be", 0, "--mem=:24MiB", role="limit")
        self.assertEqual(self.take(proc, "alloc 25"), f"{NO_MEMORY}\n")
        self.assertIn("this process has 0B of its 24MiB, by MAX of run --mem=MIN:MAX\n", self.said("be"))

    def test_min(self):
        proc = self.app("be", 0, "--mem=24MiB:", role="limit")
        self.assertEqual(self.said("be"), f"gpreempt: run: MIN is 16MiB, by {self.rule}\n")
        self.assertEqual(self.take(proc, "alloc 16"), "0\n")
        self.assertEqual(self.rows()[proc.pid]["memory"]["movable_bytes"], 0)
        self.assertEqual(self.take(proc, "alloc 2"), "0\n")
        self.assertEqual(self.rows()[proc.pid]["memory"]["movable_bytes"], 18 << 20)

    def test_stat(self):
        done = self.gp("stat", "--class=be", "--device=soft0", "--", sys.executable, APP, "limit", "0",
                       env={"GP_BUILD": os.path.dirname(os.path.dirname(CLI))}, feed="alloc 33\n")
        self.assertEqual(done.stdout, f"ready\n{NO_MEMORY}\n")
        self.assertIn(f"of its 32MiB, by {self.rule}\n", done.stderr)


class Admission(MemoryRig):
    """MIN is there before the program starts."""

    def admit(self, *how):
        return self.gp("run", "--class=be", "--device=soft0", *how, "--", "echo", "runs")

    def refused(self, line, *how):
        done = self.admit(*how)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertRegex(done.stderr, rf"^gpreempt: run: {line}\n$")

    def test_too_much(self):
        for how in (), ("--wait",), ("--mem-turns", "--no-daemon"):
            done = self.admit("--mem=200MiB:", *how)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1:]), (125, [
                "gpreempt: run: MIN is 200MiB, but soft0 has 128MiB of memory; write a smaller MIN"]))

    def test_not_free(self):
        self.assertEqual(self.admit("--mem=100MiB:").stdout, "runs\n")
        be = self.app("be", BE_MIB)
        self.refused(r"MIN is 100MiB, but [\d.]+\wiB of 128MiB are free on soft0; add --wait, or end other "
                     "programs", "--mem=100MiB:")
        self.assertEqual(self.admit("--mem=16MiB:").stdout, "runs\n")
        self.assertEqual(self.admit("--mem=:100MiB").stdout, "runs\n")
        # Others leave when it is CMD's turn.
        self.assertEqual(self.admit("--mem=100MiB:", "--mem-turns").stdout, "runs\n")
        self.right(be)

    def test_wait(self):
        be = self.app("be", BE_MIB)
        waits = subprocess.Popen([CLI, "run", "--class=be", "--device=soft0", "--mem=100MiB:", "--wait", "--", "echo",
                                  "runs"], env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.programs.append(waits)
        self.assertRegex(waits.stderr.readline(), r"^gpreempt: run: waiting for 100MiB on soft0: "
                         r"[\d.]+\wiB of 128MiB are free\n$")
        time.sleep(1.5)
        self.assertIsNone(waits.poll())
        self.kill(be)
        self.assertEqual(waits.communicate(timeout=PATIENCE_S), ("runs\n", ""))

    def test_usage(self):
        for how in (), ("--mem",), ("--mem=:1GiB",):
            self.refused("--wait needs MIN; write --mem=MIN:MAX or --mem=MIN:", "--wait", *how)


class Figures(MemoryRig, Daemon):
    """Memory on the device, on the host, and moves, in all views."""

    def setUp(self):
        super().setUp()
        self.start_daemon(f"metrics_listen: {self.dir}/metrics\n")

    def figures(self, proc):
        row = self.rows()[proc.pid]["memory"]
        return tuple(row[f"{name}_bytes"] >> 20 for name in ("movable", "fixed", "out", "moved"))

    def metric(self, kind):
        return float(re.search(r'(?m)^gpreempt_memory_bytes\{.*class="be",kind="%s"\} (.*)$' % kind,
                               self.scrape()).group(1)) / (1 << 20)

    def sums(self):
        text = self.scrape()
        return [float(re.search(rf"(?m)^gpreempt_container_memory_{name}{{.*}} (.*)$", text).group(1))
                for name in ("moves_total", "moved_bytes_total", "move_seconds_total")]

    def test_views(self):
        be, lc = self.app("be", 0, "--mem", role="limit"), self.app("lc", LC_MIB)
        self.until_taken(be, lc)
        self.assertEqual([self.take(be, line) for line in ["alloc 64", "create 8", "alloc 0.5"]], ["0\n"] * 3)
        self.assertEqual(self.figures(be), (64, 8, 0, 0))
        self.eventually("the page's figures", lambda: (self.metric("movable"), self.metric("fixed") >= 8)
                        == (64, True))
        why = self.ok("why", str(be.pid)).stdout
        self.assertRegex(why, r"Its memory: 72\.\dMiB on the device, 64\.0MiB of it movable, 0B on the host; "
                         "0 moves of 0B in 0ns\n")
        self.assertEqual(self.take(lc), "got 0\n", self.said("be"))
        out = self.figures(be)[2]
        self.assertIn(out, range(LC_MIB - (MEMORY_MIB - 72), 64))
        self.assertEqual(self.figures(be), (64 - out, 8, out, out))
        self.assertEqual((self.metric("movable"), self.metric("out")), (64 - out, out))
        self.assertRegex(self.ok("top", "-n1", "-b").stdout, rf"(?m)^ *{be.pid} .* out .* {out}\.0MiB  ")
        memory = json.loads(self.ok("why", "--json", str(be.pid)).stdout)["reasons"][0]["memory"]
        self.assertEqual((memory["movable_bytes"], memory["out_bytes"]), ((64 - out) << 20, out << 20))
        first = memory["moves"]
        self.give(lc)
        self.eventually("memory that is back", lambda: self.figures(be) == (64, 8, 0, 2 * out))
        # The sums outlast the process.
        self.kill(be)
        self.eventually("its end", lambda: be.pid not in self.tenants())
        moves, moved, seconds = self.sums()
        self.assertEqual((moves, moved, seconds > 0), (first, 2 * out << 20, True))

    def test_stat(self):
        done = self.gp("stat", "--json", "--device=soft0", "-o", f"{self.dir}/stat", "--", CLI, "run", "--class=be",
                       "--mem=:64MiB", "--device=soft0", "--", sys.executable, APP, "limit", "0",
                       env={"GP_BUILD": os.path.dirname(os.path.dirname(CLI))}, feed="alloc 32\ncreate 4\nalloc 64\nsleep 0.3\n")
        self.assertEqual(done.stdout, f"ready\n0\n0\n{NO_MEMORY}\n0\n")
        with open(f"{self.dir}/stat") as f:
            memory = json.load(f)["sampled"][0]["memory"]
        self.assertEqual((memory["movable_bytes"], memory["fixed_bytes"]), (32 << 20, 4 << 20))


if __name__ == "__main__":
    unittest.main()
