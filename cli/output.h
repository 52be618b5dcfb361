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
