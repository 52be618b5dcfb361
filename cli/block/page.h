/* SPDX-License-Identifier: GPL-2.0 */
/* A page with the control-flow graphs of functions, and the counts of their blocks and edges. */
#ifndef KL_CLI_BLOCK_PAGE_H
#define KL_CLI_BLOCK_PAGE_H

#include <jansson.h>

#include "print.h"

/**
 * cli_page_counts_load - read counts
 * @path: result of kernlens count, path or coverage with --json
 *
 * Returns the rows of its functions, or NULL after an error message.
 */
json_t *cli_page_counts_load(const char *path);

/* Add a function with all its instructions, unless it has been added before. */
void cli_page_add(json_t *functions, const struct cli_block_listing *listing);

/**
 * cli_page_count - add counts to functions
 * @functions: functions, as cli_page_add() adds them
 * @rows: functions of a result: with `points` of count, or `blocks` of coverage or path
 *
 * Functions match by name and address, or if the address differs, as after a boot, by name if all
 * blocks that have a count are blocks of the function. Returns the number of functions that have
 * counts.
 */
size_t cli_page_count(json_t *functions, const json_t *rows);

/**
 * cli_page_write - write the page, and print its size
 * @path: file, which is replaced
 * @functions: functions, which are released
 * @about: what the counts are, such as "counts of all tasks"; NULL: nothing is shown of that
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_page_write(const char *path, json_t *functions, const char *about);

/**
 * cli_page_write_coverage - write a page with coverage, and print its size
 * @path: file, which is replaced
 * @runs: array of one or two results (cli_coverage_json()), which are released; blocks
 *        of functions that never ran are removed from them
 * @about: what the page shows; NULL: nothing is shown of that
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_page_write_coverage(const char *path, json_t *runs, const char *about);

#endif /* KL_CLI_BLOCK_PAGE_H */
