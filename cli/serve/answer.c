// SPDX-License-Identifier: GPL-2.0
/*
 * Answers requests: who may have an answer, and which. Nothing is read from the kernel for a
 * request that is refused.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "serve.h"

#define PLAIN "text/plain; charset=utf-8"

static void count_code(struct cli_serve *s, unsigned int code)
{
	size_t i = 0;

	while (i < CLI_SERVE_CODES - 1 && s->codes[i] && s->codes[i] != code)
		i++;
	if (!s->codes[i])
		s->codes[i] = code;
	s->code_n[i]++;
}

static int reply(struct cli_serve *s, struct MHD_Connection *connection, unsigned int code,
		 const char *const more[2], const char *type, const char *text, size_t length)
{
	char *body = malloc(length + 1);
	const char *const headers[][2] = {
		{ "Content-Type", type },
		{ "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
		{ more ? more[0] : NULL, more ? more[1] : NULL },
		{ NULL, NULL },
	};

	count_code(s, code);
	if (!body)
		return MHD_NO;
	memcpy(body, text, length);
	s->sent += length;
	return http_send(connection, code, headers, body, length);
}

static int send_text(struct cli_serve *s, struct MHD_Connection *connection, unsigned int code,
		     const char *const more[2], const char *text)
{
	return reply(s, connection, code, more, PLAIN, text, strlen(text));
}

static int send_figures(struct cli_serve *s, struct MHD_Connection *connection)
{
	static const char *const vary[] = { "Vary", "Accept" };
	enum kl_metrics_format format = kl_metrics_accepted(http_header(connection, "Accept"));
	const struct kl_buffer *text = cli_serve_figures(s, format);

	if (!text)
		return send_text(s, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL,
				 "out of memory\n");
	return reply(s, connection, MHD_HTTP_OK, vary, kl_metrics_content_type(format), text->data,
		     text->length);
}

/*
 * Nobody is identified here: only this machine can connect, or the owner has made the figures
 * public. A browser is refused if the page of another site has made it connect.
 */
static bool is_misled(const struct cli_serve *s, const struct cli_serve_listener *listener,
		      struct MHD_Connection *connection)
{
	if (http_is_cross_site(connection))
		return true;
	if (listener->address.of.ss_family == AF_UNIX || s->secrets.token_file ||
	    s->secrets.client_ca)
		return false;
	return !http_is_plain_host(http_header(connection, "Host"));
}

int cli_serve_answer(void *context, struct MHD_Connection *connection, const char *url,
		     const char *method)
{
	static const char *const allow[] = { "Allow", "GET, HEAD" };
	static const char *const bearer[] = { "WWW-Authenticate", "Bearer" };
	struct cli_serve_listener *listener = context;
	struct cli_serve *s = listener->serve;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_text(s, connection, MHD_HTTP_METHOD_NOT_ALLOWED, allow,
				 "only GET and HEAD are allowed\n");
	if (s->secrets.client_ca && !http_has_client_certificate(connection))
		return send_text(s, connection, MHD_HTTP_FORBIDDEN, NULL,
				 "a certificate of the client is required\n");
	if (s->secrets.token_file &&
	    !http_token_is_bearer(&s->secrets.token, http_header(connection, "Authorization")))
		return send_text(s, connection, MHD_HTTP_UNAUTHORIZED, bearer,
				 "a token is required\n");
	if (is_misled(s, listener, connection))
		return send_text(s, connection, MHD_HTTP_FORBIDDEN, NULL,
				 "use the number of the address, or localhost\n");
	if (!strcmp(url, "/metrics"))
		return send_figures(s, connection);
	if (!strcmp(url, "/"))
		return send_text(s, connection, MHD_HTTP_OK, NULL,
				 "kernlens serve: the figures are at /metrics\n");
	return send_text(s, connection, MHD_HTTP_NOT_FOUND, NULL, "there is only /metrics\n");
}
