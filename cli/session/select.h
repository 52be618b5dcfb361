/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which events of which tasks: the options that record, live and stat share, and the session built
 * from them. The command is created stopped.
 */
#ifndef KL_CLI_SESSION_SELECT_H
#define KL_CLI_SESSION_SELECT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/internal.h>

#include "../base/cgroup.h"
#include "../base/cli.h"
#include "child.h"

/* Rows of a table of options: which tasks a session is for. */
/* clang-format off */
#define CLI_TASK_OPTIONS                                                              \
	{ 'p', "pid", "PID[,PID]", "running processes and their new children" },      \
	{ 'u', "user", "USER", "all tasks of a user" }, CLI_CGROUP_OPTIONS,           \
	{ 'a', "all", NULL, "all tasks" }
/* clang-format on */

/* Options for a subcommand's `shared`. */
extern const struct cli_option cli_select_options[];

enum {
	CLI_PIDS_MAX = 64,
	CLI_SPECS_MAX = 64
};

/* Whose events are recorded in addition to those of the selected tasks. */
enum cli_others {
	CLI_OTHERS_NONE,
	CLI_OTHERS_OWN, /* all of the user's */
	CLI_OTHERS_ALL,
};

/* Values of the options. */
struct cli_select {
	char *events; /* all -e, separated by commas */
	const char *spec[CLI_SPECS_MAX]; /* each -e */
	unsigned int n_specs;
	char *variables; /* names and globs, separated by commas, or NULL */
	int maskset; /* KL_MASKSET_*, -1: not given; KL_MASKSET_FIRST_USER: @file */
	struct kl_maskset *file; /* maskset from a file, or NULL */
	pid_t pid[CLI_PIDS_MAX];
	unsigned int n_pids;
	const char *user;
	uid_t uid;
	struct cli_cgroup cgroup;
	bool all;
	enum cli_others others; /* not CLI_OTHERS_NONE: -p only says when to end */
	bool own_suffice; /* without privilege, a selection of tasks is not needed */
	uint64_t duration_ns;
	uint64_t buffer_bytes; /* 0: the default */
	bool keep; /* in the reserved memory, which survives a reset */
	bool keep_if_possible;
	const char *name; /* name of the session; NULL: generate one */
	bool raw_names; /* print the mangled names of C++ and Rust functions */
	const char *output; /* file for the results, or NULL */
	bool to_stdout; /* without @output, the results go to stdout, as JSON always does */
	char **words; /* command line of the command, or NULL */
};

/**
 * struct cli_session - a session with everything it needs
 * @signals: signal mask for the command
 * @child: the command; its pid is 0 if there is none
 * @plan: what -e requests
 * @map: handlers by event; belongs to @plan, never NULL once open
 * @variables: what -v requests: rows of the table, and expressions of @plan
 * @names: stack traces and names of addresses; NULL before cli_session_names()
 * @spliced: programs have been spliced, to emit events
 * @unwinds: it takes stack traces, and unwind tables are loaded for them
 * @left_out: names of unavailable events among those requested by glob or group
 */
struct cli_session {
	const struct cli_command *command;
	struct cli_select select;
	struct kl_device *device;
	struct kl_session *session;
	struct kl_schema *schema;
	struct kl_abi_variables variables;
	struct kl_abi_session config;
	sigset_t signals;
	struct cli_child child;
	struct kl_plan *plan;
	uint8_t *map;
	struct kl_record_names *names;
	bool spliced;
	bool unwinds;
	struct kl_buffer left_out;
};

void cli_select_init(struct cli_select *select);

/* Is it given whose events are recorded, other than by a command? */
bool cli_select_has_tasks(const struct cli_select *select);

/* The name of a session that --name gives. */
const char *cli_take_name(const struct cli_parser *parser);

/**
 * cli_select_option - handle an option if it is one of these
 * @select: changed
 * @parser: parser, after cli_parse() returned @key
 *
 * Returns false if it is another option.
 */
bool cli_select_option(struct cli_select *select, const struct cli_parser *parser, int key);

/**
 * cli_select_add - add events, as with -e
 * @select: changed
 * @command: for messages
 * @events: must stay valid
 */
void cli_select_add(struct cli_select *select, const struct cli_command *command, char *events);

/**
 * cli_select_strace - add the events that the format strace needs
 * @select: options, all of which have been handled
 * @command: for messages
 *
 * Adds all system calls if no other events have been requested. In -e, the name of a system call
 * stands for its entry and exit, and "trace=" may precede it, as for strace.
 */
void cli_select_strace(struct cli_select *select, const struct cli_command *command);

/**
 * cli_session_open - create the requested session, without starting it
 * @session: zeroed except for `command`, `select`, `signals` and `config`'s mode
 * @patterns: events if neither -e nor -m is given; NULL: RDEFAULT
 * @handler: handler of events that are named without one
 *
 * Returns CLI_OK, or another status after an error message; the session is then closed.
 */
int cli_session_open(struct cli_session *session, const char *patterns, unsigned int handler);

/**
 * cli_session_interrupts - let SIGINT, SIGTERM and SIGHUP end the program, or block them again
 * @session: after cli_run_init(), which has blocked them
 * @allowed: when this is called, nothing may have to be undone
 *
 * For what takes long before a session starts and after it has stopped.
 */
void cli_session_interrupts(const struct cli_session *session, bool allowed);

/**
 * cli_session_make_child - create the command of `select.words`
 * @session: `child` is filled in
 * @traced: allow our descendants to trace it
 *
 * If stdout is for the results, the command's goes to stderr: they never mix. Returns CLI_OK, or
 * another status after an error message.
 */
int cli_session_make_child(struct cli_session *session, bool traced);

/**
 * cli_session_apply - apply the plan to the session
 * @session: with a compiled plan and its map
 *
 * Unavailable events are left out, unless they are named. Returns CLI_OK, or another status after
 * an error message.
 */
int cli_session_apply(struct cli_session *session);

/**
 * cli_session_start - start the session, then its command
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_session_start(struct cli_session *session);

/**
 * cli_session_update - load unwind tables of files that have turned up in stack traces
 *
 * Returns whether there were new ones.
 */
bool cli_session_update(struct cli_session *session);

/* Load unwind tables of the files that are known to be traced; part of cli_session_start(). */
void cli_session_load_unwind_tables(struct cli_session *session);

/* Print the events that match a glob but are unavailable to stderr. */
void cli_session_note_left_out(const struct cli_session *session);

/* Stop the session. Returns 0 or a negative errno with the library's error text. */
int cli_session_stop(struct cli_session *session);

/* The session, for functions of the library; valid as long as it is open. */
struct kl_record_source cli_session_source(const struct cli_session *session);

/* What names the session's stack traces and addresses; it belongs to the session. */
struct kl_record_names *cli_session_names(struct cli_session *session);

/**
 * cli_session_collect - read the session's new stack traces, with symbol names
 * @lines: also look up source lines, which may take seconds
 *
 * Returns how many, or a negative number after an error message. No other call of the session may
 * be in progress.
 */
int cli_session_collect(struct cli_session *session, bool lines);

/* Is an event of kernlens itself, or of its helper that reads symbols? */
bool cli_session_is_own(const struct cli_session *session, const struct kl_event *event);

/* Do the session's records have stack traces? */
bool cli_session_has_stacks(struct cli_session *session);

/**
 * cli_session_name_addresses - print kernel addresses in events with symbol names from now on
 *
 * Does nothing if the user may not see kernel addresses.
 */
void cli_session_name_addresses(struct cli_session *session);

/* Close and free the session, and kill a command that has not been started. */
void cli_session_close(struct cli_session *session);

#endif /* KL_CLI_SESSION_SELECT_H */
