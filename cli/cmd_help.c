// SPDX-License-Identifier: GPL-2.0
/* kernlens help: print the usage texts, and the lists that shell completion reads. */
#include <stdio.h>
#include <string.h>

#include "base/common.h"
#include "base/output.h"
#include "commands.h"

enum {
	KEY_OPTIONS = CLI_KEY_OWN,
	KEY_COMMANDS,
};

static const struct cli_option options[] = {
	{ KEY_COMMANDS, "commands", NULL, "print only the names of the subcommands" },
	{ KEY_OPTIONS, "options", NULL, "print the options of COMMAND (= takes an argument)" },
	{},
};

static void print_names(const struct cli_option *option)
{
	for (; option && option->name; option++) {
		const char *argument = cli_takes_word(option) ? "=" : "";

		if (option->key < 256)
			printf("-%c%s\n", option->key, argument);
		printf("--%s%s\n", option->name, argument);
	}
}

static int exec_help(const struct cli_command *self, int argc, char **argv)
{
	const struct cli_command *command = NULL;
	bool only_options = false, only_commands = false;
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		only_options |= key == KEY_OPTIONS;
		only_commands |= key == KEY_COMMANDS;
	}
	if (parser.n_words > 1)
		cli_usage_error(self, "too many arguments; expected one command");
	if (parser.n_words)
		command = cli_find_command(parser.words[0]);
	if (only_options && !command)
		cli_usage_error(self, "--options requires a command");
	if (only_commands) {
		for (const struct cli_command *c = cli_commands; c->name; c++)
			puts(c->name);
	} else if (only_options) {
		print_names(command->ops->shared);
		print_names(command->ops->options);
		print_names(cli_common_options);
	} else {
		cli_start_pager();
		if (command)
			cli_print_usage(command);
		else
			cli_print_overview();
	}
	return CLI_OK;
}

const struct cli_command_ops cmd_help = {
	.options = options,
	.text = "Without COMMAND, lists all subcommands.\n",
	.survives_config = true,
	.exec = exec_help,
};
