// SPDX-License-Identifier: GPL-2.0
// blocks.mjs URL DIR [PICTURES]: opens the page of kernlens blocks --serve, whose server runs in a virtual
// machine (blocks_guest), and does what a user does: opens functions, counts blocks, measures times, and
// removes it all. The number of calls that it writes to DIR/reads is what counts must have grown by.
// PICTURES: directory for pictures of the page. Prints TAP lines.

import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Browser } from './browser.mjs';
import { check, finish } from './tap.mjs';

const [url, dir, pictures] = process.argv.slice(2);
const browser = await Browser.start();
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });
const evaluate = (text) => browser.evaluate(text);
const text = () => evaluate('byId("body").innerText');
const armed = (name) => evaluate(`armed.find((row) => row.function === '${name}')`);
const place = (selector) => evaluate(`(({ x, y, width, height }) => [x + width / 2, y + height / 2])(
	document.querySelector('${selector}').getBoundingClientRect())`);
const click = async (selector) => browser.click(...await place(selector));
const settled = () => browser.until('!busy', 60000);

async function picture(name) {
	if (pictures)
		writeFileSync(`${pictures}/${name}.png`, Buffer.from((await browser.call('Page.captureScreenshot', { format: 'png' })).data, 'base64'));
}

// The guest makes that many calls of read, and as few others as it can.
async function read(n) {
	rmSync(`${dir}/has_read`, { force: true });
	writeFileSync(`${dir}/reads.new`, `${n}\n`);
	renameSync(`${dir}/reads.new`, `${dir}/reads`);
	for (let i = 0; i < 600 && !existsSync(`${dir}/has_read`); i++)
		await sleep(100);
	check(`the guest reads ${n} bytes`, existsSync(`${dir}/has_read`));
}

// ------------------------------------------------------------------- what is there

await browser.open(url);
check('a picture is drawn', await browser.until('typeof frames !== "undefined" && frames > 0'));
check('of the functions of the command line', JSON.stringify(await evaluate('functions.map(nameOf)')) === '["ksys_read","vfs_read"]');
check('nothing is instrumented', await evaluate('armed.length') === 0);
check('no block has a count', await evaluate('document.querySelectorAll("#world .block.counted, #world .block.never").length') === 0);
check('the name of the function is read in full', await evaluate('byId("title").scrollWidth <= byId("title").clientWidth'));
await picture('opened');

// -------------------------------------------------------------------------- counts

await click('#arm');
check('a button counts all blocks', await settled() && (await armed('ksys_read'))?.blocks.length === await evaluate('here.f.blocks.length'),
	await armed('ksys_read'));
const count = () => evaluate('functions[0].blocks[0].count');
const state = (block) => evaluate(`document.querySelector('[data-block="${block}"]').querySelectorAll('text')[1].textContent`);
const before = await count();

await read(1000);
check('counts grow in the page', await browser.until(`functions[0].blocks[0].count >= ${before} + 1000`), [before, await count()]);
check('blocks that ran have the color', await browser.until(`document.querySelector('[data-block="0"]').classList.contains('counted')`));
check('others are apart', await evaluate('document.querySelectorAll("#world .block.never").length') > 0);
check('a block shows its count', Number((await state(0)).replaceAll(',', '')) >= 1000, await state(0));
check('counts of edges follow', await evaluate(`here.f.ways.some((edge) => edge.derived && edge.count >= 1000 &&
	edge.element.isConnected && edge.element.textContent.replaceAll(',', '').includes(edge.count))`));
await evaluate('showPanel("blocks")');
const shown = () => evaluate('Number(document.querySelector("#body tbody tr td:nth-child(3)").textContent.replaceAll(",", ""))');
const earlier = await shown();

await read(500);
check('so does the table', await browser.until(`Number(document.querySelector("#body tbody tr td:nth-child(3)").textContent.replaceAll(",", "")) >= ${earlier} + 500`),
	[earlier, await shown()]);
await picture('counts');

// --------------------------------------------------------------------------- times

await evaluate(`location.hash = hashOf(here.f, 0)`);
await browser.until('here.block?.block === 0');
await evaluate('showPanel("block")');
await click('#from');
check('a block can be the start of a time', await evaluate('start === here.block'));
await evaluate(`location.hash = hashOf(here.f, 1)`);
check('and another one its end', await browser.until('here.block?.block === 1 && !!byId("to")'));
await click('#to');
check('the time is measured', await settled() && JSON.stringify((await armed('ksys_read')).times.map((t) => [t.from, t.to])) === '[[0,1]]', await armed('ksys_read'));
check('and all blocks are still counted', (await armed('ksys_read')).blocks.length === await evaluate('here.f.blocks.length'));
await read(400);
check('it has as many times as there were calls', await browser.until('armed[0].times[0].count >= 400'), (await armed('ksys_read')).times);
const [time] = (await armed('ksys_read')).times;

check('of some length', time.min_ns > 0 && time.min_ns <= time.mean_ns && time.mean_ns <= time.max_ns, time);
check('which the page shows', await browser.until('/mean\\s+[\\d.]+ (ns|µs|ms|s)\\b/.test(byId("body").innerText) && document.querySelectorAll(".histogram tr").length > 0'), await text());
check('the name of the function is still read in full', await evaluate('byId("title").scrollWidth <= byId("title").clientWidth'));
check('both blocks are marked', await evaluate('document.querySelectorAll("#world .block.timed").length') === 2);
await picture('time');
await evaluate('setTheme()');
await picture('time-dark');
await evaluate('setTheme()');

// ------------------------------------------------------------------------- one block

await click('[data-tab=functions]');
await evaluate('[...document.querySelectorAll("#body a")].find((a) => a.textContent === "vfs_read").click()');
check('another function is a click away', await browser.until('here.f.function === "vfs_read" && here.drawn === here.f'));
await evaluate('showPanel("block")');
await click('#count');
check('one block of it is counted', await settled() && JSON.stringify((await armed('vfs_read'))?.blocks.map(([block]) => block)) === '[0]', await armed('vfs_read'));
check('the others are hatched', await evaluate('document.querySelectorAll("#world .block.unknown").length') === await evaluate('here.f.blocks.length') - 1);
await browser.key('b');
check('a key removes it', await settled() && !await armed('vfs_read'));
check('what another function has, stays', (await armed('ksys_read'))?.times.length === 1);

// ----------------------------------------------------------------------------- calls

await evaluate('showPanel("calls")');
check('functions that call it are found', await browser.until('[...document.querySelectorAll("#callers a")].some((a) => a.textContent === "ksys_read")', 120000), await text());
check('and those that it calls', await evaluate('[...document.querySelectorAll("#callees a")].some((a) => a.textContent === "rw_verify_area")'), await text());
await evaluate('[...document.querySelectorAll("#callees a")].find((a) => a.textContent === "rw_verify_area").click()');
check('one is a click away', await browser.until('here.f.function === "rw_verify_area" && here.drawn === here.f && here.block === here.f.blocks[0]'));
await browser.key('ArrowLeft');
check('and back', await browser.until('here.f.function === "vfs_read"'));
await evaluate('[...document.querySelectorAll("#callers a")].find((a) => a.textContent === "ksys_read").click()');
check('a caller opens at the call', await browser.until('here.f.function === "ksys_read" && here.block.instructions.some((each) => each.text.includes("<vfs_read>"))'),
	await evaluate('location.hash'));
await browser.open(`${url}#${await evaluate('here.f.address')}/2`);
check('the address of a block can be opened', await browser.until('here.f?.function === "ksys_read" && here.block?.block === 2'));
check('and what is instrumented is still known', await browser.until('armed.length === 1 && here.f.counted > 0'));

// ---------------------------------------------------------------------------- search

await browser.key('o');
for (const letter of 'filp_clo')
	await browser.key(letter);
check('a function is searched as it is typed', await browser.until('[...document.querySelectorAll("#choices a")].some((a) => a.textContent.startsWith("filp_close "))'));
await picture('search');
await browser.key('Enter');
check('and opened', await browser.until('here.f.function === "filp_close" && here.drawn === here.f'), await evaluate('here.f.function'));
check('the list is gone', await browser.until('byId("choices").hidden'));
await browser.key('o');
for (const letter of '<img src=x onerror=window.bad=1>')
	await browser.key(letter);
check('what is typed is text', await browser.until('byId("choices").innerText.includes("no function")') && await evaluate('window.bad === undefined && document.images.length === 0'));
await browser.key('Escape');

// ------------------------------------------------------------------------- refusals

await evaluate(`instrument('0x10', 'all', [])`);
check('a refusal is shown with its reason', await browser.until('byId("note").textContent.length > 10 && !busy'), await evaluate('byId("note").textContent'));
check('and changes nothing', (await evaluate('armed.length')) === 1);

// ------------------------------------------------------------------------------- end

await evaluate('location.hash = hashOf(functions[0], 0)');
await browser.until('here.f === functions[0]');
await evaluate('showPanel("instruments")');
check('instruments are listed', (await text()).includes('Time from block 0 to block 1'), await text());
await click('#body .remove');
check('and removed', await settled() && await browser.until('armed.length === 0'));
check('the drawing has no counts any more', await evaluate('document.querySelectorAll("#world .block.counted, #world .block.never, .block.timed").length') === 0);
check('without an error', browser.errors.length === 0, browser.errors);
check('nothing but the server was asked', browser.requests.every((each) => each.startsWith(url) || each.startsWith('data:')),
	browser.requests.filter((each) => !each.startsWith(url)));
// The guest's server must remove them when it ends.
await evaluate('toggleFunction()');
check('counted again', await settled() && (await armed('ksys_read'))?.blocks.length > 0);
await browser.stop();
finish();
