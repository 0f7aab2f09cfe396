# SPDX-License-Identifier: Apache-2.0
"""The programs that run in the guest, built on the host."""

import concurrent.futures
import glob
import os

from common import (Failure, PATCHES, REPO, TESTS, need_command, need_file, read_bytes, run,
                    write_if_changed)

WARN = ['-Wall', '-Wextra', '-Wshadow', '-Wstrict-prototypes', '-Wmissing-prototypes',
        '-Wno-unused-parameter']
# Not static: gpreempt run has a library loaded into it.
DYNAMIC = ('t_gpreempt', 't_bench', 't_yield')


def newer(dest, sources):
    """Is dest there, and newer than all sources?"""
    return os.path.exists(dest) and all(
        os.stat(s).st_mtime_ns <= os.stat(dest).st_mtime_ns for s in sources)


def gpu_code(out):
    """kernels.cl as a gfx9 code object; returns the folder that holds it."""
    src = os.path.join(TESTS, 'kernels.cl')
    target = os.environ.get('KFD_MCPU', 'gfx900')    # a real card's, on hardware
    dest = os.path.join(out, 'gen', target, 'kernels.co')
    if not newer(dest, [src]):
        # gfx942 takes a later one: clang-15 does not know it.
        clang = os.environ.get('KFD_CLANG', 'clang-15')
        clang = need_command(clang, clang)
        need_command('ld.lld', 'lld')
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        run([clang, '-x', 'cl', '-cl-std=CL2.0', '-target', 'amdgcn-amd-amdhsa',
             f'-mcpu={target}', '-nogpulib', '-O2', '-Wall', '-o', dest, src])
    return os.path.dirname(dest)


def uapi(out, tree):
    """A folder with the KFD's own headers: Debian's linux-libc-dev is older."""
    folder = os.path.join(out, 'gen', 'include')
    src = os.path.join(tree, 'include/uapi/linux')
    for path in glob.glob(os.path.join(src, 'kfd_*.h')):
        write_if_changed(os.path.join(folder, 'linux', os.path.basename(path)), read_bytes(path))
    need_file('/usr/include/libdrm/drm.h', 'libdrm-dev')
    for name in ('drm.h', 'drm_mode.h'):
        write_if_changed(os.path.join(folder, 'drm', name),
                         read_bytes(f'/usr/include/libdrm/{name}'))
    for path in glob.glob(os.path.join(PATCHES, 'uapi/linux/*.h')):
        write_if_changed(os.path.join(folder, 'linux', os.path.basename(path)), read_bytes(path))
    return folder


def common_sources():
    return [p for p in sorted(glob.glob(os.path.join(TESTS, '*.c')))
            if not os.path.basename(p).startswith('t_')]


def headers_of(include):
    return glob.glob(os.path.join(TESTS, '*.h')) + glob.glob(os.path.join(include, 'linux', '*.h'))


def compile_c(gen, include):
    return ['gcc', '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g1', *WARN, '-pthread',
            f'-I{include}', f'-I{TESTS}', f'-I{REPO}', f'-I{REPO}/include',
            f'-DKERNELS_CO="{gen}/kernels.co"']


def common_objects(out, tree):
    """The parts that all test programs share."""
    gen = gpu_code(out)
    include = uapi(out, tree)
    objects = []
    for src in common_sources():
        dest = os.path.join(out, 'gen', 'obj', os.path.basename(src)[:-2] + '.o')
        if not newer(dest, [src, os.path.join(gen, 'kernels.co'), *headers_of(include)]):
            os.makedirs(os.path.dirname(dest), exist_ok=True)
            run([*compile_c(gen, include), '-c', '-o', dest, src])
        objects.append(dest)
    return objects


def build_c(out, tree, name):
    src = os.path.join(TESTS, f'{name}.c')
    dest = os.path.join(out, 'tests', name)
    gen = gpu_code(out)
    include = uapi(out, tree)
    objects = common_objects(out, tree)
    if not newer(dest, [src, *objects, *headers_of(include)]):
        need_file('/usr/lib/x86_64-linux-gnu/libc.a', 'libc6-dev')
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        link = [] if name in DYNAMIC else ['-static']
        run([*compile_c(gen, include), *link, '-o', dest, src, *objects, '-lm'])
    return dest


def build_kselftest(out, tree, src):
    """One of the series' own, as the kernel's Makefile would build it, but static."""
    dest = os.path.join(out, 'tests', os.path.basename(src)[:-2])
    if not newer(dest, [src]):
        need_file('/usr/lib/x86_64-linux-gnu/libc.a', 'libc6-dev')
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        run(['gcc', '-O2', '-g1', *WARN, '-static', '-D__user=', f'-I{uapi(out, tree)}',
             '-o', dest, src])
    return dest


def build_hsa(out, src):
    dest = os.path.join(out, 'tests', os.path.basename(src)[:-2])
    gen = gpu_code(out)
    if not newer(dest, [src, os.path.join(gen, 'kernels.co')]):
        need_file('/usr/include/hsa/hsa.h', 'libhsa-runtime-dev')
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        run(['gcc', '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g1', *WARN, '-pthread', f'-I{TESTS}',
             f'-DKERNELS_CO="{gen}/kernels.co"', '-o', dest, src, '-lhsa-runtime64'])
    return dest


def build_hip(out, src):
    dest = os.path.join(out, 'tests', os.path.splitext(os.path.basename(src))[0])
    if not newer(dest, [src, *glob.glob(os.path.join(TESTS, 'hip', '*.h'))]):
        hipcc = need_command('hipcc', 'hipcc')
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        link = ['-lrocrand'] if b'rocrand' in read_bytes(src) else []
        run([hipcc, '--offload-arch=gfx900', '--offload-arch=gfx906', '-O2', '-o', dest, src, *link],
            env={**os.environ, 'HIP_PLATFORM': 'amd'})
    return dest


def build(out, tree, name):
    """Build the test program NAME from wherever its source is."""
    if os.path.exists(os.path.join(TESTS, f'{name}.c')):
        return build_c(out, tree, name)
    if os.path.exists(os.path.join(TESTS, 'hsa', f'{name}.c')):
        return build_hsa(out, os.path.join(TESTS, 'hsa', f'{name}.c'))
    selftest = os.path.join(tree, 'tools/testing/selftests/drivers/gpu/amdkfd', f'{name}.c')
    if os.path.exists(selftest):
        return build_kselftest(out, tree, selftest)
    for suffix in ('hip', 'cpp'):
        if os.path.exists(os.path.join(TESTS, 'hip', f'{name}.{suffix}')):
            return build_hip(out, os.path.join(TESTS, 'hip', f'{name}.{suffix}'))
    raise Failure(f'no source of {name} in {TESTS}')


def build_all(out, tree, names, jobs):
    """Build programs at once, after their common parts."""
    common_objects(out, tree)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: build(out, tree, name), sorted(set(names))))
