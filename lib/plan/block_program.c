// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of programs as events: each is a uprobe at the block's start or end or, for users who are
 * not allowed to use uprobes, a splice in their own processes that emits the event
 * (splice/process_splice.c). Blocks that cannot be instrumented are skipped, unless none is left.
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
	struct kl_program_selector selector;
	struct kl_program *program;
	size_t number; /* of the program to be spliced */
	char *path; /* absolute path of a uprobe's file */
	const char *function; /* the current one */
	size_t index; /* of the current function */
	uint32_t blocks; /* that matched */
	uint32_t added;
	uint8_t reason; /* of the last block that could not be added */
};

static bool splices(const struct kl_plan *plan)
{
	return !(plan->may & KL_MAY_HOOK_FUNCTIONS);
}

/* The same program is usually named several times in a row. */
static int open_program(struct maker *m)
{
	struct kl_plan *plan = m->plan;

	if (splices(plan)) {
		if (!plan->process)
			plan->process = kl_process_splices_create();
		m->program = plan->process ?
				     kl_process_splices_program(plan->process, m->selector.path,
								&m->number) :
				     NULL;
		return m->program ? 0 : -errno;
	}
	if (!plan->program || strcmp(kl_program_path(plan->program), m->selector.path) != 0) {
		kl_program_close(plan->program);
		plan->program = kl_program_open(m->selector.path);
	}
	m->program = plan->program;
	if (!m->program)
		return -errno;
	m->path = realpath(m->selector.path, NULL);
	return m->path ? 0 : kl_fail_system(errno, "%s", m->selector.path);
}

/* Add a uprobe at an address of the file. */
static int add_uprobe(struct maker *m, uint64_t address)
{
	struct kl_plan_place *place = m->place;
	uint64_t offset;
	int ret = kl_program_offset(m->program, address, &offset);

	if (ret)
		return ret;
	place->event = (struct kl_plan_event){
		.kind = KL_SOURCE_KIND_UPROBE,
		.arg = offset,
		.name = strdup(m->path),
	};
	if (!place->event.name)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_plan_add_place(m->plan, place);
	if (ret)
		free(place->event.name);
	return ret;
}

/* Define an event that the splice will emit. Another maskset may already have it. */
static int add_splice(struct maker *m, const struct kl_block_graph *g, uint32_t number)
{
	const struct kl_splice_target target = {
		.block = number,
		.behind = m->selector.want.behind,
		.instrument = KL_INSTRUMENT_FIRE,
		.event = (uint32_t)(KL_EV_DYNAMIC + m->plan->n_events),
	};
	size_t events = m->plan->n_events;
	int ret;

	m->place->event = (struct kl_plan_event){ .kind = KL_SOURCE_KIND_TRAP };
	ret = kl_plan_add_place(m->plan, m->place);
	if (ret || m->plan->n_events == events)
		return ret;
	return kl_process_splices_fire(m->plan->process, m->number, m->index, &g->function,
				       &target);
}

static int add_block(struct maker *m, const struct kl_block_graph *g, uint32_t number)
{
	const struct kl_block *block = &g->block[number];
	const struct kl_block_point *point = m->selector.want.behind ? &block->post : &block->pre;
	struct kl_plan_place *place = m->place;
	int ret;

	m->blocks++;
	if (point->tier == KL_TIER_NONE) {
		m->reason = point->reason;
		return 0;
	}
	ret = kl_program_selector_name(&m->selector, m->function, g, number, place->name,
				       sizeof(place->name));
	if (ret)
		return ret;
	snprintf(place->help, sizeof(place->help), "%s of block %u of %s in a program",
		 m->selector.want.behind ? "End" : "Start", number, m->function);
	m->added++;
	return splices(m->plan) ? add_splice(m, g, number) :
				  add_uprobe(m, g->function.address + point->begin);
}

static int add_function(struct maker *m)
{
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(kl_program_blocks(m->program), m->index, &graph);

	if (ret)
		return ret;
	if (splices(m->plan))
		ret = kl_process_splices_plan(m->program, &graph);
	for (uint32_t i = 0; !ret && i < graph.blocks; i++)
		if (kl_block_want_fits(&m->selector.want, &graph, i))
			ret = add_block(m, &graph, i);
	kl_block_graph_free(&graph);
	return ret;
}

/* Fail if none of the requested blocks could be added; note those that could not. */
static int check_found(const struct maker *m, bool named)
{
	const struct kl_spec *spec = m->place->spec;
	const char *list = m->place->list, *at = spec->symbol.text;

	if (!named)
		return kl_spec_fail(list, at, "%s has no function %s", m->selector.path,
				    m->selector.want.pattern);
	if (!m->blocks)
		return kl_spec_fail(list, at, "no such block (kernlens blocks lists them)");
	if (!m->added)
		return kl_spec_fail(list, at, "the block cannot be instrumented: %s",
				    kl_block_reason_help(m->reason));
	if (m->added < m->blocks)
		kl_buffer_printf(&m->plan->note,
				 "%.*s: %u of %u blocks cannot be instrumented: %s\n",
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

	while (!ret && (index = kl_program_next(m->program, m->selector.want.pattern, &position,
						&name)) >= 0) {
		named = true;
		m->function = name;
		m->index = (size_t)index;
		ret = add_function(m);
	}
	return ret ? ret : check_found(m, named);
}

/* Name the registers as arguments: those that a uprobe provides. */
static int name_registers(const struct kl_plan *plan)
{
	static const char *const names[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	int ret = 0;

	if (splices(plan)) {
		kl_scope_set_trap(plan->scope);
		return 0;
	}
	kl_scope_clear_arguments(plan->scope);
	for (size_t i = 0; i < KL_ARRAY_SIZE(names) && !ret; i++)
		ret = kl_scope_add_argument(plan->scope, names[i], 0);
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
	ret = kl_program_selector_parse(&m.selector, text);
	free(text);
	if (ret)
		return ret == -EINVAL ? kl_spec_fail(place->list, spec->symbol.text, "%s",
						     "expected FUNCTION, FUNCTION+OFFSET or "
						     "FUNCTION#NUMBER") :
					ret;
	place->without_arguments = true;
	ret = name_registers(plan);
	if (!ret)
		ret = open_program(&m);
	if (!ret)
		ret = add_functions(&m);
	free(m.path);
	kl_program_selector_free(&m.selector);
	return ret;
}

struct kl_process_splices *kl_plan_process_splices(const struct kl_plan *plan)
{
	return plan->process;
}
