/* SPDX-License-Identifier: GPL-2.0 */
/* Serves a page that shows functions of the kernel and instruments their blocks. */
#ifndef KL_CLI_BLOCK_SERVER_H
#define KL_CLI_BLOCK_SERVER_H

#include <stddef.h>
#include <stdint.h>

/* Functions that have instruments at a time. */
#define CLI_ARMED_MAX 16

/**
 * cli_blocks_serve - serve the page until a signal ends it
 * @port: on the loopback address; 0: any that is free
 * @debug: where to look for debug information first, or NULL
 * @names: names of functions that the page begins with, which may be patterns
 * @n: how many
 *
 * Returns CLI_OK, or another status after an error message. No instrument is left.
 */
int cli_blocks_serve(uint16_t port, const char *debug, char *const *names, size_t n);

#endif /* KL_CLI_BLOCK_SERVER_H */
