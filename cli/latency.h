/* SPDX-License-Identifier: GPL-2.0 */
/* What kernlens latency shows, as tables and as a document. */
#ifndef KL_CLI_LATENCY_H
#define KL_CLI_LATENCY_H

#include <jansson.h>
#include <stdio.h>

#include "select.h"

enum cli_latency_by {
	CLI_LATENCY_PROCESS,
	CLI_LATENCY_THREAD,
	CLI_LATENCY_STACK,
	CLI_LATENCY_REASON,
	CLI_LATENCY_WAKER,
};

/**
 * struct cli_latency - a profile to be shown
 * @session: its schema and call traces
 * @latency: the profile
 * @by: what rows are
 * @top: rows of a table at most
 * @idle: kernel threads with nothing to do, too
 */
struct cli_latency {
	const struct cli_session *session;
	struct kl_latency *latency;
	enum cli_latency_by by;
	unsigned int top;
	bool idle;
};

/* Print the tables; longest first. */
void cli_latency_print(const struct cli_latency *report, FILE *file);

/* What could not be kept, a line each; nothing if all was. */
void cli_latency_print_lost(const struct kl_latency *latency, FILE *file);

/* All tasks and the longest waits. */
json_t *cli_latency_json(const struct cli_latency *report);

#endif /* KL_CLI_LATENCY_H */
