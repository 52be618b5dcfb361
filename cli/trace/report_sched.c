// SPDX-License-Identifier: GPL-2.0
/* kernlens report sched: how long tasks wait for a CPU. */
#include <errno.h>
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "analysis.h"

static const struct cli_column task_columns[] = {
	{ "tid", "tid", CLI_CELL_ID },		{ NULL, "pid", CLI_CELL_ID },
	{ "task", "comm", CLI_CELL_TEXT },	{ "runs", "runs", CLI_CELL_COUNT },
	{ "running", "run_ns", CLI_CELL_NS },	{ "moves", "migrations", CLI_CELL_COUNT },
	{ "waited", "wait_ns", CLI_CELL_NS },	{ "woken", "wakeups", CLI_CELL_COUNT },
	{ NULL, "wakeup_ns", CLI_CELL_NS },	{ "mean", "mean_ns", CLI_CELL_NS },
	{ "50%", "p50_ns", CLI_CELL_NS },	{ "99%", "p99_ns", CLI_CELL_NS },
	{ "worst", "max_ns", CLI_CELL_NS },	{ "preempted", "preempted", CLI_CELL_COUNT },
	{ "for", "preempted_ns", CLI_CELL_NS }, { "worst", "preempted_max_ns", CLI_CELL_NS },
	{ NULL, "waiting_ns", CLI_CELL_NS },
};

static const struct cli_column worst_columns[] = {
	{ "waited", "wait_ns", CLI_CELL_NS },
	{ "until", "end_ns", CLI_CELL_TIME },
	{ "CPU", "cpu", CLI_CELL_ID },
	{ "task", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },
	{ NULL, "comm", CLI_CELL_TEXT },
	{ "since it was", "since", CLI_CELL_TEXT },
	{ "by", NULL, CLI_CELL_TEXT },
	{ NULL, "waker_tid", CLI_CELL_ID },
	{ NULL, "waker_comm", CLI_CELL_TEXT },
	{ "ran before", NULL, CLI_CELL_TEXT },
	{ NULL, "previous_tid", CLI_CELL_ID },
	{ NULL, "previous_comm", CLI_CELL_TEXT },
};

static const struct cli_column wait_columns[] = {
	{ "from", "from_ns", CLI_CELL_NS },   { "below", "below_ns", CLI_CELL_NS },
	{ "woken", "woken", CLI_CELL_COUNT }, { "preempted", "preempted", CLI_CELL_COUNT },
	{ "", NULL, CLI_CELL_BAR },
};

static void add_task(struct cli_rows *rows, const struct kl_sched_row *row)
{
	cli_rows_add_number(rows, (uint64_t)row->task.tid);
	cli_rows_add_optional(rows, row->task.pid, (uint64_t)row->task.pid);
	cli_rows_add_text(rows, row->task.comm);
	cli_rows_add_number(rows, row->runs);
	cli_rows_add_number(rows, row->run_ns);
	cli_rows_add_number(rows, row->migrations);
	cli_rows_add_number(rows, row->wakeups.sum + row->preempted.sum);
	cli_rows_add_number(rows, row->wakeups.n);
	cli_rows_add_number(rows, row->wakeups.sum);
	cli_rows_add_spread(rows, &row->wakeups);
	cli_rows_add_number(rows, row->preempted.n);
	cli_rows_add_number(rows, row->preempted.sum);
	cli_rows_add_optional(rows, row->preempted.n, row->preempted.most);
	cli_rows_add_optional(rows, row->waiting, row->waiting_ns);
}

static void add_worst(struct cli_rows *rows, const struct kl_worst_case *worst)
{
	cli_rows_add_number(rows, worst->ns);
	cli_rows_add_number(rows, worst->end_ns);
	cli_rows_add_number(rows, worst->cpu);
	cli_rows_add_task(rows, &worst->task, "");
	cli_rows_add_text(rows, kl_run_state_name((enum kl_run_state)worst->what));
	cli_rows_add_task(rows, &worst->by, worst->what == KL_RUN_WOKEN ? "an interrupt" : "-");
	cli_rows_add_task(rows, &worst->other, "(idle)");
}

static void summarize(struct cli_analysis *a, const struct kl_sched_totals *totals)
{
	char count[CLI_NUMBER_MAX], time[CLI_NUMBER_MAX];

	kl_buffer_printf(&a->summary, "%s wakeup%s", cli_print_count(count, totals->wakeups.n),
			 totals->wakeups.n == 1 ? "" : "s");
	if (totals->wakeups.n) {
		kl_buffer_add_string(&a->summary, ", from each to running: ");
		cli_analysis_print_spread(a, &totals->wakeups);
	}
	kl_buffer_printf(&a->summary, "\n%s preemption%s",
			 cli_print_count(count, totals->preempted.n),
			 totals->preempted.n == 1 ? "" : "s");
	if (totals->preempted.n) {
		kl_buffer_add_string(&a->summary, ", from each to running again: ");
		cli_analysis_print_spread(a, &totals->preempted);
	}
	kl_buffer_printf(&a->summary, "\n%s of waiting in %s\n",
			 cli_print_time(count, totals->wakeups.sum + totals->preempted.sum),
			 cli_print_time(time, a->end_ns - a->begin_ns));
	cli_analysis_print_gaps(a, totals->omitted, totals->dropped, totals->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_sched_totals *totals = kl_sched_report_totals(report);
	size_t n;
	const struct kl_sched_row *row = kl_sched_report_rows(report, &n);
	struct cli_rows *rows;

	if (!row)
		return cli_library_error(-ENOMEM, NULL);
	summarize(a, totals);
	rows = cli_analysis_section(a, "tasks", task_columns, CLI_COUNT(task_columns),
				    "Tasks, by time waiting for a CPU");
	for (size_t i = 0; i < n; i++)
		if (row[i].runs || row[i].run_ns || row[i].waiting)
			add_task(rows, &row[i]);
	rows = cli_analysis_section(a, "worst", worst_columns, CLI_COUNT(worst_columns),
				    "Longest waits for a CPU");
	for (size_t i = 0; i < totals->worst.n; i++)
		add_worst(rows, &totals->worst.one[i]);
	cli_analysis_histogram(a, "histogram", wait_columns, &totals->wakeups, &totals->preempted,
			       "Waits for a CPU, by length");
	a->json = json_pack("{s:I, s:I, s:I}", "omitted", (json_int_t)totals->omitted, "dropped",
			    (json_int_t)totals->dropped, "gaps", (json_int_t)totals->gaps);
	return CLI_OK;
}

CLI_ANALYSIS_FUNCTIONS(sched)

static void *create(const struct cli_analysis *a)
{
	struct kl_sched_report *report = kl_sched_report_create(kl_trace_schema(a->trace),
								a->partial,
								kl_trace_state(a->trace)->begin_ns);

	if (report)
		kl_sched_report_select(report, (int32_t)a->pid);
	return report;
}

static int finish(void *report, const struct cli_analysis *a)
{
	return kl_sched_report_finish(report, a->end_ns);
}

const struct cli_analysis_ops cli_analysis_sched = {
	.name = "sched",
	.events = "sched_switch,sched_wakeup,sched_wakeup_new,sched_waking",
	.finish = finish,
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
