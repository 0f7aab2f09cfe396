#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods of containerd as tenants of gpreemptd: with nothing of gpreempt in them, or by a CDI device, which
containerd 1.7 gives. GP_CONTAINERD: the folder of another containerd than the system's."""
import contextlib
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import BUILD, FACE, PATIENCE_S, TOP  # noqa: E402
import test_daemon_soft  # noqa: E402

PYTHON = "/usr/bin/python3"     # Debian's, which has grpc
IMAGE = "gpreempt.test/pod:1"
CONFIG = """
version = 2
root = "{dir}/root"
state = "/run/containerd"
[grpc]
address = "{dir}/socket"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "gpreempt.test/pod:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
pod_annotations = ["gpreempt.io/*"]
"""
# containerd 1.6 does not know these.
CDI = """
enable_cdi = true
cdi_spec_dirs = ["{dir}/cdi"]
"""
PROGRAMS = ("containerd", "ctr", "containerd-shim-runc-v2")
# gpreemptd looks in /run/containerd, so it is in this namespace, too.
NAMESPACE = """
mkdir -p /run/containerd && mount -t tmpfs -o mode=711 none /run/containerd &&
echo ready && exec containerd --config "$1" >"$2" 2>&1
"""


def archive(path):
    """An image in docker's format: links to /usr, and a pause program."""
    def add(tar, name, data, **fields):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        for key, value in fields.items():
            setattr(info, key, value)
        tar.addfile(info, io.BytesIO(data))

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar, open("/bin/busybox", "rb") as f:
        add(tar, "busybox", f.read(), mode=0o755)
        for name in ("bin", "lib", "lib64"):
            add(tar, name, b"", type=tarfile.SYMTYPE, linkname=f"usr/{name}")
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps({"architecture": "amd64", "os": "linux",
                         "config": {"Entrypoint": ["/busybox", "sleep", "1000000"]},
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}})
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [IMAGE],
                            "Layers": ["layer.tar"]}])
    with tarfile.open(path, "w") as tar:
        add(tar, "config.json", config.encode())
        add(tar, "layer.tar", layer.getvalue())
        add(tar, "manifest.json", manifest.encode())


class Pods(test_daemon_soft.Daemon):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("containerd needs root here")
        missing = [name for name in ("containerd", "ctr", "runc", "busybox")
                   if not shutil.which(name)]
        if missing or subprocess.run([PYTHON, "-c", "import grpc, grpc_tools"], check=False,
                                     capture_output=True).returncode:
            self.skipTest(f"no {', '.join(missing) or 'grpc of Python'}: ./setup -i ci-more")
        self.at = os.path.join(self.dir, "containerd")
        os.makedirs(self.at)
        self.addCleanup(self.remove_cgroups)
        os.makedirs(f"{self.at}/cdi")
        self.use_programs()
        self.start_containerd()
        self.start_kubelet()

    def use_programs(self):
        os.makedirs(f"{self.at}/bin")
        self.path = f"{self.at}/bin:{os.environ['PATH']}"
        for name in PROGRAMS if "GP_CONTAINERD" in os.environ else ():
            os.symlink(os.path.join(os.environ["GP_CONTAINERD"], name), f"{self.at}/bin/{name}")
        said = subprocess.run(["containerd", "--version"], env={"PATH": self.path}, text=True, check=True,
                              capture_output=True).stdout
        self.has_cdi = tuple(map(int, re.search(r" (\d+)\.(\d+)\.", said).groups())) >= (1, 7)

    def start_containerd(self):
        config = os.path.join(self.at, "config.toml")
        with open(config, "w") as f:
            f.write(CONFIG.replace('\nsandbox_image', CDI + "sandbox_image" if self.has_cdi else
                                   "\nsandbox_image").format(dir=self.at))
        proc = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", NAMESPACE, "sh", config,
             f"{self.at}/log"], env={**os.environ, "PATH": self.path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.stderr.close)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.terminate)
        if proc.stdout.readline() != "ready\n":
            self.skipTest(f"no mount namespace here: {proc.stderr.read().strip()}")
        self.wrapper = ("nsenter", "--target", str(proc.pid), "--mount", "--")
        self.eventually("containerd", lambda: self.ctr("version").returncode == 0)
        archive(f"{self.at}/image.tar")
        done = self.ctr("images", "import", f"{self.at}/image.tar")
        self.assertEqual(done.returncode, 0, done.stderr)

    def ctr(self, *words):
        return subprocess.run([*self.wrapper, "ctr", f"--address={self.at}/socket",
                               "--namespace=k8s.io", *words], text=True, capture_output=True,
                              env={**os.environ, "PATH": self.path},
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL)

    def start_kubelet(self):
        with open(f"{self.at}/kubelet.log", "w") as log:
            self.kubelet = subprocess.Popen(
                [PYTHON, os.path.join(TOP, "tests/e2e/kubelet.py"), f"{self.at}/socket", self.at],
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.addCleanup(self.kubelet.wait)
        self.addCleanup(self.kubelet.stdout.close)
        self.addCleanup(self.kubelet.stdin.close)

    def ask(self, words):
        self.kubelet.stdin.write(json.dumps(words) + "\n")
        self.kubelet.stdin.flush()
        answer = self.kubelet.stdout.readline()
        if not answer:
            with open(f"{self.at}/kubelet.log") as f:
                self.fail(f.read()[-2000:])
        return answer.strip()

    def run_pod(self, name, namespace, *devices, **annotations):
        """A program in a pod: without @devices it has nothing of gpreempt. Returns its id."""
        soft = os.path.dirname(self.env["GPREEMPT_SOFTGPU"])
        pod = self.ask({
            "name": name, "namespace": namespace, "image": IMAGE, "devices": devices,
            "annotations": {f"gpreempt.io/{key}": value for key, value in annotations.items()},
            "command": [f"{BUILD}/bench/be", "--iters=0", "--blocks=2"],
            "mounts": {BUILD: BUILD, "/usr": "/usr", soft: soft},
            "env": {"GPREEMPT_BACKEND": "softgpu", "LD_LIBRARY_PATH": FACE,
                    "GPREEMPT_SOFTGPU": self.env["GPREEMPT_SOFTGPU"]}})
        self.addCleanup(self.end_pod, pod)
        return pod

    def remove_cgroups(self):
        for root in (*glob.glob("/sys/fs/cgroup/kubepods/burstable/podtrain-*"),
                     *glob.glob("/sys/fs/cgroup/*/kubepods/burstable/podtrain-*")):
            for folder, _, _ in os.walk(root, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    def end_pod(self, pod):
        if self.kubelet.poll() is None:
            self.ask(pod)

    def pid_of(self, pod):
        return int(next(line.split()[1] for line in self.ctr("tasks", "ls").stdout.splitlines()
                        if line.startswith(pod)))

    def classes(self):
        return {row["pid"]: f"{row['class']}:{row['level'] if row['weight'] is None else row['weight']}"
                for row in self.listed()["processes"] if row["daemon"]}

    def test_annotation(self):
        """It asks, and a rule by the namespace allows. The sums of a pod are the metrics'."""
        self.start_daemon(f"metrics_listen: {self.dir}/metrics\ndefault_max_class: none\nrules:\n"
                          "- {namespace: research, pod: train-*, max_class: be:200}\n")
        allowed = self.run_pod("train-0", "research", **{"class": "be-150"})
        self.eventually("its class", lambda: self.classes() == {self.pid_of(allowed): "be:150"})
        self.run_pod("train-1", "other", **{"class": "be-150"})
        refusal = "class refused: be:150 is higher than default_max_class: none"
        self.eventually("a refusal", lambda: refusal in self.said())
        self.assertEqual(list(self.classes().values()), ["be:150"])
        with open(f"/proc/{self.pid_of(allowed)}/environ") as f:
            self.assertNotIn("LD_PRELOAD", f.read())
        labels = '",namespace="research",pod="train-0",container="main",job=""}'
        self.eventually("its use", lambda: any(
            line.startswith("gpreempt_container_used_seconds_total") and labels in line and
            float(line.split()[-1]) > 0 for line in self.scrape().splitlines()))
        self.assertRegex(self.scrape(), f"(?m)^gpreempt_container_weight.*{labels} 150$")

    def test_device(self):
        """It brings a latency-critical class, which the pod's rule allows."""
        if not self.has_cdi:
            self.skipTest("this containerd gives pods no CDI devices; make check-pods gets a newer one")
        self.start_daemon("default_max_class: none\nrules:\n- {namespace: serving, pod: train-*, max_class: lc}\n")
        with open(f"{self.at}/cdi/gpreempt.json", "w") as f:
            f.write(self.ok("cdi").stdout)
        allowed = self.run_pod("train-2", "serving", "gpreempt.io/class=lc-1")
        self.eventually("its class", lambda: self.classes() == {self.pid_of(allowed): "lc:1"})
        with open(f"/proc/{self.pid_of(allowed)}/environ") as f:
            self.assertIn("LD_PRELOAD=/opt/gpreempt/lib/", f.read())
        self.run_pod("train-3", "other", "gpreempt.io/class=lc-1")
        self.eventually("a refusal", lambda: "class refused: lc:1 is higher than default_max_class: none" in
                        self.said())


if __name__ == "__main__":
    unittest.main()
