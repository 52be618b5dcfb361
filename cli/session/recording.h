/* SPDX-License-Identifier: GPL-2.0 */
/* Recording a trace in order to print something about it. */
#ifndef KL_CLI_SESSION_RECORDING_H
#define KL_CLI_SESSION_RECORDING_H

#include <stdbool.h>
#include <kernlens/record.h>

#include "run.h"
#include "select.h"

/**
 * struct cli_recording - a trace that is removed after it has been used, unless it is kept
 * @session: with `command` and `select` filled in
 * @output: where the trace is kept, or NULL
 * @force: replace an existing trace there
 * @handler: handler of events that are named without one
 * @meanwhile: called with @context at least every 0.1 s while it records, or NULL
 * @path: out: the trace
 * @own: out: processes of kernlens itself: this one, and its helper that reads symbols
 */
struct cli_recording {
	struct cli_session session;
	struct cli_run run;
	struct kl_recorder *recorder;
	const char *output;
	bool force;
	unsigned int handler;
	void (*meanwhile)(void *context);
	void *context;
	char *path;
	pid_t own[2];
};

/**
 * cli_recording_is_own - does an event belong to kernlens itself?
 * @recording: recording; of a trace that was recorded earlier, nothing is known
 * @event: event of the trace
 */
bool cli_recording_is_own(const struct cli_recording *recording, const struct kl_event *event);

/* Uses a trace that has been recorded. Returns the exit status, after an error message. */
typedef int (*cli_recording_fn)(void *context, const char *path);

/**
 * cli_recording_run - record until the command ends, the time is up, or the user ends it
 * @recording: recording
 * @use: called if there is a trace to use
 * @context: passed to it
 *
 * Returns the exit status: that of the command, or another one after an error message.
 */
int cli_recording_run(struct cli_recording *recording, cli_recording_fn use, void *context);

#endif /* KL_CLI_SESSION_RECORDING_H */
