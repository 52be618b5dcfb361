// SPDX-License-Identifier: GPL-2.0
/*
 * Plot the summaries of a history as curves: in dots on a terminal, or as a self-contained SVG
 * picture. In SVG, a curve is broken where nothing was recorded.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/output.h"
#include "../base/plot.h"
#include "history.h"

/**
 * struct curve - a figure over time
 * @plot: as it is drawn; owns its points and @most_label
 */
struct curve {
	const struct kl_history_figure *figure;
	struct kl_plot_curve plot;
	char first[CLI_HISTORY_TIME_MAX];
	char last[CLI_HISTORY_TIME_MAX];
};

/* Values of several groups at the same time are added up. */
static void add_points(struct kl_plot_curve *plot, const struct cli_history *h, unsigned int figure)
{
	plot->point = cli_alloc((h->n + 1) * sizeof(*plot->point));
	for (size_t i = 0; i < h->n; i++) {
		const struct kl_history_row *row = &h->rows[i];
		struct kl_plot_point *last = plot->n ? &plot->point[plot->n - 1] : NULL;

		if (row->figure != figure)
			continue;
		if (!last || last->at < (double)row->begin) {
			last = &plot->point[plot->n++];
			*last = (struct kl_plot_point){ .at = (double)row->begin };
		}
		last->low += row->min;
		last->mean += row->mean;
		last->high += row->max;
		if (last->high > plot->most)
			plot->most = last->high;
	}
	if (plot->most <= 0)
		plot->most = 1;
}

/* Returns false if there are no points. The curve must not move any more. */
static bool make_curve(struct curve *curve, const struct cli_history *h, unsigned int figure)
{
	struct kl_plot_curve *plot = &curve->plot;
	struct kl_buffer most = { 0 };

	curve->figure = kl_history_figure(figure);
	add_points(plot, h, figure);
	if (!plot->n)
		return false;
	plot->name = curve->figure->name;
	plot->help = curve->figure->help;
	plot->first = plot->point[0].at;
	plot->last = plot->point[plot->n - 1].at;
	plot->first_label = cli_history_time(curve->first, (int64_t)plot->first);
	plot->last_label = cli_history_time(curve->last, (int64_t)plot->last);
	plot->gap = 1.5 * h->period;
	cli_history_number(&most, curve->figure, plot->most);
	plot->most_label = most.data;
	return true;
}

static int show(const struct curve *curve, size_t n, const char *svg)
{
	struct kl_plot_curve *plots;
	int status;

	for (size_t i = 0; i < n && !svg; i++)
		cli_plot_print(&curve[i].plot);
	if (!svg)
		return CLI_OK;
	plots = cli_alloc(n * sizeof(*plots));
	for (size_t i = 0; i < n; i++)
		plots[i] = curve[i].plot;
	status = cli_plot_svg(plots, n, svg);
	free(plots);
	return status;
}

int cli_history_plot(const struct cli_history *h, const char *svg)
{
	struct curve *curves = cli_alloc((h->n_figures + 1) * sizeof(*curves));
	int status = CLI_OK;
	size_t n = 0, most = 0;

	for (size_t i = 0; i < h->n_figures; i++) {
		if (make_curve(&curves[n], h, h->figures[i])) {
			most = curves[n].plot.n > most ? curves[n].plot.n : most;
			n++;
		} else {
			free(curves[n].plot.point);
			curves[n].plot = (struct kl_plot_curve){ 0 };
		}
	}
	if (!n)
		status = cli_error(-ENODATA, "no summaries in this period");
	else
		status = show(curves, n, svg);
	for (size_t i = 0; i < n; i++) {
		free(curves[i].plot.point);
		free((char *)curves[i].plot.most_label);
	}
	free(curves);
	if (most == 1)
		cli_note("each curve is a single point: only one summary has been recorded "
			 "(kernlens history record adds to it)");
	return status;
}
