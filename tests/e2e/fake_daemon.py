# SPDX-License-Identifier: Apache-2.0
"""A fake daemon: it speaks wire.h's protocol with the test's data."""
import contextlib
import ctypes as c
import errno
import os
import socket
import threading

MAGIC, VERSION = 0x47505245, 1
UNKNOWN = 2 ** 64 - 1
LIST, DEVICES, WHY, TAKE, HISTOGRAM, TRACE = 24, 25, 26, 27, 28, 29
RESULT, TENANT, DEVICE, REASON, SAID, BUCKETS, TRACED = 65, 82, 83, 84, 85, 86, 87
NONE, LC, BE = 0, 1, 2
BY_RUN, BY_RULE, BY_ATTACH = 1, 2, 3
RESIDENT, SUSPENDED, SEGMENT, HELD, BUSY, IDLE, BANNED = (1 << i for i in range(7))
(START, END, LOST, JOIN, LEAVE, TURN, SUSPEND, RESUME, SLICE, PREEMPT, DOING,
 HOLD) = range(1, 13)

U8x16 = c.c_uint8 * 16


class Head(c.Structure):
    _fields_ = [("magic", c.c_uint32), ("version", c.c_uint16), ("type", c.c_uint16),
                ("size", c.c_uint32), ("result", c.c_int32)]


class Request(c.Structure):
    _fields_ = [("cls", c.c_uint32), ("value", c.c_uint32), ("cap_pct", c.c_uint32),
                ("pad", c.c_uint32), ("period_ns", c.c_uint64),
                ("deadline_ns", c.c_uint64), ("runtime_ns", c.c_uint64)]


class Take(c.Structure):
    _fields_ = [("head", Head), ("pid", c.c_int32), ("kind", c.c_uint32), ("uuid", U8x16),
                ("request", Request)]


class Said(c.Structure):
    _fields_ = [("head", Head), ("text", c.c_char * 512)]


class Tenant(c.Structure):
    _fields_ = [("head", Head), ("pid", c.c_int32), ("uid", c.c_uint32), ("uuid", U8x16),
                ("origin", c.c_uint32), ("flags", c.c_uint32), ("groups", c.c_uint32),
                ("usage", c.c_uint32), ("request", Request)] + [
        (name, c.c_uint64) for name in
        "age_ns resident_ns used_ns suspended_ns turns preempted wait_p50_ns wait_p99_ns "
        "switch_p50_ns switch_p99_ns hints segments holds holds_late holds_expired "
        "held_ns corrected movable fixed out moves moved move_ns pinned kept host_max "
        "quota_used quota_max".split()] + [
        ("comm", c.c_char * 16), ("device", c.c_char * 64), ("cgroup", c.c_char * 256),
        ("why", c.c_char * 512)]


class Device(c.Structure):
    _fields_ = [("head", Head), ("uuid", U8x16), ("name", c.c_char * 64),
                ("be_policy", c.c_char * 16), ("lc_policy", c.c_char * 16),
                ("be_min_pct", c.c_uint32), ("tenants", c.c_uint32),
                ("groups", c.c_uint32), ("resident_pid", c.c_int32),
                ("usage", c.c_uint32), ("pad", c.c_uint32)] + [
        (name, c.c_uint64) for name in
        "quantum_ns up_ns turns suspends resumes slices preempts failed control_ns "
        "log_lost".split()]


class Reason(c.Structure):
    _fields_ = [("head", Head), ("pid", c.c_int32), ("reason", c.c_uint32),
                ("other_pid", c.c_int32), ("ahead", c.c_uint32), ("error", c.c_int32),
                ("pad", c.c_uint32), ("uuid", U8x16), ("for_ns", c.c_uint64),
                ("until_ns", c.c_uint64), ("request", Request), ("comm", c.c_char * 16),
                ("other_comm", c.c_char * 16), ("device", c.c_char * 64),
                ("why", c.c_char * 512)]


class Record(c.Structure):
    _fields_ = [("time_ns", c.c_uint64), ("value", c.c_uint64), ("pid", c.c_int32),
                ("context", c.c_uint32), ("kind", c.c_uint16), ("device", c.c_uint16),
                ("pad", c.c_uint32)]


class Buckets(c.Structure):
    _fields_ = [("head", Head), ("sum_ns", c.c_uint64), ("count", c.c_uint64 * 448)]


class Traced(c.Structure):
    _fields_ = [("head", Head), ("count", c.c_uint32), ("lost", c.c_uint32),
                ("record", Record * 32)]


def head(message, number, result=0):
    message.head = Head(MAGIC, VERSION, number, c.sizeof(message), result)
    return bytes(message)


def said(result, text):
    return head(Said(text=text.encode()), SAID, result)


def uuid(number):
    return U8x16(*[number] * 16)


def tenant(pid, **fields):
    unknown = {n: UNKNOWN for n in ("used_ns", "wait_p50_ns", "wait_p99_ns",
                                    "switch_p50_ns", "switch_p99_ns")}
    fields = {"uuid": uuid(1), "origin": BY_RUN, "groups": 1, "comm": b"job",
              "device": b"Fake GPU", "request": Request(BE, 100), "uid": os.getuid(),
              **unknown, **fields}
    return Tenant(pid=pid, **fields)


def device(number=1, **fields):
    fields = {"name": b"Fake GPU", "be_policy": b"fair", "lc_policy": b"level",
              "be_min_pct": 5, "quantum_ns": 50000000, "usage": 1, **fields}
    return Device(uuid=uuid(number), **fields)


class FakeDaemon:
    """Answers until it is stopped. @devices, @tenants: functions that return the present list;
    @asked: received requests, (type, Take or None)."""

    def __init__(self, path, devices=lambda: [], tenants=lambda: []):
        self.path, self.devices, self.tenants = path, devices, tenants
        self.asked, self.reasons, self.records = [], {}, []
        self.take = (0, "")
        self.buckets = {}       # kind -> Buckets
        self.end_trace = False
        self.door = None        # the only message to a new client, or None
        self.peers = []
        self.start()

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def stop(self):
        """Like a kill."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        self.peers = []

    def serve(self):
        while True:
            try:
                peer = self.socket.accept()[0]
            except OSError:
                return
            if self.door:
                peer.send(self.door)
                peer.close()
                continue
            self.peers.append(peer)
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        with peer, contextlib.suppress(OSError):
            while message := peer.recv(65536):
                self.answer(peer, message)

    def answer(self, peer, message):
        number = Head.from_buffer_copy(message).type
        take = Take.from_buffer_copy(message) if len(message) == c.sizeof(Take) else None
        self.asked.append((number, take))
        if number == LIST:
            for one in self.tenants():
                peer.send(head(one, TENANT))
            peer.send(bytes(Head(MAGIC, VERSION, RESULT, c.sizeof(Head), 0)))
        elif number == DEVICES:
            for one in self.devices():
                peer.send(head(one, DEVICE))
            peer.send(bytes(Head(MAGIC, VERSION, RESULT, c.sizeof(Head), 0)))
        elif number == WHY and take.pid in self.reasons:
            peer.send(head(self.reasons[take.pid], REASON))
        elif number == WHY:
            peer.send(said(-errno.ESRCH, "it is no tenant"))
        elif number == TAKE:
            peer.send(said(*self.take))
        elif number == HISTOGRAM:
            peer.send(head(self.buckets.get(take.kind, Buckets()), BUCKETS))
        elif number == TRACE:
            self.trace(peer)

    def trace(self, peer):
        for first in range(0, len(self.records), 32):
            some = self.records[first:first + 32]
            message = Traced(count=len(some), lost=5 if not first else 0)
            message.record = (Record * 32)(*some)
            peer.send(head(message, TRACED))
        if self.end_trace:
            peer.shutdown(socket.SHUT_RDWR)
