/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports over a sequence of items. Pass every item in order to the report's kl_*_add() function,
 * including losses: events that would be paired across a loss are dropped and counted rather than
 * guessed.
 */
#ifndef KERNLENS_ANALYSIS_H
#define KERNLENS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/trace.h>

struct kl_syscall_report;
struct kl_sleep_report;
struct kl_count_report;

/**
 * struct kl_syscall_row - one system call of one process
 * @pid: process
 * @comm: its most recent name
 * @number: of the system call
 * @name: of the system call
 * @calls: completed calls
 * @errors: calls that returned -1..-4095
 * @unfinished: entries without an exit in the trace
 * @unpaired: exits without an entry in the trace
 * @total_ns: time in completed calls
 * @max_ns: longest call; the mean is total_ns / calls
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
 * kl_syscall_report_create - create an empty report
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
 * kl_syscall_report_add - add an item
 * @report: report
 * @item: any; only system calls and losses have an effect
 *
 * Returns 0 or -ENOMEM.
 */
int kl_syscall_report_add(struct kl_syscall_report *report, const struct kl_item *item);

/**
 * kl_syscall_report_rows - the result so far, longest total first
 * @report: report; further additions do not change the rows until the next call
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report, or NULL with errno ENOMEM.
 */
const struct kl_syscall_row *kl_syscall_report_rows(struct kl_syscall_report *report,
						    size_t *count);

/**
 * struct kl_sleep_row - the time that one task spent off the CPU
 * @tid: thread
 * @comm: its most recent name
 * @sleeps: number of times it slept and ran again
 * @sleep_ns: time from being switched out to being woken
 * @sleep_max_ns: longest of these
 * @runnable_ns: time ready to run, but waiting for a CPU
 * @runnable_max_ns: longest of these
 * @run_ns: time on a CPU
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
 * kl_sleep_report_create - create an empty report
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_sleep_report *kl_sleep_report_create(void);

/**
 * kl_sleep_report_set_partial - the trace does not have all events of all tasks
 * @report: empty report
 *
 * The session followed some tasks, and recorded those events of others that are also about a task
 * that it followed. Such others get no row. Call it if the trace's scope is not "all".
 */
void kl_sleep_report_set_partial(struct kl_sleep_report *report);

/**
 * kl_sleep_report_omitted - number of tasks without a row because the session did not follow them
 * @report: report
 */
size_t kl_sleep_report_omitted(const struct kl_sleep_report *report);

/**
 * kl_sleep_report_destroy - free
 * @report: or NULL
 */
void kl_sleep_report_destroy(struct kl_sleep_report *report);

/**
 * kl_sleep_report_add - add an item
 * @report: report
 * @item: any; only sched_switch, sched_wakeup, sched_waking, sched_wakeup_new and losses have an
 *        effect
 *
 * If the trace has no wakeups, all time off the CPU after a sleep counts as sleeping. Returns 0
 * or -ENOMEM.
 */
int kl_sleep_report_add(struct kl_sleep_report *report, const struct kl_item *item);

/**
 * kl_sleep_report_rows - the result so far, longest sleep first
 * @report: report
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report, or NULL with errno ENOMEM.
 */
const struct kl_sleep_row *kl_sleep_report_rows(struct kl_sleep_report *report, size_t *count);

/**
 * struct kl_count_row - how often an event occurs in the trace
 * @event_class: event
 * @count: number of occurrences
 * @first_ns: wall time of the first, in ns since 1970
 * @last_ns: wall time of the last
 */
struct kl_count_row {
	const struct kl_class *event_class;
	uint64_t count;
	uint64_t first_ns;
	uint64_t last_ns;
};

/**
 * kl_count_report_create - create an empty report
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
 * kl_count_report_add - add an item
 * @report: report
 * @item: any
 */
void kl_count_report_add(struct kl_count_report *report, const struct kl_item *item);

/**
 * kl_count_report_rows - the result so far, most frequent first
 * @report: report
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report.
 */
const struct kl_count_row *kl_count_report_rows(struct kl_count_report *report, size_t *count);

#endif /* KERNLENS_ANALYSIS_H */
