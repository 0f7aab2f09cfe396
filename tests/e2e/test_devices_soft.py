#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two software GPUs, and processes that use both: the class applies on each device, or on the
named one. tests/gpu/devices.py measures the effect of one on the other's latency."""
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, PATIENCE_S, Rig, daemon_roles  # noqa: E402

BE_US, DRIVER_US = 1, 2048
BOTH = os.path.join(BUILD, "bench/both")


class TwoDevices(Rig):
    def setUp(self):
        super().setUp()
        self.env.update(GPREEMPT_BACKEND="softgpu", GPREEMPT_SOFTGPU_GPUS="2")

    def both(self, *words, args=("--iters=100000", "--blocks=2"), **env):
        """A program on all visible devices, after @words."""
        env = {**self.env, **env}
        if not words:
            env["LD_LIBRARY_PATH"] = FACE
        proc = subprocess.Popen([*words, BOTH, *args], env=env, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.addCleanup(proc.stderr.close)
        self.programs.append(proc)
        return proc

    def ready(self, proc, devices=2):
        self.assertEqual(proc.stdout.readline(), f"ready pid={proc.pid} devices={devices}\n")
        return proc

    def listed(self):
        """(PID, device) -> its row of `gpreempt ls --json`."""
        said = json.loads(self.ok("ls", "--json").stdout)
        return {(row["pid"], row["device"]): row for row in said["processes"]}

    def on_each(self, proc, what):
        """Device -> that of @proc, without other processes of this machine."""
        return {device: row[what] for (pid, device), row in self.listed().items()
                if pid == proc.pid}

    def slices(self, proc):
        return self.on_each(proc, "slice_us")

    def until_slices(self, proc, slices):
        self.eventually(f"slices of {slices}", lambda: self.slices(proc) == slices)

    def ends_right(self, proc):
        proc.stdin.write("quit\n")
        proc.stdin.flush()
        self.assertIn("result=right", proc.communicate(timeout=PATIENCE_S)[0])


class WhichThereAre(TwoDevices):
    def test_doctor(self):
        said = self.ok("doctor").stdout
        for device in ("soft0 (soft0, PCI 0000:51:00.0)", "soft1 (soft1, PCI 0000:52:00.0)"):
            self.assertIn(f"device {device}", said)
        self.assertIn("soft1: the short slice is free", said)

    def uuids(self):
        proc = self.ready(self.both(CLI, "run", "--class=be", "--"))
        uuids = self.on_each(proc, "uuid")
        self.ends_right(proc)
        return uuids

    def test_each_server_has_cards_of_its_own(self):
        first = self.uuids()
        self.env["GPREEMPT_SOFTGPU"] = os.path.join(self.dir, "other")
        self.assertEqual(len({*first.values(), *self.uuids().values()}), 4)

    def test_a_program_sees_what_it_is_told_to(self):
        uuid = self.uuids()["soft1"]
        for visible, devices in (("0,1", 2), ("1", 1), ("1,7,0", 1), ("GPU-50f70001", 1),
                                 (f"{uuid.lower()},0", 2)):
            with self.subTest(visible):
                proc = self.ready(self.both(CUDA_VISIBLE_DEVICES=visible), devices)
                proc.communicate("", timeout=PATIENCE_S)
        for visible in ("", "-1", "GPU-", "2", "GPU-50f70002"):
            with self.subTest(visible):
                proc = self.both(CUDA_VISIBLE_DEVICES=visible)
                _, errors = proc.communicate("", timeout=PATIENCE_S)
                self.assertEqual(proc.returncode, 1)
                self.assertIn("cuInit(0): CUDA_ERROR_NO_DEVICE (100)", errors)

    def test_so_many_cannot_be(self):
        for gpus in ("0", "9", "two", "12"):
            done = subprocess.run([os.path.join(FACE, "../gpreempt-softgpud"),
                                   os.path.join(self.dir, "no")], text=True,
                                  capture_output=True, timeout=PATIENCE_S,
                                  env={**self.env, "GPREEMPT_SOFTGPU_GPUS": gpus})
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"gpreempt-softgpud: GPREEMPT_SOFTGPU_GPUS={gpus}: "
                             "wrong number of GPUs; write 1 to 8\n")


class WithoutADaemon(TwoDevices):
    def test_best_effort_on_both(self):
        proc = self.ready(self.both(CLI, "run", "--class=be", "--"))
        self.until_slices(proc, {"soft0": BE_US, "soft1": BE_US})
        proc.stdin.write("go\n")
        proc.stdin.flush()
        # The slot of each device is taken: a later process has the driver's slice.
        later = self.ready(self.both(CLI, "run", "--class=be", "--"))
        self.until_slices(later, {"soft0": DRIVER_US, "soft1": DRIVER_US})
        self.ends_right(proc)
        self.until_slices(later, {"soft0": BE_US, "soft1": BE_US})

    def test_only_where_it_was_told(self):
        proc = self.ready(self.both(CLI, "run", "--class=be", "--device=soft1", "--"))
        self.until_slices(proc, {"soft1": BE_US})
        other = self.ready(self.both(CLI, "run", "--class=be", "--device=soft0", "--"))
        self.until_slices(other, {"soft0": BE_US})

    def test_attach(self):
        for how, slices in (([], {"soft0": BE_US, "soft1": BE_US}),
                            (["--device=soft1"], {"soft0": DRIVER_US, "soft1": BE_US})):
            proc = self.ready(self.both())
            self.ok("attach", "--class=be", *how, str(proc.pid))
            self.assertEqual(self.slices(proc), slices)
            proc.communicate("", timeout=PATIENCE_S)

    def test_a_hint_from_outside(self):
        """The work may be on any of them."""
        proc = self.ready(self.both(CLI, "run", "--class=lc", "--"))
        self.eventually("it is a tenant on both", lambda: len(self.slices(proc)) == 2)
        self.ok("hint", str(proc.pid), "--in=300us")
        self.eventually("both heard it", lambda: self.on_each(proc, "hints") ==
                        {"soft0": 1, "soft1": 1})


class UnderDaemon(TwoDevices):
    """One for both, with configuration CONFIG."""

    def setUp(self):
        super().setUp()
        self.run_dir = os.path.join(self.dir, "run")
        self.env["GPREEMPT_DAEMON"] = os.path.join(self.run_dir, "gpreemptd.sock")
        self.addCleanup(self.stop)
        config = os.path.join(self.dir, "gpreempt.yaml")
        with open(config, "w", encoding="ascii") as f:
            f.write(self.CONFIG)
        with open(os.path.join(self.dir, "log"), "w", encoding="ascii") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(BUILD, "bin/gpreemptd"), f"--run-dir={self.run_dir}",
                 f"--config={config}"], env=self.env, stderr=log, stdin=subprocess.DEVNULL)
        self.eventually("the daemon has both devices", lambda: len(self.devices()) == 2)

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(PATIENCE_S)
        for pids in daemon_roles(self.run_dir).values():
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    def devices(self):
        done = self.gp("ls", "--json")
        said = json.loads(done.stdout) if done.returncode == 0 else {}
        return {row["device"]: row for row in said.get("devices") or []}

    def tenants(self):
        """(PID, device) -> the daemon's row on its tenants."""
        return {key: row["daemon"] for key, row in self.listed().items()
                if row["daemon"] and row["daemon"]["turns"] is not None}

    def until_tenants(self, *procs):
        wanted = {(p.pid, device) for p in procs for device in ("soft0", "soft1")}
        self.eventually("all are tenants on both", lambda: wanted <= set(self.tenants()))

    def start(self, count):
        procs = [self.ready(self.both(CLI, "run", "--class=be", "--"))
                 for _ in range(count)]
        for proc in procs:
            proc.stdin.write("go\n")
            proc.stdin.flush()
        self.until_tenants(*procs)
        return procs

    def turns(self):
        return {key: row["turns"] for key, row in self.tenants().items()}

    def await_turns(self, more=2):
        had = self.turns()
        self.eventually("turns on both devices", lambda: all(
            turns >= had.get(key, 0) + more for key, turns in self.turns().items()))


class OneDaemon(UnderDaemon):
    CONFIG = ("be_quantum: 10ms\n"
              "devices:\n- {device: soft1, be_policy: rr, be_quantum: 20ms}\n")

    def test_each_has_its_own_turns(self):
        self.assertEqual({name: row["be_policy"] for name, row in self.devices().items()},
                         {"soft0": "fair", "soft1": "rr"})
        procs = self.start(2)
        self.await_turns()
        for proc in procs:
            self.ends_right(proc)

    def test_killed(self):
        """A successor has the tenants of both, and they continue."""
        procs = self.start(2)
        self.await_turns()
        os.kill(daemon_roles(self.run_dir)["daemon"][0], signal.SIGKILL)
        self.until_tenants(*procs)
        self.await_turns()
        for proc in procs:
            self.ends_right(proc)

    def test_what_ran_on_each_is_traced(self):
        procs = self.start(2)
        self.await_turns()
        path = os.path.join(self.dir, "trace.json")
        self.ok("trace", "-o", path, "-d", "0.5")
        with open(path, encoding="ascii") as f:
            events = json.load(f)["traceEvents"]
        names = {event["args"]["name"]: event["pid"] for event in events
                 if event.get("name") == "process_name"}
        self.assertEqual(len([name for name in names if "soft" in name]), 2, names)
        for proc in procs:
            self.ends_right(proc)

    def test_who_leaves_one_device_is_forgotten_there(self):
        procs = self.start(1)
        time.sleep(0.1)
        self.ends_right(procs[0])
        self.eventually("nobody is left", lambda: not self.tenants())


class Gang(UnderDaemon):
    """A rule with gang: true. The turns of a process begin and end on both devices at once."""
    CONFIG = f"be_quantum: 5ms\nrules:\n- {{user: {os.getuid()}, class: be, gang: true}}\n"
    APART_US = 1000     # of the software GPU's clock

    def traced(self, seconds=4):
        """(PID, "turns" or "suspended") -> device -> its spans."""
        path = os.path.join(self.dir, "trace.json")
        self.ok("trace", "-o", path, "-d", str(seconds))
        with open(path, encoding="ascii") as f:
            events = json.load(f)["traceEvents"]
        tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
                  if e["ph"] == "M" and e["name"] == "thread_name"}
        begun, spans = {}, {}
        for event in events:
            track = event["pid"], event["tid"]
            words = tracks.get(track, "").split()
            if event["ph"] == "B":
                begun[track] = event["ts"]
            elif event["ph"] == "E" and words[-1] in ("turns", "suspended"):
                of = spans.setdefault((int(words[0]), words[-1]), {})
                of.setdefault(track[0], []).append((begun[track], event["ts"]))
        return spans

    def joined(self, spans):
        """Two turns in a row are one span on a device, and two on another."""
        joined = spans[:1]
        for begin, end in spans[1:]:
            if begin - joined[-1][1] < self.APART_US:
                joined[-1] = joined[-1][0], end
            else:
                joined.append((begin, end))
        return joined

    def expect_together(self, pid, *kinds):
        """Spans of one device in the time that both devices show. On a busy machine the software
        GPU's clock is slow: a trace of a second may have no whole turn, so each is longer."""
        whole, tries = {}, itertools.count()

        def enough():
            spans = self.traced(min(2 ** next(tries), 32))
            for kind in kinds:
                both = [*spans.get((pid, kind), {}).values(), [], []]
                one, other = map(self.joined, both[:2])
                whole[kind] = other, [(begin, end) for begin, end in one[1:-1]
                                      if other and begin > other[0][1] and end < other[-1][0]]
            return all(len(some) > 2 for _, some in whole.values())

        self.eventually("three spans on both devices", enough)
        for other, some in whole.values():
            self.compare(other, some)

    def compare(self, other, some):
        for begin, end in some:
            self.assertLess(min(abs(begin - b) for b, _ in other), self.APART_US, (begin, other))
            self.assertLess(min(abs(end - e) for _, e in other), self.APART_US, (end, other))

    def test_on_and_off_together(self):
        gangs = self.start(2)
        lone = self.ready(self.both(CLI, "run", "--class=be", "--", CUDA_VISIBLE_DEVICES="1"), 1)
        lone.stdin.write("go\n")
        lone.stdin.flush()
        self.eventually("all are tenants", lambda: len(self.tenants()) == 5)
        self.await_turns()
        for proc in gangs:
            self.expect_together(proc.pid, "turns", "suspended")
        self.eventually("turns of the one beside them", lambda: (lone.pid, "turns") in self.traced())
        # As each process is one on its own, the other two get on without it.
        gangs[0].kill()
        gangs[0].wait()
        self.eventually("it has left", lambda: len(self.tenants()) == 3)
        self.await_turns()
        self.expect_together(gangs[1].pid, "turns")
        for proc in (gangs[1], lone):
            self.ends_right(proc)


if __name__ == "__main__":
    unittest.main()
