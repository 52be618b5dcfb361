// SPDX-License-Identifier: GPL-2.0
/*
 * Stack traces with symbolic names, by id; written to and read from a text file in a trace
 * directory. Each text is stored once, because a few thousand functions make up all traces.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/stack_store.h>
#include "../base/base.h"
#include "../base/lines.h"
#include "../base/texts.h"
#include "schema.h"

#define VERSION 3

struct kl_stacks {
	struct kl_stack *stack; /* by id - 1; id 0: unused */
	size_t room;
	size_t n;
	uint64_t no_room;
	struct kl_texts texts;
	bool raw; /* show symbols, not demangled names */
};

struct kl_stacks *kl_stacks_create(void)
{
	struct kl_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		kl_fail(ENOMEM, "out of memory");
	return stacks;
}

void kl_stacks_destroy(struct kl_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->room; i++)
		free(stacks->stack[i].frame);
	free(stacks->stack);
	kl_texts_deinit(&stacks->texts);
	free(stacks);
}

/* --------------------------------------------------------------- traces */

static int make_room(struct kl_stacks *stacks, uint32_t id)
{
	struct kl_stack *grown;
	size_t room = stacks->room ? stacks->room : 64;

	if (id <= stacks->room)
		return 0;
	while (room < id)
		room *= 2;
	grown = reallocarray(stacks->stack, room, sizeof(*grown));
	if (!grown)
		return kl_fail(ENOMEM, "out of memory");
	memset(&grown[stacks->room], 0, (room - stacks->room) * sizeof(*grown));
	stacks->stack = grown;
	stacks->room = room;
	return 0;
}

static void set_name(struct kl_stacks *stacks, struct kl_frame *frame)
{
	bool wanted = frame->symbol && !stacks->raw;

	frame->name = wanted ? kl_texts_demangled(&stacks->texts, frame->symbol) : NULL;
}

static int keep_texts(struct kl_stacks *stacks, struct kl_frame *frame)
{
	if (kl_texts_keep(&stacks->texts, &frame->symbol) ||
	    kl_texts_keep(&stacks->texts, &frame->object) ||
	    kl_texts_keep(&stacks->texts, &frame->build_id) ||
	    kl_texts_keep(&stacks->texts, &frame->source))
		return -ENOMEM;
	set_name(stacks, frame);
	return 0;
}

void kl_stacks_demangle(struct kl_stacks *stacks, bool wanted)
{
	stacks->raw = !wanted;
	for (size_t i = 0; i < stacks->room; i++)
		for (unsigned int k = 0; stacks->stack[i].id && k < stacks->stack[i].n; k++)
			set_name(stacks, &stacks->stack[i].frame[k]);
}

int kl_stacks_add(struct kl_stacks *stacks, const struct kl_stack *stack)
{
	struct kl_frame *frames;
	struct kl_stack *to;

	if (!stack->id || stack->id > KL_STACK_TRACES_MAX || !stack->n || stack->n > KL_FRAMES_MAX)
		return kl_fail(EINVAL, "invalid stack trace %u with %u frames", stack->id,
			       stack->n);
	if (make_room(stacks, stack->id))
		return -ENOMEM;
	frames = calloc(stack->n, sizeof(*frames));
	if (!frames)
		return kl_fail(ENOMEM, "out of memory");
	memcpy(frames, stack->frame, stack->n * sizeof(*frames));
	for (unsigned int i = 0; i < stack->n; i++) {
		if (keep_texts(stacks, &frames[i])) {
			free(frames);
			return -ENOMEM;
		}
	}
	to = &stacks->stack[stack->id - 1];
	stacks->n += !to->id;
	free(to->frame);
	*to = *stack;
	to->frame = frames;
	return 0;
}

const struct kl_stack *kl_stacks_get(const struct kl_stacks *stacks, uint64_t id)
{
	if (!stacks || !id || id > stacks->room || !stacks->stack[id - 1].id)
		return NULL;
	return &stacks->stack[id - 1];
}

size_t kl_stacks_count(const struct kl_stacks *stacks)
{
	return stacks->n;
}

uint64_t kl_stacks_no_room(const struct kl_stacks *stacks)
{
	return stacks->no_room;
}

void kl_stacks_set_no_room(struct kl_stacks *stacks, uint64_t number)
{
	stacks->no_room = number;
}

void kl_schema_set_stacks(struct kl_schema *schema, const struct kl_stacks *stacks)
{
	schema->stacks = stacks;
}

const struct kl_stacks *kl_schema_stacks(const struct kl_schema *schema)
{
	return schema->stacks;
}

/* --------------------------------------------------------------- as text */

static void write_frame(struct kl_buffer *buffer, const struct kl_frame *frame)
{
	kl_word_write_hex(buffer, frame->address);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write(buffer, frame->symbol);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write_hex(buffer, frame->offset);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write(buffer, frame->object);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write(buffer, frame->build_id);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write_hex(buffer, frame->place);
	kl_buffer_add_char(buffer, ' ');
	kl_word_write(buffer, frame->source);
	kl_buffer_add_char(buffer, ' ');
	kl_buffer_add_unsigned(buffer, frame->line, 1);
	kl_buffer_add_string(buffer, frame->inlined ? " 1" : " 0");
	kl_buffer_add_string(buffer, frame->uncertain ? " 1\n" : " 0\n");
}

void kl_stacks_write(const struct kl_stacks *stacks, struct kl_buffer *buffer)
{
	kl_buffer_printf(buffer, "kernlens-stacks %d\nno-room %llu\n", VERSION,
			 (unsigned long long)stacks->no_room);
	for (size_t i = 0; i < stacks->room; i++) {
		const struct kl_stack *stack = &stacks->stack[i];

		if (!stack->id)
			continue;
		kl_buffer_printf(buffer, "stack %u %u %u %d %u\n", stack->id,
				 (unsigned int)stack->kind, stack->flags, stack->pid, stack->n);
		for (unsigned int k = 0; k < stack->n; k++)
			write_frame(buffer, &stack->frame[k]);
	}
}

/* The fields that versions 2 and 3 added. */
static bool parse_source(uint64_t version, char **line, struct kl_frame *frame)
{
	uint64_t number, inlined, uncertain = 0;

	if (!kl_word_take(line, &frame->source) || !kl_word_take_number(line, 10, &number) ||
	    !kl_word_take_number(line, 10, &inlined) ||
	    (version > 2 && !kl_word_take_number(line, 10, &uncertain)) || number > UINT32_MAX ||
	    inlined > 1 || uncertain > 1)
		return false;
	frame->line = (uint32_t)number;
	frame->inlined = inlined;
	frame->uncertain = uncertain;
	return true;
}

static bool parse_frame(uint64_t version, char *line, struct kl_frame *frame)
{
	*frame = (struct kl_frame){};
	return kl_word_take_number(&line, 16, &frame->address) &&
	       kl_word_take(&line, &frame->symbol) &&
	       kl_word_take_number(&line, 16, &frame->offset) &&
	       kl_word_take(&line, &frame->object) && kl_word_take(&line, &frame->build_id) &&
	       kl_word_take_number(&line, 16, &frame->place) &&
	       (version == 1 || (*line == ' ' && parse_source(version, &line, frame))) && !*line;
}

static bool parse_stack(struct kl_stacks *stacks, uint64_t version, char *line,
			struct kl_lines *lines)
{
	struct kl_frame frames[KL_FRAMES_MAX];
	struct kl_stack stack = { .frame = frames };
	uint64_t id, kind, flags, n;
	char *pid;

	if (!kl_word_take_number(&line, 10, &id) || !kl_word_take_number(&line, 10, &kind) ||
	    kind > 1 || !kl_word_take_number(&line, 10, &flags) || *line != ' ')
		return false;
	pid = line + 1;
	stack.pid = (int32_t)strtol(pid, &line, 10);
	if (line == pid || !kl_word_take_number(&line, 10, &n) || *line || !n ||
	    n > KL_FRAMES_MAX || id > KL_STACK_TRACES_MAX)
		return false;
	stack.id = (uint32_t)id;
	stack.kind = (enum kl_stack_kind)kind;
	stack.flags = (unsigned int)flags;
	stack.n = (unsigned int)n;
	for (unsigned int i = 0; i < n; i++) {
		line = kl_lines_next(lines);
		if (!line || !parse_frame(version, line, &frames[i]))
			return false;
	}
	return !kl_stacks_add(stacks, &stack);
}

static bool parse_lines(struct kl_stacks *stacks, struct kl_lines *lines)
{
	char *line = kl_lines_next(lines);
	uint64_t version;

	if (!line || strncmp(line, "kernlens-stacks ", 16) != 0)
		return false;
	line += 16;
	if (!kl_word_take_number(&line, 10, &version) || !version || version > VERSION)
		return false;
	while ((line = kl_lines_next(lines))) {
		if (!strncmp(line, "no-room ", 8)) {
			line += 8;
			if (!kl_word_take_number(&line, 10, &stacks->no_room))
				return false;
		} else if (!strncmp(line, "stack ", 6)) {
			if (!parse_stack(stacks, version, line + 6, lines))
				return false;
		} else {
			return false;
		}
	}
	return lines->at == lines->end;
}

struct kl_stacks *kl_stacks_parse(const char *text, size_t bytes)
{
	struct kl_stacks *stacks = kl_stacks_create();
	struct kl_lines lines;
	int error = stacks ? kl_lines_init(&lines, text, bytes) : -ENOMEM;

	if (!error && !parse_lines(stacks, &lines))
		error = kl_fail(EINVAL, "stack traces: cannot parse line %u", lines.number);
	if (stacks)
		kl_lines_deinit(&lines);
	if (!error)
		return stacks;
	kl_stacks_destroy(stacks);
	errno = -error;
	return NULL;
}

/* ------------------------------------------------------------------- files */

int kl_stacks_save(const struct kl_stacks *stacks, const char *path)
{
	struct kl_buffer buffer = { 0 };
	int error;

	kl_stacks_write(stacks, &buffer);
	error = kl_part_write(path, KL_STACKS_FILE, &buffer);
	kl_buffer_deinit(&buffer);
	return error;
}
