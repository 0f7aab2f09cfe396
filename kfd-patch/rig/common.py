# SPDX-License-Identifier: Apache-2.0
"""Paths, versions, and running other programs."""

import glob
import os
import re
import shutil
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATCHES = os.path.join(REPO, 'kfd-patch')
TESTS = os.path.join(REPO, 'tests', 'kfd')


class Failure(Exception):
    """An error with a message of one line."""


def base_version():
    """The kernel version that the series is for: the first x.y.z in BASE."""
    with open(os.path.join(PATCHES, 'BASE'), encoding='utf-8') as f:
        return re.search(r'\d+\.\d+\.\d+', f.read()).group(0)


VERSION = base_version()
ABI = '.'.join(VERSION.split('.')[:2])


def need_command(name, package):
    path = shutil.which(name)
    if not path:
        raise Failure(f'no {name}: apt-get install {package}')
    return path


def need_file(pattern, package):
    found = sorted(glob.glob(pattern))
    if not found:
        raise Failure(f'no {pattern}: apt-get install {package}')
    return found[-1]


def release():
    """Debian's name of the kernel, for example 6.12.117+deb12-cloud-amd64."""
    path = need_file(f'/usr/src/linux-headers-{VERSION}*-cloud-amd64',
                     f'linux-headers-{VERSION}+deb12-cloud-amd64')
    return path.split('linux-headers-', 1)[1]


def headers():
    return f'/usr/src/linux-headers-{release()}'


def kernel_image():
    return need_file(f'/boot/vmlinuz-{release()}',
                     f'linux-image-{release()}-unsigned')


def source_tarball():
    return need_file(f'/usr/src/linux-source-{ABI}.tar.xz', f'linux-source-{ABI}')


# The options of an outer make (O=, V=) are not for the kernel's make.
for _name in ('MAKEFLAGS', 'MFLAGS', 'MAKEOVERRIDES', 'MAKELEVEL', 'O', 'V'):
    os.environ.pop(_name, None)


def run(argv, log=None, **kw):
    """Run argv; on failure raise with its last lines. Output goes to log."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace', check=False, **kw)
    if log:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, 'w', encoding='utf-8') as f:
            f.write(done.stdout)
    if done.returncode:
        lines = done.stdout.splitlines()
        errors = [line for line in lines if re.search(r'\berror\b|ERROR', line)]
        tail = '\n'.join(errors[:20] or lines[-20:])
        raise Failure(f'{" ".join(argv[:4])} …: exit {done.returncode}'
                      f'{" (" + log + ")" if log else ""}\n{tail}')
    return done.stdout


def say(text):
    print(text, flush=True)


def warn(text):
    print(text, file=sys.stderr, flush=True)


def write_if_changed(path, data):
    """Write bytes; leave an equal file and its time alone."""
    try:
        with open(path, 'rb') as f:
            if f.read() == data:
                return False
    except FileNotFoundError:
        pass
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.new', 'wb') as f:
        f.write(data)
    os.replace(path + '.new', path)
    return True


def read_bytes(path):
    with open(path, 'rb') as f:
        return f.read()
