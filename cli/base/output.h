/* SPDX-License-Identifier: GPL-2.0 */
/* Output to a terminal: styles, the pager, tables. */
#ifndef KL_CLI_BASE_OUTPUT_H
#define KL_CLI_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kernlens/buffer.h>

enum cli_style {
	CLI_PLAIN,
	CLI_BOLD,
	CLI_DIM,
	CLI_RED,
};

/**
 * cli_style - escape sequence that selects a style
 * @file: stdout or stderr
 * @style: style; CLI_PLAIN ends the others
 *
 * Returns the escape sequence, or "" if @file is not to be styled.
 */
const char *cli_style(FILE *file, enum cli_style style);

/* Does cli_style() return escape sequences? */
bool cli_has_styles(FILE *file);

/* Columns of the terminal that stdout goes to, or 0 if it does not go to one. */
unsigned int cli_columns(void);

/* Is @file a terminal whose cursor can be moved? Not with TERM=dumb, as in editors. */
bool cli_has_screen(FILE *file);

/* Clear the screen of stdout, if it has one, before it is written anew. Returns whether it has. */
bool cli_clear_screen(void);

/* Send stdout through a pager from now on, if it is a terminal. */
void cli_start_pager(void);

/**
 * cli_busy - show on stderr what takes long, if that is a terminal
 * @what: text such as "reading the kernel's code", which must stay valid; NULL: nothing any more
 *
 * Nothing is shown of what takes less than 0.7 s. Print nothing else in between.
 */
void cli_busy(const char *what);

/* Close stdout, wait for the pager. Returns CLI_OK or CLI_FAILED. */
int cli_finish_output(void);

/**
 * cli_create_file - create a file for results, accessible only to its owner
 * @path: file; an existing one keeps its mode
 *
 * Returns the stream, or NULL after an error message.
 */
FILE *cli_create_file(const char *path);

/**
 * cli_open_result - open the output of a command that runs another
 * @path: file, or NULL
 * @standard: the result goes to stdout, which @path then replaces; otherwise it goes to stderr if
 *            there is no @path, so that it does not mix with the other program's output
 *
 * Returns the stream, or NULL after an error message.
 */
FILE *cli_open_result(const char *path, bool standard);

/**
 * cli_close_result - close the stream that cli_open_result() returned
 * @file: stream; stdout and stderr stay open
 * @path: path of its file
 * @status: status of writing so far
 *
 * Returns @status, or CLI_FAILED after an error message.
 */
int cli_close_result(FILE *file, const char *path, int status);

/* Write the text and empty the buffer. Returns false if it cannot be written. */
bool cli_write_buffer(struct kl_buffer *buffer, FILE *file);

/* Write the text to a new file, and empty the buffer. Returns the exit status. */
int cli_save_buffer(struct kl_buffer *buffer, const char *path);

struct cli_table;

/**
 * cli_table_create - create a table whose columns are as wide as needed
 * @heads: heads of the columns, separated by '|'; a leading '>' aligns the column to the right
 */
struct cli_table *cli_table_create(const char *heads);

/* Add the next cell; the next row starts when all columns are filled. */
void cli_table_add(struct cli_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a bar as the next cell, of @count out of @most; only 0 has none. */
void cli_table_add_bar(struct cli_table *table, uint64_t count, uint64_t most);

/**
 * cli_table_print - print a table and free it
 * @table: table
 * @file: output stream
 * @indent: spaces before each row
 */
void cli_table_print(struct cli_table *table, FILE *file, unsigned int indent);

#endif /* KL_CLI_BASE_OUTPUT_H */
