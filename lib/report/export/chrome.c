// SPDX-License-Identifier: GPL-2.0
/*
 * Chrome's trace events, in the JSON object format. A thread has two rows, since what it calls and
 * what state it is in overlap: its own ID has system calls and events, and ROW_STATES more its
 * states. CPUs, disks, and marks are rows of processes that do not exist.
 */
#include <stdlib.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "export.h"

/* Above all process IDs, which end at 4194304. */
#define ROW_STATES 10000000
#define PID_CPUS 20000000
#define PID_DISKS 20000001
#define PID_OTHERS 20000002

struct chrome {
	bool any;
	uint64_t arrows;
};

/* A row of the picture. */
struct row {
	int64_t pid;
	int64_t tid;
};

static int64_t pid_of(const struct kl_timeline_thread *thread)
{
	return thread->pid ? thread->pid : thread->tid;
}

static struct row states_of(const struct kl_timeline_thread *thread)
{
	return (struct row){ pid_of(thread), (int64_t)thread->tid + ROW_STATES };
}

static struct row row_of(const struct kl_export_span *span)
{
	const struct kl_track *track = span->track;

	switch (track->kind) {
	case KL_TRACK_THREAD:
		return states_of(span->thread);
	case KL_TRACK_SYSCALL:
	case KL_TRACK_EVENT:
		return (struct row){ pid_of(span->thread), span->thread->tid };
	case KL_TRACK_DISK:
		return (struct row){ PID_DISKS, (int64_t)track->id };
	case KL_TRACK_MARK:
	case KL_TRACK_LOSS:
		return (struct row){ PID_OTHERS,
				     track->kind == KL_TRACK_MARK ? 0 : (int64_t)track->id + 1 };
	default:
		return (struct row){ PID_CPUS, (int64_t)track->id * 3 + track->kind };
	}
}

/* In us, with ns as its fraction. */
static void add_time(struct kl_buffer *to, uint64_t ns)
{
	kl_buffer_add_unsigned(to, ns / 1000, 0);
	kl_buffer_add_char(to, '.');
	kl_buffer_add_unsigned(to, ns % 1000, 3);
}

static void begin_object(struct kl_export *x, const char *phase, struct row row, const char *name)
{
	struct chrome *chrome = x->state;

	kl_buffer_printf(&x->out, "%s\n{\"ph\":\"%s\",\"pid\":%lld,\"tid\":%lld,\"name\":",
			 chrome->any ? "," : "", phase, (long long)row.pid, (long long)row.tid);
	kl_export_json_text(&x->out, name);
	if (!chrome->any)
		chrome->any = true;
}

static void add_ts(struct kl_export *x, const char *key, uint64_t ns)
{
	kl_buffer_printf(&x->out, ",\"%s\":", key);
	add_time(&x->out, ns);
}

static void add_name(struct kl_export *x, const char *kind, struct row row, const char *name)
{
	begin_object(x, "M", row, kind);
	kl_buffer_add_string(&x->out, ",\"args\":{\"name\":");
	kl_export_json_text(&x->out, name);
	kl_buffer_add_string(&x->out, "}}");
}

static void name_threads(struct kl_export *x)
{
	char text[64];

	for (size_t i = 0; i < x->scan->n_threads; i++) {
		const struct kl_timeline_thread *thread = x->scan->thread[i];
		const struct row row = { pid_of(thread), thread->tid };

		if (!thread->tid)
			continue;
		if (row.pid == row.tid)
			add_name(x, "process_name", row, kl_export_comm(x, thread));
		add_name(x, "thread_name", row, kl_export_comm(x, thread));
		snprintf(text, sizeof(text), "%.32s (states)", kl_export_comm(x, thread));
		add_name(x, "thread_name", states_of(thread), text);
	}
}

static int begin_chrome(struct kl_export *x)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);

	kl_buffer_add_string(&x->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":");
	kl_export_json_text(&x->out, x->options->title);
	kl_buffer_add_string(&x->out, ",\"host\":");
	kl_export_json_text(&x->out, info->hostname);
	kl_buffer_add_string(&x->out, ",\"kernel\":");
	kl_export_json_text(&x->out, info->kernel_release);
	kl_buffer_printf(&x->out, ",\"begin_ns\":\"%llu\"},\n\"traceEvents\":[",
			 (unsigned long long)x->scan->first_ns);
	name_threads(x);
	add_name(x, "process_name", (struct row){ PID_CPUS, 0 }, "CPUs");
	add_name(x, "process_name", (struct row){ PID_DISKS, 0 }, "disks");
	add_name(x, "process_name", (struct row){ PID_OTHERS, 0 }, "marks and missing records");
	for (size_t i = 0; i < x->scan->counts.tracks; i++) {
		const struct kl_export_span span = { .track = x->scan->track[i] };
		struct kl_buffer name = { 0 };

		kl_export_track_name(span.track, &name);
		if (!name.error && *name.data)
			add_name(x, "thread_name", row_of(&span), name.data);
		kl_buffer_deinit(&name);
	}
	return 0;
}

/* From the row of what has woken a task to its own. */
static void add_arrow(struct kl_export *x, const struct kl_export_span *span, uint64_t ts)
{
	const unsigned long long id = x->number;

	begin_object(x, "s", states_of(span->by), "wakes");
	kl_buffer_printf(&x->out, ",\"cat\":\"wakeup\",\"id\":%llu", id);
	add_ts(x, "ts", ts);
	kl_buffer_add_char(&x->out, '}');
	begin_object(x, "f", row_of(span), "wakes");
	kl_buffer_printf(&x->out, ",\"cat\":\"wakeup\",\"bp\":\"e\",\"id\":%llu", id);
	add_ts(x, "ts", ts);
	kl_buffer_add_char(&x->out, '}');
}

static void add_args(struct kl_export *x, const struct kl_export_span *span)
{
	if (span->args) {
		kl_buffer_add_string(&x->out, ",\"args\":");
		kl_export_json_args(&x->out, span->args);
	} else if (span->track->kind == KL_TRACK_THREAD && span->cpu >= 0) {
		kl_buffer_printf(&x->out, ",\"args\":{\"cpu\":%d}", span->cpu);
	} else if (span->track->kind == KL_TRACK_THREAD || span->class == KL_SPAN_FAILED) {
		kl_buffer_printf(&x->out, ",\"args\":{\"state\":\"%s\"}",
				 kl_export_class_name(span->class));
	} else if (span->thread) {
		kl_buffer_printf(&x->out, ",\"args\":{\"tid\":%d}", span->thread->tid);
	}
}

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	const uint64_t ts = span->begin_ns - x->scan->first_ns;
	const bool instant = span->track->kind == KL_TRACK_EVENT ||
			     span->track->kind == KL_TRACK_MARK;

	begin_object(x, instant ? "i" : "X", row_of(span), span->name);
	kl_buffer_printf(&x->out, ",\"cat\":\"%s\"", kl_track_kind_name(span->track->kind));
	add_ts(x, "ts", ts);
	if (instant)
		kl_buffer_add_string(&x->out, span->track->kind == KL_TRACK_MARK ? ",\"s\":\"g\"" :
										   ",\"s\":\"t\"");
	else
		add_ts(x, "dur", span->end_ns - span->begin_ns);
	add_args(x, span);
	kl_buffer_add_char(&x->out, '}');
	if (span->by)
		add_arrow(x, span, ts);
	return kl_export_flush(x);
}

static int add_point(struct kl_export *x, const struct kl_export_point *point)
{
	struct row row = { PID_OTHERS, 0 };
	char name[96];

	snprintf(name, sizeof(name), "%.64s", point->variable->name);
	if (point->scope == KL_COUNTER_CPU) {
		row.pid = PID_CPUS;
		snprintf(name, sizeof(name), "CPU %llu %.64s", (unsigned long long)point->id,
			 point->variable->name);
	} else if (point->scope == KL_COUNTER_THREAD) {
		const struct kl_timeline_thread *thread =
			kl_timeline_find_thread(x->scan, (int32_t)point->id);

		if (thread)
			row.pid = pid_of(thread);
		row.tid = (int64_t)point->id;
		snprintf(name, sizeof(name), "%.64s of %lld", point->variable->name,
			 (long long)point->id);
	}
	begin_object(x, "C", row, name);
	add_ts(x, "ts", point->ns - x->scan->first_ns);
	kl_buffer_printf(&x->out, ",\"args\":{\"value\":%lld}}", (long long)point->value);
	return kl_export_flush(x);
}

/* Number the arrows. */
static int note_chrome(struct kl_export *x, struct kl_export_call *call)
{
	struct chrome *chrome = x->state;

	if (call->what == KL_EXPORT_SPAN && call->span.by)
		call->number = ++chrome->arrows;
	return 1;
}

static int end_chrome(struct kl_export *x)
{
	kl_buffer_add_string(&x->out, "\n]}\n");
	return 0;
}

const struct kl_export_ops kl_export_chrome = {
	.format = { .name = "chrome",
		    .extension = "json",
		    .help = "Chrome's trace events in JSON, which many viewers open" },
	.has_spans = true,
	.has_args = true,
	.state_bytes = sizeof(struct chrome),
	.in_batches = true,
	.note = note_chrome,
	.begin = begin_chrome,
	.span = add_span,
	.point = add_point,
	.end = end_chrome,
};
