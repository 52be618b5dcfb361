/* SPDX-License-Identifier: GPL-2.0 */
/* What the lists of kernlens list share. */
#ifndef KL_CLI_LIST_H
#define KL_CLI_LIST_H

#include <stdbool.h>
#include <jansson.h>
#include <kernlens/kernlens.h>

#include "cli.h"

struct cli_table;

/**
 * struct cli_list - a list being made
 * @pattern: which rows; NULL: all
 * @rows: for JSON
 * @device: NULL: the module is not there, so nobody knows what can be had
 */
struct cli_list {
	const char *pattern;
	bool verbose;
	bool names;
	struct kl_schema *schema;
	struct kl_device *device;
	struct cli_table *table;
	json_t *rows;
	unsigned int n;
};

/* The list of events, or one of them. Returns the exit status. */
int cli_list_events(struct cli_list *list);

/* The variables, or one of them. Returns the exit status. */
int cli_list_variables(struct cli_list *list);

/* The event of a group that comes first; NULL: there is no such group. */
const struct kl_class *cli_list_first_of(const struct kl_schema *schema, const char *group);

#endif /* KL_CLI_LIST_H */
