#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hsaq over a fake KFD: its actions, and its error messages."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, PATIENCE_S  # noqa: E402

HSAQ = os.path.join(BUILD, "tests/hsaq/hsaq_fake")
# No process has this PID, so no other socket has the name.
PID = str(4194304 + os.getpid())
DEVICE = "--device=4711"


def hsaq(*args, place="patched", wait=True):
    how = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
           "stdin": subprocess.DEVNULL,
           "env": {**os.environ, "FAKE_HSAQ": place, "FAKE_PID": PID}}
    if not wait:
        return subprocess.Popen([HSAQ, *args], **how)
    return subprocess.run([HSAQ, *args], timeout=PATIENCE_S, check=False, **how)


class Refusals(unittest.TestCase):
    """One line on stderr with the object, the cause, and the next step."""

    def refused(self, *args, words=(), place="patched"):
        done = hsaq(*args, place=place)
        self.assertEqual(done.returncode, 125, (args, done.stderr))
        self.assertEqual(done.stdout, "", args)
        self.assertEqual(done.stderr.count("\n"), 1, (args, done.stderr))
        self.assertTrue(done.stderr.startswith("hsaq: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr, args)

    def test_kernels(self):
        for verb in (["mode"], ["ls"], ["hold", DEVICE], ["unload", DEVICE, PID]):
            self.refused(*verb, place="no-kfd", words=("/dev/kfd", "modprobe amdgpu"))
            self.refused(*verb, place="closed", words=("/dev/kfd", "group"))
            self.refused(*verb, place="old-abi", words=("ABI 0.9", "newer kernel"))
            self.refused(*verb, place="new-abi", words=("ABI 2.0", "newer libhsaq"))
        for verb in (["hold", DEVICE], ["unload", DEVICE, PID]):
            for place in ("stock", "stock-hws"):
                self.refused(*verb, place=place, words=("device 4711", "patched driver"))
            self.refused(*verb, place="patched-hws",
                         words=("device 4711", "amdgpu.sched_policy=2"))

    def test_rights(self):
        right = ("CAP_SYS_ADMIN", "/dev/kfd_sched")
        for place in ("user", "user-in-container"):
            self.refused("hold", DEVICE, place=place, words=("device 4711", *right))
            self.refused("unload", DEVICE, PID, place=place,
                         words=(f"process {PID}", *right))

    def test_processes_and_devices(self):
        self.refused("unload", DEVICE, "1", words=("process 1 has no queues", "hsaq ls"))
        self.refused("unload", DEVICE, PID + ":7", words=("no such queue", "hsaq ls"))
        self.refused("load", DEVICE, PID, words=("no hsaq unload keeps",))
        for verb in (["mode"], ["ls"], ["hold"], ["unload", PID]):
            self.refused(verb[0], "--device=GPU-1", *verb[1:],
                         words=("GPU-1: no such device", "hsaq ls"))
        self.refused("hold", words=("2 devices", "--device"))

    def test_words(self):
        """Checked before any call of the kernel."""
        for args, words in (
                ((), ("verb missing", "--help")),
                (("frob",), ("frob", "--help")),
                (("fr\nob",), ("fr?ob", "--help")),
                (("hold", "--level="), ("--level=:", "0 (most urgent) to 15")),
                (("grant", "--min-level=x", "true"), ("--min-level=x:",)),
                (("mode", "x"), ("x: unexpected argument",)),
                (("ls", "x"), ("x: unexpected argument",)),
                (("ls", "--for=1s"), ("--for", "--help")),
                (("load", "--level=3", "1"), ("--level", "--help")),
                (("hold", "--level=16"), ("16", "0 (most urgent) to 15")),
                (("hold", "--level"), ("--level", "--help")),
                (("hold", "-d", "1"), ("-d", "--help")),
                (("hold", "--for=5"), ("--for=5", "300us")),
                (("hold", "--for=0s"), ("--for=0s", "300us")),
                (("hold", "--for=1s", "--", "true"), ("--for",)),
                (("unload",), ("PID:QUEUE",)),
                (("unload", "x"), ("x: not a PID",)),
                (("unload", "1:x"), ("1:x: not a queue number",)),
                (("unload", "1", "2"), ("PID:QUEUE",)),
                (("grant",), ("hsaq grant -- CMD",)),
                (("grant", "--rights=all", "--", "true"), ("all", "raise")),
                (("grant", "--rights=", "--", "true"), ("raise",))):
            self.refused(*args, place="no-kfd", words=words)


class Doing(unittest.TestCase):
    def test_mode_and_ls(self):
        done = hsaq("mode")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.split(": ")[0] for line in done.stdout.splitlines()],
                         ["device 4711", "device 4712"])
        done = hsaq("ls", DEVICE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([row[4] for row in rows if row[:1] == [PID]],
                         ["loaded", "loaded"])
        self.assertIn("gfx906", done.stdout)
        self.assertNotIn("4712", done.stdout)

    def test_output_that_is_lost_is_said(self):
        for args in (["ls"], ["mode"], ["--help"], ["ls", "--help"], ["--version"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([HSAQ, *args], stdout=full, text=True,
                                      stderr=subprocess.PIPE, timeout=PATIENCE_S,
                                      env={**os.environ, "FAKE_HSAQ": "patched"},
                                      check=False)
            self.assertEqual(done.returncode, 125, args)
            self.assertIn("cannot write standard output", done.stderr)

    def test_each_device_has_its_mode(self):
        first, second = hsaq("mode", place="one-hws").stdout.splitlines()
        self.assertRegex(first, "^device 4711: .*classes, holds")
        self.assertRegex(second, "^device 4712: .*this card's firmware")
        done = hsaq("mode", "--device=4712", place="one-hws")
        self.assertEqual(done.stdout.splitlines(), [second])
        done = hsaq("hold", "--device=4712", place="one-hws")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (125, 1))
        self.assertIn("this card's firmware", done.stderr)

    def test_hold_ends_with_its_command(self):
        for command, status in (("exit 7", 7), ("kill -9 $$", 137)):
            done = hsaq("hold", DEVICE, "--", "sh", "-c", command)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("2 queues unloaded", done.stderr)
            self.assertIn("2 queues loaded", done.stderr)
        self.assertEqual(hsaq("hold", DEVICE, "--", "/nowhere").returncode, 127)
        self.assertEqual(hsaq("hold", DEVICE, "--", "/etc/passwd").returncode, 126)

    def test_hold_ends_with_its_time(self):
        self.assertEqual(hsaq("hold", DEVICE, "--for=10ms").returncode, 0)

    def test_load_waits_for_the_unload(self):
        """Once it returns, the queues are on and may be unloaded again."""
        for _ in range(3):
            first = hsaq("unload", DEVICE, PID, wait=False)
            self.assertIn("is unloaded", first.stderr.readline())
            again = hsaq("unload", DEVICE, PID)
            self.assertEqual(again.returncode, 125)
            self.assertIn("another hsaq unload", again.stderr)
            done = hsaq("load", DEVICE, PID)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(first.wait(PATIENCE_S), 0)
            first.stdout.close()
            first.stderr.close()

    def test_unload_ends_with_its_time(self):
        self.assertEqual(hsaq("unload", "--for=10ms", DEVICE, PID).returncode, 0)


if __name__ == "__main__":
    unittest.main()
