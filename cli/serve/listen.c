// SPDX-License-Identifier: GPL-2.0
/*
 * The sockets of kernlens serve: opens them, or takes those that the service manager passes, and
 * refuses to publish to other machines unless they prove who they are or the owner wants it so.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "serve.h"

static const struct http_limits limits = {
	.connections = 64,
	.per_peer = 16,
	.request_bytes = 16u << 10,
	.request_s = 10,
	.answer_s = 30,
};

/* Those of systemd come in addition to those of the command line. */
static int take_passed(struct cli_serve *s)
{
	for (unsigned int i = 0;; i++) {
		struct cli_serve_listener *listener = &s->listener[s->n_listeners];
		int fd;

		if (s->n_listeners == CLI_SERVE_LISTENERS)
			return CLI_OK;
		fd = http_address_passed(i, &listener->address);
		if (fd == -ENOENT)
			return CLI_OK;
		if (fd < 0)
			return cli_error(fd, "the service manager has passed a descriptor that is "
					     "no socket that listens");
		listener->passed = true;
		listener->fd = fd;
		s->n_listeners++;
	}
}

static int check_policy(const struct cli_serve *s, const struct http_address *address)
{
	const struct cli_serve_secrets *secrets = &s->secrets;

	if (http_address_is_local(address))
		return CLI_OK;
	if (secrets->token_file && !secrets->certificate)
		return cli_error(-EINVAL,
				 "%s: other machines would send the token in plain text; "
				 "--tls-certificate is required",
				 address->text);
	if (!s->public && !secrets->token_file && !secrets->client_ca)
		return cli_error(-EINVAL,
				 "%s: other machines can reach this address; use --token-file or "
				 "--tls-client-ca, or --public if everybody may read the figures",
				 address->text);
	return CLI_OK;
}

int cli_serve_open_listeners(struct cli_serve *s)
{
	int status = take_passed(s);

	if (!status && !s->n_listeners)
		cli_usage_error(s->self, "nothing to listen on; use --listen :PORT, for example");
	for (size_t i = 0; i < s->n_listeners && !status; i++)
		status = check_policy(s, &s->listener[i].address);
	for (size_t i = 0; i < s->n_listeners && !status; i++) {
		struct cli_serve_listener *listener = &s->listener[i];

		listener->serve = s;
		if (!listener->passed)
			listener->fd = http_address_listen(&listener->address);
		if (listener->fd < 0)
			status = cli_error(listener->fd, "cannot listen on %s: %s",
					   listener->address.text, strerror(-listener->fd));
	}
	return status;
}

int cli_serve_start_listeners(struct cli_serve *s)
{
	struct http_tls tls = cli_serve_tls(&s->secrets);

	for (size_t i = 0; i < s->n_listeners; i++) {
		struct cli_serve_listener *listener = &s->listener[i];

		listener->http = http_server_create(listener->fd, &limits,
						    s->secrets.certificate ? &tls : NULL,
						    cli_serve_answer, listener);
		if (!listener->http)
			return cli_error(-errno, "%s",
					 errno == EINVAL ? "the certificate and the key are not "
							   "valid, or do not belong together" :
							   strerror(errno));
		listener->fd = -1;
		if (cli_settings.json)
			printf("{\"listening\":\"%s\"}\n", listener->address.text);
		else
			cli_note("listening on %s%s", listener->address.text,
				 s->secrets.certificate ? " with TLS" : "");
		fflush(stdout);
	}
	return CLI_OK;
}

void cli_serve_close_listeners(struct cli_serve *s)
{
	for (size_t i = 0; i < s->n_listeners; i++) {
		struct cli_serve_listener *listener = &s->listener[i];

		if (listener->http && !listener->passed)
			http_address_remove(&listener->address);
		http_server_destroy(listener->http);
		if (!listener->http && listener->fd >= 0)
			close(listener->fd);
	}
}
