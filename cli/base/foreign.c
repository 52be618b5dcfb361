// SPDX-License-Identifier: GPL-2.0
/* Answers to subcommands and options of other tools (foreign.def). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "foreign.h"

#define CLI_FOREIGN_OPTION(commands, option, answer)
static const struct {
	const char *word;
	const char *answer;
} commands[] = {
#define CLI_FOREIGN_COMMAND(word, answer) { word, answer },
#include "foreign.def"
	{},
};

#undef CLI_FOREIGN_COMMAND
#undef CLI_FOREIGN_OPTION
#define CLI_FOREIGN_COMMAND(word, answer)
static const struct {
	const char *commands;
	const char *option;
	const char *answer;
} options[] = {
#define CLI_FOREIGN_OPTION(commands, option, answer) { commands, option, answer },
#include "foreign.def"
	{},
};

const char *cli_foreign_command(const char *word)
{
	for (size_t i = 0; commands[i].word; i++)
		if (!strcmp(commands[i].word, word))
			return commands[i].answer;
	return NULL;
}

/* Is a word among others, which are separated by a space? */
static bool is_among(const char *word, const char *words)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at++)
		if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

const char *cli_foreign_option(const struct cli_command *command, const char *option)
{
	const char *name = *command->name ? command->name : "kernlens";

	for (size_t i = 0; options[i].option; i++)
		if (!strcmp(options[i].option, option) && is_among(name, options[i].commands))
			return options[i].answer;
	return NULL;
}

bool cli_is_program(const char *word)
{
	const char *path = getenv("PATH");
	char *folders, *folder;

	if (strchr(word, '/'))
		return !access(word, X_OK);
	folders = strdupa(path ? path : "");
	while ((folder = strsep(&folders, ":")))
		if (!access(cli_format("%s/%s", folder, word), X_OK))
			return true;
	return false;
}
