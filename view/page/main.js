// SPDX-License-Identifier: GPL-2.0
// Mouse, keys and links; and what happens first.

const LEAST_NS = 20;
const tip = document.getElementById('tip');

// ---------------------------------------------------------------------- view

function setView(from, to) {
	moveView(from, to);
	followPicture();
}

// As moved by the table, which stays where it is.
function moveView(from, to) {
	const length = Math.max(LEAST_NS, Math.min(to - from, about.ns * 1.02 + LEAST_NS));

	from = Math.max(-about.ns * 0.01, Math.min(from, about.ns * 1.01 - length));
	view.from = from;
	view.to = from + length;
	requestDraw();
	noteLink();
	wantWindow();
	if (['sums', 'stacks'].includes(tab) && !view.range)
		refreshSoon();
}

let soon = 0;

function refreshSoon() {
	clearTimeout(soon);
	soon = setTimeout(refresh, 200);
}

function zoom(factor, time) {
	setView(time - (time - view.from) * factor, time + (view.to - time) * factor);
}

function pan(part) {
	const by = part * (view.to - view.from);

	setView(view.from + by, view.to + by);
}

// `time`: which was meant, if the span turns out to be several. `mark`: also mark its record
function select(track, i, time, mark = true) {
	view.call = null;
	view.selected = track ? { track, i, time: time ?? (track.spans.begin[i] + track.spans.end[i]) / 2 } : null;
	view.arrows = [];
	const waker = track && wakerOf(track, i);

	if (waker && waker.track)
		view.arrows = [{ from: { track: waker.track, time: waker.time }, to: { track, time: waker.time } }];
	if (track && mark)
		markSpan(track, i);
	if (!track)
		view.mark = null;
	noteLink();
	requestDraw();
	show('details');
}

// The spans of a track have been replaced: those of a window are others than in the overview.
function reselect(track) {
	const { selected } = view;

	if (!selected || selected.track !== track)
		return;
	const i = track.spans.at(selected.time, (view.to - view.from) / 1000);

	if (i < 0)
		select(null);
	else
		select(track, i, selected.time, false);
}

// Scroll to a track, and to a time if it is given, and select what is there.
async function goTo(track, time, mark = true) {
	const row = rowOf(track);
	let spans = await track.load();
	const length = view.to - view.from;

	if (row && (row.top < scroller.scrollTop || row.top + row.height > scroller.scrollTop + view.height - RULER))
		scroller.scrollTop = row.top - view.height / 3;
	if (time === null)
		time = spans.n ? spans.begin[0] : 0;
	if (time < view.from || time > view.to)
		setView(time - length / 2, time + length / 2);
	spans = await track.load();
	const i = spans.at(time, length / 1000);

	if (i >= 0)
		select(track, i, time, mark);
	requestDraw();
}

// --------------------------------------------------------------------- links

let noting = 0;

function noteLink() {
	clearTimeout(noting);
	noting = setTimeout(() => {
		const parts = [`t=${Math.round(view.from)}-${Math.round(view.to)}`];

		if (view.selected)
			parts.push(`s=${view.selected.track.kind}:${view.selected.track.id}:${Math.round(view.selected.time)}`);
		if (view.range)
			parts.push(`r=${Math.round(view.range[0])}-${Math.round(view.range[1])}`);
		history.replaceState(null, '', `#${parts.join('&')}`);
	}, 100);
}

async function followLink() {
	const parts = new Map(location.hash.slice(1).split('&').map((part) => part.split('=')));
	const times = (text) => (/^(-?\d+)-(\d+)$/.exec(text || '') || []).slice(1).map(Number);
	const [from, to] = times(parts.get('t')), range = times(parts.get('r'));
	const [kind, id, time] = (parts.get('s') || '').split(':');
	const track = tracks[trackNumbers.get(`${kind} ${id}`)];

	if (to > from)
		setView(from, to);
	if (range.length)
		view.range = range;
	if (track && time) {
		const row = rowOf(track), spans = await track.load();
		const i = spans.at(Number(time), 1);

		if (row)
			scroller.scrollTop = row.top - 100;
		if (i >= 0)
			select(track, i, Number(time));
	}
	requestDraw();
}

let followed = false;

// Of a served page, once there are tracks.
function followLinkOnce() {
	if (!followed)
		followLink();
	followed = true;
}

// --------------------------------------------------------------------- mouse

// What is at a place of the picture: { row, lane }
function find(x, y) {
	const at = y - RULER + scroller.scrollTop;
	const row = y < RULER ? null : rows.find((each) => at >= each.top && at < each.top + each.height);
	const lane = row && row.lanes.find((each) => at - row.top >= each.y - 1 && at - row.top <= each.y + each.height);

	return { row, lane };
}

function spanAt(x, y) {
	const { lane } = find(x, y);

	if (!lane || !lane.track || !lane.track.spans || x < GUTTER)
		return null;
	const i = lane.track.spans.at(toTime(x), 3 * (view.to - view.from) / (view.width - GUTTER));

	return i < 0 ? null : { track: lane.track, i, time: toTime(x) };
}

// What is shown beside the mouse.
function tipAt(x, y) {
	const { row, lane } = find(x, y), span = spanAt(x, y), time = toTime(x);

	if (row && row.calls !== undefined && x >= GUTTER) {
		const call = callAt(row, y - RULER + scroller.scrollTop - row.top, time);

		return call ? `${nameOf(call.frames[call.depth] >> 1)}\nsample at ${showPoint(call.time, 1000)}` : '';
	}
	if (lane && lane.counter && lane.counter.points && x >= GUTTER) {
		const { counter } = lane, i = counter.at(time);

		return i < 0 ? '' : `${counter.name}: ${showValue(counter.points.value[i], counter.unit)}\nat ${showPoint(time, 1000)}`;
	}
	if (!span)
		return '';
	const { track, i } = span, { spans } = track;

	return `${trackTitle(track)}\n${spans.count[i] > 1 ? spanLabel(track, i) : stateText(track, i)}\n` +
		`${showTime(spans.end[i] - spans.begin[i])} from ${showPoint(spans.begin[i], 1000)}`;
}

let drag = null; // { x, time, moved }

canvas.addEventListener('mousedown', (event) => {
	if (event.button || event.offsetX < GUTTER)
		return;
	drag = { x: event.offsetX, time: toTime(event.offsetX), moved: false };
});

window.addEventListener('mousemove', (event) => {
	const box = canvas.getBoundingClientRect();
	const x = event.clientX - box.left, y = event.clientY - box.top;

	if (drag && (drag.moved || Math.abs(x - drag.x) > 3)) {
		const time = toTime(Math.max(GUTTER, Math.min(x, view.width)));

		drag.moved = true;
		view.range = [Math.min(time, drag.time), Math.max(time, drag.time)];
		requestDraw();
	}
	const text = event.target === canvas && !drag ? tipAt(x, y) : '';

	tip.hidden = !text;
	if (!text)
		return;
	tip.textContent = text;
	tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
	tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
});

window.addEventListener('mouseup', (event) => {
	const was = drag;

	drag = null;
	if (was && was.moved) {
		noteLink();
		show(tab === 'stacks' ? 'stacks' : 'sums');
		return;
	}
	if (event.target !== canvas)
		return;
	const { row } = find(event.offsetX, event.offsetY), span = spanAt(event.offsetX, event.offsetY);

	if (row && row.heading) {
		if (!closedMachines.delete(row.machine))
			closedMachines.add(row.machine);
		layOut();
	} else if (row && row.calls !== undefined) {
		const call = was && callAt(row, event.offsetY - RULER + scroller.scrollTop - row.top, toTime(event.offsetX));

		if (call)
			showCall(call);
		else
			toggleCalls(row);
	} else if (row && row.members && !span) {
		row.open = !row.open;
		layOut();
	} else if (span) {
		select(span.track, span.i, Math.max(span.track.spans.begin[span.i], Math.min(span.time, span.track.spans.end[span.i])));
	} else if (was) {
		view.range = null;
		select(null);
	}
	requestDraw();
});

canvas.addEventListener('dblclick', (event) => {
	const span = spanAt(event.offsetX, event.offsetY);

	if (span)
		fitTo(span.track.spans.begin[span.i], span.track.spans.end[span.i]);
});

scroller.addEventListener('wheel', (event) => {
	const unit = event.deltaMode ? 20 : 1;

	if (event.ctrlKey || event.metaKey)
		zoom(Math.exp(event.deltaY * unit * 0.002), toTime(Math.max(GUTTER, event.offsetX)));
	else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		pan((event.deltaX || event.deltaY) * unit * 0.001);
	else
		return;
	event.preventDefault();
}, { passive: false });

scroller.addEventListener('scroll', requestDraw);
new ResizeObserver(requestDraw).observe(scroller);

// ------------------------------------------------------------------- pictures

function save(name, blob) {
	const link = document.createElement('a');

	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveSvg() {
	const painter = new SvgPainter();

	paint(painter);
	save('kernlens.svg', new Blob([painter.document(view.width, view.height)], { type: 'image/svg+xml' }));
}

function savePng() {
	canvas.toBlob((blob) => save('kernlens.png', blob));
}

// ---------------------------------------------------------------------- keys

const HELP = [
	['W, S', 'zoom in, out; also Ctrl and the wheel'],
	['A, D', 'to the left, right; also Shift and the wheel'],
	['F', 'zoom to what is selected, or to everything'],
	['[, ]', 'the span before, behind'],
	['Up, Down', 'the track above, below, at the same time'],
	['Enter', 'to what has woken the thread'],
	['/', 'search'],
	['N, Shift+N', 'the next match, the one before'],
	['T', 'show or hide the table'],
	['M', 'select the range of the span'],
	['L', 'light or dark'],
	['P, G', 'save the picture as PNG, SVG'],
	['Esc', 'select nothing'],
];

function fitTo(from, to) {
	const margin = Math.max((to - from) * 0.1, LEAST_NS);

	setView(from - margin, to + margin);
}

function step(by) {
	const { selected } = view;

	if (selected && selected.i + by >= 0 && selected.i + by < selected.track.spans.n)
		goTo(selected.track, (selected.track.spans.begin[selected.i + by] + selected.track.spans.end[selected.i + by]) / 2);
}

function stepTrack(by) {
	const lanes = rows.flatMap((row) => row.lanes.map((lane) => lane.track)).filter(Boolean);
	const { selected } = view;
	const at = selected ? lanes.indexOf(selected.track) : -1;
	const track = lanes[Math.max(0, Math.min(lanes.length - 1, at + by))];
	const time = selected ? (selected.track.spans.begin[selected.i] + selected.track.spans.end[selected.i]) / 2 :
		(view.from + view.to) / 2;

	if (track)
		goTo(track, time);
}

function jumpToWaker() {
	const waker = view.selected && wakerOf(view.selected.track, view.selected.i);

	if (waker && waker.track)
		goTo(waker.track, waker.time);
}

const keys = {
	w: () => zoom(0.7, (view.from + view.to) / 2),
	s: () => zoom(1 / 0.7, (view.from + view.to) / 2),
	a: () => pan(-0.2),
	d: () => pan(0.2),
	arrowleft: () => pan(-0.2),
	arrowright: () => pan(0.2),
	arrowup: () => stepTrack(-1),
	arrowdown: () => stepTrack(1),
	'[': () => step(-1),
	']': () => step(1),
	enter: jumpToWaker,
	f: () => {
		const { selected, range } = view;

		if (range)
			fitTo(...range);
		else if (selected)
			fitTo(selected.track.spans.begin[selected.i], selected.track.spans.end[selected.i]);
		else
			setView(0, about.ns);
	},
	m: () => {
		const { selected } = view;

		if (selected)
			view.range = [selected.track.spans.begin[selected.i], selected.track.spans.end[selected.i]];
		show('sums');
		requestDraw();
	},
	l: toggleTheme,
	n: (event) => goToMatch(event.shiftKey),
	t: () => toggleTable(),
	p: savePng,
	g: saveSvg,
	'/': () => query.focus(),
	'?': () => body.replaceChildren(make('h2', {}, 'Keys'), list(HELP)),
	escape: () => {
		view.range = null;
		select(null);
	},
};

window.addEventListener('keydown', (event) => {
	const key = event.key.toLowerCase();

	if (event.target === query) {
		if (key === 'enter' && !startSearch())
			goToMatch(event.shiftKey);
		else if (key === 'enter')
			show('search');
		if (key === 'escape')
			canvas.focus();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, key) ||
	    (event.target !== canvas && event.target !== document.body && ['enter', 'arrowup', 'arrowdown'].includes(key)))
		return;
	keys[key](event);
	event.preventDefault();
});

function toggleTheme() {
	document.documentElement.classList.toggle('dark');
	forgetColors();
	requestDraw();
}

// ---------------------------------------------------------------------- start

// How certain the order of events of different machines is, at worst.
function describeClocks() {
	const pairs = machines.flatMap((a) => machines.filter((b) => b.number > a.number).map((b) => [a, b]));
	const unknown = pairs.filter((pair) => uncertaintyOf(...pair) === Infinity);
	const known = pairs.map((pair) => uncertaintyOf(...pair)).filter((ns) => ns < Infinity);

	if (page.conflict === 2)
		return 'a clock has been set meanwhile: how far the machines are apart is unknown';
	return [known.length ? `clocks are compared to \u00b1${showTime(Math.max(...known))}` : null,
		unknown.length ? `how far the clocks of ${unknown.map((pair) => pair.map((each) => each.host).join(' and ')).join(', ')} are apart is unknown` : null,
	].filter(Boolean).join('; ');
}

function describe() {
	const begin = new Date(Number(BigInt(about.begin) / 1000000n));
	const notes = [];

	document.title = `${about.title} - kernlens`;
	document.getElementById('title').textContent = about.title;
	const of = many ? machines.map((machine) => machine.host).join(', ') : `${about.host}, Linux ${about.kernel}`;

	document.getElementById('about-text').textContent =
		`${showTime(about.ns)}, ${showCount(about.records)} records, ${of}, ${begin.toLocaleString()}`;
	if (many)
		notes.push(describeClocks());
	if (served && !about.complete)
		notes.push(`still reading the trace: ${Math.round(100 * (about.done || 0) / Math.max(about.ns, 1))}%`);
	if (served && windowHas(view.from, view.to) && !shownWindow.exact)
		notes.push('what threads did before is not known yet');
	if (about.resolution && !served)
		notes.push(`spans shorter than ${showTime(about.resolution)} are merged`);
	if (!about.kept && !served)
		notes.push('the records are not in this page');
	if (about.omitted)
		notes.push(`${showCount(about.omitted)} threads that were not selected are left out`);
	if (about.lost)
		notes.push(`${showCount(about.lost)} records are missing from the trace`);
	document.getElementById('note').textContent = notes.join('; ');
}

for (const each of tabs)
	each.addEventListener('click', () => show(each.dataset.tab));
document.getElementById('theme').addEventListener('click', toggleTheme);
document.getElementById('png').addEventListener('click', savePng);
document.getElementById('svg').addEventListener('click', saveSvg);
document.getElementById('all').addEventListener('click', () => setView(0, about.ns));
document.getElementById('table-button').addEventListener('click', () => toggleTable());
window.addEventListener('hashchange', followLink);

if (window.matchMedia('(prefers-color-scheme: dark)').matches)
	document.documentElement.classList.add('dark');
function start() {
	if (served) {
		about.kept = true;
		(about.density || []).forEach((counts, cpu) => trackOf('cpu', cpu));
		readOverview(REFRESH_FIRST_MS).catch(lostServer);
	} else {
		for (const machine of machines)
			absorb(machine.about, 'overview', (kind, i) => () => inflateElement(`${machine.prefix}${kind}${i}`), true, machine);
	}
	makeRows();
	describe();
	setView(0, about.ns);
	if (window.innerWidth >= 1200 && about.kept)
		toggleTable(true);
	if (!served)
		followLink();
	show('details');
}

start();
