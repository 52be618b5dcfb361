// SPDX-License-Identifier: GPL-2.0
/* Shows a series as curves on the terminal, as a picture, as a page, as CSV or as JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../../view/page/plot.h"
#include "../base/common.h"
#include "../base/html.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../base/plot.h"
#include "plot.h"

enum {
	INTERVALS = 2048,
};

/**
 * struct drawn - a curve as it is drawn; it must not move
 * @name, @help, @most: of the curve
 * @end: the time of the end that is not 0
 */
struct drawn {
	struct kl_plot_curve plot;
	char *name;
	char *help;
	char most[48];
	char end[48];
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
	if (p->ends_now)
		snprintf(drawn->end, sizeof(drawn->end), "%.3g s ago", plot->last);
	else
		snprintf(drawn->end, sizeof(drawn->end), "%.6g s", plot->last);
	drawn->name = curve->key ? cli_format("%s [%s]", p->text[curve->expression], curve->key) :
				   cli_format("%s", p->text[curve->expression]);
	drawn->help = help_of(series, curve);
	plot->name = drawn->name;
	plot->help = drawn->help;
	plot->first_label = p->ends_now ? drawn->end : "0 s";
	plot->last_label = p->ends_now ? "now" : drawn->end;
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

static void add_csv_value(struct kl_buffer *to, const struct plot_run *p,
			  const struct kl_series *series, const struct kl_series_curve *curve,
			  size_t interval)
{
	double value;

	if (kl_series_value(series, curve, interval, &value))
		add_csv_row(to, p->text[curve->expression], curve->key, time_of(series, interval),
			    value, &curve->bucket[interval]);
}

bool plot_csv_head(void)
{
	return puts("time_ns,expression,key,value,count,sum,min,max") >= 0;
}

static int print_csv(const struct plot_run *p, const struct kl_series *series,
		     const struct kl_series_curve *curves, size_t n)
{
	struct kl_buffer rows = { 0 };
	bool written = plot_csv_head();

	for (size_t i = 0; i < n && written; i++) {
		if (!is_shown(p, curves, i))
			continue;
		for (size_t k = 0; k < kl_series_intervals(series); k++)
			add_csv_value(&rows, p, series, &curves[i], k);
		written = cli_write_buffer(&rows, stdout);
	}
	kl_buffer_deinit(&rows);
	return written ? CLI_OK : CLI_FAILED;
}

int plot_csv_rows(const struct plot_run *p, struct kl_series *series, size_t n)
{
	struct kl_buffer rows = { 0 };
	size_t n_curves;
	const struct kl_series_curve *curves = kl_series_finish(series, &n_curves);
	bool written = true;

	if (!curves)
		return cli_library_error(-ENOMEM, NULL);
	for (size_t k = 0; k < n && written; k++) {
		for (size_t i = 0; i < n_curves; i++)
			if (is_shown(p, curves, i))
				add_csv_value(&rows, p, series, &curves[i], k);
		written = cli_write_buffer(&rows, stdout);
	}
	kl_buffer_deinit(&rows);
	return written && !fflush(stdout) ? CLI_OK : CLI_FAILED;
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

static json_t *json_of(const struct plot_run *p, const struct kl_series *series,
		       const struct kl_series_curve *curves, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (is_shown(p, curves, i))
			json_array_append_new(list, json_curve(p, series, &curves[i]));
	return json_pack("{s:I, s:[s, s, s, s, s, s], s:o}", "interval_ns",
			 (json_int_t)kl_series_interval_ns(series), "columns", "time_ns", "value",
			 "count", "sum", "min", "max", "curves", list);
}

static int write_html(const struct plot_run *p, const struct kl_series *series,
		      const struct kl_series_curve *curves, size_t n)
{
	json_t *data = json_of(p, series, curves, n);

	json_object_set_new(data, "begin_ns", json_integer((json_int_t)kl_series_begin_ns(series)));
	json_object_set_new(data, "intervals",
			    json_integer((json_int_t)kl_series_intervals(series)));
	return cli_html_write(p->html, data, p->path, view_plot_write);
}

/* ------------------------------------------------------------------------ all */

int plot_show(const struct plot_run *p, struct kl_series *series)
{
	const struct kl_series_curve *curves;
	size_t n;

	curves = kl_series_finish(series, &n);
	if (!curves)
		return cli_library_error(-ENOMEM, NULL);
	if (!n && !p->csv && !cli_settings.json)
		return cli_error(-ENODATA, "no event %s matches",
				 p->live ? "that was recorded" : "of the trace");
	if (cli_settings.json)
		return cli_json_write(json_of(p, series, curves, n));
	if (p->html)
		return write_html(p, series, curves, n);
	return p->csv ? print_csv(p, series, curves, n) : show_curves(p, series, curves, n);
}

size_t plot_intervals(const struct plot_run *p)
{
	return p->svg || p->html || p->csv || cli_settings.json ? INTERVALS : cli_plot_points();
}
