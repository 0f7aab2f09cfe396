# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the series, each of which a test must catch.

mutants/NAME.patch starts with lines of its own::
    Fault: a short description
    Tests: one of these must fail, the likeliest first; it must build
    Kernel: kasan or kmemleak, if only that finds it
"""

import copy
import glob
import os
import queue
import re
import threading

import initramfs
import kernels
import manifest
import module
import tree as trees
from common import Failure, read_bytes, say
from runner import Report, Session, boot_once

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'mutants')
PATIENCE = 4                # for kernels of our own, which are slow


class Mutant:
    def __init__(self, path):
        text = read_bytes(path).decode()
        self.path = path
        self.name = os.path.basename(path)[:-len('.patch')]
        self.fault = self.field(text, 'Fault')
        self.tests = self.field(text, 'Tests').split()
        self.flavour = self.field(text, 'Kernel', '')

    def field(self, text, name, default=None):
        found = re.search(rf'^{name}: *(.+)$', text, re.M)
        if not found and default is None:
            raise Failure(f'{self.path}: no line "{name}: ..."')
        return found.group(1) if found else default


class Catcher(Report):
    """Remembers failures, and reports nothing else."""

    def __init__(self):
        super().__init__(False)
        self.first = None

    def __call__(self, outcome):
        _, failed, _, names = outcome.points()
        if failed and not self.first:
            self.first = f'{outcome.name}: {names[0]}'


def boot(session, test, label, catcher):
    """Boot a second time if the guest ran no test, which a busy host may be the reason of."""
    if boot_once(session, [test], label, catcher, False)[1]:
        boot_once(session, [test], label, catcher, True)


def judge(mutant, worker, args, tests):
    """Build it and run its tests until one fails. Set the verdict if none does."""
    mine = copy.copy(args)
    mine.out = os.path.abspath(args.out)
    name = f'mutant-{worker}'
    if mutant.flavour:
        name += f'-{mutant.flavour}'
        mine.flavour = mutant.flavour
        mine.kmemleak = mutant.flavour == 'kmemleak'
        mine.patience *= PATIENCE
        mine.kernel_image, mine.kernel_tree = kernels.build(mine.out, mutant.flavour, args.jobs)
    tree = trees.make_tree(mine.out, name, trees.series(), more=[mutant.path])
    session = Session(mine)
    session.tree = tree
    session.ko = module.build(tree, kernel=mine.kernel_tree, jobs=1)
    session.base_cpio = initramfs.base_archive(mine.out)
    for test in tests:
        catcher = Catcher()
        boot(session, test, session.label(f'{mutant.name}-{test.name}'), catcher)
        if catcher.first:
            say(f'  ok   {mutant.name}: {mutant.fault}\n       caught by {catcher.first}')
            return True
    say(f'  MISS {mutant.name}: {mutant.fault}\n       not caught by {" ".join(mutant.tests)}')
    return False


def work(todo, worker, args, tests, results):
    while True:
        try:
            mutant = todo.get_nowait()
        except queue.Empty:
            return
        try:
            chosen = [tests[name] for name in mutant.tests]
            results[mutant.name] = judge(mutant, worker, args, chosen)
        except (Failure, KeyError) as e:
            say(f'  FAIL {mutant.name}: {e}')
            results[mutant.name] = False


def run_all(args):
    mutants = [Mutant(p) for p in sorted(glob.glob(os.path.join(FOLDER, '*.patch')))
               if not args.names or os.path.basename(p)[:-len('.patch')] in args.names]
    if not mutants:
        raise Failure(f'no mutants in {FOLDER}')
    todo = queue.Queue()
    for mutant in mutants:
        todo.put(mutant)
    trees.unpack(os.path.abspath(args.out))
    for flavour in sorted({m.flavour for m in mutants} - {''}):
        kernels.build(os.path.abspath(args.out), flavour, args.jobs)
    initramfs.base_archive(os.path.abspath(args.out))
    results = {}
    threads = [threading.Thread(target=work, args=(todo, w, args, manifest.load(), results))
               for w in range(args.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    caught = sum(results.values())
    say(f'{caught} passed, {len(mutants) - caught} failed, 0 skipped')
    return 0 if caught == len(mutants) else 1
