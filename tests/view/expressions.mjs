// SPDX-License-Identifier: GPL-2.0
// Random expressions on the fields of a trace: a page in a file must find as many records as kernlens print,
// which evaluates them with the library, or neither may accept them.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const NUMBERS = ['0', '1', '2', '-1', '5', '63', '100', '0x10', '017', '4K', '2.5ms', '1.5', '4096u', "'A'", "'\\n'", '18446744073709551615',
	'9223372036854775808', '0x7fffffffffffffff', '08', '1x', '3ULL', '1.5K', '2s', '99999999999999999999', '1KB', "'ab'"];
const STRINGS = ['"work*"', '"worker1"', '"\\x77orker1"', '"a*b"', '"\\*"', '"*"', '""', '"\\q"', '"[a"', '"w?rk"', '"work\\*"'];
const BINARY = ['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>', '&&', '||', 'and', 'or'];

let seed = 7n;

function below(n) {
	seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n);
	return Number(seed >> 33n) % n;
}

const one = (list) => list[below(list.length)];

function comparison(texts) {
	return `${one(texts)} ${one(['==', '!=', '~', '!~', '==', '~', '<'])} ${one(STRINGS)}`;
}

function expression(numbers, texts, depth) {
	const inner = () => expression(numbers, texts, depth - 1);

	if (!depth)
		return below(3) ? one(numbers) : below(12) ? one(NUMBERS) : one([...texts, ...STRINGS, 'no_such_name', 'not 1', '+1']);
	switch (below(12)) {
	case 0: return `not ${inner()}`;
	case 1: return `${one(['-', '~', '!', '!~'])}${inner()}`;
	case 2: return `(${inner()})`;
	case 3: return `${inner()} ? ${inner()} : ${inner()}`;
	case 4: return texts.length ? comparison(texts) : inner();
	default: return `${inner()} ${one(BINARY)} ${inner()}`;
	}
}

function printed(kernlens, trace, text) {
	const { status, stdout } = spawnSync(kernlens, ['print', trace, '-e', text], { maxBuffer: 1 << 30, encoding: 'latin1' });

	return status ? -1 : stdout.split('\n').filter((line) => line.startsWith('[')).length;
}

export async function testExpressions(browser, check, kernlens, trace, n) {
	const fields = await browser.evaluate('about.fields'), variables = await browser.evaluate('about.variables');
	const different = [], events = Object.keys(fields), seen = { errors: 0, none: 0, some: 0, unknown: 0 };

	for (let i = 0; i < n; i++) {
		const event = one(events), known = [...fields[event], ...variables];
		const numbers = [...known.filter(([, kind]) => 'nw-'.includes(kind)).map(([name]) => name), 'tid', 'cpu', 'pid'];
		const texts = [...known.filter(([, kind]) => 'st'.includes(kind)).map(([name]) => name)];
		const text = `${event}/${expression(numbers, texts, 1 + below(3))}/`, expected = printed(kernlens, trace, text);

		await browser.evaluate(`query.value = ${JSON.stringify(text)}; startSearch()`);
		await browser.until('search && (search.done || search.error)', 60000);
		const [error, found, unknown] = await browser.evaluate('[search.error, search.n, search.unknown]');

		seen[error ? 'errors' : unknown ? 'unknown' : found ? 'some' : 'none']++;
		if (error ? expected >= 0 : found > expected || found + unknown < expected)
			different.push([text, { expected, found, unknown, error }]);
	}
	console.log(`# ${n} random expressions: ${JSON.stringify(seen)}`);
	check('random expressions find what kernlens print finds, or are errors in both', different.length === 0 && seen.some > n / 10,
		different.slice(0, 5));
}

// Records of which the text misleads, as a traced program may choose its names.
export function testTexts(check) {
	const about = { variables: [['load', 'n', 0, 32], ['note', 't', 0, 128]], words: [[7, '0', 'R'], [7, '256', 'R'], [7, '2', 'D']],
		fields: { open: [['filename', 's', 0, 8], ['mode', 'w', 3, 32], ['ret', 'n', 0, -64]],
			wake: [['comm', 't', 0, 128], ['prio', 'n', 0, -32], ['mask', 'w', 2, -32], ['state', 'w', 7, -64]] } };
	const { matcherOf } = vm.runInNewContext(`${readFileSync('view/page/query.js', 'utf8')}; ({ matcherOf })`,
		{ about, machines: [{ number: 0, about }], ownId: (id) => id, TextEncoder, threadTitle: (thread) => thread.name });
	const match = (expression, name, text) => matcherOf(expression)({ name, text, cpu: 1, thread: { tid: 5, pid: 5, name: 'me' } });
	const open = (filename) => `filename="${filename}" mode=0644 ret=-2 {load=5 note=x}`;
	const wake = (comm, note = 'x') => `comm=${comm} prio=120 mask=0xffffffff state=R {load=5 note=${note}}`;

	for (const [expected, ...record] of [
		[true, 'ret == -2 && mode == 0644', 'open', open('a')],
		[true, 'ret == -2 && mode == 420', 'open', open('a\\" mode=0777 ret=9')],
		[false, 'ret == 9', 'open', open('a\\" mode=0777 ret=9')],
		[true, 'filename == "a\\x1b[31m" && load == 5', 'open', open('a\\033[31m')],
		[true, 'filename == "\\xc3\\xa9*"', 'open', open('ét')],
		[true, 'filename ~ "é*"', 'open', open('ét')],
		[true, 'filename == "\\xff"', 'open', open('\\377')],
		[true, 'mask == -1 && mask < 0', 'wake', wake('a')],
		[null, 'prio == 120', 'wake', wake('a prio=1')],
		[null, 'load == 5', 'wake', wake('a', 'b {load=7 note=c}')],
		[null, 'state == 0', 'wake', wake('a')],
		[true, 'prio == 120 || state == 0', 'wake', wake('a')],
	])
		check(`${JSON.stringify(record)} is ${expected}`, match(...record) === expected, match(...record));
}
