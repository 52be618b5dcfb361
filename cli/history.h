/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of kernlens history share. */
#ifndef KL_CLI_HISTORY_H
#define KL_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/kernlens.h>

#include "common.h"

enum cli_history_style {
	CLI_HISTORY_TEXT,
	CLI_HISTORY_CSV,
	CLI_HISTORY_JSON,
};

#define CLI_HISTORY_FIGURES 32

/**
 * struct cli_history - what was asked for, and its summaries
 * @period: seconds of a minute, hour ... of @query
 * @figures: indices, in the order shown
 * @full: a line a figure
 * @rows: in the order of time; texts are of their own
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

/* Fills in the rows. Returns CLI_OK, or CLI_FAILED after an error message. */
int cli_history_read(struct cli_history *h);
void cli_history_deinit(struct cli_history *h);

int cli_history_print(const struct cli_history *h);

/* @svg: file, or NULL: on the terminal. */
int cli_history_plot(const struct cli_history *h, const char *svg);

/* "2026-11-21 20:15" */
#define CLI_HISTORY_TIME_MAX 32
char *cli_history_time(char text[CLI_HISTORY_TIME_MAX], int64_t time);

/* A number of a figure as people read it, appended; of what grows, in a second. */
void cli_history_number(struct kl_buffer *buffer, const struct kl_history_figure *figure,
			double number);

#endif /* KL_CLI_HISTORY_H */
