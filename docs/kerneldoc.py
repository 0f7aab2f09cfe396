#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read the kernel-doc comments of public headers; print one call as a man page.

usage: docs/kerneldoc.py CALL LIBRARY HEADER | scdoc >CALL.3
"""
import re
import sys
import textwrap

COMMENT = re.compile(r"^[ \t]*/\*\*[ \n].*?\*/\n", re.S | re.M)
SECTIONS = ("Context", "Return", "Since")
SYNOPSIS_COLUMNS = 70


class Doc:
    """One comment and the declaration behind it.

    kind is "function", "op", "struct", "enum", "typedef" or "table" (a struct of
    ops); params maps a name to its text; members are the names declared.
    """

    def __init__(self, comment, code, line):
        self.line = line
        self.summary = ""
        self.params = {}
        self.body = []
        self.sections = {}
        self._read_comment(comment)
        self._read_code(code)

    def _read_comment(self, comment):
        text = re.sub(r"^\s*/\*\*\s*|\s*\*/\s*$", "", comment)
        lines = [re.sub(r"^\s*\* ?", "", at).rstrip() for at in text.split("\n")]
        head = re.match(r"(?:(struct|enum|typedef) )?@?(\w+)(\(\))?(?: -|:) (.*)", lines[0])
        self.name = head.group(2) if head else ""
        self.summary = head.group(4) if head else ""
        put = None
        for at in lines[1:]:
            field = re.match(r"((?:@\w+(?:, )?)+): (.*)", at)
            section = re.match(rf"({'|'.join(SECTIONS)}):\s*(.*)", at)
            if field:
                names = re.findall(r"@(\w+)", field.group(1))
                text = [field.group(2)]
                self.params.update(dict.fromkeys(names, text))
                put = text
            elif section:
                put = self.sections.setdefault(section.group(1), [section.group(2)])
            elif not at:
                put = None
                self.body.append("")
            elif put is None:
                self.body.append(at)
            else:
                put.append(at.strip())

    def _read_code(self, code):
        self.code = re.sub(r"\b(GP|HSAQ)_(API|MUST_CHECK) ", "", code).strip()
        plain = re.sub(r"/\*.*?\*/", "", self.code, flags=re.S)
        kind = re.match(r"(struct|enum|typedef)\b", plain)
        self.members = []
        self.returns = False
        if kind and "{" in plain:
            self.kind = kind.group(1)
            inside = plain[plain.index("{") + 1:plain.rindex("}")]
            if "(*" in inside:
                self.kind = "table"
                inside = re.sub(r"[^;]*\(\*[^;]*;", "", inside)
            if self.kind == "enum":
                self.members = re.findall(r"^\s*(\w+)", inside.replace(",", ",\n"), re.M)
            else:
                for at in inside.split(";"):
                    self.members += re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", at.strip())
            return
        call = re.match(r"(.*?)\(?\*?\b(\w+)\)?\(([^()]*)\);?$", plain, re.S)
        if not call:
            self.kind = "other"
            return
        self.kind = "op" if "(*" in plain else "function"
        if plain.startswith("typedef"):
            self.kind = "typedef"
        self.declared = call.group(2)
        self.returns = not re.match(r"(typedef )?void\s*\(?$", call.group(1).strip())
        if call.group(3) != "void":
            self.members = [re.search(r"(\w+)(?:\[\w*\])?$", at.strip()).group(1)
                            for at in call.group(3).split(",")]


def read(text):
    """The documented declarations of a header, in its order."""
    docs = []
    for at in COMMENT.finditer(text):
        end = re.compile(r";|\{").search(text, at.end())
        stop = end.end()
        if end.group() == "{":
            stop = re.compile(r"^\};", re.M).search(text, at.end()).end()
        docs.append(Doc(at.group(), text[at.end():stop], text.count("\n", 0, at.start()) + 1))
    return docs


def scd(text):
    """Prose of a comment in scdoc's markup."""
    text = re.sub(r"([\\_*#\[\]~])", r"\\\1", " ".join(text).strip())
    text = re.sub(r"`([^`]*)`", r"*\1*", text)
    text = re.sub(r"\b((?:\w|\\_)+)\(\)", r"*\1*()", text)
    text = re.sub(r"@((?:\w|\\_)+(?:(?:->|\.)(?:\w|\\_)+)*)", r"_\1_", text)
    return re.sub(r"(-E[A-Z0-9]+)\b", r"*\1*", text)


def paragraphs(body):
    return [scd(at.split("\n")) for at in "\n".join(body).split("\n\n") if at.strip()]


def used(doc, docs):
    """Structs, enums and typedefs that the declaration of @doc names, directly or not."""
    found = [doc]
    for at in found:
        words = set(re.findall(r"\w+", at.code))
        words |= set(re.findall(r"(?:enum|struct) (\w+)", " ".join(sum(at.params.values(), []))))
        found += [d for d in docs if d.name in words and d not in found
                  and d.kind in ("struct", "enum", "typedef")]
    return found[1:]


def fields(doc):
    done = []
    for name in doc.members:
        text = doc.params[name]
        if text in done:
            continue
        done.append(text)
        names = ", ".join(f"_{scd([n])}_" for n in doc.members if doc.params[n] is text)
        yield f"{names}\n\t{scd(text)}"


def returned(doc):
    """The result of success, then each errno with its cause."""
    first, *errors = re.split(r"\s+\* (?=-E)", " ".join(doc.sections["Return"]))
    yield scd([first])
    for at in errors:
        errno, cause = at.split(":", 1)
        yield f"{scd([errno])}\n\t{scd([cause])}"


def synopsis(doc):
    """The declaration, wrapped between parameters."""
    code = re.sub(r"(?<!,) ", "~", " ".join(doc.code.split()))
    return "\n".join(textwrap.wrap(code, SYNOPSIS_COLUMNS, subsequent_indent="\t",
                                   break_on_hyphens=False)).replace("~", " ")


def page(doc, docs, library, header):
    parts = [f'{doc.name}(3) "" "gpreempt manual"',
             "# NAME", f"{doc.name} - {doc.summary[0].lower()}{doc.summary[1:].rstrip('.')}",
             "# LIBRARY", f"*{library}* (_-l{library[3:]}_)",
             "# SYNOPSIS", f"```\n#include <{header}>\n\n{synopsis(doc)}\n```"]
    description = [*paragraphs(doc.body), *fields(doc)]
    for at in used(doc, docs):
        description += [f"## {at.kind} {scd([at.name])}", scd([at.summary]), *fields(at),
                        *paragraphs(at.body)]
    if description:
        parts += ["# DESCRIPTION", *description]
    parts += ["# CONTEXT", scd(doc.sections["Context"])]
    if doc.returns:
        parts += ["# RETURN VALUE", *returned(doc)]
    parts += ["# HISTORY", f"Since {scd(doc.sections['Since'])}.", "# SEE ALSO",
              "*gpreempt*(3)" if library == "libgpreempt" else "*hsaq*(3)"]
    return "\n\n".join(parts) + "\n"


def main():
    name, library, path = sys.argv[1:]
    text = open(path).read()
    docs = read(text)
    for other in re.findall(r'#include "(.*)"', text):
        docs += read(open("include/" + other).read())
    (doc,) = [d for d in docs if d.name == name and d.kind == "function"]
    print(page(doc, docs, library, path.removeprefix("include/")), end="")


if __name__ == "__main__":
    main()
