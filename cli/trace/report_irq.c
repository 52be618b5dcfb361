// SPDX-License-Identifier: GPL-2.0
/* kernlens report irq: how long interrupts and softirqs take. */
#include <errno.h>
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "analysis.h"

static const struct cli_column irq_columns[] = {
	{ "irq", "irq", CLI_CELL_ID },
	{ "name", "name", CLI_CELL_TEXT },
	{ "interrupts", "count", CLI_CELL_COUNT },
	{ NULL, "handled", CLI_CELL_COUNT },
	{ "total", "total_ns", CLI_CELL_NS },
	{ "mean", "mean_ns", CLI_CELL_NS },
	{ "50%", "p50_ns", CLI_CELL_NS },
	{ "99%", "p99_ns", CLI_CELL_NS },
	{ "worst", "max_ns", CLI_CELL_NS },
};

static const struct cli_column softirq_columns[] = {
	{ NULL, "vec", CLI_CELL_ID },
	{ "softirq", "name", CLI_CELL_TEXT },
	{ "runs", "count", CLI_CELL_COUNT },
	{ "total", "total_ns", CLI_CELL_NS },
	{ "mean", "mean_ns", CLI_CELL_NS },
	{ "50%", "p50_ns", CLI_CELL_NS },
	{ "99%", "p99_ns", CLI_CELL_NS },
	{ "worst", "max_ns", CLI_CELL_NS },
	{ NULL, "raised", CLI_CELL_COUNT },
	{ "raised for", "delay_mean_ns", CLI_CELL_NS },
	{ "50%", "delay_p50_ns", CLI_CELL_NS },
	{ "99%", "delay_p99_ns", CLI_CELL_NS },
	{ "worst", "delay_max_ns", CLI_CELL_NS },
};

static const struct cli_column cpu_columns[] = {
	{ "CPU", "cpu", CLI_CELL_ID },		 { "devices", "devices", CLI_CELL_COUNT },
	{ "total", "devices_ns", CLI_CELL_NS },	 { "vectors", "vectors", CLI_CELL_COUNT },
	{ "total", "vectors_ns", CLI_CELL_NS },	 { "softirqs", "softirqs", CLI_CELL_COUNT },
	{ "total", "softirqs_ns", CLI_CELL_NS },
};

static const struct cli_column worst_columns[] = {
	{ "took", "ns", CLI_CELL_NS },	   { "until", "end_ns", CLI_CELL_TIME },
	{ "CPU", "cpu", CLI_CELL_ID },	   { "kind", "kind", CLI_CELL_TEXT },
	{ "name", "name", CLI_CELL_TEXT }, { "interrupted", NULL, CLI_CELL_TEXT },
	{ NULL, "tid", CLI_CELL_ID },	   { NULL, "comm", CLI_CELL_TEXT },
};

static const struct cli_column time_columns[] = {
	{ "from", "from_ns", CLI_CELL_NS },
	{ "below", "below_ns", CLI_CELL_NS },
	{ "interrupts", "interrupts", CLI_CELL_COUNT },
	{ "softirqs", "softirqs", CLI_CELL_COUNT },
	{ "", NULL, CLI_CELL_BAR },
};

static const char *const kinds[KL_IRQ_KINDS] = { "device", "vector", "softirq" };

static int compare(const void *a, const void *b)
{
	const struct kl_irq_row *const *x = a, *const *y = b;

	if ((*x)->time.sum != (*y)->time.sum)
		return (*x)->time.sum < (*y)->time.sum ? 1 : -1;
	return *x < *y ? -1 : *x > *y;
}

static void add_irq(struct cli_rows *rows, const struct kl_irq_row *row)
{
	cli_rows_add_optional(rows, row->kind == KL_IRQ_DEVICE, (uint64_t)row->number);
	cli_rows_add_text(rows, row->name);
	cli_rows_add_number(rows, row->time.n);
	cli_rows_add_optional(rows, row->kind == KL_IRQ_DEVICE, row->handled);
	cli_rows_add_number(rows, row->time.sum);
	cli_rows_add_spread(rows, &row->time);
}

static void add_softirq(struct cli_rows *rows, const struct kl_irq_row *row)
{
	cli_rows_add_number(rows, (uint64_t)row->number);
	cli_rows_add_text(rows, row->name);
	cli_rows_add_number(rows, row->time.n);
	cli_rows_add_number(rows, row->time.sum);
	cli_rows_add_spread(rows, &row->time);
	cli_rows_add_number(rows, row->delay.n);
	cli_rows_add_spread(rows, &row->delay);
}

static void add_cpus(struct cli_rows *rows, struct kl_irq_report *report)
{
	size_t n;
	const struct kl_irq_cpu *cpu = kl_irq_report_cpus(report, &n);

	for (size_t i = 0; i < n; i++) {
		cli_rows_add_number(rows, cpu[i].cpu);
		for (unsigned int j = 0; j < KL_IRQ_KINDS; j++) {
			cli_rows_add_number(rows, cpu[i].n[j]);
			cli_rows_add_number(rows, cpu[i].ns[j]);
		}
	}
}

static void add_worst(struct cli_rows *rows, const struct kl_worst_case *worst,
		      const struct kl_irq_row *row)
{
	cli_rows_add_number(rows, worst->ns);
	cli_rows_add_number(rows, worst->end_ns);
	cli_rows_add_number(rows, worst->cpu);
	cli_rows_add_text(rows, kinds[worst->what % KL_IRQ_KINDS]);
	cli_rows_add_text(rows, row[worst->detail[0]].name);
	cli_rows_add_task(rows, &worst->task, "(idle)");
}

static void summarize(struct cli_analysis *a, const struct kl_irq_totals *totals)
{
	static const char *const what[] = { "interrupt", "softirq" };
	char count[CLI_NUMBER_MAX], time[CLI_NUMBER_MAX];

	for (unsigned int i = 0; i < 2; i++) {
		const struct kl_histogram *all = &totals->time[i];

		kl_buffer_printf(&a->summary, "%s %s%s", cli_print_count(count, all->n), what[i],
				 all->n == 1 ? "" : "s");
		if (all->n) {
			kl_buffer_printf(&a->summary, " in %s: ", cli_print_time(time, all->sum));
			cli_analysis_print_spread(a, all);
		}
		kl_buffer_add_char(&a->summary, '\n');
	}
	if (a->partial)
		kl_buffer_add_string(&a->summary, "The session did not record all tasks: what "
						  "interrupted others is missing\n");
	cli_analysis_print_if(a, totals->unfinished, "have no end in the trace");
	cli_analysis_print_if(a, totals->unpaired, "have no begin in the trace");
	cli_analysis_print_gaps(a, 0, totals->dropped, totals->gaps);
}

static int fill(struct cli_analysis *a, void *report)
{
	const struct kl_irq_totals *totals = kl_irq_report_totals(report);
	struct cli_rows *irqs, *softirqs, *rows;
	size_t n;
	const struct kl_irq_row *row = kl_irq_report_rows(report, &n);
	const struct kl_irq_row **sorted = cli_alloc((n + 1) * sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &row[i];
	qsort(sorted, n, sizeof(*sorted), compare);
	summarize(a, totals);
	irqs = cli_analysis_section(a, "interrupts", irq_columns, CLI_COUNT(irq_columns),
				    "Interrupts, by total time");
	softirqs = cli_analysis_section(a, "softirqs", softirq_columns, CLI_COUNT(softirq_columns),
					"Softirqs, by total time, and how long they were raised "
					"before they ran");
	for (size_t i = 0; i < n; i++) {
		if (!sorted[i]->time.n)
			continue;
		if (sorted[i]->kind == KL_IRQ_SOFTIRQ)
			add_softirq(softirqs, sorted[i]);
		else
			add_irq(irqs, sorted[i]);
	}
	add_cpus(cli_analysis_section(a, "cpus", cpu_columns, CLI_COUNT(cpu_columns), "CPUs"),
		 report);
	rows = cli_analysis_section(a, "worst", worst_columns, CLI_COUNT(worst_columns),
				    "Longest interrupts");
	for (size_t i = 0; i < totals->worst.n; i++)
		add_worst(rows, &totals->worst.one[i], row);
	cli_analysis_histogram(a, "histogram", time_columns, &totals->time[0], &totals->time[1],
			       "Interrupts and softirqs, by time");
	a->json = json_pack("{s:I, s:I, s:I, s:I}", "unfinished", (json_int_t)totals->unfinished,
			    "unpaired", (json_int_t)totals->unpaired, "dropped",
			    (json_int_t)totals->dropped, "gaps", (json_int_t)totals->gaps);
	free(sorted);
	return CLI_OK;
}

CLI_ANALYSIS_FUNCTIONS(irq)

static void *create(const struct cli_analysis *a)
{
	return kl_irq_report_create(kl_trace_schema(a->trace), (int32_t)a->pid);
}

const struct cli_analysis_ops cli_analysis_irq = {
	.name = "irq",
	.events = "'irq_*,x86_irq_vectors_*'",
	CLI_ANALYSIS_OWN_FUNCTIONS,
};
