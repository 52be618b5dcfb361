/* SPDX-License-Identifier: GPL-2.0 */
/* Attach to sessions that another process has created. */
#ifndef KL_CLI_SESSION_ATTACH_H
#define KL_CLI_SESSION_ATTACH_H

#include "select.h"

/**
 * cli_attach - open an existing session, with its event definitions
 * @session: `device`, `session`, `schema` and `config` are filled in; close it
 *           with cli_session_close(), also after a failure
 * @name: name or number of the session; NULL: the only visible one
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_attach(struct cli_session *session, const char *name);

#endif /* KL_CLI_SESSION_ATTACH_H */
