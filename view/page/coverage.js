// SPDX-License-Identifier: GPL-2.0
// Coverage of one run, or of two that are compared: tables of objects, folders, files and functions
// down to blocks and source lines. Functions of two runs match as with kernlens coverage --diff. The
// address of the page names what is shown.

const { runs, about } = JSON.parse(byId('coverage').textContent);
const compares = runs.length === 2;
const ROWS = 1000; // of a table
const functions = [], nodes = [];
let shown = null;

// At first, by name, and functions by executions, or by what ran in the second run only.
tables.nodes = { key: 0, down: false };
tables.functions = { key: compares ? 10 : 7, down: true };

// -------------------------------------------------------------------- data

function readRuns() {
	const known = new Map();

	runs.forEach((run, r) => {
		const seen = new Map();

		for (const row of run.functions) {
			const key = `${row.module || ''}:${row.function} ${row.n}`, i = seen.get(key) || 0;
			const same = known.get(key) || known.set(key, []).get(key);

			seen.set(key, i + 1);
			if (!same[i]) {
				same[i] = { name: row.function, module: row.module || '', runs: [], index: functions.length };
				functions.push(same[i]);
			}
			same[i].runs[r] = row;
			same[i].source ||= row.source;
		}
	});
}

// Blocks of both runs, by offset. Those of a function that never ran are in the page only if they
// have no count.
function blocksOf(f) {
	const all = new Map();

	f.runs.forEach((row, r) => {
		for (const [offset, bytes, count] of row.blocks) {
			const block = all.get(offset) || all.set(offset, { offset, bytes, counts: [] }).get(offset);

			block.counts[r] = count;
		}
	});
	for (const block of all.values())
		runs.forEach((run, r) => {
			if (f.runs[r] && !f.runs[r].ran)
				block.counts[r] ??= 0;
		});
	return [...all.values()].sort((a, b) => a.offset - b.offset);
}

// In which run only did it run? A block that one of the runs could not count is not a difference.
function changeOf(counts, f) {
	const known = (r) => !f.runs[r] || typeof counts[r] === 'number';

	if (!compares || !known(0) || !known(1) || !counts[0] === !counts[1])
		return '';
	return counts[0] ? 'gone' : 'come';
}

const emptySums = () => runs.map(() => ({ functions: 0, entered: 0, counted: 0, ran: 0, passes: 0 }));

function addSums(to, from) {
	from.sums.forEach((sum, r) => {
		for (const key of Object.keys(sum))
			to.sums[r][key] += sum[key];
	});
	to.gone += from.gone;
	to.come += from.come;
}

function sumFunction(f) {
	f.sums = emptySums();
	f.gone = f.come = 0;
	f.runs.forEach((row, r) => {
		f.sums[r] = { functions: row.counted ? 1 : 0, entered: row.ran ? 1 : 0, counted: row.counted, ran: row.ran, passes: row.passes };
	});
	if (compares && f.runs.some((row) => row.ran))
		for (const block of blocksOf(f)) {
			const change = changeOf(block.counts, f);

			f.gone += change === 'gone';
			f.come += change === 'come';
		}
}

function addNode(parent, name) {
	const node = { name, parent, kids: new Map(), functions: [], index: nodes.length, sums: emptySums(), gone: 0, come: 0, files: new Set() };

	nodes.push(node);
	parent?.kids.set(name, node);
	return node;
}

const partsOf = (file) => file.split('/').filter((part) => part && part !== '.');

// How many folders all files of an object have in common: where it was built.
function commonFolders(files) {
	let common = null;

	for (const file of files) {
		const parts = partsOf(file).slice(0, -1);
		let n = 0;

		while (common && n < common.length && common[n] === parts[n])
			n++;
		common = common ? common.slice(0, n) : parts;
	}
	return common ? common.length : 0;
}

function makeTree() {
	const root = addNode(null, 'all'), files = {};

	for (const f of functions)
		if (f.source)
			(files[f.module] ||= new Set()).add(f.source.file);
	const skip = Object.fromEntries(Object.entries(files).map(([module, names]) => [module, commonFolders(names)]));

	for (const f of functions) {
		let node = root;

		sumFunction(f);
		addSums(root, f);
		for (const part of [f.module || 'kernel', ...(f.source ? partsOf(f.source.file).slice(skip[f.module]) : [])]) {
			node = node.kids.get(part) || addNode(node, part);
			addSums(node, f);
		}
		if (f.source)
			node.files.add(f.source.file);
		node.functions.push(f);
		f.parent = node;
	}
}

// ------------------------------------------------------------------- tables

const percentOf = (sum) => (sum.counted ? 100 * sum.ran / sum.counted : undefined);

function bar(percent) {
	const inner = make('span');

	inner.style.width = `${percent || 0}%`;
	return percent === undefined ? '' : make('span', { class: 'bar' }, inner);
}

function columnsOf(r) {
	const of = (row) => row.sums[r], head = (text) => (compares ? `${text} ${r ? 'after' : 'before'}` : text);
	const count = (text, key) => [head(text), (row) => of(row)[key], (row) => number(of(row)[key])];

	return [
		[head('percent'), (row) => percentOf(of(row)), (row) => (of(row).counted ? `${percentOf(of(row)).toFixed(1)} %` : '')],
		['', () => '', (row) => bar(percentOf(of(row)))],
		count('blocks ran', 'ran'), ...(compares ? [] : [count('of', 'counted'), count('functions ran', 'entered'), count('of', 'functions')]),
		count('executions', 'passes'),
	];
}

function rowsTable(id, rows) {
	const columns = [['name', (row) => row.name, (row) => make('a', { href: `#${row.sums && row.kids ? 'n' : 'f'}${row.index}` }, row.name)],
		...runs.flatMap((run, r) => columnsOf(r))];

	if (compares)
		columns.push(['before only', (row) => row.gone, (row) => number(row.gone)], ['after only', (row) => row.come, (row) => number(row.come)]);
	return sortable(id, columns, rows, (row) => (row.sums.some((sum) => sum.ran) ? '' : 'never'), ROWS);
}

const countText = (count) => (count === undefined ? '' : typeof count === 'number' ? number(count) : `not counted: ${count}`);

function countColumns(counts) {
	return runs.map((run, r) => [compares ? ['before', 'after'][r] : 'count',
		(row) => (typeof counts(row)[r] === 'number' ? counts(row)[r] : ''), (row) => countText(counts(row)[r])]);
}

const countClass = (counts, change) => change || (counts.some((count) => count > 0) || !counts.includes(0) ? '' : 'never');

function linesTable(file) {
	const all = new Map();

	runs.forEach((run, r) => {
		for (const [line, count] of run.files?.[file] || []) {
			const row = all.get(line) || all.set(line, { line, counts: [] }).get(line);

			row.counts[r] = count;
		}
	});
	const rows = [...all.values()].sort((a, b) => a.line - b.line);
	const change = ({ counts }) => (compares && counts[0] !== undefined && counts[1] !== undefined && !counts[0] !== !counts[1] ?
		(counts[0] ? 'gone' : 'come') : '');

	return rows.length ? [make('h2', {}, `Lines of ${file}`), sortable('lines', [['line', (row) => row.line], ...countColumns((row) => row.counts)],
		rows, (row) => countClass(row.counts, change(row)), Infinity)] : [];
}

function nodePage(node) {
	const body = [];

	if (node.kids.size)
		body.push(rowsTable('nodes', [...node.kids.values()]));
	if (node.functions.length)
		body.push(make('h2', {}, 'Functions'), rowsTable('functions', node.functions));
	for (const file of node.files)
		body.push(...linesTable(file));
	return body;
}

function functionPage(f) {
	const blocks = blocksOf(f), total = Math.max(...f.runs.filter((row) => row).map((row) => row.n));
	const text = [f.source ? `${f.source.file}:${f.source.line}` : '', ...f.runs.map((row, r) => (row ? `${compares ? ['before: ', 'after: '][r] : ''}${
		number(row.ran)} of ${number(row.counted)} counted blocks ran, entered ${times(row.entered)}` : ''))].filter((each) => each);

	return [...text.map((each) => make('p', {}, each)),
		...(blocks.length < total ? [make('p', { class: 'dim' }, `${number(total - blocks.length)} blocks that never ran are not listed.`)] : []),
		sortable('blocks', [['offset', (row) => row.offset, (row) => hex(row.offset)], ['bytes', (row) => row.bytes], ...countColumns((row) => row.counts)],
			blocks, (row) => countClass(row.counts, changeOf(row.counts, f)), Infinity),
		make('p', { class: 'dim' }, 'kernlens blocks --html draws a function with its instructions; --counts adds the counts of a --json result.')];
}

// -------------------------------------------------------------------- page

function redraw() {
	const match = /^#([nf])(\d+)$/.exec(location.hash), text = byId('query').value.trim().toLowerCase();
	const item = (match && (match[1] === 'n' ? nodes : functions)[Number(match[2])]) || nodes[0];
	const path = [];

	for (let each = item.parent; each; each = each.parent)
		path.unshift(make('a', { href: `#n${each.index}` }, each.name));
	byId('path').replaceChildren(...path, item.name);
	if (text)
		byId('body').replaceChildren(rowsTable('found', functions.filter((f) => f.name.toLowerCase().includes(text))));
	else
		byId('body').replaceChildren(...(item.kids ? nodePage(item) : functionPage(item)));
	document.title = `${item.name} - kernlens coverage`;
	shown = item;
}

function show() {
	byId('query').value = '';
	redraw();
	byId('body').scrollTop = 0;
}

function setTheme() {
	document.documentElement.classList.toggle('dark');
}

document.addEventListener('keydown', (event) => {
	if (takeKey(event))
		return;
	if (event.key === 't')
		setTheme();
	else if ((event.key === 'Backspace' || event.key === 'u') && shown.parent)
		location.hash = `#n${shown.parent.index}`;
});
readRuns();
makeTree();
byId('about-text').textContent = about || '';
byId('query').addEventListener('input', redraw);
byId('theme').addEventListener('click', setTheme);
window.addEventListener('hashchange', show);
if (matchMedia('(prefers-color-scheme: dark)').matches)
	setTheme();
redraw();
