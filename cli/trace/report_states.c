// SPDX-License-Identifier: GPL-2.0
/* kernlens report states: how long each task ran, waited for a CPU and slept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "analysis.h"

static const struct cli_column columns[] = {
	{ "tid", "tid", CLI_CELL_ID },
	{ NULL, "pid", CLI_CELL_ID },
	{ "task", "comm", CLI_CELL_TEXT },
	{ "running", "running_ns", CLI_CELL_NS },
	{ NULL, "woken_ns", CLI_CELL_NS },
	{ NULL, "preempted_ns", CLI_CELL_NS },
	{ "ready", "ready_ns", CLI_CELL_NS },
	{ "sleeping", "sleeping_ns", CLI_CELL_NS },
	{ "blocked", "blocked_ns", CLI_CELL_NS },
	{ "stopped", "stopped_ns", CLI_CELL_NS },
	{ NULL, "runs", CLI_CELL_COUNT },
	{ "over time", NULL, CLI_CELL_TEXT },
};

enum {
	LETTERS = 48, /* of the column "over time" */
	DRAWN = 40, /* tasks, if --top does not say how many */
};

/* The state in which a task was longest in some slices, as a letter; blank: it was not there. */
static char letter_of(const struct kl_states_row *row, unsigned int first, unsigned int end)
{
	static const char letters[] = { '#', '+', '.', '!', 's' };
	uint64_t ns[sizeof(letters)] = {}, most = 0;
	char letter = ' ';

	for (unsigned int i = first; i < end; i++) {
		ns[0] += row->slice[i][KL_RUN_RUNNING];
		ns[1] += row->slice[i][KL_RUN_WOKEN] + row->slice[i][KL_RUN_PREEMPTED];
		ns[2] += row->slice[i][KL_RUN_SLEEPING];
		ns[3] += row->slice[i][KL_RUN_BLOCKED];
		ns[4] += row->slice[i][KL_RUN_STOPPED];
	}
	for (unsigned int i = 0; i < sizeof(letters); i++) {
		if (ns[i] <= most)
			continue;
		most = ns[i];
		letter = letters[i];
	}
	return letter;
}

static void add_picture(struct cli_rows *rows, const struct kl_states_counts *counts,
			const struct kl_states_row *row)
{
	char text[LETTERS + 1] = "";
	const unsigned int n = counts->slices < LETTERS ? counts->slices : LETTERS;

	for (unsigned int i = 0; i < n; i++)
		text[i] = letter_of(row, i * counts->slices / n, (i + 1) * counts->slices / n);
	cli_rows_add_text(rows, text);
}

static void add_row(struct cli_rows *rows, const struct kl_states_counts *counts,
		    const struct kl_states_row *row)
{
	cli_rows_add_number(rows, (uint64_t)row->task.tid);
	cli_rows_add_optional(rows, row->task.pid, (uint64_t)row->task.pid);
	cli_rows_add_text(rows, row->task.comm);
	cli_rows_add_number(rows, row->ns[KL_RUN_RUNNING]);
	cli_rows_add_number(rows, row->ns[KL_RUN_WOKEN]);
	cli_rows_add_number(rows, row->ns[KL_RUN_PREEMPTED]);
	cli_rows_add_number(rows, row->ns[KL_RUN_WOKEN] + row->ns[KL_RUN_PREEMPTED]);
	cli_rows_add_number(rows, row->ns[KL_RUN_SLEEPING]);
	cli_rows_add_number(rows, row->ns[KL_RUN_BLOCKED]);
	cli_rows_add_number(rows, row->ns[KL_RUN_STOPPED]);
	cli_rows_add_number(rows, row->n[KL_RUN_RUNNING]);
	add_picture(rows, counts, row);
}

/* The slices of each task, in the order of the table. */
static json_t *json_slices(const struct kl_states_counts *counts, const struct kl_states_row *row,
			   size_t n)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *task = json_pack("{s:i, s:o}", "tid", row[i].task.tid, "comm",
					 cli_json_text(row[i].task.comm));

		for (unsigned int j = 0; j < KL_RUN_STATES; j++) {
			json_t *values = json_array();

			for (unsigned int k = 0; k < counts->slices; k++)
				json_array_append_new(values,
						      json_integer((json_int_t)row[i].slice[k][j]));
			json_object_set_new(task, kl_run_state_name(j), values);
		}
		json_array_append_new(tasks, task);
	}
	return tasks;
}

static int write_svg(struct cli_analysis *a, const struct kl_states_counts *counts,
		     const struct kl_states_row *row, size_t n)
{
	struct kl_buffer svg = {};
	int error = kl_states_svg(&svg, counts, row, n, a->path);
	bool written = !error && cli_write_buffer(&svg, stdout);

	kl_buffer_deinit(&svg);
	if (error)
		return cli_library_error(error, NULL);
	return written ? CLI_OK : CLI_FAILED;
}

static void summarize(struct cli_analysis *a, const struct kl_states_counts *counts, size_t n)
{
	char time[CLI_NUMBER_MAX], slice[CLI_NUMBER_MAX];
	const uint64_t ns = counts->end_ns - counts->begin_ns;

	kl_buffer_printf(&a->summary,
			 "%zu task%s in %s; over time, a letter for each %s: # running, + ready, "
			 ". sleeping, ! blocked, s stopped\n",
			 n, n == 1 ? "" : "s", cli_print_time(time, ns),
			 cli_print_time(slice,
					ns / (counts->slices < LETTERS ? counts->slices ?: 1 :
									 LETTERS)));
	cli_analysis_print_gaps(a, counts->omitted, counts->dropped, counts->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_states_counts *counts = kl_states_report_counts(report);
	size_t n;
	const struct kl_states_row *row = kl_states_report_rows(report, &n);
	struct cli_rows *rows;

	if (!row)
		return cli_library_error(-ENOMEM, NULL);
	if (a->format == CLI_ANALYSIS_SVG) {
		if (!a->top)
			a->top = DRAWN;
		return write_svg(a, counts, row, a->top < n ? (size_t)a->top : n);
	}
	summarize(a, counts, n);
	rows = cli_analysis_section(a, "tasks", columns, CLI_COUNT(columns),
				    "Tasks, by time running");
	for (size_t i = 0; i < n; i++)
		add_row(rows, counts, &row[i]);
	if (a->top && a->top < n)
		n = (size_t)a->top;
	if (a->format == CLI_ANALYSIS_JSON)
		a->json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "slice_ns",
				    (json_int_t)counts->slice_ns, "slices",
				    (json_int_t)counts->slices, "omitted",
				    (json_int_t)counts->omitted, "dropped",
				    (json_int_t)counts->dropped, "gaps", (json_int_t)counts->gaps,
				    "slices_ns", json_slices(counts, row, n));
	return CLI_OK;
}

CLI_ANALYSIS_FUNCTIONS(states)

static void *create(const struct cli_analysis *a)
{
	struct kl_states_report *report =
		kl_states_report_create(kl_trace_schema(a->trace), a->partial,
					kl_trace_state(a->trace)->begin_ns);

	if (report)
		kl_states_report_select(report, (int32_t)a->pid);
	return report;
}

static int finish(void *report, const struct cli_analysis *a)
{
	return kl_states_report_finish(report, a->end_ns);
}

const struct cli_analysis_ops cli_analysis_states = {
	.name = "states",
	.events = "sched_switch,sched_wakeup,sched_wakeup_new,sched_waking,sched_process_fork",
	.svg = true,
	.finish = finish,
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
