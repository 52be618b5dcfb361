// SPDX-License-Identifier: GPL-2.0
/* What the reports of kernlens report have in common: reading the trace, and writing sections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "analysis.h"
#include "losses.h"

static const struct cli_analysis_ops *const all[] = {
	&cli_analysis_sched,  &cli_analysis_io, &cli_analysis_irq,
	&cli_analysis_states, &cli_analysis_mm, &cli_analysis_net,
};

const struct cli_analysis_ops *cli_analysis_get(unsigned int i)
{
	return i < sizeof(all) / sizeof(*all) ? all[i] : NULL;
}

const struct cli_analysis_ops *cli_analysis_find(const char *name)
{
	for (unsigned int i = 0; cli_analysis_get(i); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

/* ------------------------------------------------------------------- reading */

/* Feed the trace to a report, and learn when it begins and ends. */
static int read_trace(struct cli_analysis *a, void *report)
{
	const struct kl_trace_state *state = kl_trace_state(a->trace);
	struct kl_item item;
	uint64_t last_ns = 0;
	int error = 0;

	a->begin_ns = state->begin_ns;
	while (!error && kl_trace_next(a->trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			a->begin_ns = a->begin_ns ? a->begin_ns : item.event->ns;
			last_ns = item.event->ns > last_ns ? item.event->ns : last_ns;
		}
		error = a->ops->add(report, &item);
	}
	a->end_ns = state->end_ns > last_ns ? state->end_ns : last_ns;
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* Without the events that are needed, print an error with the command that records them. */
static int check_events(const struct cli_analysis *a, const void *report)
{
	struct kl_buffer names = {};
	int status = CLI_OK;

	a->ops->missing(report, &names);
	if (names.error)
		status = cli_error(-ENOMEM, "out of memory");
	else if (names.length)
		status = cli_error(-ENOENT,
				   "the trace has no %.*s; the report %s requires them: kernlens "
				   "record -a -e %s",
				   (int)names.length, names.data, a->ops->name, a->ops->events);
	kl_buffer_deinit(&names);
	return status;
}

/* ------------------------------------------------------------------ sections */

struct cli_rows *cli_analysis_section(struct cli_analysis *a, const char *name,
				      const struct cli_column *columns, unsigned int n,
				      const char *title, ...)
{
	struct cli_section *section = &a->section[a->sections++];
	va_list args;

	if (a->sections > CLI_SECTIONS_MAX)
		abort();
	va_start(args, title);
	*section = (struct cli_section){
		.title = cli_format_list(title, args),
		.name = name,
		.rows = cli_rows_create(columns, n, a->begin_ns),
	};
	va_end(args);
	return section->rows;
}

const struct cli_column cli_analysis_times[] = {
	{ "from", "from_ns", CLI_CELL_NS },
	{ "below", "below_ns", CLI_CELL_NS },
	{ "count", "count", CLI_CELL_COUNT },
	{ "", NULL, CLI_CELL_BAR },
};

const struct cli_column cli_analysis_sizes[] = {
	{ "from", "from_bytes", CLI_CELL_POWER },
	{ "below", "below_bytes", CLI_CELL_POWER },
	{ "count", "count", CLI_CELL_COUNT },
	{ "", NULL, CLI_CELL_BAR },
};

void cli_analysis_histogram(struct cli_analysis *a, const char *name,
			    const struct cli_column *columns, const struct kl_histogram *first,
			    const struct kl_histogram *second, const char *title)
{
	const uint64_t *const buckets[] = { first->power, second ? second->power : NULL };
	struct cli_rows *rows = cli_analysis_section(a, name, columns, second ? 5 : 4, "%s", title);

	a->section[a->sections - 1].whole = true;
	cli_rows_add_buckets(rows, buckets, second ? 2 : 1, KL_HISTOGRAM_POWERS, first->unit);
}

void cli_rows_add_task(struct cli_rows *rows, const struct kl_task *task, const char *nobody)
{
	char *text = task->tid ? cli_format("%s-%d", task->comm, task->tid) :
				 cli_format("%s", nobody);

	cli_rows_add_text(rows, text);
	free(text);
	if (!task->tid) {
		cli_rows_add_none(rows);
		cli_rows_add_none(rows);
		return;
	}
	cli_rows_add_number(rows, (uint64_t)task->tid);
	cli_rows_add_text(rows, task->comm);
}

void cli_rows_add_spread(struct cli_rows *rows, const struct kl_histogram *histogram)
{
	if (!histogram->n) {
		for (unsigned int i = 0; i < 4; i++)
			cli_rows_add_none(rows);
		return;
	}
	cli_rows_add_number(rows, kl_histogram_mean(histogram));
	cli_rows_add_number(rows, kl_histogram_percentile(histogram, 500));
	cli_rows_add_number(rows, kl_histogram_percentile(histogram, 990));
	cli_rows_add_number(rows, histogram->most);
}

void cli_analysis_print_spread(struct cli_analysis *a, const struct kl_histogram *histogram)
{
	char mean[CLI_NUMBER_MAX], half[CLI_NUMBER_MAX], most[CLI_NUMBER_MAX],
		worst[CLI_NUMBER_MAX];

	kl_buffer_printf(&a->summary, "mean %s, half within %s, 99%% within %s, longest %s",
			 cli_print_time(mean, kl_histogram_mean(histogram)),
			 cli_print_time(half, kl_histogram_percentile(histogram, 500)),
			 cli_print_time(most, kl_histogram_percentile(histogram, 990)),
			 cli_print_time(worst, histogram->most));
}

void cli_analysis_print_if(struct cli_analysis *a, uint64_t count, const char *what)
{
	char text[CLI_NUMBER_MAX];

	if (count)
		kl_buffer_printf(&a->summary, "%s %s\n", cli_print_count(text, count), what);
}

void cli_analysis_print_gaps(struct cli_analysis *a, size_t omitted, uint64_t dropped,
			     uint64_t gaps)
{
	char count[CLI_NUMBER_MAX];

	if (omitted)
		kl_buffer_printf(&a->summary,
				 "Omitted: %zu task%s that the session did not trace\n", omitted,
				 omitted == 1 ? "" : "s");
	if (dropped)
		kl_buffer_printf(&a->summary, "Omitted: %s events, for which the tables are full\n",
				 cli_print_count(count, dropped));
	if (gaps)
		kl_buffer_printf(&a->summary,
				 "Records are missing in %s place%s; what was in progress there is "
				 "not counted\n",
				 cli_print_count(count, gaps), gaps == 1 ? "" : "s");
}

/* ------------------------------------------------------------------- writing */

static size_t top_of(const struct cli_analysis *a, const struct cli_section *section)
{
	return section->whole ? 0 : (size_t)a->top;
}

static int write_json(struct cli_analysis *a)
{
	json_t *object = json_pack("{s:s, s:o, s:I, s:I, s:b, s:o}", "report", a->ops->name,
				   "trace", cli_json_text(a->path), "begin_ns",
				   (json_int_t)a->begin_ns, "end_ns", (json_int_t)a->end_ns,
				   "partial", a->partial, "losses", cli_losses_json(a->trace));

	if (object && a->json)
		json_object_update(object, a->json);
	for (size_t i = 0; object && i < a->sections; i++)
		json_object_set_new(object, a->section[i].name,
				    cli_rows_json(a->section[i].rows, top_of(a, &a->section[i])));
	return cli_json_write(object);
}

static void write_text(struct cli_analysis *a)
{
	bool first = !a->summary.length;

	cli_start_pager();
	if (a->summary.length)
		cli_write_buffer(&a->summary, stdout);
	for (size_t i = 0; i < a->sections; i++) {
		const struct cli_section *section = &a->section[i];

		if (!cli_rows_count(section->rows))
			continue;
		printf("%s%s%s%s\n", first ? "" : "\n", cli_style(stdout, CLI_BOLD), section->title,
		       cli_style(stdout, CLI_PLAIN));
		first = false;
		cli_rows_print(section->rows, stdout, 2, top_of(a, section));
	}
}

static int write_sections(struct cli_analysis *a)
{
	int status = CLI_OK;

	if (a->format == CLI_ANALYSIS_JSON)
		return write_json(a);
	if (a->format == CLI_ANALYSIS_CSV)
		status = cli_rows_write_csv(a->section[0].rows, top_of(a, &a->section[0]));
	else if (a->format == CLI_ANALYSIS_TEXT)
		write_text(a);
	cli_losses_warn(a->trace);
	return status;
}

static int run(struct cli_analysis *a)
{
	const struct cli_analysis_ops *ops = a->ops;
	void *report = ops->create(a);
	int status, error;

	if (!report)
		return cli_library_error(-ENOMEM, NULL);
	status = read_trace(a, report);
	if (!status)
		status = check_events(a, report);
	if (!status && ops->finish) {
		error = ops->finish(report, a);
		status = error ? cli_library_error(error, NULL) : CLI_OK;
	}
	if (!status)
		status = ops->fill(a, report);
	if (!status)
		status = write_sections(a);
	ops->destroy(report);
	return status;
}

int cli_analysis_run(struct cli_analysis *a)
{
	int status;

	a->trace = cli_open_trace(a->path);
	if (!a->trace)
		return CLI_FAILED;
	a->partial = *kl_trace_about(a->trace)->scope &&
		     strcmp(kl_trace_about(a->trace)->scope, "all") != 0;
	status = run(a);
	for (size_t i = 0; i < a->sections; i++) {
		free(a->section[i].title);
		cli_rows_destroy(a->section[i].rows);
	}
	json_decref(a->json);
	kl_buffer_deinit(&a->summary);
	kl_trace_close(a->trace);
	return status;
}
