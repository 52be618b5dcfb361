// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens ship: a flight recorder whose window is copied to a spool at alarms and on request,
 * while recording continues. Another process sends the spool to a server.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "ship.h"

enum {
	KEY_SPOOL = CLI_FLEET_OWN,
	KEY_SPOOL_SIZE,
	KEY_HOST,
	KEY_ALARM,
	KEY_RULES,
	KEY_INTERVAL,
	KEY_WITH,
	KEY_HEED,
	KEY_REST,
};

#define SECOND_NS 1000000000ull
#define SPOOL_DEFAULT (1ull << 30)
#define REST_DEFAULT (10 * SECOND_NS)

static const struct cli_option options[] = {
	CLI_FLEET_OPTIONS,
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "size of the window per CPU, such as 16M (4M)" },
	{ 'v', "variable", "VALUES", "variables or expressions to add to each record" },
	{ KEY_ALARM, "alarm", "RULE", "capture at this alarm: a rule of kernlens watch" },
	{ KEY_RULES, "rules", "FILE", "capture at the alarms of these rules" },
	{ KEY_INTERVAL, "interval", "SECONDS", "interval between checks of the rules (1)" },
	{ KEY_WITH, "with", "PATTERN", "hosts that capture at these alarms, too" },
	{ KEY_HEED, "heed", "PATTERN", "hosts at whose alarms this one captures (*)" },
	{ KEY_REST, "rest", "SECONDS", "minimum time between captures (10)" },
	{ KEY_HOST, "host", "NAME", "name of this host (host name up to the first dot)" },
	{ KEY_SPOOL, "spool", "DIR", "where captures wait for the server" },
	{ KEY_SPOOL_SIZE, "spool-size", "SIZE", "maximum size of the spool (1G)" },
	{},
};

/* ----------------------------------------------------------------------- alarms */

static void on_alarm(void *data, const struct kl_watch_alarm *alarm)
{
	struct cli_ship *ship = data;
	char id[CLI_FLEET_ID_MAX], *reason;
	struct cli_ship_request request = { .capture = id, .from = ship->host, .reply = "" };

	if (alarm->state != KL_WATCH_RAISED)
		return;
	cli_fleet_make_id(id);
	if (alarm->pid)
		reason = cli_format("%s: %s (%s, pid %d)", alarm->rule->name, alarm->text,
				    cli_clean_text(alarm->comm, strlen(alarm->comm)), alarm->pid);
	else
		reason = cli_format("%s: %s", alarm->rule->name, alarm->text);
	request.reason = reason;
	/* First, so that the others do not wait for this host's disk. */
	if (ship->with)
		cli_ship_tell_agent(ship, json_pack("{s:s, s:s, s:s, s:o}", "do", "alarm",
						    "capture", id, "hosts", ship->with, "reason",
						    cli_json_text(reason)));
	cli_ship_capture(ship, &request);
	free(reason);
}

static int read_rules(struct cli_ship *ship)
{
	int error = 0;

	if (!ship->rules_file && !ship->alarms.length)
		return CLI_OK;
	ship->rules = kl_watch_rules_create();
	if (!ship->rules)
		return cli_library_error(-ENOMEM, NULL);
	if (ship->rules_file)
		error = kl_watch_rules_read(ship->rules, ship->rules_file);
	if (!error && ship->alarms.length)
		error = kl_watch_rules_parse(ship->rules, "--alarm", ship->alarms.data,
					     ship->alarms.length);
	if (!error)
		return CLI_OK;
	cli_usage_message(NULL, kl_error_text());
	return CLI_USAGE;
}

static void add_source(struct cli_ship *ship, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	epoll_ctl(ship->poll, EPOLL_CTL_ADD, fd, &event);
}

static int start_rules(struct cli_ship *ship)
{
	const struct itimerspec times = {
		.it_interval = { (time_t)(ship->interval_ns / SECOND_NS),
				 (long)(ship->interval_ns % SECOND_NS) },
		.it_value = { 0, 1 },
	};

	if (!ship->rules)
		return CLI_OK;
	ship->watch = kl_watch_create(ship->session.device, ship->rules);
	if (!ship->watch)
		return cli_library_error(-errno, NULL);
	ship->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ship->timer < 0 || timerfd_settime(ship->timer, 0, &times, NULL))
		return cli_error(-errno, "cannot set up the timer: %s", strerror(errno));
	add_source(ship, ship->timer);
	return CLI_OK;
}

/* --------------------------------------------------------------------- requests */

static void capture(struct cli_ship *ship, const char *reason)
{
	char id[CLI_FLEET_ID_MAX];
	const struct cli_ship_request request = {
		.capture = id,
		.reason = reason,
		.from = ship->host,
		.reply = "",
	};

	cli_fleet_make_id(id);
	cli_ship_capture(ship, &request);
}

/* Returns false if the session has ended. */
static bool take_notifications(struct cli_ship *ship)
{
	if (!ship->run.told)
		return true;
	ship->run.told = false;
	kl_session_stats(ship->session.session, -1, &ship->stats);
	if (ship->stats.snapshots != ship->requested) {
		ship->requested = ship->stats.snapshots;
		capture(ship, "snapshot requested");
	}
	if (!ship->stats.frozen && !ship->stats.suspended.times)
		return true;
	capture(ship, ship->stats.frozen ? "the session was frozen" :
					   "the watchdog has suspended the session");
	return false;
}

static void take_sources(struct cli_ship *ship)
{
	struct signalfd_siginfo info;
	uint64_t times;

	while (read(ship->signals, &info, sizeof(info)) == sizeof(info))
		capture(ship, "signal");
	if (ship->timer >= 0 && read(ship->timer, &times, sizeof(times)) == sizeof(times))
		kl_watch_check(ship->watch, on_alarm, ship);
	cli_ship_poll_agent(ship);
	cli_ship_start_agent(ship);
}

static int run(struct cli_ship *ship)
{
	while (!ship->run.over) {
		if (!take_notifications(ship))
			return cli_error(0, "the session has ended: %s",
					 ship->stats.frozen ? "it was frozen" :
							      "it took too much of the CPUs");
		take_sources(ship);
		cli_run_wait(&ship->run, ship->poll, 1000);
	}
	return CLI_OK;
}

/* ----------------------------------------------------------------------- set-up */

static int take_signal(struct cli_ship *ship)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ship->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	ship->poll = epoll_create1(EPOLL_CLOEXEC);
	if (ship->signals < 0 || ship->poll < 0)
		return cli_error(-errno, "cannot wait for signals: %s", strerror(errno));
	add_source(ship, ship->signals);
	return CLI_OK;
}

static int start_session(struct cli_ship *ship)
{
	int status = cli_session_open(&ship->session, NULL, KL_HANDLER_log), error;
	char size[CLI_NUMBER_MAX];

	if (status)
		return status;
	if (cli_ship_window(ship) > ship->spool_most)
		return cli_error(-EINVAL, "the spool (--spool-size) has no room for a window of %s",
				 cli_print_size(size, cli_ship_window(ship)));
	ship->run.news = kl_session_fd(ship->session.session);
	error = kl_device_time(ship->session.device, &ship->first);
	if (error)
		return cli_library_error(error, NULL);
	return cli_run_begin(&ship->run);
}

/* What an earlier process was writing is made ready before anything new is written. */
static int wait_for_agent(struct cli_ship *ship)
{
	while (!ship->agent.greeted && !ship->run.over) {
		cli_ship_start_agent(ship);
		cli_ship_poll_agent(ship);
		if (!ship->agent.greeted)
			cli_run_wait(&ship->run, ship->poll, 100);
		if (ship->agent.started > 5 && !ship->agent.greeted)
			return cli_error(0, "the process that talks to the server does not start");
	}
	return CLI_OK;
}

static int ship_all(struct cli_ship *ship)
{
	int status = cli_run_init(&ship->run, &ship->session);

	if (status)
		return status;
	status = take_signal(ship);
	if (!status)
		status = cli_ship_open_spool(ship);
	if (!status)
		status = start_session(ship);
	if (!status)
		status = wait_for_agent(ship);
	if (!status)
		status = start_rules(ship);
	if (!status) {
		cli_notify("READY=1");
		status = run(ship);
		cli_notify("STOPPING=1");
	}
	cli_ship_stop_agent(ship);
	kl_watch_destroy(ship->watch);
	if (ship->session.session)
		cli_session_close(&ship->session);
	cli_run_deinit(&ship->run);
	return status;
}

/* ---------------------------------------------------------------------- options */

static void add_alarm(struct cli_ship *ship, const char *rule)
{
	if (strchr(rule, '\n'))
		cli_usage_error(ship->self, "--alarm: one rule at a time");
	kl_buffer_add(&ship->alarms, rule, strlen(rule));
	kl_buffer_add(&ship->alarms, "\n", 1);
}

static void take_option(struct cli_ship *ship, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_SPOOL:
		ship->spool = parser->arg;
		break;
	case KEY_SPOOL_SIZE:
		ship->spool_most = cli_need_size(ship->self, parser->arg);
		break;
	case KEY_HOST:
		if (!cli_fleet_is_name(parser->arg))
			cli_usage_error(ship->self,
					"--host: \"%s\" has more than letters, digits, - and _, "
					"or more than 39 of them",
					parser->arg);
		snprintf(ship->host, sizeof(ship->host), "%s", parser->arg);
		break;
	case KEY_ALARM:
		add_alarm(ship, parser->arg);
		break;
	case KEY_RULES:
		ship->rules_file = parser->arg;
		break;
	case KEY_INTERVAL:
		cli_take_seconds(parser, "--interval", &ship->interval_ns);
		if (ship->interval_ns < SECOND_NS / 100)
			cli_usage_error(ship->self, "--interval: at least 0.01");
		break;
	case KEY_REST:
		cli_take_seconds(parser, "--rest", &ship->rest_ns);
		break;
	case KEY_WITH:
		ship->with = parser->arg;
		break;
	case KEY_HEED:
		cli_fleet_add(&ship->words, "--heed=%s", parser->arg);
		break;
	default:
		cli_fleet_option(&ship->words, parser, key);
	}
}

static void check_options(struct cli_ship *ship)
{
	const char *state = getenv("STATE_DIRECTORY");
	char name[256] = "";

	if (!ship->words.has_server)
		cli_usage_error(ship->self, "which server? (--server URL)");
	/* Below it: systemd makes this one a symbolic link. */
	if (!ship->spool && state)
		ship->spool = cli_format("%s/spool", state);
	if (!ship->spool)
		cli_usage_error(ship->self, "where do captures wait for the server? (--spool DIR)");
	if (!*ship->host) {
		gethostname(name, sizeof(name) - 1);
		name[strcspn(name, ".")] = 0;
		if (!cli_fleet_is_name(name))
			cli_usage_error(ship->self, "the host's name cannot be used: --host NAME");
		snprintf(ship->host, sizeof(ship->host), "%s", name);
	}
}

static int exec_ship(const struct cli_command *self, int argc, char **argv)
{
	struct cli_ship *ship = cli_alloc(sizeof(*ship));
	struct cli_parser parser;
	int key, status;

	ship->self = self;
	ship->session.command = self;
	ship->session.config.mode = KL_MODE_OVERWRITE;
	ship->spool_most = SPOOL_DEFAULT;
	ship->rest_ns = REST_DEFAULT;
	ship->interval_ns = SECOND_NS;
	ship->spool_fd = -1;
	ship->poll = -1;
	ship->signals = -1;
	ship->timer = -1;
	ship->agent.exit = -1;
	ship->agent.socket = -1;
	cli_select_init(&ship->session.select);
	ship->session.select.own_suffice = true;
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(&ship->session.select, &parser, key))
			take_option(ship, &parser, key);
	if (parser.n_words)
		cli_usage_error(self, "unexpected argument \"%s\"", parser.words[0]);
	check_options(ship);
	status = read_rules(ship);
	if (!status)
		status = ship_all(ship);
	kl_watch_rules_destroy(ship->rules);
	kl_buffer_deinit(&ship->alarms);
	cli_fleet_free(&ship->words);
	free(ship);
	return status;
}

const struct cli_command_ops cmd_ship = {
	.options = options,
	.shared = cli_select_options,
	.text = "Keeps the newest records of all CPUs in memory. At an alarm, at a request of\n"
		"kernlens fleet freeze or kernlens snapshot, and at SIGUSR1, what is in the buffers\n"
		"is copied to the spool and sent to the server's JetStream; recording continues.\n"
		"Captures wait in the spool until the server has stored them.\n"
		"\n"
		"  kernlens ship --server tls://collector:4222 --tls-ca ca.pem --spool spool \\\n"
		"                --alarm 'low: available_memory < 100M' --with 'db*'\n",
	.exec = exec_ship,
};
