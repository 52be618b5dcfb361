/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The traced command. It waits without a system call until the session runs, so that the execve
 * that starts the program is its first event.
 */
#ifndef KL_CLI_SESSION_CHILD_H
#define KL_CLI_SESSION_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct cli_gate;

/* Our descendants may trace the command, even where Yama restricts ptrace to ancestors. */
#define CLI_CHILD_TRACED 0x1u
/* What the command writes to stdout goes to stderr: stdout is for our results. */
#define CLI_CHILD_TO_STDERR 0x2u

/**
 * struct cli_child - the traced command
 * @pid: 0: no command
 * @ended: the command has exited; @status and @usage are valid
 * @status: as returned by wait()
 * @failed: errno of the failed execve, or 0
 * @explained: the failure has been reported
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
 * @words: command line, terminated by NULL
 * @signals: signal mask for the command
 * @flags: CLI_CHILD_*
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_child_create(struct cli_child *child, char **words, const sigset_t *signals,
		     unsigned int flags);

/* Bring it to where it only polls shared memory. Returns false if it has died. */
bool cli_child_ready(struct cli_child *child);

/* Let it start the program. */
void cli_child_go(struct cli_child *child);

/* Has it exited? Does not block. */
bool cli_child_poll(struct cli_child *child);

/* Exit status to pass on: its own, 128 + signal, 126 or 127. */
int cli_child_exit(const struct cli_child *child);

/* Could the program not be started? Valid once the child has exited. */
bool cli_child_failed(const struct cli_child *child);

/* Report, once, that the program could not be started. */
void cli_child_explain(struct cli_child *child);

/* Free the state; kill the child if it was not released. */
void cli_child_destroy(struct cli_child *child);

#endif /* KL_CLI_SESSION_CHILD_H */
