/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which events of which tasks: the options that record, live and stat share,
 * and a session made from them. The command to run is started stopped.
 */
#ifndef KL_CLI_SELECT_H
#define KL_CLI_SELECT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/kernlens.h>

#include "child.h"
#include "cli.h"

/* For a subcommand's `shared`. */
extern const struct cli_option cli_select_options[];

enum {
	CLI_PIDS_MAX = 64,
	CLI_SPECS_MAX = 64
};

/* What the options said. */
struct cli_select {
	char *events; /* all -e, with commas */
	const char *spec[CLI_SPECS_MAX]; /* each */
	unsigned int n_specs;
	char *variables; /* names and globs with commas, or NULL */
	int maskset; /* KL_MASKSET_*, -1: not given; FIRST_USER: of a file */
	struct kl_maskset *file; /* that */
	pid_t pid[CLI_PIDS_MAX];
	unsigned int n_pids;
	const char *user;
	uid_t uid;
	bool all;
	uint64_t duration_ns;
	uint64_t buffer_bytes; /* 0: the default */
	const char *name; /* of the session; NULL: made up */
	bool raw_names; /* functions of C++ and Rust as their linker calls them */
	char **words; /* command */
};

/**
 * struct cli_session - a session with all that it needs
 * @signals: mask of signals for the command
 * @child: the command; its pid is 0 if there is none
 * @plan: what -e asks for
 * @map: handlers by event; of @plan, never NULL once open
 * @variables: what -v asks for: rows, and expressions of @plan
 * @stacks: call traces, once cli_session_collect() has been called; else NULL
 * @spliced: programs have been diverted, to fire events
 * @left_out: events that were asked for by glob or group but are not there
 * @left_out_names: of the first of them
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
	struct kl_stacks *stacks;
	struct kl_stack_collector *collector;
	struct kl_addresses *addresses; /* or NULL */
	bool spliced;
	unsigned int left_out;
	struct kl_buffer left_out_names;
};

void cli_select_init(struct cli_select *select);

/**
 * cli_select_option - take an option if it is one of these
 * @select: changed
 * @parser: after cli_parse() returned @key
 *
 * Returns false if it is another.
 */
bool cli_select_option(struct cli_select *select, const struct cli_parser *parser, int key);

/**
 * cli_session_open - make a session as it was asked for, not started
 * @session: zeroed but for `command`, `select`, `signals` and `config`'s mode
 * @patterns: events if neither -e nor -m is given; NULL: RDEFAULT
 * @handler: of events named without one
 *
 * Returns CLI_OK, or another status after an error message; then it is closed.
 */
int cli_session_open(struct cli_session *session, const char *patterns, unsigned int handler);

/**
 * cli_session_apply - tell the session what its plan says
 * @session: with a compiled plan and its map
 *
 * Events that cannot be had here are left out, unless they are named. Returns
 * CLI_OK, or another status after an error message.
 */
int cli_session_apply(struct cli_session *session);

/**
 * cli_session_start - start the session, then its command
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_session_start(struct cli_session *session);

/* Name the events that a glob stands for but are not available, on stderr. */
void cli_session_note_left_out(const struct cli_session *session);

/* Stop it. Returns 0 or a negative errno with the library's error text. */
int cli_session_stop(struct cli_session *session);

/**
 * cli_session_collect - get the session's call traces that are new, with names
 * @lines: and lines of the source, which may take seconds
 *
 * Returns how many, or a negative number after an error message. The session's other
 * calls must not be under way.
 */
int cli_session_collect(struct cli_session *session, bool lines);

/* Do its records have call traces? */
bool cli_session_has_stacks(const struct cli_session *session);

/**
 * cli_session_save_stacks - put the call traces that the session has had into a trace
 * @path: its folder, whose blocks have been written before
 *
 * Returns CLI_OK, also if the session has none, or another status after an error message.
 */
int cli_session_save_stacks(struct cli_session *session, const char *path);

/**
 * cli_session_name_addresses - let its events be printed with names of the kernel's addresses
 *
 * From now on. Who may not see addresses has none.
 */
void cli_session_name_addresses(struct cli_session *session);

/**
 * cli_session_save_addresses - put what the addresses in a trace are called into it
 * @path: its folder, whose blocks have been written before
 *
 * Returns CLI_OK, also if it has none, or another status after an error message.
 */
int cli_session_save_addresses(struct cli_session *session, const char *path);

/* Close and free; a command that has not been started never will be. */
void cli_session_close(struct cli_session *session);

#endif /* KL_CLI_SELECT_H */
