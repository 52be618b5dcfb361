// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens path --edges: count as few blocks of a function as possible, and derive the counts of
 * the others and of all edges. With --check, count all blocks and compare them with the derived
 * counts.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/common.h"
#include "path.h"
#include "spliced.h"

struct edges {
	const struct cli_path_request *request;
	struct cli_spliced spliced;
	struct cli_path_result result;
	unsigned int functions;
};

/* Choose the blocks to count in the matching function; a second match is an error. */
static int choose(void *context, const struct kl_block_graph *graph, bool *chosen)
{
	struct edges *e = context;
	struct cli_path_result *r = &e->result;
	uint32_t blocks = graph->blocks;
	bool *seen, *few;
	long n;

	if (e->functions++)
		return cli_error(-EINVAL, "several functions are named %s", e->request->function);
	if (graph->function.reason)
		return cli_error(-EINVAL, "%s cannot be instrumented: %s", graph->function.name,
				 kl_block_reason_help(graph->function.reason));
	seen = cli_alloc(blocks + 1);
	few = cli_alloc(blocks + 1);
	r->block = cli_alloc((blocks + 1) * sizeof(*r->block));
	for (uint32_t i = 0; i < blocks; i++) {
		seen[i] = graph->block[i].pre.tier != KL_TIER_NONE;
		if (!seen[i])
			r->block[i].reason = kl_block_reason_name(graph->block[i].pre.reason);
	}
	r->paths = kl_paths_create(graph, seen, 0);
	n = r->paths ? kl_paths_choose(r->paths, few) : -errno;
	for (uint32_t i = 0; i < blocks && n >= 0; i++) {
		r->block[i].counted = few[i];
		chosen[i] = few[i] || (seen[i] && e->request->check);
	}
	r->counters = n < 0 ? 0 : (uint32_t)n;
	free(few);
	free(seen);
	if (n < 0)
		return cli_library_error((int)n, NULL);
	return n ? CLI_OK :
		   cli_error(-EINVAL, "%s has no block that can be counted", graph->function.name);
}

/* Derive the counts of blocks and edges from the counters. */
static int derive(struct edges *e)
{
	const struct cli_spliced_function *f = &e->spliced.function[0];
	struct cli_path_result *r = &e->result;
	const struct kl_path_edge *list;
	uint32_t blocks = r->graph.blocks;
	struct kl_path_value *value = cli_alloc(blocks * sizeof(*value));
	uint64_t *count = cli_alloc(blocks * sizeof(*count));
	bool *counted = cli_alloc(blocks);
	int ret;

	for (uint32_t i = 0; i < f->n; i++) {
		struct cli_path_block *block = &r->block[f->target[i].block];

		block->reason = cli_spliced_reason(&e->spliced, f->first + i);
		block->full = e->spliced.count[f->first + i];
		count[f->target[i].block] = block->counted ? block->full : 0;
		counted[f->target[i].block] = block->counted && !block->reason;
	}
	r->edge = cli_alloc(kl_paths_edges(r->paths, &list) * sizeof(*r->edge));
	ret = kl_paths_derive(r->paths, counted, count, value, r->edge);
	for (uint32_t i = 0; i < blocks && !ret; i++) {
		r->block[i].count = value[i].count;
		r->block[i].known = value[i].known;
		if (e->request->check && !r->block[i].reason)
			r->differ += !value[i].known || value[i].count != r->block[i].full;
	}
	free(counted);
	free(count);
	free(value);
	return ret ? cli_library_error(ret, NULL) : CLI_OK;
}

static int show(struct edges *e)
{
	struct cli_path_result *r = &e->result;
	int ret, status;

	r->blocks = e->spliced.blocks;
	r->source = &e->spliced.source;
	r->elapsed_ns = e->spliced.elapsed_ns;
	r->subject = cli_spliced_subject(&e->spliced);
	ret = kl_blocks_graph(r->blocks, e->spliced.function[0].index, &r->graph);
	if (ret)
		return cli_library_error(ret, NULL);
	status = derive(e);
	return status ? status : cli_path_write(e->request, r);
}

int cli_path_count_edges(const struct cli_path_request *request, const struct cli_command *command,
			 const struct cli_select *select)
{
	struct edges *e = cli_alloc(sizeof(*e));
	char *want = cli_format("block:%s", request->function);
	int status;

	e->request = request;
	e->spliced.session.command = command;
	e->spliced.session.select = *select;
	e->spliced.choose = choose;
	e->spliced.context = e;
	e->spliced.lines = true;
	e->spliced.debug = request->debug;
	status = cli_spliced_run(&e->spliced, &want, 1);
	if (!status)
		status = show(e);
	cli_path_result_deinit(&e->result);
	status = cli_spliced_end(&e->spliced, status);
	free(want);
	free(e);
	return status;
}
