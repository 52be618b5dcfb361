/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which code makes processes grow: the stack traces of page faults that brought pages, of the
 * system calls that gave them back, and what is still there at the end of a trace, with its age.
 * From the page faults and the system calls mmap, munmap, mremap, madvise and brk, with stack
 * traces, and the variable rss.
 */
#ifndef KERNLENS_GROWTH_H
#define KERNLENS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/trace.h>

struct kl_growth;

/* What rows are grouped by. */
enum kl_growth_key {
	KL_GROWTH_BY_STACK,
	KL_GROWTH_BY_FUNCTION, /* that calls the allocator */
	KL_GROWTH_BY_PROCESS,
	KL_GROWTH_KEYS,
};

/* Number of intervals that the time of a trace is divided into. */
#define KL_GROWTH_INTERVALS 64

/**
 * struct kl_growth_times - pages by interval
 * @touched: those that came in it
 * @freed: those that were given back in it, whenever they came
 * @kept: those that came in it and were still there when the trace or the process ended
 */
struct kl_growth_times {
	uint32_t touched[KL_GROWTH_INTERVALS];
	uint32_t freed[KL_GROWTH_INTERVALS];
	uint32_t kept[KL_GROWTH_INTERVALS];
};

/**
 * struct kl_growth_row - pages that the same code has touched first, or given back
 * @stack: ID of the user stack trace, KL_GROWTH_BY_STACK; 0: none
 * @function: the function, KL_GROWTH_BY_FUNCTION, or that of @stack; "unknown"
 * @object: path of its program or library, or NULL
 * @pid: process; 0: several
 * @comm: its name; empty: several
 * @events: page faults, or system calls
 * @touched: bytes that these faults brought into RAM
 * @freed: bytes of these that were given back; or, in a row of calls, that these calls gave back
 * @kept: bytes of these that were still there when the trace or the process ended
 * @oldest_ns: the longest time that one of these has been there
 * @age_ns: their mean time
 * @new_events, @new_touched, @new_freed: the parts since kl_growth_mark()
 * @times: when; in a row of calls, only @times.freed
 */
struct kl_growth_row {
	uint32_t stack;
	const char *function;
	const char *object;
	int32_t pid;
	char comm[KL_COMM_LEN + 1];
	uint64_t events;
	uint64_t touched;
	uint64_t freed;
	uint64_t kept;
	uint64_t oldest_ns;
	uint64_t age_ns;
	uint64_t new_events;
	uint64_t new_touched;
	uint64_t new_freed;
	struct kl_growth_times times;
};

/**
 * struct kl_growth_totals - sums of all rows
 * @faults: page faults, including those that brought nothing
 * @calls: system calls that gave pages back
 * @touched, @freed, @kept: as in the rows; the first is the sum of the others
 * @again: the part of @freed that was touched again without having been given back: it was swapped
 *         out or reclaimed
 * @processes: number of processes
 * @gaps: places at which records are missing
 * @sized: the trace has the variable rss; else each fault counts as one page
 */
struct kl_growth_totals {
	uint64_t faults;
	uint64_t calls;
	uint64_t touched;
	uint64_t freed;
	uint64_t kept;
	uint64_t again;
	uint64_t processes;
	uint64_t gaps;
	bool sized;
};

/**
 * kl_growth_create - create an empty report
 * @schema: of the trace; must outlive the report, with its stack traces
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_growth *kl_growth_create(const struct kl_schema *schema);

/**
 * kl_growth_destroy - free a report
 * @growth: or NULL
 */
void kl_growth_destroy(struct kl_growth *growth);

/**
 * kl_growth_add - add an item of the trace
 * @growth: report
 * @item: event or loss
 *
 * Returns 0 or -ENOMEM.
 */
int kl_growth_add(struct kl_growth *growth, const struct kl_item *item);

/**
 * kl_growth_finish - compute what is left at the end of the trace
 * @growth: report; call this once, after the last item
 *
 * Returns 0 or -ENOMEM.
 */
int kl_growth_finish(struct kl_growth *growth);

/**
 * kl_growth_update - compute what is kept now, of a trace that goes on
 * @growth: report; items may be added afterwards
 * @now_ns: wall time, which ages count up to
 *
 * What faults have brought of which the kernel has not counted everything yet is left out until it
 * has. The other functions may then be called as for a report that is finished.
 */
void kl_growth_update(struct kl_growth *growth, uint64_t now_ns);

/**
 * kl_growth_mark - let the new parts of rows count from now
 * @growth: report
 */
void kl_growth_mark(struct kl_growth *growth);

/**
 * kl_growth_totals - the sums
 * @growth: finished
 */
const struct kl_growth_totals *kl_growth_totals(const struct kl_growth *growth);

/**
 * kl_growth_rows - who touched pages, or gave them back
 * @growth: finished
 * @key: what the rows are grouped by
 * @calls: system calls that gave pages back; else page faults
 * @n: set to the number of rows
 *
 * Returns the rows, to be freed, those with most bytes kept or given back first; NULL with errno
 * ENOMEM. Their texts are valid as long as the report.
 */
struct kl_growth_row *kl_growth_rows(const struct kl_growth *growth, enum kl_growth_key key,
				     bool calls, size_t *n);

/**
 * struct kl_growth_history - what came, went and stayed over time, in bytes
 * @begin_ns: time of the first event; the first interval begins there
 * @end_ns: time of the last event
 * @interval_ns: length of an interval, at least 1 ms
 * @n: number of intervals up to @end_ns; 0: no events
 * @touched, @freed, @kept: by interval, as in struct kl_growth_times
 */
struct kl_growth_history {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t interval_ns;
	unsigned int n;
	uint64_t touched[KL_GROWTH_INTERVALS];
	uint64_t freed[KL_GROWTH_INTERVALS];
	uint64_t kept[KL_GROWTH_INTERVALS];
};

/**
 * kl_growth_history - sums over time
 * @growth: finished
 * @history: filled in
 *
 * The sums of each kind are those of kl_growth_totals().
 */
void kl_growth_history(const struct kl_growth *growth, struct kl_growth_history *history);

/**
 * kl_growth_missing - the events without which nothing can be said
 * @growth: all items have been added
 * @names: appended to, separated by commas
 */
void kl_growth_missing(const struct kl_growth *growth, struct kl_buffer *names);

#endif /* KERNLENS_GROWTH_H */
