// SPDX-License-Identifier: GPL-2.0
/* kernlens report mm: page faults, reclaim and compaction, by process. */
#include <errno.h>
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "analysis.h"

static const struct cli_column process_columns[] = {
	{ "pid", "pid", CLI_CELL_ID },
	{ "process", "comm", CLI_CELL_TEXT },
	{ "faults", "faults", CLI_CELL_COUNT },
	{ "in user mode", "user", CLI_CELL_COUNT },
	{ NULL, "kernel", CLI_CELL_COUNT },
	{ "writes", "writes", CLI_CELL_COUNT },
	{ "protection", "protection", CLI_CELL_COUNT },
	{ "minor", "minor", CLI_CELL_COUNT },
	{ "major", "major", CLI_CELL_COUNT },
	{ "reclaims", "reclaims", CLI_CELL_COUNT },
	{ "pages", "reclaimed", CLI_CELL_COUNT },
	{ "for", "reclaim_ns", CLI_CELL_NS },
	{ NULL, "compactions", CLI_CELL_COUNT },
	{ NULL, "compaction_ns", CLI_CELL_NS },
	{ NULL, "throttled", CLI_CELL_COUNT },
	{ "throttled", "throttled_ns", CLI_CELL_NS },
};

static const struct cli_column work_columns[] = {
	{ "work", "work", CLI_CELL_TEXT },    { "times", "count", CLI_CELL_COUNT },
	{ "pages", "pages", CLI_CELL_COUNT }, { "total", "total_ns", CLI_CELL_NS },
	{ "mean", "mean_ns", CLI_CELL_NS },   { "50%", "p50_ns", CLI_CELL_NS },
	{ "99%", "p99_ns", CLI_CELL_NS },     { "worst", "max_ns", CLI_CELL_NS },
};

static const struct cli_column worst_columns[] = {
	{ "took", "ns", CLI_CELL_NS },	      { "until", "end_ns", CLI_CELL_TIME },
	{ "CPU", "cpu", CLI_CELL_ID },	      { "work", "work", CLI_CELL_TEXT },
	{ "pages", "pages", CLI_CELL_COUNT }, { "task", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },	      { NULL, "comm", CLI_CELL_TEXT },
};

static const struct cli_column victim_columns[] = {
	{ "at", "ns", CLI_CELL_TIME },	       { "killed", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },	       { NULL, "comm", CLI_CELL_TEXT },
	{ "memory", "bytes", CLI_CELL_BYTES }, { "for", NULL, CLI_CELL_TEXT },
	{ NULL, "by_tid", CLI_CELL_ID },       { NULL, "by_comm", CLI_CELL_TEXT },
};

static void add_process(struct cli_rows *rows, const struct kl_mm_row *row)
{
	uint64_t n = 0, pages = 0, ns = 0;

	for (unsigned int i = KL_MM_DIRECT; i <= KL_MM_NODE; i++) {
		n += row->n[i];
		pages += row->pages[i];
		ns += row->ns[i];
	}
	cli_rows_add_number(rows, (uint64_t)row->task.pid);
	cli_rows_add_text(rows, row->task.comm);
	cli_rows_add_number(rows, row->user + row->kernel);
	cli_rows_add_number(rows, row->user);
	cli_rows_add_number(rows, row->kernel);
	cli_rows_add_number(rows, row->write);
	cli_rows_add_number(rows, row->protection);
	cli_rows_add_optional(rows, row->counted, row->minor);
	cli_rows_add_optional(rows, row->counted, row->major);
	cli_rows_add_number(rows, n);
	cli_rows_add_number(rows, pages);
	cli_rows_add_number(rows, ns);
	cli_rows_add_number(rows, row->n[KL_MM_COMPACTION]);
	cli_rows_add_number(rows, row->ns[KL_MM_COMPACTION]);
	cli_rows_add_number(rows, row->throttled);
	cli_rows_add_number(rows, row->throttled_ns);
}

static void add_works(struct cli_rows *rows, const struct kl_mm_totals *totals)
{
	for (unsigned int i = 0; i < KL_MM_WORKS; i++) {
		const struct kl_histogram *time = &totals->time[i];

		if (!time->n)
			continue;
		cli_rows_add_text(rows, kl_mm_work_name(i));
		cli_rows_add_number(rows, time->n);
		/* What these two reclaim is not in their events. */
		cli_rows_add_optional(rows, i < KL_MM_COMPACTION, totals->pages[i]);
		cli_rows_add_number(rows, time->sum);
		cli_rows_add_spread(rows, time);
	}
}

static void add_worst(struct cli_rows *rows, const struct kl_worst_case *worst)
{
	cli_rows_add_number(rows, worst->ns);
	cli_rows_add_number(rows, worst->end_ns);
	cli_rows_add_number(rows, worst->cpu);
	cli_rows_add_text(rows, kl_mm_work_name((enum kl_mm_work)worst->what));
	cli_rows_add_optional(rows, worst->what < KL_MM_COMPACTION, worst->detail[0]);
	cli_rows_add_task(rows, &worst->task, "-");
}

static void add_victims(struct cli_rows *rows, const struct kl_mm_totals *totals)
{
	for (uint64_t i = 0; i < totals->victims && i < KL_MM_VICTIMS_MAX; i++) {
		const struct kl_mm_victim *victim = &totals->victim[i];

		cli_rows_add_number(rows, victim->ns);
		cli_rows_add_task(rows, &victim->task, "-");
		cli_rows_add_number(rows, victim->kb * 1024);
		cli_rows_add_task(rows, &victim->by, "-");
	}
}

static void summarize(struct cli_analysis *a, const struct kl_mm_totals *totals, uint64_t faults)
{
	char count[CLI_NUMBER_MAX];

	kl_buffer_printf(&a->summary, "%s page fault%s\n", cli_print_count(count, faults),
			 faults == 1 ? "" : "s");
	cli_analysis_print_if(a, totals->victims, "chosen by the OOM killer");
	cli_analysis_print_if(a, totals->unfinished,
			      "reclaims or compactions have no end in the trace");
	cli_analysis_print_if(a, totals->unpaired, "have no begin in the trace");
	cli_analysis_print_gaps(a, 0, totals->dropped, totals->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_mm_totals *totals = kl_mm_report_totals(report);
	size_t n;
	const struct kl_mm_row *row = kl_mm_report_rows(report, &n);
	struct cli_rows *rows;
	struct kl_histogram all;
	uint64_t faults = 0;
	int error = 0, status;

	for (size_t i = 0; i < n; i++)
		faults += row[i].user + row[i].kernel;
	summarize(a, totals, faults);
	rows = cli_analysis_section(a, "processes", process_columns, CLI_COUNT(process_columns),
				    "Processes, by number of page faults");
	for (size_t i = 0; i < n; i++)
		add_process(rows, &row[i]);
	add_works(cli_analysis_section(a, "works", work_columns, CLI_COUNT(work_columns),
				       "Reclaim and compaction"),
		  totals);
	rows = cli_analysis_section(a, "worst", worst_columns, CLI_COUNT(worst_columns),
				    "Longest reclaims and compactions");
	for (size_t i = 0; i < totals->worst.n; i++)
		add_worst(rows, &totals->worst.one[i]);
	add_victims(cli_analysis_section(a, "victims", victim_columns, CLI_COUNT(victim_columns),
					 "Killed for want of memory"),
		    totals);
	kl_histogram_init(&all, totals->time[0].unit);
	for (unsigned int i = 0; i <= KL_MM_NODE && !error; i++)
		error = kl_histogram_merge(&all, &totals->time[i]);
	cli_analysis_histogram(a, "histogram", cli_analysis_times, &all, NULL,
			       "Reclaims, by time that a task took for them");
	a->json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "faults", (json_int_t)faults,
			    "killed", (json_int_t)totals->victims, "unfinished",
			    (json_int_t)totals->unfinished, "unpaired",
			    (json_int_t)totals->unpaired, "dropped", (json_int_t)totals->dropped,
			    "gaps", (json_int_t)totals->gaps);
	status = error ? cli_library_error(error, NULL) : CLI_OK;
	kl_histogram_deinit(&all);
	return status;
}

CLI_ANALYSIS_FUNCTIONS(mm)

static void *create(const struct cli_analysis *a)
{
	return kl_mm_report_create(kl_trace_schema(a->trace), (int32_t)a->pid);
}

const struct cli_analysis_ops cli_analysis_mm = {
	.name = "mm",
	.events = "'x86_exceptions_page_fault_*,mm_vmscan_*,mm_compaction_*,mark_victim' "
		  "-v min_faults,maj_faults",
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
