#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A FUSE server that never answers some requests, and a process that hands its files to
gpreemptd. The raw protocol of /dev/fuse (linux/fuse.h): no library answers on its own.

It ends after LIFE_S at the latest, as other programs of the machine could wait for it.

hostile_fuse.py SOCKET UID OPTIONS ATTACK...: prints "ready" once all is sent, and stays. UID 0:
in a mount namespace; another: in a user namespace. OPTIONS: of the mount, "overlay": an overlay
over it; "-": none. Exits with 77 and one line if it cannot mount. Killing it ends the server,
and so every wait for it."""
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile_peer as peer  # noqa: E402

LIFE_S = 120
MOUNT = "/mnt"
# Detached, its path is that of the software GPU's control files.
NAME = "memfd:gpreempt-soft-rm"
LOOKUP, FORGET, GETATTR, OPEN, WRITE, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 16, 17, 18, 25, 26
SETLK, SETLKW, INTERRUPT, BATCH_FORGET, GETXATTR, OPENDIR = 32, 33, 36, 42, 22, 27
NO_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
FLOCK_LOCKS, WRITEBACK_CACHE = 1 << 10, 1 << 16
SO_SNDBUFFORCE = 32
IN = struct.Struct("=IIQQIIIHH")
NEWNS, NEWUSER = 0x20000, 0x10000000
NOSUID, NODEV, REC, PRIVATE, DETACH = 2, 4, 0x4000, 1 << 18, 2
libc = ctypes.CDLL(None, use_errno=True)


def attr(node):
    mode = 0o40777 if node == 1 else 0o100666
    return struct.pack("=6Q10I", node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class Server:
    """@mute: a flush, and the attributes of an open file, are never answered. Else the flush is,
    but not the unlock at the last close, nor a write of the cache, which @caches."""

    def __init__(self, dev, mute, caches):
        self.dev, self.mute, self.locked = dev, mute, False
        self.flags = WRITEBACK_CACHE if caches else FLOCK_LOCKS

    def reply(self, unique, body=b"", error=0):
        os.write(self.dev, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)

    def body(self, op, node, data):
        """The answer: bytes, or an errno; None: none, for ever."""
        if op == INIT:
            return struct.pack("=4I2H2I2HI", 7, 31, 4096, self.flags, 16, 12, 4096, 1, 1, 0,
                               0) + bytes(28)
        if op == LOOKUP:
            return struct.pack("=4Q2I", 2, 1, 0, 0, 0, 0) + attr(2)
        if op == GETATTR and (node == 1 or not self.mute):
            return struct.pack("=QII", 0, 0, 0) + attr(node)
        if op == STATFS:                # an overlay needs it
            return struct.pack("=5Q4I6I", 1, 1, 1, 1, 1, 4096, 255, 4096, *[0] * 7)
        if op in (OPEN, OPENDIR):
            return struct.pack("=QII", 1, 0, 0)
        if op in (SETLK, SETLKW) and not self.locked:
            self.locked = True
            return b""
        if op == WRITE:
            return None
        if op in (GETATTR, FLUSH, RELEASE, SETLK, SETLKW) and (self.mute or op != FLUSH):
            return None
        return errno.ENOSYS

    def serve(self):
        while True:
            data = os.read(self.dev, 1 << 17)
            _, op, unique, node, *_ = IN.unpack_from(data)
            answer = None if op in NO_ANSWER else self.body(op, node, data)
            if isinstance(answer, int):
                self.reply(unique, error=answer)
            elif answer is not None:
                self.reply(unique, answer)


def check(result, what):
    if result:
        print(f"cannot {what}: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)


def mount(source, target, kind, flags, data):
    check(libc.mount(source.encode(), target.encode(), kind.encode() if kind else None, flags,
                     data.encode() if data else None), f"mount {kind}")


def new_namespace(uid):
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        libc.prctl(4, 1, 0, 0, 0)       # PR_SET_DUMPABLE: it owns its /proc files again
        check(libc.unshare(NEWUSER | NEWNS), "make a user namespace")
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                           ("gid_map", f"0 {uid} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    else:
        check(libc.unshare(NEWNS), "make a mount namespace")
    mount("none", "/", "", REC | PRIVATE, "")


def open_file(options, detached, flags):
    """The file on the mount; @detached: with a path that begins at the mount."""
    where = MOUNT
    if options == "overlay":
        mount("tmp", "/media", "tmpfs", 0, "")
        for name in ("upper", "work", "all"):
            os.mkdir(f"/media/{name}")
        mount("over", "/media/all", "overlay", 0,
              f"lowerdir={MOUNT},upperdir=/media/upper,workdir=/media/work")
        where = "/media/all"
    fd = os.open(f"{where}/{NAME}", flags)
    if detached:
        check(libc.umount2(MOUNT.encode(), DETACH), "detach the mount")
    return fd


def fill(p):
    """Sends until nobody has read a message for a while."""
    p.sock.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            p.send(peer.message(peer.wire.LIST))


def attack(path, kind, fd):
    """Sends @fd. Connections stay open, but for the kinds that close them."""
    p = peer.Peer(path)
    uuid = p.uuid()
    if kind == "hello":
        p.hello(uuid, [fd] * 3)
    elif kind == "files":
        p.hello(uuid)
        p.recv()
        p.send(peer.message(peer.FILES, peer.Files), [fd])
    elif kind == "list":
        p.send(peer.message(peer.wire.LIST), [fd] * 16)
    elif kind == "odd":
        p.send(b"garbage", [fd] * 200)
        p.send(b"", [fd])
    elif kind == "burst":
        # The daemon ends the connection when nobody reads the answers, now or after the close.
        # The rest of the queue goes with it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(20):
                p.send(peer.message(peer.wire.LIST))
                p.send(peer.message(peer.wire.LIST), [fd])
        p.close()
    elif kind == "lock":
        fcntl.flock(fd, fcntl.LOCK_SH)
        p.send(peer.message(peer.wire.LIST))
        p.send(peer.message(peer.wire.LIST), [fd])
        p.send(peer.message(peer.wire.LIST), [fd])
        os.close(fd)
        p.close()
    elif kind == "unread":
        # The daemon does not read a connection while its answers are unread. The last release
        # of any open file waits until the server has the cache.
        fill(p)
        p.sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20)
        p.send(peer.message(peer.wire.LIST), [fd])
        os.close(fd)
        os.write(os.open(f"{MOUNT}/{NAME}", os.O_RDWR), bytes(4096))
    return p


def main():
    path, uid, options, *kinds = sys.argv[1:]
    caches = "unread" in kinds
    new_namespace(int(uid))
    dev = os.open("/dev/fuse", os.O_RDWR)
    more = f",{options}" if options not in ("-", "overlay") else ""
    mount("fuse", MOUNT, "fuse", NOSUID | NODEV,
          f"fd={dev},rootmode=40000,user_id=0,group_id=0{more}")
    signal.alarm(LIFE_S)
    if os.fork():
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)      # PR_SET_PDEATHSIG
        Server(dev, "lock" not in kinds and not caches, caches).serve()
    os.close(dev)
    fd = open_file(options, "path" in kinds, os.O_RDWR if caches else os.O_RDONLY)
    keep = [attack(path, kind, fd) for kind in kinds]
    print("ready", flush=True)
    while keep:
        time.sleep(1000)


if __name__ == "__main__":
    main()
