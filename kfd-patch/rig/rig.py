#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the KFD with the series over the software GPU, and test it in QEMU."""

import argparse
import os
import sys
import time

import guest
import manifest
import programs
import tree as trees
from common import Failure, REPO, say, warn
from runner import Report, Session, files_for, pick_tree, run_again, run_tests


def cmd_build(args):
    session = Session(args)
    session.prepare()
    say(session.ko)
    return 0


def cmd_program(args):
    """Only the test programs, for use without QEMU."""
    tree = pick_tree(os.path.abspath(args.out), args)
    for name in args.names:
        say(programs.build(os.path.abspath(args.out), tree, name))
    return 0


def cmd_run(args):
    session = Session(args)
    started = time.monotonic()
    session.prepare()
    tests = manifest.choose(manifest.load(), args.tests, args.suite,
                            has_series=bool(trees.series() or args.tree) and not args.base)
    if not tests:
        raise Failure(f'no tests in suite {args.suite}')
    report = Report(args.verbose, args.keep)
    run_tests(session, tests, report)
    again = run_again(session, tests, report, args.again)
    say(f'# {time.monotonic() - started:.0f} s, logs in {session.out}/log')
    return report.total(args.tally, again)


def cmd_shell(args):
    session = Session(args)
    session.prepare()
    tests = manifest.choose(manifest.load(), args.tests or ['*'])
    params = f'sched_policy={args.policy if args.policy is not None else 2} {args.params}'
    plan = '\n'.join(session.load_lines(params) + ['shell']) + '\n'
    label = session.label('shell')
    initrd = session.archive(label, plan, files_for(session, tests))
    argv = guest.qemu_argv(args.time or 'wall', 2, 2048, session.kernel, initrd, 'mon:stdio',
                           f'file,id=rig,path={session.out}/run/{label}.log')
    os.execvp(argv[0], argv)


def cmd_mutants(args):
    import mutants
    return mutants.run_all(args)


def cmd_lint(args):
    import lint
    return lint.run_all(args)


def cmd_newest(args):
    import newest
    return newest.run_all(args)


def cmd_kernel(args):
    import kernels
    say(kernels.build(os.path.abspath(args.out), args.flavour, args.jobs)[0])
    return 0


def cmd_full(args):
    import kernels
    return kernels.build_full_amdgpu(os.path.abspath(args.out), args)


def parser():
    top = argparse.ArgumentParser(description=__doc__)
    sub = top.add_subparsers(dest='command', required=True)
    common = argparse.ArgumentParser(add_help=False)
    add = common.add_argument
    add('--out', default=os.path.join(REPO, 'build', 'kfd'), help='where all is built and kept')
    add('--jobs', '-j', type=int, default=os.cpu_count() or 1, help='host cores to use')
    add('--base', action='store_true', help='without the series')
    add('--tree', help='an author\'s kernel tree instead of base and series')
    add('--simgpu', help='folder of the software GPU\'s source')
    add('--module', help='an amdgpu.ko that is already built')
    add('--flavour', choices=('kasan', 'kmemleak'), help='on a kernel of our own')
    add('--policy', type=int, choices=(0, 1, 2), help='sched_policy, for all tests')
    add('--params', default='', help='more module parameters, for all tests')
    add('--env', action='append', default=[], help='NAME=VALUE for the tests')
    add('--time', choices=('virtual', 'wall'), help='for all tests')
    add('--scale', help='KFD_SCALE for all tests')
    add('--suite', default='check', help='of check, slow, hip, long, bench and stock, with commas')
    add('--patience', type=float, default=1.0, help='multiplies the host\'s time limits')
    add('--again', type=int, default=0, metavar='N', help='run up to N failed tests a second time')
    add('--keep', help='folder for the files that tests put out')
    add('--tally', help='file to add a line with the counts to')
    add('--verbose', '-v', action='store_true', help='all output of the tests')
    for name, func, words in (
            ('build', cmd_build, None), ('run', cmd_run, 'tests'), ('shell', cmd_shell, 'tests'),
            ('program', cmd_program, 'names'), ('mutants', cmd_mutants, 'names'),
            ('lint', cmd_lint, 'patches'), ('full', cmd_full, None)):
        cmd = sub.add_parser(name, parents=[common])
        if words:
            cmd.add_argument(words, nargs='*')
        cmd.set_defaults(func=func)
    cmd = sub.add_parser('newest', parents=[common])
    cmd.add_argument('--source', default='/usr/src/linux-source-7.3.tar.xz',
                     help='Debian\'s tarball of the kernel that fixes-7.3/BASE names')
    cmd.set_defaults(func=cmd_newest)
    cmd = sub.add_parser('kernel', parents=[common], conflict_handler='resolve')
    cmd.add_argument('flavour', choices=('kasan', 'kmemleak'))
    cmd.set_defaults(func=cmd_kernel)
    return top


def use_flavour(args):
    """With --flavour, boot and build against a kernel of our own."""
    args.kernel_tree = args.kernel_image = None
    args.kmemleak = args.flavour == 'kmemleak'
    if args.flavour and args.command in ('run', 'shell', 'build'):
        import kernels
        args.out = os.path.abspath(args.out)
        args.kernel_image, args.kernel_tree = kernels.build(args.out, args.flavour, args.jobs)


def main():
    args = parser().parse_args()
    try:
        use_flavour(args)
        return args.func(args)
    except Failure as e:
        warn(f'rig: {e}')
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
