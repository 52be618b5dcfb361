# SPDX-License-Identifier: GPL-2.0
#
# fleet.py WORK HOSTS...: starts the servers for each number of hosts, and simulates these; see
# bench/fleet, which has written WORK/figures.
import asyncio
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/fleet'))
import fleet  # noqa: E402

SCRAPE_S = 5  # interval
SETTLE_S = 20
MEASURE_S = 60
PACKETS = 24  # of 64 KiB, half of it used on average, of each of two CPUs
TICKS = os.sysconf('SC_CLK_TCK')


def cpu_s(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid):
    text = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(re.search(r'VmRSS:\s+(\d+)', text).group(1)) / 1024


def disk_mb(path):
    return sum(f.stat().st_blocks * 512 for f in path.rglob('*') if f.is_file()) / 1e6


class Figures:
    """The figures of a host: counters grow, and other values move by up to a tenth."""

    def __init__(self, text):
        self.rows = []
        kinds = {}
        for line in text.splitlines():
            if line.startswith('# TYPE '):
                kinds[line.split()[2]] = line.split()[3]
            if line.startswith('#') or not line:
                self.rows.append((line, None, False))
                continue
            name, value = line.rsplit(' ', 1)
            family = re.match(r'[^{ ]*', name).group(0)
            base = re.sub(r'_(bucket|count|sum)$', '', family)
            grows = kinds.get(family) == 'counter' or kinds.get(base) == 'histogram'
            self.rows.append((name, float(value), grows))
        self.n = sum(value is not None for _, value, _ in self.rows)

    def text(self, rng, n):
        """After scrape number n."""
        out = []
        for name, value, grows in self.rows:
            if value is None:
                out.append(name)
            elif grows:
                out.append(f'{name} {value + n * max(1, int(value / 1000)) + rng.random():.3f}')
            else:
                out.append(f'{name} {value * (0.9 + rng.random() / 5):.0f}')
        return '\n'.join(out) + '\n'


class Hosts:
    """Answers the requests of Prometheus: the path is the host."""

    def __init__(self, figures):
        self.figures = figures
        self.counts = {}
        self.port = None
        self.ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        self.ready.wait()

    async def serve(self):
        server = await asyncio.start_server(self.answer, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def answer(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b'\r\n\r\n')
                host = head.split(b' ', 2)[1].decode()
                n = self.counts[host] = self.counts.get(host, 0) + 1
                body = self.figures.text(random.Random(f'{host} {n}'), n).encode()
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n'
                             b'Content-Length: %d\r\n\r\n' % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def prometheus(work, hosts, n):
    port = fleet.free_port()
    targets = '\n'.join(f"""  - job_name: host{i}
    metrics_path: /host{i}
    static_configs: [{{ targets: ['127.0.0.1:{hosts.port}'], labels: {{ instance: host{i} }} }}]"""
                        for i in range(n))
    (work / 'prometheus.yml').write_text(
        f'global: {{ scrape_interval: {SCRAPE_S}s, scrape_timeout: {SCRAPE_S}s }}\n'
        f'scrape_configs:\n{targets}\n')
    process = subprocess.Popen(
        ['prometheus', '--config.file', work / 'prometheus.yml', '--storage.tsdb.path', work / 'tsdb',
         '--web.listen-address', f'127.0.0.1:{port}'],
        stdout=subprocess.DEVNULL, stderr=open(work / 'prometheus.log', 'ab'))

    def query(text):
        url = f'http://127.0.0.1:{port}/api/v1/query?query={text}'
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)['data']['result']
        return float(result[0]['value'][1]) if result else 0

    return process, query


def measure_prometheus(work, figures, n):
    work = fleet.fresh(work / 'prometheus')
    process, query = prometheus(work, Hosts(figures), n)
    try:
        time.sleep(SETTLE_S)
        up = query('sum(up)')
        cpu, disk, begin = cpu_s(process.pid), disk_mb(work / 'tsdb'), time.monotonic()
        time.sleep(MEASURE_S)
        seconds = time.monotonic() - begin
        return {'hosts': n, 'up': up, 'series': figures.n,
                'cpu_ms': 1000 * (cpu_s(process.pid) - cpu) / seconds * SCRAPE_S / n,
                'cpu_share': (cpu_s(process.pid) - cpu) / seconds,
                'rss_mb': rss_mb(process.pid),
                'disk_kb': 1000 * (disk_mb(work / 'tsdb') - disk) / seconds * SCRAPE_S / n}
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def measure_nats(work, n):
    work = fleet.fresh(work / 'nats')
    server = fleet.Server(work, limit='20G')
    agents = []
    result = {'hosts': n}
    try:
        status, _, text = fleet.client('create', server.url)
        if status:
            raise RuntimeError(text)
        result['empty_mb'] = rss_mb(server.process.pid)
        for i in range(n):
            spool = fleet.fresh(work / f'host{i}' / 'spool')
            agents.append(fleet.Agent(server.url, spool, f'host{i}'))

        def answers():
            _, rows, _ = fleet.client('status', server.url, '--host=*', '--wait=1500')
            return len(rows)
        fleet.wait_for(lambda: answers() == n, 120)
        result['answers'] = answers()
        time.sleep(5)
        result['connected_mb'] = rss_mb(server.process.pid)
        result['agent_mb'] = sum(rss_mb(agent.process.pid) for agent in agents) / n
        cpu, begin = cpu_s(server.process.pid), time.monotonic()
        time.sleep(20)
        result['idle_cpu'] = (cpu_s(server.process.pid) - cpu) / (time.monotonic() - begin)
        # Every host takes a capture at the same time.
        rng = random.Random(n)
        model = fleet.make_capture(fleet.fresh(work / 'model' / 'spool'), 'model', rng, PACKETS)
        size = sum(f.stat().st_size for f in model.rglob('*') if f.is_file())
        ready = work / 'model' / 'spool' / 'model.ready'
        for agent in agents:
            subprocess.run(['cp', '-r', ready, agent.spool / 'alarm.new'], check=True)
        cpu, begin = cpu_s(server.process.pid), time.monotonic()
        agent_cpu = sum(cpu_s(agent.process.pid) for agent in agents)
        for agent in agents:
            (agent.spool / 'alarm.new').rename(agent.spool / 'alarm.ready')
        done = fleet.wait_for(lambda: all(agent.is_done() for agent in agents), 300)
        result['seconds'] = time.monotonic() - begin
        result['capture_mb'] = size / 1e6
        result['capture_cpu_ms'] = 1000 * (cpu_s(server.process.pid) - cpu) / n
        result['agent_cpu_ms'] = 1000 * (sum(cpu_s(a.process.pid) for a in agents) - agent_cpu) / n
        result['busy_mb'] = rss_mb(server.process.pid)
        result['disk_mb'] = disk_mb(work / 'store') / n
        _, rows, _ = fleet.client('ls', server.url, '--host=*')
        result['whole'] = sum(row['whole'] for row in rows)
        result['done'] = done
        return result
    finally:
        for agent in agents:
            agent.kill()
        server.kill()


def table(rows, columns):
    print('| ' + ' | '.join(head for head, _, _ in columns) + ' |')
    print('|' + '---:|' * len(columns))
    for row in rows:
        print('| ' + ' | '.join(f'{row[key]:{form}}' for _, key, form in columns) + ' |')
    print()


def slope(rows, key):
    """Of the least squares line: what a further host costs, and the part that all have."""
    n = len(rows)
    x = [row['hosts'] for row in rows]
    y = [row[key] for row in rows]
    mean_x, mean_y = sum(x) / n, sum(y) / n
    below = sum((a - mean_x) ** 2 for a in x)
    by = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / below if below else 0
    return by, mean_y - by * mean_x


def main():
    work = pathlib.Path(sys.argv[1])
    numbers = [int(word) for argument in sys.argv[2:] for word in argument.split()]
    figures = Figures((work / 'figures').read_text())
    scraped = [measure_prometheus(work, figures, n) for n in numbers]
    print(f'Prometheus, {figures.n} series of each host every {SCRAPE_S} s:\n')
    table(scraped, [('hosts', 'hosts', 'd'), ('answer', 'up', '.0f'), ('CPU ms a scrape', 'cpu_ms', '.2f'),
                    ('of a CPU', 'cpu_share', '.3f'), ('memory MB', 'rss_mb', '.0f'),
                    ('disk KB a scrape', 'disk_kb', '.2f')])
    shipped = [measure_nats(work, n) for n in numbers]
    print(f'NATS, a capture of {shipped[0]["capture_mb"]:.1f} MB of every host at the same time:\n')
    table(shipped, [('hosts', 'hosts', 'd'), ('answer', 'answers', 'd'), ('memory MB, connected', 'connected_mb', '.1f'),
                    ('of a CPU, idle', 'idle_cpu', '.4f'), ('captures whole', 'whole', 'd'),
                    ('after s', 'seconds', '.1f'), ('CPU ms a capture', 'capture_cpu_ms', '.1f'),
                    ('memory MB', 'busy_mb', '.0f'), ('disk MB a capture', 'disk_mb', '.2f'),
                    ('agent: CPU ms', 'agent_cpu_ms', '.1f'), ('agent: MB', 'agent_mb', '.1f')])
    if len(numbers) > 1:
        print('A further host costs, by the least squares line:\n')
        for rows, key, unit, what in ((scraped, 'cpu_share', 'of a CPU', 'Prometheus'),
                                      (scraped, 'rss_mb', 'MB', 'Prometheus'),
                                      (shipped, 'connected_mb', 'MB', 'NATS, connected'),
                                      (shipped, 'idle_cpu', 'of a CPU', 'NATS, idle')):
            by, base = slope(rows, key)
            print(f'- {what}: {by:.5f} {unit} (and {base:.3f} for all)')
    bad = [row for row in scraped if row['up'] != row['hosts']] + [
        row for row in shipped if not row['done'] or row['whole'] != row['hosts']]
    sys.exit(f'not all hosts have answered: {bad}' if bad else 0)


main()
