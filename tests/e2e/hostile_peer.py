# SPDX-License-Identifier: Apache-2.0
"""Connections to gpreemptd that send what a test wants, by wire.h's protocol."""
import array
import ctypes as c
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_daemon as wire  # noqa: E402

HELLO, FILES, WELCOME = 16, 17, 80
FILES_MAX = 16


class Hello(c.Structure):
    _fields_ = [("head", wire.Head), ("uuid", wire.U8x16), ("flags", c.c_uint32),
                ("pad", c.c_uint32), ("request", wire.Request), ("key", c.c_uint32 * FILES_MAX)]


class Files(c.Structure):
    _fields_ = [("head", wire.Head), ("key", c.c_uint32 * FILES_MAX)]


class Welcome(c.Structure):
    _fields_ = [("head", wire.Head), ("daemon_pid", c.c_int32), ("pad", c.c_uint32),
                ("request", wire.Request), ("why", c.c_char * 512)]


def message(kind, cls=wire.Head):
    msg = cls()
    head = msg if cls is wire.Head else msg.head
    head.magic, head.version, head.type = wire.MAGIC, wire.VERSION, kind
    head.size = c.sizeof(cls)
    return msg


class Peer:
    """One connection of this process."""

    def __init__(self, path, timeout=30, sock=None):
        self.sock = sock or socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(timeout)
        if path:
            self.sock.connect(path)

    def send(self, msg, files=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        self.sock.sendmsg([bytes(msg)], control if files else [])

    def recv(self):
        """(type, result, bytes, files)"""
        data, control, _, _ = self.sock.recvmsg(8192, socket.CMSG_SPACE(4 * FILES_MAX))
        files = array.array("i")
        for level, kind, body in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                files.frombytes(body[:len(body) // 4 * 4])
        if not data:
            return 0, 0, data, list(files)
        head = wire.Head.from_buffer_copy(data)
        return head.type, head.result, data, list(files)

    def listed(self):
        """Rows of the daemon's list."""
        self.send(message(wire.LIST))
        rows = []
        while True:
            kind, result, data, _ = self.recv()
            if kind != wire.TENANT:
                assert (kind, result) == (wire.RESULT, 0), (kind, result)
                return rows
            rows.append(wire.Tenant.from_buffer_copy(data))

    def uuid(self):
        self.send(message(wire.DEVICES))
        found = None
        while True:
            kind, _, data, _ = self.recv()
            if kind != wire.DEVICE:
                return found
            found = found or wire.Device.from_buffer_copy(data).uuid

    def hello(self, uuid, files=(), asks=None):
        """@asks: a class and its value."""
        msg = message(HELLO, Hello)
        msg.uuid = uuid
        if asks:
            msg.flags = 1
            msg.request.cls, msg.request.value = asks
        self.send(msg, files)

    def close(self):
        self.sock.close()
