/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between path.c, which numbers paths, path_way.c, which finds ways through blocks that cannot be
 * seen, path_profile.c, which counts paths, and path_edge.c, which derives counts.
 */
#ifndef KL_LIB_PATH_H
#define KL_LIB_PATH_H

#include <kernlens/path.h>

#define KL_WAY_MANY UINT32_MAX

/* A block, and where it goes on. */
struct kl_path_node {
	uint32_t to[2];
	uint64_t add[2]; /* to a path's number, by going there */
	bool cut[2];
	uint8_t n; /* of @to */
	bool exits; /* the function may be left from here */
	bool entered; /* otherwise than by an edge */
	bool calls; /* something else may run before it goes on */
	bool faults; /* it may go on in a fixup */
	bool seen;
	uint64_t paths; /* that begin here */
	uint64_t base; /* number of the first of them */
	uint32_t edge; /* index of the first of @to; that of leaving follows them */
	uint32_t enter; /* index of the edge into it, if it is entered */
	uint32_t way; /* index of the first */
	uint32_t ways;
};

/* From a block that is seen, or from outside, to the next that is seen, or outside. */
struct kl_path_way {
	uint32_t to;
	uint32_t n; /* of blocks between that are not seen; KL_WAY_MANY: not one way only */
	uint32_t first; /* of them, in @between */
};

struct kl_paths {
	struct kl_path_node *node; /* and one more, outside */
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

/* The way from a block, or from outside (index p->n), to another; NULL: there is none. */
const struct kl_path_way *kl_path_way(const struct kl_paths *p, uint32_t from, uint32_t to);

#endif /* KL_LIB_PATH_H */
