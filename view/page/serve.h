/* SPDX-License-Identifier: GPL-2.0 */
/* Serves the page of a trace to browsers on this machine (docs/design/timeline.md). */
#ifndef KL_VIEW_SERVE_H
#define KL_VIEW_SERVE_H

#include <stdbool.h>
#include <kernlens/timeline_index.h>

struct view_server;

/**
 * view_server_create - listen on the loopback address
 * @index: of the trace; must outlive the server
 * @title: of the page; must outlive the server
 * @port: 0: any that is free
 *
 * Returns NULL with errno: EADDRINUSE, EACCES (a port for root only), ENOMEM, or what the system
 * reported.
 */
struct view_server *view_server_create(struct kl_timeline_index *index, const char *title,
				       uint16_t port);

/**
 * view_server_destroy - stop serving
 * @server: or NULL
 */
void view_server_destroy(struct view_server *server);

/**
 * view_server_url - address of the page, with the token that every request must have
 * @server: server
 */
const char *view_server_url(const struct view_server *server);

/**
 * view_server_run - read the trace and answer requests
 * @server: server
 * @is_stopped: called once a second, and after each signal; true: return
 *
 * Returns 0 or a negative errno: the trace could not be read.
 */
int view_server_run(struct view_server *server, bool (*is_stopped)(void));

#endif /* KL_VIEW_SERVE_H */
