/* SPDX-License-Identifier: GPL-2.0 */
/* Print basic blocks, for the commands that list them. */
#ifndef KL_CLI_BLOCK_PRINT_H
#define KL_CLI_BLOCK_PRINT_H

#include <jansson.h>
#include <kernlens/block.h>

#include "source.h"

#define CLI_BLOCK_WORD_MAX 12

/* Print a block's number into @text. Returns @text, or "-" if there is none. */
const char *cli_block_word(uint32_t index, char text[CLI_BLOCK_WORD_MAX]);

/* Target of a block's jump: a block, "xN" for N targets of a jump table, or "-". */
const char *cli_block_taken(const struct kl_block_graph *g, uint32_t block,
			    char text[CLI_BLOCK_WORD_MAX]);

/* Print a function's heading. @none precedes the reason if the function has one. */
void cli_print_function(const struct kl_block_graph *g, const char *name, const char *none,
			struct kl_buffer *text);

/* Add the function's module, if it belongs to one. */
void cli_json_module(const char *module, json_t *function);

/* Print the heading of a function's counts, and the column heads if blocks can be counted. */
void cli_print_counted(const struct kl_block_graph *g, const char *name, struct kl_buffer *text);

/*
 * Append a line for each instruction of a block, with address and bytes, preceded by its source
 * line where @source (may be NULL) has one.
 */
void cli_print_instructions(const struct kl_blocks *blocks, const struct kl_block_graph *g,
			    const struct kl_block *block, const struct cli_source *source,
			    struct kl_buffer *text);

/**
 * struct cli_block_listing - a function to print
 * @blocks: text that it belongs to
 * @graph: its blocks
 * @name: its name
 * @program: file that it belongs to; NULL: the kernel's or a module's
 * @source: its source lines, read with cli_source_read()
 */
struct cli_block_listing {
	const struct kl_blocks *blocks;
	const struct kl_block_graph *graph;
	const char *name;
	const char *program;
	const struct cli_source *source;
};

/* The function with its blocks, as kernlens blocks --json shows it; @instructions: and --asm. */
json_t *cli_block_json(const struct cli_block_listing *listing, bool instructions);

#endif /* KL_CLI_BLOCK_PRINT_H */
