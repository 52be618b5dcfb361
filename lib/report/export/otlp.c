// SPDX-License-Identifier: GPL-2.0
/*
 * OpenTelemetry's protocol as lines of JSON, each a message as a collector's file receiver takes
 * it. A process is a service, and a thread a trace: a span for its whole time, with its system
 * calls and waits within it. Requests of disks and marks belong to the host. Then the metrics: the
 * variables, and the time of each thread by state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "export.h"

#define LINE_BYTES 16384 /* of spans or points, before they become a line */
#define ID_OF_THREAD (1ULL << 63)
#define KIND_INTERNAL 1
#define STATUS_ERROR 2
#define CUMULATIVE 2

/**
 * struct otlp - state of the format
 * @first, @last: wall time of the spans of each thread
 * @ns: time of each thread by state
 * @spans: number of spans
 */
struct otlp {
	uint64_t *first;
	uint64_t *last;
	uint64_t (*ns)[KL_SPAN_CLASSES];
	uint64_t spans;
};

/* Spans of a process. @listed: in the list of struct part */
struct service {
	struct kl_buffer spans;
	bool listed;
};

/**
 * struct part - what has not been written
 * @service: by the number of the process's first thread; NULL: there are no spans yet
 * @list: numbers of those that have had spans, in the order of the first ones
 * @host: spans of no process
 * @points: of variables, by their index in the schema
 */
struct part {
	struct service *service;
	uint32_t *list;
	size_t n;
	struct kl_buffer host;
	struct kl_buffer points[KL_VARIABLES_MAX];
};

static int begin_otlp(struct kl_export *x)
{
	const size_t n = x->scan->n_threads + 1;
	struct otlp *o = x->state;

	o->first = calloc(n, sizeof(*o->first));
	o->last = calloc(n, sizeof(*o->last));
	o->ns = calloc(n, sizeof(*o->ns));
	return o->first && o->last && o->ns ? 0 : -ENOMEM;
}

/* Where the spans of a process go; NULL: out of memory. */
static struct kl_buffer *service_of(struct kl_export *x, const struct kl_timeline_thread *process)
{
	const size_t n = x->scan->n_threads + 1;
	struct part *part = x->part;
	struct service *service;

	part->service = part->service ?: calloc(n, sizeof(*part->service));
	part->list = part->list ?: calloc(n, sizeof(*part->list));
	if (!part->service || !part->list)
		return NULL;
	service = &part->service[process->number];
	if (!service->listed)
		part->list[part->n++] = process->number;
	service->listed = true;
	return &service->spans;
}

/* ---------------------------------------------------------------- attributes */

static void add_text(struct kl_buffer *to, const char *key, const char *text, size_t length)
{
	kl_buffer_add_string(to, "{\"key\":");
	kl_export_json_text(to, key);
	kl_buffer_add_string(to, ",\"value\":{\"stringValue\":");
	kl_print_json_string(to, text, length);
	kl_buffer_add_string(to, "}}");
}

/* Numbers of 64 bits are strings in JSON; those that do not fit are negative. */
static void add_number(struct kl_buffer *to, const char *key, int64_t number)
{
	kl_buffer_add_string(to, "{\"key\":");
	kl_export_json_text(to, key);
	kl_buffer_printf(to, ",\"value\":{\"intValue\":\"%lld\"}}", (long long)number);
}

static void add_args(struct kl_buffer *to, const struct kl_export_args *args)
{
	for (unsigned int i = 0; args && i < args->n; i++) {
		const struct kl_export_arg arg = kl_export_arg_of(args, i);

		kl_buffer_add_char(to, ',');
		if (arg.type == KL_EXPORT_TEXT)
			add_text(to, arg.name, arg.text, arg.length);
		else
			add_number(to, arg.name, (int64_t)arg.number);
	}
}

static void add_resource(struct kl_export *x, struct kl_buffer *to,
			 const struct kl_timeline_thread *process)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	const char *name = process ? kl_export_comm(x, process) : "kernel";

	kl_buffer_add_string(to, "\"resource\":{\"attributes\":[");
	add_text(to, "service.name", name, strlen(name));
	kl_buffer_add_char(to, ',');
	add_text(to, "host.name", info->hostname, strlen(info->hostname));
	kl_buffer_add_char(to, ',');
	add_text(to, "os.type", "linux", strlen("linux"));
	kl_buffer_add_char(to, ',');
	add_text(to, "os.version", info->kernel_release, strlen(info->kernel_release));
	if (process) {
		kl_buffer_add_char(to, ',');
		add_number(to, "process.pid", process->pid ? process->pid : process->tid);
	}
	kl_buffer_add_string(to, "]}");
}

static void add_scope(struct kl_buffer *to)
{
	kl_buffer_printf(to, "\"scope\":{\"name\":\"kernlens\",\"version\":\"%s\"}", KL_VERSION);
}

/* --------------------------------------------------------------------- spans */

/* Write what has been collected of a service as a line. */
static int put_spans(struct kl_export *x, struct kl_buffer *spans,
		     const struct kl_timeline_thread *process)
{
	struct kl_buffer *to = &x->out;

	if (spans->error)
		return -ENOMEM;
	if (!spans->length)
		return 0;
	kl_buffer_add_string(to, "{\"resourceSpans\":[{");
	add_resource(x, to, process);
	kl_buffer_add_string(to, ",\"scopeSpans\":[{");
	add_scope(to);
	kl_buffer_add_string(to, ",\"spans\":[");
	kl_buffer_add(to, spans->data, spans->length);
	kl_buffer_add_string(to, "]}]}]}\n");
	kl_buffer_reset(spans);
	return kl_export_flush(x);
}

/* The trace of a thread; that of the host has no thread. */
static void add_ids(const struct kl_export *x, struct kl_buffer *to,
		    const struct kl_timeline_thread *thread, uint64_t span, uint64_t parent)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	const uint32_t number = thread ? thread->number + 1 : 0;

	kl_buffer_add_string(to, to->length ? ",{\"traceId\":\"" : "{\"traceId\":\"");
	for (unsigned int i = 0; i < 12; i++)
		kl_buffer_printf(to, "%02x", info->uuid[i]);
	kl_buffer_printf(to, "%08x\",\"spanId\":\"%016llx\"", number, (unsigned long long)span);
	if (parent)
		kl_buffer_printf(to, ",\"parentSpanId\":\"%016llx\"", (unsigned long long)parent);
}

static void add_times(struct kl_buffer *to, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	kl_buffer_add_string(to, ",\"name\":");
	kl_export_json_text(to, name);
	kl_buffer_printf(to,
			 ",\"kind\":%d,\"startTimeUnixNano\":\"%llu\",\"endTimeUnixNano\":\"%llu\"",
			 KIND_INTERNAL, (unsigned long long)begin_ns, (unsigned long long)end_ns);
}

static void note_time(struct otlp *o, const struct kl_export_span *span)
{
	const uint32_t number = span->thread->number;

	if (!o->first[number] || span->begin_ns < o->first[number])
		o->first[number] = span->begin_ns;
	if (span->end_ns > o->last[number])
		o->last[number] = span->end_ns;
	if (span->track->kind == KL_TRACK_THREAD)
		o->ns[number][span->class] += span->end_ns - span->begin_ns;
}

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	const enum kl_track_kind kind = span->track->kind;
	const bool of_thread = kind == KL_TRACK_THREAD || kind == KL_TRACK_SYSCALL;
	const struct kl_timeline_thread *process = of_thread ? kl_export_process(x, span->thread) :
							       NULL;
	struct part *part = x->part;
	struct kl_buffer *to = process ? service_of(x, process) : &part->host;

	if (!to)
		return -ENOMEM;
	add_ids(x, to, of_thread ? span->thread : NULL, x->number,
		of_thread ? ID_OF_THREAD | span->thread->number : 0);
	add_times(to, span->name, span->begin_ns, span->end_ns);
	kl_buffer_add_string(to, ",\"attributes\":[");
	add_text(to, "kernlens.kind", kl_track_kind_name(kind), strlen(kl_track_kind_name(kind)));
	if (kind == KL_TRACK_THREAD) {
		const char *state = kl_export_class_name(span->class);

		kl_buffer_add_char(to, ',');
		add_text(to, "kernlens.state", state, strlen(state));
	}
	if (span->thread) {
		kl_buffer_add_char(to, ',');
		add_number(to, "thread.id", span->thread->tid);
	}
	if (span->by) {
		kl_buffer_add_char(to, ',');
		add_number(to, "kernlens.woken_by", span->by->tid);
	}
	add_args(to, span->args);
	kl_buffer_add_char(to, ']');
	if (span->class == KL_SPAN_FAILED)
		kl_buffer_printf(to, ",\"status\":{\"code\":%d}", STATUS_ERROR);
	kl_buffer_add_char(to, '}');
	return to->length > LINE_BYTES || to->error ? put_spans(x, to, process) : 0;
}

static int put_thread(struct kl_export *x, const struct kl_timeline_thread *thread)
{
	const struct kl_timeline_thread *process = kl_export_process(x, thread);
	struct otlp *o = x->state;
	struct kl_buffer *to = service_of(x, process);
	const char *comm = kl_export_comm(x, thread);

	if (!to)
		return -ENOMEM;
	add_ids(x, to, thread, ID_OF_THREAD | thread->number, 0);
	add_times(to, comm, o->first[thread->number], o->last[thread->number]);
	kl_buffer_add_string(to, ",\"attributes\":[");
	add_number(to, "thread.id", thread->tid);
	kl_buffer_add_char(to, ',');
	add_text(to, "thread.name", comm, strlen(comm));
	kl_buffer_add_string(to, "]}");
	return to->length > LINE_BYTES || to->error ? put_spans(x, to, process) : 0;
}

/* ------------------------------------------------------------------- metrics */

static int put_metric(struct kl_export *x, struct kl_buffer *points, const char *name,
		      const char *unit, bool is_sum)
{
	struct kl_buffer *to = &x->out;

	if (points->error)
		return -ENOMEM;
	if (!points->length)
		return 0;
	kl_buffer_add_string(to, "{\"resourceMetrics\":[{");
	add_resource(x, to, NULL);
	kl_buffer_add_string(to, ",\"scopeMetrics\":[{");
	add_scope(to);
	kl_buffer_add_string(to, ",\"metrics\":[{\"name\":");
	kl_export_json_text(to, name);
	kl_buffer_add_string(to, ",\"unit\":");
	kl_export_json_text(to, unit);
	if (is_sum)
		kl_buffer_printf(to, ",\"sum\":{\"aggregationTemporality\":%d,\"isMonotonic\":true",
				 CUMULATIVE);
	else
		kl_buffer_add_string(to, ",\"gauge\":{");
	kl_buffer_add_string(to, is_sum ? ",\"dataPoints\":[" : "\"dataPoints\":[");
	kl_buffer_add(to, points->data, points->length);
	kl_buffer_add_string(to, "]}}]}]}]}\n");
	kl_buffer_reset(points);
	return kl_export_flush(x);
}

static int put_gauge(struct kl_export *x, unsigned int index)
{
	const struct kl_variable *variable = kl_schema_variable(x->schema, index);
	struct part *part = x->part;
	char name[96];

	snprintf(name, sizeof(name), "kernlens.%.64s", variable->name);
	return put_metric(x, &part->points[index], name, variable->unit, false);
}

static int add_point(struct kl_export *x, const struct kl_export_point *point)
{
	struct part *part = x->part;
	struct kl_buffer *to = &part->points[point->index];

	kl_buffer_printf(to, "%s{\"timeUnixNano\":\"%llu\",\"asInt\":\"%lld\",\"attributes\":[",
			 to->length ? "," : "", (unsigned long long)point->ns,
			 (long long)point->value);
	if (point->scope != KL_COUNTER_SYSTEM)
		add_number(to, point->scope == KL_COUNTER_CPU ? "cpu" : "thread.id",
			   (int64_t)point->id);
	kl_buffer_add_string(to, "]}");
	return to->length > LINE_BYTES || to->error ? put_gauge(x, point->index) : 0;
}

static int put_states(struct kl_export *x)
{
	struct otlp *o = x->state;
	struct kl_buffer points = { 0 };
	int error = 0;

	for (size_t i = 0; i < x->scan->n_threads && !error; i++) {
		const struct kl_timeline_thread *thread = x->scan->thread[i];

		for (unsigned int k = 0; k < KL_SPAN_FAILED; k++) {
			const char *state = kl_export_class_name((enum kl_span_class)k);

			if (!o->ns[i][k])
				continue;
			kl_buffer_printf(&points,
					 "%s{\"startTimeUnixNano\":\"%llu\","
					 "\"timeUnixNano\":\"%llu\",\"asInt\":\"%llu\","
					 "\"attributes\":[",
					 points.length ? "," : "",
					 (unsigned long long)x->scan->first_ns,
					 (unsigned long long)x->last_ns,
					 (unsigned long long)o->ns[i][k]);
			add_number(&points, "thread.id", thread->tid);
			kl_buffer_add_char(&points, ',');
			add_text(&points, "state", state, strlen(state));
			kl_buffer_add_string(&points, "]}");
		}
		if (points.length > LINE_BYTES)
			error = put_metric(x, &points, "kernlens.thread.time", "ns", true);
	}
	error = error ?: put_metric(x, &points, "kernlens.thread.time", "ns", true);
	kl_buffer_deinit(&points);
	return error;
}

static int note_otlp(struct kl_export *x, struct kl_export_call *call)
{
	const struct kl_export_span *span = &call->span;
	struct otlp *o = x->state;

	if (call->what != KL_EXPORT_SPAN)
		return 1;
	switch (span->track->kind) {
	case KL_TRACK_THREAD:
	case KL_TRACK_SYSCALL:
		note_time(o, span);
		if (span->track->kind == KL_TRACK_THREAD && span->class == KL_SPAN_RUNNING)
			return 0;
		break;
	case KL_TRACK_DISK:
	case KL_TRACK_MARK:
		break;
	default:
		return 0;
	}
	call->number = ++o->spans;
	return 1;
}

static int end_part(struct kl_export *x)
{
	struct part *part = x->part;
	int error = 0;

	for (size_t i = 0; i < part->n && !error; i++) {
		struct service *service = &part->service[part->list[i]];

		service->listed = false;
		error = put_spans(x, &service->spans, x->scan->thread[part->list[i]]);
	}
	part->n = 0;
	error = error ?: put_spans(x, &part->host, NULL);
	for (unsigned int i = 0; i < KL_VARIABLES_MAX && !error; i++)
		if (part->points[i].length)
			error = put_gauge(x, i);
	return error;
}

static int end_otlp(struct kl_export *x)
{
	struct otlp *o = x->state;
	int error = 0;

	for (size_t i = 0; i < x->scan->n_threads && !error; i++)
		if (o->first[i])
			error = put_thread(x, x->scan->thread[i]);
	error = error ?: end_part(x);
	return error ?: put_states(x);
}

static void clean_part(struct kl_export *x)
{
	struct part *part = x->part;

	for (size_t i = 0; part->service && i < x->scan->n_threads; i++)
		kl_buffer_deinit(&part->service[i].spans);
	for (unsigned int i = 0; i < KL_VARIABLES_MAX; i++)
		kl_buffer_deinit(&part->points[i]);
	kl_buffer_deinit(&part->host);
	free(part->service);
	free(part->list);
}

static void clean_otlp(struct kl_export *x)
{
	struct otlp *o = x->state;

	free(o->first);
	free(o->last);
	free(o->ns);
}

const struct kl_export_ops kl_export_otlp = {
	.format = { .name = "otlp",
		    .extension = "otlp.jsonl",
		    .help = "spans and metrics for OpenTelemetry, lines of JSON" },
	.has_spans = true,
	.has_args = true,
	.state_bytes = sizeof(struct otlp),
	.part_bytes = sizeof(struct part),
	.in_batches = true,
	.note = note_otlp,
	.end_part = end_part,
	.clean_part = clean_part,
	.begin = begin_otlp,
	.span = add_span,
	.point = add_point,
	.end = end_otlp,
	.clean = clean_otlp,
};
