// SPDX-License-Identifier: GPL-2.0
// graph.mjs PAGE BLOCKS COUNTS: opens a page that kernlens count --html has written, does what a user
// does, and compares what it shows with the JSON results of blocks and of count. Prints TAP lines.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { check, checkAlone, finish } from './tap.mjs';

const [page, blocksFile, countsFile] = process.argv.slice(2);
const listing = JSON.parse(readFileSync(blocksFile)).functions;
const counts = JSON.parse(readFileSync(countsFile)).functions;
const url = pathToFileURL(resolve(page)).href;
const browser = await Browser.start();

const evaluate = (text) => browser.evaluate(text);
const at = () => evaluate('location.hash');
const goTo = async (hash) => {
	await evaluate(`location.hash = '${hash}'`);
	await browser.until(`here.block && '#' + here.f.index + '/' + here.block.block === '${hash}'`);
};

await browser.open(url);
check('a picture is drawn', await browser.until('typeof frames !== "undefined" && frames > 0'));
check('without an error', browser.errors.length === 0, browser.errors);
checkAlone('nothing is loaded but the page', browser, url);
check('names are shown as text', await evaluate(`window.bad === undefined && document.images.length === 0 &&
	document.scripts.length === 2 && document.querySelectorAll('iframe, object, embed').length === 0`));
check('all functions are there', await evaluate('functions.length') === listing.length);

// ------------------------------------------------------------- each function

function edgesOf(f) {
	return f.blocks.flatMap((block, i) => [block.next, block.taken, ...new Set(block.targets)]
		.filter((to) => to !== null).map((to) => `${i} ${to}`)).sort();
}

const wrong = { blocks: [], edges: [], counts: [], colors: [], overlap: [], up: [], names: [] };

for (const [index, f] of listing.entries()) {
	await goTo(`#${index}/0`);
	const seen = await evaluate(`({
		name: byId('title').textContent,
		blocks: [...document.querySelectorAll('[data-block]')].map((g) => ({ block: Number(g.dataset.block), class: g.getAttribute('class'),
			state: g.querySelectorAll('text')[1].textContent, box: here.f.blocks[g.dataset.block].node && (({ x, y, width, height }) =>
				({ x, y, width, height }))(here.f.blocks[g.dataset.block].node) })),
		edges: here.f.ways.filter((edge) => edge.element.isConnected).map((edge) => edge.from + ' ' + edge.to).sort(),
		up: here.f.ways.filter((edge) => edge.toNode.y <= edge.fromNode.y).map((edge) => [edge.from, edge.to, edge.back]),
		drawn: document.querySelectorAll('#world .edge').length })`);
	const points = counts.find((each) => each.address === f.address).points;

	if (!seen.name.endsWith(f.function))
		wrong.names.push([seen.name, f.function]);
	if (JSON.stringify(seen.blocks.map((b) => b.block).sort((a, b) => a - b)) !== JSON.stringify(f.blocks.map((b) => b.block)))
		wrong.blocks.push([f.function, seen.blocks.length]);
	if (JSON.stringify(seen.edges) !== JSON.stringify(edgesOf(f)) || seen.drawn !== seen.edges.length)
		wrong.edges.push([f.function, seen.edges, edgesOf(f)]);
	for (const { block, state, class: kind } of seen.blocks) {
		const point = points.find((each) => each.block === block);
		const expected = point.count === undefined ? ['not counted', 'unknown'] : point.count ? [String(point.count), 'counted'] : ['never ran', 'never'];

		if (state.replaceAll(',', '') !== expected[0])
			wrong.counts.push([f.function, block, state, expected[0]]);
		if (!kind.split(' ').includes(expected[1]))
			wrong.colors.push([f.function, block, kind]);
	}
	for (const [i, { box: a }] of seen.blocks.entries())
		for (const { box: b } of seen.blocks.slice(i + 1))
			if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
				wrong.overlap.push([f.function, a, b]);
	wrong.up.push(...seen.up.filter(([, , back]) => !back));
}
check('names', wrong.names.length === 0, wrong.names);
check('all blocks are drawn', wrong.blocks.length === 0, wrong.blocks);
check('all edges are drawn', wrong.edges.length === 0, wrong.edges);
check('with the counts', wrong.counts.length === 0, wrong.counts);
check('and colors', wrong.colors.length === 0, wrong.colors);
check('no block covers another', wrong.overlap.length === 0, wrong.overlap[0]);
check('edges lead down, but for loops', wrong.up.length === 0, wrong.up);

// ------------------------------------------------------- counts of edges

const f = listing.findIndex((each) => each.function === 'walk');

await goTo(`#${f}/0`);
const flow = await evaluate(`here.f.blocks.filter((block) => !block.entered && block.in.length && block.count !== undefined &&
	block.in.every((edge) => edge.count !== undefined)).map((block) => [block.count, block.in.reduce((sum, edge) => sum + edge.count, 0)])`);

check('counts of edges into a block add up to its own', flow.length > 3 && flow.every(([a, b]) => a === b), flow);
check('a loop leads up', await evaluate('here.f.ways.some((edge) => edge.back && edge.count > 0)'));

// ------------------------------------------------------------------ a user

const place = (block) => evaluate(`(({ x, y, width, height }) => [x + width / 2, y + height / 2])(
	document.querySelector('[data-block="${block}"] rect').getBoundingClientRect())`);

await evaluate('fit()');
await browser.click(...await place(2));
check('a click selects a block', await browser.until(`location.hash === '#${f}/2'`), await at());
check('and shows it', await browser.until("body.innerText.startsWith('Block 2')"), await evaluate('body.innerText'));
const texts = listing[f].blocks[2].instructions.map((each) => each.text);
const shown = await evaluate('[...document.querySelectorAll("#body td.code.wrap")].map((cell) => cell.textContent)');

check('with its instructions', JSON.stringify(shown) === JSON.stringify(texts), shown);
const out = await evaluate('here.block.out.map((edge) => edge.to)');

await evaluate('[...document.querySelectorAll("#body a")].find((a) => a.getAttribute("href") === "#" + here.f.index + "/" + here.block.out[0].to).click()');
check('a neighbour is a click away', await browser.until(`location.hash === '#${f}/${out[0]}'`), await at());
await goTo(`#${f}/0`);
await browser.key('n');
check('n: the next block', await browser.until(`location.hash === '#${f}/1'`), await at());
await browser.key('h');
check('h: the block that is executed most', await browser.until('here.block.count === here.f.most'));
await goTo(`#${f}/0`);
await browser.key('u');
check('u: a block that never ran', await browser.until('here.block.count === 0'));
await goTo(`#${f}/0`);
await browser.key('ArrowDown');
check('down: where it leads', await browser.until('here.block.in.some((edge) => edge.from === 0)'), await at());
await browser.key('ArrowLeft');
check('left: back', await browser.until(`location.hash === '#${f}/0'`), await at());
await browser.key('/');
await evaluate(`byId('query').value = 'ret'; byId('query').dispatchEvent(new Event('input'))`);
check('search marks blocks', await evaluate(`document.querySelectorAll('.block.hit').length`) ===
	listing[f].blocks.filter((b) => b.instructions.some((each) => each.text.includes('ret'))).length);
await browser.key('Enter');
check('Enter: the next of them', await browser.until('here.block.instructions.some((each) => each.text.includes("ret"))'));
await evaluate(`byId('drawing').focus(); showPanel('blocks')`);
check('a table of all blocks', await evaluate('document.querySelectorAll("#body tbody tr").length') === listing[f].blocks.length);
await evaluate('document.querySelector("[data-sort=\'blocks 2\']").click()');
const sorted = await evaluate('[...document.querySelectorAll("#body tbody tr td:nth-child(3)")].map((cell) => cell.textContent)');

check('sorted by count', sorted.filter((text) => text).map((text) => Number(text.replaceAll(',', ''))).every((n, i, all) => !i || all[i - 1] >= n), sorted);
const before = await evaluate('getComputedStyle(document.body).backgroundColor');

await browser.key('t');
check('light and dark', await evaluate('getComputedStyle(document.body).backgroundColor') !== before);
await browser.key('i');
check('with and without instructions', await evaluate('document.querySelectorAll("[data-block]").length') === listing[f].blocks.length);
check('still no error', browser.errors.length === 0, browser.errors);
checkAlone('and nothing was loaded', browser, url);
check('nor did a name become a script', await evaluate('window.bad === undefined'));

await browser.stop();
finish();
