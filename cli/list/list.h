/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the lists of kernlens list. */
#ifndef KL_CLI_LIST_LIST_H
#define KL_CLI_LIST_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <kernlens/internal.h>

#include "../base/cli.h"

struct cli_table;

/**
 * struct cli_list - a list being built
 * @pattern: selects rows; NULL: all
 * @rows: rows for JSON
 * @device: NULL: the module is not loaded, so availability is unknown
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

/* List events, or print one of them. Returns the exit status. */
int cli_list_events(struct cli_list *list);

/* List variables, or print one of them. Returns the exit status. */
int cli_list_variables(struct cli_list *list);

/*
 * List the USDT markers of a file or process. @text: PATH or PID, with :PROVIDER[:NAME] or without.
 * Returns the exit status.
 */
int cli_list_usdt(struct cli_list *list, const char *text);

/* The first event of a group; NULL if there is no such group. */
const struct kl_class *cli_list_first_of(const struct kl_schema *schema, const char *group);

#endif /* KL_CLI_LIST_LIST_H */
