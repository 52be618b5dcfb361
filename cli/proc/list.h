/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of processes, shared by the files of kernlens proc. */
#ifndef KL_CLI_PROC_LIST_H
#define KL_CLI_PROC_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../base/common.h"

enum cli_proc_style {
	CLI_PROC_TEXT,
	CLI_PROC_CSV,
	CLI_PROC_JSON,
};

/**
 * struct cli_proc_list - a list of processes
 * @table: the processes and their values
 * @column: columns of the table, in the order shown
 * @name: name of each column as requested: `user` is uid by name
 * @n: number of columns
 * @rows: maximum number of rows to show; 0: all
 * @cgroups: paths of cgroups; NULL until one is needed
 */
struct cli_proc_list {
	struct kl_processes *table;
	int *column;
	char **name;
	size_t n;
	size_t rows;
	struct kl_cgroups *cgroups;
};

/* Add a column, by name or `user`. Returns CLI_OK, or CLI_USAGE after an error message. */
int cli_proc_add_column(struct cli_proc_list *list, const char *name);
void cli_proc_deinit(struct cli_proc_list *list);

/* Is there a column whose values need two reads? */
bool cli_proc_has_rates(const struct cli_proc_list *list);

/* Print all rows, or at most @rows of the list. */
void cli_proc_print(const struct cli_proc_list *list, enum cli_proc_style style);

#endif /* KL_CLI_PROC_LIST_H */
