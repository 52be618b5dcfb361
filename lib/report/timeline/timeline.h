/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of a timeline. build.c and devices.c find spans in the events, tracks.c holds them,
 * records.c holds the records, and write.c writes both. index.c makes timelines of parts of a
 * trace, which begin with the state that seed.c has kept.
 */
#ifndef KL_LIB_REPORT_TIMELINE_H
#define KL_LIB_REPORT_TIMELINE_H

#include <kernlens/buffer.h>
#include <kernlens/timeline.h>
#include "../../base/table.h"
#include "../../base/texts.h"
#include "../requests.h"

struct kl_profile;
struct kl_series;
struct kl_why;
struct kl_why_node;

enum kl_track_kind {
	KL_TRACK_CPU, /* which task runs */
	KL_TRACK_IRQ, /* interrupts of a CPU */
	KL_TRACK_SOFTIRQ,
	KL_TRACK_THREAD, /* states of a thread */
	KL_TRACK_SYSCALL, /* its system calls */
	KL_TRACK_EVENT, /* its other events */
	KL_TRACK_DISK, /* requests of a block device */
	KL_TRACK_MARK,
	KL_TRACK_LOSS,
	KL_TRACK_KINDS,
};

/* Classes of spans; those of threads are states. */
enum kl_span_class {
	KL_SPAN_RUNNING,
	KL_SPAN_READY,
	KL_SPAN_ASLEEP,
	KL_SPAN_BLOCKED, /* uninterruptible */
	KL_SPAN_STOPPED,
	KL_SPAN_FAILED, /* a system call or request */
	KL_SPAN_CLASSES,
};

#define KL_NO_RECORD UINT32_MAX

/* Of the page, measured; there, three bytes take four letters. */
#define KL_SPAN_BYTES 11
#define KL_POINT_BYTES 5
#define KL_SAMPLE_BYTES 4
#define KL_BASE64(bytes) ((bytes) / 3 * 4)

/**
 * struct kl_span - what a track shows from one time to another
 * @begin, @end: ns since the first event; equal: an instant
 * @name: number of a name
 * @n: how many spans it was merged from
 * @record: number of the record with which it, or the first of these, begins; or KL_NO_RECORD
 * @by: KL_SPAN_READY: number of the thread that has woken it, plus 1; KL_SPAN_RUNNING: CPU, plus 1,
 *      or on a CPU's track the number of the thread, plus 1; 0: unknown
 * @sums: @n > 1: number of the struct kl_span_sums
 * @class: enum kl_span_class; of a merged span, the one that takes the most time
 */
struct kl_span {
	uint64_t begin;
	uint64_t end;
	uint32_t name;
	uint32_t n;
	uint32_t record;
	uint32_t by;
	uint32_t sums;
	uint8_t class;
};

/* Time by class of a merged span, in ns. */
struct kl_span_sums {
	uint64_t ns[KL_SPAN_CLASSES];
};

/**
 * struct kl_track - spans that do not overlap, in the order of time
 * @id: of the CPU, thread, device or lane
 * @last_end: of the last span that has ended
 * @open: @now has begun, and not ended
 * @omitted: it is not written
 * @sum_ns: exact time of all spans by class
 */
struct kl_track {
	enum kl_track_kind kind;
	uint64_t id;
	bool open;
	bool omitted;
	struct kl_span now;
	uint64_t last_end;
	struct kl_span *span;
	size_t n;
	size_t room;
	uint64_t sum_ns[KL_SPAN_CLASSES];
};

/**
 * struct kl_timeline_thread - a thread
 * @number: among all
 * @name: number of its command name
 * @state: its track; NULL: it has no spans yet
 * @syscall: number of the system call it is in, or -1
 * @followed: the trace has all of its switches
 */
struct kl_timeline_thread {
	uint32_t number;
	int32_t tid;
	int32_t pid;
	uint32_t name;
	struct kl_track *state;
	struct kl_track *calls;
	struct kl_track *events;
	int32_t syscall;
	bool followed;
};

/* Records of a block, by column; when it is full, they are compressed. */
struct kl_record_block {
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t n;
	uint8_t *bytes;
	size_t length;
};

struct kl_records {
	struct kl_buffer times, cpus, threads, names, texts;
	uint64_t last_ns;
	struct kl_record_block now;
	struct kl_record_block *block;
	size_t n;
	size_t room;
	size_t bytes;
	struct kl_buffer text; /* scratch */
	struct kl_hash words; /* values of fields that are shown as words */
};

/* A thread's path through the code, of those that the profile has. */
struct kl_sample {
	uint64_t ns;
	uint32_t thread;
	uint32_t path;
};

/**
 * struct kl_samples - events with stack traces
 * @profile: has their paths; NULL: the trace has no stack traces
 * @every: each of how many is kept
 * @seen: how many there were
 * @paths: as they are written, once the trace has ended
 */
struct kl_samples {
	struct kl_profile *profile;
	struct kl_sample *sample;
	size_t n;
	size_t room;
	uint64_t every;
	uint64_t seen;
	struct kl_buffer paths;
};

/* What a variable is of. */
enum kl_counter_scope {
	KL_COUNTER_NONE, /* it is not shown */
	KL_COUNTER_THREAD,
	KL_COUNTER_CPU,
	KL_COUNTER_SYSTEM,
};

/* "thread", "cpu", "system" */
const char *kl_counter_scope_name(enum kl_counter_scope scope);

struct kl_point {
	uint64_t ns;
	int64_t value;
};

/**
 * struct kl_counter - a variable over time, or what kl_timeline_plot() was called with
 * @variable: index in the schema; of no use for the latter
 * @name, @unit: belong to the schema or to the timeline
 * @scope: whose it is
 * @id: thread ID, CPU, or 0
 * @thinned: points have been left out
 * @point: when it changed, and to what
 */
struct kl_counter {
	unsigned int variable;
	const char *name;
	const char *unit;
	enum kl_counter_scope scope;
	uint64_t id;
	bool thinned;
	struct kl_point *point;
	size_t n;
	size_t room;
};

typedef int (*kl_timeline_add_fn)(struct kl_timeline *t, const struct kl_event *event);

/**
 * struct kl_timeline_sink - takes the parts of a timeline that are not to be kept
 * @span: called with each span when it has ended; or NULL
 * @point: called with each new value of a variable; or NULL
 * @context: passed to both
 *
 * Both return 0, or a negative errno, which ends the reading.
 */
struct kl_timeline_sink {
	int (*span)(void *context, const struct kl_track *track, const struct kl_span *span);
	int (*point)(void *context, const struct kl_counter *counter, const struct kl_point *point);
	void *context;
};

/* What adds the events of a class. */
struct kl_timeline_class {
	bool known;
	kl_timeline_add_fn add;
	uint32_t name;
};

struct kl_timeline {
	const struct kl_trace *trace;
	const struct kl_schema *schema;
	const struct kl_timeline_sink *sink; /* NULL: everything is kept */
	size_t bytes;
	bool partial;
	bool growing; /* what is in progress is written, too */
	uint64_t keep_ns; /* spans that end before this are counted, but not kept */
	struct kl_timeline_counts counts;
	uint64_t first_ns;
	uint64_t last_ns; /* since the first event */
	struct kl_track **track;
	size_t tracks_room;
	struct kl_hash tracks_by_id;
	struct kl_span_sums *sums;
	size_t n_sums;
	size_t sums_room;
	struct kl_timeline_thread **thread;
	size_t n_threads;
	size_t threads_room;
	struct kl_hash threads_by_tid;
	struct kl_texts texts;
	const char **name;
	size_t n_names;
	size_t names_room;
	struct kl_hash names_by_text;
	struct kl_hash classes; /* struct with a struct kl_timeline_class, by id */
	struct kl_requests requests; /* of disks, that have been issued */
	struct kl_records records;
	struct kl_samples samples;
	enum kl_counter_scope scope[KL_VARIABLES_MAX];
	uint16_t shown[KL_VARIABLES_MAX]; /* variables with a scope */
	size_t n_shown;
	struct kl_counter *counter;
	size_t n_counters;
	size_t counters_room;
	size_t n_points; /* of all counters */
	size_t most_points; /* before they are thinned out */
	struct kl_hash counters_by_id;
	struct kl_series *series; /* NULL: none */
	struct kl_why *why; /* NULL: waits are not explained */
	const char *const *plots;
	int32_t selected[KL_TIMELINE_PIDS_MAX];
	size_t n_selected; /* 0: all */
	int kstack;
};

/*
 * A timeline that keeps threads, names and sums, but no spans, records, samples or points, so that
 * its memory does not grow with the trace. @sink must outlive it. NULL: out of memory
 */
struct kl_timeline *kl_timeline_create_stream(const struct kl_trace *trace,
					      const struct kl_timeline_sink *sink);

/* The number of a name, which is copied, or -ENOMEM. */
int64_t kl_timeline_name(struct kl_timeline *t, const char *name);

/* "cpu", "irq" ... */
const char *kl_track_kind_name(enum kl_track_kind kind);

/* The track of a kind with an id; NULL: out of memory. */
struct kl_track *kl_timeline_track(struct kl_timeline *t, enum kl_track_kind kind, uint64_t id);

/*
 * Begin a span, which ends the one that is open. @name: a number, or -ENOMEM, which is returned.
 */
int kl_track_begin(struct kl_timeline *t, struct kl_track *track, uint64_t ns,
		   enum kl_span_class class, int64_t name, uint32_t by);

/* End the span that is open, if any. Returns 0 or -ENOMEM. */
int kl_track_end(struct kl_timeline *t, struct kl_track *track, uint64_t ns);

/* A time of the trace, in ns since the first event. */
uint64_t kl_timeline_time(const struct kl_timeline *t, uint64_t ns);

/* A text field of an event, copied to @text. */
const char *kl_timeline_text(const struct kl_event *event, const char *name, char text[128]);

/*
 * A thread with what an event says of it; @pid: 0, and @comm: NULL: nothing. NULL: no memory
 */
struct kl_timeline_thread *kl_timeline_get_thread(struct kl_timeline *t, int32_t tid, int32_t pid,
						  const char *comm);

/* The track of a kind of a thread, made when it is needed. NULL: out of memory */
struct kl_track *kl_timeline_thread_track(struct kl_timeline *t, struct kl_timeline_thread *thread,
					  enum kl_track_kind kind);

/* Is nothing shown of a track, as its thread is not selected, or not all of its switches known? */
bool kl_timeline_hides(const struct kl_timeline *t, const struct kl_track *track);

/* A thread, or NULL if no event has it. */
const struct kl_timeline_thread *kl_timeline_find_thread(const struct kl_timeline *t, int32_t tid);

/* The number of a thread, which is added if it is new, or -ENOMEM. */
int64_t kl_timeline_thread_of(struct kl_timeline *t, int32_t tid);

/* Add interrupts, and requests of disks. Return 0 or -ENOMEM. */
int kl_timeline_enter_irq(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_enter_vector(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_leave_irq(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_enter_softirq(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_leave_softirq(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_issue(struct kl_timeline *t, const struct kl_event *event);
int kl_timeline_complete(struct kl_timeline *t, const struct kl_event *event);

/* Variables and others over time. Those that return an int return 0 or a negative errno. */
void kl_counters_init(struct kl_timeline *t);
int kl_counters_add(struct kl_timeline *t, const struct kl_event *event);
int kl_counters_finish(struct kl_timeline *t);
void kl_counters_deinit(struct kl_timeline *t);

/* Samples. Those that return an int return 0 or -ENOMEM. */
int kl_samples_init(struct kl_timeline *t);
int kl_samples_add(struct kl_timeline *t, const struct kl_event *event, uint32_t thread);
int kl_samples_finish(struct kl_timeline *t);
void kl_samples_deinit(struct kl_samples *samples);

/* The number of paths, and of ticks per second and CPU; 0: they are other events. */
size_t kl_samples_paths(const struct kl_timeline *t);
unsigned int kl_samples_hz(const struct kl_timeline *t);

/* Records of the trace. Return 0 or -ENOMEM. */
int kl_records_add(struct kl_timeline *t, const struct kl_event *event, uint32_t thread,
		   uint32_t name);
int kl_records_finish(struct kl_timeline *t);
void kl_records_deinit(struct kl_records *records);

/*
 * Note which values of an event are shown as words. Returns 0 or -ENOMEM. And write members of JSON
 * that tell what its fields are, and which numbers those words stand for.
 */
int kl_words_add(struct kl_records *records, const struct kl_event *event);
void kl_words_write(const struct kl_timeline *t, struct kl_buffer *to);

/*
 * Add an event to what explains waits, unless there are too many; and write explanations of the
 * longest ones as a chunk of JSON. Return 0 or -ENOMEM.
 */
int kl_chains_add(struct kl_timeline *t, const struct kl_event *event);
int kl_chains_write(struct kl_timeline *t, struct kl_buffer *to);

/* An explanation as JSON. */
void kl_chain_write(const struct kl_why_node *node, uint64_t first_ns, struct kl_buffer *to);

/* The index of a thread at a time, or -1; times are wall time. */
int64_t kl_chain_task(struct kl_why *why, int32_t tid, uint64_t ns);

/* Append a number in as few bytes as it takes, seven bits each; and one that may be negative. */
void kl_add_varint(struct kl_buffer *buffer, uint64_t value);
void kl_add_zigzag(struct kl_buffer *buffer, int64_t value);

#define KL_DEFLATE_SMALL 6
#define KL_DEFLATE_FAST 1

/* Compress bytes (raw deflate) at a level of zlib. *@to is to be freed. Returns 0 or -ENOMEM. */
int kl_deflate(const void *bytes, size_t length, int level, uint8_t **to, size_t *to_length);

/* Append members that describe a trace. */
void kl_timeline_add_trace(struct kl_buffer *to, const struct kl_trace_info *info,
			   const char *title);

/* The state at a point in time: what is in progress. */
struct kl_seed;

/* The state of a timeline now. NULL: out of memory */
struct kl_seed *kl_seed_take(const struct kl_timeline *t);
void kl_seed_free(struct kl_seed *seed);

/*
 * Let a new timeline begin with a state; @from: the timeline that it was taken from. Returns 0 or
 * -ENOMEM.
 */
int kl_seed_apply(const struct kl_seed *seed, const struct kl_timeline *from,
		  struct kl_timeline *t);

#endif /* KL_LIB_REPORT_TIMELINE_H */
