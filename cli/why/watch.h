/* SPDX-License-Identifier: GPL-2.0 */
/* Explaining the time of a task while it passes. */
#ifndef KL_CLI_WHY_WATCH_H
#define KL_CLI_WHY_WATCH_H

#include <kernlens/internal.h>
#include "../session/recording.h"

/**
 * struct cli_why_watch - what to explain
 * @recording: whose session has its events and tasks chosen
 * @tid: the thread; 0: that of the command
 * @interval_ns: explain this much time at once
 * @least: as for struct cli_why
 */
struct cli_why_watch {
	struct cli_recording *recording;
	int32_t tid;
	uint64_t interval_ns;
	double least;
};

/* Run the session, and print an explanation at each interval. Returns the exit status. */
int cli_why_watch(const struct cli_why_watch *watch);

/* Add an event to timelines, or a loss to @lost. Returns 0 or -ENOMEM. */
int cli_why_add(struct kl_why *why, const struct kl_item *item, uint64_t *lost);

#endif /* KL_CLI_WHY_WATCH_H */
