// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: random graphs and walks through them. Numbers convert to paths and back, and profiles
 * count what was walked.
 */
#include <stdlib.h>
#include <string.h>

#include "../../../lib/splice/path.h"
#include "graph.h"
#include "unit.h"

#define PATHS 1000000u /* paths from a block: more than there can be */

/* All paths of a graph. */
struct trial {
	const struct made *made;
	struct kl_paths *p;
	const struct kl_path_edge *edge;
	size_t edges;
	uint32_t path[BLOCKS + 1];
	uint8_t *numbers; /* path numbers from a block that have been seen */
	uint64_t base;
};

/* The number of the path through @block; together with the last block, it identifies the path. */
static bool number_path(const struct kl_paths *paths, const uint32_t *block, uint32_t n,
			uint64_t *number)
{
	*number = n && block[0] < paths->n ? paths->node[block[0]].base : 0;
	for (uint32_t i = 0; i + 1 < n; i++) {
		const struct kl_path_node *node = block[i] < paths->n ? &paths->node[block[i]] :
									NULL;
		bool found = false;

		for (unsigned int k = 0; node && k < node->n && !found; k++) {
			found = !node->cut[k] && node->to[k] == block[i + 1];
			*number += found ? node->add[k] : 0;
		}
		if (!found)
			return false;
	}
	return n && block[n - 1] < paths->n;
}

/* Tries each path from a block on. Returns how many there are, or 0 if one is wrong. */
static uint64_t try_all(struct trial *t, uint32_t n)
{
	uint32_t at = t->path[n - 1], back[BLOCKS];
	bool ends = graph_is_left(t->made, at);
	uint64_t paths = 0, number;

	if (!number_path(t->p, t->path, n, &number) ||
	    kl_path_blocks(t->p, number, at, back) != (long)n ||
	    memcmp(t->path, back, n * sizeof(*back)))
		return 0;
	for (size_t i = 0; i < t->edges; i++) {
		uint64_t more;

		if (t->edge[i].from != at || t->edge[i].to == KL_PATH_OUTSIDE)
			continue;
		ends |= t->edge[i].cut;
		if (t->edge[i].cut)
			continue;
		t->path[n] = t->edge[i].to;
		more = try_all(t, n + 1);
		if (!more)
			return 0;
		paths += more;
	}
	if (!ends)
		return paths;
	/* Each number occurs once. */
	if (number - t->base >= PATHS || t->numbers[number - t->base]++)
		return 0;
	return kl_path_blocks(t->p, number, KL_PATH_OUTSIDE, back) == (long)n ? paths + 1 : 0;
}

static bool numbers_are_paths(const struct made *m, uint64_t most)
{
	struct trial t = { .made = m, .p = kl_paths_create(&m->graph, NULL, most) };
	struct kl_paths *p = t.p;
	bool good = true;

	t.edges = kl_paths_edges(p, &t.edge);
	for (uint32_t i = 0; i < m->graph.blocks && good; i++) {
		uint64_t from = kl_paths_from(p, i);

		t.numbers = calloc(from + 1, 1);
		t.path[0] = i;
		good = from <= (most ? most : PATHS) && t.numbers && try_all(&t, 1) == from;
		t.base += from;
		free(t.numbers);
	}
	kl_paths_destroy(p);
	return good;
}

static void test_numbers(void)
{
	bool good = true, bounded = true;
	struct made m;

	for (int i = 0; i < 3000; i++) {
		graph_make(&m, graph_roll(2) ? PLAIN : FIXUPS);
		good &= numbers_are_paths(&m, 0);
		bounded &= numbers_are_paths(&m, 1 + graph_roll(8));
	}
	unit_check(good, "3,000 random graphs: numbers are all paths, each once, and back");
	unit_check(bounded, "and so with few paths a block, where more edges are cut");
}

/* 70 two-way branches in sequence: more paths than 64 bits hold. */
static void test_limit(void)
{
	enum {
		TIMES = 70
	};
	static struct kl_block block[3 * TIMES + 1];
	static struct kl_block_instruction instruction[3 * TIMES + 1];
	struct kl_block_graph g = { .block = block, .instruction = instruction };
	uint32_t limited, back[3 * TIMES + 1];
	struct kl_paths *p;

	for (uint32_t i = 0; i < 3 * TIMES; i++)
		block[i] = (struct kl_block){
			.first = i,
			.n = 1,
			.end = i % 3 ? i % 3 == 1 ? KL_END_JUMP : KL_END_FALL : KL_END_BRANCH,
			.next = i % 3 == 1 ? UINT32_MAX : i + 1,
			.taken = i % 3 == 2 ? UINT32_MAX : i + 2,
		};
	block[3 * TIMES] = (struct kl_block){ .end = KL_END_RETURN,
					      .next = UINT32_MAX,
					      .taken = UINT32_MAX,
					      .first = 3 * TIMES,
					      .n = 1 };
	g.blocks = g.instructions = 3 * TIMES + 1;
	p = kl_paths_create(&g, NULL, 0);
	unit_check(p && kl_paths_from(p, 0) <= KL_PATHS_MOST, "2^70 paths are cut to fewer");
	unit_check(kl_paths_cuts(p, &limited) == limited && limited > 0 && limited <= 4,
		   "by a few edges, and that is said");
	unit_check(kl_path_blocks(p, kl_paths_from(p, 0) - 1, KL_PATH_OUTSIDE, back) > 0 &&
			   !back[0],
		   "the last number from the start is a path");
	unit_check(kl_path_blocks(p, UINT64_MAX, KL_PATH_OUTSIDE, back) < 0,
		   "a number that is too large is none");
	kl_paths_destroy(p);
	g.blocks = 0;
	unit_check(!kl_paths_create(&g, NULL, 0), "a function without blocks has no paths");
}

/* ----------------------------------------------------------------------- profiles */

/* Each execution of a visible block is in one path, or unexplained. */
static bool adds_up(const struct walk *w, const struct kl_paths *p)
{
	const uint64_t *passes = kl_path_profile_blocks(w->profile, false);
	const uint64_t *unexplained = kl_path_profile_blocks(w->profile, true);
	uint64_t in_paths[BLOCKS] = {}, paths = 0;
	const struct kl_path_row *row;
	size_t rows;

	row = kl_path_profile_rows(w->profile, &rows);
	for (size_t i = 0; i < rows; i++) {
		uint32_t block[BLOCKS];
		long n = kl_path_blocks(p, row[i].number, row[i].last, block);

		if (n <= 0 || (i && row[i].count > row[i - 1].count))
			return false;
		paths += row[i].count;
		for (long k = 0; k < n; k++)
			in_paths[block[k]] += row[i].count;
	}
	for (uint32_t i = 0; i < w->made->graph.blocks; i++)
		if (w->made->seen[i] &&
		    (passes[i] != w->blocks[i] || in_paths[i] + unexplained[i] != passes[i]))
			return false;
	return paths == kl_path_profile_sum(w->profile).paths;
}

static uint64_t count_of(const struct walk *w, const uint32_t *block, uint32_t n)
{
	for (size_t i = 0; i < w->records; i++)
		if (w->record[i].n == n && !memcmp(w->record[i].block, block, n * sizeof(*block)))
			return w->record[i].count;
	return 0;
}

/* The same paths with the same counts. Paths that end in one block for two reasons are one here. */
static bool is_equal(const struct walk *w, const struct kl_paths *p)
{
	const struct kl_path_row *row;
	size_t rows, paths = 0;

	row = kl_path_profile_rows(w->profile, &rows);
	for (size_t i = 0; i < rows; i++) {
		uint32_t block[BLOCKS];
		long n = kl_path_blocks(p, row[i].number, row[i].last, block);
		bool first = true;
		uint64_t count = 0;

		for (size_t k = 0; k < rows; k++) {
			if (row[k].number != row[i].number || row[k].last != row[i].last)
				continue;
			count += row[k].count;
			first &= k >= i;
		}
		paths += first;
		if (n <= 0 || count_of(w, block, (uint32_t)n) != count)
			return false;
	}
	return paths == w->records;
}

static bool edges_are_equal(const struct walk *w)
{
	const uint64_t *edge = kl_path_profile_edges(w->profile);

	return !memcmp(edge, w->passes, w->edges * sizeof(*edge));
}

/* All blocks are visible, so everything is known, with nested calls and interleaved threads. */
static void test_profiles(void)
{
	unsigned int equal = 0, edges = 0, sums = 0, graphs = 0, calls = 0;

	while (graphs < 2000) {
		struct made m;
		struct kl_paths *p;
		struct walk *w;
		bool ended = true;

		graph_make(&m, PLAIN);
		p = kl_paths_create(&m.graph, NULL, graph_roll(2) ? 0 : 1 + graph_roll(8));
		w = graph_walk_begin(&m, p, true);
		for (int i = 0; i < 30 && ended; i++)
			ended = graph_walk(w, graph_roll(3), 0, true);
		if (ended) {
			struct kl_path_sum sum = kl_path_profile_sum(w->profile);

			w->good &= !kl_path_profile_end(w->profile);
			graphs++;
			calls += sum.entries;
			equal += w->good && is_equal(w, p) && !sum.unexplained && !sum.ambiguous;
			edges += edges_are_equal(w);
			sums += adds_up(w, p);
		}
		kl_path_profile_destroy(w->profile);
		free(w);
		kl_paths_destroy(p);
	}
	printf("# %u calls\n", calls);
	unit_check(equal == graphs, "2,000 graphs: paths were counted as they were gone");
	unit_check(edges == graphs, "and their edges");
	unit_check(sums == graphs, "paths through a block add up to its passes");
}

/* Does the profile report that it does not know something? */
static bool has_reserve(const struct walk *w)
{
	struct kl_path_sum sum = kl_path_profile_sum(w->profile);
	const struct kl_path_row *row;
	size_t rows;

	row = kl_path_profile_rows(w->profile, &rows);
	for (size_t i = 0; i < rows; i++)
		if (row[i].end > KL_PATH_LEFT)
			return true;
	return sum.ambiguous || sum.unexplained;
}

/* Some blocks are invisible: what is reported as certain is right, and the rest adds up. */
static void test_unseen(void)
{
	unsigned int graphs = 0, sums = 0, clear = 0, equal = 0;

	while (graphs < 4000) {
		enum kind kind = graph_roll(3) ? UNSEEN : FIXUPS;
		struct made m;
		struct kl_paths *p;
		struct walk *w;
		bool ended = true;

		graph_make(&m, kind);
		p = kl_paths_create(&m.graph, m.seen, 0);
		w = graph_walk_begin(&m, p, true);
		for (int i = 0; i < 30 && ended; i++)
			ended = graph_walk(w, 1, 0, graphs % 2);
		if (ended) {
			w->good &= !kl_path_profile_end(w->profile);
			sums += w->good && adds_up(w, p);
			/* A fixup may be the block that would have followed anyway. */
			if (kind == UNSEEN && graphs % 2 == 0 && m.seen[0] && !has_reserve(w)) {
				clear++;
				equal += is_equal(w, p) && edges_are_equal(w);
			}
			graphs++;
		}
		kl_path_profile_destroy(w->profile);
		free(w);
		kl_paths_destroy(p);
	}
	printf("# %u graphs without reserve\n", clear);
	unit_check(sums == graphs, "4,000 graphs with blocks that are not seen: all passes add up");
	unit_check(clear > 300 && equal == clear, "what is said without reserve is what was gone");
}

/* Blocks 0 to 3: 1 is invisible; 2 leaves or continues. */
static void test_words(void)
{
	struct kl_block block[] = {
		{ .first = 0, .n = 1, .end = KL_END_CALL, .next = 1, .taken = UINT32_MAX },
		{ .first = 1, .n = 1, .end = KL_END_FALL, .next = 2, .taken = UINT32_MAX },
		{ .first = 2, .n = 1, .end = KL_END_BRANCH, .next = 3, .taken = UINT32_MAX },
		{ .first = 3,
		  .n = 1,
		  .end = KL_END_RETURN,
		  .next = UINT32_MAX,
		  .taken = UINT32_MAX },
	};
	struct kl_block_instruction instruction[4] = {};
	struct kl_block_graph g = {
		.block = block, .instruction = instruction, .blocks = 4, .instructions = 4
	};
	const bool seen[] = { true, false, true, true };
	/* Two nested calls, of which the inner one leaves from 2; then one that is lost. */
	const uint32_t passed[] = { 0, 0, 2, 2, 3, 3, 0 };
	struct kl_paths *p = kl_paths_create(&g, seen, 0);
	struct kl_path_profile *profile = kl_path_profile_create(p);
	const struct kl_path_row *row;
	uint32_t back[4];
	size_t rows;

	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		kl_path_profile_add(profile, 7, passed[i]);
	kl_path_profile_lose(profile);
	row = kl_path_profile_rows(profile, &rows);
	unit_check(rows == 3, "three ends of paths are three paths");
	for (size_t i = 0; i < rows; i++)
		printf("# %llu %s\n", (unsigned long long)row[i].count,
		       kl_path_end_name(row[i].end));
	unit_check(rows == 3 && kl_path_blocks(p, row[0].number, row[0].last, back) == 1 &&
			   row[0].end == KL_PATH_LOST,
		   "records that are lost end a call");
	unit_check(rows == 3 && row[1].end == KL_PATH_LEFT &&
			   kl_path_blocks(p, row[1].number, row[1].last, back) == 3 && back[1] == 1,
		   "a call that ended unseen, through a block that cannot be seen");
	unit_check(rows == 3 && row[2].end == KL_PATH_EXIT &&
			   kl_path_blocks(p, row[2].number, row[2].last, back) == 4,
		   "and the one that had called it, to its end");
	unit_check(kl_path_profile_sum(profile).unexplained == 1 &&
			   kl_path_profile_blocks(profile, true)[3] == 1,
		   "a block that fits nothing is unexplained");
	unit_check(kl_path_profile_add(profile, 7, 1) < 0, "one that cannot be seen is refused");
	kl_path_profile_destroy(profile);
	kl_paths_destroy(p);
}

int main(void)
{
	test_numbers();
	test_limit();
	test_profiles();
	test_unseen();
	test_words();
	return unit_end();
}
