#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the Debian packages and the wheel, and test them: with lintian, unpacked in a folder, and
installed, upgraded under load, removed and purged in a bare Debian 12 (inside.py).

Needs root and the packages that `./setup -i check-packages` installs.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/bare"))
import run as bare  # noqa: E402
import inside  # noqa: E402

NEEDED = ("dpkg-buildpackage", "dh", "lintian", "mmdebstrap", "scdoc", "git", "pkg-config", "c++")
# The system's, because pyenv and the like lack the packages that ./setup installs.
PYTHON = "/usr/bin/python3"
NEXT = "+next"              # the upgrade's version ends with it
ROOT_FOLDER = "root/packages"
SOFT = {"GPREEMPT_DAEMON": "none"}


def step(text):
    print(f"packages: {text}", flush=True)


def run(*argv, **how):
    """stdout and stderr of a command that must succeed."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False, **how)
    if done.returncode:
        raise SystemExit(f"{done.stdout[-6000:]}\npackages: {' '.join(argv)}: "
                         f"exit status {done.returncode}")
    return done.stdout


def field(deb, name):
    return run("dpkg-deb", "-f", deb, name).strip()


def copy_tree(folder):
    """The files that git knows, as they are now."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = run("git", "-C", TOP, "ls-files", "-z", "--cached", "--others",
                "--exclude-standard").split("\0")
    for name in filter(None, names):
        source, target = os.path.join(TOP, name), os.path.join(folder, name)
        if os.path.lexists(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def build(out):
    """The packages, without those of debug information."""
    folder = os.path.join(out, "source")
    copy_tree(folder)
    for old in glob.glob(f"{out}/*.deb"):
        os.unlink(old)
    with open(f"{out}/build.log", "w", encoding="utf-8") as log:
        done = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=folder, stdout=log,
                              stderr=log, stdin=subprocess.DEVNULL, check=False,
                              env={**os.environ, "DEB_BUILD_OPTIONS": "parallel=2"})
    if done.returncode:
        print(run("tail", "-n", "40", f"{out}/build.log"))
        raise SystemExit(f"packages: dpkg-buildpackage failed; see {out}/build.log")
    debs = sorted(deb for deb in glob.glob(f"{out}/*.deb") if "-dbgsym_" not in deb)
    step(f"built {len(debs)} packages")
    return debs


def check_lintian(out):
    text = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0",
               *glob.glob(f"{out}/*.changes"))
    step(f"lintian: no error, no warning{': ' + text if text else ''}")


def check_all_installed(debs, out):
    """Each installed file is in one package."""
    packed = set()
    for deb in debs:
        for line in run("dpkg-deb", "-c", deb).splitlines():
            path = line.split(None, 5)[5].split(" -> ")[0].removesuffix(".gz")
            if not path.endswith("/") and "/share/doc/" not in path:
                assert path not in packed, f"{path}: in two packages"
                packed.add(path)
    top = os.path.join(out, "source/debian/tmp")
    made = {"./" + os.path.relpath(os.path.join(where, name), top)
            for where, _, names in os.walk(top) for name in names}
    missing = {path for path in made - packed if "/share/doc/" not in path}
    assert not missing, f"in no package: {sorted(missing)}"
    step(f"{len(packed)} files, each in one package")


def check_uninstall(out):
    """make uninstall removes each file that make install made."""
    multiarch = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    dest = os.path.join(out, "installed")
    shutil.rmtree(dest, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    for target in ("install", "uninstall"):
        run("make", "-C", f"{out}/source", "O=debian/build", "prefix=/usr", "HIP_KERNELS=",
            "HIP_HEADER=", f"libdir=/usr/lib/{multiarch}", f"PYTHON={PYTHON}", f"DESTDIR={dest}",
            target, env=env)
        files = [os.path.join(where, name) for where, _, names in os.walk(dest) for name in names]
        if target == "install":
            assert len(files) > 200, files
    assert not files, f"make uninstall leaves {files}"
    step("make uninstall leaves no file of make install")


def check_moved(debs, out):
    """Unpacked in a folder: each program finds its parts without the paths of its build."""
    root = os.path.join(out, "moved")
    shutil.rmtree(root, ignore_errors=True)
    for deb in debs:
        run("dpkg-deb", "-x", deb, root)
    (libdir,) = glob.glob(f"{root}/usr/lib/*-linux-gnu")
    elsewhere = libdir[len(root):] + "/libgpreempt-preload.so"
    assert not os.path.exists(elsewhere), f"{elsewhere} would hide the parts in {root}"
    env = {**os.environ, **SOFT, "GPREEMPT_SOFTGPU": os.path.join(out, "moved.sock"),
           "LD_LIBRARY_PATH": libdir, "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": f"{root}/usr/lib/python3/dist-packages"}
    gpreempt = (f"{root}/usr/bin/gpreempt", "run", "--class=lc", "--device=soft0", "--")
    scopes, hint = f"{out}/scopes", f"{out}/hint"
    config = {**env, "PKG_CONFIG_LIBDIR": f"{libdir}/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": root}
    flags = run("pkg-config", "--cflags", "--libs", "gpreempt", "hsaq", env=config).split()
    run("c++", "-std=c++17", f"{TOP}/tests/softface/scopes.cpp", "-o", scopes, *flags, "-ldl")
    run("cc", f"{TOP}/examples/hint.c", "-o", hint, *flags, "-ldl")
    assert run(*gpreempt, scopes, env=env).startswith("ok ")
    assert "10 requests" in run(*gpreempt, hint, env=env)
    with mock.patch.dict(inside.ENV, env, clear=True):
        assert "time-slicing" in inside.bench(f"{root}/usr", f"{out}/peers")
    run(f"{root}/usr/bin/hsaq", "--help", env={**env, "LD_LIBRARY_PATH": libdir})
    status = run(PYTHON, "-c", "import gpreempt; print(gpreempt.status().version)", env=env)
    assert re.search(r"^\d+\.\d+", status, re.M), status
    step("unpacked in a folder: commands, C, C++ and Python work")


def check_wheel(out):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    run("make", "-C", TOP, f"O={out}/wheel", f"PYTHON={PYTHON}", "wheel", env=env)
    (wheel,) = glob.glob(f"{out}/wheel/wheel/*.whl")
    assert wheel.endswith("-py3-none-any.whl"), wheel
    target = f"{out}/wheel/target"
    run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", target,
        "--root-user-action=ignore", wheel)
    text = run(PYTHON, "-B", "-c", "import gpreempt; print(gpreempt.__file__, gpreempt.request)",
               cwd=out, env={**env, "PYTHONPATH": target})
    assert text.startswith(target), text
    assert os.path.exists(f"{target}/gpreempt/py.typed")
    text = run(PYTHON, "-B", "-c", "from importlib.metadata import entry_points as e; "
               "print([p.load() for p in e(group='vllm.general_plugins')])",
               cwd=out, env={**env, "PYTHONPATH": target})
    assert "register" in text, text
    step(f"{os.path.basename(wheel)} installs and imports")


def next_version(debs, folder):
    """The same packages, with a later version."""
    os.makedirs(folder)
    for deb in debs:
        unpacked, version = f"{folder}/unpacked", field(deb, "Version")
        run("dpkg-deb", "-R", deb, unpacked)
        control = f"{unpacked}/DEBIAN/control"
        with open(control, encoding="utf-8") as f:
            text = f.read()
        with open(control, "w", encoding="utf-8") as f:
            f.write(re.sub(rf"(^Version: |\(= ){re.escape(version)}", rf"\g<0>{NEXT}", text,
                           flags=re.M))
        run("dpkg-deb", "--root-owner-group", "-b", unpacked,
            f"{folder}/{os.path.basename(deb).replace('_' + version, '_' + version + NEXT)}")
        shutil.rmtree(unpacked)


def others(debs):
    """The packages of Debian that ours depend on."""
    ours = {field(deb, "Package") for deb in debs}
    names = {re.match(r"[\w.+-]+", word.strip())[0]
             for deb in debs for word in field(deb, "Depends").split(",") if word.strip()}
    return sorted(names - ours)


def check_root(debs, out, timeout):
    base, root, cache = (os.path.join(out, name) for name in ("base.tar", "root", "packages"))
    os.makedirs(cache, exist_ok=True)
    bare.make_base(base, "procps")
    bare.fill(root, base)
    folder = os.path.join(root, ROOT_FOLDER)
    os.makedirs(f"{folder}/now")
    for deb in debs:
        shutil.copy(deb, f"{folder}/now")
    next_version(debs, f"{folder}/next")
    shutil.copy(os.path.join(TOP, "tests/packages/inside.py"), folder)
    command = ("export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y "
               f"-qq --no-install-recommends {' '.join(others(debs))} >/dev/null && "
               f"python3 -B /{ROOT_FOLDER}/inside.py")
    status, _ = bare.run(root, cache, "", command, timeout)
    if status:
        raise SystemExit(f"packages: in a bare Debian 12: exit status {status}")
    bare.remove(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder for all that is made")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds in the bare Debian")
    parser.add_argument("--build-only", action="store_true")
    opt = parser.parse_args()
    out, start = os.path.abspath(opt.out), time.monotonic()
    os.makedirs(out, exist_ok=True)
    lacks = [name for name in NEEDED if not shutil.which(name)]
    if lacks:
        raise SystemExit(f"packages: no {', '.join(lacks)}: run ./setup -i check-packages")
    debs = build(out)
    if opt.build_only:
        print("\n".join(debs))
        return 0
    check_lintian(out)
    check_all_installed(debs, out)
    check_uninstall(out)
    check_moved(debs, out)
    check_wheel(out)
    lack = bare.why_not()
    if lack:
        step(f"skipped in a bare Debian 12: {lack}")
        return bare.SKIPPED
    check_root(debs, out, opt.timeout)
    step(f"passed, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
