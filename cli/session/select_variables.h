/* SPDX-License-Identifier: GPL-2.0 */
/* The values that -v requests. Used by select.c. */
#ifndef KL_CLI_SESSION_SELECT_VARIABLES_H
#define KL_CLI_SESSION_SELECT_VARIABLES_H

#include "select.h"

/**
 * cli_take_variables - parse -v; call before the plan is compiled
 * @s: session with a plan, which receives the expressions
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_take_variables(struct cli_session *s);

/**
 * cli_use_variables - set the variables of the session and of the schema, in the same order
 * @s: session with a compiled plan, not started
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_use_variables(struct cli_session *s);

#endif /* KL_CLI_SESSION_SELECT_VARIABLES_H */
