/* SPDX-License-Identifier: GPL-2.0 */
/* What goes to a terminal: styles, the pager, tables. */
#ifndef KL_CLI_OUTPUT_H
#define KL_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <kernlens/buffer.h>

enum cli_style {
	CLI_PLAIN,
	CLI_BOLD,
	CLI_DIM,
	CLI_RED,
};

/**
 * cli_style - how to switch a style on
 * @file: stdout or stderr
 * @style: which; CLI_PLAIN ends the others
 *
 * Returns the escape sequence, or "" where there shall be no colours.
 */
const char *cli_style(FILE *file, enum cli_style style);

/* Does cli_style() give anything? */
bool cli_has_styles(FILE *file);

/* Columns of the terminal that stdout is; 0: it is none. */
unsigned int cli_columns(void);

/* From here on stdout goes through a pager, if it is a terminal. */
void cli_start_pager(void);

/* Close stdout, wait for the pager. Returns CLI_OK or CLI_FAILED. */
int cli_finish_output(void);

/**
 * cli_create_file - a file for what was traced or measured, which only its owner may read
 * @path: file; one that exists keeps its mode
 *
 * Returns the stream, or NULL, having said why.
 */
FILE *cli_create_file(const char *path);

/**
 * cli_open_result - where the result of a command that runs another goes
 * @path: file, or NULL
 * @standard: it belongs to stdout, which becomes that file; else without a file it goes to stderr,
 *            so that it does not mix with what the other program prints
 *
 * Returns the stream, or NULL, having said why.
 */
FILE *cli_open_result(const char *path, bool standard);

/**
 * cli_close_result - the end of what cli_open_result() gave
 * @file: stream; stdout and stderr stay open
 * @path: of its file
 * @status: what became of writing
 *
 * Returns @status, or CLI_FAILED, having said why.
 */
int cli_close_result(FILE *file, const char *path, int status);

/* Write text and empty the buffer. False if it cannot be written. */
bool cli_write_buffer(struct kl_buffer *buffer, FILE *file);

struct cli_table;

/**
 * cli_table_create - a table whose columns are as wide as they need be
 * @heads: of the columns, with '|' between; one that begins with '>' is aligned
 *         to the right
 */
struct cli_table *cli_table_create(const char *heads);

/* The next cell; a row is full after as many as there are columns. */
void cli_table_add(struct cli_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * cli_table_print - print and free
 * @table: table
 * @file: where to
 * @indent: spaces in front of each row
 */
void cli_table_print(struct cli_table *table, FILE *file, unsigned int indent);

#endif /* KL_CLI_OUTPUT_H */
