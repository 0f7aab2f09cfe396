# SPDX-License-Identifier: Apache-2.0
"""SUITE=safety: an app that does inside its held segment what waits for the
whole device, or starts it anew; and bad input."""
import os
import signal
import subprocess

from bench import harness
from bench.harness import LC_UID, progress

INSIDE = "sync,free,alloc,module,fork"
CONTEXTS = 60       # requests that make a context: each takes some 0.1 s
ALLOWED_US = 1000


def names():
    return ["inside", "inside-sync", "inside-context", "bad-input", "no-gpu-app"]


class Safety:
    def __init__(self, rig, opt, table):
        self.rig, self.opt, self.table = rig, opt, table
        self.requests = 100 if rig.soft else 1000
        self.lc_iters = self.be_iters = None

    def wants(self, name):
        return not self.opt.only or name in self.opt.only

    def slowest_us(self, name, inside, cls, requests, more=()):
        """{what was done inside: (count, slowest)} of a run."""
        path = os.path.join(self.rig.out, f"safety-{name}.ns")
        lc = self.rig.lc(f"--iters={self.lc_iters}", f"--inside={inside}",
                         "--closed", "--period-us=2000",
                         f"--requests={requests}", f"--out={path}",
                         *more, cls=cls, name=name)
        status, _ = lc.finish(200)
        if status:
            lc.fail(f"exit status {status}")
        self.rig.drop(lc)
        found = {}
        for at, _, end, kind in harness.read_samples(path):
            found.setdefault(kind, []).append((end - at) / 1000)
        return {kind: (len(us), max(us)) for kind, us in found.items()}

    def inside(self, name, what, requests):
        progress(f"safety: {name}: alone")
        alone = self.slowest_us(f"{name}-alone", what, None, requests)
        be = self.rig.be(f"--iters={self.be_iters}", cls="be")
        be.expect("ready")
        progress(f"safety: {name}: held, beside BE")
        held = self.slowest_us(f"{name}-held", what, "lc", requests,
                               ["--segment", "--hint-us=300"])
        status, _ = be.finish(sig=signal.SIGTERM)
        self.rig.drop(be)
        self.table.check(f"{name}: BE's results", f"exit {status}", "exit 0",
                         status == 0)
        for kind, (count, us) in sorted(held.items()):
            self.table.at_most(f"{name}: {kind}: slowest of {count}", us,
                               alone[kind][1] + ALLOWED_US, "us")
        return held

    def context_beside(self, name, be_args, cls=None, more=()):
        """The slowest request that makes a context beside such a BE process."""
        progress(f"safety: inside-context: {name}")
        be = self.rig.be(f"--iters={self.be_iters}", *be_args, cls=cls)
        be.expect("ready")
        lc_class = "lc" if cls else None
        (count, us), = self.slowest_us(f"inside-context-{name}", "context",
                                       lc_class, CONTEXTS, more).values()
        be.finish(sig=signal.SIGKILL)
        self.rig.drop(be)
        self.table.note(f"inside-context: beside {name}",
                        f"slowest of {count}: {us:.1f} us")
        return us

    def inside_context(self):
        """Making a context takes longer wherever another process has one,
        idle or not: what a busy one adds to that is what can be avoided."""
        self.context_beside("busy-stock", [])
        self.context_beside("idle-stock", ["--control"])
        held = ["--segment", "--hint-us=300"]
        idle_us = self.context_beside("idle-held", ["--control"], "be", held)
        busy = self.inside("inside-context", "context", CONTEXTS)
        self.table.at_most("inside-context: busy, against idle-held",
                           busy["context"][1], idle_us + ALLOWED_US, "us")

    def refused(self, words, codes, what):
        """One line, the right exit status."""
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
        """What never touches CUDA runs as if nothing were there."""
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
            self.inside("inside-sync", "sync", self.requests)
        if self.wants("inside"):
            self.inside("inside", INSIDE, self.requests)
        if self.wants("inside-context") and not self.rig.soft:
            self.inside_context()
        harness.progress_end()


def run(rig, opt, table):
    Safety(rig, opt, table).run()
