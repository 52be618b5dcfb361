/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace as a timeline: spans on tracks, and its records, as data for a page that draws them
 * (docs/format/timeline.md). Add every item of the trace, then write it.
 */
#ifndef KERNLENS_TIMELINE_H
#define KERNLENS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/trace.h>

struct kl_timeline;

/**
 * struct kl_timeline_counts - what a timeline consists of
 * @tracks: number of tracks
 * @spans: number of spans, merged ones counted once
 * @resolution_ns: shorter spans may be merged; 0: none is
 * @records: events of the trace
 * @kept: whether they are in the timeline
 * @lost: records that are missing from the trace, as far as known, without KL_LOSS_UNSEEN
 * @omitted: threads that are left out: they were not selected, here or when recording
 */
struct kl_timeline_counts {
	size_t tracks;
	size_t spans;
	uint64_t resolution_ns;
	uint64_t records;
	bool kept;
	uint64_t lost;
	size_t omitted;
};

/**
 * kl_timeline_create - create an empty timeline
 * @trace: to be read from the start; must outlive the timeline
 * @bytes: about how large the data may become. If it would be larger, short spans are merged, and
 *         the records are left out
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_timeline *kl_timeline_create(const struct kl_trace *trace, size_t bytes);

/**
 * kl_timeline_destroy - free a timeline
 * @timeline: or NULL
 */
void kl_timeline_destroy(struct kl_timeline *timeline);

/**
 * kl_timeline_plot - also show events, values of fields or variables over time
 * @timeline: empty
 * @text: what kl_measure_create() takes; must outlive the timeline
 * @n: number of texts
 *
 * Each has 16 curves at most. Returns 0 or a negative errno with an error text.
 */
int kl_timeline_plot(struct kl_timeline *timeline, const char *const *text, size_t n);

#define KL_TIMELINE_PIDS_MAX 64

/**
 * kl_timeline_select - show threads, records and samples of some processes only
 * @timeline: empty
 * @pid: processes or threads
 * @n: number of them, at most KL_TIMELINE_PIDS_MAX
 *
 * CPUs, disks, marks and losses are shown as without it.
 */
void kl_timeline_select(struct kl_timeline *timeline, const int32_t *pid, size_t n);

/**
 * kl_timeline_explain - also explain the longest waits of each thread
 * @timeline: empty
 *
 * As kl_why_explain() does; not of a trace of more than a million records. Returns 0 or -ENOMEM.
 */
int kl_timeline_explain(struct kl_timeline *timeline);

/**
 * kl_timeline_add - add the next item of the trace
 * @timeline: timeline
 * @item: item
 *
 * Returns 0 or -ENOMEM.
 */
int kl_timeline_add(struct kl_timeline *timeline, const struct kl_item *item);

/**
 * kl_timeline_finish - end what is in progress where the trace ends
 * @timeline: timeline, to which everything has been added
 *
 * Returns 0 or -ENOMEM.
 */
int kl_timeline_finish(struct kl_timeline *timeline);

/**
 * kl_timeline_counts - what a timeline consists of
 * @timeline: timeline
 */
const struct kl_timeline_counts *kl_timeline_counts(const struct kl_timeline *timeline);

/* Takes a part of a document. Returns 0, or a negative errno, which ends the writing. */
typedef int (*kl_timeline_fn)(void *context, const void *bytes, size_t length);

/**
 * kl_timeline_write - write the data as elements of an HTML page
 * @timeline: finished
 * @title: of the page
 * @prefix: of the elements' IDs, of at most 32 characters; "": none
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0, -ENOMEM, or what @write returned.
 */
int kl_timeline_write(struct kl_timeline *timeline, const char *title, const char *prefix,
		      kl_timeline_fn write, void *context);

/**
 * kl_timeline_add_string - append a text as a string of JSON that cannot end a script element
 * @to: appended to
 * @text: text
 */
void kl_timeline_add_string(struct kl_buffer *to, const char *text);

/**
 * kl_timeline_write_bytes - write the data as a page requests it from a server
 * @timeline: finished, or in progress
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0, -ENOMEM, or what @write returned.
 */
int kl_timeline_write_bytes(struct kl_timeline *timeline, kl_timeline_fn write, void *context);

#endif /* KERNLENS_TIMELINE_H */
