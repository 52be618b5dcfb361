/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A subcommand is a row of commands.def, described by its own file. Options are rows of a table,
 * too, so that usage texts, suggestions and completion come from one place.
 */
#ifndef KL_CLI_BASE_CLI_H
#define KL_CLI_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_CANNOT_RUN = 126,
	CLI_NO_COMMAND = 127,
};

/* Keys of options without a letter; subcommands continue from CLI_KEY_OWN. */
enum cli_key {
	CLI_KEY_JSON = 256,
	CLI_KEY_NO_PAGER,
	CLI_KEY_NO_CONFIG,
	CLI_KEY_COLOR,
	CLI_KEY_DURATION,
	CLI_KEY_BUFFER,
	CLI_KEY_NAME,
	CLI_KEY_NO_DEMANGLE,
	CLI_KEY_CGROUP,
	CLI_KEY_UNIT,
	CLI_KEY_CONTAINER,
	CLI_KEY_OWN,
};

/**
 * struct cli_option - an option of a subcommand
 * @key: its letter, or a number from CLI_KEY_OWN on
 * @name: long name, without "--"
 * @arg: placeholder of its argument; NULL: it takes none; "[=NAME]": it may be left out
 * @help: one line
 */
struct cli_option {
	int key;
	const char *name;
	const char *arg;
	const char *help;
};

/* Is the word after the option its argument, unless one is given with "="? */
static inline bool cli_takes_word(const struct cli_option *option)
{
	return option->arg && *option->arg != '[';
}

struct cli_command;

/**
 * struct cli_command_ops - what a subcommand does
 * @text: rest of the usage text, following the options
 * @options: terminated by a row without a name; NULL: only the common ones
 * @shared: further options, shared with other subcommands; or NULL
 * @survives_config: works without configuration files if these are wrong
 * @runs_command: the words after the options are a command with options of its own
 * @print_help: prints what --help prints instead of the usage text; or NULL
 * @exec: runs it; argv[0] is the subcommand. Returns the exit status
 */
struct cli_command_ops {
	const char *text;
	const struct cli_option *options;
	const struct cli_option *shared;
	bool survives_config;
	bool runs_command;
	void (*print_help)(void);
	int (*exec)(const struct cli_command *command, int argc, char **argv);
};

/**
 * struct cli_command - a subcommand, a row of commands.def
 * @name: as typed
 * @args: synopsis, following the name
 * @help: one line
 * @ops: the rest, in a file of its own
 */
struct cli_command {
	const char *name;
	const char *args;
	const char *help;
	const struct cli_command_ops *ops;
};

#define CLI_COMMAND(name, args, help) extern const struct cli_command_ops cmd_##name;
#include "../commands.def"
#undef CLI_COMMAND

/* Options common to all subcommands. */
extern const struct cli_option cli_common_options[];

/**
 * struct cli_parser - state of parsing a command line
 * @command: subcommand whose options are parsed
 * @config: the configuration, or NULL
 * @applies: for each of its entries: it counts here; @next: the next one
 * @argv: words; non-options are moved to the front
 * @arg: argument of the option just returned
 * @words: the non-option words, or the command to run
 * @n_words: number of them; complete when cli_parse() has returned 0
 * @n_before: number of words before "--"; -1: there is none
 */
struct cli_parser {
	const struct cli_command *command;
	const struct cli_config *config;
	bool *applies;
	size_t next;
	int argc;
	int at;
	char **argv;
	char *cluster;
	char *arg;
	char **words;
	int n_words;
	int n_before;
};

void cli_parser_init(struct cli_parser *parser, const struct cli_command *command, int argc,
		     char **argv);
int cli_parse(struct cli_parser *parser);
void cli_print_usage(const struct cli_command *command);
void cli_usage_error(const struct cli_command *command, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
uint64_t cli_need_size(const struct cli_command *command, const char *text);

#endif /* KL_CLI_BASE_CLI_H */
