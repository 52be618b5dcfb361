// SPDX-License-Identifier: GPL-2.0
// Checks that the page shows the causes of waits that kernlens why has, in a file and served.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// A node without what the page does not have.
function strip(node, least) {
	return [node.kind, node.text, node.ns, node.count ?? node.n,
		node.parts.filter((part) => part.ns >= least).map((part) => strip(part, least))];
}

// The kinds of causes that the library names.
function kindsOfLibrary() {
	const source = readFileSync(new URL('../../lib/report/why_explain.c', import.meta.url), 'utf8');

	return [...source.matchAll(/\[KL_WHY_\w+\] = "(\w+)"/g)].map((match) => match[1]);
}

export async function testWhy(browser, check, kernlens, trace) {
	const kinds = kindsOfLibrary();
	const texts = await browser.evaluate(`${JSON.stringify(kinds)}.map((kind) => whyText({ kind, text: '8:0', tid: 0 }))`);

	check('each kind of cause has words', kinds.length > 8 && texts.every((text) => typeof text === 'string' && text),
		[kinds, texts]);
	const waits = await browser.evaluate(`(async () => {
		const found = [];

		for (const track of tracks.filter((t) => t.kind === 'thread').slice(0, 40)) {
			const spans = await track.overview.spans(), list = [...Array(spans.n).keys()].filter((i) => spans.count[i] === 1 && spans.cls[i] >= 1 &&
				spans.cls[i] <= 3 && spans.begin[i] > 1e6).sort((a, b) => spans.end[b] - spans.begin[b] - spans.end[a] + spans.begin[a]);

			for (const i of list.slice(0, 2)) {
				track.part = track.overview;
				track.spans = spans;
				found.push([track.id, spans.begin[i], spans.end[i], await whyOf(track, i)]);
			}
		}
		return found;
	})()`);
	const differ = waits.filter(([tid, from, to, { node }]) => {
		const known = JSON.parse(execFileSync(kernlens, ['why', '-i', trace, '-p', String(tid), '--from', (from / 1e9).toFixed(9),
			'--to', (to / 1e9).toFixed(9), '--json']));
		const least = Math.ceil(node ? node.ns / 400 : 0);

		return !node || JSON.stringify(strip(node, least)) !== JSON.stringify(strip(known.task || known, least));
	});

	check('the causes of the longest waits are those of kernlens why', waits.length > 50 && differ.length === 0,
		differ.slice(0, 2));
	const chain = waits.find(([, , , { node }]) => JSON.stringify(node).includes('"kind":"task"', 20));

	check('some waited for others', chain);

	// Its first link goes there.
	await browser.evaluate(`(async () => {
		const track = threadTrack(${chain[0]});

		await goTo(track, ${(chain[1] + chain[2]) / 2});
	})()`);
	check('a wait that is selected shows its causes', await browser.until("body.querySelectorAll('.why').length > 1"),
		await browser.evaluate('body.innerText'));
	const title = await browser.evaluate("body.querySelector('.why a').textContent");

	await browser.evaluate("body.querySelector('.why a').click()");
	check('a cause leads to what it is', await browser.until(`trackTitle(view.selected.track) === ${JSON.stringify(title)}`),
		[title, await browser.evaluate('trackTitle(view.selected.track)')]);
}
