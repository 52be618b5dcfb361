/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Actions of kernlens watch on alarms: log lines, marks, frozen sessions, and commands, of which
 * only a few run at a time, each with a time limit.
 */
#ifndef KL_CLI_MONITOR_WATCH_H
#define KL_CLI_MONITOR_WATCH_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/internal.h>

#define CLI_WATCH_RUNNING 4 /* maximum number of running commands */
#define CLI_WATCH_WAITING 64 /* maximum number of queued commands */

/**
 * struct cli_watch_job - a command
 * @name: name of the rule
 * @words, @environment: its own copies, terminated by NULL
 * @pid: 0: it is queued
 * @output: read end of its output; -1: closed
 * @until_ns: when it is killed, CLOCK_MONOTONIC
 */
struct cli_watch_job {
	char *name;
	char **words;
	char **environment;
	pid_t pid;
	int output;
	uint64_t until_ns;
	bool is_late;
	char line[512];
	size_t length;
};

/**
 * struct cli_watch_acts - state of the actions
 * @device: for marks and freezes
 * @signals: signal mask for commands
 * @timeout_ns: time limit for a command
 * @prefixed: lines start with a priority, as journald expects
 * @left_out: commands dropped because the queue was full
 */
struct cli_watch_acts {
	struct kl_device *device;
	sigset_t signals;
	uint64_t timeout_ns;
	bool prefixed;
	struct cli_watch_job *running[CLI_WATCH_RUNNING];
	struct cli_watch_job *waiting[CLI_WATCH_WAITING];
	size_t n_waiting;
	uint64_t left_out;
};

/* Log priorities, as in syslog(3). */
enum {
	CLI_WATCH_ERROR = 3,
	CLI_WATCH_WARNING = 4,
	CLI_WATCH_NOTICE = 5,
	CLI_WATCH_INFO = 6,
};

/* Log a line about the watch itself to stderr; with --json, an object to stdout. */
void cli_watch_log(const struct cli_watch_acts *acts, int priority, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Print the new state of an alarm to stdout, as a line or an object. */
void cli_watch_say(const struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm);

/* Carry out all actions of the alarm's rule. */
void cli_watch_act(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm);

/* Fill in the descriptors of the commands' output, for poll(). Returns how many. */
size_t cli_watch_poll_fds(const struct cli_watch_acts *acts, struct pollfd *fds);

/* Read output, reap, kill commands that take too long, start queued ones. Does not block. */
void cli_watch_serve(struct cli_watch_acts *acts);

/* When cli_watch_serve() must be called at the latest; UINT64_MAX: no time limit is pending. */
uint64_t cli_watch_until_ns(const struct cli_watch_acts *acts);

/* Let running commands finish within their time limits; drop the queued ones. */
void cli_watch_finish(struct cli_watch_acts *acts);

#endif /* KL_CLI_MONITOR_WATCH_H */
