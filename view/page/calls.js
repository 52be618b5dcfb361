// SPDX-License-Identifier: GPL-2.0
// Call traces over time: below a thread, the stack traces of its samples, outermost function on top. A
// function lasts from sample to sample, as long as it is in them; between samples nothing is known.

const CALL = 11; // height of a function
const CALLS_MOST = 40; // functions of a stack that are shown
const HOLD = 1.6; // so many times the usual time from sample to sample is not interrupted

// Samples of a thread, by what they belong to: { index: their numbers, depth, hold }
function callsOf(samples, found, thread) {
	if (!found.byThread) {
		const counts = new Map();

		for (let i = 0; i < samples.n; i++) {
			if (!counts.has(found.thread[i]))
				counts.set(found.thread[i], []);
			counts.get(found.thread[i]).push(i);
		}
		found.byThread = new Map([...counts].map(([number, index]) => [number, describeCalls(samples, found, index)]));
	}
	return found.byThread.get(thread);
}

function describeCalls(samples, found, index) {
	const gaps = index.slice(1).map((i, k) => found.time[i] - found.time[index[k]]).sort((a, b) => a - b);
	const usual = samples.hz ? 1e9 / samples.hz * samples.every : gaps[gaps.length >> 1] || 1000;
	let depth = 0;

	for (const i of index)
		depth = Math.max(depth, found.paths[found.path[i]].length);
	return { index, depth: Math.min(depth, CALLS_MOST), hold: HOLD * usual };
}

// The row of a thread's call traces, or null: it has none, or they are not loaded yet.
function callRow(thread, indent) {
	const calls = allSamples && allSamples.found && callsOf(allSamples, allSamples.found, threadNumbers.get(thread.tid));

	return calls ? { title: 'call traces', indent, lanes: [], calls: threadNumbers.get(thread.tid), depth: calls.depth, height: 0 } : null;
}

const openCalls = new Set(); // threads whose call traces are shown in full

function sizeCallRow(row) {
	row.height = (openCalls.has(row.calls) ? row.depth * CALL : CALL) + 8;
}

// The samples to show: those of a window, or of the overview until they are loaded.
function shownSamples() {
	const samples = samplesFor(view.from, view.to);

	if (samples.found || !samples.n)
		return samples.n ? samples : null;
	samples.load().then(requestDraw);
	return allSamples.found ? allSamples : null;
}

// Of the samples in the picture, at most one for each pixel.
function visibleCalls(row) {
	const samples = shownSamples(), calls = samples && callsOf(samples, samples.found, row.calls);

	if (!calls)
		return null;
	const { time } = samples.found, { index, hold } = calls, from = [];
	let low = 0, high = index.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (time[index[middle]] < view.from - hold)
			low = middle + 1;
		else
			high = middle;
	}
	const pixel = (view.to - view.from) / Math.max(1, view.width - GUTTER);

	for (let last = -Infinity; low < index.length && time[index[low]] <= view.to; low++)
		if (time[index[low]] - last >= pixel) {
			from.push(index[low]);
			last = time[index[low]];
		}
	return { found: samples.found, list: from, hold: Math.max(hold, 2 * pixel) };
}

function callColor(frame) {
	const kernel = frame % 2, hue = hueOf(frame >> 1) % 34 + (kernel ? 196 : 18);

	return `hsl(${hue},${kernel ? 55 : 75}%,${isDark() ? 34 : 72}%)`;
}

function drawCall(painter, box, end, y) {
	const x1 = Math.max(GUTTER, toX(box.begin)), x2 = Math.min(view.width, toX(end));

	if (x2 <= GUTTER)
		return;
	painter.rect(x1, y, Math.max(0.8, x2 - x1 - 0.6), CALL - 1, callColor(box.frame));
	if (x2 - x1 > 5 * LETTER)
		painter.text(x1 + 2, y + CALL / 2, fit(nameOf(box.frame >> 1), x2 - x1 - 4), isDark() ? '#fff' : '#10151c');
}

// With all functions, or the innermost one only.
function drawCalls(painter, row, y) {
	const visible = visibleCalls(row), whole = openCalls.has(row.calls), boxes = [];

	painter.text(8 + 12 * row.indent, y + 11, `${whole ? '▾' : '▸'} ${row.title}`, color('dim'));
	if (!visible)
		return;
	const { found, list, hold } = visible;
	const close = (from, end) => {
		for (let depth = from; depth < boxes.length; depth++)
			drawCall(painter, boxes[depth], end, y + 4 + depth * CALL);
		boxes.length = Math.min(boxes.length, from);
	};
	let last = -Infinity;

	for (const i of list) {
		const time = found.time[i], path = found.paths[found.path[i]], frames = whole ? path.slice(0, CALLS_MOST) : path.slice(-1);
		let same = 0;

		if (time - last > hold)
			close(0, last + hold / HOLD);
		while (same < boxes.length && same < frames.length && boxes[same].frame === frames[same])
			same++;
		close(same, time);
		for (let depth = same; depth < frames.length; depth++)
			boxes.push({ frame: frames[depth], begin: time });
		last = time;
	}
	close(0, last + hold / HOLD);
}

// The sample at a place of a row, and the depth there: { time, frames, depth }, or null.
function callAt(row, y, time) {
	const visible = visibleCalls(row);

	if (!visible)
		return null;
	const { found, list, hold } = visible, i = list.findLastIndex((each) => found.time[each] <= time);

	if (i < 0 || time - found.time[list[i]] > hold)
		return null;
	const frames = found.paths[found.path[list[i]]];
	const depth = openCalls.has(row.calls) ? Math.floor((y - 4) / CALL) : frames.length - 1;

	return depth >= 0 && depth < frames.length ? { thread: threads[row.calls], time: found.time[list[i]], frames, depth } : null;
}

function toggleCalls(row) {
	if (!openCalls.delete(row.calls))
		openCalls.add(row.calls);
	layOut();
}

// What was clicked.
function showCall({ thread, time, frames, depth }) {
	view.call = { thread, time, frames, depth };
	show('details');
}

function callDetails() {
	const { thread, time, frames, depth } = view.call;

	return [list([['thread', threadTitle(thread)], ['function', nameOf(frames[depth] >> 1)], ['sample at', showPoint(time, 1)]]),
		make('h2', {}, 'Stack trace, innermost function first'),
		make('div', { class: 'stack' }, ...frames.map((frame, i) => make('div', { class: i === depth ? 'here' : '' },
			`${nameOf(frame >> 1)}${frame % 2 ? ' (kernel)' : ''}`)).reverse())];
}
