// SPDX-License-Identifier: GPL-2.0
/* The command kernlens: the options before the subcommand. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/common.h"
#include "base/config.h"
#include "base/output.h"
#include "commands.h"

static int print_version(void)
{
	if (cli_settings.json)
		return cli_json_write(
			json_pack("{s:s, s:i}", "version", KL_VERSION, "abi", KL_ABI_VERSION));
	printf("kernlens %s\n", KL_VERSION);
	return CLI_OK;
}

/* The options before the subcommand are parsed as if main were one itself. */
static const struct cli_option main_options[] = {
	{ 'V', "version", NULL, "show the version" },
	{},
};

static const struct cli_command_ops main_ops = {
	.options = main_options,
	.runs_command = true,
	.print_help = cli_print_overview,
};

static const struct cli_command main_command = { .name = "", .ops = &main_ops };

int main(int argc, char **argv)
{
	struct cli_parser parser;
	bool version = false;
	int status;

	setlocale(LC_CTYPE, "");
	cli_config_init(cli_commands);
	cli_parser_init(&parser, &main_command, argc, argv);
	while (cli_parse(&parser))
		version = true;
	if (version) {
		status = print_version();
	} else if (!parser.n_words) {
		cli_print_overview();
		status = CLI_USAGE;
	} else {
		const struct cli_command *command = cli_find_command(parser.words[0]);

		status = command->ops->exec(command, parser.n_words, parser.words);
	}
	if (cli_finish_output() && status == CLI_OK)
		status = CLI_FAILED;
	return status;
}
