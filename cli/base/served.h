/* SPDX-License-Identifier: GPL-2.0 */
/* Subcommands that serve a page until they are interrupted. */
#ifndef KL_CLI_SERVED_H
#define KL_CLI_SERVED_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP, unless it is ignored, only set cli_is_stopped(). */
void cli_stop_on_signals(void);

/* Has one of these signals arrived? */
bool cli_is_stopped(void);

/**
 * cli_print_url - print the address of a page that is served
 * @url: address
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_print_url(const char *url);

#endif /* KL_CLI_SERVED_H */
