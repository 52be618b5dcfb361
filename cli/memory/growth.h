/* SPDX-License-Identifier: GPL-2.0 */
/* What kernlens memory prints about growth: which code touches memory, and gives it back. */
#ifndef KL_CLI_MEMORY_GROWTH_H
#define KL_CLI_MEMORY_GROWTH_H

#include <stdint.h>
#include <kernlens/internal.h>

#include "../session/recording.h"

/* Names of the keys, for --by. */
extern const char *const cli_growth_keys[KL_GROWTH_KEYS];

/**
 * struct cli_growth - what is recorded and printed
 * @input: trace to print; NULL: record
 * @by: what rows are grouped by
 * @top: rows of a table; 0: all
 * @schema, @growth: of the trace that is printed
 */
struct cli_growth {
	struct cli_recording recording;
	const char *input;
	enum kl_growth_key by;
	uint64_t top;
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

#endif /* KL_CLI_MEMORY_GROWTH_H */
