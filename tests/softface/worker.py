# SPDX-License-Identifier: Apache-2.0
"""The software GPU's driver API by ctypes, and a few programs over it. Each runs as a
process of its own: worker.py ROLE [ARGUMENT...]."""
import ctypes as C
import os
import struct
import sys

BUILD = os.environ["GP_BUILD"]
FACE = os.path.join(BUILD, "lib/gpreempt/softgpu/libcuda.so.1")
BLOCKS = 132 * 8
MUL = 1664525
PTX = b""".version 7.0
.visible .entry gp_work(
 .param .u64 buf, .param .u64 in, .param .u32 mul, .param .u32 iters)
{}
.visible .entry gp_spin(.param .u64 ns)
{}
.visible .entry nobody_knows(.param .u64 x)
{}
.visible .entry gp_hold(.param .u64 w, .param .u64 s, .param .u64 l,
 .param .u32 t)
{}
"""


class Gpu:
    def __init__(self, number=0):
        self.lib = C.CDLL(FACE, use_errno=True)
        self.lib.gp_soft_now_ns.restype = C.c_uint64
        self.lib.gp_soft_sleep_until.argtypes = [C.c_uint64]
        self.lib.gp_soft_ioctl.argtypes = [C.c_int, C.c_ulong, C.c_void_p]
        self.call("cuInit", 0)
        self.ctx = C.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", C.byref(self.ctx), number)
        self.call("cuCtxSetCurrent", self.ctx)
        self.module = C.c_void_p()
        self.call("cuModuleLoadData", C.byref(self.module), PTX)

    def call(self, name, *args):
        error = getattr(self.lib, name)(*args)
        if error:
            raise RuntimeError(f"{name}: {error}")

    def now(self):
        return self.lib.gp_soft_now_ns()

    def sleep(self, ns):
        self.lib.gp_soft_sleep_until(self.now() + ns)

    def function(self, name):
        fn = C.c_void_p()
        self.call("cuModuleGetFunction", C.byref(fn), self.module, name)
        return fn

    def stream(self):
        stream = C.c_void_p()
        self.call("cuStreamCreate", C.byref(stream), 1)
        return stream

    def alloc(self, size):
        ptr = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(ptr), C.c_size_t(size))
        return ptr

    def launch(self, fn, args, stream=None, blocks=BLOCKS, threads=256):
        params = (C.c_void_p * len(args))(*[C.addressof(a) for a in args])
        self.call("cuLaunchKernel", fn, blocks, 1, 1, threads, 1, 1, 0, stream,
                  params, None)

    def sync(self, stream=None):
        self.call("cuStreamSynchronize", stream)


def rm_file():
    for fd in range(3, 100):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(
                    "/memfd:gpreempt-soft-rm"):
                return fd
        except OSError:
            pass
    raise RuntimeError("no RM file")


def rm_control(lib, fd, client, obj, cmd, params):
    """(errno, status, parameters)"""
    buf = C.create_string_buffer(params, len(params))
    arg = C.create_string_buffer(struct.pack(
        "<IIIIQII", client, obj, cmd, 0, C.addressof(buf), len(params), 0), 32)
    C.set_errno(0)
    failed = lib.gp_soft_ioctl(fd, 0xC020462A, arg)
    return (C.get_errno() if failed else 0,
            struct.unpack("<I", arg.raw[28:32])[0], buf.raw)


def jump(x, c, iters):
    """x after @iters steps of x = MUL * x + c."""
    a, g, step_a, step_g = 1, 0, MUL, 1
    while iters:
        if iters & 1:
            g = (step_a * g + step_g) & 0xFFFFFFFF
            a = a * step_a & 0xFFFFFFFF
        step_g = (step_g + step_a * step_g) & 0xFFFFFFFF
        step_a = step_a * step_a & 0xFFFFFFFF
        iters >>= 1
    return (a * x + g * c) & 0xFFFFFFFF


def be(kernels):
    """Kernels of 10 ms back to back; the result is checked in full."""
    gpu = Gpu()
    fn, words, iters = gpu.function(b"gp_work"), BLOCKS * 256, 2499750
    buf = gpu.alloc(words * 4)
    host = (C.c_uint32 * words)(*range(words))
    gpu.call("cuMemcpyHtoD_v2", buf, host, C.c_size_t(words * 4))
    print("ready", flush=True)
    for _ in range(int(kernels)):
        gpu.launch(fn, [C.c_uint64(buf.value), C.c_uint64(0), C.c_uint32(MUL),
                        C.c_uint32(iters)])
    gpu.sync()
    gpu.call("cuMemcpyDtoH_v2", host, buf, C.c_size_t(words * 4))
    for g in range(0, words, 1009):
        want = jump(g, 2 * g + 1, iters * int(kernels))
        if host[g] != want:
            print(f"wrong at {g}: {host[g]:#x} {want:#x}", flush=True)
            return
    print("right", flush=True)


def lc(requests):
    """Five kernels of 110 us every 5 ms. Prints all latencies, in the GPU's clock."""
    gpu = Gpu()
    fn, stream = gpu.function(b"gp_spin"), gpu.stream()
    times = []
    for _ in range(int(requests)):
        gpu.sleep(5000000)
        start = gpu.now()
        for _ in range(5):
            gpu.launch(fn, [C.c_uint64(110000)], stream)
        gpu.sync(stream)
        times.append(gpu.now() - start)
    print(" ".join(map(str, times)), flush=True)


def rm():
    """Keep a context until stdin ends; a parent may take its RM file."""
    gpu = Gpu()
    print(rm_file(), flush=True)
    sys.stdin.read()
    return gpu


def endless():
    """Work without end, for a test that kills or stops it."""
    gpu = Gpu()
    fn = gpu.function(b"gp_spin")
    print("ready", flush=True)
    while True:
        for _ in range(8):
            gpu.launch(fn, [C.c_uint64(10000000)])
        gpu.sync()


if __name__ == "__main__":
    {"be": be, "lc": lc, "rm": rm, "endless": endless}[sys.argv[1]](*sys.argv[2:])
