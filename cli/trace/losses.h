/* SPDX-License-Identifier: GPL-2.0 */
/* What is missing from a recorded trace, as text and as JSON. */
#ifndef KL_CLI_TRACE_LOSSES_H
#define KL_CLI_TRACE_LOSSES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <kernlens/internal.h>

/* Is the trace, which must have been read to its end, incomplete? */
bool cli_losses_any(const struct kl_trace *trace);

/* Print "12 discarded because buffers were full, 0 overwritten ...", without a newline. */
void cli_losses_print(const struct kl_trace *trace, FILE *file);

/* Print notes to stderr about losses that cannot be known, if there are any. */
void cli_losses_explain(const struct kl_trace *trace);

/* If the trace, which must have been read to its end, is incomplete, say so on stderr. */
void cli_losses_warn(const struct kl_trace *trace);

/* All losses as an object. */
json_t *cli_losses_json(const struct kl_trace *trace);

#endif /* KL_CLI_TRACE_LOSSES_H */
