// SPDX-License-Identifier: GPL-2.0
// memory.mjs KERNLENS TRACE FACTS FOLDER: has the page of kernlens memory written for a trace of
// make-growth, and compares what it shows with what the trace's functions did; then puts a process that
// is made here into a copy of the page, and compares each of its views with that. Prints TAP lines.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { check, checkAlone, finish } from './tap.mjs';

const [kernlens, trace, factsFile, folder] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile));
const HOSTILE = '</script><script>window.bad=2</script><img src=x onerror=window.bad=3>';
const PAGE = 4096;
const written = resolve(folder, 'growth.html'), made = resolve(folder, 'memory.html');

execFileSync(kernlens, ['memory', '-i', trace, '--html', written], { stdio: 'ignore' });
const json = JSON.parse(execFileSync(kernlens, ['memory', '-i', trace, '--json', '--top', '0']));

// -------------------------------------------------------------------- a process

// A page of @state: [number of the page, number, bits, mappings, node, zone, orders, frame].
const BITS = { swapped: 1, migrating: 2, zero: 4, writable: 8, written: 16, accessed: 32, hugetlb: 128, anon: 256, dirty: 1024, referenced: 2048 };
const run = (page, pages, states, mappings, order = 0, node = 0, frame = 0) => {
	const bits = states.split(' ').reduce((sum, state) => sum | BITS[state], 0);

	return bits & 7 ? [page, pages, bits] : [page, pages, bits, mappings, node, node ? 2 : 1, order, order, ...(frame ? [frame] : [])];
};
// By mapping: page, pages, name, runs. The third is at the highest addresses.
const spaces = [
	[0x400, 64, '/usr/bin/<b>program', [run(0x400, 20, 'accessed', 4, 0, 0, 0x1000), run(0x420, 10, 'referenced', 1, 0, 0, 0x1014)]],
	[0x10000, 4096, '[heap]', [run(0x10000, 100, 'anon written accessed', 1, 0, 1, 0x90000), run(0x10100, 50, 'swapped'), run(0x10200, 512, 'anon written', 1, 9, 0, 0x2000)]],
	[2 ** 52 - 1, 1, '', [run(2 ** 52 - 1, 1, 'zero')]],
	[0x7f0000000, 2 ** 26, HOSTILE, [run(0x7f0000010, 8, 'written', 1, 0, 0, 0x40000), run(0x7f0100000, 3, 'accessed', 2)]],
];

function sumsOf(runs) {
	const sums = { rss: 0, pss: 0, swap: 0, migrating: 0, zero: 0, private_clean: 0, private_dirty: 0, shared_clean: 0, shared_dirty: 0, anonymous: 0, shmem: 0,
		lazyfree: 0, anonhugepages: 0, shmempmdmapped: 0, filepmdmapped: 0, shared_hugetlb: 0, private_hugetlb: 0, referenced: 0, accessed: 0, soft_dirty: 0, large_folios: 0 };

	for (const [, pages, bits, mappings, , , order] of runs) {
		const bytes = pages * PAGE, dirty = bits & (BITS.written | BITS.dirty) ? 'dirty' : 'clean';

		if (bits & 7) {
			sums[bits & 1 ? 'swap' : 'zero'] += bytes;
			continue;
		}
		sums.rss += bytes;
		sums.pss += bytes / mappings;
		sums[`${mappings > 1 ? 'shared' : 'private'}_${dirty}`] += bytes;
		sums.referenced += bits & (BITS.accessed | BITS.referenced) ? bytes : 0;
		sums.accessed += bits & BITS.accessed ? bytes : 0;
		sums.anonymous += bits & BITS.anon ? bytes : 0;
		sums.anonhugepages += order ? bytes : 0;
	}
	return sums;
}

const runs = spaces.flatMap(([, , , each]) => each);
let at = 0;
const mappings = spaces.map(([page, pages, name, each]) => ({ page, pages, name, mode: 'rw-p', kind: 'file', offset: 0, inode: 7, device: '8:1',
	first: at, last: (at += each.length), ...sumsOf(each) }));
const total = sumsOf(runs);
const ranges = [[0x1000, 30, 0, 1], [0x2000, 512, 0, 1], [0x40000, 8, 0, 1], [0x90000, 100, 1, 2]];
const points = Array.from({ length: 20 }, (each, i) => [5e9 + i * 1e9, (i + 1) * 1e6, i * 5e5, 1000 * i, 0, 1e6, 0, 0, 0, 2e6]);
const history = { reads: 20, together: 1, interval_ns: 1e9, n_mappings: 5, untracked: 2, points, mappings: [
	{ page: 0x10000, pages: 4096, name: '[heap]', is_there: true, rss: points.map(([, rss]) => rss) },
	{ page: 0x20000, pages: 9, name: HOSTILE, is_there: false, rss: points.map((point, i) => (i < 10 ? 4096 : 0)) }] };
const proc = { pid: 42, comm: HOSTILE, time_ns: 1, total, zones: { DMA32: 1 << 20, Normal: 4096 }, nodes: { 0: 1 << 20, 1: 4096 }, mappings, runs, left_out: 0,
	states: BITS, zone_names: ['DMA', 'DMA32', 'Normal'], has_ended: false, sharers: [{ pid: 9, comm: '<i>other', bytes: 8192 }], ranges, n_ranges: ranges.length };

// A page with other data than that of a trace.
function writePage(path, change) {
	const text = readFileSync(written, 'utf8'), begin = '<script id="memory" type="application/json">', from = text.indexOf(begin) + begin.length;
	const to = text.indexOf('</script>', from), data = JSON.parse(text.slice(from, to));

	change(data);
	writeFileSync(path, text.slice(0, from) + JSON.stringify(data).replaceAll('<', '\\u003c') + text.slice(to));
}

const browser = await Browser.start();
const evaluate = (text) => browser.evaluate(text);
const bytesOf = (text) => parseFloat(text) * { B: 1, KiB: 1024, MiB: 1 << 20, GiB: 2 ** 30, TiB: 2 ** 40 }[text.split(' ')[1] || 'B'];
const near = (text, bytes) => Math.abs(bytesOf(text) - bytes) <= Math.max(0.06 * 2 ** (10 * Math.floor(Math.log2(bytes || 1) / 10)), bytes * 1e-3);
const tableOf = (id) => evaluate(`(() => {
	const head = document.querySelector('[data-sort^="${id} "]');

	return head && [...head.closest('table').querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent));
})()`);

async function open(path) {
	const url = pathToFileURL(path).href;

	await browser.open(url);
	check(`${path === written ? 'growth' : 'process'}: without an error`, browser.errors.length === 0, browser.errors);
	check('nothing is loaded but the page', browser.requests.every((each) => each.startsWith(url) || each.startsWith('data:')), browser.requests);
	return url;
}

const silent = async () => (await evaluate('window.bad === undefined && document.images.length === 0 && document.scripts.length === 2')) && browser.errors.length === 0;

// ---------------------------------------------------------------- a recording

await open(written);
check('what a trace does not have cannot be shown', (await evaluate('[...document.querySelectorAll("[role=tab]")].map((tab) => tab.disabled).join()')) ===
	'true,true,true,false,false');
await browser.key('5');
const touched = await tableOf('functions'), freed = await tableOf('freeing');
const pagesOf = (name) => facts.functions.find((f) => f.name === name);

check('each function has what it touched, gave back and kept', touched?.length === facts.functions.length && touched.every((row) => {
	const f = pagesOf(row[7]);

	return f && near(row[0], facts.seconds * (f.touched - f.freed) * PAGE) && near(row[1], facts.seconds * f.touched * PAGE) &&
		near(row[2], facts.seconds * f.freed * PAGE) && row[3] === String(facts.seconds * f.touched);
}), touched);
check('what is kept comes first', touched?.every((row, i) => !i || bytesOf(touched[i - 1][0]) >= bytesOf(row[0])), touched);
check('who gave memory back', freed?.length === 2 && freed.every((row) => near(row[0], facts.seconds * pagesOf(row[3]).freed * PAGE)), freed);

// The flame graph: widths are bytes.
const labels = () => evaluate('[...document.querySelectorAll("#flames .label")].map((each) => [each.textContent, each.getBoundingClientRect().width])');
const widthOf = (all, name) => all.find(([text]) => text.startsWith(`${name} `))?.[1];
const all = await labels();
const kept = (f) => facts.seconds * (f.touched - f.freed), sumKept = facts.functions.reduce((sum, f) => sum + kept(f), 0);

check('the flame graph has all functions below main', widthOf(all, 'main') > 1000 && facts.functions.every((f) =>
	Math.abs(widthOf(all, f.name) / widthOf(all, 'main') - kept(f) / sumKept) < 0.01), all);

// The first half: the old pages. The cache keeps only the latest.
const intervals = json.history.kept.length, half = Math.floor(intervals / 2) - 1;
const oldKept = json.history.kept.slice(0, half + 1).reduce((a, b) => a + b);

await evaluate(`(() => { const slider = byId('until'); slider.value = ${half}; slider.dispatchEvent(new Event('change')); })()`);
const old = await labels();

check('only what is older', near(old[0][0].replace(/^all /, ''), oldKept) && widthOf(old, 'leak_slowly') > 500 && widthOf(old, 'cache<b>') === undefined, [old, oldKept]);
await evaluate("(() => { const choice = byId('kind'); choice.value = 'touched'; choice.dispatchEvent(new Event('change')); })()");
check('or what was touched', near((await labels())[0][0].replace(/^all /, ''), json.history.touched.slice(0, half + 1).reduce((a, b) => a + b)), await labels());
const bar = await evaluate('(() => { const boxes = [...document.querySelectorAll(".bars rect")], box = boxes[0].getBoundingClientRect(); return [boxes.length, box.left + box.width / 2, box.bottom - 2]; })()');

check('a bar for each interval', bar[0] === intervals, [bar, intervals]);
await browser.click(bar[1], bar[2]);
check('a click on one shows what came until then', near((await labels())[0][0].replace(/^all /, ''), json.history.touched[0]), await labels());
const leak = await evaluate('(() => { const box = [...document.querySelectorAll("#flames .label")].find((each) => each.textContent.startsWith("leak_slowly ")).getBoundingClientRect(); return [box.left + 5, box.top + 5]; })()');

await browser.click(leak[0], leak[1]);
check('a click on a function enlarges it', (await labels())[0][0].startsWith('leak_slowly '), await labels());
await browser.key('/');
await evaluate('byId("query").value = "LEAK"; byId("query").dispatchEvent(new Event("input"))');
check('search', (await tableOf('functions')).length === 1 && (await evaluate('document.querySelector("#flames .found") !== null')), await tableOf('functions'));
await evaluate('byId("query").value = ""; byId("query").dispatchEvent(new Event("input")); byId("body").focus()');
await browser.key('4');
check('over time', await evaluate('document.querySelectorAll("svg .curve").length === 4'));
check('names are text, not markup', await silent());

// ------------------------------------------------------------------ a process

writePage(made, (data) => Object.assign(data, { process: proc, history }));
const url = await open(made);
const rows = await tableOf('mappings');
const wrong = mappings.filter((mapping, i) => {
	const row = rows[i] || [];

	return row[0] !== `${mapping.page.toString(16)}000` || row[1] !== (mapping.name || '[anon]') || !near(row[3], mapping.pages * PAGE) || !near(row[4], mapping.rss) ||
		!near(row[6], mapping.pss) || !near(row[8], mapping.private_dirty + mapping.shared_dirty) || !near(row[11], mapping.swap);
});

check('the mappings, with their sums', rows.length === mappings.length && !wrong.length, [wrong[0], rows]);
check('processes that share pages', (await tableOf('sharers'))[0]?.[2] === '<i>other');
await evaluate('document.querySelector("[data-sort=\'mappings 4\']").click()');
const sorted = (await tableOf('mappings')).map((row) => bytesOf(row[4]));

check('sorted by memory', sorted.every((n, i) => !i || sorted[i - 1] >= n), sorted);
await evaluate('document.querySelector("[data-sort=\'mappings 0\']").click()');

// The panel of a mapping.
const heap = await evaluate('(() => { const box = [...document.querySelectorAll("tr.mapping")].find((row) => row.textContent.includes("[heap]")).cells[4].getBoundingClientRect(); return [box.left + 4, box.top + 6]; })()');

await browser.click(heap[0], heap[1]);
const listed = await tableOf('runs');

check('a click on a mapping shows its pages', listed?.length === 3 && listed[0].join() === '10000000,100,1,90000000,1,Normal,4.0 KiB,written, accessed, anon' &&
	listed[1].at(-1) === 'swapped' && listed[2][6] === '2.0 MiB', listed);
check('and its history', await evaluate('document.querySelector("#side .spark path") !== null'));
check('the table has not moved sideways', (await evaluate('byId("body").scrollLeft')) === 0);
await browser.key('j');
check('J selects the next one', (await evaluate('mappings[chosen].index')) === 2);
await browser.key('Escape');
check('Escape closes the panel', await evaluate('byId("side").hidden'));

// The address space: the color of the cell of each run.
await browser.key('2');
check('all mappings with pages are drawn', await browser.until(`document.querySelectorAll('.space').length === ${mappings.length} && [...document.querySelectorAll('.space canvas')].every((each) => each.drawn)`));
const classes = { swapped: 0, zero: 1, huge: 2, shared: 3, written: 4, clean: 5 };
const classOf = ([, , bits, times, , , order]) => (bits & 1 ? 'swapped' : bits & 4 ? 'zero' : order ? 'huge' : times > 1 ? 'shared' : bits & (BITS.written | BITS.dirty) ? 'written' : 'clean');
const colors = await evaluate(`(() => {
	const probe = document.createElement('canvas').getContext('2d');

	return [...schemes.state.classes.map(([, name]) => name), 'absent'].map((name) => {
		probe.fillStyle = color(name);
		probe.fillRect(0, 0, 1, 1);
		return [...probe.getImageData(0, 0, 1, 1).data].join();
	});
})()`);
// The pixel of the first page of a run, and of a page before it that is not there.
const pixel = (mapping, page) => evaluate(`(() => {
	const canvas = document.querySelector('[data-mapping="${mapping}"] canvas'), cell = Math.floor(${page} / 2 ** canvas.order), ratio = devicePixelRatio || 1;
	const x = (cell % canvas.columns * CELL + 2) * ratio, y = (Math.floor(cell / canvas.columns) * CELL + 2) * ratio;

	return [[...canvas.getContext('2d').getImageData(x, y, 1, 1).data].join(), 2 ** canvas.order];
})()`);

for (const [index, mapping] of mappings.entries()) {
	for (const each of spaces[index][3]) {
		const [seen, pages] = await pixel(index, each[0] - mapping.page);

		if (pages === 1)
			check(`a cell that is ${classOf(each)}`, seen === colors[classes[classOf(each)]], [seen, colors, each]);
		else
			check(`a cell of ${pages} pages is paler unless it is full`, seen !== colors[6] && !colors.includes(seen), [seen, each]);
	}
}
check('a cell without a page', (await pixel(0, 31))[0] === colors[6], await pixel(0, 31));
const cell = await evaluate('(() => { const canvas = document.querySelector(\'[data-mapping="1"] canvas\'), box = canvas.getBoundingClientRect(); return [box.left + 3, box.top + 3]; })()');

await browser.mouse('mouseMoved', cell[0], cell[1]);
check('the pointer shows what a cell is', /^10000000-10001000: 1 of 1 page\n10000000: 100 pages, mapped once, node 1, zone Normal, physical 90000000\n {2}written, accessed, anon$/
	.test(await evaluate('byId("tip").textContent')), await evaluate('byId("tip").textContent'));
for (const name of ['use', 'mappings', 'kind', 'place']) {
	await evaluate(`(() => { const choice = byId('scheme'); choice.value = '${name}'; choice.dispatchEvent(new Event('change')); })()`);
	check(`colors by ${name}`, await browser.until("document.querySelector('[data-mapping=\"1\"] canvas').drawn") && (await silent()), browser.errors);
}
await browser.key('/');
await evaluate('byId("query").value = "0x10100123"; byId("query").dispatchEvent(new Event("input"))');
check('an address finds its mapping', (await evaluate('[...document.querySelectorAll(".space")].map((each) => each.dataset.mapping).join()')) === '1');
await evaluate('byId("query").value = ""; byId("query").dispatchEvent(new Event("input")); byId("body").focus()');

// Physical memory.
await browser.key('3');
const shownRanges = await tableOf('ranges');

check('physical ranges', JSON.stringify(shownRanges.map((row) => [row[0], row[2], row[3]])) ===
	JSON.stringify(ranges.map(([frame, , node, zone]) => [`${frame.toString(16)}000`, String(node), proc.zone_names[zone]])) &&
	shownRanges.every((row, i) => near(row[1], ranges[i][1] * PAGE)), shownRanges);
const filled = await evaluate(`(() => {
	const { size, lines } = linesOf(proc.ranges);

	return [size * lines.reduce((sum, [, { pages }]) => sum + pages.reduce((a, b) => a + b / size, 0), 0), lines.length];
})()`);

check('the map has all of them', Math.round(filled[0]) === ranges.reduce((sum, [, pages]) => sum + pages, 0), filled);
check('a frame belongs to its mapping', (await evaluate('mappingsAt(0x90010, 0x90011).map((each) => each.index).join()')) === '1' &&
	(await evaluate('mappingsAt(0x90064, 0x90065).length')) === 0);

// Over time.
await browser.key('4');
const tracks = await tableOf('tracks');

check('growth by mapping', tracks?.length === 2 && near(tracks[0][3], 19e6) && tracks[1].at(-1) === `${HOSTILE} (gone)`, tracks);
check('what is missing is shown', /2 mappings are missing/.test(await evaluate('byId("body").innerText')));
const curve = await evaluate('(() => { const box = document.querySelector("figure svg").getBoundingClientRect(); return [box.left + box.width * (PLOT.left + 10 / 19 * (PLOT.width - PLOT.left - PLOT.right)) / PLOT.width, box.top + 40]; })()');

await browser.mouse('mouseMoved', curve[0], curve[1]);
const legend = await evaluate('document.querySelector("figcaption").textContent');

check('the pointer shows the values of its time', /in RAM 10\.5 MiB at 10\.0 s/.test(legend), legend);

// Links, themes.
await browser.open(`${url}#space,1`);
check('a link shows its view and mapping', await evaluate('view === "space" && chosen === 1 && !byId("side").hidden'));
const back = await evaluate('getComputedStyle(document.body).backgroundColor');

await browser.key('t');
check('T changes between light and dark', (await evaluate('getComputedStyle(document.body).backgroundColor')) !== back);
check('hostile names are text', await silent(), browser.errors);

// Without privilege, and after the end.
writePage(made, (data) => Object.assign(data, { process: { ...proc, ranges: null, has_ended: true, left_out: 9, sharers: null, runs: runs.map((each) => each.slice(0, 8)) }, history: null, growth: null }));
await open(made);
check('a process that has ended, and pages that are left out', /has ended/.test(await evaluate('byId("body").innerText')) &&
	/9 runs are left out/.test(await evaluate('byId("body").innerText')));
await browser.key('3');
check('without physical addresses', /requires CAP_SYS_ADMIN/.test(await evaluate('byId("body").innerText')));
await evaluate('choose(1)');
check('nor in the panel', (await tableOf('runs'))[0].length === 7 && !(await evaluate('document.body.innerText')).includes('90000000'), await tableOf('runs'));
checkAlone('nothing is loaded but this page', browser, pathToFileURL(made).href);

await browser.stop();
finish();
