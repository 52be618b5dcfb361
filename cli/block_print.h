/* SPDX-License-Identifier: GPL-2.0 */
/* How blocks are shown, for the commands that list them. */
#ifndef KL_CLI_BLOCK_PRINT_H
#define KL_CLI_BLOCK_PRINT_H

#include <jansson.h>
#include <kernlens/block.h>

#include "source.h"

#define CLI_BLOCK_WORD_MAX 12

/* A block's number in @text, "-" for none. Returns @text or that. */
const char *cli_block_word(uint32_t index, char text[CLI_BLOCK_WORD_MAX]);

/* Where a block's jump goes in @text: a block, "xN" for N of them through a table, "-". */
const char *cli_block_taken(const struct kl_block_graph *g, uint32_t block,
			    char text[CLI_BLOCK_WORD_MAX]);

/* A function's line; @none: what it does not have if it has a reason. */
void cli_print_function(const struct kl_block_graph *g, const char *name, const char *none,
			struct kl_buffer *text);

/* The module of a function, if it is of one. */
void cli_json_module(const char *module, json_t *function);

/* The head of a function's counts, and of their columns unless none can be counted. */
void cli_print_counted(const struct kl_block_graph *g, const char *name, struct kl_buffer *text);

/*
 * A line for each instruction of a block, with address and bytes, appended; and one for each line
 * of the source, if @source has them (or NULL).
 */
void cli_print_instructions(const struct kl_blocks *blocks, const struct kl_block_graph *g,
			    const struct kl_block *block, const struct cli_source *source,
			    struct kl_buffer *text);

#endif /* KL_CLI_BLOCK_PRINT_H */
