# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end tests: a software GPU of the test's own, the programs of the build,
and gpreempt."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GP_BUILD", os.path.join(TOP, "build"))
FACE = os.path.join(BUILD, "lib/gpreempt/softgpu")
CLI = os.path.join(BUILD, "bin/gpreempt")
PATIENCE_S = 300        # ends a wait that hangs
# Judge times? Not under a sanitizer.
FIGURES = "GP_NO_TIMES" not in os.environ
# Do these programs go before the machine's others (make check-hostile)? Then its load decides no
# time, and a time is judged by its bar.
AHEAD = os.getpriority(os.PRIO_PROCESS, 0) <= -5


def among_mps(test, alone=False):
    """Call first in setUp() of a test with processes of MPS's names: a test that looks for any on
    this machine has none of another test beside it (@alone)."""
    lock = open(os.path.join(tempfile.gettempdir(), f"gpreempt-mps-{os.getuid()}.lock"), "a")
    test.addCleanup(lock.close)
    fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)


class Rig(unittest.TestCase):
    """Each test has a software GPU, which ends with its last program."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="gpreempt-cli-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.addCleanup(self.end_programs)
        self.programs = []
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("GPREEMPT_", "CUDA_INJECTION"))}
        self.env["GPREEMPT_SOFTGPU"] = os.path.join(self.dir, "soft.sock")
        # These programs are not tenants of this machine's daemon.
        self.env["GPREEMPT_DAEMON"] = "none"

    def end_programs(self):
        for proc in self.programs:
            proc.kill()
            proc.wait()
            for pipe in (proc.stdin, proc.stdout):
                pipe.close()

    def gp(self, *args, env=None, soft=True, feed=""):
        """Run gpreempt to its end, with the input @feed: status, stdout, stderr as text."""
        more = {"GPREEMPT_BACKEND": "softgpu"} if soft else {}
        return subprocess.run([CLI, *args], text=True, capture_output=True,
                              timeout=PATIENCE_S, input=feed,
                              env={**self.env, **more, **(env or {})})

    def ok(self, *args, **how):
        done = self.gp(*args, **how)
        self.assertEqual(done.returncode, 0, (args, done.stderr))
        return done

    def start(self, cls=None, program="be", args=()):
        """A program with kernels of 0.4 ms, until the test ends. Its PID is known once it has work
        on the GPU. @cls None: without gpreempt."""
        argv = [os.path.join(BUILD, "bench", program), "--iters=100000",
                "--blocks=2", *args]
        env = dict(self.env, GPREEMPT_BACKEND="softgpu")
        if cls:
            argv = [CLI, "run", f"--class={cls}", "--device=soft0", "--", *argv]
        else:
            env["LD_LIBRARY_PATH"] = FACE
        proc = subprocess.Popen(argv, env=env, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.programs.append(proc)
        line = proc.stdout.readline()
        self.assertIn("ready", line)
        return proc

    def rows(self):
        """PID -> its row of `gpreempt ls --json`."""
        listed = json.loads(self.ok("ls", "--json").stdout)
        return {row["pid"]: row for row in listed["processes"]}

    def eventually(self, what, condition):
        """Poll until @condition is true. A poll counts a second at most: a machine that stands still
        uses up nobody's patience."""
        spent, last = 0.0, time.monotonic()
        while not condition():
            now = time.monotonic()
            spent, last = spent + min(now - last, 1), now
            if spent > PATIENCE_S:
                self.fail(f"not seen: {what}")
            time.sleep(0.01)

    def kill(self, proc, number=signal.SIGKILL):
        proc.send_signal(number)
        proc.wait(PATIENCE_S)


class Refusals(Rig):
    """Commands that gpreempt refuses."""

    def refused(self, args, says, soft=True, env=None):
        """One line that names the right form, 125, and CMD did not run. Its MARK is a file's name."""
        mark = os.path.join(self.dir, "ran")
        done = self.gp(*[a.replace("MARK", mark) for a in args], soft=soft, env=env)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("gpreempt: "), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(mark))


def command_lines():
    """(PID, words) of every process with a readable command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            yield int(pid), f.read().decode(errors="replace").split("\0")


def processes(name):
    """PIDs with @name in their command line."""
    return [pid for pid, words in command_lines() if name in " ".join(words)]


def daemon_roles(run_dir):
    """Role -> PIDs, of gpreemptd's processes with that folder."""
    found = {role: [] for role in ("keeper", "daemon", "second", "restore")}
    for pid, words in command_lines():
        if f"--run-dir={run_dir}" in words:
            roles = [word[7:] for word in words if word.startswith("--role=")]
            found[roles[0] if roles else "keeper"].append(pid)
    return found
