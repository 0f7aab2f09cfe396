# SPDX-License-Identifier: Apache-2.0
"""The fixes on the newest kernel that Debian has the source of: does each build, and warn?

kfd-patch/fixes-7.3/ has them, and BASE there names the source. Nothing runs: the software GPU
is for the kernel of kfd-patch/BASE.
"""

import collections
import glob
import os
import re
import shutil

import kernels
import lint
import tree as trees
from common import Failure, PATCHES, need_command, read_bytes, release, run, say

FOLDER = os.path.join(PATCHES, 'fixes-7.3')
# What lint needs of the source.
PARTS = ('Makefile', 'MAINTAINERS', 'drivers/gpu/drm/amd', 'include/uapi/linux/kfd_ioctl.h',
         'include/uapi/linux/kfd_sysfs.h', 'scripts')


def unpack(out, tarball):
    """Returns the whole source, once unpacked for each tarball."""
    dest = os.path.join(out, 'newest')
    with open(os.path.join(FOLDER, 'BASE'), encoding='utf-8') as f:
        wanted = re.search(r'\d+\.\d+\.\d+', f.read()).group(0)
    if not os.path.exists(tarball):
        raise Failure(f'no {tarball}: linux-source-7.3 of Debian\'s trixie-backports has it; '
                      'name the file by --source')
    key = f'{wanted} {os.stat(tarball).st_mtime_ns}'
    stamp = dest + '.stamp'
    if os.path.exists(stamp) and read_bytes(stamp).decode() == key:
        return dest
    need_command('xz', 'xz-utils')
    say(f'  UNPACK   {tarball}')
    shutil.rmtree(dest, ignore_errors=True)
    os.makedirs(dest)
    run(['tar', '-xJf', tarball, '--strip-components=1', '-C', dest])
    trees.check_version(dest, wanted, tarball)
    with open(stamp, 'w', encoding='utf-8') as f:
        f.write(key)
    return dest


def prepare(src, dest, jobs):
    """Make @dest a tree that modules can be built against, with amdgpu and the KFD."""
    stamp = dest + '.stamp'
    key = release() + read_bytes(src + '.stamp').decode()
    if os.path.exists(stamp) and read_bytes(stamp).decode() == key:
        return
    say('  PREPARE  the newest kernel')
    os.makedirs(dest, exist_ok=True)
    make = ['make', '-C', src, f'O={dest}', 'CC=gcc-12', 'HOSTCC=gcc-12']
    kernels.write_debian_config(os.path.join(dest, '.config'))
    run([*make, 'olddefconfig'])
    run([*make, f'-j{jobs}', 'modules_prepare'], log=dest + '.log')
    with open(stamp, 'w', encoding='utf-8') as f:
        f.write(key)


def fresh_tree(src, dest):
    shutil.rmtree(dest, ignore_errors=True)
    for part in PARTS:
        path = os.path.join(dest, part)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run(['cp', '-al', os.path.join(src, part), path])
    return dest


def lint_patch(tree, path, base, args, build_dir):
    """Apply it. Returns its problems."""
    try:
        trees.apply_patches(tree, [path])
        found = lint.warnings_of(tree, [path], True, args.jobs, build_dir)
    except Failure as e:
        return [str(e)]
    return [str(w) for w in found - base] + lint.checkpatch(tree, path, lint.explained_lines())


def run_all(args):
    kernels.need_build_tools()
    need_command('sparse', 'sparse')
    out = os.path.abspath(args.out)
    patches = sorted(glob.glob(os.path.join(FOLDER, '*.patch')))
    src = unpack(out, args.source)
    build_dir = os.path.join(out, 'kernel', 'newest')
    prepare(src, build_dir, args.jobs)
    tree = fresh_tree(src, os.path.join(out, 'tree', 'newest'))
    say('  LINT     the newest kernel')
    base = collections.Counter(lint.warnings_of(tree, patches, True, args.jobs, build_dir))
    failed = 0
    for path in patches:
        problems = lint_patch(tree, path, base, args, build_dir)
        failed += bool(problems)
        say(f'  {"FAIL" if problems else "ok  "} {os.path.basename(path)}')
        for line in problems[:30]:
            say(f'       {line}')
    say(f'{len(patches) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0
