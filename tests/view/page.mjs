// SPDX-License-Identifier: GPL-2.0
// page.mjs PAGE FACTS REPORT MATCHES KERNLENS TRACE [FIRST_MS MEAN_MS]: opens a page that kernlens view has written, does what a user does, and
// compares its sums with what the trace's threads did (make_trace.c), and with kernlens report's.
// FIRST_MS and MEAN_MS: how long the first picture, and each while zooming, may take. Prints TAP lines.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { testExpressions, testTexts } from './expressions.mjs';
import { testRows } from './rows.mjs';
import { testSearch } from './search.mjs';
import { check, checkAlone, checkThreads, finish, near, sumsOfThreads } from './tap.mjs';
import { testWhy } from './why.mjs';

const [page, factsFile, reportFile, matchesFile, kernlens, trace, firstMs = 20000, meanMs = 200] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile));
const report = JSON.parse(readFileSync(reportFile));
const url = pathToFileURL(resolve(page)).href;
const browser = await Browser.start();

const VISIBLE_LOADED = 'rows.filter((r) => r.top + RULER < view.height).every((r) => r.lanes.every((l) => (l.track ? l.track.spans : l.counter.points)))';

const text = () => browser.evaluate('body.innerText');

// ------------------------------------------------------------------- loading

const begun = Date.now();

await browser.open(url);
check('a picture is drawn', await browser.until('frames > 0 && rows.length > 0 && view.width > 0'));
check('its tracks are loaded', await browser.until(
	VISIBLE_LOADED));
const first = Date.now() - begun;

console.log(`# first picture after ${first} ms`);
check(`in less than ${firstMs} ms`, first < firstMs, first);
check('without an error', browser.errors.length === 0, browser.errors);
checkAlone('and nothing is loaded but the page', browser, url);
check('the title', (await browser.evaluate('document.title')).endsWith('kernlens'));

const kept = await browser.evaluate('about.kept');

// --------------------------------------------------------------------- sums

const sums = await sumsOfThreads(browser, 'track.load()');

checkThreads(facts, sums);
const differ = report.filter((row) => !near(row.run_ns, (sums[row.tid] || [])[0]) &&
	(sums[row.tid] || [])[0] - row.run_ns > 1);

check("kernlens report's threads ran as long", report.length > 50 && differ.length === 0,
	differ.slice(0, 3).map((row) => [row.tid, row.run_ns, sums[row.tid]]));
const parts = await browser.evaluate(`(async () => {
	const middle = about.ns / 3, found = await Promise.all([sumsOf(0, middle), sumsOf(middle, about.ns), sumsOf(0, about.ns)]);

	return found.map((each) => each.cpus.reduce((sum, [, time]) => sum + time, 0));
})()`);

check('the sums of two parts are that of the whole', Math.abs(parts[0] + parts[1] - parts[2]) < 10, parts);

const curves = await browser.evaluate(`(async () => {
	const found = {};

	for (const counter of counters) {
		const points = await counter.load();

		found[counter.id] = [points.value[counter.n - 1], counter.n, counter.thinned, counter.name];
	}
	return found;
})()`);
const other = Object.entries(facts.threads).filter(([tid, [, , , , rss, changes]]) => {
	const [value, n, thinned, name] = curves[tid] || [];

	return name !== 'rss' || value !== rss || (thinned ? n > changes : n !== changes);
});

check('a variable of each thread changes as often, and ends as it did', other.length === 0,
	other.slice(0, 3).map(([tid, fact]) => [tid, fact, curves[tid]]));

const tree = await browser.evaluate(`(async () => {
	const root = await treeOf(-1, about.ns + 1, 0), [outer] = root.children.values();

	return [root.n, root.children.size, frameName(outer), about.samples.every,
		Object.fromEntries([...outer.children.values()].map((node) => [frameName(node), node.n]))];
})()`);
const records = { read_some: 0, 'write<b>': 0 };

for (const of of Object.values(facts.threads))
	records[of[6] === 1 ? 'read_some' : 'write<b>'] += of[7];
check('the tree of stack traces has all samples', tree[1] === 1 && tree[2] === 'work' &&
	Object.entries(records).every(([name, n]) => Math.abs(tree[4][name] - n) <= (tree[3] > 1 ? 0.02 * n : 0)), [tree, records]);

// -------------------------------------------------------------------- names

check('names are text, not markup', await browser.evaluate(
	"document.querySelectorAll('b').length === 0 && threads.some((t) => t.name === '</script>')"));

// ------------------------------------------------------- clicking and keys

// Bring a span into view in which a thread waits and then is woken by a thread or an interrupt.
const target = await browser.evaluate(`(async () => {
	const track = tracks.find((t) => t.kind === 'thread' && t.n > 50);
	const spans = await track.load();
	let i = 20;

	while (spans.cls[i] < 2 || spans.count[i] > 1)
		i++;
	fitTo(spans.begin[i - 3], spans.end[i + 3]);
	scroller.scrollTop = Math.max(0, rowOf(track).top - 60);
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const place = placeOf(track, scroller.scrollTop), box = canvas.getBoundingClientRect();

	return { x: box.left + (toX(spans.begin[i]) + toX(spans.end[i])) / 2, y: box.top + place.y + place.height / 2,
		i, index: track.index, title: trackTitle(track), link: [track.kind, track.id, Math.round((spans.begin[i] + spans.end[i]) / 2)].join(':'), pixel: [(toX(spans.begin[i]) + toX(spans.end[i])) / 2, place.y + 2] };
})()`);

await browser.click(target.x, target.y);
check('a click selects the span', await browser.until(
	`view.selected && view.selected.track.index === ${target.index} && view.selected.i === ${target.i}`),
await browser.evaluate('view.selected && [view.selected.track.index, view.selected.i]'));
check('and shows what it is', await browser.until(`body.innerText.includes(${JSON.stringify(target.title)})`) &&
	/length\s+[\d.]+ [mun]?s/.test(await text()), await text());
if (kept) {
	check('with its record', /sched_switch on CPU \d/.test(await text()), await text());
	check('and what has woken it', /woken/i.test(await text()), await text());
} else {
	check('without its record, which it says', /not in this page/.test(await text()), await text());
}
const pixel = await browser.evaluate(`[...canvas.getContext('2d').getImageData(${target.pixel.map(Math.round)}, 1, 1).data]`);
const color = await browser.evaluate(`(() => {
	const spans = view.selected.track.spans, c = document.createElement('canvas').getContext('2d');

	c.fillStyle = spanColor(view.selected.track, spans.cls[view.selected.i], 0);
	c.fillRect(0, 0, 1, 1);
	return [...c.getImageData(0, 0, 1, 1).data];
})()`);

check('it has the color of its state', pixel.join() === color.join(), [pixel, color]);
const before = await browser.evaluate('[view.from, view.to]');

await browser.evaluate('canvas.focus()');
await browser.key('w');
const zoomed = await browser.evaluate('[view.from, view.to]');

check('W zooms in', zoomed[0] > before[0] && zoomed[1] < before[1], [before, zoomed]);
await browser.key('d');
check('D moves to the right', (await browser.evaluate('view.from')) > zoomed[0]);
await browser.key(']');
check('] goes to the next span', await browser.until(`view.selected.i === ${target.i + 1}`),
	await browser.evaluate('view.selected.i'));
await browser.mouse('mouseWheel', target.x, target.y, { deltaX: 0, deltaY: 300, modifiers: 2 });
check('Ctrl and the wheel zoom out', await browser.until(`view.to - view.from > ${zoomed[1] - zoomed[0]}`));
await browser.key('m');
check('M shows the sums of the span', await browser.until("body.innerText.startsWith('Selection')"), await text());
await browser.key('Escape');

// A range.
await browser.mouse('mousePressed', 400, target.y);
await browser.mouse('mouseMoved', 500, target.y, { buttons: 1 });
await browser.mouse('mouseMoved', 700, target.y, { buttons: 1 });
await browser.mouse('mouseReleased', 700, target.y);
check('dragging selects a range, and shows its sums', await browser.until("view.range && body.innerText.startsWith('Selection')"),
	await text());
await browser.evaluate("show('stacks')");
check('or its stack traces', await browser.until("body.innerText.includes('read_some') && body.innerText.includes('write<b>')"),
	await text());
await browser.evaluate("show('sums')");
await browser.until("body.innerText.startsWith('Selection') && body.innerText.includes('median')");
check('with processes, CPUs and system calls', /running/.test(await text()) && /busy/.test(await text()) &&
	/median/.test(await text()), await text());

// --------------------------------------------------------- records and search

async function testRecords() {
	await browser.evaluate("show('records')");
	check('records are listed', await browser.until("body.querySelectorAll('tr').length > 100"));
	const record = await browser.evaluate("(async () => (await recordAt(0)).text)()");

	check('with their fields', /\w+=/.test(record), record);
	await browser.evaluate("query.value = 'ret=-11'; show('search')");
	check('a search finds values of fields', await browser.until("body.querySelectorAll('td.long').length > 10 && " +
		"[...body.querySelectorAll('td.long')].every((cell) => cell.textContent.includes('ret=-11'))"));
	await browser.evaluate("query.value = '/^<b>/'; show('search')");
	check('and threads, by a regular expression', await browser.until("body.innerText.includes('<b>bold</b> 1000')"), await text());
	await browser.evaluate("query.value = '/(/'; show('search')");
	check('one that is not valid is reported', await browser.until("body.innerText.includes('not a regular expression')"));
}

if (kept) {
	await testRecords();
	await testSearch(browser, check, JSON.parse(readFileSync(matchesFile)));
	testTexts(check);
	await testExpressions(browser, check, kernlens, trace, 80);
	await testWhy(browser, check, kernlens, trace);
} else {
	check('the page says what is left out', await browser.evaluate("document.getElementById('note').textContent")
		.then((note) => /merged/.test(note) && /records are not in this page/.test(note)));
}

await testRows(browser, check, facts);

// ------------------------------------------------------------- links, pictures

await browser.open(`${url}#t=1000000-2000000&s=${target.link}&r=1100000-1200000`);
check('a link shows its time, range and selection', await browser.until(
	`view.from === 1000000 && view.to === 2000000 && view.range && view.range[1] === 1200000 && view.selected?.i === ${target.i}`),
await browser.evaluate('[view.from, view.to, view.range, view.selected?.i]'));
const svg = await browser.evaluate(`(() => {
	const painter = new SvgPainter();

	paint(painter);
	const document = new DOMParser().parseFromString(painter.document(view.width, view.height), 'image/svg+xml');

	return [document.querySelector('parsererror') === null, document.querySelectorAll('rect').length];
})()`);

check('the picture as SVG is valid', svg[0] && svg[1] > 30, svg);
const light = await browser.evaluate("color('back')");

await browser.key('l');
check('L changes between light and dark', (await browser.evaluate("color('back')")) !== light);
check('no error until here', browser.errors.length === 0, browser.errors);

// --------------------------------------------------------------------- speed

await browser.evaluate('scroller.scrollTop = 0; setView(0, about.ns)');
await browser.until(VISIBLE_LOADED);
const speed = await browser.evaluate(`(async () => {
	const times = [];

	for (let i = 0; i < 60; i++) {
		const time = (view.from + view.to) / 2 + (i % 2 ? 1 : -1) * (view.to - view.from) / 9;

		zoom(i < 40 ? 0.8 : 1.5, time);
		const from = performance.now();

		draw();
		times.push(performance.now() - from);
	}
	return { mean: times.reduce((a, b) => a + b) / times.length, worst: Math.max(...times),
		memory: performance.memory?.usedJSHeapSize };
})()`);

console.log(`# a picture takes ${speed.mean.toFixed(1)} ms, at most ${speed.worst.toFixed(1)} ms; ` +
	`memory ${(speed.memory / 1e6).toFixed(0)} MB`);
check(`each in less than ${meanMs} ms on average`, speed.mean < meanMs, speed);
await browser.stop();
finish();
