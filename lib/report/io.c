// SPDX-License-Identifier: GPL-2.0
/* Times and sizes of requests of block devices, by device and process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/io_report.h>
#include "../base/base.h"
#include "events.h"
#include "requests.h"

#define NS_PER_US 1000

enum {
	ISSUE,
	COMPLETE,
	INSERT,
	REQUEUE,
	MERGE,
	EVENTS,
};

/* Of all events; those of a completion have an error instead of a size. */
enum {
	DEV,
	SECTOR,
	SECTORS,
	RWBS,
	BYTES,
	FAILED = BYTES,
};

static const struct kl_report_event used[] = {
	[ISSUE] = { "block_rq_issue", true, { "dev", "sector", "nr_sector", "rwbs", "bytes" } },
	[COMPLETE] = { "block_rq_complete",
		       true,
		       { "dev", "sector", "nr_sector", "rwbs", "error" } },
	[INSERT] = { "block_rq_insert", false, { "dev", "sector" } },
	[REQUEUE] = { "block_rq_requeue", false, { "dev", "sector" } },
	[MERGE] = { "block_rq_merge", false, { "dev", "sector" } },
};

/* Key: device and operation, or process, plus 1. @number: of its row */
struct row_of {
	uint64_t key;
	size_t number;
};

struct rows {
	struct kl_hash by_key;
	struct kl_io_row *row;
	size_t n;
	size_t room;
	size_t most;
};

struct kl_io_report {
	struct kl_report_events events;
	struct kl_requests requests;
	struct rows devices;
	struct rows processes;
	struct kl_hash in_flight; /* by device + 1: how many requests */
	struct kl_io_totals totals;
	int32_t pid;
};

/* @n: requests of the device that have been issued, and not completed */
struct in_flight {
	uint64_t key;
	uint64_t n;
};

const char *kl_io_op_name(enum kl_io_op op)
{
	static const char *const names[] = { "read", "write", "discard", "flush", "other" };

	return op < KL_IO_OPS ? names[op] : "other";
}

/* ---------------------------------------------------------------------- rows */

/* Sets *@row to that of a key, or to NULL if there are too many. Returns 0 or -ENOMEM. */
static int get_row(struct rows *rows, uint64_t key, struct kl_io_row **row)
{
	struct row_of *entry = kl_hash_find(&rows->by_key, key);
	struct kl_io_row *grown;

	*row = entry ? &rows->row[entry->number] : NULL;
	if (entry || rows->n >= rows->most)
		return 0;
	grown = kl_array_grow(rows->row, rows->n, &rows->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	rows->row = grown;
	entry = kl_hash_get(&rows->by_key, key);
	if (!entry)
		return -ENOMEM;
	*row = &grown[rows->n];
	memset(*row, 0, sizeof(**row));
	kl_histogram_init(&(*row)->latency, NS_PER_US);
	kl_histogram_init(&(*row)->queue, NS_PER_US);
	kl_histogram_init(&(*row)->sizes, 1024);
	entry->number = rows->n++;
	return 0;
}

static void init_rows(struct rows *rows, size_t most)
{
	rows->by_key.size = sizeof(struct row_of);
	rows->most = most;
}

static void deinit_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		kl_histogram_deinit(&rows->row[i].latency);
		kl_histogram_deinit(&rows->row[i].queue);
		kl_histogram_deinit(&rows->row[i].sizes);
	}
	free(rows->row);
	kl_hash_deinit(&rows->by_key);
}

/* ------------------------------------------------------------------ requests */

static enum kl_io_op op_of(uint32_t rwbs)
{
	/* A write may also flush, before or after it. */
	return rwbs & KL_RWBS_DISCARD ? KL_IO_DISCARD :
	       rwbs & KL_RWBS_READ    ? KL_IO_READ :
	       rwbs & KL_RWBS_WRITE   ? KL_IO_WRITE :
	       rwbs & KL_RWBS_FLUSH   ? KL_IO_FLUSH :
					KL_IO_OTHER;
}

static uint64_t device_key(const struct kl_request *request)
{
	return ((uint64_t)request->dev << 3 | op_of(request->rwbs)) + 1;
}

/* Returns how many requests of a device are in flight with this one, or 0: out of memory. */
static uint64_t enter_flight(struct kl_io_report *report, uint32_t dev)
{
	struct in_flight *entry = kl_hash_get(&report->in_flight, (uint64_t)dev + 1);

	return entry ? ++entry->n : 0;
}

static void leave_flight(struct kl_io_report *report, uint32_t dev)
{
	struct in_flight *entry = kl_hash_find(&report->in_flight, (uint64_t)dev + 1);

	if (entry && entry->n)
		entry->n--;
}

static int issue(struct kl_io_report *report, const struct kl_event *event, uint32_t dev,
		 uint64_t sector)
{
	const uint64_t before = report->requests.unfinished;
	struct kl_request *request;
	struct kl_io_row *row;
	uint64_t n;
	int error = kl_requests_issue(&report->requests, event, dev, sector, &request);

	if (error || !request)
		return error;
	request->rwbs = (uint32_t)kl_report_number(&report->events, event, ISSUE, RWBS);
	request->bytes = (uint32_t)kl_report_number(&report->events, event, ISSUE, BYTES);
	request->left = (uint32_t)kl_report_number(&report->events, event, ISSUE, SECTORS);
	if (report->requests.unfinished != before)
		leave_flight(report, dev);
	error = get_row(&report->devices, device_key(request), &row);
	if (error || !row)
		return error;
	n = enter_flight(report, dev);
	row->most = n > row->most ? n : row->most;
	row->dev = dev;
	row->op = op_of(request->rwbs);
	return n ? 0 : -ENOMEM;
}

static int add_to(struct kl_io_report *report, struct rows *rows, uint64_t key,
		  const struct kl_request *request, uint64_t ns, bool failed,
		  struct kl_io_row **row)
{
	int error = get_row(rows, key, row);

	if (error)
		return error;
	if (!*row) {
		report->totals.dropped++;
		return 0;
	}
	(*row)->bytes += request->bytes;
	(*row)->errors += failed;
	error = kl_histogram_add(&(*row)->latency, ns);
	if (!error && request->insert_ns)
		error = kl_histogram_add(&(*row)->queue,
					 request->issue_ns > request->insert_ns ?
						 request->issue_ns - request->insert_ns :
						 0);
	return error;
}

static void add_worst(struct kl_io_report *report, const struct kl_event *event,
		      const struct kl_request *request, uint64_t ns)
{
	struct kl_worst_case *worst = kl_worst_place(&report->totals.worst, ns);

	if (!worst)
		return;
	worst->end_ns = event->ns;
	worst->cpu = event->cpu;
	worst->task = request->task;
	worst->what = op_of(request->rwbs);
	worst->detail[0] = request->dev;
	/* Those that complete in parts have their last part's. */
	worst->detail[1] = request->sector;
	worst->detail[2] = request->bytes;
}

static int complete(struct kl_io_report *report, const struct kl_event *event, uint32_t dev,
		    uint64_t sector)
{
	const uint64_t sectors =
		(uint32_t)kl_report_number(&report->events, event, COMPLETE, SECTORS);
	const bool failed = (int32_t)kl_report_number(&report->events, event, COMPLETE, FAILED);
	struct kl_request request;
	struct kl_io_row *row;
	uint64_t ns;
	int error;

	if (!kl_requests_complete(&report->requests, dev, sector, sectors, &request))
		return 0;
	leave_flight(report, dev);
	if (report->pid && request.task.pid != report->pid && request.task.tid != report->pid)
		return 0;
	ns = event->ns > request.issue_ns ? event->ns - request.issue_ns : 0;
	error = add_to(report, &report->devices, device_key(&request), &request, ns, failed, &row);
	if (!error && row && request.bytes)
		error = kl_histogram_add(&row->sizes, request.bytes);
	error = error ?:
			add_to(report, &report->processes, (uint64_t)(uint32_t)request.task.pid + 1,
			       &request, ns, failed, &row);
	if (!error && row)
		row->task = request.task;
	error = error ?: kl_histogram_add(&report->totals.latency, ns);
	if (!error && request.bytes)
		error = kl_histogram_add(&report->totals.sizes, request.bytes);
	add_worst(report, event, &request, ns);
	return error;
}

/* ----------------------------------------------------------------- interface */

struct kl_io_report *kl_io_report_create(const struct kl_schema *schema, int32_t pid)
{
	struct kl_io_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_report_events_init(&report->events, schema, used, EVENTS);
	init_rows(&report->devices, KL_IO_DEVICES_MAX);
	init_rows(&report->processes, KL_IO_PROCESSES_MAX);
	report->in_flight.size = sizeof(struct in_flight);
	kl_histogram_init(&report->totals.latency, NS_PER_US);
	kl_histogram_init(&report->totals.sizes, 1024);
	report->pid = pid;
	return report;
}

void kl_io_report_destroy(struct kl_io_report *report)
{
	if (!report)
		return;
	kl_requests_deinit(&report->requests);
	deinit_rows(&report->devices);
	deinit_rows(&report->processes);
	kl_hash_deinit(&report->in_flight);
	kl_histogram_deinit(&report->totals.latency);
	kl_histogram_deinit(&report->totals.sizes);
	free(report);
}

int kl_io_report_add(struct kl_io_report *report, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	uint64_t sector;
	uint32_t dev;
	int which;

	if (item->kind == KL_ITEM_LOSS) {
		if (item->loss->kind == KL_LOSS_UNSEEN)
			return 0;
		report->totals.gaps++;
		kl_requests_clear(&report->requests);
		kl_hash_deinit(&report->in_flight);
		return 0;
	}
	which = kl_report_event_of(&report->events, event);
	if (which < 0)
		return 0;
	dev = (uint32_t)kl_report_number(&report->events, event, which, DEV);
	sector = kl_report_number(&report->events, event, which, SECTOR);
	switch (which) {
	case ISSUE:
		return issue(report, event, dev, sector);
	case COMPLETE:
		return complete(report, event, dev, sector);
	case INSERT:
		return kl_requests_insert(&report->requests, event, dev, sector);
	}
	report->totals.requeued += which == REQUEUE;
	if (kl_requests_remove(&report->requests, dev, sector))
		leave_flight(report, dev);
	return 0;
}

static int compare_devices(const void *a, const void *b)
{
	const struct kl_io_row *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (int)x->op - (int)y->op;
}

static int compare_processes(const void *a, const void *b)
{
	const struct kl_io_row *x = a, *y = b;

	if (x->latency.sum != y->latency.sum)
		return x->latency.sum < y->latency.sum ? 1 : -1;
	return x->task.pid < y->task.pid ? -1 : x->task.pid > y->task.pid;
}

static const struct kl_io_row *sort(struct rows *rows, size_t *count,
				    int (*compare)(const void *a, const void *b))
{
	*count = rows->n;
	if (!rows->n)
		return NULL;
	qsort(rows->row, rows->n, sizeof(*rows->row), compare);
	/* The numbers are no longer those of the rows. */
	kl_hash_deinit(&rows->by_key);
	return rows->row;
}

const struct kl_io_row *kl_io_report_devices(struct kl_io_report *report, size_t *count)
{
	return sort(&report->devices, count, compare_devices);
}

const struct kl_io_row *kl_io_report_processes(struct kl_io_report *report, size_t *count)
{
	return sort(&report->processes, count, compare_processes);
}

const struct kl_io_totals *kl_io_report_totals(struct kl_io_report *report)
{
	const struct kl_request *request = NULL;
	struct kl_io_totals *totals = &report->totals;

	totals->unfinished = report->requests.unfinished;
	totals->unpaired = report->requests.unpaired;
	while ((request = kl_hash_next(&report->requests.by_place, request)))
		totals->unfinished += !!request->issue_ns;
	totals->dropped += report->requests.dropped;
	report->requests.dropped = 0;
	return totals;
}

void kl_io_report_missing(const struct kl_io_report *report, struct kl_buffer *names)
{
	kl_report_missing(&report->events, false, names);
}
