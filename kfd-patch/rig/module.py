# SPDX-License-Identifier: Apache-2.0
"""amdgpu.ko: the tree's amdkfd and gfx v9 file over the software GPU."""

import os
import shutil

from common import (PATCHES, headers, need_command, read_bytes, run, say, write_if_changed)

SIMGPU = os.path.join(PATCHES, 'simgpu')


def kfd_objects():
    """Whatever make leaves: nothing of this is source."""
    return ('.o', '.ko', '.cmd', '.mod', '.mod.c', '.order', '.symvers', '.d')


def place_simgpu(tree, src):
    """Copy the software GPU into the tree, beside amdkfd and amdgpu."""
    amd = os.path.join(tree, 'drivers/gpu/drm/amd')
    dest = os.path.join(amd, 'simgpu')
    os.makedirs(dest, exist_ok=True)
    wanted = set()
    for folder, _, names in os.walk(src):
        for name in names:
            path = os.path.join(folder, name)
            rel = os.path.relpath(path, src)
            if name.startswith('.') or name.endswith(kfd_objects()):
                continue
            wanted.add(rel)
            write_if_changed(os.path.join(dest, rel), read_bytes(path))
    for folder, dirs, names in os.walk(dest):
        dirs[:] = [d for d in dirs if not os.path.islink(os.path.join(folder, d))]
        for name in names:
            rel = os.path.relpath(os.path.join(folder, name), dest)
            if name.endswith(('.c', '.h', 'Kbuild')) and not name.endswith('.mod.c') \
                    and rel not in wanted:
                os.unlink(os.path.join(dest, rel))
    for link in ('amdkfd', 'amdgpu'):
        path = os.path.join(dest, link)
        if not os.path.islink(path):
            os.symlink(os.path.join('..', link), path)
    # <uapi/linux/kfd_ioctl.h> is the tree's, too: Kbuild looks here first.
    overlay = os.path.join(dest, 'overlay')
    os.makedirs(overlay, exist_ok=True)
    for name, target in (('uapi', 'include/uapi'), ('drivers', 'drivers')):
        path = os.path.join(overlay, name)
        if not os.path.islink(path):
            os.symlink(os.path.join(tree, target), path)
    return dest


def build(tree, src=SIMGPU, kernel=None, jobs=2, log=None, extra=()):
    """Build the module of a tree; returns the path of a stripped amdgpu.ko.

    kernel is a built kernel tree; Debian's headers when there is none. The
    tree's UAPI headers go first, before those of the kernel built against.
    """
    need_command('make', 'make')
    need_command('gcc-12', 'gcc-12')
    build_dir = kernel or headers()
    name = os.path.basename(tree)
    dest = place_simgpu(tree, src)
    say(f'  MODULE   {name}')
    run(['make', '-C', build_dir, f'M={dest}', f'-j{jobs}',
         f'AMD_SRC={tree}/drivers/gpu/drm/amd', f'KFD_TREE={tree}',
         f'NOSTDINC_FLAGS=-nostdinc -I{tree}/include -I{tree}/include/uapi',
         'CONFIG_DEBUG_INFO_BTF_MODULES=', *extra, 'modules'],
        log=log or tree + '.build.log')
    built = os.path.join(dest, 'amdgpu.ko')
    out = tree + '.ko'
    if not os.path.exists(out) or os.stat(out).st_mtime_ns < os.stat(built).st_mtime_ns:
        shutil.copyfile(built, out + '.new')
        run(['strip', '-g', out + '.new'])
        os.replace(out + '.new', out)
    return out
