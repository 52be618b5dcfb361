// SPDX-License-Identifier: GPL-2.0
// Whose traces are on the page. On a page of several machines, an ID of a thread, CPU or device has the
// number of its machine above its own bits, and times are those of the first machine's clock, as far as
// the offsets of the others are known.

const MACHINE = 2 ** 40;
const page = JSON.parse(document.getElementById('about').textContent);

// Each with its lists; `prefix` of the IDs of its elements; `base` of its IDs; `shift` of its times;
// `first`: the number of its first record.
const machines = (page.machines || [page]).map((own, number) => {
	const prefix = page.machines ? `m${number}-` : '';
	const lists = page.machines ? JSON.parse(document.getElementById(`${prefix}about`).textContent) : page;

	return { number, prefix, base: number * MACHINE, about: lists, host: own.host || lists.host, clock: own.clock, ahead: own.ahead || '0',
		shift: 0, first: 0, maps: null };
});
const many = machines.length > 1;

const ownId = (id) => id % MACHINE;
const machineOf = (id) => machines[Math.floor(id / MACHINE)];

// What is said of all machines together.
function combine() {
	const begins = machines.map((machine) => BigInt(machine.about.begin) - BigInt(machine.ahead));
	const begin = begins.reduce((a, b) => (b < a ? b : a)), all = machines.map((machine) => machine.about);
	const sum = (of) => all.reduce((total, each) => total + of(each), 0), { samples } = all[0];
	let records = 0;

	machines.forEach((machine, i) => {
		machine.shift = Number(begins[i] - begin);
		machine.first = records;
		records += machine.about.records;
	});
	return { title: page.title, begin: String(begin), records,
		ns: Math.max(...machines.map((machine) => machine.shift + machine.about.ns)),
		resolution: Math.max(...all.map((each) => each.resolution)), kept: all.every((each) => each.kept),
		lost: sum((each) => each.lost), omitted: sum((each) => each.omitted),
		samples: { ...samples, hz: all.every((each) => each.samples.hz === samples.hz) ? samples.hz : 0 } };
}

const about = page.machines ? combine() : page;

// When it was, on the clock of the page, at another machine: { from, to }; an end that is not known is
// infinite.
function boundsAt(machine, other, time) {
	if (machine === other)
		return { from: time, to: time };
	const [least, most] = page.bounds[machine.number][other.number];

	return { from: least === null ? -Infinity : time + least, to: most === null ? Infinity : time + most };
}

// How uncertain the order of events of two machines is: ns, or infinite.
function uncertaintyOf(machine, other) {
	const { from, to } = boundsAt(machine, other, 0);

	return Math.max(Math.abs(from), Math.abs(to));
}

function showUncertainty(machine, other) {
	const { from, to } = boundsAt(machine, other, 0);

	if (from === -Infinity && to === Infinity)
		return 'unknown';
	if (from === -Infinity || to === Infinity)
		return to === Infinity ? `at least ${showTime(from)}` : `at most ${showTime(to)}`;
	return `\u00b1${showTime(uncertaintyOf(machine, other))}`;
}

// What a machine has said of its own clock.
function showClock({ clock }) {
	if (!clock)
		return 'nothing is known of this clock';
	return clock.synchronized ? `synchronized, its error at most ${showTime(clock.maxError)}` : 'not synchronized';
}

// The table shows the records of one machine: the order of those of several is uncertain.
let tableMachine = machines[0];

function recordRange() {
	return many ? { from: tableMachine.first, to: tableMachine.first + tableMachine.about.records } : { from: 0, to: about.records };
}

// ------------------------------------------------------------------- picture

// Of the heading of a machine: how well its times can be compared with those above.
function headingText(machine) {
	const [first] = machines;

	return machine === first ? `the clock of this page: ${showClock(machine)}` :
		`compared with ${first.host}: ${showUncertainty(first, machine)}; ${showClock(machine)}`;
}

function drawHeading(painter, row, y) {
	painter.rect(0, y, view.width, row.height, color('line'));
	painter.text(8, y + row.height / 2, `${closedMachines.has(row.machine) ? '\u25b8' : '\u25be'} ${row.title}`, color('text'));
	painter.text(GUTTER + 4, y + row.height / 2, headingText(row.machine), color('dim'));
}

// The mark, or what is selected: a moment of one machine. At the others it was somewhere in a band.
function drawBands(painter, top) {
	const { selected } = view, mark = view.mark && isInTable(view.mark.number) ? view.mark : null;
	const of = mark ? tableMachine : selected && machineOf(selected.track.id), time = mark ? mark.time : selected && selected.time;

	if (!many || !of)
		return;
	for (const row of rows) {
		const { from, to } = boundsAt(of, row.machine, time);
		const x1 = Math.max(GUTTER, toX(from)), x2 = Math.min(view.width, toX(to)), y = row.top - top + RULER;

		if (x2 >= x1 && y + row.height >= RULER && y <= view.height)
			painter.rect(x1, y, Math.max(1, x2 - x1), row.height, color('accent'), row.machine === of ? 1 : 0.14);
	}
}
