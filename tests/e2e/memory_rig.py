# SPDX-License-Identifier: Apache-2.0
"""Programs whose memory leaves the software GPU (memory_app.py), for test_memory_*.py."""
import os
import subprocess
import sys

from rig import BUILD, CLI, FACE, Rig, TOP

APP = os.path.join(TOP, "tests/e2e/memory_app.py")
MEMORY_MIB, BE_MIB, LC_MIB = 128, 96, 64
PIECE_MIB = 16
PART_MIB = 2                    # so much leaves at once, at least 2 of them
LEAVES_MIB = BE_MIB + LC_MIB - MEMORY_MIB + 4      # for that allocation, beside such a program
ROUNDS = 4
NO_MEMORY, NOT_INITIALIZED = 2, 3


class MemoryRig(Rig):
    def setUp(self):
        super().setUp()
        self.faults = os.path.join(self.dir, "faults")
        self.env.update(GPREEMPT_SOFTGPU_MEMORY=str(MEMORY_MIB), GPREEMPT_SOFTGPU_LINK="50000",
                        GPREEMPT_SOFTGPU_FAULTS=self.faults, XDG_RUNTIME_DIR=self.dir)

    def rows(self):
        """On a busy machine a process may answer too late for one list."""
        found, own = {}, {p.pid for p in self.programs if p.poll() is None}
        for _ in range(10):
            found = super().rows()
            if all(row["answers"] for row in found.values() if row["pid"] in own):
                break
        return found

    def start(self, cls, words, env):
        """@words: a program of memory_app.py. Its errors go where said(@cls) finds them."""
        with open(os.path.join(self.dir, cls), "a") as err:
            proc = subprocess.Popen(words, env={"GP_BUILD": BUILD, **env}, text=True, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=err)
        self.programs.append(proc)
        self.assertEqual(proc.stdout.readline(), "ready\n", self.said(cls))
        return proc

    def app(self, cls, mib, *how, role=None, weight=None):
        name = f"{cls}:{weight}" if weight else cls
        return self.start(cls, [CLI, "run", f"--class={name}", "--device=soft0", *how, "--", sys.executable, APP,
                                role or cls, str(mib)], self.env)

    def injected(self, cls, role="limit", **env):
        """Without gpreempt run, as in a container."""
        preload = f"{BUILD}/lib/libgpreempt-preload.so"
        return self.start(cls, [sys.executable, APP, role, "0"], {
            **self.env, "GPREEMPT_CLASS": cls, "GPREEMPT_BACKEND": "softgpu", "LD_LIBRARY_PATH": FACE,
            "LD_PRELOAD": preload, "CUDA_INJECTION64_PATH": preload, **env})

    def said(self, role):
        with open(os.path.join(self.dir, role)) as f:
            return f.read()

    def take(self, lc, line="take"):
        lc.stdin.write(line + "\n")
        lc.stdin.flush()
        return lc.stdout.readline()

    def row_of(self, proc):
        found = {}
        self.eventually("its row", lambda: found.update(self.rows()) or
                        (proc.pid in found and found[proc.pid]["memory"]))
        return found[proc.pid]

    def do(self, proc, *lines):
        return [self.take(proc, line).strip() for line in lines]

    def wrong_options(self, lines, cls="be"):
        """@lines: options of gpreempt run, and the line that refuses them."""
        for options, line in lines.items():
            done = self.gp("run", f"--class={cls}", *options, "--", "true")
            self.assertEqual((done.returncode, done.stderr), (125, f"gpreempt: run: {line}\n"))

    def give(self, lc):
        self.assertEqual(self.take(lc, "give"), "gave\n")

    def right(self, be):
        be.stdin.write("end\n")
        be.stdin.flush()
        words = be.stdout.readline().split()
        self.assertEqual(words[:2], ["wrong", "0"], (words, self.said("be")))
        self.assertEqual(be.wait(), 0, self.said("be"))
        return int(words[2])
