/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a session runs: until its command or the watched processes have exited, the time is up,
 * or the user ends it.
 */
#ifndef KL_CLI_SESSION_RUN_H
#define KL_CLI_SESSION_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "select.h"

/**
 * struct cli_run - state of waiting for the end
 * @over: the session must be stopped
 * @asked: the user has requested the end
 * @news: descriptor of a session that is polled for notifications, -1: none
 * @told: a notification has arrived
 * @own_news: nothing else reads the notifications
 * @update_ms: interval at which to look for new files in stack traces
 * @began_ns: when the session began to record, CLOCK_MONOTONIC; 0: it has not begun
 */
struct cli_run {
	struct cli_session *session;
	sigset_t before;
	int signals;
	int targets[CLI_PIDS_MAX];
	unsigned int n_targets;
	unsigned int n_asked;
	int news;
	bool told;
	bool own_news;
	int update_ms;
	uint64_t began_ns;
	uint64_t ends_ns;
	bool over;
	bool asked;
};

/**
 * cli_run_init - take over the signals; call before cli_session_open()
 * @run: filled in
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_run_init(struct cli_run *run, struct cli_session *session);

/**
 * cli_run_begin - start the session and its clock
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_run_begin(struct cli_run *run);

/**
 * cli_run_watch - like cli_run_begin(), but does not start the session
 * @run: run
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_run_watch(struct cli_run *run);

/**
 * cli_run_wait - wait for data, for the end, or until a timeout
 * @run: run; sets `over` when it is time to stop
 * @fd: descriptor also waited for, -1: none
 * @timeout_ms: maximum time to wait, -1: no limit
 */
void cli_run_wait(struct cli_run *run, int fd, int timeout_ms);

/* Nanoseconds since the session began to record. */
uint64_t cli_run_elapsed(const struct cli_run *run);

/* Nanoseconds that the session has recorded, up to its end if it has ended. */
uint64_t cli_run_length(const struct cli_run *run);

/**
 * cli_run_status - exit status, once all is done
 * @status: status of kernlens itself
 *
 * Waits for the command if it is still running: its status is passed on.
 */
int cli_run_status(struct cli_run *run, int status);

void cli_run_deinit(struct cli_run *run);

#endif /* KL_CLI_SESSION_RUN_H */
