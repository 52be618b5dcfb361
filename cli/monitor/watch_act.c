// SPDX-License-Identifier: GPL-2.0
/*
 * Carry out the actions of kernlens watch rules. A command gets the facts in its environment and
 * runs in its own process group, which is killed when its time is up. Its output goes to the log,
 * line by line.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/common.h"
#include "watch.h"

#define VARIABLE_PREFIX "KERNLENS_"

/* ------------------------------------------------------------------- words */

static char **copy_words(char **words)
{
	size_t n = 0;
	char **copy;

	while (words[n])
		n++;
	copy = cli_alloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = cli_format("%s", words[i]);
	return copy;
}

/* Our environment plus the facts, which replace variables of the same names. */
static char **make_environment(const struct kl_watch_alarm *alarm)
{
	char *const facts[] = {
		cli_format(VARIABLE_PREFIX "ALARM=%s", alarm->rule->name),
		cli_format(VARIABLE_PREFIX "STATE=%s",
			   alarm->state == KL_WATCH_RAISED ? "raised" : "cleared"),
		cli_format(VARIABLE_PREFIX "PID=%d", alarm->pid),
		cli_format(VARIABLE_PREFIX "COMM=%s", alarm->comm),
		cli_format(VARIABLE_PREFIX "UID=%u", alarm->uid),
		isnan(alarm->value) ? cli_format(VARIABLE_PREFIX "VALUE=") :
				      cli_format(VARIABLE_PREFIX "VALUE=%.15g", alarm->value),
		cli_format(VARIABLE_PREFIX "TEXT=%s", alarm->text),
		cli_format(VARIABLE_PREFIX "RULE=%s", alarm->rule->text),
	};

	return cli_environment(facts, sizeof(facts) / sizeof(*facts));
}

/* -------------------------------------------------------------------- jobs */

static void free_job(struct cli_watch_job *job)
{
	if (job->output >= 0)
		close(job->output);
	cli_words_free(job->words);
	cli_words_free(job->environment);
	free(job->name);
	free(job);
}

/* Start the program, with its output going to @write_end. */
static int spawn_job(const struct cli_watch_acts *acts, struct cli_watch_job *job, int write_end)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, write_end, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, write_end, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setsigmask(&attributes, &acts->signals);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&job->pid, job->words[0], &files, &attributes, job->words,
			     job->environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

static void start_job(struct cli_watch_acts *acts, struct cli_watch_job *job, size_t slot)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		error = errno;
	} else {
		/* Writes of the command may block. */
		fcntl(ends[1], F_SETFL, 0);
		job->output = ends[0];
		error = spawn_job(acts, job, ends[1]);
		close(ends[1]);
	}
	if (error) {
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: cannot run %s: %s", job->name,
			      job->words[0], strerror(error));
		free_job(job);
		return;
	}
	job->until_ns = cli_now_ns() + acts->timeout_ns;
	acts->running[slot] = job;
}

static void start_waiting(struct cli_watch_acts *acts)
{
	for (size_t slot = 0; slot < CLI_WATCH_RUNNING && acts->n_waiting; slot++) {
		struct cli_watch_job *job = acts->waiting[0];

		if (acts->running[slot])
			continue;
		acts->n_waiting--;
		memmove(acts->waiting, acts->waiting + 1, acts->n_waiting * sizeof(*acts->waiting));
		start_job(acts, job, slot);
	}
}

static void add_job(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm, char **words)
{
	struct cli_watch_job *job;

	if (acts->n_waiting == CLI_WATCH_WAITING) {
		if (!acts->left_out++)
			cli_watch_log(acts, CLI_WATCH_ERROR,
				      "%s: command dropped: %d are already waiting",
				      alarm->rule->name, CLI_WATCH_WAITING);
		cli_words_free(words);
		return;
	}
	job = cli_alloc(sizeof(*job));
	job->name = cli_format("%s", alarm->rule->name);
	job->words = words;
	job->environment = make_environment(alarm);
	job->output = -1;
	acts->waiting[acts->n_waiting++] = job;
	start_waiting(acts);
}

/* ------------------------------------------------------------ output */

static void say_line(const struct cli_watch_acts *acts, struct cli_watch_job *job)
{
	if (job->length)
		cli_watch_log(acts, CLI_WATCH_INFO, "%s: %.*s", job->name, (int)job->length,
			      job->line);
	job->length = 0;
}

static void take_output(const struct cli_watch_acts *acts, struct cli_watch_job *job)
{
	char bytes[4096];
	ssize_t got;

	while (job->output >= 0 && (got = read(job->output, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n' || job->length == sizeof(job->line))
				say_line(acts, job);
			/* No control characters may reach a terminal. */
			if (bytes[i] != '\n')
				job->line[job->length++] = (unsigned char)bytes[i] < ' ' ? ' ' :
											   bytes[i];
		}
	if (job->output >= 0 && !got) {
		close(job->output);
		job->output = -1;
	}
}

static void say_end(const struct cli_watch_acts *acts, const struct cli_watch_job *job, int status)
{
	if (job->is_late)
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: %s was killed after %.0f s", job->name,
			      job->words[0], (double)acts->timeout_ns / 1e9);
	else if (WIFSIGNALED(status))
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: %s was killed by signal %d", job->name,
			      job->words[0], WTERMSIG(status));
	else if (WEXITSTATUS(status))
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: %s failed with status %d", job->name,
			      job->words[0], WEXITSTATUS(status));
}

static void serve_job(struct cli_watch_acts *acts, size_t slot)
{
	struct cli_watch_job *job = acts->running[slot];
	int status;

	take_output(acts, job);
	if (waitpid(job->pid, &status, WNOHANG) == job->pid) {
		/* Kill the processes that it has left behind. */
		kill(-job->pid, SIGKILL);
		take_output(acts, job);
		say_line(acts, job);
		say_end(acts, job, status);
		free_job(job);
		acts->running[slot] = NULL;
	} else if (!job->is_late && cli_now_ns() >= job->until_ns) {
		job->is_late = true;
		kill(-job->pid, SIGKILL);
	}
}

void cli_watch_serve(struct cli_watch_acts *acts)
{
	for (size_t slot = 0; slot < CLI_WATCH_RUNNING; slot++)
		if (acts->running[slot])
			serve_job(acts, slot);
	start_waiting(acts);
}

size_t cli_watch_poll_fds(const struct cli_watch_acts *acts, struct pollfd *fds)
{
	size_t n = 0;

	for (size_t slot = 0; slot < CLI_WATCH_RUNNING; slot++)
		if (acts->running[slot] && acts->running[slot]->output >= 0)
			fds[n++] = (struct pollfd){ acts->running[slot]->output, POLLIN, 0 };
	return n;
}

uint64_t cli_watch_until_ns(const struct cli_watch_acts *acts)
{
	uint64_t until = UINT64_MAX;

	for (size_t slot = 0; slot < CLI_WATCH_RUNNING; slot++) {
		const struct cli_watch_job *job = acts->running[slot];

		if (job && !job->is_late && job->until_ns < until)
			until = job->until_ns;
	}
	return until;
}

void cli_watch_finish(struct cli_watch_acts *acts)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	size_t running;

	if (acts->n_waiting)
		cli_watch_log(acts, CLI_WATCH_ERROR, "%zu waiting commands dropped",
			      acts->n_waiting);
	while (acts->n_waiting)
		free_job(acts->waiting[--acts->n_waiting]);
	do {
		cli_watch_serve(acts);
		running = 0;
		for (size_t slot = 0; slot < CLI_WATCH_RUNNING; slot++)
			running += !!acts->running[slot];
		if (running)
			nanosleep(&pause, NULL);
	} while (running);
	if (acts->left_out)
		cli_watch_log(acts, CLI_WATCH_ERROR, "%llu commands were dropped in total",
			      (unsigned long long)acts->left_out);
}

/* ------------------------------------------------------------------ actions */

static void mark(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm)
{
	const char *state = alarm->state == KL_WATCH_RAISED ? "raised" : "cleared";
	char *text = alarm->pid ?
			     cli_format("alarm %s %s: %s (%s, pid %d)", alarm->rule->name, state,
					alarm->text, alarm->comm, alarm->pid) :
			     cli_format("alarm %s %s: %s", alarm->rule->name, state, alarm->text);

	if (kl_device_mark(acts->device, (uint64_t)alarm->pid, text))
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: cannot write a mark for the alarm: %s",
			      alarm->rule->name, kl_error_text());
	free(text);
}

static void freeze(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm,
		   const char *name)
{
	struct kl_abi_status status;
	struct kl_abi_attach attach = { 0 };
	struct kl_session *session;
	int error = kl_device_find(acts->device, name, &status);

	if (!error) {
		attach.id = status.id;
		session = kl_session_attach(acts->device, &attach);
		error = session ? kl_session_freeze(session) : -errno;
		kl_session_close(session);
	}
	if (error)
		cli_watch_log(acts, CLI_WATCH_ERROR, "%s: cannot freeze session %s: %s",
			      alarm->rule->name, name, kl_error_text());
	else
		cli_watch_log(acts, CLI_WATCH_INFO, "%s: session %s frozen", alarm->rule->name,
			      name);
}

static void act(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm,
		const struct kl_watch_action *action)
{
	bool raised = alarm->state == KL_WATCH_RAISED;

	switch (action->what) {
	case KL_WATCH_LOG:
		cli_watch_say(acts, alarm);
		break;
	case KL_WATCH_MARK:
		mark(acts, alarm);
		break;
	case KL_WATCH_FREEZE:
		if (raised)
			freeze(acts, alarm, action->words[0]);
		break;
	case KL_WATCH_SNAPSHOT:
		if (raised)
			add_job(acts, alarm,
				copy_words((char *[]){ "/proc/self/exe", "snapshot",
						       action->words[0], NULL }));
		break;
	case KL_WATCH_RUN:
		add_job(acts, alarm, copy_words(action->words));
		break;
	case KL_WATCH_SHELL:
		add_job(acts, alarm,
			copy_words((char *[]){ "/bin/sh", "-c", action->words[0], NULL }));
		break;
	}
}

void cli_watch_act(struct cli_watch_acts *acts, const struct kl_watch_alarm *alarm)
{
	for (size_t i = 0; i < alarm->rule->n_actions; i++)
		act(acts, alarm, &alarm->rule->actions[i]);
}
