# SPDX-License-Identifier: Apache-2.0
"""SUITE=safety: calls inside a held segment that wait for the whole device, or create a
context; and bad input."""
import os
import signal
import subprocess

from bench import harness
from bench.harness import LC_UID, progress

INSIDE = "sync,free,alloc,module,fork"
ALLOWED_US = 1000
HELD = ["--segment", "--hint-us=300"]


def names():
    return ["inside", "inside-sync", "inside-context", "bad-input", "no-gpu-app"]


class Safety:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.requests = 100 if rig.soft else 1000
        self.contexts = 10 if rig.soft else 60      # each takes some 0.1 s
        self.lc_iters = self.be_iters = None

    def wants(self, name):
        return not self.opt.only or name in self.opt.only

    def slowest_us(self, name, inside, cls, requests, more=()):
        """{kind of call inside: (slowest request, part of the call in it)} of a run."""
        path = os.path.join(self.rig.out, f"safety-{name}.ns")
        lc = self.rig.lc(f"--iters={self.lc_iters}", f"--inside={inside}",
                         "--arrivals=dependent", "--period-us=2000",
                         f"--requests={requests}", f"--out={path}",
                         *more, cls=cls, name=name)
        status, _ = lc.finish(200)
        if status:
            lc.fail(f"exit status {status}")
        self.rig.drop(lc)
        slowest = {}
        for kind, took, call in harness.read_inside(path):
            slowest[kind] = max(slowest.get(kind, (0, 0)), (took / 1000, call / 1000))
        return slowest

    def beside(self, name, what, requests, be_args=(), held=True):
        """The same beside a BE process. Returns its exit status, too."""
        be = self.rig.be(f"--iters={self.be_iters}", *be_args,
                         cls="be" if held else None)
        be.expect("ready")
        slowest = self.slowest_us(name, what, "lc" if held else None, requests,
                                  HELD if held else [])
        status, _ = be.finish(sig=signal.SIGTERM)
        self.rig.drop(be)
        return slowest, status

    def inside(self, name, what):
        """Rounds of requests alone, and in a held segment beside BE."""
        alone, held, exits = [], [], []
        for number in range(self.opt.rounds):
            progress(f"safety: {name}: round {number + 1} of {self.opt.rounds}")
            alone.append(self.slowest_us(f"{name}-alone-{number}", what, None,
                                         self.requests))
            slowest, status = self.beside(f"{name}-held-{number}", what,
                                          self.requests)
            held.append(slowest)
            exits.append(status)
        self.results_of_be(name, exits)
        for kind in sorted(held[0]):
            self.compare(f"{name}: {kind}", [r[kind] for r in held],
                         [r[kind] for r in alone])

    def results_of_be(self, name, exits):
        self.table.check(f"{name}: BE's results", f"exit {max(exits)}",
                         "exit 0", not any(exits))

    def compare(self, what, slowest, alone):
        """Compare the median of the rounds' slowest requests, so that one pause of the
        machine does not decide. Every round is printed."""
        held, calm = ([us for us, _ in rounds] for rounds in (slowest, alone))
        self.table.at_most(f"{what}: slowest of a round", harness.median(held),
                           harness.median(calm) + ALLOWED_US, "us")
        calls = [call for _, call in slowest]
        for says, rounds in (("of each round", held), ("what of it the call took", calls),
                             ("of each round, compared with", calm)):
            self.table.note(f"    {says}", " ".join(f"{us:.0f}" for us in rounds))

    def inside_context(self):
        """Creating a context takes longer if another process has one, idle or not. Only
        the time that a busy one adds is avoidable."""
        kinds = {"alone": None, "busy-stock": ([], False),
                 "idle-stock": (["--control"], False),
                 "idle-held": (["--control"], True), "held": ([], True)}
        slowest = {kind: [] for kind in kinds}
        exits = []
        for number in range(self.opt.rounds):
            for kind, how in kinds.items():
                progress(f"safety: inside-context: {kind}, "
                         f"round {number + 1} of {self.opt.rounds}")
                name, status = f"inside-context-{kind}-{number}", 0
                if how:
                    found, status = self.beside(name, "context",
                                                self.contexts, *how)
                else:
                    found = self.slowest_us(name, "context", None,
                                            self.contexts)
                slowest[kind].append(found["context"])
                exits.append(status)
        self.results_of_be("inside-context", exits)
        for kind, us in slowest.items():
            self.table.note(f"inside-context: {kind}",
                            f"slowest of {self.contexts} a round: {max(us)[0]:.1f} us")
        for against in ("alone", "idle-held"):
            self.compare(f"inside-context: held, against {against}",
                         slowest["held"], slowest[against])

    def refused(self, words, codes, what):
        """The error is one line, with the right exit status."""
        ids = {"user": LC_UID, "group": LC_UID, "extra_groups": []} \
            if self.rig.users else {}
        env = self.rig.env()
        done = subprocess.run([self.rig.cli, *words], env=env, text=True,
                              capture_output=True, timeout=20, cwd="/", **ids)
        lines = done.stderr.strip().splitlines()
        good = done.returncode in codes and len(lines) == 1
        self.table.check(f"refused: {what}",
                         f"{done.returncode}, {len(lines)} line(s)",
                         f"{codes[0]}, 1 line", good)
        self.table.note(f"    {' '.join(words)[:40]}",
                        lines[0][:70] if lines else "")

    def bad_input(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        text = os.path.join(self.rig.scratch, "not-executable")
        with open(text, "w") as f:
            f.write("text\n")
        os.chmod(text, 0o644)
        self.refused(["run", "--class=fast", "--", "true"], [125],
                     "unknown class")
        self.refused(["run", "--class=lc:16", "--", "true"], [125],
                     "level out of range")
        self.refused(["run", "--class=be:0", "--", "true"], [125],
                     "weight out of range")
        self.refused(["run", "--class=lc", "--device=soft99", "--", "true"],
                     [125], "device that is not there")
        self.refused(["attach", "--class=be", str(gone.pid)], [125],
                     "PID that is gone")
        self.refused(["attach", "--class=be", "1"], [125], "PID not ours")
        self.refused(["set", "-p", "1", "--class=be"], [125],
                     "set on what is no tenant")
        self.refused(["run", "--class=be", "--", text], [126, 125],
                     "file that is not executable")
        self.refused(["run", "--class=be", "--", "/nonexistent/x"], [127, 125],
                     "file that is not there")

    def no_gpu_app(self):
        """Programs without CUDA run unchanged."""
        for words, want in ((["sh", "-c", "exit 7"], 7), (["true"], 0),
                            (["sh", "-c", "kill -TERM $$"], 143)):
            done = subprocess.run([self.rig.cli, "run", "--class=lc", "--",
                                   *words], env=self.rig.env(), text=True,
                                  capture_output=True, timeout=20)
            code = done.returncode if done.returncode >= 0 else \
                128 - done.returncode
            self.table.check(f"run -- {' '.join(words)}",
                             f"{code}, {len(done.stderr)} bytes of messages",
                             f"{want}, 0 bytes",
                             code == want and not done.stderr)

    def run(self):
        if self.wants("bad-input"):
            self.bad_input()
        if self.wants("no-gpu-app"):
            self.no_gpu_app()
        if any(self.wants(name) for name in names()[:3]):
            self.lc_iters = self.rig.calibrate("lc", 110)["iters"]
            self.be_iters = self.rig.calibrate("be",
                                               self.opt.be_kernel_us)["iters"]
        if self.wants("inside-sync"):
            self.inside("inside-sync", "sync")
        if self.wants("inside"):
            self.inside("inside", INSIDE)
        if self.wants("inside-context"):
            self.inside_context()
        harness.progress_end()


def run(rig, opt, table):
    Safety(rig, opt, table).run()
