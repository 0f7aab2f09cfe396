#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run commands of the README in a bare Debian 12: a minimal root, HEAD's files, and the
packages that ./setup installs. A package that is only there by accident is missing here.

Needs root, mmdebstrap, and this machine's source of Debian 12's packages. If this machine has
ccache, the root uses its cache for all but the demo, whose time is judged.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = "root/gpreempt"
RELEASE = "bookworm"
RELEASES = (RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security")
# How apt reaches its mirror on this machine: settings, files, environment.
APT_SETTINGS = ("Acquire::http", "Acquire::Check-")
MIRROR_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/apt/mirrors",
                "/etc/ssl/certs/ca-certificates.crt")
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
DEMO = "./setup demo"
RUNS = "setup: running"     # setup's line before it starts make
DEMO_LIMIT_S = 60
QUIET = 0.8                 # idle share of a machine whose times are judged
SKIPPED = 77

# Arguments: the root, a folder for apt's downloads, the folder of ccache or "", the command,
# and the environment. This shell is init of the PID namespace: it stays, and reaps.
MOUNTS = """set -e
root=$1 packages=$2 cache=$3 command=$4
shift 4
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$packages" "$root/var/cache/apt/archives"
[ -z "$cache" ] || mount --bind "$cache" "$root/mnt"
chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \\
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" \\
	/bin/sh -c "$command"
exit $?
"""
CCACHE = {"CC": "ccache gcc", "CCACHE_DIR": "/mnt", "CCACHE_NOHASHDIR": "1"}


def say(text):
    print(f"bare: {text}", flush=True)


def sources():
    """apt's lines for Debian 12 on this machine."""
    rows = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)",
         "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    lines = []
    for row in rows.splitlines():
        # Before the first apt-get update, the origin stands as it is in the format.
        origin, uri, release, component = row.split()
        line = f"deb {uri} {release} {component}"
        if (origin in ("Debian", "$(ORIGIN)") and release in RELEASES and
                component == "main" and line not in lines):
            lines.append(line)
    return lines


def why_not():
    """The reason why this machine cannot build a bare root, or None."""
    if os.geteuid():
        return "not root"
    for command in ("apt-get", "mmdebstrap", "git"):
        if not shutil.which(command):
            return f"no {command}: run ./setup -i ci-more"
    if not any(f" {RELEASE} " in line for line in sources()):
        return "apt has no source of Debian 12 on this machine"
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c",
                            "mount -t proc proc /proc"], capture_output=True, text=True)
    return (f"no namespaces with mounts: {probe.stderr.strip()}" if probe.returncode else None)


def ccache():
    """The folder of this machine's cache, or "" if it has no ccache."""
    if not shutil.which("ccache"):
        return ""
    folder = subprocess.run(["ccache", "--get-config", "cache_dir"], check=True,
                            capture_output=True, text=True).stdout.strip()
    os.makedirs(folder, exist_ok=True)
    return folder


def make_base(base, extra):
    """The minimal root with the package @extra or none; kept for the next run."""
    if os.path.exists(base):
        return
    say("making a minimal Debian 12 with mmdebstrap")
    part = f"{base}.part.tar"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={extra}",
                    "--dpkgopt=force-unsafe-io", RELEASE, part, *sources()], check=True)
    os.rename(part, base)


def write(root, path, text):
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def copy(root, path):
    """A file or folder of this machine, if it is there."""
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(path):
        shutil.copytree(path, target)
    elif os.path.exists(path):
        shutil.copyfile(path, target)


def fill(root, base):
    """A new root: the base, the mirror's settings, and HEAD's files."""
    remove(root)
    os.makedirs(os.path.join(root, HOME))
    subprocess.run(["tar", "-xf", base, "-C", root], check=True)
    settings = subprocess.run(["apt-config", "dump"], check=True, capture_output=True,
                              text=True).stdout.splitlines()
    write(root, "etc/apt/apt.conf.d/10machine",
          "".join(f"{line}\n" for line in settings if line.startswith(APT_SETTINGS)))
    write(root, "etc/dpkg/dpkg.cfg.d/unsafe-io", "force-unsafe-io\n")
    for path in MIRROR_FILES:
        copy(root, path)
    archive = subprocess.Popen(["git", "-C", TOP, "archive", "HEAD"],
                               stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", os.path.join(root, HOME)], stdin=archive.stdout,
                   check=True)
    if archive.wait():
        raise SystemExit("bare: git archive failed")


def remove(root):
    """The mounts were in a namespace of their own, which is gone."""
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


def idle_share():
    """Of this machine's CPU time, over two seconds."""
    def read():
        with open("/proc/stat", encoding="ascii") as f:
            times = [int(word) for word in f.readline().split()[1:]]
        return times[3] + times[4], sum(times)
    (idle, total), _, (idle_then, total_then) = read(), time.sleep(2), read()
    return (idle_then - idle) / max(total_then - total, 1)


def too_slow(make_s, idle):
    """The bar for the demo. Other work on the machine can break it."""
    if make_s <= DEMO_LIMIT_S:
        return False
    say(f"the demo took {make_s:.0f} s after its packages: over {DEMO_LIMIT_S}")
    if idle < QUIET:
        say(f"not judged: the machine was busy before, {idle:.0%} idle")
    return idle >= QUIET


def run(root, packages, cache, command, limit_s):
    """Return (exit status, seconds in make or None)."""
    say(f"$ {command}")
    env = {name: os.environ[name] for name in PROXIES if name in os.environ}
    if cache:
        env.update(CCACHE)
    began = None
    with subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c",
             MOUNTS, "sh", root, packages, cache, f"cd /{HOME} && {command}",
             *map("=".join, env.items())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace") as proc:
        signal.signal(signal.SIGALRM, lambda *_: proc.kill())
        signal.alarm(limit_s)
        for line in proc.stdout:
            if line.startswith(RUNS):
                began = time.monotonic()
            sys.stdout.write(line)
            sys.stdout.flush()
        status = proc.wait()
        signal.alarm(0)
    return status, began and time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder of the base and the root")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for each command")
    parser.add_argument("--keep", action="store_true", help="leave the root")
    parser.add_argument("commands", nargs="+")
    opt = parser.parse_args()
    lack = why_not()
    if lack:
        say(f"skipped: {lack}")
        return SKIPPED
    cache = ccache()
    extra = "ccache" if cache else ""
    out = os.path.abspath(opt.out)
    base, root, packages = (os.path.join(out, name)
                            for name in (f"base{extra}.tar", "root", "packages"))
    os.makedirs(packages, exist_ok=True)
    make_base(base, extra)
    fill(root, base)
    bad, idle = 0, idle_share()
    for command in opt.commands:
        start = time.monotonic()
        status, make_s = run(root, packages, "" if command == DEMO else cache, command,
                             opt.timeout)
        say(f"exit status {status}, {time.monotonic() - start:.0f} s" +
            (f", {make_s:.0f} s of it in make" if make_s else ""))
        bad |= status != 0
        if command == DEMO and not status:
            bad |= too_slow(make_s, idle)
    if not opt.keep:
        remove(root)
    return bad


if __name__ == "__main__":
    sys.exit(main())
