#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""client - one client of a plan as a program in PyTorch. It runs a workload torch:MODEL at the
times in a file, or again and again. It has those options of bench/apps/client.c that it can
follow, and the same output.
"""
import argparse
import gc
import os
import re
import resource
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from bench.apps.app import Client, wait_until    # noqa: E402
from bench.record.models import MODELS              # noqa: E402

SEED = 1
WARM = 5                    # requests: caches and allocators fill
SOLO = 20                   # requests to measure one; fewer, but SOLO_LEAST, where they take SOLO_NS
SOLO_LEAST = 3
SOLO_NS = 2_000_000_000
DRAIN_NS = 500_000_000      # a request may begin so long after the plan's end
SOON_NS = 1_000_000
WORKLOAD = re.compile(r"torch:([\w:]+)((?:,(?:batch|tokens)=\d+)*)")


class WrongUse(Exception):
    """An error in the options; one line."""


def parse_workload(text):
    """(model, batch, tokens); batch and tokens are None if @text does not name them."""
    found = WORKLOAD.fullmatch(text)
    if not found or found[1] not in MODELS:
        raise WrongUse(f"--workload={text}: torch:MODEL[,batch=NUMBER][,tokens=NUMBER] is wanted, "
                       f"MODEL one of {', '.join(MODELS)}")
    keys = dict(word.split("=") for word in found[2].split(",")[1:])
    batch, tokens = (int(keys[name]) if name in keys else None for name in ("batch", "tokens"))
    decodes = len(MODELS[found[1]].what) > 1
    if bool(tokens) != decodes:
        raise WrongUse(f"--workload={text}: tokens=NUMBER is wanted of a decoder, and of no other")
    return found[1], batch, tokens


# ---- the workload ---------------------------------------------------------------------------

class Work:
    """A program of bench/record/models.py on a stream of its own; @graph: as CUDA graphs."""

    def __init__(self, name, batch, graph):
        import torch
        model = MODELS[name]
        if graph and not model.graph:
            raise WrongUse(f"--graph: {name} is none")
        torch.manual_seed(SEED)
        self.torch, self.stream = torch, torch.cuda.Stream()
        # Keep the steps, as a graph does not keep its inputs alive.
        self.steps = list(model.build(batch or model.batch).values())
        with torch.cuda.stream(self.stream):
            for _ in range(WARM):
                for step in self.steps:
                    step()
            self.stream.synchronize()
        self.asked = [self.captured(step) for step in self.steps] if graph else self.steps
        self.first = None

    def captured(self, step):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            found = step()

        def replay():
            graph.replay()
            return found
        return replay


class Network(Work):
    """One request, one answer, or one step of training."""

    def request(self):
        with self.torch.cuda.stream(self.stream):
            self.last = self.asked[0]()
        self.stream.synchronize()
        return []

    def keep_first(self):
        self.first = self.last.clone()

    def right(self):
        """The answers to the same input are close; cuDNN does not promise the same bits. A network
        in training gives another answer each time, so only its loss must be finite."""
        if self.last.numel() == 1:
            return bool(self.torch.isfinite(self.last).all())
        return bool(self.torch.allclose(self.last, self.first, rtol=1e-2, atol=1e-2))


class Decoder(Work):
    """Token by token: the CPU reads each before it requests the next."""

    def __init__(self, name, batch, graph, tokens):
        super().__init__(name, batch, graph)
        self.tokens = tokens

    def request(self):
        seen_ns, self.last = [], []
        with self.torch.cuda.stream(self.stream):
            for n in range(self.tokens):
                self.last.append(self.asked[min(n, 1)]().flatten().tolist())
                seen_ns.append(time.monotonic_ns())
        return seen_ns

    def keep_first(self):
        self.first = self.last

    def right(self):
        return self.last == self.first


def open_work(opt):
    name, batch, tokens = parse_workload(opt.workload)
    if tokens:
        return Decoder(name, batch, opt.graph, tokens)
    return Network(name, batch, opt.graph)


def alone_ns(work):
    took = []
    while len(took) < SOLO_LEAST or (len(took) < SOLO and sum(took) < SOLO_NS):
        start_ns = time.monotonic_ns()
        work.request()
        took.append(time.monotonic_ns() - start_ns)
    work.keep_first()
    return sorted(took)[len(took) // 2]


# ---- requests ---------------------------------------------------------------------------------

def read_times(path):
    with open(path, encoding="ascii") as f:
        return [int(line) for line in f]


def times(opt, begin_ns):
    """Intended time of each request: from the file, or when the last one is done."""
    if opt.trace is None:
        while True:
            yield time.monotonic_ns()
    for at_ns in opt.trace:
        yield begin_ns + at_ns


def do_request(work, hints, opt, intended_ns):
    wait_until(intended_ns)
    start_ns = time.monotonic_ns()
    if hints:
        hints.hint((opt.prepare_us + opt.hint_late_us - opt.hint_early_us) * 1000)
    while time.monotonic_ns() < start_ns + opt.prepare_us * 1000:
        pass
    tokens = work.request()
    return intended_ns, start_ns, time.monotonic_ns(), tokens


def do_requests(work, hints, opt, begin_ns):
    """(samples, number left): a request that arrived and did not end in time is counted."""
    end_ns = begin_ns + opt.length_ms * 1_000_000
    samples, left = [], 0
    for at_ns in times(opt, begin_ns):
        if at_ns >= end_ns:
            break
        if time.monotonic_ns() >= end_ns + DRAIN_NS:
            left += 1
            continue
        sample = do_request(work, hints, opt, at_ns)
        if sample[2] > end_ns + DRAIN_NS:
            left += 1
        else:
            samples.append(sample)
    return samples, left


def write_samples(path, samples):
    if not path:
        return
    tokens = any(sample[3] for sample in samples)
    with open(path, "w", encoding="ascii") as f:
        f.write("intended_ns,start_ns,end_ns" + (",tokens_ns" if tokens else "") + "\n")
        for intended, start, end, seen in samples:
            f.write(f"{intended},{start},{end}" +
                    ("," + " ".join(map(str, seen)) if seen else "") + "\n")


def cpu_ns():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def await_go():
    line = sys.stdin.readline().strip()
    return int(line) if line.isdigit() else time.monotonic_ns() + SOON_NS


# ---- all of it --------------------------------------------------------------------------------

def natural(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--workload", required=True, metavar="torch:MODEL")
    parser.add_argument("--out", default="", help="file for the samples")
    parser.add_argument("--trace", metavar="FILE", help="of when requests come, ns from the "
                        "beginning, one a line (continuous)")
    parser.add_argument("--arrivals", choices=["continuous"], default="continuous")
    for name, default in (("prepare-us", 0), ("length-ms", 10000), ("hint-early-us", 0),
                          ("hint-late-us", 0), ("seed", 1), ("stream", 1)):
        parser.add_argument(f"--{name}", type=natural, default=default)
    parser.add_argument("--hint", action="store_true",
                        help="say that work comes when its preparation begins")
    parser.add_argument("--graph", action="store_true", help="a request is a CUDA graph")
    parser.add_argument("--lib", default="libgpreempt.so.0")
    opt = parser.parse_args(words)
    if opt.trace is not None:
        try:
            opt.trace = read_times(opt.trace)
        except (OSError, ValueError) as error:
            raise WrongUse(f"--trace: {error}") from error
    return opt


def run(opt):
    work = open_work(opt)
    solo_ns = alone_ns(work)
    hints = Client(opt.lib) if opt.hint else None
    gc.collect()
    gc.disable()
    print(f"ready pid={os.getpid()} solo_ns={solo_ns}", flush=True)
    begin_ns = await_go()
    was_ns = cpu_ns()
    wait_until(begin_ns)
    samples, left = do_requests(work, hints, opt, begin_ns)
    used_ns, right = cpu_ns() - was_ns, work.right()
    write_samples(opt.out, samples)
    print(f"client requests={len(samples)} left={left} begin_ns={begin_ns} cpu_ns={used_ns} "
          f"solo_ns={solo_ns} result={'right' if right else 'WRONG'}", flush=True)
    return 0 if right else 1


def main(words):
    try:
        return run(arguments(words))
    except ImportError as error:
        print(f"client: PyTorch is needed: {error}", file=sys.stderr)
    except WrongUse as error:
        print(f"client: {error}", file=sys.stderr)
        return 2
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
