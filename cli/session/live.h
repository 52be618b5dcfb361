/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a session's events while it runs. */
#ifndef KL_CLI_SESSION_LIVE_H
#define KL_CLI_SESSION_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "select.h"

/**
 * struct cli_live - a reader of a session
 * @reader: of its buffers
 * @live: its events in order
 * @timebase: of their times
 * @began: clock cycles when the reader was created
 */
struct cli_live {
	struct kl_reader *reader;
	struct kl_live *live;
	struct kl_timebase timebase;
	uint64_t began;
};

/**
 * cli_live_open - begin to read
 * @live: zeroed
 * @session: open
 * @joined: it belongs to others, whom the reader must not hold up
 *
 * Returns CLI_OK, or another status after an error message; in any case, cli_live_close() must
 * follow.
 */
int cli_live_open(struct cli_live *live, const struct cli_session *session, bool joined);

void cli_live_close(struct cli_live *live);

#endif /* KL_CLI_SESSION_LIVE_H */
