// SPDX-License-Identifier: GPL-2.0
/* Basic blocks as JSON: a function with its blocks, their instructions, and where to splice. */
#include <stdio.h>

#include "../base/common.h"
#include "print.h"

static json_t *json_point(const struct kl_block_point *point)
{
	json_t *row = json_pack("{s:s, s:I, s:i}", "tier", kl_block_tier_name(point->tier),
				"offset", (json_int_t)point->begin, "window", (int)point->bytes);

	if (point->tier == KL_TIER_NONE)
		json_object_set_new(row, "reason",
				    json_string(kl_block_reason_name(point->reason)));
	if (point->tier == KL_TIER_BOUNCE)
		json_object_set_new(row, "slot", json_integer(point->slot));
	if (point->edge)
		json_object_set_new(row, "edge", json_string(kl_block_edge_name(point->edge)));
	return row;
}

static json_t *json_instructions(const struct cli_block_listing *l, const struct kl_block *block)
{
	const struct kl_block_graph *g = l->graph;
	struct kl_buffer text = {};
	json_t *rows = json_array();

	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];
		char bytes[2 * 15 + 1] = "";
		json_t *row;

		for (uint32_t k = 0; k < in->bytes; k++)
			snprintf(bytes + 2 * k, 3, "%02x", g->text[in->offset + k]);
		kl_buffer_reset(&text);
		kl_block_print_instruction(l->blocks, g, i, &text);
		row = json_pack("{s:I, s:s, s:o}", "offset", (json_int_t)in->offset, "bytes", bytes,
				"text", cli_json_text(text.length ? text.data : ""));
		if (in->target)
			json_object_set_new(row, "target",
					    json_sprintf("0x%llx", (unsigned long long)in->target));
		if (in->reason)
			json_object_set_new(row, "reason",
					    json_string(kl_block_reason_name(in->reason)));
		cli_source_json(l->source, i, row);
		json_array_append_new(rows, row);
	}
	kl_buffer_deinit(&text);
	return rows;
}

static json_t *json_index(uint32_t index)
{
	return index == UINT32_MAX ? json_null() : json_integer(index);
}

static void add_json_of_program(const struct kl_block_graph *g, uint32_t block, json_t *row)
{
	json_t *targets = json_array();

	for (uint32_t i = 0; i < g->edges; i++)
		if (g->edge[i].from == block)
			json_array_append_new(targets, json_integer(g->edge[i].to));
	json_object_set_new(row, "targets", targets);
}

json_t *cli_block_json(const struct cli_block_listing *l, bool instructions)
{
	const struct kl_block_graph *g = l->graph;
	json_t *blocks = json_array(), *function;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		json_t *row = json_pack("{s:i, s:I, s:I, s:s, s:o, s:o, s:b, s:b, s:o, s:o}",
					"block", (int)i, "offset", (json_int_t)block->begin,
					"bytes", (json_int_t)block->bytes, "ends",
					kl_block_end_name(block->end), "next",
					json_index(block->next), "taken", json_index(block->taken),
					"entered", block->entered, "flags_live",
					!!(block->live & KL_LIVE_FLAGS), "pre",
					json_point(&block->pre), "post", json_point(&block->post));

		if (instructions)
			json_object_set_new(row, "instructions", json_instructions(l, block));
		if (l->program)
			add_json_of_program(g, i, row);
		cli_source_json(l->source, block->first, row);
		json_array_append_new(blocks, row);
	}
	function = json_pack("{s:o, s:o, s:I, s:s, s:o}", "function", cli_json_text(l->name),
			     "address",
			     json_sprintf("0x%llx", (unsigned long long)g->function.address),
			     "bytes", (json_int_t)g->function.bytes, "reason",
			     kl_block_reason_name(g->function.reason), "blocks", blocks);
	cli_json_module(g->function.module, function);
	if (l->program)
		json_object_set_new(function, "program", cli_json_text(l->program));
	return function;
}
