// SPDX-License-Identifier: GPL-2.0
// Decodes the data of a timeline (docs/format/timeline.md): numbers, the spans of a track, and levels
// of groups of them.

const CLASSES = ['running', 'ready', 'sleeping', 'blocked', 'stopped', 'failed'];
const NO_RECORD = 0xffffffff;
const FANOUT = 16; // spans of a group, and groups of the next level

async function inflateBytes(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// What an element of the page has.
function inflateElement(id) {
	const text = atob(document.getElementById(id).textContent);
	const bytes = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return inflateBytes(bytes);
}

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	byte() {
		return this.bytes[this.at++];
	}

	varint() {
		const { bytes } = this;
		let value = 0, scale = 1, byte;

		do {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	}

	zigzag() {
		const value = this.varint();

		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

// The spans of a track by column, and groups of groups of them with sums of their times.
class Spans {
	// `change`: called before there are groups.
	constructor(bytes, n, change = () => {}) {
		const reader = new Reader(bytes);
		let at = 0, record = 0, merged = 0;

		this.n = n;
		this.begin = new Float64Array(n);
		this.end = new Float64Array(n);
		this.name = new Uint32Array(n);
		this.cls = new Uint8Array(n);
		this.count = new Uint32Array(n);
		this.record = new Uint32Array(n);
		this.by = new Uint32Array(n);
		for (let i = 0; i < n; i++)
			this.begin[i] = reader.varint();
		for (let i = 0; i < n; i++) {
			this.begin[i] += at;
			at = this.begin[i] + reader.varint();
			this.end[i] = at;
		}
		for (let i = 0; i < n; i++)
			this.name[i] = reader.varint();
		for (let i = 0; i < n; i++)
			this.cls[i] = reader.byte();
		for (let i = 0; i < n; i++) {
			this.count[i] = reader.varint() + 1;
			merged += this.count[i] > 1;
		}
		for (let i = 0; i < n; i++) {
			record += reader.zigzag();
			this.record[i] = record;
		}
		for (let i = 0; i < n; i++)
			this.by[i] = reader.varint();
		this.sums = new Float64Array(merged * CLASSES.length);
		this.sumsOf = merged ? new Int32Array(n).fill(-1) : null;
		for (let i = 0, m = 0; i < n; i++) {
			if (this.count[i] === 1)
				continue;
			this.sumsOf[i] = m;
			for (let k = 0; k < CLASSES.length; k++)
				this.sums[m++] = reader.varint();
		}
		change(this);
		this.makeLevels();
	}

	// The time of a span in a class.
	timeOf(i, cls) {
		if (this.count[i] > 1)
			return this.sums[this.sumsOf[i] + cls];
		return this.cls[i] === cls ? this.end[i] - this.begin[i] : 0;
	}

	// Level 0 are the spans. Above it, each group has the begin of its first and the end of its
	// last member, times by class, the class with the most, the longest name, and a number.
	makeLevels() {
		this.levels = [];
		for (let below = this.n; below > FANOUT; below = Math.ceil(below / FANOUT))
			this.levels.push(this.makeLevel(this.levels.length, Math.ceil(below / FANOUT)));
	}

	makeLevel(level, n) {
		const below = level ? this.levels[level - 1] : null;
		const members = below ? below.n : this.n;
		const group = {
			n,
			begin: new Float64Array(n),
			end: new Float64Array(n),
			time: new Float64Array(n * CLASSES.length),
			cls: new Uint8Array(n),
			name: new Uint32Array(n),
			longest: new Float64Array(n),
			count: new Float64Array(n),
		};

		for (let g = 0; g < n; g++) {
			const from = g * FANOUT, to = Math.min(from + FANOUT, members);
			const at = g * CLASSES.length;

			group.begin[g] = (below || this).begin[from];
			group.end[g] = (below || this).end[to - 1];
			for (let i = from; i < to; i++) {
				const length = below ? below.longest[i] : this.end[i] - this.begin[i];

				for (let k = 0; k < CLASSES.length; k++)
					group.time[at + k] += below ? below.time[i * CLASSES.length + k] :
						this.timeOf(i, k);
				group.count[g] += (below || this).count[i];
				if (length >= group.longest[g]) {
					group.longest[g] = length;
					group.name[g] = (below || this).name[i];
				}
			}
			for (let k = 1; k < CLASSES.length; k++)
				if (group.time[at + k] > group.time[at + group.cls[g]])
					group.cls[g] = k;
		}
		return group;
	}

	// The first span that ends after a time, or n.
	after(time) {
		let from = 0, to = this.n;

		while (from < to) {
			const middle = (from + to) >> 1;

			if (this.end[middle] > time || (this.end[middle] === time && this.begin[middle] === time))
				to = middle;
			else
				from = middle + 1;
		}
		return from;
	}

	// The span at a time, or -1; `near`: how far an instant may be.
	at(time, near) {
		let best = -1, distance = near;

		for (let i = Math.max(0, this.after(time - near) - 1); i < this.n && this.begin[i] <= time + near; i++) {
			const away = Math.max(this.begin[i] - time, time - this.end[i], 0);

			if (away > distance || (best >= 0 && away === distance && away))
				continue;
			best = i;
			distance = away;
		}
		return best;
	}

	// Times by class in a range. Of a span that is cut, its share.
	times(from, to) {
		const sum = new Float64Array(CLASSES.length);

		this.walk(from, to, (level, i, begin, end) => {
			const inside = begin >= from && end <= to;

			if (!inside && level >= 0)
				return false;
			const share = inside ? 1 : (Math.min(end, to) - Math.max(begin, from)) / (end - begin || 1);

			for (let k = 0; k < CLASSES.length; k++)
				sum[k] += share * (level < 0 ? this.timeOf(i, k) :
					this.levels[level].time[i * CLASSES.length + k]);
			return true;
		});
		return sum;
	}

	// Visit what overlaps a range, from the top level on, until `visit` says that a group will do.
	// Level -1: a span.
	walk(from, to, visit) {
		const down = (level, first, last) => {
			const of = level < 0 ? this : this.levels[level];

			for (let i = first; i < last; i++) {
				if (of.end[i] < from)
					continue;
				if (of.begin[i] > to)
					break;
				if (!visit(level, i, of.begin[i], of.end[i]) && level >= 0)
					down(level - 1, i * FANOUT, Math.min((i + 1) * FANOUT,
						level ? this.levels[level - 1].n : this.n));
			}
		};
		const top = this.levels.length - 1;

		down(top, 0, top < 0 ? this.n : this.levels[top].n);
	}
}

// --------------------------------------------------------------------- texts

function showTime(ns) {
	const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']];
	const [scale, unit] = units.find(([least]) => Math.abs(ns) >= least) || [1, 'ns'];
	const value = ns / scale;

	return `${scale === 1 ? Math.round(value) : value.toFixed(Math.abs(value) < 10 ? 3 : Math.abs(value) < 100 ? 2 : 1)} ${unit}`;
}

// A point in time, with as many digits as a difference of `step` needs.
function showPoint(ns, step) {
	const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(step, 1)))));

	return `${(ns / 1e9).toFixed(digits)} s`;
}

// A value with its unit.
function showValue(value, unit) {
	if (unit === 'ns')
		return showTime(value);
	if (unit !== 'B')
		return `${showCount(value)}${unit ? ` ${unit}` : ''}`;
	const units = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']];
	const [scale, name] = units.find(([least]) => Math.abs(value) >= least) || [1, 'B'];

	return `${scale === 1 ? value : (value / scale).toFixed(1)} ${name}`;
}

function showCount(n) {
	return Math.round(n).toLocaleString('en');
}

function showAmount(n, what) {
	return `${showCount(n)} ${what}${n === 1 ? '' : 's'}`;
}
