/* SPDX-License-Identifier: GPL-2.0 */
/* Output of kernlens latency, as tables and as a JSON document. */
#ifndef KL_CLI_LATENCY_PRINT_H
#define KL_CLI_LATENCY_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "../session/select.h"

enum cli_latency_by {
	CLI_LATENCY_PROCESS,
	CLI_LATENCY_THREAD,
	CLI_LATENCY_STACK,
	CLI_LATENCY_REASON,
	CLI_LATENCY_WAKER,
};

/**
 * struct cli_latency - a profile to print
 * @session: has the schema and the stack traces
 * @latency: the profile
 * @by: what a row represents
 * @top: maximum number of rows
 * @idle: include kernel threads with nothing to do
 */
struct cli_latency {
	const struct cli_session *session;
	struct kl_latency *latency;
	enum cli_latency_by by;
	unsigned int top;
	bool idle;
};

/* Print the tables, longest waits first. */
void cli_latency_print(const struct cli_latency *report, FILE *file);

/* Print the selected tasks that sleep now and hardly ran, with what they wait for. */
void cli_latency_print_asleep(const struct cli_latency *report, FILE *file);
json_t *cli_latency_asleep_json(const struct cli_latency *report);

/* Print what was dropped, one line each; prints nothing if nothing was. */
void cli_latency_print_lost(const struct kl_latency *latency, FILE *file);

/* All tasks and the longest waits. */
json_t *cli_latency_json(const struct cli_latency *report);

#endif /* KL_CLI_LATENCY_PRINT_H */
