/* SPDX-License-Identifier: GPL-2.0 */
/* What is not in a recorded trace, in words and in JSON. */
#ifndef KL_CLI_LOSSES_H
#define KL_CLI_LOSSES_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>
#include <kernlens/kernlens.h>

/* Is the trace, which has been read, not all of what was recorded? */
bool cli_losses_any(const struct kl_trace *trace);

/* "12 discarded because buffers were full, 0 overwritten ...", without an end of line. */
void cli_losses_print(const struct kl_trace *trace, FILE *file);

/* Notes on stderr about what cannot be known; none if all is known. */
void cli_losses_explain(const struct kl_trace *trace);

/* All of it as an object. */
json_t *cli_losses_json(const struct kl_trace *trace);

#endif /* KL_CLI_LOSSES_H */
