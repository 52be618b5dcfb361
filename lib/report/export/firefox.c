// SPDX-License-Identifier: GPL-2.0
/*
 * The processed profile of the Firefox Profiler, in JSON: stack traces of samples, and system calls
 * and waits as markers. Its tables are columns, one after the other, so everything is kept until
 * the end: a few bytes for a sample, and some 50 for a marker.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "export.h"

/* The first that has all tables of functions in one place; the profiler upgrades it. */
#define PROFILE_VERSION 60
#define GECKO_VERSION 31
#define NO_STACK UINT32_MAX

enum category {
	CATEGORY_OTHER,
	CATEGORY_PROGRAM,
	CATEGORY_KERNEL,
	CATEGORY_WAIT,
};

/* Key: of its caller and its function. @number: plus 1; 0: new */
struct node_of {
	uint64_t key;
	uint64_t number;
};

/* A function with all of its callers. */
struct node {
	uint32_t caller;
	uint32_t function;
};

struct sample {
	uint64_t ns;
	uint32_t node;
};

/* @args: where its arguments begin, in the thread's buffer; @length of it, 0: none */
struct marker {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t name;
	uint32_t length;
	size_t args;
	uint8_t kind;
	uint8_t class;
};

struct thread {
	struct sample *sample;
	size_t n_samples;
	size_t samples_room;
	struct marker *marker;
	size_t n_markers;
	size_t markers_room;
	struct kl_buffer args;
};

struct firefox {
	struct thread *thread;
	struct node *node;
	size_t n_nodes;
	size_t nodes_room;
	struct kl_hash nodes;
};

static int begin_firefox(struct kl_export *x)
{
	struct firefox *f = x->state;

	f->nodes.size = sizeof(struct node_of);
	f->thread = calloc(x->scan->n_threads + 1, sizeof(*f->thread));
	return f->thread ? 0 : -ENOMEM;
}

/* The node of a function called by another node, or -ENOMEM. */
static int64_t node_of(struct firefox *f, uint32_t caller, uint32_t function)
{
	const uint64_t key = ((uint64_t)caller + 1) << 32 | function;
	struct node_of *entry = kl_hash_get(&f->nodes, key + 1);
	struct node *grown;

	if (!entry || entry->number)
		return entry ? (int64_t)entry->number - 1 : -ENOMEM;
	grown = kl_array_grow(f->node, f->n_nodes, &f->nodes_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->node = grown;
	grown[f->n_nodes] = (struct node){ caller, function };
	entry->number = ++f->n_nodes;
	return (int64_t)entry->number - 1;
}

static int add_sample(struct kl_export *x, const struct kl_export_sample *sample)
{
	const struct kl_profile_path *path = &x->profile->path[sample->path];
	struct firefox *f = x->state;
	struct thread *thread = &f->thread[sample->thread->number];
	struct sample *grown;
	int64_t node = NO_STACK;

	for (unsigned int i = 0; i < path->n && node >= 0; i++)
		node = node_of(f, (uint32_t)node, path->frame[i].function);
	grown = kl_array_grow(thread->sample, thread->n_samples, &thread->samples_room,
			      sizeof(*grown));
	if (!grown || node < 0)
		return -ENOMEM;
	thread->sample = grown;
	grown[thread->n_samples++] = (struct sample){ sample->event->ns, (uint32_t)node };
	return 0;
}

static int add_span(struct kl_export *x, const struct kl_export_span *span)
{
	const enum kl_track_kind kind = span->track->kind;
	struct firefox *f = x->state;
	struct thread *thread;
	struct marker *grown;

	if (kind != KL_TRACK_SYSCALL && kind != KL_TRACK_EVENT &&
	    (kind != KL_TRACK_THREAD || span->class == KL_SPAN_RUNNING))
		return 0;
	thread = &f->thread[span->thread->number];
	grown = kl_array_grow(thread->marker, thread->n_markers, &thread->markers_room,
			      sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	thread->marker = grown;
	grown += thread->n_markers++;
	*grown = (struct marker){ .begin_ns = span->begin_ns,
				  .end_ns = span->end_ns,
				  .name = span->name_number,
				  .args = thread->args.length,
				  .kind = (uint8_t)kind,
				  .class = (uint8_t)span->class };
	if (span->args)
		kl_export_json_args(&thread->args, span->args);
	grown->length = (uint32_t)(thread->args.length - grown->args);
	return thread->args.error ? -ENOMEM : 0;
}

/* ------------------------------------------------------------------- columns */

/* Gets an element of a column, as JSON. */
typedef void (*column_fn)(struct kl_export *x, const void *of, size_t i);

static int put_column(struct kl_export *x, const char *name, const void *of, size_t n,
		      column_fn element)
{
	int error = 0;

	kl_buffer_printf(&x->out, "\"%s\":[", name);
	for (size_t i = 0; i < n && !error; i++) {
		if (i)
			kl_buffer_add_char(&x->out, ',');
		element(x, of, i);
		error = kl_export_flush(x);
	}
	kl_buffer_add_string(&x->out, "],");
	return error;
}

struct column {
	const char *name;
	column_fn element;
};

/* A table: its columns, and its length. */
static int put_table(struct kl_export *x, const char *name, const void *of, size_t n,
		     const struct column *column)
{
	int error = 0;

	kl_buffer_printf(&x->out, "\"%s\":{", name);
	for (; column->name && !error; column++)
		error = put_column(x, column->name, of, n, column->element);
	kl_buffer_printf(&x->out, "\"length\":%zu}", n);
	return error;
}

static void put_zero(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	(void)i;
	kl_buffer_add_char(&x->out, '0');
}

static void put_minus_one(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	(void)i;
	kl_buffer_add_string(&x->out, "-1");
}

static void put_null(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	(void)i;
	kl_buffer_add_string(&x->out, "null");
}

static void put_false(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	(void)i;
	kl_buffer_add_string(&x->out, "false");
}

static void put_index(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	kl_buffer_add_unsigned(&x->out, i, 0);
}

/* In ms since the first event. */
static void put_time(struct kl_export *x, uint64_t ns)
{
	const uint64_t since = ns > x->scan->first_ns ? ns - x->scan->first_ns : 0;

	kl_buffer_add_unsigned(&x->out, since / 1000000, 0);
	kl_buffer_add_char(&x->out, '.');
	kl_buffer_add_unsigned(&x->out, since % 1000000, 6);
}

/* ----------------------------------------------------------- shared tables */

static enum category category_of(const struct kl_export *x, size_t function)
{
	const struct kl_profile_function *of = x->profile->functions.element;

	return of[function].kind == KL_PROFILE_KERNEL ? CATEGORY_KERNEL : CATEGORY_PROGRAM;
}

static void put_category(struct kl_export *x, const void *of, size_t i)
{
	(void)of;
	kl_buffer_add_unsigned(&x->out, category_of(x, i), 0);
}

static void put_node_function(struct kl_export *x, const void *of, size_t i)
{
	const struct firefox *f = of;

	kl_buffer_add_unsigned(&x->out, f->node[i].function, 0);
}

static void put_node_caller(struct kl_export *x, const void *of, size_t i)
{
	const struct firefox *f = of;

	if (f->node[i].caller == NO_STACK)
		put_null(x, of, i);
	else
		kl_buffer_add_unsigned(&x->out, f->node[i].caller, 0);
}

static const struct column stacks[] = {
	{ "frame", put_node_function },
	{ "prefix", put_node_caller },
	{},
};

static const struct column frames[] = {
	{ "address", put_minus_one },  { "inlineDepth", put_zero },
	{ "category", put_category },  { "subcategory", put_zero },
	{ "func", put_index },	       { "nativeSymbol", put_null },
	{ "innerWindowID", put_zero }, { "line", put_null },
	{ "column", put_null },	       {},
};

static const struct column functions[] = {
	{ "name", put_index },		{ "isJS", put_false },
	{ "relevantForJS", put_false }, { "resource", put_minus_one },
	{ "source", put_null },		{ "lineNumber", put_null },
	{ "columnNumber", put_null },	{},
};

static const struct column resources[] = { { "lib", put_null },
					   { "name", put_null },
					   { "host", put_null },
					   { "type", put_null },
					   {} };

static const struct column symbols[] = { { "libIndex", put_null },
					 { "address", put_null },
					 { "name", put_null },
					 { "functionSize", put_null },
					 {} };

static const struct column sources[] = { { "uuid", put_null }, { "filename", put_null }, {} };

static size_t functions_of(const struct kl_export *x)
{
	return x->profile ? x->profile->functions.n : 0;
}

/* Names of functions come first, then those of markers. */
static int put_strings(struct kl_export *x)
{
	const struct kl_profile_function *of = x->profile ? x->profile->functions.element : NULL;
	const size_t n = functions_of(x);
	struct kl_buffer name = { 0 };
	int error = 0;

	kl_buffer_add_string(&x->out, ",\n\"stringArray\":[");
	for (size_t i = 0; i < n + x->timeline->n_names && !error; i++) {
		kl_buffer_add_string(&x->out, i ? "," : "");
		kl_buffer_reset(&name);
		if (i < n)
			kl_buffer_printf(&name, "%s (%s)", of[i].name, of[i].object);
		else
			kl_buffer_add_string(&name, x->timeline->name[i - n]);
		kl_print_json_string(&x->out, name.data, name.length);
		error = name.error ? -ENOMEM : kl_export_flush(x);
	}
	kl_buffer_add_char(&x->out, ']');
	kl_buffer_deinit(&name);
	return error;
}

static int put_shared(struct kl_export *x)
{
	struct firefox *f = x->state;
	const size_t n = functions_of(x);
	int error;

	kl_buffer_add_string(&x->out, "\"shared\":{\n");
	error = put_table(x, "stackTable", f, f->n_nodes, stacks);
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "frameTable", f, n, frames);
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "funcTable", f, n, functions);
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "resourceTable", f, 0, resources);
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "nativeSymbols", f, 0, symbols);
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "sources", f, 0, sources);
	error = error ?: put_strings(x);
	kl_buffer_add_string(&x->out, "},\n");
	return error;
}

/* ------------------------------------------------------------------- threads */

static void put_sample_node(struct kl_export *x, const void *of, size_t i)
{
	const struct thread *thread = of;

	if (thread->sample[i].node == NO_STACK)
		put_null(x, of, i);
	else
		kl_buffer_add_unsigned(&x->out, thread->sample[i].node, 0);
}

static void put_sample_time(struct kl_export *x, const void *of, size_t i)
{
	put_time(x, ((const struct thread *)of)->sample[i].ns);
}

static void put_marker_data(struct kl_export *x, const void *of, size_t i)
{
	const struct thread *thread = of;
	const struct marker *marker = &thread->marker[i];

	kl_buffer_printf(&x->out, "{\"type\":\"%s\"",
			 kl_track_kind_name((enum kl_track_kind)marker->kind));
	if (marker->kind == KL_TRACK_THREAD || marker->class == KL_SPAN_FAILED)
		kl_buffer_printf(&x->out, ",\"state\":\"%s\"",
				 kl_export_class_name((enum kl_span_class)marker->class));
	if (marker->length) {
		kl_buffer_add_string(&x->out, ",\"args\":");
		kl_print_json_string(&x->out, thread->args.data + marker->args, marker->length);
	}
	kl_buffer_add_char(&x->out, '}');
}

static void put_marker_name(struct kl_export *x, const void *of, size_t i)
{
	kl_buffer_add_unsigned(&x->out,
			       functions_of(x) + ((const struct thread *)of)->marker[i].name, 0);
}

static void put_marker_begin(struct kl_export *x, const void *of, size_t i)
{
	put_time(x, ((const struct thread *)of)->marker[i].begin_ns);
}

static void put_marker_end(struct kl_export *x, const void *of, size_t i)
{
	const struct marker *marker = &((const struct thread *)of)->marker[i];

	if (marker->kind == KL_TRACK_EVENT)
		put_null(x, of, i);
	else
		put_time(x, marker->end_ns);
}

/* An instant, or an interval. */
static void put_marker_phase(struct kl_export *x, const void *of, size_t i)
{
	const struct marker *marker = &((const struct thread *)of)->marker[i];

	kl_buffer_add_char(&x->out, marker->kind == KL_TRACK_EVENT ? '0' : '1');
}

static void put_marker_category(struct kl_export *x, const void *of, size_t i)
{
	const struct marker *marker = &((const struct thread *)of)->marker[i];

	kl_buffer_add_unsigned(&x->out,
			       marker->kind == KL_TRACK_THREAD ? CATEGORY_WAIT : CATEGORY_KERNEL,
			       0);
}

static const struct column samples[] = {
	{ "stack", put_sample_node },
	{ "time", put_sample_time },
	{},
};

static const struct column markers[] = {
	{ "data", put_marker_data },
	{ "name", put_marker_name },
	{ "startTime", put_marker_begin },
	{ "endTime", put_marker_end },
	{ "phase", put_marker_phase },
	{ "category", put_marker_category },
	{},
};

static int put_thread(struct kl_export *x, const struct kl_timeline_thread *of,
		      const struct thread *thread)
{
	const struct kl_timeline_thread *process = kl_export_process(x, of);
	int error;

	kl_buffer_add_string(&x->out, "{\"name\":");
	kl_export_json_text(&x->out, kl_export_comm(x, of));
	kl_buffer_add_string(&x->out, ",\"processName\":");
	kl_export_json_text(&x->out, kl_export_comm(x, process));
	kl_buffer_printf(&x->out,
			 ",\"pid\":\"%d\",\"tid\":%d,\"isMainThread\":%s,"
			 "\"processType\":\"default\",\"processStartupTime\":0,"
			 "\"processShutdownTime\":null,\"registerTime\":0,"
			 "\"unregisterTime\":null,\"pausedRanges\":[],"
			 "\"showMarkersInTimeline\":true,\n",
			 of->pid ? of->pid : of->tid, of->tid, process == of ? "true" : "false");
	error = put_table(x, "samples", thread, thread->n_samples, samples);
	/* Inside the table. */
	if (!error && !x->out.error && x->out.length) {
		x->out.length--;
		kl_buffer_add_string(&x->out, ",\"weight\":null,\"weightType\":\"samples\"}");
	}
	kl_buffer_add_string(&x->out, ",\n");
	error = error ?: put_table(x, "markers", thread, thread->n_markers, markers);
	kl_buffer_add_char(&x->out, '}');
	return error;
}

static void put_schema(struct kl_export *x, const char *name, const char *label, const char *more)
{
	kl_buffer_printf(&x->out,
			 "{\"name\":\"%s\",\"tooltipLabel\":\"%s: {marker.name}\","
			 "\"tableLabel\":\"{marker.data.args}{marker.data.state}\","
			 "\"display\":[\"marker-chart\",\"marker-table\"%s],"
			 "\"fields\":[{\"key\":\"args\",\"label\":\"Values\",\"format\":\"string\"},"
			 "{\"key\":\"state\",\"label\":\"State\",\"format\":\"string\"}]}",
			 name, label, more);
}

static void put_meta(struct kl_export *x)
{
	const struct kl_trace_info *info = kl_trace_about(x->trace);
	const uint64_t period = kl_export_period_ns(x) ?: 1000000;

	kl_buffer_printf(&x->out,
			 "{\"meta\":{\"interval\":%.6f,\"startTime\":%llu.%06llu,"
			 "\"processType\":0,\"stackwalk\":1,\"version\":%d,"
			 "\"preprocessedProfileVersion\":%d,\"symbolicated\":true,"
			 "\"platform\":\"Linux\",\"sourceCodeIsNotOnSearchfox\":true,\"oscpu\":",
			 (double)period / 1e6, (unsigned long long)x->scan->first_ns / 1000000,
			 (unsigned long long)x->scan->first_ns % 1000000, GECKO_VERSION,
			 PROFILE_VERSION);
	kl_export_json_text(&x->out, info->kernel_release);
	kl_buffer_add_string(&x->out, ",\"product\":");
	kl_export_json_text(&x->out, x->options->title);
	kl_buffer_add_string(&x->out, ",\"importedFrom\":\"kernlens\",\"categories\":["
				      "{\"name\":\"Other\",\"color\":\"grey\","
				      "\"subcategories\":[\"Other\"]},"
				      "{\"name\":\"User\",\"color\":\"yellow\","
				      "\"subcategories\":[\"Other\"]},"
				      "{\"name\":\"Kernel\",\"color\":\"orange\","
				      "\"subcategories\":[\"Other\"]},"
				      "{\"name\":\"Waiting\",\"color\":\"blue\","
				      "\"subcategories\":[\"Other\"]}],\"markerSchema\":[");
	put_schema(x, "syscall", "system call", "");
	kl_buffer_add_char(&x->out, ',');
	put_schema(x, "thread", "wait", ",\"timeline-overview\"");
	kl_buffer_add_char(&x->out, ',');
	put_schema(x, "event", "event", "");
	kl_buffer_add_string(&x->out, "]},\n\"libs\":[],\n");
}

static int end_firefox(struct kl_export *x)
{
	struct firefox *f = x->state;
	const char *comma = "";
	int error;

	put_meta(x);
	error = put_shared(x);
	kl_buffer_add_string(&x->out, "\"threads\":[");
	for (size_t i = 0; i < x->scan->n_threads && !error; i++) {
		if (!f->thread[i].n_samples && !f->thread[i].n_markers)
			continue;
		kl_buffer_add_string(&x->out, comma);
		comma = ",\n";
		error = put_thread(x, x->scan->thread[i], &f->thread[i]);
	}
	kl_buffer_add_string(&x->out, "]}\n");
	return error;
}

static void clean_firefox(struct kl_export *x)
{
	struct firefox *f = x->state;

	for (size_t i = 0; f->thread && i < x->scan->n_threads; i++) {
		free(f->thread[i].sample);
		free(f->thread[i].marker);
		kl_buffer_deinit(&f->thread[i].args);
	}
	free(f->thread);
	free(f->node);
	kl_hash_deinit(&f->nodes);
}

const struct kl_export_ops kl_export_firefox = {
	.format = { .name = "firefox",
		    .extension = "firefox.json",
		    .help = "stack traces, system calls and waits, for profiler.firefox.com" },
	.has_spans = true,
	.has_args = true,
	.state_bytes = sizeof(struct firefox),
	.begin = begin_firefox,
	.sample = add_sample,
	.span = add_span,
	.end = end_firefox,
	.clean = clean_firefox,
};
