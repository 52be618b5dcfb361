// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a trace for a format: once to learn the threads, if spans are needed, and once to write.
 * The timeline finds the spans, and the profile the stack traces; neither keeps them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../base/plain.h"
#include "../../format/print.h"
#include "export.h"

#define FLUSH_BYTES 65536

static const struct kl_export_ops *const all_ops[] = {
#define KL_EXPORT_FORMAT(word) &kl_export_##word,
#include "formats.def"
#undef KL_EXPORT_FORMAT
};

const struct kl_export_format *kl_export_format(unsigned int index)
{
	return index < KL_ARRAY_SIZE(all_ops) ? &all_ops[index]->format : NULL;
}

static const struct kl_export_ops *ops_of(const struct kl_export_format *format)
{
	size_t i = 0;

	while (&all_ops[i]->format != format)
		i++;
	return all_ops[i];
}

/* ------------------------------------------------------------------- helpers */

static int write_out(struct kl_export *x)
{
	if (x->out.error)
		return -ENOMEM;
	if (x->out.length && fwrite(x->out.data, 1, x->out.length, x->file) != x->out.length)
		return -errno;
	kl_buffer_reset(&x->out);
	return 0;
}

int kl_export_flush(struct kl_export *x)
{
	if (x->held)
		return x->out.error ? -ENOMEM : 0;
	return x->out.error || x->out.length > FLUSH_BYTES ? write_out(x) : 0;
}

const char *kl_export_plain(struct kl_export *x, const char *text)
{
	struct kl_buffer plain = { 0 };
	const char *kept;

	if (kl_is_plain(text, strlen(text)))
		return text;
	kl_print_plain(&plain, text, strlen(text));
	kl_buffer_add_char(&plain, 0);
	kept = plain.data;
	if (plain.error || kl_texts_keep(&x->texts, &kept)) {
		x->out.error = -ENOMEM;
		kept = "";
	}
	kl_buffer_deinit(&plain);
	return kept;
}

const char *kl_export_comm(struct kl_export *x, const struct kl_timeline_thread *thread)
{
	return kl_export_plain(x, x->scan->name[thread->name]);
}

const struct kl_timeline_thread *kl_export_process(const struct kl_export *x,
						   const struct kl_timeline_thread *thread)
{
	const struct kl_timeline_thread *first =
		thread->pid ? kl_timeline_find_thread(x->scan, thread->pid) : NULL;

	return first ? first : thread;
}

void kl_export_track_name(const struct kl_track *track, struct kl_buffer *name)
{
	switch (track->kind) {
	case KL_TRACK_CPU:
	case KL_TRACK_IRQ:
	case KL_TRACK_SOFTIRQ:
		kl_buffer_printf(name, "CPU %llu%s", (unsigned long long)track->id,
				 track->kind == KL_TRACK_IRQ	 ? " interrupts" :
				 track->kind == KL_TRACK_SOFTIRQ ? " softirqs" :
								   "");
		break;
	case KL_TRACK_DISK:
		kl_buffer_add_string(name, "disk ");
		kl_print_meaning(name, KL_FORMAT_dev, track->id >> 4);
		kl_buffer_printf(name, " #%llu", (unsigned long long)(track->id & 15));
		break;
	case KL_TRACK_MARK:
		kl_buffer_add_string(name, "marks");
		break;
	case KL_TRACK_LOSS:
		kl_buffer_add_string(name, "missing records");
		if (track->id)
			kl_buffer_printf(name, " of CPU %llu", (unsigned long long)track->id - 1);
		break;
	default:
		/* Those of threads. */
		break;
	}
	kl_buffer_add_char(name, 0);
}

const char *kl_export_class_name(enum kl_span_class class)
{
	static const char *const names[] = {
		[KL_SPAN_RUNNING] = "running", [KL_SPAN_READY] = "ready",
		[KL_SPAN_ASLEEP] = "sleeping", [KL_SPAN_BLOCKED] = "blocked",
		[KL_SPAN_STOPPED] = "stopped", [KL_SPAN_FAILED] = "failed",
	};

	return names[class];
}

uint64_t kl_export_period_ns(const struct kl_export *x)
{
	const unsigned int hz = x->profile ? kl_profile_counts(x->profile)->hz : 0;

	return hz ? 1000000000 / hz : 0;
}

/* --------------------------------------------------------------------- spans */

static bool is_of_thread(const struct kl_track *track)
{
	return track->kind == KL_TRACK_THREAD || track->kind == KL_TRACK_SYSCALL ||
	       track->kind == KL_TRACK_EVENT;
}

/*
 * A thread by its number. NULL: there is none, or it was not in the trace when that was read first,
 * because it is still being recorded.
 */
static const struct kl_timeline_thread *thread_by(const struct kl_export *x, int64_t number)
{
	return number < 0 || (size_t)number >= x->scan->n_threads ? NULL : x->scan->thread[number];
}

/* The thread that a span belongs to, and NULL if there is none. */
static const struct kl_timeline_thread *
thread_of(const struct kl_export *x, const struct kl_track *track, const struct kl_span *span)
{
	if (is_of_thread(track))
		return thread_by(x, kl_timeline_thread_of(x->timeline, (int32_t)track->id));
	if (track->kind == KL_TRACK_CPU || track->kind == KL_TRACK_DISK)
		return thread_by(x, (int64_t)span->by - 1);
	return NULL;
}

/* Make a call that the format needs, or keep it for later. */
static int call(struct kl_export *x, struct kl_export_call *call)
{
	const int wanted = x->ops->note ? x->ops->note(x, call) : 1;

	if (wanted <= 0)
		return wanted;
	return x->batch ? kl_export_keep_call(x, call) : kl_export_make_call(x, call);
}

/* What the arguments of a span are found in. */
static void set_events(const struct kl_export *x, struct kl_export_call *call)
{
	const struct kl_track *track = call->span.track;

	if (!x->ops->has_args)
		return;
	if (track->kind == KL_TRACK_SYSCALL)
		call->entry = &x->entries[call->span.thread->number]->event;
	if (track->kind == KL_TRACK_EVENT ||
	    (call->entry && x->event && x->event->event_class->kind == KL_CLASS_SYSCALL_EXIT))
		call->event = x->event;
}

static int take_span(void *context, const struct kl_track *track, const struct kl_span *span)
{
	struct kl_export *x = context;
	const struct kl_timeline_thread *thread = thread_of(x, track, span);
	const bool is_thread = track->kind == KL_TRACK_THREAD;
	struct kl_export_call one = { .what = KL_EXPORT_SPAN };

	one.span = (struct kl_export_span){
		.track = track,
		.begin_ns = x->timeline->first_ns + span->begin,
		.end_ns = x->timeline->first_ns + span->end,
		.name = x->timeline->name[span->name],
		.name_number = span->name,
		.class = span->class,
		.thread = thread,
		.by = is_thread && span->class == KL_SPAN_READY ?
			      thread_by(x, (int64_t)span->by - 1) :
			      NULL,
		.cpu = is_thread && span->class == KL_SPAN_RUNNING ? (int)span->by - 1 : -1,
		.event = span->record == KL_NO_RECORD ? 0 : span->record + 1ULL,
		.end_event = x->event ? x->counts.records : 0,
	};
	if (is_of_thread(track) && !thread)
		return 0;
	/* The trace has only some switches of tasks that were not selected. */
	if (is_thread && x->scan->partial && !thread->followed)
		return 0;
	x->counts.spans++;
	if (!x->ops->span)
		return 0;
	set_events(x, &one);
	return call(x, &one);
}

static int take_point(void *context, const struct kl_counter *counter, const struct kl_point *point)
{
	struct kl_export *x = context;
	struct kl_export_call one = { .what = KL_EXPORT_POINT };

	one.point = (struct kl_export_point){
		.ns = x->timeline->first_ns + point->ns,
		.variable = kl_schema_variable(x->schema, counter->variable),
		.index = counter->variable,
		.scope = x->timeline->scope[counter->variable],
		.id = counter->id,
		.number = (size_t)(counter - x->timeline->counter),
		.value = point->value,
	};
	return x->ops->point ? call(x, &one) : 0;
}

/* Keep the entry of a system call until the call ends. */
static int keep_entry(struct kl_export *x, const struct kl_event *event)
{
	const int64_t number = kl_timeline_thread_of(x->timeline, event->task.tid);
	struct kl_export_copy *copy;

	/* Nothing is written of a thread that was not there before. */
	if (!thread_by(x, number))
		return 0;
	if (!x->entries[number])
		x->entries[number] = calloc(1, sizeof(*x->entries[number]));
	copy = x->entries[number];
	if (!copy)
		return -ENOMEM;
	copy->event = *event;
	kl_buffer_reset(&copy->bytes);
	kl_buffer_add(&copy->bytes, event->variables, kl_items_variable_bytes(x->schema));
	kl_buffer_add(&copy->bytes, event->payload, event->payload_bytes);
	copy->event.variables = (const uint8_t *)copy->bytes.data;
	copy->event.payload = copy->event.variables + kl_items_variable_bytes(x->schema);
	return copy->bytes.error ? -ENOMEM : 0;
}

/* ------------------------------------------------------------------- reading */

static int add_sample(struct kl_export *x, const struct kl_event *event)
{
	const int64_t path = x->profile ? kl_profile_path_of(x->profile, event) : -ENOENT;
	struct kl_export_sample sample = { .event = event, .path = (uint32_t)path };
	struct kl_export_call one = { .what = KL_EXPORT_SAMPLE, .event = event };

	if (path < 0)
		return path == -ENOENT ? 0 : (int)path;
	if (x->timeline) {
		sample.thread = thread_by(x, kl_timeline_thread_of(x->timeline, event->task.tid));
		if (!sample.thread)
			return 0;
	}
	x->counts.samples++;
	one.sample = sample;
	return x->ops->sample ? call(x, &one) : 0;
}

static int add_event(struct kl_export *x, const struct kl_event *event)
{
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = event };
	struct kl_export_call one = { .what = KL_EXPORT_RECORD, .event = event };
	int error;

	x->counts.records++;
	x->event = event;
	x->last_ns = event->ns > x->last_ns ? event->ns : x->last_ns;
	error = x->timeline ? kl_timeline_add(x->timeline, &item) : 0;
	if (!error && x->timeline && x->ops->has_args &&
	    event->event_class->kind == KL_CLASS_SYSCALL_ENTRY)
		error = keep_entry(x, event);
	if (!error && x->ops->record)
		error = call(x, &one);
	error = error ?: add_sample(x, event);
	return error ?: kl_export_flush(x);
}

static int add_loss(struct kl_export *x, const struct kl_item *item)
{
	struct kl_export_call one = { .what = KL_EXPORT_LOSS, .loss = *item->loss };
	int error;

	x->event = NULL;
	error = x->timeline ? kl_timeline_add(x->timeline, item) : 0;
	if (item->loss->kind != KL_LOSS_UNSEEN)
		x->counts.lost += item->loss->records;
	return error ?: x->ops->loss ? call(x, &one) : 0;
}

/* Returns 1, or 0 at the end of what is wanted. */
static int next(struct kl_export *x, struct kl_item *item)
{
	while (kl_trace_next(x->trace, item) > 0) {
		if (item->kind != KL_ITEM_EVENT)
			return 1;
		if (item->event->since_ns > x->options->to_ns)
			return 0;
		if (item->event->since_ns >= x->options->from_ns)
			return 1;
	}
	return 0;
}

static int scan(struct kl_export *x)
{
	static const struct kl_timeline_sink nothing = { NULL, NULL, NULL };
	struct kl_item item;
	int error = 0;

	x->scan = kl_timeline_create_stream(x->trace, &nothing);
	if (!x->scan)
		return -ENOMEM;
	while (!error && next(x, &item))
		error = kl_timeline_add(x->scan, &item);
	kl_trace_skip(x->trace, x->options->from_ns);
	error = error ?: kl_timeline_finish(x->scan);
	x->entries = error ? NULL : calloc(x->scan->n_threads + 1, sizeof(*x->entries));
	x->counts.omitted = x->scan->counts.omitted;
	return error ?: x->entries ? 0 : -ENOMEM;
}

static int begin(struct kl_export *x)
{
	int error = x->ops->has_spans ? scan(x) : 0;

	if (error)
		return error;
	x->profile = kl_profile_create(x->schema, x->options->sample);
	if (!x->profile && (errno != ENOENT || x->ops->needs_samples || x->options->sample))
		return -errno;
	kl_error_clear();
	x->state = calloc(1, x->ops->state_bytes + 1);
	error = x->state ? kl_export_begin_part(x) : -ENOMEM;
	return error ?: x->ops->begin ? x->ops->begin(x) : 0;
}

int kl_export_read(struct kl_export *x)
{
	struct kl_item item;
	int error;

	if (!next(x, &item)) {
		x->event = NULL;
		return x->timeline ? kl_timeline_finish(x->timeline) : 0;
	}
	error = item.kind == KL_ITEM_LOSS ? add_loss(x, &item) : add_event(x, item.event);
	return error ?: 1;
}

static int read_all(struct kl_export *x, const struct kl_timeline_sink *sink)
{
	int error;

	if (x->ops->has_spans) {
		x->timeline = kl_timeline_create_stream(x->trace, sink);
		if (!x->timeline)
			return -ENOMEM;
	}
	if (x->ops->in_batches)
		error = kl_export_read_batches(x);
	else
		while ((error = kl_export_read(x)) > 0)
			continue;
	error = error ?: x->ops->end ? x->ops->end(x) : 0;
	return error ?: x->ops->end_part ? x->ops->end_part(x) : 0;
}

static void clean(struct kl_export *x)
{
	kl_export_clean_part(x);
	if (x->state && x->ops->clean)
		x->ops->clean(x);
	for (size_t i = 0; x->entries && i < x->scan->n_threads; i++) {
		if (x->entries[i])
			kl_buffer_deinit(&x->entries[i]->bytes);
		free(x->entries[i]);
	}
	free(x->entries);
	kl_buffer_deinit(&x->args.text);
	kl_texts_deinit(&x->texts);
	kl_buffer_deinit(&x->out);
	kl_timeline_destroy(x->scan);
	kl_timeline_destroy(x->timeline);
	kl_profile_destroy(x->profile);
	free(x->state);
}

int kl_export(struct kl_trace *trace, const struct kl_export_format *format,
	      const struct kl_export_options *options, FILE *file, const char *path,
	      struct kl_export_counts *counts)
{
	struct kl_export x = {
		.trace = trace,
		.schema = kl_trace_schema(trace),
		.options = options,
		.ops = ops_of(format),
		.file = file,
		.path = path,
	};
	const struct kl_timeline_sink sink = { take_span, take_point, &x };
	int error;

	kl_trace_skip(trace, options->from_ns);
	error = begin(&x);
	error = error ?: read_all(&x, &sink);
	error = error ?: write_out(&x);
	*counts = x.counts;
	clean(&x);
	return error;
}
