#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./setup: what it installs, asks and runs, with stubs of apt-get, sudo and make."""
import os
import pty
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = ("sh", "dirname", "cat", "cut", "sort", "tr", "sed", "env", "nproc")
LOG = '#!/bin/sh\necho "$(basename "$0") $*" >>"$LOG"\n'
STUBS = {
    "apt-get": LOG + 'echo "answer of apt-get" >&2\ncase "$1 $FAIL" in\n'
               '"update update" | "install install") exit 100 ;;\nesac\n',
    "make": LOG,
    "sudo": LOG + 'exec "$@"\n',
    "id": '#!/bin/sh\necho "${USER_ID:-0}"\n',
    "dpkg-query": '#!/bin/sh\nfor last; do :; done\n'
                  'case " $INSTALLED " in *" $last "*) printf installed ;; esac\n',
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.log = os.path.join(self.dir, "log")
        for tool in TOOLS + ("basename",):
            os.symlink(shutil.which(tool), os.path.join(self.dir, tool))
        for name, text in STUBS.items():
            path = os.path.join(self.dir, name)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(path, 0o755)

    def setup(self, *args, answer=None, **env):
        """Return (exit status, output). @answer: on a terminal."""
        env = {"PATH": self.dir, "LOG": self.log, **env}
        how = {"env": env, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
               "text": True, "timeout": 60, "check": False}
        argv = [os.path.join(TOP, "setup"), *args]
        if answer is None:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, **how)
        else:
            ours, theirs = pty.openpty()
            os.write(ours, answer)
            done = subprocess.run(argv, stdin=theirs, **how)
            os.close(theirs)
            os.close(ours)
        return done.returncode, done.stdout

    def calls(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="ascii") as f:
            return f.read().splitlines()

    def remove(self, name):
        os.unlink(os.path.join(self.dir, name))

    def packages(self, target):
        status, output = self.setup("-l", target)
        self.assertEqual(status, 0)
        return output.split()

    def test_root_installs_and_makes(self):
        status, output = self.setup("demo", INSTALLED="gcc make libc6-dev python3")
        self.assertEqual(status, 0, output)
        self.assertIn("libjansson-dev               read and write JSON", output)
        self.assertNotIn("compile C", output)
        update, install, make = self.calls()
        self.assertEqual(update, "apt-get update -qq")
        self.assertEqual(install, "apt-get install -y -qq --no-install-recommends "
                         "libjansson-dev libncurses-dev")
        self.assertRegex(make, r"^make -j\d+ demo$")

    def test_nothing_missing(self):
        status, output = self.setup("demo", INSTALLED=" ".join(self.packages("demo")),
                                    USER_ID="1000")
        self.assertEqual(status, 0, output)
        self.assertRegex(" ".join(self.calls()), r"^make -j\d+ demo$")

    def test_install_only(self):
        self.assertEqual(self.setup("-i", "demo")[0], 0)
        self.assertEqual([call.split()[0] for call in self.calls()], ["apt-get", "apt-get"])

    def test_user_is_asked(self):
        status, output = self.setup("demo", answer=b"y\n", USER_ID="1000")
        self.assertEqual(status, 0, output)
        self.assertIn('Run "sudo apt-get install ', output)
        self.assertEqual([call.split()[0] for call in self.calls()],
                         ["sudo", "apt-get", "sudo", "apt-get", "make"])

    def test_user_refuses(self):
        for answer in (b"\n", b"\x04"):
            status, output = self.setup("demo", answer=answer, USER_ID="1000")
            self.assertEqual(status, 1)
            self.assertIn("setup: nothing installed", output)
            self.assertEqual(self.calls(), [])

    def test_user_who_cannot_be_asked(self):
        status, output = self.setup("demo", USER_ID="1000")
        self.assertEqual(status, 1)
        self.assertRegex(output, 'run "sudo apt-get install .*gcc.*", then "make demo"')
        self.remove("sudo")
        status, output = self.setup("demo", answer=b"y\n", USER_ID="1000")
        self.assertEqual(status, 1)
        self.assertRegex(output, 'run as root "apt-get install .*gcc.*", then "make demo"')
        self.assertEqual(self.calls(), [])

    def test_apt_get_fails(self):
        for step in ("update", "install"):
            status, output = self.setup("demo", FAIL=step)
            self.assertEqual(status, 1)
            self.assertIn("answer of apt-get", output)
            self.assertIn(f"setup: apt-get {step} failed: ", output)
        self.assertEqual([call.split()[1] for call in self.calls()],
                         ["update", "update", "install"])

    def test_no_apt_get(self):
        self.remove("apt-get")
        status, output = self.setup("demo")
        self.assertEqual(status, 1)
        self.assertIn("Install what Debian calls gcc libc6-dev", output)

    def test_usage(self):
        for args in ((), ("-l", "x"), ("demo", "all")):
            status, output = self.setup(*args)
            self.assertEqual(status, 2, args)
            self.assertIn("usage: ./setup", output)
        targets = re.findall(r"^  ([a-z]\S+) ", self.setup("-h")[1], re.M)
        self.assertIn("ci-more", targets)
        for target in targets[-4:]:
            self.assertIn("gcc", self.packages(target))

    def test_same_packages_as_make(self):
        """make names packages when it misses them; setup installs those."""
        with open(os.path.join(TOP, "config.mk"), encoding="utf-8") as f:
            rules = re.findall(r"^lacks_(\w+) = ((?:.*\\\n)*.*)", f.read(), re.M)
        seen, have = 0, {}
        for name, rule in rules:
            target = {"lint": "check", "python": "demo"}.get(name, name)
            if name in ("command", "header"):
                continue
            if target not in have:
                have[target] = self.packages(target)
            for packages in re.findall(r"\(call lacks_\w+,(?:\$\([^()]*\$\(CC\)\)|[^,]*),([^)]*)\)",
                                       rule):
                for package in packages.split():
                    self.assertIn(package, have[target], name)
                    seen += 1
        self.assertGreater(seen, 20)


if __name__ == "__main__":
    unittest.main()
