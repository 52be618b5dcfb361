// SPDX-License-Identifier: GPL-2.0
/* kernlens watch: check rules about processes and the system, and raise alarms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "watch.h"

#define DEFAULT_FILE "/etc/kernlens/watch.rules"

/* Exit status of --once if a condition is true. */
#define EXIT_HOLDS 3

enum {
	KEY_ONCE = CLI_KEY_OWN,
	KEY_CHECK,
	KEY_INTERVAL,
	KEY_TIMEOUT,
};

static const struct cli_option options[] = {
	{ 'f', "file", "FILE", "rules (without RULE: " DEFAULT_FILE ")" },
	{ KEY_INTERVAL, "interval", "SECONDS", "interval between checks (1)" },
	{ KEY_ONCE, "once", NULL, "check once, do not act; exit with 3 if any holds" },
	{ KEY_CHECK, "check", NULL, "only parse the rules" },
	{ KEY_TIMEOUT, "timeout", "SECONDS", "time limit for commands (30)" },
	{},
};

/**
 * struct watching - the request, and the state of the watch
 * @file: rules file, or NULL
 * @words: rules from the command line
 * @late: number of missed checks; @late_said: the number last reported
 */
struct watching {
	const struct cli_command *self;
	const char *file;
	char **words;
	int n_words;
	bool once, check;
	uint64_t interval_ns;
	struct kl_watch_rules *rules;
	struct kl_watch *watch;
	struct cli_watch_acts acts;
	uint64_t late, late_said;
	int signals, timer;
};

/* ------------------------------------------------------------------- rules */

/* Parse the file and the command line. Returns NULL with the error in @why. */
static struct kl_watch_rules *read_rules(const struct watching *w, char **why)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();
	int error = 0;

	if (!rules)
		abort();
	if (w->file) {
		error = kl_watch_rules_read(rules, w->file);
		if (error)
			*why = cli_format("%s", kl_error_text());
	}
	for (int i = 0; i < w->n_words && !error; i++) {
		error = kl_watch_rules_parse(rules, "RULE", w->words[i], strlen(w->words[i]));
		if (error)
			*why = cli_format("%s", kl_error_text());
	}
	if (!error)
		return rules;
	kl_watch_rules_destroy(rules);
	return NULL;
}

static size_t count_rules(const struct kl_watch_rules *rules)
{
	size_t n = 0;

	while (kl_watch_rule(rules, n))
		n++;
	return n;
}

/* ------------------------------------------------------------------- checks */

static void act_on(void *data, const struct kl_watch_alarm *alarm)
{
	struct watching *w = data;

	cli_watch_act(&w->acts, alarm);
}

static void say_only(void *data, const struct kl_watch_alarm *alarm)
{
	struct watching *w = data;

	cli_watch_say(&w->acts, alarm);
}

static int check_now(struct watching *w)
{
	int ret = kl_watch_check(w->watch, act_on, w);

	return ret < 0 ? cli_library_error(ret, NULL) : CLI_OK;
}

/* A bad file leaves the old rules in place. */
static void reload(struct watching *w)
{
	struct kl_watch_rules *rules;
	struct kl_watch *watch = NULL;
	char *why = NULL;

	cli_notify("RELOADING=1");
	rules = read_rules(w, &why);
	if (rules) {
		watch = kl_watch_create(w->acts.device, rules);
		if (!watch)
			why = cli_format("%s", kl_error_text());
	}
	if (watch) {
		kl_watch_take(watch, w->watch, act_on, w);
		kl_watch_destroy(w->watch);
		kl_watch_rules_destroy(w->rules);
		w->watch = watch;
		w->rules = rules;
		cli_watch_log(&w->acts, CLI_WATCH_INFO, "reloaded %zu rules", count_rules(rules));
	} else {
		kl_watch_rules_destroy(rules);
		cli_watch_log(&w->acts, CLI_WATCH_ERROR, "keeping the old rules: %s", why);
	}
	free(why);
	cli_notify("READY=1");
}

/* Returns true if a signal requests the end. */
static bool take_signals(struct watching *w)
{
	struct signalfd_siginfo info;
	bool ends = false;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGHUP)
			reload(w);
		else if (info.ssi_signo != SIGCHLD)
			ends = true;
	return ends;
}

/* Is a check due? Reports missed checks, but not too often. */
static bool take_timer(struct watching *w)
{
	uint64_t times;

	if (read(w->timer, &times, sizeof(times)) != sizeof(times))
		return false;
	w->late += times - 1;
	/* Report the first one, and then whenever their number has doubled. */
	if (w->late && w->late >= 2 * w->late_said) {
		cli_watch_log(&w->acts, CLI_WATCH_WARNING,
			      "%llu checks missed so far: they take too long, or the machine is "
			      "too busy",
			      (unsigned long long)w->late);
		w->late_said = w->late;
	}
	return true;
}

static int wait_ms(const struct watching *w)
{
	uint64_t until = cli_watch_until_ns(&w->acts), now = cli_now_ns();

	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 0 : (int)((until - now) / 1000000 + 1);
}

static int watch_on(struct watching *w)
{
	int status = check_now(w);

	while (!status) {
		struct pollfd fds[2 + CLI_WATCH_RUNNING] = { { w->signals, POLLIN, 0 },
							     { w->timer, POLLIN, 0 } };
		size_t n = 2 + cli_watch_poll_fds(&w->acts, fds + 2);

		if (poll(fds, n, wait_ms(w)) < 0 && errno != EINTR)
			return cli_error(-errno, "poll: %s", strerror(errno));
		if (take_signals(w))
			break;
		cli_watch_serve(&w->acts);
		if (take_timer(w))
			status = check_now(w);
	}
	cli_notify("STOPPING=1");
	cli_watch_finish(&w->acts);
	return status;
}

/* Rates need an earlier sample. */
static int look_once(struct watching *w)
{
	struct timespec pause = { (time_t)(w->interval_ns / 1000000000),
				  (long)(w->interval_ns % 1000000000) };
	int ret;

	kl_watch_hurry(w->watch);
	ret = kl_watch_prepare(w->watch);
	if (ret > 0)
		nanosleep(&pause, NULL);
	if (ret >= 0)
		ret = kl_watch_check(w->watch, say_only, w);
	return ret < 0 ? cli_library_error(ret, NULL) : ret ? EXIT_HOLDS : CLI_OK;
}

/* ------------------------------------------------------------------- set-up */

/* A session that does not exist, yet or at all, is not an error: it may start later. */
static void check_sessions(const struct watching *w)
{
	const struct kl_watch_rule *rule;
	struct kl_abi_status status;

	for (size_t i = 0; (rule = kl_watch_rule(w->rules, i)); i++)
		for (size_t k = 0; k < rule->n_actions; k++) {
			const struct kl_watch_action *action = &rule->actions[k];

			if (action->what != KL_WATCH_FREEZE && action->what != KL_WATCH_SNAPSHOT)
				continue;
			if (kl_device_find(w->acts.device, action->words[0], &status))
				cli_watch_log(&w->acts, CLI_WATCH_WARNING,
					      "%s: session %s does not exist (yet)", rule->name,
					      action->words[0]);
		}
}

static int prepare(struct watching *w)
{
	struct itimerspec times = {
		.it_interval = { (time_t)(w->interval_ns / 1000000000),
				 (long)(w->interval_ns % 1000000000) },
	};
	sigset_t signals;

	times.it_value = times.it_interval;
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &w->acts.signals);
	w->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (w->signals < 0 || w->timer < 0 || timerfd_settime(w->timer, 0, &times, NULL))
		return cli_error(-errno, "cannot set up the timer: %s", strerror(errno));
	return CLI_OK;
}

static int run(struct watching *w)
{
	char *why = NULL;
	int status = CLI_OK;

	w->rules = read_rules(w, &why);
	if (!w->rules) {
		cli_usage_message(NULL, why);
		free(why);
		return CLI_USAGE;
	}
	if (w->check)
		return CLI_OK;
	w->acts.device = cli_open_device();
	if (!w->acts.device)
		return CLI_FAILED;
	w->watch = kl_watch_create(w->acts.device, w->rules);
	if (!w->watch)
		return cli_library_error(-errno, NULL);
	if (w->once)
		return look_once(w);
	status = prepare(w);
	if (status)
		return status;
	cli_watch_log(&w->acts, CLI_WATCH_INFO, "%zu rules, checked every %.3g s",
		      count_rules(w->rules), (double)w->interval_ns / 1e9);
	check_sessions(w);
	cli_notify("READY=1");
	return watch_on(w);
}

static void take_option(struct watching *w, int key, const char *arg)
{
	switch (key) {
	case 'f':
		w->file = arg;
		break;
	case KEY_ONCE:
		w->once = true;
		break;
	case KEY_CHECK:
		w->check = true;
		break;
	case KEY_INTERVAL:
		if (!cli_parse_seconds(arg, &w->interval_ns) || w->interval_ns < 10000000)
			cli_usage_error(w->self,
					"\"%s\" is not a number of seconds (at least 0.01)", arg);
		break;
	case KEY_TIMEOUT:
		if (!cli_parse_seconds(arg, &w->acts.timeout_ns) || !w->acts.timeout_ns)
			cli_usage_error(w->self, "\"%s\" is not a number of seconds", arg);
		break;
	}
}

static int exec_watch(const struct cli_command *self, int argc, char **argv)
{
	struct watching w = {
		.self = self,
		.interval_ns = 1000000000,
		.acts = { .timeout_ns = 30000000000, .prefixed = getenv("JOURNAL_STREAM") },
		.signals = -1,
		.timer = -1,
	};
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&w, key, parser.arg);
	w.words = parser.words;
	w.n_words = parser.n_words;
	if (!w.file && !w.n_words)
		w.file = DEFAULT_FILE;
	status = run(&w);
	kl_watch_destroy(w.watch);
	kl_watch_rules_destroy(w.rules);
	kl_device_close(w.acts.device);
	if (w.signals >= 0)
		close(w.signals);
	if (w.timer >= 0)
		close(w.timer);
	return status;
}

const struct cli_command_ops cmd_watch = {
	.options = options,
	.text = "A RULE is  [NAME:] CONDITION [for DURATION] [clear below N | clear CONDITION]\n"
		"[of comm PATTERN|user NAME|pid N|cgroup PATH|total ...] [do log|mark|freeze SESSION|\n"
		"snapshot SESSION|run COMMAND|shell \"LINE\", ...], see kernlens-watch.rules(5).\n"
		"SIGHUP reads the rules again.\n"
		"\n"
		"  kernlens watch 'big: rss > 500M for 10s clear below 400M'\n"
		"  kernlens watch --once 'processes == 0 of comm sshd total'\n",
	.exec = exec_watch,
};
