#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt run --pool: MPS pools that start by themselves, their clients, rules and refusals. MPS is a
stand-in, whose server has work on the software GPU (mps_control.py)."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, CLI, FACE, PATIENCE_S, TOP, among_mps, command_lines  # noqa: E402
from test_daemon_soft import Daemon  # noqa: E402

DAEMON = os.path.join(BUILD, "bin/gpreemptd")
USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
PRICE = "a fault of one client ends all, and one's memory is missing to all"


class Pools(Daemon):
    def setUp(self):
        among_mps(self)
        super().setUp()
        self.control = os.path.join(self.dir, "nvidia-cuda-mps-control")
        server = os.path.join(self.dir, "nvidia-cuda-mps-server")
        shutil.copy(os.path.join(TOP, "tests/e2e/mps_control.py"), self.control)
        os.chmod(self.control, 0o755)
        shutil.copy(os.path.join(BUILD, "bench/be"), server)
        self.env.update(XDG_RUNTIME_DIR=self.dir, GPREEMPT_MPS_CONTROL=self.control,
                        GP_SERVER=server, LD_LIBRARY_PATH=FACE)
        self.addCleanup(self.kill_pools)

    # ---- its processes

    def pool_processes(self):
        """PID -> words, of this test's keepers and processes of MPS."""
        found = {}
        for pid, words in command_lines():
            if self.dir in " ".join(words) and "nvidia-cuda-mps" in " ".join(words):
                found[pid] = words
            elif any(word.startswith("--pool=") for word in words):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
                    if self.dir.encode() in f.read():
                        found[pid] = words
        return found

    def keepers(self):
        """The guard and its child, the keeper; None where there is none. The keeper's own children
        have its words until they execute a program."""
        parent = {}
        for pid, words in self.pool_processes().items():
            if words[0].endswith("gpreemptd"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
                    parent[pid] = int(f.read().rsplit(")", 1)[1].split()[1])
        guard = next((pid for pid in parent if parent[pid] not in parent), None)
        return guard, next((pid for pid in parent if guard and parent[pid] == guard), None)

    def kill_pools(self):
        while self.pool_processes():
            for number in signal.SIGSTOP, signal.SIGKILL:
                for pid in self.pool_processes():
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)

    def begin(self, *options, cls="be", env=None, wrapper=()):
        """A client of a pool; .err is the file of its messages."""
        path = os.path.join(self.dir, f"client{len(self.programs)}.err")
        with open(path, "w") as err:
            proc = subprocess.Popen(
                [*wrapper, CLI, "run", f"--class={cls}", "--device=soft0", *options, "--",
                 self.control, "client"], env={**self.env, **(env or {})}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        proc.err = path
        self.programs.append(proc)
        return proc

    def client(self, *options, **how):
        """.server is its server's PID, .percent its part of the threads."""
        proc = self.begin(*(options or ["--pool"]), **how)
        line = proc.stdout.readline()
        self.assertTrue(line, self.messages(proc))
        server, proc.percent = line.split()
        proc.server = int(server)
        return proc

    def messages(self, proc):
        with open(proc.err) as f:
            return f.read()

    def obey(self, proc, word):
        proc.stdin.write(word + "\n")
        proc.stdin.flush()

    def pool(self, name):
        return os.path.join(self.dir, "gpreempt", f"pool-{name}")

    def said_by_keeper(self, name="be-100"):
        with open(os.path.join(self.pool(name), "keeper.log")) as f:
            return f.read()

    def until_known(self, *clients):
        """The daemon has the server, and knows its clients."""
        wanted = {c.server for c in clients} | {c.pid for c in clients}
        self.eventually("the daemon knows them", lambda: wanted <= set(self.tenants()))


class Uses(Pools):
    def test_two_clients_of_one_server(self):
        self.start_daemon(f"metrics_listen: {self.dir}/metrics\n")
        first = self.client(cls="be:50")
        second = self.client("--pool=30", cls="be:50")
        self.assertEqual((second.server, first.percent, second.percent), (first.server, "-", "30"))
        # The first one prints the price.
        self.assertEqual(self.messages(first), f"gpreempt: run: pool be:50: {PRICE}; "
                                               f"{self.pool('be-50')}\n")
        self.assertEqual(self.messages(second), "")
        self.until_known(first, second)
        rows = {}
        self.eventually("they are all listed", lambda: rows.update(self.rows()) or {
            first.pid, second.pid, first.server} <= set(rows))
        for proc in first, second:
            row = rows[proc.pid]
            self.assertEqual((row["class"], row["weight"], row["command"]),
                             ("be", 50, "client"))
            self.assertEqual(row["daemon"]["origin"], "pool")
            self.assertEqual(row["daemon"]["class_from"], f"client of the MPS server {first.server}")
        self.assertEqual(rows[first.server]["daemon"]["origin"], "attach")
        # It is no child of the program's.
        for pid in self.keepers():
            with open(f"/proc/{pid}/stat") as f:
                self.assertNotIn(int(f.read().rsplit(")", 1)[1].split()[1]),
                                 (first.pid, second.pid))
        # One group, with the clients' class, and a tenant that counts once.
        self.assertEqual(self.devices()[0]["tenants"], 1)
        metrics = self.scrape()
        self.assertRegex(metrics, r'gpreempt_pool_clients\{device="[^"]*",class="be",'
                                  r'command="client"\} 2\n')
        self.assertRegex(metrics, r'gpreempt_tenants\{device="[^"]*",class="be"\} 1\n')
        top = self.ok("top", "-b", "-n", "1").stdout
        for pid in first.pid, second.pid, first.server:
            self.assertRegex(top, rf"(?m)^ *{pid} .* be:50 ")
        self.assertIn(f"that of its MPS server {first.server}, of which {second.pid} is a client",
                      self.ok("why", str(second.pid)).stdout)
        # One leaves.
        self.kill(second)
        self.eventually("it is gone", lambda: second.pid not in self.tenants())
        self.assertIn(first.pid, self.tenants())

    def test_by_a_rule(self):
        self.start_daemon(f"rules:\n- {{user: {os.getuid()}, class: be, pool: true, percent: 40}}\n")
        self.assertEqual(self.client("--no-predict").percent, "40")
        # Asked for, it is as asked for.
        self.assertEqual(self.client("--pool=7").percent, "7")
        self.env["GPREEMPT_MPS_CONTROL"] = "/no/such/program"
        done = self.gp("run", "--class=be", "--device=soft0", "--", "echo", "ran")
        self.assertEqual((done.stdout, done.stderr), (
            "ran\n", "gpreempt: run: no pool, although a rule of gpreemptd's wants one: the program "
                     "that GPREEMPT_MPS_CONTROL names is not executable; correct it, or unset it\n"))


class Refusals(Pools):
    def refused(self, args, text, **env):
        mark = os.path.join(self.dir, "ran")
        done = self.gp("run", "--class=be", "--device=soft0", *args, "--", "touch", mark, env=env)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertEqual(done.stderr, f"gpreempt: run: {text}\n")
        self.assertFalse(os.path.exists(mark))

    def test_no_mps(self):
        for env, text in (
                ({"GPREEMPT_MPS_CONTROL": ""},
                 "--pool: the software GPU has no MPS; write --class alone"),
                ({"GPREEMPT_MPS_CONTROL": "/no/such/program"},
                 "--pool: the program that GPREEMPT_MPS_CONTROL names is not executable; correct "
                 "it, or unset it"),
                ({"GPREEMPT_DAEMON": "none"},
                 "--pool: a pool needs gpreemptd; unset GPREEMPT_DAEMON")):
            self.refused(["--pool"], text, **env)

    def test_arguments(self):
        for value in "0", "101", "x", "", "-1", "50%":
            self.refused([f"--pool={value}"], f"--pool={value}: not a percentage; write a number "
                                              "from 1 to 100")
        self.refused(["--pool", "--no-daemon"],
                     "--pool: a pool needs gpreemptd; leave out --no-daemon")
        self.refused(["--pool", "--mem"],
                     "--pool: memory leaves the device with --mem or --idle-out, and a pool's clients share "
                     "theirs; write one of both")

    def test_mps_does_not_start(self):
        self.refused_start = self.gp("run", "--class=be", "--device=soft0", "--pool", "--", "true",
                                     env={"GP_MPS_FAILS": "1"})
        lines = self.refused_start.stderr.splitlines()
        self.assertEqual(self.refused_start.returncode, 125)
        self.assertIn(PRICE, lines[0])
        self.assertRegex(lines[1], "^gpreempt: run: --pool: the pool does not begin: .*cannot start "
                                   f"MPS: .*; see {self.pool('be-100')}/keeper.log and ")
        self.assertIn("An instance of this daemon is already running", self.said_by_keeper())

    def test_another_users_folder(self):
        if os.geteuid():
            self.skipTest("needs root")
        folder = os.path.join(self.dir, "gpreempt")
        os.mkdir(folder, 0o700)
        os.chown(folder, 65534, 65534)
        self.refused(["--pool"], "--pool: : Operation not permitted; make it a directory of this "
                                 "user with mode 700, or set XDG_RUNTIME_DIR")


@unittest.skipIf(os.geteuid(), "needs root")
class Users(Pools):
    def test_a_users_pool_is_not_anothers(self):
        self.start_daemon()
        os.chmod(self.dir, 0o755)
        os.chmod(self.run_dir, 0o755)
        mine = self.client()
        own = os.path.join(self.dir, "own")
        os.mkdir(own, 0o700)
        os.chown(own, 65534, 65534)
        env = {"XDG_RUNTIME_DIR": own, "GPREEMPT_SOFTGPU": f"{own}/soft.sock",
               "GPREEMPT_DAEMON": ""}
        theirs = self.client(env=env, wrapper=USER)
        self.assertNotEqual(mine.server, theirs.server)
        with open(f"/proc/{theirs.server}/status") as f:
            self.assertIn("Uid:\t65534\t65534", f.read())
        # It cannot get into the folder of the other one.
        done = subprocess.run(
            [*USER, CLI, "run", "--class=be", "--device=soft0", "--pool", "--", "true"],
            env={**self.env, **env, "XDG_RUNTIME_DIR": self.dir}, text=True, capture_output=True,
            timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertRegex(done.stderr, "^gpreempt: run: --pool: .*: Operation not permitted; make it")


if __name__ == "__main__":
    unittest.main()
