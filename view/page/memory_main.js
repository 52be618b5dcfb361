// SPDX-License-Identifier: GPL-2.0
// The page about the memory of a process: what is shown, the selected mapping, search and keys. The
// address of the page names both.

const mappings = proc ? proc.mappings.map((mapping, index) => ({ ...mapping, index })) : [];
const RUNS = 300; // of a mapping, in the panel
let view = '', chosen = -1;

const nameOf = (mapping) => mapping.name || '[anon]';
const hugetlbOf = (sums) => sums.shared_hugetlb + sums.private_hugetlb;
const ramOf = (sums) => sums.rss + hugetlbOf(sums);
const hugeOf = (sums) => sums.anonhugepages + sums.shmempmdmapped + sums.filepmdmapped + hugetlbOf(sums);
const privateOf = (sums) => sums.private_clean + sums.private_dirty + sums.private_hugetlb;

function matchesText(text) {
	return text.toLowerCase().includes(byId('query').value.trim().toLowerCase());
}

const matches = (name, page) => matchesText(`${name} ${address(page)}`);

// Those that the search finds, by name, address or an address that is in them.
function shownMappings() {
	const text = byId('query').value.trim().toLowerCase(), at = /^(0x)?[0-9a-f]{4,16}$/.test(text) ? parseInt(text, 16) / PAGE : -1;

	return mappings.filter((mapping) => matches(`${nameOf(mapping)} ${mapping.mode}`, mapping.page) ||
		(at >= mapping.page && at < mapping.page + mapping.pages));
}

// -------------------------------------------------------------------- mappings

// Parts of a mapping's size: in each state, and the rest.
function partsOf(sums, bytes, wide) {
	const huge = Math.min(hugeOf(sums), ramOf(sums)), swapped = sums.swap + sums.migrating, rest = Math.max(0, ramOf(sums) - huge);
	const share = ramOf(sums) ? rest / ramOf(sums) : 0;
	const parts = [['huge', 'huge', huge], ['written', 'private, written', sums.private_dirty * share], ['clean', 'private, clean', sums.private_clean * share],
		['shared', 'shared', (sums.shared_clean + sums.shared_dirty) * share], ['zero', 'page of zeros', sums.zero], ['swapped', 'swapped', swapped]];

	return make('div', { class: `parts${wide ? ' wide' : ''}` }, ...parts.filter(([, , n]) => n).map(([tint, name, n]) => {
		const part = make('span', { title: `${name}: ${memory(n)}` });

		part.style.width = `${100 * n / (bytes || 1)}%`;
		part.style.background = `var(--${tint})`;
		return part;
	}));
}

const column = (head, value) => [head, value, (row) => memory(value(row))];

function mappingsTable() {
	const most = Math.max(...mappings.map((mapping) => ramOf(mapping) + mapping.swap), 1);

	return sortable('mappings', [['address', (row) => row.page, (row) => make('a', { class: 'mono', tabindex: 0, role: 'button', on: () => choose(row.index) }, address(row.page))],
		['name', nameOf, (row) => make('span', { class: 'name', title: nameOf(row) }, nameOf(row))],
		['mode', (row) => row.mode, (row) => make('span', { class: 'mono' }, row.mode)], column('size', (row) => row.pages * PAGE), column('in RAM', ramOf),
		['', () => '', (row) => partsOf(row, most)], column('its share', (row) => row.pss), column('private', privateOf),
		column('written', (row) => row.private_dirty + row.shared_dirty), column('referenced', (row) => row.referenced), column('huge', hugeOf),
		column('swapped', (row) => row.swap)],
	shownMappings(), (row) => `mapping${row.index === chosen ? ' chosen' : ''}`, 2000);
}

const dl = (pairs) => make('dl', {}, ...pairs.filter(([, value]) => value !== undefined && value !== '').flatMap(([name, value]) =>
	[make('dt', {}, name), make('dd', {}, value)]));

function sumsOf(sums) {
	const parts = (pairs) => pairs.filter(([, n]) => n).map(([name, n]) => `${name} ${memory(n)}`.trim()).join(', ');

	return dl([['in RAM', memory(ramOf(sums))], ['its share', memory(sums.pss)], ['private', `${memory(privateOf(sums))}${
		sums.private_dirty ? `, of which ${memory(sums.private_dirty)} written` : ''}`],
	['shared', parts([['written', sums.shared_dirty], ['clean', sums.shared_clean]])],
	['kinds', parts([['anonymous', sums.anonymous], ['files', sums.rss - sums.anonymous - sums.shmem], ['shared memory', sums.shmem],
		['hugetlb', hugetlbOf(sums)], ['freed lazily', sums.lazyfree]])],
	['huge pages', parts([['anonymous', sums.anonhugepages], ['files', sums.filepmdmapped], ['shared memory', sums.shmempmdmapped], ['hugetlb', hugetlbOf(sums)]])],
	['referenced', parts([['', sums.referenced], ['through this process', sums.accessed]])], ['swapped', memory(sums.swap)], ['pages of zeros', sums.zero ? memory(sums.zero) : '']]);
}

function sharersPart() {
	if (!proc.sharers)
		return [];
	return [make('h2', {}, 'Processes that map the same pages'), proc.sharers.length ? sortable('sharers', [column('shared', (row) => row.bytes),
		['pid', (row) => row.pid], ['process', (row) => row.comm]], proc.sharers, () => '', 100) : make('p', { class: 'dim' }, 'none that you may see')];
}

function mappingsPage() {
	const places = (of, name) => Object.entries(of).map(([key, bytes]) => `${name}${key} ${memory(bytes)}`).join(', ');

	return [...(proc.has_ended ? [make('p', { class: 'warning' }, 'The process has ended; these are its pages when it was last read.')] : []),
		...(proc.left_out ? [make('p', { class: 'warning' }, `The pages of ${number(proc.left_out)} runs are left out, those at the highest addresses; the sums are of all.`)] : []),
		partsOf(proc.total, ramOf(proc.total) + proc.total.swap + proc.total.zero, true), legend(schemes.state.classes),
		sumsOf(proc.total), dl([['zones', places(proc.zones, '')], ['memory nodes', Object.keys(proc.nodes).length > 1 ? places(proc.nodes, 'node ') : '']]),
		make('h2', {}, `${number(shownMappings().length)} of ${number(mappings.length)} mappings`), mappingsTable(), ...sharersPart()];
}

// ----------------------------------------------------------------------- panel

function runsTable(mapping) {
	const runs = runsOf(mapping), frames = runs.some((run) => run[8]);

	return [make('h2', {}, `${number(mapping.last - mapping.first)} runs of pages`), sortable('runs', [
		['address', (row) => row[0], (row) => make('span', { class: 'mono' }, address(row[0]))], ['pages', (row) => row[1]], ['mappings', (row) => row[3]],
		...(frames ? [['physical', (row) => row[8], (row) => make('span', { class: 'mono' }, row[8] ? address(row[8]) : '')]] : []),
		['node', (row) => row[4]], ['zone', (row) => (inRam(row) ? proc.zone_names[row[5]] || 'unknown' : '')],
		['unit', (row) => (inRam(row) ? PAGE * 2 ** row[7] : undefined), (row) => (inRam(row) ? memory(PAGE * 2 ** row[7]) : '')],
		['state', statesOf]], runs, () => '', RUNS)];
}

function panel() {
	const mapping = mappings[chosen], side = byId('side');

	side.hidden = !mapping;
	if (!mapping)
		return side.replaceChildren();
	const track = past && past.mappings.find((each) => each.is_there && each.page === mapping.page);

	return side.replaceChildren(make('div', { class: 'choices' }, make('span', { class: 'grow' }), make('button', { title: 'close (Escape)', on: () => choose(-1) }, 'close')),
		make('h2', {}, nameOf(mapping)), dl([['address', make('span', { class: 'mono' }, `${address(mapping.page)}-${address(mapping.page + mapping.pages)}`)],
			['size', `${memory(mapping.pages * PAGE)}, ${number(mapping.pages)} pages`], ['mode', mapping.mode], ['kind', mapping.kind],
			['file', mapping.inode ? `offset ${mapping.offset}, inode ${mapping.inode} of device ${mapping.device}` : ''],
			['over time', track ? make('span', {}, spark(track.rss), ` ${memory(track.rss[0])} to ${memory(track.rss.at(-1))}`) : '']]),
		sumsOf(mapping), ...runsTable(mapping));
}

// Scrolls to the selected mapping, up or down only.
function reveal() {
	const body = byId('body'), left = body.scrollLeft;

	body.querySelector('.chosen')?.scrollIntoView({ block: 'nearest' });
	body.scrollLeft = left;
}

function choose(index) {
	chosen = index === chosen ? -1 : index;
	redraw();
	reveal();
}

// The next mapping of those that are shown, or the one before.
function move(step) {
	const shown = shownMappings().filter((mapping) => view !== 'space' || mapping.last > mapping.first);
	const at = shown.findIndex((mapping) => mapping.index === chosen), next = shown[at < 0 ? 0 : at + step];

	if (next && next.index !== chosen)
		choose(next.index);
}

// ------------------------------------------------------------------------ page

const views = [['mappings', 'Mappings', proc, mappingsPage], ['space', 'Address space', proc, spacePage], ['physical', 'Physical memory', proc, physicalPage],
	['time', 'Over time', past || growth, timePage], ['code', 'Code', growth, codePage]];

function redraw() {
	const [, title, , page] = views.find(([id]) => id === view), { scrollTop: top, scrollLeft: left } = byId('body');

	views.forEach(([id], i) => byId('views').children[i].setAttribute('aria-selected', id === view));
	panel();
	byId('body').replaceChildren(...page());
	byId('body').scrollTo(left, top);
	document.title = `${byId('title').textContent}: ${title} - kernlens`;
	history.replaceState(null, '', `#${view}${chosen >= 0 ? `,${chosen}` : ''}`);
}

function show(id) {
	if (!views.find(([each, , there]) => each === id && there))
		return;
	view = id;
	redraw();
	byId('body').scrollTop = 0;
}

function fromAddress() {
	const [id, index] = location.hash.slice(1).split(',');
	const first = views.find(([, , there]) => there);

	chosen = index !== undefined && mappings[Number(index)] ? Number(index) : -1;
	view = '';
	show(id);
	if (!view)
		show(first[0]);
	reveal();
}

function setTheme() {
	document.documentElement.classList.toggle('dark');
	if (view)
		redraw();
}

const keys = { t: setTheme, j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), Escape: () => choose(-1) };

document.addEventListener('keydown', (event) => {
	if (takeKey(event))
		return;
	if (views[Number(event.key) - 1]) {
		show(views[Number(event.key) - 1][0]);
	} else if (keys[event.key] && !(event.key === 'Escape' && chosen < 0)) {
		event.preventDefault();
		keys[event.key]();
	}
});
document.addEventListener('click', (event) => {
	const row = event.target.closest('tr.mapping');

	if (row && !event.target.closest('a'))
		row.querySelector('a').click();
});
views.forEach(([id, title, there], i) => byId('views').append(make('button', { role: 'tab', 'data-view': id, title: `${title} (${i + 1})`, on: () => show(id) }, title)) ||
	(byId('views').lastChild.disabled = !there));
byId('title').textContent = proc ? `${proc.comm}-${proc.pid}` : 'growth';
byId('about-text').textContent = about || '';
byId('query').addEventListener('input', redraw);
byId('theme').addEventListener('click', setTheme);
window.addEventListener('hashchange', fromAddress);
window.addEventListener('resize', () => view === 'space' && redraw());
tables.mappings = { key: -1, down: false };
if (matchMedia('(prefers-color-scheme: dark)').matches)
	setTheme();
fromAddress();
