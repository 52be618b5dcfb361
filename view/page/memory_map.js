// SPDX-License-Identifier: GPL-2.0
// The pages of a process as cells: of each mapping, and of physical memory.

const { process: proc, history: past, growth, about } = JSON.parse(byId('memory').textContent);
const PAGE = 4096, CELL = 7, LINES = 24, SPACES = 400;
const P = proc ? proc.states : {};

function memory(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
	let n = bytes, i = 0;

	while (Math.abs(n) >= 1024 && i < units.length - 1) {
		n /= 1024;
		i++;
	}
	return bytes === 0 ? '0' : `${Math.abs(n) >= 100 || i < 1 ? n.toFixed(0) : n.toFixed(1)} ${units[i]}`;
}

// Addresses can have 64 bits, and numbers of pages are exact.
const address = (page) => `${page.toString(16)}000`;
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const inRam = (run) => run.length > 3;
const endOf = (run) => run[0] + run[1];

// ------------------------------------------------------------- colors of pages

// Each has classes with a name and a color, and finds the class of a run.
const schemes = {
	state: {
		classes: [['swapped', 'swapped'], ['page of zeros', 'zero'], ['huge', 'huge'], ['shared', 'shared'],
			['private, written', 'written'], ['private, clean', 'clean']],
		of: ([, , flags, mappings, , , order]) => {
			if (flags & (P.swapped | P.migrating))
				return 0;
			if (flags & P.zero)
				return 1;
			if (order)
				return 2;
			if (mappings > 1)
				return 3;
			return flags & (P.written | P.dirty) ? 4 : 5;
		},
	},
	use: {
		classes: [['accessed through this mapping', 'written'], ['referenced otherwise', 'clean'], ['not referenced', 'zero'],
			['not in RAM', 'swapped']],
		of: (run) => (!inRam(run) ? 3 : run[2] & P.accessed ? 0 : run[2] & P.referenced ? 1 : 2),
	},
	mappings: {
		classes: [['mapped once', 'clean'], ['2 to 3 times', 'shared'], ['4 to 15 times', 'huge'], ['more often', 'swapped'], ['not in RAM', 'zero']],
		of: (run) => (!inRam(run) ? 4 : run[3] < 2 ? 0 : run[3] < 4 ? 1 : run[3] < 16 ? 2 : 3),
	},
	kind: {
		classes: [['anonymous', 'written'], ['file', 'shared'], ['shared memory', 'huge'], ['hugetlb', 'line-5'], ['not in RAM', 'zero']],
		of: (run) => {
			if (!inRam(run))
				return 4;
			if (run[2] & P.hugetlb)
				return 3;
			return run[2] & P.anon ? 0 : run[2] & P.swapbacked ? 2 : 1;
		},
	},
	place: placeScheme(),
};
let scheme = 'state';

// Zones of memory nodes, as far as the process has memory there.
function placeScheme() {
	const palette = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'shared', 'huge'], found = new Map();

	for (const run of proc ? proc.runs : [])
		if (inRam(run))
			found.set(run[4] * 16 + run[5], `node ${run[4]}, ${proc.zone_names[run[5]] || 'unknown'}`);
	const keys = [...found.keys()].sort((a, b) => a - b);

	return {
		classes: [...keys.map((key, i) => [found.get(key), palette[i % palette.length]]), ['not in RAM', 'zero']],
		of: (run) => (inRam(run) ? keys.indexOf(run[4] * 16 + run[5]) : keys.length),
	};
}

function legend(classes) {
	return make('div', { class: 'legend' }, ...classes.map(([name, tint]) => {
		const box = make('i');

		box.style.background = `var(--${tint})`;
		return make('span', {}, box, name);
	}), make('span', { class: 'dim' }, 'paler: not all pages are there'));
}

// ------------------------------------------------------------------- mappings

const runsOf = (mapping) => proc.runs.slice(mapping.first, mapping.last);

// Sums of the pages of cells of 2^@order pages by class.
function cellsOf(mapping, order, of, n) {
	const size = 2 ** order, cells = Math.ceil(mapping.pages / size), sums = new Float64Array(cells * n);

	for (let r = mapping.first; r < Math.min(mapping.last, proc.runs.length); r++) {
		const run = proc.runs[r], kind = of(run);
		let at = run[0] - mapping.page, left = run[1];

		while (left > 0) {
			const cell = Math.floor(at / size), part = Math.min(left, (cell + 1) * size - at);

			sums[cell * n + kind] += part;
			at += part;
			left -= part;
		}
	}
	return { sums, cells };
}

function cellColor(sums, at, n, pages, tints) {
	let most = 0, all = 0;

	for (let i = 0; i < n; i++) {
		all += sums[at * n + i];
		if (sums[at * n + i] > sums[at * n + most])
			most = i;
	}
	return all ? [tints[most], all >= pages ? 1 : 0.35 + 0.5 * all / pages] : null;
}

function draw(canvas, mapping) {
	const { classes, of } = schemes[scheme], columns = canvas.columns, size = 2 ** canvas.order;
	const { sums, cells } = cellsOf(mapping, canvas.order, of, classes.length);
	const ratio = devicePixelRatio || 1, lines = Math.ceil(cells / columns), context = canvas.getContext('2d');
	const tints = classes.map(([, name]) => color(name)), absent = color('absent');

	canvas.width = Math.min(columns, cells) * CELL * ratio;
	canvas.height = lines * CELL * ratio;
	context.scale(ratio, ratio);
	for (let i = 0; i < cells; i++) {
		const pages = Math.min(size, mapping.pages - i * size), tint = cellColor(sums, i, classes.length, pages, tints);

		[context.fillStyle, context.globalAlpha] = tint || [absent, 1];
		context.fillRect(i % columns * CELL, Math.floor(i / columns) * CELL, CELL - 1, CELL - 1);
	}
	canvas.drawn = true;
}

// The pages of the cell at the pointer.
function cellAt(canvas, mapping, event) {
	const box = canvas.getBoundingClientRect(), size = 2 ** canvas.order;
	const i = Math.floor((event.clientY - box.top) / CELL) * canvas.columns + Math.floor((event.clientX - box.left) / CELL);
	const first = mapping.page + i * size, end = Math.min(first + size, mapping.page + mapping.pages);

	return i >= 0 && first < end ? [first, end] : null;
}

const statesOf = (run) => Object.entries(P).filter(([, bit]) => run[2] & bit).map(([name]) => name).join(', ');

function runText(run) {
	const text = [`${address(run[0])}: ${number(run[1])} page${run[1] === 1 ? '' : 's'}`];

	if (inRam(run)) {
		text.push(`mapped ${times(run[3])}`, `node ${run[4]}, zone ${proc.zone_names[run[5]] || 'unknown'}`);
		if (run[7])
			text.push(`in units of ${memory(PAGE * 2 ** run[7])}`);
		if (run[8])
			text.push(`physical ${address(run[8])}`);
	}
	return `${text.join(', ')}\n  ${statesOf(run)}`;
}

function cellText(mapping, [first, end]) {
	const runs = runsOf(mapping).filter((run) => run[0] < end && endOf(run) > first);
	const there = runs.reduce((sum, run) => sum + Math.min(endOf(run), end) - Math.max(run[0], first), 0);

	return [`${address(first)}-${address(end)}: ${number(there)} of ${number(end - first)} page${end - first === 1 ? '' : 's'}`,
		...runs.slice(0, 4).map(runText), ...(runs.length > 4 ? [`and ${number(runs.length - 4)} more runs of pages`] : [])].join('\n');
}

function showTip(event, text) {
	const tip = byId('tip');

	tip.hidden = !text;
	tip.textContent = text || '';
	tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 480)}px`;
	tip.style.top = `${Math.min(event.clientY + 14, innerHeight - 40 - tip.offsetHeight)}px`;
}

function spaceOf(mapping, width, observer) {
	const columns = Math.max(16, Math.floor(width / CELL));
	const canvas = make('canvas'), chosenNow = mapping.index === chosen;
	const element = make('div', { class: `space${chosenNow ? ' chosen' : ''}`, 'data-mapping': mapping.index, on: () => choose(mapping.index) });

	canvas.columns = columns;
	canvas.order = 0;
	while (mapping.pages > columns * LINES * 2 ** canvas.order)
		canvas.order++;
	const lines = Math.ceil(Math.ceil(mapping.pages / 2 ** canvas.order) / columns);

	canvas.style.height = `${lines * CELL}px`;
	canvas.style.width = `${Math.min(columns, Math.ceil(mapping.pages / 2 ** canvas.order)) * CELL}px`;
	canvas.setAttribute('role', 'img');
	canvas.setAttribute('aria-label', `pages of ${nameOf(mapping)}`);
	canvas.mapping = mapping;
	canvas.addEventListener('pointermove', (event) => {
		const cell = cellAt(canvas, mapping, event);

		showTip(event, cell && cellText(mapping, cell));
	});
	canvas.addEventListener('pointerleave', (event) => showTip(event, ''));
	element.append(make('p', {}, make('span', { class: 'mono' }, `${address(mapping.page)} ${mapping.mode}`), make('b', {}, nameOf(mapping)),
		make('span', { class: 'dim' }, `${memory(ramOf(mapping))} of ${memory(mapping.pages * PAGE)} in RAM${
			mapping.swap ? `, ${memory(mapping.swap)} swapped` : ''}; a cell is ${memory(PAGE * 2 ** canvas.order)}`)), canvas);
	observer.observe(canvas);
	return element;
}

function schemeChoice() {
	const names = { state: 'state', use: 'use', mappings: 'number of mappings', kind: 'kind', place: 'memory node and zone' };
	const choice = make('select', { id: 'scheme', 'aria-label': 'color by' }, ...Object.entries(names).map(([key, name]) =>
		make('option', { value: key }, name)));

	choice.value = scheme;
	choice.addEventListener('change', () => {
		scheme = choice.value;
		redraw();
	});
	return make('div', { class: 'choices' }, make('label', {}, 'color by ', choice));
}

function spacePage() {
	const width = byId('body').clientWidth - 50;
	const observer = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
		if (isIntersecting && !target.drawn)
			draw(target, target.mapping);
	}), { root: byId('body'), rootMargin: '300px' });
	const all = shownMappings().filter((mapping) => mapping.last > mapping.first);

	return [schemeChoice(), legend(schemes[scheme].classes), ...all.slice(0, SPACES).map((mapping) => spaceOf(mapping, width, observer)),
		...(all.length > SPACES ? [make('p', { class: 'dim' }, `${number(all.length - SPACES)} further mappings: search for them by name or address.`)] : [])];
}

// ------------------------------------------------------------ physical memory

let byFrame = null, longest = 1;

// Runs by frame number, to find which mapping a frame belongs to.
function runsByFrame() {
	if (!byFrame) {
		byFrame = [];
		for (const mapping of mappings)
			for (let r = mapping.first; r < Math.min(mapping.last, proc.runs.length); r++)
				if (proc.runs[r][8])
					byFrame.push([proc.runs[r][8], proc.runs[r][1], mapping.index]);
		byFrame.sort((a, b) => a[0] - b[0]);
		longest = byFrame.reduce((most, [, pages]) => Math.max(most, pages), 1);
	}
	return byFrame;
}

// Mappings that have frames in a range.
function mappingsAt(first, end) {
	const found = new Set(), all = runsByFrame();
	let low = 0, high = all.length;

	// A run that begins earlier than this ends before the range.
	while (low < high) {
		const middle = (low + high) >> 1;

		if (all[middle][0] > first - longest)
			high = middle;
		else
			low = middle + 1;
	}
	for (let i = low; i < all.length && all[i][0] < end; i++)
		if (all[i][0] + all[i][1] > first)
			found.add(all[i][2]);
	return [...found].map((index) => mappings[index]);
}

const WIDTH = 128; // cells of a line, 2^7

// Lines of 2^order frames that have any, at most 48.
function linesOf(ranges) {
	for (let order = 7; ; order++) {
		const lines = new Map(), size = 2 ** (order - 7);

		for (const [frame, pages, node, zone] of ranges) {
			for (let at = frame, left = pages; left > 0;) {
				const cell = Math.floor(at / size), part = Math.min(left, (cell + 1) * size - at), line = Math.floor(cell / WIDTH);

				if (!lines.has(line))
					lines.set(line, { node, zone, pages: new Float64Array(WIDTH) });
				lines.get(line).pages[cell % WIDTH] += part;
				at += part;
				left -= part;
			}
			if (lines.size > 48)
				break;
		}
		if (lines.size <= 48)
			return { order, size, lines: [...lines].sort((a, b) => a[0] - b[0]) };
	}
}

function framesMap() {
	const { size, lines } = linesOf(proc.ranges), CELLS = 9, LEFT = 190, ratio = devicePixelRatio || 1;
	const canvas = make('canvas', { id: 'frames', role: 'img', 'aria-label': 'physical memory' }), context = canvas.getContext('2d');
	const cellOf = (event) => {
		const box = canvas.getBoundingClientRect(), line = lines[Math.floor((event.clientY - box.top) / CELLS)];
		const x = Math.floor((event.clientX - box.left - LEFT) / CELLS);

		return line && x >= 0 && x < WIDTH && line[1].pages[x] ? [(line[0] * WIDTH + x) * size, line[1], x] : null;
	};

	canvas.width = (LEFT + WIDTH * CELLS) * ratio;
	canvas.height = lines.length * CELLS * ratio;
	canvas.style.width = `${LEFT + WIDTH * CELLS}px`;
	canvas.style.height = `${lines.length * CELLS}px`;
	context.scale(ratio, ratio);
	context.font = '9px monospace';
	context.textBaseline = 'top';
	const [there, absent, dim] = ['written', 'absent', 'dim'].map(color);

	lines.forEach(([line, { pages, zone, node }], y) => {
		context.fillStyle = dim;
		context.globalAlpha = 1;
		context.fillText(`${address(line * WIDTH * size).padStart(13)} node ${node} ${proc.zone_names[zone] || ''}`, 0, y * CELLS);
		for (let x = 0; x < WIDTH; x++) {
			context.fillStyle = pages[x] ? there : absent;
			context.globalAlpha = pages[x] ? 0.25 + 0.75 * pages[x] / size : 1;
			context.fillRect(LEFT + x * CELLS, y * CELLS, CELLS - 1, CELLS - 1);
		}
	});
	canvas.addEventListener('pointermove', (event) => {
		const cell = cellOf(event);

		if (!cell)
			return showTip(event, '');
		const [first, { pages }, x] = cell, at = mappingsAt(first, first + size);

		return showTip(event, [`physical ${address(first)}: ${number(pages[x])} of ${number(size)} pages are of this process`,
			...at.slice(0, 6).map(nameOf), ...(at.length > 6 ? [`and ${number(at.length - 6)} more mappings`] : [])].join('\n'));
	});
	canvas.addEventListener('pointerleave', (event) => showTip(event, ''));
	canvas.addEventListener('click', (event) => {
		const cell = cellOf(event), at = cell ? mappingsAt(cell[0], cell[0] + size) : [];

		if (at.length)
			choose(at[0].index);
	});
	return [make('p', { class: 'dim' }, `A cell is ${memory(size * PAGE)}; the darker, the more of it is this process's. Lines without any are left out. `
		+ 'A click selects the mapping.'), canvas];
}

function lengthsTable() {
	const lengths = new Map();

	for (const [, pages] of proc.ranges) {
		const order = Math.floor(Math.log2(pages)), sum = lengths.get(order) || { from: 2 ** order * PAGE, ranges: 0, bytes: 0 };

		sum.ranges++;
		sum.bytes += pages * PAGE;
		lengths.set(order, sum);
	}
	return sortable('lengths', [['length from', (row) => row.from, (row) => memory(row.from)], ['ranges', (row) => row.ranges, (row) => number(row.ranges)],
		['memory', (row) => row.bytes, (row) => memory(row.bytes)]], [...lengths.values()].sort((a, b) => a.from - b.from), () => '');
}

function physicalPage() {
	if (!proc.ranges)
		return [make('p', {}, 'Where these pages are in physical memory requires CAP_SYS_ADMIN.')];
	return [make('h2', {}, 'Physical memory'), ...(proc.n_ranges > proc.ranges.length ? [make('p', { class: 'warning' },
		`${number(proc.n_ranges - proc.ranges.length)} ranges are left out: those at the highest addresses.`)] : []), ...framesMap(),
	make('h2', {}, `${number(proc.n_ranges)} contiguous ranges, by length`), lengthsTable(), make('h2', {}, 'All ranges'),
	sortable('ranges', [['address', (row) => row[0], (row) => make('span', { class: 'mono' }, address(row[0]))], ['size', (row) => row[1], (row) => memory(row[1] * PAGE)],
		['node', (row) => row[2]], ['zone', (row) => proc.zone_names[row[3]] || 'unknown']], proc.ranges, () => '', 1000)];
}
