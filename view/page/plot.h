/* SPDX-License-Identifier: GPL-2.0 */
/* The page of curves over time. */
#ifndef KL_VIEW_PAGE_PLOT_H
#define KL_VIEW_PAGE_PLOT_H

#include "graph.h"

/**
 * view_plot_write - write a page of curves
 * @data: as for view_graph_write(), but writes what `kernlens plot --json` does, with `begin_ns`,
 *        the wall time of the first interval, `intervals`, their number, and `about`, a text or
 *        null
 * @write: called with each part
 * @context: passed to both
 *
 * Returns 0, or what @data or @write returned.
 */
int view_plot_write(int (*data)(void *context), view_write_fn write, void *context);

#endif /* KL_VIEW_PAGE_PLOT_H */
