// SPDX-License-Identifier: GPL-2.0
// machines.mjs PAGE: opens a page of the traces of make_machines.c, with the same numbers on each machine, and checks that they are
// kept apart, that times are moved by how far the clocks are apart, and how uncertain that is. Prints TAP lines.

import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Browser } from './browser.mjs';
import { check, checkAlone, finish, prefix } from './tap.mjs';

const url = pathToFileURL(resolve(process.argv[2])).href;
const browser = await Browser.start();
const AHEAD = 5e9, THERE = 200e3, BACK = 150e3; // as make_machines.c has them
const close = (a, b, by) => Math.abs(a - b) <= by;

prefix('several machines: ');
await browser.open(url);
check('a picture is drawn', await browser.until('frames > 0 && rows.length > 0 && view.width > 0'));
check('nothing is loaded but the page', browser.requests.every((each) => each === url || each.startsWith('data:')), browser.requests);
checkAlone('nor later', browser, url);

const [hosts, shifts] = await browser.evaluate('[machines.map((m) => m.host), machines.map((m) => m.shift)]');

check('they have the names of their traces', hosts.join() === 'web,db,lone', hosts);
// And clocks may run apart by 100 ppm, for 49 ms both ways.
const bounds = await browser.evaluate('page.bounds[0][1]'), error = (THERE + BACK) / 2 + 2 * 49e6 / 1e4;

// What the second machine's times are moved by is wrong by half of the difference of both ways.
check('times are moved by how far the clock is ahead', close(shifts[1] - shifts[0], 230e3 - (THERE - BACK) / 2, 1e3), shifts);
check('the uncertainty is half of the fastest way there and back, and what clocks may drift', close(bounds[1], error, 500) && close(bounds[0], -error, 500), bounds);
const ahead = Number(await browser.evaluate('machines[1].ahead'));

check('which has the truth', Math.abs(ahead - AHEAD) <= Math.max(...bounds.slice(0, 2).map(Math.abs)), ahead);
check('of one without packets, nothing is known', await browser.evaluate('uncertaintyOf(machines[0], machines[2]) === Infinity'));

const ran = await browser.evaluate(`(async () => {
	const found = [];

	for (const track of tracks)
		if (track.kind === 'thread' && ownId(track.id) === 100)
			found.push([trackTitle(track), (await track.load()).times(-1, about.ns + 1)[0]]);
	return found;
})()`);

check('threads of the same number are kept apart', JSON.stringify(ran) ===
	JSON.stringify([['web: web 100', 1000e3], ['db: db 100', 2000e3], ['lone: lone 100', 3000e3]]), ran);
const cpus = await browser.evaluate('sumsOf(0, about.ns).then((sums) => sums.cpus)');

check('CPUs, too', cpus.map(([id]) => id).join() === 'web: 0,db: 0,lone: 0', cpus);
check('each machine has a heading', (await browser.evaluate('rows.filter((r) => r.heading).map((r) => r.title)')).join() === hosts.join());
const heading = await browser.evaluate('machines.map(headingText)');

check('that says how uncertain its times are', /\u00b118\d\.\d us/.test(heading[1]) && /unknown/.test(heading[2]), heading);
check('and the top of the page does', /clocks are compared to .*web and lone, db and lone are apart is unknown/.test(
	await browser.evaluate("document.getElementById('note').textContent")));

// A moment of one machine.
const band = await browser.evaluate(`(async () => {
	const track = tracks.find((each) => each.kind === 'thread' && machineOf(each.id) === machines[1] && ownId(each.id) === 100);

	await goTo(track, 2e6);
	const { selected } = view, { from, to } = boundsAt(machines[1], machines[0], selected.time), none = boundsAt(machines[1], machines[2], 0);

	return { time: selected.time, from, to, none: none.from === -Infinity && none.to === Infinity, table: tableMachine.host };
})()`);

check('at another one it was somewhere in a band', band.from < band.time && band.to > band.time && close(band.to - band.from, 2 * error, 1e3), band);
check('or anywhere', band.none);
check('the panel says so', await browser.until("/compared with that of db[^]*may have happened in the other order/.test(body.innerText)"));
const panel = await browser.evaluate('body.innerText');

check('for each other machine', /Clocks, compared with that of db/.test(panel) && /web\t\u00b118\d/.test(panel) && /lone\tunknown/.test(panel), panel);
check('the table shows the records of the machine that was clicked', band.table === 'db', band.table);

// The table has those of one machine, in its order.
const lists = await browser.evaluate(`(async () => {
	const all = [];

	for (const machine of machines) {
		showTableOf(machine);
		const { from, to } = recordRange(), list = [];

		for (let i = from; i < to; i++)
			list.push(await recordAt(i));
		all.push({ n: list.length, alone: list.every((each) => each.machine === machine.number),
			ordered: list.every((each, i) => !i || each.time >= list[i - 1].time),
			threads: [...new Set(list.map((each) => threadTitle(each.thread)))].sort().join() });
	}
	return all;
})()`);

check('each has its own records', lists.map((each) => each.n).join() === '200,200,100' && lists.every((each) => each.alone), lists);
check('in the order of time', lists.every((each) => each.ordered));
check('of its own threads', lists[1].threads === 'db: db 100,db: swapper 0' || lists[1].threads.startsWith('db: '), lists[1].threads);
const found = await browser.evaluate(`(async () => {
	query.value = 'saddr == 0x0200000a && tid == 0';
	startSearch();
	while (!search.done && !search.error)
		await pause();
	return [search.error, search.n, search.hits.length && (await recordAt(search.hits[0])).machine];
})()`);

check('a search finds those of all machines', found[0] === '' && found[1] === 100 && found[2] === 0, found);
const closed = await browser.evaluate(`(() => {
	const before = rows.length;

	closedMachines.add(machines[1]);
	layOut();
	return [before, rows.length, rows.filter((row) => row.machine === machines[1]).length];
})()`);

check('a machine can be closed', closed[1] < closed[0] && closed[2] === 1, closed);
check('without an error', browser.errors.length === 0, browser.errors);
finish();
