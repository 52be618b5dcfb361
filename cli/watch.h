/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernlens watch does about alarms: lines of a log, marks, sessions frozen, and
 * commands, a few at a time and none for ever.
 */
#ifndef KL_CLI_WATCH_H
#define KL_CLI_WATCH_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/kernlens.h>

#define CLI_WATCH_RUNNING 4 /* commands at a time */
#define CLI_WATCH_WAITING 64 /* for their turn */

/**
 * struct cli_watch_job - a command
 * @name: of the rule
 * @words, @environment: its own copies, ended by NULL
 * @pid: 0: it waits for its turn
 * @output: reading end of what it prints; -1: closed
 * @until_ns: CLOCK_MONOTONIC: when it is killed
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
 * struct cli_watch_acts - what is being done
 * @device: marks and freezes go by it
 * @signals: mask that commands get
 * @timeout_ns: of a command
 * @prefixed: lines begin with a priority as journald reads it
 * @left_out: commands that found too many before them
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

/* Priorities of a log. */
enum {
	CLI_WATCH_ERROR = 3,
	CLI_WATCH_WARNING = 4,
	CLI_WATCH_NOTICE = 5,
	CLI_WATCH_INFO = 6,
};

/* A line about the watch itself, on stderr; with --json an object on stdout. */
void cli_watch_log(const struct cli_watch_acts *acts, int priority, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What has become of an alarm: a line, or an object, on stdout. */
void cli_watch_say(const struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm);

/* All that the alarm's rule says. */
void cli_watch_act(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm);

/* Descriptors that commands print to, for poll(). Returns how many. */
size_t cli_watch_poll_fds(const struct cli_watch_acts *acts, struct pollfd *fds);

/* Take what was printed, reap, kill what takes too long, start what waits. Does not wait. */
void cli_watch_serve(struct cli_watch_acts *acts);

/* When cli_watch_serve() is to be called at the latest; UINT64_MAX: not by the clock. */
uint64_t cli_watch_until_ns(const struct cli_watch_acts *acts);

/* Commands under way have until their time to end; the others are left out. */
void cli_watch_finish(struct cli_watch_acts *acts);

#endif /* KL_CLI_WATCH_H */
