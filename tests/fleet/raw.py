# SPDX-License-Identifier: GPL-2.0
#
# A client of NATS that sends whatever a hostile peer may send.
import json
import socket


class Raw:
    """A connection; `errors` are those of the server."""

    def __init__(self, port, user=None, password=None):
        self.socket = socket.create_connection(('127.0.0.1', port), 5)
        self.file = self.socket.makefile('rb')
        self.errors = []
        self.messages = []
        self.file.readline()
        options = {'verbose': False, 'pedantic': False, 'headers': True, 'no_responders': True}
        if user:
            options |= {'user': user, 'pass': password}
        self.send(b'CONNECT ' + json.dumps(options).encode() + b'\r\n')
        self.flush()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.errors.append(str(error))

    def flush(self):
        """Wait until the server has handled everything."""
        self.send(b'PING\r\n')
        try:
            while line := self.file.readline():
                if line.startswith(b'PONG'):
                    return
                if line.startswith(b'-ERR'):
                    self.errors.append(line.decode().strip())
                elif line.startswith(b'MSG'):
                    words = line.split()
                    self.messages.append((words[1].decode(),
                                          self.file.read(int(words[-1]) + 2)[:-2]))
                elif line.startswith(b'PING'):
                    self.send(b'PONG\r\n')
        except OSError as error:
            self.errors.append(str(error))

    def publish(self, subject, data=b'', headers=None, reply=''):
        if isinstance(data, str):
            data = data.encode()
        head = b'NATS/1.0\r\n' + b''.join(f'{k}: {v}\r\n'.encode()
                                          for k, v in (headers or {}).items()) + b'\r\n'
        self.send(f'HPUB {subject} {reply} {len(head)} {len(head) + len(data)}\r\n'.encode() +
                  head + data + b'\r\n')

    def subscribe(self, subject):
        self.send(f'SUB {subject} 1\r\n'.encode())
        self.flush()

    def close(self):
        self.file.close()
        self.socket.close()
