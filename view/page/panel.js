// SPDX-License-Identifier: GPL-2.0
// The panel below the picture: details of a span, sums of a range, records, and search.

const body = document.getElementById('body');
const tabs = [...document.querySelectorAll('#tabs [role=tab]')];

let tab = 'details';
let recordsFrom = 0; // number of the first record shown
let recordsHere = -1;
let turn = 0; // of what the panel shows; what was loaded for an earlier one is not shown

const RECORDS_SHOWN = 200;
const CHAIN_MAX = 20;

// An element with attributes and children; strings are text.
function make(name, attributes = {}, ...children) {
	const element = document.createElement(name);

	for (const [key, value] of Object.entries(attributes))
		if (typeof value === 'function')
			element[key] = value;
		else
			element.setAttribute(key, value);
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

function link(text, go) {
	return make('a', { onclick: go, tabindex: 0, role: 'button',
		onkeydown: (event) => event.key === 'Enter' && go() }, text);
}

function list(pairs) {
	return make('dl', {}, ...pairs.filter(Boolean).flatMap(([term, ...what]) =>
		[make('dt', {}, term), make('dd', {}, ...what)]));
}

// Heads that begin with > are of numbers.
function tableOf(heads, lines) {
	const numeric = heads.map((head) => head.startsWith('>'));
	const cell = (name, what, i) => make(name, numeric[i] ? { class: 'n' } : {}, what);

	return make('table', {},
		make('tr', {}, ...heads.map((head, i) => cell('th', head.replace(/^>/, ''), i))),
		...lines.map((line) => make('tr', {}, ...line.map((what, i) => cell('td', what, i)))));
}

function show(which) {
	tab = which;
	for (const each of tabs)
		each.setAttribute('aria-selected', each.dataset.tab === tab);
	refresh();
}

function refresh() {
	const mine = ++turn;
	const put = (...parts) => mine === turn && body.replaceChildren(...parts.filter(Boolean));

	({ details: showDetails, sums: showSums, stacks: showStacks, records: showRecords, search: showSearch })[tab](put);
}

// ------------------------------------------------------------------- details

function shortTrackTitle(track) {
	if (track.kind === 'cpu')
		return `CPU ${ownId(track.id)}`;
	if (track.kind === 'irq' || track.kind === 'softirq')
		return `${track.kind === 'irq' ? 'interrupts' : 'softirqs'} of CPU ${ownId(track.id)}`;
	if (track.kind === 'disk')
		return `disk ${track.device}`;
	if (track.kind === 'mark' || track.kind === 'loss')
		return track.kind === 'mark' ? 'marks' : 'lost records';
	const thread = threadOf(track.id);

	return thread ? shortTitle(thread) : String(ownId(track.id));
}

function trackTitle(track) {
	return `${many ? `${machineOf(track.id).host}: ` : ''}${shortTrackTitle(track)}`;
}

function stateText(track, i) {
	const { spans } = track, cls = CLASSES[spans.cls[i]];

	if (track.kind !== 'thread')
		return nameOf(spans.name[i]) + (spans.cls[i] === 5 && track.kind !== 'loss' ? ' (failed)' : '');
	if (spans.cls[i] === 0)
		return `running${spans.by[i] ? ` on CPU ${spans.by[i] - 1}` : ''}`;
	if (spans.cls[i] === 1)
		return nameOf(spans.name[i]) === 'preempted' ? 'ready: preempted' : `ready: woken by ${nameOf(spans.name[i])}`;
	return `${cls}: ${nameOf(spans.name[i])}`;
}

// Who woke a thread that did not run at a time: { track, time } of the waker, or null.
function wakerOf(track, i) {
	const { spans } = track;

	// A wait is ended by the span behind it.
	if (spans.cls[i] >= 2 && i + 1 < spans.n && spans.cls[i + 1] === 1)
		i++;
	if (track.kind !== 'thread' || spans.cls[i] !== 1 || spans.count[i] > 1)
		return null;
	const thread = spans.by[i] ? threads[spans.by[i] - 1] : null;

	return { name: nameOf(spans.name[i]), time: spans.begin[i], to: track,
		track: thread && threadTrack(thread.tid), thread };
}

// The last wait of a thread that had ended before a time.
async function waitBefore(track, time) {
	const spans = await track.load();

	for (let i = spans.at(time, 0); i > 0; i--)
		if (spans.cls[i] === 1 && spans.count[i] === 1 && nameOf(spans.name[i]) !== 'preempted')
			return i;
	return -1;
}

// Who woke it, who had woken that one before, and so on.
async function chainOf(track, i) {
	const hops = [];

	for (let waker = wakerOf(track, i); waker && hops.length < CHAIN_MAX;) {
		hops.push(waker);
		if (!waker.track)
			break;
		const before = await waitBefore(waker.track, waker.time);

		waker = before < 0 ? null : wakerOf(waker.track, before);
	}
	return hops;
}

function hopLine(hop, number) {
	const title = hop.thread ? threadTitle(hop.thread) : hop.name;

	return [String(number + 1), showPoint(hop.time, 1000),
		hop.track ? link(title, () => goTo(hop.track, hop.time)) : title,
		link(trackTitle(hop.to), () => goTo(hop.to, hop.time))];
}

// How the clocks of the machines are, and what that means for a time of one of them.
function clockParts(of, time) {
	const lines = machines.filter((other) => other !== of).map((other) => {
		const { from, to } = boundsAt(of, other, time ?? 0), known = from > -Infinity && to < Infinity;

		return [other.host, showUncertainty(of, other), time === null || !known ? '' : `${showPoint(from, 1)} to ${showPoint(to, 1)}`,
			showClock(other)];
	});

	return [make('h2', {}, `Clocks, compared with that of ${of.host} (${showClock(of)})`),
		make('p', {}, 'Events of two machines that are closer together than this may have happened in the other order.'),
		tableOf(['machine', '>uncertainty', ...(time === null ? [''] : ['>the same moment there']), 'its clock'], lines)];
}

async function showDetails(put) {
	const { selected } = view;

	if (view.call)
		return put(...callDetails());
	if (!selected)
		return put(make('p', {}, 'Click something in the picture. Drag to select a range; ? shows the keys.'),
			...(many ? clockParts(machines[0], null) : []));
	const { track, i } = selected, spans = await track.load();
	const length = spans.end[i] - spans.begin[i], merged = spans.count[i] > 1;
	const pairs = [
		['track', trackTitle(track)],
		['what', merged ? `${showCount(spans.count[i])} spans shorter than ${showTime(about.resolution)}, merged` :
			stateText(track, i)],
		['from', showPoint(spans.begin[i], 1)],
		length ? ['length', showTime(length)] : null,
	];

	for (let k = 0; merged && k < CLASSES.length; k++)
		if (spans.timeOf(i, k))
			pairs.push([CLASSES[k], showTime(spans.timeOf(i, k))]);
	if (track.kind === 'cpu' && spans.by[i]) {
		const thread = threads[spans.by[i] - 1], of = threadTrack(thread.tid);

		pairs.push(['thread', of ? link(threadTitle(thread), () => goTo(of, spans.begin[i])) : threadTitle(thread)]);
	}
	const why = isWait(track, i) ? await whyOfWait(track, i) : [];
	const chain = await chainOf(track, i);
	const record = spans.record[i] === NO_RECORD || merged ? null : await recordAt(spans.record[i]);

	if (record)
		pairs.push(['record', link(`${record.name} on CPU ${record.cpu}`, () => showRecordsAt(record.number)),
			make('div', { class: 'long' }, record.text)]);
	else if (!about.kept)
		pairs.push(['record', 'not in this page: the trace has too many']);
	return put(make('div', { class: 'columns' }, make('div', { class: 'facts' }, list(pairs)), make('div', { class: 'grow' }, ...why)),
		chain.length ? make('h2', {}, 'What woke it, and what had woken that one before') : null,
		chain.length ? tableOf(['', 'time', 'by', 'woken'], chain.map(hopLine)) : null,
		...(many ? clockParts(machineOf(track.id), selected.time) : []));
}

// ---------------------------------------------------------------------- sums

// Has the server not read up to a time, and nothing else has it?
function isUnread(to) {
	return Boolean(served) && !about.complete && to > about.done && !windowHas(view.from, view.to);
}

// Sums of a range: processes by state, CPUs, and system calls with percentiles.
async function sumsOf(from, to) {
	const processes = new Map(), cpus = [], calls = new Map();
	const ofMachine = (id, text) => (many ? `${machineOf(id).host}: ${text}` : text);
	let inexact = false;

	for (const track of tracks) {
		if (!['thread', 'cpu', 'syscall'].includes(track.kind))
			continue;
		const spans = await track.partFor(from, to).spans();

		if (track.kind === 'syscall') {
			inexact = addCalls(calls, spans, from, to) || inexact;
			continue;
		}
		const times = spans.times(from, to);

		if (track.kind === 'cpu') {
			cpus.push([track.id, times.reduce((sum, time) => sum + time, 0)]);
			continue;
		}
		const thread = threadOf(track.id);

		if (!processes.has(thread.pid))
			processes.set(thread.pid, { pid: thread.pid, name: thread.name, times: new Float64Array(CLASSES.length) });
		const process = processes.get(thread.pid);

		if (thread.tid === thread.pid)
			process.name = thread.name;
		times.forEach((time, k) => { process.times[k] += time; });
	}
	for (const call of calls.values())
		call.lengths.sort((a, b) => a - b);
	for (const process of processes.values())
		process.title = ofMachine(process.pid, process.name);
	return { processes: [...processes.values()],
		cpus: cpus.sort((a, b) => a[0] - b[0]).map(([id, time]) => [ofMachine(id, String(ownId(id))), time]), calls: [...calls.values()],
		inexact: inexact || (about.resolution > 0 && !windowHas(from, to)), unread: isUnread(to) };
}

function addCalls(calls, spans, from, to) {
	let merged = false;

	for (let i = spans.after(from); i < spans.n && spans.begin[i] <= to; i++) {
		const name = nameOf(spans.name[i]);

		merged ||= spans.count[i] > 1;
		if (!calls.has(name))
			calls.set(name, { name, n: 0, failed: 0, time: 0, lengths: [] });
		const call = calls.get(name), length = spans.end[i] - spans.begin[i];

		call.n += spans.count[i];
		call.failed += spans.cls[i] === 5;
		call.time += Math.min(spans.end[i], to) - Math.max(spans.begin[i], from);
		call.lengths.push(length);
	}
	return merged;
}

function percentile(sorted, part) {
	return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

function processTable(processes) {
	return tableOf(['>pid', 'process', '>running', '>ready', '>sleeping', '>blocked'],
		processes.map((process) => [String(ownId(process.pid)), process.title, ...[0, 1, 2, 3].map((k) => showTime(process.times[k]))]));
}

async function showSums(put) {
	const [from, to] = view.range || [view.from, view.to];
	const sums = await sumsOf(from, to);
	const busy = sums.processes.filter((process) => process.times.some((time) => time)).sort((a, b) => b.times[0] - a.times[0]);
	const busiest = busy.filter((process) => !isOwn(process.pid)).slice(0, 50), own = busy.filter((process) => isOwn(process.pid));
	const calls = sums.calls.sort((a, b) => b.time - a.time).slice(0, 50);

	put(make('h2', {}, `${view.range ? 'Selection' : 'What is shown'}: ${showTime(to - from)} from ${showPoint(from, 1000)}`),
		sums.unread ? make('p', {}, 'The trace has not been read up to here yet.') : null,
		sums.inexact ? make('p', {}, 'Spans that are merged count in part at the ends of the range; merged calls have the length of all together.') : null,
		make('div', { class: 'columns' },
			make('div', {}, processTable(busiest),
				own.length ? make('h2', {}, OWN_TITLE) : null, own.length ? processTable(own) : null),
			make('div', {}, tableOf(['>CPU', '>busy', '>share'], sums.cpus.map(([id, time]) =>
				[id, showTime(time), `${(100 * time / (to - from)).toFixed(1)}%`]))),
			make('div', {}, tableOf(['system call', '>calls', '>failed', '>total', '>median', '>90%', '>99%', '>longest'],
				calls.map((call) => [call.name, showCount(call.n), showCount(call.failed), showTime(call.time),
					...[0.5, 0.9, 0.99, 1].map((part) => showTime(percentile(call.lengths, part)))])))));
}

// ------------------------------------------------------------------- records

async function showRecordsAt(number) {
	const record = many ? await recordAt(number) : null;

	if (record)
		showTableOf(machines[record.machine]);
	recordsHere = number;
	recordsFrom = Math.max(0, number - 20);
	show('records');
}

function recordLine(record) {
	return make('tr', record.number === recordsHere ? { class: 'here' } : {},
		make('td', { class: 'n' }, link(showPoint(record.time, 1), () => markRecord(record))),
		make('td', { class: 'n' }, String(record.cpu)),
		make('td', {}, threadTitle(record.thread)),
		make('td', {}, record.name),
		make('td', { class: 'long' }, record.text));
}

function recordTable(records) {
	return make('table', {}, make('tr', {}, ...['time', 'CPU', 'thread', 'event', 'fields']
		.map((head) => make('th', {}, head))), ...records.map(recordLine));
}

function goToRecord(record) {
	const kind = record.name.startsWith('syscall_') ? 'syscall' : record.name.startsWith('sched_') ? 'thread' : 'event';
	const track = threadTrack(record.thread.tid, kind) || threadTrack(record.thread.tid);

	recordsHere = record.number;
	return track ? goTo(track, record.time, false) : null;
}

async function showRecords(put) {
	const records = [];

	if (!about.kept)
		return put(make('p', {}, `The ${showCount(about.records)} records are not in this page: they would make it too large.`));
	const range = recordRange();

	recordsFrom = Math.max(range.from, Math.min(range.to - 1, recordsFrom));
	for (let i = recordsFrom; i < Math.min(range.to, recordsFrom + RECORDS_SHOWN); i++)
		records.push(await recordAt(i));
	const move = (by) => () => {
		recordsFrom += by;
		refresh();
	};
	const at = recordsFrom - range.from;

	return put(make('p', {}, `${many ? `${tableMachine.host}: ` : ''}${showCount(at + 1)} to ${showCount(at + records.length)} of ${showCount(range.to - range.from)} `,
		make('button', { onclick: move(-RECORDS_SHOWN) }, 'earlier'), ' ',
		make('button', { onclick: move(RECORDS_SHOWN) }, 'later'), ' ',
		make('button', { onclick: async () => showRecordsAt(await recordAfter(view.from)) }, 'at the left edge')),
	recordTable(records));
}
