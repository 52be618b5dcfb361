/* SPDX-License-Identifier: GPL-2.0 */
/* The page that shows control-flow graphs; between its two parts comes the data, in JSON. */
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
 * `to` and `count`; blocks can have `count`, `count_post` or `uncounted`, the reason. The page shows
 * the string `about`, if there is one. Returns 0, or what @data or @write returned.
 */
int view_graph_write(int (*data)(void *context), view_write_fn write, void *context);

#endif /* KL_VIEW_PAGE_GRAPH_H */
