# SPDX-License-Identifier: Apache-2.0
"""no_attach.py CMD [ARGUMENT...]: run CMD where no process may take another's files, as for ordinary
users with kernel.yama.ptrace_scope=1 (Ubuntu's default). A filter refuses pidfd_getfd(2)."""
import ctypes
import errno
import os
import struct
import sys

PIDFD_GETFD = 438
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06          # linux/bpf_common.h
ALLOW, ERRNO = 0x7fff0000, 0x00050000           # linux/seccomp.h
FILTER = ((LOAD, 0, 0, 0),                      # the call's number
          (EQUAL, 0, 1, PIDFD_GETFD), (RETURN, 0, 0, ERRNO | errno.EPERM), (RETURN, 0, 0, ALLOW))


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse():
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("HBBI", *line) for line in FILTER)
    program = Program(len(FILTER), code)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        raise OSError(ctypes.get_errno(), "no filter")
    assert libc.syscall(PIDFD_GETFD, os.pidfd_open(os.getpid()), 1, 0) == -1
    assert ctypes.get_errno() == errno.EPERM


if __name__ == "__main__":
    refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
