// SPDX-License-Identifier: GPL-2.0
/* Statistics by process and system call: number, duration, failures. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <kernlens/analysis.h>
#include "../base/base.h"
#include "../base/table.h"

#define ERROR_MAX 4095 /* the kernel's MAX_ERRNO */

/* A thread's current call. Key: tid + 1. */
struct open_call {
	uint64_t key;
	uint64_t since_ns;
	int32_t pid;
	int16_t number;
	bool inside;
};

/* Key: pid << 16 | number + 1. @open: calls in progress when the rows are made. */
struct counted {
	uint64_t key;
	uint64_t open;
	struct kl_syscall_row row;
};

struct kl_syscall_report {
	struct kl_hash calls;
	struct kl_hash counted;
	struct kl_syscall_row *rows;
};

struct kl_syscall_report *kl_syscall_report_create(void)
{
	struct kl_syscall_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	report->calls.size = sizeof(struct open_call);
	report->counted.size = sizeof(struct counted);
	return report;
}

void kl_syscall_report_destroy(struct kl_syscall_report *report)
{
	if (!report)
		return;
	kl_hash_deinit(&report->calls);
	kl_hash_deinit(&report->counted);
	free(report->rows);
	free(report);
}

static struct counted *get_counted(struct kl_syscall_report *report, int32_t pid, int number)
{
	return kl_hash_get(&report->counted, (uint64_t)(uint32_t)pid << 16 | (number + 1));
}

static struct kl_syscall_row *get_row(struct kl_syscall_report *report, int32_t pid, int number)
{
	struct counted *counted = get_counted(report, pid, number);

	if (!counted)
		return NULL;
	counted->row.pid = pid;
	counted->row.number = number;
	return &counted->row;
}

static int count_unfinished(struct kl_syscall_report *report, struct open_call *call)
{
	struct kl_syscall_row *row;

	if (!call->inside)
		return 0;
	row = get_row(report, call->pid, call->number);
	if (!row)
		return -ENOMEM;
	row->unfinished++;
	call->inside = false;
	return 0;
}

static int add_entry(struct kl_syscall_report *report, const struct kl_event *event)
{
	struct open_call *call = kl_hash_get(&report->calls, (uint64_t)event->task.tid + 1);
	struct kl_syscall_row *row;
	uint64_t key;

	if (!call)
		return -ENOMEM;
	key = call->key;
	if (count_unfinished(report, call))
		return -ENOMEM;
	*call = (struct open_call){
		.key = key,
		.since_ns = event->ns,
		.pid = event->task.pid,
		.number = event->event_class->syscall,
		.inside = true,
	};
	row = get_row(report, event->task.pid, event->event_class->syscall);
	if (!row)
		return -ENOMEM;
	row->name = event->event_class->name + strlen("syscall_entry_");
	memcpy(row->comm, event->task.comm, sizeof(row->comm));
	return 0;
}

static int add_exit(struct kl_syscall_report *report, const struct kl_event *event)
{
	struct open_call *call = kl_hash_get(&report->calls, (uint64_t)event->task.tid + 1);
	struct kl_syscall_row *row = get_row(report, event->task.pid, event->event_class->syscall);
	int64_t result = kl_event_value(event, 0).number;
	uint64_t ns;

	if (!call || !row)
		return -ENOMEM;
	row->name = event->event_class->name + strlen("syscall_exit_");
	memcpy(row->comm, event->task.comm, sizeof(row->comm));
	if (!call->inside || call->number != event->event_class->syscall) {
		row->unpaired++;
		return 0;
	}
	call->inside = false;
	ns = event->ns - call->since_ns;
	row->calls++;
	row->errors += result < 0 && result >= -ERROR_MAX;
	row->total_ns += ns;
	if (ns > row->max_ns)
		row->max_ns = ns;
	return 0;
}

/* After lost entries or exits, open calls cannot be paired reliably. */
static int forget_open(struct kl_syscall_report *report)
{
	struct open_call *call = NULL;

	while ((call = kl_hash_next(&report->calls, call)))
		if (count_unfinished(report, call))
			return -ENOMEM;
	return 0;
}

int kl_syscall_report_add(struct kl_syscall_report *report, const struct kl_item *item)
{
	if (item->kind == KL_ITEM_LOSS)
		return forget_open(report);
	if (item->event->event_class->kind == KL_CLASS_SYSCALL_ENTRY)
		return add_entry(report, item->event);
	if (item->event->event_class->kind == KL_CLASS_SYSCALL_EXIT &&
	    item->event->event_class->n_fields)
		return add_exit(report, item->event);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct kl_syscall_row *first = a, *second = b;

	if (first->total_ns != second->total_ns)
		return first->total_ns < second->total_ns ? 1 : -1;
	if (first->pid != second->pid)
		return first->pid < second->pid ? -1 : 1;
	return first->number - second->number;
}

const struct kl_syscall_row *kl_syscall_report_rows(struct kl_syscall_report *report, size_t *count)
{
	size_t n = report->counted.count, at = 0;
	const struct open_call *call = NULL;
	struct counted *counted = NULL;
	struct kl_syscall_row *rows;

	rows = reallocarray(report->rows, n + 1, sizeof(*rows));
	if (!rows) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	report->rows = rows;
	while ((counted = kl_hash_next(&report->counted, counted)))
		counted->open = 0;
	/* Calls still in progress count as unfinished. Each already has its row. */
	while ((call = kl_hash_next(&report->calls, call))) {
		counted = call->inside ? get_counted(report, call->pid, call->number) : NULL;
		if (counted)
			counted->open++;
	}
	counted = NULL;
	while ((counted = kl_hash_next(&report->counted, counted))) {
		rows[at] = counted->row;
		rows[at++].unfinished += counted->open;
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	*count = n;
	return rows;
}
