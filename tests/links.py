#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make lint: links, paths and functions in documents exist, and a reader finds all documents.

docs/README.md lists those of docs/. Links lead from README.md to each other one. A function with
its file behind it, `name()` (folder/file.c), is in that file.

A link is [text](target), with the heading after a '#' where there is one. A path begins with
a folder of the tree. NAME in capitals, <name> and {name} in a path stand for something else;
a path with a '*' must match a file.
"""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.M | re.S)
FUNCTION = re.compile(r"`(\w+)\(\)`\s+\(((?:[\w-]+/)+\w+\.[ch])\)")
PLACEHOLDER = re.compile(r"[<{$]|\.\.\.|(?<![a-z0-9])[A-Z][A-Z_]*(?![a-z0-9.])")
# Paths of the kernel's tree and of the installed one, which begin as some of ours do.
FOREIGN = ("include/uapi/", "include/linux/", "tests/kfd/dist/")


def tracked(*patterns):
    out = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    return sorted(name for name in out.split("\0") if name and (ROOT / name).exists())


def slug(heading):
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {slug(line) for line in re.findall(r"^#+ +(.*)$", text, re.M)}


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def bad_links(name, text):
    for match in LINK.finditer(FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        target, _, anchor = unquote(match[1]).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (ROOT / name).parent / target if target else ROOT / name
        if not path.exists():
            yield line_of(text, match.start()), f"link to {target}: no such file"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            yield line_of(text, match.start()), f"link to {target}#{anchor}: no such heading"


def bad_paths(name, text, folders):
    path = re.compile(r"(?<![\w/.$}>*~-])(?:" + "|".join(folders) + r")/[\w./*<>{}$+-]*")
    for match in path.finditer(text.replace("\\_", "_")):
        word = match[0].rstrip(".*_" if name.endswith(".scd") else ".")
        if word.startswith(FOREIGN) or PLACEHOLDER.search(word):
            continue
        if not (ROOT / word).exists() and not any(ROOT.glob(word) if "*" in word else ()):
            yield line_of(text, match.start()), f"{word}: no such file"


def bad_functions(text):
    for match in FUNCTION.finditer(text):
        path = ROOT / match[2]
        if path.exists() and not re.search(rf"\b{match[1]}\(", path.read_text(encoding="utf-8")):
            yield line_of(text, match.start()), f"{match[1]}() is not in {match[2]}"


def linked(path):
    """The documents that @path links to."""
    for target in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        there = (path.parent / target.partition("#")[0]).resolve()
        if there.suffix == ".md" and there.is_file():
            yield there


def unreachable():
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += linked(path)
    for name in tracked("*.md"):
        if ROOT / name not in reached:
            yield f"{name}: no links lead here from README.md"


def unlisted():
    index = ROOT / "docs/README.md"
    listed = set(LINK.findall(index.read_text(encoding="utf-8"))) if index.exists() else set()
    for name in tracked("docs/*.md", "docs/man/*.scd"):
        if name != "docs/README.md" and name.removeprefix("docs/") not in listed:
            yield f"docs/README.md: does not list {name}"


def main():
    folders = sorted({name.split("/")[0] for name in tracked() if "/" in name and name[0] != "."})
    bad = [*unlisted(), *unreachable()]
    for name in tracked("*.md", "*.scd"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = [*bad_links(name, text), *bad_paths(name, text, folders), *bad_functions(text)]
        bad += [f"{name}:{line}: {what}" for line, what in sorted(found)]
    print("\n".join(bad), end="\n" if bad else "")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
