// SPDX-License-Identifier: GPL-2.0
// Which code touched memory first, which gave it back, and what is kept, by age.

const KINDS = ['touched', 'freed', 'kept'];
let kind = 'kept', until = growth ? growth.history.touched.length - 1 : 0, zoomed = [];

const secondsOf = (interval) => growth.history.interval_ns * interval / 1e9;
const recorded = growth ? (growth.history.end_ns - growth.history.begin_ns) / 1e9 : 0;
const ageText = (ns) => (ns >= 1e9 ? spellTime(ns / 1e9) : `${(ns / 1e6).toFixed(0)} ms`);

// Pages of a row in the intervals that are shown.
function pagesOf(row) {
	const values = row.times[KINDS.indexOf(kind)];
	let sum = 0;

	for (let i = 0; i <= until && i < values.length; i++)
		sum += values[i];
	return sum;
}

// ----------------------------------------------------------------- flame graph

// A tree of functions from the outermost; `when`: sum of intervals, for the mean.
function flameTree() {
	const root = { name: 'all', object: '', pages: 0, when: 0, kids: new Map() };

	for (const stack of growth.stacks) {
		const pages = pagesOf(stack), values = stack.times[KINDS.indexOf(kind)];
		const when = values.reduce((sum, n, i) => (i <= until ? sum + n * i : sum), 0);
		let node = root;

		if (!pages)
			continue;
		root.pages += pages;
		root.when += when;
		for (const frame of stack.frames.length ? stack.frames : [-1]) {
			const [name, object] = growth.names[frame] || ['unknown', ''];

			if (!node.kids.has(frame))
				node.kids.set(frame, { name, object, frame, pages: 0, when: 0, kids: new Map() });
			node = node.kids.get(frame);
			node.pages += pages;
			node.when += when;
		}
	}
	return root;
}

// Yellow: it came late. Red: it came early.
const hueOf = (node) => 4 + 48 * (until ? node.when / node.pages / until : 0);
const ageOf = (node) => Math.max(0, recorded - secondsOf(node.when / node.pages + 0.5));

function boxOf(node, path, whole, total) {
	const text = byId('query').value.trim().toLowerCase(), bytes = node.pages * PAGE;
	const label = make('div', { class: `label${path.length ? '' : ' root'}${text && node.name.toLowerCase().includes(text) ? ' found' : ''}`, tabindex: 0, role: 'button',
		title: `${node.name}${node.object ? ` (${node.object})` : ''}: ${memory(bytes)}, ${(100 * node.pages / total).toFixed(1)}%; on average ${spellTime(ageOf(node))} before the end`,
		on: () => {
			zoomed = zoomed.join() === path.join() ? path.slice(0, -1) : path;
			redraw();
		} }, `${node.name} ${memory(bytes)}`);
	const kids = [...node.kids.values()].filter((kid) => kid.pages >= 0.002 * whole).sort((a, b) => b.pages - a.pages);

	if (path.length)
		label.style.background = `hsl(${hueOf(node)},${document.documentElement.classList.contains('dark') ? '58%,32%' : '85%,72%'})`;
	return make('div', { class: 'box' }, label, make('div', { class: 'kids' }, ...kids.map((kid) => {
		const box = boxOf(kid, [...path, kid.frame], whole, total);

		box.style.width = `${100 * kid.pages / node.pages}%`;
		return box;
	})));
}

function flamePart() {
	const root = flameTree(), path = [];
	let node = root;

	for (const frame of zoomed) {
		if (!node.kids.has(frame))
			break;
		node = node.kids.get(frame);
		path.push(frame);
	}
	zoomed = path;
	return root.pages ? make('div', { class: 'flames', id: 'flames' }, boxOf(node, path, node.pages, root.pages)) :
		make('p', { class: 'dim' }, 'nothing in these times');
}

// ------------------------------------------------------------------------ ages

// What came, went or stayed in each interval; a click shows what is at least as old.
function agesPart() {
	const values = growth.history[kind], most = Math.max(...values, 1), width = 1000 / values.length;
	const svg = make('svg', { class: 'bars', viewBox: '0 0 1000 70', role: 'img', 'aria-label': `${kind} over time`, preserveAspectRatio: 'none' });

	svg.style.height = '70px';
	svg.style.maxWidth = '1000px';
	values.forEach((bytes, i) => {
		const height = bytes ? Math.max(1.5, 64 * bytes / most) : 0, bar = make('rect', { x: i * width, y: 68 - height, width: Math.max(1, width - 1), height,
			class: i > until ? 'out' : undefined, on: () => {
				until = i;
				redraw();
			} }, make('title', {}, `${spellTime(secondsOf(i))}: ${memory(bytes)}`));

		bar.style.fill = `hsl(${4 + 48 * i / Math.max(1, values.length - 1)} 80% 58%)`;
		svg.append(bar);
	});
	return make('figure', {}, svg);
}

function agesChoice() {
	const names = { kept: 'what is kept', touched: 'what was touched', freed: 'what was given back' };
	const choice = make('select', { id: 'kind', 'aria-label': 'which memory' }, ...Object.entries(names).map(([key, name]) => make('option', { value: key }, name)));
	const slider = make('input', { type: 'range', id: 'until', min: 0, max: Math.max(0, growth.history.touched.length - 1), value: until, 'aria-label': 'up to which time' });
	const verb = kind === 'freed' ? 'given back' : 'touched';

	choice.value = kind;
	choice.addEventListener('change', () => {
		kind = choice.value;
		redraw();
	});
	slider.addEventListener('change', () => {
		until = Number(slider.value);
		redraw();
	});
	return make('div', { class: 'choices' }, choice, slider, make('span', {}, until >= growth.history.touched.length - 1 ? 'of all times' :
		`${verb} in the first ${spellTime(secondsOf(until + 1))}, at least ${spellTime(Math.max(0, recorded - secondsOf(until + 1)))} before the end`));
}

// --------------------------------------------------------------------- tables

const processName = ({ process }) => (process ? `${process.comm}-${process.pid}` : 'several');
const codeMatches = (row) => matchesText(`${row.function} ${row.object || ''} ${processName(row)}`);

function functionColumns() {
	return [['function', (row) => row.function], ['in', (row) => (row.object || '').split('/').at(-1)], ['process', processName]];
}

function touchedTable() {
	const bytes = (key) => [{ kept: 'kept', touched: 'touched', freed: 'given back' }[key], (row) => row[key], (row) => memory(row[key])];

	return sortable('functions', [bytes('kept'), bytes('touched'), bytes('freed'), ['page faults', (row) => row.events, (row) => number(row.events)],
		['mean age', (row) => (row.kept ? row.age_ns : undefined), (row) => (row.kept ? ageText(row.age_ns) : '')],
		['oldest', (row) => (row.kept ? row.oldest_ns : undefined), (row) => (row.kept ? ageText(row.oldest_ns) : '')],
		['there over time', () => '', (row) => spark(thereOf(row.times[0], row.times[1], PAGE))], ...functionColumns()],
	growth.functions.filter(codeMatches), () => '', 1000);
}

function freedTable() {
	return sortable('freeing', [['given back', (row) => row.freed, (row) => memory(row.freed)], ['calls', (row) => row.events, (row) => number(row.events)],
		['over time', () => '', (row) => spark(row.times[1])], ...functionColumns()], growth.freeing.filter(codeMatches), () => '', 1000);
}

function codePage() {
	if (!growth.history.touched.length)
		return [make('p', {}, 'No page fault was recorded.')];
	return [make('p', {}, `${number(growth.faults)} page faults brought ${memory(growth.touched)}: ${memory(growth.kept)} kept, ${
		memory(growth.freed - growth.again)} given back.`), ...growthNotes(), make('h2', {}, 'By stack trace and age'), agesChoice(), agesPart(),
	make('p', { class: 'dim' }, 'Red came early, yellow late. A click on a bar shows what came until then, one on a function enlarges it.'),
	...(growth.left_out ? [make('p', { class: 'warning' }, `${number(growth.left_out)} stack traces that kept less are left out.`)] : []),
	flamePart(), make('h2', {}, 'Who touched memory first'), touchedTable(),
	...(growth.freeing.length ? [make('h2', {}, 'Who gave memory back'), freedTable()] : [])];
}
