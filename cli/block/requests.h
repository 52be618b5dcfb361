/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of the requests of kernlens blocks --serve: what a browser sends may be anything. */
#ifndef KL_CLI_BLOCK_REQUESTS_H
#define KL_CLI_BLOCK_REQUESTS_H

#include <jansson.h>
#include <kernlens/block.h>

#include "armed.h"

struct MHD_Connection;

/* An address, as in 0xffffffff81000000, among the arguments of a request. */
bool cli_request_address(struct MHD_Connection *connection, const char *name, uint64_t *address);

/**
 * cli_request_instruments - the instruments that a request wants a function to have
 * @connection: with the arguments `blocks`, as in "all" or "0,3-7", and `times`, as in "3-7,9-2"
 * @blocks: text of the kernel
 * @function: index
 * @params: filled in; to be freed
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
int cli_request_instruments(struct MHD_Connection *connection, struct kl_blocks *blocks,
			    size_t function, struct cli_arm_params *params);

/**
 * cli_request_names - functions that can be instrumented and whose names have a text
 * @blocks: text of the kernel; the module in "MODULE:TEXT" is added
 * @text: may be anything
 * @most: how many names at most
 *
 * Returns an object with an array "names" of objects, of which those that begin with the text are
 * first, or NULL with an error text: there is no such module.
 */
json_t *cli_request_names(struct kl_blocks *blocks, const char *text, size_t most);

#endif /* KL_CLI_BLOCK_REQUESTS_H */
