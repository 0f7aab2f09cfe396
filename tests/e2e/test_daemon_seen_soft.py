#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreemptd's reports with real tenants, on a software GPU: ls, top, why, trace and metrics,
compared with each other and with the hardware's activity."""
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trace_rules  # noqa: E402
from rig import BUILD, CLI, PATIENCE_S, Rig  # noqa: E402

DAEMON = os.path.join(BUILD, "bin/gpreemptd")
CONFIG = """\
metrics_listen: {metrics}
rules:
- user: root
  max_class: lc
- user: "{user}"
  max_class: lc
"""


class Seen(Rig):
    """Two best-effort tenants, and an LC one that gives hints."""

    def setUp(self):
        super().setUp()
        run_dir = os.path.join(self.dir, "run")
        self.metrics = os.path.join(self.dir, "metrics.sock")
        self.env.update(GPREEMPT_BACKEND="softgpu",
                        GPREEMPT_DAEMON=os.path.join(run_dir, "gpreemptd.sock"))
        config = os.path.join(self.dir, "gpreempt.yaml")
        with open(config, "w") as f:
            f.write(CONFIG.format(metrics=self.metrics, user=os.getuid()))
        self.log = open(os.path.join(self.dir, "log"), "w+")
        self.addCleanup(self.log.close)
        self.daemon = subprocess.Popen([DAEMON, f"--config={config}",
                                        f"--run-dir={run_dir}"], env=self.env,
                                       stdin=subprocess.DEVNULL, stderr=self.log)
        self.addCleanup(self.stop_daemon)
        self.eventually("the daemon", lambda: self.listed()["daemon"])
        self.be = [self.begin("be"), self.begin("be")]
        self.lc = self.begin("lc", ["--hint-us=300", "--segment", "--requests=1000000"])
        self.procs = {proc.pid for proc in (*self.be, self.lc)}
        self.eventually("they are tenants", lambda: self.procs <= set(self.tenants()))

    def stop_daemon(self):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            raise

    def begin(self, cls, args=()):
        """Kernels of a millisecond and less, so that time moves."""
        proc = subprocess.Popen(
            [CLI, "run", f"--class={cls}", "--device=soft0", "--",
             os.path.join(BUILD, "bench", cls), "--iters=20000", *args],
            env=self.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.programs.append(proc)
        self.assertIn("ready", proc.stdout.readline())
        proc.stdin.write("go\n")
        proc.stdin.flush()
        return proc

    def listed(self):
        return json.loads(self.ok("ls", "--json").stdout)

    def tenants(self):
        return {row["pid"]: row for row in self.listed()["processes"] if row["daemon"]}

    def scrape(self):
        """Sample -> value; the scraped text."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE_S)
            s.connect(self.metrics)
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            data = b""
            while more := s.recv(65536):
                data += more
        head, text = data.decode().split("\r\n\r\n", 1)
        self.assertIn(" 200 ", head.split("\r\n")[0])
        samples = dict(line.rsplit(" ", 1) for line in text.splitlines()
                       if not line.startswith("#"))
        return {name: float(value) for name, value in samples.items()}, text

    def test_ls_and_top(self):
        self.eventually("turns and holds", lambda: all(
            row["daemon"]["turns"] if row["class"] == "be" else row["daemon"]["holds"]
            for row in self.tenants().values()))
        rows = self.tenants()
        for proc in self.be:
            row = rows[proc.pid]
            self.assertTrue(row["tenant"] and row["class"] == "be")
            self.assertEqual(row["daemon"]["usage_source"], "log")
            self.assertLessEqual(row["daemon"]["used_ns"], row["daemon"]["age_ns"])
            self.assertIsNone(row["daemon"]["switch_p50_ns"])
        self.assertLessEqual(sum(row["daemon"]["used_ns"] for row in rows.values()),
                             self.listed()["devices"][0]["up_ns"])
        text = self.ok("top", "-b", "-n", "1", "-d", str(self.seconds_of(0.4))).stdout
        used = [float(line.split()[4]) for line in text.splitlines()
                if line.split() and line.split()[0] in map(str, self.procs)]
        self.assertEqual(len(used), 3)
        # One device, by its own account, which comes ten times a second.
        self.assertLess(sum(used), 150, text)

    def seconds_of(self, device_s):
        """In which so much of the device's time passes: little, on a slow machine."""
        def up():
            return self.listed()["devices"][0]["up_ns"] / 1e9
        before, start = up(), time.monotonic()
        time.sleep(1)
        rate = (up() - before) / (time.monotonic() - start)
        return max(1, math.ceil(device_s / max(rate, 0.01)))

    def test_histograms(self):
        """They say the same as ls does, if nothing came in between."""
        def same():
            row = self.tenants()[self.lc.pid]["daemon"]
            told = json.loads(self.ok("hist", "--json", str(self.lc.pid)).stdout)
            switch = told["tenants"][0]["histograms"][1]
            return (switch["count"] > 2 and
                    [switch["p50_ns"], switch["p99_ns"]] ==
                    [row["switch_p50_ns"], row["switch_p99_ns"]])
        self.eventually("one p50 and p99 of switches", same)

    def test_why(self):
        words = {"runs", "idle", "turn", "put_off", "switching", "lc", "minimum", "no_group"}
        for pid in self.procs:
            one, = json.loads(self.ok("why", "--json", str(pid)).stdout)["reasons"]
            self.assertIn(one["reason"], words)
            self.assertEqual(one["origin"], "run")
            self.assertNotIn("announces no work", one["text"])
            if one["other_pid"]:
                self.assertIn(one["other_pid"], self.procs)

    def test_trace(self):
        file = os.path.join(self.dir, "trace.json")

        def spans():
            self.ok("trace", "-o", file, "-d", "1")
            events = trace_rules.judge_trace(self, file)
            return {event["name"] for event in events if event["ph"] in "BX"}
        names = set()

        def all_seen():
            names.update(name.split()[0] for name in spans())
            return {"turn", "suspended", "hold", *map(str, self.procs)} <= names
        self.eventually("turns, suspensions, holds, and who had the device", all_seen)

    def test_metrics(self):
        self.eventually("holds", lambda: self.scrape()[0].get(self.find("hold_seconds_count"),
                                                             0) > 3)
        self.eventually("segments", lambda: self.scrape()[0].get(
            self.find("segment_seconds_count"), 0) > 3)
        first, text = self.scrape()
        self.assertFalse(re.search(r"\bpid=", text))
        device = self.listed()["devices"][0]["uuid"]
        be = f'gpreempt_tenants{{device="{device}",class="be"}}'
        self.assertEqual(first[be], 2)
        used = f'gpreempt_used_seconds_total{{device="{device}",class="be"}}'
        self.eventually("use", lambda: self.scrape()[0][used] > first[used])
        self.kill(self.be[0])
        self.eventually("it has left", lambda: self.scrape()[0][be] == 1)
        # Its past use stays counted: no counter falls.
        second = self.scrape()[0]
        for name, value in first.items():
            if "_total" in name or "_bucket" in name or "_count" in name:
                self.assertGreaterEqual(second[name], value, name)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                           check=True, capture_output=True)

    def find(self, name):
        return next(key for key in self.scrape()[0] if key.startswith("gpreempt_" + name))


if __name__ == "__main__":
    unittest.main()
