// SPDX-License-Identifier: GPL-2.0
// Checks of search and the table, the same in a page in a file and in a served one.
// `matches`: [what is searched for, how many records kernlens print has]

export async function testSearch(browser, check, matches) {
	const first = await browser.evaluate('about.records');

	for (const [text, n] of matches) {
		await browser.evaluate(`query.value = ${JSON.stringify(text)}; startSearch()`);
		await browser.until('search && (search.done || search.error)', 60000);
		const found = await browser.evaluate('[search.error, search.n, search.unknown]');

		check(`"${text}" is found as often as kernlens print has it`, !found[0] && found[1] === n && n > 0 && !found[2], [found, n]);
	}
	for (const text of ['nothing_has_this == 1', 'ret <', 'ret == "a"', 'comm < 2', '(ret == 1', 'no_such_event/ret == 1/', 'ret == 1 @', 'ret = 1']) {
		await browser.evaluate(`query.value = ${JSON.stringify(text)}; startSearch(); show('search')`);
		check(`"${text}" is an error`, await browser.until("body.querySelector('.error')?.textContent.length > 5"),
			await browser.evaluate('body.innerText'));
	}

	// From one to the next, and back.
	await browser.evaluate("query.value = 'prev_state == 2'; startSearch(); view.mark = null; setView(0, about.ns); show('details')");
	await browser.until('search.done');
	const walk = [];

	for (const back of [false, false, false, true]) {
		await browser.evaluate(`goToMatch(${back})`);
		walk.push(await browser.evaluate('view.mark.number'));
	}
	check('the next match is behind the one before, and back again', walk[0] < walk[1] && walk[1] < walk[2] && walk[3] === walk[1], walk);
	const record = await browser.evaluate('recordAt(view.mark.number).then((r) => [r.name, r.text])');

	check('it is one', record[0] === 'sched_switch' && /prev_state=D/.test(record[1]), record);
	check('the table shows and marks it', await browser.until("table.querySelectorAll('.row.here').length === 1 && " +
		"table.querySelector('.row.here').textContent.includes('prev_state=D')"));
	check('and the count', await browser.evaluate("/\\d/.test(document.getElementById('found').textContent)"));

	// The table and the picture move each other.
	await browser.evaluate('view.mark = null; setView(about.ns * 0.5, about.ns * 0.5 + 1e6)');
	check('the table follows the picture', await browser.until('tableShown && tableShown.from >= view.from && tableShown.from < view.to'),
		await browser.evaluate('[tableShown, view.from, view.to]'));
	const rows = await browser.evaluate("[...table.querySelectorAll('.row .time')].map((cell) => parseFloat(cell.textContent))");

	check('its rows are in the order of time', rows.length > 5 && rows.every((time, i) => !i || time >= rows[i - 1]), rows);
	const box = await browser.evaluate('(() => { const box = tableScroller.getBoundingClientRect(); return [box.left + 100, box.top + 40]; })()');

	await browser.evaluate('setView(about.ns * 0.5, about.ns * 0.5 + 1e4)');
	await browser.until('tableShown.from >= view.from && tableShown.from <= view.to + 1e6');
	const before = await browser.evaluate('[view.from, tableTop]');

	for (let i = 0; i < 10; i++)
		await browser.mouse('mouseWheel', ...box, { deltaX: 0, deltaY: 1000 });
	check('the picture follows the table', await browser.until(`tableTop > ${before[1]} + 100 && view.from > ${before[0]} && ` +
		'tableShown.first === tableTop && tableShown.from >= view.from && tableShown.from <= view.to'),
	await browser.evaluate('[view.from, tableTop, tableShown]'));
	await browser.evaluate('tableScroller.scrollTop = tableScroller.scrollHeight');
	check('the end of the scroll bar is the last record', await browser.until(`tableShown.last === ${first} - 1`),
		await browser.evaluate('[tableShown, about.records]'));
	await browser.click(box[0], box[1]);
	check('a click on a row marks it', await browser.until("view.mark && table.querySelectorAll('.row.here').length === 1"));
	await browser.evaluate('canvas.focus(); view.mark = null; setView(0, about.ns)');
	await browser.key('t');
	check('T hides the table', await browser.evaluate('table.hidden'));
	await browser.key('t');
}
