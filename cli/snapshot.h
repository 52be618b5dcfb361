/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots of a flight recorder: copies of its buffers, each a trace next to the recorder's. */
#ifndef KL_CLI_SNAPSHOT_H
#define KL_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

#define CLI_SNAPSHOTS_DEFAULT 16
#define CLI_SNAPSHOTS_MAX 9999

/**
 * struct cli_snapshots - requested and written snapshots
 * @session: session, whose stack traces they contain, too
 * @recorder: recorder whose buffers are copied; snapshots have its path plus ".1", ".2" ...
 * @most: maximum number of snapshots
 * @asked: requests so far, from struct kl_abi_stats
 * @written: number of snapshots written
 * @merged: requests coalesced into one that had not been begun
 * @beyond: requests after @most snapshots or a failure
 * @failed: snapshots that could not be written, which was reported
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
 * cli_snapshots_init - make room for snapshots
 * @force: remove traces of earlier snapshots; otherwise they are an error
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_snapshots_init(struct cli_snapshots *snapshots, bool force);

/**
 * cli_snapshots_take - write a snapshot if one was requested since the last call
 * @asked: `snapshots` of struct kl_abi_stats
 *
 * No other call of the session may be in progress. Failures are reported.
 */
void cli_snapshots_take(struct cli_snapshots *snapshots, uint64_t asked);

/* Path of a snapshot, counted from 1; to be freed. */
char *cli_snapshots_path(const struct cli_snapshots *snapshots, uint64_t number);

/* Print the summary at the end. */
void cli_snapshots_print(const struct cli_snapshots *snapshots, bool quiet);

#endif /* KL_CLI_SNAPSHOT_H */
