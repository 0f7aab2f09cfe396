#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run commands of the README in a bare Debian 12: a minimal root, HEAD's files, and the
packages that ./setup installs. A package that is only there by accident is missing here.

Needs root, mmdebstrap, and the package mirror of this machine.
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
SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
# apt's settings on this machine for its mirror.
APT_SETTINGS = ("Acquire::http", "Acquire::Check-")
RUNS = "setup: running"     # setup's line before it starts make
DEMO_LIMIT_S = 60
QUIET = 0.8                 # idle share of a machine whose times are judged
SKIPPED = 77

MOUNTS = """set -e
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/dev/shm"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
# This shell is init in there: it stays, and reaps.
chroot "$1" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \\
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
	/bin/sh -c "cd /$2 && $3"
exit $?
"""


def say(text):
    print(f"bare: {text}", flush=True)


def why_not():
    """The reason why this machine cannot build a bare root, or None."""
    if os.geteuid():
        return "not root"
    if not shutil.which("mmdebstrap"):
        return "no mmdebstrap: run ./setup -i ci-more"
    if not any(map(os.path.exists, SOURCES)):
        return f"neither {SOURCES[0]} nor {SOURCES[1]}: unknown mirror"
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                           capture_output=True, text=True)
    return f"no namespaces: {probe.stderr.strip()}" if probe.returncode else None


def make_base(base):
    """The minimal root; kept for the next run."""
    if os.path.exists(base):
        return
    say("making a minimal Debian 12 with mmdebstrap")
    sources = next(filter(os.path.exists, SOURCES))
    part = f"{base}.part.tar"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase",
                    '--dpkgopt=force-unsafe-io', "bookworm", part, sources], check=True)
    os.rename(part, base)


def write(root, path, text):
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def fill(root, base):
    """A new root: the base, the mirror's settings, and HEAD's files."""
    remove(root)
    os.makedirs(os.path.join(root, HOME))
    subprocess.run(["tar", "-xf", base, "-C", root], check=True)
    settings = subprocess.run(["apt-config", "dump"], check=True, capture_output=True,
                              text=True).stdout.splitlines()
    write(root, "etc/apt/apt.conf.d/10machine",
          "".join(f"{line}\n" for line in settings if line.startswith(APT_SETTINGS)))
    for name in ("resolv.conf", "hosts"):
        with open(f"/etc/{name}", encoding="utf-8") as f:
            write(root, f"etc/{name}", f.read())
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


def run(root, command, limit_s):
    """Return (exit status, seconds in make or None)."""
    say(f"$ {command}")
    began = None
    with subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c",
             MOUNTS, "sh", root, HOME, command],
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
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for each command")
    parser.add_argument("--keep", action="store_true", help="leave the root")
    parser.add_argument("commands", nargs="+")
    opt = parser.parse_args()
    lack = why_not()
    if lack:
        say(f"skipped: {lack}")
        return SKIPPED
    out = os.path.abspath(opt.out)
    os.makedirs(out, exist_ok=True)
    base, root = os.path.join(out, "base.tar"), os.path.join(out, "root")
    make_base(base)
    fill(root, base)
    bad, idle = 0, idle_share()
    for command in opt.commands:
        status, make_s = run(root, command, opt.timeout)
        say(f"exit status {status}" + (f", {make_s:.0f} s in make" if make_s else ""))
        bad |= status != 0
        if command == "./setup demo" and not status:
            bad |= too_slow(make_s, idle)
    if not opt.keep:
        remove(root)
    return bad


if __name__ == "__main__":
    sys.exit(main())
