/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a session's events as they happen, and printing what they show at an interval. */
#ifndef KL_CLI_SESSION_REFRESH_H
#define KL_CLI_SESSION_REFRESH_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "live.h"
#include "recording.h"

/**
 * struct cli_refresh - a session that is read and shown until it ends
 * @recording: its session and run; it must be open, and not have begun
 * @interval_ns: time between two refreshes
 * @take: called with each item, in order
 * @poll: called every tenth of a second, too, or NULL
 * @show: called at the interval, and once after the end. @now_ns: wall time, up to which all items
 *        have been passed to @take. Returns the exit status
 * @context: passed to these
 * @live: set by cli_refresh_run()
 * @next_ns: time of the next refresh, CLOCK_MONOTONIC
 */
struct cli_refresh {
	struct cli_recording *recording;
	uint64_t interval_ns;
	cli_live_fn take;
	void (*poll)(void *context);
	int (*show)(void *context, uint64_t now_ns, bool is_last);
	void *context;
	struct cli_live live;
	uint64_t next_ns;
};

/* Calls cli_refresh_run() with what shows a session that is open. Returns the exit status. */
typedef int (*cli_refresh_fn)(void *context);

/**
 * cli_refresh_open - open a session for what shows it, and close it in the end
 * @recording: with `session` and `handler` filled in; it leaves no trace. The output of a command
 *             does not mix with what is shown
 * @use: called if the session could be opened
 * @context: passed to it
 *
 * Returns the exit status.
 */
int cli_refresh_open(struct cli_recording *recording, cli_refresh_fn use, void *context);

/**
 * cli_refresh_run - start the session, and read and show it until it ends
 * @refresh: its first members filled in, the others zero
 *
 * Returns the exit status, which is that of the command if kernlens itself has succeeded.
 */
int cli_refresh_run(struct cli_refresh *refresh);

#endif /* KL_CLI_SESSION_REFRESH_H */
