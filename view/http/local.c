// SPDX-License-Identifier: GPL-2.0
/*
 * The server of a page: who may have an answer. Another user of the machine can connect, but does
 * not have the token; a page of another site has neither that nor the right name of this server.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <kernlens/internal.h>
#include "access.h"
#include "address.h"
#include "http.h"
#include "local.h"

#define TOKEN_BYTES 16
#define TOKEN_LETTERS (2 * TOKEN_BYTES)

struct http_local {
	struct http_local_routes routes;
	struct http_server *http;
	uint16_t port;
	struct http_token token;
	char url[128];
};

/* ---------------------------------------------------------------------- access */

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

/* Browsers say which page makes a request; only the page itself may be opened from elsewhere. */
static bool is_own(const struct http_local *server, struct MHD_Connection *connection,
		   bool is_change, const char *name)
{
	const char *origin = http_header(connection, "Origin");

	if (http_is_cross_site(connection))
		return !is_change && !*name;
	return !is_change || !origin ||
	       (!strncmp(origin, "http://", 7) && http_is_loopback_host(origin + 7, server->port));
}

static int answer_request(void *context, struct MHD_Connection *connection, const char *url,
			  const char *method)
{
	struct http_local *server = context;
	const bool is_change = !strcmp(method, "POST");
	const http_local_fn route = is_change ? server->routes.change : server->routes.read;
	struct http_answer answer = { 0 };
	const char *name;

	if (!route || (!is_change && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return send_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
	if (!http_is_loopback_host(http_header(connection, "Host"), server->port))
		return send_refusal(connection, MHD_HTTP_FORBIDDEN);
	if (*url != '/' || strlen(url) < TOKEN_LETTERS + 2 ||
	    !http_token_is(&server->token, url + 1, TOKEN_LETTERS) || url[TOKEN_LETTERS + 1] != '/')
		return send_refusal(connection, MHD_HTTP_NOT_FOUND);
	name = url + TOKEN_LETTERS + 2;
	if (!is_own(server, connection, is_change, name))
		return send_refusal(connection, MHD_HTTP_FORBIDDEN);
	answer.status = MHD_HTTP_OK;
	if (route(server->routes.context, name, connection, &answer) || answer.body.error) {
		kl_buffer_deinit(&answer.body);
		return send_refusal(connection, MHD_HTTP_INTERNAL_SERVER_ERROR);
	}
	return send_answer(connection, answer.status, answer.type, answer.body.data,
			   answer.body.length);
}

/* --------------------------------------------------------------------- helpers */

const char *http_argument(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

bool http_number(struct MHD_Connection *connection, const char *name, uint64_t *number)
{
	const char *text = http_argument(connection, name);
	const size_t length = text ? strlen(text) : 0;

	if (!length || length > 18 || strspn(text, "0123456789") != length)
		return false;
	*number = strtoull(text, NULL, 10);
	return true;
}

int http_refuse(struct http_answer *answer, unsigned int status, const char *text)
{
	kl_buffer_reset(&answer->body);
	answer->status = status;
	answer->type = "application/json";
	kl_buffer_add_string(&answer->body, "{\"error\":");
	kl_print_json_string(&answer->body, text, strlen(text));
	kl_buffer_add_string(&answer->body, "}");
	return answer->body.error ? -ENOMEM : 0;
}

/* -------------------------------------------------------------------- creation */

static int make_token(struct http_local *server)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(server->token.text + 2 * i, 3, "%02x", bytes[i]);
	server->token.length = TOKEN_LETTERS;
	return 0;
}

static int start(struct http_local *server, uint16_t port)
{
	const struct http_limits limits = {
		.connections = 16,
		.request_bytes = 16u << 10,
		.request_s = 10,
		.answer_s = 120,
		.posts = !!server->routes.change,
	};
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
	server->http = http_server_create(fd, &limits, NULL, answer_request, server);
	if (server->http)
		return 0;
	close(fd);
	return -ENOMEM;
}

struct http_local *http_local_create(uint16_t port, const struct http_local_routes *routes)
{
	struct http_local *server = calloc(1, sizeof(*server));
	int error;

	if (!server)
		return NULL;
	server->routes = *routes;
	error = start(server, port);
	if (!error)
		return server;
	free(server);
	errno = -error;
	return NULL;
}

void http_local_destroy(struct http_local *server)
{
	if (!server)
		return;
	http_server_destroy(server->http);
	free(server);
}

const char *http_local_url(const struct http_local *server)
{
	return server->url;
}

void http_local_run(struct http_local *server, int wait_ms)
{
	http_server_run(server->http, wait_ms);
}
