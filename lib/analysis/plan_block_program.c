// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of programs as events: each is a uprobe where the block begins, or ends. Those that have
 * no place for one are left out, unless one of them was named.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/program.h>

#include "../base/base.h"
#include "plan.h"

struct maker {
	struct kl_plan *plan;
	struct kl_plan_place *place;
	struct kl_program_wish wish;
	struct kl_program *program;
	char *path; /* absolute */
	uint32_t blocks; /* that were meant */
	uint32_t added;
	uint8_t reason; /* why the last that was not added was not */
};

/* The same program is mostly named several times in a row. */
static int open_program(struct maker *m)
{
	struct kl_plan *plan = m->plan;

	if (!plan->program || strcmp(kl_program_path(plan->program), m->wish.path) != 0) {
		kl_program_close(plan->program);
		plan->program = kl_program_open(m->wish.path);
	}
	m->program = plan->program;
	if (!m->program)
		return -errno;
	m->path = realpath(m->wish.path, NULL);
	return m->path ? 0 : kl_fail_system(errno, "%s", m->wish.path);
}

static int add_block(struct maker *m, const struct kl_block_graph *g, uint32_t number,
		     const char *function)
{
	const struct kl_block *block = &g->block[number];
	const struct kl_block_point *point = m->wish.want.behind ? &block->post : &block->pre;
	struct kl_plan_place *place = m->place;
	uint64_t offset;
	int ret;

	m->blocks++;
	if (point->tier == KL_TIER_NONE) {
		m->reason = point->reason;
		return 0;
	}
	ret = kl_program_wish_name(&m->wish, function, g, number, place->name, sizeof(place->name));
	if (!ret)
		ret = kl_program_offset(m->program, g->function.address + point->begin, &offset);
	if (ret)
		return ret;
	snprintf(place->help, sizeof(place->help), "%s of block %u of %s in a program",
		 m->wish.want.behind ? "End" : "Start", number, function);
	place->event = (struct kl_plan_event){
		.kind = KL_SOURCE_KIND_UPROBE,
		.arg = offset,
		.name = strdup(m->path),
	};
	if (!place->event.name)
		return kl_fail(ENOMEM, "out of memory");
	m->added++;
	ret = kl_plan_add_place(m->plan, place);
	if (ret)
		free(place->event.name);
	return ret;
}

static int add_function(struct maker *m, size_t index, const char *name)
{
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(kl_program_blocks(m->program), index, &graph);

	if (ret)
		return ret;
	for (uint32_t i = 0; !ret && i < graph.blocks; i++)
		if (kl_block_want_fits(&m->wish.want, &graph, i))
			ret = add_block(m, &graph, i, name);
	kl_block_graph_free(&graph);
	return ret;
}

/* What was meant and cannot be had. */
static int check_found(const struct maker *m, bool named)
{
	const struct kl_spec *spec = m->place->spec;
	const char *list = m->place->list, *at = spec->symbol.text;

	if (!named)
		return kl_spec_fail(list, at, "%s has no function %s", m->wish.path,
				    m->wish.want.pattern);
	if (!m->blocks)
		return kl_spec_fail(list, at, "no block is there; kernlens blocks shows them");
	if (!m->added)
		return kl_spec_fail(list, at, "no uprobe fits there: %s",
				    kl_block_reason_help(m->reason));
	if (m->added < m->blocks)
		kl_buffer_printf(&m->plan->note, "%.*s: %u of %u blocks have no uprobe: %s\n",
				 (int)spec->whole.length, spec->whole.text, m->blocks - m->added,
				 m->blocks, kl_block_reason_help(m->reason));
	return 0;
}

static int add_functions(struct maker *m)
{
	const char *name;
	size_t position = 0;
	bool named = false;
	long index;
	int ret = 0;

	while (!ret &&
	       (index = kl_program_next(m->program, m->wish.want.pattern, &position, &name)) >= 0) {
		named = true;
		ret = add_function(m, (size_t)index, name);
	}
	return ret ? ret : check_found(m, named);
}

/* As arguments: of those that a uprobe knows. */
static int name_registers(struct kl_scope *scope)
{
	static const char *const names[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	int ret = 0;

	kl_scope_clear_arguments(scope);
	for (size_t i = 0; i < KL_ARRAY_SIZE(names) && !ret; i++)
		ret = kl_scope_add_argument(scope, names[i], 0);
	return ret;
}

int kl_plan_add_program_blocks(struct kl_plan *plan, struct kl_plan_place *place)
{
	const struct kl_spec *spec = place->spec;
	struct maker m = { .plan = plan, .place = place };
	char *text = NULL;
	int ret;

	if (asprintf(&text, "%.*s:%.*s%s", (int)spec->place.length, spec->place.text,
		     (int)spec->symbol.length, spec->symbol.text, spec->behind ? ":post" : "") < 0)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_program_wish_parse(&m.wish, text);
	free(text);
	if (ret)
		return ret == -EINVAL ? kl_spec_fail(place->list, spec->symbol.text, "%s",
						     "write it as FUNCTION, FUNCTION+OFFSET or "
						     "FUNCTION#NUMBER") :
					ret;
	place->without_arguments = true;
	ret = name_registers(plan->scope);
	if (!ret)
		ret = open_program(&m);
	if (!ret)
		ret = add_functions(&m);
	free(m.path);
	kl_program_wish_free(&m.wish);
	return ret;
}
