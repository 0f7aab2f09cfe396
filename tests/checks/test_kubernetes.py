#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes/gpreemptd.yaml against the daemon and the command that it runs: paths,
options, capabilities, configuration. No cluster reads it here."""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/e2e"))
from rig import BUILD  # noqa: E402

# Of core/v1 and apps/v1, as far as the file uses them.
POD_KEYS = {"nodeSelector", "tolerations", "priorityClassName", "automountServiceAccountToken",
            "hostPID", "hostNetwork", "terminationGracePeriodSeconds", "initContainers",
            "containers", "volumes"}
CONTAINER_KEYS = {"name", "image", "command", "securityContext", "livenessProbe", "resources",
                  "volumeMounts"}
MOUNT_KEYS = {"name", "mountPath", "readOnly", "mountPropagation"}
PROBE_KEYS = {"exec", "initialDelaySeconds", "periodSeconds", "timeoutSeconds",
              "failureThreshold"}


def text_of(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as f:
        return f.read()


def defined(name, path="wire/wire.h"):
    return re.search(rf'#define {name} "([^"]+)"', text_of(path))[1]


class Manifest(unittest.TestCase):
    def setUp(self):
        objects = {o["kind"]: o for o in
                   yaml.safe_load_all(text_of("examples/kubernetes/gpreemptd.yaml"))}
        self.assertEqual(set(objects), {"Namespace", "ConfigMap", "DaemonSet"})
        self.objects = objects
        self.pod = objects["DaemonSet"]["spec"]["template"]["spec"]
        (self.init,), (self.daemon,) = self.pod["initContainers"], self.pod["containers"]
        self.volumes = {v["name"]: v for v in self.pod["volumes"]}

    def mounts(self, container):
        """Path in the container -> path on the node, or None."""
        return {m["mountPath"]: self.volumes[m["name"]].get("hostPath", {}).get("path")
                for m in container["volumeMounts"]}

    def run_built(self, program, *args, **env):
        return subprocess.run([os.path.join(BUILD, "bin", program), *args], text=True,
                              capture_output=True, timeout=60, check=False,
                              env={**os.environ, **env})

    def test_objects_fit_each_other(self):
        space = self.objects["Namespace"]["metadata"]["name"]
        daemon_set = self.objects["DaemonSet"]
        for kind in ("ConfigMap", "DaemonSet"):
            self.assertEqual(self.objects[kind]["metadata"]["namespace"], space)
        self.assertEqual({k: o["apiVersion"] for k, o in self.objects.items()},
                         {"Namespace": "v1", "ConfigMap": "v1", "DaemonSet": "apps/v1"})
        self.assertEqual(daemon_set["spec"]["selector"]["matchLabels"],
                         daemon_set["spec"]["template"]["metadata"]["labels"])
        self.assertEqual(self.volumes["config"]["configMap"]["name"],
                         self.objects["ConfigMap"]["metadata"]["name"])

    def test_keys(self):
        self.assertLessEqual(set(self.pod), POD_KEYS)
        for container in (self.init, self.daemon):
            self.assertLessEqual(set(container), CONTAINER_KEYS)
            for mount in container["volumeMounts"]:
                self.assertLessEqual(set(mount), MOUNT_KEYS)
        self.assertLessEqual(set(self.daemon["livenessProbe"]), PROBE_KEYS)
        for flag in ("hostPID", "hostNetwork"):
            self.assertIs(self.pod[flag], True)
        self.assertIs(self.daemon["securityContext"]["privileged"], True)
        self.assertNotIn("securityContext", self.init)

    def test_image_is_a_placeholder_of_this_version(self):
        version = re.search(r"^VERSION\s*:= (\S+)$", text_of("Makefile"), re.M)[1]
        for container in (self.init, self.daemon):
            self.assertEqual(container["image"],
                             f"registry.example.com/gpreempt/gpreemptd:{version}")

    def test_paths_are_the_daemons(self):
        run = defined("GP_WIRE_RUN_DIR")
        for container in (self.init, self.daemon):
            self.assertEqual(self.mounts(container)[run], run)
        config = os.path.dirname(re.search(r"instead of (\S+/gpreempt\.yaml)", self.run_built(
            "gpreemptd", "--help").stdout)[1])
        self.assertIn(config, self.mounts(self.daemon))
        oci = text_of("daemon/discover/oci.c")
        path = self.volumes["containerd"]["hostPath"]["path"]
        self.assertIn(f'"{path}" TASKS "k8s.io"', oci)
        self.assertEqual(self.mounts(self.daemon)[path], path)
        written = re.findall(r"/run/[\w/]*\w", text_of("examples/kubernetes/gpreemptd.yaml"))
        for folder in set(written) - {run}:
            self.assertIn(f'"{folder}"', oci)

    def test_options(self):
        command = self.daemon["command"]
        at = command.index("gpreemptd")
        done = self.run_built("gpreemptd", *command[at + 1:], "--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([*command[:at], "true"], capture_output=True, text=True, timeout=60,
                              check=False)
        # The kernel lets only root drop these.
        if os.geteuid() == 0:
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            self.assertNotIn("invalid", done.stderr + done.stdout)

    def test_capabilities_are_the_services(self):
        service = re.search(r"^CapabilityBoundingSet=(.*)$",
                            text_of("systemd/gpreemptd.service.in"), re.M)[1]
        option, = [w for w in self.daemon["command"] if w.startswith("--bounding-set=")]
        first, *kept = option.split("=")[1].split(",")
        self.assertEqual(first, "-all")
        self.assertEqual({f"CAP_{cap[1:].upper()}" for cap in kept}, set(service.split()))
        self.assertGreaterEqual(self.pod["terminationGracePeriodSeconds"], int(re.search(
            r"^TimeoutStopSec=(\d+)$", text_of("systemd/gpreemptd.service.in"), re.M)[1]))

    def test_probe_fails_without_a_daemon(self):
        program, *args = self.daemon["livenessProbe"]["exec"]["command"]
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_built(program, *args, GPREEMPT_DAEMON=os.path.join(folder, "none"))
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("gpreemptd", done.stderr)

    def test_configuration(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(self.objects["ConfigMap"]["data"]["gpreempt.yaml"])
            f.flush()
            done = self.run_built("gpreemptd", f"--check-config={f.name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("namespace: research", done.stdout)

    def test_script_makes_a_device_that_a_node_can_mount(self):
        """As in the init container, with folders of ours in place of the node's and the image's."""
        shell, flags, script = self.init["command"]
        self.assertEqual((shell, flags), ("/bin/sh", "-ec"))
        with tempfile.TemporaryDirectory() as root:
            image = os.path.join(root, "usr/lib/x86_64-linux-gnu")
            os.makedirs(image)
            os.makedirs(os.path.join(root, "etc/cdi"))
            for path in glob.glob(os.path.join(BUILD, "lib/libgpreempt*.so*")):
                shutil.copy(path, image)
            for path in ("/opt/", "/etc/cdi/", "/usr/lib/"):
                script = script.replace(path, shlex.quote(root) + path)
            script = script.replace("/usr/bin/gpreempt", os.path.join(BUILD, "bin/gpreempt"))
            done = subprocess.run([shell, flags, script], text=True, capture_output=True,
                                  timeout=60, check=False, env={"PATH": os.environ["PATH"]})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(root, "etc/cdi/gpreempt.json"), encoding="utf-8") as f:
                spec = json.load(f)
            on_node = {m["hostPath"] for m in spec["containerEdits"]["mounts"]}
            for path in on_node - {os.path.join(defined("GP_WIRE_RUN_DIR"),
                                                defined("GP_WIRE_SHARED"))}:
                self.assertTrue(path.startswith(root + "/opt/gpreempt/lib/"), path)
                self.assertTrue(os.path.exists(path))
            self.assertEqual(len(on_node), 4)
        for path in ("/opt/gpreempt", "/etc/cdi"):
            self.assertEqual(self.mounts(self.init)[path], path)


if __name__ == "__main__":
    unittest.main()
