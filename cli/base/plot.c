// SPDX-License-Identifier: GPL-2.0
/* Curves in dots on a terminal, of history and plot; and pictures of them in a file. */
#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "output.h"
#include "plot.h"

#define LINES 8
#define COLUMNS_DEFAULT 80
#define COLUMNS_LEAST 50
#define COLUMNS_MAX 400
#define LABEL_COLUMNS 14

/* Braille dots: each character has two columns of four. */
static void set_dot(unsigned char *cells, size_t columns, size_t x, size_t y)
{
	static const unsigned char bits[4][2] = {
		{ 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
	};

	cells[y / 4 * columns + x / 2] |= bits[y % 4][x % 2];
}

/* The column of dots after those of a point: that of the next one, unless there is a gap. */
static size_t end_of(const struct kl_plot_curve *curve, size_t i, size_t columns)
{
	const struct kl_plot_point *point = &curve->point[i];

	if (i + 1 < curve->n && (curve->gap <= 0 || point[1].at - point->at <= curve->gap))
		return (size_t)(kl_plot_place(curve, i + 1) * (double)(columns - 1));
	return (size_t)(kl_plot_place(curve, i) * (double)(columns - 1)) + 1;
}

/* Fill each column up to the mean, and set a dot at the maximum. */
static void draw(const struct kl_plot_curve *curve, unsigned char *cells, size_t columns)
{
	const double height = LINES * 4 - 1;

	for (size_t i = 0; i < curve->n; i++) {
		const struct kl_plot_point *point = &curve->point[i];
		const size_t top = (size_t)(height * point->mean / curve->most + 0.5);
		const size_t high = (size_t)(height * point->high / curve->most + 0.5);
		const size_t end = end_of(curve, i, columns * 2);
		size_t x = (size_t)(kl_plot_place(curve, i) * (double)(columns * 2 - 1));

		do {
			for (size_t y = 0; y <= top; y++)
				set_dot(cells, columns, x, (size_t)height - y);
			set_dot(cells, columns, x, (size_t)height - high);
		} while (++x < end);
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

static size_t columns_of(void)
{
	const size_t columns = cli_columns() ? cli_columns() : COLUMNS_DEFAULT;

	return (columns > COLUMNS_MAX	? COLUMNS_MAX :
		columns < COLUMNS_LEAST ? COLUMNS_LEAST :
					  columns) -
	       LABEL_COLUMNS - 2;
}

size_t cli_plot_points(void)
{
	return 2 * columns_of();
}

void cli_plot_print(const struct kl_plot_curve *curve)
{
	const size_t columns = columns_of();
	unsigned char *cells = cli_alloc(LINES * columns);
	const bool unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");

	draw(curve, cells, columns);
	printf("%s%s%s%s%s\n", cli_style(stdout, CLI_BOLD), curve->name,
	       cli_style(stdout, CLI_PLAIN), *curve->help ? ": " : "", curve->help);
	for (size_t line = 0; line < LINES; line++) {
		printf("%*s |", LABEL_COLUMNS,
		       !line		 ? curve->most_label :
		       line == LINES - 1 ? "0" :
					   "");
		for (size_t x = 0; x < columns; x++)
			print_cell(cells[line * columns + x], unicode);
		putchar('\n');
	}
	printf("%*s  %-*s%s\n\n", LABEL_COLUMNS, "", (int)columns - (int)strlen(curve->last_label),
	       curve->first_label, curve->last_label);
	free(cells);
}

int cli_plot_svg(const struct kl_plot_curve *curve, size_t n, const char *path)
{
	struct kl_buffer picture = { 0 };
	int status;

	kl_plot_svg(&picture, curve, n);
	status = cli_save_buffer(&picture, path);
	kl_buffer_deinit(&picture);
	return status;
}
