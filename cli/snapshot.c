// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots: copy the buffers while the session continues. Requests that arrive before a snapshot
 * is begun are coalesced into it; those that arrive during it lead to the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"
#include "snapshot.h"

char *cli_snapshots_path(const struct cli_snapshots *snapshots, uint64_t number)
{
	return cli_format("%s.%llu", snapshots->recorder->path, (unsigned long long)number);
}

int cli_snapshots_init(struct cli_snapshots *snapshots, bool force)
{
	int status = CLI_OK;

	for (uint64_t i = 1; i <= snapshots->most && !status; i++) {
		char *path = cli_snapshots_path(snapshots, i);

		status = cli_recorder_clear(path, force);
		/* An empty directory would look like a snapshot. */
		if (!status && force)
			rmdir(path);
		free(path);
	}
	return status;
}

static void write_one(struct cli_snapshots *snapshots)
{
	char *path = cli_snapshots_path(snapshots, snapshots->written + 1);
	int status = cli_recorder_copy(snapshots->recorder, path);

	/* After the blocks, which contain the IDs of the stack traces. */
	if (!status)
		status = cli_session_save_stacks(snapshots->session, path);
	if (!status)
		status = cli_session_save_addresses(snapshots->session, path);
	if (status)
		snapshots->failed++;
	else
		snapshots->written++;
	free(path);
}

void cli_snapshots_take(struct cli_snapshots *snapshots, uint64_t asked)
{
	uint64_t more = asked - snapshots->asked;

	if (!more)
		return;
	snapshots->asked = asked;
	/* A failed snapshot is not retried: its remains would be in the way. */
	if (snapshots->written == snapshots->most || snapshots->failed) {
		snapshots->beyond += more;
		return;
	}
	snapshots->merged += more - 1;
	write_one(snapshots);
}

void cli_snapshots_print(const struct cli_snapshots *snapshots, bool quiet)
{
	const char *path = snapshots->recorder->path;
	char number[2][CLI_NUMBER_MAX];

	if (snapshots->beyond)
		cli_note("%s snapshot requests were not fulfilled (%s)",
			 cli_print_count(number[0], snapshots->beyond),
			 snapshots->failed ? "writing failed" : "limit of --snapshots");
	if (quiet || !snapshots->written)
		return;
	fprintf(stderr, "kernlens: %s snapshots: %s.1",
		cli_print_count(number[0], snapshots->written), path);
	if (snapshots->written > 1)
		fprintf(stderr, " to %s.%llu", path, (unsigned long long)snapshots->written);
	if (snapshots->merged)
		fprintf(stderr, "; %s more requests coalesced",
			cli_print_count(number[1], snapshots->merged));
	fputc('\n', stderr);
}
