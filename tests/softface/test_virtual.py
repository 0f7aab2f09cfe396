#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reserved addresses and mapped memory of the software GPU, whose memory, link and faults are
set here."""
import ctypes as C
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from own_server import DIR  # noqa: E402
FAULTS = os.path.join(DIR.name, "faults")
MIB = 1 << 20
MEMORY_MIB, RATE_MB = 64, 2000
os.environ.update(GPREEMPT_SOFTGPU_MEMORY=str(MEMORY_MIB), GPREEMPT_SOFTGPU_LINK=str(RATE_MB),
                  GPREEMPT_SOFTGPU_FAULTS=FAULTS)
import worker  # noqa: E402

INVALID, NO_MEMORY, ILLEGAL_ADDRESS, UNKNOWN = 1, 2, 700, 999
SIZE = 4 * MIB


class Prop(C.Structure):
    _fields_ = [("type", C.c_int), ("handles", C.c_int), ("where", C.c_int), ("id", C.c_int),
                ("win32", C.c_void_p), ("flags", C.c_uint64)]


class Access(C.Structure):
    _fields_ = [("where", C.c_int), ("id", C.c_int), ("flags", C.c_int)]


PROP = Prop(type=1, where=1)
READ_WRITE = Access(1, 0, 3)


class Virtual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = worker.Gpu()

    def tearDown(self):
        if os.path.exists(FAULTS):
            os.unlink(FAULTS)

    def error(self, name, *args):
        return getattr(self.gpu.lib, name)(*[C.c_uint64(a) if isinstance(a, int) else a
                                             for a in args])

    def ok(self, name, *args):
        self.assertEqual(self.error(name, *args), 0, name)

    def reserve(self, size=SIZE):
        at = C.c_uint64()
        self.ok("cuMemAddressReserve", C.byref(at), size, 0, 0, 0)
        return at.value

    def create(self, size=SIZE):
        handle = C.c_uint64()
        self.ok("cuMemCreate", C.byref(handle), size, C.byref(PROP), 0)
        return handle.value

    def map(self, at, handle, size=SIZE):
        self.ok("cuMemMap", at, size, 0, handle, 0)
        self.ok("cuMemSetAccess", at, size, C.byref(READ_WRITE), 1)

    def drop(self, at, handle, size=SIZE):
        self.ok("cuMemUnmap", at, size)
        self.ok("cuMemRelease", handle)
        self.ok("cuMemAddressFree", at, size)

    def free(self):
        free, total = C.c_size_t(), C.c_size_t()
        self.ok("cuMemGetInfo_v2", C.byref(free), C.byref(total))
        self.assertEqual(total.value, MEMORY_MIB * MIB)
        return free.value

    def write(self, at, data):
        self.ok("cuMemcpyHtoD_v2", at, data, len(data))

    def read(self, at, size):
        back = C.create_string_buffer(size)
        self.ok("cuMemcpyDtoH_v2", back, at, size)
        return back.raw

    def test_same_address_other_memory(self):
        """Memory lives while its handle or a mapping does, and only then is it in use."""
        begin, at, data = self.free(), self.reserve(), os.urandom(SIZE)
        self.assertEqual(self.free(), begin)
        one, two = self.create(), self.create()
        self.assertEqual(self.free(), begin - 2 * SIZE)
        self.map(at, one)
        self.write(at, data)
        self.ok("cuMemUnmap", at, SIZE)
        self.map(at, two)
        self.assertEqual(self.read(at, SIZE), bytes(SIZE))
        self.ok("cuMemUnmap", at, SIZE)
        self.map(at, one)
        self.ok("cuMemRelease", one)
        self.assertEqual(self.read(at, SIZE), data)
        self.assertEqual(self.free(), begin - 2 * SIZE)
        self.drop(at, two)
        self.assertEqual(self.free(), begin)

    def test_another_handle(self):
        """By any address of a mapping; the memory lives as long as one of its handles."""
        begin, at, one, two = self.free(), self.reserve(), self.create(), C.c_uint64()
        self.map(at, one)
        self.write(at, b"kept")
        self.ok("cuMemRelease", one)
        self.ok("cuMemRetainAllocationHandle", C.byref(two), C.c_void_p(at + SIZE - 1))
        self.ok("cuMemUnmap", at, SIZE)
        self.assertEqual(self.free(), begin - SIZE)
        self.assertEqual(self.error("cuMemRetainAllocationHandle", C.byref(two), C.c_void_p(at)), INVALID)
        self.map(at, two.value)
        self.assertEqual(self.read(at, 4), b"kept")
        self.drop(at, two.value)
        self.assertEqual(self.free(), begin)

    def test_queued_work_uses_what_is_mapped_when_it_runs(self):
        gpu, at, words = self.gpu, self.reserve(), 4 * 256
        spin, work = gpu.function(b"gp_spin"), gpu.function(b"gp_work")
        one, two = self.create(), self.create()
        self.map(at, one)
        gpu.launch(spin, [C.c_uint64(5000000)], blocks=1)
        gpu.launch(work, [C.c_uint64(at), C.c_uint64(0), C.c_uint32(worker.MUL), C.c_uint32(9)],
                   blocks=4)
        self.ok("cuMemUnmap", at, SIZE)
        self.map(at, two)
        gpu.sync()
        self.assertEqual(self.read(at, 40), b"".join(
            worker.jump(0, 2 * g + 1, 9).to_bytes(4, "little") for g in range(10)))
        self.ok("cuMemUnmap", at, SIZE)
        self.map(at, one)
        self.assertEqual(self.read(at, words * 4), bytes(words * 4))
        self.drop(at, one)
        self.ok("cuMemRelease", two)

    def test_refused(self):
        at, handle, other = self.reserve(), self.create(), C.c_uint64()
        for name, *args in (
                ("cuMemAddressReserve", C.byref(other), 4096, 0, 0, 0),
                ("cuMemCreate", C.byref(other), 4096, C.byref(PROP), 0),
                ("cuMemMap", at, SIZE, 0, handle + 1000, 0),
                ("cuMemMap", at, 2 * SIZE, 0, handle, 0),
                ("cuMemMap", at + 4096, MIB * 2, 0, handle, 0),
                ("cuMemUnmap", at, SIZE), ("cuMemSetAccess", at, SIZE, C.byref(READ_WRITE), 1),
                ("cuMemFree_v2", at), ("cuMemGetAddressRange_v2", None, None, at)):
            self.assertEqual(self.error(name, *args), INVALID, name)
        self.map(at, handle)
        for name, *args in (("cuMemMap", at, SIZE, 0, handle, 0), ("cuMemAddressFree", at, SIZE),
                            ("cuMemUnmap", at, SIZE // 2)):
            self.assertEqual(self.error(name, *args), INVALID, name)
        size = C.c_size_t()
        self.ok("cuMemGetAddressRange_v2", C.byref(other), C.byref(size), at + 12345)
        self.assertEqual((other.value, size.value), (at, SIZE))
        self.drop(at, handle)

    def test_memory_is_limited(self):
        handles, other = [], C.c_uint64()
        for _ in range(self.free() // SIZE):
            handles.append(self.create())
        self.assertEqual(self.error("cuMemCreate", C.byref(other), SIZE, C.byref(PROP), 0),
                         NO_MEMORY)
        self.assertEqual(self.error("cuMemAlloc_v2", C.byref(other), SIZE), NO_MEMORY)
        for handle in handles:
            self.ok("cuMemRelease", handle)
        self.ok("cuMemAlloc_v2", C.byref(other), SIZE)
        self.ok("cuMemFree_v2", other)

    def test_link(self):
        """A copy takes its bytes over the rate that is set."""
        at, begin = self.gpu.alloc(SIZE), self.gpu.now()
        self.write(at.value, bytes(SIZE))
        self.assertAlmostEqual(SIZE / RATE_MB, (self.gpu.now() - begin) / 1000, delta=200)
        self.ok("cuMemFree_v2", at)

    def test_planted_faults(self):
        at, handle, other = self.reserve(), self.create(), C.c_uint64()
        with open(FAULTS, "w") as f:
            f.write("copy create map")
        self.assertEqual(self.error("cuMemCreate", C.byref(other), SIZE, C.byref(PROP), 0),
                         NO_MEMORY)
        self.assertEqual(self.error("cuMemMap", at, SIZE, 0, handle, 0), NO_MEMORY)
        os.unlink(FAULTS)
        self.map(at, handle)
        with open(FAULTS, "w") as f:
            f.write("copy")
        self.assertEqual(self.error("cuMemcpyHtoD_v2", at, b"1234", 4), UNKNOWN)
        os.unlink(FAULTS)
        self.assertEqual(self.read(at, 4), bytes(4))
        self.drop(at, handle)

    def test_export(self):
        at, handle, fd = self.reserve(), self.create(), C.c_int(-1)
        self.map(at, handle)
        self.write(at, b"gpreempt")
        self.ok("cuMemExportToShareableHandle", C.byref(fd), handle, C.c_int(1), 0)
        self.assertEqual(os.pread(fd.value, 8, 0), b"gpreempt")
        os.close(fd.value)
        self.drop(at, handle)

    def test_unmapped_memory_is_a_fault_of_its_process(self):
        done = subprocess.run([sys.executable, __file__, "fault"], text=True, capture_output=True,
                              timeout=300)
        self.assertEqual(done.stdout, f"{ILLEGAL_ADDRESS}\n", done.stderr)
        self.free()

    def test_bad_numbers(self):
        server = os.path.join(worker.BUILD, "lib/gpreempt/gpreempt-softgpud")
        for name in "GPREEMPT_SOFTGPU_MEMORY", "GPREEMPT_SOFTGPU_LINK":
            for text in "0", "-1", "64MiB", "1000001", "99999999999999999999":
                done = subprocess.run([server, "/nowhere/sock"], text=True, capture_output=True,
                                      timeout=300, env={**os.environ, name: text})
                self.assertEqual((done.returncode, done.stderr), (
                    1, f"gpreempt-softgpud: {name}={text}: not a number from 1 to 1000000\n"))


def fault():
    test = Virtual()
    test.setUpClass()
    at, handle = test.reserve(), test.create()
    test.map(at, handle)
    test.gpu.launch(test.gpu.function(b"gp_spin"), [C.c_uint64(5000000)], blocks=1)
    test.gpu.launch(test.gpu.function(b"gp_work"), [
        C.c_uint64(at), C.c_uint64(0), C.c_uint32(worker.MUL), C.c_uint32(9)], blocks=4)
    test.ok("cuMemUnmap", at, SIZE)
    print(test.error("cuCtxSynchronize"))


if __name__ == "__main__":
    if sys.argv[1:] == ["fault"]:
        fault()
    else:
        unittest.main()
