// SPDX-License-Identifier: GPL-2.0
// Curves below each other with one time axis. The pointer shows the values of its interval in all of
// them; dragging, the wheel and keys choose a part of the time, which the address of the page names.

const data = JSON.parse(byId('curves').textContent);
const seconds = data.interval_ns / 1e9, length = data.intervals * seconds;
const LEFT = 70, RIGHT = 10, TOP = 8, BOTTOM = 20, HEIGHT = 150;
const plots = [];
let from = 0, to = length, width = 900, pointer = null, drag = null;

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);
const x = (at) => LEFT + (at - from) / (to - from) * (width - LEFT - RIGHT);
const timeAt = (px) => from + (px - LEFT) / (width - LEFT - RIGHT) * (to - from);
const spell = (n) => Math.abs(n) >= 1e5 ? n.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 4 }) :
	n.toLocaleString('en-US', { maximumSignificantDigits: 5 });

// "1.25 s" with as many digits as tell two neighbours apart.
function spellTime(at, step) {
	const digits = clamp(Math.ceil(-Math.log10(step || 1)), 0, 9);

	return `${at.toFixed(digits)} s`;
}

// 1, 2 or 5 times a power of ten: at most @most of them in @range.
function stepOf(range, most) {
	const power = 10 ** Math.floor(Math.log10(range / most || 1));

	return [1, 2, 5, 10].map((n) => n * power).find((step) => range / step <= most) || 10 * power;
}

// An interval's value, least and greatest, by number.
function read(curve) {
	const points = new Map();

	for (const [ns, value, count, , min, max] of curve.points) {
		const i = Math.round((ns - data.begin_ns) / data.interval_ns);
		const spread = curve.function === 'mean' && count > 0;

		points.set(i, { value, low: spread ? min : value, high: spread ? max : value });
	}
	return points;
}

function nameOf(curve) {
	return curve.key === null ? curve.expression : `${curve.expression} [${curve.key}]`;
}

function unitOf(curve) {
	const rate = curve.function === 'count' || curve.function === 'sum';

	return [curve.function, rate ? 'per second' : curve.unit].filter(Boolean).join(', ');
}

// -------------------------------------------------------------------- drawing

// The intervals that are seen, as runs without a gap.
function runsOf(plot) {
	const first = Math.max(0, Math.floor(from / seconds) - 1), last = Math.min(data.intervals - 1, Math.ceil(to / seconds));
	const runs = [];
	let run = null;

	for (let i = first; i <= last; i++) {
		const point = plot.points.get(i);

		if (!point) {
			run = null;
			continue;
		}
		if (!run)
			runs.push(run = []);
		run.push({ ...point, at: (i + 0.5) * seconds });
	}
	return runs;
}

function grid(plot, least, most, y) {
	const stepX = stepOf(to - from, Math.max(2, Math.floor(width / 120))), stepY = stepOf(most - least, 3);

	for (let at = Math.ceil(from / stepX) * stepX; at <= to + stepX / 1e6; at += stepX)
		plot.svg.append(make('path', { class: 'grid', d: `M${x(at)},${TOP}V${HEIGHT - BOTTOM}` }),
			make('text', { x: x(at), y: HEIGHT - 5, 'text-anchor': 'middle' }, spellTime(at, stepX)));
	for (let n = Math.ceil(least / stepY) * stepY; n <= most * 1.000001; n += stepY)
		plot.svg.append(make('path', { class: 'grid', d: `M${LEFT},${y(n)}H${width - RIGHT}` }),
			make('text', { x: LEFT - 6, y: y(n) + 4, 'text-anchor': 'end' }, spell(n)));
}

function drawPlot(plot) {
	const runs = runsOf(plot);
	const all = runs.flat();
	const most = Math.max(...all.map((point) => point.high), 0) || 1;
	const least = Math.min(...all.map((point) => point.low), 0);
	const y = (n) => HEIGHT - BOTTOM - (n - least) / (most - least) * (HEIGHT - TOP - BOTTOM);
	const inside = all.filter((point) => point.at >= from && point.at <= to);
	const mean = inside.reduce((sum, point) => sum + point.value, 0) / inside.length;
	const clip = (at) => clamp(x(at), LEFT, width - RIGHT);

	plot.svg.replaceChildren();
	plot.svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
	grid(plot, least, most, y);
	for (const run of runs) {
		const line = run.map((point) => `${clip(point.at).toFixed(1)},${y(point.value).toFixed(1)}`);
		const edge = (key) => run.map((point) => `${clip(point.at).toFixed(1)},${y(point[key]).toFixed(1)}`);

		if (run.some((point) => point.low !== point.high))
			plot.svg.append(make('polygon', { class: 'between', points: [...edge('high'), ...edge('low').reverse()].join(' ') }));
		if (run.length === 1)
			plot.svg.append(make('rect', { class: 'dot', x: clip(run[0].at) - 1.5, y: y(run[0].value) - 1.5, width: 3, height: 3 }));
		else
			plot.svg.append(make('path', { class: 'curve', d: `M${line.join('L')}` }));
	}
	plot.mark = make('g');
	plot.svg.append(plot.mark);
	plot.sums.textContent = inside.length ?
		`mean ${spell(mean)}, greatest ${spell(Math.max(...inside.map((point) => point.high)))}` : 'nothing here';
}

function draw() {
	width = Math.max(300, byId('plots').clientWidth - 24);
	plots.forEach(drawPlot);
	byId('range').textContent = from > 0 || to < length ?
		`${spellTime(from, to - from)} to ${spellTime(to, (to - from) / 100)} of ${spellTime(length, length)}` : '';
	history.replaceState(null, '', from > 0 || to < length ? `#${from.toPrecision(9)},${to.toPrecision(9)}` : '#');
	mark();
}

// The pointer's interval, and what is being chosen, in all plots.
function mark() {
	const i = pointer === null ? -1 : Math.floor(clamp(timeAt(pointer), from, to) / seconds);

	for (const plot of plots) {
		const point = plot.points.get(i);

		plot.mark.replaceChildren();
		plot.value.textContent = point ? `${spell(point.value)} at ${spellTime(i * seconds, seconds)}` : '';
		if (pointer === null)
			continue;
		if (drag !== null)
			plot.mark.append(make('rect', { class: 'chosen', x: Math.min(drag, pointer), y: TOP,
				width: Math.abs(pointer - drag), height: HEIGHT - TOP - BOTTOM }));
		plot.mark.append(make('path', { class: 'cursor', d: `M${pointer},${TOP}V${HEIGHT - BOTTOM}` }));
	}
}

// ----------------------------------------------------------------------- input

function show(a, b) {
	const range = clamp(b - a, Math.min(2 * seconds, length), length);

	from = clamp(a, 0, length - range);
	to = from + range;
	draw();
}

function zoom(factor, at = (from + to) / 2) {
	show(at - (at - from) * factor, at + (to - at) * factor);
}

function place(event) {
	const box = event.currentTarget.getBoundingClientRect();

	return clamp((event.clientX - box.left) * width / box.width, LEFT, width - RIGHT);
}

function listen(svg) {
	svg.addEventListener('pointermove', (event) => {
		pointer = place(event);
		mark();
	});
	svg.addEventListener('pointerdown', (event) => {
		drag = pointer = place(event);
		svg.setPointerCapture(event.pointerId);
	});
	svg.addEventListener('pointerup', (event) => {
		const start = drag;

		drag = null;
		pointer = place(event);
		if (start !== null && Math.abs(pointer - start) > 4)
			show(timeAt(Math.min(start, pointer)), timeAt(Math.max(start, pointer)));
		else
			mark();
	});
	svg.addEventListener('pointerleave', () => {
		if (drag === null) {
			pointer = null;
			mark();
		}
	});
	svg.addEventListener('dblclick', () => show(0, length));
	svg.addEventListener('wheel', (event) => {
		if (!event.ctrlKey && !event.shiftKey)
			return;
		event.preventDefault();
		zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(place(event)));
	}, { passive: false });
}

const keys = {
	0: () => show(0, length),
	'+': () => zoom(0.5),
	'=': () => zoom(0.5),
	'-': () => zoom(2),
	w: () => zoom(0.5),
	s: () => zoom(2),
	a: () => show(from - (to - from) / 4, to - (to - from) / 4),
	d: () => show(from + (to - from) / 4, to + (to - from) / 4),
	t: () => byId('theme').click(),
};
keys.ArrowLeft = keys.a;
keys.ArrowRight = keys.d;

function start() {
	const chosen = location.hash.slice(1).split(',').map(Number);

	for (const curve of data.curves) {
		const plot = { points: read(curve), svg: make('svg', { role: 'img' }), value: make('span', { class: 'value' }),
			sums: make('span', { class: 'dim' }) };

		plot.svg.setAttribute('aria-label', nameOf(curve));
		byId('plots').append(make('figure', {}, make('figcaption', {}, make('b', {}, nameOf(curve)),
			make('span', { class: 'dim' }, unitOf(curve)), plot.sums, plot.value), plot.svg));
		listen(plot.svg);
		plots.push(plot);
	}
	document.title = `plot of ${data.about || 'a session'} - kernlens`;
	byId('about-text').textContent = [data.about, `intervals of ${spell(seconds)} s`].filter(Boolean).join(', ');
	byId('whole').addEventListener('click', keys[0]);
	byId('theme').addEventListener('click', () => document.documentElement.classList.toggle('dark'));
	if (matchMedia('(prefers-color-scheme: dark)').matches)
		document.documentElement.classList.add('dark');
	document.addEventListener('keydown', (event) => {
		if (!event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key])
			keys[event.key]();
	});
	addEventListener('resize', draw);
	if (chosen.length === 2 && chosen.every(Number.isFinite) && chosen[0] < chosen[1])
		show(...chosen);
	else
		draw();
}

start();
