// SPDX-License-Identifier: GPL-2.0
/*
 * Start the traced command.
 *
 *   parent                          child
 *   fork                            read(go): sleeps
 *   create and start the session
 *   write(go)                       read returns, ready = 1, polls started
 *   see ready, make the session
 *   wait for the child
 *   started = 1                     execve
 *
 * The child polls for started without a system call, so that it is in user code when a tracer
 * attaches. This burns a CPU, but only briefly. A session that follows only the child records
 * nothing of it before its execve.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "child.h"

/* Shared memory between both processes. */
struct cli_gate {
	atomic_int ready;
	atomic_int started;
	atomic_int failed;
};

static bool is_program(const char *path)
{
	struct stat file;

	return !stat(path, &file) && S_ISREG(file.st_mode) && !access(path, X_OK);
}

/* Find the program as execvp() would, but before anything is traced. */
static int find_program(const char *name, char **path)
{
	const char *list = getenv("PATH");
	char *rest, *folder;

	if (strchr(name, '/')) {
		*path = strdup(name);
		return access(name, F_OK) ? -ENOENT : is_program(name) ? 0 : -EACCES;
	}
	rest = strdupa(list ? list : "/usr/local/bin:/usr/bin:/bin");
	while ((folder = strsep(&rest, ":"))) {
		*path = cli_format("%s/%s", *folder ? folder : ".", name);
		if (is_program(*path))
			return 0;
		free(*path);
	}
	*path = NULL;
	return -ENOENT;
}

static void start_program(struct cli_child *child)
{
	struct cli_gate *gate = child->gate;

	execv(child->path, child->words);
	if (errno == ENOEXEC) {
		/* A script without "#!": run it with sh, as shells do. */
		size_t n = 0;
		char **words;

		while (child->words[n])
			n++;
		words = cli_alloc((n + 2) * sizeof(*words));
		words[0] = (char *)"sh";
		words[1] = child->path;
		memcpy(words + 2, child->words + 1, n * sizeof(*words));
		execv("/bin/sh", words);
	}
	atomic_store(&gate->failed, errno);
	_exit(CLI_CANNOT_RUN);
}

static void run_child(struct cli_child *child, int go, pid_t parent, const sigset_t *signals,
		      unsigned int flags)
{
	struct cli_gate *gate = child->gate;
	char byte;

	/* Until the program runs: if the parent dies, no process would release the child. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(go, &byte, 1) != 1)
		_exit(CLI_FAILED);
	close(go);
	/* Where there is no stderr, nothing remains that it could write to. */
	if (flags & CLI_CHILD_TO_STDERR && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		close(STDOUT_FILENO);
	prctl(PR_SET_PDEATHSIG, 0);
	sigprocmask(SIG_SETMASK, signals, NULL);
	atomic_store(&gate->ready, 1);
	/* Pairs with cli_child_go(). */
	while (!atomic_load_explicit(&gate->started, memory_order_acquire))
		__builtin_ia32_pause();
	start_program(child);
}

int cli_child_create(struct cli_child *child, char **words, const sigset_t *signals,
		     unsigned int flags)
{
	pid_t parent = getpid();
	int ends[2], error;

	*child = (struct cli_child){ .words = words, .go = -1 };
	error = find_program(words[0], &child->path);
	if (error) {
		cli_error(error, "cannot run %s: %s", words[0],
			  error == -ENOENT ? "command not found" : "not executable");
		free(child->path);
		return error == -ENOENT ? CLI_NO_COMMAND : CLI_CANNOT_RUN;
	}
	child->gate = mmap(NULL, sizeof(*child->gate), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->gate == MAP_FAILED || pipe2(ends, O_CLOEXEC))
		return cli_error(-errno, "cannot prepare a process: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0)
		return cli_error(-errno, "cannot fork: %s", strerror(errno));
	if (!child->pid) {
		/* Fails without Yama, where it is not needed. */
		if (flags & CLI_CHILD_TRACED)
			prctl(PR_SET_PTRACER, parent);
		close(ends[1]);
		run_child(child, ends[0], parent, signals, flags);
	}
	close(ends[0]);
	child->go = ends[1];
	return CLI_OK;
}

bool cli_child_ready(struct cli_child *child)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	if (write(child->go, "", 1) != 1)
		return false;
	close(child->go);
	child->go = -1;
	while (!atomic_load(&child->gate->ready)) {
		if (cli_child_poll(child))
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void cli_child_go(struct cli_child *child)
{
	/* Pairs with run_child(). */
	atomic_store_explicit(&child->gate->started, 1, memory_order_release);
}

static void take_end(struct cli_child *child, int status)
{
	child->ended = true;
	child->status = status;
	child->failed = atomic_load(&child->gate->failed);
}

bool cli_child_poll(struct cli_child *child)
{
	int status;

	if (!child->ended && wait4(child->pid, &status, WNOHANG, &child->usage) == child->pid)
		take_end(child, status);
	return child->ended;
}

static void wait_for(struct cli_child *child)
{
	int status;

	while (!child->ended) {
		if (wait4(child->pid, &status, 0, &child->usage) == child->pid)
			take_end(child, status);
		else if (errno != EINTR)
			return;
	}
}

int cli_child_exit(const struct cli_child *child)
{
	if (child->failed)
		return child->failed == ENOENT ? CLI_NO_COMMAND : CLI_CANNOT_RUN;
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

bool cli_child_failed(const struct cli_child *child)
{
	return child->pid && child->ended && child->failed;
}

void cli_child_explain(struct cli_child *child)
{
	const char *reason = strerror(child->failed);

	if (!child->failed || child->explained)
		return;
	child->explained = true;
	/* The file exists, or cli_child_create() would have failed: its interpreter is missing. */
	if (child->failed == ENOENT && is_program(child->path))
		reason = "its interpreter does not exist";
	cli_error(-child->failed, "cannot run %s: %s", child->path, reason);
}

void cli_child_destroy(struct cli_child *child)
{
	if (!child->pid)
		return;
	if (!atomic_load(&child->gate->started)) {
		kill(child->pid, SIGKILL);
		wait_for(child);
	}
	if (child->go >= 0)
		close(child->go);
	munmap(child->gate, sizeof(*child->gate));
	free(child->path);
	child->pid = 0;
}
