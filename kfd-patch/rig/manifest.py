# SPDX-License-Identifier: Apache-2.0
"""tests/kfd/tests.ini: the tests and their needs."""

import configparser
import fnmatch
import os

from common import Failure, TESTS

DEFAULTS = {
    'program': '',          # program and arguments; t_NAME when empty
    'time': 'virtual',      # virtual, wall
    'cpus': '1',
    'memory': '1024',       # MiB, at least: a guest has what its largest test needs
    'policy': '2',          # sched_policy of the module
    'params': '',           # more parameters of the module
    'module': 'any',        # any: also the base passes; series: it must be applied
    'timeout': '60',        # seconds of the guest's clock
    'limit': '90',          # seconds of the host's
    'suites': 'check long', # check, slow, hip, long, bench; stock, stock-slow: on the base; only when named: none
    'check_scale': '1',     # KFD_SCALE in all suites but long
    'long_scale': '',       # KFD_SCALE in the long suite, for any --scale
    'files': '',            # more host files, each with the libraries it needs; FILE:WHERE
    'rocm': 'no',           # ROCm's libraries, with those that they load
    'avx': 'yes',           # no: a CPU without it, which is faster with rocm
    'boot': '',             # tests with the same word share a boot
    'cost': '2',            # approximate seconds on the host, for spreading over cores
}


class Test:
    def __init__(self, name, fields):
        self.name = name
        self.__dict__.update(fields)
        self.cpus = int(fields['cpus'])
        self.memory = int(fields['memory'])
        self.timeout = int(fields['timeout'])
        self.limit = int(fields['limit'])
        self.cost = float(fields['cost'])
        self.rocm = fields['rocm'] == 'yes'
        self.avx = fields['avx'] == 'yes'
        self.suites = fields['suites'].split()
        self.files = fields['files'].split()
        self.program = fields['program'] or name

    def boot_key(self):
        return (self.boot, self.time, self.cpus, self.rocm, self.avx)

    def load_params(self, more=''):
        return f'sched_policy={self.policy} {self.params} {more}'.strip()


def load():
    ini = configparser.ConfigParser(interpolation=None, default_section='defaults',
                                    inline_comment_prefixes=('#',))
    path = os.path.join(TESTS, 'tests.ini')
    if not ini.read(path, encoding='utf-8'):
        raise Failure(f'no {path}')
    tests = {}
    for name in ini.sections():
        fields = dict(DEFAULTS)
        for key, value in ini[name].items():
            if key not in DEFAULTS:
                raise Failure(f'{path}: [{name}] has an unknown key {key}')
            fields[key] = value
        tests[name] = Test(name, fields)
    return tests


def choose(tests, patterns=(), suite=None, has_series=True):
    """The matching tests; a pattern without a match is an error."""
    if not patterns:
        wanted = set(suite.split(','))
        return [t for t in tests.values() if wanted & set(t.suites)
                and (has_series or t.module != 'series')]
    chosen = {}
    for pattern in patterns:
        found = fnmatch.filter(tests, pattern)
        if not found:
            raise Failure(f'no test {pattern}: tests/kfd/tests.ini has {" ".join(tests)}')
        chosen.update((name, tests[name]) for name in found)
    return list(chosen.values())
