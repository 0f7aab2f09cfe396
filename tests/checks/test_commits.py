# SPDX-License-Identifier: Apache-2.0
"""tests/commits.py and hooks/commit-msg: messages that pass, and one that fails for each rule."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
sys.path.insert(0, TESTS)
import commits  # noqa: E402

BODY = "\n\nThe timer fires late on a VM. Re-arm it only then.\nTested: tests/client/test_engine.\n"
GOOD = "client: re-arm a late timer" + BODY


def findings(message, final=True):
    return list(commits.check_message(message, final))


class Rules(unittest.TestCase):
    def fails(self, message, text):
        found = findings(message)
        self.assertEqual(1, len(found), found)
        self.assertIn(text, found[0])

    def subject_fails(self, subject, text):
        self.fails(subject + BODY, text)

    def passes(self, message):
        self.assertEqual([], findings(message))

    def test_good_ones(self):
        self.passes(GOOD)
        for subject in ("tests: daemon_keep: wait for the successor", "sched, daemon: pass the class on",
                        "kfd-patch/simgpu: need no CPU", "Makefile: add hooks", ".ci/run: check commits",
                        "docs: README: seed the example"):
            self.passes(subject + BODY)

    def test_subject(self):
        self.subject_fails("client: " + "x" * 65, "subject of 73 columns")
        self.passes("client: " + "x" * 64 + BODY)
        self.subject_fails("re-arm a late timer", "area: imperative")
        self.subject_fails("client: Re-arm a late timer", "capital letter")
        self.subject_fails("client: re-arm a late timer.", "full stop")

    def test_imperative(self):
        for subject in ("client: a late timer", "client: the timer fires", "client: fixes the timer",
                        "client: fixed the timer", "client: fixing the timer",
                        "docs: one page of results"):
            with self.subTest(subject=subject):
                self.subject_fails(subject, "no imperative")

    def test_body(self):
        self.fails("client: re-arm a late timer\nThe reason is that\nit is late. Tested.\n",
                   "no empty line")
        self.fails("client: re-arm a late timer\n\nTested.\n", "body of 1 lines")
        self.fails("client: re-arm a late timer\n\nTested.\n\nSigned-off-by: A B <a@b>\n",
                   "body of 1 lines")
        self.fails("client: re-arm a late timer\n\nThe timer fires late on a VM.\nAdd tests of it.\n",
                   "how it was tested")
        self.passes("docs: explain the timer\n\nReaders asked for its\nreason. No code.\n")
        self.assertEqual(2, len(findings("client: re-arm a late timer\n")))

    def test_body_columns(self):
        self.fails(GOOD + "word " * 15 + "wo\n", "body line of 77 columns")
        self.passes(GOOD + "word " * 15 + "w\n")
        self.passes(GOOD + "    " + "word " * 20 + "\n")
        self.passes(GOOD + "https://example.org/" + "x" * 80 + "\n")

    def test_words(self):
        self.subject_fails("client: re-arm who is late", "without a noun")
        self.fails(GOOD + "The timer starts anew.\n", "is not our term")

    def test_git_writes_some_itself(self):
        self.passes("Merge branch 'x' into main\n")
        self.passes('Revert "client: re-arm a late timer"' + BODY)
        self.fails('Revert "client: re-arm a late timer"\n\nThis reverts commit 1234.\nIt is late.\n',
                   "how it was tested")
        self.assertEqual([], findings("fixup! client: re-arm a late timer\n", final=False))
        self.fails("fixup! client: re-arm a late timer\n", "squash this commit")

    def test_comments_are_not_the_message(self):
        text = GOOD + "# Please enter\n# ------------------------ >8 ------------------------\n" \
            + "diff --git\n+" + "x " * 99
        self.assertEqual(GOOD.strip(), commits.cleaned(text))


class Git(unittest.TestCase):
    """The hook, and the check of a range, in a repository of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "repository")
        os.makedirs(os.path.join(self.root, "tests"))
        for name in ("commits.py", "prose.py", "words.txt"):
            shutil.copy(os.path.join(TESTS, name), os.path.join(self.root, "tests", name))
        shutil.copytree(os.path.join(ROOT, "hooks"), os.path.join(self.root, "hooks"))
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A Tester")
        self.git("config", "user.email", "tester@example.org")
        self.git("config", "core.hooksPath", "hooks")
        self.git("add", ".")

    def git(self, *args, text=None, where=None):
        return subprocess.run(["git", *args], cwd=where or self.root, input=text,
                              capture_output=True, text=True)

    def commit(self, message, *more):
        return self.git("commit", "-q", "--allow-empty", "-F", "-", *more, text=message)

    def check(self, base, where=None):
        got = subprocess.run([sys.executable, os.path.join(self.root, "tests", "commits.py"),
                              "--base", base], cwd=where or self.root, capture_output=True, text=True)
        return got.returncode, got.stdout + got.stderr

    def test_hook(self):
        got = self.commit("fixed it\n")
        self.assertEqual(1, got.returncode)
        self.assertIn("area: imperative", got.stderr)
        got = self.commit(GOOD)
        self.assertEqual((0, ""), (got.returncode, got.stderr))
        self.assertEqual(0, self.git("commit", "-q", "--allow-empty", "--fixup=HEAD").returncode)

    def test_range(self):
        self.commit("old form\n", "--no-verify")
        self.commit(GOOD)
        self.assertEqual((0, "commits: 1 messages, nothing to change\n"), self.check("HEAD~1"))
        self.commit("new, and wrong\n", "--no-verify")
        status, out = self.check("HEAD~2")
        self.assertEqual(1, status)
        self.assertIn("area: imperative", out)

    def test_shallow_clone(self):
        self.commit(GOOD)
        base = self.git("rev-parse", "HEAD").stdout.strip()
        self.commit("new, and wrong\n", "--no-verify")
        shallow = self.root + "-shallow"
        self.git("clone", "-q", "--depth=1", "file://" + self.root, shallow)
        status, out = self.check(base, shallow)
        self.assertEqual((0, True), (status, "not in this clone's history" in out), out)


if __name__ == "__main__":
    unittest.main()
