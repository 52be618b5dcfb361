// SPDX-License-Identifier: GPL-2.0
// What the page shows: tracks, variables, threads and records. In a file, all of it is in the page; a served
// page requests an overview of the trace, which grows while the server reads, and windows: parts of
// it with all spans.

const { served } = about;

// Names, threads and tracks have the same numbers on the page wherever they come from.
const names = [], nameNumbers = new Map();
const threads = [], threadNumbers = new Map(); // by thread ID
const tracks = [], trackNumbers = new Map(); // by kind and ID
const counters = [];

let shownWindow = null; // { from, to, exact, samples }

function nameNumber(text) {
	let number = nameNumbers.get(text);

	if (number === undefined) {
		number = names.length;
		nameNumbers.set(text, number);
		names.push(text);
	}
	return number;
}

function nameOf(number) {
	return names[number];
}

function threadNumber(tid, pid, name) {
	let number = threadNumbers.get(tid);

	if (number === undefined) {
		number = threads.length;
		threadNumbers.set(tid, number);
		threads.push({ tid, pid: pid || tid, name: name || '' });
	}
	const thread = threads[number];

	thread.pid = pid || thread.pid;
	thread.name = name || thread.name;
	return number;
}

function threadOf(tid) {
	return threads[threadNumbers.get(tid)];
}

function shortTitle(thread) {
	return `${thread.name || '?'} ${ownId(thread.tid)}`;
}

function threadTitle(thread) {
	return `${many ? `${machineOf(thread.tid).host}: ` : ''}${shortTitle(thread)}`;
}

// The spans of a track in the overview or a window. `load`: their bytes; `change`: see Spans
class Part {
	constructor(from, load, change) {
		this.n = from.n;
		this.open = from.open;
		this.load = load;
		this.change = change;
		this.loading = null;
	}

	spans() {
		this.loading ||= this.load().then((bytes) => new Spans(bytes, this.n, this.change));
		return this.loading;
	}
}

const NOTHING = new Part({ n: 0 }, async () => new Uint8Array(0));

// A track, whose spans are loaded when they are needed.
class Track {
	constructor(index, kind, id) {
		this.index = index;
		this.kind = kind;
		this.id = id;
		this.n = 0;
		this.sums = [];
		this.overview = NOTHING;
		this.window = NOTHING;
		this.part = null; // whose spans these are
		this.spans = null;
	}

	partFor(from, to) {
		return windowHas(from, to) ? this.window : this.overview;
	}

	// Load what the picture needs.
	async load() {
		const part = this.partFor(view.from, view.to);
		const spans = await part.spans();

		if (this.part !== part && part === this.partFor(view.from, view.to)) {
			this.part = part;
			this.spans = spans;
			reselect(this);
		}
		return this.spans || spans;
	}

	isLoaded() {
		return this.part === this.partFor(view.from, view.to);
	}
}

function windowHas(from, to) {
	return shownWindow !== null && shownWindow.from <= Math.max(from, 0) && shownWindow.to >= Math.min(to, about.ns);
}

function trackOf(kind, id) {
	const key = `${kind} ${id}`;

	if (!trackNumbers.has(key)) {
		trackNumbers.set(key, tracks.length);
		tracks.push(new Track(tracks.length, kind, id));
	}
	return tracks[trackNumbers.get(key)];
}

// A variable over time: from each point on, it has that value.
class Counter {
	// `points`: to be shown until its own are loaded
	constructor(machine, from, load, points) {
		Object.assign(this, from);
		this.id += machine.base;
		this.shift = machine.shift;
		this.bytes = load;
		this.points = points;
		this.loading = null;
	}

	load() {
		this.loading ||= this.bytes().then((bytes) => {
			const reader = new Reader(bytes), { n } = this;
			const points = { time: new Float64Array(n), value: new Float64Array(n), least: Infinity, most: -Infinity };

			for (let i = 0, time = 0; i < n; i++)
				points.time[i] = this.shift + (time += reader.varint());
			for (let i = 0, value = 0; i < n; i++) {
				points.value[i] = value += reader.zigzag();
				points.least = Math.min(points.least, value);
				points.most = Math.max(points.most, value);
			}
			this.points = points;
			return points;
		});
		return this.loading;
	}

	// The point from which on its value is that at a time, or -1: it is not known yet.
	at(time) {
		let from = 0, to = this.points.time.length;

		while (from < to) {
			const middle = (from + to) >> 1;

			if (this.points.time[middle] <= time)
				from = middle + 1;
			else
				to = middle;
		}
		return from - 1;
	}
}

// Is `by` of a span a thread, plus 1? Of a thread that runs it is the CPU.
function isByThread(kind, cls) {
	return kind === 'cpu' || kind === 'disk' || (kind === 'thread' && cls === 1);
}

// Times, and numbers of names, threads and records in spans, as they are on the page.
function renumber(spans, kind, maps) {
	const { shift, first } = machines[maps.machine];

	for (let i = 0; i < spans.n; i++) {
		spans.begin[i] += shift;
		spans.end[i] += shift;
		if (spans.record[i] !== NO_RECORD)
			spans.record[i] += first;
		spans.name[i] = maps.names[spans.name[i]];
		if (spans.by[i] && isByThread(kind, spans.cls[i]))
			spans.by[i] = maps.threads[spans.by[i] - 1] + 1;
		if (!maps.exact)
			spans.record[i] = NO_RECORD;
	}
}

// What is in progress at the end of a window goes on for as long as in the overview.
function prolong(spans, all) {
	const last = spans.n - 1;
	const i = last < 0 ? -1 : all.at(spans.begin[last], 0);

	if (i >= 0 && all.begin[i] === spans.begin[last])
		spans.end[last] = Math.max(spans.end[last], all.end[i]);
}

// Add lists, and what `chunk(kind, i)` loads, as the overview or a window.
function absorb(from, level, chunk, exact = true, machine = machines[0]) {
	const maps = { names: from.names.map(nameNumber), exact, machine: machine.number }, { base } = machine;

	maps.threads = from.threads.map(([tid, pid, name]) => threadNumber(base + tid, pid && base + pid, from.names[name]));
	for (const track of tracks)
		if (machineOf(track.id) === machine)
			track[level] = NOTHING;
	from.tracks.forEach((each, i) => {
		const track = trackOf(each.kind, base + each.id);
		const part = new Part(each, chunk('t', i), (spans) => renumber(spans, each.kind, maps));

		track[level] = part;
		track.device = each.device;
		track.n = Math.max(track.overview.n, track.window.n);
		if (level === 'overview')
			track.sums = each.sums;
		else if (each.open)
			part.load = () => Promise.all([chunk('t', i)(), track.overview.spans()]).then(([bytes, all]) => {
				const { change } = part;

				part.change = (spans) => {
					change(spans);
					prolong(spans, all);
				};
				return bytes;
			});
	});
	const samples = new Samples(from.samples, chunk, maps);

	if (level === 'overview') {
		const others = counters.filter((counter) => machineOf(counter.id) !== machine);

		machine.maps = maps;
		counters.splice(0, counters.length, ...others, ...from.counters.map((each, i) => new Counter(machine, each, chunk('c', i),
			!many && counters[i] ? counters[i].points : null)));
		allSamples = many && allSamples ? new ManySamples(allSamples, samples) : samples;
		// They have rows of their own.
		if (samples.n)
			samples.load().then(() => {
				makeRows();
				requestDraw();
			});
	}
	return samples;
}

// ------------------------------------------------------------------- records

// Records come in blocks: { index, n, first, last, from, data }
const SERVED_BLOCK = 500, SERVED_BLOCKS_MAX = 200;
const blocks = machines.flatMap((machine) => (machine.about.blocks || []).map(([n, first, last], index) => ({ index, machine, n,
	first: first + machine.shift, last: last + machine.shift, from: 0, data: null })));
const servedBlocks = new Map(); // by index, the latest last

blocks.reduce((from, block) => {
	block.from = from;
	return from + block.n;
}, 0);

function servedBlock(index) {
	const block = servedBlocks.get(index) || { index, from: index * SERVED_BLOCK, n: 0, data: null };

	servedBlocks.delete(index);
	servedBlocks.set(index, block);
	if (servedBlocks.size > SERVED_BLOCKS_MAX)
		servedBlocks.delete(servedBlocks.keys().next().value);
	// It may have been loaded when the server had read fewer.
	if (block.n < SERVED_BLOCK && block.from + block.n < about.records) {
		block.n = Math.min(SERVED_BLOCK, about.records - block.from);
		block.data = null;
	}
	return block;
}

// The block of a record, or undefined: it is not in the page.
function blockOf(number) {
	if (!(number >= 0 && number < about.records))
		return undefined;
	if (served)
		return servedBlock(Math.floor(number / SERVED_BLOCK));
	let from = 0, to = blocks.length;

	while (from + 1 < to) {
		const middle = (from + to) >> 1;

		if (blocks[middle].from <= number)
			from = middle;
		else
			to = middle;
	}
	return blocks[from];
}

function newBlockData(n) {
	return { time: new Float64Array(n), cpu: new Uint16Array(n), thread: new Uint32Array(n), name: new Uint32Array(n), text: [] };
}

function decodeBlock(block, bytes) {
	const reader = new Reader(bytes), { n } = block, data = newBlockData(n), { maps } = block.machine;
	let time = block.first;

	for (let i = 0; i < n; i++)
		data.time[i] = time += reader.zigzag();
	for (let i = 0; i < n; i++)
		data.cpu[i] = reader.varint();
	for (let i = 0; i < n; i++)
		data.thread[i] = maps.threads[reader.varint()];
	for (let i = 0; i < n; i++)
		data.name[i] = maps.names[reader.varint()];
	data.text = new TextDecoder().decode(bytes.subarray(reader.at)).split('\0');
	return data;
}

async function requestBlock(block) {
	const list = await requestJson(`records?from=${block.from}&n=${block.n}`), data = newBlockData(list.length);

	list.forEach(([time, cpu, tid, pid, comm, name, text], i) => {
		data.time[i] = time;
		data.cpu[i] = cpu;
		data.thread[i] = threadNumber(tid, pid, threadNumbers.has(tid) ? '' : comm);
		data.name[i] = nameNumber(name);
		data.text.push(text);
	});
	return data;
}

function servedRecord([time, cpu, tid, pid, comm, name, text]) {
	return { time, cpu, thread: threads[threadNumber(tid, pid, threadNumbers.has(tid) ? '' : comm)], name, text };
}

function loadBlock(block) {
	block.data ||= served ? requestBlock(block) :
		inflateElement(`${block.machine.prefix}r${block.index}`).then((bytes) => decodeBlock(block, bytes));
	return block.data;
}

// A record by its number, or null: it is not in the page.
async function recordAt(number) {
	const block = blockOf(number);

	if (!block)
		return null;
	return recordIn(block, await loadBlock(block), number - block.from);
}

function recordIn(block, data, i) {
	return { number: block.from + i, time: data.time[i], cpu: data.cpu[i], thread: threads[data.thread[i]],
		name: nameOf(data.name[i]), text: data.text[i], machine: block.machine ? block.machine.number : 0 };
}

// The number of the first record at or after a time, of the machine whose records the table shows.
async function recordAfter(time) {
	if (served)
		return requestJson(`number?ns=${Math.max(0, Math.ceil(time))}`);
	const block = blocks.find((b) => b.machine === tableMachine && b.last >= time);

	if (!block)
		return recordRange().to;
	const data = await loadBlock(block), i = data.time.findIndex((t) => t >= time);

	return block.from + (i < 0 ? block.n : i);
}

// ------------------------------------------------------------------- samples

// Events with stack traces of the overview or a window.
class Samples {
	constructor(from, chunk, maps) {
		Object.assign(this, from);
		this.chunk = chunk;
		this.maps = maps;
		this.loading = null;
		this.found = null; // once they are loaded
	}

	// { time, thread, path, paths }
	load() {
		this.loading ||= Promise.all([this.chunk('s', 0)(), this.chunk('s', 1)()]).then(([columns, list]) => {
			const reader = new Reader(columns), { n } = this;
			const found = { time: new Float64Array(n), thread: new Uint32Array(n), path: new Uint32Array(n), paths: [] };

			for (let i = 0, time = 0; i < n; i++)
				found.time[i] = machines[this.maps.machine].shift + (time += reader.zigzag());
			for (let i = 0; i < n; i++)
				found.thread[i] = this.maps.threads[reader.varint()];
			for (let i = 0; i < n; i++)
				found.path[i] = reader.varint();
			const frames = new Reader(list);

			for (let i = 0; i < this.paths; i++)
				found.paths.push(Array.from({ length: frames.varint() }, () => {
					const frame = frames.varint();

					return this.maps.names[frame >> 1] * 2 + frame % 2;
				}));
			this.found = found;
			return found;
		});
		return this.loading;
	}
}

// Those of two machines.
class ManySamples {
	constructor(one, other) {
		this.parts = [one, other];
		this.n = one.n + other.n;
		this.hz = about.samples.hz;
		this.every = Math.max(one.every, other.every);
		this.loading = null;
		this.found = null;
	}

	load() {
		this.loading ||= Promise.all(this.parts.map((part) => (part.n ? part.load() : null))).then((parts) => {
			const found = { time: new Float64Array(this.n), thread: new Uint32Array(this.n), path: new Uint32Array(this.n),
				every: new Float64Array(this.n), paths: [] };
			let at = 0;

			parts.forEach((part, k) => {
				if (!part)
					return;
				found.time.set(part.time, at);
				found.thread.set(part.thread, at);
				found.path.set(part.path.map((path) => path + found.paths.length), at);
				if (part.every)
					found.every.set(part.every, at);
				else
					found.every.fill(this.parts[k].every, at, at + part.time.length);
				found.paths.push(...part.paths);
				at += part.time.length;
			});
			this.found = found;
			return found;
		});
		return this.loading;
	}
}

let allSamples = null; // of the overview

function samplesFor(from, to) {
	return windowHas(from, to) ? shownWindow.samples : allSamples;
}
