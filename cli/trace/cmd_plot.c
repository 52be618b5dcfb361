// SPDX-License-Identifier: GPL-2.0
/* kernlens plot: what a trace has over time, or a session that runs, as curves or numbers. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "latest.h"
#include "losses.h"
#include "plot.h"

enum {
	KEY_FROM = CLI_KEY_OWN,
	KEY_TO,
	KEY_INTERVAL,
	KEY_TOP,
	KEY_SVG,
	KEY_HTML,
	KEY_CSV,
	KEY_LIVE,
	KEY_WINDOW,
};

enum {
	TOP_DEFAULT = 5,
	TOP_MAX = 1000,
};

static const struct cli_option options[] = {
	{ 'i', "input", "TRACE", "trace directory" },
	{ KEY_INTERVAL, "interval", "SECONDS", "length of an interval (default: by itself)" },
	{ KEY_TOP, "top", "N", "keys of each expression that are shown (5; 0: all)" },
	{ KEY_FROM, "from", "SECONDS", "only events from this time since the start" },
	{ KEY_TO, "to", "SECONDS", "only events up to this time since the start" },
	{ KEY_SVG, "svg", "FILE", "write a picture" },
	{ KEY_HTML, "html", "FILE", "write a page for a browser" },
	{ KEY_CSV, "csv", NULL, "print the intervals as CSV" },
	{ KEY_LIVE, "live", NULL, "record now what the expressions need" },
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "end after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ 'd', "delay", "SECONDS", "time between refreshes (0.5)" },
	{ KEY_WINDOW, "window", "SECONDS", "on a terminal, show this time (60)" },
	{},
};

/* ----------------------------------------------------------------------- run */

static int read_trace(const struct plot_run *p, struct kl_trace *trace, struct kl_series *series)
{
	struct kl_item item;
	int error = 0;

	kl_trace_skip(trace, p->from_ns);
	cli_busy("reading the trace");
	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind != KL_ITEM_EVENT || item.event->since_ns < p->from_ns)
			continue;
		if (item.event->since_ns > p->to_ns)
			break;
		error = kl_series_add(series, item.event);
	}
	cli_busy(NULL);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int run(const struct plot_run *p)
{
	struct kl_trace *trace = cli_open_trace(p->path);
	struct kl_series *series;
	int status = CLI_USAGE;

	if (!trace)
		return CLI_FAILED;
	series = kl_series_create(kl_trace_schema(trace), p->text, p->n, p->interval_ns,
				  plot_intervals(p));
	if (!series)
		cli_usage_message("Try: kernlens report events TRACE", kl_error_text());
	else
		status = read_trace(p, trace, series);
	if (status == CLI_OK)
		status = plot_show(p, series);
	if (status == CLI_OK)
		cli_losses_warn(trace);
	kl_series_destroy(series);
	kl_trace_close(trace);
	return status;
}

static void take_option(struct plot_run *p, const struct cli_parser *parser, int key)
{
	if (cli_select_option(&p->select, parser, key)) {
		p->selects = true;
		return;
	}
	if (key == 'i')
		p->path = parser->arg;
	else if (key == KEY_INTERVAL)
		cli_take_seconds(parser, "--interval", &p->interval_ns);
	else if (key == KEY_TOP)
		cli_take_number(parser, "--top", TOP_MAX, &p->top);
	else if (key == KEY_FROM)
		cli_take_seconds(parser, "--from", &p->from_ns);
	else if (key == KEY_TO)
		cli_take_seconds(parser, "--to", &p->to_ns);
	else if (key == KEY_SVG)
		p->svg = parser->arg;
	else if (key == KEY_HTML)
		p->html = parser->arg;
	else if (key == KEY_CSV)
		p->csv = true;
	else if (key == KEY_LIVE)
		p->live = true;
	else if (key == KEY_WINDOW)
		cli_take_seconds(parser, "--window", &p->window_ns);
	else if (key == 'd')
		cli_take_seconds(parser, "--delay", &p->refresh_ns);
}

/* Words before "--" are expressions, and without --live, the last of them may be a trace. */
static void take_words(struct plot_run *p, const struct cli_parser *parser)
{
	const bool has_command = parser->n_before >= 0 && parser->n_before < parser->n_words;

	p->text = (const char **)parser->words;
	p->n = (size_t)(parser->n_before >= 0 ? parser->n_before : parser->n_words);
	if (has_command) {
		p->select.words = parser->words + p->n;
		p->selects = true;
	}
	if (!p->live && !p->path && p->n && !access(p->text[p->n - 1], F_OK))
		p->path = parser->words[--p->n];
	if (!p->n)
		cli_usage_error(p->command, "an expression is needed, such as sched_switch");
}

static void check(const struct plot_run *p)
{
	if (!!p->svg + !!p->html + p->csv + cli_settings.json > 1)
		cli_usage_error(p->command, "choose one of --svg, --html, --csv and --json");
	if (p->from_ns > p->to_ns)
		cli_usage_error(p->command, "--from is later than --to");
	if (p->live && (p->path || p->from_ns || p->to_ns != UINT64_MAX))
		cli_usage_error(p->command, "--live reads no trace: -i, --from and --to do not "
					    "apply");
	if (p->live && !p->select.words && !cli_select_has_tasks(&p->select))
		cli_usage_error(p->command, "choose tasks with -p, -u, -a or a cgroup, or give a "
					    "command after --");
	if (!p->live && (p->selects || p->window_ns || p->refresh_ns))
		cli_usage_error(p->command,
				"tasks, a command, --window and --delay are for --live");
}

static int exec_plot(const struct cli_command *self, int argc, char **argv)
{
	struct plot_run p = { .command = self, .top = TOP_DEFAULT, .to_ns = UINT64_MAX };
	struct cli_parser parser;
	int key;

	cli_select_init(&p.select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&p, &parser, key);
	take_words(&p, &parser);
	check(&p);
	if (p.live)
		return plot_live(&p);
	if (!p.path)
		p.path = cli_latest_trace();
	if (!p.path)
		cli_usage_error(self, "no trace given, and none that record has named is here");
	return run(&p);
}

const struct cli_command_ops cmd_plot = {
	.options = options,
	.text = "Shows how often events occurred over time, values of their fields, or variables.\n"
		"An expression is EVENTS [/FILTER/] [:FUNCTION[(VALUE)] [by KEY]], where FUNCTION is\n"
		"count (the default), sum, mean, min, max or last; or the name of a variable that was\n"
		"recorded with -v. Without TRACE, reads the newest kernlens-YYYYmmdd-HHMMSS in this\n"
		"directory. With --live, records the events of the selected tasks, or of COMMAND, until\n"
		"it is ended; a terminal shows the curves meanwhile, and --csv prints each interval.\n"
		"\n"
		"  kernlens plot sched_switch TRACE\n"
		"  kernlens plot 'sched_switch by cpu' 'block_rq_issue:sum(bytes) by dev' TRACE\n"
		"  kernlens plot 'syscall_exit_* /ret < 0/ by comm' TRACE --svg failures.svg\n"
		"  kernlens record -v rss -- make; kernlens plot rss --csv > rss.csv\n"
		"  kernlens plot --live 'syscall_entry_* by comm' -a\n"
		"  kernlens plot --live rss --html rss.html -- make\n",
	.exec = exec_plot,
};
