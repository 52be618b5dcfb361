/* SPDX-License-Identifier: GPL-2.0 */
/* Sessions that another process has made. */
#ifndef KL_CLI_ATTACH_H
#define KL_CLI_ATTACH_H

#include "select.h"

/**
 * cli_attach - open a session that there is, with the names of what it defines
 * @session: `device`, `session`, `schema` and `config` are filled in; close it
 *           with cli_session_close(), also after a failure
 * @name: its name or number; NULL: the only one that there is
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_attach(struct cli_session *session, const char *name);

/**
 * cli_publish - tell those who attach what a new session defines
 * @session: session with its plan applied
 *
 * Its failure is noted, but is no reason not to go on.
 */
void cli_publish(struct cli_session *session);

#endif /* KL_CLI_ATTACH_H */
