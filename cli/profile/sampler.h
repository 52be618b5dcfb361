/* SPDX-License-Identifier: GPL-2.0 */
/* A profile of what happens now: the samples of a running session. */
#ifndef KL_CLI_PROFILE_SAMPLER_H
#define KL_CLI_PROFILE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/internal.h>

#include "../session/live.h"
#include "../session/run.h"

/* Ticks per second and CPU, unless others are requested. */
#define CLI_SAMPLER_HZ 99

/* Number of slices of time that a profile can have. */
#define CLI_SAMPLER_SLICES_MAX 64

/**
 * struct cli_sampler - a session, and the profile that it fills
 * @session: with `command` and `select` filled in
 * @run: how long it goes on; `over` when it is time to stop
 * @self: do not leave out kernlens itself
 * @lines: look up source lines
 * @keep: number of slices before the current one, fewer than CLI_SAMPLER_SLICES_MAX
 * @profile: out: the profile
 * @lost: out: samples that are missing since the beginning
 * @restarts: out: times that the session has been replaced
 * @live: reader of the session
 * @slice_ns: when each slice began, oldest first
 * @slices: number of these
 */
struct cli_sampler {
	struct cli_session session;
	struct cli_run run;
	bool self;
	bool lines;
	size_t keep;
	struct kl_profile *profile;
	uint64_t lost;
	unsigned int restarts;
	struct cli_live live;
	uint64_t slice_ns[CLI_SAMPLER_SLICES_MAX];
	size_t slices;
};

/**
 * cli_sampler_tick - the event of a profile by time
 * @hz: ticks per second and CPU; 0: the default
 * @self: do not leave out kernlens itself
 *
 * The module leaves it out, so that it is not in a trace that is kept, either. The caller frees the
 * text.
 */
char *cli_sampler_tick(uint64_t hz, bool self);

/**
 * cli_sampler_open - create the session and start it
 * @sampler: sampler
 *
 * Returns CLI_OK, or another status after an error message. cli_sampler_close() must follow.
 */
int cli_sampler_open(struct cli_sampler *sampler);

/**
 * cli_sampler_read - add the samples that have come to the profile
 * @sampler: sampler
 * @dropped: drop them instead
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_sampler_read(struct cli_sampler *sampler, bool dropped);

/**
 * cli_sampler_next - begin the next slice of time
 * @sampler: sampler
 * @all: forget all before it
 *
 * Replaces the session, and with it the profile, if the session can hold no more stack traces.
 * Returns CLI_OK, or another status after an error message.
 */
int cli_sampler_next(struct cli_sampler *sampler, bool all);

/* How long the slices of the profile have taken, in nanoseconds. */
uint64_t cli_sampler_length(const struct cli_sampler *sampler);

void cli_sampler_close(struct cli_sampler *sampler);

#endif /* KL_CLI_PROFILE_SAMPLER_H */
