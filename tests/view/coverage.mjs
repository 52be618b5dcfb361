// SPDX-License-Identifier: GPL-2.0
// coverage.mjs KERNLENS FOLDER: writes two results of kernlens coverage --json into FOLDER, has the
// page written that compares them, opens it and compares what it shows with both, and with what
// kernlens coverage --diff says. Prints TAP lines.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { check, checkAlone, finish } from './tap.mjs';

const [kernlens, folder] = process.argv.slice(2);
const HOSTILE = '</script><script>window.bad=1</script><img src=x onerror=window.bad=2>';
const FILES = ['/build/linux/fs/read_write.c', '/build/linux/fs/ext4/inode.c', '/build/linux/mm/slub.c', `/build/linux/mm/${HOSTILE}`];
const FUNCTIONS = 40;
let seed = 1;

function random(n) {
	seed = (seed * 1103515245 + 12345) % 2147483648;
	return Math.floor(seed / 65536) % n;
}

// Every eighth function never runs, every fifth has no source line, every fourth is a module's.
function makeRun(shift) {
	const run = { functions: [], files: {} };

	for (let i = 0; i < FUNCTIONS; i++) {
		const f = { function: i === 7 ? HOSTILE : `function_${i}`, address: `0x${(0x1000 * (i + shift)).toString(16)}`, blocks: [] };

		for (let k = 0; k <= i % 6; k++)
			f.blocks.push([16 * k, 16, random(7) === 0 ? HOSTILE : i % 8 === 0 ? 0 : Math.max(0, random(60) - 20)]);
		const counts = f.blocks.map((block) => block[2]).filter((count) => typeof count === 'number');

		Object.assign(f, { counted: counts.length, ran: counts.filter((count) => count).length,
			passes: counts.reduce((a, b) => a + b, 0), entered: typeof f.blocks[0][2] === 'number' ? f.blocks[0][2] : 0 });
		if (i % 4 === 0)
			f.module = i === 12 ? HOSTILE : 'driver';
		if (i % 5) {
			f.source = { file: FILES[i % FILES.length], line: 10 * i };
			(run.files[f.source.file] ||= []).push(...counts.map((count, k) => [10 * i + k, count]));
		}
		run.functions.push(f);
	}
	return run;
}

const runs = [makeRun(1), makeRun(100)];
const paths = ['before', 'after'].map((name) => resolve(folder, `${name}.json`));
const page = resolve(folder, 'coverage.html');

paths.forEach((path, r) => writeFileSync(path, JSON.stringify(runs[r])));
execFileSync(kernlens, ['coverage', '--html', page, '--diff', ...paths], { stdio: 'ignore' });
const differences = JSON.parse(execFileSync(kernlens, ['coverage', '--json', '--diff', ...paths])).functions;

const url = pathToFileURL(page).href;
const browser = await Browser.start();
const evaluate = (text) => browser.evaluate(text);
const rows = () => evaluate('[...document.querySelectorAll("#body tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent))');
const sum = (r, key, of = () => true) => runs[r].functions.filter(of).reduce((all, f) => all + f[key], 0);
const numberOf = (text) => Number(text.replaceAll(',', ''));
const goTo = async (hash) => {
	await evaluate(`location.hash = '${hash}'`);
	await browser.until(`shown === (${hash[1] === 'n' ? 'nodes' : 'functions'})[${hash.slice(2)}]`);
};

await browser.open(url);
check('a table is shown', await browser.until('typeof shown !== "undefined" && shown && document.querySelector("#body tbody tr")'));
check('without an error', browser.errors.length === 0, browser.errors);

const objects = await rows();
const driver = objects.find((row) => row[0] === 'driver');

check('objects', objects.length === new Set(runs[0].functions.map((f) => f.module)).size, objects);
check('with the blocks that ran before', numberOf(driver[3]) === sum(0, 'ran', (f) => f.module === 'driver'), driver);
check('and after', numberOf(driver[7]) === sum(1, 'ran', (f) => f.module === 'driver'), driver);
check('and executions', numberOf(driver[8]) === sum(1, 'passes', (f) => f.module === 'driver'), driver);
check('and what ran in one run only', objects.reduce((all, row) => all + numberOf(row.at(-2)), 0) ===
	differences.reduce((all, f) => all + f.before_only.length, 0) && objects.reduce((all, row) => all + numberOf(row.at(-1)), 0) ===
	differences.reduce((all, f) => all + f.after_only.length, 0), objects);
check('folders are below', await evaluate('[...nodes.find((node) => node.name === "kernel").kids.keys()].sort().join()') === 'fs,mm');

const wrong = [];

for (const [index, name] of (await evaluate('functions.map((f) => f.name)')).entries()) {
	await goTo(`#f${index}`);
	const listed = await rows(), both = runs.map((run) => run.functions[index]);

	for (const [offset, , count] of both.flatMap((f) => f.blocks)) {
		const row = listed.find((each) => parseInt(each[0].slice(1), 16) === offset);
		const expected = both.map((f) => f.blocks.find((block) => block[0] === offset)[2]);
		const quiet = both.every((f) => !f.ran) && expected.every((each) => each === 0);

		if (!row ? !quiet : expected.some((each, r) => row[2 + r] !== (typeof each === 'number' ? String(each) : `not counted: ${each}`)))
			wrong.push([name, offset, count, row, expected]);
	}
	if (name !== both[0].function)
		wrong.push([name, both[0].function]);
}
check('the blocks of all functions', wrong.length === 0, wrong[0]);

const file = await evaluate('nodes.find((node) => node.name === "inode.c").index');

await goTo(`#n${file}`);
const lines = await evaluate('[...[...document.querySelectorAll("#body table")].at(-1).querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent))');
const expected = runs[0].files[FILES[1]];

check('the lines of a file', lines.length >= expected.length && expected.every(([line, count]) =>
	lines.some((row) => row[0] === String(line) || (numberOf(row[0]) === line && row[1] === String(count)))), lines.slice(0, 3));
await goTo('#n0');
await evaluate('document.querySelector("[data-sort=\'nodes 8\']").click()');
const sorted = (await rows()).map((row) => numberOf(row[8]));

check('sorted by executions', sorted.every((n, i) => !i || sorted[i - 1] >= n), sorted);
await browser.key('/');
await evaluate('byId("query").value = "function_1"; byId("query").dispatchEvent(new Event("input"))');
check('search', (await rows()).length === runs[0].functions.filter((f) => f.function.includes('function_1')).length);
check('names are shown as text', await evaluate(`window.bad === undefined && document.images.length === 0 && document.scripts.length === 2`));
check('still no error', browser.errors.length === 0, browser.errors);
checkAlone('nothing is loaded but the page', browser, url);

await browser.stop();
finish();
