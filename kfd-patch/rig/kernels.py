# SPDX-License-Identifier: Apache-2.0
"""Kernels of our own: with KASAN and lockdep, with kmemleak and fault injection.

Small ones, from tinyconfig, with what the module and the guest need. And the
whole amdgpu driver, compiled in its tree with the series applied.
"""

import os

import tree as trees
from common import (Failure, need_command, need_file, read_bytes, release, run, say)

COMMON = '''
64BIT=y SMP=y NR_CPUS=8 MODULES=y MODULE_UNLOAD=y PRINTK=y PRINTK_TIME=y BUG=y
MULTIUSER=y SYSCTL=y POSIX_TIMERS=y FUTEX=y EPOLL=y SIGNALFD=y TIMERFD=y EVENTFD=y AIO=y
ADVISE_SYSCALLS=y MEMBARRIER=y SHMEM=y FILE_LOCKING=y KALLSYMS=y KALLSYMS_ALL=y
HIGH_RES_TIMERS=y NO_HZ_IDLE=y HZ_250=y PREEMPT_VOLUNTARY=y PREEMPT_DYNAMIC=y
BINFMT_ELF=y BINFMT_SCRIPT=y BLK_DEV_INITRD=y RD_GZIP=n COREDUMP=y ELF_CORE=n
PROC_FS=y PROC_SYSCTL=y SYSFS=y TMPFS=y DEVTMPFS=y DEBUG_FS=y MEMFD_CREATE=y
TTY=y UNIX98_PTYS=y SERIAL_8250=y SERIAL_8250_CONSOLE=y MAGIC_SYSRQ=y
NET=y UNIX=y USER_NS=y PID_NS=y NAMESPACES=y CGROUPS=y
PCI=y PCI_MSI=y ACPI=y HPET_TIMER=y X86_TSC=y X86_IOPL_IOPERM=n
VIRTIO_MENU=y VIRTIO_PCI=y VIRTIO_CONSOLE=y
PM=y SUSPEND=y RTC_CLASS=y RTC_DRV_CMOS=y
IOMMU_SUPPORT=y AMD_IOMMU=y SYNC_FILE=y DMA_SHARED_BUFFER=y MEMORY_HOTPLUG=y ZONE_DEVICE=y
TRANSPARENT_HUGEPAGE=y NUMA=y ACPI_NUMA=y X86_64_ACPI_NUMA=y
FTRACE=y ENABLE_DEFAULT_TRACERS=y EVENT_TRACING=y
STACKTRACE=y UNWINDER_FRAME_POINTER=y FRAME_POINTER=y
DEBUG_KERNEL=y DETECT_HUNG_TASK=y SOFTLOCKUP_DETECTOR=y DEBUG_LIST=y
DEBUG_ATOMIC_SLEEP=y REFCOUNT_FULL=y SLUB_TINY=n SLAB_FREELIST_HARDENED=y
LOCALVERSION="-rig" WERROR=n CC_OPTIMIZE_FOR_SIZE=n CC_OPTIMIZE_FOR_PERFORMANCE=y
CRC16=y CRC32=y INTERVAL_TREE=y XARRAY_MULTI=y HMM_MIRROR=y CPU_SUP_AMD=y CPU_SUP_INTEL=y
'''.split()

FLAVOURS = {
    'kasan': 'KASAN=y KASAN_GENERIC=y KASAN_INLINE=y KASAN_VMALLOC=y STACK_HASH_ORDER=14 '
             'PROVE_LOCKING=y LOCKDEP=y DEBUG_LOCK_ALLOC=y PROVE_RCU=y '
             'DEBUG_OBJECTS=y DEBUG_OBJECTS_FREE=y DEBUG_OBJECTS_TIMERS=y DEBUG_OBJECTS_WORK=y '
             'LOCKDEP_BITS=17 LOCKDEP_CHAINS_BITS=18',
    'kmemleak': 'DEBUG_KMEMLEAK=y DEBUG_KMEMLEAK_MEM_POOL_SIZE=40000 '
                'DEBUG_KMEMLEAK_DEFAULT_OFF=n DEBUG_KMEMLEAK_AUTO_SCAN=n FAULT_INJECTION=y '
                'FAILSLAB=y FAIL_PAGE_ALLOC=y FAULT_INJECTION_DEBUG_FS=y '
                'FAULT_INJECTION_STACKTRACE_FILTER=n SLUB_DEBUG=y UBSAN=y UBSAN_BOUNDS=y',
}


def need_build_tools():
    for name, package in (('make', 'make'), ('gcc-12', 'gcc-12'), ('flex', 'flex'),
                          ('bison', 'bison'), ('bc', 'bc')):
        need_command(name, package)
    need_file('/usr/include/libelf.h', 'libelf-dev')


def wanted(words):
    """CONFIG lines of words like NAME=value."""
    return [f'CONFIG_{w}' if not w.endswith('=n') else f'# CONFIG_{w[:-2]} is not set'
            for w in words]


def missing(config, words):
    """Options that kconfig did not take as asked."""
    have = set(config.splitlines())
    return [w for w in words if not w.endswith('=n') and f'CONFIG_{w}' not in have]


MUST = ('SMP', 'MODULES', 'DEBUG_FS', 'VIRTIO_CONSOLE', 'SERIAL_8250_CONSOLE', 'DEVTMPFS',
        'MMU_NOTIFIER', 'DMA_SHARED_BUFFER', 'SUSPEND', 'EVENT_TRACING', 'KASAN',
        'PROVE_LOCKING', 'DEBUG_KMEMLEAK', 'FAILSLAB', 'BINFMT_ELF')


def configure(src, dest, words):
    make = ['make', '-C', src, f'O={dest}', 'CC=gcc-12', 'HOSTCC=gcc-12']
    os.makedirs(dest, exist_ok=True)
    run([*make, 'tinyconfig'])
    with open(os.path.join(dest, '.config'), 'a', encoding='utf-8') as f:
        f.write('\n'.join(wanted(words)) + '\n')
    run([*make, 'olddefconfig'])
    config = read_bytes(os.path.join(dest, '.config')).decode()
    lost = [w for w in missing(config, words) if w.split('=')[0] in MUST]
    lost += [m for m in ('MMU_NOTIFIER', 'DMA_SHARED_BUFFER') if f'CONFIG_{m}=y' not in config]
    if lost:
        raise Failure(f'kconfig refused {" ".join(lost)}')
    return make


def build(out, flavour, jobs):
    """Returns (image, build tree); cached while source and options are the same."""
    need_build_tools()
    src = trees.unpack(out, whole=True)
    dest = os.path.join(out, 'kernel', flavour)
    words = COMMON + FLAVOURS[flavour].split()
    image = os.path.join(dest, 'arch/x86/boot/bzImage')
    stamp = dest + '.stamp'
    key = ' '.join(words) + read_bytes(os.path.join(out, 'full.stamp')).decode()
    if os.path.exists(image) and os.path.exists(stamp) and read_bytes(stamp).decode() == key:
        return image, dest
    say(f'  KERNEL   {flavour}')
    make = configure(src, dest, words)
    run([*make, f'-j{jobs}', 'bzImage', 'modules'], log=dest + '.log')
    with open(stamp, 'w', encoding='utf-8') as f:
        f.write(key)
    return image, dest


FULL_ON = ('DRM=m DRM_AMDGPU=m HSA_AMD=y HSA_AMD_SVM=n DRM_AMDGPU_USERPTR=y DRM_AMD_DC=y '
           'MODULES=y PCI=y DEBUG_FS=y ACPI=y').split()


def write_debian_config(path):
    """Debian's configuration, cut down, with all of amdgpu."""
    text = read_bytes(f'/boot/config-{release()}').decode()
    lines = [line for line in text.splitlines() if not line.endswith('=m')
             and 'DEBUG_INFO' not in line and 'SYSTEM_TRUSTED' not in line]
    lines += ['CONFIG_DEBUG_INFO_NONE=y', 'CONFIG_SYSTEM_TRUSTED_KEYS=""',
              'CONFIG_MODULE_SIG=n', *wanted(FULL_ON)]
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


def full_tree(out, args):
    """The whole kernel's source with the series over drivers/gpu/drm/amd."""
    src = trees.unpack(out, whole=True)
    dest = os.path.join(out, 'tree', 'full')
    stage = dest + '.stage'
    run(['rm', '-rf', stage])
    os.makedirs(os.path.dirname(dest), exist_ok=True)
    run(['cp', '-al', src, stage])
    if args.tree:
        trees.overlay(args.tree, stage)
    elif not args.base:
        trees.apply_patches(stage, trees.series())
    trees.sync(stage, dest)
    run(['rm', '-rf', stage])
    return dest


def build_full_amdgpu(out, args):
    """Compile drivers/gpu/drm/amd/ with Debian's configuration, cut down."""
    need_build_tools()
    src = full_tree(out, args)
    dest = os.path.join(out, 'kernel', 'full')
    os.makedirs(dest, exist_ok=True)
    make = ['make', '-C', src, f'O={dest}', 'CC=gcc-12', 'HOSTCC=gcc-12']
    config = os.path.join(dest, '.config')
    key = f'{release()} {" ".join(FULL_ON)}'
    stamp = dest + '.stamp'
    if not os.path.exists(stamp) or read_bytes(stamp).decode() != key:
        write_debian_config(config)
        run([*make, 'olddefconfig'])
        text = read_bytes(config).decode()
        for word in ('DRM_AMDGPU=m', 'HSA_AMD=y'):
            if f'CONFIG_{word}' not in text:
                raise Failure(f'kconfig refused {word}')
        with open(stamp, 'w', encoding='utf-8') as f:
            f.write(key)
    say('  PREPARE  the whole tree')
    run([*make, f'-j{args.jobs}', 'modules_prepare'], log=dest + '.prepare.log')
    say('  AMDGPU   all of it')
    log = run([*make, f'-j{args.jobs}', 'drivers/gpu/drm/amd/amdgpu/'], log=dest + '.log')
    amd = os.path.join(dest, 'drivers/gpu/drm/amd')
    for name in ('amdgpu/amdgpu.o', 'amdkfd/kfd_chardev.o', 'display/amdgpu_dm/amdgpu_dm.o'):
        if not os.path.exists(os.path.join(amd, name)):
            raise Failure(f'make said nothing and made no {name}')
    warnings = [line for line in log.splitlines() if 'warning:' in line]
    for line in warnings[:20]:
        say(f'       {line}')
    say(f'{"0" if warnings else "1"} passed, {"1" if warnings else "0"} failed, 0 skipped')
    return 1 if warnings else 0
