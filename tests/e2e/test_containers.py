#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpreempt cdi, and containers of podman that have it, as tenants of the host's gpreemptd."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory_rig import APP, NO_MEMORY  # noqa: E402
from rig import BUILD, CLI, FACE, PATIENCE_S, TOP, Rig  # noqa: E402
import test_daemon_soft  # noqa: E402

CLASSES = "gpreempt.io/class"
GPU = "softgpu.test/gpu"
LINKS = ("bin", "lib", "lib64", "sbin")
# Engines look in /run/cdi. The namespace's own hides that of the machine.
NAMESPACE = """
mkdir -p /run/cdi && mount -t tmpfs none /run/cdi && cp "$1"/*.json /run/cdi && shift && exec "$@"
"""
ENGINE = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"""


class Spec(Rig):
    def spec(self, *args, **env):
        return json.loads(self.ok("cdi", *args, env=env).stdout)

    def test_format(self):
        """As the format's version 0.3.0 has it: its keys, and names that engines accept."""
        spec = self.spec()
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.3.0", CLASSES))
        self.assertEqual(set(spec), {"cdiVersion", "kind", "devices", "containerEdits"})
        names = [device["name"] for device in spec["devices"]]
        self.assertEqual(len(set(names)), len(names))
        for name in ("lc", "lc-0", "lc-15", "be", "be-1", "be-50", "be-10000"):
            self.assertIn(name, names)
        for device in spec["devices"]:
            self.assertRegex(device["name"], r"\A(lc|be)(-[0-9]+)?\Z")
            cls = device["name"].replace("-", ":")
            self.assertEqual(device["containerEdits"], {"env": [f"GPREEMPT_CLASS={cls}"]})

    def test_mounts(self):
        edits = self.spec()["containerEdits"]
        self.assertEqual(set(edits), {"env", "mounts"})
        mounts = {mount["containerPath"]: mount for mount in edits["mounts"]}
        self.assertEqual(mounts.pop("/run/gpreempt")["hostPath"], "/run/gpreempt/socket")
        self.assertEqual(len(mounts), 3)
        for path, mount in mounts.items():
            self.assertTrue(os.path.samefile(
                mount["hostPath"], os.path.join(BUILD, "lib", os.path.basename(path))))
        for mount in edits["mounts"]:
            self.assertEqual(mount["options"][0], "ro")
        env = dict(entry.split("=", 1) for entry in edits["env"])
        self.assertIn(env["LD_PRELOAD"], mounts)
        self.assertEqual(env["CUDA_INJECTION64_PATH"], env["LD_PRELOAD"])
        self.assertEqual(env["GPREEMPT_DAEMON"], "/run/gpreempt/gpreemptd.sock")
        self.assertNotIn("LD_PRELOAD", str(self.spec("--no-preload")["containerEdits"]["env"]))

    def test_another_daemon(self):
        spec = self.spec(GPREEMPT_DAEMON="/srv/run/gpreemptd.sock")
        self.assertEqual(spec["containerEdits"]["mounts"][-1]["hostPath"], "/srv/run/socket")

    def test_classes(self):
        devices = self.spec("be:75", "lc")["devices"]
        self.assertEqual([device["name"] for device in devices], ["be-75", "lc"])
        for words, why in ((["be:0"], "be:0: not a class"), (["idle"], "idle: not a class"),
                           (["lc", "lc"], "written twice"), (["be,cap=3%"], "no deadline or cap")):
            done = self.gp("cdi", *words)
            self.assertEqual((done.returncode, done.stdout), (125, ""), words)
            self.assertRegex(done.stderr, rf"\Agpreempt: cdi: .*{why}.*\n\Z")

    def test_no_daemon(self):
        """The next boot may have one, so it is a remark."""
        done = self.ok("cdi", env={"GPREEMPT_DAEMON": f"{self.dir}/gpreemptd.sock"})
        self.assertRegex(done.stderr, r"\Agpreempt: cdi: .*/socket: No such file .*\n\Z")
        done = self.gp("cdi", env={"GPREEMPT_DAEMON": "none"})
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"\Agpreempt: cdi: GPREEMPT_DAEMON=none: .*\n\Z")

    def test_doctor(self):
        """It finds a file whose paths are gone."""
        spec = self.spec("be", GPREEMPT_DAEMON=f"{self.dir}/run/gpreemptd.sock")
        script = 'mount -t tmpfs none /run && mkdir /run/cdi && cp "$1" /run/cdi && exec "$2" doctor'
        path = os.path.join(self.dir, "gpreempt.json")

        def doctor(text):
            with open(path, "w") as f:
                f.write(text)
            done = subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", path,
                 CLI], env={**self.env, "GPREEMPT_BACKEND": "softgpu"}, text=True,
                capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
            if done.stderr.startswith("unshare") or "mount" in done.stderr:
                self.skipTest(f"no mount namespace here: {done.stderr.strip()}")
            return done.stdout

        said = doctor(json.dumps(spec))
        self.assertRegex(said, "(?m)^warn +/run/cdi/gpreempt.json: names .*/run/socket: No such")
        os.makedirs(f"{self.dir}/run/socket")
        self.assertRegex(doctor(json.dumps(spec)), "(?m)^ok +/run/cdi/gpreempt.json: containers ")
        for text in ("", "{}", '{"containerEdits": {"mounts": [3]}}'):
            self.assertRegex(doctor(text), "(?m)^warn +/run/cdi/gpreempt.json: not readable")

    def setUp(self):
        super().setUp()
        del self.env["GPREEMPT_DAEMON"]


class Rootless(test_daemon_soft.Daemon):
    """In an ordinary user's container, root of the machine has no number."""

    def test_by_environment(self):
        if os.geteuid():
            self.skipTest("root's daemon needs root here")
        os.chmod(self.dir, 0o711)
        gpu = os.path.join(self.dir, "gpu")
        os.mkdir(gpu)
        os.chmod(gpu, 0o777)
        self.env["GPREEMPT_SOFTGPU"] = os.path.join(gpu, "soft.sock")
        self.start_daemon("default_max_class: be:100\n")
        for name in ("soft.sock", "slot"):
            os.chmod(os.path.join(gpu, name), 0o777)
        preload = f"{BUILD}/lib/libgpreempt-preload.so"
        env = {**self.env, "GPREEMPT_CLASS": "be:50", "LD_LIBRARY_PATH": FACE,
               "LD_PRELOAD": preload, "CUDA_INJECTION64_PATH": preload,
               "GPREEMPT_DAEMON": f"{self.run_dir}/socket/gpreemptd.sock"}
        proc = subprocess.Popen(
            ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "unshare", "--user",
             "--map-root-user", "--net", "--pid", "--fork", "--kill-child",
             f"{BUILD}/bench/be", "--iters=100000"], env=env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.programs.append(proc)
        self.assertIn("ready pid=1 ", proc.stdout.readline())
        self.eventually("a tenant", lambda: [
            (row["class"], row["weight"], row["uid"]) for row in self.listed()["processes"]
            if row["daemon"]] == [("be", 50, 1000)])


class Podman(test_daemon_soft.Daemon):
    """Containers with networks and PIDs of their own. They share a software GPU, which comes to
    them by a device as well, because a real GPU does."""

    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.dir, "store")
        self.cdi = os.path.join(self.dir, "cdi")
        self.gpu = os.path.join(self.dir, "gpu")
        os.makedirs(self.cdi)
        os.makedirs(self.gpu)
        self.env["GPREEMPT_SOFTGPU"] = os.path.join(self.gpu, "soft.sock")
        self.try_engine()

    def try_engine(self):
        if os.geteuid():
            self.skipTest("podman needs root here")
        if not shutil.which("podman") or not shutil.which("runc"):
            self.skipTest("no podman or no runc: ./setup -i ci-more")
        conf = os.path.join(self.dir, "containers.conf")
        with open(conf, "w") as f:
            f.write(ENGINE)
        self.env["CONTAINERS_CONF"] = conf
        self.write_cdi("gpu", self.gpu_spec())
        self.import_image()
        done = subprocess.run(self.run_words([], "/bin/true"), env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        if done.returncode:
            self.skipTest(f"podman runs no container here: {done.stderr.strip()[-300:]}")

    # ---- the engine

    def write_cdi(self, name, spec):
        with open(os.path.join(self.cdi, f"{name}.json"), "w") as f:
            json.dump(spec, f)

    def gpu_spec(self):
        """The GPU's own device, with the programs of the build and the system's libraries."""
        paths = {BUILD: BUILD, "/usr": "/usr", self.gpu: "/gpu", f"{TOP}/tests": f"{TOP}/tests"}
        # Of a real GPU, the device file can be locked. This one has a file in the folder.
        mounts = [{"hostPath": at, "containerPath": to,
                   "options": ["rw" if at == self.gpu else "ro", "rbind"]}
                  for at, to in paths.items()]
        env = ["GPREEMPT_BACKEND=softgpu", "GPREEMPT_SOFTGPU=/gpu/soft.sock",
               f"LD_LIBRARY_PATH={FACE}"]
        return {"cdiVersion": "0.3.0", "kind": GPU,
                "devices": [{"name": "0", "containerEdits": {"env": env, "mounts": mounts}}]}

    def podman(self, *words):
        return ["podman", "--root", self.store, "--runroot", os.path.join(self.dir, "runroot"),
                "--tmpdir", os.path.join(self.dir, "tmp"), "--runtime", "runc",
                "--cgroup-manager", "cgroupfs", "--events-backend", "none", *words]

    def import_image(self):
        root = os.path.join(self.dir, "image")
        os.makedirs(os.path.join(root, "usr"))
        for name in LINKS:
            os.symlink(f"usr/{name}", os.path.join(root, name))
        archive = os.path.join(self.dir, "image.tar")
        subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
        done = subprocess.run(self.podman("import", "-q", archive, "gpreempt-test"), env=self.env,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode:
            self.skipTest(f"podman imports no image here: {done.stderr.strip()[-300:]}")

    def run_words(self, devices, *command, options=()):
        devices = [f"--device={device}" for device in (f"{GPU}=0", *devices)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", NAMESPACE, "sh",
                self.cdi, *self.podman("run", "-i", "--rm", "--network=none", *options, *devices,
                                       "gpreempt-test", *command)]

    def contain(self, device, program="be", args=(), options=(), log=None, command=None):
        """A program in a container: one of the bench's, or @command. @device: of the class; None: without
        gpreempt."""
        devices = [f"{CLASSES}={device}"] if device else []
        pidfile = os.path.join(self.dir, f"pid{len(self.programs)}")
        command = command or [os.path.join(BUILD, "bench", program), "--iters=100000", *args]
        words = self.run_words(devices, *command, options=(f"--pidfile={pidfile}", *options))
        env = {k: v for k, v in self.env.items() if not k.startswith("GPREEMPT_")}
        proc = subprocess.Popen(words, env=env, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=log)
        self.programs.append(proc)
        self.addCleanup(self.end_container, proc, pidfile)
        self.assertRegex(proc.stdout.readline(), r"^ready( pid=1 .*)?\n$")
        with open(pidfile) as f:
            return int(f.read())

    def end_container(self, proc, pidfile):
        """podman then removes the container."""
        if proc.poll() is None:
            with open(pidfile) as f:
                os.kill(int(f.read()), signal.SIGKILL)
            proc.wait(PATIENCE_S)

    # ---- what the daemon sees

    def start_daemon(self, config=None):
        super().start_daemon(config)
        self.write_cdi("gpreempt", json.loads(self.ok("cdi").stdout))

    def classes(self):
        """PID on the host -> class, of the daemon's tenants."""
        return {row["pid"]: row["class"] + (f":{row['weight']}" if row["weight"] else "")
                for row in self.listed()["processes"] if row["daemon"]}

    def until_classes(self, classes):
        """@classes: as classes() returns them."""
        self.eventually(f"tenants: {classes}", lambda: self.classes() == classes)

    def test_two_containers(self):
        self.start_daemon("be_quantum: 10ms\n")
        be = self.contain("be-50")
        lc = self.contain("lc", "lc", ["--requests=1000000"])
        self.until_classes({be: "be:50", lc: "lc"})
        for kind in ("net", "pid"):
            spaces = [os.readlink(f"/proc/{pid}/ns/{kind}") for pid in (be, lc, os.getpid())]
            self.assertEqual(len(set(spaces)), 3, spaces)
        both = self.rows()
        self.assertEqual(both[be]["slice_us"], test_daemon_soft.BE_US)
        self.assertGreater(both[lc]["slice_us"], test_daemon_soft.DRIVER_US)

    def test_the_next_daemon(self):
        """A container outlives gpreemptd, and is a tenant of the next one."""
        self.start_daemon()
        be = self.contain("be-50")
        self.until_classes({be: "be:50"})
        self.stop_daemon()
        self.start_daemon()
        self.until_classes({be: "be:50"})

    def test_class_above_max_class(self):
        self.start_daemon("default_max_class: be:100\n")
        with open(os.path.join(self.dir, "stderr"), "w+") as log:
            refused = self.contain("lc", log=log)
            self.eventually("a refusal", lambda: "class refused" in self.said())
            self.assertEqual(self.classes(), {refused: "none"})
            be = self.contain("be-100")
            self.until_classes({refused: "none", be: "be:100"})
            log.seek(0)
            said = log.read()
        self.assertRegex(said, r"\A[^\n]*refused the requested class and gave none: "
                               r"[^\n]*default_max_class: be:100[^\n]*\n\Z")

    def test_annotation_asks(self):
        """With nothing of gpreempt in the container. A rule by its facts allows."""
        self.start_daemon("default_max_class: none\n"
                          "rules:\n- {namespace: research, max_class: be:100}\n"
                          "- {annotation: x.y/team=v*, class: be:20}\n")

        def run(cls, *more):
            said = (f"gpreempt.io/class={cls}", *more)
            return self.contain(None, options=[f"--annotation={text}" for text in said])

        namespace = "io.kubernetes.cri.sandbox-namespace"
        allowed = run("be-50", f"{namespace}=research")
        self.until_classes({allowed: "be:50"})
        self.assertIn("annotation gpreempt.io/class asked",
                      self.ok("why", str(allowed)).stdout)
        given = run("lc", "x.y/team=vision")
        self.until_classes({allowed: "be:50", given: "be:20"})
        refusal = "class refused: lc:0 is higher than class: be:20"
        self.eventually("a refusal", lambda: refusal in self.said())
        run("lc-0", f"{namespace}=other")
        self.eventually("a refusal", lambda: "higher than default_max_class: none" in self.said())
        run("fast", f"{namespace}=research")
        self.eventually("a refusal", lambda: "gpreempt.io/class: found 'fast'" in self.said())
        self.assertEqual(self.classes(), {allowed: "be:50", given: "be:20"})

    def remove_cgroup(self, path):
        """podman leaves the pod's own, in each hierarchy."""
        for at in glob.glob(f"/sys/fs/cgroup{path}") + glob.glob(f"/sys/fs/cgroup/*{path}"):
            for folder, _, _ in os.walk(at, topdown=False):
                os.rmdir(folder)

    def test_one_limit_of_memory_for_a_pod(self):
        """By the rule of its cgroup, for all its containers together, and nobody else."""
        pod = f"/gpreempt-test-{os.getpid()}"
        self.addCleanup(self.remove_cgroup, pod)
        self.start_daemon(f"rules:\n- cgroup: {pod}\n  max_class: lc\n  as: one\n  memory: {{max: 32MiB}}\n")

        def run(device, *options, log=None):
            self.contain(device, options=(f"--env=GP_BUILD={BUILD}", *options), log=log,
                         command=["/usr/bin/python3", APP, "limit", "0"])
            return self.programs[-1]

        def do(proc, line):
            proc.stdin.write(f"{line}\n")
            proc.stdin.flush()
            return proc.stdout.readline().strip()

        inside = f"--cgroup-parent={pod}"
        path = os.path.join(self.dir, "stderr")
        with open(path, "w") as log:
            train, server, other = run("be-50", inside), run("lc", inside, log=log), run("be")
        self.assertEqual(do(train, "alloc 24"), "0")
        self.assertEqual(do(server, "alloc 16"), str(NO_MEMORY))
        with open(path) as said:
            self.eventually("the refusal", lambda: (
                "the processes of its cgroup have 24MiB of their 32MiB, by the rule at ") in said.read())
        self.assertEqual([do(server, line) for line in ("info", "alloc 8")], ["0 8 32", "0"])
        self.assertEqual(do(other, "alloc 64"), "0")
        self.assertEqual(do(train, "free"), "0")
        self.assertEqual(do(server, "alloc 24"), "0")

    def samples(self):
        """Sample -> value."""
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in self.scrape().splitlines()
                 if not line.startswith("#"))}

    def test_accounts(self):
        """A pod's sums, which stay when it ends, add up to those of the device."""
        self.start_daemon(f"be_quantum: 10ms\nmetrics_listen: {self.dir}/metrics\n")

        def run(pod):
            words = (f"--annotation=io.kubernetes.cri.{text}" for text in (
                "sandbox-namespace=research", f"sandbox-name={pod}", "container-name=main"))
            return self.contain("be-50", options=words)

        def figure(name, pod):
            return sum(value for key, value in self.samples().items() if
                       key.startswith(f"gpreempt_container_{name}{{") and
                       f'namespace="research",pod="{pod}",container="main",job=""}}' in key)

        first = run("train-0")
        run("train-1")
        for pod in ("train-0", "train-1"):
            self.eventually("turns", lambda pod=pod: figure("turns_total", pod) > 2 and
                            figure("used_seconds_total", pod) > 0 and
                            figure("waited_seconds_total", pod) > 0)
        self.assertEqual(figure("weight", "train-0"), 50)
        os.kill(first, signal.SIGKILL)
        self.eventually("its end", lambda: figure("weight", "train-0") == 0)
        self.assertGreater(figure("used_seconds_total", "train-0"), 0)
        sums = [sum(value for key, value in samples.items() if key.startswith(name))
                for samples in [self.samples()]
                for name in ("gpreempt_used_seconds_total{",
                             "gpreempt_container_used_seconds_total{")]
        self.assertAlmostEqual(*sums, places=6)
        self.assertLessEqual(sums[0], self.devices()[0]["up_ns"] / 1e9)

    def test_files_of_the_daemon(self):
        """The container's root gets the socket, and neither the journal nor the right to write."""
        self.start_daemon()
        done = subprocess.run(
            self.run_words([f"{CLASSES}=be"], "/bin/sh", "-c",
                           "ls /run/gpreempt; touch /run/gpreempt/x || echo refused"),
            env=self.env, text=True, capture_output=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.stdout, "gpreemptd.sock\nrefused\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
