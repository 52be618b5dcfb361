// SPDX-License-Identifier: GPL-2.0
/*
 * Direct calls of one kernel function by another as sources of events: points in the basic blocks
 * of the calling function, before the call and after it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "../base/names.h"
#include "plan.h"

/**
 * struct search - state while visiting the calling functions
 * @called: patterns for the called function, separated by bars
 * @found: points
 * @calls: calls, also those whose return has no point
 */
struct search {
	struct kl_plan *plan;
	struct kl_plan_place *place;
	const char *called;
	uint32_t found;
	uint32_t calls;
};

static bool fits_any(const char *patterns, const char *name)
{
	char pattern[256];

	for (const char *at = patterns;; at++) {
		size_t length = strcspn(at, "|");

		if (length < sizeof(pattern)) {
			memcpy(pattern, at, length);
			pattern[length] = 0;
			if (kl_name_fits(pattern, name))
				return true;
		}
		at += length;
		if (!*at)
			return false;
	}
}

/* Does the block end with a call, or a jump to another function, that is requested? */
static bool is_call(const struct search *search, const struct kl_block_graph *g, uint32_t block,
		    struct kl_symbol *symbol)
{
	const struct kl_block *b = &g->block[block];
	uint64_t target = g->instruction[b->first + b->n - 1].target, offset;

	return (b->end == KL_END_CALL || b->end == KL_END_LEAVE) && target &&
	       !kl_symbols_at(search->plan->symbols, target, symbol, &offset) && !offset &&
	       fits_any(search->called, symbol->name);
}

/* Is the block entered from one other block only? */
static bool is_entered_once(const struct kl_block_graph *g, uint32_t block)
{
	unsigned int ways = g->block[block].entered;

	for (uint32_t i = 0; i < g->blocks; i++)
		ways += (g->block[i].next == block) + (g->block[i].taken == block);
	return ways == 1;
}

static int add_call(struct search *search, size_t function, const struct kl_block_graph *g,
		    uint32_t block, const struct kl_symbol *symbol)
{
	const struct kl_block *b = &g->block[block];
	uint32_t offset = g->instruction[b->first + b->n - 1].offset;
	struct kl_plan_place *place = search->place;
	bool ret = place->spec->ret;

	search->calls++;
	/* A function that is jumped to returns to the caller's caller. */
	if (ret && (b->end != KL_END_CALL || b->next == UINT32_MAX || !is_entered_once(g, b->next)))
		return 0;
	search->found++;
	snprintf(place->name, sizeof(place->name), "call:%s+0x%x:%s%s", g->function.name, offset,
		 symbol->name, ret ? ":ret" : "");
	snprintf(place->help, sizeof(place->help), "%s %s, %u bytes into %s",
		 ret ? "Return from" : "Call of", symbol->name, offset, g->function.name);
	return kl_plan_add_point(search->plan, place, function, ret ? b->next : block, !ret);
}

static int add_calls(void *context, size_t function)
{
	struct search *search = context;
	struct kl_block_graph graph;
	struct kl_symbol symbol;
	int ret = kl_blocks_graph(search->plan->blocks, function, &graph);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < graph.blocks && !ret; i++)
		if (is_call(search, &graph, i, &symbol))
			ret = add_call(search, function, &graph, i, &symbol);
	kl_block_graph_free(&graph);
	return ret;
}

int kl_plan_add_calls(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern)
{
	struct kl_block_want want = { .pattern = (char *)pattern };
	struct search search = { .plan = plan, .place = place };
	char *called = kl_plan_copy_part(&place->spec->symbol);
	int ret = called ? kl_plan_open_blocks(plan) : -errno;

	if (!ret) {
		search.called = called;
		place->without_arguments = true;
		kl_scope_set_types(plan->scope, kl_plan_btf(plan));
		ret = kl_scope_set_registers(plan->scope);
	}
	if (!ret)
		ret = kl_block_want_visit(&want, plan->symbols, plan->blocks, add_calls, &search);
	if (!ret && !search.calls)
		ret = kl_spec_fail(place->list, place->spec->symbol.text, "no such call");
	else if (!ret && search.found < search.calls)
		kl_buffer_printf(&plan->note,
				 "%u of %u calls have no event for the return: it ends the "
				 "calling function, or its place is also reached without the call\n",
				 search.calls - search.found, search.calls);
	free(called);
	return ret;
}
