/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration files: default values of options, by command (kernlens.conf(5)). */
#ifndef KL_CLI_BASE_CONFIG_H
#define KL_CLI_BASE_CONFIG_H

#include "cli.h"

#define CLI_CONFIG_SYSTEM "/etc/kernlens.conf"

/**
 * struct cli_config_entry - a line "key = value"
 * @path: file; @number: line
 * @line: its text, for messages; @key_at, @value_at: where they begin in it
 * @section: name of the command; "": all commands
 * @key: long option
 * @value: NULL: the line has none
 * @rank: that of a later file is higher, and so is that of a command's section
 */
struct cli_config_entry {
	const char *path;
	unsigned int number;
	char *line;
	size_t key_at;
	size_t value_at;
	const char *section;
	char *key;
	char *value;
	unsigned int rank;
};

/**
 * struct cli_config - what the files say
 * @entry: in the order of the files; @n: how many
 * @paths: files that exist, separated by ", "; "": none
 * @error: why they cannot be used, or NULL
 */
struct cli_config {
	struct cli_config_entry *entry;
	size_t n;
	char *paths;
	char *error;
};

/* Call first. @all: the subcommands, terminated by one without a name. */
void cli_config_init(const struct cli_command *all);

/**
 * cli_config - read the configuration files, when first called
 *
 * The file that KERNLENS_CONFIG names, or no file if that is empty; without it, the system's and
 * the user's. The result stays valid until the program ends.
 */
const struct cli_config *cli_config(void);

/* An error message with the place of an entry, its line, and a caret below its key or value. */
char *cli_config_message(const struct cli_config_entry *entry, bool value, const char *message);

#endif /* KL_CLI_BASE_CONFIG_H */
