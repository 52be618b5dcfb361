// SPDX-License-Identifier: GPL-2.0
/*
 * The HTTP server: libmicrohttpd without threads, and the limits that it does not have itself: how
 * long a request or an answer may take as a whole, and connections of one user. Fed by sockets;
 * answers come from the page of a trace and from kernlens serve.
 */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

/* Nothing older than TLS 1.2. */
#define PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
/* Of a connection without a byte; a request as a whole has `request_s`. */
#define IDLE_SECONDS 10

/**
 * struct client - a connection
 * @fd: -1: none
 * @since: when its request began, or its answer
 * @peer: what identifies its peer
 */
struct client {
	int fd;
	time_t since;
	bool answered;
	struct {
		sa_family_t family;
		unsigned char bytes[16];
	} peer;
};

/**
 * struct http_server - a server
 * @daemon: accepts connections; @old: only ends those that it has, until @old_until
 * @old_fd: socket of @old
 */
struct http_server {
	struct http_limits limits;
	http_answer_fn answer;
	void *context;
	struct MHD_Daemon *daemon, *old;
	time_t old_until;
	int fd, old_fd;
	struct http_counts counts;
	/* Twice: those of @old, too. */
	struct client client[2 * HTTP_CONNECTIONS_MAX];
};

static time_t seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* -------------------------------------------------------------------- clients */

static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static struct client *client_of(struct http_server *server, int fd)
{
	for (size_t i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++)
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

/* The address without the port, or the user on the other end of a Unix socket. */
static void identify(struct client *client)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	struct ucred user = { 0 };
	socklen_t bytes = sizeof(user);

	memset(&client->peer, 0, sizeof(client->peer));
	if (getpeername(client->fd, (struct sockaddr *)&address, &length))
		return;
	client->peer.family = address.ss_family;
	if (address.ss_family == AF_INET)
		memcpy(client->peer.bytes, &((struct sockaddr_in *)&address)->sin_addr, 4);
	else if (address.ss_family == AF_INET6)
		memcpy(client->peer.bytes, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
	else if (!getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &user, &bytes))
		memcpy(client->peer.bytes, &user.uid, sizeof(user.uid));
}

static bool is_peer(const struct client *a, const struct client *b)
{
	return a->peer.family == b->peer.family &&
	       !memcmp(a->peer.bytes, b->peer.bytes, sizeof(a->peer.bytes));
}

static unsigned int connections_of(const struct http_server *server, const struct client *peer)
{
	unsigned int n = 0;

	for (size_t i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++)
		n += server->client[i].fd >= 0 && is_peer(&server->client[i], peer);
	return n;
}

static void begin_client(struct http_server *server, int fd)
{
	struct client *client = client_of(server, -1);

	if (!client)
		return;
	client->fd = fd;
	server->counts.connections++;
	begin_phase(client, false);
	identify(client);
	if (server->limits.per_peer && connections_of(server, client) > server->limits.per_peer) {
		server->counts.refused++;
		shutdown(fd, SHUT_RDWR);
	}
}

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = context;
	struct client *client;

	(void)own;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		begin_client(server, fd_of(connection));
		return;
	}
	client = client_of(server, fd_of(connection));
	if (!client)
		return;
	client->fd = -1;
	server->counts.connections--;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **own,
			 enum MHD_RequestTerminationCode code)
{
	*own = NULL;
	(void)code;
	begin_phase(client_of(context, fd_of(connection)), false);
}

/* Does a request come with a body, or may it? */
static bool has_body(struct MHD_Connection *connection)
{
	const char *length = http_header(connection, "Content-Length");

	return http_header(connection, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

/* Is a request read to its end before it is answered? */
static bool is_read(const struct http_server *server, struct MHD_Connection *connection,
		    const char *method)
{
	if (!strcmp(method, "GET") || !strcmp(method, "HEAD"))
		return true;
	return server->limits.posts && !strcmp(method, "POST") && !has_body(connection);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **own)
{
	struct http_server *server = context;

	(void)version;
	(void)upload;
	/*
	 * The first call comes before a body. An answer to it ends the connection, which is right
	 * for methods that are not allowed. What others send as a body is dropped.
	 */
	if (!*own && is_read(server, connection, method)) {
		*own = server;
		return MHD_YES;
	}
	if (!*own && server->limits.posts && !strcmp(method, "POST"))
		return http_send(connection, MHD_HTTP_CONTENT_TOO_LARGE, NULL, NULL, 0) == MHD_YES ?
			       MHD_YES :
			       MHD_NO;
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	begin_phase(client_of(server, fd_of(connection)), true);
	return server->answer(server->context, connection, url, method) == MHD_YES ? MHD_YES :
										     MHD_NO;
}

/*
 * End connections that take too long, even if a byte comes now and then. What the kernel still has
 * to send is dropped, too: a slow reader would keep it for long.
 */
static void end_slow(struct http_server *server)
{
	const struct http_limits *limits = &server->limits;
	const struct linger drop = { .l_onoff = 1 };
	const time_t now = seconds_now();

	for (size_t i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++) {
		struct client *client = &server->client[i];
		time_t most = (time_t)(client->answered ? limits->answer_s : limits->request_s);

		if (client->fd < 0 || now - client->since <= most)
			continue;
		server->counts.cut++;
		setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &drop, sizeof(drop));
		shutdown(client->fd, SHUT_RDWR);
		/* It is gone at the next turn; what is not, is not counted again each time. */
		client->since = now;
	}
}

/* -------------------------------------------------------------------- answers */

const char *http_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

int http_send(struct MHD_Connection *connection, unsigned int status,
	      const char *const headers[][2], void *body, size_t length)
{
	static const char *const always[][2] = {
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
	for (size_t i = 0; headers && headers[i][0]; i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		MHD_add_response_header(response, always[i][0], always[i][1]);
	if (status >= MHD_HTTP_BAD_REQUEST)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

bool http_has_client_certificate(struct MHD_Connection *connection)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned int status = ~0u, n = 0;
	gnutls_session_t session;

	if (!info || !info->tls_session)
		return false;
	session = (gnutls_session_t)info->tls_session;
	return gnutls_certificate_get_peers(session, &n) && n &&
	       !gnutls_certificate_verify_peers(session, &purpose, 1, &status) && !status;
}

/* ------------------------------------------------------------------- creation */

/* Add an option; @n: number of those before it. */
static void add_option(struct MHD_OptionItem *items, size_t *n, enum MHD_OPTION option,
		       intptr_t value, const void *pointer)
{
	items[(*n)++] = (struct MHD_OptionItem){ option, value, (void *)(uintptr_t)pointer };
}

static struct MHD_Daemon *start(struct http_server *server, int fd, const struct http_tls *tls)
{
	const struct http_limits *limits = &server->limits;
	struct MHD_OptionItem items[16];
	size_t n = 0;

	add_option(items, &n, MHD_OPTION_LISTEN_SOCKET, fd, NULL);
	add_option(items, &n, MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limits->connections, NULL);
	add_option(items, &n, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL);
	add_option(items, &n, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)limits->request_bytes,
		   NULL);
	add_option(items, &n, MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
	add_option(items, &n, MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server);
	add_option(items, &n, MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server);
	if (tls) {
		add_option(items, &n, MHD_OPTION_HTTPS_PRIORITIES, 0, PRIORITIES);
		add_option(items, &n, MHD_OPTION_HTTPS_MEM_CERT, 0, tls->certificate);
		add_option(items, &n, MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key);
	}
	if (tls && tls->client_ca)
		add_option(items, &n, MHD_OPTION_HTTPS_MEM_TRUST, 0, tls->client_ca);
	add_option(items, &n, MHD_OPTION_END, 0, NULL);
	return MHD_start_daemon(MHD_USE_EPOLL | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request,
				server, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
}

struct http_server *http_server_create(int fd, const struct http_limits *limits,
				       const struct http_tls *tls, http_answer_fn answer,
				       void *context)
{
	struct http_server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->limits = *limits;
	if (server->limits.connections > HTTP_CONNECTIONS_MAX)
		server->limits.connections = HTTP_CONNECTIONS_MAX;
	server->counts.most = server->limits.connections;
	server->answer = answer;
	server->context = context;
	for (size_t i = 0; i < 2 * HTTP_CONNECTIONS_MAX; i++)
		server->client[i].fd = -1;
	server->old_fd = -1;
	server->daemon = start(server, fd, tls);
	server->fd = fd;
	if (server->daemon)
		return server;
	free(server);
	errno = tls ? EINVAL : ENOMEM;
	return NULL;
}

static void end_old(struct http_server *server)
{
	if (server->old)
		MHD_stop_daemon(server->old);
	if (server->old_fd >= 0)
		close(server->old_fd);
	server->old = NULL;
	server->old_fd = -1;
}

void http_server_destroy(struct http_server *server)
{
	if (!server)
		return;
	end_old(server);
	MHD_stop_daemon(server->daemon);
	free(server);
}

int http_server_replace(struct http_server *server, const struct http_tls *tls)
{
	int fd = fcntl(server->fd, F_DUPFD_CLOEXEC, 0);
	struct MHD_Daemon *daemon = fd < 0 ? NULL : start(server, fd, tls);

	if (!daemon) {
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	end_old(server);
	server->old = server->daemon;
	/* It gives its socket back, open. */
	server->old_fd = MHD_quiesce_daemon(server->old);
	server->old_until = seconds_now() + (time_t)server->limits.answer_s;
	server->daemon = daemon;
	server->fd = fd;
	return 0;
}

/* -------------------------------------------------------------------- running */

static int epoll_of(struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info =
		daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return info ? info->epoll_fd : -1;
}

void http_server_fds(const struct http_server *server, int fds[2])
{
	fds[0] = epoll_of(server->daemon);
	fds[1] = epoll_of(server->old);
}

static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

int http_server_wait_ms(const struct http_server *server, int most)
{
	struct MHD_Daemon *const daemons[] = { server->daemon, server->old };
	int wait = sooner(most, server->counts.connections || server->old ? 1000 : -1);
	MHD_UNSIGNED_LONG_LONG ms;

	for (int i = 0; i < 2; i++)
		if (daemons[i] && MHD_get_timeout(daemons[i], &ms) == MHD_YES)
			wait = sooner(wait, ms > 1000 ? 1000 : (int)ms);
	return wait;
}

void http_server_run(struct http_server *server, int wait_ms)
{
	MHD_run_wait(server->daemon, wait_ms);
	if (server->old) {
		const union MHD_DaemonInfo *info =
			MHD_get_daemon_info(server->old, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

		MHD_run_wait(server->old, 0);
		if (!info || !info->num_connections || seconds_now() > server->old_until)
			end_old(server);
	}
	end_slow(server);
}

struct http_counts http_server_counts(const struct http_server *server)
{
	return server->counts;
}
