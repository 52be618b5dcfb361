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
 * struct kl_plan_call - a direct call
 * @target: address of the called function
 * @offset: of the call, in bytes from the start of the calling function
 * @behind: the block behind it, if the function can be seen to come back there; else UINT32_MAX
 */
struct kl_plan_call {
	size_t function;
	uint32_t block;
	uint32_t offset;
	uint32_t behind;
	uint64_t target;
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

/* Is the block entered from one other block only? */
static bool is_entered_once(const struct kl_block_graph *g, uint32_t block)
{
	unsigned int ways = g->block[block].entered;

	for (uint32_t i = 0; i < g->blocks; i++)
		ways += (g->block[i].next == block) + (g->block[i].taken == block);
	return ways == 1;
}

/* Where a call comes back to. A function that is jumped to returns to the caller's caller. */
static uint32_t block_behind(const struct kl_block_graph *g, const struct kl_block *b)
{
	bool known = b->end == KL_END_CALL && b->next != UINT32_MAX && is_entered_once(g, b->next);

	return known ? b->next : UINT32_MAX;
}

static int note_call(struct kl_plan *plan, const struct kl_plan_call *call)
{
	struct kl_plan_call *grown =
		kl_array_grow(plan->calls, plan->n_calls, &plan->calls_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	plan->calls = grown;
	plan->calls[plan->n_calls++] = *call;
	return 0;
}

static int note_calls(void *context, size_t function)
{
	struct kl_plan *plan = context;
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(plan->blocks, function, &graph);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < graph.blocks && !ret; i++) {
		const struct kl_block *b = &graph.block[i];
		const struct kl_block_instruction *in = &graph.instruction[b->first + b->n - 1];
		const struct kl_plan_call call = {
			.function = function,
			.block = i,
			.offset = in->offset,
			.behind = block_behind(&graph, b),
			.target = in->target,
		};

		if ((b->end == KL_END_CALL || b->end == KL_END_LEAVE) && in->target)
			ret = note_call(plan, &call);
	}
	kl_block_graph_free(&graph);
	return ret;
}

/* Find the calls from the functions that @pattern names, unless they are known from before. */
static int find_calls(struct kl_plan *plan, const char *pattern)
{
	struct kl_block_want want = { .pattern = (char *)pattern };
	int ret;

	if (plan->calling && !strcmp(plan->calling, pattern))
		return 0;
	free(plan->calling);
	plan->calling = NULL;
	plan->n_calls = 0;
	ret = kl_block_want_visit(&want, plan->symbols, plan->blocks, note_calls, plan);
	if (ret)
		return ret;
	plan->calling = strdup(pattern);
	return plan->calling ? 0 : kl_fail(ENOMEM, "out of memory");
}

static int add_call(struct kl_plan *plan, struct kl_plan_place *place,
		    const struct kl_plan_call *call, const char *called)
{
	bool ret = place->spec->ret;
	struct kl_block_function function;

	kl_blocks_function(plan->blocks, call->function, &function);
	snprintf(place->name, sizeof(place->name), "call:%s+0x%x:%s%s", function.name, call->offset,
		 called, ret ? ":ret" : "");
	snprintf(place->help, sizeof(place->help), "%s %s, %u bytes into %s",
		 ret ? "Return from" : "Call of", called, call->offset, function.name);
	return kl_plan_add_point(plan, place, call->function, ret ? call->behind : call->block,
				 !ret);
}

/*
 * Add the calls that were found, of functions that fit one of the patterns in @called. If the last
 * one is empty, there may be none.
 */
static int add_calls(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern,
		     const char *called)
{
	size_t fitting = 0, without = 0;
	int ret = 0;

	for (size_t i = 0; i < plan->n_calls && !ret; i++) {
		const struct kl_plan_call *call = &plan->calls[i];
		struct kl_symbol symbol;
		uint64_t offset;

		if (kl_symbols_at(plan->symbols, call->target, &symbol, &offset) || offset ||
		    !fits_any(called, symbol.name))
			continue;
		fitting++;
		if (place->spec->ret && call->behind == UINT32_MAX)
			without++;
		else
			ret = add_call(plan, place, call, symbol.name);
	}
	if (ret || called[strlen(called) - 1] == '|')
		return ret;
	if (!fitting && strchr(called, '|'))
		return kl_fail(EINVAL, "%s calls none of the listed functions", pattern);
	if (!fitting)
		return kl_spec_fail(place->list, place->spec->symbol.text, "no such call");
	if (without)
		kl_buffer_printf(&plan->note,
				 "%zu of %zu calls have no event for the return: it ends the "
				 "calling function, or its place is also reached without the call\n",
				 without, fitting);
	return 0;
}

int kl_plan_add_calls(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern)
{
	char *called = kl_plan_copy_part(&place->spec->symbol);
	int ret = called ? kl_plan_open_blocks(plan) : -errno;

	if (!ret) {
		place->without_arguments = true;
		kl_scope_set_types(plan->scope, kl_plan_btf(plan));
		ret = kl_scope_set_registers(plan->scope);
	}
	if (!ret)
		ret = find_calls(plan, pattern);
	if (!ret)
		ret = add_calls(plan, place, pattern, called);
	free(called);
	return ret;
}

void kl_plan_free_calls(struct kl_plan *plan)
{
	free(plan->calls);
	free(plan->calling);
}
