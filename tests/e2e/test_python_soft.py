#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module: on the software GPU under gpreempt run, and where it can have no effect."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FIGURES, PATIENCE_S, TOP, Rig  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "python"))
import gpreempt  # noqa: E402

MOST_US = 5.0               # of the module itself for one request
# A context of the software GPU, current in the first thread.
GPU = "import worker; gpu = worker.Gpu(); import gpreempt\n"
DOCTESTS = """
import doctest
done = doctest.testmod(gpreempt, extraglobs={"gpreempt": gpreempt})
assert done.failed == 0 and done.attempted > 8, done
"""
COST = """
import time
def batch():
    start = time.thread_time_ns()
    for _ in range(200):
        with gpreempt.request():
            pass
    return (time.thread_time_ns() - start) / 200e3
best = 1e9
for _ in range(50):
    with gpreempt.request():
        best = min(best, batch())
print(best)
"""


class Python(Rig):
    def python(self, script, cls="lc", **more):
        """Run @script in a program with a class, or without gpreempt run: stdout, stderr."""
        env = {**self.env, "PYTHONPATH": f"{TOP}/python:{TOP}/tests/softface",
               "PYTHONDONTWRITEBYTECODE": "1", "GP_BUILD": BUILD,
               "LD_LIBRARY_PATH": os.path.join(BUILD, "lib"), **more}
        argv = [sys.executable, "-c", script]
        if cls:
            argv = [CLI, "run", f"--class={cls}", "--device=soft0", "--", *argv]
        done = subprocess.run(argv, text=True, capture_output=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def has_no_effect(self, text, reason):
        self.assertRegex(text, rf"\Agpreempt has no effect: [^\n]*{reason}[^\n]*\n\Z")

    # ---- with effect ----------------------------------------------------------

    def test_examples(self):
        out, err = self.python(GPU + DOCTESTS + """
status = gpreempt.status()
assert status.active and not status.reason, status
assert status.stats["hints"] == 2 and status.stats["segments"] == 3, status
print(status.version)
""")
        self.assertEqual(err, "")
        self.assertRegex(out, r"^\d+\.\d+\.\d+\n$")

    def test_what_a_block_begins_ends_with_it(self):
        out, err = self.python(GPU + """
import asyncio, ctypes, errno, threading
lib = ctypes.CDLL("libgpreempt.so.0")
def fails(error, call, *args):
    try:
        call(*args)
    except OSError as e:
        assert e.errno == error, (call, e)
        return
    raise AssertionError(f"{call} {args}: no error")
def is_free():
    "No segment and no hold is open: there is none to end."
    fails(errno.EINVAL, gpreempt.release)
    with gpreempt.Handle() as handle:
        fails(errno.EINVAL, handle.segment_end)
def count():
    return gpreempt.status().stats["segments"]
with gpreempt.request(eta=1e-3) as request:
    assert count() == 0
    request.begin()
    request.begin()
    with gpreempt.segment():
        assert count() == 1
is_free()
with gpreempt.request(eta=1e-3):
    pass
is_free()
try:
    with gpreempt.request():
        raise KeyError
except KeyError:
    pass
is_free()
assert count() == 2
@gpreempt.latency_critical
async def infer(x):
    "doc"
    await asyncio.sleep(0)
    fails(errno.EINVAL, gpreempt.release)
    assert count() == 3
    return x
assert asyncio.run(infer(4)) == 4 and infer.__doc__ == "doc"
is_free()
with gpreempt.hold(1e-3):
    gpreempt.hold()
    gpreempt.release()
is_free()
kept = gpreempt.hold()
with kept:
    pass
with kept:
    pass
is_free()
gpreempt.queued()
assert gpreempt.status().stats["hints"] == 2
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def test_arguments(self):
        out, err = self.python(GPU + """
import errno
def fails(kind, error, call, *args):
    try:
        call(*args)
    except kind as e:
        assert error is None or e.errno == error, (call, e)
        return
    raise AssertionError(f"{call} {args}: no error")
for eta in (10.1, -1e-9, 1e300, float("inf"), float("nan"), 2.0 ** 64 / 1e9):
    fails(OSError, errno.EINVAL, gpreempt.hint, eta)
for limit in (21e-3, -1.0, float("nan")):
    fails(OSError, errno.ERANGE, gpreempt.hold, limit)
for cls in ("urgent", "lc:x", "lc:-1", ("be", -1), ""):
    fails(ValueError, None, gpreempt.set_class, cls)
fails(OSError, errno.EINVAL, gpreempt.set_class, "lc:16")
gpreempt.set_class(("lc", 3))
fails(OSError, errno.EINVAL, gpreempt.Handle, "no device")
closed = gpreempt.Handle("soft0", gpu.ctx.value, "lc:2", 5e-3)
fails(OSError, errno.ERANGE, closed.hold, 6e-3)
closed.close()
closed.close()
fails(OSError, errno.EINVAL, closed.segment_begin)
print("ok")
""")
        self.assertEqual(out, "ok\n")
        self.assertRegex(err, r"\A(gpreempt: gp_open: cannot open device no device: .*\n)?\Z")

    def test_threads(self):
        out, err = self.python(GPU + """
import threading
def work():
    for _ in range(100):
        with gpreempt.request(eta=1e-3) as request:
            request.begin()
threads = [threading.Thread(target=work) for _ in range(4)]
gpreempt.hint(1e-3)
[t.start() for t in threads]
[t.join() for t in threads]
print(gpreempt.status().stats["hints"])
""")
        self.assertEqual((out, err), ("401\n", ""))

    @unittest.skipUnless(FIGURES, "a sanitizer changes the times")
    def test_cost(self):
        """CPU time of the cheapest of 50 batches, so that other programs do not count. Only the
        module is judged: the rest is the software GPU's time, which a card does not take."""
        whole, _ = self.python(GPU + COST)
        module, _ = self.python(GPU + COST, GPREEMPT_DISABLE="1")
        print(f"with gpreempt.request(): {float(module):.2f} us of CPU time, and "
              f"{float(whole) - float(module):.2f} us of the library and the software GPU")
        self.assertLess(float(module), MOST_US)

    # ---- without --------------------------------------------------------------

    def test_no_library(self):
        with open(os.path.join(self.dir, "libgpreempt.so.0"), "w", encoding="ascii"):
            pass
        out, err = self.python("import gpreempt\n" + DOCTESTS + """
assert not gpreempt.status().active
print(gpreempt.status())
""", cls=None, LD_LIBRARY_PATH=self.dir, PYTHONPATH=self.copy())
        self.has_no_effect(err, "libgpreempt.so.0")
        self.assertIn("version=''", out)

    def copy(self):
        """The module outside of the tree, where it finds no build."""
        target = os.path.join(self.dir, "copy/gpreempt")
        os.makedirs(target)
        shutil.copy(gpreempt.__file__, target)
        return os.path.dirname(target)

    def test_no_gpu(self):
        out, err = self.python("import gpreempt\n" + DOCTESTS + "print(gpreempt.status().reason)",
                               cls=None, GPREEMPT_BACKEND="softgpu")
        self.has_no_effect(err, re.escape(out.strip()))

    def test_context_comes_later(self):
        out, err = self.python("""
import gpreempt
with gpreempt.request():
    pass
assert not gpreempt.status().active
""" + GPU + """
with gpreempt.request():
    pass
print(gpreempt.status().active, gpreempt.status().stats["segments"])
""")
        self.has_no_effect(err, "gp_open: No such device or address")
        self.assertEqual(out, "True 1\n")

    def test_best_effort(self):
        out, err = self.python(GPU + """
for _ in range(3):
    with gpreempt.request():
        pass
try:
    with gpreempt.Handle().request():
        pass
except PermissionError as e:
    print(e)
""", cls="be")
        self.has_no_effect(err, "gp_segment_begin: Operation not permitted")
        self.assertEqual(out, "[Errno 1] gp_segment_begin: Operation not permitted\n")

    def test_forked_child(self):
        out, err = self.python(GPU + """
import os
gpreempt.hint(1e-3)
pid = os.fork()
for _ in range(2):
    gpreempt.hint(1e-3)
if not pid:
    os._exit(0)
print(os.waitpid(pid, 0)[1], gpreempt.status().stats["hints"])
""")
        self.has_no_effect(err, "gp_hint: No child processes")
        self.assertEqual(out, "0 3\n")

    def test_disabled(self):
        out, err = self.python(GPU + """
gpreempt.hint(1e-3)
with gpreempt.request():
    print(gpreempt.status().stats["hints"])
""", GPREEMPT_DISABLE="1")
        self.assertEqual((out, err), ("0\n", ""))


class Layout(unittest.TestCase):
    TYPES = {"size_t": "c_ulong", "uint32_t": "c_uint", "uint64_t": "c_ulong",
             "const char *": "c_char_p", "void *": "c_void_p"}

    def test_structures_are_those_of_the_header(self):
        with open(os.path.join(TOP, "include/gpreempt/gpreempt.h"), encoding="utf-8") as f:
            header = f.read()
        for name, ours in (("gp_open_opts", gpreempt._Opts), ("gp_stats", gpreempt._Stats)):
            body = re.search(rf"^struct {name} {{\n(.*?)^}};", header, re.M | re.S)[1]
            fields = re.findall(r"^\t(.*?)(\w+);$", body, re.M)
            self.assertEqual([(field, self.TYPES[kind.strip()]) for kind, field in fields],
                             [(field, kind.__name__) for field, kind in ours._fields_])

    def test_calls_are_those_of_the_library(self):
        with open(os.path.join(TOP, "client/libgpreempt.map"), encoding="utf-8") as f:
            exported = re.findall(r"^\t\t(\w+);", f.read().split("local:")[0], re.M)
        self.assertEqual(sorted(exported), sorted([*gpreempt._CALLS, "gp_close", "gp_set_log",
                                                   "gp_version"]))


if __name__ == "__main__":
    unittest.main()
