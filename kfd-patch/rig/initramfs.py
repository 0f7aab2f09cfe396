# SPDX-License-Identifier: Apache-2.0
"""The guest's root: cpio archives in the kernel's "newc" form, concatenated."""

import lzma
import os
import re
import stat
import subprocess

from common import Failure, need_file, read_bytes, release, run

BUSYBOX = '/bin/busybox'
APPLETS = ('sh', 'ls', 'cat', 'lsmod', 'grep', 'dmesg', 'ps', 'sleep', 'mount', 'echo', 'id',
           'rmmod', 'insmod', 'kill', 'env', 'mkdir', 'rm', 'ln', 'cp', 'find', 'head', 'tail',
           'wc', 'sed', 'awk', 'sort', 'uniq', 'od', 'hexdump', 'top', 'vi', 'less', 'poweroff',
           'su', 'chmod', 'chown', 'test', 'true', 'false', 'timeout', 'which', 'uname', 'free', 'tar',
           'gzip', 'base64', 'mktemp')


class Cpio:
    """Collects entries; write() puts them into a file."""

    def __init__(self):
        self.entries = {}

    def _add(self, path, mode, data=b'', rdev=(0, 0)):
        path = path.strip('/')
        folder = os.path.dirname(path)
        if folder and folder not in self.entries:
            self._add(folder, stat.S_IFDIR | 0o755)
        self.entries.setdefault(path, (mode, data, rdev))

    def file(self, path, data, mode=0o755):
        self._add(path, stat.S_IFREG | mode, data)

    def copy(self, host_path, path=None):
        mode = os.stat(host_path).st_mode & 0o777
        self.file(path or host_path, read_bytes(host_path), mode)

    def link(self, path, target):
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path, major, minor):
        self._add(path, stat.S_IFCHR | 0o600, b'', (major, minor))

    def program(self, host_path, path=None):
        """A program or library, and all libraries that it needs."""
        self.copy(host_path, path)
        for lib in elf_closure(host_path):
            self.copy(lib)

    def write(self, path):
        with open(path + '.new', 'wb') as f:
            for ino, (name, (mode, data, rdev)) in enumerate(sorted(self.entries.items()), 1):
                put(f, ino, name, mode, data, rdev)
            put(f, 0, 'TRAILER!!!', 0, b'', (0, 0))
            f.write(b'\0' * (-f.tell() % 512))
        os.replace(path + '.new', path)


def put(f, ino, name, mode, data, rdev):
    raw = name.encode() + b'\0'
    fields = (ino, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(raw), 0)
    head = b'070701' + b''.join(b'%08X' % v for v in fields) + raw
    f.write(head + b'\0' * (-len(head) % 4))
    f.write(data + b'\0' * (-len(data) % 4))


def elf_closure(path):
    """Shared libraries that ldd names, none for a static program."""
    done = subprocess.run(['ldd', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if 'not found' in done.stdout:
        missing = re.search(r'(\S+) => not found', done.stdout)
        raise Failure(f'{path}: no {missing.group(1) if missing else "library"}')
    return sorted(set(re.findall(r'(/\S+) \(0x', done.stdout)))


def module_closure(ko):
    """Kernel modules that ko depends on, those to be loaded first, first."""
    base = f'/lib/modules/{release()}'
    deps = {}
    for line in read_bytes(f'{base}/modules.dep').decode().splitlines():
        path, _, rest = line.partition(':')
        deps[os.path.basename(path).split('.ko')[0].replace('-', '_')] = [path, *rest.split()]
    names = run(['modinfo', '-F', 'depends', ko]).strip().split(',')
    order = []
    for name in filter(None, names):
        if name.replace('-', '_') not in deps:
            raise Failure(f'{ko} depends on {name}, which {base} lacks')
        for path in reversed(deps[name.replace('-', '_')]):
            if path not in order:
                order.append(path)
    return [os.path.join(base, path) for path in order]


def module_bytes(path):
    data = read_bytes(path)
    return lzma.decompress(data) if path.endswith('.xz') else data


def build_init(out):
    """Compile init.c, statically."""
    src = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'init.c')
    dest = os.path.join(out, 'init')
    if not os.path.exists(dest) or os.stat(dest).st_mtime < os.stat(src).st_mtime:
        need_file('/usr/lib/x86_64-linux-gnu/libc.a', 'libc6-dev')
        os.makedirs(out, exist_ok=True)
        run(['gcc', '-std=gnu11', '-O2', '-Wall', '-Wextra', '-static', '-o', dest, src])
    return dest


def base_archive(out):
    """init and busybox: the same in every boot."""
    need_file(BUSYBOX, 'busybox-static')
    if elf_closure(BUSYBOX):
        raise Failure(f'{BUSYBOX} is not static: apt-get install busybox-static')
    cpio = Cpio()
    cpio.device('dev/console', 5, 1)
    cpio.device('dev/null', 1, 3)
    cpio.copy(build_init(out), 'init')
    cpio.copy(BUSYBOX, 'bin/busybox')
    for name in APPLETS:
        cpio.link(f'bin/{name}', 'busybox')
    cpio.file('etc/passwd', b'root:x:0:0:root:/tmp:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n',
              0o644)
    cpio.file('etc/group', b'root:x:0:\nvideo:x:44:\nrender:x:104:\nuser:x:1000:\n', 0o644)
    path = os.path.join(out, 'base.cpio')
    cpio.write(path)
    return path
