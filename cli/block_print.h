/* SPDX-License-Identifier: GPL-2.0 */
/* How blocks are shown, for the commands that list them. */
#ifndef KL_CLI_BLOCK_PRINT_H
#define KL_CLI_BLOCK_PRINT_H

#include <kernlens/block.h>

#define CLI_BLOCK_WORD_MAX 12

/* A block's number in @text, "-" for none. Returns @text or that. */
const char *cli_block_word(uint32_t index, char text[CLI_BLOCK_WORD_MAX]);

/* A line for each instruction of a block, with address and bytes, appended. */
void cli_print_instructions(const struct kl_blocks *blocks, const struct kl_block_graph *g,
			    const struct kl_block *block, struct kl_buffer *text);

#endif /* KL_CLI_BLOCK_PRINT_H */
