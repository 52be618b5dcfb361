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

/* Takes an item. Returns 0 or a negative errno. */
typedef int (*cli_live_fn)(void *context, const struct kl_item *item);

/**
 * cli_live_read - read items in order
 * @live: open
 * @cycles: up to this time; UINT64_MAX: all that there are
 * @take: called with each
 * @context: passed to it
 *
 * Limited, so that a busy session does not starve everything else. Returns 1 if there may be more,
 * 0 if not, or a negative errno, also that of @take.
 */
int cli_live_read(struct cli_live *live, uint64_t cycles, cli_live_fn take, void *context);

void cli_live_close(struct cli_live *live);

#endif /* KL_CLI_SESSION_LIVE_H */
