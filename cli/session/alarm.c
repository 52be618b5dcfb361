// SPDX-License-Identifier: GPL-2.0
/*
 * Alarms: print them and pass them to the user's command, which the shell runs for one alarm at a
 * time with the alarm's details in its environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/common.h"
#include "alarm.h"

#define SAID_A_SECOND 5

/* At the end, how often and how long to wait for the last command. */
#define FINISH_TRIES 500
#define FINISH_PAUSE_NS 10000000

/* Prefix of the variables passed to the command; they replace any of the same name. */
#define VARIABLE_PREFIX "KERNLENS_"

void cli_alarms_init(struct cli_alarms *alarms, const struct cli_session *session)
{
	alarms->session = session;
	alarms->next = 1;
}

void cli_alarms_skip(struct cli_alarms *alarms, uint64_t sounded)
{
	alarms->next = sounded + 1;
}

bool cli_alarms_are_new(const struct cli_alarms *alarms, uint64_t sounded)
{
	return sounded >= alarms->next;
}

static const char *event_name(const struct cli_alarms *alarms, unsigned int id)
{
	const struct kl_class *class = kl_schema_class(alarms->session->schema, id);

	return class ? class->name : "?";
}

static void say(struct cli_alarms *alarms, const struct kl_abi_alarm *alarm)
{
	uint64_t now = (uint64_t)time(NULL);

	if (alarms->quiet)
		return;
	if (now != alarms->second) {
		alarms->second = now;
		alarms->said = 0;
	}
	if (alarms->said++ >= SAID_A_SECOND) {
		alarms->unsaid++;
		return;
	}
	cli_note("alarm%s%.*s (%s in %.*s, %d)", *alarm->text ? ": " : "", KL_RULE_TEXT_MAX,
		 alarm->text, event_name(alarms, alarm->event), KL_COMM_LEN,
		 alarm->tid ? alarm->comm : "?", alarm->tid);
}

static void remember(struct cli_alarms *alarms, const struct kl_abi_alarm *alarm)
{
	if (!alarms->command)
		return;
	if (alarms->n == CLI_ALARMS_WAITING)
		alarms->left_out++;
	else
		alarms->waiting[(alarms->first + alarms->n++) % CLI_ALARMS_WAITING] = *alarm;
}

void cli_alarms_take(struct cli_alarms *alarms)
{
	struct kl_abi_alarm some[KL_ALARMS_KEPT];
	uint64_t missed = 0;
	int got = kl_session_alarms(alarms->session->session, &alarms->next, some, KL_ALARMS_KEPT,
				    &missed);

	if (got < 0)
		return;
	alarms->missed += missed;
	for (int i = 0; i < got; i++) {
		/*
		 * Any user can name tasks: make the text safe for a log and for the command's
		 * environment.
		 */
		kl_make_plain(some[i].comm, strnlen(some[i].comm, KL_COMM_LEN));
		kl_make_plain(some[i].text, strnlen(some[i].text, KL_RULE_TEXT_MAX));
		say(alarms, &some[i]);
		remember(alarms, &some[i]);
	}
	cli_alarms_run(alarms);
}

static char **make_environment(const struct cli_alarms *alarms, const struct kl_abi_alarm *alarm)
{
	char *const facts[] = {
		cli_format(VARIABLE_PREFIX "ALARM=%.*s", KL_RULE_TEXT_MAX, alarm->text),
		cli_format(VARIABLE_PREFIX "EVENT=%s", event_name(alarms, alarm->event)),
		cli_format(VARIABLE_PREFIX "SESSION=%u", kl_session_id(alarms->session->session)),
		cli_format(VARIABLE_PREFIX "TID=%d", alarm->tid),
		cli_format(VARIABLE_PREFIX "COMM=%.*s", KL_COMM_LEN, alarm->comm),
	};

	return cli_environment(facts, sizeof(facts) / sizeof(*facts));
}

/* The command's stdout goes to stderr, to keep it out of our output. */
static int start_command(struct cli_alarms *alarms, const struct kl_abi_alarm *alarm)
{
	char *const words[] = { "sh", "-c", (char *)alarms->command, NULL };
	char **environment = make_environment(alarms, alarm);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &alarms->session->signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawn(&alarms->pid, "/bin/sh", &files, &attributes, words, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	cli_words_free(environment);
	return error;
}

static void run_next(struct cli_alarms *alarms)
{
	int error = start_command(alarms, &alarms->waiting[alarms->first]);

	alarms->first = (alarms->first + 1) % CLI_ALARMS_WAITING;
	alarms->n--;
	if (!error)
		return;
	alarms->pid = 0;
	if (!alarms->failed)
		cli_note("cannot run the --on-alarm command: %s", strerror(error));
	alarms->failed = true;
}

/* Report a failure only once: the command may fail for every alarm. */
static void take_end(struct cli_alarms *alarms, int status)
{
	alarms->pid = 0;
	if (!status || alarms->failed)
		return;
	alarms->failed = true;
	if (WIFSIGNALED(status))
		cli_note("the --on-alarm command was killed by signal %d", WTERMSIG(status));
	else
		cli_note("the --on-alarm command failed with status %d", WEXITSTATUS(status));
}

void cli_alarms_run(struct cli_alarms *alarms)
{
	int status;

	if (alarms->pid && waitpid(alarms->pid, &status, WNOHANG) == alarms->pid)
		take_end(alarms, status);
	while (!alarms->pid && alarms->n)
		run_next(alarms);
}

static void say_count(uint64_t count, const char *what)
{
	char number[CLI_NUMBER_MAX];

	if (count)
		cli_note("%s alarms %s", cli_print_count(number, count), what);
}

void cli_alarms_finish(struct cli_alarms *alarms)
{
	const struct timespec pause = { .tv_nsec = FINISH_PAUSE_NS };

	cli_alarms_run(alarms);
	for (int i = 0; alarms->pid && i < FINISH_TRIES; i++) {
		nanosleep(&pause, NULL);
		cli_alarms_run(alarms);
	}
	if (alarms->pid)
		cli_note("the --on-alarm command is still running");
	alarms->left_out += alarms->n;
	alarms->n = 0;
	say_count(alarms->missed, "were dropped (too many per second)");
	say_count(alarms->unsaid, "were not printed (too many per second)");
	say_count(alarms->left_out, "were not passed to the --on-alarm command (it was too slow)");
}

bool cli_is_suspended(struct kl_session *session)
{
	struct kl_abi_stats stats;

	return !kl_session_stats(session, -1, &stats) && stats.suspended.times;
}

void cli_note_suspended(struct kl_session *session)
{
	struct kl_abi_stats stats;
	const struct kl_abi_suspended *is = &stats.suspended;
	char where[64] = "";

	if (kl_session_stats(session, -1, &stats) || !is->times)
		return;
	if (is->reason == KL_SUSPENDED_STOPPED)
		snprintf(where, sizeof(where), " and left CPU %d no time for anything else",
			 is->cpu);
	cli_note("the session was suspended: its probes took %u.%u %% of the CPU time%s (limit: "
		 "%u %%)",
		 is->permille / 10, is->permille % 10, where, is->limit / 10);
}
