#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that the public headers document all of their API in kernel-doc form.

A call or an op has a summary, each parameter, Context, Since and, unless it is
void, Return. A struct, enum or function type has a summary and each member.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "docs"))
import kerneldoc  # noqa: E402

# A header, and the version map whose first node lists its calls.
HEADERS = (("include/gpreempt/class.h", None),
           ("include/gpreempt/gpreempt.h", "client/libgpreempt.map"),
           ("include/gpreempt/hal.h", None),
           ("include/hsaq.h", "libhsaq/libhsaq.map"))


def exported(path):
    """The calls in the first node of a version map."""
    with open(path, encoding="utf-8") as file:
        node = file.read().split("local:")[0]
    return re.findall(r"^\t\t(\w+);", node, re.M)


def declared(text):
    """Names of all that a header declares and has to document."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    plain = re.sub(r"^#(?:.*\\\n)*.*$", "", plain, flags=re.M)
    plain = re.sub(r"\b(?:GP|HSAQ)_(?:API|MUST_CHECK) ", "", plain)
    names = re.findall(r"^(?:struct|enum) (\w+) \{", plain, re.M)
    names += re.findall(r"\(\*(\w+)\)\(", plain)
    names += re.findall(r"^[a-z][\w \*]*?\b(\w+)\(", plain, re.M)
    return [name for name in names if name != "extern"]


def check(path, text, calls=()):
    docs = kerneldoc.read(text)
    known = {doc.name for doc in docs}
    for name in sorted({*declared(text), *calls} - known):
        yield f"{path}: {name} has no kernel-doc comment"
    for doc in docs:
        where = f"{path}:{doc.line}: {doc.name or 'comment'}"
        if not doc.summary:
            yield f"{where}: no summary line \"NAME() - Summary.\""
        if doc.kind in ("function", "op") and doc.declared != doc.name:
            yield f"{where}: documents {doc.declared}"
        for name in doc.members:
            if not " ".join(doc.params.get(name, [])).strip():
                yield f"{where}: @{name} is not documented"
        for name in doc.params:
            if name not in doc.members:
                yield f"{where}: has no @{name}"
        if doc.kind not in ("function", "op"):
            continue
        for section in kerneldoc.SECTIONS:
            there = " ".join(doc.sections.get(section, [])).strip()
            if there and section == "Return" and not doc.returns:
                yield f"{where}: Return of a void function"
            elif not there and (section != "Return" or doc.returns):
                yield f"{where}: no {section}:"
        if not re.fullmatch(r"\d+\.\d+\.\d+", " ".join(doc.sections.get("Since", ["0.0.0"]))):
            yield f"{where}: Since: is no version"


def main():
    os.chdir(ROOT)
    found = []
    for path, version_map in HEADERS:
        calls = exported(version_map) if version_map else ()
        found += check(path, open(path).read(), calls)
    print("\n".join(found) if found else f"kerneldoc: {len(HEADERS)} headers, nothing missing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
