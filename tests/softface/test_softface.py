#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software GPU's server and its libcuda.so.1, tested from outside."""
import contextlib
import ctypes as C
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from own_server import DIR  # noqa: E402
import worker  # noqa: E402

SEED = 7
ILLEGAL_ADDRESS, NOT_FOUND, NOT_READY = 700, 500, 600


def start(*args, sock=None, **more):
    env = dict(os.environ)
    if sock:
        env["GPREEMPT_SOFTGPU"] = sock
    return subprocess.Popen([sys.executable, os.path.join(HERE, "worker.py"),
                             *map(str, args)], stdout=subprocess.PIPE,
                            stdin=subprocess.PIPE, text=True, env=env, **more)


def server_pid():
    """The software GPU of this file's socket; it is no child of this process."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
            if os.environ["GPREEMPT_SOFTGPU"].encode() in words[1:] and b"softgpud" in words[0]:
                return int(pid)
    raise LookupError("no software GPU")


def finish(proc):
    out = proc.communicate(timeout=300)[0]
    return out.strip().splitlines()[-1] if out.strip() else ""


class Face(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = worker.Gpu()

    def test_launches_compute_exactly(self):
        gpu, words = self.gpu, 4 * 256
        buf, fn = gpu.alloc(words * 4), gpu.function(b"gp_work")
        host = (C.c_uint32 * words)(*range(words))
        gpu.call("cuMemcpyHtoD_v2", buf, host, C.c_size_t(words * 4))
        for _ in range(3):
            gpu.launch(fn, [C.c_uint64(buf.value), C.c_uint64(0),
                            C.c_uint32(worker.MUL), C.c_uint32(1000)], blocks=4)
        gpu.call("cuMemcpyDtoH_v2", host, buf, C.c_size_t(words * 4))
        self.assertEqual(list(host), [worker.jump(g, 2 * g + 1, 3000)
                                      for g in range(words)])
        gpu.call("cuMemFree_v2", buf)

    def test_large_copies_come_back(self):
        gpu, size = self.gpu, 600000
        data = random.Random(SEED).randbytes(size)
        one, two = gpu.alloc(size), gpu.alloc(size)
        gpu.call("cuMemcpyHtoD_v2", one, data, C.c_size_t(size))
        gpu.call("cuMemcpyDtoD_v2", two, one, C.c_size_t(size))
        back = C.create_string_buffer(size)
        gpu.call("cuMemcpyDtoH_v2", back, two, C.c_size_t(size))
        self.assertEqual(back.raw, data)
        gpu.call("cuMemFree_v2", one)
        gpu.call("cuMemFree_v2", two)

    def test_an_unknown_kernel_is_not_found(self):
        fn = C.c_void_p()
        self.assertEqual(self.gpu.lib.cuModuleGetFunction(
            C.byref(fn), self.gpu.module, b"nobody_knows"), NOT_FOUND)
        self.assertEqual(self.gpu.lib.cuGetProcAddress_v2(
            b"cuNoSuchCall", C.byref(fn), 13000, C.c_uint64(0), None), NOT_FOUND)

    def test_time_stands_still_while_a_thread_runs(self):
        def passed():
            before = self.gpu.now()
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                pass
            return self.gpu.now() - before

        # A thread that waits for a lock of its process's kernel does not run.
        self.assertLess(min(passed() for _ in range(5)), 1000)

    def test_a_thread_that_waits_for_a_cpu_is_waited_for(self):
        gpu, stream = self.gpu, self.gpu.stream()
        cpu = min(os.sched_getaffinity(0))

        def compute():
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            os.sched_setaffinity(threading.get_native_id(), {cpu})
            sum(range(10000))

        def passed():
            gpu.launch(gpu.function(b"gp_spin"), [C.c_uint64(10**7)], stream)
            before = gpu.now()
            thread = threading.Thread(target=compute)
            thread.start()
            thread.join()
            ns = gpu.now() - before
            gpu.sync(stream)
            return ns

        with busy_machine(2, cpu):
            self.assertLess(max(passed() for _ in range(5)), 10**6)

    def test_events_measure_the_gpu(self):
        gpu = self.gpu
        stream, fn = gpu.stream(), gpu.function(b"gp_spin")
        events = [C.c_void_p(), C.c_void_p()]
        for event in events:
            gpu.call("cuEventCreate", C.byref(event), 0)
        gpu.call("cuEventRecord", events[0], stream)
        gpu.launch(fn, [C.c_uint64(3000000)], stream)
        gpu.call("cuEventRecord", events[1], stream)
        self.assertEqual(gpu.lib.cuEventQuery(events[1]), NOT_READY)
        gpu.call("cuEventSynchronize", events[1])
        ms = C.c_float()
        gpu.call("cuEventElapsedTime", C.byref(ms), *events)
        self.assertAlmostEqual(ms.value, 3.0, delta=0.1)

    def test_a_store_releases_a_hold_and_its_limit_ends_it(self):
        gpu = self.gpu
        page, fn, stream = C.c_void_p(), gpu.function(b"gp_hold"), gpu.stream()
        gpu.call("cuMemHostAlloc", C.byref(page), C.c_size_t(4096), 2)
        word = C.c_uint32.from_address(page.value)

        def hold(ticket, limit_ns):
            gpu.launch(fn, [C.c_uint64(page.value), C.c_uint64(page.value + 64),
                            C.c_uint64(limit_ns), C.c_uint32(ticket)], stream, 1, 1)
            gpu.call("cuStreamWriteValue32_v2", stream, C.c_uint64(page.value + 32),
                     ticket, 0)

        def behind():
            return C.c_uint32.from_address(page.value + 32).value

        def stamp():
            return struct.unpack("<QQII", C.string_at(page.value + 64, 24))

        hold(1, 10**9)
        gpu.sleep(2 * 10**6)
        self.assertEqual(gpu.lib.cuStreamQuery(stream), NOT_READY)
        self.assertEqual(behind(), 0)
        word.value = 1
        at = gpu.now()
        gpu.sync(stream)
        self.assertLess(gpu.now() - at, 100000)
        self.assertEqual(stamp()[2:], (5, 1))
        self.assertEqual(behind(), 1)
        hold(2, 3 * 10**6)
        gpu.sync(stream)
        start, end, how, ticket = stamp()
        self.assertEqual((how, ticket), (6, 2))
        self.assertEqual(end - start, 3 * 10**6)
        self.assertEqual(behind(), 2)

    def test_a_graph_runs_what_was_captured(self):
        gpu = self.gpu
        stream, buf = gpu.stream(), gpu.alloc(1024)
        fn = gpu.function(b"gp_work")
        graph, exe = C.c_void_p(), C.c_void_p()
        gpu.call("cuMemsetD32_v2", buf, 5, C.c_size_t(256))
        gpu.call("cuStreamBeginCapture_v2", stream, 2)
        for _ in range(2):
            gpu.launch(fn, [C.c_uint64(buf.value), C.c_uint64(0),
                            C.c_uint32(worker.MUL), C.c_uint32(10)], stream, 1)
        gpu.call("cuStreamEndCapture", stream, C.byref(graph))
        gpu.call("cuGraphInstantiateWithFlags", C.byref(exe), graph,
                 C.c_uint64(0))
        gpu.call("cuGraphDestroy", graph)
        gpu.call("cuGraphLaunch", exe, stream)
        gpu.call("cuGraphLaunch", exe, stream)
        gpu.sync(stream)
        back = (C.c_uint32 * 256)()
        gpu.call("cuMemcpyDtoH_v2", back, buf, C.c_size_t(1024))
        self.assertEqual(list(back),
                         [worker.jump(5, 2 * g + 1, 40) for g in range(256)])
        gpu.call("cuGraphExecDestroy", exe)

    def test_a_fork_child_has_no_cuda(self):
        pid = os.fork()
        if not pid:
            n = C.c_int()
            os._exit(self.gpu.lib.cuDeviceGetCount(C.byref(n)))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3)
        self.assertGreater(self.gpu.now(), 0)


@contextlib.contextmanager
def busy_machine(programs, cpu=None):
    """Meanwhile, @programs processes burn CPU time, of @cpu alone if one is given."""
    burn = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(programs)]
    for proc in burn if cpu is not None else ():
        os.sched_setaffinity(proc.pid, {cpu})
    try:
        yield
    finally:
        for proc in burn:
            proc.kill()
            proc.wait()


class Sharing(unittest.TestCase):
    def test_preempted_kernels_are_exact(self):
        sock = os.path.join(DIR.name, "exact.sock")
        be = start("be", 60, sock=sock)
        be.stdout.readline()
        times = sorted(map(int, finish(start("lc", 40, sock=sock)).split()))
        self.assertEqual(finish(be), "right")
        self.assertEqual(len(times), 40)
        alone = 5 * 110000
        self.assertGreater(times[0], alone)
        self.assertLess(times[-1], alone + 3000000)

    def test_a_noisy_machine_decides_nothing(self):
        def alone(programs):
            sock = os.path.join(DIR.name, f"alone{programs}.sock")
            with busy_machine(programs):
                return finish(start("lc", 30, sock=sock))

        quiet = alone(0)
        self.assertEqual(len(quiet.split()), 30)
        self.assertEqual(quiet, alone(3))

    def check_neighbour(self, hurt, name):
        sock = os.path.join(DIR.name, name)
        be = start("endless", sock=sock)
        self.assertEqual(be.stdout.readline(), "ready\n")
        hurt(be)
        times = finish(start("lc", 20, sock=sock))
        be.kill()
        be.communicate()
        self.assertEqual(len(times.split()), 20)
        return list(map(int, times.split()))

    def test_a_killed_client_takes_its_work_along(self):
        def kill(proc):
            proc.kill()
            proc.wait()

        self.assertLess(max(self.check_neighbour(kill, "kill.sock")), 700000)

    def test_a_stopped_client_freezes_nobody(self):
        self.check_neighbour(lambda p: p.send_signal(signal.SIGSTOP),
                             "stop.sock")


class Messages(unittest.TestCase):
    def test_garbage_closes_that_connection_only(self):
        rng = random.Random(SEED)
        gpu = worker.Gpu()
        good = struct.pack("<II", 0x53475047, 1) + bytes(16) + \
            struct.pack("<IIii", 1, 1, os.getpid(), 0) + bytes(96)
        for i in range(300):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sock.settimeout(10)
            sock.connect(os.environ["GPREEMPT_SOFTGPU"])
            if i % 2:
                sock.send(good)
                sock.recv(100)
                size = rng.randrange(112, 600)
                sock.send(struct.pack("<II", 0x53475047, rng.randrange(20)) +
                          rng.randbytes(size))
            else:
                sock.send(rng.randbytes(rng.randrange(1, 500)))
            sock.close()
            self.assertGreater(gpu.now(), 0)


    def test_a_connection_with_a_duplicate_ends(self):
        """Its events after its end would be those of a connection that is gone."""
        gpu = worker.Gpu()
        libc = C.CDLL(None, use_errno=True)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.connect(os.environ["GPREEMPT_SOFTGPU"])
        self.assertGreater(gpu.now(), 0)  # it has accepted the connection
        pid = server_pid()
        pidfd = os.pidfd_open(pid)
        copies = [libc.syscall(438, pidfd, int(fd), 0) for fd in os.listdir(f"/proc/{pid}/fd")
                  if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")]
        self.assertGreater(len(copies), 1)
        self.assertGreater(min(copies), 0)
        sock.close()
        for _ in range(100):
            self.assertGreater(gpu.now(), 0)
        for fd in (pidfd, *copies):
            os.close(fd)


class ResourceManager(unittest.TestCase):
    def test_the_file_is_the_right(self):
        gpu = worker.Gpu()
        child = start("rm")
        fd_there = int(child.stdout.readline())
        pidfd = os.pidfd_open(child.pid)
        fd = C.CDLL(None, use_errno=True).syscall(438, pidfd, fd_there, 0)
        self.assertGreaterEqual(fd, 0)
        found = [c for c in range(0xC1D00001, 0xC1D00040)
                 if worker.rm_control(gpu.lib, fd, c, c, 0xD02,
                                      struct.pack("<IIQ", c, 2, 0))[1] == 0]
        self.assertEqual(len(found), 1)
        client = found[0]
        info = struct.pack("<IIQ", 0x5C000003, 2, 0)
        got = worker.rm_control(gpu.lib, fd, client, client, 0xD02, info)
        self.assertEqual((got[0], got[1], got[2][8:10].hex()), (0, 0, "6ca0"))
        slice_us = worker.rm_control(gpu.lib, fd, client, 0x5C000003,
                                     0xA06C0104, bytes(8))[2]
        self.assertEqual(struct.unpack("<Q", slice_us)[0], 2048)
        self.assertEqual(worker.rm_control(
            gpu.lib, fd, client, 0x5C000003, 0xA06C0103,
            struct.pack("<Q", 777))[:2], (0, 0))
        slice_us = worker.rm_control(gpu.lib, fd, client, 0x5C000003,
                                     0xA06C0104, bytes(8))[2]
        self.assertEqual(struct.unpack("<Q", slice_us)[0], 777)
        own = worker.rm_file()
        self.assertEqual(worker.rm_control(gpu.lib, own, client, 0x5C000003,
                                           0xA06C0104, bytes(8))[1], 0x23)
        self.assertEqual(worker.rm_control(gpu.lib, fd, client, 0x5CFFFFFF,
                                           0xA06C0104, bytes(8))[1], 0x57)
        self.assertEqual(worker.rm_control(gpu.lib, fd, client, 0x5C000003,
                                           0xA06C0104, bytes(4))[1], 0x3A)
        child.kill()
        child.communicate()
        os.close(fd)
        os.close(pidfd)


if __name__ == "__main__":
    unittest.main()
