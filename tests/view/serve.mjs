// SPDX-License-Identifier: GPL-2.0
// serve.mjs KERNLENS TRACE FACTS REPORT MATCHES PAGE [FIRST_MS SERVER_MB]: serves a trace, sends requests as an
// attacker would, and opens the page. Its sums must be what the trace's threads did, and kernlens
// report's; the spans of a part of it those of the file PAGE, in which none is merged; or of a trace
// of any size, without PAGE ("-"). FIRST_MS: how long the first picture may take. SERVER_MB: what the
// server may need. Prints TAP lines.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser } from './browser.mjs';
import { testRows } from './rows.mjs';
import { testSearch } from './search.mjs';
import { check, checkThreads, finish, prefix, sumsOfThreads } from './tap.mjs';
import { testWhy } from './why.mjs';

const [kernlens, trace, factsFile, reportFile, matchesFile, page, firstMs = 20000, serverMb = 300] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile));
const report = JSON.parse(readFileSync(reportFile));
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

prefix('served: ');

// ---------------------------------------------------------------- the server

async function serve(...options) {
	const child = spawn(kernlens, ['view', trace, '--serve', ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
	const exited = new Promise((done) => { child.on('exit', (code, signal) => done([code, signal])); });
	let text = '';

	for await (const data of child.stdout) {
		text += data;
		if (text.includes('\n'))
			break;
	}
	return { child, exited, url: text.trim() };
}

const { child, exited, url } = await serve(...(page === '-' ? [] : ['--size', '1']));
const { port, pathname: root } = new URL(url);

check('an address with a token of 128 bits', /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/.test(url), url);

// Send text to the server; what it answers until the connection ends.
function send(text, { ms = 3000, keep = false } = {}) {
	return new Promise((done) => {
		const socket = net.connect(port, '127.0.0.1'), begun = Date.now();
		let answer = '';
		const end = () => {
			clearTimeout(timer);
			socket.destroy();
			done({ answer, status: Number((/^HTTP\/1\.1 (\d+)/.exec(answer) || [])[1]), ms: Date.now() - begun });
		};
		const timer = setTimeout(end, ms);

		socket.on('data', (data) => {
			answer += data.toString('latin1');
			if (!keep && answer.includes('\r\n\r\n'))
				end();
		});
		socket.on('error', end);
		socket.on('close', end);
		socket.write(text);
	});
}

const get = (path, host = `127.0.0.1:${port}`, more = '') => send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);

// -------------------------------------------------------------- who may see it

const wrong = root.replace(/[0-9a-f]/, (c) => (c === 'f' ? '0' : 'f'));

for (const [text, status, path, host, more] of [
	['with the token', 200, root],
	['without it: nothing', 404, '/'],
	['with a wrong one: nothing', 404, wrong],
	['with one that is too short: nothing', 404, root.slice(0, 20)],
	['with more behind it: nothing', 404, `${root.slice(0, -1)}0/`],
	['in the query: nothing', 404, `/?${root.slice(1, -1)}`],
	['data without it: nothing', 404, '/overview'],
	['by the name localhost', 200, root, `localhost:${port}`],
	['by another name: nothing', 403, root, `evil.example:${port}`],
	['by another port: nothing', 403, root, '127.0.0.1:1'],
	['from a script of another site: nothing', 403, `${root}overview`, undefined, 'Sec-Fetch-Site: cross-site\r\n'],
	['from one on another port: nothing', 403, `${root}state`, undefined, 'Sec-Fetch-Site: same-site\r\n'],
	['another page: nothing', 404, `${root}other`],
	['a path out of it: nothing', 404, `${root}../../../../etc/passwd`],
	['an encoded one: nothing', 404, `${root}..%2f..%2fetc%2fpasswd`],
	['a time that is none', 400, `${root}window?from=x&to=2`],
	['a time backwards', 400, `${root}window?from=2&to=1`],
	['a time that is too large a number', 400, `${root}window?from=0&to=99999999999999999999`],
	['too many records', 400, `${root}records?from=0&n=1000000`],
	['a negative number', 400, `${root}records?from=-1&n=1`],
	['records behind the last', 200, `${root}records?from=999999999999&n=10`],
]) {
	const answer = await get(path, host, more);

	check(text, answer.status === status && (status === 200 || !answer.answer.includes('kernlens')), answer.answer.slice(0, 300));
}
check('without a Host: nothing', [400, 403].includes((await send(`GET ${root} HTTP/1.1\r\n\r\n`)).status));
check('POST is not answered', (await send(`POST ${root} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 3\r\n\r\nabc`)).status === 405);
check('nor is what is not HTTP', (await send('\x16\x03\x01\x00\xa5hello\r\n\r\n')).status !== 200);
const headers = (await get(root)).answer.split('\r\n\r\n')[0].toLowerCase();

check('nothing but the server is allowed to the page', headers.includes("default-src 'none'; connect-src 'self'") &&
	headers.includes("frame-ancestors 'none'") && !headers.includes('access-control'), headers);
check('a huge header is refused', [0, 413, 414, 431, 400, NaN].includes((await send(`GET ${root} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX: ${'a'.repeat(1 << 20)}\r\n\r\n`)).status));
check('so is a huge address', (await send(`GET ${root}${'a'.repeat(1 << 20)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)).status !== 200);

// A client that sends a byte now and then, and as many as there may be.
const slow = net.connect(port, '127.0.0.1'), slowBegun = Date.now();
const slowEnded = new Promise((done) => { slow.on('close', () => done(Date.now() - slowBegun)); });
const drip = setInterval(() => slow.write('G'), 500);

slow.on('error', () => {});
const crowd = Array.from({ length: 60 }, () => {
	const socket = net.connect(port, '127.0.0.1');

	socket.on('error', () => {});
	return socket;
});

await sleep(300);
crowd.forEach((socket) => socket.destroy());
check('after a crowd of clients, it answers', (await get(root)).status === 200);

// -------------------------------------------------------------------- the page

const browser = await Browser.start();
const partOf = (ns) => [Math.round(0.43 * ns), Math.round(0.43 * ns) + Math.min(Math.round(0.05 * ns), 20000000)];
const spansOf = (from, to, get) => `(async () => {
	const found = {};

	for (const track of tracks) {
		if (!['thread', 'syscall', 'cpu', 'softirq'].includes(track.kind))
			continue;
		const spans = await track.${get}.spans(), list = [];

		for (let i = 0; i < spans.n; i++)
			if (spans.end[i] >= ${from} && spans.begin[i] < ${to})
				list.push([spans.begin[i], spans.end[i], nameOf(spans.name[i]), spans.cls[i], spans.count[i], spans.record[i],
					spans.by[i] && isByThread(track.kind, spans.cls[i]) ? threads[spans.by[i] - 1].tid : spans.by[i]]);
		if (list.length)
			found[track.kind + track.id] = list;
	}
	return found;
})()`;
let whole = null; // of a part, from the file

if (page !== '-') {
	await browser.open(pathToFileURL(resolve(page)).href);
	await browser.until('frames > 0');
	whole = await browser.evaluate(spansOf(...partOf(await browser.evaluate('about.ns')), 'overview'));
}
const begun = Date.now();

await browser.open(url);
check('a picture is drawn', await browser.until('frames > 0 && rows.length > 0 && tracks.some((t) => t.spans && t.spans.n)'),
	await browser.evaluate('[frames, rows.length, document.getElementById("note").textContent]'));
const first = Date.now() - begun;

console.log(`# first picture after ${first} ms, ${await browser.evaluate('Math.round(100 * about.done / about.ns)')}% read`);
check(`in less than ${firstMs} ms`, first < firstMs, first);
check('it says so while the trace is read', await browser.evaluate(
	"about.complete || document.getElementById('note').textContent.includes('still reading')"));
check('all of it is read', await browser.until('about.complete', 120000), await browser.evaluate('[about.done, about.ns]'));
console.log(`# all read after ${Date.now() - begun} ms`);
check('all records', await browser.evaluate('about.records') === facts.events, await browser.evaluate('about.records'));

const sums = await sumsOfThreads(browser, 'track.overview.spans()');

checkThreads(facts, sums);
check("kernlens report's threads ran as long", report.length > 50 &&
	report.every((row) => !((sums[row.tid] || [])[0] - row.run_ns > 1)));
check('names are text, not markup', await browser.evaluate(
	"document.querySelectorAll('b').length === 0 && threads.some((t) => t.name === '</script>')"));

// ------------------------------------------------------------------- a part

const WINDOW_SHOWN = 'windowHas(view.from, view.to) && rows.filter((r) => r.top + RULER < view.height).every((r) => r.lanes.every((l) => !l.track || l.track.isLoaded()))';
const length = await browser.evaluate('about.ns');
const [from, to] = partOf(length);

if (await browser.evaluate('about.resolution')) {
	const zoomed = Date.now();

	await browser.evaluate(`setView(${from}, ${to})`);
	check('a part of it is requested', await browser.until(WINDOW_SHOWN), await browser.evaluate('[shownWindow, view.from, view.to]'));
	console.log(`# a part is shown after ${Date.now() - zoomed} ms`);
	const part = await browser.evaluate(spansOf(from, to, 'window'));

	check('none of its spans is merged', Object.keys(part).length > 50 &&
		Object.values(part).every((list) => list.every((span) => span[4] === 1)));
	if (whole) {
		const bad = Object.keys(whole).filter((key) => JSON.stringify(whole[key]) !== JSON.stringify(part[key]));

		check('they are the same as in the file', bad.length === 0 && Object.keys(part).length === Object.keys(whole).length,
			[Object.keys(part).length, Object.keys(whole).length, ...bad.slice(0, 2).map((key) => [key, whole[key].slice(0, 3), (part[key] || []).slice(0, 3)])]);
	}
}

// A span of it, with its record.
const target = await browser.evaluate(`(async () => {
	const track = tracks.find((t) => t.kind === 'thread' && t.n > 50);
	const all = await track.load();
	let i = all.after(${from} + 1);

	while (all.cls[i] < 2 || all.count[i] > 1)
		i++;
	fitTo(all.begin[i - 1], all.end[i + 2]);
	scroller.scrollTop = Math.max(0, rowOf(track).top - 60);
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const place = placeOf(track, scroller.scrollTop), box = canvas.getBoundingClientRect();

	return { x: box.left + (toX(all.begin[i]) + toX(all.end[i])) / 2, y: box.top + place.y + place.height / 2, begin: all.begin[i] };
})()`);

await sleep(400);
await browser.click(target.x, target.y);
check('a click selects a span', await browser.until(
	`view.selected && view.selected.track.spans.begin[view.selected.i] === ${target.begin}`));
check('and shows its record', await browser.until("/sched_switch on CPU \\d/.test(body.innerText) && /prev_state=/.test(body.innerText)"),
	await browser.evaluate('body.innerText'));
await browser.evaluate("show('records')");
check('records are listed', await browser.until("body.querySelectorAll('tr').length > 100"));

await testSearch(browser, check, JSON.parse(readFileSync(matchesFile)));
if (page !== '-')
	await testWhy(browser, check, kernlens, trace);

await testRows(browser, check, facts);

// ------------------------------------------------------------------ afterwards

check('a slow client is ended', (await Promise.race([slowEnded, sleep(15000)])) < 15000);
clearInterval(drip);
check('without an error', browser.errors.length === 0, browser.errors);
check('and nothing but the server was asked', browser.requests.every((each) => each.startsWith(url) || each.startsWith('data:')),
	browser.requests.filter((each) => !each.startsWith(url)));
const memory = await browser.evaluate('performance.memory?.usedJSHeapSize');
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1000;

console.log(`# memory: server ${peak.toFixed(0)} MB, page ${(memory / 1e6).toFixed(0)} MB`);
check(`the server needs less than ${serverMb} MB`, peak < serverMb, peak);
await browser.stop();
child.kill('SIGINT');
const end = await Promise.race([exited, sleep(5000)]);

check('Ctrl-C ends it', JSON.stringify(end) === '[0,null]', end);
finish();
