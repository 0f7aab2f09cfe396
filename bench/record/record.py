#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record - record a request of a PyTorch program: each kernel's length, shape and distance from
the one before, and how long the request takes alone. Into a JSON file, for programs that
replay it without PyTorch.
"""
import argparse
import gc
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from bench.record import reduce, workload    # noqa: E402
from bench.record.models import MODELS       # noqa: E402
from bench.record.workload import RecordError    # noqa: E402

SEED = 1
WARM_S = 0.4            # clocks go up, caches and allocators fill
RECORDED = 11           # requests in the trace
# Longer than any gap in a request, too short for the clocks to go down.
PAUSE_S = 0.01
MODEL_LIMIT_S = 90      # of --all: then the next
DRIVER = "/proc/driver/nvidia/version"


def driver_version(text):
    """580.159.04 of the driver's own line; "unknown" where there is none."""
    found = re.search(r"^NVRM version:.*?\s(\d+(?:\.\d+)+)\s", text, re.M)
    return found.group(1) if found else "unknown"


def driver():
    try:
        with open(DRIVER) as f:
            return driver_version(f.read())
    except OSError:
        return "unknown"    # some sandboxes show the device without it


def device():
    try:
        import torch
    except ImportError as error:
        raise RecordError(f"PyTorch is needed: {error}") from error
    if not torch.cuda.is_available():
        raise RecordError("PyTorch finds no GPU")
    return torch.cuda.get_device_name(0)


def captured(step):
    """A request that replays @step as a CUDA graph."""
    import torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def ask(request):
    """One request; ns from asking to its end seen."""
    import torch
    torch.cuda.synchronize()
    start_ns = time.perf_counter_ns()
    request()
    torch.cuda.synchronize()
    return time.perf_counter_ns() - start_ns


def warm(request):
    end = time.monotonic() + WARM_S
    for _ in range(3):
        ask(request)
    while time.monotonic() < end:
        ask(request)


def measure(request, requests):
    warm(request)
    return round(statistics.median(ask(request) for _ in range(requests)))


def trace(request):
    """The events of RECORDED requests, each followed by a pause."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
    # Do not record CPU work: that would make the gaps of eager programs longer.
    with profile(activities=[ProfilerActivity.CUDA],
                 schedule=schedule(wait=0, warmup=1, active=1)) as profiler:
        warm(request)       # not kept: starting the profiler took a second
        torch.cuda.synchronize()
        profiler.step()
        time.sleep(PAUSE_S)
        for _ in range(RECORDED):
            ask(request)
            time.sleep(PAUSE_S)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        return reduce.load(path)


def how(model, opt):
    return f"batch {opt.batch or model.batch}, {model.precision} precision, " + (
        "CUDA graph" if model.graph and not opt.eager else "eager")


def record(opt):
    """The workloads of opt.model. All are measured before the first is recorded: the
    profiler stays in a process, and costs."""
    gpu = device()
    import torch
    # The profiler must not leave and come back with graphs about: that crashed in some
    # versions.
    os.environ["TEARDOWN_CUPTI"] = "0"
    model = MODELS[opt.model]
    torch.manual_seed(SEED)
    # A graph does not keep its inputs alive: the steps do.
    steps = requests = model.build(opt.batch or model.batch)
    if model.graph and not opt.eager:
        requests = {name: captured(step) for name, step in steps.items()}
    gc.collect()
    gc.disable()
    solo_ns = {name: measure(request, opt.requests) for name, request in requests.items()}
    found = []
    for name, request in requests.items():
        one = reduce.reduce(trace(request), PAUSE_S * 1e6, RECORDED)
        found.append(workload.make(one, name, f"{model.what[name]}, {how(model, opt)}", gpu,
                                   driver(), solo_ns[name]))
    return found


HEAD = f"{'':15} {'kernels':>7} {'lengths us':>11} {'+ gaps us':>11} {'solo us':>11} {'took s':>7}"


def row(found, took):
    """Lengths and gaps without the first gap: more than solo where tracing made gaps longer."""
    lengths = sum(kernel[1] for kernel in found["kernels"])
    gaps = sum(kernel[0] for kernel in found["kernels"][1:])
    return (f"{found['name']:15} {len(found['kernels']):7} {lengths:11.1f} {lengths + gaps:11.1f} "
            f"{found['solo_us']:11.1f} {took:7.1f}")


def targets(name, out):
    """The file for each workload: @out itself, or files of their names in the folder @out."""
    names = list(MODELS[name].what)
    if os.path.isdir(out):
        return {one: os.path.join(out, f"{one}.json") for one in names}
    if len(names) > 1:
        raise RecordError(f"{name} is {len(names)} files: --out must be a folder")
    if not os.path.isdir(os.path.dirname(os.path.abspath(out))):
        raise RecordError(f"{out}: there is no such folder")
    return {names[0]: out}


def record_one(opt):
    start = time.monotonic()
    paths = targets(opt.model, opt.out)
    found = record(opt)
    took = time.monotonic() - start
    print(HEAD)
    for one in found:
        workload.write(paths[one["name"]], one)
        print(row(one, took), flush=True)
    return 0


def last_error(text):
    """The line that says why: of a traceback the exception's, which CUDA's has more after."""
    lines = [line for line in text.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"record: |[\w.]*(Error|Exception)\b", line)]
    return (said or lines or ["it said nothing"])[-1]


def record_apart(name, opt):
    """A model in a process of its own. Its effects on the device, its memory or the profiler do
    not reach the next. None, or why it failed."""
    argv = [sys.executable, os.path.abspath(__file__), name, "--out", opt.all,
            "--requests", str(opt.requests)]
    argv += ["--batch", str(opt.batch)] if opt.batch else []
    argv += ["--eager"] if opt.eager else []
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                              timeout=MODEL_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no end after {MODEL_LIMIT_S} s"
    if done.returncode == 0:
        return None
    log = os.path.join(opt.all, name.replace(":", "-") + ".log")
    with open(log, "w") as f:
        f.write(done.stdout + done.stderr)
    return f"{last_error(done.stderr)} (status {done.returncode}; {log})"


def record_all(opt):
    """Each model, also after a failed one."""
    os.makedirs(opt.all, exist_ok=True)
    bad = 0
    print(HEAD, flush=True)
    for name in MODELS:
        start = time.monotonic()
        try:
            why = record_apart(name, opt)
            took = time.monotonic() - start
            for path in targets(name, opt.all).values() if not why else ():
                print(row(workload.read(path), took), flush=True)
        except RecordError as error:
            why = str(error)
        if why:
            bad = 1
            print(f"{name}: failed: {why}", flush=True)
    return bad


def list_models(opt):
    for name, model in MODELS.items():
        for one, text in model.what.items():
            print(f"{name:16} {one}.json: {text}, {how(model, opt)}")
    return 0


def natural(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", choices=MODELS, metavar="MODEL")
    parser.add_argument("--out", default=".", metavar="PATH",
                        help="a file, or a folder for NAME.json (default: here)")
    parser.add_argument("--batch", type=natural, help="the model's own, --list says which")
    parser.add_argument("--requests", type=natural, default=100,
                        help="so many are measured (100)")
    parser.add_argument("--eager", action="store_true", help="without a CUDA graph")
    parser.add_argument("--all", metavar="DIR", help="every model, into this folder")
    parser.add_argument("--list", action="store_true", help="the models there are")
    opt = parser.parse_args(words)
    if (opt.model is not None) + (opt.all is not None) + opt.list != 1:
        parser.error("one of MODEL, --all DIR and --list, please")
    return opt


def main(words):
    opt = arguments(words)
    if opt.list:
        return list_models(opt)
    if opt.all is not None:
        return record_all(opt)
    try:
        return record_one(opt)
    except RecordError as error:
        print(f"record: {opt.model}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
