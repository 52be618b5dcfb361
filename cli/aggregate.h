/* SPDX-License-Identifier: GPL-2.0 */
/* Results of the handlers count, sum and hist, for record and stat. */
#ifndef KL_CLI_AGGREGATE_H
#define KL_CLI_AGGREGATE_H

#include <jansson.h>
#include <stdio.h>

#include "select.h"

/* Print the tables of all rules that have one; for the others, what they could not read. */
int cli_aggregate_print(const struct cli_session *session, FILE *file);

/* The same as an array with one object per rule. NULL after an error message. */
json_t *cli_aggregate_json(const struct cli_session *session);

/* Hits of the events that the session defined, indexed by ID - KL_EV_DYNAMIC. */
uint64_t *cli_defined_counts(const struct cli_session *session, size_t *n);

#endif /* KL_CLI_AGGREGATE_H */
