// SPDX-License-Identifier: GPL-2.0
/* The server of a timeline: one thread reads the trace in steps and answers requests in between. */
#include <errno.h>
#include <stdlib.h>

#include "../http/local.h"
#include "routes.h"
#include "serve.h"

#define STEP_RECORDS 20000

struct view_server {
	struct kl_timeline_index *index;
	const char *title;
	struct http_local *http;
};

static int answer_read(void *context, const char *name, struct MHD_Connection *connection,
		       struct http_answer *answer)
{
	const struct view_server *server = context;

	return view_route(server->index, server->title, name, connection, answer);
}

struct view_server *view_server_create(struct kl_timeline_index *index, const char *title,
				       uint16_t port)
{
	struct view_server *server = calloc(1, sizeof(*server));
	const struct http_local_routes routes = { .read = answer_read, .context = server };
	int error;

	if (!server)
		return NULL;
	server->index = index;
	server->title = title;
	server->http = http_local_create(port, &routes);
	if (server->http)
		return server;
	error = errno;
	free(server);
	errno = error;
	return NULL;
}

void view_server_destroy(struct view_server *server)
{
	if (!server)
		return;
	http_local_destroy(server->http);
	free(server);
}

const char *view_server_url(const struct view_server *server)
{
	return http_local_url(server->http);
}

int view_server_run(struct view_server *server, bool (*is_stopped)(void))
{
	int more = 1;

	while (!is_stopped() && more >= 0) {
		if (more > 0)
			more = kl_timeline_index_step(server->index, STEP_RECORDS);
		http_local_run(server->http, more > 0 ? 0 : 1000);
	}
	return more < 0 ? more : 0;
}
