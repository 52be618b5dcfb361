// SPDX-License-Identifier: GPL-2.0
// plot.mjs KERNLENS TRACE FOLDER: has the page of kernlens plot written, opens it, and compares what it
// shows with what kernlens plot --json says. Prints TAP lines.

import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { check, finish } from './tap.mjs';

const [kernlens, trace, folder] = process.argv.slice(2);
const what = ['sched_switch by cpu', 'sched_waking by comm', 'syscall_exit_*:mean(ret)', 'rss'];
const path = resolve(folder, 'plot.html');

execFileSync(kernlens, ['plot', ...what, trace, '--top', '0', '--html', path], { stdio: 'ignore' });
const data = JSON.parse(execFileSync(kernlens, ['plot', ...what, trace, '--top', '0', '--json'], { maxBuffer: 1 << 28 }));
const url = String(pathToFileURL(path));
const browser = await Browser.start();
const evaluate = (expression) => browser.evaluate(expression);
const seconds = data.interval_ns / 1e9;

await browser.open(url);
check('no error', browser.errors.length === 0, browser.errors);

const names = await evaluate('[...document.querySelectorAll("figcaption b")].map((each) => each.textContent)');

check('a figure for each curve, with its name', JSON.stringify(names) ===
	JSON.stringify(data.curves.map((curve) => curve.expression + (curve.key === null ? '' : ` [${curve.key}]`))), names);
check('some have names that would be scripts', names.some((name) => name.includes('</script>')), names);
check('they are shown as text', await evaluate('window.bad === undefined && document.images.length === 0 && document.scripts.length === 2'));

// The greatest value of a curve, of the intervals that are shown.
const digits = (n) => Number(n.toPrecision(4));
const numberOf = (text) => Number(text.replace(/,/g, '').replace(/[KMBT]$/, '')) * { K: 1e3, M: 1e6, B: 1e9, T: 1e12 }[text.slice(-1)] ||
	Number(text.replace(/,/g, ''));
const greatest = () => evaluate('[...document.querySelectorAll("figcaption")].map((each) => [...each.querySelectorAll(".dim")].map((dim) => dim.textContent).join(" ").match(/greatest ([-0-9.,KMBT]+)/)?.[1])');
const most = (curve, from = 0, to = Infinity) => Math.max(...curve.points.map(([ns, value, , , , max], i, all) =>
	[Math.round((ns - data.curves[0].points[0][0]) / data.interval_ns), curve.function === 'mean' ? max : value])
	.filter(([i]) => (i + 0.5) * seconds >= from && (i + 0.5) * seconds <= to).map(([, value]) => value));
const shown = await greatest();
const differs = data.curves.findIndex((curve, i) => Math.abs(numberOf(shown[i]) - most(curve)) > Math.abs(most(curve)) * 2e-3);

check('the greatest value of each', differs < 0, [shown[differs], differs >= 0 && digits(most(data.curves[differs]))]);

// Pixels of a curve: as wide as the time, and the peak is at the top.
const box = await evaluate('(() => { const box = document.querySelector("svg .curve").getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()');

check('a curve is drawn over the whole width', box[2] > 1000 && box[3] > 50, box);

// The pointer shows the value of its interval in all curves.
const curve = data.curves[0], peak = curve.points.reduce((a, b) => (b[1] > a[1] ? b : a));
const index = Math.round((peak[0] - curve.points[0][0]) / data.interval_ns);
const place = await evaluate(`(() => { const box = document.querySelector('svg').getBoundingClientRect(); return [box.left + x(${(index + 0.5) * seconds}), box.top + 60]; })()`);

await evaluate(`show(${Math.max(0, index - 20) * seconds}, ${(index + 20) * seconds})`);
const near = await evaluate(`(() => { const box = document.querySelector('svg').getBoundingClientRect(); return [box.left + x(${(index + 0.5) * seconds}), box.top + 60]; })()`);

await browser.mouse('mouseMoved', near[0], near[1]);
const value = await evaluate('document.querySelector("figcaption .value").textContent');

check('the pointer shows the value', Math.abs(numberOf(value.split(' ')[0]) - peak[1]) <= peak[1] * 1e-3, [value, peak]);
check('in all curves', await evaluate('document.querySelectorAll("svg .cursor").length === plots.length'));

// Dragging chooses a part of the time, whose sums are shown; the address names it.
await browser.key('0');
const [y, left, right] = [place[1], ...(await evaluate('(() => { const box = document.querySelector("svg").getBoundingClientRect(); return [box.left + x(length / 4), box.left + x(length / 2)]; })()'))];

await browser.mouse('mouseMoved', left, y);
await browser.mouse('mousePressed', left, y);
await browser.mouse('mouseMoved', right, y);
check('what is chosen is marked', await evaluate('document.querySelectorAll(".chosen").length === plots.length'));
await browser.mouse('mouseReleased', right, y);
const range = await evaluate('[from, to, length]');

check('dragging chooses a part', Math.abs(range[0] - range[2] / 4) < range[2] / 200 && Math.abs(range[1] - range[2] / 2) < range[2] / 200, range);
const part = await greatest();
const wrong = data.curves.findIndex((each, i) => part[i] !== undefined &&
	Math.abs(numberOf(part[i]) - most(each, range[0], range[1])) > Math.abs(most(each, range[0], range[1])) * 2e-3);

check('the greatest value there', wrong < 0 && part.some(Boolean), [part[wrong], wrong >= 0 && most(data.curves[wrong], range[0], range[1])]);
const link = await evaluate('location.href');

await browser.key('0');
check('0 shows all', await evaluate('from === 0 && to === length'));
await browser.open(link);
check('the address leads there again', JSON.stringify((await evaluate('[from, to]')).map(digits)) === JSON.stringify(range.slice(0, 2).map(digits)),
	await evaluate('[from, to]'));
for (const key of ['w', 'd', 'a', 's', 'ArrowRight', '+', '-'])
	await browser.key(key);
check('keys move and zoom', await evaluate('to - from > 0 && from >= 0 && to <= length && (from > 0 || to < length)'));
await browser.key('t');
check('t changes the colors', await evaluate('document.documentElement.classList.contains("dark")'));
check('still no error', browser.errors.length === 0, browser.errors);
check('nothing is loaded but the page', browser.requests.every((each) => each.startsWith(url) || each.startsWith('data:')), browser.requests);

await browser.stop();
finish();
