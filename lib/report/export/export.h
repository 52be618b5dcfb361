/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the formats are made from. export.c reads the trace and calls a format's operations, some of
 * them in batches (batch.c); values.c has the values of events.
 */
#ifndef KL_LIB_REPORT_EXPORT_H
#define KL_LIB_REPORT_EXPORT_H

#include <stdio.h>

#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/export.h>
#include "../profile.h"
#include "../timeline/timeline.h"

#define KL_EXPORT_ARGS_MAX 24

enum kl_export_type {
	KL_EXPORT_SIGNED,
	KL_EXPORT_UNSIGNED,
	KL_EXPORT_TEXT,
};

/**
 * struct kl_export_arg - a value that a span or event has
 * @name: belongs to the schema
 * @number: if it is no text
 * @text: of @length bytes, printable; valid until the arguments change
 */
struct kl_export_arg {
	const char *name;
	enum kl_export_type type;
	uint64_t number;
	const char *text;
	size_t length;
};

/* Values with their texts. @at: where in @text the text of each begins */
struct kl_export_args {
	unsigned int n;
	struct kl_export_arg arg[KL_EXPORT_ARGS_MAX];
	size_t at[KL_EXPORT_ARGS_MAX];
	struct kl_buffer text;
};

/**
 * struct kl_export_span - a span of time
 * @track: whose it is
 * @begin_ns, @end_ns: wall time; equal: an instant
 * @name: what it shows
 * @name_number: number of @name
 * @class: of it
 * @thread: whose track it is, or that runs on the CPU of the track, or that issued the request;
 *          NULL: none
 * @by: KL_SPAN_READY: what has woken it; NULL: unknown
 * @cpu: where it runs, or -1
 * @event, @end_event: numbers of the events with which it begins and ends, from 1; 0: unknown
 * @args: arguments and result of a system call, fields of an event; NULL: none
 */
struct kl_export_span {
	const struct kl_track *track;
	uint64_t begin_ns;
	uint64_t end_ns;
	const char *name;
	uint32_t name_number;
	enum kl_span_class class;
	const struct kl_timeline_thread *thread;
	const struct kl_timeline_thread *by;
	int cpu;
	uint64_t event;
	uint64_t end_event;
	const struct kl_export_args *args;
};

/**
 * struct kl_export_point - a new value of a variable
 * @ns: wall time
 * @id: thread ID, CPU, or 0
 * @index: of the variable in the schema
 * @number: of the counter, the same for all points of it
 */
struct kl_export_point {
	uint64_t ns;
	const struct kl_variable *variable;
	unsigned int index;
	enum kl_counter_scope scope;
	uint64_t id;
	size_t number;
	int64_t value;
};

/* A record with a stack trace. @path: number, of the profile's. */
struct kl_export_sample {
	const struct kl_event *event;
	const struct kl_timeline_thread *thread;
	uint32_t path;
};

/* A copy of an event. @event: points into @bytes */
struct kl_export_copy {
	struct kl_event event;
	struct kl_buffer bytes;
};

enum kl_export_what {
	KL_EXPORT_RECORD,
	KL_EXPORT_SPAN,
	KL_EXPORT_POINT,
	KL_EXPORT_SAMPLE,
	KL_EXPORT_LOSS,
};

/**
 * struct kl_export_call - a call of a format's operation
 * @what: which one
 * @number: set by @note of the format
 * @event: record or sample, or what the span ends with; NULL: something else
 * @entry: of the system call that the span shows, or NULL
 */
struct kl_export_call {
	enum kl_export_what what;
	uint64_t number;
	const struct kl_event *event;
	const struct kl_event *entry;
	union {
		struct kl_export_span span;
		struct kl_export_point point;
		struct kl_export_sample sample;
		struct kl_loss loss;
	};
};

struct kl_export_batch;

/**
 * struct kl_export - a trace that is being written
 * @scan: all threads, and what they were called last; NULL if no spans are needed
 * @timeline: finds the spans; knows the names
 * @profile: has the paths; NULL: the trace has no stack traces
 * @event: that is being added, the last of @counts; NULL: something else is
 * @entries: by the number of the thread, the entry of its last system call
 * @args: of the span that the format is called with
 * @number: of the call, as @note of the format has set it
 * @texts: printable forms of some
 * @out: what has not been written to @file
 * @held: it stays in @out
 * @batch: takes the calls; NULL: they are made at once
 * @state: of the format
 * @part: of the format, for some calls that follow each other
 */
struct kl_export {
	struct kl_trace *trace;
	const struct kl_schema *schema;
	const struct kl_export_options *options;
	const struct kl_export_ops *ops;
	struct kl_timeline *scan;
	struct kl_timeline *timeline;
	struct kl_profile *profile;
	uint64_t last_ns;
	const struct kl_event *event;
	struct kl_export_copy **entries;
	struct kl_export_args args;
	uint64_t number;
	struct kl_export_counts counts;
	struct kl_texts texts;
	FILE *file;
	const char *path;
	struct kl_buffer out;
	bool held;
	struct kl_export_batch *batch;
	void *state;
	void *part;
};

/**
 * struct kl_export_ops - a format
 * @has_spans: threads are wanted, and what @span and @point are called with
 * @has_args: and what the spans of events and system calls were given
 * @needs_samples: without stack traces, there is nothing to write
 * @state_bytes: of the state, zeroed
 * @part_bytes: of a part, zeroed
 * @in_batches: @record, @span, @point, @sample and @loss may be called by other threads, each with
 *              a copy of struct kl_export of its own, and only read the state. What they have for
 *              each other goes through @note, or stays in a part until @end_part
 * @note: called in order before a call is made, on one thread. What it writes precedes the batch.
 *        Returns 1, or 0 if the call is not needed
 * @end_part: append what the part has kept, and empty it; also called after @end
 *
 * All but those that clean return 0 or a negative errno; those that are NULL are not called. @clean
 * frees what the state has, whatever has happened; @clean_part the same of a part.
 */
struct kl_export_ops {
	struct kl_export_format format;
	bool has_spans;
	bool has_args;
	bool needs_samples;
	size_t state_bytes;
	size_t part_bytes;
	bool in_batches;
	int (*note)(struct kl_export *x, struct kl_export_call *call);
	int (*end_part)(struct kl_export *x);
	void (*clean_part)(struct kl_export *x);
	int (*begin)(struct kl_export *x);
	int (*record)(struct kl_export *x, const struct kl_event *event);
	int (*span)(struct kl_export *x, const struct kl_export_span *span);
	int (*point)(struct kl_export *x, const struct kl_export_point *point);
	int (*sample)(struct kl_export *x, const struct kl_export_sample *sample);
	int (*loss)(struct kl_export *x, const struct kl_loss *loss);
	int (*end)(struct kl_export *x);
	void (*clean)(struct kl_export *x);
};

#define KL_EXPORT_FORMAT(word) extern const struct kl_export_ops kl_export_##word;
#include "formats.def"
#undef KL_EXPORT_FORMAT

/* Write what is in @out, if it is much. Returns 0 or a negative errno. */
int kl_export_flush(struct kl_export *x);

/* Read an item, and add it. Returns 1, 0 after the last one, or a negative errno. */
int kl_export_read(struct kl_export *x);

/* Make a call. Returns 0 or a negative errno. */
int kl_export_make_call(struct kl_export *x, struct kl_export_call *call);

/* Have a batch make it later. Returns 0 or -ENOMEM. */
int kl_export_keep_call(struct kl_export *x, const struct kl_export_call *call);

/* Read everything, with the calls in batches. Returns 0 or a negative errno. */
int kl_export_read_batches(struct kl_export *x);

/* Allocate and free the part. */
int kl_export_begin_part(struct kl_export *x);
void kl_export_clean_part(struct kl_export *x);

/* The name of a thread: its last command name. */
const char *kl_export_comm(struct kl_export *x, const struct kl_timeline_thread *thread);

/* The first thread of a thread's process, if the trace has it; else the thread itself. */
const struct kl_timeline_thread *kl_export_process(const struct kl_export *x,
						   const struct kl_timeline_thread *thread);

/* The name of a track that does not belong to a thread, in the caller's buffer. */
void kl_export_track_name(const struct kl_track *track, struct kl_buffer *name);

/* "running", "ready", "sleeping", "blocked", "stopped", "failed" */
const char *kl_export_class_name(enum kl_span_class class);

/* The ns that a sample stands for; 0: unknown, it counts as one. */
uint64_t kl_export_period_ns(const struct kl_export *x);

/*
 * The same text, or if it is not printable, one that is, as kl_print_plain() makes it: valid for as
 * long as @text and @x. Without memory, an empty one; the error is reported by kl_export_flush().
 */
const char *kl_export_plain(struct kl_export *x, const char *text);

/* Append values of an event, with their symbolic meaning if they have one. */
void kl_export_args_add(struct kl_export_args *args, const struct kl_event *event);
void kl_export_args_reset(struct kl_export_args *args);

/* A value, valid until the arguments change. */
struct kl_export_arg kl_export_arg_of(const struct kl_export_args *args, unsigned int index);

/* Append {"name":value,...} */
void kl_export_json_args(struct kl_buffer *to, const struct kl_export_args *args);

/* Append a JSON string. */
void kl_export_json_text(struct kl_buffer *to, const char *text);

#endif /* KL_LIB_REPORT_EXPORT_H */
