// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * kernlens-fleet: what of `kernlens ship` and `kernlens fleet` talks to servers. It is a program of
 * its own, so that the others need neither libnats nor libcurl, and started by those: its options
 * and what it prints are no interface.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

enum {
	KEY_SERVER = 256,
	KEY_CREDENTIALS,
	KEY_LOGIN,
	KEY_CA,
	KEY_CERTIFICATE,
	KEY_KEY,
	KEY_HOST,
	KEY_SPOOL,
	KEY_HEED,
	KEY_CONTROL,
	KEY_FIRST,
	KEY_OUTPUT,
	KEY_REASON,
	KEY_CAPTURE,
	KEY_PARTIAL,
	KEY_MOST,
	KEY_AGE,
	KEY_REPLICAS,
	KEY_WAIT,
	KEY_PROMETHEUS,
	KEY_QUERY,
};

static const struct option long_options[] = {
	{ "server", required_argument, NULL, KEY_SERVER },
	{ "credentials", required_argument, NULL, KEY_CREDENTIALS },
	{ "login-file", required_argument, NULL, KEY_LOGIN },
	{ "tls-ca", required_argument, NULL, KEY_CA },
	{ "tls-certificate", required_argument, NULL, KEY_CERTIFICATE },
	{ "tls-key", required_argument, NULL, KEY_KEY },
	{ "host", required_argument, NULL, KEY_HOST },
	{ "spool", required_argument, NULL, KEY_SPOOL },
	{ "heed", required_argument, NULL, KEY_HEED },
	{ "control", required_argument, NULL, KEY_CONTROL },
	{ "first", no_argument, NULL, KEY_FIRST },
	{ "output", required_argument, NULL, KEY_OUTPUT },
	{ "reason", required_argument, NULL, KEY_REASON },
	{ "capture", required_argument, NULL, KEY_CAPTURE },
	{ "partial", no_argument, NULL, KEY_PARTIAL },
	{ "max-size", required_argument, NULL, KEY_MOST },
	{ "max-age", required_argument, NULL, KEY_AGE },
	{ "replicas", required_argument, NULL, KEY_REPLICAS },
	{ "wait", required_argument, NULL, KEY_WAIT },
	{ "prometheus", required_argument, NULL, KEY_PROMETHEUS },
	{ "query", required_argument, NULL, KEY_QUERY },
	{},
};

/* Where the text of an option is kept; NULL: it is none of a text. */
static const char **text_option(struct fleet_options *options, int key)
{
	switch (key) {
	case KEY_SERVER:
		return &options->server;
	case KEY_CREDENTIALS:
		return &options->credentials;
	case KEY_LOGIN:
		return &options->login;
	case KEY_CA:
		return &options->ca;
	case KEY_CERTIFICATE:
		return &options->certificate;
	case KEY_KEY:
		return &options->key;
	case KEY_HOST:
		return &options->host;
	case KEY_SPOOL:
		return &options->spool;
	case KEY_HEED:
		return &options->heed;
	case KEY_PROMETHEUS:
		return &options->prometheus;
	case KEY_OUTPUT:
		return &options->output;
	case KEY_REASON:
		return &options->reason;
	case KEY_CAPTURE:
		return &options->capture;
	default:
		return NULL;
	}
}

static void take_option(struct fleet_options *options, int key)
{
	const char **text = text_option(options, key);

	if (text)
		*text = optarg;
	switch (key) {
	case KEY_CONTROL:
		options->control = atoi(optarg);
		break;
	case KEY_FIRST:
		options->first = true;
		break;
	case KEY_PARTIAL:
		options->partial = true;
		break;
	case KEY_MOST:
		options->most = strtoull(optarg, NULL, 10);
		break;
	case KEY_QUERY:
		if (options->n_queries < FLEET_QUERIES_MAX)
			options->query[options->n_queries++] = optarg;
		break;
	case KEY_AGE:
		options->age_s = strtoull(optarg, NULL, 10);
		break;
	case KEY_REPLICAS:
		options->replicas = (unsigned int)atoi(optarg);
		break;
	case KEY_WAIT:
		options->wait_ms = strtoull(optarg, NULL, 10);
		break;
	}
}

static int run(const char *what, const struct fleet_options *options)
{
	if (!strcmp(what, "agent"))
		return options->spool ? fleet_agent(options) : 2;
	if (!strcmp(what, "ls"))
		return fleet_list(options);
	if (!strcmp(what, "freeze"))
		return fleet_call(options, true);
	if (!strcmp(what, "status"))
		return fleet_call(options, false);
	if (!strcmp(what, "create"))
		return fleet_create(options);
	if (!strcmp(what, "get"))
		return options->capture && options->output ? fleet_get(options) : 2;
	if (!strcmp(what, "rm"))
		return options->capture ? fleet_remove(options) : 2;
	fleet_error("unknown subcommand \"%s\"", what);
	return 2;
}

int main(int argc, char **argv)
{
	struct fleet_options options = {
		.host = "*",
		.heed = "*",
		.reason = "",
		.control = -1,
		.replicas = 1,
		.wait_ms = 2000,
	};
	int key;

	if (argc < 2)
		return 2;
	while ((key = getopt_long(argc - 1, argv + 1, "", long_options, NULL)) != -1) {
		if (key == '?')
			return 2;
		take_option(&options, key);
	}
	if (!strcmp(argv[1], "query"))
		return options.prometheus ? fleet_query(&options) : 2;
	if (!options.server) {
		fleet_error("which server? (--server URL)");
		return 2;
	}
	return run(argv[1], &options);
}
