// SPDX-License-Identifier: GPL-2.0
/*
 * The server of a page: one thread reads the trace in steps and answers requests in between. It
 * listens on the loopback address only, and answers only requests that have its token.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "../http/access.h"
#include "../http/address.h"
#include "../http/http.h"
#include "routes.h"
#include "serve.h"

#define TOKEN_BYTES 16
#define TOKEN_LETTERS (2 * TOKEN_BYTES)
#define STEP_RECORDS 20000

static const struct http_limits limits = {
	.connections = 16,
	.request_bytes = 16u << 10,
	.request_s = 10,
	.answer_s = 120,
};

struct view_server {
	struct kl_timeline_index *index;
	const char *title;
	struct http_server *http;
	uint16_t port;
	struct http_token token;
	char url[128];
};

/* ---------------------------------------------------------------------- access */

/* Browsers say which page makes a request. */
static bool is_own(struct MHD_Connection *connection, const char *name)
{
	return !http_is_cross_site(connection) || !*name;
}

static int send_answer(struct MHD_Connection *connection, unsigned int status, const char *type,
		       void *body, size_t length)
{
	const char *const headers[][2] = {
		{ "Content-Type", type },
		{ "Content-Security-Policy",
		  "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; "
		  "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
		  "form-action 'none'; frame-ancestors 'none'" },
		{},
	};

	return http_send(connection, status, headers, body, length);
}

/* The same for every request that has no right to an answer. */
static int send_refusal(struct MHD_Connection *connection, unsigned int status)
{
	return send_answer(connection, status, "text/plain", NULL, 0);
}

static int answer(void *context, struct MHD_Connection *connection, const char *url,
		  const char *method)
{
	struct view_server *server = context;
	struct view_answer answer = { 0 };
	const char *name;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
	if (!http_is_loopback_host(http_header(connection, "Host"), server->port))
		return send_refusal(connection, MHD_HTTP_FORBIDDEN);
	if (*url != '/' || strlen(url) < TOKEN_LETTERS + 2 ||
	    !http_token_is(&server->token, url + 1, TOKEN_LETTERS) || url[TOKEN_LETTERS + 1] != '/')
		return send_refusal(connection, MHD_HTTP_NOT_FOUND);
	name = url + TOKEN_LETTERS + 2;
	if (!is_own(connection, name))
		return send_refusal(connection, MHD_HTTP_FORBIDDEN);
	if (view_route(server->index, server->title, name, connection, &answer)) {
		kl_buffer_deinit(&answer.body);
		return send_refusal(connection, MHD_HTTP_INTERNAL_SERVER_ERROR);
	}
	return send_answer(connection, answer.status, answer.type, answer.body.data,
			   answer.body.length);
}

/* -------------------------------------------------------------------- creation */

static int make_token(struct view_server *server)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(server->token.text + 2 * i, 3, "%02x", bytes[i]);
	server->token.length = TOKEN_LETTERS;
	return 0;
}

static int start(struct view_server *server, uint16_t port)
{
	struct http_address address;
	int fd, error = make_token(server);

	if (error)
		return error;
	http_address_loopback(&address, port);
	fd = http_address_listen(&address);
	if (fd < 0)
		return fd;
	server->port = http_address_port(&address);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u/%.*s/", server->port,
		 TOKEN_LETTERS, server->token.text);
	server->http = http_server_create(fd, &limits, NULL, answer, server);
	if (server->http)
		return 0;
	close(fd);
	return -ENOMEM;
}

struct view_server *view_server_create(struct kl_timeline_index *index, const char *title,
				       uint16_t port)
{
	struct view_server *server = calloc(1, sizeof(*server));
	int error;

	if (!server)
		return NULL;
	server->index = index;
	server->title = title;
	error = start(server, port);
	if (!error)
		return server;
	free(server);
	errno = -error;
	return NULL;
}

void view_server_destroy(struct view_server *server)
{
	if (!server)
		return;
	http_server_destroy(server->http);
	free(server);
}

const char *view_server_url(const struct view_server *server)
{
	return server->url;
}

int view_server_run(struct view_server *server, bool (*is_stopped)(void))
{
	int more = 1;

	while (!is_stopped() && more >= 0) {
		if (more > 0)
			more = kl_timeline_index_step(server->index, STEP_RECORDS);
		http_server_run(server->http, more > 0 ? 0 : 1000);
	}
	return more < 0 ? more : 0;
}
