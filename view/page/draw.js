// SPDX-License-Identifier: GPL-2.0
// Draws the rows: on the canvas, or as SVG.

const GUTTER = 210; // for titles, in pixels
const RULER = 26;
const LETTER = 6.3;
const FONT = '11px ui-monospace, Menlo, Consolas, monospace';

const COLORS = {
	light: ['#2e9e5b', '#f0a92e', '#d5dae2', '#e0567a', '#9a7bd0', '#d92d20'],
	dark: ['#3fb972', '#e3a032', '#39424f', '#d9567a', '#9a7bd0', '#f04438'],
};

const canvas = document.getElementById('sheet');
const scroller = document.getElementById('scroll');
const spacer = document.getElementById('spacer');

// What is seen, and what is selected.
const view = {
	from: 0,
	to: Math.max(about.ns, 1),
	range: null, // [from, to], dragged
	selected: null, // { track, i, time }
	call: null, // a function in a call trace that was clicked
	mark: null, // { number, time } of a record
	arrows: [], // { from: { track, time }, to: { track, time } }
	width: 0,
	height: 0,
};

function isDark() {
	return document.documentElement.classList.contains('dark');
}

// Colors of the style and of spans, until the theme changes.
const colors = new Map();

function color(name) {
	let found = colors.get(name);

	if (!found) {
		found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
		colors.set(name, found);
	}
	return found;
}

const hues = new Map();

// The same name has the same color everywhere.
function hueOf(name) {
	if (!hues.has(name)) {
		let hash = 7;

		for (const letter of nameOf(name))
			hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
		hues.set(name, (hash * 137) % 360);
	}
	return hues.get(name);
}

const SATURATION = { cpu: 45, syscall: 55, disk: 60 };

function spanColor(track, cls, name) {
	const states = COLORS[isDark() ? 'dark' : 'light'];

	if (track.kind === 'thread' || cls === 5)
		return states[cls];
	track.colors ||= new Map();
	let found = track.colors.get(name);

	if (!found) {
		found = `hsl(${hueOf(name)},${SATURATION[track.kind] || 35}%,${isDark() ? 48 : 66}%)`;
		track.colors.set(name, found);
	}
	return found;
}

function forgetColors() {
	colors.clear();
	for (const track of tracks)
		track.colors = null;
}

function toX(time) {
	return GUTTER + (time - view.from) / (view.to - view.from) * (view.width - GUTTER);
}

function toTime(x) {
	return view.from + (x - GUTTER) / (view.width - GUTTER) * (view.to - view.from);
}

// ------------------------------------------------------------------ painters

// A color as a pixel of an image: alpha, blue, green, red.
const pixels = new Map();
const probe = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });

function pixelOf(fill) {
	let found = pixels.get(fill);

	if (found === undefined) {
		probe.fillStyle = fill;
		probe.fillRect(0, 0, 1, 1);
		[found] = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer);
		pixels.set(fill, found);
	}
	return found;
}

class CanvasPainter {
	constructor(context) {
		this.context = context;
		context.font = FONT;
		context.textBaseline = 'middle';
		context.imageSmoothingEnabled = false;
		this.strip = new OffscreenCanvas(Math.max(1, Math.ceil(view.width)), 1);
		this.image = new ImageData(this.strip.width, 1);
		this.row = new Uint32Array(this.image.data.buffer);
		this.used = false;
	}

	// A column of a lane, one pixel wide. Many are faster this way than as rectangles.
	column(x, y, height, fill, opacity) {
		const alpha = Math.round(opacity * 255);

		this.row[Math.floor(x)] = ((pixelOf(fill) & 0xffffff) | alpha << 24) >>> 0;
		this.used = true;
	}

	// A curve: in each column, from `top` to `low` strong, and pale below that.
	curve(y, height, fill, top, low) {
		const width = this.strip.width, sheet = new OffscreenCanvas(width, height);
		const image = new ImageData(width, height), data = new Uint32Array(image.data.buffer);
		const strong = (pixelOf(fill) | 0xff000000) >>> 0, pale = ((strong & 0xffffff) | 0x40000000) >>> 0;

		for (let x = 0; x < width; x++)
			for (let at = Math.floor(top[x]); at < height; at++)
				data[at * width + x] = at <= low[x] ? strong : pale;
		sheet.getContext('2d').putImageData(image, 0, 0);
		this.context.globalAlpha = this.opacity = 1;
		this.context.drawImage(sheet, 0, y);
	}

	// Draw the columns of a lane.
	columns(y, height) {
		if (!this.used)
			return;
		this.strip.getContext('2d').putImageData(this.image, 0, 0);
		this.context.globalAlpha = this.opacity = 1;
		this.context.drawImage(this.strip, 0, y, this.strip.width, height);
		this.row.fill(0);
		this.used = false;
	}

	// Setting what is already set costs time, too.
	rect(x, y, width, height, fill, opacity = 1) {
		if (opacity !== this.opacity)
			this.context.globalAlpha = this.opacity = opacity;
		if (fill !== this.fill)
			this.context.fillStyle = this.fill = fill;
		this.context.fillRect(x, y, width, height);
	}

	frame(x, y, width, height, stroke) {
		this.context.globalAlpha = this.opacity = 1;
		this.context.strokeStyle = stroke;
		this.context.lineWidth = 2;
		this.context.strokeRect(x, y, width, height);
	}

	text(x, y, text, fill) {
		this.context.globalAlpha = this.opacity = 1;
		this.context.fillStyle = this.fill = fill;
		this.context.fillText(text, x, y);
	}

	line(x1, y1, x2, y2, stroke) {
		this.context.globalAlpha = this.opacity = 1;
		this.context.strokeStyle = stroke;
		this.context.lineWidth = 1.4;
		this.context.beginPath();
		this.context.moveTo(x1, y1);
		this.context.lineTo(x2, y2);
		this.context.stroke();
	}
}

class SvgPainter {
	constructor() {
		this.parts = [];
	}

	add(name, attributes, text = '') {
		const escape = (value) => String(value).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
		const list = Object.entries(attributes).map(([key, value]) =>
			`${key}="${escape(typeof value === 'number' ? +value.toFixed(2) : value)}"`);

		this.parts.push(`<${name} ${list.join(' ')}>${escape(text)}</${name}>`);
	}

	rect(x, y, width, height, fill, opacity = 1) {
		this.add('rect', { x, y, width, height, fill, opacity });
	}

	column(x, y, height, fill, opacity) {
		this.rect(x, y, 1, height, fill, opacity);
	}

	columns() {
	}

	// Columns that are equal are one.
	curve(y, height, fill, top, low) {
		for (let x = 0, from = 0; x < top.length; x++) {
			if (x + 1 < top.length && top[x + 1] === top[from] && low[x + 1] === low[from])
				continue;
			if (top[from] < height) {
				this.rect(from, y + top[from], x + 1 - from, height - top[from], fill, 0.25);
				this.rect(from, y + top[from], x + 1 - from, Math.max(1, low[from] - top[from]), fill);
			}
			from = x + 1;
		}
	}

	frame(x, y, width, height, stroke) {
		this.add('rect', { x, y, width, height, fill: 'none', stroke, 'stroke-width': 2 });
	}

	text(x, y, text, fill) {
		this.add('text', { x, y, fill, 'dominant-baseline': 'middle' }, text);
	}

	line(x1, y1, x2, y2, stroke) {
		this.add('line', { x1, y1, x2, y2, stroke });
	}

	document(width, height) {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`style="font:${FONT.replace(/"/g, '')}">${this.parts.join('\n')}</svg>\n`;
	}
}

// --------------------------------------------------------------------- parts

function fit(text, width) {
	const letters = Math.floor(width / LETTER);

	return text.length <= letters ? text : letters > 3 ? `${text.slice(0, letters - 1)}\u2026` : '';
}

// What is narrower than a pixel is summed up by pixel: its time by class, and the longest name.
class Columns {
	constructor(width) {
		this.width = width;
		this.time = new Float64Array(width * CLASSES.length);
		this.name = new Uint32Array(width);
		this.longest = new Float64Array(width);
		this.from = width;
		this.to = 0;
	}

	add(x, spans, level, i) {
		const group = level < 0 ? null : spans.levels[level], at = x * CLASSES.length;
		const length = group ? group.longest[i] : spans.end[i] - spans.begin[i];

		if (group)
			for (let k = 0; k < CLASSES.length; k++)
				this.time[at + k] += group.time[i * CLASSES.length + k];
		else if (spans.count[i] > 1)
			for (let k = 0; k < CLASSES.length; k++)
				this.time[at + k] += spans.timeOf(i, k);
		else
			this.time[at + spans.cls[i]] += length;
		// Instants have no length.
		if (length + 1 > this.longest[x]) {
			this.longest[x] = length + 1;
			this.name[x] = group ? group.name[i] : spans.name[i];
		}
		this.from = Math.min(this.from, x);
		this.to = Math.max(this.to, x + 1);
	}

	// Draw all, and forget them. @whole: the time of a pixel
	draw(painter, track, y, height, whole) {
		for (let x = this.from; x < this.to; x++) {
			const at = x * CLASSES.length;
			let busy = 0, cls = 0;

			if (!this.longest[x])
				continue;
			for (let k = 0; k < CLASSES.length; k++) {
				busy += this.time[at + k];
				if (this.time[at + k] > this.time[at + cls])
					cls = k;
			}
			painter.column(x, y, height, spanColor(track, cls, this.name[x]),
				Math.max(0.25, Math.min(1, busy / whole)));
		}
		this.time.fill(0, this.from * CLASSES.length, this.to * CLASSES.length);
		this.longest.fill(0, this.from, this.to);
		this.from = this.width;
		this.to = 0;
		painter.columns(y, height);
	}
}

let columns = new Columns(0);

function drawLane(painter, lane, y) {
	const { track, height } = lane, { spans } = track;
	const scale = (view.width - GUTTER) / (view.to - view.from);
	const left = GUTTER - view.from * scale;

	if (!track.isLoaded())
		track.load().then(requestDraw);
	if (isDense(track))
		drawDensity(painter, track, y, height);
	if (!spans) {
		if (!isDense(track))
			painter.rect(GUTTER, y, view.width - GUTTER, height, color('raised'));
		return;
	}
	if (columns.width !== view.width)
		columns = new Columns(view.width);
	spans.walk(view.from, view.to, (level, i, begin, end) => {
		const x1 = Math.max(GUTTER, left + begin * scale), x2 = Math.min(view.width, left + end * scale);

		if (level >= 0 && (end - begin) * scale > 1.2)
			return false;
		if (level >= 0 || (x2 - x1 < 1.2 && end > begin))
			columns.add(Math.min(view.width - 1, Math.floor((x1 + x2) / 2)), spans, level, i);
		else
			drawSpan(painter, lane, y, i, x1, x2 - x1);
		return true;
	});
	columns.draw(painter, track, y, height, 1 / scale);
}

// Where the trace has not been read yet: how many records the CPU has there.
function drawDensity(painter, track, y, height) {
	const counts = about.density[track.id], width = about.ns / counts.length;
	const most = counts.reduce((a, b) => Math.max(a, b), 1);

	if (about.complete || windowHas(view.from, view.to))
		return;
	for (let x = Math.max(GUTTER, Math.floor(toX(about.done))); x < view.width; x++) {
		const n = counts[Math.floor(toTime(x + 0.5) / width)];

		if (n)
			painter.column(x, y, height, color('dim'), 0.15 + 0.6 * n / most);
	}
	painter.columns(y, height);
}

// Over what has not been read yet.
function drawUnread(painter) {
	const x = Math.max(GUTTER, toX(about.done || 0));

	if (!served || about.complete || windowHas(view.from, view.to) || x >= view.width)
		return;
	painter.rect(x, RULER, view.width - x, view.height, color('dim'), 0.08);
	painter.rect(x, RULER, 1, view.height, color('accent'));
	painter.text(x + 8, view.height - 14, `not read yet (${Math.round(100 * (about.done || 0) / Math.max(about.ns, 1))}% read); zoom in to read a part at once`,
		color('text'));
}

// Steps from value to value, between the least and the greatest; in a pixel, from its least to its
// greatest.
function drawCurve(painter, lane, y) {
	const { counter, height } = lane, { points } = counter;

	if (!counter.loading)
		counter.load().then(requestDraw);
	if (!points)
		return;
	const scale = (height - 1) / (points.most - points.least || 1);
	const toY = (value) => height - 1 - (value - points.least) * scale;
	const top = new Float64Array(view.width).fill(height), low = new Float64Array(view.width);
	let i = Math.max(0, counter.at(view.from));

	const end = served && !about.complete ? Math.min(view.width, toX(about.done)) : view.width;

	for (let x = GUTTER; x < end; x++) {
		const until = toTime(x + 1);

		if (i >= points.time.length || points.time[i] >= until)
			continue;
		let least = points.value[i], most = least;

		while (i + 1 < points.time.length && points.time[i + 1] < until) {
			least = Math.min(least, points.value[++i]);
			most = Math.max(most, points.value[i]);
		}
		top[x] = toY(most);
		low[x] = toY(least);
	}
	painter.curve(y, height, color('accent'), top, low);
	painter.text(GUTTER + 4, y + 7, `${showValue(points.most, counter.unit)}${counter.thinned ? ', thinned out' : ''}`,
		color('dim'));
}

function drawSpan(painter, lane, y, i, x, width) {
	const { track, height } = lane, { spans } = track;
	const instant = spans.end[i] === spans.begin[i];
	const merged = spans.count[i] > 1;

	painter.rect(x, y, Math.max(width - (width > 3 ? 0.6 : 0), instant ? 1.6 : 0.8), height,
		spanColor(track, spans.cls[i], spans.name[i]), merged ? 0.6 : 1);
	if (height < 10)
		return;
	if (track.kind === 'mark') {
		painter.text(x + 4, y + height / 2 + 0.5, nameOf(spans.name[i]).slice(0, 60), color('text'));
		return;
	}
	if (width < 4 * LETTER || (track.kind === 'thread' && spans.cls[i] === 0 && width < 60))
		return;
	painter.text(x + 3, y + height / 2 + 0.5, fit(spanLabel(track, i), width - 6), isDark() ? '#fff' : '#10151c');
}

// What is written on a span.
function spanLabel(track, i) {
	const { spans } = track;

	if (spans.count[i] > 1)
		return `${showCount(spans.count[i])} spans`;
	if (track.kind === 'thread' && spans.cls[i] === 0)
		return spans.by[i] ? `CPU ${spans.by[i] - 1}` : 'running';
	return nameOf(spans.name[i]);
}

function drawRow(painter, row, y) {
	if (row.heading) {
		drawHeading(painter, row, y);
		return;
	}
	if (row.members) {
		painter.rect(0, y, view.width, row.height, color('raised'));
		painter.text(8, y + row.height / 2, `${row.open ? '\u25be' : '\u25b8'} ${row.title}`, color('text'));
		if (!row.open && row.members.length && row.members[0].lanes.length)
			drawLane(painter, { ...row.members[0].lanes[0], height: 10 }, y + 6);
		return;
	}
	if (row.calls !== undefined) {
		drawCalls(painter, row, y);
		painter.rect(0, y + row.height - 0.5, view.width, 0.5, color('line'));
		return;
	}
	painter.text(8 + 12 * row.indent, y + 12, fit(row.title, GUTTER - 16 - 12 * row.indent), color('text'));
	for (const lane of row.lanes)
		(lane.counter ? drawCurve : drawLane)(painter, lane, y + lane.y);
	painter.rect(0, y + row.height - 0.5, view.width, 0.5, color('line'));
}

// A round step that leaves room for its labels.
function rulerStep() {
	const least = (view.to - view.from) / Math.max(1, (view.width - GUTTER) / 110);
	const power = 10 ** Math.floor(Math.log10(least));

	return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

// What the table shows, and where matches are.
function drawTicks(painter) {
	if (tableIsOpen() && tableShown) {
		const x1 = Math.max(GUTTER, toX(tableShown.from)), x2 = Math.min(view.width, toX(tableShown.to));

		if (x2 >= x1)
			painter.rect(x1, RULER - 4, Math.max(2, x2 - x1), 4, color('accent'), 0.5);
	}
	for (const time of search ? search.times : []) {
		const x = toX(time);

		if (x >= GUTTER && x < view.width)
			painter.rect(x, 0, 1, 5, COLORS.light[3]);
	}
}

function drawRuler(painter) {
	const step = rulerStep();

	painter.rect(0, 0, view.width, RULER, color('raised'));
	painter.text(8, RULER / 2, `${showTime(view.to - view.from)} shown`, color('dim'));
	for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
		const x = toX(time);

		painter.rect(x, RULER - 6, 1, 6, color('dim'));
		painter.text(x + 4, RULER / 2, showPoint(time, step), color('dim'));
	}
	painter.rect(0, RULER - 1, view.width, 1, color('line'));
}

// Where a track is on the picture, or null.
function placeOf(track, top) {
	for (const row of rows)
		for (const lane of row.lanes)
			if (lane.track === track)
				return { y: row.top - top + RULER + lane.y, height: lane.height };
	return null;
}

function drawOver(painter, top) {
	const { selected, range, mark } = view;

	drawBands(painter, top);

	if (mark && !many && mark.time >= view.from && mark.time <= view.to)
		painter.rect(toX(mark.time) - 0.5, RULER - 8, 1, view.height, color('accent'));

	if (range)
		painter.rect(toX(range[0]), RULER, toX(range[1]) - toX(range[0]), view.height, color('accent'), 0.16);
	for (const arrow of view.arrows) {
		const from = placeOf(arrow.from.track, top), to = placeOf(arrow.to.track, top);

		if (!from || !to)
			continue;
		const x1 = toX(arrow.from.time), x2 = toX(arrow.to.time);
		const y1 = from.y + from.height / 2, y2 = to.y + to.height / 2;

		painter.line(x1, y1, x2, y2, color('accent'));
		painter.rect(x2 - 3, y2 - 3, 6, 6, color('accent'));
	}
	if (!selected || !selected.track.spans)
		return;
	const place = placeOf(selected.track, top), { spans } = selected.track;

	if (!place)
		return;
	const x1 = Math.max(GUTTER, toX(spans.begin[selected.i]));
	const x2 = Math.min(view.width, toX(spans.end[selected.i]));

	if (x2 >= GUTTER && x1 <= view.width)
		painter.frame(x1 - 1, place.y - 1, Math.max(x2 - x1, 2) + 2, place.height + 2, color('accent'));
}

function paint(painter) {
	const top = scroller.scrollTop;

	painter.rect(0, 0, view.width, view.height, color('back'));
	for (const row of rows) {
		const y = row.top - top + RULER;

		if (y + row.height >= RULER && y <= view.height)
			drawRow(painter, row, y);
	}
	painter.rect(GUTTER - 1, RULER, 1, view.height, color('line'));
	drawOver(painter, top);
	drawUnread(painter);
	drawRuler(painter);
	drawTicks(painter);
}

// As tall as all rows together.
function sizeSpacer() {
	spacer.style.height = `${Math.max(0, totalHeight + RULER - view.height)}px`;
}

let waiting = false;
let frames = 0; // drawn so far

function draw() {
	const ratio = window.devicePixelRatio || 1;
	const width = scroller.clientWidth, height = scroller.clientHeight;

	waiting = false;
	if (width !== view.width || height !== view.height || canvas.width !== Math.round(width * ratio)) {
		view.width = width;
		view.height = height;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	sizeSpacer();
	const context = canvas.getContext('2d', { alpha: false });

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	paint(new CanvasPainter(context));
	frames++;
}

function requestDraw() {
	if (!waiting)
		requestAnimationFrame(draw);
	waiting = true;
}
