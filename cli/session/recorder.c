// SPDX-License-Identifier: GPL-2.0
/* Print what happens to a trace while it is recorded: failures, gaps, and its snapshots. */
#include <errno.h>
#include <stdio.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "recorder.h"

int cli_recorder_error(int error)
{
	if (error == -ENOTEMPTY)
		return cli_error(error, "%s; choose another directory with -o", kl_error_text());
	if (error == -EEXIST)
		return cli_error(error, "%s; --force replaces it", kl_error_text());
	return cli_library_error(error, NULL);
}

static double since(const struct kl_loss *loss, uint64_t ns)
{
	return ns > loss->origin_ns ? (double)(ns - loss->origin_ns) / 1e9 : 0;
}

static void print_missing(const struct kl_loss *loss)
{
	char number[2][CLI_NUMBER_MAX];

	cli_note("CPU %u: %s records in %s blocks starting at %llu were not stored, from %.6f s to "
		 "%.6f s",
		 loss->cpu, cli_print_count(number[0], loss->records),
		 cli_print_count(number[1], loss->blocks), (unsigned long long)loss->first_block,
		 since(loss, loss->begin_ns), since(loss, loss->end_ns));
}

void cli_recorder_notice(void *context, const struct kl_record_notice *notice)
{
	switch (notice->kind) {
	case KL_RECORD_UNSTORED:
		cli_note("%s: %s; from now on records are counted, not stored", notice->path,
			 kl_error_text());
		break;
	case KL_RECORD_STUCK:
		cli_library_error(notice->error, "%s: recording stopped", notice->path);
		break;
	case KL_RECORD_UNREAD:
		cli_note("%s: a CPU's last block could not be read", notice->path);
		break;
	case KL_RECORD_MISSING:
		print_missing(notice->loss);
		break;
	case KL_RECORD_UNNAMED:
		cli_note("%s: some addresses have no symbol names (symbol lookup timed out)",
			 notice->path);
		break;
	case KL_RECORD_FAILED:
		cli_recorder_error(notice->error);
		break;
	}
}

void cli_recorder_print_snapshots(const struct kl_recorder *recorder, const char *path, bool quiet)
{
	const struct kl_snapshot_counts *counts = kl_recorder_snapshots(recorder);
	char number[2][CLI_NUMBER_MAX];

	if (counts->beyond)
		cli_note("%s snapshot requests were not fulfilled (%s)",
			 cli_print_count(number[0], counts->beyond),
			 counts->failed ? "writing failed" : "limit of --snapshots");
	if (quiet || !counts->written)
		return;
	fprintf(stderr, "kernlens: %s snapshots: %s.1", cli_print_count(number[0], counts->written),
		path);
	if (counts->written > 1)
		fprintf(stderr, " to %s.%llu", path, (unsigned long long)counts->written);
	if (counts->merged)
		fprintf(stderr, "; %s more requests coalesced",
			cli_print_count(number[1], counts->merged));
	fputc('\n', stderr);
}
