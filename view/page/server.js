// SPDX-License-Identifier: GPL-2.0
// Requests to the server of a page: the overview, until all of the trace has been read, and windows.

const WINDOW_RECORDS = 1500000; // of a window, about
const REFRESH_FIRST_MS = 250, REFRESH_MOST_MS = 5000;

let lastWindow = null; // { from, to } that was requested last
let windowWait = 0;

async function request(path) {
	const response = await fetch(path);

	if (response.ok)
		return response;
	const { error } = await response.json().catch(() => ({ error: response.statusText }));

	throw new Error(error);
}

async function requestJson(path) {
	const answer = await (await request(path)).json();

	if (answer.error)
		throw new Error(answer.error);
	return answer;
}

// An answer consists of chunks, each with its length before it. Null: the part is too large.
async function requestChunks(path) {
	const bytes = new Uint8Array(await (await request(path)).arrayBuffer()), chunks = [];

	for (let at = 0; at < bytes.length;) {
		const length = new DataView(bytes.buffer).getUint32(at, true);

		chunks.push(bytes.subarray(at + 4, at + 4 + length));
		at += 4 + length;
	}
	if (!chunks.length)
		return null;
	const list = (chunk) => JSON.parse(new TextDecoder().decode(chunk));
	const from = list(chunks[1]), first = { t: 2, c: 2 + from.tracks.length };

	first.s = first.c + from.counters.length;
	return { about: list(chunks[0]), from, chunk: (kind, i) => () => inflateBytes(chunks[first[kind] + i]) };
}

// ------------------------------------------------------------------ overview

async function readOverview(wait) {
	const { about: state, from, chunk } = await requestChunks('overview');
	const wasAll = view.from <= 0 && view.to >= about.ns;

	absorb(from, 'overview', chunk);
	Object.assign(about, state, { resolution: from.resolution, lost: from.lost, omitted: from.omitted, samples: from.samples });
	makeRows();
	if (wasAll)
		setView(0, about.ns);
	describe();
	requestDraw();
	if (!tableShown)
		followPicture();
	followLinkOnce();
	if (['sums', 'stacks'].includes(tab))
		refreshSoon();
	if (!about.complete) {
		setTimeout(() => readOverview(Math.min(1.5 * wait, REFRESH_MOST_MS)).catch(lostServer), wait);
		return;
	}
	if (shownWindow && !shownWindow.exact)
		shownWindow = null;
	wantWindow();
}

function lostServer(error) {
	document.getElementById('note').textContent = `The server does not answer any more: ${error.message}`;
}

// ------------------------------------------------------------------- windows

// About how many records there are from a time to another.
function recordsIn(from, to) {
	const cpus = about.density || [];

	if (!cpus.length)
		return about.records * (to - from) / Math.max(about.done, 1);
	const width = about.ns / cpus[0].length;
	const first = Math.max(0, Math.floor(from / width)), last = Math.min(cpus[0].length - 1, Math.floor(to / width));
	let sum = 0;

	for (let i = first; i <= last; i++) {
		const share = (Math.min(to, (i + 1) * width) - Math.max(from, i * width)) / width;

		for (const cpu of cpus)
			sum += cpu[i] * Math.max(0, share);
	}
	return sum;
}

// If the overview lacks something of the picture, request a window, with as much on both sides as
// the server is quick to read.
function wantWindow() {
	if (!served || windowHas(view.from, view.to) ||
	    (!about.resolution && (about.complete || view.to <= about.done)))
		return;
	clearTimeout(windowWait);
	windowWait = setTimeout(() => {
		const length = view.to - view.from;

		for (const margin of [1, 0.5, 0]) {
			const from = Math.max(0, Math.floor(view.from - margin * length));
			const to = Math.min(Math.ceil(about.ns), Math.ceil(view.to + margin * length));

			if (to > from && recordsIn(from, to) < WINDOW_RECORDS) {
				readWindow(from, to);
				return;
			}
		}
	}, 120);
}

async function readWindow(from, to) {
	const mine = { from, to };

	lastWindow = mine;
	try {
		const answer = await requestChunks(`window?from=${from}&to=${to}`);

		// Its records may be more than estimated: then the overview stays.
		if (lastWindow !== mine || !answer)
			return;
		const { about: part, from: lists, chunk } = answer;
		const samples = absorb(lists, 'window', chunk, part.exact);

		shownWindow = { from, to, exact: part.exact, samples };
	} catch (error) {
		if (lastWindow === mine)
			document.getElementById('note').textContent = error.message;
		return;
	}
	describe();
	requestDraw();
	if (['sums', 'stacks'].includes(tab))
		refreshSoon();
	// Meanwhile the picture may have moved.
	wantWindow();
}
