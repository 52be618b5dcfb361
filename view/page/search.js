// SPDX-License-Identifier: GPL-2.0
// Search: counts all records that match, goes from one to the next, and lists the first of them.

const query = document.getElementById('query');
const HITS_MAX = 500; // in the list
const TICKS = 2000; // above the picture
const YIELD_MS = 40;

// What is looked for: how many were found so far, the times of some, and the numbers of those in a
// file. `unknown`: records of which it is not known.
let search = null;

const pause = () => new Promise((done) => { setTimeout(done); });
const encode = (text) => encodeURIComponent(text);

function showCountFound() {
	const label = document.getElementById('found');

	document.getElementById('previous').disabled = document.getElementById('next').disabled = !search || Boolean(search.error);
	if (!search) {
		label.textContent = '';
		return;
	}
	const at = search.hits && view.mark ? search.hits.indexOf(view.mark.number) : -1;

	label.textContent = search.error ? 'not understood' :
		`${at >= 0 ? `${showCount(at + 1)} of ` : ''}${showCount(search.n)}${search.done ? '' : ' so far'}`;
}

function addHit(mine, number, time) {
	const step = about.ns / TICKS;

	if (!mine.times.length || Math.abs(time - mine.times[mine.times.length - 1]) >= step)
		mine.times.push(time);
	mine.n++;
	mine.hits.push(number);
}

async function countInPage(mine) {
	let since = performance.now();

	for (const block of blocks) {
		const data = await loadBlock(block);

		for (let i = 0; i < block.n; i++) {
			const found = mine.match(recordIn(block, data, i));

			if (found)
				addHit(mine, block.from + i, data.time[i]);
			mine.unknown += found === null;
			if (performance.now() - since > YIELD_MS) {
				await pause();
				if (search !== mine)
					return;
				showCountFound();
				since = performance.now();
			}
		}
	}
}

async function countServed(mine) {
	for (let from = 0; from !== null && search === mine;) {
		const part = await requestJson(`count?q=${encode(mine.text)}&from=${from}&step=${Math.round(about.ns / TICKS)}`);

		mine.n += part.n;
		mine.times.push(...part.times);
		// The server has not read more yet.
		if (part.next === from)
			await new Promise((done) => { setTimeout(done, 500); });
		from = part.next;
		showCountFound();
		requestDraw();
	}
}

// Begin to look for what is in the field. Returns whether that is new.
function startSearch() {
	const text = query.value.trim();

	if (search && search.text === text)
		return false;
	search = text ? { text, n: 0, times: [], hits: served ? null : [], unknown: 0, done: false, error: '' } : null;
	const mine = search;

	if (mine) {
		try {
			mine.match = served ? null : matcherOf(text);
		} catch (error) {
			mine.error = error.message;
		}
	}
	if (mine && !mine.error)
		(served ? countServed : countInPage)(mine).then(() => {
			mine.done = true;
			if (search === mine && tab === 'search')
				refresh();
		}, (error) => { mine.error = error.message; }).then(() => {
			showCountFound();
			requestDraw();
			if (mine.error && search === mine)
				show('search');
		});
	showCountFound();
	requestDraw();
	return true;
}

// The first match from a record on, or the last before it; null: there is none.
async function findServed(mine, number, back) {
	for (let at = number; at !== null && search === mine;) {
		const part = await requestJson(`search?q=${encode(mine.text)}&${back ? `before=${at}` : `from=${at}&n=1`}`);

		if (part.found.length)
			return part.found[0][0];
		if (part.next === at)
			return null;
		at = part.next;
	}
	return null;
}

async function findInPage(mine, number, back) {
	for (let at = back ? number - 1 : number; at >= 0 && at < about.records; at += back ? -1 : 1) {
		const block = blockOf(at), data = await loadBlock(block);

		if (mine.match(recordIn(block, data, at - block.from)))
			return at;
	}
	return null;
}

// Go to the next match behind the mark or the left edge, or to the one before it.
async function goToMatch(back) {
	startSearch();
	const mine = search;

	if (!mine || mine.error || !about.kept)
		return;
	const { mark } = view, label = document.getElementById('found');
	const from = mark && isInTable(mark.number) && mark.time >= view.from && mark.time <= view.to ? mark.number + (back ? 0 : 1) : await recordAfter(view.from);

	try {
		const number = await (served ? findServed : findInPage)(mine, from, back);

		if (search !== mine)
			return;
		if (number === null) {
			label.textContent = back ? 'none before' : 'none behind';
			return;
		}
		await markRecord(await recordAt(number));
	} catch (error) {
		mine.error = error.message;
		show('search');
	}
	showCountFound();
}

// -------------------------------------------------------------------- the list

// Threads are found by a text only.
function threadsFound(text) {
	const regular = /^\/(.*)\/(i?)$/.exec(text), part = text.replace(/^"(.*)"$/, '$1').toLowerCase();
	const matches = regular ? (title) => new RegExp(regular[1], regular[2]).test(title) : (title) => title.toLowerCase().includes(part);

	return threads.filter((thread) => ownId(thread.tid) && matches(threadTitle(thread)));
}

async function firstMatches(mine) {
	const hits = [];

	if (!served) {
		while (!mine.done && mine.hits.length < HITS_MAX && search === mine)
			await pause();
		for (const number of mine.hits.slice(0, HITS_MAX))
			hits.push(await recordAt(number));
		return hits;
	}
	for (let from = 0; from !== null && hits.length < HITS_MAX && search === mine;) {
		const part = await requestJson(`search?q=${encode(mine.text)}&from=${from}&n=${HITS_MAX - hits.length}`);

		hits.push(...part.found.map(([number, ...fields]) => ({ number, ...servedRecord(fields) })));
		if (part.next === from)
			break;
		from = part.next;
	}
	return hits;
}

const SEARCH_HELP = [
	['sched_switch', 'an event'],
	['bash', 'a process, or what a record contains; "in quotes" if it has operators'],
	['prev_state == 2 && next_prio < 100', 'an expression on fields, and tid, pid, comm and cpu'],
	['filename ~ "/etc/*"', 'a text that begins like this'],
	['sched_switch/next_comm == "make"/', 'an event with an expression, as after kernlens record -e'],
	['/ret=-\\d/', 'a regular expression (not in a served page)'],
];

async function showSearch(put) {
	startSearch();
	const mine = search;

	if (!mine)
		return put(make('p', {}, 'Type what to look for, such as:'), list(SEARCH_HELP));
	if (mine.error)
		return put(make('p', { class: 'error' }, mine.error), list(SEARCH_HELP));
	const found = threadsFound(mine.text);
	const threadList = make('div', {}, ...found.slice(0, 100).map((thread) => {
		const track = threadTrack(thread.tid) || threadTrack(thread.tid, 'syscall');

		return make('div', {}, track ? link(threadTitle(thread), () => goTo(track, null)) : threadTitle(thread));
	}));
	let hits;

	if (about.kept)
		put(make('p', {}, 'Searching…'));
	try {
		hits = about.kept ? await firstMatches(mine) : [];
	} catch (error) {
		mine.error = error.message;
		return put(make('p', { class: 'error' }, error.message), list(SEARCH_HELP));
	}
	const n = mine.done ? mine.n : hits.length;

	return put(found.length ? make('h2', {}, showAmount(found.length, 'thread')) : null, threadList,
		make('h2', {}, `${showAmount(n, 'record')}${mine.done ? '' : ' or more'}${hits.length < n ? `; the first ${hits.length}:` : ''}`),
		mine.unknown ? make('p', {}, `Of ${showAmount(mine.unknown, 'more record')} it is not known: the page has their values as words only, or their text has several meanings.`) : null,
		about.kept ? recordTable(hits) : make('p', {}, 'The records are not in this page.'));
}

query.addEventListener('change', () => startSearch() && show('search'));
document.getElementById('next').addEventListener('click', () => goToMatch(false));
document.getElementById('previous').addEventListener('click', () => goToMatch(true));
