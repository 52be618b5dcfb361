# SPDX-License-Identifier: GPL-2.0
#
# check.py KERNLENS TRACES WORK READERS: exports the traces TRACES/all, one and lossy, and compares what
# other programs read with what follows from the records (kernlens print --format json, whose number
# babeltrace2 confirms). Prints TAP lines.
import collections
import json
import os
import re
import sqlite3
import subprocess
import sys
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from tap import Tap  # noqa: E402

kernlens, traces, work, readers = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
tap = Tap()
DEAD = 0xb0
FORMATS = {'perfetto': 'pftrace', 'chrome': 'json', 'speedscope': 'speedscope.json', 'firefox': 'firefox.json',
           'pprof': 'pb.gz', 'folded': 'folded', 'sqlite': 'sqlite', 'trace-dat': 'dat', 'otlp': 'otlp.jsonl'}


def run(*command, **more):
    return subprocess.run(command, capture_output=True, timeout=300, **more)


def output(*command):
    """What a command prints, which must succeed without complaints; kernlens may say what is missing."""
    result = run(*command)
    if result.returncode or (result.stderr and command[0] != kernlens):
        tap.same(f'{command[0]} {command[1]} does not complain', (result.returncode, result.stderr[:300]), (0, b''))
    return result.stdout


def export(form, trace, *more):
    path = os.path.join(work, f'{os.path.basename(trace)}.{FORMATS[form]}')
    result = run(kernlens, 'export', '--to', form, trace, '-o', path, '--force', *more)
    tap.same(f'{form}: the trace is written', (result.returncode, b'error' in result.stderr), (0, False))
    return path


def field(value):
    return int(value, 16) if isinstance(value, str) and value.startswith('0x') else value


class Facts:
    """What follows from the records, worked out here."""

    def __init__(self, trace):
        self.names = collections.Counter()
        self.sequence = []  # ns, event, tid
        self.since = []  # ns since the start
        self.pid = {}  # by tid
        self.running = collections.Counter()
        self.calls = {}  # name: [number, ns]
        self.failed = 0
        self.ticks = collections.Counter()  # of tasks, by tid
        self.values = []  # rss, where it changed
        self.read = collections.Counter()  # bytes, by command name
        self.comms = set()
        on, call, last = {}, {}, 0
        rss = {}

        def end_call(tid, ns):
            if tid in call:
                name, begun = call.pop(tid)
                of = self.calls.setdefault(name, [0, 0])
                of[0] += 1
                of[1] += ns - begun

        for line in output(kernlens, 'print', '--format', 'json', trace).splitlines():
            record = json.loads(line)
            if 'loss' in record:
                continue
            ns, tid, name = record['seconds'] * 10**9 + record['nanoseconds'], record['tid'], record['event']
            fields = record['fields']
            last = max(last, ns)
            self.names[name] += 1
            self.sequence.append((ns, name, tid))
            self.since.append(record['since_ns'])
            self.pid[tid] = record['pid']
            self.comms.add(record['comm'])
            if name == 'sched_switch':
                if tid in on:
                    self.running[tid] += ns - on.pop(tid)
                if field(fields['prev_state']) & DEAD:
                    end_call(tid, ns)
                if fields['next_tid']:
                    on[fields['next_tid']] = ns
            elif name.startswith('syscall_entry_'):
                end_call(tid, ns)
                call[tid] = name[len('syscall_entry_'):], ns
            elif name.startswith('syscall_exit_'):
                self.failed += tid in call and -4096 < fields['ret'] < 0
                end_call(tid, ns)
                if name == 'syscall_exit_read' and fields['ret'] > 0:
                    self.read[re.sub('[^ -~]', '?', record['comm'])] += fields['ret']
            elif name.startswith('tick') and tid:
                self.ticks[tid] += 1
            if tid and 'rss' in record.get('variables', {}) and rss.get(tid) != record['variables']['rss']:
                rss[tid] = record['variables']['rss']
                self.values.append((tid, ns, rss[tid]))
        for tid, begun in on.items():
            self.running[tid] += last - begun
        for tid in list(call):
            end_call(tid, last)
        self.running = {tid: ns for tid, ns in self.running.items() if tid}


def utf8(path):
    with open(path, 'rb') as file:
        return file.read().decode('utf-8', 'strict')


def check_chrome(facts, path):
    events = json.loads(utf8(path))['traceEvents']
    running, calls, failed = collections.Counter(), {}, 0

    for event in events:
        if event['ph'] != 'X':
            continue
        ns = round(event['dur'] * 1000)
        if event['cat'] == 'thread' and 'cpu' in event['args']:
            running[event['tid'] - 10000000] += ns
        elif event['cat'] == 'syscall':
            of = calls.setdefault(event['name'], [0, 0])
            of[0] += 1
            of[1] += ns
            failed += -4096 < event['args'].get('ret', 0) < 0 if isinstance(event['args'].get('ret'), int) else 0
    kinds = collections.Counter(event['ph'] for event in events)
    tap.same('chrome: threads run as long as the switches say', dict(running), facts.running)
    tap.same('chrome: number and time of each system call', calls, facts.calls)
    tap.same('chrome: as many arrows begin as end', kinds['s'], kinds['f'])
    tap.good('chrome: there are arrows, instants, and a variable over time',
             kinds['s'] > 10 and kinds['i'] > 100 and kinds['C'] > 10)
    tap.same('chrome: values of the variable', kinds['C'], len(facts.values))
    tap.good('chrome: requests of the disk', any(e.get('cat') == 'disk' for e in events))


def parse_text(text):
    """Packets of protoc's text: of each, the list of (path, value)."""
    path, packet = [], []

    for line in text.splitlines():
        word = line.strip()
        if word.endswith('{'):
            path.append(word[:-1].strip())
        elif word == '}':
            path.pop()
            if not path:
                yield packet
                packet = []
        else:
            key, _, value = word.partition(': ')
            packet.append(('.'.join(path[1:] + [key]), value))


def check_perfetto(facts, path):
    with open(path, 'rb') as file:
        text = run('protoc', '-I', f'{top}/lib/report/export', '--decode=perfetto.Trace', 'perfetto.proto',
                   stdin=file)
    tap.same('perfetto: protoc decodes it', (text.returncode, text.stderr), (0, b''))
    names, categories, frames, stacks, open_slice = {}, {}, {}, {}, {}
    calls, kinds, samples, rss = {}, collections.Counter(), collections.Counter(), 0
    unknown = 0

    for packet in parse_text(text.stdout.decode()):
        unknown += any(key.rsplit('.', 1)[-1].isdigit() for key, _ in packet)
        of = dict(packet)
        for kind, table in (('event_names', names), ('event_categories', categories)):
            key = None
            for name, value in packet:
                if name == f'interned_data.{kind}.iid':
                    key = value
                elif name == f'interned_data.{kind}.name':
                    table[key] = value.strip('"')
        if 'interned_data.frames.iid' in of:
            frames[of['interned_data.frames.iid']] = True
        if 'interned_data.callstacks.iid' in of:
            stacks[of['interned_data.callstacks.iid']] = [v for k, v in packet if k.endswith('frame_ids')]
        for kind in ('sched_switch', 'sched_waking', 'sched_wakeup', 'sched_wakeup_new'):
            kinds[kind] += any(k.startswith(f'ftrace_events.event.{kind}.') for k, _ in packet)
        kind, track = of.get('track_event.type'), of.get('track_event.track_uuid')
        if kind == 'TYPE_SLICE_BEGIN':
            open_slice[track] = (categories[of['track_event.category_iids']], names[of['track_event.name_iid']],
                                 int(of['timestamp']))
        elif kind == 'TYPE_SLICE_END':
            category, name, begun = open_slice.pop(track)
            if category == 'syscall':
                call = calls.setdefault(name, [0, 0])
                call[0] += 1
                call[1] += int(of['timestamp']) - begun
        elif kind == 'TYPE_COUNTER':
            rss += 1
        if 'perf_sample.tid' in of:
            samples[int(of['perf_sample.tid'])] += 1
            if not all(frame in frames for frame in stacks[of['perf_sample.callstack_iid']]):
                unknown += 1
    tap.same('perfetto: nothing is unknown to its schema, and no name is used before it is given', unknown, 0)
    tap.same('perfetto: each slice that begins ends', open_slice, {})
    tap.same('perfetto: switches and wakeups', dict(kinds), {kind: facts.names[kind] for kind in kinds})
    tap.same('perfetto: number and time of each system call', calls, facts.calls)
    tap.same('perfetto: samples by thread', samples, facts.ticks)
    tap.same('perfetto: values of the variable', rss, len(facts.values))


def check_speedscope(facts, path):
    document = json.loads(utf8(path))
    frames = document['shared']['frames']
    samples = {int(re.search(r'\((\d+)\)$', p['name'])[1]): len(p['samples']) for p in document['profiles']}
    tap.same('speedscope: samples by thread', samples, dict(facts.ticks))
    tap.good('speedscope: weights are those of 199 ticks a second, and all frames exist', all(
        len(p['weights']) == len(p['samples']) and set(p['weights']) == {5025125} and
        p['endValue'] == sum(p['weights']) and all(0 <= f < len(frames) for s in p['samples'] for f in s)
        for p in document['profiles']))


def check_page(form, path, expected):
    page = json.loads(output('node', f'{here}/readers.mjs', readers, 'page', path, work))
    tap.same(f'{form}: speedscope opens it', (page['shown'], page['errors']), (True, []))
    tap.good(f'{form}: and shows it', expected in page['text'])


def check_firefox(facts, path):
    profile = json.loads(utf8(path))
    shared, calls, samples, good = profile['shared'], {}, collections.Counter(), True

    for name in ('stackTable', 'frameTable', 'funcTable', 'resourceTable', 'nativeSymbols', 'sources'):
        table = shared[name]
        good &= all(len(column) == table['length'] for key, column in table.items() if key != 'length')
    stack, frame, function = shared['stackTable'], shared['frameTable'], shared['funcTable']
    good &= all(p is None or p < i for i, p in enumerate(stack['prefix']))
    good &= all(f < frame['length'] for f in stack['frame']) and all(f < function['length'] for f in frame['func'])
    good &= all(n < len(shared['stringArray']) for n in function['name'])
    for thread in profile['threads']:
        if thread['samples']['length']:
            samples[thread['tid']] = thread['samples']['length']
        good &= all(s < stack['length'] for s in thread['samples']['stack'])
        markers = thread['markers']
        for i in range(markers['length']):
            if markers['data'][i]['type'] != 'syscall':
                continue
            call = calls.setdefault(shared['stringArray'][markers['name'][i]], [0, 0])
            call[0] += 1
            call[1] += round((markers['endTime'][i] - markers['startTime'][i]) * 1e6)
    tap.good('firefox: tables are whole, and refer to what exists', good)
    tap.same('firefox: samples by thread', dict(samples), dict(facts.ticks))
    tap.same('firefox: number and time of each system call', calls, facts.calls)


def check_pprof(facts, path):
    profile = json.loads(output('node', f'{here}/readers.mjs', readers, 'pprof', path))
    tap.same('pprof: samples by thread', {int(k): v for k, v in profile['byTid'].items()}, dict(facts.ticks))
    tap.same('pprof: time is that of the ticks', profile['ns'], sum(facts.ticks.values()) * 5025125)
    tap.same('pprof: types of its values', profile['types'], ['samples', 'cpu'])


def check_folded(facts, path):
    lines = utf8(path).splitlines()
    tap.same('folded: all samples', sum(int(line.rsplit(' ', 1)[1]) for line in lines), sum(facts.ticks.values()))
    tap.good('folded: names and frames', all(';' in line for line in lines))


def check_sqlite(facts, path):
    db = sqlite3.connect(path)
    tap.same('sqlite: the file is sound', db.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
    tap.same('sqlite: events by name', dict(db.execute('SELECT name, count(*) FROM event GROUP BY name')),
             dict(facts.names))
    tables = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'ev_*'")]
    fields = {n[3:]: db.execute(f'SELECT count(*) FROM "{n}"').fetchone()[0] for n in tables}
    tap.same('sqlite: fields of each event', {n: facts.names[n] for n in fields}, fields)
    tap.same('sqlite: threads run as long as the switches say', {
        tid: ns for tid, ns in db.execute('SELECT tid, running_ns FROM thread_states') if ns}, facts.running)
    tap.same('sqlite: number and time of each system call',
             {n: [c, ns] for n, c, ns in db.execute('SELECT name, calls, ns FROM syscalls')}, facts.calls)
    tap.same('sqlite: failed system calls', db.execute('SELECT sum(failed) FROM syscalls').fetchone()[0], facts.failed)
    tap.same('sqlite: stack traces of all ticks exist', db.execute(
        "SELECT count(*) FROM event WHERE name GLOB 'tick*' AND kstack IS NULL AND ustack IS NULL AND tid").fetchone()[0], 0)
    tap.same('sqlite: each stack trace has frames', db.execute(
        'SELECT count(*) FROM event WHERE kstack > 0 AND kstack NOT IN (SELECT id FROM stack)').fetchone()[0], 0)
    tap.same('sqlite: values of the variable', list(db.execute(
        "SELECT id, ns, value FROM variable WHERE name = 'rss' ORDER BY rowid")), facts.values)
    for word, column in (('entry', 'event'), ('exit', 'end_event')):
        tap.same(f'sqlite: spans of system calls name the event of their {word}', db.execute(
            f"SELECT count(*) FROM span s JOIN event e ON s.{column} = e.id WHERE s.kind = 'syscall'"
            f" AND e.name <> 'syscall_{word}_' || s.name AND e.name <> 'sched_switch'"
            " AND s.name <> 'rt_sigreturn'").fetchone()[0], 0)
    tap.good('sqlite: files that were not found, as the manual page asks for them', ('/none', -2) in list(db.execute(
        'SELECT filename, ret FROM span s JOIN ev_syscall_entry_openat o ON o.event = s.event'
        ' JOIN ev_syscall_exit_openat x ON x.event = s.end_event WHERE ret < 0')))
    tap.good('sqlite: requests of the disk', db.execute('SELECT sum(requests) FROM disk_requests').fetchone()[0] >= 8)
    for (view,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
        tap.good(f'sqlite: view {view} has rows', db.execute(f'SELECT count(*) FROM {view}').fetchone()[0])


def kernel_name(name):
    name = name.replace('syscall_entry_', 'sys_enter_').replace('syscall_exit_', 'sys_exit_')
    return re.sub('[^A-Za-z0-9_]', '_', name)


def check_trace_dat(facts, path):
    text = output('trace-cmd', 'report', '-t', '-N', '-i', path).decode('utf-8', 'replace')
    pattern = re.compile(r'^.*-(\d+)\s+\[(\d+)\]\s.*?(\d+)\.(\d{9}): +([^ ]+): ?(.*)$')
    read, switches = [], collections.Counter()

    for line in text.split('\n'):
        match = pattern.match(line)
        if match:
            read.append((int(match[3]) * 10**9 + int(match[4]), match[5], int(match[1])))
            switches[match[5]] += 1
    expected = [(ns, kernel_name(name), tid) for ns, name, tid in facts.sequence]
    tap.same('trace-dat: trace-cmd reads as many events', len(read), len(expected))
    tap.same('trace-dat: with their times, names and threads', sorted(read) == sorted(expected), True)
    plain = output('trace-cmd', 'report', '-i', path).decode('utf-8', 'replace')
    tap.good('trace-dat: trace-cmd knows switches', re.search(r'sched_switch: .*\[120\] [RSD] ==> ', plain))
    missed = output('trace-cmd', 'report', '--check-events', '-i', path)
    tap.good('trace-dat: formats of all events are understood', b'failed' not in missed.lower())


def check_otlp(facts, path):
    utf8(path)
    message = json.loads(output('node', f'{here}/readers.mjs', readers, 'otlp', path))
    running = {int(k.split()[0]): v for k, v in message['states'].items() if k.endswith(' running')}
    tap.same('otlp: number and time of each system call', message['calls'], facts.calls)
    tap.same('otlp: failed system calls', message['failed'], facts.failed)
    tap.same('otlp: threads run as long as the switches say', running, facts.running)
    tap.same('otlp: values of the variable', message['gauges'], {'kernlens.rss': len(facts.values)})
    tap.good('otlp: processes are services', {'bash', 'dd', 'cc1'} <= set(message['services']))


def check_plot(facts, trace):
    """The intervals of kernlens plot add up to what the records say."""
    read = 'syscall_exit_read /ret > 0/ :sum(ret) by comm'
    plot = json.loads(output(kernlens, 'plot', 'sched_switch', 'sched_switch by cpu', read, 'rss', trace, '--json',
                             '--top', '0'))
    sums, counts, rss = collections.Counter(), collections.Counter(), {}
    seconds = plot['interval_ns'] / 1e9
    good = True

    for curve in plot['curves']:
        for ns, value, count, total, least, most in curve['points']:
            good &= least <= most and abs(value - (count if curve['function'] == 'count' else total) / (
                seconds if curve['function'] in ('count', 'sum') else count)) < 1e-6 * max(1, value)
            if curve['expression'] == read:
                sums[curve['key']] += total
            elif curve['expression'] != 'rss':
                counts[curve['expression']] += count
            elif count:
                rss[curve['key']] = max(rss.get(curve['key'], 0), most)
    greatest = {}
    for tid, _, value in facts.values:
        greatest[tid] = max(greatest.get(tid, 0), value)
    tap.good('plot: values are what the intervals say', good)
    tap.same('plot: all switches, together and by CPU', dict(counts),
             {e: facts.names['sched_switch'] for e in ('sched_switch', 'sched_switch by cpu')})
    tap.same('plot: bytes read, by command', dict(sums), dict(facts.read))
    tap.same('plot: greatest values of a variable, by thread', {int(k.rsplit('-', 1)[1]): v for k, v in rss.items()},
             greatest)
    rows = output(kernlens, 'plot', 'sched_switch', trace, '--csv', '--interval', '0.1').decode().splitlines()
    first, last = facts.sequence[0][0], facts.sequence[-1][0]
    tap.same('plot: --interval', len(rows) - 1, (last - first) // 10**8 + 1)
    tap.same('plot: CSV has all switches', sum(int(r.split(',')[4]) for r in rows[1:]), facts.names['sched_switch'])
    output(kernlens, 'plot', 'syscall_entry_*:count by comm', 'rss', trace, '--svg', f'{work}/plot.svg')
    root = ElementTree.parse(f'{work}/plot.svg').getroot()
    heads = [e.text for e in root.iter() if e.get('class') == 'head']
    tap.good('plot: the picture is XML, with the names of programs as text', len(heads) == 10 and any(
        '[' in head for head in heads))
    text = run(kernlens, 'plot', 'sched_switch', trace, env={**os.environ, 'LC_ALL': 'C.UTF-8', 'COLUMNS': '80'})
    tap.good('plot: curves in dots', text.returncode == 0 and '⣿' in text.stdout.decode())
    # Events whose fields of the same name are a number here, and a text there.
    both = ''.join(a if a == b else f'[{a}{b}]' for a, b in zip('block_rq_complete', 'neigh_update_done'))
    plot = json.loads(output(kernlens, 'plot', f'{both} by dev', trace, '--json', '--top', '0'))
    tap.same('plot: a key that is a number or a text', sum(p[2] for c in plot['curves'] for p in c['points']),
             facts.names['block_rq_complete'] + facts.names['neigh_update_done'])
    wrong = run(kernlens, 'plot', 'sched_switch:median(prev_prio)', trace)
    tap.good('plot: an unknown function', wrong.returncode == 2 and b'count, sum, mean' in wrong.stderr)
    wrong = run(kernlens, 'plot', 'sched_switch:sum(nothing)', trace)
    tap.good('plot: an unknown field', wrong.returncode == 2 and b'nothing' in wrong.stderr)


def check_view(facts, trace):
    """The page of a selected process, with what is plotted."""
    tid = max((each for each in facts.ticks if facts.pid[each] == each), key=facts.ticks.get)
    page = os.path.join(work, 'page.html')
    output(kernlens, 'view', trace, '-o', page, '-p', str(tid), '--plot', 'sched_switch by cpu', '--plot',
           'block_rq_issue:sum(bytes)')
    about = json.loads(re.search('<script type="application/json" id="about">(.*?)</script>', utf8(page), re.S)[1])
    shown = {t['id'] for t in about['tracks'] if t['kind'] in ('thread', 'syscall', 'event') and t['n']}
    of = {each for each, pid in facts.pid.items() if pid == tid}
    tap.same('view -p: the threads of the process', shown, of)
    tap.same('view -p: its records', sum(block[0] for block in about['blocks']),
             sum(1 for _, _, each in facts.sequence if each in of))
    names = {c['name']: c['n'] for c in about['counters'] if c['scope'] == 'system'}
    tap.good('view --plot: curves that change', set(names) == {
        '0: sched_switch by cpu', '1: sched_switch by cpu', 'block_rq_issue:sum(bytes)'} and min(names.values()) > 2)
    wrong = run(kernlens, 'view', trace, '-o', page, '--force', '--plot', 'sched_switch:sum(nothing)')
    tap.good('view --plot: an unknown field', wrong.returncode == 1 and b'nothing' in wrong.stderr)


def check_losses():
    """A trace with lost records, by cause and CPU as kernlens report has them."""
    trace = f'{traces}/lossy'
    report = json.loads(output(kernlens, 'report', '--json', trace))
    lost = report['losses']['discarded'] + report['losses']['overwritten']
    tap.good('losses: there are some', lost)
    db = sqlite3.connect(export('sqlite', trace))
    tap.same('losses: the database has them', db.execute(
        "SELECT sum(records) FROM loss WHERE kind <> 'unseen'").fetchone()[0], lost)
    events = json.loads(utf8(export('chrome', trace)))['traceEvents']
    tap.same('losses: spans in the picture', sum(
        int(e['name'].split()[0]) for e in events if e.get('cat') == 'loss' and 'missing' in e['name']), lost)
    text = output('trace-cmd', 'report', '-i', export('trace-dat', trace)).decode('utf-8', 'replace')
    missed = sum(int(n) for n in re.findall(r'\[(\d+) EVENTS DROPPED\]', text))
    tap.same('losses: trace-cmd reports them', missed, lost)


def check_selected():
    """A trace of one command: states of others are left out, and there are no stack traces."""
    trace = f'{traces}/one'
    facts = Facts(trace)
    db = sqlite3.connect(export('sqlite', trace))
    threads = {tid for (tid,) in db.execute("SELECT DISTINCT tid FROM span WHERE kind = 'thread'")}
    callers = {tid for _, name, tid in facts.sequence if name.startswith('syscall_')}
    tap.same('selected: states of threads that were selected', threads, callers)
    tap.same('selected: number and time of each system call',
             {n: [c, ns] for n, c, ns in db.execute('SELECT name, calls, ns FROM syscalls')}, facts.calls)
    failed = run(kernlens, 'export', '--to', 'folded', trace, '-o', '-')
    tap.good('selected: without stack traces, it says how to record them',
             failed.returncode == 1 and b'tick:99:stack' in failed.stderr)


def check_options(trace, facts):
    path = export('sqlite', trace, '--from', '0.5', '--until', '1')
    times = sqlite3.connect(path).execute('SELECT count(*), min(ns), max(ns) FROM event').fetchone()
    inside = [ns for (ns, _, _), since in zip(facts.sequence, facts.since) if 500000000 <= since <= 1000000000]
    tap.same('--from and --until: these events', times, (len(inside), min(inside), max(inside)))
    plot = output(kernlens, 'plot', '*', trace, '--csv', '--from', '0.5', '--to', '1').decode().splitlines()[1:]
    tap.same('and of a plot', sum(int(row.split(',')[4]) for row in plot), len(inside))
    packed = os.path.join(work, 'all.klp')
    output(kernlens, 'pack', trace, '-o', packed)
    other = os.path.join(work, 'packed.csv')
    output('sh', '-c', f'{kernlens} export --to chrome {packed} -o - 2>/dev/null | tail -n +2 | md5sum > {other}.1')
    output('sh', '-c', f'{kernlens} export --to chrome {trace} -o - 2>/dev/null | tail -n +2 | md5sum > {other}.2')
    tap.same('a packed trace is written as the trace itself is', open(f'{other}.1').read(), open(f'{other}.2').read())
    again = run(kernlens, 'export', '--to', 'chrome', trace, '-o', path)
    tap.good('an existing file is not replaced', again.returncode == 1 and b'--force' in again.stderr)
    piped = output('sh', '-c', f'{kernlens} export --to perfetto {trace} -o - 2>/dev/null | md5sum')
    whole = export('perfetto', trace)
    tap.same('to a pipe, the same as to a file', piped.split()[0], output('md5sum', whole).split()[0])
    tap.same('a database to a pipe is refused', run(kernlens, 'export', '--to', 'sqlite', trace, '-o', '-').returncode, 2)
    wrong = run(kernlens, 'export', '--to', 'etl', trace)
    tap.good('an unknown format: it names all', wrong.returncode == 2 and all(
        form.encode() in wrong.stderr for form in FORMATS))
    wrong = run(kernlens, 'export', '--to', 'folded', '-e', 'none', trace, '-o', '-')
    tap.good('an unknown event', wrong.returncode == 1 and b'none' in wrong.stderr)
    full = run('sh', '-c', f'{kernlens} export --to chrome {trace} -o - >/dev/full')
    tap.same('a full disk is an error', (full.returncode, b'No space' in full.stderr or full.stderr), (1, True))
    full = run('sh', '-c', f'ulimit -f 64; trap "" XFSZ; {kernlens} export --to sqlite {trace} -o {work}/small.sqlite')
    tap.good('also for a database, of which nothing is left',
             full.returncode == 1 and not os.path.exists(f'{work}/small.sqlite'))


def main():
    trace = f'{traces}/all'
    facts = Facts(trace)
    read = output('babeltrace2', trace).splitlines()
    tap.same('the trace has as many events as babeltrace2 reads', len(facts.sequence), len(read))
    report = json.loads(output(kernlens, 'report', '--json', trace))
    tap.same('no record is lost', report['losses']['discarded'], 0)
    tap.good('with stack traces, system calls, failed ones, and names that are no text',
             facts.ticks and facts.failed and any('<i>' in comm for comm in facts.comms))
    check_chrome(facts, export('chrome', trace))
    check_perfetto(facts, export('perfetto', trace))
    path = export('speedscope', trace)
    check_speedscope(facts, path)
    check_page('speedscope', path, '(')
    check_page('chrome', os.path.join(work, 'all.json'), 'pid')
    check_firefox(facts, export('firefox', trace))
    path = export('pprof', trace)
    check_pprof(facts, path)
    check_page('pprof', path, 'pb.gz')
    path = export('folded', trace)
    check_folded(facts, path)
    check_page('folded', path, 'folded')
    check_sqlite(facts, export('sqlite', trace))
    check_trace_dat(facts, export('trace-dat', trace))
    check_otlp(facts, export('otlp', trace))
    check_plot(facts, trace)
    check_view(facts, trace)
    check_losses()
    check_selected()
    check_options(trace, facts)
    return tap.end()


sys.exit(main())
