/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random graphs of functions, and walks through them that count everything, for the tests of paths.
 */
#ifndef KL_TESTS_GRAPH_H
#define KL_TESTS_GRAPH_H

#include <kernlens/path.h>

#define BLOCKS 14
#define EDGES (4 * BLOCKS)
#define RECORDS 4096

/* The kinds of graphs to make. */
enum kind {
	PLAIN, /* all blocks are seen, and calls end in blocks that do nothing else */
	UNSEEN, /* some blocks cannot be seen, branches leave the function */
	FIXUPS, /* the same with instructions that fault */
};

struct made {
	struct kl_block_graph graph;
	struct kl_block block[BLOCKS];
	struct kl_block_instruction instruction[BLOCKS];
	bool seen[BLOCKS];
};

struct record {
	uint32_t block[BLOCKS];
	uint32_t n;
	uint64_t count;
};

/* A walk with nested calls, and the true counts of everything. */
struct walk {
	const struct made *made;
	const struct kl_path_edge *edge;
	size_t edges;
	struct kl_path_profile *profile; /* or NULL */
	struct record record[RECORDS];
	size_t records;
	uint64_t blocks[BLOCKS];
	uint64_t passes[EDGES];
	bool good;
};

/* A number below @sides, from the same sequence in each run. */
uint32_t graph_roll(uint32_t sides);

void graph_make(struct made *m, enum kind kind);

/* Does a block leave the function, other than by a fault? */
bool graph_is_left(const struct made *m, uint32_t block);

/* The caller frees the walk and its profile. */
struct walk *graph_walk_begin(const struct made *m, const struct kl_paths *p, bool profile);

/*
 * Walk one call from its start to its end. @nest: with other calls nested in it, as calls and as
 * interrupts. Returns false if it is caught in a cycle.
 */
bool graph_walk(struct walk *w, uint64_t thread, int depth, bool nest);

#endif /* KL_TESTS_GRAPH_H */
