#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run and stat: environment, exit codes, signals, bad input."""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, Refusals, Rig  # noqa: E402



class Environment(Rig):
    def environment(self, *args, env=None, soft=True):
        done = self.ok("run", *args, "--", "env", env=env, soft=soft)
        return dict(line.split("=", 1) for line in done.stdout.splitlines()
                    if "=" in line)

    def test_class_and_injection(self):
        env = self.environment("--class=lc:3")
        self.assertEqual(env["GPREEMPT_CLASS"], "lc:3")
        self.assertEqual(os.path.realpath(env["CUDA_INJECTION64_PATH"]),
                         os.path.realpath(os.path.join(
                             BUILD, "lib/libgpreempt-preload.so")))
        self.assertNotIn("GPREEMPT_DEVICE", env)
        self.assertNotIn("GPREEMPT_CHAIN_INJECTION", env)
        self.assertNotIn("CUDA_VISIBLE_DEVICES", env)

    def test_software_gpu_by_device(self):
        env = self.environment("--class=be", "--device=soft0", soft=False,
                               env={"LD_LIBRARY_PATH": "/nowhere"})
        self.assertEqual(env["GPREEMPT_DEVICE"], "soft0")
        self.assertEqual(env["GPREEMPT_BACKEND"], "softgpu")
        first, rest = env["LD_LIBRARY_PATH"].split(":", 1)
        self.assertEqual(os.path.realpath(first), os.path.realpath(FACE))
        self.assertEqual(rest, "/nowhere")

    def test_a_profiler_is_chained(self):
        env = self.environment("--class=be",
                               env={"CUDA_INJECTION64_PATH": "/p/tool.so"})
        self.assertEqual(env["GPREEMPT_CHAIN_INJECTION"], "/p/tool.so")
        self.assertIn("libgpreempt-preload.so", env["CUDA_INJECTION64_PATH"])


class ExitStatus(Rig):
    def status(self, verb, *cmd):
        args = ["--class=lc"] if verb == "run" else []
        return self.gp(verb, *args, "--", *cmd)

    def test_of_cmd(self):
        for verb in "run", "stat":
            for code in 0, 1, 125, 255:
                with self.subTest(verb=verb, code=code):
                    done = self.status(verb, "sh", "-c", f"exit {code}")
                    self.assertEqual(done.returncode, code)

    def test_not_found_and_not_executable(self):
        plain = os.path.join(self.dir, "plain")
        open(plain, "w").close()
        for verb in "run", "stat":
            for cmd, code in (("/no/such/file", 127), ("no-such-command", 127),
                              (plain, 126), (self.dir, 126)):
                with self.subTest(verb=verb, cmd=cmd):
                    done = self.status(verb, cmd)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(cmd, done.stderr)

    def test_signals(self):
        kill = ("sh", "-c", "kill -TERM $$")
        self.assertEqual(self.status("run", *kill).returncode, -signal.SIGTERM)
        self.assertEqual(self.status("stat", *kill).returncode,
                         128 + signal.SIGTERM)

    def test_stat_forwards(self):
        script = "trap 'exit 42' USR1; echo up; while :; do sleep 0.01; done"
        proc = subprocess.Popen(
            [CLI, "stat", "--", "sh", "-c", script], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(self.env, GPREEMPT_BACKEND="softgpu"))
        self.assertEqual(proc.stdout.readline(), "up\n")
        proc.send_signal(signal.SIGUSR1)
        _, err = proc.communicate(timeout=300)
        self.assertEqual(proc.returncode, 42, err)

    def test_stat_of_what_used_no_gpu(self):
        for args, says in (((), "add --class=CLASS"), (("--class=lc",), "it used no GPU")):
            done = subprocess.run([CLI, "stat", *args, "--", "true"], text=True, timeout=300,
                                  capture_output=True, env=dict(self.env, GPREEMPT_BACKEND="softgpu"))
            self.assertIn(f"counters: - (gpreempt did not run in it: {says}", done.stderr)

    def test_cmd_keeps_its_options(self):
        done = self.ok("run", "--class=be", "echo", "--class=x", "--help")
        self.assertEqual(done.stdout, "--class=x --help\n")


class BadInput(Refusals):
    def test_run(self):
        cmd = ["--", "touch", "MARK"]
        for args, says in (
                (["--class=urgent"], "lc:LEVEL"), (["--class="], "lc:LEVEL"),
                (["--class=lc:16"], "lc:15"), (["--class=be:0"], "be:1"),
                (["--class=lc,period=9ms,runtime=1ms"], "need gpreemptd"),
                (["--class=be,cap=30%"], "need gpreemptd"),
                (["--class=lc,cap=30%"], "cap is for be"),
                (["--class=be:10001"], "be:10000"), (["--class=lc:01"], "lc"),
                ([], "--class"), (["--class=lc", "--device=0"], "UUID"),
                (["--class=lc", "--device=soft9"], "soft9"),
                (["--class=lc", "--device=GPU-0123"], "UUID"),
                (["--class=lc", "--device=ff:1f.7"], "device"),
                (["--class=lc", "--frobnicate"], "--frobnicate")):
            for verb in "run", "stat":
                if verb == "stat" and not args:
                    continue
                with self.subTest(verb=verb, args=args):
                    self.refused([verb, *args, *cmd], says)

    def test_no_command(self):
        self.refused(["run", "--class=lc"], "-- CMD")
        self.refused(["stat"], "-- CMD")

    def test_processes(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        mine = str(os.getpid())
        for args, says in (
                (["attach", "--class=be", str(gone.pid)], str(gone.pid)),
                (["set", "-p", str(gone.pid), "--class=be"], str(gone.pid)),
                (["hint", str(gone.pid), "--in=1us"], str(gone.pid)),
                (["attach", "--class=be", mine], "no work"),
                (["attach", "--class=be", "me"], "not a PID"),
                (["attach", "--class=be", "-1"], "-1"),
                (["attach", "--class=be"], "PID"),
                (["attach", mine], "--class"),
                (["set", "--class=be"], "PID missing"),
                (["hint", mine], "--in"),
                (["hint", mine, "--in=300"], "300us"),
                (["hint", mine, "--in=11s"], "10s"),
                (["hint", mine, "--in=300us"], "gpreempt run"),
                (["ls", "all"], "all"), (["doctor", "a", "who"], "who"),
                (["frobnicate"], "--help"), ([], "--help")):
            with self.subTest(args=args):
                self.refused(args, says)

    def test_environment(self):
        touch = ["run", "--class=lc", "--device=soft0", "--", "touch", "MARK"]
        for name, value, args, says in (
                ("GPREEMPT_BACKEND", "nvidea", ["ls"], "nvidea"),
                ("GPREEMPT_SOFTGPU", "/no/such/dir/s", touch, "GPREEMPT_SOFTGPU"),
                ("GPREEMPT_SOFTGPU", "not-absolute", touch, "absolute"),
                ("GPREEMPT_SOFTGPU", "/" + "x" * 200, touch, "too long"),
                ("GPREEMPT_SOFTGPU_LIBDIR", "/no/such/dir", touch, "libcuda.so.1")):
            with self.subTest(name=name, value=value):
                self.refused(args, says, env={name: value})

    def test_full_output(self):
        for args in (["ls"], ["ls", "--json"], ["doctor"], ["--help"],
                     ["ls", "--help"], ["--version"]):
            with self.subTest(args=args), open("/dev/full", "w") as full:
                done = subprocess.run([CLI, *args], stdout=full, text=True,
                                      stderr=subprocess.PIPE, env=self.env,
                                      timeout=300)
                self.assertEqual(done.returncode, 125)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn("standard output", done.stderr)

    def test_output_file(self):
        self.refused(["stat", "-o", "/no/such/dir/f", "--", "touch", "MARK"],
                     "/no/such/dir/f")


class Help(Rig):
    def test_help_and_version(self):
        self.assertRegex(self.ok("--version").stdout, r"^gpreempt \d+\.\d+\.\d+\n$")
        for verb in "run", "attach", "set", "hint", "ls", "stat", "doctor":
            self.assertIn(verb, self.ok("--help").stdout)
            self.assertIn("Usage: gpreempt", self.ok(verb, "--help").stdout)

    def test_doctor_and_one_connection(self):
        for count in "1", "2":
            self.env["CUDA_DEVICE_MAX_CONNECTIONS"] = count
            done = self.ok("doctor")
            self.assertEqual("CUDA_DEVICE_MAX_CONNECTIONS=1" in done.stdout, count == "1")

    def test_doctor_and_no_such_backend(self):
        done = self.gp("doctor", env={"GPREEMPT_BACKEND": "amdgpu"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing  GPREEMPT_BACKEND='amdgpu': unknown backend", done.stdout)

    @unittest.skipIf(os.path.exists("/run/gpreempt/gpreemptd.sock"), "this machine has one")
    def test_doctor_and_gpreemptd(self):
        self.assertIn("warn     gpreemptd: GPREEMPT_DAEMON=none names none, so none is started; "
                      "unset it\n", self.ok("doctor").stdout)
        del self.env["GPREEMPT_DAEMON"]
        self.env["XDG_RUNTIME_DIR"] = self.dir
        self.assertIn("ok       gpreemptd: none runs; a second best-effort process starts one\n",
                      self.ok("doctor").stdout)
        folder = os.path.join(self.dir, "gpreempt")
        os.mkdir(folder, 0o755)
        os.chmod(folder, 0o755)
        self.assertIn("warn     gpreemptd: none runs, and gpreempt run cannot start one: "
                      f"{folder}: Operation not permitted; make it a directory of this user with "
                      "mode 700, or set XDG_RUNTIME_DIR\n", self.ok("doctor").stdout)

    def test_doctor(self):
        done = self.ok("doctor", soft=False)
        for word in ("driver", "soft0", "attach", "CUDA_INJECTION64_PATH",
                     "preload"):
            self.assertIn(word, done.stdout)


class Stat(Rig):
    def test_json_of_a_tenant(self):
        out = os.path.join(self.dir, "stat.json")
        self.ok("stat", "--json", "-o", out, "--class=be", "--device=soft0", "--",
                os.path.join(BUILD, "bench/be"), "--iters=1000", "--blocks=2",
                "--kernels=2000", soft=False)
        with open(out) as f:
            said = json.load(f)
        self.assertEqual(said["schema_version"], 1)
        self.assertEqual(said["exit_status"], 0)
        self.assertGreater(said["elapsed_ns"], 0)
        self.assertGreater(said["switch_log"][0]["busy_ns"], 0)
        self.assertEqual(said["sampled"][0]["class"], "be")

    def test_text_without_gpreempt(self):
        done = self.ok("stat", "--", "true")
        self.assertIn("exit status 0", done.stderr)
        self.assertIn("counters: -", done.stderr)


if __name__ == "__main__":
    unittest.main()
