#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt-bench report: known figures, a page without external parts, and one line for each
invalid input."""
import contextlib
import copy
import gzip
import html.parser
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(os.environ.get("GP_BUILD", os.path.join(TOP, "build")),
                     "bin/gpreempt-bench")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "bench/report"))

import curves       # noqa: E402
import figures      # noqa: E402
import moments      # noqa: E402
import read         # noqa: E402
import report       # noqa: E402
import svg          # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"
MS = 1_000_000
HOSTILE = ["<script>alert(1)</script>", "\"a' onload='x", "nul\0 bell\a esc\x1b[31m", "a&b&amp;",
           "]]>", "one|two\nthree", "\u202eturned", "half \ud800", "{{x}} `y` *z* [l](m)"]


# ---- a folder of results -------------------------------------------------------------

def packed(text):
    return gzip.compress(text.encode() if isinstance(text, str) else text, mtime=0)


def samples(latencies_us, gap_ms=10):
    """Samples of one request every @gap_ms."""
    rows = [(i * gap_ms * MS, i * gap_ms * MS, i * gap_ms * MS + int(us * 1000))
            for i, us in enumerate(latencies_us)]
    return "intended_ns,start_ns,end_ns\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)


def tokens(firsts_us, next_us):
    """Samples of one request of three tokens every 10 ms."""
    rows = []
    for i, us in enumerate(firsts_us):
        at = i * 10 * MS
        came = [at + int(us * 1000) + k * int(next_us * 1000) for k in range(3)]
        rows.append(f"{at},{at},{came[-1] + 5},{' '.join(map(str, came))}\n")
    return "intended_ns,start_ns,end_ns,tokens_ns\n" + "".join(rows)


def lc(**more):
    return {"id": "lc", "class": "lc", "workload": "vgg19", "load": "periodic 100/s",
            "offered": 0.1, "alone_us": 500.0, "alone_per_s": None, "requests": 1000,
            "done_per_s": 100.0, "missed": 0, "left": 0,
            "samples": None, **more}


def be(**more):
    return {"id": "be", "class": "be", "workload": "resnet152", "load": "continuous",
            "offered": None, "alone_us": 9000.0, "alone_per_s": 100.0, "requests": 800,
            "done_per_s": 80.0, "missed": 0, "left": 0,
            "samples": None, **more}


def run(plan="A", scheduler="hinted", number=0, clients=None, timeline=None):
    return {"plan": plan, "scheduler": scheduler, "run": number, "seconds": 10.0,
            "timeline": timeline, "clients": clients or [lc(), be()]}


def results(*runs):
    return {"schema_version": 1, "suite": "quick", "command": "gpreempt-bench run quick",
            "version": "0.1.0", "device": "software GPU, virtual time (model of an H200)",
            "machine": "two cores", "driver": "", "seed": 1, "date": "2026-11-22",
            "runs": list(runs)}


def fill(folder, found, files=None):
    for name, text in (files or {}).items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(packed(text))
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
        json.dump(found, f)


def main_of(folder):
    """Run the report in this process: (exit status, stdout, stderr)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = report.main(["report.py", folder])
    return status, out.getvalue(), err.getvalue()


class Balanced(html.parser.HTMLParser):
    """Checks like a browser that elements are properly nested."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.wrong = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br", "col") and "svg" not in self.open:
            self.wrong.append(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def make(self, found, files=None):
        """Make the report, and return its page as a tree."""
        fill(self.folder, found, files)
        status, _, err = main_of(self.folder)
        self.assertEqual((status, err), (0, ""))
        return ElementTree.fromstring(self.text("report.html"))

    def rows(self, start):
        """The cells of report.md's rows that begin with @start."""
        return [line.strip("| ").split(" | ") for line in self.text("report.md").splitlines()
                if line.startswith(f"| {start} |")]

    @staticmethod
    def figure(tree, name):
        return [f for f in tree.iter(f"{XHTML}figure") if f.get("id") == name]

    @staticmethod
    def with_class(tree, tag, word):
        return [e for e in tree.iter(SVG + tag) if word in e.get("class", "").split()]


# ---- figures -------------------------------------------------------------------------

class Figures(Report):
    def test_percentiles_are_those_of_a_sort(self):
        draw = random.Random(3)
        for count in [*range(1, 60), 99, 100, 999, 1000, 1001, 9990, 9999, 10000, 10001]:
            values = [draw.randrange(1000) for _ in range(count)]
            ordered = sorted(values)
            for _, per_mille in figures.PERCENTILES:
                # An independent definition: the least value with this many at or below it.
                at = next(i for i in range(count) if (i + 1) * 1000 >= per_mille * count)
                wanted = ordered[at] if count - at - 1 >= 10 else None
                self.assertEqual(figures.percentile(ordered, per_mille), wanted,
                                 (count, per_mille))

    def test_too_few_are_a_dash(self):
        # p50 needs 20, p99 1000, p99.9 10000; the order of the samples does not matter.
        for count, known in ((19, 0), (20, 1), (100, 2), (999, 3), (1000, 4), (10000, 5)):
            values = [1000 + i for i in range(count)]
            random.Random(count).shuffle(values)
            self.make(results(run(clients=[lc(samples="s.csv.gz")])),
                      {"s.csv.gz": samples(values)})
            cells = self.rows("lc | hinted")[0][3:9]
            wanted = [1000 + (count * per_mille + 999) // 1000 - 1
                      for _, per_mille in figures.PERCENTILES[:known]]
            self.assertEqual(cells[:known], [f"{value:,}" for value in wanted])
            self.assertEqual(cells[known:5], ["-"] * (5 - known))
            self.assertEqual(cells[5], f"{999 + count:,}")

    def test_median_and_range_over_repetitions(self):
        files = {f"{i}.gz": samples([us] * 20) for i, us in enumerate((300, 700, 500))}
        self.make(results(*(run(number=i, clients=[lc(samples=f"{i}.gz", missed=i)])
                            for i in range(3))), files)
        cells = self.rows("lc | hinted")[0]
        self.assertEqual(cells[3], "500 (300 – 700)")
        self.assertEqual(cells[9], "1.00 (0.60 – 1.40)")
        self.assertEqual(cells[11], "1 (0 – 2)")
        self.assertEqual(cells[2], "1,000")
        # One that does not know it, and no client does.
        self.make(results(run(clients=[lc(samples="0.gz")]), run(number=1)), files)
        self.assertEqual(self.rows("lc | hinted")[0][3], "-")

    def test_all_clients_together(self):
        """Each relative to itself alone: 2 and 4 times 500 us, half and half; p99 from enough
        samples."""
        files = {"a.gz": samples([1000] * 600), "b.gz": samples([2000] * 600)}
        clients = [lc(samples="a.gz"), lc(id="other", samples="b.gz"), be(done_per_s=25.0)]
        self.make(results(run(clients=clients)), files)
        self.assertEqual(self.rows("hinted"), [["hinted", "3.000", "4.000", "25.0 %"]])
        self.make(results(run(clients=[lc(samples="a.gz"), lc(id="other")])), files)
        self.assertEqual(self.rows("hinted"), [])

    def test_best_effort(self):
        clients = [lc(), *(be(id=f"be{i}", done_per_s=done) for i, done in
                           enumerate((40.0, 20.0, 0.0))), be(id="other", workload="bert")]
        tree = self.make(results(run(clients=clients)))
        self.assertEqual(self.rows("be0 | hinted")[0][2:], ["40.0", "40.0 %"])
        self.assertEqual(self.rows("be2 | hinted")[0][2:], ["0", "0.0 %"])
        self.assertEqual(self.rows("hinted"), [["hinted", f"{3600 / (3 * 2000):.3f}"],
                                               ["hinted", "-", "-", "140.0 %"]])
        words = "".join(tree.itertext())
        self.assertIn("3 × resnet152", words)
        self.assertNotIn("× bert", words)
        for values, wanted in (([5, 5, 5], 1), ([9, 0, 0], 1 / 3), ([0, 0], None),
                               ([1, None], None)):
            self.assertEqual(figures.jain(values), wanted)

    def test_killed(self):
        """A killed client has a count of kills, and no other figures. Others have no such
        column."""
        clients = [lc(), be(id="stays"), be(id="dies", killed=7, requests=None, done_per_s=None)]
        tree = self.make(results(run(clients=clients)))
        self.assertEqual(self.rows("dies | hinted")[0][2:], ["-", "-", "7"])
        self.assertEqual(self.rows("stays | hinted")[0][2:], ["80.0", "80.0 %"])
        heads = [th.text for th in tree.iter(f"{XHTML}th")]
        self.assertEqual(heads.count("killed"), 1)

    def test_nothing_is_guessed(self):
        clients = [lc(alone_us=None, offered=None, missed=None, requests=None, left=None,
                      samples="s.gz"), be(alone_per_s=None, done_per_s=None)]
        self.make(results(run(clients=clients)), {"s.gz": samples([600] * 30)})
        cells = self.rows("lc | hinted")[0]
        self.assertEqual([cells[2], cells[3], *cells[9:]], ["-", "600", "-", "-", "-", "-"])
        self.assertEqual(self.rows("be | hinted")[0][2:], ["-", "-"])
        self.assertIn("offered load -, alone -", self.text("report.md"))

    def test_what_it_took(self):
        """Nothing if nothing is known. Else figures of all clients, and once for each
        scheduler the device's energy and other CPU time."""
        self.make(results(run(clients=[lc(late_p50_us=None, late_p99_us=None, cpu_s=None),
                                       be()])))
        self.assertNotIn("Begun late", self.text("report.md"))
        self.assertNotIn("what it took", self.text("report.html"))
        more = {"energy_j": 2512.4, "rates_times": 1.25, "beside_cpu_s": 0.034}
        self.make(results({**run(clients=[lc(late_p50_us=0, late_p99_us=17.25, cpu_s=2.5),
                                          be(cpu_s=0.5)]), **more}, run(scheduler="slices")))
        self.assertEqual(self.rows("hinted | lc")[0][2:], ["0.0", "17.2", "25.0 %", "2,512",
                                                         "0.034"])
        self.assertEqual(self.rows("hinted | be")[0][2:], ["-", "-", "5.0 %"])
        self.assertEqual(self.rows("slices | lc")[0][2:], ["-", "-", "-", "-", "-"])
        self.assertIn("Rates are 1.25 times those of the plan's file.", self.text("report.md"))
        self.assertIn("Plan A: what it took", self.text("report.html"))

    def test_intervals(self):
        """One repetition has an interval; several have a range. None if a side is unbounded."""
        one = {"intervals_us": {"p50": [95, 110.5], "p90": [130, None]}, "samples": "lc.csv.gz"}
        files = {"lc.csv.gz": "intended_ns,start_ns,end_ns\n" +
                 "".join(f"{k}000000,{k}000000,{k}{100 + k % 50:03}000\n" for k in range(200))}
        self.make(results(run(clients=[lc(**one), be()])), files)
        cells = self.rows("lc | hinted")[0]
        self.assertEqual(cells[3:5], ["124 (95.0 – 110)", "144"])
        self.make(results(run(clients=[lc(**one), be()]),
                          run(number=1, clients=[lc(**one), be()])), files)
        self.assertEqual(self.rows("lc | hinted")[0][3:5], ["124", "144"])

    def test_loads(self):
        for name, wanted in (("A@0.5", ("A", 0.5)), ("A@B@90", ("A@B", 90.0)), ("A@", None),
                             ("A", None), ("@1", None), ("A@x", None), ("A@.", None),
                             ("A@nan", None), ("A@1e3", None), ("A@-1", None), ("A@²", None)):
            self.assertEqual(figures.load_of(name), wanted, name)


class Moments(unittest.TestCase):
    @staticmethod
    def of(latencies_ms, gap_ms=10):
        """A run with a request each 10 ms, and a device that was always busy."""
        at = [i * gap_ms * MS for i in range(len(latencies_ms))]
        end = [a + int(ms * MS) for a, ms in zip(at, latencies_ms)]
        client = read.Client("lc", True, "", "", *[None] * 13, {}, read.Samples(at, end, [], []),
                             None)
        return (read.Run("A", "s", 0, 1, None, [client], None, None, None),
                read.Timeline([0], [len(at) * gap_ms * MS], [0]))

    def test_slowest(self):
        run_, timeline = self.of([1] * 20 + [7] + [1] * 20)
        found = moments.slowest(run_, timeline)
        self.assertEqual((found.start, found.end), (190 * MS, 240 * MS))
        self.assertEqual(found.slowest, moments.Request("lc", 200 * MS, 207 * MS))

    def test_of_a_long_one_its_end(self):
        found = moments.slowest(*self.of([1] * 20 + [300] + [1] * 40))
        self.assertEqual((found.start, found.end), (455 * MS, 505 * MS))

    def test_quietest(self):
        found = moments.quietest(*self.of([3] * 10 + [2] * 5 + [3] * 10))
        self.assertEqual((found.start, found.end), (100 * MS, 150 * MS))
        self.assertEqual(moments.latency(found.slowest), 2 * MS)
        self.assertIsNone(moments.quietest(*self.of([1] * 5)))

    def test_nothing_there(self):
        run_, timeline = self.of([1] * 5)
        self.assertIsNone(moments.slowest(run_._replace(clients=[]), timeline))
        late = read.Timeline([9000 * MS], [9001 * MS], [0])
        self.assertIsNone(moments.slowest(run_, late))

    def test_within(self):
        timeline = read.Timeline([0, 5, 8, 20], [5, 8, 15, 30], [0, 1, 0, 0])
        moment = moments.Moment(3, 10, None)
        self.assertEqual(moments.within(timeline, 0, moment), [(3, 5), (8, 10)])
        self.assertEqual(moments.within(timeline, 1, moment), [(5, 8)])


# ---- the page ------------------------------------------------------------------------

def everything(names=iter(())):
    """Results with every kind of picture, and their files. @names: other names for clients,
    schedulers and plans."""
    def called(name):
        return next(names, name)
    draw = random.Random(5)
    a, b = called("lc one"), called("lc two")
    both = [called("be one"), called("be two")]
    schedulers = [called("driver"), called("learned"), called("hinted")]
    plan, workload = called("A"), called("vgg19")
    runs, files = [], {}
    for load in ("@0.2", "@0.5", "@0.9", ""):
        for s, scheduler in enumerate(schedulers):
            for number in range(2):
                clients = []
                for i, identity in enumerate((a, b)):
                    name = f"{load}.{s}.{number}.{i}.gz"
                    files[name] = samples([draw.uniform(500, 900) * (3 - s) for _ in range(50)])
                    clients.append(lc(id=identity, workload=workload, samples=name))
                clients += [be(id=identity, done_per_s=40.0 + i)
                            for i, identity in enumerate(both)]
                timeline = None
                if s and not load:
                    timeline = f"{s}.{number}.timeline.gz"
                    files[timeline] = busy([a, *both])
                runs.append(run(plan + load, scheduler, number, clients, timeline))
        runs.append({"plan": plan + load, "scheduler": called("MPS"),
                     "absent": called("not installed")})
    return results(*runs), files


def busy(clients):
    """A timeline in which each client has the device for 1 ms in turn."""
    quoted = ['"' + c.replace('"', '""') + '"' for c in clients]
    return "start_ns,end_ns,client\n" + "".join(
        f"{i * MS},{(i + 1) * MS - 1000},{quoted[i % len(quoted)]}\n" for i in range(500))


class Page(Report):
    def check_page(self):
        """Rules for every page."""
        text = self.text("report.html")
        parsed = Balanced(text)
        self.assertEqual((parsed.wrong, parsed.open), ([], []))
        self.assertFalse({"script", "link", "img", "iframe", "object", "image", "use", "base"}
                         & set(parsed.tags))
        for name, value in parsed.attributes:
            self.assertFalse(name.startswith("on") or name in ("src", "style", "srcset"), name)
            if name == "href":
                self.assertRegex(value, "^#")
            if value and name != "xmlns":
                self.assertNotIn("http", value)
        self.assertNotRegex(re.search("<style>(.*?)</style>", text, re.S).group(1),
                            r"url\(|@import|http")
        tree = ElementTree.fromstring(text)
        ids = [e.get("id") for e in tree.iter() if e.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertLessEqual({e.get("href")[1:] for e in tree.iter(f"{XHTML}a")}, set(ids))
        for one in tree.iter(f"{SVG}svg"):
            self.assertEqual(one.get("role"), "img")
            for tag, name in zip(("title", "desc"), one.get("aria-labelledby").split()):
                said = [e for e in one.iter(SVG + tag)]
                self.assertEqual([e.get("id") for e in said], [name])
                self.assertTrue(said[0].text.strip())
            for place in re.findall(r'="(-?[\d.]+|nan|inf)"', ElementTree.tostring(one).decode()):
                self.assertLess(abs(float(place)), 2000)
        for one in tree.iter(f"{XHTML}figure"):
            self.assertEqual([child.tag[len(XHTML):] for child in one],
                             ["h4", "div", "figcaption"])
        return tree

    def check_widths(self, tree):
        """Each row of a table is as wide as its head."""
        for table in tree.iter(f"{XHTML}table"):
            head = table.find(f"{XHTML}thead")
            wide = sum(int(th.get("colspan", 1)) for th in head[0])
            for row in table.find(f"{XHTML}tbody"):
                self.assertEqual(sum(int(cell.get("colspan", 1)) for cell in row), wide)

    def test_everything(self):
        self.make(*everything())
        tree = self.check_page()
        self.check_widths(tree)
        text = self.text("report.html")
        self.assertIn("color-scheme: light dark", text)
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertIn("@media print", text)
        self.assertIn("tabular-nums", text)
        self.assertEqual([h.text for h in tree.iter(f"{XHTML}h2")],
                         ["A: latency by load", "Plan A@0.2", "Plan A@0.5", "Plan A@0.9",
                          "Plan A"])
        self.assertEqual(len(list(tree.iter(f"{XHTML}table"))), 2 * 4)
        self.assertIn("absent: not installed", text)
        self.assertEqual(text.count("absent: not installed"), 4)

    def test_page_and_text_say_the_same(self):
        tree = self.make(*everything())
        words = self.text("report.md").replace(" (", " | ").replace(")", "")
        cells = [text for td in tree.iter(f"{XHTML}td") for text in td.itertext()]
        self.assertGreater(len(cells), 4 * 3 * (2 * 10 + 2 * 2 + 1))
        for cell in cells:
            self.assertIn(cell, words)

    def test_lines_and_lanes(self):
        tree = self.make(*everything())
        for client in (0, 1):
            fast = self.figure(tree, f"plan-3-fast-{client}")[0]
            lines = self.with_class(fast, "polyline", "line")
            self.assertEqual(len(lines), 3)
            self.assertEqual(len(self.with_class(fast, "g", "legend")), 3)
            self.assertEqual(len({e.get("stroke-dasharray") for e in lines}), 3)
            self.assertEqual(len({e.get("class") for e in lines}), 3)
            loads = self.figure(tree, f"load-0-{client}-p50")[0]
            self.assertEqual(len(self.with_class(loads, "polyline", "line")), 3)
            self.assertEqual(len(self.with_class(loads, "circle", "dot")), 9)
            # 50 samples have no p99.
            self.assertEqual(self.figure(tree, f"load-0-{client}-p99"), [])
        self.assertEqual(self.figure(tree, "plan-3-when-0-slowest"), [])
        for row in (1, 2):
            for which in ("slowest", "quiet"):
                lanes = self.figure(tree, f"plan-3-when-{row}-{which}")[0]
                self.assertEqual(len(self.with_class(lanes, "path", "lane")), 4)
                self.assertEqual(len(self.with_class(lanes, "path", "lc")), 2)
                self.assertEqual(len(self.with_class(lanes, "g", "mark")), 1)
        self.assertIn("No timeline to show: driver.", self.text("report.html"))

    def test_a_curve_is_the_samples(self):
        ordered = [1000 * i for i in range(1, 1001)]
        points = curves.curve(ordered)
        self.assertEqual(points[0], (1000, 0))
        self.assertEqual(points[-1], (990_000, 0.99))
        self.assertTrue(all(share == ns / 1_000_000 for ns, share in points[1:]))
        self.assertEqual(points, sorted(points))

    def test_hostile_names(self):
        found, files = everything(iter(HOSTILE))
        for name in ("suite", "command", "device", "machine", "driver", "date", "version"):
            found[name] = " ".join(HOSTILE)
        # A name of a timeline is UTF-8, so half a character is not allowed.
        files = {name: text.encode("utf-8", "replace") for name, text in files.items()}
        tree = self.make(found, files)
        self.check_page()
        words = "".join(tree.itertext())
        for name in HOSTILE:
            self.assertIn(re.sub("[\0-\x1f\u202e\ud800]", "\ufffd", name), words)
        for name in ("report.html", "report.md"):
            self.assertFalse(re.findall("[\0-\x08\x0b-\x1f\x7f\u202e]|<script", self.text(name)))
        self.assertIn(r"one\|two", self.text("report.md"))
        widths = [len(re.findall(r"(?<!\\)\|", line))
                  for line in self.text("report.md").splitlines() if line.startswith("|")]
        self.assertLessEqual(set(widths), {3, 14, 5})

    def test_tokens(self):
        """The first counts from its request's due time, the others from the one before."""
        decoder = lc(samples="t.gz", tokens=3, alone_first_us=100.0, alone_next_us=20.0)
        self.make(results(run(clients=[decoder, lc(id="plain", samples="s.gz")])),
                  {"t.gz": tokens(range(1, 2001), 40), "s.gz": samples([500] * 30)})
        self.check_page()
        rows = self.rows("lc")
        self.assertEqual(rows[1][2:], ["1,000", "1,980", "10.0", "19.8", "40.0", "40.0", "2.00",
                                       "2.00"])
        self.assertEqual(len(self.rows("plain")), 1)
        self.assertEqual(self.text("report.html").count("token after p50"), 2)
        # One without a second token has no such figures.
        one = lc(samples="t.gz", tokens=1, alone_first_us=100.0, alone_next_us=None)
        self.make(results(run(clients=[one])), {"t.gz": "intended_ns,start_ns,end_ns,tokens_ns\n"
                                                + "0,0,9000,8000\n" * 30})
        self.assertEqual(self.rows("lc")[1][2:], ["8.0", "-", "0.08", "-", "-", "-", "-", "-"])

    def test_without_samples(self):
        tree = self.make(results(run(), {"plan": "B", "scheduler": "x", "absent": "none"}))
        self.check_page()
        self.assertEqual(list(tree.iter(f"{SVG}svg")), [])
        words = "".join(tree.itertext())
        self.assertIn("Too few samples for a picture: lc.", words)
        self.assertIn("No timeline to show: hinted.", words)
        self.assertIn("Nothing was run.", words)

    def test_extremes(self):
        """Scales of no length, and of many decades."""
        for values in ([0] * 30, [500] * 30, [1, 5e8] * 30, [500, 500.001] * 15):
            self.make(results(run("A@1", clients=[lc(samples="s.gz")], timeline="t.gz"),
                              run("A@0", clients=[lc(samples="s.gz")])),
                      {"s.gz": samples(values), "t.gz": busy(["lc"])})
            self.check_page()

    def test_many_schedulers(self):
        runs = [run(scheduler=f"s{i}", clients=[lc(samples="s.gz")]) for i in range(40)]
        tree = self.make(results(*runs), {"s.gz": samples([500] * 30)})
        looks = {(e.get("class"), e.get("stroke-dasharray"))
                 for e in self.with_class(tree, "polyline", "line")}
        self.assertEqual(len(looks), 40)

    def test_ticks(self):
        draw = random.Random(9)
        for _ in range(500):
            low = 10 ** draw.uniform(-3, 6)
            high = low * (1 + 10 ** draw.uniform(-2, 5))
            for ticks in (svg.log_ticks(low, high), svg.linear_ticks(low, high)):
                self.assertTrue(2 <= len(ticks) <= 7, (low, high, ticks))
                self.assertEqual(ticks, sorted(set(ticks)))
                self.assertTrue(low <= ticks[0] * (1 + 1e-9) and ticks[-1] <= high * (1 + 1e-9))

    def test_same_input_same_bytes(self):
        fill(self.folder, *everything())
        seen = set()
        for seed in ("0", "1", "2"):
            done = subprocess.run(
                [BENCH, "report", self.folder], text=True, capture_output=True, timeout=300,
                env=dict(os.environ, PYTHONHASHSEED=seed, TZ=f"X{seed}", LC_ALL="C"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split(), [self.path("report.html"),
                                                   self.path("report.md")])
            seen.add((self.text("report.html"), self.text("report.md")))
        self.assertEqual(len(seen), 1)


# ---- colours -------------------------------------------------------------------------

# Colours as seen by people with red-green blindness (Machado, Oliveira, Fernandes 2009), for
# linear light; and by others.
SIGHTS = (((1, 0, 0), (0, 1, 0), (0, 0, 1)),
          ((.367322, .860646, -.227968), (.280085, .672501, .047413),
           (-.011820, .042940, .968881)),
          ((.152286, 1.052583, -.204868), (.114503, .786281, .099216),
           (-.003882, -.048116, 1.051998)))


def light(colour):
    parts = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return [p / 12.92 if p <= .04045 else ((p + .055) / 1.055) ** 2.4 for p in parts]


def times(matrix, vector):
    return [min(max(sum(a * b for a, b in zip(row, vector)), 0), 1) for row in matrix]


def lab(linear):
    x, y, z = times(((.4339, .3762, .1899), (.2126, .7152, .0722), (.0177, .1095, .8728)), linear)
    x, y, z = (t ** (1 / 3) if t > .008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class Colours(unittest.TestCase):
    def test_stand_out(self):
        with open(os.path.join(TOP, "bench/report/style.css"), encoding="utf-8") as f:
            schemes = re.findall(r":root \{(.*?)\}", f.read(), re.S)[:2]
        for scheme in schemes:
            named = dict(re.findall(r"--(\w+): (#\w{6});", scheme))
            bright = {n: times(((.2126, .7152, .0722),), light(c))[0] for n, c in named.items()}
            lines = [f"s{i}" for i in range(svg.COLOURS)]
            for name, least in (*((n, 3) for n in lines), ("ink", 7), ("soft", 4.5), ("lc", 3),
                                ("be", 3)):
                low, high = sorted((bright[name], bright["ground"]))
                self.assertGreaterEqual((high + .05) / (low + .05), least, name)
            for sight in SIGHTS:
                seen = [lab(times(sight, light(named[n]))) for n in lines]
                for i, one in enumerate(seen):
                    for other in seen[:i]:
                        apart = sum((a - b) ** 2 for a, b in zip(one, other)) ** .5
                        self.assertGreater(apart, 15, (one, other))


# ---- invalid input -------------------------------------------------------------------

def at(found, path, value):
    """A copy of @found with another value; DROP removes it."""
    found = copy.deepcopy(found)
    place = found
    for key in path[:-1]:
        place = place[key]
    if value is DROP:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return found


def places(value, path=()):
    """The paths of all values in @value."""
    if path:
        yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], path + (key,))


DROP = object()
CLIENT = ("runs", 0, "clients", 0)
WRONG = (
    (("schema_version",), 2, "schema_version: found 2, 1 is wanted"),
    (("schema_version",), True, "schema_version: found true, 1 is wanted"),
    (("suite",), DROP, "suite: found nothing, text is wanted"),
    (("seed",), -1, "seed: found -1, a whole number of 0 or more is wanted"),
    (("date",), None, "date: found null, text is wanted"),
    (("runs",), [], "runs: found [], a list of at least one is wanted"),
    (("runs",), {"a": 1}, 'runs: found {"a": 1}, a list of at least one is wanted'),
    (("runs", 0), "A", 'runs[0]: found "A", an object is wanted'),
    (("runs", 0, "plan"), "", 'runs[0].plan: found "", a name is wanted'),
    (("runs", 0, "run"), 0.5, "runs[0].run: found 0.5, a whole number of 0 or more is wanted"),
    (("runs", 0, "run"), False, "runs[0].run: found false, a whole number of 0 or more"),
    (("runs", 0, "run"), 1, "runs[1].run: found 1, a number that no other run of this plan"),
    (("runs", 0, "seconds"), float("nan"), "runs[0].seconds: found NaN, a number"),
    (("runs", 0, "absent"), 3, "runs[0].absent: found 3, a name is wanted"),
    (("runs", 0, "timeline"), DROP, "runs[0].timeline: found nothing, the name of a file"),
    (("runs", 0, "timeline"), "/etc/x", 'runs[0].timeline: found "/etc/x", the name of a file'),
    ((*CLIENT, "intervals_us"), [], "clients[0].intervals_us: found [], an object is wanted"),
    ((*CLIENT, "intervals_us"), {"p50": [1]}, "intervals_us.p50: found [1], a low end and a high"),
    ((*CLIENT, "intervals_us"), {"p50": [2, 1]}, "found [2, 1], a low end and a high one, or null"),
    ((*CLIENT, "intervals_us"), {"p50": [1, "x"]}, 'p50[1]: found "x", a number of 0 or more'),
    (("runs", 0, "clients"), None, "runs[0].clients: found null, a list of at least one"),
    (CLIENT + ("id",), "be", 'runs[0].clients[1].id: found "be", a name that no other client'),
    (CLIENT + ("class",), "rt", 'runs[0].clients[0].class: found "rt", lc or be is wanted'),
    (CLIENT + ("class",), "be", 'runs[1].clients[0].class: found "lc", "be", as in the plan\'s'),
    (CLIENT + ("load",), "x", 'runs[1].clients[0].load: found "periodic 100/s", "x", as in'),
    (CLIENT + ("offered",), "0.1", 'runs[0].clients[0].offered: found "0.1", a number of 0'),
    (CLIENT + ("alone_us",), 0, "runs[0].clients[0].alone_us: found 0, a number above 0"),
    (CLIENT + ("alone_per_s",), 1e300, "runs[0].clients[0].alone_per_s: found 1e+300, a number"),
    (CLIENT + ("requests",), 10 ** 400, "runs[0].clients[0].requests: found 1000"),
    (CLIENT + ("tokens",), None, "runs[0].clients[0].tokens: found null, a whole number"),
    (CLIENT + ("tokens",), 3, "runs[0].clients[0].alone_first_us: found nothing, a number above"),
    (CLIENT + ("samples",), "../s", 'runs[0].clients[0].samples: found "../s", the name of a'),
    (CLIENT + ("samples",), "", 'runs[0].clients[0].samples: found "", the name of a file'),
    (CLIENT + ("samples",), "\ud800", 'samples: found "\\ud800", the name of a file'),
    (CLIENT + ("samples",), "a\0b", 'samples: found "a\\u0000b", the name of a file'),
)
HEAD = "intended_ns,start_ns,end_ns\n"
TOKENS = "intended_ns,start_ns,end_ns,tokens_ns\n"
LANES = "start_ns,end_ns,client\n"
BROKEN = (
    ("samples", b"", ":1: found \"\", intended_ns,start_ns,end_ns is wanted"),
    ("samples", "a,b\n1,2\n", ":1: found \"a,b\", intended_ns,start_ns,end_ns is wanted"),
    ("samples", HEAD + "1,2,3\n1,2\n", ':3: found "1,2", three whole numbers of ns is wanted'),
    ("samples", HEAD + "1,2,-3\n", ':2: found "1,2,-3", three whole numbers'),
    ("samples", HEAD + "1,2,3_0\n", ':2: found "1,2,3_0", three whole numbers'),
    ("samples", HEAD + "1,2," + "9" * 30 + "\n", ":2: found"),
    ("samples", HEAD.encode() + b"1,2,\xff\n", ":2: found"),
    ("samples", HEAD + "5,5,4\n", ":2: found \"5,5,4\", a request that"),
    ("samples", HEAD + "5,6,7\n4,6,7\n", ":3: found \"4,6,7\", a request that"),
    ("tokens", HEAD + "1,2,3\n", ':1: found "intended_ns,start_ns,end_ns", intended_ns,start_ns,'
                                 "end_ns,tokens_ns is wanted"),
    ("tokens", TOKENS + "1,2,9\n", ":2: found \"1,2,9\", three whole numbers of ns, and tokens',"),
    ("tokens", TOKENS + "1,2,9,3 4\n", ":2: found \"1,2,9,3 4\", one with 3 tokens between its"),
    ("tokens", TOKENS + "1,2,9,3 4 3\n", ":2: found \"1,2,9,3 4 3\", one with 3 tokens"),
    ("tokens", TOKENS + "4,4,9,3 4 5\n", ":2: found \"4,4,9,3 4 5\", one with 3 tokens"),
    ("tokens", TOKENS + "4,4,9,5 6 10\n", ":2: found \"4,4,9,5 6 10\", one with 3 tokens"),
    ("tokens", TOKENS + "4,4,9,5 6 x\n", ":2: found \"4,4,9,5 6 x\", one with 3 tokens"),
    ("timeline", "a\n", ':1: found "a", start_ns,end_ns,client is wanted'),
    ("timeline", LANES + "1,2,who\n", ':2: found "1,2,who", two whole numbers of ns and one'),
    ("timeline", LANES + "1,2\n", ':2: found "1,2", two whole numbers of ns and one'),
    ("timeline", LANES + "3,2,lc\n", ':2: found "3,2,lc", a stretch that ends after it began'),
    ("timeline", LANES + '1,2,"lc\n', "CSV is wanted"),
    ("timeline", LANES.encode() + b"1,2,\xff\n", ":2: found"),
)


class Refuses(Report):
    def refused(self, named, says, status=2):
        got, out, err = main_of(self.folder)
        self.assertEqual((got, out), (status, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith(f"gpreempt-bench: {self.path(named)}:"), err)
        self.assertIn(says, err)
        self.assertFalse(os.path.isfile(self.path("report.html")))

    def test_run_json(self):
        good = results(run(), run(number=1))
        for path, value, says in WRONG:
            with self.subTest(path=path, value=value):
                fill(self.folder, at(good, path, value))
                self.refused("run.json", says)

    def test_anything_anywhere(self):
        """Every value of a file, replaced by another: a page, or one line."""
        decoder = lc(samples="k.gz", tokens=3, alone_first_us=1, alone_next_us=2)
        good = results(run("A@1", clients=[lc(samples="s.gz"), be(), be(id="other")],
                           timeline="t.gz"), run("A@2", clients=[lc(samples="s.gz")]),
                       run("B", clients=[decoder]),
                       {"plan": "A@2", "scheduler": "none", "absent": "why"})
        fill(self.folder, good, {"s.gz": samples([500] * 30), "t.gz": busy(["lc", "be"]),
                                "k.gz": tokens([500] * 30, 20)})
        seen = set()
        for path in places(good):
            for value in (None, True, -1, 0, 1e15, 0.5, "", "x", "A@1", "s.gz", [], {}, [1], DROP):
                fill(self.folder, at(good, path, value))
                status, _, err = main_of(self.folder)
                self.assertIn((status, err.count("\n")), ((0, 0), (2, 1)), (path, value, err))
                seen.add(status)
                if not status:
                    ElementTree.fromstring(self.text("report.html"))
        self.assertEqual(seen, {0, 2})

    def test_no_json(self):
        self.refused("run.json", "No such file or directory")
        for text, says in ((b"", ":1: "), (b"[", ":1: "), (b'{"a":\n}', ":2: "),
                           (b"\xff\xfe\xfd", "UTF-8 is wanted"), (b"3", "found 3, an object is"),
                           (b"[" * 100_000, "nested too deep"),
                           (b'{"schema_version": 1' + b"0" * 5000 + b"}", "too long a number")):
            with open(self.path("run.json"), "wb") as f:
                f.write(text)
            self.refused("run.json", says)

    def test_files(self):
        decoder = lc(id="llm", samples="k.gz", tokens=3, alone_first_us=1, alone_next_us=2)
        found = results(run(clients=[lc(samples="s.gz"), decoder], timeline="t.gz"))
        good = {"s.gz": samples([500] * 30), "t.gz": busy(["lc"]), "k.gz": tokens([500] * 30, 9)}
        files = {"samples": "s.gz", "timeline": "t.gz", "tokens": "k.gz"}
        for which, text, says in BROKEN:
            with self.subTest(text=text[:80]):
                name = files[which]
                fill(self.folder, found, {**good, name: text})
                self.refused(name, says)

    def test_no_gzip(self):
        found = results(run(clients=[lc(samples="s.gz")], timeline="t.gz"))
        good = {"s.gz": samples([500] * 3000), "t.gz": busy(["lc"])}
        for name, text in good.items():
            whole = packed(text)
            spoilt = bytearray(whole)
            spoilt[len(whole) // 2] ^= 0x55
            for data in (b"intended_ns", whole[:-20], whole[:5], whole + b"more", bytes(spoilt)):
                fill(self.folder, found, good)
                with open(self.path(name), "wb") as f:
                    f.write(data)
                self.refused(name, " is wanted")
            os.unlink(self.path(name))
            self.refused(name, "No such file or directory")

    def test_names_with_newlines(self):
        self.folder = self.path("two\nlines")
        os.mkdir(self.folder)
        status, _, err = main_of(self.folder)
        self.assertEqual((status, err.count("\n")), (2, 1))
        self.assertIn("two\ufffdlines/run.json: No such file", err)

    def test_cannot_be_written(self):
        fill(self.folder, results(run()))
        os.mkdir(self.path("report.html"))
        self.refused("report.html", "Is a directory", 1)


# ---- the program ---------------------------------------------------------------------

class Program(Report):
    def bench(self, *args, program=BENCH, **env):
        return subprocess.run([program, *args], text=True, capture_output=True, timeout=300,
                              env=dict(os.environ, **env))

    def test_refusal_is_its_own(self):
        done = self.bench("report", "/none/such")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "gpreempt-bench: /none/such/run.json: No such file or "
                         "directory\n")

    def test_no_python(self):
        done = self.bench("report", self.folder, PATH="/none")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr,
                         "gpreempt-bench: report: python3: No such file or directory\n")

    def test_where_it_is_installed(self):
        """It finds itself beside the program anywhere; one line if it is missing."""
        away = os.path.join(self.folder, "bin")
        os.mkdir(away)
        program = shutil.copy(BENCH, away)
        done = self.bench("report", "/none/such", program=program)
        if done.returncode != 2:        # else it is installed on this machine
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertRegex(done.stderr, r"^gpreempt-bench: report: cannot read /.*/report.py: "
                             r"No such file or directory; run make install")
        shutil.copytree(os.path.join(os.path.dirname(BENCH), "../lib/gpreempt/bench"),
                        os.path.join(self.folder, "lib/gpreempt/bench"))
        fill(self.folder, results(run()))
        done = self.bench("report", self.folder, program=program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        left = os.listdir(os.path.join(self.folder, "lib/gpreempt/bench/report"))
        self.assertNotIn("__pycache__", left)


if __name__ == "__main__":
    unittest.main()
