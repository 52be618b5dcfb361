/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alarms of a session: print them on stderr and pass them to a command that the user names. The
 * command is never waited for except at the end.
 */
#ifndef KL_CLI_SESSION_ALARM_H
#define KL_CLI_SESSION_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "select.h"

#define CLI_ALARMS_WAITING 32 /* alarms queued for the command */

/**
 * struct cli_alarms - alarms taken from a session
 * @command: shell command to run for each alarm, or NULL
 * @quiet: do not print alarms
 * @next: number of the next alarm
 * @missed: alarms overwritten before they were read
 * @unsaid: alarms not printed because of the rate limit
 * @left_out: alarms dropped because the queue for the command was full
 * @waiting: ring of alarms queued for the command: @n of them, starting at @first
 * @pid: PID of the running command, or 0
 * @failed: the command has failed, and this was reported
 */
struct cli_alarms {
	const struct cli_session *session;
	const char *command;
	bool quiet;
	uint64_t next;
	uint64_t missed;
	uint64_t unsaid;
	uint64_t left_out;
	struct kl_abi_alarm waiting[CLI_ALARMS_WAITING];
	unsigned int first;
	unsigned int n;
	uint64_t second;
	unsigned int said;
	pid_t pid;
	bool failed;
};

/* Start with the first alarm. @session must be open before the next call. */
void cli_alarms_init(struct cli_alarms *alarms, const struct cli_session *session);

/**
 * cli_alarms_skip - skip the alarms so far
 * @sounded: number of alarms so far, from struct kl_abi_stats
 */
void cli_alarms_skip(struct cli_alarms *alarms, uint64_t sounded);

/* Are there alarms that have not been taken yet? */
bool cli_alarms_are_new(const struct cli_alarms *alarms, uint64_t sounded);

/* Read and print the new alarms, and queue them for the command. */
void cli_alarms_take(struct cli_alarms *alarms);

/* If the command has exited, run it for the next queued alarm. Does not block. */
void cli_alarms_run(struct cli_alarms *alarms);

/* No more alarms will come: run the command for the queued ones, and report what was left out. */
void cli_alarms_finish(struct cli_alarms *alarms);

/* Has the watchdog suspended the session, because it took too much of the CPU? */
bool cli_is_suspended(struct kl_session *session);

/* If the watchdog has suspended the session, print why. */
void cli_note_suspended(struct kl_session *session);

#endif /* KL_CLI_SESSION_ALARM_H */
