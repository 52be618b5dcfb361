/* SPDX-License-Identifier: GPL-2.0 */
/* Output of kernlens locks. */
#ifndef KL_CLI_LOCKS_PRINT_H
#define KL_CLI_LOCKS_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <kernlens/internal.h>

/**
 * struct cli_locks - waits for locks, to print
 * @locks: they
 * @stacks: stack traces of the trace
 * @by: what they are grouped by
 * @top: number of rows; 0: all
 * @histogram: also print how the times are distributed
 * @lost: records that are missing from the trace
 */
struct cli_locks {
	struct kl_locks *locks;
	const struct kl_stacks *stacks;
	enum kl_lock_key by;
	uint64_t top;
	bool histogram;
	uint64_t lost;
};

/* The name of a key, as after --by. */
extern const char *const cli_locks_keys[KL_LOCKS_KEYS];

/* The head of its column. */
extern const char *const cli_locks_heads[KL_LOCKS_KEYS];

/* What a row stands for; to be freed. */
char *cli_locks_name(const struct kl_lock_row *row, enum kl_lock_key by);

/* The same in JSON. */
void cli_locks_add_identity(json_t *to, const struct kl_stacks *stacks,
			    const struct kl_lock_row *row, enum kl_lock_key by);

/* Print the groups. Returns CLI_OK, or another status after an error message. */
int cli_locks_print(const struct cli_locks *l, FILE *file);

/* Write a JSON document. Returns CLI_OK, or another status after an error message. */
int cli_locks_write_json(const struct cli_locks *l);

#endif /* KL_CLI_LOCKS_PRINT_H */
