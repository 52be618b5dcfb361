#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# hostile.py WORK: what a host that has been taken over can send, and who may publish what with the
# example of a server's configuration.
import json
import os
import re
import subprocess
import sys
import zlib

from fleet import PROGRAM, Agent, Server, Tap, client, fresh, is_equal, make_capture, random, wait_for
from raw import Raw

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(HERE, '../../packaging/nats/kernlens.conf')


def head(capture, files, host='evil', run='r1', **more):
    return json.dumps({'version': 1, 'host': host, 'boot': 'b', 'capture': capture, 'run': run,
                       'about': {'reason': 'x'}, 'files': files} | more)


def one(name='cpu0', data=b'', pieces=1, size=None, crc=None):
    return {'name': name, 'bytes': len(data) if size is None else size, 'pieces': pieces,
            'crc': zlib.crc32(data) if crc is None else crc}


def piece(file=0, number=0, at=0, size=4, run='r1'):
    return {'Kl-Run': run, 'Kl-File': file, 'Kl-Piece': number, 'Kl-At': at, 'Kl-Bytes': size}


def heads():
    """Heads that must be refused, by name."""
    good = [one(data=b'abcd')]
    names = ['../../etc/passwd', '/etc/passwd', 'cpu0/../x', '', '.kernlens', 'cpu', 'cpu00', 'cpu123456',
             'cpu1.klz', 'a' * 5000, 'metadata\n', '.kernlens/../cpu1', 'cpu-1', 'cpu0\u0000x']
    for i, name in enumerate(names):
        yield f'name{i}', head(f'name{i}', [one(name, b'abcd')])
    yield 'twins', head('twins', good + good)
    yield 'nofiles', head('nofiles', [])
    yield 'manyfiles', head('manyfiles', [one(f'cpu{i}', b'abcd') for i in range(4300)])
    yield 'huge', head('huge', [one(size=1 << 62, pieces=1)])
    yield 'pieces', head('pieces', [one(size=1 << 40, pieces=1 << 31)])
    yield 'sum', head('sum', [one(f'cpu{i}', size=1 << 22, pieces=1 << 22) for i in range(4)])
    yield 'nopieces', head('nopieces', [one(data=b'abcd', pieces=0)])
    yield 'negative', head('negative', [one(size=-5)])
    yield 'version', head('version', good, version=2)
    yield 'other', head('another', good)
    yield 'about', head('about', good, about='no object')
    yield 'run', head('run', good, run='../x')
    yield 'text', 'not JSON at all'
    yield 'deep', '[' * 100000
    yield 'empty', ''
    yield 'victim', head('victim', good, host='victim')


def hostile_heads(tap, server, raw, work):
    all_heads = dict(heads())
    for name, text in all_heads.items():
        raw.publish(f'kernlens.trace.evil.{name}.head', text)
        raw.publish(f'kernlens.trace.evil.{name}.data', b'abcd', piece())
    raw.flush()
    status, rows, said = client('ls', server.url)
    tap.check(status == 0 and not rows, f'none of {len(all_heads)} hostile heads is listed', rows)
    bad = []
    for name in all_heads:
        status, rows, said = client('get', server.url, '--host', 'evil', '--capture', name,
                                    '--output', work / 'got')
        if status != 1 or (work / 'got').exists():
            bad.append((name, status, said))
    tap.check(not bad, 'none is fetched, and nothing is left', bad)
    status, _, said = client('get', server.url, '--host', 'victim', '--capture', 'victim', '--output',
                             work / 'got')
    tap.check(status == 1, "one's head cannot be another's capture", said)


def hostile_pieces(tap, server, raw, work):
    data = bytes(range(1, 9))
    raw.publish('kernlens.trace.evil.ok.head', head('ok', [one('metadata', b'mmmm'),
                                                         one('cpu0', data, 2)]))
    subject = 'kernlens.trace.evil.ok.data'
    for headers in [piece(run='r2'), piece(file=2), piece(file=-1), piece(file='x'), piece(number=7),
                    piece(1, at=6), piece(1, at=1 << 60), piece(1, size=0), piece(1, size=1 << 40),
                    piece(1, size=2), {}, {'Kl-Run': 'r1'}, piece('0' * 30), piece(1, at='0x1'),
                    piece(1, at='1 2'), piece('99999999999999999999')]:
        raw.publish(subject, b'EVIL', headers)
    raw.publish(subject, b'mmmm', piece(0))
    for _ in range(3):
        raw.publish(subject, data[4:], piece(1, 1, 4))
        raw.publish(subject, data[:4], piece(1, 0, 0))
        raw.publish(subject, b'EVIL', piece(1, 0, 0))
    raw.flush()
    status, rows, said = client('get', server.url, '--host', 'evil', '--capture', 'ok', '--output',
                                work / 'got')
    tap.check(status == 0 and (work / 'got/cpu0').read_bytes() == data, 'pieces out of place are left out', said)
    tap.check(rows and rows[0]['foreign'] == 16 and rows[0]['pieces'] == 3, 'and counted', rows)
    fresh(work / 'got').rmdir()

    raw.publish('kernlens.trace.evil.twice.head', head('twice', [one('cpu0', data + data, 4)]))
    subject = 'kernlens.trace.evil.twice.data'
    for i in [3, 1, 1, 3, 0]:
        raw.publish(subject, data[i % 2 * 4:i % 2 * 4 + 4], piece(0, i, 4 * i))
    raw.flush()
    status, _, said = client('get', server.url, '--host', 'evil', '--capture', 'twice', '--output',
                             work / 'got')
    tap.check(status == 3 and not (work / 'got').exists(), 'an incomplete one is not fetched', said)
    status, rows, said = client('get', server.url, '--host', 'evil', '--capture', 'twice', '--output',
                                work / 'got', '--partial')
    tap.check(rows and rows[0]['missing'] == 1 and rows[0]['twice'] == 2 and
              (work / 'got/cpu0').read_bytes() == data[:4] + data[4:] + data[4:],
              'with --partial, what came follows each other, each once', rows, said)
    fresh(work / 'got').rmdir()

    raw.publish('kernlens.trace.evil.crc.head', head('crc', [one('cpu0', data, 1, crc=5)]))
    raw.publish('kernlens.trace.evil.crc.data', data, piece(0, size=8))
    raw.publish('kernlens.trace.evil.over.head', head('over', [one('cpu0', data, 2)]))
    raw.publish('kernlens.trace.evil.over.data', data[:6], piece(0, 0, 0, 6))
    raw.publish('kernlens.trace.evil.over.data', data[:6], piece(0, 1, 0, 6))
    raw.flush()
    for name in ['crc', 'over']:
        status, _, said = client('get', server.url, '--host', 'evil', '--capture', name, '--output',
                                 work / 'got')
        tap.check(status == 3 and not (work / 'got').exists(), f'a wrong checksum or sizes: {name}', said)
    size = 1 << 33
    raw.publish('kernlens.trace.evil.big.head', head('big', [one('cpu0', size=size, pieces=1 << 20)]))
    raw.flush()
    status, _, said = client('get', server.url, '--host', 'evil', '--capture', 'big', '--output',
                             work / 'got')
    tap.check(status == 1 and 'max-size' in said, 'one that claims 8 GiB is refused', said)
    (work / 'there').mkdir()
    status, _, said = client('get', server.url, '--host', 'evil', '--capture', 'ok', '--output',
                             work / 'there')
    tap.check(status == 1 and (work / 'there').exists(), 'a directory that exists stays', said)


def hostile_requests(tap, server, raw, work):
    spool = fresh(work / 'spool')
    agent = Agent(server.url, spool, 'one')
    raw.subscribe('answers')
    wait_for(lambda: client('status', server.url, '--host', 'one', '--wait', '300')[1])
    for text in ['', 'x', '[]', '[' * 3000, '{"hosts": 5}', '{"hosts": "*"}',
                 '{"hosts": "*", "capture": "../x"}', '{"hosts": "*", "capture": "' + 'a' * 100 + '"}',
                 '{"hosts": "' + '*' * 3000 + '", "capture": "a"}', '{"hosts": "one"' + ' ' * 5000 + '}',
                 '{"hosts": "' + '[' * 400 + '", "capture": "a"}', '\x00' * 50]:
        for subject in ['kernlens.freeze', 'kernlens.status', 'kernlens.alarm.evil', 'kernlens.alarm.one']:
            raw.publish(subject, text, reply='answers')
    raw.publish('kernlens.freeze', b'{' * (900 << 10), reply='answers')
    raw.flush()
    good = wait_for(lambda: client('status', server.url, '--host', 'one', '--wait', '300')[1])
    raw.flush()
    tap.check(good and agent.process.poll() is None, 'the agent survives hostile requests')
    tap.check(raw.messages and all(b'refused' in text for _, text in raw.messages),
              'those that are for it are refused', raw.messages)
    agent.kill()
    status, rows, _ = client('status', server.url, '--host', '*', '--wait', '300')
    tap.check(not rows, 'nothing answers when it has ended', rows)
    raw.publish('kernlens.trace.evil.x.head', b'x' * (2 << 20))
    raw.flush()
    tap.check(any('Maximum Payload' in text for text in raw.errors), 'an oversized message is refused',
              raw.errors)


def may_not(tap, port, who, subject, text):
    raw = Raw(port, who, 'secret-' + who)
    raw.publish(subject, b'x')
    raw.flush()
    tap.check(any('Permissions Violation' in error for error in raw.errors), text, raw.errors)
    raw.close()


def permissions(tap, work):
    """The example, without TLS and with users that have passwords."""
    text = open(CONFIG).read()
    text = re.sub(r'(?s)# TLS begin.*?# TLS end\n', '', text)
    text = re.sub(r'listen: \S+', '', text)
    text = re.sub(r'store_dir: \S+', f'store_dir: "{work}/store"', text)
    text = re.sub(r'max_file_store: \S+', 'max_file_store: 500M', text)
    for who in ['web1', 'db1', 'operator']:
        text = re.sub(rf'(user: {who},\s*password: )"[^"]*"', rf'\1"secret-{who}"', text)
    server = Server(work)
    server.kill()
    server.config.write_text(f'listen: 127.0.0.1:{server.port}\n{text}')
    server.start()
    for who in ['web1', 'db1', 'operator']:
        (work / who).write_text(f'{who}:secret-{who}\n')
        (work / who).chmod(0o600)
    operator = ['--login-file', work / 'operator']
    status, _, said = client('create', server.url, *operator)
    tap.check(status == 0, 'the operator of the example creates the stream', said)
    spool = fresh(work / 'spool')
    original = make_capture(spool, 'c1', random.Random(1), 20)
    agent = Agent(server.url, spool, 'web1', '--login-file', work / 'web1')
    tap.check(wait_for(agent.is_done), 'a host sends a capture', agent.said())
    status, _, said = client('get', server.url, *operator, '--host', 'web1', '--capture', 'c1', '--output',
                             work / 'got')
    tap.check(status == 0 and is_equal(work / 'got', original), 'the operator fetches it', said)
    status, rows, said = client('status', server.url, *operator, '--host', '*', '--wait', '500')
    tap.check([row['host'] for row in rows] == ['web1'], 'and asks the host, which answers', rows, said)
    for subject in ['kernlens.trace.db1.c2.head', 'kernlens.trace.db1.c2.data', 'kernlens.alarm.db1',
                    'kernlens.freeze', 'kernlens.inbox.db1.x.1', '$JS.API.STREAM.PURGE.KERNLENS',
                    '$JS.API.STREAM.DELETE.KERNLENS', '$JS.API.STREAM.MSG.GET.KERNLENS']:
        may_not(tap, server.port, 'web1', subject, f'a host cannot publish on {subject}')
    raw = Raw(server.port, 'web1', 'secret-web1')
    for subject in ['kernlens.trace.>', 'kernlens.inbox.db1.>', '>', '_INBOX.>']:
        raw.subscribe(subject)
    tap.check(len(raw.errors) == 4, "it cannot listen to others' messages", raw.errors)
    raw.close()
    spool2 = fresh(work / 'second' / 'spool')
    make_capture(spool2, 'c9', random.Random(2), 3)
    liar = Agent(server.url, spool2, 'db1', '--login-file', work / 'web1')
    wait_for(lambda: 'Permissions Violation' in liar.said(), 10)
    rows = client('ls', server.url, *operator)[1]
    tap.check([row['host'] for row in rows] == ['web1'] and list(spool2.glob('c9.ready')),
              "an agent with another host's name sends nothing, and keeps its capture", rows)
    tap.check('Permissions Violation' in liar.said(), 'and says why', liar.said())
    liar.kill()
    (work / 'wrong').write_text('web1:wrong\n')
    (work / 'wrong').chmod(0o600)
    status, _, said = client('ls', server.url, '--login-file', work / 'wrong')
    tap.check(status == 1 and 'Authentication' in said, 'a wrong password', said)
    status, _, said = client('ls', server.url)
    tap.check(status == 1, 'no password', said)
    (work / 'wrong').chmod(0o644)
    status, _, said = client('ls', server.url, '--login-file', work / 'wrong')
    tap.check(status == 1 and 'other users' in said, 'a file of a password that others can read', said)
    agent.kill()
    server.kill()


def main():
    work, tap = fresh(sys.argv[1]), Tap()
    server = Server(work)
    client('create', server.url)
    raw = Raw(server.port)
    hostile_heads(tap, server, raw, work)
    hostile_pieces(tap, server, raw, work)
    hostile_requests(tap, server, raw, work)
    server.kill()
    permissions(tap, fresh(work / 'permissions'))
    return tap.end()


sys.exit(main())
