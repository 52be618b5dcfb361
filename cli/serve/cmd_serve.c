// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens serve: publish figures of the machine, of processes and of alarms over HTTP, for
 * Prometheus and others that read OpenMetrics. One thread answers, reads and checks rules.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "serve.h"

enum {
	KEY_LISTEN = CLI_KEY_OWN,
	KEY_PUBLIC,
	KEY_CERTIFICATE,
	KEY_KEY,
	KEY_CLIENT_CA,
	KEY_TOKEN,
	KEY_RULES,
	KEY_INTERVAL,
	KEY_TOP,
	KEY_COMM,
	KEY_LATENCY,
	KEY_LOCKS,
	KEY_PRINT,
};

#define TOP_DEFAULT 10
#define SECOND_NS 1000000000ull
/* How often files are looked at, for changes. */
#define FILES_MS 5000

static const struct cli_option options[] = {
	{ KEY_LISTEN, "listen", "ADDRESS", "ADDRESS:PORT, :PORT (loopback) or unix:PATH" },
	{ KEY_PUBLIC, "public", NULL, "everybody who can reach the address may read" },
	{ KEY_CERTIFICATE, "tls-certificate", "FILE", "serve HTTPS with this certificate" },
	{ KEY_KEY, "tls-key", "FILE", "private key of the certificate" },
	{ KEY_CLIENT_CA, "tls-client-ca", "FILE", "clients need a certificate of these" },
	{ KEY_TOKEN, "token-file", "FILE", "clients need this token" },
	{ 'v', "variables", "LIST", "also publish these variables of processes" },
	{ KEY_TOP, "top", "NUMBER", "processes listed by CPU, memory and I/O each (10)" },
	{ 'p', "pid", "PID[,PID]", "only these processes" },
	{ 'u', "user", "USER", "only processes of a user" },
	CLI_CGROUP_OPTIONS,
	{ KEY_COMM, "comm", "PATTERN", "only processes with such a name" },
	{ KEY_LATENCY, "latency", NULL, "also how long tasks sleep and wait for a CPU" },
	{ KEY_LOCKS, "locks", NULL, "also how long tasks wait for locks of the kernel" },
	{ KEY_RULES, "rules", "FILE", "rules of alarms, as for kernlens watch" },
	{ KEY_INTERVAL, "interval", "SECONDS", "interval between checks of the rules (1)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session of --latency and --locks" },
	{ KEY_PRINT, "print", "WHAT", "metrics, prometheus-rules or alertmanager, and exit" },
	{},
};

/**
 * struct running - a run of the command
 * @variables: -v, or NULL
 * @signals: descriptor
 */
struct running {
	struct cli_serve serve;
	char *variables;
	enum cli_serve_print print;
	int signals;
};

/* ----------------------------------------------------------------------- set-up */

/* Names and patterns; patterns leave out what is not a figure or not available here. */
static int request(struct cli_serve *s, const char *word)
{
	bool glob = strpbrk(word, "*?["), any = false;
	const struct kl_variable *v;
	int error = 0;

	if (!glob) {
		error = kl_metrics_reader_request(s->reader, word);
		return error ? cli_library_error(error, NULL) : CLI_OK;
	}
	for (unsigned int i = 1; (v = kl_variable_get(i)); i++)
		if (!fnmatch(word, v->name, 0) && !kl_metrics_reader_request(s->reader, v->name))
			any = true;
	return any ? CLI_OK : cli_error(-EINVAL, "no variable of processes matches \"%s\"", word);
}

static int make_reader(struct running *r)
{
	struct cli_serve *s = &r->serve;
	char *rest = r->variables, *word;
	int status = CLI_OK;

	s->metrics = kl_metrics_create();
	if (s->metrics)
		s->reader = kl_metrics_reader_create(s->metrics, s->device, &s->choice);
	if (!s->reader)
		return cli_library_error(-errno, NULL);
	while (!status && rest && (word = strsep(&rest, ",")))
		status = request(s, word);
	return status;
}

static int choose(struct cli_serve *s)
{
	const struct cli_select *select = &s->session.select;

	for (unsigned int i = 0; i < select->n_pids; i++)
		s->pids[i] = select->pid[i];
	s->choice.n_pids = select->n_pids;
	s->choice.pids = select->n_pids ? s->pids : NULL;
	s->choice.has_uid = select->user;
	s->choice.uid = select->uid;
	if (!select->cgroup.key)
		return CLI_OK;
	s->cgroup = cli_cgroup_find(&select->cgroup);
	s->choice.cgroup = s->cgroup;
	return s->cgroup ? CLI_OK : CLI_FAILED;
}

/* The session of --latency and --locks, which records no events. */
static int start_session(struct cli_serve *s)
{
	/* No call sites are kept, so the table for them is as small as it can be. */
	struct kl_abi_latency params = { .flags = KL_LATENCY_TIMES,
					 .entries = KL_LATENCY_ENTRIES_MIN };
	int error = 0, status;

	s->session.select.maskset = KL_MASKSET_RNOTHING;
	s->session.select.buffer_bytes = 1;
	s->session.select.own_suffice = true;
	if (s->locks) {
		cli_select_add(&s->session.select, s->self, "contention_begin:set(waiting)");
		cli_select_add(&s->session.select, s->self,
			       "contention_end/flag(waiting)/:hist(since(waiting))");
	}
	status = cli_session_open(&s->session, NULL, KL_HANDLER_log);
	if (status)
		return status;
	s->device = s->session.device;
	if (s->latency)
		error = kl_session_latency(s->session.session, &params);
	if (error)
		return cli_library_error(error, NULL);
	return cli_session_start(&s->session);
}

static int open_device(struct cli_serve *s)
{
	if (s->latency || s->locks)
		return start_session(s);
	s->device = cli_open_device();
	return s->device ? CLI_OK : CLI_FAILED;
}

static int take_signals_over(struct running *r)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return r->signals < 0 ? cli_error(-errno, "signalfd: %s", strerror(errno)) : CLI_OK;
}

static int start_rules(struct cli_serve *s)
{
	struct cli_serve_alarms *alarms = &s->alarms;
	struct itimerspec times = {
		.it_interval = { (time_t)(alarms->interval_ns / SECOND_NS),
				 (long)(alarms->interval_ns % SECOND_NS) },
	};
	char *why = NULL;

	if (!alarms->file)
		return CLI_OK;
	if (!cli_serve_read_rules(alarms, s->device, &why)) {
		cli_usage_message(NULL, why);
		free(why);
		return CLI_USAGE;
	}
	times.it_value = times.it_interval;
	alarms->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarms->timer < 0 || timerfd_settime(alarms->timer, 0, &times, NULL))
		return cli_error(-errno, "cannot set up the timer: %s", strerror(errno));
	cli_serve_check_rules(alarms);
	return CLI_OK;
}

static int set_up(struct running *r)
{
	struct cli_serve *s = &r->serve;
	struct timespec now;
	char *why = NULL;
	int status;

	clock_gettime(CLOCK_REALTIME, &now);
	s->began = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	s->reload_ok = true;
	if (!cli_serve_read_secrets(&s->secrets, &why)) {
		cli_error(-EINVAL, "%s", why);
		free(why);
		return CLI_FAILED;
	}
	/* Before the sockets: what is refused is refused before anything is open. */
	status = cli_serve_open_listeners(s);
	if (!status)
		status = choose(s);
	if (!status)
		status = open_device(s);
	if (!status)
		status = make_reader(r);
	if (!status)
		status = take_signals_over(r);
	if (!status)
		status = start_rules(s);
	return status ? status : cli_serve_start_listeners(s);
}

/* --------------------------------------------------------------------- reloading */

static void replace_certificates(struct cli_serve *s)
{
	struct http_tls tls = cli_serve_tls(&s->secrets);

	if (!s->secrets.certificate)
		return;
	for (size_t i = 0; i < s->n_listeners; i++)
		if (http_server_replace(s->listener[i].http, &tls)) {
			cli_note("keeping the old certificate: the new one and its key are not "
				 "valid, or do not belong together");
			s->reload_ok = false;
			return;
		}
}

static void read_secrets_again(struct cli_serve *s)
{
	char *why;

	if (!cli_serve_read_secrets(&s->secrets, &why)) {
		cli_note("keeping the old certificates and token: %s", why);
		free(why);
		s->reload_ok = false;
		return;
	}
	replace_certificates(s);
	if (s->reload_ok)
		cli_note("read the certificates and the token again");
}

static void read_rules_again(struct cli_serve *s)
{
	char *why;

	if (cli_serve_read_rules(&s->alarms, s->device, &why)) {
		cli_note("read %zu rules again", s->alarms.n);
		return;
	}
	cli_note("keeping the old rules: %s", why);
	free(why);
	s->reload_ok = false;
}

static bool has_secrets(const struct cli_serve *s)
{
	return s->secrets.certificate || s->secrets.token_file;
}

static void reload(struct cli_serve *s)
{
	cli_notify("RELOADING=1");
	s->reload_ok = true;
	if (has_secrets(s))
		read_secrets_again(s);
	if (s->alarms.file)
		read_rules_again(s);
	/* What is published next says whether it was successful. */
	s->read_ns = 0;
	cli_notify("READY=1");
}

/* ----------------------------------------------------------------------- the loop */

/* Returns true if a signal requests the end. */
static bool take_signals(struct running *r)
{
	struct signalfd_siginfo info;
	bool ends = false;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGHUP)
			reload(&r->serve);
		else
			ends = true;
	return ends;
}

static void take_timer(struct cli_serve *s)
{
	uint64_t times;

	if (s->alarms.timer < 0 || read(s->alarms.timer, &times, sizeof(times)) != sizeof(times))
		return;
	s->alarms.late += times - 1;
	cli_serve_check_rules(&s->alarms);
}

static void wait(struct running *r)
{
	struct pollfd fds[2 + 2 * CLI_SERVE_LISTENERS] = { { r->signals, POLLIN, 0 },
							   { r->serve.alarms.timer, POLLIN, 0 } };
	int wait_ms = has_secrets(&r->serve) ? FILES_MS : -1, of[2];
	size_t n = 2;

	for (size_t i = 0; i < r->serve.n_listeners; i++) {
		http_server_fds(r->serve.listener[i].http, of);
		fds[n++] = (struct pollfd){ of[0], POLLIN, 0 };
		fds[n++] = (struct pollfd){ of[1], POLLIN, 0 };
		wait_ms = http_server_wait_ms(r->serve.listener[i].http, wait_ms);
	}
	poll(fds, n, wait_ms);
}

static void serve(struct running *r)
{
	struct cli_serve *s = &r->serve;
	uint64_t next = cli_now_ns() + FILES_MS * 1000000ull;

	for (;;) {
		wait(r);
		if (take_signals(r))
			return;
		take_timer(s);
		if (has_secrets(s) && cli_now_ns() >= next) {
			next = cli_now_ns() + FILES_MS * 1000000ull;
			if (cli_serve_secrets_changed(&s->secrets)) {
				s->reload_ok = true;
				read_secrets_again(s);
				s->read_ns = 0;
			}
		}
		for (size_t i = 0; i < s->n_listeners; i++)
			http_server_run(s->listener[i].http, 0);
	}
}

static void tear_down(struct running *r)
{
	struct cli_serve *s = &r->serve;

	cli_serve_close_listeners(s);
	cli_serve_free_alarms(&s->alarms);
	kl_metrics_reader_destroy(s->reader);
	kl_metrics_destroy(s->metrics);
	if (s->session.session)
		cli_session_close(&s->session);
	else
		kl_device_close(s->device);
	cli_serve_free_secrets(&s->secrets);
	kl_buffer_deinit(&s->text[0]);
	kl_buffer_deinit(&s->text[1]);
	free(s->cgroup);
	if (s->alarms.timer >= 0)
		close(s->alarms.timer);
	if (r->signals >= 0)
		close(r->signals);
}

static int run(struct running *r)
{
	int status = set_up(r);

	if (!status) {
		cli_notify("READY=1");
		serve(r);
		cli_notify("STOPPING=1");
	}
	tear_down(r);
	return status;
}

/* ----------------------------------------------------------------------- options */

static void take_listener(struct cli_serve *s, const char *text)
{
	const char *why;

	if (s->n_listeners == CLI_SERVE_LISTENERS)
		cli_usage_error(s->self, "too many addresses (maximum %d)", CLI_SERVE_LISTENERS);
	if (http_address_parse(&s->listener[s->n_listeners].address, text, &why))
		cli_usage_error(s->self, "--listen %s: %s", text, why);
	s->listener[s->n_listeners++].fd = -1;
}

static enum cli_serve_print parse_print(const struct cli_command *self, const char *word)
{
	static const char *const words[] = {
		[CLI_SERVE_PRINT_METRICS] = "metrics",
		[CLI_SERVE_PRINT_RULES] = "prometheus-rules",
		[CLI_SERVE_PRINT_ALERTMANAGER] = "alertmanager",
	};

	for (unsigned int i = 1; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return (enum cli_serve_print)i;
	cli_usage_error(self,
			"invalid --print \"%s\"; expected metrics, prometheus-rules or "
			"alertmanager",
			word);
}

static void take_option(struct running *r, const struct cli_parser *parser, int key)
{
	struct cli_serve *s = &r->serve;
	uint64_t number;

	switch (key) {
	case KEY_LISTEN:
		take_listener(s, parser->arg);
		break;
	case KEY_PUBLIC:
		s->public = true;
		break;
	case KEY_CERTIFICATE:
		s->secrets.certificate = parser->arg;
		break;
	case KEY_KEY:
		s->secrets.key = parser->arg;
		break;
	case KEY_CLIENT_CA:
		s->secrets.client_ca = parser->arg;
		break;
	case KEY_TOKEN:
		s->secrets.token_file = parser->arg;
		break;
	case KEY_RULES:
		s->alarms.file = parser->arg;
		break;
	case KEY_INTERVAL:
		if (!cli_parse_seconds(parser->arg, &s->alarms.interval_ns) ||
		    s->alarms.interval_ns < SECOND_NS / 100)
			cli_usage_error(s->self,
					"\"%s\" is not a number of seconds (at least 0.01)",
					parser->arg);
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", KL_METRICS_TOP_MAX, &number);
		s->choice.top = (size_t)number;
		break;
	case KEY_COMM:
		s->choice.comm = parser->arg;
		break;
	case KEY_LATENCY:
		s->latency = true;
		break;
	case KEY_LOCKS:
		s->locks = true;
		break;
	case KEY_PRINT:
		r->print = parse_print(s->self, parser->arg);
		break;
	}
}

static void check_options(const struct cli_serve *s)
{
	const struct cli_select *select = &s->session.select;

	if (!s->secrets.certificate != !s->secrets.key)
		cli_usage_error(s->self, "--tls-certificate and --tls-key belong together");
	if (s->secrets.client_ca && !s->secrets.certificate)
		cli_usage_error(s->self, "--tls-client-ca requires --tls-certificate");
	if (s->choice.comm && (s->latency || s->locks))
		cli_usage_error(s->self, "--comm cannot be used with --latency or --locks");
	if (!!select->n_pids + !!select->user + !!select->cgroup.key > 1)
		cli_usage_error(s->self,
				"only one of -p, -u, --cgroup, --unit and --container can be given");
}

static int exec_serve(const struct cli_command *self, int argc, char **argv)
{
	struct running *r = cli_alloc(sizeof(*r));
	struct cli_select *select = &r->serve.session.select;
	struct cli_parser parser;
	int key, status;

	r->serve.self = self;
	r->serve.session.command = self;
	r->serve.choice.top = TOP_DEFAULT;
	r->serve.alarms.interval_ns = SECOND_NS;
	r->serve.alarms.timer = -1;
	r->signals = -1;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(select, &parser, key))
			take_option(r, &parser, key);
	if (parser.n_words)
		cli_usage_error(self, "unexpected argument \"%s\"", parser.words[0]);
	/* They are variables of processes, not of the session's records. */
	r->variables = select->variables;
	select->variables = NULL;
	check_options(&r->serve);
	status = r->print ? cli_serve_print(self, r->print, r->serve.alarms.file) : run(r);
	free(r);
	return status;
}

const struct cli_command_ops cmd_serve = {
	.options = options,
	.text = "Publishes figures of this machine for Prometheus and others, at /metrics.\n"
		"All users of this machine can read what is published on a loopback port. SIGHUP\n"
		"reads rules, certificates and the token again.\n"
		"\n"
		"  kernlens serve --listen :9797\n"
		"  kernlens serve --listen :9797 --rules /etc/kernlens/watch.rules --latency\n"
		"  kernlens serve --listen 0.0.0.0:9797 --token-file token \\\n"
		"                 --tls-certificate cert.pem --tls-key key.pem\n"
		"  kernlens serve --print prometheus-rules --rules /etc/kernlens/watch.rules\n",
	.exec = exec_serve,
};
