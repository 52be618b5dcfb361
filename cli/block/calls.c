// SPDX-License-Identifier: GPL-2.0
/*
 * Finds callers. Calls through pointers are not known, nor are functions that cannot be decoded.
 * Decoding the whole kernel takes seconds, so it is done in steps, between requests.
 */
#include <stdlib.h>

#include "../base/common.h"
#include "calls.h"
#include "print.h"

#define CALLERS_MAX 500

static void add_call(struct cli_calls *calls, const struct cli_call *call)
{
	const struct cli_call *last = calls->n ? &calls->call[calls->n - 1] : NULL;

	/* Most repetitions are of one after another. */
	if (last && last->function == call->function && last->caller == call->caller)
		return;
	if (calls->n == calls->room) {
		calls->room = calls->room ? 2 * calls->room : 4096;
		calls->call = reallocarray(calls->call, calls->room, sizeof(*calls->call));
		if (!calls->call)
			abort();
	}
	calls->call[calls->n++] = *call;
}

static void add_function(struct cli_calls *calls, struct kl_blocks *blocks, size_t index)
{
	struct kl_block_graph g;

	if (kl_blocks_graph(blocks, index, &g))
		return;
	for (uint32_t i = 0; i < g.instructions; i++) {
		const struct kl_block_instruction *in = &g.instruction[i];
		long to;

		if (!in->target || in->target - g.function.address < g.function.bytes)
			continue;
		to = kl_blocks_find(blocks, in->target);
		if (to >= 0)
			add_call(calls,
				 &(struct cli_call){ (uint32_t)to, (uint32_t)index, in->offset });
	}
	kl_block_graph_free(&g);
}

bool cli_calls_step(struct cli_calls *calls, struct kl_blocks *blocks, size_t functions)
{
	const size_t all = kl_blocks_functions(blocks);

	while (functions-- && calls->next < all)
		add_function(calls, blocks, calls->next++);
	return calls->next < all;
}

json_t *cli_calls_json(const struct cli_calls *calls, const struct kl_blocks *blocks,
		       size_t function)
{
	const size_t all = kl_blocks_functions(blocks);
	json_t *rows = json_array();
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < calls->n && json_array_size(rows) < CALLERS_MAX; i++) {
		const struct cli_call *call = &calls->call[i];
		struct kl_block_function caller;
		json_t *row;

		/* Calls are in the order of their callers. */
		if (call->function != function || call->caller == last)
			continue;
		last = call->caller;
		kl_blocks_function(blocks, call->caller, &caller);
		row = json_pack("{s:s, s:o}", "function", caller.name, "address",
				json_sprintf("0x%llx",
					     (unsigned long long)(caller.address + call->offset)));
		cli_json_module(caller.module, row);
		json_array_append_new(rows, row);
	}
	return json_pack("{s:b, s:f, s:o}", "complete", calls->next >= all, "done",
			 all ? (double)calls->next / (double)all : 1.0, "callers", rows);
}

void cli_calls_deinit(struct cli_calls *calls)
{
	free(calls->call);
	*calls = (struct cli_calls){};
}
