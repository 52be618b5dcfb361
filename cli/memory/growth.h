/* SPDX-License-Identifier: GPL-2.0 */
/* What kernlens memory prints about growth: which code touches memory, and gives it back. */
#ifndef KL_CLI_MEMORY_GROWTH_H
#define KL_CLI_MEMORY_GROWTH_H

#include <stdint.h>
#include <stdio.h>
#include <kernlens/internal.h>

#include "../session/recording.h"
#include "memory.h"

/* Names of the keys, for --by. */
extern const char *const cli_growth_keys[KL_GROWTH_KEYS];

/**
 * struct cli_growth - what is recorded and printed
 * @input: trace to print; NULL: record
 * @by: what rows are grouped by
 * @top: rows of a table; 0: all
 * @html: file for a page, which is written instead of printing; or NULL
 * @interval_ns: time between reads of the process for the page, or between refreshes
 * @watches: print while it is recorded, what is new since the last time, too
 * @memory, @walk: the process, if it is only one
 * @walks: it is read while it is recorded
 * @schema, @growth: of the trace that is printed
 */
struct cli_growth {
	struct cli_recording recording;
	const char *input;
	enum kl_growth_key by;
	uint64_t top;
	const char *html;
	uint64_t interval_ns;
	bool watches;
	struct cli_memory memory;
	struct cli_memory_walk walk;
	bool walks;
	const struct kl_schema *schema;
	struct kl_growth *growth;
};

/**
 * cli_growth_run - record, unless there is a trace, and print
 * @growth: with its options
 * @self: the command, for messages
 *
 * Returns the exit status.
 */
int cli_growth_run(struct cli_growth *growth, const struct cli_command *self);

/* Add what must be recorded. Returns the exit status. */
int cli_growth_select(struct cli_growth *growth, const struct cli_command *self);

/* Print tables of a report that is finished or up to date. Returns the exit status. */
int cli_growth_write(const struct cli_growth *growth, FILE *file);

/* Write a page of it instead. Returns the exit status. */
int cli_growth_write_page(struct cli_growth *growth);

/* Read the process, if there is only one and it is time. A cli_recording's `meanwhile`. */
void cli_growth_walk(void *context);

/* growth_watch.c: print at an interval while it is recorded. Returns the exit status. */
int cli_growth_watch(struct cli_growth *growth, const struct cli_command *self);

/* growth_page.c: what a page has about growth. NULL after an error message. */
json_t *cli_growth_page_json(const struct cli_growth *growth);

/* Sums over time, as a member of documents. */
json_t *cli_growth_history_json(const struct cli_growth *growth);

#endif /* KL_CLI_MEMORY_GROWTH_H */
