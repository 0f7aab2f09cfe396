#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/apps/client.py: its loop, its files, its errors, and a plan with such clients, over a
fake PyTorch that only takes time. Real PyTorch needs a card."""
import contextlib
import glob
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from bench.apps import client    # noqa: E402
from tests.gpu import framework_programs    # noqa: E402

BENCH = os.path.join(os.environ.get("GP_BUILD", os.path.join(TOP, "build")),
                     "bin/gpreempt-bench")
# A request takes 1 ms, and its result is always the same.
TORCH = """import sys, time
from unittest import mock
m = sys.modules[__name__] = mock.MagicMock()
m.cuda.Stream.return_value.synchronize.side_effect = lambda: time.sleep(1e-3)
"""


class Faked(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.torch = mock.MagicMock()
        self.torch.cuda.Stream.return_value.synchronize.side_effect = lambda: time.sleep(1e-3)
        patch = mock.patch.dict(sys.modules, {"torch": self.torch, "torch.nn": self.torch.nn,
                                              "torchvision": mock.MagicMock()})
        patch.start()
        self.addCleanup(patch.stop)

    def file(self, name, text=""):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def main(self, *words):
        """(status, lines of output, lines of errors)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.object(sys, "stdin", io.StringIO("go\n")):
            status = client.main(words)
        return status, out.getvalue().splitlines(), err.getvalue().splitlines()

    def samples(self):
        with open(os.path.join(self.folder, "out"), encoding="ascii") as f:
            head, *rows = f.read().splitlines()
        return head, [row.split(",") for row in rows]


class Loop(Faked):
    def test_times_of_a_file(self):
        """Open loop: a request that comes while another is under way waits, and none is skipped."""
        times = [5_000_000, 30_000_000, 30_100_000, 60_000_000, 200_000_000]
        trace = self.file("t", "".join(f"{at}\n" for at in times))
        status, out, err = self.main("--workload=torch:vgg19", f"--trace={trace}",
                                     "--length-ms=100", f"--out={self.folder}/out")
        self.assertEqual((status, err), (0, []))
        self.assertRegex(out[0], r"^ready pid=\d+ solo_ns=\d+$")
        figures = dict(word.split("=") for word in out[1].split()[1:])
        self.assertEqual((figures["requests"], figures["left"], figures["result"]),
                         ("4", "0", "right"))
        head, rows = self.samples()
        self.assertEqual(head, "intended_ns,start_ns,end_ns")
        begin = int(figures["begin_ns"])
        self.assertEqual([int(row[0]) - begin for row in rows], times[:4])
        ends = [int(row[2]) for row in rows]
        self.assertGreaterEqual(int(rows[2][1]), ends[1])
        self.assertTrue(all(int(row[2]) - int(row[1]) >= 1_000_000 for row in rows))

    def test_again_and_again(self):
        status, out, _ = self.main("--workload=torch:resnet152,batch=4", "--length-ms=50",
                                   f"--out={self.folder}/out", "--graph")
        self.assertEqual(status, 0, out)
        rows = self.samples()[1]
        self.assertGreater(len(rows), 5)
        for one, after in zip(rows, rows[1:]):
            self.assertGreaterEqual(int(after[0]), int(one[2]))

    def test_who_falls_behind(self):
        """Requests that came and were not done in time are counted."""
        self.torch.cuda.Stream.return_value.synchronize.side_effect = lambda: time.sleep(0.2)
        trace = self.file("t", "".join(f"{at * 1_000_000}\n" for at in range(1, 11)))
        with mock.patch.object(client, "SOLO", 1):
            _, out, _ = self.main("--workload=torch:vgg19", f"--trace={trace}",
                                  "--length-ms=11", f"--out={self.folder}/out")
        figures = dict(word.split("=") for word in out[1].split()[1:])
        self.assertGreater(int(figures["left"]), 5)
        self.assertEqual(int(figures["requests"]) + int(figures["left"]), 10)
        self.assertEqual(len(self.samples()[1]), int(figures["requests"]))

    def test_tokens(self):
        """Each token counts after the one before, the last with the request's end."""
        status, out, _ = self.main("--workload=torch:decoder,tokens=5", "--length-ms=20",
                                   f"--out={self.folder}/out")
        self.assertEqual(status, 0, out)
        head, rows = self.samples()
        self.assertEqual(head, "intended_ns,start_ns,end_ns,tokens_ns")
        for row in rows:
            seen = [int(word) for word in row[3].split()]
            self.assertEqual((len(seen), seen), (5, sorted(seen)))
            self.assertLessEqual(seen[-1], int(row[2]))

    def test_hints(self):
        with mock.patch.object(client, "Client") as made:
            self.main("--workload=torch:vgg19", "--length-ms=20", "--hint", "--prepare-us=300",
                      "--hint-early-us=100", "--lib=l.so", f"--out={self.folder}/out")
        made.assert_called_once_with("l.so")
        said = {call.args for call in made.return_value.hint.call_args_list}
        self.assertEqual(said, {(200_000,)})
        for row in self.samples()[1]:
            self.assertGreaterEqual(int(row[2]) - int(row[1]), 1_300_000)

    def test_another_answer_is_wrong(self):
        self.torch.allclose.return_value = False
        status, out, _ = self.main("--workload=torch:vgg19", "--length-ms=5")
        self.assertEqual(status, 1)
        self.assertIn("result=WRONG", out[1])


class Frameworks(Faked):
    """Programs of SUITE=frameworks."""

    def answer(self, call, *args, lines):
        """The lines that it printed, for these on its input."""
        read, write = os.pipe()
        os.write(write, lines.encode())
        os.close(write)
        out = io.StringIO()
        with open(read, encoding="ascii") as stdin, contextlib.redirect_stdout(out), \
                mock.patch.object(sys, "stdin", stdin), \
                mock.patch.object(framework_programs, "WARM_S", 0.05):
            call(*args)
        return out.getvalue().splitlines()

    def served(self, model, line):
        ready, answer = self.answer(framework_programs.serve, model, lines=line)
        self.assertRegex(ready, r"^ready pid=\d+$")
        return {key: int(value) for key, value in
                (word.split("=") for word in answer.split()[1:])}

    def test_requests(self):
        found = self.served("resnet50", "seconds=0.2 rate=100\n")
        self.assertGreater(found["requests"], 5)
        self.assertGreaterEqual(found["wait_p50_ns"], 1_000_000)
        self.assertLessEqual(found["launch_p50_ns"] + found["wait_p50_ns"],
                             2 * found["request_p99_ns"])
        self.assertGreater(found["end_ns"], found["start_ns"])

    def test_tokens(self):
        """Each waits for its copy."""
        found = self.served("kinds", "seconds=0.1\n")
        self.assertGreater(found["token_p50_ns"], 0)
        self.assertGreater(found["first_p50_ns"], 0)
        self.torch.cuda.CUDAGraph.return_value.replay.assert_called()

    def test_training(self):
        """Until the next line. All steps but the last have their end in the file."""
        self.torch.cuda.Event.return_value.synchronize.side_effect = lambda: time.sleep(1e-3)
        path = self.file("times")
        read, write = os.pipe()
        with open(read, encoding="ascii") as stdin, open(write, "w", encoding="ascii") as to, \
                mock.patch.object(sys, "stdin", stdin), contextlib.redirect_stdout(io.StringIO()):
            thread = threading.Thread(target=framework_programs.train,
                                      args=("train:resnet50", path))
            to.write("go\n")
            to.flush()
            thread.start()
            time.sleep(0.1)
            to.write("pause\n")
            to.close()
            thread.join()
        with open(path, encoding="ascii") as f:
            ends = [int(line) for line in f]
        self.assertGreater(len(ends), 5)
        self.assertEqual(ends, sorted(ends))


class Refusals(Faked):
    def test_words(self):
        for words, why in (
                (("--workload=torch:none",), "--workload=torch:none: torch:MODEL[,batch=NUMBER]"),
                (("--workload=torch:vgg19,tokens=3",), "tokens=NUMBER is wanted of a decoder"),
                (("--workload=torch:decoder",), "tokens=NUMBER is wanted of a decoder"),
                (("--workload=torch:train:vgg19", "--graph"), "--graph: train:vgg19 is none"),
                (("--workload=torch:vgg19", "--trace=/none"), "--trace: [Errno 2] No such file"),
                (("--workload=torch:vgg19", f"--trace={self.file('t', 'x')}"), "--trace: inval")):
            status, out, err = self.main(*words)
            self.assertEqual((status, out, len(err)), (2, [], 1), words)
            self.assertTrue(err[0].startswith("client: "), err)
            self.assertIn(why, err[0])

    def test_without_pytorch(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            status, out, err = self.main("--workload=torch:vgg19")
        self.assertEqual((status, out), (1, []))
        self.assertRegex(err[0], "^client: PyTorch is needed: ")


class Plans(Faked):
    def bench(self, plan, *args, torch=TORCH):
        self.file("torch.py", torch)
        self.file("torchvision.py", "from unittest import mock\nmodels = mock.MagicMock()\n")
        peers = os.path.join(self.folder, "peers")
        os.makedirs(peers, exist_ok=True)
        for name in ("time-slicing", "streams"):
            for path in glob.glob(os.path.join(TOP, f"bench/data/peers/{name}.*")):
                shutil.copy(path, peers)
        if any(word.startswith("--device=") for word in args):
            args = (*args, f"--peers={peers}")
        return subprocess.run(
            [BENCH, "run", self.file("p.json", json.dumps(plan)), *args],
            text=True, capture_output=True, timeout=300,
            env=dict(os.environ, PYTHONPATH=self.folder, PYTHONDONTWRITEBYTECODE="1",
                     GPREEMPT_SOFTGPU=os.path.join(self.folder, "soft.sock")))

    PLAN = {"time": 0.5, "tasks": [
        {"id": "lc", "load": {"type": "periodic", "frequency": 50},
         "client": {"priority": 0, "model_name": "torch:vgg19"}}]}

    def test_a_plan(self):
        """Its rate and its time alone match those of a plan's other clients."""
        kept = os.path.join(self.folder, "kept")
        done = self.bench(self.PLAN, "--device=GPU-0", f"--dir={kept}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("streams, priority absent: its clients share one process, but a client "
                      "in PyTorch", done.stdout)
        with open(os.path.join(kept, "run.json"), encoding="utf-8") as f:
            run = next(run for run in json.load(f)["runs"] if "clients" in run)
        (lc,) = run["clients"]
        self.assertEqual((lc["requests"], lc["left"], lc["workload"]), (24, 0, "torch:vgg19"))
        self.assertGreater(lc["alone_us"], 1000)

    def test_plans_that_cannot_be(self):
        waits = {"time": 1, "tasks": [*self.PLAN["tasks"], {
            "id": "after", "load": {"type": "dependent", "prev_task_ids": ["lc"]},
            "client": {"model_name": "spin:1ms"}}]}
        for plan, words, why in (
                (self.PLAN, (), "its time is known only on a device"),
                (self.PLAN, ("--device=soft0",), "PyTorch does not run on the software GPU"),
                (waits, ("--device=GPU-0",), "a client in PyTorch cannot depend on other clients")):
            done = self.bench(plan, *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertTrue(done.stderr.startswith("gpreempt-bench: p: lc: torch:vgg19: "))
            self.assertIn(why, done.stderr)

    def test_without_pytorch(self):
        done = self.bench(self.PLAN, "--device=GPU-0", torch="raise ImportError('not here')\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("client: PyTorch is needed: not here\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
