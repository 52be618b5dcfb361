// SPDX-License-Identifier: GPL-2.0
// Where the time of a range went: a tree of the samples' stack traces, drawn from the outermost
// function down.

const BOX_LEAST = 0.002; // narrower parts are left out

let whose = 0; // process whose samples are shown; 0: all

// The tree of the samples in a range; a node's frame is a number as in the data.
async function treeOf(from, to, pid) {
	const samples = samplesFor(from, to), found = await samples.load(), counts = new Map();
	const root = { frame: -1, n: 0, children: new Map() };

	for (let i = 0; i < samples.n; i++)
		if (found.time[i] >= from && found.time[i] <= to && (!pid || threads[found.thread[i]].pid === pid))
			counts.set(found.path[i], (counts.get(found.path[i]) || 0) + (found.every ? found.every[i] : samples.every));
	for (const [path, n] of counts) {
		let node = root;

		root.n += n;
		for (const frame of found.paths[path]) {
			if (!node.children.has(frame))
				node.children.set(frame, { frame, n: 0, children: new Map() });
			node = node.children.get(frame);
			node.n += n;
		}
	}
	return root;
}

function frameName(node) {
	return node.frame < 0 ? 'all' : nameOf(node.frame >> 1);
}

function amount(n) {
	return about.samples.hz ? showTime(n / about.samples.hz * 1e9) : `${showCount(n)} events`;
}

// A node and what is below it, as boxes in boxes. `all`: samples of the whole width
function boxOf(node, all, total, zoomTo) {
	const kernel = node.frame >= 0 && node.frame % 2;
	const hue = node.frame < 0 ? 0 : hueOf(node.frame >> 1) % 34 + (kernel ? 196 : 18);
	const label = make('div', { class: 'label', tabindex: 0, role: 'button',
		title: `${frameName(node)}: ${amount(node.n)}, ${(100 * node.n / total).toFixed(1)}%`,
		onclick: () => zoomTo(node), onkeydown: (event) => event.key === 'Enter' && zoomTo(node) }, frameName(node));

	label.style.background = node.frame < 0 ? color('raised') : `hsl(${hue},${kernel ? 55 : 75}%,${isDark() ? 34 : 72}%)`;
	const children = [...node.children.values()].filter((child) => child.n >= BOX_LEAST * all).sort((a, b) => b.n - a.n);

	return make('div', { class: 'box' }, label, make('div', { class: 'kids' }, ...children.map((child) => {
		const box = boxOf(child, all, total, zoomTo);

		box.style.width = `${100 * child.n / node.n}%`;
		return box;
	})));
}

function processChoice() {
	const seen = new Map(threads.filter((thread) => thread.tid === thread.pid).map((thread) => [thread.pid, thread.name]));
	const choice = make('select', { 'aria-label': 'process', onchange: () => {
		whose = Number(choice.value);
		refresh();
	} }, make('option', { value: 0 }, 'all processes'),
	...[...seen].filter(([pid]) => ownId(pid)).map(([pid, name]) => make('option', { value: pid }, `${many ? `${machineOf(pid).host}: ` : ''}${name} ${ownId(pid)}`)));

	choice.value = whose;
	return choice;
}

async function showStacks(put) {
	const [from, to] = view.range || [view.from, view.to];

	if (!allSamples || !allSamples.n)
		return put(make('p', {}, 'The trace has no stack traces. Record with -e tick:99:stack for a profile, ',
			'or with :stack at an event.'));
	const root = await treeOf(from, to, whose);
	const graph = make('div', { class: 'flames' });
	const zoomTo = (node) => graph.replaceChildren(boxOf(node, node.n, root.n, node === root ? zoomTo :
		(next) => zoomTo(next === node ? root : next)));

	zoomTo(root);
	return put(make('p', {}, `${view.range ? 'Selection' : 'What is shown'}: ${amount(root.n)} in `, processChoice(),
		samplesFor(from, to).every > 1 ? ` each sample stands for ${samplesFor(from, to).every}` : ''), graph);
}
