#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slurm's --gpu-class, by the daemons of Debian's packages in a network of their own."""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, FACE, PATIENCE_S  # noqa: E402
import test_daemon_soft  # noqa: E402

PLUGIN = os.path.join(BUILD, "slurm/gpreempt.so")
# Its cgroups must not be those of another run.
NODE = f"node{os.getpid()}"
PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "ip")
# Slurm asks the resolver, which answers only if the network has an interface beside lo.
NETWORK = """
ip link set lo up && ip link add gp0 type bridge && ip addr add 10.91.0.1/24 dev gp0 &&
ip link set gp0 up && hostname "$1" && echo "10.91.0.1 $1" >"$2" &&
mount --bind "$2" /etc/hosts && echo ready && exec sleep infinity
"""
CONFIG = """
ClusterName=test
SlurmctldHost={node}(10.91.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CryptoType=crypto/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
SlurmctldPort=26817
SlurmdPort=26818
ProctrackType=proctrack/{track}
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PlugStackConfig={dir}/plugstack.conf
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
MailProg=/bin/true
KillWait=1
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName={node} NodeAddr=10.91.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


CGROUPS = """
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
"""
FREEZER = "/sys/fs/cgroup/freezer"


class Cluster(test_daemon_soft.Daemon):
    """Each test has a cluster of one node, and a gpreemptd."""
    track = "linuxproc"

    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("slurmd needs root here")
        missing = [name for name in PROGRAMS if not shutil.which(name)]
        if missing or not os.path.exists(PLUGIN):
            self.skipTest(f"no {', '.join(missing) or 'plugin'}: ./setup -i ci-more, make slurm")
        self.cluster = os.path.join(self.dir, "slurm")
        for name in ("state", "spool"):
            os.makedirs(os.path.join(self.cluster, name))
        os.chmod(self.dir, 0o755)
        self.put("slurm.conf", CONFIG.format(dir=self.cluster, node=NODE, track=self.track))
        self.put("cgroup.conf", CGROUPS)
        self.put("plugstack.conf", f"required {PLUGIN} libdir={BUILD}/lib\n")
        self.put("key", os.urandom(1024))
        self.slurm_env = {k: v for k, v in self.env.items() if not k.startswith("GPREEMPT_")}
        self.slurm_env["SLURM_CONF"] = os.path.join(self.cluster, "slurm.conf")
        self.make_network()
        self.start_cluster()

    def put(self, name, text):
        path = os.path.join(self.cluster, name)
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def make_network(self):
        self.network = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "--propagation", "private", "sh", "-c",
             NETWORK, "sh", NODE, os.path.join(self.cluster, "hosts")], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.network.stderr.close)
        self.addCleanup(self.network.stdout.close)
        self.addCleanup(self.network.wait)
        self.addCleanup(self.network.kill)
        if self.network.stdout.readline() != "ready\n":
            self.skipTest(f"no network of one's own here: {self.network.stderr.read().strip()}")

    def inside(self, *command):
        return ["nsenter", "--target", str(self.network.pid), "--net", "--uts", "--mount", "--",
                *command]

    def serve(self, *command):
        """A daemon in the foreground, until the test ends."""
        with open(os.path.join(self.cluster, "log"), "a") as log:
            proc = subprocess.Popen(self.inside(*command), env=self.slurm_env, stderr=log,
                                    stdout=log, stdin=subprocess.DEVNULL)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.terminate)

    def start_cluster(self):
        at = self.cluster
        self.serve("munged", "--foreground", "--force", f"--key-file={at}/key",
                   f"--socket={at}/munge.sock", f"--pid-file={at}/munged.pid",
                   f"--seed-file={at}/seed", f"--log-file={at}/munged.log")
        self.eventually("munged", lambda: os.path.exists(f"{at}/munge.sock"))
        self.serve("slurmctld", "-D", "-i")
        self.serve("slurmd", "-D")
        self.addCleanup(self.slurm, "scancel", "--user=root", check=False)
        self.eventually("the node", lambda: "idle" in self.slurm(
            "sinfo", "-h", "-o", "%t", check=False).stdout)

    def slurm(self, *command, check=True):
        done = subprocess.run(self.inside(*command), env=self.slurm_env, text=True,
                              capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        if check:
            self.assertEqual(done.returncode, 0, (command, done.stderr))
        return done

    def script(self, program="be", *args):
        """A batch script for a program on the software GPU."""
        lines = ["#!/bin/sh", "export GPREEMPT_BACKEND=softgpu",
                 f"export GPREEMPT_SOFTGPU={self.env['GPREEMPT_SOFTGPU']}",
                 f"export GPREEMPT_DAEMON={self.socket}", f"export LD_LIBRARY_PATH={FACE}",
                 f"exec {BUILD}/bench/{program} --iters=100000 {' '.join(args)} </dev/zero"]
        path = self.put("job.sh", "\n".join(lines) + "\n")
        os.chmod(path, 0o755)
        return path

    def submit(self, *words):
        done = self.slurm("sbatch", "--parsable", f"--output={self.cluster}/out-%A-%a",
                          *words, self.script())
        return done.stdout.strip()

    def classes(self):
        return sorted(row["class"] + (f":{row['weight']}" if row["weight"] else "")
                      for row in self.listed()["processes"] if row["daemon"])

    def until_classes(self, *classes):
        self.eventually(f"tenants {classes}", lambda: self.classes() == sorted(classes))


class Options(Cluster):
    def test_srun(self):
        """Only the environment changes, and a bad class is refused before there is a job."""
        words = ("GPREEMPT_CLASS", "LD_PRELOAD", "CUDA_INJECTION64_PATH")
        show = ["sh", "-c", "; ".join(f'echo "${{{word}-none}}"' for word in words)]
        preload = f"{BUILD}/lib/libgpreempt-preload.so"
        self.assertEqual(self.slurm("srun", *show).stdout, "none\nnone\nnone\n")
        self.assertEqual(self.slurm("srun", "--gpu-class=be:50", *show).stdout,
                         f"be:50\n{preload}\n{preload}\n")
        done = self.slurm("srun", "--gpu-class=lc:99", *show, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"gpreempt: --gpu-class=lc:99: levels are lc:0 [^\n]*")
        done = self.slurm("sbatch", "--gpu-class=fast", self.script(), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gpreempt: --gpu-class=fast: ", done.stderr)
        self.assertEqual(self.slurm("squeue", "-h").stdout, "")

    def test_sbatch(self):
        """Jobs, an array, cancel, requeue."""
        self.start_daemon("be_quantum: 10ms\ndefault_max_class: be:100\n")
        job = self.submit("--gpu-class=be:50")
        self.until_classes("be:50")
        array = self.submit("--gpu-class=be:20", "--array=1-2")
        self.until_classes("be:20", "be:20", "be:50")
        self.slurm("scancel", array)
        self.until_classes("be:50")
        first = next(row["pid"] for row in self.listed()["processes"] if row["daemon"])
        self.slurm("scontrol", "requeue", job)
        self.eventually("the end of the first", lambda: not os.path.exists(f"/proc/{first}"))
        self.until_classes()

    def test_class_above_max_class(self):
        self.start_daemon("default_max_class: be:100\n")
        self.submit("--gpu-class=lc")
        self.eventually("a refusal", lambda: "class refused: lc:0 is higher" in self.said())
        self.until_classes("none")
        out = glob.glob(f"{self.cluster}/out-*")
        with open(out[0]) as f:
            self.assertIn("gpreemptd refused the requested class", f.read())


class Jobs(Cluster):
    """Each job has a cgroup, in a hierarchy of version 1."""
    track = "cgroup"

    def setUp(self):
        if not os.path.ismount(FREEZER):
            self.skipTest(f"{FREEZER}: not mounted here")
        self.addCleanup(self.remove_cgroups)
        super().setUp()

    def remove_cgroups(self):
        for folder, _, _ in os.walk(f"{FREEZER}/slurm_{NODE}", topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def test_job_id(self):
        """In ls and in the metrics. A rule by Slurm's cgroup allows the class."""
        self.start_daemon("default_max_class: none\nrules:\n"
                          "- {cgroup: /slurm*/uid_0, max_class: lc}\n"
                          f"metrics_listen: {self.dir}/metrics\n")
        job = self.submit("--gpu-class=lc")
        self.until_classes("lc")
        row, = (row for row in self.listed()["processes"] if row["daemon"])
        self.assertEqual(row["job"], job)
        self.assertRegex(self.ok("ls").stdout, rf"(?m)^ *{row['pid']} .*, job {job}$")
        self.assertRegex(self.scrape(), rf'(?m)^gpreempt_container_weight.*,job="{job}"}} 0$')


if __name__ == "__main__":
    unittest.main()
