/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports over a sequence of items. Each is fed with kl_*_add() for every
 * item, in order, losses included: what is paired across a loss is dropped and
 * counted rather than guessed.
 */
#ifndef KERNLENS_ANALYSIS_H
#define KERNLENS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

struct kl_syscall_report;
struct kl_sleep_report;
struct kl_count_report;
struct kl_strace;

/**
 * struct kl_syscall_row - one process and call
 * @pid: process
 * @comm: its name when last seen
 * @number: of the call
 * @name: of the call
 * @calls: completed
 * @errors: of those, that returned -1..-4095
 * @unfinished: entered, with no exit in the trace
 * @unpaired: exits with no entry in the trace
 * @total_ns: time in completed calls
 * @max_ns: longest; the mean is total_ns / calls
 */
struct kl_syscall_row {
	int32_t pid;
	char comm[KL_COMM_LEN + 1];
	int number;
	const char *name;
	uint64_t calls;
	uint64_t errors;
	uint64_t unfinished;
	uint64_t unpaired;
	uint64_t total_ns;
	uint64_t max_ns;
};

/**
 * kl_syscall_report_create - an empty report
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_syscall_report *kl_syscall_report_create(void);

/**
 * kl_syscall_report_destroy - free
 * @report: or NULL
 */
void kl_syscall_report_destroy(struct kl_syscall_report *report);

/**
 * kl_syscall_report_add - count one item
 * @report: report
 * @item: any; only system calls and losses matter
 *
 * Returns -ENOMEM.
 */
int kl_syscall_report_add(struct kl_syscall_report *report, const struct kl_item *item);

/**
 * kl_syscall_report_rows - the result so far, longest total first
 * @report: no add afterwards changes the rows handed out until the next call
 * @count: number of rows
 *
 * Returns the rows (they belong to the report), or NULL with errno ENOMEM.
 */
const struct kl_syscall_row *kl_syscall_report_rows(struct kl_syscall_report *report,
						    size_t *count);

/**
 * struct kl_sleep_row - one task's time off the CPU
 * @tid: thread
 * @comm: its name when last seen
 * @sleeps: times it slept and was run again
 * @sleep_ns: from being switched out to being woken
 * @sleep_max_ns: longest of those
 * @runnable_ns: ready, but waiting for a CPU
 * @runnable_max_ns: longest of those
 * @run_ns: on a CPU
 * @open: it was off the CPU when the trace ended; that time is not included
 */
struct kl_sleep_row {
	int32_t tid;
	char comm[KL_COMM_LEN + 1];
	uint64_t sleeps;
	uint64_t sleep_ns;
	uint64_t sleep_max_ns;
	uint64_t runnable_ns;
	uint64_t runnable_max_ns;
	uint64_t run_ns;
	bool open;
};

/**
 * kl_sleep_report_create - an empty report
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_sleep_report *kl_sleep_report_create(void);

/**
 * kl_sleep_report_destroy - free
 * @report: or NULL
 */
void kl_sleep_report_destroy(struct kl_sleep_report *report);

/**
 * kl_sleep_report_add - count one item
 * @report: report
 * @item: any; sched_switch, sched_wakeup, sched_waking, sched_wakeup_new and
 *        losses matter
 *
 * Without wakeups in the trace all time off the CPU after a sleep counts as
 * sleeping. Returns -ENOMEM.
 */
int kl_sleep_report_add(struct kl_sleep_report *report, const struct kl_item *item);

/**
 * kl_sleep_report_rows - the result so far, longest sleep first
 * @report: report
 * @count: number of rows
 *
 * Returns the rows (they belong to the report), or NULL with errno ENOMEM.
 */
const struct kl_sleep_row *kl_sleep_report_rows(struct kl_sleep_report *report, size_t *count);

/**
 * struct kl_count_row - how often an event is in the trace
 * @event_class: event
 * @count: times
 * @first_ns: wall time of the first
 * @last_ns: and the last
 */
struct kl_count_row {
	const struct kl_class *event_class;
	uint64_t count;
	uint64_t first_ns;
	uint64_t last_ns;
};

/**
 * kl_count_report_create - an empty report
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_count_report *kl_count_report_create(void);

/**
 * kl_count_report_destroy - free
 * @report: or NULL
 */
void kl_count_report_destroy(struct kl_count_report *report);

/**
 * kl_count_report_add - count one item
 * @report: report
 * @item: any
 */
void kl_count_report_add(struct kl_count_report *report, const struct kl_item *item);

/**
 * kl_count_report_rows - the result so far, most frequent first
 * @report: report
 * @count: number of rows
 *
 * Returns the rows; they belong to the report.
 */
const struct kl_count_row *kl_count_report_rows(struct kl_count_report *report, size_t *count);

#define KL_STRACE_TIMES 0x1u /* the entry's time in front: [seconds.nanoseconds] */
#define KL_STRACE_RELATIVE 0x2u /* that time since the start of the trace, not since 1970 */

/**
 * kl_strace_create - a formatter that prints system calls as strace does
 * @flags: KL_STRACE_*
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_strace *kl_strace_create(unsigned int flags);

/**
 * kl_strace_destroy - free
 * @strace: or NULL
 */
void kl_strace_destroy(struct kl_strace *strace);

/**
 * kl_strace_add - take one item
 * @strace: strace
 * @buffer: lines that are whole now are appended: a call when it has returned,
 *          or "<unfinished ...>" when another task's call comes in between
 * @item: any; only system calls and losses matter
 *
 * Returns -ENOMEM.
 */
int kl_strace_add(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_item *item);

/**
 * kl_strace_finish - print what has not returned when the trace ends
 * @strace: strace
 * @buffer: appended to
 */
void kl_strace_finish(struct kl_strace *strace, struct kl_buffer *buffer);

KL_PUBLIC_END

#endif /* KERNLENS_ANALYSIS_H */
