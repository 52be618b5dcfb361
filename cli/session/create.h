/* SPDX-License-Identifier: GPL-2.0 */
/* For select.c: the session of a tracing command is created. */
#ifndef KL_CLI_SESSION_CREATE_H
#define KL_CLI_SESSION_CREATE_H

#include "select.h"

/* Set the sizes of the buffers, and whether they survive a reset. Returns the exit status. */
int cli_session_size_buffers(struct cli_session *s);

/* Create the session, whose buffers have been sized. Returns the exit status. */
int cli_session_create(struct cli_session *s);

#endif /* KL_CLI_SESSION_CREATE_H */
