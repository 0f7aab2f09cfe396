# SPDX-License-Identifier: Apache-2.0
"""Shared parts of measured PyTorch programs: libgpreempt, and waits until a time."""
import ctypes
import os
import sys
import time


class OpenOpts(ctypes.Structure):
    """struct gp_open_opts of gpreempt.h."""
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("context", ctypes.c_void_p), ("cls", ctypes.c_uint32),
                ("level", ctypes.c_uint32), ("weight", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("hold_limit_ns", ctypes.c_uint64)]


class Stats(ctypes.Structure):
    """struct gp_stats of gpreempt.h."""
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64) for name in (
            "hints", "segments", "holds", "holds_late", "holds_expired",
            "syncs_cut", "held_ns", "switch_ns", "switch_min_ns",
            "switch_max_ns", "margin_ns")]


class Client:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.gp_hint.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self.handle = ctypes.c_void_p()
        opts = OpenOpts(size=ctypes.sizeof(OpenOpts))
        self.check(self.lib.gp_open(ctypes.byref(opts),
                                    ctypes.byref(self.handle)), "gp_open")

    @staticmethod
    def check(error, what):
        if error:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {what}: error {error}")

    def figures(self):
        stats = Stats(size=ctypes.sizeof(Stats))
        self.check(self.lib.gp_stats_get(self.handle, ctypes.byref(stats)),
                   "gp_stats_get")
        return "".join(f" {name}={getattr(stats, name)}" for name in (
            "holds", "holds_late", "holds_expired", "syncs_cut", "switch_ns"))

    def hint(self, in_ns):
        self.check(self.lib.gp_hint(self.handle, max(in_ns, 0)), "gp_hint")


def wait_until(at_ns):
    left = at_ns - time.monotonic_ns() - 400_000
    if left > 0:
        time.sleep(left * 1e-9)
    while time.monotonic_ns() < at_ns:
        pass
