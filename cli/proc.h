/* SPDX-License-Identifier: GPL-2.0 */
/* What the lists of kernlens proc share. */
#ifndef KL_CLI_PROC_H
#define KL_CLI_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/kernlens.h>

#include "common.h"

enum cli_proc_style {
	CLI_PROC_TEXT,
	CLI_PROC_CSV,
	CLI_PROC_JSON,
};

/**
 * struct cli_proc_list - a list of processes
 * @table: what it shows
 * @column: columns of the table, in the order shown
 * @name: of each, as it was asked for: `user` is uid by name
 * @n: number of them
 * @rows: the most to be shown; 0: all
 */
struct cli_proc_list {
	struct kl_processes *table;
	int *column;
	char **name;
	size_t n;
	size_t rows;
};

/* One more column, by name or `user`. Returns CLI_OK, or CLI_USAGE after an error message. */
int cli_proc_add_column(struct cli_proc_list *list, const char *name);
void cli_proc_deinit(struct cli_proc_list *list);

/* Is there a column that is not known at the first read? */
bool cli_proc_has_rates(const struct cli_proc_list *list);

/* All rows, or as many as wanted. */
void cli_proc_print(const struct cli_proc_list *list, enum cli_proc_style style);

/* A cell as people read it, appended. */
void cli_proc_print_cell(struct kl_buffer *buffer, const struct cli_proc_list *list, size_t row,
			 size_t i);

#endif /* KL_CLI_PROC_H */
