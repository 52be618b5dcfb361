/* SPDX-License-Identifier: GPL-2.0 */
/* Who may have an answer: tokens, and pages of other sites in a browser. */
#ifndef KL_VIEW_HTTP_ACCESS_H
#define KL_VIEW_HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;

#define HTTP_TOKEN_MIN 16
#define HTTP_TOKEN_MAX 512

/**
 * struct http_token - a token that requests must have
 * @text: its characters; all bytes after them are 0
 */
struct http_token {
	char text[HTTP_TOKEN_MAX + 1];
	size_t length;
};

/**
 * http_token_parse - take the token from the contents of a file
 * @token: filled in
 * @text: one line; blanks around it do not belong to the token
 * @length: of @text
 * @why: set to what is wrong
 *
 * Returns 0 or -EINVAL.
 */
int http_token_parse(struct http_token *token, const char *text, size_t length, const char **why);

/**
 * http_token_is - is a text the token?
 * @token: token
 * @text: any
 * @length: of @text
 *
 * The time that this takes does not depend on where they differ.
 */
bool http_token_is(const struct http_token *token, const char *text, size_t length);

/**
 * http_token_is_bearer - does a request have the token?
 * @token: token
 * @header: value of its header "Authorization"; NULL: none
 */
bool http_token_is_bearer(const struct http_token *token, const char *header);

/**
 * http_is_loopback_host - is a request addressed to this machine itself?
 * @host: value of its header "Host"; NULL: none
 * @port: where it was received
 *
 * Other names of the address could be a site's, whose scripts would then be allowed to read what
 * the server answers.
 */
bool http_is_loopback_host(const char *host, uint16_t port);

/**
 * http_is_plain_host - is a request addressed to a number, to localhost or to this machine's name?
 * @host: as above, with any port
 *
 * None of these can be the name of another's site.
 */
bool http_is_plain_host(const char *host);

/* Does a browser say that a page of another site has made the request? */
bool http_is_cross_site(struct MHD_Connection *connection);

#endif /* KL_VIEW_HTTP_ACCESS_H */
