#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/record: from a trace to a workload file, on constructed traces, and the recorder's
messages without PyTorch. Real PyTorch needs a card."""
import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import weakref
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from bench.record import models, record, reduce, workload   # noqa: E402
from bench.record.workload import RecordError               # noqa: E402

PROGRAM = os.path.join(TOP, "bench/record/record.py")
DECODER = os.path.join(TOP, "bench/record/decoder.py")
BENCH = os.path.join(os.environ.get("GP_BUILD", os.path.join(TOP, "build")),
                     "bin/gpreempt-bench")
PAUSE_US = 10_000
A = (512, 256, 64, 1024)
B = (7, 32, 255, 0)
NAME = "void cudnn::a_secret_name<float>"


def kernel(start, length, shape=A, stream=7):
    blocks, threads, registers, shared = shape
    return {"ph": "X", "cat": "kernel", "name": NAME, "ts": start, "dur": length,
            "args": {"grid": [blocks, 1, 1], "block": [threads, 1, 1], "stream": stream,
                     "registers per thread": registers, "shared memory": shared, "device": 0}}


def copying(start, length, name):
    return {"ph": "X", "cat": "gpu_memcpy", "name": name, "ts": start, "dur": length,
            "args": {"bytes": 602112}}


def setting(start, length):
    return {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "ts": start,
            "dur": length, "args": {"bytes": 4}}


def after(events, us):
    return [{**event, "ts": event["ts"] + us} for event in events]


def repeated(events, times, every=2 * PAUSE_US):
    return [event for n in range(times) for event in after(events, n * every)]


def reduced(events, asked):
    return reduce.reduce(events, PAUSE_US, asked)


def a_workload(**changed):
    """A valid one, with one kernel."""
    found = {"schema_version": 1, "name": "n", "what": "w", "device": "d", "driver": "v",
             "solo_us": 9.5, "columns": list(workload.COLUMNS),
             "kernels": [[1.5, 2.5, 3, 32, 64, 0]]}
    return {**found, **changed}


class Requests(unittest.TestCase):
    def test_medians_of_each_kernel(self):
        events = []
        for n, (gap, first, second) in enumerate([(1, 10, 20), (3, 12, 21), (900, 14, 500)]):
            start = n * 2 * PAUSE_US
            events += [kernel(start, first, A), kernel(start + first + gap, second, B)]
        found = reduced(events, 3)
        self.assertEqual(found.kernels, [(0, 12_000, *A), (3_000, 21_000, *B)])
        self.assertEqual((found.alike, found.recorded, found.overlapped_ns), (3, 3, 0))

    def test_the_order_is_that_of_time(self):
        one = [kernel(0, 5, A), kernel(6, 5, B)]
        self.assertEqual([k[2:] for k in reduced(one[::-1], 1).kernels], [A, B])

    def test_one_that_differs_is_left_out(self):
        one = [kernel(0, 10, A), kernel(11, 10, B)]
        odd = after([kernel(0, 900, B), kernel(1000, 900, A)], 1_000_000)
        found = reduced(repeated(one, 2) + odd, 3)
        self.assertEqual(found.kernels, [(0, 10_000, *A), (1_000, 10_000, *B)])
        self.assertEqual((found.alike, found.recorded), (2, 3))

    def test_a_shape_that_differs_is_another_kernel(self):
        for place in range(4):
            other = list(A)
            other[place] += 1
            events = (repeated([kernel(0, 10, A)], 1)
                      + after([kernel(0, 10, tuple(other))], 100_000)
                      + after([kernel(0, 10, B)], 200_000))
            with self.assertRaisesRegex(RecordError, "^only 1 of 3 requests have the same"):
                reduced(events, 3)

    def test_half_is_enough_and_less_is_not(self):
        one, two, three = ([kernel(0, 10, shape)] for shape in (A, B, (1, 1, 1, 1)))
        events = repeated(one, 2) + after(two, 500_000) + after(three, 600_000)
        self.assertEqual(reduced(events, 4).alike, 2)
        with self.assertRaisesRegex(RecordError, "^only 2 of 5 requests have the same kernels$"):
            reduced(events + after(two, 700_000), 5)

    def test_too_few_came_back(self):
        events = repeated([kernel(0, 10)], 2)
        self.assertEqual(reduced(events, 4).recorded, 4)
        with self.assertRaisesRegex(RecordError, "^only 2 of 5 requests"):
            reduced(events, 5)

    def test_one_interrupted_for_long_counts_as_two(self):
        whole = [kernel(0, 10, A), kernel(12, 10, B)]
        torn = [kernel(0, 10, A), kernel(PAUSE_US, 10, B)]
        found = reduced(repeated(whole, 2) + after(torn, 1_000_000), 3)
        self.assertEqual((found.alike, found.recorded), (2, 4))
        self.assertEqual(found.kernels[1], (2_000, 10_000, *B))

    def test_half_a_pause_parts_them(self):
        """Counted from the longest kernel's end, not from the last begun one's."""
        for gap, pieces in ((PAUSE_US / 2, 1), (PAUSE_US / 2 + 1, 2)):
            events = [kernel(0, 100), kernel(10, 20), kernel(100 + gap, 5)]
            found = reduce.requests(reduce.on_device(events), PAUSE_US * 1000)
            self.assertEqual(len(found), pieces)

    def test_no_kernels(self):
        for events in ([], [copying(0, 5, "Memcpy HtoD (Pageable -> Device)")]):
            with self.assertRaisesRegex(RecordError, "^the trace has no kernels$"):
                reduced(events, 1)


class Kernels(unittest.TestCase):
    def test_what_is_not_on_the_device_is_not_counted(self):
        other = [{"ph": "X", "cat": kind, "name": "cudaLaunchKernel", "ts": 2, "dur": 9}
                 for kind in ("cuda_runtime", "cpu_op", "user_annotation",
                              "gpu_user_annotation")]
        begins = {**kernel(20, 5), "ph": "B"}
        found = reduced([{"ph": "M", "name": "process_name"}, *other, kernel(5, 10), begins], 1)
        self.assertEqual(found.kernels, [(0, 10_000, *A)])

    def test_grid_and_block_are_products(self):
        one = kernel(0, 1)
        one["args"].update(grid=[3, 5, 7], block=[8, 4, 2])
        self.assertEqual(reduced([one], 1).kernels[0][2:4], (105, 64))

    def test_a_kernel_without_its_shape(self):
        for field in ("grid", "block", "registers per thread", "shared memory"):
            one = kernel(0, 1)
            del one["args"][field]
            with self.assertRaisesRegex(RecordError, f"^the trace has a kernel without '{field}'$"):
                reduced([one], 1)

    def test_set_and_copied_within_the_device(self):
        events = [kernel(0, 10), setting(11, 2), copying(14, 3, "Memcpy DtoD (Device -> Device)")]
        self.assertEqual(reduced(events, 1).kernels, [
            (0, 10_000, *A), (1_000, 2_000, 1, 32, 0, 0), (1_000, 3_000, 1, 32, 0, 0)])

    def test_host_copies_are_part_of_a_gap(self):
        for name in ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"):
            events = [kernel(0, 10), copying(11, 50, name), kernel(62, 10, B)]
            self.assertEqual(reduced(events, 1).kernels,
                             [(0, 10_000, *A), (52_000, 10_000, *B)])

    def test_a_long_host_copy_is_no_pause(self):
        events = [kernel(0, 10), copying(11, PAUSE_US, "Memcpy DtoH"), kernel(PAUSE_US + 20, 5, B)]
        found = reduced(repeated(events, 3, 5 * PAUSE_US), 3)
        self.assertEqual((found.alike, len(found.kernels)), (3, 2))

    def test_streams_one_after_another(self):
        """The second begins in the first, the third is within both, the fourth is alone."""
        events = [kernel(0, 100, A), kernel(60, 100, B, stream=8), kernel(70, 10, A, stream=9),
                  kernel(165, 10, B)]
        found = reduced(events, 1)
        self.assertEqual([k[:2] for k in found.kernels],
                         [(0, 100_000), (0, 100_000), (0, 10_000), (5_000, 10_000)])
        self.assertEqual(found.overlapped_ns, 50_000)

    def test_overlap_is_a_median_too(self):
        events = [e for n, into in enumerate((10, 30, 90))
                  for e in after([kernel(0, 100, A), kernel(100 - into, 100, B)], n * 100_000)]
        self.assertEqual(reduced(events, 3).overlapped_ns, 30_000)

    def test_begun_together_in_one_order(self):
        one, other = [kernel(0, 10, A), kernel(0, 10, B)], [kernel(0, 10, B), kernel(0, 10, A)]
        self.assertEqual(reduced(one + after(other, 100_000), 2).alike, 2)

    def test_microseconds_to_the_nanosecond(self):
        """In a clock that counts from 1970, a float has too few digits."""
        text = json.dumps([kernel("@1", "@2", A), kernel("@3", 1, B)])
        for mark, number in (("@1", "1763818404123456.789"), ("@2", "1.001"),
                             ("@3", "1763818404123458.793")):
            text = text.replace(f'"{mark}"', number)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with open(path, "w") as f:
                f.write(f'{{"displayTimeUnit": "ms", "traceEvents": {text}}}')
            found = reduced(reduce.load(path), 1)
        self.assertEqual(found.kernels, [(0, 1_001, *A), (1_003, 1_000, *B)])


class Workload(unittest.TestCase):
    def make(self, events, solo_ns):
        return workload.make(reduced(events, 1), "vgg19", "torchvision vgg19, eager",
                             "NVIDIA H200", "580.159.04", solo_ns)

    def test_all_of_it(self):
        found = self.make([kernel(0, 10.4), kernel(11.4, 5, B)], 20_000)
        self.assertEqual(found, {
            "schema_version": 1, "name": "vgg19", "what": "torchvision vgg19, eager",
            "device": "NVIDIA H200", "driver": "580.159.04", "solo_us": 20.0,
            "columns": ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"],
            "kernels": [[3.6, 10.4, 512, 256, 64, 1024], [1.0, 5.0, 7, 32, 255, 0]]})

    def test_the_first_gap_is_not_below_zero(self):
        events = [kernel(0, 10), kernel(11, 5)]
        self.assertEqual(self.make(events, 16_001)["kernels"][0][0], 0.001)
        self.assertEqual(self.make(events, 15_999)["kernels"][0][0], 0)

    def test_overlap_is_said(self):
        events = [kernel(0, 10), kernel(8.5, 10)]
        self.assertEqual(self.make(events, 20_000)["what"],
                         "torchvision vgg19, eager, overlapped_us 1.5")
        self.assertNotIn("overlap", self.make([kernel(0, 10)], 20_000)["what"])

    def test_rounding(self):
        """To a nanosecond, and no 0.30000000000000004."""
        text = workload.text(self.make([kernel(0, 0.1 + 0.2), kernel(5, 1.23449)], 7_000))
        self.assertIn("0.3, 512", text)
        self.assertIn("[4.7, 1.234, 512", text)

    def test_a_kernel_a_line(self):
        found = self.make([kernel(0, 10), kernel(11, 5, B)], 20_000)
        text = workload.text(found)
        self.assertEqual(json.loads(text), found)
        rows = [line for line in text.splitlines() if line.startswith("    [")]
        self.assertEqual(rows, ["    [4.0, 10.0, 512, 256, 64, 1024],",
                                "    [1.0, 5.0, 7, 32, 255, 0]"])
        self.assertTrue(text.endswith("}\n"))

    def test_no_names_of_kernels(self):
        events = [kernel(0, 10), setting(11, 2), copying(14, 3, "Memcpy DtoD (Device -> Device)")]
        self.assertNotRegex(workload.text(self.make(events, 20_000)), "secret|Mem|cudnn")

    def test_what_is_too_long_is_not_written(self):
        with self.assertRaisesRegex(RecordError, r"^vgg19: kernel 2: length_us 1000000.001 "):
            self.make([kernel(0, 10), kernel(11, 1_000_000.001)], 20_000)

    def test_bounds(self):
        huge = workload.LONGEST_US
        for column, good, bad in (
                (0, (0, huge), (-0.001, huge + 0.001, None, "1", True, float("nan"))),
                (1, (0.001, huge), (0, huge + 0.001, None, float("nan"))),
                (2, (1, 2**31 - 1), (0, 2**31, 1.5)), (3, (1, 1024), (0, 1025, True)),
                (4, (0, 255), (-1, 256, 1.0)), (5, (0, 262_144), (-1, 262_145, "0"))):
            for value, ok in [(v, True) for v in good] + [(v, False) for v in bad]:
                with self.subTest(column=workload.COLUMNS[column], value=value):
                    found = copy.deepcopy(a_workload())
                    found["kernels"][0][column] = value
                    if ok:
                        workload.check(found, "f")
                        continue
                    with self.assertRaisesRegex(
                            RecordError, f"^f: kernel 1: {workload.COLUMNS[column]} "):
                        workload.check(found, "f")

    def test_how_many(self):
        row = a_workload()["kernels"][0]
        workload.check(a_workload(kernels=[row] * 100_000), "f")
        for rows in ([], [row] * 100_001, {}, [row[:5]], [row + [1]], [5]):
            with self.assertRaisesRegex(RecordError, "^f: .*(kernels|not a list of 6)$"):
                workload.check(a_workload(kernels=rows), "f")

    def test_fields(self):
        missing = a_workload()
        del missing["driver"]
        for found in (missing, a_workload(overlapped_us=1.5), [], a_workload(schema_version=2),
                      a_workload(schema_version=True), a_workload(columns=["gap_us"]),
                      a_workload(solo_us=0), a_workload(solo_us=float("inf")),
                      a_workload(name=""), a_workload(what=5)):
            with self.assertRaisesRegex(RecordError, "^f: "):
                workload.check(found, "f")

    def test_a_decoder(self):
        """A prefill and steps, as one file, which gpreempt-bench takes."""
        prefill = a_workload(name="p", kernels=[[3.5, 20.0, 9, 32, 64, 0]] * 3, solo_us=75.0)
        step = a_workload(name="s", kernels=[[4.5, 2.0, 3, 32, 64, 0], [0.5, 1.0, 1, 32, 8, 0]])
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, n) for n in ("p.json", "s.json", "llm.json")]
            workload.write(paths[0], prefill)
            workload.write(paths[1], step)
            done = subprocess.run([DECODER, *paths, "--tokens", "3"], text=True, timeout=300,
                                  capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            found = workload.read(paths[2])
            said = subprocess.run([BENCH, "list", paths[2]], text=True, timeout=300,
                                  capture_output=True)
            workload.write(paths[1], {**step, "driver": "other"})
            other = subprocess.run([DECODER, *paths], text=True, timeout=300, capture_output=True)
        self.assertEqual(found["tokens"], [3, 5, 7])
        # The wait for a token, and the launch after it, are the replay's own.
        self.assertEqual([row[0] for row in found["kernels"]], [3.5, 3.5, 3.5, 0, 0.5, 0, 0.5])
        self.assertEqual((found["name"], found["solo_us"]), ("llm", 75 + 2 * 9.5))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("tokens         3; each begins when the one before is complete\n", said.stdout)
        self.assertEqual((other.returncode, other.stderr),
                         (1, "decoder: s: driver other is not p's, v\n"))

    def test_tokens(self):
        for tokens in (None, [], [0], [1, 1], [2, 1], [3], [True], [1.0], "1"):
            found = a_workload(schema_version=2, kernels=[[1.5, 2.5, 3, 32, 64, 0]] * 2,
                               tokens=tokens)
            with self.assertRaisesRegex(RecordError, "^f: token"):
                workload.check(found, "f")
        for found in (a_workload(tokens=[1]), a_workload(schema_version=3, tokens=[1])):
            with self.assertRaisesRegex(RecordError, "^f: the fields"):
                workload.check(found, "f")

    def test_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "w.json")
            workload.write(path, a_workload())
            self.assertEqual(workload.read(path), a_workload())
            for text in ("", "{", json.dumps(a_workload(more=1))):
                with open(path, "w") as f:
                    f.write(text)
                with self.assertRaisesRegex(RecordError, f"^{path}: "):
                    workload.read(path)
            with self.assertRaisesRegex(RecordError, "no.json: "):
                workload.read(os.path.join(folder, "no.json"))


class FakeGraph:
    """Records its replays."""

    def __init__(self, fake):
        self.fake = fake

    def replay(self):
        self.fake.said.append("replay" if self.fake.there() else "freed")


class FakeTorch:
    """In PyTorch's place: records requests in order, and returns a trace of those to the
    profiler."""

    def __init__(self, events):
        self.said = []
        self.there = lambda: True
        self.torch = mock.MagicMock()
        self.torch.cuda.get_device_name.return_value = "NVIDIA H200"
        self.torch.cuda.CUDAGraph.side_effect = lambda: FakeGraph(self)
        profiler = self.torch.profiler
        profiler.profile.side_effect = self.profile
        self.modules = {"torch": self.torch, "torch.profiler": profiler,
                        "torchvision": mock.MagicMock()}
        self.events = events

    def profile(self, **_):
        def export(path):
            with open(path, "w") as f:
                json.dump({"traceEvents": self.events}, f)
        found = mock.MagicMock()
        found.__enter__.return_value = found
        found.step.side_effect = lambda: self.said.append("kept")
        found.export_chrome_trace.side_effect = export
        self.said.append("profile")
        return found


class Recorder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def record(self, words, events=None, there=None):
        """(status, stdout, stderr, requests) of the recorder with a fake PyTorch."""
        fake = FakeTorch(events or repeated([kernel(0, 10)], record.RECORDED))
        fake.there = there or fake.there
        out, err = io.StringIO(), io.StringIO()
        changed = mock.patch.multiple(record, WARM_S=0, PAUSE_S=PAUSE_US / 1e6)
        with mock.patch.dict(sys.modules, fake.modules), mock.patch.dict(os.environ), changed, \
                mock.patch("time.sleep"), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err):
            status = record.main(words)
        return status, out.getvalue(), err.getvalue(), fake.said

    def program(self, *words):
        """As a command that cannot load PyTorch."""
        with open(os.path.join(self.folder, "torch.py"), "w") as f:
            f.write("raise ImportError('not here')\n")
        return subprocess.run(
            [sys.executable, PROGRAM, *words], text=True, capture_output=True, timeout=300,
            env=dict(os.environ, PYTHONPATH=self.folder, PYTHONDONTWRITEBYTECODE="1"))

    def test_a_model(self):
        status, out, err, said = self.record(["vgg19", "--out", self.folder, "--requests=5"])
        self.assertEqual((status, err), (0, ""))
        found = workload.read(os.path.join(self.folder, "vgg19.json"))
        self.assertEqual(found["what"], "torchvision vgg19, batch 1, half precision, CUDA graph")
        self.assertEqual((found["name"], found["device"]), ("vgg19", "NVIDIA H200"))
        self.assertEqual([k[1:] for k in found["kernels"]], [[10.0, *A]])
        self.assertRegex(out.splitlines()[1], r"^vgg19 +1 +10\.0 +10\.0 +[\d.]+ +[\d.]+$")
        # Warmed and measured; warmed again; recorded.
        self.assertEqual(said, ["replay"] * 8 + ["profile"] + ["replay"] * 3 + ["kept"]
                         + ["replay"] * record.RECORDED)

    def test_eagerly(self):
        path = os.path.join(self.folder, "mine.json")
        for words, precision in ((["vgg19", "--eager"], "half"), (["train:vgg19"], "mixed")):
            status, _, err, said = self.record([*words, "--batch=3", "--out", path])
            self.assertEqual((status, err, said), (0, "", ["profile", "kept"]))
            self.assertRegex(workload.read(path)["what"],
                             f", batch 3, {precision} precision, eager$")
        self.assertEqual(workload.read(path)["name"], "train-vgg19")

    def test_all_are_measured_before_the_profiler_comes(self):
        build = mock.Mock(return_value={"one": mock.Mock(), "two": mock.Mock()})
        both = models.Model({"one": "first", "two": "second"}, build)
        with mock.patch.dict(models.MODELS, {"decoder": both}):
            status, out, _, said = self.record(["decoder", "--out", self.folder, "--requests=5"])
        self.assertEqual((status, len(out.splitlines())), (0, 3))
        self.assertEqual(said.index("profile"), 16)
        for name, what in (("one", "first"), ("two", "second")):
            found = workload.read(os.path.join(self.folder, f"{name}.json"))
            self.assertEqual((found["name"], found["what"].split(",")[0]), (name, what))

    def test_what_a_graph_reads_stays(self):
        class Step:
            def __call__(self):
                pass
        kept = []

        def build(_):
            step = Step()
            kept.append(weakref.ref(step))
            return {"one": step}
        with mock.patch.dict(models.MODELS, {"encoder6": models.Model({"one": "it"}, build)}):
            *_, said = self.record(["encoder6", "--out", self.folder], None, lambda: kept[0]())
        self.assertEqual(set(said), {"replay", "profile", "kept"})

    def test_what_cannot_be_recorded_is_one_line(self):
        events = [kernel(n * 100_000, 5, (n + 1, 32, 8, 0)) for n in range(record.RECORDED)]
        status, out, err, _ = self.record(["vgg19", "--out", self.folder], events)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, "record: vgg19: only 1 of 11 requests have the same kernels\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_where_it_goes_is_known_before_it_runs(self):
        for words, why in ((["decoder", "--out", "x.json"], "decoder is 2 files"),
                           (["vgg19", "--out", f"{self.folder}/no/x.json"], "no such folder")):
            status, _, err, said = self.record(words)
            self.assertEqual((status, said), (1, []))
            self.assertIn(why, err)

    def test_solo_is_a_median(self):
        with mock.patch.object(record, "warm"), mock.patch.object(
                record, "ask", side_effect=[5, 900, 7, 1, 8]):
            self.assertEqual(record.measure(None, 5), 7)

    def test_all_goes_on(self):
        """One fails, one leaves an unreadable file: the rest is in the table."""
        def apart(name, opt):
            if name == "vgg19":
                return "something (status 1)"
            for one, path in record.targets(name, opt.all).items():
                workload.write(path, a_workload(name=one))
            if name == "encoder6":
                workload.write(path, a_workload(solo_us=0))
            return None
        with mock.patch.object(record, "record_apart", apart):
            status, out, _, _ = self.record(["--all", os.path.join(self.folder, "new")])
        lines = out.splitlines()[1:]
        self.assertEqual((status, len(lines)), (1, 20))
        self.assertEqual(lines[0], "vgg19: failed: something (status 1)")
        self.assertEqual([line.split(":")[0] for line in lines if "failed" in line],
                         ["vgg19", "encoder6"])
        self.assertRegex(lines[-1], r"^decoder-step +1 +2\.5 +2\.5 +9\.5 ")
        self.assertEqual(lines[1].split()[0], "resnet18")

    def test_all_well(self):
        def apart(name, opt):
            for one, path in record.targets(name, opt.all).items():
                workload.write(path, a_workload(name=one))
        with mock.patch.object(record, "record_apart", apart):
            status, out, _, _ = self.record(["--all", self.folder])
        self.assertEqual((status, len(out.splitlines()), "failed" in out), (0, 21, False))

    def test_one_that_does_not_end(self):
        slow = subprocess.TimeoutExpired("x", 1)
        with mock.patch.object(subprocess, "run", side_effect=slow):
            status, out, _, _ = self.record(["--all", self.folder])
        self.assertEqual((status, out.count("failed: no end after 90 s")), (1, 18))

    def test_each_in_a_process_of_its_own(self):
        with mock.patch.object(subprocess, "run") as run:
            run.return_value.returncode = 0
            opt = record.arguments(["--all", self.folder, "--batch=2", "--requests=7", "--eager"])
            self.assertIsNone(record.record_apart("train:vgg19", opt))
        words = run.call_args[0][0][2:]
        child = record.arguments(words)
        self.assertEqual((child.model, child.out, child.batch, child.requests, child.eager,
                          child.all), ("train:vgg19", self.folder, 2, 7, True, None))

    def test_without_pytorch(self):
        done = self.program("resnet50")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "record: resnet50: PyTorch is needed: not here\n"))

    def test_all_without_pytorch(self):
        where = os.path.join(self.folder, "out")
        done = self.program("--all", where)
        lines = done.stdout.splitlines()[1:]
        self.assertEqual((done.returncode, len(lines), done.stderr), (1, 18, ""))
        for line, name in zip(lines, models.MODELS):
            self.assertIn(f"{name}: failed: record: {name}: PyTorch is needed: not here", line)
        self.assertIn("train-vgg19.log", os.listdir(where))

    def test_list(self):
        done = self.program("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), 20)
        self.assertIn("train:vgg19      train-vgg19.json: torchvision vgg19 training, batch 8, "
                      "mixed precision, eager\n", done.stdout)

    def test_one_thing_at_a_time(self):
        for words in ([], ["vgg19", "--list"], ["vgg19", "--all", "x"], ["alexnet"],
                      ["vgg19", "--requests=0"], ["vgg19", "--batch=x"]):
            with self.assertRaises(SystemExit) as left, \
                    contextlib.redirect_stderr(io.StringIO()):
                record.arguments(words)
            self.assertEqual(left.exception.code, 2)

    def test_names_of_files(self):
        names = [name for model in models.MODELS.values() for name in model.what]
        self.assertEqual(len(set(names)), 20)
        for name in names:
            self.assertRegex(name, "^[a-z0-9_-]+$")


class Said(unittest.TestCase):
    def test_driver(self):
        for kind in ("Kernel Module ", "Open Kernel Module for x86_64"):
            text = (f"NVRM version: NVIDIA UNIX x86_64 {kind} 580.159.04  Mon Aug 11 2025\n"
                    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
            self.assertEqual(record.driver_version(text), "580.159.04")
        self.assertEqual(record.driver_version("GCC version:  gcc version 12.2.0 (x)\n"),
                         "unknown")

    def test_no_driver(self):
        with mock.patch.object(record, "DRIVER", "/nonexistent/version"):
            self.assertEqual(record.driver(), "unknown")

    def test_the_line_that_says_why(self):
        cuda = ("Traceback (most recent call last):\n  File \"x\", line 1\n"
                "torch.AcceleratorError: CUDA error: invalid argument\n"
                "CUDA kernel errors might be reported later.\n\n")
        self.assertEqual(record.last_error(cuda),
                         "torch.AcceleratorError: CUDA error: invalid argument")
        self.assertEqual(record.last_error("a warning\nrecord: vgg19: no\n"),
                         "record: vgg19: no")
        self.assertEqual(record.last_error("a\nSegmentation fault\n"), "Segmentation fault")
        self.assertEqual(record.last_error(" \n"), "it said nothing")


if __name__ == "__main__":
    unittest.main()
