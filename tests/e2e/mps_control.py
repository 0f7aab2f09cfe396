#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for nvidia-cuda-mps-control: its commands, as far as a pool's keeper uses them, and its
server, which is GP_SERVER, a program with work on the software GPU. With CUDA_MPS_PIPE_DIRECTORY
each control daemon is another. "client" as an argument is a client of MPS, not a part of it: it
reports its server, and obeys standard input.

As MPS does, the daemon starts a server for its first client; after a fault of one client all get
an error, and new ones wait until these have ended."""
import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

PIPES = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
CONTROL = os.path.join(PIPES, "control")


class Daemon:
    def __init__(self):
        self.server = None
        self.fault = False
        self.clients = {}       # connection -> PID
        self.waiting = []       # connections and PIDs, during a fault
        self.running = True
        self.select = selectors.DefaultSelector()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(CONTROL)
        self.socket.listen()
        self.select.register(self.socket, selectors.EVENT_READ)

    def run(self):
        while self.running:
            for key, _ in self.select.select(0.05):
                if key.fileobj is self.socket:
                    self.select.register(self.socket.accept()[0], selectors.EVENT_READ)
                else:
                    self.read(key.fileobj)
            if self.server and self.server.poll() is not None:
                self.end_server()
            if self.fault and not self.clients:
                self.fault = False
                waiting, self.waiting = self.waiting, []
                for peer, pid in waiting:
                    self.enter(peer, pid)
        self.end_server()

    def read(self, peer):
        if peer.fileno() < 0:   # closed since
            return
        data = b""
        with contextlib.suppress(OSError):
            data = peer.recv(4096)
        if not data:
            self.select.unregister(peer)
            self.clients.pop(peer, None)
            peer.close()
            return
        what, *words = data.decode().split()
        if what == "client":
            self.enter(peer, int(words[0]))
        elif what == "fault":
            self.fault = True
            for one in self.clients:
                self.tell(one, "error")
        else:
            self.tell(peer, self.command(what, words))
            self.select.unregister(peer)
            peer.close()

    @staticmethod
    def tell(peer, text):
        with contextlib.suppress(OSError):
            peer.sendall(f"{text}\n".encode())

    def enter(self, peer, pid):
        if self.fault:
            self.waiting.append((peer, pid))
            return
        if not self.server:
            log = open(os.path.join(os.environ["CUDA_MPS_LOG_DIRECTORY"], "server.log"), "a")
            self.server = subprocess.Popen([os.environ["GP_SERVER"], "--iters=100000", "--blocks=2"],
                                           stdin=subprocess.PIPE, stdout=log, stderr=log)
        self.clients[peer] = pid
        self.tell(peer, f"server {self.server.pid}")

    def end_server(self):
        if self.server:
            self.server.kill()
            self.server.wait()
        self.server = None
        for peer in list(self.clients):
            self.select.unregister(peer)
            peer.close()
        self.clients = {}

    def command(self, what, words):
        server = self.server.pid if self.server else None
        if what == "get_server_list":
            return str(server or "")
        if what == "quit":
            self.running = False
            return ""
        if not words or int(words[0]) != server:
            return f"Server {words} not found"
        if what == "get_server_status":
            return "FAULT" if self.fault else "ACTIVE"
        if what == "get_client_list":
            return "\n".join(map(str, self.clients.values()))
        if what == "shutdown_server":
            self.end_server()
            return ""
        return f"Unknown command: {what}"


def connect():
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(CONTROL)
    return peer


def client():
    """Ends with its server, or with an error; "stubborn" makes it ignore that."""
    stubborn = False
    peer = connect()
    peer.sendall(f"client {os.getpid()}\n".encode())
    print(peer.recv(4096).decode().split()[1],
          os.environ.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "-"), flush=True)
    with selectors.DefaultSelector() as select:
        select.register(peer, selectors.EVENT_READ)
        select.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in select.select():
                if key.fileobj is peer:
                    data = peer.recv(4096)
                    if not data or not stubborn:
                        return 1
                    continue
                words = os.read(0, 4096).decode().split()
                if not words:
                    return 0
                stubborn |= "stubborn" in words
                if "fault" in words:
                    peer.sendall(b"fault\n")


def call_itself(name):
    """The kernel's name of a Python program is python3."""
    with open("/proc/self/comm", "w") as f:
        f.write(name)


def main():
    if sys.argv[1:] == ["client"]:
        call_itself("client")
        return client()
    if sys.argv[1:] == ["-d"]:
        if os.environ.get("GP_MPS_FAILS"):
            print("An instance of this daemon is already running", file=sys.stderr)
            return 1
        daemon = Daemon()
        call_itself("nvidia-cuda-mps-control")
        pid = os.fork()
        if pid:
            with open(os.path.join(PIPES, "nvidia-cuda-mps-control.pid"), "w") as f:
                f.write(f"{pid}\n")
            return 0
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        daemon.run()
        return 0
    try:
        peer = connect()
    except OSError:
        print("Cannot find MPS control daemon process")
        return 1
    peer.sendall(sys.stdin.readline().encode())
    peer.settimeout(60)
    print(peer.makefile().read().strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
