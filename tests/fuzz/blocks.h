/* SPDX-License-Identifier: GPL-2.0 */
/* Goes through everything that is known of a text's blocks, and prints its instructions. */
#ifndef KL_TESTS_FUZZ_BLOCKS_H
#define KL_TESTS_FUZZ_BLOCKS_H

#include "../../lib/block/block.h"
#include "../../lib/block/user_patch.h"
#include "shared.h"

static inline void blocks_point(const struct kl_block_graph *g, const struct kl_block_point *p)
{
	fuzz_assert(p->tier < KL_TIER_COUNT && p->reason < KL_BLOCK_REASON_COUNT &&
		    p->edge < KL_EDGE_COUNT);
	if (p->tier == KL_TIER_NONE)
		return;
	fuzz_assert(p->begin < g->function.bytes && p->bytes <= g->function.bytes - p->begin);
}

static inline void blocks_check(const struct kl_block_graph *g)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < g->instructions; i++) {
		fuzz_assert(g->instruction[i].offset == end && g->instruction[i].bytes);
		end += g->instruction[i].bytes;
		fuzz_assert(end <= g->function.bytes);
	}
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *b = &g->block[i];

		fuzz_assert(b->n && b->first < g->instructions &&
			    b->n <= g->instructions - b->first);
		fuzz_assert(b->next == UINT32_MAX || b->next < g->blocks);
		fuzz_assert(b->taken == UINT32_MAX || b->taken < g->blocks);
		blocks_point(g, &b->pre);
		blocks_point(g, &b->post);
	}
	for (uint32_t i = 0; i < g->edges; i++)
		fuzz_assert(g->edge[i].from < g->blocks && g->edge[i].to < g->blocks);
}

/* Makes a patch for each point that has one, at a made-up address. */
static inline void blocks_patch(const struct kl_blocks *b, const struct kl_block_graph *g)
{
	const struct kl_user_place place = { .base = 0x10000000,
					     .bias = 0x1000,
					     .counter = 0x10100000 };
	struct kl_user_patches patches = {};
	uint8_t *code, bytes[5];

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block_point *at = i & 1 ? &g->block[i].post : &g->block[i].pre;
		const struct kl_user_point point = {
			.offset = at->place, .number = i, .fires = i & 2, .flags = true
		};

		if (at->tier != KL_TIER_NONE)
			fuzz_assert(!kl_user_patch_add(&patches, b, g, at, &point, 1));
	}
	kl_user_patches_sort(&patches);
	code = calloc(1, patches.bytes + 1);
	fuzz_assert(code);
	if (kl_user_patches_place(&patches, code, &place))
		for (size_t i = 0; i < patches.writes; i++)
			kl_user_write_make(&patches.write[i], place.base, place.bias, bytes);
	for (uint32_t i = 0; i < g->function.bytes; i += 3)
		kl_user_enter(&patches, g->function.address + i);
	free(code);
	kl_user_patches_free(&patches);
}

static inline void blocks_all(struct kl_blocks *b)
{
	struct kl_block_survey survey = {};
	struct kl_block_graph graph;
	struct kl_buffer text = { 0 };

	if (b->program)
		fuzz_assert(!kl_user_entries(b));
	for (size_t i = 0; i < kl_blocks_functions(b) && i < 64; i++) {
		fuzz_assert(!kl_blocks_graph(b, i, &graph));
		blocks_check(&graph);
		for (uint32_t k = 0; k < graph.instructions && k < 200; k++) {
			kl_buffer_reset(&text);
			kl_block_print_instruction(b, &graph, k, &text);
			fuzz_check_plain(text.data, text.length);
		}
		if (b->program) {
			fuzz_assert(!kl_user_plan(b, &graph));
			blocks_check(&graph);
			blocks_patch(b, &graph);
		}
		kl_block_graph_free(&graph);
		kl_blocks_find(b, b->function[i].address + 1);
	}
	if (kl_blocks_functions(b) < 64)
		kl_blocks_survey(b, &survey);
	kl_buffer_deinit(&text);
}

#endif /* KL_TESTS_FUZZ_BLOCKS_H */
