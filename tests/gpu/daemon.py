# SPDX-License-Identifier: Apache-2.0
"""A suite's own gpreemptd, and a client of its socket (wire/wire.h)."""
import os
import shutil
import signal
import socket
import struct
import threading
import time

from bench.harness import BenchError, LC_UID

MAGIC, VERSION = 0x47505245, 1
LIST, DEVICES, TRACE, RESULT = 24, 25, 29, 65
HEAD = struct.Struct("<IHHIi")
TEXT_LEN = 512          # GP_WIRE_TEXT_LEN
UNKNOWN = 2 ** 64 - 1
RESIDENT, SUSPENDED = 1, 2
CLASSES = ["none", "lc", "be"]
TENANT_FIGURES = ("age_ns resident_ns used_ns suspended_ns turns preempted "
                  "wait_p50_ns wait_p99_ns switch_p50_ns switch_p99_ns hints "
                  "segments holds holds_late holds_expired held_ns corrected"
                  ).split()
DEVICE_FIGURES = ("quantum_ns up_ns turns suspends resumes slices preempts failed "
                  "control_ns log_lost").split()
# Kinds of a trace's records.
START, END, JOIN, TURN, SUSPEND, SLICE = 1, 2, 4, 6, 7, 9


def known(values):
    return [None if v == UNKNOWN else v for v in values]


def message(kind, body=b""):
    return HEAD.pack(MAGIC, VERSION, kind, HEAD.size + len(body), 0) + body


def read_tenant(msg):
    pid, uid = struct.unpack_from("<iI", msg, 16)
    origin, flags, groups, _, cls, value = struct.unpack_from("<6I", msg, 40)
    figures = struct.unpack_from("<17Q", msg, 96)
    why = msg[-TEXT_LEN:].split(b"\0")[0].decode()
    return dict(zip(TENANT_FIGURES, known(figures)), pid=pid, uid=uid, origin=origin,
                flags=flags, groups=groups, cls=CLASSES[cls], value=value, why=why)


def read_device(msg):
    figures = struct.unpack_from("<10Q", msg, 152)
    return dict(zip(DEVICE_FIGURES, known(figures)),
                resident_pid=struct.unpack_from("<i", msg, 140)[0])


class Connection:
    def __init__(self, path, timeout_s=10):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout_s)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise

    def send(self, data):
        self.socket.send(data)

    def recv(self):
        msg = self.socket.recv(16384)
        if not msg:
            raise ConnectionError("the daemon hung up")
        return HEAD.unpack_from(msg)[2], msg

    def many(self, kind, read):
        self.send(message(kind))
        found = []
        while True:
            got, msg = self.recv()
            if got == RESULT:
                return found
            found.append(read(msg))

    def tenants(self):
        """pid -> the daemon's data on that tenant."""
        return {t["pid"]: t for t in self.many(LIST, read_tenant)}

    def device(self):
        return self.many(DEVICES, read_device)[0]

    def trace_start(self):
        self.send(message(TRACE))

    def trace_read(self, timeout_s):
        """[(ns, kind, pid, value)] of the next message; [] if none arrives in time."""
        self.socket.settimeout(timeout_s)
        try:
            _, msg = self.recv()
        except (TimeoutError, BlockingIOError):
            return []
        count, lost = struct.unpack_from("<II", msg, 16)
        if lost:
            raise BenchError(f"{lost} records of a trace are lost")
        rows = []
        for i in range(count):
            at, value, pid, _, kind, _, _ = struct.unpack_from("<QQiIHHI", msg,
                                                               24 + 32 * i)
            rows.append((at, kind, pid, value))
        return rows

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def threads_cpu_ns(pid):
    """Name of a thread -> its CPU time in ns, by the kernel's scheduler."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as f:
            name = f.read().strip()
        with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
            found[name] = found.get(name, 0) + int(f.read().split()[0])
    return found


def threads_wakes(pid):
    """Name of a thread -> the number of its wake-ups."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status") as f:
            said = dict(line.split(":\t", 1) for line in f if ":\t" in line)
        name = said["Name"].strip()
        found[name] = found.get(name, 0) + int(said["voluntary_ctxt_switches"])
    return found


def cpu_ns(pid):
    return sum(threads_cpu_ns(pid).values())


def rss_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmRSS"))


class Trace:
    """Reads all that a daemon traces from enter to exit into rows, by a thread."""

    def __init__(self, connection):
        self.connection = connection
        self.rows, self.error = [], None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.read)

    def read(self):
        try:
            while not self.over.is_set():
                self.rows += self.connection.trace_read(0.2)
        except (BenchError, OSError) as bad:
            self.error = bad

    def __enter__(self):
        self.connection.trace_start()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.connection.close()
        if self.error:
            raise BenchError(f"a trace broke off: {self.error}")


class Daemon:
    """gpreemptd with @config (YAML). Later processes of @rig connect to it."""

    def __init__(self, rig, name, config="", users=(), may="lc:0"):
        self.rig, self.name = rig, name
        self.users = [LC_UID if rig.users else os.geteuid()] if users == () else users
        self.may = may
        # A software GPU's virtual clock stands during each request.
        self.nap_s = 0.3 if rig.soft else 0.005
        self.dir = os.path.join(rig.scratch, f"run-{name}")
        self.socket = os.path.join(self.dir, "gpreemptd.sock")
        self.config = os.path.join(rig.scratch, f"{name}.yaml")
        with open(self.config, "w") as f:
            f.write(config + self.rules())
        shutil.copy(self.config, os.path.join(rig.out, f"{name}.yaml"))
        rig.services.append(self)
        self.proc = rig.start([os.path.join(rig.build, "bin/gpreemptd"),
                               f"--run-dir={self.dir}", f"--config={self.config}"],
                              name="gpreemptd")
        rig.daemon = self.socket
        self.await_up()

    def rules(self):
        """Rules by which the users may be LC; the default is the user that runs lc. None:
        the config has its own rules."""
        if self.users is None:
            return ""
        return "rules:\n" + "".join(f"  - user: {user}\n    max_class: {self.may}\n"
                                    for user in self.users)

    def connect(self):
        return Connection(self.socket)

    def trace(self):
        return Trace(self.connect())

    def await_up(self, timeout_s=20):
        """Wait until the daemon answers. Returns the time in s."""
        start = time.monotonic()
        while True:
            try:
                with Connection(self.socket, 1) as c:
                    c.device()
                return time.monotonic() - start
            except (OSError, ConnectionError, IndexError):
                if self.proc.popen.poll() is not None:
                    self.proc.fail(f"ended ({self.proc.popen.returncode})")
                if time.monotonic() > start + timeout_s:
                    self.proc.fail(f"does not answer within {timeout_s} s")
                time.sleep(self.nap_s)

    def await_tenants(self, pids, groups=True):
        """Wait until it has all of @pids as tenants. Returns the time in s."""
        # Beside a software GPU a busy machine decides how long that takes.
        start, timeout_s = time.monotonic(), 300 if self.rig.soft else 20
        while True:
            try:
                with Connection(self.socket, 1) as c:
                    has = c.tenants()
            except (OSError, ConnectionError):
                has = {}
            missing = [p for p in pids
                       if p not in has or (groups and not has[p]["groups"])]
            if not missing:
                return time.monotonic() - start
            if time.monotonic() > start + timeout_s:
                self.proc.fail(f"no tenants within {timeout_s} s: {missing}; there "
                               f"are {[(p, has[p]['groups']) for p in has]}")
            time.sleep(self.nap_s)

    def roles(self):
        """Role -> PID of the living ones of "daemon", "keeper" and "second"."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if f"--run-dir={self.dir}" not in words:
                continue
            role = next((w[7:] for w in words if w.startswith("--role=")), "keeper")
            found[role] = int(pid)
        return found

    def stop(self):
        """Stop it by SIGTERM, so that it restores everything. Returns its exit status."""
        status, _ = self.proc.finish(20, signal.SIGTERM)
        self.destroy()
        return status

    def warnings(self):
        return [line for line in self.proc.stderr().splitlines()
                if line[:3] in ("<3>", "<4>")]

    def destroy(self):
        if self not in self.rig.services:
            return
        # SIGSTOP first, because a stopped role restarts no other.
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self.roles().values():
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
        with open(os.path.join(self.rig.out, f"{self.name}.log"), "w") as f:
            f.write(self.proc.stderr() + "\n")
        self.rig.services.remove(self)
        self.rig.drop(self.proc)
        if self.rig.daemon == self.socket:
            self.rig.daemon = None
