// SPDX-License-Identifier: GPL-2.0
// The rows of the picture: which tracks are in them, and where.

const HEIGHT = { group: 22, bar: 14, thin: 7, gap: 5, curve: 26 };

// Rows: { title, indent, lanes: [{ track or counter, y, height }], top, height, members, open }
let rows = [];
let totalHeight = 0;

function byKind(kind) {
	return tracks.filter((track) => track.kind === kind);
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

function cpuGroup() {
	const find = (kind, id) => tracks.find((track) => track.kind === kind && track.id === id);
	const ids = [...new Set(tracks.filter((track) => ['cpu', 'irq', 'softirq'].includes(track.kind) &&
		(track.n || isDense(track))).map((track) => track.id))].sort((a, b) => a - b);

	return makeGroup('CPUs', ids.flatMap((id) => [makeRow(`CPU ${id}`, 1,
		[[find('cpu', id)], [find('irq', id), true], [find('softirq', id), true]]), ...curveRows('cpu', id, 2)]), true);
}

// Processes, those that have run longest first; threads in the order of their numbers.
function processGroups() {
	const lanes = new Map(), processes = new Map();

	for (const track of tracks)
		if (['thread', 'syscall', 'event'].includes(track.kind) && track.n) {
			if (!lanes.has(track.id))
				lanes.set(track.id, {});
			lanes.get(track.id)[track.kind] = track;
		}
	for (const thread of threads) {
		const of = lanes.get(thread.tid);

		if (!of || !thread.tid)
			continue;
		if (!processes.has(thread.pid))
			processes.set(thread.pid, { pid: thread.pid, name: '', ran: 0, rows: [] });
		const process = processes.get(thread.pid);

		if (thread.tid === thread.pid || !process.name)
			process.name = thread.name;
		process.ran += of.thread ? of.thread.sums[0] : 0;
		const row = makeRow(threadTitle(thread), 1, [[of.thread], [of.syscall], [of.event, true]]);

		row.thread = thread;
		process.rows.push(row);
	}
	return [...processes.values()].sort((a, b) => b.ran - a.ran || a.pid - b.pid).flatMap((process, i) => {
		process.rows.sort((a, b) => a.thread.tid - b.thread.tid);
		if (process.rows.length === 1) {
			process.rows[0].indent = 0;
			return [process.rows[0], ...curveRows('thread', process.rows[0].thread.tid, 1)];
		}
		const group = makeGroup(`${process.name || '?'} ${process.pid} (${process.rows.length} threads)`,
			process.rows.flatMap((row) => [row, ...curveRows('thread', row.thread.tid, 2)]), i < 8);

		group.pid = process.pid;
		return [group];
	});
}

function diskRows() {
	return byKind('disk').filter((track) => track.n).map((track) => makeRow(track.id % 16 ? '' : `disk ${track.device}`, 0, [[track]]));
}

// Does the page know how many records a CPU has, before they are read?
function isDense(track) {
	return track.kind === 'cpu' && Boolean(about.density && about.density[track.id]);
}

let allRows = [];

// Groups stay open or closed.
function makeRows() {
	const before = new Map(allRows.filter((row) => row.members).map((row) => [row.pid || row.title, row.open]));

	allRows = listRows();
	for (const row of allRows)
		if (row.members && before.has(row.pid || row.title))
			row.open = before.get(row.pid || row.title);
	layOut();
}

const listRows = () => [
	...byKind('loss').filter((track) => track.n).map((track) => makeRow(track.id ? `lost, CPU ${track.id - 1}` : 'missed', 0, [[track]])),
	...byKind('mark').filter((track) => track.n).map((track) => makeRow('marks', 0, [[track]])),
	cpuGroup(),
	...curveRows('system', 0, 0),
	...diskRows(),
	...processGroups(),
];

function layOut() {
	rows = [];
	for (const row of allRows) {
		if (row.members && !row.members.length)
			continue;
		rows.push(row, ...(row.open ? row.members : []));
	}
	totalHeight = 0;
	for (const row of rows) {
		row.top = totalHeight;
		totalHeight += row.height;
	}
}

// Make the row of a track visible, and return it.
function rowOf(track) {
	const has = (row) => row.lanes.some((lane) => lane.track === track);

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
