#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# check.py WORK EVENTS: what is in ClickHouse after loading traces, compared with what the same
# traces have in SQLite, whose tables tests/export compares with the traces.
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import time

BASE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, os.path.join(BASE, 'fleet'))
from fleet import Agent, Server, Tap, client as fleet_client, free_port, fresh, wait_for  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
FILES = 'packaging/clickhouse'

CONFIG = '''<yandex>
<logger><level>error</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<tcp_port>{1}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><user_files_path>{0}/files/</user_files_path>
<format_schema_path>{0}/schemas/</format_schema_path><mark_cache_size>100000000</mark_cache_size>
<users_config>{0}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database>
</yandex>'''

USERS = '''<yandex><profiles><default></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users>
<quotas><default></default></quotas></yandex>'''


class ClickHouse:
    def __init__(self, work):
        for name in ('data', 'tmp', 'files', 'schemas'):
            (work / name).mkdir()
        self.port = free_port()
        (work / 'config.xml').write_text(CONFIG.format(work, self.port))
        (work / 'users.xml').write_text(USERS)
        self.client = ['clickhouse-client', '--port', str(self.port)]
        with open(work / 'said', 'wb') as log:
            self.process = subprocess.Popen(['clickhouse-server', f'--config-file={work}/config.xml'],
                                            stdout=log, stderr=log)
        if not wait_for(lambda: self.run('SELECT 1').returncode == 0, 60):
            raise RuntimeError('the server does not start: ' + (work / 'said').read_text())

    def run(self, query):
        return subprocess.run([*self.client, '--query', query], capture_output=True, text=True,
                              timeout=100, check=False)

    def rows(self, query):
        done = self.run(query + ' FORMAT JSONCompact')
        if done.returncode:
            raise RuntimeError(done.stderr)
        numbers = ('Int', 'UInt', 'Float')
        answer = json.loads(done.stdout)
        kinds = [column['type'].startswith(numbers) for column in answer['meta']]
        return [tuple(float(cell) if is_number else cell for cell, is_number in zip(row, kinds))
                for row in answer['data']]


def same(tap, name, got, expected):
    got, expected = sorted(got), sorted(tuple(float(c) if isinstance(c, int) else c for c in row)
                                        for row in expected)
    first = next(((a, b) for a, b in zip(got, expected) if a != b), None)
    tap.check(got == expected and got, name, f'{len(got)} and {len(expected)} rows; {first}')


# What is compared: columns and rest of the query in ClickHouse, and the query in SQLite. {} is the trace.
PAIRS = (
    ('events', 'n, ns, cpu, tid, pid, comm, name FROM kernlens.event FINAL WHERE {} AND n % 7 = 0',
     'id, ns, cpu, tid, pid, comm, name FROM event WHERE id % 7 = 0'),
    ('number of events by name', 'name, count() FROM kernlens.event FINAL WHERE {} GROUP BY name',
     'name, count(*) FROM event GROUP BY name'),
    ('spans', 'kind, id, begin_ns, ns, name, state, tid, by_tid, cpu, event, end_event '
     'FROM kernlens.span FINAL WHERE {} AND begin_ns % 5 = 0',
     'kind, id, begin_ns, ns, name, state, ifnull(tid, 0), ifnull(by_tid, 0), ifnull(cpu, -1), '
     'ifnull(event, 0), ifnull(end_event, 0) FROM span WHERE begin_ns % 5 = 0'),
    ('threads of spans', "DISTINCT tid, comm FROM kernlens.span WHERE {} AND kind = 'thread'",
     "DISTINCT s.tid, t.comm FROM span s JOIN thread t USING(tid) WHERE kind = 'thread'"),
    ('values of variables', 'name, scope, id, ns, value, unit FROM kernlens.variable FINAL WHERE {}',
     'name, scope, id, ns, value, unit FROM variable'),
    ('numbers of a field', "n, `fields.number`[indexOf(`fields.name`, 'next_tid')] "
     "FROM kernlens.event FINAL WHERE {} AND name = 'sched_switch'", 'event, next_tid FROM ev_sched_switch'),
    ('texts of a field', "n, `fields.text`[indexOf(`fields.name`, 'next_comm')] "
     "FROM kernlens.event FINAL WHERE {} AND name = 'sched_switch'", 'event, next_comm FROM ev_sched_switch'),
    ('frames of stack traces', 'sum(length(functions)) FROM kernlens.stack FINAL WHERE {}', 'count(*) FROM stack'),
    ('losses', 'kind, records FROM kernlens.loss FINAL WHERE {}', 'kind, records FROM loss'),
)


def compare(tap, house, lite, where):
    """All columns that both have, but for texts of fields, which SQLite has as numbers."""
    for what, ours, theirs in PAIRS:
        same(tap, f'{where}: {what}', house.rows('SELECT ' + ours.format(where)), lite.execute('SELECT ' + theirs))


def ask(tool):
    """The answers to all questions, as tables."""
    questions = tool('ask').stdout.splitlines()
    env = dict(os.environ, FORMAT='TSVWithNames')
    return questions, [tool('ask', str(i + 1), env=env) for i in range(len(questions))]


def check_questions(tap, tool, house, lite):
    """Of one machine: the other goes first, and what was loaded twice is merged."""
    for table in ('event', 'span', 'capture'):
        house.run(f"ALTER TABLE kernlens.{table} DELETE WHERE host != 'kernlens-test'")
        wait_for(lambda: house.rows(f"SELECT count() FROM kernlens.{table} "
                                    "WHERE host != 'kernlens-test'") == [(0,)])
        house.run(f'OPTIMIZE TABLE kernlens.{table} FINAL')
    house.run("INSERT INTO kernlens.event (host, capture, n, name, fields.name, fields.text, fields.number) VALUES "
              "('a', 'b', 1, 'syscall_entry_openat', ['filename'], ['/not/there'], [0])")
    house.run("INSERT INTO kernlens.span (host, capture, n, kind, name, state, event) VALUES "
              "('a', 'b', 1, 'syscall', 'openat', 'failed', 1)")
    questions, answers = ask(tool)
    tap.check(len(questions) == 10, 'there are ten questions', questions)
    for i, answer in enumerate(answers):
        # One machine is not slower than all.
        empty = questions[i].startswith('5:')
        lines = answer.stdout.splitlines()
        tap.check(answer.returncode == 0 and (empty or len(lines) > 1), f'an answer to "{questions[i]}"',
                  answer.stderr, answer.stdout)
    calls = dict(line.split('\t')[:2] for line in answers[3].stdout.splitlines()[1:])
    for name, number in list(lite.execute('SELECT name, calls FROM syscalls'))[:5]:
        tap.check(calls[name] == str(number), f'number of calls of {name}', calls, number)
    tap.check(tool('ask', '11').returncode and tool('ask', 'x').returncode, 'other numbers are refused')


def put_capture(spool, name, trace):
    new = spool.parent / 'new' / name
    new.parent.mkdir(exist_ok=True)
    shutil.copytree(trace, new / 'trace')
    (new / 'about.json').write_text(json.dumps({'reason': 'test', 'frozen_ns': time.time_ns()}))
    new.rename(spool / f'{name}.ready')


def check_fleet(tap, work, tool, house, trace):
    server = Server(work)
    fleet_client('create', server.url)
    agents = []
    for host in ('one', 'two'):
        spool = fresh(work / host / 'spool')
        for i in range(2):
            put_capture(spool, f'c{i}', trace)
        agents.append(Agent(server.url, spool, host))
    tap.check(wait_for(lambda: all(agent.is_done() for agent in agents)), 'four captures are sent')
    first = tool('fleet', '--server', server.url)
    tap.check('4 captures loaded, 4 on' in first.stdout, 'four captures are loaded', first.stdout, first.stderr)
    second = tool('fleet', '--server', server.url)
    tap.check('0 captures loaded, 4 on' in second.stdout, 'and not again', second.stdout, second.stderr)
    same(tap, 'each is there once, of the host that sent it', house.rows(
        "SELECT host, capture FROM kernlens.capture WHERE host != 'kernlens-test'"),
        [(host, f'c{i}') for host in ('one', 'two') for i in range(2)])
    failed = tool('fleet', '--server', 'nats://127.0.0.1:1')
    tap.check(failed.returncode, 'a server that is not there is reported', failed.stdout)
    for agent in agents:
        agent.kill()
    server.kill()


def main():
    tap = Tap()
    work = fresh(sys.argv[1])
    trace, lite = work / "it's\\a", work / 'sqlite'
    subprocess.run([f'{BUILD}/tests/view/make-trace', trace, sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
    with open(trace / 'cpu0', 'r+b') as file:
        file.seek(3000)
        file.write(bytes(64))
    subprocess.run([f'{BUILD}/kernlens', 'export', '--to', 'sqlite', trace, '-o', lite], check=True,
                   stderr=subprocess.DEVNULL)
    house = ClickHouse(fresh(work / 'house'))
    script = work / 'kernlens-clickhouse'
    script.write_text(pathlib.Path(FILES, 'kernlens-clickhouse.in').read_text())
    environment = dict(os.environ, KERNLENS=f'{BUILD}/kernlens', KERNLENS_CLICKHOUSE=' '.join(house.client),
                       KERNLENS_CLICKHOUSE_FILES=FILES)

    def tool(*words, env=None):
        return subprocess.run(['bash', script, *words], env={**environment, **(env or {})},
                              capture_output=True, text=True, timeout=300, check=False)

    tap.check(tool('load', trace).returncode, 'without tables, nothing is loaded')
    tap.check(not tool('init').returncode and not tool('init').returncode, 'tables are made, once')
    database = sqlite3.connect(lite)
    for name in ('kernlens-test', 'kernlens-test', "quote'back\\"):
        done = tool('load', '--host', name, trace)
        tap.check(not done.returncode, f'a trace is loaded as of {name}', done.stderr)
    compare(tap, house, database, "host = 'kernlens-test'")
    same(tap, 'names are what they are, whatever they hold', house.rows(
        'SELECT DISTINCT host, capture FROM kernlens.capture'),
        [('kernlens-test', "it's\\a"), ("quote'back\\", "it's\\a")])
    check_questions(tap, tool, house, database)
    check_fleet(tap, work, tool, house, trace)
    house.process.kill()
    house.process.wait()
    sys.exit(tap.end())


main()
