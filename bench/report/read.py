# SPDX-License-Identifier: Apache-2.0
"""Read a run's directory: run.json, and the files that it names.

An error is refused in one line: the file, the place, the value there and a right one. There
are no defaults: an unknown value is None.
"""
import array
import csv
import gzip
import json
import os
import zlib
from collections import namedtuple

SCHEMA_VERSION = 1
NUMBER_MAX = 1e15
DIGITS_MAX = 18             # an array of 64 bits takes them in any case
SAMPLES_HEADER = b"intended_ns,start_ns,end_ns"
TOKENS_HEADER = SAMPLES_HEADER + b",tokens_ns"
TIMELINE_HEADER = ["start_ns", "end_ns", "client"]
ABOUT = ("suite", "command", "version", "device", "machine", "driver", "date")

Results = namedtuple("Results", "about entries")
Absent = namedtuple("Absent", "plan scheduler why")
# energy_j, beside_cpu_s, rates_times, and of a client cpu_s and late_...: None where the run says nothing.
Run = namedtuple("Run", "plan scheduler number seconds timeline clients rates_times energy_j "
                        "beside_cpu_s")
Client = namedtuple("Client", "id lc workload load offered alone_us alone_per_s requests "
                    "left done_per_s missed tokens alone_first_us alone_next_us late_p50_us "
                    "late_p99_us cpu_s intervals samples killed")
# killed: how often; None: it never is. intervals, of one: {"p99": (low, high)}, us, in which it lies; no high: nothing bounds it.
# Of each request, in order of intention; and how long its first token took, and each of
# the others after the one before.
Samples = namedtuple("Samples", "intended end first next")
# Of each stretch, in order of its start; @who: the client's index in the run.
Timeline = namedtuple("Timeline", "start end who")


class Refused(Exception):
    """A wrong file; the message is one line."""


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_inside(name):
    """Whether it may be the name of a file, and one below where it is looked for."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return (name != "" and "\0" not in name and not os.path.isabs(name)
            and ".." not in name.split("/"))


class Place:
    """A value of a JSON file, and where in the file it is."""

    MISSING = object()

    def __init__(self, path, where, value):
        self.path, self.where, self.value = path, where, value

    def wrong(self, wanted):
        where = f"{self.where}: " if self.where else ""
        found = "nothing" if self.value is Place.MISSING else shown(self.value)
        return Refused(f"{self.path}: {where}found {found}, {wanted} is wanted")

    def field(self, name):
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        where = f"{self.where}.{name}" if self.where else name
        return Place(self.path, where, self.value.get(name, Place.MISSING))

    def items(self):
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong("a list of at least one")
        return [Place(self.path, f"{self.where}[{i}]", value)
                for i, value in enumerate(self.value)]

    def has(self, name):
        return self.field(name).value is not Place.MISSING

    def text(self):
        if not isinstance(self.value, str):
            raise self.wrong("text")
        return self.value

    def name(self):
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a name")
        return self.value

    def whole(self):
        if not self._is_number() or self.value != int(self.value):
            raise self.wrong("a whole number of 0 or more")
        return int(self.value)

    def number(self):
        """None where the run did not know it."""
        if self.value is not None and not self._is_number():
            raise self.wrong("a number of 0 or more, or null,")
        return self.value

    def positive(self):
        if self.value is not None and (not self._is_number() or not self.value):
            raise self.wrong("a number above 0, or null,")
        return self.value

    def word(self, *words):
        if self.value not in words:
            raise self.wrong(" or ".join(words))
        return self.value

    def file(self):
        """The path of a file of the same directory; None where there is none. Results
        may come from elsewhere, so a name leads nowhere else."""
        if self.value is None:
            return None
        if not isinstance(self.value, str) or not is_inside(self.value):
            raise self.wrong("the name of a file in this directory, or null,")
        return os.path.join(os.path.dirname(self.path), self.value)

    def _is_number(self):
        return (isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
                and 0 <= self.value < NUMBER_MAX)


# ---- run.json ------------------------------------------------------------------------

def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise Refused(f"{path}:{error.lineno}: {error.msg}") from None
    except UnicodeDecodeError:
        raise Refused(f"{path}: found bytes that are no text, UTF-8 is wanted") from None
    except (RecursionError, ValueError):
        raise Refused(f"{path}: found what is nested too deep, or too long a number, a run's "
                      "results are wanted") from None


def number_if_there(place, name):
    return place.field(name).number() if place.has(name) else None


def interval(place):
    ends = place.items()
    if len(ends) != 2:
        raise place.wrong("a low end and a high one")
    low, high = (end.number() for end in ends)
    if low is None or (high is not None and high < low):
        raise place.wrong("a low end and a high one, or null,")
    return low, high


def intervals(place):
    if not place.has("intervals_us"):
        return {}
    of = place.field("intervals_us")
    if not isinstance(of.value, dict):
        raise of.wrong("an object")
    return {name: interval(of.field(name)) for name in of.value}


def client(place):
    lc = place.field("class").word("lc", "be") == "lc"
    path = place.field("samples").file()
    tokens = place.field("tokens").whole() if place.has("tokens") else 0
    return Client(
        place.field("id").name(), lc, place.field("workload").text(), place.field("load").text(),
        place.field("offered").number(), place.field("alone_us").positive(),
        place.field("alone_per_s").positive(), place.field("requests").number(),
        place.field("left").number(),
        place.field("done_per_s").number(), place.field("missed").number(),
        tokens, *(place.field(name).positive() if tokens else None
                  for name in ("alone_first_us", "alone_next_us")),
        *(number_if_there(place, name) for name in ("late_p50_us", "late_p99_us", "cpu_s")),
        intervals(place),
        # Read only figures that are shown: of best-effort no latency is.
        samples(path, tokens) if path and lc else None,
        number_if_there(place, "killed"))


def clients(place):
    found = []
    for at in place.items():
        found.append(client(at))
        if found[-1].id in [known.id for known in found[:-1]]:
            raise at.field("id").wrong("a name that no other client has")
    return found


def entry(place):
    plan, scheduler = place.field("plan").name(), place.field("scheduler").name()
    if place.has("absent"):
        return Absent(plan, scheduler, place.field("absent").name())
    return Run(plan, scheduler, place.field("run").whole(), place.field("seconds").number(),
               place.field("timeline").file(), clients(place.field("clients")),
               *(number_if_there(place, name)
                 for name in ("rates_times", "energy_j", "beside_cpu_s")))


def check_once(place, run, before):
    for other in before:
        if other[:3] == run[:3]:
            raise place.field("run").wrong("a number that no other run of this plan and "
                                           "scheduler has")


def check_alike(place, run, before):
    """A client is the same in all runs of a plan: one column is made of them."""
    known = {c.id: c for other in before if other.plan == run.plan for c in other.clients}
    for at, mine in zip(place.field("clients").items(), run.clients):
        first = known.get(mine.id, mine)
        for name, was in (("class", "lc" if first.lc else "be"), ("workload", first.workload),
                          ("load", first.load)):
            if at.field(name).value != was:
                raise at.field(name).wrong(f"{shown(was)}, as in the plan's other runs,")
        if mine.tokens != first.tokens:
            raise at.field("tokens").wrong(f"{first.tokens}, as in the plan's other runs,")


def results(folder):
    """The Results in the directory @folder, samples included."""
    path = os.path.join(folder, "run.json")
    top = Place(path, "", load(path))
    version = top.field("schema_version")
    if version.value != SCHEMA_VERSION or version.value is True:
        raise version.wrong(str(SCHEMA_VERSION))
    about = {name: top.field(name).text() for name in ABOUT}
    about["seed"] = top.field("seed").whole()
    entries, runs = [], []
    for at in top.field("runs").items():
        entries.append(entry(at))
        if isinstance(entries[-1], Run):
            check_once(at, entries[-1], runs)
            check_alike(at, entries[-1], runs)
            runs.append(entries[-1])
    return Results(about, entries)


# ---- the files that it names ---------------------------------------------------------

def unpacked(path, read):
    """The result of @read of the unpacked file."""
    try:
        with gzip.open(path, "rb") as f:
            return read(f)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise Refused(f"{path}: found no whole gzip file, one with CSV is wanted") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None


def bad_line(path, number, line, wanted):
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return Refused(f"{path}:{number}: found {shown(text)}, {wanted} is wanted")


def is_ns(cell):
    return cell.isdigit() and cell.isascii() and len(cell) <= DIGITS_MAX


def add_tokens(found, intended, end, cell):
    """Whether they can be a request's tokens."""
    came = cell.split(b" ")
    if not all(map(is_ns, came)):
        return False
    came = [intended, *map(int, came)]
    took = [after - before for before, after in zip(came, came[1:])]
    found.first.append(took[0])
    found.next.extend(took[1:])
    return min(took) >= 0 and came[-1] <= end


def samples(path, tokens):
    """@tokens: of each request, 0 where there are none."""
    def read(f):
        found = Samples(*(array.array("q") for _ in Samples._fields))
        header, wanted = f.readline().rstrip(b"\r\n"), TOKENS_HEADER if tokens else SAMPLES_HEADER
        if header != wanted:
            raise bad_line(path, 1, header, wanted.decode())
        last = 0
        for number, line in enumerate(f, 2):
            line = line.rstrip(b"\r\n")
            cells = line.split(b",")
            if len(cells) != (4 if tokens else 3) or not all(map(is_ns, cells[:3])):
                raise bad_line(path, number, line, "three whole numbers of ns"
                               + (", and tokens'," if tokens else ""))
            intended, start, end = map(int, cells[:3])
            if intended < last or end < intended or end < start:
                raise bad_line(path, number, line, "a request that comes after the one before "
                               "it and ends after it began")
            if tokens and (cells[3].count(b" ") != tokens - 1
                           or not add_tokens(found, intended, end, cells[3])):
                raise bad_line(path, number, line, f"one with {tokens} tokens between its "
                               "beginning and its end, in their order,")
            last = intended
            found.intended.append(intended)
            found.end.append(end)
        return found
    return unpacked(path, read)


def lines(path, f):
    for number, line in enumerate(f, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            raise bad_line(path, number, line, "UTF-8") from None


def timeline(run):
    """The Timeline of a run that has one."""
    place = {c.id: i for i, c in enumerate(run.clients)}

    def read(f):
        rows = csv.reader(lines(run.timeline, f), strict=True)
        found = []
        header = next(rows, [])
        if header != TIMELINE_HEADER:
            raise bad_line(run.timeline, 1, ",".join(header), ",".join(TIMELINE_HEADER))
        for row in rows:
            if len(row) != 3 or not is_ns(row[0]) or not is_ns(row[1]) or row[2] not in place:
                raise bad_line(run.timeline, rows.line_num, ",".join(row),
                               "two whole numbers of ns and one of the run's clients")
            if int(row[1]) < int(row[0]):
                raise bad_line(run.timeline, rows.line_num, ",".join(row),
                               "a stretch that ends after it began")
            found.append((int(row[0]), int(row[1]), place[row[2]]))
        found.sort()
        return Timeline(*(array.array("q", column) for column in zip(*found))) if found else None

    try:
        return unpacked(run.timeline, read)
    except csv.Error as error:
        raise Refused(f"{run.timeline}: {error}, CSV is wanted") from None
