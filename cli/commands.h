/* SPDX-License-Identifier: GPL-2.0 */
/* The subcommands, for main.c and `kernlens help`. */
#ifndef KL_CLI_COMMANDS_H
#define KL_CLI_COMMANDS_H

#include "base/cli.h"

/* All subcommands, terminated by one without a name. */
extern const struct cli_command cli_commands[];

const struct cli_command *cli_find_command(const char *name);
void cli_print_overview(void);

#endif /* KL_CLI_COMMANDS_H */
