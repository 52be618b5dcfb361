// SPDX-License-Identifier: GPL-2.0
/*
 * Plot the summaries of a history as curves: in dots on a terminal, or as a self-contained SVG
 * picture. In SVG, a curve is broken where nothing was recorded.
 */
#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/output.h"
#include "history.h"

#define LINES 8
#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 400
#define LABEL_COLUMNS 14

#define SVG_WIDTH 900.0
#define SVG_HEIGHT 180.0
#define SVG_LEFT 90.0
#define SVG_RIGHT 20.0
#define SVG_TOP 30.0
#define SVG_BOTTOM 40.0

/**
 * struct point - one period on a curve
 */
struct point {
	int64_t begin;
	double low, mean, high;
};

/**
 * struct curve - a figure over time
 * @most: highest value drawn, above 0
 */
struct curve {
	const struct kl_history_figure *figure;
	struct point *points;
	size_t n;
	double most;
};

/* Values of several groups at the same time are added up. */
static void make_curve(struct curve *curve, const struct cli_history *h, unsigned int figure)
{
	curve->figure = kl_history_figure(figure);
	curve->points = cli_alloc((h->n + 1) * sizeof(*curve->points));
	curve->n = 0;
	curve->most = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct kl_history_row *row = &h->rows[i];
		struct point *last = curve->n ? &curve->points[curve->n - 1] : NULL;

		if (row->figure != figure)
			continue;
		if (!last || last->begin != row->begin) {
			last = &curve->points[curve->n++];
			*last = (struct point){ .begin = row->begin };
		}
		last->low += row->min;
		last->mean += row->mean;
		last->high += row->max;
		if (last->high > curve->most)
			curve->most = last->high;
	}
	if (curve->most <= 0)
		curve->most = 1;
}

static char *label(const struct curve *curve, double number)
{
	struct kl_buffer text = { 0 };

	cli_history_number(&text, curve->figure, number);
	return text.data;
}

/* Position of a point on the time axis, from 0 to 1. */
static double place(const struct curve *curve, size_t i)
{
	int64_t first = curve->points[0].begin, last = curve->points[curve->n - 1].begin;

	return last > first ? (double)(curve->points[i].begin - first) / (double)(last - first) : 0;
}

/* ------------------------------------------------------------ on a terminal */

/* Braille dots: each character has two columns of four. */
static void set_dot(unsigned char *cells, size_t columns, size_t x, size_t y)
{
	static const unsigned char bits[4][2] = {
		{ 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
	};

	cells[y / 4 * columns + x / 2] |= bits[y % 4][x % 2];
}

/* Fill each column up to the mean, and set a dot at the maximum. */
static void draw(const struct curve *curve, unsigned char *cells, size_t columns)
{
	const double height = LINES * 4 - 1;

	for (size_t i = 0; i < curve->n; i++) {
		size_t x = (size_t)(place(curve, i) * (double)(columns * 2 - 1));
		size_t top = (size_t)(height * curve->points[i].mean / curve->most + 0.5);
		size_t high = (size_t)(height * curve->points[i].high / curve->most + 0.5);

		for (size_t y = 0; y <= top; y++)
			set_dot(cells, columns, x, (size_t)height - y);
		set_dot(cells, columns, x, (size_t)height - high);
	}
}

static void print_cell(unsigned char dots, bool unicode)
{
	/* U+2800 plus the bits of the dots. */
	if (unicode && dots)
		printf("\xe2%c%c", 0xa0 | dots >> 6, 0x80 | (dots & 0x3f));
	else
		putchar(dots ? '#' : ' ');
}

static void print_curve(const struct curve *curve, size_t columns)
{
	unsigned char *cells = cli_alloc(LINES * columns);
	bool unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	char first[CLI_HISTORY_TIME_MAX], last[CLI_HISTORY_TIME_MAX];
	char *most = label(curve, curve->most);

	draw(curve, cells, columns);
	printf("%s%s%s: %s\n", cli_style(stdout, CLI_BOLD), curve->figure->name,
	       cli_style(stdout, CLI_PLAIN), curve->figure->help);
	for (size_t line = 0; line < LINES; line++) {
		printf("%*s |", LABEL_COLUMNS, !line ? most : line == LINES - 1 ? "0" : "");
		for (size_t x = 0; x < columns; x++)
			print_cell(cells[line * columns + x], unicode);
		putchar('\n');
	}
	printf("%*s  %-*s%s\n\n", LABEL_COLUMNS, "", (int)columns - 16,
	       cli_history_time(first, curve->points[0].begin),
	       cli_history_time(last, curve->points[curve->n - 1].begin));
	free(most);
	free(cells);
}

/* ---------------------------------------------------------------------- SVG */

static double svg_x(const struct curve *curve, size_t i)
{
	return SVG_LEFT + place(curve, i) * (SVG_WIDTH - SVG_LEFT - SVG_RIGHT);
}

static double svg_y(const struct curve *curve, double number)
{
	return SVG_HEIGHT - SVG_BOTTOM - number / curve->most * (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM);
}

/* End of the points recorded without a gap from @i on. */
static size_t unbroken(const struct curve *curve, size_t i, double period)
{
	while (++i < curve->n)
		if ((double)(curve->points[i].begin - curve->points[i - 1].begin) > 1.5 * period)
			break;
	return i;
}

static void svg_part(FILE *file, const struct curve *curve, size_t from, size_t to)
{
	/* A line needs two points. */
	if (to - from == 1)
		fprintf(file, "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n",
			svg_x(curve, from), svg_y(curve, curve->points[from].mean));
	fprintf(file, "<polygon class=\"range\" points=\"");
	for (size_t i = from; i < to; i++)
		fprintf(file, "%.1f,%.1f ", svg_x(curve, i), svg_y(curve, curve->points[i].high));
	for (size_t i = to; i-- > from;)
		fprintf(file, "%.1f,%.1f ", svg_x(curve, i), svg_y(curve, curve->points[i].low));
	fprintf(file, "\"/>\n<polyline class=\"mean\" points=\"");
	for (size_t i = from; i < to; i++)
		fprintf(file, "%.1f,%.1f ", svg_x(curve, i), svg_y(curve, curve->points[i].mean));
	fprintf(file, "\"/>\n");
}

static void svg_curve(FILE *file, const struct curve *curve, size_t at, double period)
{
	char first[CLI_HISTORY_TIME_MAX], last[CLI_HISTORY_TIME_MAX];
	char *most = label(curve, curve->most);
	double bottom = SVG_HEIGHT - SVG_BOTTOM, right = SVG_WIDTH - SVG_RIGHT;

	fprintf(file, "<g transform=\"translate(0,%.0f)\">\n", SVG_HEIGHT * (double)at);
	fprintf(file, "<text class=\"head\" x=\"%.0f\" y=\"%.0f\">%s: %s</text>\n", SVG_LEFT,
		SVG_TOP - 10, curve->figure->name, curve->figure->help);
	fprintf(file, "<path class=\"axis\" d=\"M%.0f,%.0f V%.0f H%.0f\"/>\n", SVG_LEFT, SVG_TOP,
		bottom, right);
	fprintf(file, "<text class=\"y\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", SVG_LEFT - 6,
		SVG_TOP + 4, most);
	fprintf(file, "<text class=\"y\" x=\"%.0f\" y=\"%.0f\">0</text>\n", SVG_LEFT - 6, bottom);
	fprintf(file, "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", SVG_LEFT, bottom + 16,
		cli_history_time(first, curve->points[0].begin));
	fprintf(file, "<text class=\"y\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", right, bottom + 16,
		cli_history_time(last, curve->points[curve->n - 1].begin));
	for (size_t i = 0, end; i < curve->n; i = end) {
		end = unbroken(curve, i, period);
		svg_part(file, curve, i, end);
	}
	fprintf(file, "</g>\n");
	free(most);
}

static int svg_file(const struct cli_history *h, const struct curve *curves, size_t n,
		    const char *path)
{
	FILE *file = cli_create_file(path);
	int error;

	if (!file)
		return CLI_FAILED;
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n"
		"<style>text{font:12px sans-serif;fill:#333}.head{font-weight:bold}"
		".y{text-anchor:end}.axis{fill:none;stroke:#999}.range{fill:#9cc3e6;stroke:#9cc3e6}"
		".mean{fill:none;stroke:#1f5f99;stroke-width:1.5}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		SVG_WIDTH, SVG_HEIGHT * (double)n);
	for (size_t i = 0; i < n; i++)
		svg_curve(file, &curves[i], i, h->period);
	fprintf(file, "</svg>\n");
	error = ferror(file);
	if (fclose(file) || error)
		return cli_error(-EIO, "cannot write %s", path);
	return CLI_OK;
}

int cli_history_plot(const struct cli_history *h, const char *svg)
{
	size_t columns = cli_columns() ? cli_columns() : COLUMNS_DEFAULT;
	struct curve *curves = cli_alloc(h->n_figures * sizeof(*curves));
	int status = CLI_OK;
	size_t n = 0, most = 0;

	columns = (columns > COLUMNS_MAX ? COLUMNS_MAX :
		   columns < 50		 ? 50 :
					   columns) -
		  LABEL_COLUMNS - 2;
	for (size_t i = 0; i < h->n_figures; i++) {
		make_curve(&curves[n], h, h->figures[i]);
		if (curves[n].n)
			n++;
		else
			free(curves[n].points);
	}
	for (size_t i = 0; i < n; i++)
		most = curves[i].n > most ? curves[i].n : most;
	if (!n)
		status = cli_error(-ENODATA, "no summaries in this period");
	else if (svg)
		status = svg_file(h, curves, n, svg);
	for (size_t i = 0; i < n; i++) {
		if (!svg)
			print_curve(&curves[i], columns);
		free(curves[i].points);
	}
	free(curves);
	if (most == 1)
		cli_note("each curve is a single point: only one summary has been recorded "
			 "(kernlens history record adds to it)");
	return status;
}
