#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors that a newcomer can provoke with the first ten commands: each gets one line with the
failed action, its object, the cause and the next step. CMD does not run."""
import errno
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_daemon as fake  # noqa: E402
from rig import BUILD, CLI, PATIENCE_S, Refusals, Rig, among_mps  # noqa: E402

RUN = ("run", "--class=lc", "--", "true")
USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Cards as the kernel shows them, and a driver, all of them files.
CARD = ("mount -t tmpfs pci /sys/bus/pci/devices && cd /sys/bus/pci/devices && "
        "mkdir 0000:3b:00.0 && cd 0000:3b:00.0 && echo 0x10de >vendor && echo 0x030200 >class && ")
DRIVER = "ln -s ../../../../bus/pci/drivers/{} driver && "
VERSION = "mount -t tmpfs module /sys/module && mkdir /sys/module/nvidia && " \
          "echo {} >/sys/module/nvidia/version && "
NODE = "mount -t tmpfs dev /dev && touch /dev/null /dev/nvidiactl && chmod 666 /dev/null && "


class Words(Refusals):
    # The first commands of a newcomer, and the line that each gets.
    FIRST = (
        ([], "verb missing; write gpreempt run --class=lc -- CMD, or see gpreempt --help"),
        (["sh", "train.sh"], "sh: unknown verb; to run that program, write gpreempt run "
                             "--class=be -- sh"),
        (["/bin/sh"], "/bin/sh: unknown verb; to run that program, write gpreempt run "
                      "--class=be -- /bin/sh"),
        (["frobnicate"], "frobnicate: unknown verb; see gpreempt --help"),
        (["--class=be", "true"],
         "--class=be: verb missing; write gpreempt run --class=CLASS -- CMD"),
        (["-c", "be", "true"], "-c: verb missing; write gpreempt run --class=CLASS -- CMD"),
        (["Run", "--class=be", "true"], "Run: unknown verb; write gpreempt run"),
        (["sets", "1"], "sets: unknown verb; write gpreempt set"),
        (["stats"], "stats: unknown verb; write gpreempt stat"),
        (["hit"], "hit: unknown verb; write gpreempt hint"),
        (["run"], "run: class missing; write --class=lc or --class=be"),
        (["run", "touch", "MARK"], "run: class missing; write --class=lc or --class=be"),
        (["run", "be", "touch", "MARK"], "run: class missing; write --class=be, not be"),
        (["run", "lc:2", "--", "touch", "MARK"],
         "run: class missing; write --class=lc:2, not lc:2"),
        (["run", "--class"], "run: --class: value missing; write --class=CLASS"),
        (["run", "-c"], "run: -c: value missing; write --class=CLASS"),
        (["run", "--lc", "touch", "MARK"], "run: --lc: no such option; write --class=lc"),
        (["run", "-be", "touch", "MARK"], "run: -be: no such option; write --class=be"),
        (["run", "--class=be", "-x", "touch", "MARK"],
         "run: -x: unknown option; see gpreempt run --help"),
        (["run", "--class=lc", "--auto-hold=yes", "touch", "MARK"],
         "run: --auto-hold=yes: this option has no value; write --auto-hold"),
        (["run", "--class=be", "--gpu=0", "touch", "MARK"],
         "run: --gpu=0: unknown option; see gpreempt run --help"),
        (["run", "--class=high", "--", "touch", "MARK"],
         "run: --class=high: no such class; write lc, lc:LEVEL, be or be:WEIGHT"),
        (["run", "--class=lc"], "run: command missing; write gpreempt run --class=lc -- CMD"),
        (["run", "--class=lc", "--device=cuda:0", "--", "touch", "MARK"],
         "run: device 'cuda:0': not a UUID (GPU- and at least 8 hex digits), a PCI address "
         "(0000:3b:00.0) or soft0"),
        (["attach", "be", "1"], "attach: be: not a PID; write --class=be"),
        (["set", "1", "lc"], "set: lc: not a PID; write --class=lc"),
        (["hint", "1", "300us"],
         "hint: 300us: not a PID; write --in=300us, an option of gpreempt hint"),
        (["attach", "--class=be", "python"], None),
        (["ls", "-l"], "ls: -l: unknown option; see gpreempt ls --help"),
        (["top", "-n"], "top: -n: value missing; write --count=N"),
        (["run", "--class=lc", "--device=", "--", "touch", "MARK"],
         "run: device '': not a UUID (GPU- and at least 8 hex digits), a PCI address "
         "(0000:3b:00.0) or soft0"),
        (["run", "--class=lc,period=5,runtime=1ms", "--", "touch", "MARK"],
         "run: --class=lc,period=5,runtime=1ms: invalid; write a number and a unit (us, ms, s), "
         "such as 20ms"),
        (["why", "1"], "why: no gpreemptd is used, as GPREEMPT_DAEMON=none; unset it"),
        (["trace"], "trace: file missing; write gpreempt trace -o FILE"),
    )

    def test_first_commands(self):
        for args, line in self.FIRST:
            with self.subTest(args=args):
                self.refused(args, f"gpreempt: {line}\n" if line else "not a PID; write a number")

    def test_a_command_in_quotes(self):
        done = self.gp("run", "--class=be", "--", "python train.py")
        self.assertEqual((done.returncode, done.stderr), (
            127, "gpreempt: run: python train.py: not found; write CMD and its arguments without "
                 "quotes around them\n"))

    def test_a_program_that_is_none(self):
        plain = os.path.join(self.dir, "plain")
        with open(plain, "w") as f:
            f.write("text")
        for verb, word, status, cause in (
                (["run", "--class=be", "--"], self.dir, 126,
                 "a directory; write a program and its arguments"),
                (["doctor"], "no-such-program", 127, "not found; write its path, or correct PATH"),
                (["doctor"], f"{self.dir}/none", 127,
                 "not found; write its path, or correct PATH"),
                (["doctor"], plain, 126,
                 "not executable; run chmod +x, or write its interpreter before it"),
                (["doctor"], self.dir, 126, "a directory; write a program and its arguments")):
            done = self.gp(*verb, word)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (status, "", f"gpreempt: {verb[0]}: {word}: {cause}\n"))

    def test_no_daemon_where_it_is_sought(self):
        path = os.path.join(self.dir, "no.sock")
        for verb in ["why", "1"], ["hist", "1"], ["top", "-b"], ["trace", "-o", "MARK"]:
            self.refused(verb, f"{verb[0]}: no gpreemptd runs at GPREEMPT_DAEMON={path}; correct "
                               "the path, or unset it\n", env={"GPREEMPT_DAEMON": path})
        with open(path, "w") as f:
            f.write("no socket")
        self.refused(["why", "1"], f"GPREEMPT_DAEMON={path}", env={"GPREEMPT_DAEMON": path})


class Machine(Rig):
    """A machine whose files the test makes, in a mount namespace of its own."""

    def on(self, script, *args, wrapper=()):
        if os.geteuid():
            self.skipTest("needs root")
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             "set -e; " + script + 'cd / && exec "$@"', "sh", *wrapper, CLI, *args], text=True,
            capture_output=True, env=self.env, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        # A root that is no mount point cannot be made private, nor a container mount anything.
        if done.stderr.startswith(("unshare", "mount", "mkdir")) or "denied\n" in done.stderr:
            self.skipTest(done.stderr)
        return done

    def refused(self, script, line, **how):
        done = self.on(script, *RUN, **how)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (125, "", f"gpreempt: run: {line}\n"))

    EMPTY = "mount -t tmpfs dev /dev && touch /dev/null && chmod 666 /dev/null && " \
            "mount -t tmpfs pci /sys/bus/pci/devices && "

    def test_no_gpu(self):
        self.refused(self.EMPTY,
                     "no GPU found: neither NVIDIA's driver nor AMD's KFD lists one; see gpreempt "
                     "doctor, or use the software GPU, --device=soft0 or GPREEMPT_BACKEND=softgpu")

    def test_no_driver(self):
        for driver, said in ("", "no driver"), (DRIVER.format("nouveau"), "nouveau"):
            line = (f"nvidia: PCI 0000:3b:00.0 is an NVIDIA GPU, but {said} has it; run modprobe "
                    "nvidia, or install NVIDIA's driver, 535 or later")
            self.refused(self.EMPTY + CARD + driver, line)
            done = self.on(self.EMPTY + CARD + driver, "doctor")
            self.assertIn(f"missing  {line}\n", done.stdout)

    def test_no_device_files(self):
        self.refused(self.EMPTY + CARD + DRIVER.format("nvidia"),
                     "nvidia: the driver has PCI 0000:3b:00.0, but /dev/nvidiactl is missing; "
                     "start a container with the GPU (--gpus all), else run nvidia-modprobe -u "
                     "-c=0")

    def test_driver_too_old(self):
        self.refused(NODE + VERSION.format("470.82.01"),
                     "nvidia: the driver 470.82.01 is too old; install 535 or later")
        done = self.on(NODE + VERSION.format("470.82.01"), "doctor")
        self.assertIn("missing  NVIDIA driver 470.82.01: too old; install 535 or later\n",
                      done.stdout)

    def test_no_right(self):
        """There is a driver, but its device belongs to others."""
        self.refused(NODE + "chmod 600 /dev/nvidiactl && ",
                     "nvidia: this user may not open /dev/nvidiactl or /dev/nvidia*; join the "
                     "group that owns them (ls -l /dev/nvidia*)", wrapper=USER)


    def test_mps(self):
        """The control daemon's command shows how it shares the device."""
        among_mps(self)
        control = os.path.join(self.dir, "nvidia-cuda-mps-control")
        with open(control, "w", encoding="ascii") as f:
            f.write('#!/bin/sh\necho >"$0.ready"; read never <"$0.ready"\n')
        os.chmod(control, 0o755)
        os.mkfifo(f"{control}.ready")
        warning = "warn     MPS runs{}, and all its clients are one group; run "
        parts = " with static partitioning (a client needs CUDA_MPS_SM_PARTITION)"
        for command, line in (
                (f"{control} -d", warning.format("")),
                (f"{control} --no-such", warning.format("")),
                (f"{control} -d -S", warning.format(parts)),
                (f"{control} -dS", warning.format(parts)),
                (f"{control} -f --static-partitioning", warning.format(parts)),
                (f"echo >{control}.ready", "ok       MPS does not run\n")):
            # In a PID namespace, without the machine's own MPS. All ends with it.
            start = f'{command} & read done <{control}.ready; "$@"; exit'
            with self.subTest(command):
                done = self.on(NODE + VERSION.format("580.159.04"), "doctor", wrapper=(
                    "unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", start, "sh"))
                self.assertIn(line, done.stdout)


class Daemons(Refusals):
    """A gpreemptd that this user or this version cannot use."""

    def setUp(self):
        super().setUp()
        self.env["GPREEMPT_DAEMON"] = os.path.join(self.dir, "daemon.sock")
        self.daemon = fake.FakeDaemon(self.env["GPREEMPT_DAEMON"])
        self.addCleanup(self.daemon.stop)

    def program_said(self, *wrapper):
        """The first message of a program that runs on all the same."""
        path = os.path.join(self.dir, "err")
        with open(path, "w") as err:
            proc = subprocess.Popen(
                [*wrapper, CLI, "run", "--class=be", "--device=soft0", "--",
                 os.path.join(BUILD, "bench/be"), "--iters=100000", "--blocks=2"], text=True,
                env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        self.programs.append(proc)
        self.assertIn("ready", proc.stdout.readline())

        def read():
            with open(path) as f:
                return f.read()
        self.eventually("it says so", lambda: "\n" in read())
        return read().splitlines()[0]

    def test_no_daemon(self):
        self.env["GPREEMPT_DAEMON"] = "none"
        self.refused(["run", "--class=be,cap=30%", "--", "touch", "MARK"],
                     "gpreempt: run: --class=be,cap=30%: deadlines and caps need gpreemptd, which "
                     "does not run; start it, or write --class=be\n")

    def test_daemon_of_another_version(self):
        def answer(peer, message):
            peer.send(bytes(fake.Head(fake.MAGIC, fake.VERSION + 1, fake.RESULT,
                                      fake.c.sizeof(fake.Head), -errno.EPROTO)))
        self.daemon.answer = answer
        for args in (["why", "1"], ["attach", "--class=be", str(os.getpid())]):
            self.refused(args, f"gpreempt: {args[0]}: gpreemptd uses another protocol version; "
                               "install the same version of both\n")
        self.assertEqual(self.program_said(),
                         "gpreempt: gpreemptd sent an invalid message (no message); "
                         "disconnecting; install the same version of both")

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_another_users(self):
        self.daemon.stop()
        os.chmod(self.dir, 0o755)
        place = os.path.join(self.dir, "theirs")
        os.mkdir(place)
        os.chown(place, 65534, 65534)
        path = os.path.join(place, "sock")
        theirs = subprocess.Popen(
            [*USER, sys.executable, "-c",
             "import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
             "s.bind(sys.argv[1])\ns.listen()\nprint('up', flush=True)\nsys.stdin.read()", path],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.programs.append(theirs)
        if theirs.stdout.readline() != "up\n":
            self.skipTest("that user cannot run Python")
        self.env["GPREEMPT_DAEMON"] = path
        self.refused(["why", "1"],
                     "gpreempt: why: refused to use gpreemptd's socket: its listener is neither "
                     "root nor this user; correct GPREEMPT_DAEMON, or set it to none\n")
        self.assertEqual(self.program_said(),
                         "gpreempt: cannot connect to gpreemptd: its socket belongs to another "
                         "user; continuing without it")

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_roots_socket_is_closed(self):
        """Root's daemon, in a folder that another user may not open."""
        place = os.path.join(self.dir, "closed")
        os.mkdir(place, 0o700)
        os.chmod(self.dir, 0o755)
        self.env["GPREEMPT_DAEMON"] = os.path.join(place, "daemon.sock")
        line = ("this user may not open gpreemptd's socket; let its owner set mode 755 on the "
                "folder, or set GPREEMPT_DAEMON=none\n")
        for args in (["why", "1"], ["run", "--class=be,cap=30%", "--device=soft0", "true"]):
            done = subprocess.run([*USER, CLI, *args], text=True, capture_output=True,
                                  env=self.env, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
            if not done.stderr.startswith("gpreempt: "):
                self.skipTest("that user cannot run gpreempt")
            self.assertEqual((done.returncode, done.stderr), (125, f"gpreempt: {args[0]}: {line}"))
        done = subprocess.run([*USER, CLI, "doctor"], text=True, capture_output=True,
                              env=self.env, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        self.assertIn(f"warn     gpreemptd: {line}", done.stdout)
        # Its software GPU is in the user's own folder.
        own = os.path.join(self.dir, "own")
        os.mkdir(own, 0o700)
        os.chown(own, 65534, 65534)
        self.env["GPREEMPT_SOFTGPU"] = os.path.join(own, "soft.sock")
        self.assertEqual(self.program_said(*USER),
                         "gpreempt: cannot connect to gpreemptd: this user may not open its "
                         "socket; let its owner set mode 755 on the folder; continuing without it")


if __name__ == "__main__":
    unittest.main()
