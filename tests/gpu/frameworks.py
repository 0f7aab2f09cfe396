# SPDX-License-Identifier: Apache-2.0
"""SUITE=frameworks: PyTorch programs as they come, LC beside BE in training. Each round has LC
alone, BE alone, both under the driver's time-slicing and both under gpreempt run with gpreemptd,
by processes that are there throughout. On a card with PyTorch and transformers in --python."""
import os
import time

from bench import harness
from bench.harness import fields, kernels_between, median, progress
from daemon import Daemon

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "framework_programs.py")
VISION, LANGUAGE = "train:resnet50", "train:llama"
GPT2, RESNET50, KINDS = ("gpt2", 0), ("resnet50", 40), ("kinds", 0)
# LC's models, each with its requests a second (0: one after the other); BE's models.
ROWS = {
    "gpt2-vision": ([GPT2], [VISION]),
    "gpt2-language": ([GPT2], [LANGUAGE]),
    "resnet50-vision": ([RESNET50], [VISION]),
    "resnet50-language": ([RESNET50], [LANGUAGE]),
    "kinds-vision": ([KINDS], [VISION]),
    "gpt2-crowd": ([GPT2], [VISION, LANGUAGE, VISION, LANGUAGE]),
    "two-vision": ([GPT2, RESNET50], [VISION]),
}
ROUNDS = 3
KEEPS_BAR = {"gpt2": 0.90, "kinds": 0.90, "resnet50": 0.92}
OVER_SLICES = 0.05          # of the part that BE keeps
WAIT_MORE_US = 400          # over LC alone
SECONDS = 4


def names():
    return list(ROWS)


class Pair:
    """LC processes and their BE processes, under gpreempt or not."""

    def __init__(self, rig, python, row, managed):
        self.rig = rig
        self.served, trained = ROWS[row]
        kind = f"{row}-{'gpreempt' if managed else 'slices'}"
        self.lcs = [rig.start([python, PROGRAMS, "serve", model], "lc" if managed else None,
                              name=f"{kind}-{model}") for model, _ in self.served]
        self.outs = [os.path.join(rig.out, f"{kind}-be{i}.times") for i in range(len(trained))]
        self.bes = [rig.start([python, PROGRAMS, "train", name, out], "be" if managed else None,
                              name=f"{kind}-be")
                    for name, out in zip(trained, self.outs)]

    def await_ready(self):
        for proc in (*self.lcs, *self.bes):
            proc.expect("ready", 180)

    def pids(self):
        return [proc.app_pid for proc in (*self.lcs, *self.bes)]

    def go(self):
        for be in self.bes:
            be.send("go")

    def pause(self):
        for be in self.bes:
            be.send("pause")
        for be in self.bes:
            be.expect("paused", 60)

    def serve(self, seconds):
        """Figures of each LC process."""
        for lc, (_, rate) in zip(self.lcs, self.served):
            lc.send(f"seconds={seconds}" + (f" rate={rate}" if rate else ""))
        return [fields(lc.expect("served", 120)) for lc in self.lcs]

    def rates(self, start_ns, end_ns):
        """Steps a second of each BE process."""
        return [kernels_between(harness.read_times(out), start_ns, end_ns) * 1e9 /
                (end_ns - start_ns) for out in self.outs]

    def together(self, seconds):
        self.go()
        got = self.serve(seconds)
        self.pause()
        return got, self.rates(max(one["start_ns"] for one in got),
                               min(one["end_ns"] for one in got))

    def alone(self, index, seconds):
        """Steps a second of one BE process."""
        be = self.bes[index]
        be.send("go")
        time.sleep(0.5)
        start_ns = time.monotonic_ns()
        time.sleep(seconds)
        end_ns = time.monotonic_ns()
        be.send("pause")
        be.expect("paused", 60)
        return self.rates(start_ns, end_ns)[index]

    def end(self):
        for proc in (*self.lcs, *self.bes):
            status, _ = proc.finish(60)
            if status:
                proc.fail(f"exit status {status}")
            self.rig.drop(proc)


def spread(values):
    return f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def keeps(rates, solo):
    """Parts of their solo speed, together."""
    return sum(rate / alone for rate, alone in zip(rates, solo))


def rounds(slices, gpreempt, opt, row):
    """Per round: figures of LC and the part that BE keeps, by how they share."""
    found = []
    for n in range(opt.rounds):
        progress(f"{row}: round {n + 1} of {opt.rounds}")
        solo = [slices.alone(i, opt.seconds or 2) for i in range(len(slices.bes))]
        one = {"alone": (gpreempt.serve(3), None)}
        for name, pair in (("slices", slices), ("gpreempt", gpreempt)):
            got, rates = pair.together(opt.seconds or SECONDS)
            one[name] = got, keeps(rates, solo)
        found.append(one)
    return found


def judge_latency(table, name, figures):
    """@figures: by how they share, those of each round."""
    for what in ("wait", "launch", "token", "first", "request"):
        for mille in ("p50", "p99"):
            values = {how: [one[f"{what}_{mille}_ns"] / 1e3 for one in ones]
                      for how, ones in figures.items()}
            if not any(values["alone"]):
                continue
            table.note(f"{name}: {what} {mille}, us: alone; time-slicing; gpreempt",
                       "; ".join(" ".join(f"{v:.0f}" for v in values[how]) for how in values))
            if what == "wait" and mille == "p50":
                table.at_most(f"{name}: wait p50 over alone",
                              median(values["gpreempt"]) - median(values["alone"]), WAIT_MORE_US,
                              "us")


def judge(table, row, found):
    served, _ = ROWS[row]
    kept = {how: [one[how][1] for one in found] for how in ("slices", "gpreempt")}
    table.note(f"{row}: BE keeps, time-slicing", spread(kept["slices"]))
    table.note(f"{row}: BE keeps, gpreempt", spread(kept["gpreempt"]))
    table.at_least(f"{row}: BE keeps, gpreempt", median(kept["gpreempt"]),
                   KEEPS_BAR[served[0][0]], "x")
    table.at_least(f"{row}: BE keeps more than by time-slicing",
                   median(kept["gpreempt"]) - median(kept["slices"]), OVER_SLICES, "x")
    for i, (model, _) in enumerate(served):
        judge_latency(table, f"{row}: {model}" if len(served) > 1 else row,
                      {how: [one[how][0][i] for one in found] for how in found[0]})


def run(rig, opt, table):
    rig.users = False
    for row in opt.only or ROWS:
        slices = Pair(rig, opt.python, row, False)
        daemon = Daemon(rig, row, "be_policy: fair\n", [os.geteuid()])
        gpreempt = Pair(rig, opt.python, row, True)
        for pair in (slices, gpreempt):
            pair.await_ready()
        daemon.await_tenants(gpreempt.pids())
        judge(table, row, rounds(slices, gpreempt, opt, row))
        why = rig.start([rig.cli, "why", str(gpreempt.pids()[0])], name="why").finish(20)[1]
        table.note(f"{row}: why LC", " ".join(why.split()))
        for pair in (slices, gpreempt):
            pair.end()
        daemon.stop()
    harness.progress_end()
