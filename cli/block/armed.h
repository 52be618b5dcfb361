/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function of the kernel with instruments: counters of some of its blocks, and times between
 * blocks. They are in place as long as the object exists, or its process.
 */
#ifndef KL_CLI_BLOCK_ARMED_H
#define KL_CLI_BLOCK_ARMED_H

#include <jansson.h>
#include <kernlens/internal.h>

#include "times.h"

/**
 * struct cli_arm_params - which instruments
 * @function: index of the function
 * @blocks: number of its blocks
 * @counted: by block: count its executions
 * @counters: number of counted blocks
 * @from: by time: the block at which it begins; @to: the block at which it ends
 * @times: number of times
 */
struct cli_arm_params {
	size_t function;
	uint32_t blocks;
	bool *counted;
	uint32_t counters;
	uint32_t from[CLI_TIMES_MAX];
	uint32_t to[CLI_TIMES_MAX];
	unsigned int times;
};

struct cli_armed;

/**
 * cli_armed_create - install instruments and begin to measure
 * @device: its module installs them
 * @symbols: of the kernel
 * @blocks: text of the kernel without these instruments; must outlive the result
 * @params: copied
 * @why: set if NULL is returned: the module's reason, to be freed
 *
 * A function has the instruments of one object only. Takes up to seconds.
 */
struct cli_armed *cli_armed_create(struct kl_device *device, const struct kl_symbols *symbols,
				   struct kl_blocks *blocks, const struct cli_arm_params *params,
				   char **why);

/**
 * cli_armed_destroy - remove the instruments
 * @armed: or NULL
 */
void cli_armed_destroy(struct cli_armed *armed);

/* What was requested. */
const struct cli_arm_params *cli_armed_params(const struct cli_armed *armed);

/**
 * cli_armed_json - read the counts and times
 * @armed: object
 *
 * Returns an object: "address", "function", maybe "module", "seconds", "suspended", "blocks", an
 * array of arrays of a block and its count, or the reason why it has none, and "times". NULL with
 * an error text if they cannot be read.
 */
json_t *cli_armed_json(const struct cli_armed *armed);

/* A copy, to be freed. */
struct cli_arm_params cli_arm_params_copy(const struct cli_arm_params *params);

/* Free what parameters have. */
void cli_arm_params_deinit(struct cli_arm_params *params);

#endif /* KL_CLI_BLOCK_ARMED_H */
