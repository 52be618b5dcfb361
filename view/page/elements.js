// SPDX-License-Identifier: GPL-2.0
// Elements, numbers and tables for the pages of blocks. Text is only ever added as text.
// A page defines redraw(), which shows its tables anew.

const byId = (id) => document.getElementById(id);

// An element with attributes and children: elements, or texts.
function make(name, attributes = {}, ...children) {
	const svg = ['svg', 'g', 'rect', 'path', 'polygon', 'text', 'tspan', 'title', 'defs', 'pattern'].includes(name);
	const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);

	for (const [key, value] of Object.entries(attributes)) {
		if (key === 'on')
			element.addEventListener('click', value);
		else if (value !== undefined && value !== false)
			element.setAttribute(key, value === true ? '' : value);
	}
	element.append(...children.filter((child) => child !== undefined && child !== null));
	return element;
}

// What every page with a search does with a key. Returns whether that was all.
function takeKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey)
		return true;
	if (event.target.matches('select, input')) {
		if (event.target === byId('query') && event.key === 'Escape')
			byId('body').focus();
	} else if (event.key === 'Enter' && event.target.matches('[role=button]')) {
		event.target.click();
	} else if (event.key === '/') {
		event.preventDefault();
		byId('query').focus();
	} else {
		return false;
	}
	return true;
}

const number = (n) => n.toLocaleString('en-US');
const times = (n) => (n === 1 ? 'once' : `${number(n)} times`);
const short = (n) => (n < 1e6 ? number(n) : n.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 }));
const hex = (n) => `+0x${n.toString(16)}`;

const tables = {}; // by what they show: the column that sorts them

// A table whose heads sort it, of at most @most rows. Columns: [head, value(row), cell(row)?]; numbers
// are aligned right.
function sortable(id, columns, rows, rowClass, most = Infinity) {
	const state = tables[id] ||= { key: -1, down: false };
	const head = make('tr'), body = make('tbody');
	const numeric = columns.map(([, value]) => rows.some((row) => typeof value(row) === 'number'));

	if (state.key >= 0) {
		const value = columns[state.key][1], sign = state.down ? -1 : 1;
		const missing = (v) => v === undefined || v === '';

		rows = [...rows].sort((a, b) => {
			const x = value(a), y = value(b);

			return missing(x) || missing(y) ? missing(x) - missing(y) : sign * (x < y ? -1 : x > y ? 1 : 0);
		});
	}
	columns.forEach(([name], i) => head.append(make('th', { class: `sort${numeric[i] ? ' n' : ''}`, tabindex: 0, role: 'button',
		'data-sort': `${id} ${i}`, on: () => sortBy(id, i, numeric[i]) },
	name + (state.key === i ? (state.down ? ' ↓' : ' ↑') : ''))));
	for (const row of rows.slice(0, most))
		body.append(make('tr', { class: rowClass(row) }, ...columns.map(([, value, cell], i) => make('td',
			{ class: numeric[i] ? 'n' : undefined }, cell ? cell(row) : value(row) ?? ''))));
	if (rows.length > most)
		body.append(make('tr', {}, make('td', { class: 'dim' }, `… ${number(rows.length - most)} more`)));
	return make('table', {}, make('thead', {}, head), body);
}

function sortBy(id, key, numeric) {
	const state = tables[id];

	state.down = state.key === key ? !state.down : numeric && key > 0;
	state.key = key;
	redraw();
}
