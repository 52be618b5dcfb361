/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An HTTP server for untrusted clients, in the caller's thread: the page of a trace and kernlens
 * serve answer requests with it. What clients may cost is bounded: connections, in all and of one
 * peer, the size of requests, and the time that requests and answers take.
 */
#ifndef KL_VIEW_HTTP_H
#define KL_VIEW_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;
struct http_server;

/* Maximum of struct http_limits.connections. */
#define HTTP_CONNECTIONS_MAX 256

/**
 * struct http_limits - what clients may cost
 * @connections: maximum number of connections; further ones wait
 * @per_peer: of these, of one address or, on a Unix socket, of one user; 0: no limit
 * @request_bytes: memory for the head of a request
 * @request_s: from the connection, or the previous answer, to the end of a request's head
 * @answer_s: to send an answer
 * @posts: requests of the method POST are read to their end, as those of GET are; one with a body
 *         is refused
 */
struct http_limits {
	unsigned int connections;
	unsigned int per_peer;
	size_t request_bytes;
	unsigned int request_s;
	unsigned int answer_s;
	bool posts;
};

/**
 * struct http_tls - TLS, as texts in PEM format
 * @certificate: of the server, and those that link it to its authority
 * @key: its private key
 * @client_ca: authorities of clients, or NULL: clients need no certificate
 */
struct http_tls {
	const char *certificate;
	const char *key;
	const char *client_ca;
};

/**
 * struct http_counts - what has happened
 * @connections: open connections
 * @most: maximum number of these
 * @refused: connections of peers that had too many
 * @cut: connections that took too long
 */
struct http_counts {
	unsigned int connections;
	unsigned int most;
	uint64_t refused;
	uint64_t cut;
};

/**
 * typedef http_answer_fn - answer a request
 * @context: of the server
 * @connection: for http_send()
 * @url: path of the request
 * @method: "GET" ...
 *
 * Returns what http_send() has returned.
 */
typedef int (*http_answer_fn)(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method);

/**
 * http_server_create - answer requests on a socket that listens
 * @fd: socket, not blocking; belongs to the server from now on
 * @limits: limits
 * @tls: or NULL
 * @answer: called for each request
 * @context: for @answer
 *
 * Returns NULL with errno: ENOMEM, or EINVAL (the certificate and the key are invalid or do not
 * belong together); @fd is then still the caller's.
 */
struct http_server *http_server_create(int fd, const struct http_limits *limits,
				       const struct http_tls *tls, http_answer_fn answer,
				       void *context);

/**
 * http_server_destroy - end all connections, and close the socket
 * @server: or NULL
 */
void http_server_destroy(struct http_server *server);

/**
 * http_server_replace - serve new connections with other certificates
 * @server: server
 * @tls: new certificates
 *
 * Requests that are being answered go on for up to `answer_s`. Returns 0, or a negative errno, as
 * errno of http_server_create(); nothing has changed then.
 */
int http_server_replace(struct http_server *server, const struct http_tls *tls);

/**
 * http_server_fds - descriptors that become readable when there is something to do
 * @server: server
 * @fds: filled in; -1: none
 */
void http_server_fds(const struct http_server *server, int fds[2]);

/**
 * http_server_wait_ms - when http_server_run() must be called at the latest
 * @server: server
 * @most: milliseconds until something else must be done; -1: nothing
 *
 * Returns milliseconds from now, at most @most; -1: not before a descriptor is readable.
 */
int http_server_wait_ms(const struct http_server *server, int most);

/**
 * http_server_run - do what can be done now
 * @server: server
 * @wait_ms: how long to wait for something to do
 */
void http_server_run(struct http_server *server, int wait_ms);

/**
 * http_server_counts - what has happened since the server was created
 * @server: server
 */
struct http_counts http_server_counts(const struct http_server *server);

/**
 * http_send - send an answer
 * @connection: of the request
 * @status: HTTP status
 * @headers: names and values, terminated by a NULL name; or NULL
 * @body: from malloc(), freed when it has been sent; or NULL
 * @length: of @body
 *
 * Its headers forbid browsers to store it or to guess its type. Of an error status, the connection
 * is closed. Returns what the caller of http_answer_fn needs.
 */
int http_send(struct MHD_Connection *connection, unsigned int status,
	      const char *const headers[][2], void *body, size_t length);

/**
 * http_header - a header of a request
 * @connection: of the request
 * @name: its name
 *
 * Returns NULL if there is none.
 */
const char *http_header(struct MHD_Connection *connection, const char *name);

/**
 * http_has_client_certificate - has the client shown a certificate of the client_ca?
 * @connection: of a request
 */
bool http_has_client_certificate(struct MHD_Connection *connection);

#endif /* KL_VIEW_HTTP_H */
