// SPDX-License-Identifier: GPL-2.0
// The table beside the picture: all records in the order of time, of which the visible rows are made.
// It moves with the picture, and the picture with it.

const ROW = 18; // height of a row
const TABLE_HEIGHT_MAX = 4000000; // taller elements are not exact
const table = document.getElementById('table');
const tableScroller = document.getElementById('table-scroll');
const tableRows = document.getElementById('table-rows');
const tableSpacer = document.getElementById('table-spacer');

let tableTop = 0; // number of the record in the first row
let tableShown = null; // { first, last, from, to }: numbers and times of the rows
let tableTurn = 0;
let tableMoves = false; // the table moves by itself
let follow = 0;

function tableIsOpen() {
	return !table.hidden;
}

function rowsShown() {
	return Math.max(1, Math.floor(tableScroller.clientHeight / ROW));
}

function toggleTable(open = table.hidden) {
	table.hidden = !open;
	document.getElementById('table-button').setAttribute('aria-pressed', String(open));
	if (open)
		followPicture();
	requestDraw();
}

function isInTable(number) {
	const { from, to } = recordRange();

	return number >= from && number < to;
}

// ------------------------------------------------------------------- the rows

// Where the scroll bar is for a row.
function topOf(number) {
	const range = recordRange(), n = range.to - range.from;
	const height = Math.min(n * ROW, TABLE_HEIGHT_MAX), rest = Math.max(1, n - rowsShown());

	tableSpacer.style.height = `${height}px`;
	return (number - range.from) / rest * Math.max(0, height - tableScroller.clientHeight);
}

function tableRow(record) {
	const row = make('div', { class: `row${view.mark && view.mark.number === record.number ? ' here' : ''}`, role: 'row',
		onclick: () => markRecord(record) });

	for (const [name, text] of [['time', showPoint(record.time, 1)], ['cpu', String(record.cpu)], ['thread', threadTitle(record.thread)],
		['event', record.name], ['fields', record.text]])
		row.append(make('span', { class: name, role: 'cell', title: text }, text));
	return row;
}

async function drawTable() {
	const range = recordRange(), mine = ++tableTurn, first = Math.max(range.from, Math.min(tableTop, range.to - 1));
	const last = Math.min(range.to, first + rowsShown() + 1), records = [];

	if (!tableIsOpen())
		return;
	if (!about.kept || range.from === range.to) {
		tableRows.replaceChildren(make('p', {}, about.records ?
			`The ${showCount(about.records)} records are not in this page: they would make it too large. kernlens view --serve shows them.` :
			'There are no records.'));
		return;
	}
	for (let i = first; i < last; i++)
		records.push(await recordAt(i));
	if (mine !== tableTurn)
		return;
	tableShown = { first, last: last - 1, from: records[0].time, to: records[records.length - 1].time };
	tableRows.replaceChildren(...records.map(tableRow));
	tableMoves = Math.abs(tableScroller.scrollTop - topOf(first)) > 1;
	if (tableMoves)
		tableScroller.scrollTop = topOf(first);
	tableRows.style.top = `${tableScroller.scrollTop}px`;
	requestDraw();
}

function tableTo(number) {
	const range = recordRange();

	tableTop = Math.max(range.from, Math.min(Math.round(number), range.to - 1));
	return drawTable();
}

// --------------------------------------------------------------- moving together

// The picture has moved: show what is at its left edge, or around the mark if that is in it.
function followPicture() {
	clearTimeout(follow);
	if (!tableIsOpen() || !about.kept)
		return;
	follow = setTimeout(async () => {
		const { mark } = view, mine = follow;

		if (mark && isInTable(mark.number) && mark.time >= view.from && mark.time <= view.to) {
			tableTo(mark.number - Math.floor(rowsShown() / 3));
			return;
		}
		const number = await recordAfter(view.from);

		if (mine === follow)
			tableTo(number);
	}, 80);
}

// The table has moved: bring its first row into the picture.
function followTable() {
	if (!tableShown)
		return;
	const length = view.to - view.from, { from } = tableShown;

	if (from < view.from || from > view.to)
		moveView(from - length * 0.1, from + length * 0.9);
}

tableScroller.addEventListener('scroll', () => {
	tableRows.style.top = `${tableScroller.scrollTop}px`;
	if (tableMoves) {
		tableMoves = false;
		return;
	}
	const height = tableSpacer.offsetHeight - tableScroller.clientHeight;
	const range = recordRange();
	const number = range.from + Math.round(tableScroller.scrollTop / Math.max(1, height) * Math.max(0, range.to - range.from - rowsShown()));

	if (number !== tableTop)
		tableTo(number).then(followTable);
});

// With many records, a pixel of the scroll bar is more than one.
tableScroller.addEventListener('wheel', (event) => {
	const lines = event.deltaY * (event.deltaMode ? 20 : 1) / ROW;

	event.preventDefault();
	tableTo(tableTop + (lines < 0 ? Math.min(-1, Math.round(lines)) : Math.max(1, Math.round(lines)))).then(followTable);
}, { passive: false });

new ResizeObserver(() => drawTable()).observe(tableScroller);

// -------------------------------------------------------------------- the mark

// Let the table show the records of a machine. Returns whether it was another one.
function showTableOf(machine) {
	const was = tableMachine;

	tableMachine = machine;
	document.getElementById('table-machine').value = machine.number;
	return was !== machine;
}

if (many) {
	const choice = document.getElementById('table-machine');

	choice.append(...machines.map((machine) => make('option', { value: machine.number }, machine.host)));
	choice.hidden = false;
	choice.addEventListener('change', async () => {
		showTableOf(machines[Number(choice.value)]);
		tableTo(await recordAfter(view.from));
		if (tab === 'records')
			refresh();
	});
}

// Mark a record in the table and the picture, and select what it begins.
async function markRecord(record) {
	const other = many && showTableOf(machines[record.machine]);

	view.mark = { number: record.number, time: record.time };
	if (tableShown && (other || record.number < tableShown.first || record.number >= tableShown.last))
		await tableTo(record.number - Math.floor(rowsShown() / 3));
	else
		drawTable();
	if (record.time < view.from || record.time > view.to) {
		const length = view.to - view.from;

		moveView(record.time - length / 2, record.time + length / 2);
	}
	await goToRecord(record);
	requestDraw();
}

// A span has been selected: mark its record.
function markSpan(track, i) {
	const number = track.spans.record[i];

	if (!about.kept || number === NO_RECORD || track.spans.count[i] > 1)
		return;
	const other = showTableOf(machineOf(track.id));

	view.mark = { number, time: track.spans.begin[i] };
	if (tableIsOpen() && (other || !tableShown || number < tableShown.first || number >= tableShown.last))
		tableTo(number - Math.floor(rowsShown() / 3));
	else
		drawTable();
}
