// SPDX-License-Identifier: GPL-2.0
/* The table of subcommands. */
#include <stdio.h>
#include <string.h>
#include <kernlens/near.h>

#include "base/foreign.h"
#include "base/output.h"
#include "commands.h"

const struct cli_command cli_commands[] = {
#define CLI_COMMAND(name, args, help) { #name, args, help, &cmd_##name },
#include "commands.def"
#undef CLI_COMMAND
	{},
};

/**
 * cli_print_overview - print all subcommands
 */
void cli_print_overview(void)
{
	const char *bold = cli_style(stdout, CLI_BOLD), *plain = cli_style(stdout, CLI_PLAIN);

	printf("%susage:%s kernlens [--json] [--no-pager] [--no-config] [--color WHEN]\n"
	       "                COMMAND [ARGUMENT...]\n"
	       "       kernlens --version\n\n"
	       "kernlens traces and profiles the Linux kernel.\n\n",
	       bold, plain);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		printf("  %s%-8s%s %s\n", bold, c->name, plain, c->help);
	printf("\n%sexamples:%s\n"
	       "  kernlens record -- make         record a command and its children\n"
	       "  kernlens report DIR             summarize the trace\n"
	       "  kernlens print DIR              print it as text, CSV, JSON or like strace\n"
	       "  kernlens live -p PID            watch a running process\n"
	       "  kernlens stat -e sched -- make  count events\n"
	       "  kernlens list                   list the events\n\n"
	       "See also: kernlens help COMMAND, man kernlens\n",
	       bold, plain);
}

/**
 * cli_find_command - find a subcommand by name
 * @name: as typed; if unknown, the program prints a suggestion and exits
 */
const struct cli_command *cli_find_command(const char *name)
{
	const char *answer = cli_foreign_command(name);
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
		kl_near_offer(&near, c->name);
	}
	if (answer)
		cli_usage_error(NULL, "unknown command \"%s\"; %s", name, answer);
	if (near.best)
		cli_usage_error(NULL, "unknown command \"%s\"; did you mean \"%s\"?", name,
				near.best);
	if (cli_is_program(name))
		cli_usage_error(
			NULL,
			"unknown command \"%s\"; to trace a program, use kernlens record -- %s",
			name, name);
	cli_usage_error(NULL, "unknown command \"%s\"", name);
}
