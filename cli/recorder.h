/* SPDX-License-Identifier: GPL-2.0 */
/* From a session's buffers to a trace directory. */
#ifndef KL_CLI_RECORDER_H
#define KL_CLI_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/**
 * struct cli_recorder - a trace being written
 * @counts: of the reader, as far as it has come
 * @bytes: in the trace's files
 * @unstored: records that were read and could not be stored
 * @error: of the first block that was not stored; none is after it
 * @stuck: the buffers cannot be read any more
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
 * @path: must not be there, be empty, or be a trace if @force, which is removed; a directory
 *        of the effective user, and no symbolic link
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_clear(const char *path, bool force);

/* Remove a trace that is of no use, with its directory if nothing else is in it. */
void cli_recorder_discard(const char *path);

/**
 * cli_recorder_init - make the directory; the session is not started yet
 * @recorder: filled in
 * @path: must not be there, be empty, or be a trace if @force
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_init(struct cli_recorder *recorder, struct cli_run *run, const char *path,
		      bool force);

/* Begin to read the buffers. Returns CLI_OK or another status. */
int cli_recorder_attach(struct cli_recorder *recorder);

/*
 * Write what is complete now. What cannot be stored, which is reported once, is still
 * read and counted. False if nothing can be read any more.
 */
bool cli_recorder_drain(struct cli_recorder *recorder);

/**
 * cli_recorder_began - note in the trace when the session started
 * @recorder: of a session that has been started
 */
void cli_recorder_began(struct cli_recorder *recorder);

/**
 * cli_recorder_ended - note in the trace what was fired in all, and when it ended
 * @recorder: of a session that has been stopped
 */
void cli_recorder_ended(struct cli_recorder *recorder);

/* Print what could not be stored, a line a CPU. */
void cli_recorder_print_unstored(const struct cli_recorder *recorder);

/**
 * cli_recorder_copy - write what is in the buffers now to a trace of its own
 * @recorder: of the session, which goes on meanwhile
 * @path: must not be there
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_copy(const struct cli_recorder *recorder, const char *path);

/* Descriptor to poll, -1 if nothing is read yet. */
int cli_recorder_fd(const struct cli_recorder *recorder);

/**
 * cli_recorder_deinit - finish the trace
 * @recorder: also after a failed init; counts stay
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_recorder_deinit(struct cli_recorder *recorder);

#endif /* KL_CLI_RECORDER_H */
