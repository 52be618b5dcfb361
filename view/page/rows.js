// SPDX-License-Identifier: GPL-2.0
// The rows of the picture: which tracks are in them, and where.

const HEIGHT = { group: 22, bar: 14, thin: 7, gap: 5, curve: 26 };

// Rows: { title, indent, lanes: [{ track or counter, y, height }], top, height, members, open }
let rows = [];
let totalHeight = 0;

function byKind(kind, machine) {
	return tracks.filter((track) => track.kind === kind && machineOf(track.id) === machine);
}

function makeRow(title, indent, lanes) {
	const row = { title, indent, lanes: [], height: HEIGHT.gap };

	for (const [track, thin] of lanes) {
		if (!track)
			continue;
		const height = thin ? HEIGHT.thin : HEIGHT.bar;

		row.lanes.push({ track, y: row.height, height });
		row.height += height + 1;
	}
	row.height = Math.max(row.height, HEIGHT.group);
	return row;
}

// Below the row of a thread or a CPU, its variables.
function curveRows(scope, id, indent) {
	return counters.filter((counter) => counter.scope === scope && counter.id === id && counter.n).map((counter) => ({
		title: counter.name, indent, lanes: [{ counter, y: 3, height: HEIGHT.curve }], height: HEIGHT.curve + 6,
	}));
}

function makeGroup(title, members, open) {
	return { title, indent: 0, lanes: [], height: HEIGHT.group, members, open };
}

function cpuGroup(machine) {
	const find = (kind, id) => tracks.find((track) => track.kind === kind && track.id === id);
	const ids = [...new Set(tracks.filter((track) => ['cpu', 'irq', 'softirq'].includes(track.kind) &&
		machineOf(track.id) === machine && (track.n || isDense(track))).map((track) => track.id))].sort((a, b) => a - b);

	return makeGroup('CPUs', ids.flatMap((id) => [makeRow(`CPU ${ownId(id)}`, 1,
		[[find('cpu', id)], [find('irq', id), true], [find('softirq', id), true]]), ...curveRows('cpu', id, 2)]), true);
}

// Processes, those that have run longest first; threads in the order of their numbers.
function processGroups(machine) {
	const lanes = new Map(), processes = new Map();

	for (const track of tracks)
		if (['thread', 'syscall', 'event'].includes(track.kind) && track.n) {
			if (!lanes.has(track.id))
				lanes.set(track.id, {});
			lanes.get(track.id)[track.kind] = track;
		}
	for (const thread of threads) {
		const of = lanes.get(thread.tid);

		if (!of || !ownId(thread.tid) || machineOf(thread.tid) !== machine)
			continue;
		if (!processes.has(thread.pid))
			processes.set(thread.pid, { pid: thread.pid, name: '', ran: 0, rows: [] });
		const process = processes.get(thread.pid);

		if (thread.tid === thread.pid || !process.name)
			process.name = thread.name;
		process.ran += of.thread ? of.thread.sums[0] : 0;
		const row = makeRow(shortTitle(thread), 1, [[of.thread], [of.syscall], [of.event, true]]);

		row.thread = thread;
		process.rows.push(row);
	}
	for (const process of processes.values())
		process.rows.sort((a, b) => a.thread.tid - b.thread.tid);
	const sorted = [...processes.values()].sort((a, b) => b.ran - a.ran || a.pid - b.pid);
	const own = sorted.filter((process) => isOwn(process.pid)), others = sorted.filter((process) => !isOwn(process.pid));

	return [...others.flatMap((process, i) => processRows(process, i < 8)), ...ownGroup(own)];
}

// The row of a thread, and those below it.
function threadRows(row, indent) {
	row.indent = indent;
	return [row, callRow(row.thread, indent + 1), ...curveRows('thread', row.thread.tid, indent + 1)].filter(Boolean);
}

function processRows(process, open) {
	if (process.rows.length === 1)
		return threadRows(process.rows[0], 0);
	const group = makeGroup(`${process.name || '?'} ${ownId(process.pid)} (${process.rows.length} threads)`,
		process.rows.flatMap((row) => threadRows(row, 1)), open);

	group.pid = process.pid;
	return [group];
}

// What records the trace is not what it is about.
function ownGroup(processes) {
	const own = processes.flatMap((process) => process.rows);

	return own.length ? [makeGroup(`${OWN_TITLE} (${own.length} thread${own.length > 1 ? 's' : ''})`,
		own.flatMap((row) => threadRows(row, 1)), false)] : [];
}

const OWN_TITLE = 'kernlens itself';

// Is a process one of kernlens? The command that it has run may have its name until it is executed.
function isOwn(pid) {
	const thread = threadOf(pid);

	const { command } = machineOf(pid).about;

	return Boolean(thread) && ownId(pid) !== command && /^kernlens(-|$)/.test(thread.name);
}

function diskRows(machine) {
	return byKind('disk', machine).filter((track) => track.n).map((track) => makeRow(track.id % 16 ? '' : `disk ${track.device}`, 0, [[track]]));
}

// Does the page know how many records a CPU has, before they are read?
function isDense(track) {
	return track.kind === 'cpu' && Boolean(about.density && about.density[track.id]);
}

let allRows = [];

// Groups stay open or closed.
function makeRows() {
	const key = (row) => row.pid || `${row.machine.number} ${row.title.replace(/ \(.*/, '')}`;
	const before = new Map(allRows.filter((row) => row.members).map((row) => [key(row), row.open]));

	allRows = listRows();
	for (const row of allRows)
		if (row.members && before.has(key(row)))
			row.open = before.get(key(row));
	layOut();
}

const rowsOf = (machine) => [
	...byKind('loss', machine).filter((track) => track.n).map((track) => makeRow(ownId(track.id) ? `lost, CPU ${ownId(track.id) - 1}` :
		'missed', 0, [[track]])),
	...byKind('mark', machine).filter((track) => track.n).map((track) => makeRow('marks', 0, [[track]])),
	cpuGroup(machine),
	...curveRows('system', machine.base, 0),
	...diskRows(machine),
	...processGroups(machine),
];

const closedMachines = new Set();

// Those of a machine have it; of several machines, each begins with a heading.
const listRows = () => machines.flatMap((machine) => {
	const list = rowsOf(machine);

	if (many)
		list.unshift({ title: machine.host, indent: 0, lanes: [], height: HEIGHT.group, heading: true });
	for (const row of list) {
		row.machine = machine;
		for (const member of row.members || [])
			member.machine = machine;
	}
	return list;
});

function layOut() {
	rows = [];
	for (const row of allRows) {
		if ((row.members && !row.members.length) || (closedMachines.has(row.machine) && !row.heading))
			continue;
		rows.push(row, ...(row.open ? row.members : []));
	}
	totalHeight = 0;
	for (const row of rows) {
		if (row.calls !== undefined)
			sizeCallRow(row);
		row.top = totalHeight;
		totalHeight += row.height;
	}
}

// Make the row of a track visible, and return it.
function rowOf(track) {
	const has = (row) => row.lanes.some((lane) => lane.track === track);

	if (closedMachines.delete(machineOf(track.id))) {
		layOut();
		sizeSpacer();
	}
	for (const row of allRows)
		if (row.members && !row.open && row.members.some(has)) {
			row.open = true;
			layOut();
			sizeSpacer();
		}
	return rows.find(has);
}

function threadTrack(tid, kind = 'thread') {
	return tracks[trackNumbers.get(`${kind} ${tid}`)];
}
