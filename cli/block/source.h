/* SPDX-License-Identifier: GPL-2.0 */
/* Source lines of a function's blocks, of the kernel or of a program. */
#ifndef KL_CLI_BLOCK_SOURCE_H
#define KL_CLI_BLOCK_SOURCE_H

#include <jansson.h>
#include <kernlens/block.h>
#include <kernlens/program.h>
#include <kernlens/source.h>

#define CLI_SOURCE_MAX 160

/**
 * struct cli_source - source lines of one function at a time
 * @program: program whose functions they are; NULL: the kernel
 * @kernel: source lines of the kernel; NULL: none
 * @line: line of each instruction of the function that was read
 */
struct cli_source {
	struct kl_program *program;
	struct kl_source *kernel;
	const struct kl_block_graph *graph;
	struct kl_source_line *line;
	uint64_t *address;
	uint32_t room;
	bool told;
};

/*
 * Read the lines of a function. @graph must stay valid until the next call. A debug file that is
 * refused is reported once.
 */
void cli_source_read(struct cli_source *source, const struct kl_block_graph *graph);

/* Free what was read, but not @program and @kernel. */
void cli_source_deinit(struct cli_source *source);

/* Line of an instruction of the function that was read; NULL if it is not known. */
const struct kl_source_line *cli_source_at(const struct cli_source *source, uint32_t instruction);

/*
 * Print a block's line into @text as "folder/file.c:12" with a leading blank, or "" if it is not
 * known. Returns @text.
 */
const char *cli_source_text(const struct cli_source *source, const struct kl_block *block,
			    char text[CLI_SOURCE_MAX]);

/* File name of a line, with only the last directory. */
const char *cli_source_file(const struct kl_source_line *line);

/* Add the line of an instruction to a JSON row: "source": {"file", "line"}. */
void cli_source_json(const struct cli_source *source, uint32_t instruction, json_t *row);

/* Add a line to a JSON row in the same form, unless its number is 0. */
void cli_source_json_line(const struct kl_source_line *line, json_t *row);

#endif /* KL_CLI_BLOCK_SOURCE_H */
