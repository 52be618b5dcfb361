/* SPDX-License-Identifier: GPL-2.0 */
/* The page about the memory of a process. */
#ifndef KL_VIEW_PAGE_MEMORY_H
#define KL_VIEW_PAGE_MEMORY_H

#include "graph.h"

/**
 * view_memory_write - write a page about the memory of a process
 * @data: as for view_graph_write(), but writes what `kernlens memory --html` collects: `process`,
 *        `history` and `growth`, each of which can be null
 * @write: called with each part
 * @context: passed to both
 *
 * Returns 0, or what @data or @write returned.
 */
int view_memory_write(int (*data)(void *context), view_write_fn write, void *context);

#endif /* KL_VIEW_PAGE_MEMORY_H */
