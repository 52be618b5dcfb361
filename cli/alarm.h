/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alarms of a session: said on stderr, and to a command that the user names. Never
 * waits for that command but at the end.
 */
#ifndef KL_CLI_ALARM_H
#define KL_CLI_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "select.h"

#define CLI_ALARMS_WAITING 32 /* for the command */

/**
 * struct cli_alarms - what has been heard
 * @command: for the shell, or NULL
 * @quiet: they are not printed
 * @next: number of the next one
 * @missed: that came too fast to be read
 * @unsaid: that came too fast to be printed
 * @left_out: that found too many before them waiting for the command
 * @waiting: for the command; from @first on, @n of them, in a circle
 * @pid: of the command, 0: it does not run
 * @failed: it has, and that was said
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

/* Begin with the first one. @session: open before the next call. */
void cli_alarms_init(struct cli_alarms *alarms, const struct cli_session *session);

/**
 * cli_alarms_skip - begin with what comes after @sounded alarms
 * @sounded: struct kl_abi_stats, alarms
 */
void cli_alarms_skip(struct cli_alarms *alarms, uint64_t sounded);

/* Are there some that have not been taken? */
bool cli_alarms_are_new(const struct cli_alarms *alarms, uint64_t sounded);

/* Read and print the new ones, and remember them for the command. */
void cli_alarms_take(struct cli_alarms *alarms);

/* Has the command ended? Then it is run for the next. Does not wait. */
void cli_alarms_run(struct cli_alarms *alarms);

/* No more will come: run the command for those that wait, and say what was left out. */
void cli_alarms_finish(struct cli_alarms *alarms);

/* Print why the watchdog has suspended a session, if it has. */
void cli_note_suspended(struct kl_session *session);

#endif /* KL_CLI_ALARM_H */
