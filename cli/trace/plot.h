/* SPDX-License-Identifier: GPL-2.0 */
/* kernlens plot: what is shown, of a trace or of a session that runs. */
#ifndef KL_CLI_TRACE_PLOT_H
#define KL_CLI_TRACE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../base/cli.h"
#include "../session/select.h"

/**
 * struct plot_run - a run of the command
 * @path: trace; NULL: none
 * @text: expressions; @n: number of expressions
 * @interval_ns: length of an interval; 0: by itself
 * @top: curves of an expression that are shown; 0: all
 * @from_ns, @to_ns: part of the trace
 * @svg, @html: file to write, or NULL
 * @live: a session is recorded, of what @select says; @selects: it says something
 * @ends_now: a terminal shows it while it is recorded
 * @window_ns: how much of it
 * @refresh_ns: how often
 */
struct plot_run {
	const struct cli_command *command;
	char *path;
	const char **text;
	size_t n;
	uint64_t interval_ns;
	uint64_t top;
	uint64_t from_ns;
	uint64_t to_ns;
	const char *svg;
	const char *html;
	bool csv;
	bool live;
	bool selects;
	bool ends_now;
	struct cli_select select;
	uint64_t window_ns;
	uint64_t refresh_ns;
};

/* How many intervals can be seen. */
size_t plot_intervals(const struct plot_run *p);

/* Print or write all of a series. Returns CLI_OK, or another status after an error message. */
int plot_show(const struct plot_run *p, struct kl_series *series);

/**
 * plot_csv_head - print the names of the columns
 *
 * Returns false if that failed.
 */
bool plot_csv_head(void);

/**
 * plot_csv_rows - print intervals, by time
 * @p: run
 * @series: series
 * @n: number of intervals
 *
 * Returns CLI_OK, or another status after an error message.
 */
int plot_csv_rows(const struct plot_run *p, struct kl_series *series, size_t n);

/* Record and plot. Returns the exit status. */
int plot_live(struct plot_run *p);

#endif /* KL_CLI_TRACE_PLOT_H */
