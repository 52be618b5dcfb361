// SPDX-License-Identifier: GPL-2.0
// Checks of rows that a page in a file and a served one have: call traces, and kernlens' own threads.

export async function testRows(browser, check, facts) {
	await browser.evaluate('setView(0, about.ns); scroller.scrollTop = 0');
	check('threads have call traces', await browser.until("rows.some((row) => row.calls !== undefined)"));

	// Threads have one stack trace each: work, and read_some or write<b>.
	const seen = await browser.evaluate(`(async () => {
		const found = [];

		for (const row of allRows.flatMap((r) => [r, ...(r.members || [])]).filter((r) => r.calls !== undefined)) {
			const { list, found: samples } = visibleCalls(row), names = new Set(list.map((i) =>
				samples.paths[samples.path[i]].map((frame) => nameOf(frame >> 1)).join()));

			found.push([threads[row.calls].tid, row.depth, list.length, ...names]);
		}
		return found;
	})()`);

	check('each has its own', seen.length > 50 && seen.every(([tid, depth, n, ...names]) => depth === 3 && n > 10 &&
		names.join(';') === (facts.threads[tid][6] === 1 ? 'work,read_some,[kernel]' : 'work,write<b>,[kernel]')), seen.slice(0, 3));
	const place = await browser.evaluate(`(async () => {
		const row = rows.find((r) => r.calls !== undefined), { list, found } = visibleCalls(row), i = list[list.length >> 1];

		setView(found.time[i] - 5000, found.time[i] + 20000);
		toggleCalls(row);
		scroller.scrollTop = Math.max(0, row.top - 100);
		await new Promise((done) => { setTimeout(done, 600); });
		const box = canvas.getBoundingClientRect(), now = rows.find((r) => r.calls === row.calls);
		const x = toX(found.time[i] + 50), y = now.top - scroller.scrollTop + RULER + 4 + 1.5 * CALL;

		return { x: box.left + x, y: box.top + y, title: box.top + now.top - scroller.scrollTop + RULER + 10, left: box.left + 60,
			open: openCalls.size, pixel: [...canvas.getContext('2d').getImageData(Math.round(x), Math.round(y - CALL / 2 + 3), 1, 1).data] };
	})()`);

	check('they are drawn', place.pixel.slice(0, 3).some((value, i, all) => Math.abs(value - all[(i + 1) % 3]) > 20), place);
	await browser.click(place.x, place.y);
	check('a click on a function shows its stack trace', await browser.until("body.querySelectorAll('.stack div').length === 3 && " +
		"/read_some|write<b>/.test(body.querySelector('.stack .here').textContent)"), await browser.evaluate('body.innerText'));
	await browser.click(place.left, place.title);
	check('one on the title folds them', await browser.until(`openCalls.size === ${place.open} - 1`));

	// kernlens' own threads are behind the others.
	const own = await browser.evaluate(`(() => {
		const last = allRows[allRows.length - 1];

		return [last.title, last.members.filter((row) => row.thread).map((row) => row.thread.tid),
			allRows.slice(0, -1).some((row) => /^kernlens/.test(row.title))];
	})()`);

	check("kernlens' own threads are the last group", own[0] === 'kernlens itself (4 threads)' && own[1].join() === '4012,4013,4014,4015' && !own[2], own);
	await browser.evaluate("view.range = null; view.call = null; setView(0, about.ns); show('sums')");
	check('and apart in the sums', await browser.until("[...body.querySelectorAll('h2')].some((head) => head.textContent === 'kernlens itself' && " +
		"/4012/.test(head.nextElementSibling.textContent)) && !/4012/.test(body.querySelector('table').textContent)"), await browser.evaluate('body.innerText'));
}
