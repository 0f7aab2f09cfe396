# SPDX-License-Identifier: Apache-2.0
"""Boot QEMU, follow the guest's output, and judge it.

Two ways of keeping time:
  virtual  one host thread; the guest's clock counts executed instructions and
           jumps over idle time, so neither a noisy host nor a long wait counts.
  wall     two virtual CPUs on two host threads: for races, and for speed.
"""

import os
import re
import selectors
import subprocess
import time

from common import need_command

# Lines of the kernel's log that fail a test, from any source.
SPLAT = re.compile(
    r'BUG:|WARNING:|kernel BUG|Oops|KASAN|UBSAN|KCSAN|general protection fault'
    r'|possible circular locking|possible recursive locking|inconsistent lock state'
    r'|suspicious RCU usage|held lock|INFO: task .* blocked|INFO: rcu|rcu: INFO'
    r'|soft lockup|refcount_t:|list_add corruption|list_del corruption|slab-'
    r'|unreferenced object|scheduling while atomic|sleeping function called'
    r'|simgpu.*CHECK|unable to handle|divide error|stack segment|Kernel panic')
# A host that stops a virtual CPU for long causes these as well.
SLOW_HOST = re.compile(r'INFO: task .* blocked|INFO: rcu|rcu: INFO|soft lockup')
# After these the guest may be broken: later tests get a new one.
FATAL = re.compile(r'Oops|kernel BUG|BUG:|KASAN|general protection|Kernel panic|unable to handle'
                   r'|possible circular|possible recursive|INFO: task|soft lockup|refcount_t:')

CMDLINE = ('console=ttyS0 quiet loglevel=4 oops=panic panic=-1 nokaslr mitigations=off tsc=reliable '
           'no_timer_check cryptomgr.notests random.trust_cpu=on printk.devkmsg=on '
           'log_buf_len=4M rdinit=/init')


# The name of what is outside of tests.
BETWEEN = '(between tests)'

# rdrand: without it the kernel waits for entropy.
PLAIN_CPU = 'qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16'
# librocrand's host code uses AVX, which makes every context switch slower.
FULL_CPU = 'max'


def qemu_argv(time_mode, cpus, memory, kernel, initrd, console, port, cmdline='', cpu=PLAIN_CPU):
    need_command('qemu-system-x86_64', 'qemu-system-x86')
    if time_mode == 'virtual':
        accel = ['-accel', 'tcg,thread=single,tb-size=256',
                 '-icount', 'shift=0,sleep=off']
    else:
        accel = ['-accel', 'tcg,thread=multi,tb-size=256']
    return ['qemu-system-x86_64', '-M', 'q35', *accel, '-cpu', cpu, '-smp', str(cpus),
            '-m', str(memory), '-nodefaults', '-display', 'none', '-no-reboot', '-kernel', kernel, '-initrd', initrd,
            '-append', f'{CMDLINE} {cmdline}'.strip(), '-serial', console,
            '-device', 'virtio-serial-pci',
            '-chardev', port, '-device', 'virtserialport,chardev=rig,name=rig']


class Outcome:
    """The result of one test program."""

    def __init__(self, name):
        self.name = name
        self.output = []
        self.log = []
        # Between tests: the tests of this guest by name, and the outcomes of those that ran.
        self.tests = []
        self.ran = []
        self.how = None
        self.seconds = 0.0
        self.host_seconds = 0.0

    def points(self):
        """TAP points: (passed, failed, skipped, names of the failed)."""
        passed = skipped = seen = 0
        failed = []
        planned = None
        for line in self.output:
            plan = re.match(r'1\.\.(\d+)(.*)', line)
            point = re.match(r'(not )?ok\b\s*(\d+)?\s*-?\s*(.*)', line)
            if plan:
                planned = int(plan.group(1))
                if planned == 0:
                    skipped += 1
            elif point:
                seen += 1
                if re.search(r'# *SKIP', line, re.I):
                    skipped += 1
                elif point.group(1):
                    failed.append(point.group(3))
                else:
                    passed += 1
        failed += self.troubles(planned, seen)
        return passed, len(failed), skipped, failed

    def troubles(self, planned, seen):
        """Problems other than failed points."""
        found = []
        if self.how is None:
            found.append('the guest went away')
        elif self.how != 'exit 0' and not (self.how == 'exit 1' and any(
                line.startswith('not ok') for line in self.output)):
            found.append(f'ended by {self.how}')
        if planned is None and self.how == 'exit 0':
            found.append('no plan: not all of it ran')
        elif planned is not None and seen != planned and self.how == 'exit 0':
            found.append(f'{planned} points planned, {seen} seen')
        found += self.splats()
        return found

    def allowed(self):
        """A test announces a message that it provokes: # dmesg-allow: REGEX"""
        return [re.compile(line.split(':', 1)[1].strip()) for line in self.output
                if line.startswith('# dmesg-allow:')]

    def splats(self):
        allowed = self.allowed()
        return [f'kernel: {line}' for line in self.log if SPLAT.search(line)
                and not any(rx.search(line) for rx in allowed)][:8]

    def may_be_the_host(self):
        """A second try is allowed: the kernel has no complaint, or one that a slow host causes."""
        return all(SLOW_HOST.search(line) for line in self.splats())

    def is_fatal(self):
        allowed = self.allowed()
        return self.how in (None, 'timeout', 'stuck') or any(
            FATAL.search(line) and not any(rx.search(line) for rx in allowed)
            for line in self.log)


class Spent:
    """The seconds that count for QEMU's limit. A stopped or busy host is not QEMU's fault.

    In virtual time they are QEMU's CPU time, and a tenth of the rest, for a QEMU that is blocked.
    In the wall's time they are the time that passed while this process ran itself.
    """

    STEP_S = 2.0            # select() below returns at least each second

    def __init__(self, pid, virtual):
        self.pid = pid
        self.virtual = virtual
        self.total = 0.0
        self.cpu = 0.0
        self.last = time.monotonic()

    def cpu_seconds(self):
        try:
            with open(f'/proc/{self.pid}/stat', encoding='utf-8', errors='replace') as f:
                fields = f.read().rpartition(')')[2].split()
        except OSError:
            return self.cpu
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def seconds(self):
        now = time.monotonic()
        step = min(now - self.last, self.STEP_S)
        self.last = now
        if self.virtual:
            cpu = self.cpu_seconds()
            step = max(cpu - self.cpu, step / 10)
            self.cpu = cpu
        self.total += step
        return self.total


class Boot:
    """One run of QEMU over a list of (name, host limit in seconds).

    between is the limit for the phases before, between and after tests.
    """

    def __init__(self, argv, limits, log_dir, label, on_end=None, between=90):
        self.argv = argv
        self.virtual = '-icount' in argv
        self.limits = limits
        self.between = between
        self.label = label
        self.on_end = on_end or (lambda outcome: None)
        self.outcomes = {}
        self.other = Outcome(BETWEEN)
        self.other.how = 'exit 0'
        self.done = False
        self.current = None
        self.started = 0.0          # of the host's clock
        self.spent = None
        self.begun = 0.0            # of self.spent
        os.makedirs(log_dir, exist_ok=True)
        self.transcript = os.path.join(log_dir, f'{label}.log')

    def take(self, line):
        """One line from the guest."""
        kind, _, text = line.partition(' ')
        target = self.current or self.other
        if kind == 'T':
            self.current = self.outcomes[text] = Outcome(text)
            self.start_clock()
        elif kind == 'O':
            target.output.append(text)
        elif kind == 'K':
            target.log.append(text)
        elif kind == 'M':
            target.log.append(f'WARNING: rig: {text}')
        elif kind == 'E' and self.current:
            name, how = text.split(' ', 1)
            how, msec = how.rsplit(' ', 1)
            self.current.how = how
            self.current.seconds = int(msec) / 1000
            self.current.host_seconds = time.monotonic() - self.started
            self.on_end(self.current)
            if self.current.is_fatal():
                self.done = True
            self.current = None
            self.start_clock()
        elif kind == 'DONE':
            self.done = True

    def start_clock(self):
        self.started = time.monotonic()
        self.begun = self.spent.seconds()

    def left(self):
        """Seconds until QEMU's limit."""
        limit = self.limits.get(self.current.name, 120) if self.current else self.between
        return self.begun + limit - self.spent.seconds()

    def follow(self, pipe, transcript):
        """Read lines until the plan is done, QEMU ends, or the limit is reached."""
        sel = selectors.DefaultSelector()
        sel.register(pipe, selectors.EVENT_READ)
        rest = b''
        while not self.done:
            left = self.left()
            if left <= 0:
                target = self.current or self.other
                target.how = 'timeout'
                target.log.append('rig: the host\'s time limit')
                if self.current:
                    self.on_end(self.current)
                break
            if not sel.select(min(left, 1.0)):
                continue
            data = os.read(pipe.fileno(), 65536)
            if not data:
                break
            lines = (rest + data).split(b'\n')
            rest = lines.pop()
            for raw in lines:
                line = raw.decode(errors='replace')
                transcript.write(line + '\n')
                self.take(line)
                if self.done:
                    break
        sel.close()

    def run(self):
        with open(self.transcript, 'w', encoding='utf-8') as transcript, \
                open(self.transcript + '.qemu', 'wb') as errors, \
                subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=errors) as qemu:
            self.spent = Spent(qemu.pid, self.virtual)
            self.start_clock()
            try:
                self.follow(qemu.stdout, transcript)
                if self.done:
                    self.wait_off(qemu)
            finally:
                qemu.kill()
        if self.current and self.current.how is None:
            self.current.log += self.console_tail()
            self.on_end(self.current)
        elif not self.current and not self.done and self.other.how == 'exit 0':
            self.other.how = None
            self.other.log += self.console_tail()
        return self.outcomes

    @staticmethod
    def wait_off(qemu):
        try:
            qemu.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass

    def console_tail(self):
        """The console's last lines, with a panic's message."""
        try:
            with open(self.transcript + '.console', encoding='utf-8', errors='replace') as f:
                return f.read().splitlines()[-60:]
        except FileNotFoundError:
            return []
