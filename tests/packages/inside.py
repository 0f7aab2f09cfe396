#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As root of a bare Debian 12, with the packages in the folders "now" and "next" beside this file:
install, use, upgrade under load, remove, purge. A stand-in plays systemctl."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# In the PATH that apt gives to dpkg.
SYSTEMCTL, CALLS = "/usr/sbin/systemctl", "/root/systemctl.calls"
# The units are not enabled, and the service is active if there is a file RUNS. The stand-in leaves
# its restart to this program.
RUNS = "/tmp/runs"
STAND_IN = f"""#!/bin/sh
echo "$*" >>{CALLS}
case "$*" in
*is-enabled*) exit 1 ;;
*is-active*gpreemptd.service*) test -e {RUNS} ;;
*is-active*) exit 3 ;;
esac
"""
PATIENCE_S = 300
# Folders of apt and dpkg, and files that their triggers rewrite.
OTHERS = ("/proc", "/sys", "/dev", "/run", "/tmp", "/mnt", HERE, "/var/lib/dpkg", "/var/lib/apt",
          "/var/cache", "/var/log", "/etc/ld.so.cache", CALLS)
ENV = {**os.environ, "GPREEMPT_SOFTGPU": "/tmp/soft.sock", "GPREEMPT_BACKEND": "softgpu"}
CONFIG = "/etc/gpreempt/gpreempt.yaml"


def step(text):
    print(f"packages: {text}", flush=True)


def run(*argv, given=None):
    """stdout of a command that must succeed."""
    done = subprocess.run(argv, text=True, capture_output=True, input=given, env=ENV,
                          timeout=PATIENCE_S, check=False)
    assert not done.returncode, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def eventually(what, condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, f"not seen: {what}"
        time.sleep(0.05)


def files():
    """All files and folders but those of OTHERS."""
    found = set()
    for where, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(where, name) not in OTHERS]
        found |= {os.path.join(where, name) for name in folders + names}
    return found - set(OTHERS)


def calls():
    """The calls of systemctl since the last look."""
    if not os.path.exists(CALLS):
        return ""
    with open(CALLS, encoding="utf-8") as f:
        text = f.read()
    os.unlink(CALLS)
    return text


def debs(folder):
    return glob.glob(os.path.join(HERE, folder, "*.deb"))


def packages():
    """Name -> version of ours that are installed or have files left."""
    rows = run("dpkg-query", "-W", "-f=${Package} ${Version} ${db:Status-Status}\\n").splitlines()
    names = {os.path.basename(deb).split("_")[0] for deb in debs("now")}
    return {name: (version, status) for name, version, status in map(str.split, rows)
            if name in names}


def install(folder):
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *debs(folder))
    versions = {version for version, status in packages().values() if status == "installed"}
    assert len(packages()) == len(debs(folder)) and len(versions) == 1, packages()
    return versions.pop()


# ---- use ------------------------------------------------------------------------------------

def client(cls, *more):
    (program,) = glob.glob("/usr/lib/*/gpreempt/bench/client")
    return ["gpreempt", "run", f"--class={cls}", "--device=soft0", "--", program, *more]


def bench(usr, folder):
    """A short run of gpreempt-bench on the software GPU with one of its peers, and its output."""
    (data,) = glob.glob(f"{usr}/lib/*/gpreempt/bench/data")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(f"{data}/peers/time-slicing.yaml", folder)
    assert "\npaper " in run(f"{usr}/bin/gpreempt-bench", "list")
    return run(f"{usr}/bin/gpreempt-bench", "run", f"{data}/plans/alone/lc-small.json", "--runs=1",
               "--seconds=0.2", "--device=soft0", f"--peers={folder}", f"--out={folder}/out.json")


def check_use():
    assert re.match(r"gpreempt \d", run("gpreempt", "--version"))
    for cls in ("lc", "be"):
        out = run(*client(cls, "--workload=spin:1ms", "--length-ms=200"), given="go\n")
        assert "result=right" in out, out
    assert "time-slicing" in bench("/usr", "/tmp/peers")
    assert "no effect" not in run("python3", "-B", "-c", "import gpreempt")
    run("gpreemptd", f"--check-config={CONFIG}")
    text = run("bash", "-c", "for f in /usr/share/bash-completion/completions/{gpreempt,hsaq}*; do "
               '. "$f"; done; complete -p gpreempt gpreemptd gpreempt-bench hsaq')
    assert text.count("complete -F") == 4, text
    for page in ("man1/gpreempt.1", "man3/gp_hint.3", "man5/gpreempt.yaml.5", "man8/gpreemptd.8"):
        # A minimal root leaves manual pages out; the list of files names them.
        assert run("dpkg-query", "-S", f"/usr/share/man/{page}.gz")


def check_module():
    """The source of the patched amdgpu is there, and DKMS knows it."""
    (source,) = glob.glob("/usr/src/amdgpu-gpreempt-*")
    name = os.path.basename(source).replace("-gpreempt-", "-gpreempt/")
    assert re.search(rf"^{name}: added$", run("dkms", "status", name), re.M), source
    # The series adds this header.
    assert os.path.exists(f"{source}/include/uapi/linux/kfd_sched.h")


# ---- a daemon with tenants -------------------------------------------------------------------

def start_daemon():
    log = open("/tmp/gpreemptd.log", "a", encoding="utf-8")
    daemon = subprocess.Popen(["gpreemptd", "--foreground"], env=ENV, stderr=log,
                              stdin=subprocess.DEVNULL)
    eventually("gpreemptd answers", lambda: tenants() is not None)
    return daemon


def tenants():
    """PID -> the daemon's row on it; None: it does not answer."""
    done = subprocess.run(["gpreempt", "ls", "--json"], text=True, capture_output=True, env=ENV,
                          timeout=PATIENCE_S, check=False)
    listed = json.loads(done.stdout) if not done.returncode else {}
    if listed.get("devices") is None:
        return None
    return {row["pid"]: row["daemon"] for row in listed["processes"] if row["daemon"]}


def turns_of_all(procs):
    """Do all have turns?"""
    rows = tenants() or {}
    return all(proc.pid in rows and rows[proc.pid]["turns"] >= 3 for proc in procs)


def start_client():
    proc = subprocess.Popen(client("be", "--workload=spin:10ms", "--length-ms=100000000"), env=ENV,
                            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert proc.stdout.readline().startswith("ready")
    proc.stdin.write("go\n")
    proc.stdin.flush()
    return proc


def check_upgrade(before):
    with open(CONFIG, "a", encoding="utf-8") as f:
        f.write("# mine\n")
    daemon = start_daemon()
    with open(RUNS, "w", encoding="ascii"):
        pass
    procs = [start_client() for _ in range(3)]
    eventually("turns", lambda: turns_of_all(procs))
    calls()
    after = install("next")
    assert after.startswith(before) and after != before, (before, after)
    told = calls()
    assert re.search(r"^(--\S+ )*restart gpreemptd\.service$", told, re.M), told
    assert not re.search(r"^(--\S+ )*(enable|start|stop) ", told, re.M), told
    with open(CONFIG, encoding="utf-8") as f:
        assert f.read().endswith("# mine\n"), "the upgrade replaced the configuration"
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(PATIENCE_S)
    daemon = start_daemon()
    eventually("turns after the upgrade", lambda: turns_of_all(procs))
    assert [proc.poll() for proc in procs] == [None] * 3
    check_module()
    step(f"upgraded from {before} to {after}; all three tenants have turns again")
    return daemon, procs


def main():
    with open(SYSTEMCTL, "w", encoding="ascii") as f:
        f.write(STAND_IN)
    os.chmod(SYSTEMCTL, 0o755)
    os.makedirs("/run/systemd/system")
    clean = files()
    version = install("now")
    told = calls()
    assert not re.search(r"^(--\S+ )*(start|restart|enable) ", told, re.M), told
    links = glob.glob("/etc/systemd/system/*/gpreemptd*")
    assert not links, links
    step(f"installed {len(packages())} packages, {version}; gpreemptd is not enabled")
    check_use()
    check_module()
    daemon, procs = check_upgrade(version)
    # Removed under load: the daemon still runs and restores all when systemd stops it.
    names = sorted(packages())
    run("apt-get", "remove", "-y", "-qq", *names)
    told = calls()
    assert re.search(r"^(--\S+ )*stop .*gpreemptd\.service", told, re.M), told
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(PATIENCE_S) == 0
    for proc in procs:
        proc.kill()
        proc.wait()
    left = {path for path in files() - clean if "/deb-systemd-helper-" not in path}
    assert left == {"/etc/gpreempt", CONFIG}, sorted(left)
    assert [status for _, status in packages().values()] == ["config-files"], packages()
    step("removed; the configuration is left")
    run("apt-get", "purge", "-y", "-qq", *packages())
    left = files() - clean | set(glob.glob("/run/gpreempt*"))
    assert not left, f"left behind: {sorted(left)}"
    assert not packages(), packages()
    step("purged; nothing is left")


if __name__ == "__main__":
    main()
