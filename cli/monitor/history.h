/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of kernlens history. */
#ifndef KL_CLI_MONITOR_HISTORY_H
#define KL_CLI_MONITOR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../base/common.h"

enum cli_history_style {
	CLI_HISTORY_TEXT,
	CLI_HISTORY_CSV,
	CLI_HISTORY_JSON,
};

#define CLI_HISTORY_FIGURES 32

/**
 * struct cli_history - the request, and the summaries that match
 * @period: length in seconds of the minute, hour ... of @query
 * @figures: indices, in the order shown
 * @full: one line per figure
 * @rows: in order of time; they own their texts
 */
struct cli_history {
	struct kl_history *history;
	struct kl_history_query query;
	double period;
	enum cli_history_style style;
	unsigned int figures[CLI_HISTORY_FIGURES];
	size_t n_figures;
	bool full;
	struct kl_history_row *rows;
	size_t n, room;
};

int cli_history_print(const struct cli_history *h);

/* @svg: file; NULL: plot on the terminal. */
int cli_history_plot(const struct cli_history *h, const char *svg);

/* Print a time as "2026-11-21 20:15". */
#define CLI_HISTORY_TIME_MAX 32
char *cli_history_time(char text[CLI_HISTORY_TIME_MAX], int64_t time);

/* Append a value in human-readable form; counters as a rate per second. */
void cli_history_number(struct kl_buffer *buffer, const struct kl_history_figure *figure,
			double number);

#endif /* KL_CLI_MONITOR_HISTORY_H */
