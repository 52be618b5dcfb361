// SPDX-License-Identifier: GPL-2.0
/* Opens a kernel's text, names reasons, tiers, edges and ends, and surveys all blocks. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <kernlens/btf.h>

#include "../base/base.h"
#include "block.h"

#define KL_BLOCK_REASON(id, name, help) [id] = { #name, help },
static const struct {
	const char *name;
	const char *help;
} reasons[] = {
#include <kernlens/block_reasons.def>
};

#undef KL_BLOCK_REASON

static const char *const tier_names[KL_TIER_COUNT] = { "none", "jump",	 "fall",
						       "call", "bounce", "trap" };
static const char *const edge_names[KL_EDGE_COUNT] = { "none", "next", "taken" };
static const char *const end_names[KL_END_COUNT] = { "fall",  "call",	"branch", "jump",
						     "leave", "return", "stop" };

_Static_assert(KL_ARRAY_SIZE(reasons) == KL_BLOCK_REASON_COUNT, "ids have no gaps");

const char *kl_block_reason_name(unsigned int reason)
{
	return reason < KL_BLOCK_REASON_COUNT ? reasons[reason].name : "?";
}

const char *kl_block_reason_help(unsigned int reason)
{
	return reason < KL_BLOCK_REASON_COUNT ? reasons[reason].help : "?";
}

const char *kl_block_tier_name(unsigned int tier)
{
	return tier < KL_TIER_COUNT ? tier_names[tier] : "?";
}

const char *kl_block_edge_name(unsigned int edge)
{
	return edge < KL_EDGE_COUNT ? edge_names[edge] : "?";
}

const char *kl_block_end_name(unsigned int end)
{
	return end < KL_END_COUNT ? end_names[end] : "?";
}

struct kl_blocks *kl_blocks_open(const char *core, const struct kl_symbols *symbols)
{
	struct kl_blocks *b = calloc(1, sizeof(*b));
	int ret = 0;

	if (!b) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	b->symbols = symbols;
	b->fd = -1;
	b->module = strdup("");
	if (!b->module)
		ret = kl_fail(ENOMEM, "out of memory");
	ZydisDecoderInit(&b->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ret && kl_symbols_hidden(symbols))
		ret = kl_fail(EACCES,
			      "the kernel's addresses are hidden: reading them needs CAP_SYSLOG");
	if (!ret)
		ret = kl_text_open(b, core ?: KL_KCORE_PATH);
	if (!ret)
		ret = kl_text_load(b);
	if (!ret)
		ret = kl_tables_load(b);
	if (!ret)
		ret = kl_functions_load(b);
	if (!ret)
		b->tracked = kl_tracks_branches(b, !core);
	if (!ret)
		ret = kl_world_get(b);
	if (!ret)
		ret = kl_breakpoints_load(b);
	if (!ret)
		return b;
	kl_blocks_close(b);
	errno = -ret;
	return NULL;
}

void kl_blocks_close(struct kl_blocks *blocks)
{
	if (!blocks)
		return;
	if (blocks->fd >= 0)
		close(blocks->fd);
	for (size_t i = 0; i < blocks->modules; i++)
		kl_blocks_close(blocks->added[i]);
	free(blocks->added);
	kl_btf_close(blocks->btf);
	free(blocks->module);
	free(blocks->call);
	free(blocks->leader.at);
	free(blocks->word.at);
	free(blocks->entry.at);
	free(blocks->range);
	free(blocks->mark);
	free(blocks->function);
	free(blocks->text);
	free(blocks->segment);
	free(blocks);
}

/* Find the text that contains function *@index, and make the index relative to it. */
static const struct kl_blocks *owner(const struct kl_blocks *blocks, size_t *index)
{
	const struct kl_blocks *b = blocks;

	for (size_t i = 0; *index >= b->functions && i < blocks->modules; i++) {
		*index -= b->functions;
		b = blocks->added[i];
	}
	return b;
}

size_t kl_blocks_functions(const struct kl_blocks *blocks)
{
	size_t n = blocks->functions;

	for (size_t i = 0; i < blocks->modules; i++)
		n += blocks->added[i]->functions;
	return n;
}

void kl_blocks_function(const struct kl_blocks *blocks, size_t index,
			struct kl_block_function *function)
{
	const struct kl_blocks *b = owner(blocks, &index);
	const struct kl_function_entry *f = &b->function[index];

	*function = (struct kl_block_function){
		.address = f->address,
		.bytes = f->bytes,
		.name = f->name,
		.module = b->module ?: "",
		.reason = f->reason,
	};
}

long kl_blocks_find(const struct kl_blocks *blocks, uint64_t address)
{
	long index = kl_function_at(blocks, address);
	size_t before = blocks->functions;

	for (size_t i = 0; index < 0 && i < blocks->modules; i++) {
		index = kl_function_at(blocks->added[i], address);
		if (index >= 0)
			return (long)before + index;
		before += blocks->added[i]->functions;
	}
	if (index >= 0)
		return index;
	return kl_fail(ENOENT, "no function at %#llx", (unsigned long long)address);
}

int kl_blocks_add_module(struct kl_blocks *blocks, const char *module)
{
	return kl_module_add(blocks, module);
}

int kl_blocks_graph(struct kl_blocks *blocks, size_t index, struct kl_block_graph *graph)
{
	const struct kl_blocks *b = owner(blocks, &index);
	int ret = kl_graph_make(b, index, graph);

	if (ret)
		return ret;
	if (b->program) {
		ret = kl_uprobe_plan(b, graph);
	} else {
		kl_live(b, graph);
		ret = kl_plan(graph, true);
	}
	if (ret)
		kl_block_graph_free(graph);
	return ret;
}

static void add_block(struct kl_block_survey *s, const struct kl_block *block)
{
	s->blocks++;
	s->bytes += block->bytes;
	s->instructions += block->n;
	s->pre[block->pre.tier]++;
	s->post[block->post.tier]++;
	s->pre_edge[block->pre.edge]++;
	if (block->pre.tier == KL_TIER_NONE)
		s->pre_reason[block->pre.reason]++;
	if (block->post.tier == KL_TIER_NONE)
		s->post_reason[block->post.reason]++;
	s->by_size[block->bytes == 1 ? 0 : block->bytes < 5 ? 1 : block->bytes < 10 ? 2 : 3]++;
	s->flags_live += !!(block->live & KL_LIVE_FLAGS);
	s->registers_live += (block->live & 0xffff) == 0xffff;
}

int kl_blocks_survey(struct kl_blocks *blocks, struct kl_block_survey *survey)
{
	*survey = (struct kl_block_survey){ .functions = blocks->functions };
	for (size_t i = 0; i < blocks->functions; i++) {
		struct kl_block_graph graph;
		int ret = kl_blocks_graph(blocks, i, &graph);

		if (ret)
			return ret;
		survey->never += blocks->function[i].never;
		if (graph.function.reason) {
			survey->excluded[graph.function.reason]++;
		} else {
			survey->regular++;
			for (uint32_t k = 0; k < graph.blocks; k++)
				add_block(survey, &graph.block[k]);
		}
		kl_block_graph_free(&graph);
	}
	return 0;
}

int kl_blocks_read(const struct kl_blocks *blocks, uint64_t address, void *to, size_t bytes)
{
	return kl_text_read(blocks, address, to, bytes);
}
