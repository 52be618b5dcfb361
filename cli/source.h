/* SPDX-License-Identifier: GPL-2.0 */
/* Where a function's blocks are in the source, of the kernel or of a program. */
#ifndef KL_CLI_SOURCE_H
#define KL_CLI_SOURCE_H

#include <jansson.h>
#include <kernlens/block.h>
#include <kernlens/program.h>
#include <kernlens/source.h>

#define CLI_SOURCE_MAX 160

/**
 * struct cli_source - lines of one function after the other
 * @program: whose functions they are; NULL: the kernel's
 * @kernel: lines of that; NULL: none
 * @line: of each instruction of the function that was read
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
 * Read the lines of a function, which must be there until the next is read. A file that is refused
 * is said once.
 */
void cli_source_read(struct cli_source *source, const struct kl_block_graph *graph);

/* Frees what was read; @program and @kernel stay. */
void cli_source_deinit(struct cli_source *source);

/* Of an instruction of the function that was read. NULL: it is not known. */
const struct kl_source_line *cli_source_at(const struct cli_source *source, uint32_t instruction);

/*
 * "folder/file.c:12" of a block in @text with a blank before it, "" if it is not known. Returns
 * @text.
 */
const char *cli_source_text(const struct cli_source *source, const struct kl_block *block,
			    char text[CLI_SOURCE_MAX]);

/* A line's file without the folders that are of no use on a terminal. */
const char *cli_source_file(const struct kl_source_line *line);

/* The same of an instruction into a row: "source": {"file", "line"}. */
void cli_source_json(const struct cli_source *source, uint32_t instruction, json_t *row);

#endif /* KL_CLI_SOURCE_H */
