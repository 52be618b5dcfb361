/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages that show control-flow graphs and coverage; between the two parts of each comes the
 * data, in JSON.
 */
#ifndef KL_VIEW_PAGE_GRAPH_H
#define KL_VIEW_PAGE_GRAPH_H

#include <stddef.h>

/* Takes a part of the page. Returns 0 or -errno. */
typedef int (*view_write_fn)(void *context, const void *bytes, size_t length);

/**
 * view_graph_write - write a whole page, which needs nothing else
 * @data: called to write the JSON text {"functions": [...]} with @write, without any "<"; returns 0
 *        or -errno
 * @write: called with each part
 * @context: passed to both
 *
 * The functions are those of `kernlens blocks --asm --json`, and can also have `edges` of `from`,
 * `to` and `count`; blocks can have `count`, `count_post` or `uncounted`, the reason. The page
 * shows the string `about`, if there is one. Returns 0, or what @data or @write returned.
 */
int view_graph_write(int (*data)(void *context), view_write_fn write, void *context);

/**
 * view_served_graph_write - write a page that sends requests to its server
 * @data: as for view_graph_write(); `served` is true in it, and there may be no functions
 * @write: called with each part
 * @context: passed to both
 *
 * The server answers as docs/design/served.md describes. Returns 0, or what @data or @write
 * returned.
 */
int view_served_graph_write(int (*data)(void *context), view_write_fn write, void *context);

/**
 * view_coverage_write - write a page with the coverage of a run, or of two that are compared
 * @data: as for view_graph_write(), but writes {"runs": [...]}
 * @write: called with each part
 * @context: passed to both
 *
 * A run is what `kernlens coverage --json` writes; its functions have their number of blocks as
 * `n`, and those that never ran may lack blocks that have a count. The page shows the string
 * `about`, if there is one. Returns 0, or what @data or @write returned.
 */
int view_coverage_write(int (*data)(void *context), view_write_fn write, void *context);

#endif /* KL_VIEW_PAGE_GRAPH_H */
