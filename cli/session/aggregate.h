/* SPDX-License-Identifier: GPL-2.0 */
/* Print what rules have collected, for record and stat. */
#ifndef KL_CLI_SESSION_AGGREGATE_H
#define KL_CLI_SESSION_AGGREGATE_H

#include <jansson.h>
#include <stdio.h>
#include <kernlens/aggregate.h>

#include "select.h"

/* Print the tables of all rules that have one; for the others, what they could not read. */
int cli_aggregate_print(const struct cli_session *session, FILE *file);

/* The same as an array with one object per rule. NULL after an error message. */
json_t *cli_aggregate_json(const struct cli_session *session);

#endif /* KL_CLI_SESSION_AGGREGATE_H */
