// SPDX-License-Identifier: GPL-2.0
/* Random graphs, and walks through them. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define DEPTH 4

static uint64_t state = 0x9e3779b97f4a7c15ull;

uint32_t graph_roll(uint32_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % sides;
}

static void make_block(struct made *m, uint32_t i, enum kind kind)
{
	static const uint8_t ends[] = { KL_END_FALL,   KL_END_CALL, KL_END_BRANCH, KL_END_BRANCH,
					KL_END_BRANCH, KL_END_JUMP, KL_END_RETURN, KL_END_LEAVE };
	uint32_t n = m->graph.blocks;
	struct kl_block *block = &m->block[i];

	*block = (struct kl_block){ .begin = i, .bytes = 1, .first = i, .n = 1 };
	block->end = i + 1 < n ? ends[graph_roll(sizeof(ends))] : KL_END_RETURN;
	block->entered = !i || (kind == FIXUPS && !graph_roll(5));
	block->next = block->taken = UINT32_MAX;
	if (block->end == KL_END_FALL || block->end == KL_END_CALL || block->end == KL_END_BRANCH)
		block->next = i + 1;
	if (block->end == KL_END_JUMP || block->end == KL_END_BRANCH)
		block->taken = 1 + graph_roll(n - 1);
	if (block->end == KL_END_BRANCH && kind != PLAIN && !graph_roll(4))
		block->taken = UINT32_MAX;
	m->instruction[i] = (struct kl_block_instruction){ .offset = i, .bytes = 1, .block = i };
	if (kind == FIXUPS && !graph_roll(4))
		m->instruction[i].reason = KL_BLOCK_exception_table;
	m->seen[i] = kind == PLAIN || graph_roll(5);
}

void graph_make(struct made *m, enum kind kind)
{
	memset(m, 0, sizeof(*m));
	m->graph.block = m->block;
	m->graph.instruction = m->instruction;
	m->graph.blocks = m->graph.instructions = 2 + graph_roll(BLOCKS - 1);
	for (uint32_t i = 0; i < m->graph.blocks; i++)
		make_block(m, i, kind);
}

/* --------------------------------------------------------------------- numbering */

bool graph_is_left(const struct made *m, uint32_t block)
{
	return m->block[block].end == KL_END_RETURN || m->block[block].end == KL_END_LEAVE ||
	       (m->block[block].end == KL_END_BRANCH && m->block[block].taken == UINT32_MAX);
}

static void note(struct walk *w, const struct record *path)
{
	size_t i;

	for (i = 0; i < w->records; i++)
		if (w->record[i].n == path->n &&
		    !memcmp(w->record[i].block, path->block, path->n * sizeof(*path->block)))
			break;
	if (i == RECORDS)
		return;
	if (i == w->records)
		w->record[w->records++] = *path;
	w->record[i].count++;
}

static void pass(struct walk *w, uint64_t thread, uint32_t block)
{
	w->blocks[block]++;
	if (w->profile && w->made->seen[block])
		w->good &= !kl_path_profile_add(w->profile, thread, block);
}

/* One of the edges from a block, or into the function. */
static size_t choose_edge(const struct walk *w, uint32_t from)
{
	size_t found[EDGES] = {}, n = 0;

	for (size_t i = 0; i < w->edges; i++)
		if (w->edge[i].from == from && (from != KL_PATH_OUTSIDE || !w->edge[i].to))
			found[n++] = i;
	return found[graph_roll((uint32_t)n)];
}

static size_t edge_into(const struct walk *w, uint32_t to)
{
	for (size_t i = 0; i < w->edges; i++)
		if (w->edge[i].from == KL_PATH_OUTSIDE && w->edge[i].to == to)
			return i;
	return 0;
}

static uint32_t random_fixup(const struct walk *w)
{
	uint32_t block;

	do
		block = 1 + graph_roll(w->made->graph.blocks - 1);
	while (!w->made->block[block].entered);
	return block;
}

bool graph_walk(struct walk *w, uint64_t thread, int depth, bool nest)
{
	struct record path = { .n = 1 };
	uint32_t at = 0;

	w->passes[edge_into(w, 0)]++;
	for (int steps = 0; steps < 5000; steps++) {
		size_t way;

		pass(w, thread, at);
		if (nest && depth < DEPTH &&
		    !graph_roll(w->made->block[at].end == KL_END_CALL ? 3 : 20))
			if (!graph_walk(w, graph_roll(2) ? thread : graph_roll(3), depth + 1, nest))
				return false;
		way = choose_edge(w, at);
		w->passes[way]++;
		if (w->edge[way].to != KL_PATH_OUTSIDE) {
			if (w->edge[way].cut) {
				note(w, &path);
				path.n = 0;
			}
			at = w->edge[way].to;
			path.block[path.n++] = at;
			continue;
		}
		note(w, &path);
		if (graph_is_left(w->made, at))
			return true;
		/* A fault. The path continues in a fixup block. */
		at = random_fixup(w);
		w->passes[edge_into(w, at)]++;
		path.n = 1;
		path.block[0] = at;
	}
	/* Caught in a cycle. */
	return false;
}

struct walk *graph_walk_begin(const struct made *m, const struct kl_paths *p, bool profile)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->made = m;
	w->good = true;
	w->edges = kl_paths_edges(p, &w->edge);
	if (profile)
		w->profile = kl_path_profile_create(p);
	return w;
}
