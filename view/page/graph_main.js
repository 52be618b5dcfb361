// SPDX-License-Identifier: GPL-2.0
// What is selected and how it is moved: the address of the page names the function and the block, so
// that the browser's history works and blocks can be linked to.

const here = { f: functions[0], block: null, tab: 'block', code: true, drawn: null };
const view = { x: 0, y: 0, scale: 1, width: 0, height: 0 };
const MANY = 80; // blocks: more are drawn without instructions at first
const drawing = byId('drawing');
let frames = 0;

function apply() {
	byId('world').setAttribute('transform', `translate(${view.x} ${view.y}) scale(${view.scale})`);
	byId('world').classList.toggle('far', view.scale < 0.3);
	frames++;
}

function zoom(factor, x = drawing.clientWidth / 2, y = drawing.clientHeight / 2) {
	const scale = Math.min(4, Math.max(0.02, view.scale * factor));

	view.x = x - (x - view.x) * scale / view.scale;
	view.y = y - (y - view.y) * scale / view.scale;
	view.scale = scale;
	apply();
}

function fit() {
	view.scale = Math.min(1.2, drawing.clientWidth / view.width, drawing.clientHeight / view.height);
	view.x = (drawing.clientWidth - view.width * view.scale) / 2;
	view.y = Math.max(0, (drawing.clientHeight - view.height * view.scale) / 2);
	apply();
}

// Show the block: in the middle, if it is not within the drawing, or with @always.
function centre(block, always) {
	const { x, y, width, height } = block.node, left = view.x + x * view.scale, top = view.y + y * view.scale;
	const right = left + width * view.scale, bottom = top + height * view.scale;

	if (!always && left >= 0 && top >= 0 && right <= drawing.clientWidth && bottom <= drawing.clientHeight)
		return;
	view.x += drawing.clientWidth / 2 - (left + right) / 2;
	view.y += bottom - top > drawing.clientHeight ? 20 - top : drawing.clientHeight / 2 - (top + bottom) / 2;
	apply();
}

// Draw the function. What is shown of it at first: everything if it can be read, else its start.
function draw() {
	Object.assign(view, drawFunction(here.f, here.code));
	here.drawn = here.f;
	fit();
	if (view.scale < 0.55) {
		view.scale = 0.9;
		if (here.f.blocks.length)
			centre(here.f.blocks[0], true);
		view.y = 0;
		apply();
	}
	byId('title').textContent = nameOf(here.f);
	byId('title').title = here.f.program || here.f.module || 'kernel';
	document.title = `${nameOf(here.f)} - kernlens`;
	describe();
}

function describe() {
	byId('about-text').textContent = [here.f.address, `${number(here.f.bytes)} bytes`, `${number(here.f.blocks.length)} blocks`,
		here.f.counted ? `${number(here.f.ran)} of ${number(here.f.counted)} counted blocks ran` : '',
		here.f.reason && here.f.reason !== 'none' ? `cannot be instrumented: ${here.f.reason}` : '', page.about || '']
		.filter((text) => text).join(', ');
	byId('about-text').title = byId('about-text').textContent;
	showLegend();
}

function markNear(block) {
	for (const each of here.f.blocks)
		each.node.element.classList.remove('here', 'near');
	for (const edge of here.f.ways) {
		const near = edge.from === block.block || edge.to === block.block;

		edge.element.classList.toggle('near', near);
		if (near)
			for (const index of [edge.from, edge.to])
				here.f.blocks[index].node.element.classList.add('near');
	}
	block.node.element.classList.add('here');
	byId('world').classList.add('chosen');
}

function redraw() {
	showPanel();
}

// Follow the address of the page: #FUNCTION/BLOCK.
function follow() {
	const match = /^#(\d+)\/(\d+)$/.exec(location.hash);

	if (page.served)
		followServed();
	else
		show(functions[match ? Number(match[1]) : 0] || functions[0], match ? Number(match[2]) : 0, match);
}

// @match: it is what the address says.
function show(f, index, match) {
	const block = f.blocks[index] || f.blocks[0] || null;

	if (f !== here.f || here.drawn !== f) {
		here.f = f;
		here.code = f.blocks.length <= MANY;
		draw();
		search();
	}
	here.block = block;
	if (block) {
		markNear(block);
		if (match)
			centre(block);
	}
	showPanel(here.tab === 'keys' || (here.tab === 'functions' && match) ? 'block' : here.tab);
}

function go(block) {
	if (block)
		location.hash = hashOf(block.of, block.block);
}

// ------------------------------------------------------------------- search

let hits = [];

function search() {
	const text = byId('query').value.trim().toLowerCase();

	if (!here.f)
		return;
	const has = (block) => `${block.block}` === text || hex(block.offset) === text ||
		(block.source && `${block.source.file}:${block.source.line}`.toLowerCase().includes(text)) ||
		block.instructions.some((each) => each.text.toLowerCase().includes(text) ||
			(each.source && `${each.source.file}:${each.source.line}`.toLowerCase().includes(text)));

	hits = text ? here.f.blocks.filter(has) : [];
	for (const block of here.f.blocks)
		block.node.element.classList.toggle('hit', hits.includes(block));
	byId('found').textContent = text ? `${hits.length} of ${here.f.blocks.length}` : '';
}

// The next of some blocks after the selected one, by address, and round again.
function after(blocks) {
	return blocks.find((block) => block.block > here.block.block) || blocks[0];
}

// --------------------------------------------------------------------- keys

function setCode() {
	if (!here.block)
		return;
	here.code = !here.code;
	draw();
	markNear(here.block);
	search();
	centre(here.block);
}

function setTheme() {
	document.documentElement.classList.toggle('dark');
}

const step = (list, i) => list[(i + list.length) % list.length];
const ofBlock = (index) => index !== undefined && here.f.blocks[index];
const ACTIONS = {
	ArrowDown: () => go(ofBlock(here.block.out[0]?.to)),
	ArrowRight: () => go(ofBlock(here.block.out.at(-1)?.to)),
	ArrowUp: () => go(ofBlock(here.block.in[0]?.from)),
	ArrowLeft: () => history.back(),
	n: () => go(step(here.f.blocks, here.block.block + 1)),
	p: () => go(step(here.f.blocks, here.block.block - 1)),
	h: () => go(here.f.blocks.find((block) => block.count && block.count === here.f.most)),
	u: () => go(after(here.f.blocks.filter((block) => block.count === 0))),
	']': () => go(step(functions, here.f.index + 1).blocks[0]),
	'[': () => go(step(functions, here.f.index - 1).blocks[0]),
	'+': () => zoom(1.25),
	'=': () => zoom(1.25),
	'-': () => zoom(0.8),
	0: fit,
	c: () => centre(here.block, true),
	i: setCode,
	t: setTheme,
	'/': () => byId('query').focus(),
	'?': () => showPanel('keys'),
};

function onKey(event) {
	const target = event.target, scrolls = byId('side').contains(target) && event.key.startsWith('Arrow');

	if (event.ctrlKey || event.metaKey || event.altKey || target.id === 'open')
		return;
	if (target === byId('query')) {
		if (event.key === 'Enter')
			go(hits.length ? after(hits) : null);
		else if (event.key === 'Escape')
			drawing.focus();
	} else if ((event.key === 'Enter' || event.key === ' ') && target.closest('[role=button]')) {
		event.preventDefault();
		target.dispatchEvent(new MouseEvent('click', { bubbles: true }));
	} else if (Object.hasOwn(ACTIONS, event.key) && here.block && !scrolls) {
		event.preventDefault();
		ACTIONS[event.key]();
	}
}

// -------------------------------------------------------------------- mouse

let from = null;

drawing.addEventListener('pointerdown', (event) => {
	if (event.button === 0 && !event.target.closest('#legend'))
		from = { x: event.clientX, y: event.clientY, moved: false };
});
window.addEventListener('pointermove', (event) => {
	if (!from || (!from.moved && Math.hypot(event.clientX - from.x, event.clientY - from.y) < 4))
		return;
	from.moved = true;
	drawing.classList.add('moving');
	view.x += event.clientX - from.x;
	view.y += event.clientY - from.y;
	from.x = event.clientX;
	from.y = event.clientY;
	apply();
});
window.addEventListener('pointerup', () => {
	drawing.classList.remove('moving');
	setTimeout(() => { from = null; });
});
drawing.addEventListener('click', (event) => {
	const block = event.target.closest('[data-block]');

	if (block && !from?.moved) {
		here.tab = 'block';
		if (here.block?.block === Number(block.dataset.block))
			showPanel();
		go(here.f.blocks[Number(block.dataset.block)]);
	}
});
drawing.addEventListener('wheel', (event) => {
	event.preventDefault();
	if (event.ctrlKey) {
		const box = drawing.getBoundingClientRect();

		zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
		return;
	}
	view.x -= event.shiftKey ? event.deltaY : event.deltaX;
	view.y -= event.shiftKey ? 0 : event.deltaY;
	apply();
}, { passive: false });

for (const button of document.querySelectorAll('#tabs button'))
	button.addEventListener('click', () => showPanel(button.dataset.tab));
byId('code').addEventListener('click', setCode);
byId('fit').addEventListener('click', () => here.f && fit());
byId('theme').addEventListener('click', setTheme);
byId('help').addEventListener('click', () => showPanel('keys'));
byId('query').addEventListener('input', search);
document.addEventListener('keydown', onKey);
window.addEventListener('hashchange', follow);
if (matchMedia('(prefers-color-scheme: dark)').matches)
	setTheme();
if (functions.length !== 1 && !location.hash)
	here.tab = 'functions';
if (page.served)
	startServed();
follow();
