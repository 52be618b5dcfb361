/* SPDX-License-Identifier: GPL-2.0 */
/* Write a session's buffers to a trace directory. */
#ifndef KL_CLI_RECORDER_H
#define KL_CLI_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/**
 * struct cli_recorder - a trace being written
 * @counts: counts of the reader so far
 * @bytes: size of the trace's files
 * @unstored: records that were read but could not be stored
 * @error: error of the first block that was not stored; no later one is stored, either
 * @stuck: the buffers can no longer be read
 */
struct cli_recorder {
	struct cli_run *run;
	const char *path;
	struct kl_trace_writer *writer;
	struct kl_reader *reader;
	struct kl_abi_time first;
	struct kl_reader_counts counts;
	uint64_t bytes;
	uint64_t unstored;
	int error;
	bool stuck;
};

/**
 * cli_recorder_clear - make room for a trace
 * @path: must not exist, be empty, or contain a trace, which @force removes; must be a directory of
 *        the effective user, not a symbolic link
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_clear(const char *path, bool force);

/* Remove a trace that is of no use, and its directory if nothing else is in it. */
void cli_recorder_discard(const char *path);

/**
 * cli_recorder_init - create the trace, before the session is started
 * @recorder: filled in
 * @path: must not exist, be empty, or contain a trace that @force replaces
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_init(struct cli_recorder *recorder, struct cli_run *run, const char *path,
		      bool force);

/* Start reading the buffers. Returns CLI_OK or another status. */
int cli_recorder_attach(struct cli_recorder *recorder);

/*
 * Write the blocks that are complete. Blocks that cannot be stored, which is reported once, are
 * still read and counted. Returns false if the buffers can no longer be read.
 */
bool cli_recorder_drain(struct cli_recorder *recorder);

/**
 * cli_recorder_began - note in the trace when the session started
 * @recorder: recorder of a session that has been started
 */
void cli_recorder_began(struct cli_recorder *recorder);

/**
 * cli_recorder_ended - note in the trace how many records there were, and when it ended
 * @recorder: recorder of a session that has been stopped
 */
void cli_recorder_ended(struct cli_recorder *recorder);

/* Print what could not be stored, one line per CPU. */
void cli_recorder_print_unstored(const struct cli_recorder *recorder);

/**
 * cli_recorder_copy - write the current contents of the buffers to a separate trace
 * @recorder: recorder of the session, which continues in the meantime
 * @path: must not exist
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_copy(const struct cli_recorder *recorder, const char *path);

/* Descriptor to poll; -1 if there is no reader. */
int cli_recorder_fd(const struct cli_recorder *recorder);

/**
 * cli_recorder_deinit - finish the trace
 * @recorder: also after a failed init; its counts remain valid
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_deinit(struct cli_recorder *recorder);

#endif /* KL_CLI_RECORDER_H */
