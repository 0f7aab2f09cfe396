# SPDX-License-Identifier: Apache-2.0
"""Programs of SUITE=frameworks: framework_programs.py serve|train MODEL, a model of
bench/record/models.py. They speak with it by lines.

serve: a line "seconds=S rate=R" is one run. R > 0: requests come at random, R a second. Without R,
one follows the other. Requests of the first second do not count. train: from "go" to "pause".
"""
import gc
import os
import random
import select
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

from bench.apps.app import wait_until       # noqa: E402
from bench.record.models import MODELS      # noqa: E402

WARM_S = 1
TOKENS = 40
TRAIN_BATCH = {"train:resnet50": 64}


def say(text):
    print(text, flush=True)


def rank(values, per_mille):
    ordered = sorted(values)
    return ordered[max((len(ordered) * per_mille + 999) // 1000 - 1, 0)] if ordered else 0


class Server:
    """Requests of a model, launched eagerly. @graph: the first step of a decoder is one graph."""

    def __init__(self, name, graph=False):
        import torch
        self.torch = torch
        torch.manual_seed(1)
        self.steps = list(MODELS[name].build(1).values())
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                for step in self.steps:
                    step()
            self.stream.synchronize()
            if graph:
                self.steps[0] = self.captured(self.steps[0])
        self.forget()

    def forget(self):
        self.waits, self.launches, self.tokens, self.firsts = [], [], [], []

    def captured(self, step):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            found = step()

        def replay():
            graph.replay()
            return found
        return replay

    def wait(self, begun_ns, end):
        """The wait for work whose launches began then."""
        start_ns = time.monotonic_ns()
        end()
        now_ns = time.monotonic_ns()
        self.launches.append(start_ns - begun_ns)
        self.waits.append(now_ns - start_ns)
        return now_ns

    def request(self):
        with self.torch.cuda.stream(self.stream):
            last_ns = time.monotonic_ns()
            if len(self.steps) == 1:
                self.steps[0]()
                self.wait(last_ns, self.stream.synchronize)
                return
            for n in range(TOKENS):
                token = self.steps[min(n, 1)]()
                now_ns = self.wait(last_ns, token.tolist)   # the copy waits
                (self.tokens if n else self.firsts).append(now_ns - last_ns)
                last_ns = now_ns


def requests(server, seconds, rate, seed):
    """Latencies from the intended time on."""
    chance, latencies = random.Random(seed), []
    start_ns = at_ns = time.monotonic_ns()
    while at_ns < start_ns + int((WARM_S + seconds) * 1e9):
        if rate:
            wait_until(at_ns)
        if at_ns < start_ns + WARM_S * 1e9:
            server.forget()
            latencies = []
        server.request()
        now_ns = time.monotonic_ns()
        latencies.append(now_ns - at_ns)
        at_ns = at_ns + int(chance.expovariate(rate) * 1e9) if rate else now_ns
    return start_ns + int(WARM_S * 1e9), now_ns, latencies


def serve(name):
    server = Server("decoder", True) if name == "kinds" else Server(name)
    gc.collect()
    gc.disable()
    say(f"ready pid={os.getpid()}")
    for seed, line in enumerate(sys.stdin):
        how = dict(word.split("=") for word in line.split())
        start_ns, end_ns, latencies = requests(server, float(how["seconds"]),
                                               float(how.get("rate", 0)), seed)
        figures = {"request": latencies, "wait": server.waits, "launch": server.launches,
                   "token": server.tokens,
                   "first": server.firsts}
        say(f"served start_ns={start_ns} end_ns={end_ns} requests={len(latencies)} " + " ".join(
            f"{what}_p{mille // 10}_ns={rank(values, mille)}"
            for what, values in figures.items() for mille in (500, 990)))


def train(name, out):
    """The end of each step is written to @out, ns. One step is queued behind the one that runs."""
    import torch
    torch.manual_seed(1)
    step, = MODELS[name].build(TRAIN_BATCH.get(name, MODELS[name].batch)).values()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    say(f"ready pid={os.getpid()}")
    events = [torch.cuda.Event(), torch.cuda.Event()]
    with open(out, "w", encoding="ascii") as f:
        while sys.stdin.readline() == "go\n":
            n = 0
            while not select.select([sys.stdin], [], [], 0)[0]:
                step()
                events[n % 2].record()
                if n:
                    events[(n - 1) % 2].synchronize()
                    f.write(f"{time.monotonic_ns()}\n")
                n += 1
            sys.stdin.readline()
            torch.cuda.synchronize()
            f.flush()
            say("paused")


if __name__ == "__main__":
    {"serve": serve, "train": train}[sys.argv[1]](*sys.argv[2:])
