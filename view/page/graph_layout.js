// SPDX-License-Identifier: GPL-2.0
// Lays a control-flow graph out in layers: edges lead down, except those that close a loop, which run
// up beside the blocks. Input: nodes with sizes, in the order of their addresses, and edges.
// Output: a position for each node and a curve for each edge.

const LAYOUT = { across: 26, between: 16, gap: 34, gapMost: 90, port: 16, rounds: 14 };

// Depth first from the roots, in order. Returns the nodes in reverse postorder; marks edges that
// lead back to a node on the way (edge.back).
function orderNodes(nodes, roots) {
	const state = new Uint8Array(nodes.length), order = [];

	for (const root of roots) {
		const stack = state[root] ? [] : [{ node: root, next: 0 }];

		state[root] = state[root] || 1;
		while (stack.length) {
			const top = stack[stack.length - 1], edge = nodes[top.node].out[top.next++];

			if (!edge) {
				state[top.node] = 2;
				order.push(top.node);
				stack.pop();
			} else if (state[edge.to] === 1) {
				edge.back = true;
			} else if (!state[edge.to]) {
				state[edge.to] = 1;
				stack.push({ node: edge.to, next: 0 });
			}
		}
	}
	return order.reverse();
}

// Put each node below all that lead to it; a node that nothing leads to, just above what it leads to.
function setLayers(nodes, order) {
	for (const node of nodes)
		node.layer = 0;
	for (const index of order)
		for (const edge of nodes[index].out)
			if (!edge.back)
				nodes[edge.to].layer = Math.max(nodes[edge.to].layer, nodes[index].layer + 1);
	for (const node of nodes) {
		const below = node.out.filter((edge) => !edge.back).map((edge) => nodes[edge.to].layer);

		if (node.index && !node.in.some((edge) => !edge.back) && below.length)
			node.layer = Math.max(node.layer, Math.min(...below) - 1);
	}
}

// An item is a node, or where an edge crosses a layer. Links join items of adjacent layers; a
// neighbour beside is in the same layer, where an edge that leads up turns.
function makeItem(layers, layer, node) {
	const item = { node, layer, width: node ? node.width : 2, up: [], down: [], beside: null, x: 0 };

	(layers[layer] ||= []).push(item);
	return item;
}

function makeItems(nodes, edges, order) {
	const layers = [];
	const join = (upper, lower) => {
		upper.down.push(lower);
		lower.up.push(upper);
	};

	for (const index of order)
		nodes[index].item = makeItem(layers, nodes[index].layer, nodes[index]);
	for (const edge of edges) {
		const upper = nodes[edge.back ? edge.to : edge.from], lower = nodes[edge.back ? edge.from : edge.to];
		let last = edge.back ? null : upper.item;

		edge.items = [];
		for (let k = upper.layer + (edge.back ? 0 : 1); k < lower.layer + (edge.back ? 1 : 0); k++) {
			const item = makeItem(layers, k, null);

			if (last)
				join(last, item);
			else
				item.beside = upper.item;
			if (edge.back && k === lower.layer && !item.beside)
				item.beside = lower.item;
			edge.items.push(item);
			last = item;
		}
		if (!edge.back)
			join(last, lower.item);
	}
	for (let k = 0; k < layers.length; k++)
		layers[k] ||= [];
	return layers;
}

const middle = (item) => item.x + item.width / 2;
const space = (a, b) => (a.node && b.node ? LAYOUT.across : LAYOUT.between);

function pack(layer) {
	let x = 0;

	layer.forEach((item, i) => {
		item.x = x;
		x += item.width + (i + 1 < layer.length ? space(item, layer[i + 1]) : 0);
	});
	for (const item of layer)
		item.x -= x / 2;
}

function crossings(layers) {
	let sum = 0;

	for (const layer of layers) {
		const links = [];

		for (const item of layer)
			for (const lower of item.down)
				links.push([middle(item), middle(lower)]);
		links.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
		for (let i = 0; i < links.length; i++)
			for (let k = i + 1; k < links.length; k++)
				sum += links[i][1] > links[k][1];
	}
	return sum;
}

function sweep(layers, side) {
	const list = side === 'up' ? layers : [...layers].reverse();

	for (const layer of list) {
		for (const item of layer) {
			const near = item[side].map(middle);

			if (item.beside)
				near.push(middle(item.beside) + item.beside.width);
			item.wish = near.length ? near.reduce((a, b) => a + b) / near.length : middle(item);
		}
		layer.sort((a, b) => a.wish - b.wish);
		pack(layer);
	}
}

// Order the items of each layer so that few edges cross.
function orderItems(layers) {
	let best = null, least = Infinity;

	layers.forEach(pack);
	for (let round = 0; round < LAYOUT.rounds && least; round++) {
		sweep(layers, round % 2 ? 'down' : 'up');
		const now = crossings(layers);

		if (now < least) {
			least = now;
			best = layers.map((layer) => [...layer]);
		}
	}
	best.forEach((layer, k) => { layers[k] = layer; });
	layers.forEach(pack);
}

// Place a layer's items as near as possible to where they want to be, in their order: items that
// would overlap form a group, which is moved to the mean of what its members want.
function place(layer) {
	const groups = [];
	let offset = 0;

	layer.forEach((item, i) => {
		if (i)
			offset += layer[i - 1].width + space(layer[i - 1], item);
		groups.push({ sum: item.weight * (item.wish - item.width / 2 - offset), weight: item.weight, items: [[item, offset]] });
		while (groups.length > 1) {
			const [a, b] = groups.slice(-2);

			if (a.sum / a.weight <= b.sum / b.weight)
				break;
			groups.splice(-2, 2, { sum: a.sum + b.sum, weight: a.weight + b.weight, items: a.items.concat(b.items) });
		}
	});
	for (const group of groups)
		for (const [item, at] of group.items)
			item.x = group.sum / group.weight + at;
}

function wish(item, sides) {
	let sum = 0, weight = 0;
	const add = (x, much) => {
		sum += x * much;
		weight += much;
	};

	for (const side of sides)
		for (const other of item[side])
			add(middle(other), !item.node && !other.node ? 24 : !item.node || !other.node ? 2 : 1);
	if (item.beside)
		add(middle(item.beside) + Math.sign(middle(item) - middle(item.beside)) * (item.beside.width / 2 + LAYOUT.between), 0.5);
	item.wish = weight ? sum / weight : middle(item);
	item.weight = Math.max(weight, 0.1);
}

function placeItems(layers) {
	for (let round = 0; round < 2 * LAYOUT.rounds; round++) {
		const down = round % 2 === 0, sides = round < LAYOUT.rounds ? [down ? 'up' : 'down'] : ['up', 'down'];

		for (const layer of down ? layers : [...layers].reverse()) {
			layer.forEach((item) => wish(item, sides));
			place(layer);
		}
	}
}

function setHeights(layers) {
	let y = LAYOUT.gap;

	for (const layer of layers) {
		let links = 0, turns = 0;

		layer.top = y;
		layer.height = 0;
		for (const item of layer) {
			layer.height = Math.max(layer.height, item.node ? item.node.height : 0);
			links += item.down.length;
			turns += item.beside ? 1 : 0;
		}
		layer.bottom = y + layer.height;
		y = layer.bottom + Math.min(LAYOUT.gapMost, LAYOUT.gap + 4 * links + 6 * turns);
	}
	return y;
}

// Where edges leave and enter a node: spread along its border, in the order of where they lead.
function setPorts(node) {
	const spread = (edges, key, next) => {
		const step = Math.min(LAYOUT.port, node.width / (edges.length + 1));

		edges.sort((a, b) => next(a) - next(b));
		edges.forEach((edge, i) => { edge[key] = middle(node.item) + (i - (edges.length - 1) / 2) * step; });
	};
	const at = (edge, index, other) => middle(edge.items.length ? edge.items.at(index) : other.item);

	spread([...node.out], 'begin', (edge) => at(edge, edge.back ? -1 : 0, edge.toNode));
	spread([...node.in], 'end', (edge) => at(edge, edge.back ? 0 : -1, edge.fromNode));
}

const curve = (x1, y1, x2, y2) => (Math.abs(x1 - x2) < 0.5 ? `L${x2} ${y2}` :
	`C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`);

function pathDown(edge, layers) {
	const { fromNode, toNode } = edge;
	let x = edge.begin, y = layers[fromNode.layer].bottom;
	let path = `M${x} ${fromNode.y + fromNode.height}L${x} ${y}`;

	for (const item of edge.items) {
		const layer = layers[item.layer];

		path += `${curve(x, y, middle(item), layer.top)}L${middle(item)} ${layer.bottom}`;
		x = middle(item);
		y = layer.bottom;
	}
	return path + curve(x, y, edge.end, toNode.y - 2);
}

function pathUp(edge, layers) {
	const { fromNode, toNode } = edge, first = edge.items.at(-1), last = edge.items[0];
	const turn = 18, bottom = layers[fromNode.layer].bottom, top = layers[toNode.layer].top;
	let path = `M${edge.begin} ${fromNode.y + fromNode.height}L${edge.begin} ${bottom}` +
		`C${edge.begin} ${bottom + turn} ${middle(first)} ${bottom + turn} ${middle(first)} ${bottom}`;
	let before = first;

	for (const item of [...edge.items].reverse()) {
		const layer = layers[item.layer];

		if (item !== first)
			path += curve(middle(before), layers[before.layer].top, middle(item), layer.bottom);
		path += `L${middle(item)} ${layer.top}`;
		before = item;
	}
	return `${path}C${middle(last)} ${top - turn} ${edge.end} ${top - turn} ${edge.end} ${top - 2}`;
}

// @nodes: {index, width, height}; @edges: {from, to}; @roots: where the function is entered. Sets x
// and y of nodes, and path, begin and end of edges. Returns {width, height}.
function layOut(nodes, edges, roots) {
	for (const node of nodes) {
		node.out = edges.filter((edge) => edge.from === node.index);
		node.in = edges.filter((edge) => edge.to === node.index);
	}
	for (const edge of edges) {
		edge.back = false;
		edge.fromNode = nodes[edge.from];
		edge.toNode = nodes[edge.to];
	}
	const order = orderNodes(nodes, [...roots, ...nodes.map((node) => node.index)]);

	setLayers(nodes, order);
	const layers = makeItems(nodes, edges, order);

	orderItems(layers);
	placeItems(layers);
	const height = setHeights(layers);
	const all = layers.flat(), left = Math.min(...all.map((item) => item.x)) - LAYOUT.across;

	for (const item of all)
		item.x -= left;
	for (const node of nodes) {
		node.x = node.item.x;
		node.y = layers[node.layer].top;
	}
	nodes.forEach(setPorts);
	for (const edge of edges)
		edge.path = edge.back ? pathUp(edge, layers) : pathDown(edge, layers);
	return { width: Math.max(...all.map((item) => item.x + item.width)) + LAYOUT.across, height };
}
