// SPDX-License-Identifier: GPL-2.0
/* Counts how often each event occurs in a trace. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/abi.h>
#include <kernlens/analysis.h>
#include "../base/base.h"

struct kl_count_report {
	struct kl_count_row counts[KL_EV_IDS]; /* by id */
	struct kl_count_row rows[KL_EV_IDS];
};

struct kl_count_report *kl_count_report_create(void)
{
	struct kl_count_report *report = calloc(1, sizeof(*report));

	if (!report)
		kl_fail(ENOMEM, "out of memory");
	return report;
}

void kl_count_report_destroy(struct kl_count_report *report)
{
	free(report);
}

void kl_count_report_add(struct kl_count_report *report, const struct kl_item *item)
{
	struct kl_count_row *row;

	if (item->kind != KL_ITEM_EVENT)
		return;
	row = &report->counts[item->event->id];
	if (!row->count++) {
		row->event_class = item->event->event_class;
		row->first_ns = item->event->ns;
	}
	row->last_ns = item->event->ns;
}

static int compare_rows(const void *a, const void *b)
{
	const struct kl_count_row *first = a, *second = b;

	if (first->count != second->count)
		return first->count < second->count ? 1 : -1;
	return (int)first->event_class->id - second->event_class->id;
}

const struct kl_count_row *kl_count_report_rows(struct kl_count_report *report, size_t *count)
{
	size_t n = 0;

	for (unsigned int id = 0; id < KL_EV_IDS; id++)
		if (report->counts[id].count)
			report->rows[n++] = report->counts[id];
	qsort(report->rows, n, sizeof(report->rows[0]), compare_rows);
	*count = n;
	return report->rows;
}
