/* SPDX-License-Identifier: GPL-2.0 */
/* The page that shows a timeline; between its two parts comes the data (kernlens/timeline.h). */
#ifndef KL_VIEW_PAGE_H
#define KL_VIEW_PAGE_H

#include <kernlens/clocks.h>
#include <kernlens/timeline.h>

/**
 * view_page_write - write a whole page, which needs nothing else
 * @timeline: finished
 * @title: of the page
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0, -ENOMEM, or what @write returned.
 */
int view_page_write(struct kl_timeline *timeline, const char *title, kl_timeline_fn write,
		    void *context);

/**
 * struct view_machine - one of several machines on a page
 * @timeline: finished
 * @host: its name on the page
 * @clock: what its trace says of its clock
 */
struct view_machine {
	struct kl_timeline *timeline;
	const char *host;
	const struct kl_trace_clock *clock;
};

/**
 * view_machines_write - write a whole page with the traces of several machines on one timeline
 * @machine: machines
 * @n: number of them
 * @clocks: of them, in the same order, solved
 * @title: of the page
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0, -ENOMEM, or what @write returned.
 */
int view_machines_write(const struct view_machine *machine, size_t n,
			const struct kl_clocks *clocks, const char *title, kl_timeline_fn write,
			void *context);

/**
 * view_served_page_write - write a page that requests what it shows
 * @about: JSON that describes the trace (kl_timeline_index_about())
 * @write: called with each part
 * @context: passed to it
 *
 * Returns 0 or what @write returned.
 */
int view_served_page_write(const char *about, kl_timeline_fn write, void *context);

#endif /* KL_VIEW_PAGE_H */
