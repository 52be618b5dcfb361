/* SPDX-License-Identifier: GPL-2.0 */
/* Answers to subcommands and options of other tools. */
#ifndef KL_CLI_BASE_FOREIGN_H
#define KL_CLI_BASE_FOREIGN_H

#include "cli.h"

/**
 * cli_foreign_command - what to use for a subcommand that does not exist
 * @word: as typed
 *
 * Returns a clause such as "use kernlens proc", or NULL.
 */
const char *cli_foreign_command(const char *word);

/**
 * cli_foreign_option - what to use for an option that does not exist
 * @command: the subcommand
 * @option: letter or name, without dashes
 *
 * Returns a clause such as "use --top N", or NULL.
 */
const char *cli_foreign_option(const struct cli_command *command, const char *option);

/* Is there a program of this name that a shell would run? */
bool cli_is_program(const char *word);

#endif /* KL_CLI_BASE_FOREIGN_H */
