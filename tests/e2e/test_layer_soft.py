#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layer of driver calls in programs of all kinds, on the software GPU. Which functions do
they get, and at which cost? Results stay the same, and the stub breaks no program."""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, FIGURES, PATIENCE_S, TOP, Rig  # noqa: E402

CALLS = os.path.join(BUILD, "tests/softface/calls")
LIB = os.path.join(BUILD, "lib")
STUB = os.path.join(LIB, "libgpreempt-preload.so")
WAYS = os.path.join(TOP, "tests/softface/ways")
SEQUENCES = int(os.environ.get("GP_CALL_SEQUENCES", "3000"))
A_RUN = 1000                # sequences of a run; two runs with one seed are compared
COST_NS = 50
BYPASSED = "--auto-hold has no effect"
OLD_LIBC = os.environ.get("GP_OLD_LIBC", "")    # a root with an older glibc
CUDART = "/usr/local/cuda/lib64/libcudart_static.a"
RESULTS = "0 0 0 0 0 0 1\n"     # of ways/program.c: the last frees twice
LINE = "libgpreempt-layer.so: "
PLAIN = {"GPREEMPT_BACKEND": "softgpu", "LD_LIBRARY_PATH": FACE}
# A sanitizer's build of our libraries needs its runtime, which programs built here lack.
SANITIZED = bool(subprocess.run(f"readelf -d {LIB}/libgpreempt.so.0 | grep -qE 'lib[at]san'",
                                shell=True).returncode == 0)


class Layer(Rig):
    def run_it(self, *argv, env=None, status=0):
        done = subprocess.run(argv, text=True, capture_output=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, env={**self.env, **(env or {})})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def plain(self, *argv, **env):
        return self.run_it(*argv, env={**PLAIN, **env})

    def under(self, *argv, how=(), status=0, **env):
        return self.run_it(CLI, "run", "--class=lc", "--device=soft0", *how, "--", *argv, env=env,
                           status=status)

    def compile(self, source, name, *flags, status=0):
        out = os.path.join(self.dir, name)
        # The libraries go last: the linker searches them for the source.
        self.run_it("cc", "-D_GNU_SOURCE", "-O1", "-o", out, os.path.join(WAYS, source), *flags, status=status)
        return out


    def doctor(self, program):
        return "".join(line for line in self.gp("doctor", program).stdout.splitlines(True)
                       if program in line)


class Lookups(Layer):
    SEEN = {"cuLaunchKernel", "cuCtxSynchronize", "cuMemFree_v2", "cuGetProcAddress_v2",
            "cuMemcpyHtoD_v2"}
    WAYS = {"dlsym", "proc", "proc_v2", "again"}

    def lookups(self, run, **how):
        text = run(CALLS, "lookups", **how)
        self.assertEqual(text.stderr, "")
        return text.stdout, dict(((how, name), what) for how, name, what in
                                 re.findall(r"^(\w+) (cu\w+) (\w+)$", text.stdout, re.M))

    def test_plain(self):
        _, found = self.lookups(self.plain)
        self.assertEqual({what for (how, _), what in found.items() if how != "default"}, {"own"})

    def test_seen_and_not(self):
        """A call of no interest is the driver's own function, by all ways to it."""
        text, found = self.lookups(self.under)
        for (how, name), what in found.items():
            with self.subTest(how=how, name=name):
                if how in self.WAYS:
                    self.assertEqual(what, "other" if name in self.SEEN else "own")
                elif name not in self.SEEN:
                    self.assertEqual(what, "missing")
        self.assertIn("missing 1 1\nerror 0\n", text)

    def test_not_at_all(self):
        for name in ("GPREEMPT_INTERCEPT", "0"), ("GPREEMPT_DISABLE", "1"):
            _, found = self.lookups(self.under, **dict([name]))
            self.assertEqual({what for (how, _), what in found.items() if how in self.WAYS},
                             {"own"})

    def test_fork(self):
        for run in self.plain, self.under:
            self.assertEqual(run(CALLS, "fork").stdout, "child=0 parent=0\n")
        self.assertEqual(self.under(CALLS, "fork", how=("--no-preload",)).stdout,
                         "child=0 parent=0\n")

    def test_rtld_next(self):
        self.assertEqual(self.under(CALLS, "next").stdout, "next=1\n")

    def test_exec(self):
        """In a program that a shell of CMD's starts."""
        text = self.under("sh", "-c", f"exec {CALLS} lookups").stdout
        self.assertIn("dlsym cuLaunchKernel other", text)


@unittest.skipUnless(FIGURES, "a sanitizer changes times")
class Cost(Layer):
    def test_cost(self):
        for how in (), ("--auto-hold",):
            text = self.under(CALLS, "cost", str(COST_NS), how=how).stdout
            print(f"\n{' '.join(how) or 'not watched'}, ns:\n{text}", file=sys.stderr, end="")
            more = [float(value) for value in re.findall(r"more=(-?[\d.]+)", text)]
            self.assertEqual(len(more), 4)
            self.assertLess(max(more), COST_NS)


class Fuzz(Layer):
    HOW = ("lc", ()), ("lc", ("--auto-hold",)), ("be", ("--mem",)), ("be", ())

    def test_same_results(self):
        seed = int(os.environ.get("GP_SEED", "0")) or os.getpid()
        print(f"\nseed {seed}, {SEQUENCES} sequences", file=sys.stderr)
        for run in range(SEQUENCES // A_RUN):
            argv = CALLS, "fuzz", str(seed * 1000000 + run), str(A_RUN)
            cls, how = self.HOW[run % len(self.HOW)]
            with self.subTest(argv=argv, cls=cls, how=how):
                want = self.plain(*argv).stdout
                self.assertEqual(want.count("\n"), 1)
                done = self.run_it(CLI, "run", f"--class={cls}", "--device=soft0", *how, "--",
                                   *argv)
                self.assertEqual((done.stdout, done.stderr), (want, ""))


# A program without start files, for any C library.
SMALL = r'''
int puts(const char *), ioctl(int, unsigned long, ...);
void *dlopen(const char *, int), *dlsym(void *, const char *), exit(int);
char *dlerror(void);
void _start(void)
{
	char bytes[64];
	void *lib = dlopen("libcuda.so.1", 2);

	ioctl(0, 0x4601, bytes); /* of a GPU's driver */
	puts(lib ? "driver" : "no driver");
	puts(dlsym(lib, "cuLaunchKernel") ? "found" : "not found");
	puts(dlerror() ? "error" : "no error");
	puts(dlsym(0, "puts") == (void *)puts ? "same" : "other");
	exit(7);
}
'''


@unittest.skipIf(SANITIZED, "the stub has no sanitizer")
class Stub(Layer):
    def test_needs_nothing(self):
        """No library, and no version of a symbol: any C library can load it."""
        self.assertNotIn("(NEEDED)", self.run_it("readelf", "-dW", STUB).stdout)
        self.assertNotIn("GLIBC", self.run_it("readelf", "-VW", STUB).stdout)
        # Nor parts of ELF that glibc 2.17 does not know.
        tags = set(re.findall(r"^ 0x\w+ \((\w+)\)", self.run_it("readelf", "-dW", STUB).stdout,
                              re.M))
        self.assertLessEqual(tags, {
            "SONAME", "SYMBOLIC", "HASH", "GNU_HASH", "STRTAB", "SYMTAB", "STRSZ", "SYMENT",
            "PLTGOT", "PLTRELSZ", "PLTREL", "JMPREL", "RELA", "RELASZ", "RELAENT", "RELACOUNT",
            "FLAGS", "FLAGS_1", "NULL"})
        relocations = set(re.findall(r" R_(?:X86_64|AARCH64)_(\w+)",
                                     self.run_it("readelf", "-rW", STUB).stdout))
        self.assertIn("GLOB_DAT", relocations)
        self.assertLessEqual(relocations, {"RELATIVE", "GLOB_DAT", "JUMP_SLOT"})
        self.assertIn("UNIX - System V", self.run_it("readelf", "-hW", STUB).stdout)
        for line in self.run_it("nm", "-D", "--undefined-only", STUB).stdout.splitlines():
            self.assertEqual(line.split()[0], "w", line)

    def assertOneLine(self, said):
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(LINE, said)

    def alone(self):
        """The stub in a folder without the library."""
        shutil.copy(STUB, self.dir)
        return os.path.join(self.dir, os.path.basename(STUB))

    def test_library_gone(self):
        stub = self.alone()
        done = self.plain(CALLS, "lookups", LD_PRELOAD=stub)
        self.assertOneLine(done.stderr)
        self.assertIn("continuing without gpreempt", done.stderr)
        self.assertIn("dlsym cuLaunchKernel own", done.stdout)
        self.assertIn("error 0\n", done.stdout)
        for name in "LD_PRELOAD", "CUDA_INJECTION64_PATH":
            done = self.plain(CALLS, "fork", **{name: stub})
            self.assertEqual(done.stdout, "child=0 parent=0\n")
            self.assertOneLine(done.stderr)
        self.assertEqual(self.plain("true", LD_PRELOAD=stub).stderr, "")

    def test_another_release(self):
        stub = self.alone()
        source = os.path.join(self.dir, "other.c")
        with open(source, "w") as f:
            f.write("void *gp_layer_open(void *stub) { return 0; }\n")
        self.run_it("cc", "-shared", "-fPIC", "-o",
                    os.path.join(self.dir, "libgpreempt-layer.so"), source)
        done = self.plain(CALLS, "lookups", LD_PRELOAD=stub)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("of another release", done.stderr)
        self.assertIn("dlsym cuLaunchKernel own", done.stdout)

    def small(self, linker, *libs):
        """SMALL with another C library prints the same with the stub. Returns the stub's lines."""
        source, out = os.path.join(self.dir, "small.c"), os.path.join(self.dir, "small")
        with open(source, "w") as f:
            f.write(SMALL)
        self.run_it("cc", "-w", "-nostdlib", "-fno-builtin", "-mstackrealign", "-o", out, source,
                    *libs, f"-Wl,-dynamic-linker,{linker}",
                    f"-Wl,-rpath,{os.path.dirname(libs[0])}")
        plain = self.run_it(out, status=7)
        self.assertEqual((plain.stdout, plain.stderr), ("no driver\nnot found\nerror\nsame\n", ""))
        done = self.run_it(out, status=7, env={"LD_PRELOAD": STUB})
        self.assertEqual(done.stdout, plain.stdout)
        return done.stderr

    def test_musl(self):
        linker = f"/lib/ld-musl-{platform.machine()}.so.1"
        if not os.path.exists(linker):
            self.skipTest("no musl on this machine: ./setup -i check")
        self.assertOneLine(self.small(linker, linker))

    def test_older_glibc(self):
        """Where dlsym() is in a library of its own, and the layer cannot be loaded."""
        folder = next((os.path.dirname(path) for path in
                       glob.glob(os.path.join(OLD_LIBC, "lib/*/libdl.so.2"))), None)
        if not OLD_LIBC or not folder:
            self.skipTest("no older glibc: make check-calls fetches one")
        said = self.small(glob.glob(os.path.join(folder, "ld-linux-*"))[0],
                          *(os.path.join(folder, lib) for lib in ("libc.so.6", "libdl.so.2")))
        self.assertOneLine(said)
        # The linker names the first version that it misses.
        self.assertRegex(said, r"GLIBC_2\.(1[89]|[23]\d)")

    def test_32_bit(self):
        source, out = os.path.join(self.dir, "e.c"), os.path.join(self.dir, "e")
        with open(source, "w") as f:
            f.write('void _start(void) { __asm__("mov $1, %eax; mov $7, %ebx; int $0x80"); }\n')
        if subprocess.run(["cc", "-m32", "-nostdlib", "-o", out, source, "/lib32/libc.so.6",
                           "-Wl,-dynamic-linker,/lib32/ld-linux.so.2,--no-as-needed"],
                          capture_output=True).returncode:
            self.skipTest("no 32-bit libc on this machine: ./setup -i ci-more")
        emulator = shutil.which("qemu-i386")
        try:
            subprocess.run([out])
            child = f"{out}; exit $?"
        except OSError:     # of a kernel without 32-bit programs
            if not emulator:
                self.skipTest("neither the kernel nor qemu-i386 runs 32-bit programs")
            child = f"{emulator} -U LD_PRELOAD -E LD_PRELOAD=$LD_PRELOAD {out}"
        done = self.under("sh", "-c", child, status=7)
        self.assertLessEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("32-bit", self.doctor(out))


@unittest.skipIf(SANITIZED, "these programs are built without a sanitizer")
class Programs(Layer):
    """Programs that cc builds here. With --auto-hold a line says if calls go past the layer."""

    def results(self, *argv, how=("--auto-hold",), **env):
        done = self.under(*argv, how=how, **env)
        self.assertEqual(done.stdout, RESULTS)
        return done.stderr

    NO_PRELOAD = ("--auto-hold", "--no-preload")

    def assertBypassed(self, said):
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(BYPASSED, said)

    def test_looked_up(self):
        program = self.compile("program.c", "program")
        self.assertEqual(self.plain(program).stdout, RESULTS)
        self.assertEqual(self.results(program), "")
        self.assertEqual(self.results(program, "late"), "")

    def test_linked(self):
        """With libcuda: calls of exported names, bound lazily and at once."""
        for flag in "-Wl,-z,lazy", "-Wl,-z,now":
            program = self.compile("program.c", "program", "-DLINKED", flag,
                                   os.path.join(FACE, "libcuda.so.1"))
            self.assertEqual(self.plain(program).stdout, RESULTS)
            self.assertEqual(self.results(program), "")
            # By injection alone their imports are replaced, in cuInit.
            self.assertEqual(self.results(program, how=self.NO_PRELOAD), "")

    def test_injection_alone(self):
        """Functions found before cuInit are not seen; those found later are."""
        program = self.compile("program.c", "program")
        self.assertBypassed(self.results(program, how=self.NO_PRELOAD))
        self.assertEqual(self.results(program, "late", how=self.NO_PRELOAD), "")

    def test_deepbind(self):
        program = self.compile("program.c", "program")
        library = self.compile("program.c", "deep.so", "-DLIBRARY", "-shared", "-fPIC")
        self.assertEqual(self.plain(program, "early", library).stdout, RESULTS)
        for how in ("--auto-hold",), self.NO_PRELOAD:
            self.assertBypassed(self.results(program, "early", library, how=how))
            self.assertEqual(self.results(program, "late", library, how=how), "")

    def test_opened_late(self):
        """A library that links with libcuda, opened after cuInit."""
        program = self.compile("program.c", "program")
        library = self.compile("program.c", "late.so", "-DLIBRARY", "-DLINKED", "-shared", "-fPIC",
                               os.path.join(FACE, "libcuda.so.1"))
        self.assertEqual(self.plain(program, "after", library).stdout, RESULTS)
        self.assertEqual(self.results(program, "after", library), "")
        self.assertBypassed(self.results(program, "after", library, how=self.NO_PRELOAD))

    def test_opens_beside(self):
        """Another thread opens libraries while cuInit loads gpreempt."""
        program = self.compile("program.c", "program")
        library = self.compile("program.c", "beside.so", "-DLIBRARY", "-shared", "-fPIC")
        for how in (), ("--no-preload",):
            self.assertEqual(self.results(program, "busy", library, how=how), "")

    def test_chain(self):
        """Another tool's dlsym() and names, before the stub and behind it."""
        tool = self.compile("chain.c", "chain.so", "-shared", "-fPIC")
        looked = self.compile("program.c", "looked")
        linked = self.compile("program.c", "linked", "-DLINKED",
                              os.path.join(FACE, "libcuda.so.1"))
        for program in looked, linked:
            for order in f"{tool}:{STUB}", f"{STUB}:{tool}":
                with self.subTest(program=program, order=order):
                    done = self.plain(program, LD_PRELOAD=order, GPREEMPT_CLASS="lc",
                                      GPREEMPT_AUTO_HOLD="1", CUDA_INJECTION64_PATH=STUB)
                    self.assertEqual(done.stdout, RESULTS)
                    self.assertEqual(done.stderr, "chain: allocations=1 right=1 getter=-\n")

    def test_profiler(self):
        """A library that the driver would inject: its own name, or one set inside CMD."""
        source = os.path.join(self.dir, "profiler.c")
        with open(source, "w") as f:
            f.write("#include <stdio.h>\n"
                    "int InitializeInjection(void) { fputs(\"profiler\\n\", stderr); return 1; }\n")
        tool = self.compile(source, "profiler.so", "-shared", "-fPIC")
        program = self.compile("program.c", "program")
        name = "CUDA_INJECTION64_PATH"
        self.assertEqual(self.plain(program, **{name: tool}).stderr, "profiler\n")
        for how in ("--auto-hold",), self.NO_PRELOAD:
            said = self.results(program, "late", how=how, **{name: tool})
            self.assertEqual(said, "profiler\n")
        for how in ("--auto-hold",), self.NO_PRELOAD:
            said = self.results("env", f"{name}={tool}", program, how=how)
            self.assertEqual(said, "profiler\n")
        said = self.results(program, **{name: "/no/such/tool.so"})
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("cannot load the injection library /no/such/tool.so", said)

    def test_static_runtime(self):
        """NVIDIA's runtime looks up the driver's calls by the layer. It asks for more of them
        than the software GPU has, and reports that."""
        if not os.path.exists(CUDART):
            self.skipTest("no CUDA toolkit on this machine")
        tool = self.compile("chain.c", "chain.so", "-shared", "-fPIC")
        program = self.compile("runtime.c", "runtime", CUDART)
        plain = self.plain(program, LD_PRELOAD=tool)
        self.assertIn("getter=libcuda.so.1\n", plain.stderr)
        done = self.plain(program, LD_PRELOAD=f"{tool}:{STUB}", GPREEMPT_CLASS="lc")
        self.assertIn("getter=libgpreempt-layer.so\n", done.stderr)
        self.assertEqual(done.stdout, plain.stdout)

    def test_asan(self):
        program = self.compile("program.c", "asan", "-fsanitize=address")
        leaks = {"ASAN_OPTIONS": "detect_leaks=0"}
        self.assertEqual(self.plain(program, **leaks).stdout, RESULTS)
        self.assertEqual(self.results(program, how=(), **leaks), "")
        self.assertIn("AddressSanitizer", self.doctor(program))
        first = self.run_it("cc", "-print-file-name=libasan.so").stdout.strip()
        self.assertEqual(self.results(program, LD_PRELOAD=first, **leaks), "")
        # A shell brings LD_PRELOAD.
        shell = "sh", "-c", f"exec {program}"
        done = self.under(*shell, status=1, **leaks)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("ASan runtime does not come first", done.stderr)
        self.assertEqual(self.results(*shell, how=("--no-preload",), **leaks), "")

    def test_tsan(self):
        """Its library calls dlsym() before its start."""
        program = self.compile("program.c", "tsan", "-fsanitize=thread")
        self.assertEqual(self.plain(program).stdout, RESULTS)
        self.assertEqual(self.results(program), "")

    def test_static(self):
        """The software GPU's libcuda cannot be opened by such a program, so none runs here."""
        out = os.path.join(self.dir, "static")
        if subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-static", "-o", out,
                           os.path.join(WAYS, "program.c")], capture_output=True).returncode:
            self.skipTest("cc builds no static programs here")
        self.assertIn("LD_PRELOAD is not used (statically linked", self.doctor(out))

    def test_set_user_id(self):
        """The kernel gives it another user: the linker ignores the environment."""
        if os.geteuid():
            self.skipTest("takes root")
        program = os.path.join(self.dir, "true")
        shutil.copy("/bin/true", program)
        os.chown(program, 65534, -1)
        os.chmod(program, 0o4755)
        os.chmod(self.dir, 0o755)
        self.assertIn("use gpreempt attach", self.doctor(program))
        self.assertEqual(self.under(program).stderr, "")

    def test_doctor(self):
        program = self.compile("program.c", "program")
        said = self.doctor(program)
        self.assertIn("LD_PRELOAD works", said)
        self.assertIn("CUDA_INJECTION64_PATH works", said)
        script = os.path.join(self.dir, "script")
        with open(script, "w") as f:
            f.write("#!/bin/sh\n")
        os.chmod(script, 0o755)
        self.assertIn("LD_PRELOAD works", self.doctor(script))
        other = os.path.join(self.dir, "other")
        with open(program, "rb") as f:
            image = bytearray(f.read())
        image[4] = 1    # ELFCLASS32
        whole = bytes(image)
        for name, bytes_ in ("32-bit", whole), ("cut", whole[:4]), ("cut", whole[:100]):
            with open(other, "wb") as f:
                f.write(bytes_)
            os.chmod(other, 0o755)
            self.assertEqual(name in self.doctor(other), name == "32-bit")


if __name__ == "__main__":
    unittest.main()
