# SPDX-License-Identifier: Apache-2.0
"""Source trees: Debian's, the same with the series, and with more patches."""

import filecmp
import hashlib
import os
import shutil

from common import (Failure, PATCHES, VERSION, need_command, read_bytes, run, say,
                    source_tarball)

# The part of the kernel's source that the module and the patches need.
PARTS = ('Makefile', 'MAINTAINERS', 'drivers/gpu/drm/amd', 'Documentation/gpu',
         'include/uapi/linux/kfd_ioctl.h', 'include/uapi/linux/kfd_sysfs.h',
         'tools/testing/selftests/Makefile', 'tools/testing/selftests/kselftest.h',
         'tools/testing/selftests/drivers/gpu', 'scripts')
SOURCES = ('.c', '.h', '.S', '.rst', '.asm')


def series():
    """The patches of kfd-patch/series, in order; none without that file."""
    path = os.path.join(PATCHES, 'series')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as f:
        names = [line.split('#')[0].split()[0] for line in f if line.split('#')[0].strip()]
    return [os.path.join(PATCHES, name) for name in names]


def check_version(tree, version=VERSION, tarball=None):
    """Refuse a tarball of another point release than the patches are for."""
    fields = {}
    with open(os.path.join(tree, 'Makefile'), encoding='utf-8') as f:
        for line in f:
            words = line.split()
            if len(words) == 3 and words[1] == '=':
                fields[words[0]] = words[2]
    got = '.'.join(fields[k] for k in ('VERSION', 'PATCHLEVEL', 'SUBLEVEL'))
    if got != version:
        raise Failure(f'{tarball or source_tarball()} is {got}, the patches are for {version}')


def unpack(out, whole=False):
    """Debian's source, once. With whole, all of it: for kernels of our own."""
    tarball = source_tarball()
    need_command('xz', 'xz-utils')
    dest = os.path.join(out, 'full' if whole else 'base')
    stamp = dest + '.stamp'
    key = f'{VERSION} {os.stat(tarball).st_mtime_ns} {"" if whole else " ".join(PARTS)}'
    if os.path.exists(stamp) and read_bytes(stamp).decode() == key:
        return dest
    say(f'  UNPACK   {tarball}')
    shutil.rmtree(dest, ignore_errors=True)
    os.makedirs(dest)
    name = os.path.basename(tarball).replace('.tar.xz', '')
    parts = [] if whole else [f'{name}/{p}' for p in PARTS]
    run(['tar', '-xJf', tarball, '--strip-components=1', '-C', dest, *parts])
    check_version(dest)
    with open(stamp, 'w', encoding='utf-8') as f:
        f.write(key)
    return dest


def apply_patches(tree, patches, fuzz=0):
    need_command('patch', 'patch')
    for path in patches:
        try:
            run(['patch', '-d', tree, '-p1', '-s', '-f', f'-F{fuzz}',
                 '--no-backup-if-mismatch', '-i', path])
        except Failure as e:
            raise Failure(f'{os.path.basename(path)} does not apply: {e}') from e


def files_of(tree):
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                yield os.path.relpath(path, tree)


def sync(src, dest):
    """Make dest equal to src by links, touching only different files.

    Build output in dest remains. Files from an earlier sync that src no longer has are
    removed.
    """
    os.makedirs(dest, exist_ok=True)
    listing = dest + '.files'
    names = sorted(files_of(src))
    old = read_bytes(listing).decode().splitlines() if os.path.exists(listing) else []
    for name in set(old) - set(names):
        if os.path.exists(os.path.join(dest, name)):
            os.unlink(os.path.join(dest, name))
    for name in names:
        a, b = os.path.join(src, name), os.path.join(dest, name)
        if os.path.exists(b):
            if os.path.samefile(a, b) or filecmp.cmp(a, b, shallow=False):
                continue
            os.unlink(b)
        os.makedirs(os.path.dirname(b), exist_ok=True)
        os.link(a, b)
    with open(listing, 'w', encoding='utf-8') as f:
        f.write('\n'.join(names))


def overlay(src, dest):
    """Copy those files of a kernel author's tree over dest that PARTS name."""
    for part in PARTS:
        if part in ('scripts', 'Makefile'):
            continue
        path = os.path.join(src, part)
        if part.startswith('include/uapi'):
            path, part = os.path.dirname(path), os.path.dirname(part)
        names = [''] if os.path.isfile(path) else [
            n for n in files_of(path) if n.endswith(SOURCES) or '.' not in os.path.basename(n)]
        for name in names:
            base = os.path.basename(name or path)
            if part == 'include/uapi/linux' and not base.startswith('kfd'):
                continue
            a, b = os.path.join(path, name), os.path.join(dest, part, name)
            a, b = a.rstrip('/'), b.rstrip('/')
            if os.path.exists(b) and filecmp.cmp(a, b, shallow=False):
                continue
            if os.path.exists(b):
                os.unlink(b)
            os.makedirs(os.path.dirname(b), exist_ok=True)
            shutil.copyfile(a, b)


def make_tree(out, name, patches, author_tree=None, more=()):
    """out/tree/NAME: the base with patches (or an author's tree) and more."""
    if author_tree and not os.path.isdir(os.path.join(author_tree, 'drivers/gpu/drm/amd')):
        raise Failure(f'{author_tree} is no kernel tree')
    base = unpack(out)
    dest = os.path.join(out, 'tree', name)
    stage = dest + '.stage'
    key = hashlib.sha256()
    for path in [*patches, *more]:
        key.update(read_bytes(path))
    key = key.hexdigest()
    stamp = dest + '.stamp'
    if not author_tree and os.path.exists(stamp) and \
            read_bytes(stamp).decode() == key + read_bytes(base + '.stamp').decode():
        return dest
    shutil.rmtree(stage, ignore_errors=True)
    os.makedirs(os.path.dirname(stage), exist_ok=True)
    run(['cp', '-al', base, stage])
    if author_tree:
        overlay(author_tree, stage)
    apply_patches(stage, patches)
    apply_patches(stage, more, fuzz=2)
    sync(stage, dest)
    shutil.rmtree(stage)
    if not author_tree:
        with open(stamp, 'w', encoding='utf-8') as f:
            f.write(key + read_bytes(base + '.stamp').decode())
    return dest
