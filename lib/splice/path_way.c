// SPDX-License-Identifier: GPL-2.0
/*
 * Bridges blocks that are not observed: from each observed block to each that may be observed next,
 * whether there is a single way between them, and through which blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "path.h"

struct search {
	struct kl_paths *p;
	bool *passed; /* by block: not observed, and reached from where the search began */
	bool *leads; /* by block: one of these that leads to the current target */
	uint32_t *found; /* list of the blocks in @passed */
	uint32_t *target; /* observed blocks, or outside */
	uint32_t n_found;
	uint32_t n_targets;
};

/* The successors of a block: blocks, then outside. The only one of outside is the start. */
static uint32_t ways_on(const struct kl_paths *p, uint32_t from, uint32_t to[3])
{
	const struct kl_path_node *node = &p->node[from];
	uint32_t n = 0;

	for (unsigned int k = 0; k < node->n; k++)
		to[n++] = node->to[k];
	if (node->exits)
		to[n++] = KL_PATH_OUTSIDE;
	return n;
}

static void add_target(struct search *s, uint32_t to)
{
	for (uint32_t i = 0; i < s->n_targets; i++)
		if (s->target[i] == to)
			return;
	s->target[s->n_targets++] = to;
}

/* Find everything that may be observed next. */
static void spread(struct search *s, uint32_t from)
{
	uint32_t at = from, done = 0;

	s->n_found = 0;
	s->n_targets = 0;
	for (;;) {
		uint32_t to[3], n = ways_on(s->p, at, to);

		for (uint32_t i = 0; i < n; i++) {
			if (to[i] == KL_PATH_OUTSIDE || s->p->node[to[i]].seen) {
				add_target(s, to[i]);
			} else if (!s->passed[to[i]]) {
				s->passed[to[i]] = true;
				s->found[s->n_found++] = to[i];
			}
		}
		if (done == s->n_found)
			return;
		at = s->found[done++];
	}
}

/* Find which of the blocks in @found lead to @to. */
static void trace(struct search *s, uint32_t to)
{
	bool changed;

	for (uint32_t i = 0; i < s->n_found; i++)
		s->leads[s->found[i]] = false;
	do {
		changed = false;
		for (uint32_t i = 0; i < s->n_found; i++) {
			uint32_t next[3], n = ways_on(s->p, s->found[i], next);

			for (uint32_t k = 0; k < n && !s->leads[s->found[i]]; k++)
				if (next[k] == to || (next[k] != KL_PATH_OUTSIDE &&
						      s->passed[next[k]] && s->leads[next[k]]))
					changed = s->leads[s->found[i]] = true;
		}
	} while (changed);
}

static int add_between(struct kl_paths *p, uint32_t block)
{
	void *grown = kl_array_grow(p->between, p->betweens, &p->between_room, sizeof(*p->between));

	if (!grown)
		return -ENOMEM;
	p->between = grown;
	p->between[p->betweens++] = block;
	return 0;
}

/* Follow from @from as long as there is a single way. A cycle means that there are more. */
static int follow(struct search *s, uint32_t from, struct kl_path_way *way)
{
	uint32_t at = from;

	way->first = s->p->betweens;
	for (;;) {
		uint32_t to[3], n = ways_on(s->p, at, to), ways = 0, next = 0;

		for (uint32_t i = 0; i < n; i++) {
			if (to[i] != way->to &&
			    (to[i] == KL_PATH_OUTSIDE || !s->passed[to[i]] || !s->leads[to[i]]))
				continue;
			next = to[i];
			ways++;
		}
		if (ways != 1)
			break;
		if (next == way->to)
			return 0;
		if (add_between(s->p, next))
			return -ENOMEM;
		way->n++;
		at = next;
	}
	s->p->betweens = way->first;
	way->n = KL_WAY_MANY;
	return 0;
}

static int find_from(struct search *s, uint32_t from)
{
	struct kl_paths *p = s->p;
	int ret = 0;

	spread(s, from);
	p->node[from].way = p->ways;
	p->node[from].ways = s->n_targets;
	for (uint32_t i = 0; i < s->n_targets && !ret; i++) {
		struct kl_path_way way = { .to = s->target[i] };
		void *grown = kl_array_grow(p->way, p->ways, &p->way_room, sizeof(*p->way));

		if (!grown)
			return -ENOMEM;
		p->way = grown;
		trace(s, way.to);
		ret = follow(s, from, &way);
		p->way[p->ways++] = way;
	}
	for (uint32_t i = 0; i < s->n_found; i++) {
		/*
		 * A function it calls may call this one again before any of its blocks is observed.
		 */
		p->node[from].calls |= p->node[s->found[i]].calls;
		s->passed[s->found[i]] = false;
	}
	return ret;
}

int kl_path_find_ways(struct kl_paths *p)
{
	struct search s = {
		.p = p,
		.passed = calloc(p->n, sizeof(*s.passed)),
		.leads = calloc(p->n, sizeof(*s.leads)),
		.found = calloc(p->n, sizeof(*s.found)),
		.target = calloc(p->n + 1, sizeof(*s.target)),
	};
	int ret = 0;

	if (!s.passed || !s.leads || !s.found || !s.target)
		ret = kl_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i <= p->n && !ret; i++)
		if (p->node[i].seen)
			ret = find_from(&s, i);
	free(s.passed);
	free(s.leads);
	free(s.found);
	free(s.target);
	return ret;
}

const struct kl_path_way *kl_path_way(const struct kl_paths *p, uint32_t from, uint32_t to)
{
	const struct kl_path_node *node = &p->node[from];

	for (uint32_t i = node->way; i < node->way + node->ways; i++)
		if (p->way[i].to == to)
			return &p->way[i];
	return NULL;
}
