// SPDX-License-Identifier: GPL-2.0
// The functions in the page, and the drawing of one of them. Text is only ever added as text.

const page = JSON.parse(document.getElementById('functions').textContent);
const { functions } = page;
const LETTER = 7.25, LINE = 16, PAD = 8, LONGEST = 58, LINES = 16;
const KINDS = {
	next: 'falls through', taken: 'branch taken', jump: 'jump', table: 'jump through a table', return: 'back from a call',
};

const fileOf = (source) => `${source.file.split('/').slice(-2).join('/')}:${source.line}`;
const nameOf = (f) => (f.module ? `${f.name} [${f.module}]` : f.name);
const cut = (text, length = LONGEST) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

// How a block can be instrumented, in a word, or why not.
function pointWord(f, point) {
	if (point.tier === 'none')
		return `no: ${point.reason}`;
	if (f.program)
		return `uprobe ${hex(point.offset)}`;
	return `${point.tier} ${hex(point.offset)}${point.window ? `, ${point.window} bytes` : ''}${point.edge ? `, on the edge ${point.edge}` : ''}`;
}

function edgesOf(f) {
	const edges = [];
	const add = (from, to, kind) => edges.push({ from, to, kind, count: undefined });

	f.blocks.forEach((block, i) => {
		if (block.next !== null)
			add(i, block.next, block.ends === 'call' ? 'return' : 'next');
		if (block.taken !== null)
			add(i, block.taken, block.ends === 'jump' ? 'jump' : 'taken');
		for (const to of new Set(block.targets || []))
			add(i, to, 'table');
	});
	return edges;
}

// The count of the only edge whose count is not known, of all edges that lead to a block or from it.
function deriveLast(edges, count) {
	const unknown = edges.filter((edge) => edge.count === undefined);
	const rest = edges.reduce((left, edge) => left - (edge.count ?? 0), count);

	if (count === undefined || unknown.length !== 1 || rest < 0)
		return false;
	unknown[0].count = rest;
	unknown[0].derived = true;
	return true;
}

// Does each execution of the block leave it by one of its edges? A call need not come back, and not
// all targets of a table need be known.
const leavesByEdge = (block) => (block.ends === 'branch' ? block.next !== null && block.taken !== null :
	block.ends === 'fall' || (block.ends === 'jump' && block.taken !== null));

// Counts of edges: those that were counted, and those that follow from the counts of blocks.
function countEdges(f) {
	for (const { from, to, count } of f.edges || []) {
		const same = f.ways.filter((edge) => edge.from === from && edge.to === to);

		if (same.length === 1 && count !== null)
			same[0].count = count;
	}
	let found;

	do {
		found = false;
		for (const block of f.blocks) {
			found = (leavesByEdge(block) && deriveLast(block.out, block.count)) || found;
			found = (!block.entered && deriveLast(block.in, block.count)) || found;
		}
	} while (found);
}

function prepare(f, index) {
	f.index = index;
	f.name = f.program ? `${f.program.split('/').at(-1)}:${f.function}` : f.function;
	f.ways = edgesOf(f);
	for (const block of f.blocks) {
		block.out = [];
		block.in = [];
		block.of = f;
		block.instructions ||= [];
		block.count ??= block.count_post;
	}
	for (const edge of f.ways) {
		f.blocks[edge.from].out.push(edge);
		f.blocks[edge.to].in.push(edge);
	}
	sumCounts(f);
}

// What follows from the counts of a function's blocks.
function sumCounts(f) {
	const counts = f.blocks.map((block) => block.count).filter((count) => count !== undefined);

	countEdges(f);
	f.counted = counts.length;
	f.ran = counts.filter((count) => count > 0).length;
	f.executions = counts.reduce((a, b) => a + b, 0);
	f.most = Math.max(0, ...counts);
}

functions.forEach(prepare);
const counted = functions.some((f) => f.counted);

// Are its blocks drawn with counts? On a page that is served, functions begin without, and can get them.
const isCounted = (f) => (page.served ? !!f.armed?.blocks.length : counted);

// Up to 100, for as many executions as the block that is executed most: not in proportion, so that
// what is seldom executed can still be distinguished.
const heat = (f, count) => Math.round(100 * (count / f.most) ** 0.4);

function classOf(block) {
	if (!isCounted(block.of))
		return block.pre.tier === 'none' && block.post.tier === 'none' ? 'unknown' : '';
	return block.count === undefined ? 'unknown' : block.count ? 'counted' : 'never';
}

function stateOf(block) {
	if (block.count === undefined)
		return isCounted(block.of) ? 'not counted' : pointWord(block.of, block.pre).split(' +')[0];
	return block.count ? short(block.count) : 'never ran';
}

function linesOf(block, code) {
	const lines = [];

	if (block.source)
		lines.push({ text: cut(fileOf(block.source)), dim: true });
	if (code)
		for (const each of block.instructions.slice(0, block.instructions.length > LINES ? LINES - 1 : LINES))
			lines.push({ text: cut(each.text) });
	if (code && block.instructions.length > LINES)
		lines.push({ text: `… ${block.instructions.length - LINES + 1} more`, dim: true });
	if (!code && !['fall', 'branch', 'jump'].includes(block.ends))
		lines.push({ text: cut(block.instructions.at(-1)?.text || block.ends, 40), dim: true });
	return lines;
}

const headOf = (block) => `${block.block}  ${hex(block.offset)}`;

function measure(block, code) {
	const lines = linesOf(block, code);
	// Counts that come later need room.
	const state = page.served ? Math.max(stateOf(block).length, 'not counted'.length) : stateOf(block).length;
	const letters = Math.max(headOf(block).length + 3 + state, ...lines.map((line) => line.text.length));

	return { index: block.block, block, lines, width: Math.round(letters * LETTER + 2 * PAD), height: (lines.length + 1) * LINE + PAD };
}

// Show a block's count in its element.
function drawCount({ block, element, state }) {
	element.classList.remove('counted', 'never', 'unknown');
	if (classOf(block))
		element.classList.add(classOf(block));
	element.classList.toggle('timed', !!block.of.armed?.times.some(({ from, to }) => from === block.block || to === block.block));
	element.setAttribute('aria-label', `block ${block.block}, ${stateOf(block)}`);
	element.style.setProperty('--heat', block.count ? heat(block.of, block.count) : 0);
	state.textContent = stateOf(block);
	state.setAttribute('class', block.count ? '' : 'dim');
}

function drawBlock(node) {
	const { block, x, y, width, height } = node;
	const state = make('text', { x: x + width - PAD, y: y + LINE, 'text-anchor': 'end' });
	const group = make('g', { class: 'block', 'data-block': block.block, tabindex: 0, role: 'button' },
		make('rect', { x, y, width, height }),
		make('text', { x: x + PAD, y: y + LINE }, make('tspan', { class: 'head' }, headOf(block))), state);

	Object.assign(node, { element: group, state });
	node.lines.forEach((line, i) => group.append(make('text', { x: x + PAD, y: y + (i + 2) * LINE,
		class: line.dim ? 'dim' : undefined }, line.text)));
	drawCount(node);
	return group;
}

// At the block that a branch leaves, on the side to which the edge leads; else where it ends.
function edgeLabel(edge) {
	const { out, y, height } = edge.fromNode, other = out[0] === edge ? out[1] : out[0], left = edge.begin < other.begin;

	if (out.length > 2)
		return make('text', { x: edge.end + 8, y: edge.toNode.y - 8 }, short(edge.count));
	return make('text', { x: edge.begin + (left ? -8 : 8), y: y + height + 13, 'text-anchor': left ? 'end' : 'start' }, short(edge.count));
}

function drawEdge(edge) {
	const f = edge.fromNode.block.of, end = edge.toNode.y;
	const thick = edge.count ? 1.2 + 3.3 * heat(f, edge.count) / 100 : 1.2;
	const group = make('g', { class: `edge ${edge.kind}${edge.count === 0 ? ' never' : ''}` },
		make('path', { d: edge.path, 'stroke-width': thick }),
		make('polygon', { points: `${edge.end - 4 - thick / 2},${end - 8} ${edge.end + 4 + thick / 2},${end - 8} ${edge.end},${end}` }));

	group.style.setProperty('--thick', `${thick}px`);
	if (edge.count !== undefined && edge.fromNode.out.length > 1)
		group.append(edgeLabel(edge));
	edge.element = group;
	return group;
}

// Show new counts of the function that is drawn.
function drawCounts(f) {
	for (const block of f.blocks)
		drawCount(block.node);
	for (const edge of f.ways) {
		const before = edge.element, near = before.classList.contains('near');

		before.replaceWith(drawEdge(edge));
		edge.element.classList.toggle('near', near);
	}
}

// Draws a function; returns its size.
function drawFunction(f, code) {
	const nodes = f.blocks.map((block) => measure(block, code));
	const roots = f.blocks.filter((block) => block.entered).map((block) => block.block);
	const size = nodes.length ? layOut(nodes, f.ways, [0, ...roots]) : { width: 100, height: 100 };
	const world = make('g', { id: 'world' });

	for (const edge of f.ways)
		world.append(drawEdge(edge));
	for (const node of nodes) {
		node.block.node = node;
		world.append(drawBlock(node));
	}
	byId('sheet').replaceChildren(make('defs', {}, make('pattern', { id: 'hatch', width: 8, height: 8,
		patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, make('path', { d: 'M0 0V8' }))), world);
	return size;
}
