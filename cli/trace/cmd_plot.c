// SPDX-License-Identifier: GPL-2.0
/* kernlens plot: what a trace has over time, as curves, numbers or a picture. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../base/plot.h"
#include "latest.h"
#include "losses.h"

enum {
	KEY_FROM = CLI_KEY_OWN,
	KEY_TO,
	KEY_INTERVAL,
	KEY_TOP,
	KEY_SVG,
	KEY_CSV,
};

enum {
	TOP_DEFAULT = 5,
	TOP_MAX = 1000,
	INTERVALS = 2048,
};

static const struct cli_option options[] = {
	{ 'i', "input", "TRACE", "trace directory" },
	{ KEY_INTERVAL, "interval", "SECONDS", "length of an interval (default: by itself)" },
	{ KEY_TOP, "top", "N", "keys of each expression that are shown (5; 0: all)" },
	{ KEY_FROM, "from", "SECONDS", "only events from this time since the start" },
	{ KEY_TO, "to", "SECONDS", "only events up to this time since the start" },
	{ KEY_SVG, "svg", "FILE", "write a picture" },
	{ KEY_CSV, "csv", NULL, "print the intervals as CSV" },
	{},
};

/**
 * struct plot_run - a run of the command
 * @text: expressions
 */
struct plot_run {
	char *path;
	const char **text;
	size_t n;
	uint64_t interval_ns;
	uint64_t top;
	uint64_t from_ns;
	uint64_t to_ns;
	const char *svg;
	bool csv;
};

/**
 * struct drawn - a curve as it is drawn; it must not move
 * @name, @most: of the curve
 */
struct drawn {
	struct kl_plot_curve plot;
	char *name;
	char *help;
	char most[48];
	char last[48];
};

/* Is a curve among the first of its expression? */
static bool is_shown(const struct plot_run *p, const struct kl_series_curve *curves, size_t i)
{
	size_t before = 0;

	while (before < i && curves[i - before - 1].expression == curves[i].expression)
		before++;
	return !p->top || before < p->top;
}

/* "12.3M" */
static void print_number(char *to, size_t size, double number)
{
	static const char units[] = "\0kMGTP";
	unsigned int i = 0;

	while (units[i + 1] && number >= 10000) {
		number /= 1000;
		i++;
	}
	snprintf(to, size, "%.4g%.1s", number, i ? &units[i] : "");
}

static char *help_of(const struct kl_series *series, const struct kl_series_curve *curve)
{
	const char *per_second = curve->function <= KL_MEASURE_SUM ? " per second" : "";
	char interval[CLI_NUMBER_MAX];

	cli_print_time(interval, kl_series_interval_ns(series));
	if (curve->held)
		return cli_format("%s%sin intervals of %s", curve->unit, *curve->unit ? ", " : "",
				  interval);
	return cli_format("%s%s, in intervals of %s", kl_measure_function_name(curve->function),
			  per_second, interval);
}

static void draw(const struct plot_run *p, const struct kl_series *series,
		 const struct kl_series_curve *curve, struct drawn *drawn)
{
	const double interval = (double)kl_series_interval_ns(series) / 1e9;
	const size_t n = kl_series_intervals(series);
	struct kl_plot_curve *plot = &drawn->plot;

	plot->point = cli_alloc((n + 1) * sizeof(*plot->point));
	for (size_t i = 0; i < n; i++) {
		const struct kl_series_bucket *bucket = &curve->bucket[i];
		struct kl_plot_point *point = &plot->point[plot->n];
		double value;

		if (!kl_series_value(series, curve, i, &value))
			continue;
		*point = (struct kl_plot_point){ (double)i * interval, value, value, value };
		if (curve->function == KL_MEASURE_MEAN) {
			point->low = bucket->min;
			point->high = bucket->max;
		}
		plot->most = point->high > plot->most ? point->high : plot->most;
		plot->n++;
	}
	if (plot->most <= 0)
		plot->most = 1;
	plot->last = (double)(n > 1 ? n - 1 : 1) * interval;
	plot->gap = 1.5 * interval;
	print_number(drawn->most, sizeof(drawn->most), plot->most);
	snprintf(drawn->last, sizeof(drawn->last), "%.6g s", plot->last);
	drawn->name = curve->key ? cli_format("%s [%s]", p->text[curve->expression], curve->key) :
				   cli_format("%s", p->text[curve->expression]);
	drawn->help = help_of(series, curve);
	plot->name = drawn->name;
	plot->help = drawn->help;
	plot->first_label = "0 s";
	plot->last_label = drawn->last;
	plot->most_label = drawn->most;
}

static int show_curves(const struct plot_run *p, const struct kl_series *series,
		       const struct kl_series_curve *curves, size_t n)
{
	struct drawn *drawn = cli_alloc((n + 1) * sizeof(*drawn));
	struct kl_plot_curve *plots = cli_alloc((n + 1) * sizeof(*plots));
	int status = CLI_OK;
	size_t shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_shown(p, curves, i))
			continue;
		draw(p, series, &curves[i], &drawn[shown]);
		plots[shown] = drawn[shown].plot;
		shown++;
	}
	if (p->svg)
		status = cli_plot_svg(plots, shown, p->svg);
	for (size_t i = 0; i < shown; i++) {
		if (!p->svg)
			cli_plot_print(&plots[i]);
		free(drawn[i].plot.point);
		free(drawn[i].name);
		free(drawn[i].help);
	}
	if (shown < n)
		cli_note("%zu more curves are not shown; --top 0 shows all", n - shown);
	free(plots);
	free(drawn);
	return status;
}

/* ------------------------------------------------------------------- numbers */

static uint64_t time_of(const struct kl_series *series, size_t interval)
{
	return kl_series_begin_ns(series) + interval * kl_series_interval_ns(series);
}

static void add_csv_row(struct kl_buffer *to, const char *expression, const char *key, uint64_t ns,
			double value, const struct kl_series_bucket *bucket)
{
	kl_buffer_printf(to, "%llu,", (unsigned long long)ns);
	cli_print_csv_text(to, expression, strlen(expression));
	kl_buffer_add_char(to, ',');
	cli_print_csv_text(to, key ? key : "", key ? strlen(key) : 0);
	kl_buffer_printf(to, ",%.15g,%llu,%.15g,%.15g,%.15g\n", value,
			 (unsigned long long)bucket->count, bucket->sum, bucket->min, bucket->max);
}

static int print_csv(const struct plot_run *p, const struct kl_series *series,
		     const struct kl_series_curve *curves, size_t n)
{
	struct kl_buffer rows = { 0 };
	bool written = true;

	kl_buffer_add_string(&rows, "time_ns,expression,key,value,count,sum,min,max\n");
	for (size_t i = 0; i < n && written; i++) {
		if (!is_shown(p, curves, i))
			continue;
		for (size_t k = 0; k < kl_series_intervals(series); k++) {
			double value;

			if (kl_series_value(series, &curves[i], k, &value))
				add_csv_row(&rows, p->text[curves[i].expression], curves[i].key,
					    time_of(series, k), value, &curves[i].bucket[k]);
		}
		written = cli_write_buffer(&rows, stdout);
	}
	written = written && cli_write_buffer(&rows, stdout);
	kl_buffer_deinit(&rows);
	return written ? CLI_OK : CLI_FAILED;
}

static json_t *json_curve(const struct plot_run *p, const struct kl_series *series,
			  const struct kl_series_curve *curve)
{
	json_t *points = json_array();
	json_t *key = curve->key ? cli_json_text(curve->key) : json_null();

	for (size_t k = 0; k < kl_series_intervals(series); k++) {
		const struct kl_series_bucket *bucket = &curve->bucket[k];
		double value;

		if (kl_series_value(series, curve, k, &value))
			json_array_append_new(points,
					      json_pack("[I, f, I, f, f, f]",
							(json_int_t)time_of(series, k), value,
							(json_int_t)bucket->count, bucket->sum,
							bucket->min, bucket->max));
	}
	return json_pack("{s:s, s:o, s:s, s:s, s:o}", "expression", p->text[curve->expression],
			 "key", key, "function", kl_measure_function_name(curve->function), "unit",
			 curve->unit, "points", points);
}

static int print_json(const struct plot_run *p, const struct kl_series *series,
		      const struct kl_series_curve *curves, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (is_shown(p, curves, i))
			json_array_append_new(list, json_curve(p, series, &curves[i]));
	return cli_json_write(json_pack("{s:I, s:[s, s, s, s, s, s], s:o}", "interval_ns",
					(json_int_t)kl_series_interval_ns(series), "columns",
					"time_ns", "value", "count", "sum", "min", "max", "curves",
					list));
}

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

static int show(const struct plot_run *p, struct kl_series *series)
{
	const struct kl_series_curve *curves;
	size_t n;

	curves = kl_series_finish(series, &n);
	if (!n && !p->csv && !cli_settings.json)
		return cli_error(-ENODATA, "no event of the trace matches");
	if (cli_settings.json)
		return print_json(p, series, curves, n);
	return p->csv ? print_csv(p, series, curves, n) : show_curves(p, series, curves, n);
}

/* As many as can be seen. */
static size_t intervals_of(const struct plot_run *p)
{
	return p->svg || p->csv || cli_settings.json ? INTERVALS : cli_plot_points();
}

static int run(const struct plot_run *p)
{
	struct kl_trace *trace = cli_open_trace(p->path);
	struct kl_series *series;
	int status = CLI_USAGE;

	if (!trace)
		return CLI_FAILED;
	series = kl_series_create(kl_trace_schema(trace), p->text, p->n, p->interval_ns,
				  intervals_of(p));
	if (!series)
		cli_usage_message("Try: kernlens report events TRACE", kl_error_text());
	else
		status = read_trace(p, trace, series);
	if (status == CLI_OK)
		status = show(p, series);
	if (status == CLI_OK)
		cli_losses_warn(trace);
	kl_series_destroy(series);
	kl_trace_close(trace);
	return status;
}

static void take_option(struct plot_run *p, const struct cli_parser *parser, int key)
{
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
	else if (key == KEY_CSV)
		p->csv = true;
}

static int exec_plot(const struct cli_command *self, int argc, char **argv)
{
	struct plot_run p = { .top = TOP_DEFAULT, .to_ns = UINT64_MAX };
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&p, &parser, key);
	p.text = (const char **)parser.words;
	p.n = parser.n_words;
	/* The last word is the trace, if it is a file. */
	if (!p.path && p.n && !access(parser.words[p.n - 1], F_OK))
		p.path = parser.words[--p.n];
	if (!p.n)
		cli_usage_error(self, "an expression is needed, such as sched_switch");
	if (!!p.svg + p.csv + cli_settings.json > 1)
		cli_usage_error(self, "choose one of --svg, --csv and --json");
	if (p.from_ns > p.to_ns)
		cli_usage_error(self, "--from is later than --to");
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
		"directory.\n"
		"\n"
		"  kernlens plot sched_switch TRACE\n"
		"  kernlens plot 'sched_switch by cpu' 'block_rq_issue:sum(bytes) by dev' TRACE\n"
		"  kernlens plot 'syscall_exit_* /ret < 0/ by comm' TRACE --svg failures.svg\n"
		"  kernlens record -v rss -- make; kernlens plot rss --csv > rss.csv\n",
	.exec = exec_plot,
};
