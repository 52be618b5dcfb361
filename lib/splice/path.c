// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers the acyclic paths of a function (Ball and Larus): edges that close a loop are cut, blocks
 * are visited from the exits to the start, and each edge is assigned the value that it adds to a
 * path's number.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "path.h"

const char *kl_path_end_name(unsigned int end)
{
	static const char *const names[KL_PATH_ENDS] = {
		[KL_PATH_EXIT] = "exit",       [KL_PATH_LOOP] = "loop", [KL_PATH_LEFT] = "left",
		[KL_PATH_UNCLEAR] = "unclear", [KL_PATH_JUMP] = "jump", [KL_PATH_LOST] = "lost",
		[KL_PATH_OPEN] = "open",
	};

	return end < KL_PATH_ENDS ? names[end] : "?";
}

/* --------------------------------------------------------------------- the graph */

static void add_way_on(struct kl_path_node *node, uint32_t to)
{
	/* A jump to the function's start counts as a new call. */
	if (!to || to == KL_PATH_OUTSIDE)
		node->exits = true;
	else if (!node->n || node->to[0] != to)
		node->to[node->n++] = to;
}

static void take_block(struct kl_path_node *node, const struct kl_block_graph *g, uint32_t index)
{
	const struct kl_block *block = &g->block[index];

	node->entered = !index || block->entered;
	node->calls = block->end == KL_END_CALL;
	switch (block->end) {
	case KL_END_FALL:
	case KL_END_CALL:
		add_way_on(node, block->next);
		break;
	case KL_END_BRANCH:
		add_way_on(node, block->next);
		add_way_on(node, block->taken);
		break;
	case KL_END_JUMP:
		add_way_on(node, block->taken);
		break;
	default:
		node->exits = true;
	}
	for (uint32_t i = block->first; i < block->first + block->n; i++)
		node->faults |= g->instruction[i].reason == KL_BLOCK_exception_table;
}

static int make_nodes(struct kl_paths *p, const struct kl_block_graph *g, const bool *seen)
{
	bool fixups = false;

	p->n = g->blocks;
	p->node = calloc(p->n + 1, sizeof(*p->node));
	if (!p->node)
		return kl_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->n; i++) {
		take_block(&p->node[i], g, i);
		p->node[i].seen = !seen || seen[i];
		fixups |= i && p->node[i].entered;
	}
	for (uint32_t i = 0; i < p->n && !fixups; i++)
		p->node[i].faults = false;
	p->node[p->n] = (struct kl_path_node){ .n = 1, .seen = true };
	return 0;
}

static int make_edges(struct kl_paths *p)
{
	p->edge = calloc(4 * (size_t)p->n, sizeof(*p->edge));
	if (!p->edge)
		return kl_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->n; i++) {
		struct kl_path_node *node = &p->node[i];

		node->edge = p->edges;
		for (unsigned int k = 0; k < node->n; k++)
			p->edge[p->edges++] = (struct kl_path_edge){ i, node->to[k], node->cut[k] };
		if (node->exits || node->faults)
			p->edge[p->edges++] =
				(struct kl_path_edge){ .from = i, .to = KL_PATH_OUTSIDE };
	}
	for (uint32_t i = 0; i < p->n; i++) {
		if (!p->node[i].entered)
			continue;
		p->node[i].enter = p->edges;
		p->edge[p->edges++] = (struct kl_path_edge){ .from = KL_PATH_OUTSIDE, .to = i };
	}
	return 0;
}

/* --------------------------------------------------------------------- numbering */

enum state {
	NEW,
	OPEN,
	DONE,
};

/* Number a node; all its successors have been numbered. */
static void number_node(struct kl_paths *p, uint32_t index, uint64_t most)
{
	struct kl_path_node *node = &p->node[index];
	bool ends = node->exits || !node->n;
	uint64_t paths = 0;

	for (unsigned int k = 0; k < node->n; k++) {
		ends |= node->cut[k];
		paths += node->cut[k] ? 0 : p->node[node->to[k]].paths;
	}
	if (paths + ends > most) {
		for (unsigned int k = 0; k < node->n; k++) {
			p->limited += !node->cut[k];
			node->cut[k] = true;
		}
		ends = true;
	}
	node->paths = ends;
	for (unsigned int k = 0; k < node->n; k++) {
		p->cuts += node->cut[k];
		if (node->cut[k])
			continue;
		node->add[k] = node->paths;
		node->paths += p->node[node->to[k]].paths;
	}
}

/* Depth-first search: an edge to a block that is still open closes a loop. */
static void number_from(struct kl_paths *p, uint32_t root, uint64_t most, uint8_t *state,
			uint32_t *stack, uint8_t *at)
{
	uint32_t depth = 0;

	stack[depth++] = root;
	state[root] = OPEN;
	while (depth) {
		uint32_t index = stack[depth - 1];
		struct kl_path_node *node = &p->node[index];
		uint32_t to;

		if (at[index] == node->n) {
			number_node(p, index, most);
			state[index] = DONE;
			depth--;
			continue;
		}
		to = node->to[at[index]];
		node->cut[at[index]++] = state[to] == OPEN;
		if (state[to] == NEW) {
			state[to] = OPEN;
			stack[depth++] = to;
		}
	}
}

static int number(struct kl_paths *p, uint64_t most)
{
	uint32_t *stack = calloc(p->n, sizeof(*stack));
	uint8_t *state = calloc(p->n, 1), *at = calloc(p->n, 1);
	uint64_t base = 0;
	int ret = 0;

	if (!stack || !state || !at) {
		ret = kl_fail(ENOMEM, "out of memory");
	} else {
		for (uint32_t i = 0; i < p->n; i++)
			if (state[i] == NEW)
				number_from(p, i, most, state, stack, at);
		for (uint32_t i = 0; i < p->n; i++) {
			p->node[i].base = base;
			base += p->node[i].paths;
		}
	}
	free(stack);
	free(state);
	free(at);
	return ret;
}

struct kl_paths *kl_paths_create(const struct kl_block_graph *graph, const bool *seen,
				 uint64_t most)
{
	struct kl_paths *p;
	int ret;

	if (!graph->blocks) {
		kl_fail(EINVAL, "the function has no blocks");
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (!most || most > KL_PATHS_MOST)
		most = KL_PATHS_MOST;
	ret = make_nodes(p, graph, seen);
	if (!ret)
		ret = number(p, most);
	if (!ret)
		ret = make_edges(p);
	if (!ret)
		ret = kl_path_find_ways(p);
	if (!ret)
		return p;
	kl_paths_destroy(p);
	errno = -ret;
	return NULL;
}

void kl_paths_destroy(struct kl_paths *paths)
{
	if (!paths)
		return;
	free(paths->between);
	free(paths->way);
	free(paths->edge);
	free(paths->node);
	free(paths);
}

/* ----------------------------------------------------------------------- queries */

uint64_t kl_paths_from(const struct kl_paths *paths, uint32_t block)
{
	return paths->node[block].paths;
}

uint32_t kl_paths_cuts(const struct kl_paths *paths, uint32_t *limit)
{
	if (limit)
		*limit = paths->limited;
	return paths->cuts;
}

size_t kl_paths_edges(const struct kl_paths *paths, const struct kl_path_edge **edge)
{
	*edge = paths->edge;
	return paths->edges;
}

/* The block where a path begins. */
static uint32_t first_block(const struct kl_paths *p, uint64_t number)
{
	uint32_t low = 0, high = p->n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (p->node[middle].base <= number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

long kl_path_blocks(const struct kl_paths *paths, uint64_t number, uint32_t last, uint32_t *block)
{
	uint32_t at = first_block(paths, number), n = 0;
	const struct kl_path_node *node = &paths->node[at];

	number -= node->base;
	if (number >= node->paths)
		return kl_fail(EINVAL, "no such path");
	for (;;) {
		int next = -1;

		block[n++] = at;
		if (at == last)
			break;
		for (unsigned int k = 0; k < node->n; k++)
			if (!node->cut[k] && node->add[k] <= number)
				next = (int)k;
		if (next < 0)
			break;
		number -= node->add[next];
		at = node->to[next];
		node = &paths->node[at];
	}
	if (number || (last != KL_PATH_OUTSIDE && at != last))
		return kl_fail(EINVAL, "no such path");
	return n;
}
