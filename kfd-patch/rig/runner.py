# SPDX-License-Identifier: Apache-2.0
"""From chosen tests to boots, and from boots to a report."""

import base64
import io
import os
import tarfile
import threading

import guest
import initramfs
import module
import programs
import tree as trees
from common import REPO, kernel_image, say, write_if_changed

ROCM_FILES = ('/usr/lib/x86_64-linux-gnu/libamdhip64.so.5',
              '/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1',
              '/usr/lib/x86_64-linux-gnu/libamd_comgr.so.2',
              '/usr/lib/x86_64-linux-gnu/libhsakmt.so.1')

# Seconds of the host outside of tests: the kernel's start, loading and unloading the module,
# checking for leaks.
BETWEEN_S = 90

# Guests of two CPUs whose tests are through sooner have one core of the host.
SHORT_S = 5

# Prefix of a test's output lines with parts of files.
ARCHIVE = 'archive: '


class Cores:
    """Limits the number of host cores used at a time."""

    def __init__(self, count):
        self.free = count
        self.total = count
        self.changed = threading.Condition()

    def take(self, count):
        count = min(count, self.total)
        with self.changed:
            self.changed.wait_for(lambda: self.free >= count)
            self.free -= count
        return count

    def give(self, count):
        with self.changed:
            self.free += count
            self.changed.notify_all()


class Session:
    """The common state of all boots of one run."""

    def __init__(self, args):
        self.out = os.path.abspath(args.out)
        self.args = args
        self.tree = None
        self.ko = None
        self.kernel = args.kernel_image or kernel_image()
        self.base_cpio = None
        self.serial = 0
        self.lock = threading.Lock()

    def prepare(self):
        self.tree = pick_tree(self.out, self.args)
        self.ko = self.args.module or build_module(self.out, self.args, self.tree)
        self.base_cpio = initramfs.base_archive(self.out)

    def label(self, stem):
        with self.lock:
            self.serial += 1
            return f'{stem}-{os.getpid()}-{self.serial}'

    def archive(self, label, plan, files):
        """An initramfs: the common files, the module, programs, the plan."""
        cpio = initramfs.Cpio()
        for path in initramfs.module_closure(self.ko):
            cpio.file(guest_ko(path), initramfs.module_bytes(path), 0o644)
        cpio.copy(self.ko, 'm/amdgpu.ko')
        for host, inside in files:
            cpio.program(host, inside)
        cpio.file('rig/plan', plan.encode(), 0o644)
        path = os.path.join(self.out, 'run', f'{label}.cpio')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        cpio.write(path)
        with open(path, 'ab') as dest, open(self.base_cpio, 'rb') as src:
            dest.write(src.read())
        return path

    def load_lines(self, params):
        lines = [f'load /{guest_ko(p)}' for p in initramfs.module_closure(self.ko)]
        return lines + [f'load /m/amdgpu.ko {params}']


def guest_ko(path):
    return 'm/' + os.path.basename(path).removesuffix('.xz')


def pick_tree(out, args):
    """The requested source; one tree for each kernel, because objects for one do not fit
    another."""
    suffix = f'-{args.flavour}' if args.kernel_tree else ''
    if args.tree:
        name = 'author-' + os.path.basename(os.path.abspath(args.tree)) + suffix
        return trees.make_tree(out, name, [], author_tree=args.tree)
    if args.base or not trees.series():
        return trees.make_tree(out, 'base' + suffix, [])
    return trees.make_tree(out, 'series' + suffix, trees.series())


def build_module(out, args, tree):
    return module.build(tree, src=args.simgpu or module.SIMGPU, kernel=args.kernel_tree,
                        jobs=args.jobs)


def scale_of(args, test):
    """The fraction of a test's counts."""
    if args.suite == 'long' and test.long_scale:
        return test.long_scale
    if args.scale is None and not args.suite.startswith('long'):
        return test.check_scale
    return args.scale or '1'


def unload_lines(session):
    """Loaded symbols make a leak's stack more precise; unloading removes the last pointers."""
    scan = ['kmemleak'] if session.args.kmemleak else []
    return [*scan, 'unload amdgpu', *scan]


def plan_of(session, tests):
    """Lines for init: reload the module when parameters differ."""
    lines = [f'env {e}' for e in session.args.env]
    if session.args.flavour:
        lines.append('env KFD_SLOW_KERNEL=1')
    loaded = None
    for test in tests:
        params = test.load_params(session.args.params)
        if session.args.policy is not None:
            params += f' sched_policy={session.args.policy}'
        if params != loaded:
            if loaded is not None:
                lines += unload_lines(session)
            lines += session.load_lines(params)
            loaded = params
        lines.append(f'env KFD_SCALE={scale_of(session.args, test)}')
        words = test.program.split()
        lines.append(f'test {test.timeout} {test.name} /t/{words[0]} {" ".join(words[1:])}'.strip())
    lines += unload_lines(session)
    return '\n'.join(lines) + '\n'


def place(session, word):
    """A file of the host, and its place in the guest. An absolute path is the same there,
    FILE:WHERE names another, and other files go beside the tests."""
    host, _, where = word.partition(':')
    path = os.path.join(REPO, host.replace('$O', os.path.dirname(session.out)))
    if not where:
        where = host if host.startswith('/') else f't/{os.path.basename(host)}'
    return path, where


def programs_of(test):
    """The test's own, and those that it starts."""
    return [test.program.split()[0]] + [os.path.basename(f) for f in test.files
                                        if f.startswith('$O/kfd/tests/')]


def files_for(session, tests):
    files = []
    for test in tests:
        names = programs_of(test)
        built = [programs.build(session.out, session.tree, name) for name in names]
        files.append((built[0], f't/{names[0]}'))
        files += [place(session, f) for f in test.files]
        if test.rocm:
            files += [(path, path) for path in ROCM_FILES]
    return files


def boot_once(session, tests, label, report, last):
    """One QEMU; return the tests that did not run, and whether none did. @last: report that."""
    first = tests[0]
    plan = plan_of(session, tests)
    initrd = session.archive(label, plan, files_for(session, tests))
    log_dir = os.path.join(session.out, 'log')
    console = os.path.join(log_dir, f'{label}.log.console')
    mode = session.args.time or first.time
    argv = guest.qemu_argv(mode, first.cpus if mode == 'virtual' else max(2, first.cpus),
                           max(t.memory for t in tests), session.kernel, initrd, f'file:{console}',
                           'file,id=rig,path=/dev/stdout',
                           cpu=guest.FULL_CPU if first.rocm and first.avx else guest.PLAIN_CPU)
    limits = {t.name: t.limit * session.args.patience for t in tests}
    boot = guest.Boot(argv, limits, log_dir, label, report, BETWEEN_S * session.args.patience)
    boot.run()
    os.unlink(initrd)
    if not boot.outcomes and boot.other.how:
        boot.other.how = None
        boot.other.log += boot.console_tail()
    if boot.other.splats() or boot.other.how != 'exit 0':
        boot.other.output = ['1..1', 'ok 1 - between tests']
        boot.other.transcript = boot.transcript
        boot.other.tests = [t.name for t in tests]
        boot.other.ran = list(boot.outcomes.values())
        if not boot.outcomes and boot.other.may_be_the_host() and not last:
            say(f'# the guest of {first.name} ran no test: {boot.transcript}; a second time')
            return tests, True
        report(boot.other)
        if not boot.outcomes:
            return [], True
    return [t for t in tests if t.name not in boot.outcomes], False


def run_boot(session, tests, cores, report):
    """Boot, and boot again for the remaining tests of a broken guest. A guest that ran no test,
    without a complaint of its kernel, gets a second try."""
    first = tests[0]
    short = sum(t.cost for t in tests) <= SHORT_S
    taken = cores.take(1 if short or (session.args.time or first.time) == 'virtual' else 2)
    idle = False
    try:
        while tests:
            tests, idle = boot_once(session, tests, session.label(tests[0].name), report, idle)
    finally:
        cores.give(taken)


def spread(tests, cores):
    """Groups that share a boot; long groups of one core are split, one part per core."""
    groups = {}
    for test in tests:
        groups.setdefault(test.boot_key(), []).append(test)
    boots = []
    for group in groups.values():
        total = sum(t.cost for t in group)
        parts = cores if group[0].time == 'virtual' and total > 40 else 1
        bins = [[] for _ in range(parts)]
        for test in sorted(group, key=lambda t: -t.cost):
            min(bins, key=lambda b: sum(t.cost for t in b)).append(test)
        for part in filter(None, bins):
            boots.append(sorted(part, key=lambda t: (t.load_params(), t.name)))
    return sorted(boots, key=lambda b: -sum(t.cost for t in b))


def unpack(lines, folder):
    """Unpack a test's files, a base64-encoded compressed tar, into @folder."""
    data = base64.b64decode(''.join(lines))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            path = os.path.join(folder, os.path.basename(member.name))
            write_if_changed(path, tar.extractfile(member).read())


class Report:
    """Prints each test as it ends, and the total at the end."""

    def __init__(self, verbose, keep=None):
        self.passed = self.failed = self.skipped = 0
        self.verbose = verbose
        self.keep = keep
        self.failures = []
        self.lock = threading.Lock()

    def __call__(self, outcome):
        passed, failed, skipped, names = outcome.points()
        with self.lock:
            self.add((passed, failed, skipped))
            word = 'FAIL' if failed else 'skip' if not passed else 'ok'
            say(f'  {word:4} {outcome.name}: {passed} passed, {failed} failed, '
                f'{skipped} skipped ({outcome.seconds:.1f} s, host {outcome.host_seconds:.1f} s)')
            for name in names:
                say(f'       {name}')
            for line in outcome.output:
                if self.verbose or line.startswith('# figure:') or \
                        (failed and line.startswith(('#', 'not ok'))):
                    say(f'       | {line}')
            if failed:
                self.failures.append(outcome)
                for line in outcome.log[-40:]:
                    say(f'       > {line}')
            packed = [line[len(ARCHIVE):] for line in outcome.output if line.startswith(ARCHIVE)]
            if self.keep and packed:
                unpack(packed, self.keep)

    def add(self, counts):
        self.passed, self.failed, self.skipped = (
            a + b for a, b in zip((self.passed, self.failed, self.skipped), counts))

    def take_failures(self, most):
        """The names of the tests to run again; these no longer count. After a failure between
        tests they are all tests of that guest. None if more than @most failed, or if a kernel has a
        complaint that no slow host explains."""
        failed = self.failures
        if len(failed) > most or not all(o.may_be_the_host() for o in failed):
            return []
        self.failures = []
        for outcome in {id(o): o for f in failed for o in (f, *f.ran)}.values():
            self.add([-n for n in outcome.points()[:3]])
        return [name for o in failed for name in o.tests or [o.name]]

    def total(self, tally=None, again=()):
        passed_now = set(again) - {o.name for o in self.failures}
        if tally:
            with open(tally, 'a', encoding='utf-8') as f:
                for name in sorted(passed_now):
                    print('again', name, file=f)
                print(self.passed, self.failed, self.skipped, file=f)
        say(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        return 1 if self.failed or not self.passed else 0


def run_again(session, tests, report, most):
    """Run up to @most failed tests a second time, each in a guest of its own. Returns their
    names."""
    names = report.take_failures(most)
    for test in (t for t in tests if t.name in names):
        say(f'# {test.name}: a second time, alone')
        run_tests(session, [test], report)
    return names


def run_tests(session, tests, report):
    programs.build_all(session.out, session.tree, [n for t in tests for n in programs_of(t)],
                       session.args.jobs)
    cores = Cores(session.args.jobs)
    threads = []
    errors = []

    def work(boot):
        try:
            run_boot(session, boot, cores, report)
        except Exception as e:                       # shown below, and counted
            errors.append(e)

    for boot in spread(tests, session.args.jobs):
        threads.append(threading.Thread(target=work, args=(boot,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
