#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resnet - ResNet-50 in PyTorch as an LC program: batch 1, half precision, a CUDA graph. A
request copies its image in, an ordinary tensor of floats (602 kB), replays the graph and
waits. It prints "ready". Each line of its input has the options of one run, as with
lc --control, and it answers with a line of figures.
"""
import argparse
import gc
import os
import random
import sys
import time

import torch
import torchvision

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib/gpreempt"))   # of what was built

from bench.apps.app import Client, wait_until  # noqa: E402


class Model:
    def __init__(self, pinned):
        net = torchvision.models.resnet50(weights=None).eval().half().cuda()
        self.image = torch.randn(1, 3, 224, 224)
        if pinned:
            self.image = self.image.pin_memory()
        self.input = self.image.cuda()
        self.stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(self.stream):
            for _ in range(5):
                net(self.input.half())
            self.stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.output = net(self.input.half())
        self.request()
        self.first = self.output.clone()
        torch.cuda.synchronize()

    def request(self):
        with torch.cuda.stream(self.stream):
            self.input.copy_(self.image, non_blocking=True)
            self.graph.replay()
        self.stream.synchronize()

    def right(self):
        """The answers to the same image are close; cuDNN does not promise the same bits."""
        return bool(torch.allclose(self.output, self.first, rtol=1e-2,
                                   atol=1e-2))


def run(model, client, opt):
    period_ns, hint_ns = opt.period_us * 1000, opt.hint_us * 1000
    at_ns = time.monotonic_ns() + hint_ns
    chance = random.Random(opt.seed)
    samples = []
    for _ in range(opt.warmup + opt.requests):
        if opt.arrivals == "poisson":
            at_ns += int(chance.expovariate(1 / period_ns))
        else:
            at_ns += period_ns
        if client and hint_ns:
            wait_until(at_ns - hint_ns)
            client.hint(at_ns - time.monotonic_ns())
        wait_until(at_ns)
        start_ns = time.monotonic_ns()
        model.request()
        samples.append((at_ns, start_ns, time.monotonic_ns()))
    return samples[opt.warmup:]


def rank(values, per_mille):
    return values[max((len(values) * per_mille + 999) // 1000 - 1, 0)]


def report(samples, right, out, more):
    if out:
        with open(out, "w") as f:
            f.write("# intended_ns start_ns end_ns inside\n")
            f.writelines(f"{a} {b} {c} -\n" for a, b, c in samples)
    took = sorted(c - a for a, _, c in samples)
    service = sorted(c - b for _, b, c in samples)
    print(f"lc requests={len(took)} p50_ns={rank(took, 500)}"
          f" p90_ns={rank(took, 900)} p99_ns={rank(took, 990)}"
          f" max_ns={took[-1]} service_p50_ns={rank(service, 500)}"
          f" result={'right' if right else 'WRONG'}{more}", flush=True)


def parse(words, defaults=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--period-us", type=int, default=2500)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--hint-us", type=int, default=0)
    parser.add_argument("--arrivals", choices=["periodic", "poisson"],
                        default="periodic")
    parser.add_argument("--seed", type=int, default=1, help="of poisson")
    parser.add_argument("--pinned", action="store_true",
                        help="the image in pinned memory (at start only)")
    parser.add_argument("--lib", default="libgpreempt.so.0")
    parser.add_argument("--out", default="")
    return parser.parse_args(words, defaults)


def main():
    base = parse(sys.argv[1:])
    model, client, good = Model(base.pinned), None, True
    gc.disable()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        opt = parse(line.split(), argparse.Namespace(**vars(base)))
        if opt.hint_us and client is None:
            client = Client(opt.lib)
        samples = run(model, client, opt)
        good = model.right() and good
        report(samples, good, opt.out,
               client.figures() if client and opt.hint_us else "")
        gc.collect()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
