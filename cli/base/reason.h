/* SPDX-License-Identifier: GPL-2.0 */
/* What a task waits for, and which tasks can end the wait. */
#ifndef KL_CLI_REASON_H
#define KL_CLI_REASON_H

#include <jansson.h>
#include <stdio.h>
#include <kernlens/internal.h>

/* Class of a system call, which has the names of its arguments, or NULL. */
const struct kl_class *cli_find_call(struct kl_schema *schema, int number);

/* Name of a system call; "?" if @class is NULL. */
const char *cli_call_name(const struct kl_class *class);

/* Print a list of the kind KL_DETAIL_WAIT in lines that begin with blanks. */
void cli_print_wait(const struct kl_details *list, FILE *file);

/* The same as JSON, without the files and sockets. */
json_t *cli_wait_json(const struct kl_details *list);

#endif /* KL_CLI_REASON_H */
