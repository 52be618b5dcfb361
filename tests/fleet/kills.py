#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# kills.py WORK [NUMBER [SEED]]: kills the agent and the server and cuts their connection NUMBER times
# at random, while captures come into the spool. Then every capture is on the server, listed once, and
# has equal bytes.
import sys
import time

from fleet import (Agent, Proxy, Server, Tap, client, fresh, is_equal, make_capture, random,
                   wait_for)


def disturb(rng, server, proxy, agent, counts):
    kind = rng.choice(['agent', 'agent', 'server', 'cut', 'cut', 'hold', 'slow'])
    counts[kind] = counts.get(kind, 0) + 1
    if kind == 'agent':
        agent.kill()
        agent.start()
    elif kind == 'server':
        server.kill()
        time.sleep(rng.choice([0, 0, 0.1, 0.4]))
        server.start()
    elif kind == 'cut':
        proxy.cut()
    elif kind == 'hold':
        proxy.held = True
        time.sleep(rng.random() * 0.3)
        proxy.held = False
    else:
        proxy.rate = 0 if proxy.rate else 20000000


def main():
    work = fresh(sys.argv[1])
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng, tap, counts = random.Random(seed), Tap(), {}
    spool = fresh(work / 'spool')
    server = Server(work)
    proxy = Proxy(server.port)
    tap.check(client('create', server.url)[0] == 0, 'the stream is created')
    agent = Agent(proxy.url, spool, 'one')
    originals, got = {}, []

    for i in range(number):
        if len(list(spool.glob('*.ready'))) < 3:
            name = f'c{len(originals):05}'
            originals[name] = make_capture(spool, name, rng, rng.randrange(1, 120))
        time.sleep(rng.random() * rng.choice([0.02, 0.1, 0.3]))
        disturb(rng, server, proxy, agent, counts)
        # A reader in the middle of it, too.
        if i % 20 == 10 and not proxy.rate:
            got.append(client('ls', server.url)[0])
    proxy.rate = 0
    print(f'# seed {seed}: {counts}, {len(originals)} captures', flush=True)
    tap.check(wait_for(agent.is_done, 120), 'the spool becomes empty', list(spool.iterdir()))
    tap.check(wait_for(lambda: not list(spool.iterdir()), 30), 'nothing is left in it', list(spool.iterdir()))
    tap.check(not any(got), f'{len(got)} lists were read in the meantime', got)

    status, rows, said = client('ls', server.url)
    names = sorted(row['capture'] for row in rows)
    tap.check(status == 0 and names == sorted(originals), 'each capture is listed, once', said,
              set(originals) ^ set(names))
    tap.check(all(row['whole'] for row in rows), 'each is whole',
              [row['capture'] for row in rows if not row['whole']])
    bad, pieces, twice = [], 0, 0
    for name, original in originals.items():
        to = work / 'got'
        status, rows, said = client('get', server.url, '--host', 'one', '--capture', name,
                                    '--output', to)
        if status or not is_equal(to, original):
            bad.append((name, status, said))
        else:
            pieces += rows[0]['pieces']
            twice += rows[0]['twice']
        fresh(to).rmdir()
    tap.check(not bad, f'each has equal bytes: {pieces} packets and parts taken once', bad)
    tap.check(agent.process.poll() is None, 'the agent runs')
    print(f'# {twice} messages were stored twice and taken once; '
          f"agent: {agent.said().count('does not store')} refusals")
    agent.kill()
    server.kill()
    return tap.end()


sys.exit(main())
