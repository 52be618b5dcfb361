/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An index of a trace of any size, from which parts of its timeline are made on request. One pass
 * over the trace makes it, in steps; what has been read can be shown in the meantime, and so can
 * any other part. Memory does not grow with the trace, but with its threads, tracks and names.
 */
#ifndef KERNLENS_TIMELINE_INDEX_H
#define KERNLENS_TIMELINE_INDEX_H

#include <kernlens/buffer.h>
#include <kernlens/timeline.h>
#include <kernlens/trace_place.h>

struct kl_timeline_index;

/**
 * struct kl_timeline_options - what an index is of
 * @bytes: about how large the overview may become
 * @from_ns: since the first event of the trace: what is before is left out
 * @to_ns: what is after is left out; UINT64_MAX: nothing
 * @pid: as for kl_timeline_select()
 * @n_pids: number of them; 0: all
 * @plot: as for kl_timeline_plot(), must outlive the index
 * @n_plots: number of them
 */
struct kl_timeline_options {
	size_t bytes;
	uint64_t from_ns;
	uint64_t to_ns;
	const int32_t *pid;
	size_t n_pids;
	const char *const *plot;
	size_t n_plots;
};

/**
 * struct kl_timeline_progress - how much of the trace has been read
 * @records: events so far; numbers of records are less than this
 * @total: records of the trace, if it has a manifest and no part of it was chosen; else 0
 * @done_ns: time up to which everything has been read, since the first event
 * @end_ns: time of the last event, if @complete, else as the manifest has it, or @done_ns
 * @begin_ns: wall time of the first event; 0: none has been read
 * @complete: everything has been read
 */
struct kl_timeline_progress {
	uint64_t records;
	uint64_t total;
	uint64_t done_ns;
	uint64_t end_ns;
	uint64_t begin_ns;
	bool complete;
};

/**
 * kl_timeline_index_create - prepare to read a trace
 * @trace: must outlive the index, which from now on reads it
 * @options: copied
 *
 * Returns NULL with errno, and an error text: ENOMEM, or an invalid plot.
 */
struct kl_timeline_index *kl_timeline_index_create(struct kl_trace *trace,
						   const struct kl_timeline_options *options);

/**
 * kl_timeline_index_destroy - free an index
 * @index: or NULL
 */
void kl_timeline_index_destroy(struct kl_timeline_index *index);

/**
 * kl_timeline_index_step - read on
 * @index: index
 * @records: how many events to read at most
 *
 * Returns 1, 0 if everything has been read, or a negative errno.
 */
int kl_timeline_index_step(struct kl_timeline_index *index, uint64_t records);

/**
 * kl_timeline_index_progress - how much has been read
 * @index: index
 */
struct kl_timeline_progress kl_timeline_index_progress(const struct kl_timeline_index *index);

/**
 * kl_timeline_index_overview - the timeline of what has been read
 * @index: index, to which it belongs
 *
 * To be written (kl_timeline_write_bytes()) before the next step. Short spans are merged. NULL: out
 * of memory
 */
struct kl_timeline *kl_timeline_index_overview(struct kl_timeline_index *index);

/**
 * kl_timeline_index_window - the timeline of a part of the trace, with all spans
 * @index: index
 * @from_ns: since the first event
 * @to_ns: likewise
 * @bytes: about how large it may become
 * @most: records that are read for it; with more, the part is too large
 * @exact: out: if the index has not read @from_ns yet, what was in progress there is unknown: false
 *
 * Returns a timeline that the caller frees, or NULL with errno: E2BIG (the part has too many
 * records), EIO (the trace has changed), ENOMEM.
 */
struct kl_timeline *kl_timeline_index_window(struct kl_timeline_index *index, uint64_t from_ns,
					     uint64_t to_ns, size_t bytes, uint64_t most,
					     bool *exact);

/**
 * kl_timeline_index_read - read records
 * @index: index
 * @number: of the first
 * @take: called with each record and its number; returns 0 to go on
 * @context: passed to it
 *
 * Returns what @take returned, 0 at the end of the trace, or -EIO. Reads at most about 1/256 of the
 * trace before the first.
 */
int kl_timeline_index_read(struct kl_timeline_index *index, uint64_t number,
			   int (*take)(void *context, const struct kl_event *event,
				       uint64_t number),
			   void *context);

/**
 * kl_timeline_index_number - find a record by time
 * @index: index
 * @ns: since the first event
 *
 * Returns the number of the first record at or after a time; that of all records that have been
 * read if there is none; or -EIO.
 */
int64_t kl_timeline_index_number(struct kl_timeline_index *index, uint64_t ns);

/* What a page requests is appended to @to: JSON. Functions return 0 or a negative errno. */

/**
 * kl_timeline_index_about - describe the trace, before anything of it has been read
 * @index: index
 * @title: of the page
 * @to: the members of struct kl_timeline_progress and of the trace, and how many records each CPU
 *      has in each 512th of the time, according to the manifest
 */
int kl_timeline_index_about(const struct kl_timeline_index *index, const char *title,
			    struct kl_buffer *to);

/**
 * kl_timeline_index_state - how much has been read
 * @index: index
 * @to: the members of struct kl_timeline_progress
 */
int kl_timeline_index_state(const struct kl_timeline_index *index, struct kl_buffer *to);

/**
 * kl_timeline_index_records - records with their fields
 * @index: index
 * @number: of the first
 * @n: how many at most
 * @to: an array of [time, CPU, thread ID, process ID, command name, event, fields]
 */
int kl_timeline_index_records(struct kl_timeline_index *index, uint64_t number, uint64_t n,
			      struct kl_buffer *to);

/**
 * kl_timeline_index_search - find records
 * @index: index
 * @text: what to look for: an event, an expression on fields, a filter as after -e, or a text that
 *        a record contains
 * @from: number of the first record that is looked at
 * @n: how many to find, at most
 * @ms: look for about so long at most
 * @to: {"found": [[number, time, CPU, ...]], "next": number}; records as in
 *      kl_timeline_index_records(), `next` is where to look further; null: nowhere
 */
int kl_timeline_index_search(struct kl_timeline_index *index, const char *text, uint64_t from,
			     uint64_t n, unsigned int ms, struct kl_buffer *to);

/**
 * kl_timeline_index_search_back - find the last record before another one
 * @index: index
 * @text: what to look for
 * @before: number of a record; those before it are looked at
 * @to: as for kl_timeline_index_search(); `next` is another @before
 */
int kl_timeline_index_search_back(struct kl_timeline_index *index, const char *text,
				  uint64_t before, struct kl_buffer *to);

/**
 * kl_timeline_index_count - count what would be found
 * @index: index
 * @text: what to look for
 * @from: number of the first record that is looked at
 * @ms: look for about so long at most
 * @step_ns: of those that are closer together, only the time of one is given
 * @to: {"n": how many, "times": [...], "next": number or null}
 */
int kl_timeline_index_count(struct kl_timeline_index *index, const char *text, uint64_t from,
			    unsigned int ms, uint64_t step_ns, struct kl_buffer *to);

/**
 * kl_timeline_index_why - explain a wait, as kl_why_explain() does
 * @index: index
 * @tid: thread
 * @from_ns: begin of the time to explain, since the first event
 * @to_ns: its end
 * @to: {"complete": whether all of the trace before it was read, "interrupts": as
 *      kl_why_knows_interrupts(), "node": {...}}; see docs/format/timeline.md
 *
 * Reads 1.5 million records, or 1/256 of the trace more. What was earlier is then unknown.
 */
int kl_timeline_index_why(struct kl_timeline_index *index, int32_t tid, uint64_t from_ns,
			  uint64_t to_ns, struct kl_buffer *to);

#endif /* KERNLENS_TIMELINE_INDEX_H */
