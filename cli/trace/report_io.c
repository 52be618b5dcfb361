// SPDX-License-Identifier: GPL-2.0
/* kernlens report io: how long requests of block devices take, and how large they are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "analysis.h"

static const struct cli_column device_columns[] = {
	{ "device", "device", CLI_CELL_TEXT },
	{ NULL, "dev", CLI_CELL_TEXT },
	{ "operation", "op", CLI_CELL_TEXT },
	{ "requests", "requests", CLI_CELL_COUNT },
	{ "size", "bytes", CLI_CELL_BYTES },
	{ "errors", "errors", CLI_CELL_COUNT },
	{ "at once", "most_in_flight", CLI_CELL_COUNT },
	{ NULL, "total_ns", CLI_CELL_NS },
	{ "mean", "mean_ns", CLI_CELL_NS },
	{ "50%", "p50_ns", CLI_CELL_NS },
	{ "99%", "p99_ns", CLI_CELL_NS },
	{ "worst", "max_ns", CLI_CELL_NS },
	{ "queued", "queued", CLI_CELL_COUNT },
	{ NULL, "queue_ns", CLI_CELL_NS },
	{ "mean", "queue_mean_ns", CLI_CELL_NS },
	{ "worst", "queue_max_ns", CLI_CELL_NS },
};

static const struct cli_column process_columns[] = {
	{ "pid", "pid", CLI_CELL_ID },
	{ "process", "comm", CLI_CELL_TEXT },
	{ "requests", "requests", CLI_CELL_COUNT },
	{ "size", "bytes", CLI_CELL_BYTES },
	{ "errors", "errors", CLI_CELL_COUNT },
	{ "total", "total_ns", CLI_CELL_NS },
	{ "mean", "mean_ns", CLI_CELL_NS },
	{ "50%", "p50_ns", CLI_CELL_NS },
	{ "99%", "p99_ns", CLI_CELL_NS },
	{ "worst", "max_ns", CLI_CELL_NS },
	{ NULL, "queue_ns", CLI_CELL_NS },
};

static const struct cli_column worst_columns[] = {
	{ "took", "latency_ns", CLI_CELL_NS }, { "until", "end_ns", CLI_CELL_TIME },
	{ "CPU", "cpu", CLI_CELL_ID },	       { "device", "device", CLI_CELL_TEXT },
	{ "operation", "op", CLI_CELL_TEXT },  { "sector", "sector", CLI_CELL_ID },
	{ "size", "bytes", CLI_CELL_BYTES },   { "for", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },	       { NULL, "comm", CLI_CELL_TEXT },
};

/* Name of a device: "vda", or "254:0". To be freed. */
static char *device_name(const struct cli_analysis *a, uint32_t dev, bool number)
{
	struct kl_buffer text = {};
	char *name;

	kl_print_meaning(&text, KL_FORMAT_dev, dev);
	kl_buffer_add_char(&text, 0);
	if (text.error)
		abort();
	if (number)
		return text.data;
	name = cli_disk_name(text.data, kl_trace_about(a->trace)->boot_id);
	kl_buffer_deinit(&text);
	return name;
}

static void add_device_name(struct cli_analysis *a, struct cli_rows *rows, uint32_t dev,
			    bool number)
{
	char *name = device_name(a, dev, number);

	cli_rows_add_text(rows, name);
	free(name);
}

static void add_device(struct cli_analysis *a, struct cli_rows *rows, const struct kl_io_row *row)
{
	add_device_name(a, rows, row->dev, false);
	add_device_name(a, rows, row->dev, true);
	cli_rows_add_text(rows, kl_io_op_name(row->op));
	cli_rows_add_number(rows, row->latency.n);
	cli_rows_add_number(rows, row->bytes);
	cli_rows_add_number(rows, row->errors);
	cli_rows_add_number(rows, row->most);
	cli_rows_add_number(rows, row->latency.sum);
	cli_rows_add_spread(rows, &row->latency);
	cli_rows_add_number(rows, row->queue.n);
	cli_rows_add_number(rows, row->queue.sum);
	cli_rows_add_optional(rows, row->queue.n, kl_histogram_mean(&row->queue));
	cli_rows_add_optional(rows, row->queue.n, row->queue.most);
}

static void add_process(struct cli_rows *rows, const struct kl_io_row *row)
{
	cli_rows_add_number(rows, (uint64_t)row->task.pid);
	cli_rows_add_text(rows, row->task.pid ? row->task.comm : "(idle)");
	cli_rows_add_number(rows, row->latency.n);
	cli_rows_add_number(rows, row->bytes);
	cli_rows_add_number(rows, row->errors);
	cli_rows_add_number(rows, row->latency.sum);
	cli_rows_add_spread(rows, &row->latency);
	cli_rows_add_number(rows, row->queue.sum);
}

static void add_worst(struct cli_analysis *a, struct cli_rows *rows,
		      const struct kl_worst_case *worst)
{
	cli_rows_add_number(rows, worst->ns);
	cli_rows_add_number(rows, worst->end_ns);
	cli_rows_add_number(rows, worst->cpu);
	add_device_name(a, rows, (uint32_t)worst->detail[0], false);
	cli_rows_add_text(rows, kl_io_op_name((enum kl_io_op)worst->what));
	cli_rows_add_number(rows, worst->detail[1]);
	cli_rows_add_number(rows, worst->detail[2]);
	cli_rows_add_task(rows, &worst->task, "(idle)");
}

static void summarize(struct cli_analysis *a, const struct kl_io_totals *totals)
{
	char count[CLI_NUMBER_MAX], bytes[CLI_NUMBER_MAX];

	kl_buffer_printf(&a->summary, "%s request%s, %s", cli_print_count(count, totals->latency.n),
			 totals->latency.n == 1 ? "" : "s",
			 cli_print_bytes(bytes, totals->sizes.sum));
	if (totals->latency.n) {
		kl_buffer_add_string(&a->summary, ", from issue to completion: ");
		cli_analysis_print_spread(a, &totals->latency);
	}
	kl_buffer_add_char(&a->summary, '\n');
	cli_analysis_print_if(a, totals->requeued, "returned to their queue");
	cli_analysis_print_if(a, totals->unfinished,
			      "issued, but their completion is not in the trace");
	cli_analysis_print_if(a, totals->unpaired,
			      "completed, but their issue is not in the trace");
	if (a->partial)
		kl_buffer_add_string(&a->summary, "The session did not record all tasks: what "
						  "completed while others ran is missing\n");
	cli_analysis_print_gaps(a, 0, totals->dropped, totals->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_io_totals *totals = kl_io_report_totals(report);
	const struct kl_io_row *row;
	struct cli_rows *rows;
	size_t n;

	summarize(a, totals);
	row = kl_io_report_devices(report, &n);
	rows = cli_analysis_section(a, "devices", device_columns, CLI_COUNT(device_columns),
				    "Devices");
	for (size_t i = 0; i < n; i++)
		if (row[i].latency.n)
			add_device(a, rows, &row[i]);
	row = kl_io_report_processes(report, &n);
	rows = cli_analysis_section(a, "processes", process_columns, CLI_COUNT(process_columns),
				    "Processes, by total time of their requests");
	for (size_t i = 0; i < n; i++)
		add_process(rows, &row[i]);
	rows = cli_analysis_section(a, "worst", worst_columns, CLI_COUNT(worst_columns),
				    "Longest requests");
	for (size_t i = 0; i < totals->worst.n; i++)
		add_worst(a, rows, &totals->worst.one[i]);
	cli_analysis_histogram(a, "latency", cli_analysis_times, &totals->latency, NULL,
			       "Requests, by time from issue to completion");
	cli_analysis_histogram(a, "sizes", cli_analysis_sizes, &totals->sizes, NULL,
			       "Requests, by size");
	a->json = json_pack("{s:I, s:I, s:I, s:I, s:I}", "requeued", (json_int_t)totals->requeued,
			    "unfinished", (json_int_t)totals->unfinished, "unpaired",
			    (json_int_t)totals->unpaired, "dropped", (json_int_t)totals->dropped,
			    "gaps", (json_int_t)totals->gaps);
	return CLI_OK;
}

CLI_ANALYSIS_FUNCTIONS(io)

static void *create(const struct cli_analysis *a)
{
	return kl_io_report_create(kl_trace_schema(a->trace), (int32_t)a->pid);
}

const struct cli_analysis_ops cli_analysis_io = {
	.name = "io",
	.events =
		"block_rq_insert,block_rq_issue,block_rq_complete,block_rq_requeue,block_rq_merge",
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
