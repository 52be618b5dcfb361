// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks of programs instrumented by splices in processes: turns what users write into functions
 * with instruments, those into windows (windows.c) and patches (block/user_patch.c), which a tracer
 * (ptrace/tracer.c) installs in processes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <kernlens/process_splice.h>

#include "../base/base.h"
#include "../block/user_patch.h"
#include "../ptrace/ptrace.h"
#include "splices.h"

struct function {
	size_t program;
	size_t index;
	uint64_t address, end;
	struct kl_splice_target *target;
	uint8_t *reason; /* of each target, once started */
	uint32_t first; /* index of the first target's counter */
	size_t n, room;
};

struct program {
	struct kl_program *program;
	char *path; /* as the user wrote it */
	char *whole;
};

struct kl_process_splices {
	struct program *program;
	size_t programs, program_room;
	struct function *function;
	size_t functions, function_room;
	struct kl_tracer_file *file; /* one for each program */
	uint64_t *counted;
	uint32_t counters;
	struct kl_process_tracer *tracer;
};

struct kl_process_splices *kl_process_splices_create(void)
{
	struct kl_process_splices *c = calloc(1, sizeof(*c));

	if (!c)
		kl_fail(ENOMEM, "out of memory");
	return c;
}

void kl_process_splices_destroy(struct kl_process_splices *splices)
{
	struct kl_process_splices *c = splices;

	if (!c)
		return;
	if (c->tracer)
		kl_process_leave(c->tracer);
	kl_process_free(c->tracer);
	for (size_t i = 0; c->file && i < c->programs; i++)
		kl_user_patches_free(&c->file[i].patches);
	for (size_t i = 0; i < c->functions; i++) {
		free(c->function[i].target);
		free(c->function[i].reason);
	}
	for (size_t i = 0; i < c->programs; i++) {
		kl_program_close(c->program[i].program);
		free(c->program[i].path);
		free(c->program[i].whole);
	}
	free(c->counted);
	free(c->file);
	free(c->function);
	free(c->program);
	free(c);
}

/* ------------------------------------------------------------------ collecting */

static long open_program(struct kl_process_splices *c, const char *path)
{
	char *whole = realpath(path, NULL);
	struct program *grown;
	int ret;

	if (!whole)
		return kl_fail_system(errno, "%s", path);
	for (size_t i = 0; i < c->programs; i++)
		if (!strcmp(c->program[i].whole, whole)) {
			free(whole);
			return (long)i;
		}
	grown = kl_array_grow(c->program, c->programs, &c->program_room, sizeof(*grown));
	if (!grown) {
		free(whole);
		return -ENOMEM;
	}
	c->program = grown;
	grown += c->programs++;
	*grown = (struct program){ .path = strdup(path), .whole = whole };
	if (!grown->path)
		return kl_fail(ENOMEM, "out of memory");
	grown->program = kl_program_open(whole);
	if (!grown->program)
		return -errno;
	ret = kl_user_entries(kl_program_blocks(grown->program));
	return ret ? ret : (long)c->programs - 1;
}

static struct function *find_function(const struct kl_process_splices *c, size_t program,
				      uint64_t address)
{
	for (size_t i = 0; i < c->functions; i++)
		if (c->function[i].program == program && c->function[i].address == address)
			return &c->function[i];
	return NULL;
}

static struct function *add_function(struct kl_process_splices *c, size_t program, size_t index,
				     const struct kl_block_function *of)
{
	struct function *f = find_function(c, program, of->address);

	if (f)
		return f;
	f = kl_array_grow(c->function, c->functions, &c->function_room, sizeof(*f));
	if (!f)
		return NULL;
	c->function = f;
	f += c->functions++;
	*f = (struct function){
		.program = program,
		.index = index,
		.address = of->address,
		.end = of->address + of->bytes,
	};
	return f;
}

static long find_target(const struct function *f, const struct kl_splice_target *target)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->target[i].block == target->block && f->target[i].behind == target->behind &&
		    f->target[i].instrument == target->instrument &&
		    f->target[i].event == target->event)
			return (long)i;
	return -ENOENT;
}

static int add_target(struct function *f, const struct kl_splice_target *target)
{
	struct kl_splice_target *grown;

	if (find_target(f, target) >= 0)
		return 0;
	grown = kl_array_grow(f->target, f->n, &f->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->target = grown;
	grown[f->n++] = *target;
	return 0;
}

/* Add the matching blocks of a function. Returns their number. */
static int add_blocks(struct kl_process_splices *c, size_t program, size_t index,
		      const struct kl_block_want *want)
{
	struct kl_blocks *blocks = kl_program_blocks(c->program[program].program);
	struct kl_block_graph graph;
	struct function *f;
	int ret = kl_blocks_graph(blocks, index, &graph), n = 0;

	if (ret)
		return ret;
	f = add_function(c, program, index, &graph.function);
	ret = f ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < graph.blocks && !ret; i++) {
		const struct kl_splice_target target = {
			.block = i,
			.behind = want->behind,
			.instrument = KL_INSTRUMENT_COUNT,
		};

		if (!kl_block_want_fits(want, &graph, i))
			continue;
		ret = add_target(f, &target);
		n++;
	}
	kl_block_graph_free(&graph);
	return ret ? ret : n;
}

int kl_process_splices_count(struct kl_process_splices *splices, const char *text)
{
	struct kl_program_selector selector;
	size_t position = 0, n = 0;
	const char *name;
	long program, index;
	int ret = kl_program_selector_parse(&selector, text);

	if (ret)
		return ret;
	program = open_program(splices, selector.path);
	ret = program < 0 ? (int)program : 0;
	while (ret >= 0 &&
	       (index = kl_program_next(splices->program[program].program, selector.want.pattern,
					&position, &name)) >= 0) {
		ret = add_blocks(splices, (size_t)program, (size_t)index, &selector.want);
		n += ret > 0 ? (size_t)ret : 0;
	}
	if (ret >= 0 && !n)
		ret = kl_fail(ENOENT, "%s has no %s matching \"%s\"", selector.path,
			      position && (selector.want.at_offset || selector.want.at_number) ?
				      "block" :
				      "function",
			      text);
	kl_program_selector_free(&selector);
	return ret < 0 ? ret : 0;
}

struct kl_program *kl_process_splices_program(struct kl_process_splices *splices, const char *path,
					      size_t *number)
{
	long program = open_program(splices, path);

	if (program < 0)
		return NULL;
	*number = (size_t)program;
	return splices->program[program].program;
}

int kl_process_splices_plan(struct kl_program *program, struct kl_block_graph *graph)
{
	return kl_user_plan(kl_program_blocks(program), graph);
}

int kl_process_splices_fire(struct kl_process_splices *splices, size_t program, size_t function,
			    const struct kl_block_function *of,
			    const struct kl_splice_target *target)
{
	struct function *f = add_function(splices, program, function, of);

	return f ? add_target(f, target) : -ENOMEM;
}

/* -------------------------------------------------------------------- planning */

/* Are flags live before the instruction at an offset? Known only at the start of a block. */
static bool flags_at(const struct kl_block_graph *g, uint32_t offset)
{
	for (uint32_t i = 0; i < g->blocks; i++)
		if (g->block[i].begin == offset)
			return g->block[i].live & KL_LIVE_FLAGS;
	return true;
}

/* The original text at an offset, for stack traces; 0 beyond the function. */
static uint32_t text_at(const struct kl_block_graph *g, uint32_t offset)
{
	uint32_t text = 0, left = offset < g->function.bytes ? g->function.bytes - offset : 0;

	memcpy(&text, g->text + offset, left < sizeof(text) ? left : sizeof(text));
	return text;
}

static int tier_of(const struct kl_abi_window *w)
{
	return w->tier == KL_SPLICE_CALL   ? KL_TIER_CALL :
	       w->tier == KL_SPLICE_BOUNCE ? KL_TIER_BOUNCE :
					     KL_TIER_JUMP;
}

static int add_patch(struct kl_tracer_file *file, const struct kl_blocks *b,
		     const struct kl_block_graph *g, const struct function *f,
		     const struct kl_splices *s, const struct kl_splice_window *w)
{
	struct kl_user_point point[KL_SPLICE_POINTS_MAX];
	struct kl_block_point at = {
		.tier = (uint8_t)tier_of(&w->abi),
		.begin = (uint32_t)(w->abi.address - g->function.address),
		.bytes = w->abi.bytes,
		.slot = w->abi.slot ? (int32_t)(w->abi.slot - g->function.address) : 0,
	};
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->abi.points; i++) {
		const struct kl_splice_instrument *in = &s->instrument[w->first + i];
		bool fires = in->abi.instrument == KL_INSTRUMENT_FIRE;

		if (in->point == KL_NO_POINT)
			continue;
		point[n++] = (struct kl_user_point){
			.offset = at.begin + in->abi.offset,
			.number = fires ? in->abi.event : f->first - file->first + in->point,
			/* After a call's instrument, the called function comes next. */
			.text = at.tier == KL_TIER_CALL ? 0 : text_at(g, at.begin + in->abi.offset),
			.fires = fires,
			.flags = flags_at(g, at.begin + in->abi.offset),
		};
	}
	return kl_user_patch_add(&file->patches, b, g, &at, point, n);
}

/* Bounces last: their slots are in space that other windows free. */
static int add_patches(struct kl_tracer_file *file, const struct kl_blocks *b,
		       const struct kl_block_graph *g, struct function *f, struct kl_splices *s)
{
	int ret = 0;

	for (int bounce = 0; bounce < 2; bounce++)
		for (size_t i = 0; i < s->windows && !ret; i++) {
			bool bounces = s->window[i].abi.tier == KL_SPLICE_BOUNCE;

			if (bounces == bounce)
				ret = add_patch(file, b, g, f, s, &s->window[i]);
		}
	for (size_t i = 0; i < f->n; i++)
		f->reason[i] = s->point[i].reason;
	return ret;
}

/* Symbols may place a function inside another one. Divert its bytes only once. */
static bool is_in_other(const struct kl_process_splices *c, const struct function *f)
{
	for (const struct function *o = c->function; o < f; o++)
		if (o->program == f->program && o->address < f->end && f->address < o->end)
			return true;
	return false;
}

static void exclude(struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		g->block[i].pre = (struct kl_block_point){ .reason = KL_BLOCK_shared };
		g->block[i].post = g->block[i].pre;
	}
}

static int plan_function(struct kl_process_splices *c, struct function *f)
{
	struct kl_blocks *blocks = kl_program_blocks(c->program[f->program].program);
	struct kl_tracer_file *file = &c->file[f->program];
	struct kl_splices *s = kl_splices_create(false);
	struct kl_block_graph graph = {};
	int ret = s ? kl_blocks_graph(blocks, f->index, &graph) : -ENOMEM;

	f->reason = calloc(f->n + 1, 1);
	if (!f->reason)
		ret = kl_fail(ENOMEM, "out of memory");
	f->first = c->counters;
	if (!ret)
		ret = kl_user_plan(blocks, &graph);
	if (!ret && is_in_other(c, f))
		exclude(&graph);
	if (!ret && kl_splices_add(s, &graph, f->target, f->n) < 0)
		ret = -ENOMEM;
	if (!ret)
		ret = add_patches(file, blocks, &graph, f, s);
	c->counters += f->n;
	kl_block_graph_free(&graph);
	kl_splices_destroy(s);
	return ret;
}

static int plan_file(struct kl_process_splices *c, size_t i)
{
	struct kl_tracer_file *file = &c->file[i];
	struct stat about;
	int ret = 0;

	if (stat(c->program[i].whole, &about))
		return kl_fail_system(errno, "%s", c->program[i].path);
	file->path = c->program[i].whole;
	file->device = about.st_dev;
	file->inode = about.st_ino;
	file->first = c->counters;
	for (size_t k = 0; k < c->functions && !ret; k++)
		if (c->function[k].program == i)
			ret = plan_function(c, &c->function[k]);
	file->counters = c->counters - file->first;
	if (ret || !file->patches.writes)
		return ret;
	kl_user_patches_sort(&file->patches);
	file->address = file->patches.window[0].begin;
	return kl_program_offset(c->program[i].program, file->address, &file->offset);
}

/* ---------------------------------------------------------------------- public */

int kl_process_splices_begin(struct kl_process_splices *splices, const pid_t *pid, size_t pids,
			     pid_t command, uint32_t session)
{
	struct kl_process_splices *c = splices;
	const struct kl_process_request request = {
		.pid = pid,
		.pids = pids,
		.command = command,
		.session = session,
	};
	int ret = 0;

	c->file = calloc(c->programs + 1, sizeof(*c->file));
	if (!c->file)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < c->programs && !ret; i++)
		ret = plan_file(c, i);
	if (ret)
		return ret;
	c->counted = calloc(c->counters + 1, sizeof(*c->counted));
	if (!c->counted)
		return kl_fail(ENOMEM, "out of memory");
	c->tracer = kl_process_keep(c->file, c->programs, c->counters, &request);
	return c->tracer ? 0 : -errno;
}

/*
 * Count the targets that fire an event but were not spliced; counted ones are queried one by one.
 */
static void add_without(const struct function *f, struct kl_process_splices_sum *sum)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->target[i].instrument != KL_INSTRUMENT_FIRE || !f->reason[i])
			continue;
		sum->without++;
		sum->reason = f->reason[i];
	}
}

void kl_process_splices_end(struct kl_process_splices *splices, struct kl_process_splices_sum *sum)
{
	const struct kl_tracer_report *report = kl_process_leave(splices->tracer);

	memcpy(splices->counted, report->count, splices->counters * sizeof(*splices->counted));
	*sum = (struct kl_process_splices_sum){
		.placed = report->placed,
		.kept = report->kept,
		.changed = report->changed,
	};
	for (size_t i = 0; i < splices->functions; i++)
		add_without(&splices->function[i], sum);
	snprintf(sum->text, sizeof(sum->text), "%s", report->error ? report->text : "");
	kl_process_free(splices->tracer);
	splices->tracer = NULL;
}

unsigned int kl_process_splices_get(const struct kl_process_splices *splices, const char *path,
				    uint64_t address, uint32_t block, bool behind, uint64_t *passes)
{
	const struct kl_splice_target target = {
		.block = block,
		.behind = behind,
		.instrument = KL_INSTRUMENT_COUNT,
	};
	char *whole = realpath(path, NULL);
	unsigned int reason = KL_BLOCK_unreached;

	for (size_t i = 0; whole && i < splices->programs; i++) {
		const struct function *f = find_function(splices, i, address);
		long at = f && !strcmp(whole, splices->program[i].whole) ? find_target(f, &target) :
									   -ENOENT;

		if (at < 0)
			continue;
		reason = f->reason[at];
		*passes = splices->counted[f->first + at];
		break;
	}
	free(whole);
	return reason;
}
