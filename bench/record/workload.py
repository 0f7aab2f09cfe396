# SPDX-License-Identifier: Apache-2.0
"""A workload file: the kernels of one request of a program, and how long it takes alone.

Pure, and strict on both sides: checks apply to writing and reading, so that it never makes a
file that a reader would refuse.
"""
import json
import math

SCHEMA_VERSION = 1
WITH_TOKENS = 2     # the version that has one field more: a decoder's
COLUMNS = ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"]
FIELDS = ["schema_version", "name", "what", "device", "driver", "solo_us", "columns", "kernels"]
TOKENS = "tokens"
TEXTS = ["name", "what", "device", "driver"]
MOST_KERNELS = 100_000
LONGEST_US = 1e6
# The columns that are whole numbers, from which value to which.
WHOLE = {"blocks": (1, 2**31 - 1), "threads": (1, 1024), "registers": (0, 255),
         "shared_bytes": (0, 262_144)}


class RecordError(Exception):
    """A recording failed; the message is one line."""


def us(ns):
    """Microseconds, to the nanosecond that the trace's clock has."""
    return round(ns / 1000, 3)


def make(request, name, what, device, driver, solo_ns):
    """The workload of @request, a reduce.Request.

    No trace says how long it takes from asking to the first kernel: the asking is on another
    clock. It is the time of the request alone, without the profiler, less all that follows. So
    it includes the time from the last kernel to its end seen. Tracing makes gaps longer, so
    there may be nothing left: then it is 0.
    """
    rest_ns = sum(gap + length for gap, length, *_ in request.kernels)
    kernels = [[us(gap), us(length), *shape] for gap, length, *shape in request.kernels]
    kernels[0][0] = us(max(0, solo_ns - rest_ns))
    if request.overlapped_ns:
        what += f", overlapped_us {us(request.overlapped_ns)}"
    found = {"schema_version": SCHEMA_VERSION, "name": name, "what": what, "device": device,
             "driver": driver, "solo_us": us(solo_ns), "columns": list(COLUMNS),
             "kernels": kernels}
    check(found, name)
    return found


def decode(prefill, step, tokens, name):
    """The workload of a request that gives @tokens tokens: the first with the end of the workload
    @prefill, each other with that of one @step. The time before a step's first kernel is the
    launch and the wait for the token before: a replay waits and launches, too."""
    for field in ("device", "driver"):
        if prefill[field] != step[field]:
            raise RecordError(f"{step['name']}: {field} {step[field]} is not "
                              f"{prefill['name']}'s, {prefill[field]}")
    again = [[0.0, *step["kernels"][0][1:]], *step["kernels"][1:]]
    first = len(prefill["kernels"])
    found = {**prefill, "schema_version": WITH_TOKENS, "name": name,
             "what": f"{prefill['what']}; {tokens} tokens",
             "solo_us": round(prefill["solo_us"] + (tokens - 1) * step["solo_us"], 3),
             "kernels": prefill["kernels"] + again * (tokens - 1),
             TOKENS: [first + n * len(again) for n in range(tokens)]}
    check(found, name)
    return found


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_kernel(row, where):
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise RecordError(f"{where}: not a list of {len(COLUMNS)}")
    found = dict(zip(COLUMNS, row))
    gap, length = found["gap_us"], found["length_us"]
    if not is_number(gap) or not 0 <= gap <= LONGEST_US:
        raise RecordError(f"{where}: gap_us {gap} is not 0 to {LONGEST_US:.0f}")
    if not is_number(length) or not 0 < length <= LONGEST_US:
        raise RecordError(f"{where}: length_us {length} is not above 0, to {LONGEST_US:.0f}")
    for column, (least, most) in WHOLE.items():
        value = found[column]
        if type(value) is not int or not least <= value <= most:
            raise RecordError(f"{where}: {column} {value} is not a whole number from {least} "
                              f"to {most}")


def check_tokens(tokens, kernels, where):
    """So many kernels are done when each is out."""
    if not isinstance(tokens, list) or not tokens:
        raise RecordError(f"{where}: {TOKENS} is no list of at least one")
    last = 0
    for number, done in enumerate(tokens, 1):
        if type(done) is not int or not last < done <= kernels:
            raise RecordError(f"{where}: token {number} is not after {last + 1} to {kernels} "
                              "kernels")
        last = done


def fields(found):
    """Those of its version."""
    return FIELDS + [TOKENS] if found.get("schema_version") == WITH_TOKENS else FIELDS


def check(found, where):
    """Raise RecordError, with @where in front, unless @found is a workload."""
    if not isinstance(found, dict) or sorted(found) != sorted(fields(found)):
        raise RecordError(f"{where}: the fields are not {', '.join(FIELDS)}, nor these and "
                          f"{TOKENS}")
    if (type(found["schema_version"]) is not int
            or found["schema_version"] not in (SCHEMA_VERSION, WITH_TOKENS)):
        raise RecordError(f"{where}: schema_version is not {SCHEMA_VERSION} or {WITH_TOKENS}")
    for field in TEXTS:
        if not isinstance(found[field], str) or not found[field]:
            raise RecordError(f"{where}: {field} is no text")
    if not is_number(found["solo_us"]) or not 0 < found["solo_us"] < math.inf:
        raise RecordError(f"{where}: solo_us is not above 0")
    if found["columns"] != COLUMNS:
        raise RecordError(f"{where}: columns are not {', '.join(COLUMNS)}")
    kernels = found["kernels"]
    if not isinstance(kernels, list) or not 1 <= len(kernels) <= MOST_KERNELS:
        raise RecordError(f"{where}: not 1 to {MOST_KERNELS} kernels")
    for number, row in enumerate(kernels, 1):
        check_kernel(row, f"{where}: kernel {number}")
    if TOKENS in found:
        check_tokens(found[TOKENS], len(kernels), where)


def text(found):
    """As JSON with a kernel in a line: so a diff can be read."""
    head = [f"  {json.dumps(field)}: {json.dumps(found[field])},\n"
            for field in fields(found) if field != "kernels"]
    rows = ",\n".join(f"    {json.dumps(row)}" for row in found["kernels"])
    return "{\n" + "".join(head) + f'  "kernels": [\n{rows}\n  ]\n}}\n'


def write(path, found):
    with open(path, "w") as f:
        f.write(text(found))


def read(path):
    try:
        with open(path) as f:
            found = json.load(f)
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: {error}") from error
    check(found, path)
    return found
