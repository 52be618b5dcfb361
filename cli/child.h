/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command that is traced. It waits without a system call until the session
 * runs; the call that starts the program is its first event.
 */
#ifndef KL_CLI_CHILD_H
#define KL_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct cli_gate;

/**
 * struct cli_child - the command
 * @pid: 0: there is none
 * @ended: and @status, @usage are valid
 * @status: as wait() gives it
 * @failed: errno of the call that should have started the program, or 0
 * @explained: that has been said
 */
struct cli_child {
	pid_t pid;
	char **words;
	char *path;
	struct cli_gate *gate;
	int go;
	bool ended;
	int status;
	int failed;
	bool explained;
	struct rusage usage;
};

/**
 * cli_child_create - fork a process that will become the command
 * @child: filled in
 * @words: the command, ended by NULL
 * @signals: mask it shall have
 * @traced: a process that we make may trace it, also where only who is above a process may (Yama)
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_child_create(struct cli_child *child, char **words, const sigset_t *signals, bool traced);

/* Bring it to where it only looks at memory. False: it is dead. */
bool cli_child_ready(struct cli_child *child);

/* Let it start the program. */
void cli_child_go(struct cli_child *child);

/* Has it ended? Does not wait. */
bool cli_child_poll(struct cli_child *child);

/* Wait until it has ended. */
void cli_child_wait(struct cli_child *child);

/* Exit status to hand on: its own, 128 + signal, 126 or 127. */
int cli_child_exit(const struct cli_child *child);

/* Has the program not been started, which is known once the child has ended? */
bool cli_child_failed(const struct cli_child *child);

/* Say it if the program could not be started, once. */
void cli_child_explain(struct cli_child *child);

/* Kill it if it has not been started. */
void cli_child_destroy(struct cli_child *child);

#endif /* KL_CLI_CHILD_H */
