// SPDX-License-Identifier: GPL-2.0
// The memory of the process over time: curves of the reads, of each mapping, and of a recording.

const PLOT = { width: 1000, height: 180, left: 76, right: 12, top: 8, bottom: 20 };

// 1, 2 or 5 times a power of ten, of bytes or a larger unit of them: at most @most of them in a range.
function stepOf(range, isBytes, most = 4) {
	const base = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log(range || 1) / Math.log(1024))) : 1;
	const power = base * 10 ** Math.floor(Math.log10(range / base / most || 1));

	return [1, 2, 5, 10].map((n) => n * power).find((step) => range / step <= most) || 10 * power;
}

const spellTime = (s) => `${s.toFixed(s < 10 ? 2 : s < 100 ? 1 : 0)} s`;

// A small curve, from the least to the greatest value.
function spark(values) {
	const least = Math.min(...values), most = Math.max(...values), n = Math.max(1, values.length - 1);
	const points = values.map((v, i) => `${(i / n * 108 + 1).toFixed(1)},${most > least ? (14 - (v - least) / (most - least) * 12).toFixed(1) : 8}`);

	return make('svg', { class: `spark${most > least ? '' : ' still'}`, viewBox: '0 0 110 16', preserveAspectRatio: 'none' },
		make('path', { d: `M${points.join('L')}` }));
}

// Curves with one axis. @at: seconds of each value; @curves: [name, color, values]. Stairs: the value
// is of the time before it.
function plot(title, at, curves, { spell = memory, bars = false } = {}) {
	const { width, height, left, right, top, bottom } = PLOT, first = at[0], last = at.at(-1) > first ? at.at(-1) : first + 1;
	const all = curves.flatMap(([, , values]) => values), most = Math.max(...all, 0) || 1, least = Math.min(...all, 0);
	const x = (s) => left + (s - first) / (last - first) * (width - left - right);
	const y = (v) => height - bottom - (v - least) / (most - least) * (height - top - bottom);
	const svg = make('svg', { role: 'img', 'aria-label': title, viewBox: `0 0 ${width} ${height}` }), mark = make('g');
	const values = curves.map(([name, tint]) => {
		const text = make('span'), box = make('i');

		box.style.background = `var(--${tint})`;
		return { text, element: make('span', {}, box, name, ' ', text) };
	});
	const step = stepOf(most - least, spell === memory), stepX = stepOf(last - first, false, 10);

	for (let v = Math.ceil(least / step) * step; v <= most * 1.0001; v += step)
		svg.append(make('path', { class: 'grid', d: `M${left},${y(v)}H${width - right}` }), make('text', { x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, spell(v)));
	for (let s = Math.ceil(first / stepX) * stepX; s <= last * 1.0001; s += stepX)
		svg.append(make('path', { class: 'grid', d: `M${x(s)},${top}V${height - bottom}` }), make('text', { x: x(s), y: height - 5, 'text-anchor': 'middle' }, spellTime(s)));
	for (const [name, tint, each] of curves) {
		const line = make('path', { class: 'curve', 'data-curve': name, d: `M${each.map((v, i) => (bars && i ? `${x(at[i - 1]).toFixed(1)},${y(v).toFixed(1)}L` : '') +
			`${x(at[i]).toFixed(1)},${y(v).toFixed(1)}`).join('L')}` });

		line.style.stroke = `var(--${tint})`;
		svg.append(line);
	}
	svg.append(mark);
	const show = (i) => curves.forEach(([, , each], c) => {
		values[c].text.textContent = i < 0 ? `${spell(each.at(-1))} at the end` : `${spell(each[i])} at ${spellTime(at[i])}`;
	});

	svg.addEventListener('pointermove', (event) => {
		const box = svg.getBoundingClientRect(), s = first + ((event.clientX - box.left) * width / box.width - left) / (width - left - right) * (last - first);
		const i = at.reduce((best, each, k) => (Math.abs(each - s) < Math.abs(at[best] - s) ? k : best), 0);

		mark.replaceChildren(make('path', { class: 'cursor', d: `M${x(at[i])},${top}V${height - bottom}` }));
		show(i);
	});
	svg.addEventListener('pointerleave', () => {
		mark.replaceChildren();
		show(-1);
	});
	show(-1);
	return make('figure', {}, make('figcaption', { class: 'legend' }, make('b', {}, title), ...values.map(({ element }) => element)), svg);
}

// -------------------------------------------------------------------- reads

function readsPart() {
	const { points } = past, at = points.map(([ns]) => (ns - points[0][0]) / 1e9);
	const rates = (column) => points.map((point, i) => (i ? point[column] / (at[i] - at[i - 1] || 1) : 0));
	const swaps = points.some((point) => point[3] || point[7] || point[8]);

	return [make('h2', {}, `${number(past.reads)} reads in ${spellTime(at.at(-1))}`),
		...(past.together > 1 ? [make('p', { class: 'dim' }, `Each point is ${past.together} reads.`)] : []),
		plot('Memory', at, [['in RAM', 'line-1', points.map((point) => point[1] + point[4])], ['its share', 'line-2', points.map((point) => point[2])],
			...(swaps ? [['swapped', 'line-3', points.map((point) => point[3])]] : [])]),
		plot('Changes per second', at, [['arrived', 'line-1', rates(5)], ['gone', 'line-3', rates(6)], ['written', 'line-5', rates(9)],
			...(swaps ? [['swapped out', 'line-4', rates(7)], ['swapped in', 'line-2', rates(8)]] : [])], { bars: true })];
}

function tracksPart() {
	const rows = past.mappings.filter(({ name, page }) => matches(name || '[anon]', page));
	const left = past.n_mappings - past.mappings.length;

	return [make('h2', {}, 'Growth by mapping'),
		...(past.untracked ? [make('p', { class: 'warning' }, `${number(past.untracked)} mappings are missing: there was no room for more.`)] : []),
		...(left > 0 ? [make('p', { class: 'dim' }, `${number(left)} mappings that changed less are left out.`)] : []),
		sortable('tracks', [['address', (row) => row.page, (row) => make('span', { class: 'mono' }, address(row.page))],
			['at first', (row) => row.rss[0], (row) => memory(row.rss[0])], ['at the end', (row) => row.rss.at(-1), (row) => memory(row.rss.at(-1))],
			['growth', (row) => row.rss.at(-1) - row.rss[0], (row) => memory(row.rss.at(-1) - row.rss[0])],
			['most', (row) => Math.max(...row.rss), (row) => memory(Math.max(...row.rss))], ['', () => '', (row) => spark(row.rss)],
			['name', (row) => row.name || '[anon]', (row) => (row.is_there ? row.name || '[anon]' : `${row.name || '[anon]'} (gone)`)]], rows, () => '', 200)];
}

// ---------------------------------------------------------------- a recording

// What is there at the end of each interval, of what came during the recording.
function thereOf(touched, freed, unit = 1) {
	let there = 0;

	return touched.map((bytes, i) => (there += (bytes - freed[i]) * unit));
}

function recordingPart() {
	const { begin_ns: begin, end_ns: end, interval_ns: interval, touched, freed, kept } = growth.history, n = touched.length;
	const length = (end - begin) / 1e9, at = [0, ...touched.map((bytes, i) => Math.min(length, (i + 1) * interval / 1e9))];
	const rates = (values) => [0, ...values.map((v, i) => v / (at[i + 1] - at[i] || 1))];

	if (!n)
		return [make('p', {}, 'No page fault was recorded.')];
	return [make('h2', {}, `A recording of ${spellTime(length)}`), ...growthNotes(),
		plot('What came during it and was there then', at, [['there', 'line-1', [0, ...thereOf(touched, freed)]]]),
		plot('Per second', at, [['touched', 'line-1', rates(touched)], ['given back', 'line-3', rates(freed)],
			['kept to the end', 'line-2', rates(kept)]], { bars: true })];
}

function growthNotes() {
	return [...(growth.gaps ? [make('p', { class: 'warning' },
		`Records are missing at ${number(growth.gaps)} places: pages may be missing, or have been given back.`)] : []),
	...(growth.sized ? [] : [make('p', { class: 'warning' }, 'Each page fault counts as one page: the trace does not have the variable rss.')]),
	...(growth.again ? [make('p', { class: 'dim' }, `${memory(growth.again)} came twice: it had been reclaimed in between.`)] : [])];
}

function timePage() {
	return [...(past ? [...readsPart(), ...tracksPart()] : []), ...(growth ? recordingPart() : [])];
}
