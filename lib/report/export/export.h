/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the formats are made from. export.c reads the trace and calls a format's operations;
 * values.c has the values of events.
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
 * @number: of the counter, the same for all points of it
 */
struct kl_export_point {
	uint64_t ns;
	const struct kl_variable *variable;
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

/**
 * struct kl_export - a trace that is being written
 * @scan: all threads, and what they were called last; NULL if no spans are needed
 * @timeline: finds the spans; knows the names
 * @profile: has the paths; NULL: the trace has no stack traces
 * @event: that is being added, the last of @counts; NULL: something else is
 * @calls: by the number of the thread, what its system call was given
 * @args: those of @event
 * @texts: printable forms of some
 * @out: what has not been written to @file
 * @state: of the format
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
	struct kl_export_args **calls;
	struct kl_export_args args;
	struct kl_export_counts counts;
	struct kl_texts texts;
	FILE *file;
	const char *path;
	struct kl_buffer out;
	void *state;
};

/**
 * struct kl_export_ops - a format
 * @has_spans: threads are wanted, and what @span and @point are called with
 * @has_args: and what the spans of events and system calls were given
 * @needs_samples: without stack traces, there is nothing to write
 * @state_bytes: of the state, zeroed
 *
 * All but @clean return 0 or a negative errno; those that are NULL are not called. @clean frees
 * what the state has, whatever has happened.
 */
struct kl_export_ops {
	struct kl_export_format format;
	bool has_spans;
	bool has_args;
	bool needs_samples;
	size_t state_bytes;
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
