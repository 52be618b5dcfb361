/* SPDX-License-Identifier: GPL-2.0 */
/* The trace that is meant if none is named. */
#ifndef KL_CLI_TRACE_LATEST_H
#define KL_CLI_TRACE_LATEST_H

/**
 * cli_latest_trace - the newest trace in the working directory
 *
 * Considers only names that record itself gives (kernlens-YYYYmmdd-HHMMSS), and says on stderr
 * which trace it is. Returns its path, or NULL if there is none.
 */
char *cli_latest_trace(void);

#endif /* KL_CLI_TRACE_LATEST_H */
