#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the messages of commits.

With --message FILE it checks one message, as hooks/commit-msg needs it; otherwise
it checks every commit after BASE. CONTRIBUTING.md states the rules.
"""
import argparse
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prose  # noqa: E402

# Older commits have messages of an older form.
BASE = "a994682cf14d88d3865baa3081702402b4540d6a"

COLUMNS = 72
BODY_COLUMNS = 76           # git log indents the body by 4
BODY_LINES = 2
AREA = re.compile(r"^(?:[\w.][\w./-]*(?:, ?[\w.][\w./-]*)*: )+(?=\S)")
TESTED = re.compile(r"\b(?:tested|checked|measured|no code)\b", re.I)
TRAILER = re.compile(r"^[A-Z][\w-]*-by: |^(?:Fixes|Link|Cc): ")
REVERT = re.compile(r'^Revert "')
# git writes these itself, or squashes them later.
MERGE = re.compile(r"^Merge (?:branch|branches|remote-tracking branch|tag|commit|pull request)\b")
FIXUP = re.compile(r"^(?:fixup|squash|amend)! ")

NOT_IMPERATIVE = set("""a an the this that these those it its who what which when where why how if
    one two each every all any no not is are was were be has have had can could will would should
    new more some there here we you i they""".split())
# Imperatives that look like a participle or a third person.
IMPERATIVE = set("""need feed seed embed shed speed exceed proceed bleed bring string ring
    pass process address bypass miss press compress express discuss focus guess access cross dismiss
    suppress decompress assess stress toss witness canvas alias bias""".split())


def check_subject(subject):
    if len(subject) > COLUMNS:
        yield f"subject of {len(subject)} columns, at most {COLUMNS}"
    area = AREA.match(subject)
    if not area:
        yield 'subject is not "area: imperative summary"'
        return
    summary = subject[area.end():]
    if summary.endswith("."):
        yield "subject ends with a full stop"
    word = re.match(r"[\w'-]*", summary).group()
    if word[:1].isupper() and not word.isupper():
        yield f'summary begins with a capital letter: "{word}"'
    low = word.lower()
    if low in NOT_IMPERATIVE or (low not in IMPERATIVE and re.search(r"(?:ing|ed|s)$", low)):
        yield f'summary begins with no imperative: "{word}"'


def check_body(lines):
    text = [line for line in lines if line.strip() and not TRAILER.match(line)]
    if len(text) < BODY_LINES:
        yield f"body of {len(text)} lines, at least {BODY_LINES}: it explains why, and how tested"
    if not TESTED.search("\n".join(text)):
        yield 'body does not state how it was tested: "Tested: ..." or "no code"'
    for line in lines:
        quoted = line.startswith(("    ", "\t", ">"))
        if len(line) > BODY_COLUMNS and not quoted and " " in line.strip():
            yield f'body line of {len(line)} columns, at most {BODY_COLUMNS}: "{prose.quote(line)}"'


def check_words(subject, lines):
    """The rules of comments about single words."""
    quoted = [line for line in lines if not line.startswith(("    ", "\t", ">"))]
    source = prose.read("message.md", "\n".join([subject + ".", "", *quoted]) + "\n")
    source.prose = False
    for _, what in prose.check_source(source, prose.Figures()):
        if re.match(r'".*" (?:is not our term|without a noun)', what):
            yield what


def check_message(message, final):
    """Findings of one message; @final: no later commit squashes it."""
    lines = message.rstrip("\n").split("\n")
    subject, body = lines[0], lines[1:]
    if MERGE.match(subject):
        return
    if FIXUP.match(subject):
        if final:
            yield "squash this commit first: git rebase --autosquash"
        return
    if body and body[0].strip():
        yield "no empty line after the subject"
    if not REVERT.match(subject):
        yield from check_subject(subject)
    yield from check_body(body)
    yield from check_words(subject, body)


def cleaned(text):
    """The message that git will record: without comments and the diff of commit -v."""
    text = re.split(r"^# -+ >8 -+$", text, maxsplit=1, flags=re.M)[0]
    return "\n".join(line.rstrip() for line in text.split("\n") if not line.startswith("#")).strip()


def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True)


def commits_after(base):
    """(id, message) of each, or None where this clone does not have @base."""
    if git("merge-base", "--is-ancestor", base, "HEAD").returncode:
        return None
    log = git("log", "-z", "--reverse", "--format=%h%n%B", f"{base}..HEAD")
    return [tuple(one.split("\n", 1)) for one in log.stdout.split("\0") if one.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--message", metavar="FILE", help="check the message in FILE")
    parser.add_argument("--base", default=BASE, help="check the commits after this one")
    args = parser.parse_args()
    if args.message:
        with open(args.message, encoding="utf-8", errors="replace") as file:
            message = cleaned(file.read())
        # git refuses an empty message itself.
        messages = [("commit message", message)] if message else []
        final = False
    else:
        messages = commits_after(args.base)
        final = True
        if messages is None:
            print(f"commits: {args.base} is not in this clone's history, nothing to check")
            return 0
    found = [f"{name}: {what}" for name, message in messages
             for what in check_message(message, final)]
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if final:
        print(f"commits: {len(messages)} messages, nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
