/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots of a flight recorder: copies of its buffers, each a trace beside its own. */
#ifndef KL_CLI_SNAPSHOT_H
#define KL_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

#define CLI_SNAPSHOTS_DEFAULT 16
#define CLI_SNAPSHOTS_MAX 9999

/**
 * struct cli_snapshots - what was asked for, and what was written
 * @session: whose call traces they have, too
 * @recorder: whose buffers they are copies of; their paths are its, ".1", ".2" ...
 * @most: not more than so many are written
 * @asked: as of struct kl_abi_stats
 * @written: number of them
 * @merged: asked for when another one had not been begun yet, and so the same
 * @beyond: asked for when there were @most
 * @failed: could not be written, which was said
 */
struct cli_snapshots {
	struct cli_session *session;
	struct cli_recorder *recorder;
	uint64_t most;
	uint64_t asked;
	uint64_t written;
	uint64_t merged;
	uint64_t beyond;
	uint64_t failed;
};

/**
 * cli_snapshots_init - make room for them
 * @force: traces of earlier ones are removed; else it is an error if there are any
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_snapshots_init(struct cli_snapshots *snapshots, bool force);

/**
 * cli_snapshots_take - write one if it has been asked for since the last time
 * @asked: struct kl_abi_stats, snapshots: read before
 *
 * No other call of the session may be under way. What fails is said.
 */
void cli_snapshots_take(struct cli_snapshots *snapshots, uint64_t asked);

/* Path of a snapshot, from 1; to be freed. */
char *cli_snapshots_path(const struct cli_snapshots *snapshots, uint64_t number);

/* What is to be said at the end. */
void cli_snapshots_print(const struct cli_snapshots *snapshots, bool quiet);

#endif /* KL_CLI_SNAPSHOT_H */
