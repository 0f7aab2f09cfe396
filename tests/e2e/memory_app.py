# SPDX-License-Identifier: Apache-2.0
"""Programs of test_memory_soft.py: memory_app.py ROLE MIB. They speak with the test by lines."""
import ctypes as C
import http.server
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../softface"))
import worker  # noqa: E402

MIB = 1 << 20
PIECE = 16 * MIB
WORDS = worker.BLOCKS * 256
ITERS = 2499750                 # 10 ms
LINES = []


def listen():
    for line in sys.stdin:
        LINES.append(line)
    LINES.append("end\n")


def range_of(gpu, at):
    base, size = C.c_uint64(), C.c_size_t()
    gpu.call("cuMemGetAddressRange_v2", C.byref(base), C.byref(size), C.c_uint64(at))
    return base.value, size.value


PROP = struct.pack("=IIIi16xQ", 1, 0, 1, 0, 0)     # pinned memory of device 0
READ_WRITE = struct.pack("=IiI", 1, 0, 3)


def same(gpu, *places):
    """Is the same memory mapped at all of them? A write at the last is seen at each."""
    back = C.create_string_buffer(4)
    gpu.call("cuMemsetD32_v2", C.c_uint64(places[-1]), 0xc0ffee, C.c_size_t(1))
    for at in places:
        gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(at), C.c_size_t(4))
        if int.from_bytes(back.raw, "little") != 0xc0ffee:
            return False
    return True


class Own:
    """Memory by handles, as PyTorch's expandable segments have it: one reservation, a handle for each
    piece. Each second handle is released once it is mapped. The first has a second place, too."""

    def __init__(self, gpu, pieces):
        self.gpu, self.handles, self.at = gpu, {}, C.c_uint64()
        gpu.call("cuMemAddressReserve", C.byref(self.at), *map(C.c_size_t, ((pieces + 1) * PIECE, 0, 0, 0)))
        self.pieces = [self.at.value + i * PIECE for i in range(pieces)]
        self.second = self.at.value + pieces * PIECE
        for at in self.pieces:
            self.handles[at] = self.create()
            self.map(at, self.handles[at])
        self.map(self.second, self.handles[self.pieces[0]])
        gpu.call("cuMemSetAccess", self.at, C.c_size_t((pieces + 1) * PIECE), READ_WRITE, C.c_size_t(1))
        for at in self.pieces[1::2]:
            gpu.call("cuMemRelease", self.handles.pop(at))

    def create(self):
        handle = C.c_uint64()
        self.gpu.call("cuMemCreate", C.byref(handle), C.c_size_t(PIECE), PROP, C.c_uint64(0))
        return handle

    def map(self, at, handle):
        self.gpu.call("cuMemMap", C.c_uint64(at), C.c_size_t(PIECE), C.c_size_t(0), handle, C.c_uint64(0))

    def again(self):
        """A handle by address, twice; the last piece is unmapped and mapped elsewhere."""
        for at in self.pieces:
            handle = C.c_uint64()
            self.gpu.call("cuMemRetainAllocationHandle", C.byref(handle), C.c_void_p(at + 8))
            assert at not in self.handles or handle.value == self.handles[at].value
            if at in self.handles:
                self.gpu.call("cuMemRelease", handle)
            else:
                self.handles[at] = handle
        last, place = self.pieces[-1], C.c_uint64()
        self.gpu.call("cuMemUnmap", C.c_uint64(last), C.c_size_t(PIECE))
        self.gpu.call("cuMemAddressReserve", C.byref(place), *map(C.c_size_t, (PIECE, 0, 0, 0)))
        self.map(place.value, self.handles[last])
        self.gpu.call("cuMemSetAccess", place, C.c_size_t(PIECE), READ_WRITE, C.c_size_t(1))
        self.handles[place.value] = self.handles.pop(last)
        self.pieces[-1] = place.value

    def export(self):
        file = C.c_int(-1)
        self.gpu.call("cuMemExportToShareableHandle", C.byref(file), self.handles[self.pieces[0]], 1, C.c_uint64(0))
        os.close(file.value)

    def free(self):
        for at in *self.pieces, self.second:
            self.gpu.call("cuMemUnmap", C.c_uint64(at), C.c_size_t(PIECE))
        for handle in self.handles.values():
            self.gpu.call("cuMemRelease", handle)


def own(mib):
    """As be. Other lines: again, export."""
    be(mib, own=True)


def be(mib, plain=False, own=False):
    """Kernels in each of its pieces, back to back. At the end all bytes are checked: those that
    kernels wrote, and the rest, which nothing has touched since the begin. @plain: without other memory."""
    gpu = worker.Gpu()
    fn, data = gpu.function(b"gp_work"), os.urandom(PIECE)
    count = mib * MIB // PIECE
    mine = Own(gpu, count) if own else None
    pieces = mine.pieces if own else [gpu.alloc(PIECE).value for _ in range(count)]
    for at in pieces:
        gpu.call("cuMemcpyHtoD_v2", C.c_uint64(at), data, C.c_size_t(PIECE))
        assert range_of(gpu, at + 5) == (at, PIECE)
    threading.Thread(target=listen, daemon=True).start()
    print("ready", flush=True)
    kernels = 0
    while "end\n" not in LINES:
        for at in pieces:
            gpu.launch(fn, [C.c_uint64(at), C.c_uint64(0), C.c_uint32(worker.MUL),
                            C.c_uint32(ITERS)])
        gpu.sync()
        kernels += 1
        while LINES and LINES[0] != "end\n":
            getattr(mine, LINES.pop(0).strip())()
            print("done", flush=True)
        if plain:
            continue
        # New memory, a set and a copy of their own while others move.
        other = gpu.alloc(2 * MIB)
        gpu.call("cuMemsetD8_v2", other, 7, C.c_size_t(2 * MIB))
        back = C.create_string_buffer(16)
        gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(other.value + MIB), C.c_size_t(16))
        assert back.raw == b"\7" * 16, back.raw
        gpu.call("cuMemFree_v2", other)
    back = C.create_string_buffer(PIECE)
    wrong = 0
    for at in pieces:
        gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(at), C.c_size_t(PIECE))
        raw = back.raw
        wrong += raw[WORDS * 4:] != data[WORDS * 4:]
        for g in range(0, WORDS, 997):
            begin = int.from_bytes(data[g * 4:g * 4 + 4], "little")
            want = worker.jump(begin, 2 * g + 1, ITERS * kernels)
            wrong += int.from_bytes(raw[g * 4:g * 4 + 4], "little") != want
        if not own:
            gpu.call("cuMemFree_v2", C.c_uint64(at))
    if own:
        wrong += not same(gpu, pieces[0], mine.second)
        mine.free()
    print("wrong", wrong, kernels, flush=True)


def lc(mib):
    """take: take MIB, write them; the error, or 0. give: give them back."""
    gpu, at = worker.Gpu(), C.c_uint64()
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "give\n":
            gpu.call("cuMemFree_v2", at)
            print("gave", flush=True)
            continue
        error = gpu.lib.cuMemAlloc_v2(C.byref(at), C.c_size_t(mib * MIB))
        if not error:
            gpu.call("cuMemsetD8_v2", at, 5, C.c_size_t(mib * MIB))
        print("got", error, flush=True)


def plain(mib):
    be(mib, True)


def fork(mib):
    """fork: a child calls the driver; its errors. Another line ends it, whatever is out."""
    gpu = worker.Gpu()
    at, other = gpu.alloc(mib * MIB), C.c_uint64()
    print("ready", flush=True)
    while sys.stdin.readline() == "fork\n":
        pid = os.fork()
        if not pid:
            print("child", gpu.lib.cuMemAlloc_v2(C.byref(other), C.c_size_t(8 * MIB)),
                  gpu.lib.cuMemsetD8_v2(at, 1, C.c_size_t(4)), gpu.lib.cuMemFree_v2(at), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)


def by_address(gpu, handle, size):
    """Another handle of that memory, for @handle."""
    at, new = C.c_uint64(), C.c_uint64()
    gpu.call("cuMemAddressReserve", C.byref(at), size, C.c_size_t(0), C.c_uint64(0), C.c_uint64(0))
    gpu.call("cuMemMap", at, size, C.c_size_t(0), handle, C.c_uint64(0))
    error = gpu.lib.cuMemRetainAllocationHandle(C.byref(new), C.c_void_p(at.value))
    gpu.call("cuMemRelease", handle)
    gpu.call("cuMemUnmap", at, size)
    gpu.call("cuMemAddressFree", at, size)
    return error, new


def limit(mib):
    """Lines to memory: alloc MIB, create MIB, free, drop, reset, info. retain gets a handle of the last alloc.
    again replaces the last handle by another one of its memory. The answer is CUDA's error."""
    gpu = worker.Gpu()
    at, handle = [], []
    info = C.c_void_p()
    gpu.call("cuGetProcAddress_v2", b"cuMemGetInfo", C.byref(info), 12000, C.c_uint64(0), None)
    ways = gpu.lib.cuMemGetInfo_v2, C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)(info.value)
    print("ready", flush=True)
    for line in sys.stdin:
        word, *args = line.split()
        new = C.c_uint64()
        size = C.c_size_t(int(float(args[0]) * MIB)) if args else None
        if word == "info":
            free, total = C.c_size_t(), C.c_size_t()
            errors = {way(C.byref(free), C.byref(total)) for way in ways[::-1]}
            print(*errors, free.value // MIB, total.value // MIB, flush=True)
            continue
        if word == "alloc":
            error = gpu.lib.cuMemAlloc_v2(C.byref(new), size)
            at += [] if error else [new]
        elif word == "create":
            error = gpu.lib.cuMemCreate(C.byref(new), size, PROP, C.c_uint64(0))
            handle += [] if error else [new]
        elif word == "free":
            error = gpu.lib.cuMemFree_v2(at.pop())
        elif word == "drop":
            error = gpu.lib.cuMemRelease(handle.pop())
        elif word == "retain":
            error = gpu.lib.cuMemRetainAllocationHandle(C.byref(new), C.c_void_p(at[-1].value))
        elif word == "again":
            error, handle[-1] = by_address(gpu, handle[-1], size)
        elif word == "sleep":
            time.sleep(float(args[0]))
            error = 0
        elif word == "reset":
            error = gpu.lib.cuDevicePrimaryCtxReset_v2(0)
            gpu = worker.Gpu()
        print(error, flush=True)


SHORT = ITERS // 10             # 1 ms


def model(mib):
    """request: kernels in each of its pieces, and a check of their results. launch: kernels for a second.
    wait: their end. end: a check of all bytes."""
    gpu = worker.Gpu()
    fn, data = gpu.function(b"gp_work"), os.urandom(PIECE)
    pieces = [gpu.alloc(PIECE).value for _ in range(mib * MIB // PIECE)]
    for at in pieces:
        gpu.call("cuMemcpyHtoD_v2", C.c_uint64(at), data, C.c_size_t(PIECE))
    back, jumps, wrong = C.create_string_buffer(PIECE), 0, 0
    print("ready", flush=True)

    def run(iters):
        for at in pieces:
            gpu.launch(fn, [C.c_uint64(at), C.c_uint64(0), C.c_uint32(worker.MUL), C.c_uint32(iters)])
        return iters

    def check(words):
        raw = back.raw
        return sum(int.from_bytes(raw[g * 4:g * 4 + 4], "little") != worker.jump(
            int.from_bytes(data[g * 4:g * 4 + 4], "little"), 2 * g + 1, jumps) for g in words)

    for line in sys.stdin:
        if line == "request\n":
            jumps += run(SHORT)
            gpu.sync()
            for at in pieces:
                gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(at), C.c_size_t(256))
                wrong += check(range(0, 64, 9))
        elif line == "launch\n":
            jumps += sum(run(ITERS) for _ in range(100 // len(pieces)))
        elif line == "wait\n":
            gpu.sync()
        else:
            break
        print("wrong", wrong, flush=True)
    for at in pieces:
        gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(at), C.c_size_t(PIECE))
        wrong += check(range(0, WORDS, 997)) + (back.raw[WORDS * 4:] != data[WORDS * 4:])
        gpu.call("cuMemFree_v2", C.c_uint64(at))
    print("wrong", wrong, jumps, flush=True)


def engine(mib):
    """Its memory leaves by POST of /sleep, and comes by /wake. Lines ok, fail and hang set its answer. The line
    figures asks how often it had each. At the end all bytes are checked."""
    gpu, data = worker.Gpu(), os.urandom(PIECE)
    pieces, calls, how = [], [0, 0], ["ok"]

    def take():
        pieces.extend(gpu.alloc(PIECE).value for _ in range(mib * MIB // PIECE))
        for at in pieces:
            gpu.call("cuMemcpyHtoD_v2", C.c_uint64(at), data, C.c_size_t(PIECE))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            gpu.call("cuCtxSetCurrent", gpu.ctx)
            calls[self.path == "/wake"] += 1
            if how[0] == "hang":
                time.sleep(60)
            if how[0] == "ok" and self.path == "/sleep":
                while pieces:
                    gpu.call("cuMemFree_v2", C.c_uint64(pieces.pop()))
            if how[0] == "ok" and self.path == "/wake" and not pieces:
                take()
            self.send_response(200 if how[0] == "ok" else 503)
            self.end_headers()

        def log_message(self, *_):
            pass

    take()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["ENGINE_PORT"])), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "figures\n":
            print(*calls, flush=True)
        elif line == "end\n":
            break
        else:
            how[0] = line.strip()
            print("done", flush=True)
    back, wrong = C.create_string_buffer(PIECE), len(pieces) != mib * MIB // PIECE
    for at in pieces:
        gpu.call("cuMemcpyDtoH_v2", back, C.c_uint64(at), C.c_size_t(PIECE))
        wrong += back.raw != data
    print("wrong", wrong, 0, flush=True)
    os._exit(0)


{"engine": engine, "model": model, "own": own, "limit": limit, "be": be, "lc": lc, "plain": plain, "fork": fork}[sys.argv[1]](int(sys.argv[2]))
