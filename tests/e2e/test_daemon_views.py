#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt ls, top, why, trace, attach and set with a fake daemon."""
import contextlib
import errno
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_daemon as fake  # noqa: E402
import trace_rules  # noqa: E402
from rig import BUILD, CLI, PATIENCE_S, Rig  # noqa: E402

LC_PID = 1      # a process that always exists


class Views(Rig):
    """Each request moves the daemon's time by a second; two tenants."""

    def setUp(self):
        super().setUp()
        self.looks = 0
        self.me = os.getpid()
        self.env["GPREEMPT_DAEMON"] = os.path.join(self.dir, "daemon.sock")
        self.env["TZ"] = "UTC"
        self.daemon = fake.FakeDaemon(self.env["GPREEMPT_DAEMON"], self.devices,
                                      self.tenants)
        self.addCleanup(self.daemon.stop)

    def devices(self):
        self.looks += 1
        second = 10 ** 9 * self.looks
        return [fake.device(up_ns=second, resident_pid=self.me, tenants=2,
                            turns=20 * self.looks, log_lost=fake.UNKNOWN)]

    def tenants(self):
        second = 10 ** 9 * self.looks
        return [fake.tenant(self.me, comm=b"train", flags=fake.RESIDENT | fake.BUSY,
                            age_ns=second, used_ns=second // 4, resident_ns=second // 2,
                            usage=1, wait_p50_ns=1234567, wait_p99_ns=98765432,
                            why=b"rule at line 3: user: root"),
                fake.tenant(LC_PID, comm=b"serve", age_ns=second, flags=fake.HELD,
                            request=fake.Request(fake.LC, 2), origin=fake.BY_RULE)]

    def failed(self, *args):
        done = self.gp(*args)
        self.assertEqual(done.returncode, 125, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def takes(self):
        return [take for number, take in self.daemon.asked if number == fake.TAKE]


class Ls(Views):
    def test_rows_are_joined(self):
        """A tenant's own report, and the daemon's on it."""
        be = self.start("be:7")
        own = self.rows()[be.pid]
        device = fake.U8x16(*bytes.fromhex(own["uuid"][4:].replace("-", "")))
        self.daemon.tenants = lambda: [fake.tenant(
            be.pid, uuid=device, flags=fake.SUSPENDED, request=fake.Request(fake.BE, 9))]
        row = self.rows()[be.pid]
        self.assertEqual((row["tenant"], row["slice_us"]), (True, own["slice_us"]))
        self.assertEqual((row["class"], row["weight"]), ("be", 9))
        self.assertEqual(row["daemon"]["state"], "waits")
        self.assertIsNone(row["daemon"]["used_ns"])
        self.assertEqual(len([r for r in self.listed()["processes"]
                              if r["pid"] == be.pid]), 1)

    def listed(self):
        return json.loads(self.ok("ls", "--json").stdout)

    def test_rows_of_the_daemon_alone(self):
        listed = self.listed()
        self.assertIs(listed["daemon"], True)
        rows = {row["pid"]: row for row in listed["processes"]}
        row = rows[LC_PID]
        self.assertEqual((row["class"], row["level"], row["weight"]), ("lc", 2, None))
        self.assertEqual(row["daemon"]["origin"], "rule")
        self.assertEqual(rows[self.me]["daemon"]["wait_p99_ns"], 98765432)
        self.assertEqual(rows[self.me]["daemon"]["usage_source"], "log")
        device = listed["devices"][0]
        self.assertEqual((device["be_policy"], device["log_lost"]), ("fair", None))
        text = self.ok("ls").stdout
        mine = next(line for line in text.splitlines() if line.split()[0] == str(self.me))
        self.assertIn(" 25.0 ", mine)
        self.assertIn(" 98.8ms ", mine)

    def test_without_a_daemon(self):
        """The same as before a daemon ran."""
        with_daemon = self.ok("ls").stdout
        self.daemon.stop()
        lines = self.ok("ls").stdout.splitlines()
        self.assertEqual(lines[0], "    PID  CLASS     DEVICE                 GROUPS "
                         "SLICE_US    HINTS    HOLDS   LATE SWITCH_US  COMMAND")
        self.assertNotEqual(with_daemon.splitlines()[0], lines[0])
        listed = self.listed()
        self.assertEqual((listed["daemon"], listed["devices"]), (False, None))
        self.assertNotIn(self.me, [row["pid"] for row in listed["processes"]])
        be = self.start("be")
        self.assertIsNone(self.rows()[be.pid]["daemon"])


class Why(Views):
    def reason(self, **fields):
        fields = {"pid": self.me, "uuid": fake.uuid(1), "comm": b"train",
                  "device": b"Fake GPU", "request": fake.Request(fake.BE, 100),
                  "for_ns": fake.UNKNOWN, "until_ns": fake.UNKNOWN,
                  "why": b"rule at line 3: user: root", **fields}
        self.daemon.reasons[fields["pid"]] = fake.Reason(**fields)

    def test_in_words(self):
        self.reason(reason=3, ahead=2, other_pid=LC_PID, other_comm=b"serve",
                    for_ns=12000000, until_ns=38000000)
        self.assertEqual(
            self.ok("why", str(self.me)).stdout,
            f"process {self.me} (train), be:100, on Fake GPU\n"
            "  It waits for its turn; 2 others go before it. It is the turn of process 1 "
            "(serve), for 12.0ms so far and 38.0ms more at most.\n"
            "  Its class: rule at line 3: user: root\n")

    def test_as_json(self):
        self.reason(reason=6, until_ns=5000000,
                    request=fake.Request(fake.BE, 100, 30))
        told = json.loads(self.ok("why", "--json", str(self.me)).stdout)
        one, = told["reasons"]
        self.assertEqual((one["reason"], one["class"], one["until_ns"], one["for_ns"],
                          one["other_pid"]), ("cap", "be:100,cap=30%", 5000000, None, None))
        self.assertIn("30 %", one["text"])

    def test_what_late_knowledge_costs(self):
        self.reason(pid=LC_PID, reason=0, request=fake.Request(fake.LC, 2))
        told = self.ok("why", str(LC_PID)).stdout
        self.assertIn("gpreempt run did not start it", told)

    def test_every_device(self):
        self.daemon.tenants = lambda: [fake.tenant(self.me),
                                       fake.tenant(self.me, uuid=fake.uuid(2))]
        self.reason(reason=0)
        told = json.loads(self.ok("why", "--json", str(self.me)).stdout)
        self.assertEqual(len(told["reasons"]), 2)
        asked = [bytes(take.uuid)[0] for number, take in self.daemon.asked
                 if number == fake.WHY]
        self.assertEqual(asked, [1, 2])

    def test_banned(self):
        self.daemon.tenants = lambda: [fake.tenant(self.me, flags=fake.BANNED)]
        self.reason(reason=3)
        self.assertIn("suspended until it ends", self.ok("why", str(self.me)).stdout)

    def test_refused(self):
        self.daemon.tenants = lambda: []
        self.assertIn("it is no tenant", self.failed("why", str(self.me)))
        self.daemon.stop()
        self.assertIn("no gpreemptd runs", self.failed("why", str(self.me)))
        self.assertIn("PID missing", self.failed("why"))
        self.assertIn("not a PID", self.failed("why", "x"))


class Hist(Views):
    def setUp(self):
        super().setUp()
        buckets = fake.Buckets(sum_ns=4 * 10 ** 6)
        buckets.count[0] = 1            # up to 1.024 us
        buckets.count[16] = 2           # up to 2.048 us
        buckets.count[447] = 1          # beyond
        self.daemon.buckets = {1: buckets}

    def test_text(self):
        self.assertEqual(self.ok("hist", str(LC_PID)).stdout, """\
process 1 (serve), lc:2, on Fake GPU

switch, from requesting the device to having it: 4 times, 1.00ms on average
  p50 2.05us  p90 -  p99 -  p99.9 -  p100 -
""" + "".join(f"  up to {bound:>8} {count:>10}  {'#' * 20 * count}\n" for bound, count in
              [("1.02us", 1), ("2.05us", 2)] + self.empty()) +
            f"   more {1:>19}  {'#' * 20}\n")

    def empty(self):
        """The empty lines between."""
        def text(ns):
            for unit, size in (("us", 1e3), ("ms", 1e6), ("s", 1e9)):
                if ns < 999.5 * size:
                    break
            value = ns / size
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f}{unit}"
        return [(text(1024 << i), 0) for i in range(2, 28)]

    def test_json(self):
        tenant, = json.loads(self.ok("hist", "--json", str(LC_PID)).stdout)["tenants"]
        self.assertEqual([h["kind"] for h in tenant["histograms"]],
                         ["wait", "switch", "hold", "suspended", "segment"])
        switch = tenant["histograms"][1]
        self.assertEqual((switch["count"], switch["p50_ns"], switch["p99_ns"]),
                         (4, 2048, None))
        self.assertEqual(switch["buckets"], [
            {"up_to_ns": 1024, "count": 1}, {"up_to_ns": 2048, "count": 2},
            {"up_to_ns": None, "count": 1}])
        self.assertIsNone(tenant["histograms"][0]["p50_ns"])

    def test_segments(self):
        self.daemon.buckets = {4: self.daemon.buckets[1]}
        told = self.ok("hist", str(LC_PID)).stdout
        self.assertIn("\nsegment, length of segments: 4 times", told)

    def test_nothing_yet(self):
        self.daemon.buckets = {}
        self.assertIn("no measurements yet", self.ok("hist", str(self.me)).stdout)

    def test_refused(self):
        self.daemon.tenants = lambda: []
        self.assertIn("not under gpreemptd", self.failed("hist", str(self.me)))
        self.daemon.stop()
        self.assertIn("no gpreemptd runs", self.failed("hist", str(self.me)))


class Apply(Views):
    def test_the_daemon_takes_it(self):
        be = self.start()
        self.ok("attach", "--class=be:7,cap=20%", str(be.pid))
        self.ok("set", "-p", str(be.pid), "--class=lc:1,period=20ms,runtime=2ms")
        first, second = self.takes()
        self.assertEqual((first.pid, first.request.cls, first.request.value,
                          first.request.cap_pct), (be.pid, fake.BE, 7, 20))
        self.assertEqual(bytes(first.uuid), bytes(16))
        self.assertEqual((second.request.cls, second.request.period_ns,
                          second.request.deadline_ns, second.request.runtime_ns),
                         (fake.LC, 20000000, 20000000, 2000000))
        # Nothing else was done.
        self.assertEqual(self.rows()[be.pid]["slice_us"], 2048)

    def test_one_device(self):
        be = self.start()
        uuid = self.rows()[be.pid]["uuid"]
        self.ok("attach", "--class=be", "--device=soft0", str(be.pid))
        self.assertEqual(bytes(self.takes()[0].uuid).hex(), uuid[4:].replace("-", ""))

    def test_refused(self):
        self.daemon.take = (-errno.EPERM, "lc: rule at line 3 gives be, and max_class: be")
        said = self.failed("attach", "--class=lc", str(self.me))
        self.assertIn("rule at line 3 gives be", said)

    def test_deadlines_need_a_daemon(self):
        self.daemon.stop()
        said = self.failed("attach", "--class=be:7,cap=20%", str(self.me))
        self.assertIn("need gpreemptd", said)
        self.assertIn("--class=be:7\n", said)

    def test_turned_away_at_the_door(self):
        self.daemon.door = fake.said(-errno.EUSERS, "too many connections")
        self.assertIn("too many connections",
                      self.failed("attach", "--class=be", str(self.me)))
        for args in (["why", str(self.me)], ["top", "-b"], ["trace", "-o", self.dir]):
            self.assertIn("too many connections", self.failed(*args))
        self.assertIn("too many connections", self.ok("ls").stderr)

    def test_it_does_not_answer(self):
        """It hangs up, sends another message, or is silent."""
        self.daemon.answer = lambda peer, message: peer.shutdown(2)
        self.assertIn("closed the connection",
                      self.failed("attach", "--class=be", str(self.me)))
        self.daemon.answer = lambda peer, message: peer.send(b"nonsense")
        for args in (["attach", "--class=be", str(self.me)], ["why", str(self.me)],
                     ["top", "-b"]):
            self.assertIn("another protocol", self.failed(*args))
        self.daemon.answer = lambda peer, message: None
        self.assertIn("does not answer",
                      self.failed("attach", "--class=be", str(self.me)))


class Top(Views):
    def test_batch(self):
        done = self.ok("top", "-b", "-n", "2", "-d", "0.05")
        self.assertEqual(done.stdout.count("gpreempt top - "), 2)
        rows = [line.split() for line in done.stdout.splitlines()
                if line.split()[:1] == [str(self.me)]]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row[2:6], ["be:100", "runs", "25.0", "50.0"])
            self.assertEqual(row[-1], "train")
        self.assertIn("turns/s 20.0", done.stdout)
        self.assertIn("log lost -", done.stdout)

    def test_order(self):
        for key, first in (("pid", LC_PID), ("used", self.me), ("name", LC_PID)):
            text = self.ok("top", "-b", "-n", "1", "-d", "50ms", "-s", key).stdout
            pids = [int(line.split()[0]) for line in text.splitlines()
                    if re.match(r" +\d+ ", line)]
            self.assertEqual(pids[0], first, text)

    def test_bad_arguments(self):
        self.assertIn("--sort=x", self.failed("top", "-b", "-s", "x"))
        self.assertIn("--count=0", self.failed("top", "-b", "-n", "0"))
        self.assertIn("--delay=0", self.failed("top", "-b", "-d", "0"))
        self.assertIn("no terminal", self.failed("top"))
        self.daemon.stop()
        self.assertIn("no gpreemptd runs", self.failed("top", "-b"))

    def test_batch_outlives_a_daemon(self):
        proc = subprocess.Popen([CLI, "top", "-b", "-d", "0.05"], text=True,
                                env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.programs.append(proc)
        proc.stdin = proc.stderr    # for end_programs()
        self.assertIn("gpreempt top", proc.stdout.readline())
        self.daemon.stop()
        self.assertIn("gpreemptd", proc.stderr.readline())
        self.daemon.start()
        while "gpreempt top" not in proc.stdout.readline():
            self.assertIsNone(proc.poll())
        proc.send_signal(signal.SIGINT)
        self.assertEqual(proc.wait(PATIENCE_S), 0)

    def test_nobody_reads(self):
        proc = subprocess.Popen([CLI, "top", "-b", "-d", "0.05"], text=True,
                                env=self.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.programs.append(proc)
        proc.stdin = proc.stderr
        proc.stdout.readline()
        proc.stdout.close()
        proc.wait(PATIENCE_S)


class Screen(Views):
    """gpreempt top on a terminal of the test's own."""

    def start_top(self, term="xterm", rows=24, cols=120):
        pid, self.tty = pty.fork()
        if not pid:
            os.execve(CLI, [CLI, "top", "-d", "0.1"], {**self.env, "TERM": term})
        self.addCleanup(os.close, self.tty)
        self.pid = pid
        self.resize(rows, cols)
        self.seen = ""
        self.addCleanup(self.end_top, pid)

    def end_top(self, pid):
        if self.pid == pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def resize(self, rows, cols):
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("4H", rows, cols, 0, 0))

    def read(self):
        """Add the new output to self.seen. Return: false if there was none."""
        text = b""
        if select.select([self.tty], [], [], 0.05)[0]:
            with contextlib.suppress(OSError):         # it has ended
                text = os.read(self.tty, 65536)
        self.seen = (self.seen + text.decode(errors="replace"))[-200000:]
        return bool(text)

    def see(self, pattern, after=lambda: None):
        self.seen = ""
        after()

        def seen():
            self.read()
            return re.search(pattern, re.sub(r"\x1b[\[(][0-9;?]*[a-zA-Z]", " ", self.seen))
        self.eventually(pattern, seen)

    def press(self, keys):
        os.write(self.tty, keys.encode())

    def exit_status(self):
        result = []

        def ended():
            self.read()
            result[:] = os.waitpid(self.pid, os.WNOHANG)
            return result[0]
        self.eventually("its end", ended)
        self.pid = 0
        while self.read():
            pass
        return os.waitstatus_to_exitcode(result[1])

    def test_keys(self):
        self.start_top()
        self.see("Fake GPU")
        for key, name in zip("twspnu", ("turn", "wait", "switch", "pid", "name", "used")):
            self.see(name[1:], after=lambda k=key: self.press(k))
        self.see("revers", after=lambda: self.press("r"))
        self.press("\x1b[B\x1b[A\x1b[6~\x1b[5~x")
        self.press("q")
        self.assertEqual(self.exit_status(), 0)
        # The screen is restored.
        self.assertIn("\x1b[?1049l", self.seen)

    def test_resize(self):
        self.start_top()
        self.see("train")
        for rows, cols in ((5, 20), (1, 1), (2, 300)):
            self.see("\n|.", after=lambda r=rows, c=cols: self.resize(r, c))
        self.see("train", after=lambda: self.resize(60, 200))
        self.press("q")
        self.assertEqual(self.exit_status(), 0)

    def test_the_daemon_dies_and_comes_back(self):
        self.start_top()
        self.see("train")
        self.daemon.stop()
        self.see("no +gpreemptd +runs")
        self.daemon.start()
        self.see("train")
        os.kill(self.pid, signal.SIGTERM)
        self.assertEqual(self.exit_status(), 0)

    def test_bad_terminals(self):
        for term in ("", "nonsense", "dumb"):
            self.start_top(term)
            self.assertEqual(self.exit_status(), 125, term)
            self.assertIn("cannot draw on this terminal", self.seen)

    def test_ctrl_c(self):
        self.start_top()
        self.see("train")
        self.press("\x03")
        self.assertEqual(self.exit_status(), 0)


def record(time_ns, kind, pid=0, value=0, device=0):
    return fake.Record(time_ns=time_ns, kind=kind, pid=pid, value=value, device=device)


class Trace(Views):
    def setUp(self):
        super().setUp()
        base = 10 ** 18
        me = self.me
        self.daemon.records = [
            record(base, fake.JOIN, LC_PID, fake.LC << 32),
            record(base + 2000, fake.TURN, me), record(base + 1000, fake.START, me),
            record(base + 500000, fake.END, me), record(base + 500500, fake.START, LC_PID),
            record(base + 500400, fake.SUSPEND, me, 300000),
            record(base + 500000, fake.HOLD, LC_PID, 400000),
            record(base + 900000, fake.END, LC_PID), record(base + 950000, fake.RESUME, me),
            record(base + 960000, fake.SLICE, me, 1), record(base + 970000, fake.PREEMPT, me),
        ] + [record(base + 10 ** 6 + i, fake.SLICE, me, i) for i in range(100)]
        self.file = os.path.join(self.dir, "trace.json")

    def judge(self):
        return trace_rules.judge_trace(self, self.file)

    def names(self, events, ph):
        return [event["name"] for event in events if event["ph"] == ph]

    def test_for_some_time(self):
        done = self.ok("trace", "-o", self.file, "-d", "0.3")
        self.assertIn("5 records lost", done.stderr)
        events = self.judge()
        self.assertCountEqual([n for n in self.names(events, "B") if n != "work"],
                              ["turn", "turn", f"{self.me} train", "1 serve", "suspended"])
        self.assertEqual(self.names(events, "X"), ["hold"])
        self.assertIn("preempt", self.names(events, "i"))
        self.assertIn("read too slowly", self.names(events, "i"))
        hardware = [e for e in events if e["ph"] == "B" and e["tid"] == 1]
        self.assertEqual([e["ts"] for e in hardware], [1.0, 500.5])

    def test_opened_by_perfetto(self):
        tool = shutil.which("trace_processor") or shutil.which("trace_processor_shell")
        if not tool:
            self.skipTest("no trace_processor")
        self.ok("trace", "-o", self.file, "-d", "0.1")
        query = os.path.join(self.dir, "query.sql")
        with open(query, "w") as f:
            f.write("select name, dur from slice where name = 'hold';")
        done = subprocess.run([tool, "-q", query, self.file], text=True,
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"hold",400000', done.stdout)

    def test_while_a_command_runs(self):
        done = self.gp("trace", "-o", self.file, "--", "sh", "-c", "echo out; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "out\n"))
        self.judge()
        self.assertEqual(self.gp("trace", "-o", self.file, "--",
                                 "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(self.gp("trace", "-o", self.file, "--",
                                 "/no/such/command").returncode, 127)

    def test_until_it_is_ended(self):
        proc = subprocess.Popen([CLI, "trace", "-o", self.file], env=self.env,
                                stderr=subprocess.DEVNULL,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.append(proc)
        self.eventually("the trace", lambda: os.path.exists(self.file) and
                        os.path.getsize(self.file) > 1000)
        proc.send_signal(signal.SIGINT)
        self.assertEqual(proc.wait(PATIENCE_S), 0)
        self.assertIn("preempt", self.names(self.judge(), "i"))

    def test_the_daemon_dies(self):
        self.daemon.end_trace = True
        done = self.gp("trace", "-o", self.file)
        self.assertEqual(done.returncode, 125)
        self.assertIn("complete up to that time", done.stderr)
        self.assertIn("preempt", self.names(self.judge(), "i"))
        # CMD's exit status counts, whatever the daemon does.
        done = self.gp("trace", "-o", self.file, "--", "sh", "-c", "sleep 0.2; exit 3")
        self.assertEqual(done.returncode, 3)

    def test_bad_arguments(self):
        self.assertIn("file missing", self.failed("trace"))
        self.assertIn("/nowhere/", self.failed("trace", "-o", "/nowhere/trace"))
        done = self.gp("trace", "-o", "/dev/full", "-d", "0.05")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write /dev/full", done.stderr)
        self.daemon.stop()
        self.assertIn("no gpreemptd runs", self.failed("trace", "-o", self.file))
        self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    unittest.main()
