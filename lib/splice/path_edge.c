// SPDX-License-Identifier: GPL-2.0
/*
 * Derives the counts of all blocks and edges from those of as few blocks as possible. Counts form a
 * circulation in a graph in which each block is an arc from its entry to its exit, as is each edge
 * between blocks, and the outside is a node: what enters a node leaves it.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "path.h"

struct arc {
	uint32_t from;
	uint32_t to;
	int64_t count;
	bool known;
	bool circles; /* on a cycle of unknown arcs */
};

/*
 * Nodes: 2 i is the entry of block i, 2 i + 1 its exit, then the outside. Arcs: blocks, then edges.
 */
struct flow {
	const struct kl_paths *p;
	uint32_t nodes;
	uint32_t arcs;
	struct arc *arc;
	uint32_t *first; /* by node: index of its arcs in @touch; with an extra end entry */
	uint32_t *touch;
	uint32_t *order; /* nodes in the order they were reached */
	uint32_t *up; /* by node: the arc by which it was reached */
	uint32_t *depth; /* by node, starting at 1; 0: not reached */
	int64_t *balance; /* by node: known inflow minus known outflow */
};

#define NO_ARC UINT32_MAX

static void flow_deinit(struct flow *f)
{
	free(f->arc);
	free(f->first);
	free(f->touch);
	free(f->order);
	free(f->up);
	free(f->depth);
	free(f->balance);
}

static void touch_arcs(struct flow *f)
{
	for (uint32_t i = 0; i < f->arcs; i++) {
		f->first[f->arc[i].from + 1]++;
		f->first[f->arc[i].to + 1]++;
	}
	for (uint32_t i = 0; i < f->nodes; i++)
		f->first[i + 1] += f->first[i];
	/* Fill each range from its start; @depth is only used as scratch space here. */
	for (uint32_t i = 0; i < f->nodes; i++)
		f->depth[i] = f->first[i];
	for (uint32_t i = 0; i < f->arcs; i++) {
		f->touch[f->depth[f->arc[i].from]++] = i;
		f->touch[f->depth[f->arc[i].to]++] = i;
	}
}

static int flow_init(struct flow *f, const struct kl_paths *p)
{
	uint32_t outside = 2 * p->n;

	*f = (struct flow){
		.p = p,
		.nodes = outside + 1,
		.arcs = p->n + (uint32_t)p->edges,
	};
	f->arc = calloc(f->arcs, sizeof(*f->arc));
	f->first = calloc(f->nodes + 1, sizeof(*f->first));
	f->touch = calloc(2 * (size_t)f->arcs, sizeof(*f->touch));
	f->order = calloc(f->nodes, sizeof(*f->order));
	f->up = calloc(f->nodes, sizeof(*f->up));
	f->depth = calloc(f->nodes, sizeof(*f->depth));
	f->balance = calloc(f->nodes, sizeof(*f->balance));
	if (!f->arc || !f->first || !f->touch || !f->order || !f->up || !f->depth || !f->balance) {
		flow_deinit(f);
		return kl_fail(ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < p->n; i++)
		f->arc[i] = (struct arc){ .from = 2 * i, .to = 2 * i + 1 };
	for (size_t i = 0; i < p->edges; i++) {
		const struct kl_path_edge *edge = &p->edge[i];

		f->arc[p->n + i] = (struct arc){
			.from = edge->from == KL_PATH_OUTSIDE ? outside : 2 * edge->from + 1,
			.to = edge->to == KL_PATH_OUTSIDE ? outside : 2 * edge->to,
		};
	}
	touch_arcs(f);
	return 0;
}

/* ---------------------------------------------------------------------- choosing */

static uint32_t find_root(uint32_t *up, uint32_t node)
{
	while (up[node] != node) {
		up[node] = up[up[node]];
		node = up[node];
	}
	return node;
}

/* Unite what an arc connects. Returns false if it is already connected. */
static bool join(struct flow *f, const struct arc *arc)
{
	uint32_t from = find_root(f->up, arc->from), to = find_root(f->up, arc->to);

	f->up[from] = to;
	return from != to;
}

long kl_paths_choose(const struct kl_paths *paths, bool *chosen)
{
	struct flow f;
	long n = 0;
	int ret = flow_init(&f, paths);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < f.nodes; i++)
		f.up[i] = i;
	/* Put what cannot be counted into the forest first. */
	for (uint32_t i = paths->n; i < f.arcs; i++)
		join(&f, &f.arc[i]);
	for (uint32_t i = 0; i < paths->n; i++)
		if (!paths->node[i].seen)
			join(&f, &f.arc[i]);
	for (uint32_t i = 0; i < paths->n; i++) {
		chosen[i] = paths->node[i].seen && !join(&f, &f.arc[i]);
		n += chosen[i];
	}
	flow_deinit(&f);
	return n;
}

/* ---------------------------------------------------------------------- deriving */

static uint32_t other_end(const struct arc *arc, uint32_t node)
{
	return arc->from == node ? arc->to : arc->from;
}

/* Build a spanning forest of the unknown arcs. Returns the number of nodes in @order. */
static uint32_t grow_forest(struct flow *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nodes; i++) {
		f->depth[i] = 0;
		f->balance[i] = 0;
	}
	for (uint32_t root = 0; root < f->nodes; root++) {
		uint32_t done = n;

		if (f->depth[root])
			continue;
		f->depth[root] = 1;
		f->up[root] = NO_ARC;
		f->order[n++] = root;
		for (; done < n; done++) {
			uint32_t node = f->order[done];

			for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++) {
				const struct arc *arc = &f->arc[f->touch[i]];
				uint32_t to = other_end(arc, node);

				if (arc->known || f->depth[to])
					continue;
				f->depth[to] = f->depth[node] + 1;
				f->up[to] = f->touch[i];
				f->order[n++] = to;
			}
		}
	}
	return n;
}

/* Mark all arcs on the tree path between the ends of an arc that is not in the forest. */
static void close_circle(struct flow *f, struct arc *arc)
{
	uint32_t a = arc->from, b = arc->to;

	arc->circles = true;
	while (a != b) {
		uint32_t *lower = f->depth[a] > f->depth[b] ? &a : &b;
		struct arc *up = &f->arc[f->up[*lower]];

		up->circles = true;
		*lower = other_end(up, *lower);
	}
}

static void find_circles(struct flow *f)
{
	for (uint32_t i = 0; i < f->arcs; i++)
		f->arc[i].circles = false;
	for (uint32_t i = 0; i < f->arcs; i++) {
		struct arc *arc = &f->arc[i];

		if (arc->known || f->up[arc->from] == i || f->up[arc->to] == i)
			continue;
		close_circle(f, arc);
	}
}

/* An unknown arc on no cycle is a bridge: it carries exactly what its part of the graph lacks. */
static void solve_bridges(struct flow *f, uint32_t n)
{
	for (uint32_t i = 0; i < f->arcs; i++) {
		const struct arc *arc = &f->arc[i];

		if (!arc->known)
			continue;
		f->balance[arc->from] -= arc->count;
		f->balance[arc->to] += arc->count;
	}
	while (n--) {
		uint32_t node = f->order[n], parent;
		struct arc *up;

		if (f->up[node] == NO_ARC)
			continue;
		up = &f->arc[f->up[node]];
		parent = other_end(up, node);
		f->balance[parent] += f->balance[node];
		if (up->circles)
			continue;
		up->known = true;
		up->count = up->from == node ? f->balance[node] : -f->balance[node];
	}
}

/* Where nothing enters, nothing leaves. Returns whether this determined more arcs. */
static bool spread_zeros(struct flow *f)
{
	bool news = false;

	for (uint32_t node = 0; node < f->nodes; node++) {
		int64_t in = 0, out = 0;
		bool in_known = true, out_known = true;

		for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++) {
			const struct arc *arc = &f->arc[f->touch[i]];

			if (arc->to == node) {
				in_known &= arc->known;
				in += arc->count;
			} else {
				out_known &= arc->known;
				out += arc->count;
			}
		}
		if (in_known == out_known || (in_known ? in : out))
			continue;
		news = true;
		for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++)
			f->arc[f->touch[i]].known = true;
	}
	return news;
}

static struct kl_path_value value_of(const struct arc *arc)
{
	bool known = arc->known && arc->count >= 0;

	return (struct kl_path_value){ .count = known ? (uint64_t)arc->count : 0, .known = known };
}

int kl_paths_derive(const struct kl_paths *paths, const bool *counted, const uint64_t *count,
		    struct kl_path_value *block, struct kl_path_value *edge)
{
	struct flow f;
	int ret = flow_init(&f, paths);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < paths->n; i++) {
		f.arc[i].known = counted[i];
		f.arc[i].count = counted[i] ? (int64_t)count[i] : 0;
	}
	do {
		uint32_t n = grow_forest(&f);

		find_circles(&f);
		solve_bridges(&f, n);
	} while (spread_zeros(&f));
	for (uint32_t i = 0; i < paths->n; i++)
		block[i] = value_of(&f.arc[i]);
	for (size_t i = 0; i < paths->edges; i++)
		edge[i] = value_of(&f.arc[paths->n + i]);
	flow_deinit(&f);
	return 0;
}
