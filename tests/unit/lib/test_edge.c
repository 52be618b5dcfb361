// SPDX-License-Identifier: GPL-2.0
/*
 * The fewest counters of a function: on random graphs and walks they give what counting everything
 * gives, wherever that is determined. Matrix ranks show how few counters suffice, and what can be
 * known.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "unit.h"

#define PRIME 2147483647u

/* Equations of conservation and of counted blocks; the rank shows what they determine. */
struct matrix {
	uint64_t cell[4 * BLOCKS][BLOCKS + EDGES];
	int rows;
	int columns;
};

static uint64_t inverse(uint64_t value)
{
	uint64_t result = 1;

	for (uint64_t power = PRIME - 2; power; power >>= 1, value = value * value % PRIME)
		if (power & 1)
			result = result * value % PRIME;
	return result;
}

static int rank_of(struct matrix m)
{
	int rank = 0;

	for (int column = 0; column < m.columns; column++) {
		int pivot = rank;

		while (pivot < m.rows && !m.cell[pivot][column])
			pivot++;
		if (pivot == m.rows)
			continue;
		for (int k = 0; k < m.columns; k++) {
			uint64_t cell = m.cell[pivot][k];

			m.cell[pivot][k] = m.cell[rank][k];
			m.cell[rank][k] = cell;
		}
		for (int i = rank + 1; i < m.rows; i++) {
			uint64_t by = m.cell[i][column] * inverse(m.cell[rank][column]) % PRIME;

			for (int k = column; k < m.columns && by; k++)
				m.cell[i][k] =
					(m.cell[i][k] + by * (PRIME - m.cell[rank][k])) % PRIME;
		}
		rank++;
	}
	return rank;
}

/* The edges into a block add up to its count, and so do the edges out of it. */
static void conserve(struct matrix *m, const struct made *made, const struct kl_path_edge *edge,
		     size_t edges)
{
	int n = (int)made->graph.blocks;

	memset(m, 0, sizeof(*m));
	m->columns = n + (int)edges;
	m->rows = 2 * n;
	for (int i = 0; i < n; i++)
		m->cell[2 * i][i] = m->cell[2 * i + 1][i] = PRIME - 1;
	for (size_t i = 0; i < edges; i++) {
		if (edge[i].to != KL_PATH_OUTSIDE)
			m->cell[2 * edge[i].to][n + i] = 1;
		if (edge[i].from != KL_PATH_OUTSIDE)
			m->cell[2 * edge[i].from + 1][n + i] = 1;
	}
}

static void add_row(struct matrix *m, int column)
{
	memset(m->cell[m->rows], 0, sizeof(m->cell[m->rows]));
	m->cell[m->rows++][column] = 1;
}

struct derived {
	bool chosen[BLOCKS];
	long n;
	struct kl_path_value block[BLOCKS];
	struct kl_path_value edge[EDGES];
};

/* Is the number of counters the rank that counting all visible blocks adds? */
static bool is_fewest(const struct made *made, const struct walk *w, const struct derived *d)
{
	static struct matrix m;
	int without;

	conserve(&m, made, w->edge, w->edges);
	without = rank_of(m);
	for (uint32_t i = 0; i < made->graph.blocks; i++)
		if (made->seen[i])
			add_row(&m, (int)i);
	return rank_of(m) - without == d->n;
}

/* Would what is unknown stay unknown if each visible block were counted? */
static bool is_most(const struct made *made, const struct walk *w, const struct derived *d)
{
	static struct matrix m;
	int rank;

	conserve(&m, made, w->edge, w->edges);
	for (uint32_t i = 0; i < made->graph.blocks; i++)
		if (made->seen[i])
			add_row(&m, (int)i);
	rank = rank_of(m);
	for (size_t i = 0; i < w->edges + made->graph.blocks; i++) {
		bool known = i < made->graph.blocks ? d->block[i].known :
						      d->edge[i - made->graph.blocks].known;
		bool determined;

		if (known)
			continue;
		add_row(&m, (int)i);
		determined = rank_of(m) == rank;
		m.rows--;
		if (determined)
			return false;
	}
	return true;
}

/* An edge of a visible block that was never executed cannot have been taken; this is known. */
static bool is_still(const struct made *made, const struct walk *w, const struct kl_path_edge *edge)
{
	return (edge->from != KL_PATH_OUTSIDE && made->seen[edge->from] &&
		!w->blocks[edge->from]) ||
	       (edge->to != KL_PATH_OUTSIDE && made->seen[edge->to] && !w->blocks[edge->to]);
}

static bool is_right(const struct made *made, const struct walk *w, const struct derived *d,
		     unsigned int *known, unsigned int *unknown)
{
	for (uint32_t i = 0; i < made->graph.blocks; i++)
		if (made->seen[i] ? !d->block[i].known || d->block[i].count != w->blocks[i] :
				    d->block[i].known && d->block[i].count != w->blocks[i])
			return false;
	for (size_t i = 0; i < w->edges; i++) {
		*known += d->edge[i].known;
		*unknown += !d->edge[i].known;
		if (d->edge[i].known && d->edge[i].count != w->passes[i])
			return false;
		if (!d->edge[i].known && is_still(made, w, &w->edge[i]))
			return false;
	}
	return true;
}

static void test_counters(void)
{
	unsigned int graphs = 0, right = 0, fewest = 0, most = 0, known = 0, unknown = 0;
	uint64_t counters = 0, blocks = 0;

	while (graphs < 3000) {
		struct derived d;
		struct made m;
		struct kl_paths *p;
		struct walk *w;
		bool ended = true;

		graph_make(&m, (enum kind)graph_roll(3));
		p = kl_paths_create(&m.graph, m.seen, 0);
		w = graph_walk_begin(&m, p, false);
		for (uint32_t i = graph_roll(40); i > 0 && ended; i--)
			ended = graph_walk(w, 0, 0, true);
		if (ended) {
			uint64_t count[BLOCKS] = {};

			graphs++;
			d.n = kl_paths_choose(p, d.chosen);
			/* Counts of other blocks must not be used. */
			for (uint32_t i = 0; i < m.graph.blocks; i++)
				count[i] = d.chosen[i] ? w->blocks[i] : 0xdead;
			w->good &= !kl_paths_derive(p, d.chosen, count, d.block, d.edge);
			right += w->good && is_right(&m, w, &d, &known, &unknown);
			fewest += is_fewest(&m, w, &d);
			most += is_most(&m, w, &d);
			counters += (uint64_t)d.n;
			blocks += m.graph.blocks;
		}
		free(w);
		kl_paths_destroy(p);
	}
	printf("# %llu counters for %llu blocks; %u edges known, %u not\n",
	       (unsigned long long)counters, (unsigned long long)blocks, known, unknown);
	unit_check(right == graphs, "3,000 graphs: derived counts are those of counting all");
	unit_check(fewest == graphs, "from as few counters as can be");
	unit_check(most == graphs && unknown, "what is not known cannot be");
}

/* Block 0 may fault; it continues in 1, or in the fixup 2, which returns to 1. */
static void test_fixup(void)
{
	struct kl_block block[] = {
		{ .first = 0, .n = 1, .end = KL_END_FALL, .next = 1, .taken = UINT32_MAX },
		{ .first = 1,
		  .n = 1,
		  .end = KL_END_RETURN,
		  .next = UINT32_MAX,
		  .taken = UINT32_MAX },
		{ .first = 2,
		  .n = 1,
		  .end = KL_END_JUMP,
		  .next = UINT32_MAX,
		  .taken = 1,
		  .entered = true },
	};
	struct kl_block_instruction instruction[3] = { { .reason = KL_BLOCK_exception_table } };
	struct kl_block_graph g = {
		.block = block, .instruction = instruction, .blocks = 3, .instructions = 3
	};
	const bool counted[] = { true, false, true };
	const uint64_t count[] = { 10, 0, 3 };
	struct kl_path_value values[3], edges[EDGES];
	struct kl_paths *p = kl_paths_create(&g, NULL, 0);
	const struct kl_path_edge *edge;
	bool chosen[3];

	unit_check(kl_paths_choose(p, chosen) == 3,
		   "a block that faults needs a counter of its own");
	unit_check(kl_paths_edges(p, &edge) == 6 && edge[1].from == 0 &&
			   edge[1].to == KL_PATH_OUTSIDE,
		   "and may go on outside");
	unit_check(!kl_paths_derive(p, counted, count, values, edges) && !values[1].known &&
			   !edges[0].known && edges[3].known && edges[3].count == 3,
		   "what it goes on to does not follow from it");
	kl_paths_destroy(p);
}

int main(void)
{
	test_fixup();
	test_counters();
	return unit_end();
}
