// SPDX-License-Identifier: GPL-2.0
// The panel beside the drawing: a block with its neighbours, tables of blocks and functions, keys.

const KEYS = [
	['↓ →', 'first and last block that the block leads to'], ['↑', 'block that leads here'], ['←', 'back to the block before'],
	['n p', 'next and previous block by address'], ['h', 'block that is executed most'], ['u', 'next block that never ran'],
	['] [', 'next and previous function'], ['+ - 0', 'larger, smaller, everything'], ['c', 'move to the block'],
	['i', 'with or without instructions'], ['/', 'search; Enter: next match'], ['t', 'light or dark'], ['?', 'this list'],
];

tables.blocks = { key: 0, down: false };

// Where a block is in the page. A page that is served has no numbers of functions that stay the same.
const hashOf = (f, block) => `#${page.served ? f.address : f.index}/${block}`;
const linkTo = (f, block, text) => make('a', { href: hashOf(f, block) }, text);
let lives = []; // called when there are new counts

// An element that shows what @text returns then.
function live(text) {
	const element = make('span', {}, text());

	lives.push(() => {
		if (element.textContent !== text())
			element.textContent = text();
	});
	return element;
}

function facts(rows) {
	const list = make('dl');

	for (const [name, ...value] of rows)
		if (value[0] !== undefined && value[0] !== null && value[0] !== '')
			list.append(make('dt', {}, name), make('dd', {}, ...value));
	return list;
}

function neighbour(edge, block, f) {
	const other = f.blocks[block];

	return make('tr', {}, make('td', { class: edge.kind }, make('span', { class: 'swatch' }), KINDS[edge.kind] + (edge.back ? ', up' : '')),
		make('td', {}, linkTo(f, block, `block ${block}`), ` ${hex(other.offset)}`),
		make('td', { class: 'n' }, live(() => (edge.count === undefined ? '' : number(edge.count)))),
		make('td', { class: 'dim' }, live(() => (edge.derived ? 'derived' : ''))),
		make('td', {}, other.source ? fileOf(other.source) : ''));
}

function neighbours(title, edges, key, f) {
	return [make('h2', {}, title), edges.length ? make('table', {}, ...edges.map((edge) => neighbour(edge, edge[key], f))) :
		make('p', { class: 'dim' }, key === 'from' ? 'No known block leads here.' : 'It leads to no block of this function.')];
}

// Where an instruction's target is in the page.
function linkOfTarget(instruction) {
	if (!instruction.target)
		return null;
	const target = BigInt(instruction.target);

	for (const f of here.f.program ? functions.filter((each) => each.program === here.f.program) : functions) {
		const offset = target - BigInt(f.address);

		if (offset >= 0n && offset < BigInt(f.bytes)) {
			const block = f.blocks.find((each) => BigInt(each.offset) === offset);

			return block && linkTo(f, block.block, f === here.f ? `block ${block.block}` : nameOf(f));
		}
	}
	return page.served ? make('a', { href: `#${instruction.target}` }, symbolOf(instruction.text)) : null;
}

function instructionRows(block) {
	const rows = [];
	let last = '';

	for (const each of block.instructions) {
		const line = each.source ? `${each.source.file}:${each.source.line}` : '';

		if (line && line !== last)
			rows.push(make('tr', { class: 'source' }, make('td', { colspan: 4 }, line)));
		last = line;
		rows.push(make('tr', {}, make('td', { class: 'code dim' }, hex(each.offset)),
			make('td', { class: 'code wrap' }, each.text), make('td', {}, linkOfTarget(each)),
			make('td', { class: 'dim' }, each.reason || '')));
	}
	return rows;
}

function blockPanel() {
	const { f, block } = here;

	if (!block)
		return [make('p', { class: 'dim' }, f ? 'The function has no blocks.' : 'No function is open.')];
	const share = () => (f.blocks[0].count ? `; ${(block.count / f.blocks[0].count).toPrecision(3)} for each entry` : '');

	return [make('h2', {}, `Block ${block.block}`), page.served ? blockTools(f, block) : '',
		facts([
			['executed', block.count === undefined ? undefined : live(() => (block.count ? times(block.count) + share() : 'never'))],
			['not counted', block.count === undefined ? block.uncounted : undefined],
			['source', block.source ? `${block.source.file}:${block.source.line}` : undefined],
			['at', `${hex(block.offset)}, ${block.bytes} bytes, ${block.instructions.length} instructions`],
			['ends with', block.ends],
			['entered', block.entered ? 'also from outside, or from where is unknown' : undefined],
			['before', pointWord(f, block.pre)], ['after', pointWord(f, block.post)],
		]),
		...neighbours('From', block.in, 'from', f), ...neighbours('To', block.out, 'to', f),
		make('h2', {}, 'Instructions'), make('table', {}, ...instructionRows(block))];
}

function countBar(block) {
	const bar = make('span', { class: 'bar' });
	const show = () => { bar.style.width = `${block.count ? Math.max(2, Math.round(90 * block.count / block.of.most)) : 0}px`; };

	lives.push(show);
	show();
	return bar;
}

function blocksPanel() {
	const { f } = here;

	if (!f)
		return blockPanel();
	const columns = [
		['block', (b) => b.block, (b) => linkTo(f, b.block, `${b.block}`)], ['offset', (b) => b.offset, (b) => hex(b.offset)]];

	if (f.counted)
		columns.push(['count', (b) => b.count, (b) => live(() => (b.count === undefined ? '' : number(b.count)))],
			['', () => '', countBar]);
	columns.push(['ends', (b) => b.ends], ['before', (b) => pointWord(f, b.pre).split(' +')[0]]);
	if (f.blocks.some((b) => b.source))
		columns.push(['source', (b) => (b.source ? fileOf(b.source) : '')]);
	return [sortable('blocks', columns, f.blocks, (b) => `${b === here.block ? 'here' : ''}${b.count === 0 ? ' never' : ''}`)];
}

function functionsPanel() {
	const columns = [['function', nameOf, (f) => linkTo(f, 0, nameOf(f))], ['blocks', (f) => f.blocks.length]];

	if (functions.some((f) => f.counted))
		columns.push(['counted', (f) => f.counted], ['ran', (f) => f.ran, (f) => live(() => number(f.ran))],
			['percent', (f) => (f.counted ? 100 * f.ran / f.counted : undefined), (f) => live(() => (f.counted ? `${(100 * f.ran / f.counted).toFixed(1)} %` : ''))],
			['executions', (f) => f.executions, (f) => live(() => number(f.executions))]);
	columns.push(['bytes', (f) => f.bytes]);
	if (!functions.length)
		return [make('p', { class: 'dim' }, 'No function is open: search for one in the field at the top.')];
	return [sortable('functions', columns, functions, (f) => (f === here.f ? 'here' : f.counted && !f.ran ? 'never' : ''))];
}

function keysPanel() {
	return [make('table', {}, ...KEYS.map(([keys, text]) => make('tr', {},
		make('td', {}, ...keys.split(' ').flatMap((key) => [make('kbd', {}, key), ' '])), make('td', {}, text)))),
	make('p', {}, 'Drag to move, turn the wheel to scroll, with Ctrl to zoom. Click on a block to select it.'),
	make('p', {}, 'The counts of edges are derived from those of blocks, where they follow from them, unless the edges were counted.')];
}

const PANELS = { block: blockPanel, blocks: blocksPanel, functions: functionsPanel, keys: keysPanel };

function showPanel(tab = here.tab) {
	here.tab = tab;
	for (const button of document.querySelectorAll('#tabs button'))
		button.setAttribute('aria-selected', button.dataset.tab === tab);
	lives = [];
	byId('body').replaceChildren(...PANELS[tab]());
}

function showLegend() {
	const sample = (kind) => make('svg', { viewBox: '0 0 26 12' }, make('g', { class: `edge ${kind}` }, make('path', { d: 'M1 6H25' })));
	const box = (kind, shade) => {
		const group = make('g', { class: `block ${kind}` }, make('rect', { x: 1, y: 1, width: 24, height: 10 }));

		group.style.setProperty('--heat', shade);
		return make('svg', { viewBox: '0 0 26 12' }, group);
	};
	const used = new Set(here.f.ways.map((edge) => edge.kind));
	const items = Object.keys(KINDS).filter((kind) => used.has(kind)).map((kind) => make('span', {}, sample(kind), KINDS[kind]));

	if (here.f.most > 1)
		items.push(make('span', {}, box('counted', 5), 'seldom'));
	if (here.f.most)
		items.push(make('span', {}, box('counted', 100), times(here.f.most)));
	if (here.f.ran < here.f.counted)
		items.push(make('span', {}, box('never'), 'never ran'));
	if (here.f.blocks.some((block) => classOf(block) === 'unknown'))
		items.push(make('span', {}, box('unknown'), isCounted(here.f) ? 'not counted' : 'cannot be instrumented'));
	if (here.f.armed?.times.length)
		items.push(make('span', {}, box('timed'), 'start or end of a time'));
	byId('legend').replaceChildren(...items);
}
