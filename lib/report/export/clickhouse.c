// SPDX-License-Identifier: GPL-2.0
/*
 * Statements that insert a trace into the tables of packaging/clickhouse/schema.sql. Rows of a
 * table are collected for a batch of calls, and written in large statements, each of one line,
 * because old clients end it there. Each row begins with the machine and the trace, and rows that
 * are inserted again replace themselves, so that a load that was cut short is repeated. The row of
 * the table `capture` comes last: what has one is whole.
 */
#include <errno.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../format/print.h"
#include "export.h"

#define STATEMENT_BYTES (1u << 20)
#define DAY_NS (86400ull * KL_NS_PER_S)

enum table {
	EVENT,
	SPAN,
	VARIABLE,
	STACK,
	LOSS,
	CAPTURE,
	TABLES,
};

static const char *const names[TABLES] = {
	[EVENT] = "event", [SPAN] = "span", [VARIABLE] = "variable",
	[STACK] = "stack", [LOSS] = "loss", [CAPTURE] = "capture",
};

/**
 * struct clickhouse - state of the format
 * @number: of rows in each table
 * @origin: with which each row begins
 * @kstack, @ustack: indices of variables, or -1
 */
struct clickhouse {
	uint64_t number[TABLES];
	struct kl_buffer origin;
	int kstack;
	int ustack;
};

/**
 * struct part - rows that have not been written
 * @rows: of each table
 * @args: fields of an event
 */
struct part {
	struct kl_buffer rows[TABLES];
	struct kl_export_args args;
};

/* ---------------------------------------------------------------------- rows */

/* 'text', with backslashes before what would end it. */
static void add_text(struct kl_buffer *to, const char *text, size_t length)
{
	kl_buffer_add_char(to, '\'');
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			kl_buffer_add_char(to, '\\');
		kl_buffer_add_char(to, text[i]);
	}
	kl_buffer_add_char(to, '\'');
}

static void add_string(struct kl_buffer *to, const char *text)
{
	add_text(to, text ? text : "", text ? strlen(text) : 0);
}

static void next_string(struct kl_buffer *to, const char *text)
{
	kl_buffer_add_char(to, ',');
	add_string(to, text);
}

static void next_number(struct kl_buffer *to, int64_t number)
{
	kl_buffer_add_char(to, ',');
	kl_buffer_add_signed(to, number);
}

/* Numbers of tasks and bytes do not exceed INT64_MAX; times neither, until 2262. */
static void next_unsigned(struct kl_buffer *to, uint64_t number)
{
	kl_buffer_add_char(to, ',');
	kl_buffer_add_unsigned(to, number, 0);
}

/* A time, and the day of it, by which tables are divided. */
static void next_time(struct kl_buffer *to, uint64_t ns)
{
	next_unsigned(to, ns / DAY_NS);
	next_unsigned(to, ns);
}

/* Begin a row with the machine, the trace, and its number in the table. */
static struct kl_buffer *begin_row(struct kl_export *x, enum table table, uint64_t number)
{
	const struct clickhouse *c = x->state;
	struct part *part = x->part;
	struct kl_buffer *rows = &part->rows[table];

	if (rows->length) {
		kl_buffer_add(rows, ",(", 2);
	} else {
		kl_buffer_add_string(rows, "INSERT INTO kernlens.");
		kl_buffer_add_string(rows, names[table]);
		kl_buffer_add_string(rows, " VALUES (");
	}
	kl_buffer_add(rows, c->origin.data, c->origin.length);
	next_unsigned(rows, number);
	return rows;
}

static int write_table(struct kl_export *x, enum table table)
{
	struct part *part = x->part;
	struct kl_buffer *rows = &part->rows[table];

	if (rows->error)
		return -ENOMEM;
	if (rows->length) {
		kl_buffer_add(&x->out, rows->data, rows->length);
		kl_buffer_add(&x->out, ";\n", 2);
	}
	kl_buffer_reset(rows);
	return kl_export_flush(x);
}

static int end_row(struct kl_export *x, enum table table)
{
	struct part *part = x->part;
	struct kl_buffer *rows = &part->rows[table];

	kl_buffer_add_char(rows, ')');
	return rows->error || rows->length > STATEMENT_BYTES ? write_table(x, table) : 0;
}

/* -------------------------------------------------------------------- events */

static int begin_clickhouse(struct kl_export *x)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	const char *host = x->options->host ? x->options->host : info->hostname;
	const char *file = kl_file_of(x->options->title);
	struct clickhouse *c = x->state;

	c->kstack = kl_schema_find_variable(x->schema, "kstack");
	c->ustack = kl_schema_find_variable(x->schema, "ustack");
	add_string(&c->origin, kl_export_plain(x, host));
	next_string(&c->origin, kl_export_plain(x, *file ? file : x->options->title));
	return c->origin.error ? -ENOMEM : 0;
}

/* Three arrays: names, texts, and numbers of the fields. */
static void add_fields(struct kl_buffer *rows, const struct kl_export_args *args)
{
	for (unsigned int column = 0; column < 3; column++) {
		kl_buffer_add(rows, ",[", 2);
		for (unsigned int i = 0; i < args->n; i++) {
			const struct kl_export_arg arg = kl_export_arg_of(args, i);

			if (i)
				kl_buffer_add_char(rows, ',');
			if (column == 0)
				add_string(rows, arg.name);
			else if (column == 1)
				add_text(rows, arg.text, arg.text ? arg.length : 0);
			else
				kl_buffer_add_signed(rows, (int64_t)arg.number);
		}
		kl_buffer_add_char(rows, ']');
	}
}

static uint64_t stack_of(const struct kl_event *event, int variable)
{
	return variable < 0 ? 0 : kl_event_variable(event, (unsigned int)variable).number;
}

static int add_record(struct kl_export *x, const struct kl_event *event)
{
	const struct clickhouse *c = x->state;
	struct part *part = x->part;
	struct kl_buffer *rows = begin_row(x, EVENT, x->number);

	kl_export_args_reset(&part->args);
	kl_export_args_add(&part->args, event);
	next_time(rows, event->ns);
	next_unsigned(rows, event->cpu);
	next_number(rows, event->task.tid);
	next_number(rows, event->task.pid);
	next_string(rows, kl_export_plain(x, event->task.comm));
	next_string(rows, event->event_class->name);
	add_fields(rows, &part->args);
	next_unsigned(rows, stack_of(event, c->kstack));
	next_unsigned(rows, stack_of(event, c->ustack));
	return part->args.text.error ? -ENOMEM : end_row(x, EVENT);
}

/* --------------------------------------------------------------------- spans */

static void next_thread(struct kl_export *x, struct kl_buffer *rows,
			const struct kl_timeline_thread *thread)
{
	next_number(rows, thread ? thread->tid : 0);
	next_string(rows, thread && thread->tid ? kl_export_comm(x, thread) : "");
}

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	const enum kl_track_kind kind = span->track->kind;
	const bool has_state = kind == KL_TRACK_THREAD || span->class == KL_SPAN_FAILED;
	struct kl_buffer *rows = begin_row(x, SPAN, x->number);

	next_string(rows, kl_track_kind_name(kind));
	next_unsigned(rows, span->track->id);
	next_time(rows, span->begin_ns);
	next_unsigned(rows, span->end_ns - span->begin_ns);
	next_string(rows, span->name);
	next_string(rows, has_state ? kl_export_class_name(span->class) : "");
	next_thread(x, rows, span->thread);
	next_thread(x, rows, span->by);
	next_number(rows, span->cpu);
	next_unsigned(rows, span->event);
	next_unsigned(rows, span->end_event);
	return end_row(x, SPAN);
}

static int add_point(struct kl_export *x, const struct kl_export_point *point)
{
	struct kl_buffer *rows = begin_row(x, VARIABLE, x->number);

	next_time(rows, point->ns);
	next_string(rows, point->variable->name);
	next_string(rows, point->variable->unit);
	next_string(rows, kl_counter_scope_name(point->scope));
	next_unsigned(rows, point->id);
	next_number(rows, point->value);
	return end_row(x, VARIABLE);
}

static int add_loss(struct kl_export *x, const struct kl_loss *loss)
{
	struct kl_buffer *rows = begin_row(x, LOSS, x->number);

	next_string(rows, kl_loss_name(loss->kind));
	next_number(rows, loss->kind == KL_LOSS_UNSEEN ? -1 : (int64_t)loss->cpu);
	next_unsigned(rows, loss->records);
	next_unsigned(rows, loss->begin_ns);
	next_unsigned(rows, loss->end_ns);
	return end_row(x, LOSS);
}

/* Number the rows of each table. */
static int note_clickhouse(struct kl_export *x, struct kl_export_call *call)
{
	static const enum table tables[] = {
		[KL_EXPORT_RECORD] = EVENT,
		[KL_EXPORT_SPAN] = SPAN,
		[KL_EXPORT_POINT] = VARIABLE,
		[KL_EXPORT_LOSS] = LOSS,
	};
	struct clickhouse *c = x->state;

	/* Instants are events, and losses have a table. */
	if (call->what == KL_EXPORT_SPAN &&
	    (call->span.track->kind == KL_TRACK_EVENT || call->span.track->kind == KL_TRACK_MARK ||
	     call->span.track->kind == KL_TRACK_LOSS))
		return 0;
	call->number = ++c->number[tables[call->what]];
	return 1;
}

/* ----------------------------------------------------------------------- end */

/* The innermost frame is the first of the arrays. */
static int add_stack(struct kl_export *x, uint64_t id, const struct kl_stack *stack)
{
	struct kl_buffer *rows = begin_row(x, STACK, id);
	unsigned int certain = 0;

	next_unsigned(rows, id);
	next_string(rows, stack->kind == KL_STACK_KERNEL ? "kernel" : "user");
	for (unsigned int column = 0; column < 2; column++) {
		kl_buffer_add(rows, ",[", 2);
		for (unsigned int i = 0; i < stack->n; i++) {
			const struct kl_frame *frame = &stack->frame[i];
			char label[KL_STRING_MAX];

			if (i)
				kl_buffer_add_char(rows, ',');
			if (column)
				add_string(rows,
					   kl_export_plain(x, frame->object ? frame->object : ""));
			else
				add_string(rows, kl_export_plain(x, kl_frame_label(frame, label,
										   sizeof(label))));
		}
		kl_buffer_add_char(rows, ']');
	}
	while (certain < stack->n && !stack->frame[certain].uncertain)
		certain++;
	next_unsigned(rows, certain);
	return end_row(x, STACK);
}

static int end_clickhouse(struct kl_export *x)
{
	const struct kl_stacks *stacks = kl_schema_stacks(x->schema);
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	const struct kl_stack *stack;
	struct kl_buffer *rows;
	int error = 0;

	for (uint64_t id = 1; (stack = kl_stacks_get(stacks, id)) && !error; id++)
		error = add_stack(x, id, stack);
	for (unsigned int i = 0; i < CAPTURE && !error; i++)
		error = write_table(x, i);
	rows = begin_row(x, CAPTURE, 1);
	next_string(rows, kl_export_plain(x, info->hostname));
	next_string(rows, kl_export_plain(x, info->kernel_release));
	next_string(rows, kl_export_plain(x, info->scope));
	next_time(rows, x->scan->first_ns);
	next_unsigned(rows, x->last_ns);
	next_unsigned(rows, x->counts.records);
	next_unsigned(rows, x->counts.spans);
	next_unsigned(rows, x->counts.lost);
	error = error ?: end_row(x, CAPTURE);
	return error ?: write_table(x, CAPTURE);
}

static int end_part(struct kl_export *x)
{
	int error = 0;

	for (unsigned int i = 0; i < TABLES && !error; i++)
		error = write_table(x, i);
	return error;
}

static void clean_part(struct kl_export *x)
{
	struct part *part = x->part;

	for (unsigned int i = 0; i < TABLES; i++)
		kl_buffer_deinit(&part->rows[i]);
	kl_buffer_deinit(&part->args.text);
}

static void clean_clickhouse(struct kl_export *x)
{
	struct clickhouse *c = x->state;

	kl_buffer_deinit(&c->origin);
}

const struct kl_export_ops kl_export_clickhouse = {
	.format = { .name = "clickhouse",
		    .extension = "sql",
		    .help = "statements for ClickHouse's client: events, spans, stack traces" },
	.has_spans = true,
	.state_bytes = sizeof(struct clickhouse),
	.part_bytes = sizeof(struct part),
	.in_batches = true,
	.note = note_clickhouse,
	.end_part = end_part,
	.clean_part = clean_part,
	.begin = begin_clickhouse,
	.record = add_record,
	.span = add_span,
	.point = add_point,
	.loss = add_loss,
	.end = end_clickhouse,
	.clean = clean_clickhouse,
};
