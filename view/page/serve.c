// SPDX-License-Identifier: GPL-2.0
/*
 * The server of a page: one thread reads the trace in steps and answers requests in between. It
 * listens on the loopback address only, and answers only requests that have its token. What a
 * client may cost is bounded: connections, the size of requests, and time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "routes.h"
#include "serve.h"

#define TOKEN_BYTES 16
#define TOKEN_LETTERS (2 * TOKEN_BYTES)
#define CONNECTIONS_MAX 16
#define REQUEST_BYTES_MAX (16u << 10)
#define IDLE_SECONDS 10
#define REQUEST_SECONDS 10 /* from its first byte to the end of its header */
#define ANSWER_SECONDS 120
#define STEP_RECORDS 20000

/* A connection. @fd: -1: none. @since: when its request began, or its answer. */
struct client {
	int fd;
	time_t since;
	bool answered;
};

struct view_server {
	struct kl_timeline_index *index;
	const char *title;
	struct MHD_Daemon *daemon;
	uint16_t port;
	char token[TOKEN_LETTERS + 1];
	char url[128];
	struct client client[CONNECTIONS_MAX];
};

static time_t seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---------------------------------------------------------------------- access */

/* The time that this takes does not depend on where they differ. */
static bool is_token(const struct view_server *server, const char *text)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < TOKEN_LETTERS; i++)
		differ |= (unsigned char)(text[i] ^ server->token[i]);
	return !differ;
}

/*
 * Other names of this address could be a site's, whose scripts then may read what we answer.
 * Browsers leave out the port of HTTP.
 */
static bool is_host(const struct view_server *server, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char known[64];

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(known, sizeof(known), "%s:%u", names[i], server->port);
		if (!strcmp(host, known) || (server->port == 80 && !strcmp(host, names[i])))
			return true;
	}
	return false;
}

/* Browsers say which page makes a request. */
static bool is_own(struct MHD_Connection *connection, const char *name)
{
	const char *site =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");

	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none") || !*name;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, unsigned int status,
				   const char *type, void *body, size_t length)
{
	static const char *const headers[][2] = {
		{ "Content-Security-Policy",
		  "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; "
		  "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
		  "form-action 'none'; frame-ancestors 'none'" },
		{ "Cache-Control", "no-store" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
	};
	struct MHD_Response *response =
		MHD_create_response_from_buffer(length, body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ret;

	if (!response) {
		free(body);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

/* The same for every request that has no right to an answer. */
static enum MHD_Result send_refusal(struct MHD_Connection *connection, unsigned int status)
{
	return send_answer(connection, status, "text/plain", NULL, 0);
}

static enum MHD_Result answer(struct view_server *server, struct MHD_Connection *connection,
			      const char *url, const char *method)
{
	struct view_answer answer = { 0 };
	const char *name;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
	if (!is_host(server, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
		return send_refusal(connection, MHD_HTTP_FORBIDDEN);
	if (*url != '/' || strlen(url) < TOKEN_LETTERS + 2 || !is_token(server, url + 1) ||
	    url[TOKEN_LETTERS + 1] != '/')
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

/* --------------------------------------------------------------------- clients */

static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static struct client *client_of(struct view_server *server, int fd)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (server->client[i].fd == fd)
			return &server->client[i];
	return NULL;
}

static void begin_phase(struct client *client, bool answered)
{
	if (!client)
		return;
	client->since = seconds_now();
	client->answered = answered;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
			  enum MHD_ConnectionNotificationCode code)
{
	struct view_server *server = context;
	const int fd = fd_of(connection);
	struct client *client = client_of(server, code == MHD_CONNECTION_NOTIFY_STARTED ? -1 : fd);

	(void)own;
	if (!client)
		return;
	client->fd = code == MHD_CONNECTION_NOTIFY_STARTED ? fd : -1;
	begin_phase(client, false);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **own,
			 enum MHD_RequestTerminationCode code)
{
	struct view_server *server = context;

	(void)own;
	(void)code;
	begin_phase(client_of(server, fd_of(connection)), false);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **own)
{
	struct view_server *server = context;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)own;
	begin_phase(client_of(server, fd_of(connection)), true);
	return answer(server, connection, url, method);
}

/* End connections that take too long, even if a byte comes now and then. */
static void end_slow(struct view_server *server)
{
	const time_t now = seconds_now();

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct client *client = &server->client[i];

		if (client->fd >= 0 &&
		    now - client->since > (client->answered ? ANSWER_SECONDS : REQUEST_SECONDS))
			shutdown(client->fd, SHUT_RDWR);
	}
}

/* -------------------------------------------------------------------- creation */

static int make_token(struct view_server *server)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Returns a socket, or a negative errno. */
static int listen_on(struct view_server *server, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	const int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) &&
	    !bind(fd, (struct sockaddr *)&address, length) && !listen(fd, CONNECTIONS_MAX) &&
	    !getsockname(fd, (struct sockaddr *)&address, &length)) {
		server->port = ntohs(address.sin_port);
		return fd;
	}
	error = -errno;
	close(fd);
	return error;
}

static int start(struct view_server *server, uint16_t port)
{
	int fd, error = make_token(server);

	if (error)
		return error;
	fd = listen_on(server, port);
	if (fd < 0)
		return fd;
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u/%s/", server->port,
		 server->token);
	server->daemon =
		MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, server,
				 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				 (unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
				 (unsigned int)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				 (size_t)REQUEST_BYTES_MAX, MHD_OPTION_STRICT_FOR_CLIENT, 1,
				 MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
				 MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_END);
	if (server->daemon)
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
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		server->client[i].fd = -1;
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
	MHD_stop_daemon(server->daemon);
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
		MHD_run_wait(server->daemon, more > 0 ? 0 : 1000);
		end_slow(server);
	}
	return more < 0 ? more : 0;
}
