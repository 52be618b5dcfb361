// SPDX-License-Identifier: GPL-2.0
// A page that is served: requests functions from its server, has it instrument their blocks, and shows
// counts and times as they change. Only the server's answers say what is instrumented.

const STATE_MS = 1000; // between two requests of the counts
const ask = { wait: 0, number: 0, names: [], chosen: -1 }; // the search for functions
let armed = []; // what the server has instrumented, by time
let start = null; // block at which a time to be measured begins
let busy = false; // instruments are being changed

const answerOf = async (response) => {
	const answer = await response.json().catch(() => ({ error: response.statusText }));

	if (answer.error)
		throw new Error(answer.error);
	return answer;
};
const request = async (path) => answerOf(await fetch(path));
const change = async (path) => answerOf(await fetch(path, { method: 'POST' }));

function note(text) {
	byId('note').textContent = text;
}

const nanoseconds = (ns) => {
	const [unit, scale] = ns < 1e3 ? ['ns', 1] : ns < 1e6 ? ['µs', 1e3] : ns < 1e9 ? ['ms', 1e6] : ['s', 1e9];

	return `${ns < 1e3 ? Math.round(ns) : (ns / scale).toPrecision(3)} ${unit}`;
};

// ------------------------------------------------------------------- functions

// Is an address of the kernel's text in a function?
const has = (f, address) => address >= BigInt(f.address) && address < BigInt(f.address) + BigInt(f.bytes);

// The function in the page that has an address, which is a text.
const functionAt = (text) => functions.find((f) => has(f, BigInt(text)));

async function open(address) {
	const found = functionAt(address);

	if (found)
		return found;
	const f = await request(`function?at=${address}`);

	if (!functionAt(f.address)) {
		functions.push(f);
		prepare(f, functions.length - 1);
		takeCounts(f);
	}
	return functionAt(f.address);
}

// Follow the address of the page: #ADDRESS/BLOCK, or #ADDRESS of an instruction.
async function followServed() {
	const match = /^#(0x[0-9a-f]{1,16})(?:\/(\d+))?$/.exec(location.hash);

	if (!match) {
		if (functions.length)
			show(functions[0], 0, null);
		else
			showPanel(here.tab);
		return;
	}
	try {
		const f = await open(match[1]), offset = Number(BigInt(match[1]) - BigInt(f.address));
		const block = match[2] ? Number(match[2]) : f.blocks.findLast((each) => each.offset <= offset)?.block;

		note('');
		show(f, block ?? 0, match);
	} catch (error) {
		note(error.message);
	}
	showTools();
}

// ---------------------------------------------------------------------- search

function showNames() {
	const list = byId('choices');

	list.replaceChildren(...ask.names.map((each, i) => make('a', { href: `#${each.address}`, 'aria-selected': i === ask.chosen },
		nameOf({ ...each, name: each.function }), make('span', { class: 'dim' }, ` ${number(each.bytes)} bytes`))));
	if (ask.all > ask.names.length)
		list.append(make('span', { class: 'dim' }, `… ${number(ask.all - ask.names.length)} more`));
	if (ask.all === 0)
		list.append(make('span', { class: 'dim' }, 'no function that can be instrumented has this name'));
	list.hidden = !list.childElementCount;
}

function hideNames() {
	Object.assign(ask, { names: [], all: undefined, chosen: -1 });
	showNames();
}

async function findNames() {
	const text = byId('open').value.trim(), mine = ++ask.number;

	try {
		const answer = text ? await request(`names?q=${encodeURIComponent(text)}`) : { names: [] };

		// A later request has been made meanwhile.
		if (mine !== ask.number)
			return;
		Object.assign(ask, answer, { all: answer.all, chosen: answer.names.length ? 0 : -1 });
		showNames();
	} catch (error) {
		note(error.message);
	}
}

async function chooseName() {
	clearTimeout(ask.wait);
	await findNames();
	if (ask.chosen >= 0)
		location.hash = `#${ask.names[ask.chosen].address}`;
	byId('open').value = '';
	hideNames();
	drawing.focus();
}

function onOpenKey(event) {
	if (event.key === 'Enter' && ask.chosen > 0) {
		location.hash = `#${ask.names[ask.chosen].address}`;
		hideNames();
	} else if (event.key === 'Enter') {
		chooseName();
	} else if (event.key === 'Escape') {
		hideNames();
		drawing.focus();
	} else if (ask.names.length && ['ArrowDown', 'ArrowUp'].includes(event.key)) {
		event.preventDefault();
		ask.chosen = step([...ask.names.keys()], ask.chosen + (event.key === 'ArrowDown' ? 1 : -1));
		showNames();
	}
}

// ---------------------------------------------------------------------- counts

// Give a function the counts that the server has last answered.
function takeCounts(f) {
	const row = armed.find((each) => each.address === f.address) || null;

	f.armed = row;
	for (const block of f.blocks)
		Object.assign(block, { count: undefined, uncounted: undefined });
	for (const [block, count] of row?.blocks || [])
		f.blocks[block][typeof count === 'number' ? 'count' : 'uncounted'] = count;
	for (const edge of f.ways)
		Object.assign(edge, { count: undefined, derived: undefined });
	sumCounts(f);
}

// Which instruments there are, without what they have counted.
const instrumentsOf = (rows) => JSON.stringify(rows.map((row) => [row.address, row.blocks.map(([block]) => block),
	row.times.map(({ from, to }) => [from, to])]));

const classesOf = (f) => (f ? f.blocks.map(classOf).join() : '');

function takeState(state) {
	const changed = instrumentsOf(armed) !== instrumentsOf(state.armed), before = classesOf(here.f);

	({ armed } = state);
	functions.forEach(takeCounts);
	if (here.f && here.drawn === here.f) {
		drawCounts(here.f);
		describe();
		showLegend();
	}
	for (const show of lives)
		show();
	if (changed)
		showTools();
	// Rows of blocks that have run for the first time are shown as others are.
	if (changed || (here.tab === 'blocks' && before !== classesOf(here.f)))
		showPanel();
}

async function readState() {
	try {
		// The answer to a change is newer than that to an earlier request.
		const begun = ask.changes;
		const state = document.hidden || busy ? null : await request('state');

		if (state && !busy && begun === ask.changes)
			takeState(state);
		if (here.tab === 'calls')
			await readCallers();
		if (byId('note').dataset.lost)
			note('');
		delete byId('note').dataset.lost;
	} catch (error) {
		note(`The server does not answer any more: ${error.message}`);
		byId('note').dataset.lost = true;
	}
	setTimeout(readState, STATE_MS);
}

// ----------------------------------------------------------------- instruments

// Blocks as in "0-3,7".
function rangesOf(f, blocks) {
	const list = [...blocks].sort((a, b) => a - b), ranges = [];

	if (list.length === f.blocks.length)
		return 'all';
	for (const block of list) {
		const last = ranges.at(-1);

		if (last && last[1] === block - 1)
			last[1] = block;
		else
			ranges.push([block, block]);
	}
	return ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',');
}

const countedBlocks = (f) => new Set(f.armed?.blocks.map(([block]) => block));
const timesOf = (f) => (f.armed?.times || []).map(({ from, to }) => [from, to]);

// Have the server replace the instruments of a function.
async function instrument(address, blocks, times) {
	if (busy)
		return;
	busy = true;
	ask.changes = (ask.changes || 0) + 1;
	note('instrumenting …');
	showTools();
	try {
		takeState(await change(`arm?at=${address}&blocks=${blocks}&times=${times.map((pair) => pair.join('-')).join(',')}`));
		note('');
	} catch (error) {
		note(error.message);
	}
	busy = false;
	showTools();
	showPanel();
}

const instrumentFunction = (f, blocks, times) => instrument(f.address, rangesOf(f, blocks), times);

function toggleFunction() {
	const { f } = here;

	if (f)
		instrumentFunction(f, countedBlocks(f).size ? [] : f.blocks.keys(), timesOf(f));
}

function toggleBlock() {
	const { f, block } = here, blocks = countedBlocks(f);

	if (!blocks.delete(block.block))
		blocks.add(block.block);
	instrumentFunction(f, blocks, timesOf(f));
}

function startTime() {
	start = here.block;
	showPanel('block');
}

function endTime() {
	const { f, block } = here;

	if (start?.of !== f)
		return;
	const times = timesOf(f), pair = [start.block, block.block];

	start = null;
	if (!times.some((each) => each.join() === pair.join()))
		times.push(pair);
	here.tab = 'instruments';
	instrumentFunction(f, countedBlocks(f), times);
}

const button = (text, act, more = {}) => make('button', { on: act, disabled: busy, ...more }, text);

function blockTools(f, block) {
	const counts = countedBlocks(f).has(block.block), tools = make('p', { class: 'buttons' });

	if (f.reason !== 'none')
		return make('p', { class: 'dim' }, `The function cannot be instrumented: ${f.reason}.`);
	tools.append(button(counts ? 'stop counting' : 'count', toggleBlock, { id: 'count', title: '(b)', 'aria-pressed': counts }),
		button('time from here', startTime, { id: 'from', title: '(s)', 'aria-pressed': start === block }));
	if (start?.of === f)
		tools.append(button(start === block ? 'to its next execution' : `time from block ${start.block} to here`, endTime, { id: 'to', title: '(e)' }));
	return tools;
}

function histogram(time) {
	const buckets = time.buckets || [], most = Math.max(1, ...buckets.map(([, count]) => count));

	return buckets.map(([low, count]) => {
		const bar = make('span', { class: 'bar' });

		bar.style.width = `${Math.max(2, Math.round(150 * count / most))}px`;
		return make('tr', {}, make('td', { class: 'n dim' }, `from ${nanoseconds(low)}`), make('td', { class: 'n' }, number(count)), make('td', {}, bar));
	});
}

// A time with its figures, which change.
function timeRows(row, index) {
	const now = () => armed.find((each) => each.address === row.address)?.times[index] || row.times[index];
	const f = functionAt(row.address), { from, to } = row.times[index], body = make('table', { class: 'histogram' });
	const end = (block) => (f ? linkTo(f, block, `block ${block}`) : `block ${block}`);
	const figure = (key) => live(() => (now().count ? nanoseconds(now()[key]) : ''));
	const show = () => body.replaceChildren(...histogram(now()));
	const rest = row.times.map((each) => [each.from, each.to]).filter((_, i) => i !== index);

	lives.push(show);
	show();
	return [make('h2', {}, 'Time from ', end(from), ' to ', from === to ? 'its next execution' : end(to)),
		facts([['not measured', row.times[index].reason], ['count', live(() => number(now().count))], ['mean', figure('mean_ns')],
			['shortest', figure('min_ns')], ['longest', figure('max_ns')]]), body,
		make('p', { class: 'buttons' }, button('stop measuring', () => instrument(row.address, countedText(row), rest)))];
}

// The counted blocks of a row, whether or not its function is in the page.
const countedText = (row) => row.blocks.map(([block]) => block).join(',');

function reasonsOf(row) {
	const reasons = {};

	for (const [, reason] of row.blocks)
		if (typeof reason === 'string')
			reasons[reason] = (reasons[reason] || 0) + 1;
	return Object.entries(reasons).map(([reason, n]) => `${reason}: ${n}`).join(', ');
}

function instrumentsPanel() {
	if (!armed.length)
		return [make('p', { class: 'dim' }, 'Nothing is instrumented. “Count” at the top counts all blocks of a function; a block has buttons of its own.')];
	return armed.flatMap((row, i) => {
		const now = () => armed.find((each) => each.address === row.address) || row;
		const counts = row.blocks.filter(([, count]) => typeof count === 'number').length;

		return [make('h2', { class: i ? 'next-function' : undefined }, make('a', { href: `#${row.address}` }, nameOf({ ...row, name: row.function }))),
			facts([['counted', row.blocks.length ? `${number(counts)} of ${number(row.blocks.length)} blocks` : undefined], ['not counted', reasonsOf(row)],
				['for', live(() => `${Math.round(now().seconds)} s`)]]),
			make('p', { class: 'error' }, live(() => (now().suspended ? 'Times are not measured: their events took too much of the CPU time.' : ''))),
			make('p', { class: 'buttons' }, button('remove', () => instrument(row.address, '', []), { class: 'remove' })),
			...row.times.flatMap((_, index) => timeRows(row, index))];
	});
}

// ----------------------------------------------------------------------- calls

async function readCallers() {
	const { f } = here;

	if (!f || f.callers?.complete)
		return;
	const before = f.callers?.callers.length;

	f.callers = await request(`callers?at=${f.address}`);
	if (here.f === f && here.tab === 'calls' && (f.callers.complete || f.callers.callers.length !== before))
		showPanel();
	for (const show of lives)
		show();
}

// The symbol in the text of an instruction, as in "call 0xffffffff81000000 <name>".
const symbolOf = (text) => /<(.*)>$/.exec(text)?.[1] || text.split(/\s+/).at(-1);

// Functions that a function calls or jumps to, each with the block that does so first.
function calleesOf(f) {
	const found = new Map();

	for (const block of f.blocks)
		for (const { target, text } of block.instructions)
			if (target && !has(f, BigInt(target)) && !found.has(target))
				found.set(target, { target, block: block.block, name: symbolOf(text) });
	return [...found.values()];
}

function callsPanel() {
	const { f } = here;

	if (!f)
		return blockPanel();
	const callers = f.callers?.callers || [], callees = calleesOf(f);

	if (!f.callers)
		readCallers().catch((error) => note(error.message));
	return [make('h2', {}, 'Called from'),
		make('p', { class: 'dim' }, live(() => (f.callers?.complete ? (callers.length ? '' : 'No direct call has been found.') :
			`still searching: ${Math.round(100 * (f.callers?.done || 0))} %`))),
		make('table', { id: 'callers' }, ...callers.map((each) => make('tr', {},
			make('td', {}, make('a', { href: `#${each.address}` }, nameOf({ ...each, name: each.function })))))),
		make('h2', {}, 'Calls'),
		make('table', { id: 'callees' }, ...callees.map(({ target, block, name }) => make('tr', {},
			make('td', {}, make('a', { href: `#${target}` }, name)), make('td', {}, linkTo(f, block, `block ${block}`))))),
		make('p', { class: 'dim' }, 'Calls through pointers are not known.')];
}

// ------------------------------------------------------------------- beginning

function showTools() {
	const { f } = here, counts = f && countedBlocks(f).size > 0;

	byId('arm').textContent = counts ? 'stop counting' : 'count';
	byId('arm').disabled = busy || !f || f.reason !== 'none';
	byId('arm').setAttribute('aria-pressed', !!counts);
}

// What a page in a file does not have.
function startServed() {
	const open = make('input', { id: 'open', type: 'search', placeholder: 'function (o)', autocomplete: 'off', spellcheck: 'false',
		'aria-label': 'name of a function to open, or MODULE:NAME' });
	const tab = (name, text) => make('button', { role: 'tab', 'data-tab': name, on: () => showPanel(name) }, text);

	byId('title').before(make('span', { id: 'opening' }, open, make('div', { id: 'choices', hidden: true })));
	byId('query').before(make('span', { id: 'note', role: 'status' }),
		make('button', { id: 'arm', title: 'count all blocks of the function, or stop (a)', on: toggleFunction }, 'count'));
	document.querySelector('#tabs [data-tab=keys]').before(tab('calls', 'Calls'), tab('instruments', 'Instruments'));
	Object.assign(PANELS, { calls: callsPanel, instruments: instrumentsPanel });
	Object.assign(ACTIONS, { a: toggleFunction, b: toggleBlock, s: startTime, e: endTime });
	KEYS.push(['o', 'open a function'], ['a', 'count the blocks of the function, or stop'], ['b', 'count the block, or stop'],
		['s e', 'start and end of a time: from one block to another, in the same task']);
	open.addEventListener('input', () => {
		clearTimeout(ask.wait);
		ask.wait = setTimeout(findNames, 120);
	});
	open.addEventListener('keydown', onOpenKey);
	document.addEventListener('click', (event) => event.target === open || hideNames());
	document.addEventListener('keydown', (event) => {
		if (event.key === 'o' && !event.target.closest('input') && !event.ctrlKey && !event.metaKey && !event.altKey) {
			event.preventDefault();
			open.focus();
		}
	});
	readState();
}
