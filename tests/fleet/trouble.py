#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# trouble.py WORK: a server that is away, full, or accepts too little, a disk that is full, and a slow
# reader. Captures stay in the spool until they are stored, and arrive with equal bytes.
import ctypes
import os
import sys
import threading
import time

from fleet import Agent, Proxy, Server, Tap, client, fresh, is_equal, make_capture, random, wait_for


def arrives(server, name, original, work, *options):
    to = work / 'got'
    status, rows, said = client('get', server.url, '--host', 'one', '--capture', name, '--output', to,
                                *options)
    good = not status and is_equal(to, original)
    if to.exists():
        fresh(to).rmdir()
    return good, rows, said


def full_server(tap, work):
    server = Server(work)
    spool = fresh(work / 'spool')
    original = make_capture(spool, 'c1', random.Random(1), 60)
    agent = Agent(server.url, spool, 'one')
    tap.check(wait_for(lambda: 'no stream' in agent.said()), 'without a stream, the agent says so',
              agent.said())
    client('create', server.url, '--max-size', '1000000')
    tap.check(wait_for(lambda: 'maximum bytes' in agent.said()), 'a stream that is full', agent.said())
    time.sleep(2)
    tap.check(not agent.is_done() and agent.said().count('maximum bytes') == 1,
              'the capture stays, and it is said once', agent.said())
    status, rows, said = client('get', server.url, '--host', 'one', '--capture', 'c1', '--output',
                                work / 'part', '--partial')
    tap.check(status == 3 and rows[0]['missing'] > 0 and (work / 'part/cpu0').exists(),
              'a part can be fetched', rows, said)
    client('create', server.url, '--max-size', '100000000')
    tap.check(wait_for(agent.is_done, 40), 'it is sent when there is room')
    tap.check(*[arrives(server, 'c1', original, work)[0], 'and has equal bytes'])
    agent.kill()
    server.kill()


def small_payload(tap, work):
    server = Server(work, extra='max_payload: 65536\n')
    client('create', server.url)
    spool = fresh(work / 'spool')
    original = make_capture(spool, 'c1', random.Random(2), 5)
    agent = Agent(server.url, spool, 'one')
    time.sleep(2)
    tap.check(not agent.is_done(), 'a server that accepts less than a packet gets nothing')
    server.kill()
    server.config.write_text(server.config.read_text().replace('65536', '1048576'))
    server.start()
    tap.check(wait_for(agent.is_done, 40), 'and all when it is configured')
    tap.check(arrives(server, 'c1', original, work)[0], 'with equal bytes')
    agent.kill()
    server.kill()


def server_away(tap, work):
    server = Server(work)
    client('create', server.url)
    server.kill()
    spool = fresh(work / 'spool')
    originals = {f'c{i}': make_capture(spool, f'c{i}', random.Random(i), 20) for i in range(5)}
    agent = Agent(server.url, spool, 'one')
    time.sleep(1)
    agent.kill()
    agent.start()
    time.sleep(1)
    tap.check(len(list(spool.glob('*.ready'))) == 5, 'without a server, captures wait')
    server.start()
    tap.check(wait_for(agent.is_done, 30), 'and are sent when there is one')
    tap.check(all(arrives(server, name, original, work)[0] for name, original in originals.items()),
              'with equal bytes')
    status, rows, _ = client('ls', server.url)
    client('rm', server.url, '--host', 'one', '--capture', 'c2')
    left = [row['capture'] for row in client('ls', server.url)[1]]
    tap.check(len(rows) == 5 and sorted(left) == ['c0', 'c1', 'c3', 'c4'], 'one is removed', left)
    agent.kill()
    server.kill()


def slow_reader(tap, work):
    server = Server(work)
    client('create', server.url)
    proxy = Proxy(server.port)
    spool = fresh(work / 'spool')
    original = make_capture(spool, 'c1', random.Random(3), 300)
    agent = Agent(server.url, spool, 'one')
    tap.check(wait_for(agent.is_done, 60), 'a capture of 40 MB is sent')
    proxy.rate = 15000000
    ended = threading.Event()

    def cut():
        passed = proxy.passed
        while not ended.wait(0.9):
            # On a busy machine, not before the reader has received anything.
            if proxy.passed - passed > 2 << 20:
                proxy.cut()
                passed = proxy.passed
    thread = threading.Thread(target=cut)
    thread.start()

    class Slow:
        url = proxy.url
    good, rows, said = arrives(Slow, 'c1', original, work)
    ended.set()
    thread.join()
    tap.check(good, 'a reader that is slow, and whose connection is cut again and again', said)
    tap.check(rows and rows[0]['resumed'] > 1, f"has begun anew {rows and rows[0]['resumed']} times", rows)
    server.kill()
    agent.kill()


def full_disk(tap, work):
    """The spool's disk has no room for the agent's own files, and the reader's none for the trace."""
    libc = ctypes.CDLL(None, use_errno=True)
    disk = fresh(work / 'disk')
    if os.geteuid() or libc.unshare(0x20000) or \
            libc.mount(b'none', b'/', None, 0x44000, None) or \
            libc.mount(b'tmpfs', os.fsencode(disk), b'tmpfs', 0, b'size=6m'):
        print('# no tmpfs can be mounted here: not tested', flush=True)
        return
    server = Server(work)
    client('create', server.url)
    spool = fresh(disk / 'spool')
    original = make_capture(disk / 'spool', 'c1', random.Random(4), 20)
    fresh(work / 'kept').rmdir()
    os.system(f'cp -r {original} {work}/kept; rm -r {disk}/originals; '
              f'cat /dev/zero >{disk}/rest 2>/dev/null')
    agent = Agent(server.url, spool, 'one') if not (disk / 'agent.log').exists() else None
    tap.check(wait_for(agent.is_done, 30), "on a full disk, the agent's own files are not needed")
    tap.check(arrives(server, 'c1', work / 'kept', work)[0], 'and the bytes are equal')
    (disk / 'rest').unlink()
    os.system(f'head -c 5700000 /dev/zero >{disk}/rest')
    status, _, said = client('get', server.url, '--host', 'one', '--capture', 'c1', '--output',
                             disk / 'got')
    tap.check(status == 1 and 'No space' in said and not (disk / 'got').exists(),
              'a reader whose disk is full says so, and leaves nothing', said)
    agent.kill()
    server.kill()


def main():
    work, tap = fresh(sys.argv[1]), Tap()
    server_away(tap, fresh(work / 'away'))
    full_server(tap, fresh(work / 'full'))
    small_payload(tap, fresh(work / 'small'))
    slow_reader(tap, fresh(work / 'slow'))
    full_disk(tap, fresh(work / 'disk'))
    return tap.end()


sys.exit(main())
