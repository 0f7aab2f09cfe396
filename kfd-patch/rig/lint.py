# SPDX-License-Identifier: Apache-2.0
"""Each patch of the series alone: does it build, and does it warn?

Compiles after each patch with W=1 and sparse, and compares with the base. It does so for all
of amdkfd and its half in amdgpu, and for other touched files of amdgpu, with CONFIG_HSA_AMD
and without. Then it runs checkpatch.pl --strict.

One set of objects serves all patches: make compiles the touched files again, and only warnings
of compiled files are compared.
"""

import collections
import glob
import os
import re
import subprocess
import time

import tree as trees
from common import Failure, headers, need_command, read_bytes, run, say, write_if_changed

KBUILD = '''# SPDX-License-Identifier: Apache-2.0
obj-m := lint.o
inc := include/asic_reg include amdkfd amdgpu pm/inc pm/swsmu pm/swsmu/inc \\
\tpm/powerplay/inc acp/include display display/include display/dc \\
\tdisplay/amdgpu_dm display/modules/inc amdxcp ras/ras_mgr ras/core
ccflags-y := $(addprefix -I,$(wildcard $(addprefix $(AMD_SRC)/,$(inc)))) \\
\t-DCONFIG_DRM=1 -DCONFIG_DRM_AMDGPU=1 {define}
lint-y := {objects}
'''
ALWAYS = ('amdgpu_amdkfd.c', 'amdgpu_amdkfd_gpuvm.c', 'amdgpu_vm.c')


def author_patches(args, out):
    """The commits of an author's branch since the tag base."""
    folder = os.path.join(out, 'lint', 'patches')
    run(['rm', '-rf', folder])
    run(['git', '-C', args.tree, 'format-patch', '-q', '-o', folder, 'base'])
    return sorted(glob.glob(os.path.join(folder, '*.patch')))


def touched(patches):
    names = set()
    for path in patches:
        names |= set(re.findall(r'^\+\+\+ b/drivers/gpu/drm/amd/(\S+\.c)$',
                                read_bytes(path).decode(errors='replace'), re.M))
    return names


def write_kbuild(tree, name, define, sources):
    folder = os.path.join(tree, 'drivers/gpu/drm/amd', name)
    objects = ' '.join(s[:-2] + '.o' for s in sorted(sources))
    write_if_changed(os.path.join(folder, 'Kbuild'),
                     KBUILD.format(define=define, objects=objects).encode())
    for link in ('amdkfd', 'amdgpu'):
        if not os.path.islink(os.path.join(folder, link)):
            os.symlink(os.path.join('..', link), os.path.join(folder, link))
    return folder


def sources_of(tree, patches, hsa):
    amd = os.path.join(tree, 'drivers/gpu/drm/amd')
    names = {f'amdgpu/{n}' for n in ALWAYS} | {
        n for n in touched(patches) if n.startswith('amdgpu/')}
    if hsa:
        skip = ('kfd_svm.c', 'kfd_migrate.c')
        names |= {f'amdkfd/{os.path.basename(p)}' for p in glob.glob(amd + '/amdkfd/*.c')
                  if os.path.basename(p) not in skip and 'test' not in os.path.basename(p)}
    else:
        # The rest of amdgpu without the KFD.
        names = {n for n in names if 'amdgpu_amdkfd' not in n}
    return {n for n in names if os.path.exists(os.path.join(amd, n))}


def sparse_wrapper(tree):
    """A sparse that reports and does not fail, because the base has errors of its own. One is
    a static assertion on packed bit fields, which sparse lays out differently from gcc."""
    path = os.path.join(tree, 'drivers/gpu/drm/amd', 'lint-sparse')
    write_if_changed(path, b'#!/bin/sh\nsparse "$@" || :\n')
    os.chmod(path, 0o755)
    return path


def warnings_of(tree, patches, hsa, jobs, build_dir=None):
    """Compile; return a Counter of warnings without line numbers. build_dir: a prepared kernel
    to build against, instead of Debian's headers."""
    folder = write_kbuild(tree, 'lint-hsa' if hsa else 'lint-nohsa',
                          '-DCONFIG_HSA_AMD=1' if hsa else '', sources_of(tree, patches, hsa))
    text = run(['make', '-C', build_dir or headers(), f'M={folder}', f'-j{jobs}', '-k', 'W=1', 'C=1',
                f'CHECK={sparse_wrapper(tree)}', f'AMD_SRC={tree}/drivers/gpu/drm/amd',
                f'NOSTDINC_FLAGS=-nostdinc -I{tree}/include -I{tree}/include/uapi', 'lint.o'],
               log=f'{folder}.log')
    found = collections.Counter()
    for line in text.splitlines():
        if 'warning:' in line or 'error:' in line:
            line = re.sub(r':\d+(:\d+)?:', ':', line.replace(tree, '').replace(folder, ''))
            line = re.sub(r'^.*/amd/(lint-\w+/)?', '', line)
            # A header warns once for each file that includes it, and a patch may add files.
            found[line] = 1 if line.split(':')[0].endswith('.h') else found[line] + 1
    return found


def checkpatch(tree, path, explained):
    script = os.path.join(tree, 'scripts/checkpatch.pl')
    name = os.path.basename(path)
    need_command('perl', 'perl')
    # From standard input, because it takes a file known to git for source, not for a patch.
    done = subprocess.run(['perl', script, '--strict', '--terse', '--no-summary', '--no-tree',
                           '-'], input=read_bytes(path).decode(), stdout=subprocess.PIPE,
                          text=True, stderr=subprocess.STDOUT, check=False, cwd=tree)
    lines = [line for line in done.stdout.splitlines()
             if re.search(r': (ERROR|WARNING|CHECK):', line)]
    if done.returncode and not lines:
        raise Failure(f'checkpatch.pl: {done.stdout[-300:]}')
    return ['checkpatch: ' + line for line in lines
            if not any(rx.search(f'{name} {line}') for rx in explained)]


def forget_objects(tree):
    """Forces each file to be compiled, and to warn, again."""
    for folder, _, names in os.walk(os.path.join(tree, 'drivers/gpu/drm/amd')):
        for name in names:
            if name.endswith('.o'):
                os.unlink(os.path.join(folder, name))


def explained_lines():
    """checkpatch.explained: PATTERN # why; PATTERN is searched in "patch line"."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'checkpatch.explained')
    if not os.path.exists(path):
        return []
    return [re.compile(line.split('#')[0].strip()) for line in
            read_bytes(path).decode().splitlines() if line.split('#')[0].strip()]


def lint_one(out, patches, count, base, jobs):
    """Problems of the count-th patch."""
    path = patches[count - 1]
    tree = trees.make_tree(out, 'lint', patches[:count])
    problems = []
    for hsa in (True, False):
        try:
            new = warnings_of(tree, patches, hsa, jobs) - base[hsa]
            problems += [f'{"" if hsa else "without HSA_AMD: "}{w}' for w in new]
        except Failure as e:
            problems.append(f'does not build: {e}')
    return problems + checkpatch(tree, path, explained_lines())


def run_all(args):
    need_command('sparse', 'sparse')
    out = os.path.abspath(args.out)
    patches = author_patches(args, out) if args.tree else trees.series()
    if not patches:
        raise Failure('no series to lint')
    base_tree = trees.make_tree(out, 'lint', [])
    forget_objects(base_tree)
    say('  LINT     the base')
    base = {hsa: warnings_of(base_tree, patches, hsa, args.jobs) for hsa in (True, False)}
    failed = 0
    began = time.monotonic()
    for count, path in enumerate(patches, 1):
        problems = lint_one(out, patches, count, base, args.jobs)
        failed += bool(problems)
        say(f'  {"FAIL" if problems else "ok  "} {os.path.basename(path)}'
            f' ({time.monotonic() - began:.0f} s)')
        for line in problems[:30]:
            say(f'       {line}')
    say(f'{len(patches) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0
