/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long requests of block devices take and how large they are, by device and process: what
 * biolatency, biosnoop and iostat show.
 */
#ifndef KERNLENS_IO_REPORT_H
#define KERNLENS_IO_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/histogram.h>
#include <kernlens/trace.h>

/* Devices, each with its operations, and processes that have rows of their own. */
#define KL_IO_DEVICES_MAX 1024
#define KL_IO_PROCESSES_MAX 4096

enum kl_io_op {
	KL_IO_READ,
	KL_IO_WRITE,
	KL_IO_DISCARD,
	KL_IO_FLUSH,
	KL_IO_OTHER, /* commands of a driver */
	KL_IO_OPS,
};

/**
 * struct kl_io_row - requests of a device and operation, or of a process
 * @dev: the device, as its events have it; 0: of a process
 * @op: what they do; of a process: 0
 * @task: the process; tid 0: of a device
 * @bytes: their sizes together
 * @errors: how many of them failed
 * @latency: times from issue to completion
 * @queue: times from insertion to issue, of those that were inserted
 * @sizes: their sizes; of a process: empty
 * @most: the most that were issued at once; of a process: 0
 */
struct kl_io_row {
	uint32_t dev;
	enum kl_io_op op;
	struct kl_task task;
	uint64_t bytes;
	uint64_t errors;
	struct kl_histogram latency;
	struct kl_histogram queue;
	struct kl_histogram sizes;
	uint64_t most;
};

/**
 * struct kl_io_totals - all requests
 * @latency: times from issue to completion
 * @sizes: sizes of those that have one
 * @worst: those that took longest; @task is who asked for it, @what the operation, @detail the
 *         device, the sector and the bytes
 * @requeued: how often one was returned to its queue
 * @unfinished: issued, but their completion is not in the trace
 * @unpaired: completions without an issue
 * @dropped: requests for which a table had no room
 * @gaps: how often records were missing; requests in progress there are not counted
 */
struct kl_io_totals {
	struct kl_histogram latency;
	struct kl_histogram sizes;
	struct kl_worst worst;
	uint64_t requeued;
	uint64_t unfinished;
	uint64_t unpaired;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_io_report;

/**
 * kl_io_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @pid: only requests of this process or thread; 0: all
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_io_report *kl_io_report_create(const struct kl_schema *schema, int32_t pid);

/**
 * kl_io_report_destroy - free
 * @report: or NULL
 */
void kl_io_report_destroy(struct kl_io_report *report);

/**
 * kl_io_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_io_report_add(struct kl_io_report *report, const struct kl_item *item);

/**
 * kl_io_report_devices - rows by device and operation, by device
 * @report: report
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report.
 */
const struct kl_io_row *kl_io_report_devices(struct kl_io_report *report, size_t *count);

/**
 * kl_io_report_processes - rows by process, the longest time first
 * @report: report
 * @count: out: number of rows
 *
 * The same. A request belongs to the process that inserts it or, if it is not queued, issues it.
 */
const struct kl_io_row *kl_io_report_processes(struct kl_io_report *report, size_t *count);

/**
 * kl_io_report_totals - all requests
 * @report: report
 */
const struct kl_io_totals *kl_io_report_totals(struct kl_io_report *report);

/**
 * kl_io_report_missing - append the names of the needed events that have not occurred
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_io_report_missing(const struct kl_io_report *report, struct kl_buffer *names);

/**
 * kl_io_op_name - "read" ...
 * @op: operation
 */
const char *kl_io_op_name(enum kl_io_op op);

#endif /* KERNLENS_IO_REPORT_H */
