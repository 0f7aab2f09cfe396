# SPDX-License-Identifier: Apache-2.0
"""Programs of SUITE=memory and moves: memory_programs.py NAME [ARGUMENT...]. They speak with it by lines.

A training program repeats the same steps from the same state until it reads "end". Each time it
must come to the same bits: the first time is the undisturbed one.
"""
import ctypes as C
import hashlib
import os
import sys
import threading
import time

GIB = 1 << 30
LINES = []


def listen():
    for line in sys.stdin:
        LINES.append(line.strip())
    LINES.append("end")


def say(text):
    print(text, flush=True)


# ---- plain calls of the driver ------------------------------------------------------

class Driver:
    def __init__(self):
        self.lib = C.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = C.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", C.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        error = getattr(self.lib, name)(*args)
        if error:
            raise RuntimeError(f"{name}: {error}")

    def alloc(self, size):
        at = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(at), C.c_size_t(size))
        return at


def copy(gib):
    """Rates of plain copies of pinned memory, bytes/s: out in."""
    gpu, size = Driver(), int(float(gib) * GIB)
    at, host = gpu.alloc(size), C.c_void_p()
    gpu.call("cuMemHostAlloc", C.byref(host), C.c_size_t(size), 0)
    rates = []
    for name, args in (("cuMemcpyDtoH_v2", (host, at)), ("cuMemcpyHtoD_v2", (at, host))):
        best = 0
        for _ in range(3):
            start = time.monotonic()
            gpu.call(name, *args, C.c_size_t(size))
            best = max(best, size / (time.monotonic() - start))
        rates.append(best)
    say(f"done out={rates[0]:.0f} in={rates[1]:.0f}")


def hold(gib, piece_mib="1024"):
    """Memory with a value of its own in each piece; on "end" all of it is checked."""
    gpu, piece = Driver(), int(piece_mib) << 20
    pieces = [gpu.alloc(piece) for _ in range(int(float(gib) * GIB) // piece)]
    for i, at in enumerate(pieces):
        gpu.call("cuMemsetD32_v2", at, 0x1000 + i, C.c_size_t(piece // 4))
    gpu.call("cuCtxSynchronize")
    say(f"ready pid={os.getpid()}")
    sys.stdin.readline()
    host, wrong = (C.c_uint32 * (piece // 4))(), 0
    for i, at in enumerate(pieces):
        gpu.call("cuMemcpyDtoH_v2", host, at, C.c_size_t(piece))
        words = memoryview(host).cast("B")
        want = (0x1000 + i).to_bytes(4, "little") * (piece // 4)
        if words != want:
            wrong += sum(w != 0x1000 + i for w in host)
    say(f"done wrong={wrong}")


def room(gib, bare=""):
    """take: allocate, and set every byte unless @bare. give: free."""
    gpu, at, size = Driver(), C.c_uint64(), int(float(gib) * GIB)
    say(f"ready pid={os.getpid()}")
    for line in sys.stdin:
        if line == "give\n":
            gpu.call("cuMemFree_v2", at)
            say("gave")
            continue
        start = time.monotonic()
        error = gpu.lib.cuMemAlloc_v2(C.byref(at), C.c_size_t(size))
        took = time.monotonic() - start
        if not error and not bare:
            gpu.call("cuMemsetD8_v2", at, 5, C.c_size_t(size))
            gpu.call("cuCtxSynchronize")
        say(f"got error={error} took={took:.6f}")


def model(gib, piece_mib="1024"):
    """request: read all of its memory on the GPU, and check a word of each piece."""
    gpu, piece = Driver(), int(piece_mib) << 20
    pieces = [gpu.alloc(piece) for _ in range(int(float(gib) * GIB) // piece)]
    for i, at in enumerate(pieces):
        gpu.call("cuMemsetD32_v2", at, 0x1000 + i, C.c_size_t(piece // 4))
    scratch, word = gpu.alloc(piece), C.c_uint32()
    gpu.call("cuCtxSynchronize")
    say(f"ready pid={os.getpid()}")
    for line in sys.stdin:
        if line != "request\n":
            break
        start, wrong, back = time.monotonic(), 0, 0
        for i, at in enumerate(pieces):
            gpu.call("cuMemcpyDtoDAsync_v2", scratch, at, C.c_size_t(piece), None)
            back = back or time.monotonic()
            gpu.call("cuMemcpyDtoH_v2", C.byref(word), C.c_uint64(scratch.value + piece - 4),
                     C.c_size_t(4))
            wrong += word.value != 0x1000 + i
        say(f"answer took={time.monotonic() - start:.6f} waited={back - start:.6f} wrong={wrong}")


def allocs(count, mib):
    """The time of @count allocations of @mib, and of their release."""
    gpu, size = Driver(), int(mib) << 20
    gpu.call("cuMemFree_v2", gpu.alloc(size))
    start = time.monotonic()
    at = [gpu.alloc(size) for _ in range(int(count))]
    middle = time.monotonic()
    for one in at:
        gpu.call("cuMemFree_v2", one)
    say(f"done alloc={middle - start:.6f} free={time.monotonic() - middle:.6f}")


# ---- training --------------------------------------------------------------------------

def repeat(reset, step, digest, steps):
    """Until "end", and not from "pause" to "go". $TIMES: a file for the end of each repetition, ns."""
    first, same, count = None, True, 0
    threading.Thread(target=listen, daemon=True).start()
    ends = open(os.environ.get("TIMES", os.devnull), "w", 1, encoding="ascii")
    while True:
        reset()
        for _ in range(steps):
            step()
        result = digest()
        count += 1
        ends.write(f"{time.monotonic_ns()}\n")
        same &= first in (None, result)
        if first not in (None, result):
            print("other bits:", first, result, file=sys.stderr)
        if first is None:
            first = result
            say(f"ready pid={os.getpid()}")
        if LINES[-1:] == ["pause"]:
            say("paused")
        while LINES[-1:] == ["pause"]:
            time.sleep(0.001)
        if "end" in LINES:
            break
    say(f"done same={int(same)} repetitions={count}")


def torch_training(gib, steps, graph):
    import torch
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True)
    dev = "cuda"
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
        torch.nn.Conv2d(64, 128, 3, padding=1, stride=2), torch.nn.BatchNorm2d(128),
        torch.nn.ReLU(), torch.nn.Conv2d(128, 256, 3, padding=1, stride=2), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(256 * 64, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10)).to(dev)
    data, want = torch.randn(256, 3, 32, 32, device=dev), torch.randint(0, 10, (256,), device=dev)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    # Memory that every step reads and writes.
    ballast = [torch.arange(GIB // 4, dtype=torch.int32, device=dev) for _ in range(int(gib))]
    losses = torch.zeros((), device=dev)

    def work():
        opt.zero_grad(set_to_none=False)
        loss = loss_of(model(data), want)
        loss.backward()
        opt.step()
        losses.add_(loss.detach())
        for b in ballast:
            b.mul_(3).add_(1)

    work()
    torch.cuda.synchronize()
    step = work
    if graph:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.synchronize()
        whole = torch.cuda.CUDAGraph()
        with torch.cuda.graph(whole):
            work()
        step = whole.replay
    state = {k: v.clone() for k, v in model.state_dict().items()}

    def reset():
        model.load_state_dict(state)
        for s in opt.state.values():
            s["momentum_buffer"].zero_()
        losses.zero_()
        for i, b in enumerate(ballast):
            b.fill_(i)

    def digest():
        sums = [int(b.to(torch.int64).sum()) if gib < 4 else int(b[::4097].to(torch.int64).sum())
                for b in ballast]
        sums += [int((b != b[0]).sum()) for b in ballast]
        h = hashlib.sha256()
        for v in model.state_dict().values():
            h.update(v.cpu().numpy().tobytes())
        return sums, losses.item(), h.hexdigest()[:8]

    repeat(reset, step, digest, steps)


def eager(gib, steps="100"):
    torch_training(int(gib), int(steps), False)


def graph(gib, steps="100"):
    torch_training(int(gib), int(steps), True)


def jax(gib, steps="100"):
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "default"
    os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true"
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{float(gib) / 130:.3f}")
    import jax as J
    import jax.numpy as jnp
    key = J.random.PRNGKey(0)
    params0 = [J.random.normal(k, (2048, 2048)) * 0.01 for k in J.random.split(key, 6)]
    x = J.random.normal(key, (512, 2048))
    state = {}

    def loss(params):
        y = x
        for w in params:
            y = jnp.tanh(y @ w)
        return (y * y).mean()

    @J.jit
    def update(params):
        return [p - 0.1 * g for p, g in zip(params, J.grad(loss)(params))]

    def reset():
        state["p"] = params0

    def step():
        state["p"] = update(state["p"])

    def digest():
        h = hashlib.sha256()
        for p in state["p"]:
            h.update(J.device_get(p).tobytes())
        return h.hexdigest()

    repeat(reset, step, digest, int(steps))


def cupy(gib, steps="100"):
    import cupy as cp
    n = int(float(gib) * GIB) // 4 // (1 << 26)
    parts = [cp.zeros(1 << 26, dtype=cp.uint32) for _ in range(max(n, 1))]
    a = cp.random.RandomState(1).standard_normal((2048, 2048), dtype=cp.float32)
    state = {}

    def reset():
        for i, p in enumerate(parts):
            p.fill(i)
        state["m"] = a.copy()

    def step():
        for p in parts:
            p *= 1664525
            p += 1013904223
        state["m"] = cp.tanh(state["m"] @ a * 0.05)

    def digest():
        h = hashlib.sha256(cp.asnumpy(state["m"]).tobytes())
        for p in parts:
            h.update(cp.asnumpy(p[::257]).tobytes())
            h.update(str(int((p != p[0]).sum())).encode())
        return h.hexdigest()

    repeat(reset, step, digest, int(steps))


PROGRAMS = {f.__name__: f for f in (copy, hold, room, model, allocs, eager, graph, jax, cupy)}

if __name__ == "__main__":
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
