/* SPDX-License-Identifier: GPL-2.0 */
/* Which functions of the kernel call or jump to a function, found by decoding all of them once. */
#ifndef KL_CLI_BLOCK_CALLS_H
#define KL_CLI_BLOCK_CALLS_H

#include <jansson.h>
#include <kernlens/block.h>

/* A direct call of, or a jump to, another function. */
struct cli_call {
	uint32_t function; /* index of the one that it leads to */
	uint32_t caller; /* index */
	uint32_t offset; /* of the instruction in the caller */
};

/**
 * struct cli_calls - all calls that have been found
 * @next: index of the function that is decoded next
 * @call: calls; @n: how many; @room: for how many
 */
struct cli_calls {
	size_t next;
	struct cli_call *call;
	size_t n;
	size_t room;
};

/**
 * cli_calls_step - decode some more functions
 * @calls: begins as zeros
 * @blocks: text of the kernel
 * @functions: how many
 *
 * Returns whether there are more. Functions of modules that are added later are more.
 */
bool cli_calls_step(struct cli_calls *calls, struct kl_blocks *blocks, size_t functions);

/**
 * cli_calls_json - the functions that lead to a function, as far as they have been found
 * @calls: calls
 * @blocks: text of the kernel
 * @function: index
 *
 * Returns an object: "complete", "done", a part of 1, and "callers", of each of which the first
 * place is shown.
 */
json_t *cli_calls_json(const struct cli_calls *calls, const struct kl_blocks *blocks,
		       size_t function);

/* Free what was found. */
void cli_calls_deinit(struct cli_calls *calls);

#endif /* KL_CLI_BLOCK_CALLS_H */
