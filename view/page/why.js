// SPDX-License-Identifier: GPL-2.0
// Why a thread waited: the tasks, timers and devices behind a wait, as kernlens why finds them. A served
// page requests that; one in a file has it of the longest waits of each thread.

const WHY_LEAST = 0.01; // smaller parts of the wait are shown on request

let explanations = null; // of a page in a file, of each machine, by thread ID and begin

// Times and threads of an explanation, as they are on the page.
function moveNode(node, machine) {
	return { ...node, at: node.at + machine.shift, tid: node.tid && node.tid + machine.base,
		parts: node.parts.map((part) => moveNode(part, machine)) };
}

function isWait(track, i) {
	const { spans } = track;

	return track.kind === 'thread' && spans.cls[i] >= 1 && spans.cls[i] <= 3 && spans.count[i] === 1;
}

// { complete, interrupts, node }, or { error }
async function whyOf(track, i) {
	const { spans } = track, from = spans.begin[i], to = spans.end[i];

	if (served)
		return requestJson(`why?tid=${track.id}&from=${from}&to=${to}`).catch((error) => ({ error: error.message }));
	const machine = machineOf(track.id);

	if (!machine.about.explained)
		return { error: 'This page has no causes: the trace has more than a million records. kernlens view --serve, and kernlens why, have them.' };
	explanations ||= machines.map(({ about: { explained }, prefix }) => explained &&
		inflateElement(`${prefix}w0`).then((bytes) => JSON.parse(new TextDecoder().decode(bytes))));
	const node = (await explanations[machine.number])[`${ownId(track.id)} ${from - machine.shift}`];

	return node ? { complete: true, interrupts: machine.about.interrupts, node: moveNode(node, machine) } :
		{ error: 'This page has the causes of the 20 longest waits of each thread. kernlens view --serve has those of all.' };
}

// The words are those of kernlens why.
const WHY_TEXTS = {
	running: () => 'running',
	runnable: () => 'runnable, while its CPU was used by',
	wait: (node) => `waiting: ${node.text}`,
	timer: () => 'until a timer expired',
	irq: (node) => (node.text ? `device ${node.text}` : 'an interrupt'),
	softirq: (node) => (node.text ? `softirq ${node.text}` : 'a softirq'),
	disk: (node) => `disk ${node.text}`,
	idle: () => 'no task: it was waking up',
	stopped: () => 'stopped',
	function: (node) => `in ${node.text}`,
	unknown: (node) => node.text || 'unknown',
};

// Where a cause is in the picture: the thread that did it, when it did so for longest.
function whyText(node) {
	if (node.kind !== 'task')
		return WHY_TEXTS[node.kind](node);
	const track = node.tid && threadTrack(node.tid), title = `${node.text} ${node.tid ? ownId(node.tid) : ''}`;

	return track ? link(title, () => goTo(track, node.at)) : title;
}

function whyRows(node, depth, whole, all) {
	const parts = node.parts.filter((part) => all || part.ns >= WHY_LEAST * whole);
	const rows = [make('div', { class: 'why', role: 'treeitem', 'aria-level': String(depth + 1) },
		make('span', { class: 'n' }, showTime(node.ns)),
		make('span', { class: 'bar' }, make('span', {})),
		make('span', { class: 'what' }, whyText(node), node.n > 1 ? ` (${showCount(node.n)} times)` : '',
			node.uncertain ? make('span', { class: 'dim', title: 'woken, but slept again at once' }, ' ?') : null))];
	const [row] = rows;

	row.querySelector('.bar span').style.width = `${100 * node.ns / whole}%`;
	row.querySelector('.what').style.paddingLeft = `${14 * depth}px`;
	return rows.concat(...parts.map((part) => whyRows(part, depth + 1, whole, all)));
}

// What is shown of a wait in the panel.
async function whyOfWait(track, i) {
	const head = make('h2', {}, spansAreReady(track, i) ? 'Why it did not run' : 'Why it waited'), { error, node, complete, interrupts } = await whyOf(track, i);

	if (error)
		return [head, make('p', { class: 'dim' }, error)];
	const tree = make('div', { role: 'tree' }), count = (part) => 1 + part.parts.reduce((sum, each) => sum + count(each), 0);
	const fill = (all) => tree.replaceChildren(...node.parts.flatMap((part) => whyRows(part, 0, node.ns, all)));
	const shown = () => tree.childElementCount, most = count(node) - 1;

	fill(false);
	return [head, tree,
		shown() < most ? make('button', { onclick: (event) => {
			fill(true);
			event.target.remove();
		} }, `all ${most} parts`) : null,
		interrupts ? null : make('p', { class: 'dim' },
			'The trace has no interrupts: what they woke is attributed to the tasks that they interrupted.'),
		complete ? null : make('p', { class: 'dim' }, 'What was before the last 1.5 million records is unknown here.')];
}

function spansAreReady(track, i) {
	return track.spans.cls[i] === 1;
}
