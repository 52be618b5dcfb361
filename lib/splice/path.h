/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by path.c, which numbers paths, path_way.c, which bridges blocks that are not observed,
 * path_profile.c, which counts paths, and path_edge.c, which derives counts.
 */
#ifndef KL_LIB_PATH_H
#define KL_LIB_PATH_H

#include <kernlens/path.h>

#define KL_WAY_MANY UINT32_MAX

/* A block and its successors. */
struct kl_path_node {
	uint32_t to[2];
	uint64_t add[2]; /* value that each edge adds to a path's number */
	bool cut[2];
	uint8_t n; /* number of successors in @to */
	bool exits; /* the function may be left here */
	bool entered; /* other than by an edge */
	bool calls; /* other code may run before it continues */
	bool faults; /* may continue in a fixup */
	bool seen;
	uint64_t paths; /* number of paths that begin here */
	uint64_t base; /* number of the first of them */
	uint32_t edge; /* index of the edge to @to[0]; that out of the function follows */
	uint32_t enter; /* index of the edge into it, if @entered */
	uint32_t way; /* index of the first way from here */
	uint32_t ways;
};

/* From an observed block, or from outside, to the next observed one, or outside. */
struct kl_path_way {
	uint32_t to;
	uint32_t n; /* unobserved blocks in between; KL_WAY_MANY: there is more than one way */
	uint32_t first; /* index of the first of them in @between */
};

struct kl_paths {
	struct kl_path_node *node; /* one for each block, and one for the outside */
	uint32_t n;
	struct kl_path_edge *edge;
	size_t edges;
	uint32_t cuts;
	uint32_t limited;
	struct kl_path_way *way;
	size_t ways;
	size_t way_room;
	uint32_t *between;
	size_t betweens;
	size_t between_room;
};

/* path_way.c: 0 or -ENOMEM with an error text */
int kl_path_find_ways(struct kl_paths *p);

/* The way from a block, or from outside (index p->n), to another; NULL: none. */
const struct kl_path_way *kl_path_way(const struct kl_paths *p, uint32_t from, uint32_t to);

#endif /* KL_LIB_PATH_H */
