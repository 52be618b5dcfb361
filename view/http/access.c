// SPDX-License-Identifier: GPL-2.0
/* Who may have an answer: compares tokens in constant time, and checks what browsers send. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "access.h"
#include "http.h"

#define SCHEME "Bearer"

int http_token_parse(struct http_token *token, const char *text, size_t length, const char **why)
{
	while (length && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	memset(token, 0, sizeof(*token));
	*why = "a token has 16 to 512 letters, digits or signs, without blanks";
	if (length < HTTP_TOKEN_MIN || length > HTTP_TOKEN_MAX)
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return -EINVAL;
	memcpy(token->text, text, length);
	token->length = length;
	return 0;
}

bool http_token_is(const struct http_token *token, const char *text, size_t length)
{
	char given[HTTP_TOKEN_MAX] = { 0 };
	bool same;

	if (length > HTTP_TOKEN_MAX)
		return false;
	memcpy(given, text, length);
	/* Always all of it: this function's time depends on the number of bytes only. */
	same = !gnutls_memcmp(given, token->text, sizeof(given));
	return same && length == token->length;
}

bool http_token_is_bearer(const struct http_token *token, const char *header)
{
	const size_t scheme = sizeof(SCHEME) - 1;

	if (!header || strncasecmp(header, SCHEME, scheme) || header[scheme] != ' ')
		return false;
	header += scheme + strspn(header + scheme, " ");
	return http_token_is(token, header, strlen(header));
}

bool http_is_loopback_host(const char *host, uint16_t port)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char known[64];

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		/* Browsers leave out the port of HTTP. */
		snprintf(known, sizeof(known), "%s:%u", names[i], port);
		if (!strcmp(host, known) || (port == 80 && !strcmp(host, names[i])))
			return true;
	}
	return false;
}

bool http_is_plain_host(const char *host)
{
	char name[256], own[256] = "";
	unsigned char number[16];
	size_t length;

	if (!host)
		return false;
	if (*host == '[') {
		length = strcspn(host + 1, "]");
		if (length >= sizeof(name) || host[length + 1] != ']')
			return false;
		memcpy(name, host + 1, length);
		name[length] = 0;
		return inet_pton(AF_INET6, name, number) == 1;
	}
	length = strcspn(host, ":");
	if (length >= sizeof(name))
		return false;
	memcpy(name, host, length);
	name[length] = 0;
	if (gethostname(own, sizeof(own) - 1))
		own[0] = 0;
	return !strcasecmp(name, "localhost") || (*own && !strcasecmp(name, own)) ||
	       inet_pton(AF_INET, name, number) == 1;
}

bool http_is_cross_site(struct MHD_Connection *connection)
{
	const char *site = http_header(connection, "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}
