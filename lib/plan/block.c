// SPDX-License-Identifier: GPL-2.0
/*
 * Basic blocks of the kernel as sources of events: each point becomes an event of its own. When the
 * plan is applied, all of them are spliced at once, function by function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "plan.h"

/* Read the kernel's text when the first block is requested. */
int kl_plan_open_blocks(struct kl_plan *plan)
{
	const struct kl_symbols *symbols = kl_plan_symbols(plan);

	if (!symbols)
		return -errno;
	if (plan->blocks)
		return 0;
	plan->blocks = kl_blocks_open(NULL, symbols);
	return plan->blocks ? 0 : -errno;
}

void kl_plan_use_text(struct kl_plan *plan, struct kl_blocks *blocks)
{
	plan->blocks = blocks;
	plan->borrows_blocks = true;
}

static int note_point(struct kl_plan *plan, size_t function, const struct kl_splice_target *target)
{
	void *grown = kl_array_grow(plan->points, plan->n_points, &plan->points_room,
				    sizeof(*plan->points));

	if (!grown)
		return -ENOMEM;
	plan->points = grown;
	plan->points[plan->n_points++] = (struct kl_plan_point){ function, *target };
	return 0;
}

int kl_plan_count_block(struct kl_plan *plan, size_t function, uint32_t block)
{
	const struct kl_splice_target target = {
		.block = block,
		.instrument = KL_INSTRUMENT_COUNT,
	};

	return note_point(plan, function, &target);
}

int kl_plan_add_point(struct kl_plan *plan, struct kl_plan_place *place, size_t function,
		      uint32_t block, bool behind)
{
	size_t events = plan->n_events;
	/* The next event's. */
	const struct kl_splice_target target = {
		.block = block,
		.behind = behind,
		.instrument = KL_INSTRUMENT_FIRE,
		.event = (uint32_t)(KL_EV_DYNAMIC + events),
	};
	int ret = note_point(plan, function, &target);

	place->event = (struct kl_plan_event){ .kind = KL_SOURCE_KIND_BLOCK };
	if (!ret)
		ret = kl_plan_add_place(plan, place);
	/* Another maskset already has it. */
	if (ret || plan->n_events == events)
		plan->n_points--;
	return ret;
}

/* State while visiting the functions that a text names. */
struct search {
	struct kl_plan *plan;
	struct kl_plan_place *place;
	const struct kl_block_want *want;
	uint32_t found;
};

static int add_block(struct search *search, size_t function, const struct kl_block_graph *g,
		     uint32_t block)
{
	const struct kl_block_want *want = search->want;
	struct kl_plan_place *place = search->place;
	const char *behind = want->behind ? ":post" : "";

	if (want->at_offset)
		snprintf(place->name, sizeof(place->name), "block:%s+0x%x%s", g->function.name,
			 g->block[block].begin, behind);
	else
		snprintf(place->name, sizeof(place->name), "block:%s#%u%s", g->function.name, block,
			 behind);
	snprintf(place->help, sizeof(place->help), "%s of basic block %u, %u bytes into %s",
		 want->behind ? "End" : "Start", block, g->block[block].begin, g->function.name);
	return kl_plan_add_point(search->plan, place, function, block, want->behind);
}

static int add_function(void *context, size_t function)
{
	struct search *search = context;
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(search->plan->blocks, function, &graph);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < graph.blocks && !ret; i++) {
		if (!kl_block_want_fits(search->want, &graph, i))
			continue;
		search->found++;
		ret = add_block(search, function, &graph, i);
	}
	kl_block_graph_free(&graph);
	return ret;
}

int kl_plan_add_blocks(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern)
{
	struct kl_block_want want = {};
	struct search search = { .plan = plan, .place = place, .want = &want };
	int ret = kl_plan_open_blocks(plan);

	if (!ret)
		ret = kl_block_want_parse(&want, pattern);
	if (ret)
		return ret;
	want.behind = place->spec->behind;
	place->without_arguments = true;
	kl_scope_set_types(plan->scope, kl_plan_btf(plan));
	ret = kl_scope_set_registers(plan->scope);
	if (!ret)
		ret = kl_block_want_visit(&want, plan->symbols, plan->blocks, add_function,
					  &search);
	kl_block_want_free(&want);
	if (!ret && !search.found)
		ret = kl_spec_fail(place->list, place->spec->place.text,
				   "no such block (kernlens blocks lists them)");
	return ret;
}

/* ------------------------------------------------------------------- applying */

/* Keeps a function's targets in order. */
static int compare_points(const void *left, const void *right)
{
	const struct kl_plan_point *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->target.event > b->target.event) - (a->target.event < b->target.event);
}

/*
 * Add the points of one function, which begin at @first. Returns their number, or a negative errno.
 */
static long add_targets(struct kl_plan *plan, size_t first)
{
	size_t function = plan->points[first].function, n = 0;
	struct kl_splice_target *target = calloc(plan->n_points - first, sizeof(*target));
	struct kl_block_graph graph;
	long ret;

	if (!target)
		return kl_fail(ENOMEM, "out of memory");
	for (; first + n < plan->n_points && plan->points[first + n].function == function; n++)
		target[n] = plan->points[first + n].target;
	ret = kl_blocks_graph(plan->blocks, function, &graph);
	if (!ret) {
		ret = kl_splices_add(plan->splices, &graph, target, (uint32_t)n);
		kl_block_graph_free(&graph);
	}
	free(target);
	return ret < 0 ? ret : (long)n;
}

/* No point was instrumented: report the first one's reason for all. */
static int fail_all(const struct kl_plan *plan)
{
	struct kl_splice_point point = kl_splices_point(plan->splices, 0);
	const uint32_t event = plan->points[0].target.event;
	const struct kl_class *class = event ? kl_schema_class(plan->schema, event) : NULL;

	return kl_fail(EINVAL, "%s cannot be instrumented: %s", class ? class->name : "the block",
		       point.refusal ? kl_splice_refusal_help(point.refusal) :
				       kl_block_reason_help(point.reason));
}

int kl_plan_splice(struct kl_plan *plan, struct kl_session *session)
{
	int ret;

	if (!plan->n_points || plan->joined)
		return 0;
	/* Functions in which all points are counters may be relocated. */
	plan->splices = kl_splices_create(true);
	if (!plan->splices)
		return -errno;
	qsort(plan->points, plan->n_points, sizeof(*plan->points), compare_points);
	for (size_t first = 0; first < plan->n_points;) {
		long n = add_targets(plan, first);

		if (n < 0)
			return (int)n;
		first += (size_t)n;
	}
	ret = kl_splices_install(plan->splices, session, NULL, NULL);
	if (!ret && !kl_splices_sum(plan->splices).placed)
		ret = fail_all(plan);
	return ret;
}

struct kl_plan_blocks kl_plan_blocks(const struct kl_plan *plan)
{
	struct kl_splices_sum sum;

	if (!plan->splices)
		return (struct kl_plan_blocks){};
	sum = kl_splices_sum(plan->splices);
	return (struct kl_plan_blocks){
		.points = sum.points,
		.placed = sum.placed,
		.without = sum.without,
		.refused = sum.refused,
	};
}

struct kl_plan_block kl_plan_block(const struct kl_plan *plan, uint32_t index)
{
	const struct kl_plan_point *from = &plan->points[index];
	struct kl_splice_point point = kl_splices_point(plan->splices, index);
	struct kl_plan_block block = {
		.event = from->target.event,
		.function = from->function,
		.block = from->target.block,
		.behind = from->target.behind,
	};

	if (!point.placed)
		block.reason = point.refusal ? kl_splice_refusal_name(point.refusal) :
					       kl_block_reason_name(point.reason);
	return block;
}

int kl_plan_block_counts(const struct kl_plan *plan, struct kl_session *session, uint64_t *count)
{
	int ret = kl_splices_counts(plan->splices, session, count);

	for (size_t i = 0; !ret && i < plan->n_points; i++)
		if (plan->points[i].target.instrument != KL_INSTRUMENT_COUNT)
			count[i] = 0;
	return ret;
}

struct kl_blocks *kl_plan_text(const struct kl_plan *plan)
{
	return plan->blocks;
}

void kl_plan_free_blocks(struct kl_plan *plan)
{
	kl_splices_destroy(plan->splices);
	if (!plan->borrows_blocks)
		kl_blocks_close(plan->blocks);
	free(plan->points);
}
