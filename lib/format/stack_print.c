// SPDX-License-Identifier: GPL-2.0
/* Prints stack traces as text and JSON; print.c, json.c and csv.c add them to their events. */
#include <stdio.h>
#include <string.h>

#include <kernlens/format.h>
#include <kernlens/stack.h>
#include <kernlens/stack_store.h>
#include "../base/base.h"
#include "print.h"
#include "schema.h"

static void print_object(struct kl_buffer *buffer, const struct kl_frame *frame)
{
	kl_buffer_add(buffer, " (", 2);
	kl_print_plain(buffer, frame->object, strlen(frame->object));
	if (!frame->symbol && frame->place) {
		kl_buffer_add_char(buffer, '+');
		kl_buffer_add_hex(buffer, frame->place);
	}
	kl_buffer_add_char(buffer, ')');
}

static void print_source(struct kl_buffer *buffer, const struct kl_frame *frame)
{
	if (!frame->source)
		return;
	kl_buffer_add_char(buffer, ' ');
	kl_print_plain(buffer, frame->source, strlen(frame->source));
	if (frame->line)
		kl_buffer_printf(buffer, ":%u", frame->line);
}

void kl_print_frame(struct kl_buffer *buffer, const struct kl_frame *frame)
{
	const char *name = frame->name ? frame->name : frame->symbol;

	if (name)
		kl_print_plain(buffer, name, strlen(name));
	else
		kl_buffer_add_hex(buffer, frame->address);
	if (frame->inlined) {
		kl_buffer_add_string(buffer, " inlined");
	} else if (name) {
		kl_buffer_add_char(buffer, '+');
		kl_buffer_add_hex(buffer, frame->offset);
	}
	if (frame->object && !frame->inlined)
		print_object(buffer, frame);
	print_source(buffer, frame);
}

const char *kl_stack_doubt_text(const struct kl_stack *stack)
{
	static const char *const text[] = {
		[KL_STACK_NO_TABLES] = "no unwind tables are loaded",
		[KL_STACK_NO_TABLE] = "no unwind table for this file",
		[KL_STACK_NO_FILE] = "code that is not in a file",
		[KL_STACK_NO_RULE] = "code without unwind information",
		[KL_STACK_NOT_READABLE] = "stack not in memory",
		[KL_STACK_BUSY] = "mappings could not be read at that time",
		[KL_STACK_INCONSISTENT] = "stack does not match the unwind table",
		[KL_STACK_COMPAT] = "32-bit program",
	};
	unsigned int doubt = stack->flags >> KL_STACK_DOUBT_SHIFT;

	return doubt < KL_ARRAY_SIZE(text) ? text[doubt] : "unknown reason";
}

/* Why the frames from here on are uncertain, or why there are none. */
static void print_doubt(struct kl_buffer *buffer, const struct kl_stack *stack, unsigned int indent)
{
	const char *text = kl_stack_doubt_text(stack);

	if (text)
		kl_buffer_printf(buffer, "%*s(%s)\n", (int)indent, "", text);
}

void kl_print_stack(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id,
		    unsigned int indent)
{
	const struct kl_stack *stack = kl_stacks_get(stacks, id);
	bool doubt = false;

	for (unsigned int i = 0; stack && i < stack->n; i++) {
		if (stack->frame[i].uncertain && !doubt)
			print_doubt(buffer, stack, indent);
		doubt |= stack->frame[i].uncertain;
		kl_buffer_printf(buffer, "%*s%s", (int)indent, "",
				 stack->frame[i].uncertain ? "? " : "");
		kl_print_frame(buffer, &stack->frame[i]);
		kl_buffer_add_char(buffer, '\n');
	}
	if (stack && !doubt)
		print_doubt(buffer, stack, indent);
	if (stack && stack->flags & KL_STACK_CUT)
		kl_buffer_printf(buffer, "%*s...\n", (int)indent, "");
}

const char *kl_frame_label(const struct kl_frame *frame, char *text, size_t bytes)
{
	const char *name = frame->name ? frame->name : frame->symbol;
	const char *file = frame->object ? kl_file_of(frame->object) : "unknown";

	if (name)
		return name;
	if (frame->place && frame->place >= frame->offset)
		snprintf(text, bytes, "[%s+0x%llx]", file,
			 (unsigned long long)(frame->place - frame->offset));
	else
		snprintf(text, bytes, "[%s]", file);
	return text;
}

bool kl_frame_is_tracing(const struct kl_frame *frame)
{
	return frame->symbol && !strncmp(frame->symbol, "__traceiter_", 12);
}

/* ,"name":"text" */
static void add_text(struct kl_buffer *buffer, const char *name, const char *text)
{
	if (!text)
		return;
	kl_buffer_printf(buffer, ",\"%s\":", name);
	kl_print_json_string(buffer, text, strlen(text));
}

void kl_print_stack_json(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id)
{
	const struct kl_stack *stack = kl_stacks_get(stacks, id);

	if (!stack) {
		kl_buffer_add_string(buffer, "null");
		return;
	}
	for (unsigned int i = 0; i < stack->n; i++) {
		const struct kl_frame *frame = &stack->frame[i];

		kl_buffer_printf(buffer, "%s{\"address\":\"0x%llx\"", i ? "," : "[",
				 (unsigned long long)frame->address);
		add_text(buffer, "symbol", frame->name ? frame->name : frame->symbol);
		if (frame->name)
			add_text(buffer, "mangled", frame->symbol);
		if (frame->symbol && !frame->inlined)
			kl_buffer_printf(buffer, ",\"offset\":%llu",
					 (unsigned long long)frame->offset);
		add_text(buffer, stack->kind == KL_STACK_KERNEL ? "module" : "file", frame->object);
		if (stack->kind == KL_STACK_USER && frame->object && frame->place)
			kl_buffer_printf(buffer, ",\"place\":%llu",
					 (unsigned long long)frame->place);
		add_text(buffer, "build_id", frame->build_id);
		add_text(buffer, "source", frame->source);
		if (frame->line)
			kl_buffer_printf(buffer, ",\"line\":%u", frame->line);
		if (frame->inlined)
			kl_buffer_add_string(buffer, ",\"inlined\":true");
		if (frame->uncertain)
			kl_buffer_add_string(buffer, ",\"uncertain\":true");
		kl_buffer_add_char(buffer, '}');
	}
	kl_buffer_add_char(buffer, ']');
}

void kl_print_stack_line(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id)
{
	const struct kl_stack *stack = kl_stacks_get(stacks, id);

	for (unsigned int i = 0; stack && i < stack->n; i++) {
		if (i)
			kl_buffer_add_char(buffer, ';');
		if (stack->frame[i].uncertain)
			kl_buffer_add_char(buffer, '?');
		kl_print_frame(buffer, &stack->frame[i]);
	}
}

/* Print the stack traces of an event's variables below its line. */
void kl_print_event_stacks(struct kl_buffer *buffer, const struct kl_event *event)
{
	const struct kl_schema *schema = event->schema;

	for (unsigned int i = 0; schema->stacks && i < schema->n_variables; i++)
		if (schema->variables[i]->field.format == KL_FORMAT_stack)
			kl_print_stack(buffer, schema->stacks, kl_event_variable(event, i).number,
				       8);
}

/* Prints ,"stacks":{"kstack":[...],"ustack":[...]}, for the known traces. */
void kl_print_event_stacks_json(struct kl_buffer *buffer, const struct kl_event *event)
{
	const struct kl_schema *schema = event->schema;
	bool any = false;

	for (unsigned int i = 0; schema->stacks && i < schema->n_variables; i++) {
		struct kl_value value;

		if (schema->variables[i]->field.format != KL_FORMAT_stack)
			continue;
		value = kl_event_variable(event, i);
		if (!kl_stacks_get(schema->stacks, value.number))
			continue;
		kl_buffer_printf(buffer, "%s\"%s\":", any ? "," : ",\"stacks\":{",
				 value.field->name);
		kl_print_stack_json(buffer, schema->stacks, value.number);
		any = true;
	}
	if (any)
		kl_buffer_add_char(buffer, '}');
}
