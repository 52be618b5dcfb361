# SPDX-License-Identifier: GPL-2.0
#
# What the tests of fleet share: a server, an agent, a proxy between them, and captures.
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

PROGRAM = os.environ.get('KERNLENS_FLEET', 'build/kernlens-fleet')
BLOCK = 65536


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return bool(what())


class Server:
    """nats-server with JetStream, that can be killed and started again."""

    def __init__(self, work, port=None, extra='', limit='2G'):
        self.port = port or free_port()
        self.config = work / 'server.conf'
        self.log = open(work / 'server.log', 'ab')
        self.config.write_text(f'listen: 127.0.0.1:{self.port}\n'
                               f'jetstream {{ store_dir: "{work}/store", max_file_store: {limit} }}\n'
                               + extra)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(['nats-server', '-c', self.config], stdout=self.log,
                                        stderr=self.log)

        def accepts():
            with socket.socket() as s:
                return not s.connect_ex(('127.0.0.1', self.port))
        if not wait_for(accepts):
            raise RuntimeError('the server does not start')

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def url(self):
        return f'nats://127.0.0.1:{self.port}'


class Proxy:
    """Forwards connections to a port; cuts them, holds them up, or lets few bytes through."""

    def __init__(self, to):
        self.to = to
        self.rate = 0  # bytes a second; 0: as fast as they come
        self.held = False
        self.passed = 0  # bytes
        self.pairs = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f'nats://127.0.0.1:{self.port}'

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(('127.0.0.1', self.to), 1)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self.lock:
                self.pairs.append((client, server))
            threading.Thread(target=self.forward, args=(client, server), daemon=True).start()

    def forward(self, client, server):
        others = {client: server, server: client}
        try:
            while True:
                for end in select.select([client, server], [], [], 1)[0]:
                    data = end.recv(16384)
                    while self.held:
                        time.sleep(0.01)
                    if not data:
                        return
                    others[end].sendall(data)
                    self.passed += len(data)
                    if self.rate:
                        time.sleep(len(data) / self.rate)
        except (OSError, ValueError):
            pass
        finally:
            for end in others:
                end.close()

    def cut(self):
        """Cut all connections where they are, in the middle of a message too."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Agent:
    """kernlens-fleet agent with a spool, without a recorder."""

    def __init__(self, url, spool, host, *options):
        self.words = [PROGRAM, 'agent', '--server', url, '--spool', spool, '--host', host, *options]
        self.spool = spool
        self.log = open(spool.parent / 'agent.log', 'ab')
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def is_done(self):
        return not list(self.spool.glob('*.ready'))

    def said(self):
        return (self.spool.parent / 'agent.log').read_text(errors='replace')


def packet(rng, uuid, cpu, seq, size=BLOCK):
    """A packet as recorded: a header with its size, records, and zeros after them."""
    used = rng.randrange(200, size + 1)
    head = struct.pack('<I16sI', 0xC1FC1FC1, uuid, 0)
    head += struct.pack('<QQQQQQQQIIII', seq, seq + 1, used * 8, size * 8, seq, 0, seq, used, 1,
                        cpu, 1, 104)
    body = (head + rng.randbytes(used))[:used]
    return body + bytes(size - used)


def make_capture(spool, name, rng, packets, cpus=2):
    """Put a capture into the spool in one step. Returns a copy of its trace."""
    new = spool.parent / 'new' / name
    trace = new / 'trace'
    (trace / '.kernlens').mkdir(parents=True)
    uuid = rng.randbytes(16)
    (trace / 'metadata').write_bytes(rng.randbytes(rng.randrange(100, 200000)))
    (trace / '.kernlens/manifest').write_bytes(rng.randbytes(96 * packets))
    if rng.random() < 0.3:
        (trace / '.kernlens/stacks').write_bytes(b'')
    for cpu in range(cpus):
        with open(trace / f'cpu{cpu}', 'wb') as file:
            for seq in range(packets):
                file.write(packet(rng, uuid, cpu, seq))
    (new / 'about.json').write_text(json.dumps({'reason': f'test {name}', 'frozen_ns': time.time_ns()}))
    copy = spool.parent / 'originals' / name
    shutil.copytree(trace, copy)
    new.rename(spool / f'{name}.ready')
    return copy


def client(what, url, *options, timeout=120):
    done = subprocess.run([PROGRAM, what, '--server', url, *options], capture_output=True,
                          text=True, timeout=timeout, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, rows, done.stderr


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob('*') if p.is_file()}


def is_equal(one, other):
    return files_of(one) == files_of(other)


def fresh(path):
    path = pathlib.Path(path)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


__all__ = ['Agent', 'Proxy', 'Server', 'Tap', 'client', 'files_of', 'free_port', 'fresh', 'is_equal',
           'make_capture', 'random', 'signal', 'wait_for']
