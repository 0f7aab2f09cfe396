# SPDX-License-Identifier: Apache-2.0
"""amdgpu.ko: the tree's amdkfd and gfx v9 file over the software GPU."""

import hashlib
import os
import shutil

from common import (PATCHES, headers, need_command, read_bytes, run, say, write_if_changed)

SIMGPU = os.path.join(PATCHES, 'simgpu')


# Files that make produces, not source.
BUILT = ('.o', '.ko', '.cmd', '.mod', '.mod.c', '.order', '.symvers', '.d')


def copy_sources(src, dest):
    """Copy changed sources; return the names of all, relative to src."""
    names = set()
    for folder, _, files in os.walk(src):
        for file in files:
            path = os.path.join(folder, file)
            if file.startswith('.') or file.endswith(BUILT):
                continue
            name = os.path.relpath(path, src)
            names.add(name)
            write_if_changed(os.path.join(dest, name), read_bytes(path))
    return names


def drop_others(dest, names):
    """Remove sources of an earlier copy that no longer exist."""
    for folder, dirs, files in os.walk(dest):
        dirs[:] = [d for d in dirs if not os.path.islink(os.path.join(folder, d))]
        for file in files:
            name = os.path.relpath(os.path.join(folder, file), dest)
            if file.endswith(('.c', '.h', 'Kbuild')) and not file.endswith(BUILT) \
                    and name not in names:
                os.unlink(os.path.join(dest, name))


def link(path, target):
    if not os.path.islink(path):
        os.symlink(target, path)


def place_simgpu(tree, src):
    """Copy the software GPU into the tree, beside amdkfd and amdgpu."""
    dest = os.path.join(tree, 'drivers/gpu/drm/amd/simgpu')
    overlay = os.path.join(dest, 'overlay')
    os.makedirs(overlay, exist_ok=True)
    drop_others(dest, copy_sources(src, dest))
    for name in ('amdkfd', 'amdgpu'):
        link(os.path.join(dest, name), os.path.join('..', name))
    # <uapi/linux/kfd_ioctl.h> is the tree's, too: Kbuild looks here first.
    link(os.path.join(overlay, 'uapi'), os.path.join(tree, 'include/uapi'))
    link(os.path.join(overlay, 'drivers'), os.path.join(tree, 'drivers'))
    return dest


def key_of(tree, src, build_dir):
    """Of all that make_tree() and @src put in; none of an author's tree, whose files change."""
    stamp = tree + '.stamp'
    if not os.path.exists(stamp):
        return None
    key = hashlib.sha256(read_bytes(stamp) + build_dir.encode())
    for folder, dirs, files in os.walk(src):
        dirs.sort()
        for file in sorted(files):
            key.update(file.encode() + read_bytes(os.path.join(folder, file)))
    return key.hexdigest()


def build(tree, src=SIMGPU, kernel=None, jobs=2, log=None, extra=()):
    """Build the module of a tree; return the path of a stripped amdgpu.ko.

    kernel is a built kernel tree; Debian's headers if it is None. The tree's UAPI headers go
    first, before those of the kernel built against.
    """
    need_command('make', 'make')
    need_command('gcc-12', 'gcc-12')
    build_dir = kernel or headers()
    name = os.path.basename(tree)
    dest = place_simgpu(tree, src)
    out = tree + '.ko'
    key = None if extra else key_of(tree, src, build_dir)
    if key and os.path.exists(out) and os.path.exists(out + '.key') and \
            read_bytes(out + '.key').decode() == key:
        return out
    say(f'  MODULE   {name}')
    # It is stripped anyway: without debug information gcc takes a sixth less.
    run(['make', '-C', build_dir, f'M={dest}', f'-j{jobs}',
         f'AMD_SRC={tree}/drivers/gpu/drm/amd', f'KFD_TREE={tree}',
         f'NOSTDINC_FLAGS=-nostdinc -I{tree}/include -I{tree}/include/uapi',
         'CONFIG_DEBUG_INFO_BTF_MODULES=', 'KCFLAGS=-g0', *extra, 'modules'],
        log=log or tree + '.build.log')
    built = os.path.join(dest, 'amdgpu.ko')
    if not os.path.exists(out) or os.stat(out).st_mtime_ns < os.stat(built).st_mtime_ns:
        shutil.copyfile(built, out + '.new')
        run(['strip', '-g', out + '.new'])
        os.replace(out + '.new', out)
    with open(out + '.key', 'w', encoding='utf-8') as f:
        f.write(key or '')
    return out
