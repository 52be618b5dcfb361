// SPDX-License-Identifier: GPL-2.0
/* Serving a page: what ends it, and where it is. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "served.h"

static atomic_bool stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = true;
}

void cli_stop_on_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* As nohup(1) has it ignored. */
	if (sigaction(SIGHUP, NULL, &before) || before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

bool cli_is_stopped(void)
{
	return stopped;
}

int cli_print_url(const char *url)
{
	if (cli_settings.json)
		return cli_json_write(json_pack("{s:s}", "url", url));
	printf("%s\n", url);
	if (fflush(stdout))
		return cli_error(-errno, "%s", strerror(errno));
	cli_note("open this address in a browser on this machine; Ctrl-C ends");
	return CLI_OK;
}
