#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each shell is asked what it completes, and the answers are compared with --help."""
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, PATIENCE_S, TOP  # noqa: E402
from test_man import options_of_help  # noqa: E402

BIN = os.path.join(BUILD, "bin")
PROGRAMS = "gpreempt", "gpreemptd", "gpreempt-bench", "hsaq"
BENCH_VERBS = {"list", "run", "calibrate", "compare", "report"}
HSAQ_VERBS = {"mode", "ls", "unload", "load", "hold", "grant"}
ASK_BASH = """
for file in {files}; do . "$file"; done
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p -- {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/') {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# Writes each match to a file, besides adding it. A line behind these means that zsh's editor reads
# the terminal and has answered: at the first prompt, and for each DONE_KEY, which also empties the
# line. No line is executed. Between two lines the terminal would be the kernel's, whose control
# characters can erase a question.
DONE_KEY, DONE = "\x1d", "// done"
ZSH_RC = """
PS1= fpath=({folder} $fpath) LISTMAX=100000
setopt no_auto_menu no_list_beep no_prompt_cr no_prompt_sp
autoload -Uz compinit && compinit -u -D
compadd() {{
    if [[ " ${{@[1,(i)(-|--)]}} " != *' '-*[OAD]' '* ]]; then
        local -a hits
        builtin compadd -A hits "$@"
        print -rl -- $hits >>{out}
    fi
    builtin compadd "$@"
}}
mark-done() {{ BUFFER=; print -r -- '{done}' >>{out} }}
zle -N mark-done
zle -N zle-line-init mark-done
bindkey '{key}' mark-done
"""


def longs(*command):
    """The long options in a program's --help."""
    return set(re.findall(r"--[\w-]+", " ".join(options_of_help(*command))))


def verbs():
    done = subprocess.run([CLI, "--help"], text=True, capture_output=True, check=True,
                          timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
    return set(re.findall(r"^  (\w+) ", done.stdout, re.M))


class Shell:
    """The tests, for a shell that answers complete(LINE): the set of proposed words."""

    shell = None

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.shell):
            raise unittest.SkipTest(f"no {cls.shell}")
        cls.dir = tempfile.mkdtemp(prefix="gpreempt-complete-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": cls.dir, "TERM": "dumb",
                   "LC_ALL": "C.UTF-8"}
        cls.folder = os.path.join(cls.dir, "completions")
        os.mkdir(cls.folder)
        for program in PROGRAMS:
            name = {"zsh": f"_{program}", "fish": f"{program}.fish"}.get(cls.shell, program)
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as f:
                subprocess.run([sys.executable, os.path.join(TOP, "completions/make.py"),
                                cls.shell, os.path.join(BIN, program)], stdout=f, check=True,
                               timeout=PATIENCE_S)

    def options(self, line):
        """The options that the shell proposes after @line."""
        found = {word.rstrip("=") for word in self.complete(f"{line} --")}
        return found - {"--"}

    def test_options_of_each_verb(self):
        self.assertGreater(len(verbs()), 10)
        for verb in sorted(verbs()):
            with self.subTest(verb):
                self.assertEqual(self.options(f"gpreempt {verb}"), longs(CLI, verb))

    def test_other_programs(self):
        for name in ("gpreemptd", "gpreempt-bench"):
            self.assertEqual(self.options(name), longs(os.path.join(BIN, name)))
        self.assertEqual(self.options("gpreempt-bench run"),
                         longs(os.path.join(BIN, "gpreempt-bench")))
        self.assertEqual(self.options("hsaq hold"), {"--level", "--for", "--device"})

    def test_verbs(self):
        for program, known in (("gpreempt", verbs()), ("gpreempt-bench", BENCH_VERBS),
                               ("hsaq", HSAQ_VERBS)):
            found = {w for w in self.complete(f"{program} ") if not w.startswith("-")}
            self.assertEqual(found, known)
        self.assertEqual(self.complete("gpreempt do"), {"doctor"})

    def test_values(self):
        self.assertEqual(self.values("gpreempt run --class="), {"lc", "be"})
        self.assertEqual(self.values("gpreempt set --class=l"), {"lc"})
        self.assertEqual(self.values("gpreempt attach -c "), {"lc", "be"})
        self.assertEqual(self.values("gpreempt top --sort="),
                         {"used", "turn", "wait", "switch", "pid", "name"})
        self.assertEqual(self.values("gpreempt ls --device="), {"soft0"})
        self.assertEqual(self.values("hsaq grant --rights=h"), {"hold"})
        self.assertEqual(self.values("gpreempt hint --in="), set())

    def values(self, line):
        """fish proposes the whole word."""
        return {word.rpartition("=")[2] for word in self.complete(line)} - {""}

    def test_processes_and_files(self):
        self.assertIn(str(os.getpid()), self.complete("gpreempt attach --class=lc "))
        self.assertIn(str(os.getpid()), self.complete("hsaq unload "))
        with open(os.path.join(self.dir, "results.json"), "w", encoding="ascii"):
            pass
        for line in ("gpreempt trace -o res", "gpreempt-bench compare res"):
            self.assertEqual(self.complete(line), {"results.json"})

    def test_command(self):
        """Behind "--" comes a command."""
        found = self.complete("gpreempt run --class=lc -- gpreempt")
        self.assertLessEqual({"gpreempt", "gpreemptd"}, found)
        if self.shell == "bash":            # the other shells leave "--" to the user
            self.assertIn("--", self.complete("gpreempt run --"))
        if self.shell != "bash":            # bash needs bash-completion for this
            self.assertEqual(self.complete("gpreempt run --class=lc -- gpreempt ls --j"),
                             {"--json"})


class Bash(Shell, unittest.TestCase):
    shell = "bash"

    def complete(self, line):
        """As readline does, words end at "=", too."""
        words = re.findall(r"=|[^ =]+", line) + ([""] if line[-1] == " " else [])
        script = ASK_BASH.format(files=f"{self.folder}/*", program=words[0],
                                 words=" ".join(map(shlex.quote, words)))
        done = subprocess.run(["bash", "--norc", "-c", script], text=True, capture_output=True,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, env=self.env,
                              cwd=self.dir)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())


class Fish(Shell, unittest.TestCase):
    shell = "fish"

    def complete(self, line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", 'for f in $argv[2..-1]; source $f; end; '
             'complete -C "$argv[1]"', line,
             *(os.path.join(self.folder, name) for name in os.listdir(self.folder))],
            text=True, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            env=self.env, cwd=self.dir)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {row.split("\t")[0] for row in done.stdout.splitlines()}


class Zsh(Shell, unittest.TestCase):
    shell = "zsh"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = os.path.join(cls.dir, "out")
        rc = os.path.join(cls.dir, "rc")
        with open(rc, "w", encoding="ascii") as f:
            f.write(ZSH_RC.format(folder=cls.folder, out=cls.out, key=DONE_KEY, done=DONE))
        cls.pid, cls.tty = pty.fork()
        if not cls.pid:
            os.chdir(cls.dir)
            os.execvpe("zsh", ["zsh", "-f", "-i"], cls.env)
        cls.addClassCleanup(os.waitpid, cls.pid, 0)
        cls.addClassCleanup(os.kill, cls.pid, 9)
        cls.addClassCleanup(os.close, cls.tty)
        os.write(cls.tty, f". {rc}\n".encode())
        cls.answer()

    @classmethod
    def answer(cls):
        """The matches that zsh has written, once it is done."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if select.select([cls.tty], [], [], 0.01)[0]:
                os.read(cls.tty, 65536)
            if os.path.exists(cls.out):
                with open(cls.out, encoding="utf-8") as f:
                    text = f.read()
                if text.endswith(f"{DONE}\n"):
                    os.unlink(cls.out)
                    return set(filter(None, text.split("\n"))) - {DONE}
        raise TimeoutError("zsh does not answer")

    def complete(self, line):
        os.write(self.tty, f"{line}\t{DONE_KEY}".encode())
        return self.answer()


if __name__ == "__main__":
    unittest.main()
