/* SPDX-License-Identifier: GPL-2.0 */
/* Files with flame graphs, for subcommands with --svg and --html. */
#ifndef KL_CLI_BASE_FLAME_H
#define KL_CLI_BASE_FLAME_H

#include <kernlens/flame.h>

/**
 * cli_flame_write - write a flame graph to the files that were requested
 * @flame: sorted by name by this call
 * @title: shown above the graph
 * @unit: of the values, such as "us"
 * @svg: file for a picture, or NULL
 * @html: file for a page, or NULL
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_flame_write(struct kl_flame *flame, const char *title, const char *unit, const char *svg,
		    const char *html);

#endif /* KL_CLI_BASE_FLAME_H */
