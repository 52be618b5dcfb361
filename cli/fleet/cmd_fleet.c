// SPDX-License-Identifier: GPL-2.0
/* kernlens fleet: captures of many machines, on a server that kernlens ship sends them to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/internal.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "fleet.h"
#include "fleet_print.h"
#include "fleet_top.h"

enum {
	KEY_HOSTS = CLI_FLEET_OWN,
	KEY_PARTIAL,
	KEY_MAX_SIZE,
	KEY_MAX_AGE,
	KEY_REPLICAS,
	KEY_WAIT,
	KEY_REASON,
	KEY_PROMETHEUS,
	KEY_PROMETHEUS_LOGIN,
	KEY_PROMETHEUS_CA,
	KEY_TOP,
	KEY_BY,
	KEY_WINDOW,
	KEY_WATCH,
};

#define REPLICAS_MAX 5
#define TOP_MAX 500
#define WINDOW_MAX_NS (86400ull * 1000000000u)

static const struct cli_option options[] = {
	CLI_FLEET_OPTIONS,
	{ KEY_HOSTS, "hosts", "PATTERN",
	  "hosts of ls, top, status and freeze, such as 'db*,web1' (*)" },
	{ 'o', "output", "DIR", "get: trace directory to create (HOST-CAPTURE)" },
	{ KEY_PARTIAL, "partial", NULL, "get, view, why: also a capture that is not whole" },
	{ KEY_MAX_SIZE, "max-size", "SIZE",
	  "get, view, why: refuse a larger one (4G); create: size of the stream (the server's)" },
	{ KEY_MAX_AGE, "max-age", "SECONDS", "create: captures are kept for so long (2592000)" },
	{ KEY_REPLICAS, "replicas", "N",
	  "create: servers of a cluster that keep each capture (1)" },
	{ KEY_REASON, "reason", "TEXT", "freeze: why, which ls shows" },
	{ KEY_WAIT, "wait", "SECONDS", "freeze, status: wait so long for answers (2)" },
	{ KEY_PROMETHEUS, "prometheus", "URL", "top: server that scrapes kernlens serve" },
	{ KEY_PROMETHEUS_LOGIN, "prometheus-login-file", "FILE",
	  "top: file with USER:PASSWORD or a token" },
	{ KEY_PROMETHEUS_CA, "prometheus-ca", "FILE", "top: its certificate is one of these" },
	{ KEY_BY, "by", "WORD", "top: sort processes by cpu, wait, memory, read or written (cpu)" },
	{ KEY_TOP, "top", "N", "top: processes of all hosts together (20)" },
	{ KEY_WINDOW, "window", "SECONDS", "top: take rates over so long (300)" },
	{ KEY_WATCH, "watch", "[=SECONDS]", "top: repeat at this interval until Ctrl-C (5)" },
	{},
};

/**
 * struct fleet - a run of the command
 * @words: options for the program that talks to the server
 * @host, @capture: of get, view, why and rm
 * @is_pattern: @host is patterns of several hosts
 * @rest: what the command of view and why gets
 * @top, @watch, @watch_ns: of top, which may be repeated
 */
struct fleet {
	const struct cli_command *self;
	struct cli_fleet_words words;
	const char *hosts, *output, *host, *reason;
	char *capture;
	char **rest;
	bool partial, is_pattern;
	uint64_t size, age_ns, replicas, wait_ns;
	struct cli_fleet_top top;
	bool watch;
	uint64_t watch_ns;
};

/* ------------------------------------------------------------------------ lists */

static int list(struct fleet *f)
{
	json_t *rows = NULL;
	int status;

	cli_fleet_add(&f->words, "--host=%s", f->hosts);
	status = cli_fleet_run("ls", &f->words, &rows);
	if (!status) {
		rows = cli_fleet_sort(rows, cli_fleet_compare_times);
		cli_start_pager();
		status = cli_fleet_print_captures(rows);
	}
	json_decref(rows);
	return status;
}

static int call(struct fleet *f, bool freeze)
{
	char capture[CLI_FLEET_ID_MAX];
	json_t *rows = NULL;
	int status;

	cli_fleet_make_id(capture);
	cli_fleet_add(&f->words, "--host=%s", f->hosts);
	cli_fleet_add(&f->words, "--wait=%llu", (unsigned long long)f->wait_ns / 1000000);
	cli_fleet_add(&f->words, "--capture=%s", capture);
	cli_fleet_add(&f->words, "--reason=%s", f->reason);
	status = cli_fleet_run(freeze ? "freeze" : "status", &f->words, &rows);
	if (!status)
		status = freeze ? cli_fleet_print_freeze(rows, capture) :
				  cli_fleet_print_status(rows);
	json_decref(rows);
	return status;
}

/* Ctrl-C ends it. */
static int top(struct fleet *f)
{
	const struct timespec pause = { (time_t)(f->watch_ns / 1000000000),
					(long)(f->watch_ns % 1000000000) };
	int status;

	if (!f->top.prometheus)
		cli_usage_error(f->self, "top: which Prometheus? (--prometheus URL)");
	f->top.hosts = f->hosts;
	while (!(status = cli_fleet_print_top(&f->top)) && f->watch) {
		fflush(stdout);
		nanosleep(&pause, NULL);
		if (!cli_clear_screen() && !cli_settings.json)
			putchar('\n');
	}
	return status;
}

static int create(struct fleet *f)
{
	cli_fleet_add(&f->words, "--max-size=%llu", (unsigned long long)f->size);
	cli_fleet_add(&f->words, "--max-age=%llu", (unsigned long long)f->age_ns / 1000000000u);
	cli_fleet_add(&f->words, "--replicas=%llu", (unsigned long long)f->replicas);
	return cli_fleet_run("create", &f->words, NULL);
}

/* --------------------------------------------------------------------- captures */

/* The captures of hosts, in order of time. @hosts: a name, or patterns */
static int list_of(const struct fleet *f, const char *hosts, json_t **rows)
{
	struct cli_fleet_words words = { .n = 0 };
	int status;

	for (size_t i = 0; i < f->words.n; i++)
		cli_fleet_add(&words, "%s", f->words.word[i]);
	cli_fleet_add(&words, "--host=%s", hosts);
	status = cli_fleet_run("ls", &words, rows);
	cli_fleet_free(&words);
	*rows = cli_fleet_sort(*rows, cli_fleet_compare_times);
	return status;
}

/* Without a capture: the last one of the hosts. */
static int choose_capture(struct fleet *f)
{
	json_t *rows = NULL;
	const json_t *last;
	const char *name;
	int status;

	if (f->capture)
		return CLI_OK;
	status = list_of(f, f->host, &rows);
	last = json_array_get(rows, json_array_size(rows) - 1);
	name = cli_json_get_text(last, "capture");
	if (!status && cli_fleet_is_name(name))
		f->capture = cli_format("%s", name);
	else if (!status)
		status = cli_error(-ENOENT, "the server has no capture of %s", f->host);
	json_decref(rows);
	return status;
}

/* Fetch the chosen capture of a host. */
static int fetch(const struct fleet *f, const char *host, const char *path, json_t **rows)
{
	struct cli_fleet_words words = { .n = 0 };
	int status;

	for (size_t i = 0; i < f->words.n; i++)
		cli_fleet_add(&words, "%s", f->words.word[i]);
	cli_fleet_add(&words, "--host=%s", host);
	cli_fleet_add(&words, "--capture=%s", f->capture);
	cli_fleet_add(&words, "--output=%s", path);
	if (f->size)
		cli_fleet_add(&words, "--max-size=%llu", (unsigned long long)f->size);
	if (f->partial)
		cli_fleet_add(&words, "--partial");
	status = cli_fleet_run("get", &words, rows);
	cli_fleet_free(&words);
	/* Incomplete, which it has said. */
	return status == 3 ? (f->partial ? CLI_OK : CLI_FAILED) : status;
}

static int get(struct fleet *f)
{
	json_t *rows = NULL;
	char *path = f->output ? cli_format("%s", f->output) :
				 cli_format("%s-%s", f->host, f->capture);
	int status = fetch(f, f->host, path, &rows);

	if (!status && cli_settings.json)
		status = cli_json_write(json_pack("{s:o, s:O}", "trace", cli_json_text(path),
						  "capture", json_array_get(rows, 0)));
	else if (!status)
		printf("%s\n", path);
	json_decref(rows);
	free(path);
	return status;
}

/* Run another subcommand on traces. */
static int use(const struct fleet *f, const char *what, char *const *trace, size_t n)
{
	struct cli_fleet_words words = { .n = 0 };
	int status;
	pid_t pid;

	cli_fleet_add(&words, "kernlens");
	cli_fleet_add(&words, "%s", what);
	for (size_t i = 0; i < n; i++)
		cli_fleet_add(&words, "--input=%s", trace[i]);
	if (cli_settings.json)
		cli_fleet_add(&words, "--json");
	/* A page of a trace that is removed has another name. */
	if (!strcmp(what, "view") && !(f->rest && *f->rest)) {
		if (f->is_pattern)
			cli_fleet_add(&words, "--output=%s.html", f->capture);
		else
			cli_fleet_add(&words, "--output=%s-%s.html", f->host, f->capture);
	}
	for (char **word = f->rest; word && *word; word++)
		cli_fleet_add(&words, "%s", *word);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", words.word);
		_exit(CLI_NO_COMMAND);
	}
	status = cli_fleet_wait(pid, what);
	cli_fleet_free(&words);
	return status;
}

/* Times of one host can be compared with each other. Print how they compare with UTC. */
static void note_clock(const struct fleet *f, const json_t *rows)
{
	const json_t *about = json_object_get(json_array_get(rows, 0), "about");
	char text[CLI_FLEET_CLOCK_MAX];

	if (!f->is_pattern && !cli_settings.json)
		cli_note("the clock of %s: %s", f->host, cli_fleet_clock(text, about));
}

/* The hosts that match, and have the capture. Returns their number. */
static size_t choose_hosts(const struct fleet *f, const json_t *rows,
			   const char *host[KL_CLOCKS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name = cli_json_get_text(row, "host");
		bool twice = false;

		for (size_t k = 0; k < n; k++)
			twice |= !strcmp(host[k], name);
		if (strcmp(cli_json_get_text(row, "capture"), f->capture) || twice ||
		    !cli_fleet_is_name(name))
			continue;
		if (n == KL_CLOCKS_MAX) {
			cli_note("only the first %d hosts are shown", KL_CLOCKS_MAX);
			break;
		}
		host[n++] = name;
	}
	return n;
}

/* Fetch the capture of each host to a folder, and use them. */
static int fetch_all(struct fleet *f, const char *what, const char *folder, const char *const *host,
		     size_t n)
{
	char *trace[KL_CLOCKS_MAX];
	json_t *rows = NULL;
	int status = CLI_OK;

	for (size_t i = 0; i < n; i++) {
		trace[i] = cli_format("%s/%s", folder, host[i]);
		if (status)
			continue;
		status = fetch(f, host[i], trace[i], &rows);
		if (!status)
			note_clock(f, rows);
		json_decref(rows);
		rows = NULL;
	}
	if (!status)
		status = use(f, what, trace, n);
	for (size_t i = 0; i < n; i++) {
		kl_record_discard(trace[i]);
		free(trace[i]);
	}
	return status;
}

static int fetch_and_use(struct fleet *f, const char *what)
{
	const char *folder = getenv("TMPDIR"), *host[KL_CLOCKS_MAX] = { f->host };
	char *path = cli_format("%s/kernlens-fleet-XXXXXX", folder && *folder ? folder : "/tmp");
	json_t *rows = NULL;
	size_t n = 1;
	int status = f->is_pattern ? list_of(f, f->host, &rows) : CLI_OK;

	if (!status && f->is_pattern) {
		n = choose_hosts(f, rows, host);
		if (!n)
			status = cli_error(-ENOENT, "the server has no capture %s of %s",
					   f->capture, f->host);
	}
	if (!status && !mkdtemp(path))
		status = cli_error(-errno, "%s: %s", path, strerror(errno));
	if (!status) {
		status = fetch_all(f, what, path, host, n);
		rmdir(path);
	}
	json_decref(rows);
	free(path);
	return status;
}

static int remove_capture(struct fleet *f)
{
	if (!f->capture)
		cli_usage_error(f->self, "rm: which capture?");
	cli_fleet_add(&f->words, "--host=%s", f->host);
	cli_fleet_add(&f->words, "--capture=%s", f->capture);
	return cli_fleet_run("rm", &f->words, NULL);
}

/* ---------------------------------------------------------------------- options */

static void take_option_of_top(struct fleet *f, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_PROMETHEUS:
		f->top.prometheus = parser->arg;
		break;
	case KEY_PROMETHEUS_LOGIN:
		f->top.login = parser->arg;
		break;
	case KEY_PROMETHEUS_CA:
		f->top.ca = parser->arg;
		break;
	case KEY_BY:
		if (!cli_fleet_can_sort(parser->arg))
			cli_usage_error(f->self,
					"--by: expected cpu, wait, memory, read or written");
		f->top.by = parser->arg;
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", TOP_MAX, &f->top.top);
		break;
	case KEY_WINDOW:
		cli_take_interval(parser, "--window", &f->top.window_ns);
		if (f->top.window_ns > WINDOW_MAX_NS)
			cli_usage_error(f->self, "--window: at most a day");
		break;
	case KEY_WATCH:
		f->watch = true;
		cli_take_interval(parser, "--watch", &f->watch_ns);
		break;
	}
}

static void take_option(struct fleet *f, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_HOSTS:
		f->hosts = parser->arg;
		break;
	case 'o':
		f->output = parser->arg;
		break;
	case KEY_PARTIAL:
		f->partial = true;
		break;
	case KEY_MAX_SIZE:
		f->size = cli_need_size(f->self, parser->arg);
		break;
	case KEY_MAX_AGE:
		cli_take_seconds(parser, "--max-age", &f->age_ns);
		break;
	case KEY_REPLICAS:
		cli_take_number(parser, "--replicas", REPLICAS_MAX, &f->replicas);
		break;
	case KEY_REASON:
		f->reason = parser->arg;
		break;
	case KEY_WAIT:
		cli_take_seconds(parser, "--wait", &f->wait_ns);
		break;
	default:
		if (!cli_fleet_option(&f->words, parser, key))
			take_option_of_top(f, parser, key);
	}
}

static void take_names(struct fleet *f, const struct cli_parser *parser)
{
	int n = parser->n_before >= 0 ? parser->n_before : parser->n_words;

	if (n < 2 || n > 3)
		cli_usage_error(f->self, "%s: expected HOST and CAPTURE", parser->words[0]);
	f->host = parser->words[1];
	if (n > 2)
		f->capture = cli_format("%s", parser->words[2]);
	f->is_pattern = !strcmp(parser->words[0], "view") && strpbrk(f->host, ",*?[");
	if ((!f->is_pattern && !cli_fleet_is_name(f->host)) ||
	    (f->capture && !cli_fleet_is_name(f->capture)))
		cli_usage_error(f->self, "a host or capture has only letters, digits, - and _");
	if (parser->n_before >= 0)
		f->rest = parser->words + n;
}

static int run(struct fleet *f, const struct cli_parser *parser)
{
	const char *what = parser->n_words ? parser->words[0] : "ls";
	bool alone = parser->n_words <= 1;
	int status;

	if (alone && !strcmp(what, "top"))
		return top(f);
	if (!f->words.has_server)
		cli_usage_error(f->self, "which server? (--server URL)");
	if (alone && !strcmp(what, "ls"))
		return list(f);
	if (alone && !strcmp(what, "status"))
		return call(f, false);
	if (alone && !strcmp(what, "freeze"))
		return call(f, true);
	if (alone && !strcmp(what, "create"))
		return create(f);
	if (!strcmp(what, "get") || !strcmp(what, "view") || !strcmp(what, "why") ||
	    !strcmp(what, "rm")) {
		take_names(f, parser);
		if (!strcmp(what, "rm"))
			return remove_capture(f);
		status = choose_capture(f);
		if (status)
			return status;
		return strcmp(what, "get") ? fetch_and_use(f, what) : get(f);
	}
	cli_usage_error(f->self,
			"\"%s\": expected ls, top, status, freeze, get, view, why, rm or create",
			what);
}

static int exec_fleet(const struct cli_command *self, int argc, char **argv)
{
	struct fleet f = {
		.self = self,
		.hosts = "*",
		.reason = "kernlens fleet freeze",
		.age_ns = 2592000ull * 1000000000u,
		.replicas = 1,
		.wait_ns = 2000000000u,
		.top = { .by = "cpu", .top = 20, .window_ns = 300ull * 1000000000u },
		.watch_ns = 5ull * 1000000000u,
	};
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&f, &parser, key);
	status = run(&f, &parser);
	cli_fleet_free(&f.words);
	free(f.capture);
	return status;
}

const struct cli_command_ops cmd_fleet = {
	.options = options,
	.text = "ls lists captures, newest last. top shows what hosts and their processes use, as\n"
		"Prometheus has it. status asks hosts. freeze requests a capture of all hosts at once.\n"
		"get, view and why fetch a capture, the last one of HOST if none is given; options of view\n"
		"and why follow --. view shows several hosts, such as 'db*,web1', on one timeline, with how\n"
		"far their clocks are apart. create makes the server's stream.\n"
		"\n"
		"  kernlens fleet top --prometheus http://collector:9090 --hosts 'db*' --by wait\n"
		"  kernlens fleet ls --server tls://collector:4222 --login-file operator\n"
		"  kernlens fleet freeze --hosts 'db*,web1' --reason 'slow checkout'\n"
		"  kernlens fleet get db1 20261130T003622-5f3a9c1e2b -o trace\n"
		"  kernlens fleet view 'db*,web1'; kernlens fleet why db1 -- -p 4711\n",
	.exec = exec_fleet,
};
