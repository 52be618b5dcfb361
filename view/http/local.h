/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server for one user's browser on this machine: it listens on the loopback address, and answers
 * only requests that have its token. The pages of kernlens view and kernlens blocks are served so.
 */
#ifndef KL_VIEW_HTTP_LOCAL_H
#define KL_VIEW_HTTP_LOCAL_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/buffer.h>

struct MHD_Connection;
struct http_local;

/**
 * struct http_answer - an answer
 * @status: of HTTP
 * @type: of the body
 * @body: its bytes
 */
struct http_answer {
	unsigned int status;
	const char *type;
	struct kl_buffer body;
};

/**
 * typedef http_local_fn - answer a request that has the token
 * @context: of the server
 * @name: what is requested, without the token; "": the page
 * @connection: for its arguments
 * @answer: filled in; its body is freed by the caller
 *
 * Returns 0, or a negative errno, after which there is no answer.
 */
typedef int (*http_local_fn)(void *context, const char *name, struct MHD_Connection *connection,
			     struct http_answer *answer);

/**
 * struct http_local_routes - what a server answers
 * @read: requests that change nothing: GET and HEAD
 * @change: requests that change something: POST, without a body; NULL: there are none
 * @context: of both
 */
struct http_local_routes {
	http_local_fn read;
	http_local_fn change;
	void *context;
};

/**
 * http_local_create - listen on the loopback address
 * @port: 0: any that is free
 * @routes: copied
 *
 * Returns NULL with errno: EADDRINUSE, EACCES (a port for root only), ENOMEM, or what the system
 * reported.
 */
struct http_local *http_local_create(uint16_t port, const struct http_local_routes *routes);

/**
 * http_local_destroy - stop serving
 * @server: or NULL
 */
void http_local_destroy(struct http_local *server);

/**
 * http_local_url - address of the page, with the token that every request must have
 * @server: server
 */
const char *http_local_url(const struct http_local *server);

/**
 * http_local_run - answer requests
 * @server: server
 * @wait_ms: how long to wait for one
 */
void http_local_run(struct http_local *server, int wait_ms);

/**
 * http_argument - an argument of a request's address
 * @connection: of the request
 * @name: its name
 *
 * Returns NULL if there is none.
 */
const char *http_argument(struct MHD_Connection *connection, const char *name);

/**
 * http_number - a decimal number of at most 18 digits among the arguments
 * @connection: of the request
 * @name: its name
 * @number: out
 *
 * Returns whether there is one.
 */
bool http_number(struct MHD_Connection *connection, const char *name, uint64_t *number);

/**
 * http_refuse - answer with an error, as JSON
 * @answer: filled in
 * @status: of HTTP
 * @text: the error
 *
 * Returns 0 or -ENOMEM.
 */
int http_refuse(struct http_answer *answer, unsigned int status, const char *text);

#endif /* KL_VIEW_HTTP_LOCAL_H */
