#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt.torch and gpreempt.vllm: over stand-ins with the entry points of PyTorch and vLLM, on the
software GPU under gpreempt run, and where they can have no effect."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, PATIENCE_S, TOP, Rig  # noqa: E402

# Hooks as those of torch.nn.Module and torch.optim.Optimizer of PyTorch 2.x.
TORCH = '''
import types
class _Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)
    def remove(self):
        self.hooks.remove(self.hook)
class Module:
    def __init__(self):
        self.before, self.after, self.always = [], [], []
    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _Handle(self.before, hook)
    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return _Handle(self.always if always_call else self.after, hook)
    def __call__(self, *args):
        for hook in self.before:
            assert hook(self, args) is None
        out = None
        try:
            out = self.forward(*args)
            for hook in self.after:
                assert hook(self, args, out) is None
        finally:
            for hook in self.always:
                assert hook(self, args, out) is None
        return out
class Older(Module):
    "Of PyTorch 1.13"
    def register_forward_hook(self, hook):
        return _Handle(self.after, hook)
class Optimizer:
    def __init__(self):
        self.hooks = []
    def register_step_post_hook(self, hook):
        return _Handle(self.hooks, hook)
    def step(self):
        for hook in self.hooks:
            assert hook(self, (), {}) is None
capturing = False
cuda = types.SimpleNamespace(is_available=lambda: True,
                             is_current_stream_capturing=lambda: capturing)
'''
# As vllm/plugins/__init__.py finds plugins, and vllm/v1/worker/gpu_worker.py runs a step.
PLUGINS = '''
import os
from importlib.metadata import entry_points
def load_general_plugins():
    allowed = os.environ.get("VLLM_PLUGINS")
    for plugin in entry_points(group="vllm.general_plugins"):
        if allowed is None or plugin.name in allowed.split(","):
            plugin.load()()
'''
WORKER = '''class Worker:
    def execute_model(self, scheduler_output):
        "One step"
        self.open = OPEN()
        if scheduler_output == "fails":
            raise KeyError(scheduler_output)
        return None if scheduler_output == "sampled later" else "tokens"
'''
SAMPLE = '''
    def sample_tokens(self, grammar_output):
        self.open = OPEN()
        return "tokens"
'''
# Is a segment of the shared handle open? The handle itself knows.
OPEN = '''
import errno, gpreempt
def OPEN():
    shared = gpreempt._open()
    try:
        shared.segment_end()
    except OSError as error:
        assert error.errno == errno.EINVAL, error
        return False
    shared.segment_begin()
    return True
def count():
    return gpreempt.status().stats["segments"]
'''
GPU = "import worker; gpu = worker.Gpu()\n"


class Frameworks(Rig):
    def setUp(self):
        super().setUp()
        self.modules = os.path.join(self.dir, "modules")
        os.mkdir(self.modules)
        self.write("torch.py", TORCH)
        self.write("probe.py", OPEN)

    def write(self, name, text):
        path = os.path.join(self.modules, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def vllm(self, worker=WORKER + SAMPLE):
        """A vLLM, and the plugin as it is installed."""
        for name in ("vllm", "vllm/v1", "vllm/v1/worker"):
            self.write(f"{name}/__init__.py", "")
        self.write("vllm/plugins/__init__.py", PLUGINS)
        self.write("vllm/v1/worker/gpu_worker.py",
                   "from probe import OPEN\n" + worker)
        subprocess.run([sys.executable, os.path.join(TOP, "python/info.py"), self.modules, "1.0"],
                       check=True)

    def python(self, script, cls="lc", gpu=True, **more):
        env = {**self.env, "PYTHONPATH": f"{self.modules}:{TOP}/python:{TOP}/tests/softface",
               "PYTHONDONTWRITEBYTECODE": "1", "GP_BUILD": BUILD,
               "LD_LIBRARY_PATH": os.path.join(BUILD, "lib"), **more}
        argv = [sys.executable, "-c", (GPU if gpu else "") + script]
        if cls:
            argv = [CLI, "run", f"--class={cls}", "--device=soft0", "--", *argv]
        done = subprocess.run(argv, text=True, capture_output=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr


MODEL = """
import torch, gpreempt, gpreempt.torch
from probe import OPEN, count
class Model(torch.Module):
    def forward(self, x):
        if x is None:
            raise KeyError(x)
        self.open = OPEN()
        return x + 1
model, optimizer = Model(), torch.Optimizer()
"""


class Torch(Frameworks):
    def test_each_call_is_a_request(self):
        out, err = self.python(MODEL + """
assert model(1) == 2 and not model.open
with gpreempt.torch.requests(model):
    before = count()
    for x in range(5):
        assert model(x) == x + 1
        assert model.open and not OPEN()
    assert count() - before == 5 * 2, count()     # each of them, and a look of the test's
assert model(1) == 2 and not model.open
assert not model.before + model.after + model.always
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def test_until_the_optimizers_step(self):
        out, err = self.python(MODEL + """
with gpreempt.torch.requests(model, optimizer):
    model(1)
    assert OPEN()
    optimizer.step()
    assert not OPEN()
    model(1)
    model(1)                    # without a step: one request ends, and another begins
    assert OPEN()
assert not OPEN() and not optimizer.hooks
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def test_exceptions(self):
        out, err = self.python(MODEL + """
class Old(Model, torch.Older):
    pass
for model, after in (model, False), (Old(), True):
    with gpreempt.torch.requests(model):
        try:
            model(None)
        except KeyError:
            pass
        assert OPEN() == after      # until the next call, or the end of the block
        model(1)
        assert model.open and not OPEN()
        try:
            model(None)
        except KeyError:
            pass
    assert not OPEN()
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def test_threads(self):
        out, err = self.python(MODEL + """
import threading
gpreempt.status()
with gpreempt.torch.requests(model):
    before = count()
    def work():
        for x in range(100):
            model(x)
    model.forward = lambda x: x
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(count() - before)
assert not OPEN()
""")
        self.assertEqual(err, "")
        # Segments nest: those that overlap are one.
        self.assertTrue(1 <= int(out) <= 400, out)

    def test_no_request_while_a_graph_is_recorded(self):
        out, err = self.python(MODEL + """
with gpreempt.torch.requests(model):
    torch.capturing = True
    model(1)
    assert not model.open
    torch.capturing = False
    model(1)
    assert model.open
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def test_arguments(self):
        out, err = self.python(MODEL + """
for args in ((3,), (model, 3)):
    try:
        gpreempt.torch.requests(*args)
    except TypeError as error:
        print(error)
requests = gpreempt.torch.requests(model)
with requests:
    try:
        with requests:
            pass
    except RuntimeError as error:
        print(error)
""")
        self.assertEqual(err, "")
        self.assertEqual(out, "".join(
            f"{name}: int has no {call}(); pass a torch.nn.Module, and an Optimizer of PyTorch 2.0 "
            "or later\n" for name, call in (("module", "register_forward_pre_hook"),
                                            ("optimizer", "register_step_post_hook"))) +
            "these requests have begun; make others for a block within\n")

    def test_examples(self):
        script = """
import doctest
class Plain(torch.Module):
    def forward(self, x):
        return x + 1
done = doctest.testmod(gpreempt.torch, extraglobs={"gpreempt": gpreempt, "model": Plain(),
                                                   "optimizer": optimizer})
assert done.failed == 0 and done.attempted >= 3, done
"""
        self.assertEqual(self.python(MODEL + script), ("", ""))
        # Without a GPU and without the library: one line, from the logger.
        for env in {}, {"LD_LIBRARY_PATH": self.dir}:
            if env:
                open(os.path.join(self.dir, "libgpreempt.so.0"), "w").close()
                target = os.path.join(self.modules, "gpreempt")
                shutil.copytree(os.path.join(TOP, "python/gpreempt"), target)
            out, err = self.python(MODEL + script, cls=None, gpu=False, GPREEMPT_BACKEND="softgpu",
                                   **env)
            self.assertEqual(out, "")
            self.assertRegex(err, r"\Agpreempt has no effect: [^\n]*\n\Z")


STEPS = """
import vllm.plugins
vllm.plugins.load_general_plugins()
vllm.plugins.load_general_plugins()
from vllm.v1.worker.gpu_worker import Worker
from probe import OPEN, count
worker = Worker()
"""


class Vllm(Frameworks):
    def test_each_step_is_a_request(self):
        self.vllm()
        out, err = self.python(STEPS + """
assert Worker.execute_model.__doc__ == "One step"
for _ in range(3):
    assert worker.execute_model("whole") == "tokens" and worker.open and not OPEN()
    # From the launch of the model to the sampling of its tokens.
    assert worker.execute_model("sampled later") is None and worker.open and OPEN()
    assert worker.sample_tokens(grammar_output=None) == "tokens" and worker.open and not OPEN()
worker.execute_model("sampled later")
worker.execute_model("sampled later")
try:
    worker.execute_model("fails")
except KeyError:
    print("ok", OPEN())
""")
        self.assertEqual((out, err), ("ok False\n", ""))

    def test_without_a_separate_sampling(self):
        """As in vLLM 0.8: a worker that returns nothing has done its part."""
        self.vllm(WORKER)
        out, err = self.python(STEPS + """
assert worker.execute_model("sampled later") is None and worker.open and not OPEN()
print("ok")
""")
        self.assertEqual((out, err), ("ok\n", ""))

    def wrapped(self, **how):
        """Does it wrap the worker's method? And the messages."""
        out, err = self.python(STEPS + 'print(hasattr(Worker.execute_model, "__wrapped__"))', **how)
        return out == "True\n", err

    def test_only_where_it_is_wanted(self):
        self.vllm()
        self.assertEqual(self.wrapped(), (True, ""))
        self.assertEqual(self.wrapped(cls="be"), (False, ""))
        self.assertEqual(self.wrapped(VLLM_PLUGINS="other"), (False, ""))

    def test_without_effect(self):
        """No GPU, and a vLLM with other workers."""
        self.vllm()
        out, err = self.python(STEPS + 'print(worker.execute_model("whole"))', cls=None, gpu=False,
                               GPREEMPT_CLASS="lc", GPREEMPT_BACKEND="softgpu")
        self.assertEqual(out, "tokens\n")
        self.assertRegex(err, r"\Agpreempt has no effect: [^\n]*\n\Z")
        self.write("vllm/v1/worker/gpu_worker.py", "class Other: pass\n")
        out, err = self.python("""
import vllm.plugins
vllm.plugins.load_general_plugins()
""", gpu=False)
        self.assertRegex(err, r"\Agpreempt has no effect on vLLM: [^\n]*Worker[^\n]*; install vLLM "
                              r"0.8 or later, or leave the plugin out \(VLLM_PLUGINS\)\n\Z")

    def test_example(self):
        self.vllm()
        self.assertEqual(self.python("""
import doctest, gpreempt, gpreempt.vllm
done = doctest.testmod(gpreempt.vllm, extraglobs={"gpreempt": gpreempt})
assert done.failed == 0 and done.attempted, done
"""), ("", ""))


if __name__ == "__main__":
    unittest.main()
