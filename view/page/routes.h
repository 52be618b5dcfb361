/* SPDX-License-Identifier: GPL-2.0 */
/* What the server of a page answers. */
#ifndef KL_VIEW_ROUTES_H
#define KL_VIEW_ROUTES_H

#include <kernlens/timeline_index.h>

#include "../http/local.h"

/**
 * view_route - answer a request
 * @index: of the trace
 * @title: of the page
 * @name: what is requested, without the token; "": the page
 * @connection: for its arguments
 * @answer: filled in; its body is to be freed
 *
 * Returns 0, or -ENOMEM, after which there is no answer.
 */
int view_route(struct kl_timeline_index *index, const char *title, const char *name,
	       struct MHD_Connection *connection, struct http_answer *answer);

#endif /* KL_VIEW_ROUTES_H */
