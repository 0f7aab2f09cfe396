# SPDX-License-Identifier: Apache-2.0
"""tests/prose.py: for each rule a text that breaks it, and one that does not."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROSE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "prose.py")
SPEC = importlib.util.spec_from_file_location("prose_lint", PROSE)
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)


def findings(path, text):
    source = prose.read(path, text)
    return list(prose.check_source(source, prose.Figures()))


def md(text):
    """@text with its long lines wrapped, but for tables."""
    lines = [line if line.startswith("|") else textwrap.fill(line, 90, break_on_hyphens=False)
             for line in text.split("\n")]
    return findings("docs/x.md", "\n".join(lines))


def c(text):
    return findings("sched/x.c", text)


def words(count, word="word"):
    return " ".join([word.capitalize()] + [word] * (count - 1)) + "."


def lengths(path, text):
    source = prose.read(path, text)
    return [prose.words_in(sentence) for block in source.blocks
            if block.kind in ("text", "comment") for _, sentence in prose.sentences(block)]


class Case(unittest.TestCase):
    def fails(self, found, text):
        self.assertTrue(any(text in what for _, what in found), f"no {text!r} in {found}")

    def passes(self, found):
        self.assertEqual([], found)


class Sentences(Case):
    def test_code_is_one_word(self):
        self.assertEqual([4], lengths("x.md", "Then run `gpreempt run --class=lc -- CMD` again.\n"))
        self.assertEqual([4], lengths("x.c", "/* Call gp_hold(ctx, limit_ns) first here. */\n"))
        self.assertEqual([4], lengths("x.scd", "x(1)\n\nThen run *gpreempt run* again.\n"))

    def test_links_count_their_text(self):
        self.assertEqual([4], lengths("x.md", "See [the guide](docs/x%20y.md) first.\n"))

    def test_ends(self):
        self.assertEqual([3, 2], lengths("x.md", "One two three. `code` ends.\n"))
        self.assertEqual([7], lengths("x.md", "Use a card, e.g. an H100, now.\n"))
        self.assertEqual([4], lengths("x.md", "From 1 .. 64 ms.\n"))
        self.assertEqual([2, 2, 3], lengths("x.md", "- First item\n- Second item\n\nThird goes here.\n"))

    def test_a_wrapped_sentence_is_one(self):
        self.assertEqual([6], lengths("x.c", "/*\n * One two three\n * four five six.\n */\n"))
        self.assertEqual([4], lengths("x.mk", "# One two\n# three four.\n"))
        self.assertEqual([4], lengths("x.py", 'def f():\n    """One two\n    three four."""\n'))

    def test_kernel_doc_fields_stand_apart(self):
        self.assertEqual([4, 6, 4], lengths("x.h", "/**\n * gp_x() - Do one thing.\n"
                                            " * @a: what is to be done\n * Return: 0 or error.\n */\n"))

    def test_lines(self):
        found = md("# Head\n\nFine.\n\nThe text is long,\n" + words(41).lower() + "\n")
        self.assertEqual([5], [line for line, what in found if "at most 40" in what])


class Lengths(Case):
    def test_mean(self):
        self.fails(md(words(19) + "\n"), "19.0 words a sentence")
        self.passes(md(words(18) + "\n"))

    def test_long_ones(self):
        short = " ".join([words(5)] * 8)
        self.fails(md(f"{short} {words(26)}\n"), "1 of 9 sentences")
        self.passes(md(f"{short} {words(25)}\n"))
        self.passes(md(f"{short} {words(5)} {words(26)}\n"))

    def test_longest(self):
        short = " ".join([words(5)] * 20)
        self.fails(md(f"{short} {words(41)}\n"), "sentence of 41 words")
        self.passes(md(f"{short} {words(40)}\n"))

    def test_cell(self):
        self.fails(md(f"| a | {words(21)} |\n| --- | --- |\n"), "table cell of 21 words")
        self.passes(md(f"| a | {words(20)} |\n| --- | --- |\n"))

    def test_columns(self):
        self.fails(findings("x.md", "Hi. " * 26 + "\n"), "over 100 columns")
        self.passes(findings("x.md", "Hi. " * 25 + "\n"))
        self.passes(findings("x.md", "| a |" + " " * 100 + "|\n"))
        self.passes(findings("x.md", "```\n" + "Hi. " * 26 + "\n```\n"))

    def test_fences_are_exempt(self):
        self.passes(md("```sh\n" + words(60) + "\nwho cuts what\n```\n"))

    def test_comment(self):
        for path, form in (("a/x.c", "/* {} */\n"), ("a/x.c", "// {}\n"), ("a/x.h", "/**\n * {}\n */\n"),
                           ("Makefile", "# {}\n"), ("x.mk", "# {}\n"), ("x.yaml", "# {}\n"),
                           ("x.yaml", "a: 1 # {}\n"), ("x.py", "# {}\n"), ("x.py", '"""{}"""\n')):
            with self.subTest(path=path, form=form):
                self.fails(findings(path, form.format(words(31))), "sentence of 31 words")
                self.passes(findings(path, form.format(words(30))))

    def test_strings_are_no_comments(self):
        self.passes(c(f'char *a = "/* {words(31)} */";\n'))
        self.passes(findings("x.py", f'a = "# {words(31)}"\n'))


class Words(Case):
    def test_headless_who(self):
        for text in ("Who waits gets it.", "It depends on who waits.", "Whoever runs keeps it.",
                     "Those who hold it wait.", "It depends on whose turn it is.", "By whom it runs."):
            with self.subTest(text=text):
                self.fails(md(text + "\n"), "without a noun")
                self.fails(c(f"/* {text} */\n"), "without a noun")
        for text in ("The user who started it.", "Who holds the device?", "A group whose slice is short.",
                     "Operators, who read logs.", "The tenant in whose turn it runs.",
                     "Run `who` first."):
            with self.subTest(text=text):
                self.passes(md(text + "\n"))
                self.passes(c(f"/* {text} */\n"))

    def test_headless_what(self):
        filler = " ".join([words(10)] * 33)
        self.fails(md(f"{filler} It is what runs.\n"[11:]), '"what", 1 in')
        self.passes(md(f"{filler} It is what runs.\n"))
        self.passes(md("What does it cost?\n"))
        self.fails(c("/* What runs is what waits. */\n"), '"what", 2 in')
        self.passes(c("/* It is what runs. */\n"))

    def test_terms(self):
        for text in ("It puts all groups back.", "They make way for it.", "LC cuts it.",
                     "A kernel is cut.", "The hold comes to nothing.", "It is told so.",
                     "It is said in a line.", "It starts anew.", "It guesses this.", "It has learned it.",
                     "A rhythm is seen.", "It came itself.", "The tenant was found.",
                     "The groups are off.", "A class cannot be had."):
            with self.subTest(text=text):
                self.fails(md(text + "\n"), "is not our term")
                self.fails(c(f"/* {text} */\n"), "is not our term")
        for text in ("A shortcut is cut into parts.", "This is a deep learning model.", "Run `cut -d`.",
                     "The feature is off.", "See sched/cut.c there."):
            with self.subTest(text=text):
                self.passes(md(text + "\n"))

    def test_terms_of_documents(self):
        for text in ("It tells the user.", "It says this."):
            self.fails(md(text + "\n"), "is not our term")
            self.passes(c(f"/* {text} */\n"))
        self.passes(md("Nobody can tell them apart.\n"))


class Program(Case):
    """The program itself, in a repository of its own."""

    def run_in(self, files, *args):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            for name, text in files.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(text)
            subprocess.run(["git", "-C", folder, "add", "."], check=True)
            got = subprocess.run([sys.executable, PROSE, *args], cwd=folder, capture_output=True,
                                 text=True)
        return got.returncode, got.stdout

    def test_spelling(self):
        status, out = self.run_in({"a.md": "The daemon reads.\n\nIt is a mistaek.\n"})
        self.assertEqual((1, True), (status, 'a.md:3: unknown word' in out), out)
        status, out = self.run_in({"a.md": "The daemon reads. Use livelock and `mistaek`.\n"})
        self.assertEqual(0, status, out)

    def test_identifiers_of_the_file(self):
        files = {"a.c": "int nent; /* The nent. */\n"}
        self.assertEqual(0, self.run_in(files)[0])
        files = {"a.c": "int other; /* The nent. */\n"}
        self.assertEqual(1, self.run_in(files)[0])

    def test_readme(self):
        self.assertEqual(0, self.run_in({"README.md": "Hi.\n" * 150})[0])
        status, out = self.run_in({"README.md": "Hi.\n" * 151})
        self.assertEqual((1, True), (status, "151 lines, at most 150" in out))

    def test_words_of_docs(self):
        page = ("Word " * 9).strip() + ".\n\n"
        files = {"docs/a.md": page * 1000, "docs/b.md": page * 1000}
        self.assertEqual(0, self.run_in(files)[0])
        files["docs/b.md"] += "Word.\n"
        status, out = self.run_in(files)
        self.assertEqual((1, True), (status, "18001 words in docs/*.md" in out))
        self.assertEqual(0, self.run_in(files, "docs/b.md")[0])

    def test_paths(self):
        files = {"a.md": words(50) + "\n", "b/b.md": "Fine.\n"}
        self.assertEqual(0, self.run_in(files, "b")[0])
        self.assertEqual(1, self.run_in(files)[0])

    def test_stat(self):
        status, out = self.run_in({"a.md": words(50) + "\n"}, "--stat")
        self.assertEqual(0, status)
        self.assertRegex(out, r"a\.md +50\.0 +100 +50 +1 +0\.0 +50\n")


if __name__ == "__main__":
    unittest.main()
