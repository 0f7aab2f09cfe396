#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the prose of documents and comments, and print findings as a compiler does.

Without paths it reads every tracked file of the tree, and also checks the limits
that hold for several files together. CONTRIBUTING.md explains the rules.
"""
import argparse
import ast
import bisect
import collections
import io
import os
import re
import subprocess
import sys
import tokenize

HERE = os.path.dirname(os.path.abspath(__file__))
DICTIONARY = os.path.join(HERE, "words.txt")

MEAN_WORDS = 18             # of a document's sentences
LONG_WORDS = 25
LONG_PERCENT = 10           # of a document's sentences may be longer than LONG_WORDS
MOST_WORDS = 40
CELL_WORDS = 20
COMMENT_WORDS = 30
COLUMNS = 100
WHAT_PER_1000 = 3
README_LINES = 150
DOCS_WORDS = 18000

# Masked text has the length of the original, so that offsets stay valid.
CODE = "\x01"               # one word that is no English
SKIP = "\x02"               # markup: neither a word nor a space

GENERATED = {"bench/gpu/kernels_ptx.c", "bench/gpu/live_ptx.c",
             "tests/gfx9/names.h", "tests/gfx9/kernels_co.h"}
# The kernel's own text, and inputs whose words are the test.
FOREIGN = ("kfd-patch/uapi/", "tests/fuzz/corpus/", "tests/wire/golden/")


class Block:
    """A paragraph, list item, heading, table cell or comment, with the lines it is from."""

    def __init__(self, kind, markup, lines):
        self.kind = kind                    # text, heading, cell, comment
        self.numbers = [number for number, _ in lines]
        self.starts = []
        offset = 0
        for _, text in lines:
            self.starts.append(offset)
            offset += len(text) + 1
        self.raw = " ".join(text for _, text in lines)
        self.masked = mask(self.raw, markup)

    def line(self, offset):
        return self.numbers[bisect.bisect_right(self.starts, offset) - 1]


class Source:
    """The text of one file."""

    def __init__(self, path, prose):
        self.path = path
        self.prose = prose                  # a document; else comments
        self.blocks = []
        self.wide = []                      # numbers of the lines over COLUMNS
        self.lines = 0
        self.code = None                    # text whose identifiers a comment may use

    def add(self, kind, markup, lines):
        lines = [(number, text) for number, text in lines if text.strip()]
        if lines:
            self.blocks.append(Block(kind, markup, lines))


# ---- masking: markup and code ------------------------------------------------
def fill(char):
    return lambda match: char * len(match.group())


CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK_END = re.compile(r"\]\([^)\s]*(?:\s+\"[^\"]*\")?\)|\]\[[^\]]*\]")
MENTION = re.compile(r"\"[\w'-]+\"")  # a word that the text speaks of
CALL = re.compile(r"\b(?=\w*_)[A-Za-z_]\w*\([^()]*\)")
URL = re.compile(r"<?\b(?:https?|file|ssh|git)://[^\s>)]*[^\s>).,;:]>?")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--|-->")
EMPHASIS = re.compile(r"(?<![\w*])[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")
ESCAPE = re.compile(r"\\(?=[^\w\s])")
SCD_SPAN = re.compile(r"(?<![\w\\])([*_])(?=\S)((?:(?!\1).)+?(?:\\\1(?:(?!\1).)*?)*)(?<=\S)\1(?![A-Za-z])")
SCD_SPAN_WORDS = 6          # a longer one is emphasis
TOKEN = re.compile(r"\S+")
NOT_CODE = {"e.g", "i.e", "a.m", "p.m", "and/or"}
CODEY = re.compile(
    r"_|\(\)|::|->|[<>=@$\\{}|]|\w/\w|/\w|\w/$|[&%#]\w|\.[A-Za-z]|^--?[A-Za-z]|\w\[|"
    r"^[A-Za-z]\w*\([\w, ]*\)")


def mask_token(match):
    token = match.group()
    head = len(token) - len(token.lstrip("([{\"'" + SKIP))
    core = token[head:]
    tail = core.rstrip(".,;:!?\"']}" + SKIP)
    if not tail.endswith("()"):
        inner = tail.rstrip(")")
        tail = tail if inner.count("(") and tail.endswith(")") else inner
        tail = tail.rstrip(".,;:!?\"'" + SKIP)
    if tail and tail.lower() not in NOT_CODE and CODEY.search(tail):
        return token[:head] + CODE * len(tail) + core[len(tail):]
    return token


def scd_span(match):
    if len(match.group().split()) > SCD_SPAN_WORDS:
        return SKIP + match.group()[1:-1] + SKIP
    return CODE * len(match.group())


def mask(raw, markup):
    text = CODE_SPAN.sub(fill(CODE), raw)
    text = CALL.sub(fill(CODE), URL.sub(fill(CODE), text))
    text = MENTION.sub(fill(CODE), text)
    if markup == "md":
        text = LINK_END.sub(fill(SKIP), text)
        text = TAG.sub(fill(SKIP), text)
        text = EMPHASIS.sub(fill(SKIP), ESCAPE.sub(fill(SKIP), text))
        text = text.replace("![", SKIP * 2).replace("[", SKIP)
    elif markup == "scd":
        text = SCD_SPAN.sub(scd_span, text)
        text = ESCAPE.sub(fill(SKIP), text).replace("++", SKIP * 2)
    return TOKEN.sub(mask_token, text)


# ---- documents ---------------------------------------------------------------
LIST_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+")
FENCE = re.compile(r"^\s*(```+|~~~+)")


class Paragraphs:
    """Collects lines until a paragraph ends."""

    def __init__(self, source, kind, markup):
        self.source, self.kind, self.markup = source, kind, markup
        self.held = []

    def line(self, number, text):
        self.held.append((number, text))

    def end(self, kind=None):
        self.source.add(kind or self.kind, self.markup, self.held)
        self.held = []


def add_cells(source, markup, number, row):
    for cell in re.split(r"(?<!\\)\|", CODE_SPAN.sub(
            lambda m: m.group().replace("|", CODE), row).strip().strip("|")):
        if not re.fullmatch(r"[\s:-]*", cell):
            source.add("cell", markup, [(number, cell.replace(CODE, "|"))])


def read_markdown(source, text):
    paragraphs = Paragraphs(source, "text", "md")
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence):
                fence = None
            continue
        table = line.lstrip().startswith("|")
        if len(line.expandtabs(8)) > COLUMNS and not table and not mark:
            source.wide.append(number)
        line = re.sub(r"^\s*(?:>\s?)+", "", line)
        if mark:
            paragraphs.end()
            fence = mark.group(1)
        elif not line.strip() or re.fullmatch(r"\s*(?:[-*_=]\s*){3,}", line):
            paragraphs.end()
        elif line.startswith("#"):
            paragraphs.end()
            source.add("heading", "md", [(number, line.strip("# "))])
        elif table:
            paragraphs.end()
            add_cells(source, "md", number, line)
        else:
            item = LIST_ITEM.match(line)
            if item:
                paragraphs.end()
                line = line[item.end():]
            paragraphs.line(number, line.strip())
    paragraphs.end()


def read_scdoc(source, text):
    paragraphs = Paragraphs(source, "text", "scd")
    fence, synopsis, indent = False, False, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```") or line.lstrip("\t").startswith("```"):
            paragraphs.end()
            fence = not fence
            continue
        if fence or number == 1:
            continue
        table = re.match(r"^[|\[\]:][-<>=\[\]]*(?:\s|$)", line)
        if len(line.expandtabs(8)) > COLUMNS and not table:
            source.wide.append(number)
        if line.startswith("#"):
            paragraphs.end()
            synopsis = line.strip() == "# SYNOPSIS"
            source.add("heading", "scd", [(number, line.strip("# "))])
            continue
        if synopsis:
            continue
        if not line.strip():
            paragraphs.end()
            continue
        if table:
            paragraphs.end()
            source.add("cell", "scd", [(number, line[table.end():])])
            continue
        now = len(line) - len(line.lstrip("\t"))
        if now != indent and paragraphs.held:
            # A term, with its meaning below.
            paragraphs.end("heading" if now > indent else None)
        indent = now
        item = re.match(r"^\s*[-.]\s+", line) or re.match(r"^;\s", line)
        if item:
            paragraphs.end()
            line = line[item.end():]
        paragraphs.line(number, line.strip())
        if line.endswith("++"):
            paragraphs.end()
    paragraphs.end()


# ---- comments ----------------------------------------------------------------
C_PARTS = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
RULER = re.compile(r"[-=#*~]{3,}")
STARTS_BLOCK = re.compile(
    r"^\s*(?:[-*+]\s|\d+[.)]\s|\([a-z0-9]\)\s|@\w[\w.\[\]]*:|"
    r"(?:Context|Return|Returns|Since|Note|Locking|Example):|(?:struct |enum )?\w+(?:\(\))?\s+-\s)")
DIRECTIVE = re.compile(r"\s*(?:SPDX-License-Identifier|!|noqa|clang-format (?:on|off)|"
                       r"cppcheck-suppress|shellcheck |type: ignore|pylint:)")
COLUMNS_ROW = re.compile(r"\S(?: {3,}|\t+)\S")


def add_comment(source, lines):
    """@lines: (number, text without the comment's marks)."""
    paragraphs = Paragraphs(source, "comment", "comment")
    literal = None                          # indentation of the line before "::"
    for number, line in lines:
        line = line.rstrip()
        text = RULER.sub(" ", line) if RULER.search(line) else line
        indent = len(text) - len(text.lstrip())
        if literal is not None:
            if not text.strip() or indent > literal:
                continue
            literal = None
        if not text.strip():
            paragraphs.end()
            continue
        if DIRECTIVE.match(text):
            continue
        row = COLUMNS_ROW.search(text.strip())
        if row or STARTS_BLOCK.match(text) or RULER.search(line):
            paragraphs.end()
        if row:
            for part in re.split(r" {3,}|\t+", text.strip()):
                paragraphs.end()
                paragraphs.line(number, part.strip())
            continue
        paragraphs.line(number, re.sub(r"^\s*[-*+]\s+", "", text).strip())
        if text.endswith("::"):
            literal = indent
            paragraphs.end()
    paragraphs.end()


def read_c(source, text):
    run = []                                # lines of // comments in a row
    code = []
    last = 0
    number, counted = 1, 0
    for match in C_PARTS.finditer(text):
        part = match.group()
        if part[0] in "\"'":
            continue
        code.append(text[last:match.start()])
        last = match.end()
        number += text.count("\n", counted, match.start())
        counted = match.start()
        alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if part.startswith("//"):
            if run and (not alone or run[-1][0] != number - 1):
                add_comment(source, run)
                run = []
            run += [(number + i, one.lstrip("/"))
                    for i, one in enumerate(part.split("\n"))]
            continue
        if run:
            add_comment(source, run)
            run = []
        lines = part[2:-2].split("\n")
        add_comment(source, [(number + i, re.sub(r"^\s*\*+(?=\s|$)", "", one) if i else
                              one.lstrip("*")) for i, one in enumerate(lines)])
    if run:
        add_comment(source, run)
    code.append(text[last:])
    source.code = " ".join(code)


def read_hash(source, text):
    """Makefiles, shell and YAML: lines that are comments; in YAML also those after a value."""
    yaml = source.path.endswith((".yaml", ".yml"))
    run, code = [], []
    for number, line in enumerate(text.split("\n"), 1):
        alone = re.match(r"^\s*#+", line)
        if not alone:
            code.append(line)
        if run and not alone:
            add_comment(source, run)
            run = []
        if alone:
            run.append((number, line[alone.end():]))
        elif yaml and re.search(r"\s#\s", line):
            add_comment(source, [(number, re.split(r"\s#\s", line, maxsplit=1)[1])])
    if run:
        add_comment(source, run)
    source.code = "\n".join(code)


def read_python(source, text):
    run, code = [], []
    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        sys.exit(f"{source.path}: cannot parse: {error}")
    for token in tokens:
        if token.type == tokenize.COMMENT:
            number, column = token.start
            alone = not token.line[:column].strip()
            if run and not (alone and run[-1][0] == number - 1):
                add_comment(source, run)
                run = []
            run.append((number, token.string.lstrip("#")))
        elif token.type == tokenize.NAME:
            code.append(token.string)
    if run:
        add_comment(source, run)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) \
                and node.body and isinstance(node.body[0], ast.Expr) \
                and isinstance(node.body[0].value, ast.Constant) \
                and isinstance(node.body[0].value.value, str):
            constant = node.body[0].value
            add_comment(source, [(constant.lineno + i, line) for i, line in
                                 enumerate(constant.value.split("\n"))])
    source.code = " ".join(code)


READERS = {
    ".md": read_markdown, ".scd": read_scdoc, ".py": read_python,
    ".c": read_c, ".h": read_c, ".hpp": read_c, ".cu": read_c, ".hip": read_c, ".cpp": read_c, ".cl": read_c,
    ".mk": read_hash, ".yaml": read_hash, ".yml": read_hash, ".sh": read_hash,
}
BY_NAME = {"Makefile": read_hash, "Kbuild": read_hash, "setup": read_hash}


def reader_of(path):
    name = os.path.basename(path)
    return BY_NAME.get(name) or READERS.get(os.path.splitext(name)[1])


def read(path, text):
    source = Source(path, path.endswith((".md", ".scd")))
    source.lines = text.count("\n")
    reader_of(path)(source, text)
    return source


# ---- sentences ---------------------------------------------------------------
END = re.compile(r"(?<=[\w\x01\x02)\]\"'%*])[.!?]+[\"')\]\x02]*(?=\s|$)")
STARTS = re.compile(r"\s+[(\"'\x02\[*]*[A-Z0-9\x01]")
ABBREVIATIONS = {"e.g", "i.e", "etc", "vs", "cf", "fig", "figs", "no", "sec", "approx", "resp",
                 "ca", "al", "eq", "dr", "mr", "st", "incl"}
LAST_WORD = re.compile(r"[\w.]+$")


def sentences(block):
    """(offset, masked text) of each."""
    text = block.masked
    begin = 0
    for match in END.finditer(text):
        after = text[match.end():]
        if after.strip() and not STARTS.match(after):
            continue
        word = LAST_WORD.search(text[begin:match.start()])
        if after.strip() and word and word.group().strip(".").lower() in ABBREVIATIONS \
                and match.group().startswith("."):
            continue
        yield begin, text[begin:match.end()]
        begin = match.end()
    if text[begin:].strip():
        yield begin, text[begin:]


WORD = re.compile(r"[\w\x01]")


def words_in(text):
    return sum(1 for token in text.split() if WORD.search(token))


# ---- rules -------------------------------------------------------------------
HEADLESS = re.compile(r"\b(who|whoever|whom|whomever|whose|whosever)\b", re.I)
WHAT = re.compile(r"\b(what|whatever)\b", re.I)
BEFORE = re.compile(r"([\w\x01'’-]+)[\x02]*([)\"']*)(,?)\s+[\x02]*$")
PREPOSITIONS = {"for", "to", "of", "by", "with", "from", "in", "on", "at", "under", "among",
                "against", "about", "between", "without"}
# "who" needs a person or an agent before it.
PEOPLE = {"user", "person", "people", "reader", "operator", "developer", "reviewer", "contributor",
          "maintainer", "author", "researcher", "someone", "somebody", "anyone", "anybody",
          "everyone", "everybody", "nobody", "administrator", "root", "engineer", "colleague",
          "stranger", "attacker", "owner", "group", "team"}
# Before "whose" these are no antecedent; other words are taken for nouns.
NO_NOUN = PREPOSITIONS | set(
    """is are was were be been being am do does did has have had can could may might must shall
    should will would and or but nor not than as if when while where that which then so because
    though until unless since whether say says said tell tells told see sees seen saw know knows
    known knew ask asks asked show shows shown find finds found give gives gave decide decides depend depends
    matter matters the a an this these those there only just also even still yet again it
    its they them he she we you i one ones all any both each other others no matter over after
    before""".split())


def is_person(word):
    word = word.lower()
    return word in PEOPLE or (word.endswith("s") and word[:-1] in PEOPLE)


def is_headless(match, sentence):
    word = match.group().lower()
    if word.endswith("ever"):
        return True
    before = BEFORE.search(sentence[:match.start()])
    if before and before.group(1).lower() in PREPOSITIONS and word != "who":
        before = BEFORE.search(sentence[:before.start()] + " ")
    if not before:
        return True
    if word == "whose":
        return before.group(1).lower() in NO_NOUN
    return not is_person(before.group(1))


# Terms that the glossary forbids: pattern, and a better word.
TERMS = [(re.compile(pattern, re.I), better) for pattern, better in (
    (r"\b(?:puts?|putting) (?:[\w\x01'-]+ ){0,3}?back\b", "restore, return"),
    (r"\b(?:makes?|made|making) (?:\w+ )?way\b", "preempt"),
    (r"\bcuts\b|\bcutting\b|\bcut (?:it|them|BE|LC|the \w+|a \w+)\b|\b(?:is|are|be|was|were|been) cut\b"
     r"(?! (?:in|into|to|by|at|off))", "preempt"),
    (r"\b(?:comes?|came|coming) to nothing\b", "has no effect"),
    (r"\b(?:is|are|was|were|be|been|being) (?:\w+ )?told\b(?! (?:\w+ )?(?:apart|from))|"
     r"\btold (?:so|of|it)\b|\btells? of\b", "report, log, notify"),
    (r"\b(?:is|are|was|were|be|been|being) (?:\w+ )?said\b|\b(?:says?|said) so\b",
     "report, print, name"),
    (r"\banew\b", "again"),
    (r"\bguess(?:es|ed|ing)?\b", "predict"),
    (r"(?<!machine )(?<!deep )\blearn(?:s|t|ed|ing|er|ers)?\b(?! rate)", "predict"),
    (r"\brhythms?\b", "period"),
    (r"\b(?:came|comes?) (?:itself|themselves|by itself|by themselves)\b", "connected"),
    (r"\b(?:tenants?|processes|process|groups?) (?:(?:that|which) )?(?:was|were|is|are) (?:found|taken)\b",
     "discovered, attached"),
    (r"\b(?:found|taken) (?:tenants?|process|processes|groups?)\b", "discovered, attached"),
    (r"\b(?:tenants?|groups?|processes|BE|LC|best-effort) (?:is|are|was|were|stays?|goes|to be) off\b",
     "suspended"),
    (r"\bcan(?:not)? be had\b|\b(?:is|are) (?:not )?had\b|\bnot to be had\b", "is available"),
    (r"\bnobody's way\b|\bin nobody\b", "blocks no tenant"),
)]
# The same for documents only: a comment may speak of a header that says something.
PROSE_TERMS = [(re.compile(pattern, re.I), better) for pattern, better in (
    (r"\b(?:tells?|told|telling)\b(?! (?:\w+ )?apart)(?! (?:\w+ ){1,3}from\b)", "report, log, notify"),
    (r"\bsays?\b(?<!that is to say)(?!,)|\bsaid\b|\bsaying\b", "report, print, name, state"),
)]


def quote(text):
    text = " ".join(text.replace(SKIP, "").split())
    return text if len(text) <= 70 else text[:67].rstrip() + "..."


class Figures:
    """One row of the table of --stat."""

    def __init__(self):
        self.lengths = []
        self.wide = self.headless = self.words = 0

    def row(self, name):
        count = max(len(self.lengths), 1)
        over = sum(1 for length in self.lengths if length > LONG_WORDS)
        return (f"{name:<40} {sum(self.lengths) / count:6.1f} {100 * over / count:6.0f} "
                f"{max(self.lengths, default=0):8} {self.wide:10} "
                f"{1000 * self.headless / max(self.words, 1):9.1f} {self.words:7}")


def check_source(source, figures):
    """Findings (line, text) of one file; @figures grows by it."""
    what = []
    words = 0
    lengths = []
    terms = PROSE_TERMS + TERMS if source.prose else TERMS
    for block in source.blocks:
        total = words_in(block.masked)
        words += total
        if block.kind == "cell" and total > CELL_WORDS:
            yield (block.line(0), f"table cell of {total} words, at most {CELL_WORDS}: "
                   f'"{quote(block.raw)}"')
        for begin, sentence in sentences(block):
            length = words_in(sentence)
            if not length:
                continue
            begin += len(sentence) - len(sentence.lstrip())
            raw = block.raw[begin:begin + len(sentence.strip())]
            where = block.line(begin)
            if block.kind in ("text", "comment"):
                lengths.append(length)
                limit = MOST_WORDS if source.prose else COMMENT_WORDS
                if length > limit:
                    yield where, f'sentence of {length} words, at most {limit}: "{quote(raw)}"'
            if sentence.rstrip().endswith("?"):
                continue
            stripped = sentence.strip()
            for match in HEADLESS.finditer(stripped):
                if is_headless(match, stripped):
                    figures.headless += 1
                    yield (block.line(begin + match.start()), f'"{match.group()}" without a noun '
                           f'before it: "{quote(raw[max(match.start() - 30, 0):])}"')
            for match in WHAT.finditer(stripped):
                figures.headless += 1
                what.append((block.line(begin + match.start()),
                             quote(raw[max(match.start() - 30, 0):])))
        for pattern, better in terms:
            for match in pattern.finditer(block.masked):
                yield (block.line(match.start()), f'"{match.group()}" is not our term, write '
                       f'{better}: "{quote(block.raw[max(match.start() - 30, 0):])}"')
    figures.lengths += lengths
    figures.words += words
    figures.wide += len(source.wide)
    for number in source.wide:
        yield number, f"line over {COLUMNS} columns"
    # A file of few comments may have one.
    if len(what) * 1000 > WHAT_PER_1000 * words and (source.prose or len(what) > 1):
        for where, text in what:
            yield (where, f'"what", {len(what)} in {words} words, at most {WHAT_PER_1000} in '
                   f'1000: "{text}"')
    if source.prose and lengths:
        mean = sum(lengths) / len(lengths)
        over = [length for length in lengths if length > LONG_WORDS]
        if mean > MEAN_WORDS:
            yield 1, f"{mean:.1f} words a sentence, at most {MEAN_WORDS}"
        if len(over) * 100 > LONG_PERCENT * len(lengths):
            yield (1, f"{len(over)} of {len(lengths)} sentences have over {LONG_WORDS} words, "
                   f"at most {LONG_PERCENT} %")
            for block in source.blocks:
                for begin, sentence in sentences(block):
                    length = words_in(sentence)
                    if block.kind == "text" and LONG_WORDS < length <= MOST_WORDS:
                        yield (block.line(begin + 1 if begin else 0), f"sentence of {length} words: "
                               f'"{quote(block.raw[begin:begin + len(sentence)])}"')


# ---- spelling ----------------------------------------------------------------
SPELLED = re.compile(r"(?<![\w\x01])[A-Za-z][a-z]+(?:['’][a-z]+)?(?![\w\x01])")


def spelled_words(source):
    """(line, word): those of letters, lower case but for the first."""
    for block in source.blocks:
        for match in SPELLED.finditer(block.masked):
            word = re.sub(r"['’]s$", "", match.group())
            if len(word) > 2:
                yield block.line(match.start()), word


def unknown_words(words):
    try:
        got = subprocess.run(["aspell", "--lang=en", "--encoding=utf-8", "--ignore-case", "list"],
                             input="\n".join(sorted(words)), capture_output=True, text=True,
                             check=True)
    except FileNotFoundError:
        sys.exit("no aspell: apt-get install aspell aspell-en")
    except subprocess.CalledProcessError as error:
        sys.exit(f"aspell: {error.stderr.strip()}; apt-get install aspell-en")
    return {word.lower() for word in got.stdout.split()}


def load_dictionary(path=DICTIONARY):
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if not line.startswith("#")]
    return lines


def check_spelling(sources, known):
    """(path, line, text): the first place in each file of each word aspell does not know."""
    uses = [(source, line, word) for source in sources for line, word in spelled_words(source)]
    unknown = unknown_words({word.replace("’", "'") for _, _, word in uses}) - known
    seen = set()
    identifiers = {}
    for source, line, word in uses:
        key = word.replace("’", "'").lower()
        if key not in unknown or (source.path, key) in seen:
            continue
        seen.add((source.path, key))
        if source.code is not None:
            if source.path not in identifiers:
                identifiers[source.path] = set(re.findall(r"[A-Za-z]\w*", source.code))
            if word in identifiers[source.path]:
                continue
        yield source.path, line, f'unknown word (else add it to tests/words.txt): "{word}"'


# ---- the tree ----------------------------------------------------------------
def check_tree(sources):
    """Limits for several files together."""
    docs = 0
    for source in sources:
        if re.fullmatch(r"docs/[^/]+\.md", source.path):
            docs += sum(words_in(block.masked) for block in source.blocks)
    if docs > DOCS_WORDS:
        yield "docs", 1, f"{docs} words in docs/*.md, at most {DOCS_WORDS}"


def check_dictionary(words):
    for number, (before, word) in enumerate(zip(words, words[1:]), 2):
        if before >= word:
            yield "tests/words.txt", number, f'not sorted, or twice: "{word}"'


def tracked(paths):
    names = subprocess.run(["git", "ls-files", "-z", "--", *paths], capture_output=True, text=True,
                           check=True).stdout.split("\0")
    # A file given by name need not be tracked.
    names += [path for path in paths if os.path.isfile(path)]
    return [name for name in sorted(set(names)) if name and os.path.exists(name)
            and reader_of(name) and name not in GENERATED and not name.startswith(FOREIGN)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stat", action="store_true",
                        help="print a table of figures instead of findings")
    parser.add_argument("--no-spell", action="store_true", help="do not run aspell")
    parser.add_argument("paths", nargs="*", help="files and folders; default: all")
    args = parser.parse_args()

    sources = []
    for path in tracked(args.paths):
        with open(path, encoding="utf-8") as file:
            sources.append(read(path, file.read()))
    found = []
    rows = collections.defaultdict(Figures)
    for source in sources:
        name = source.path if source.prose or args.paths else \
            "comments: " + source.path.split("/")[0]
        found += [(source.path, *one) for one in check_source(source, rows[name])]
        if source.path == "README.md" and source.lines > README_LINES:
            found.append((source.path, source.lines, f"{source.lines} lines, at most {README_LINES}"))
    if args.stat:
        print(f"{'':<40} {'words/':>6} {'% over':>6} {'longest':>8} {'lines over':>10} "
              f"{'headless/':>9} {'words':>7}")
        print(f"{'file':<40} {'sent.':>6} {LONG_WORDS:>6} {'sentence':>8} {COLUMNS:>10} "
              f"{'1000':>9}")
        for name, row in sorted(rows.items()):
            print(row.row(name))
        return 0
    dictionary = load_dictionary()
    if not args.paths:
        found += check_tree(sources)
        found += check_dictionary(dictionary)
    if not args.no_spell:
        found += check_spelling(sources, {word.lower() for word in dictionary})
    for path, line, text in sorted(found):
        print(f"{path}:{line}: {text}")
    if found:
        print(f"prose: {len(found)} findings in {len({path for path, _, _ in found})} of "
              f"{len(sources)} files", file=sys.stderr)
        return 1
    print(f"prose: {len(sources)} files, nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main())
