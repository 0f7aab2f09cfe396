# SPDX-License-Identifier: Apache-2.0
"""Start the bench's programs, speak to them, read their results.

Used by bench/demo.py, tests/gpu/ and tests/e2e/: stdlib only.
"""
import glob
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

BE_UID, LC_UID = 12001, 12002   # two ordinary users that nobody has


class BenchError(Exception):
    """Something of the bench itself did not work; the message names it."""


def fields(line):
    """{"p50_ns": 123, "result": "right"} of "lc p50_ns=123 result=right"; the
    name of a device comes last and may have spaces."""
    line, _, device = line.partition(" device=")
    found = dict(re.findall(r"(\w+)=(\S+)", line))
    if device:
        found["device"] = device.strip()
    return {k: int(v) if v.isdigit() else v for k, v in found.items()}


def rank(values, per_mille):
    """The smallest value that per_mille of all do not exceed."""
    ordered = sorted(values)
    if not ordered:
        raise BenchError("no samples")
    return ordered[max((len(ordered) * per_mille + 999) // 1000 - 1, 0)]


def median(values):
    return rank(values, 500)


def read_rows(path):
    with open(path) as f:
        return [line.split() for line in f if not line.startswith("#")]


def read_samples(path):
    """[(intended, start, end, inside)] of a file of lc or resnet."""
    return [(int(a), int(b), int(c), d) for a, b, c, d, *_ in read_rows(path)]


def read_inside(path):
    """[(kind, latency, time of the call inside)], ns, of a file of lc."""
    return [(kind, int(end) - int(at), int(inside))
            for at, _, end, kind, inside in read_rows(path)]


def read_times(path):
    """Completion times of be; a line that is being written is left out."""
    with open(path) as f:
        text = f.read()
    return [int(t) for t in text[:text.rfind("\n") + 1].split()]


def await_times(path, count, timeout_s=60):
    """Until so many kernels are complete."""
    end = time.monotonic() + timeout_s
    while len(read_times(path)) < count:
        if time.monotonic() > end:
            raise BenchError(f"{path}: no {count} kernels in {timeout_s} s")
        time.sleep(0.01)


def kernels_between(times, start_ns, end_ns):
    """How many kernels a window holds, parts of them at its edges included."""
    total = 0.0
    for before, after in zip(times, times[1:]):
        inside = min(after, end_ns) - max(before, start_ns)
        if inside > 0:
            total += inside / (after - before)
    return total


def read_log(path):
    """[(ns, "start"|"end"|"lost", pid, context, count)] of ctxlog."""
    rows = []
    with open(path) as f:
        for line in f:
            word = line.split()
            if len(word) == 5:
                rows.append((int(word[0]), word[1], int(word[2]),
                             int(word[3]), int(word[4])))
    return rows


def preemptions(log, pid, context=None):
    """How often another context cut in: stretches of pid that end where the
    next stretch is somebody else's."""
    count, was_ours = 0, False
    for _, kind, who, ctx, _ in log:
        if kind != "start":
            continue
        ours = who == pid if context is None else ctx == context
        count += was_ours and not ours
        was_ours = ours
    return count


class Proc:
    """A running program of the bench, its output read line by line."""

    def __init__(self, argv, env, name, user=None):
        self.name = name
        self.lines = []
        self.buffer = b""
        self.app_pid = None     # as it said itself: run may be in between
        self.start_ns = time.monotonic_ns()
        ids = {} if user is None else dict(user=user, group=user,
                                           extra_groups=[])
        self.errors = tempfile.TemporaryFile("w+b")
        self.popen = subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, start_new_session=True, cwd="/", **ids)

    @property
    def pid(self):
        return self.popen.pid

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()

    def fail(self, why):
        last = self.stderr().splitlines()[-3:]
        raise BenchError(f"{self.name}: {why}" + "".join(f"\n    {line}"
                                                          for line in last))

    def send(self, line):
        try:
            self.popen.stdin.write(line.encode() + b"\n")
            self.popen.stdin.flush()
        except BrokenPipeError:
            self.fail(f"is gone (status {self.popen.poll()})")

    def expect(self, word, timeout_s=60):
        """The next line that starts with @word; lines before it are kept."""
        end = time.monotonic() + timeout_s
        while True:
            line = self.next_line(end - time.monotonic())
            if line is None:
                self.fail(f"no \"{word}\" within {timeout_s} s")
            self.lines.append(line)
            if line.startswith("ready "):
                self.app_pid = fields(line)["pid"]
            if line.startswith(word):
                return line

    def next_line(self, timeout_s):
        out = self.popen.stdout
        end = time.monotonic() + max(timeout_s, 0)
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                return None
            piece = os.read(out.fileno(), 65536)
            if not piece:
                self.fail(f"ended early (status {self.popen.wait()})")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode(errors="replace")

    def kill(self, sig=signal.SIGKILL):
        if self.popen.poll() is None:
            os.kill(self.app_pid or self.pid, sig)

    def finish(self, timeout_s=60, sig=None):
        """Close its input (or send @sig), wait; (status, its output)."""
        if sig is not None:
            self.kill(sig)
        try:
            rest, _ = self.popen.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            try:
                self.fail(f"did not end within {timeout_s} s")
            finally:
                self.destroy()
        text = "\n".join(self.lines) + "\n" + (self.buffer + rest).decode(
            errors="replace")
        return self.popen.returncode, text

    def destroy(self):
        """Kill it in any state, with its descendants."""
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout, self.errors):
            try:
                pipe.close()
            except OSError:
                pass


class Rig:
    """One device (a card, or a software GPU of its own) and a build of
    gpreempt, with the processes that run on it."""

    def __init__(self, build, out, soft=False, users=True, gpus=1):
        """@gpus: of a software GPU's server; cards are as many as there are."""
        if not os.access(os.path.join(build, "bin/gpreempt"), os.X_OK):
            raise BenchError(f"{build}: no gpreempt is built there; run make")
        self.soft, self.gpus = soft, gpus
        self.device = None      # UUID of the one that CUDA has first, when it is known
        self.procs = []
        self.services = []      # they outlive their starter: see destroy()
        self.daemon = None      # the gpreemptd of programs started from now on
        self.keep = os.path.abspath(out)    # where raw samples end up
        os.makedirs(self.keep, exist_ok=True)
        # While it runs, where every user may write.
        self.scratch = tempfile.mkdtemp(prefix="gpreempt-bench-")
        os.chmod(self.scratch, 0o755)
        self.out = os.path.join(self.scratch, "out")
        os.mkdir(self.out)
        os.chmod(self.out, 0o1777)
        self.users = users and os.geteuid() == 0 and not soft
        self.build = os.path.abspath(build)
        if self.users:
            self.check_devices()
            self.build = self.copy_build()
        # The first program to need the server starts it; it leaves soon after
        # the last one.
        self.socket = os.path.join(self.scratch, "softgpu")

    @staticmethod
    def check_devices():
        for path in glob.glob("/dev/nvidia*"):
            mode = os.stat(path).st_mode
            if stat.S_ISCHR(mode) and mode & 0o006 != 0o006 and \
                    "nvidia-caps" not in path:
                raise BenchError(f"{path}: ordinary users may not open it "
                                 f"(mode {mode & 0o777:o}); --same-user runs "
                                 "everything as you")

    def copy_build(self):
        """Where the other users may read it: a home may be closed to them."""
        there = os.path.join(self.scratch, "build")
        for part in ("bin", "lib", "bench"):
            shutil.copytree(os.path.join(self.build, part),
                            os.path.join(there, part), symlinks=True)
        for app in ("resnet.py",):
            source = os.path.join(os.path.dirname(__file__), "apps", app)
            shutil.copy(source, os.path.join(there, "bench"))
        return there

    def env(self, extra=None):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("GPREEMPT_", "CUDA_INJECTION"))}
        if self.soft:
            env["GPREEMPT_BACKEND"] = "softgpu"
            env["GPREEMPT_SOFTGPU"] = self.socket
            env["GPREEMPT_SOFTGPU_GPUS"] = str(self.gpus)
            face = os.path.join(self.build, "lib/gpreempt/softgpu")
            env["LD_LIBRARY_PATH"] = ":".join(
                filter(None, [face, env.get("LD_LIBRARY_PATH")]))
        # Not the machine's own, if it has one.
        env["GPREEMPT_DAEMON"] = self.daemon or "none"
        env.update(extra or {})
        return env

    def user_env(self, user):
        """The environment of an ordinary user's login."""
        if user is None:
            return {}
        home = os.path.join(self.scratch, f"home-{user}")
        if not os.path.isdir(home):
            os.mkdir(home, 0o700)
            os.chown(home, user, user)
        return {"HOME": home, "USER": str(user), "LOGNAME": str(user),
                "CUDA_CACHE_PATH": os.path.join(home, "cuda"),
                "TORCHINDUCTOR_CACHE_DIR": os.path.join(home, "inductor")}

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def looking(self, name, *args):
        """A program that asks the driver itself, of the device that CUDA has first:
        CUDA_VISIBLE_DEVICES says which that is."""
        device = [f"--device={self.device}"] if self.device else []
        return [self.program(name), *device, *args]

    @property
    def cli(self):
        return os.path.join(self.build, "bin/gpreempt")

    def start(self, argv, cls=None, user=None, env=None, name=None, how=()):
        """Start a program: under `gpreempt run --class=@cls` if given, with
        more of run's options, @how."""
        user = user if self.users else None
        name = name or os.path.basename(argv[0])
        if cls:
            argv = [self.cli, "run", f"--class={cls}", *how, "--"] + argv
        environ = self.env({**self.user_env(user), **(env or {})})
        if user is not None:
            environ.pop("XDG_RUNTIME_DIR", None)    # the caller's, not theirs
        proc = Proc(argv, environ, name, user)
        self.procs.append(proc)
        return proc

    def be(self, *args, cls=None, name="be", env=None):
        return self.start([self.program("be"), *args], cls, BE_UID, env, name)

    def lc(self, *args, cls=None, name="lc", env=None, how=()):
        return self.start([self.program("lc"), *args], cls, LC_UID, env, name,
                          how)

    def output(self, argv, timeout_s=60, **how):
        """Run to its end; it must succeed. Its last line's fields."""
        proc = self.start(argv, **how)
        status, text = proc.finish(timeout_s)
        if status:
            proc.fail(f"exit status {status}")
        self.drop(proc)
        return fields(text.strip().splitlines()[-1])

    def calibrate(self, program, kernel_us, *args):
        """Iterations of a kernel that lasts so long where nothing runs."""
        user = BE_UID if program == "be" else LC_UID
        found = self.output([self.program(program), "--calibrate",
                             f"--kernel-us={kernel_us}", *args], user=user)
        self.device = found.get("uuid", self.device)
        return found

    def quit(self, proc):
        """Tell one with --control to end, and wait for that."""
        proc.send("quit")
        proc.finish(60)
        self.drop(proc)

    def drop(self, proc):
        proc.destroy()
        self.procs.remove(proc)

    def close(self):
        for service in self.services:
            service.destroy()
        for proc in self.procs:
            proc.destroy()
        shutil.copytree(self.out, self.keep, dirs_exist_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def cards():
    """How many there are that this user may open."""
    if not os.access("/dev/nvidiactl", os.R_OK | os.W_OK):
        return 0
    return sum(os.access(path, os.R_OK | os.W_OK)
               for path in glob.glob("/dev/nvidia[0-9]*"))


def progress(text):
    """A line that the next one replaces, on a terminal; else a line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
    else:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


def progress_end():
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
