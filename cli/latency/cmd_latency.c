// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens latency: where sleeping tasks spend their time. Tables go to stderr, JSON and folded
 * stacks to stdout, flame graphs to files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/flame.h"
#include "../base/output.h"
#include "../session/alarm.h"
#include "../session/run.h"
#include "../session/select.h"
#include "print.h"

enum {
	KEY_BY = CLI_KEY_OWN,
	KEY_TOP,
	KEY_DEPTH,
	KEY_FOLDED,
	KEY_SVG,
	KEY_HTML,
	KEY_IDLE,
	KEY_WAKERS,
	KEY_SUMS,
};

enum {
	TOP_TABLE = 20,
	TOP_JSON = 1000,
	TRACES = 65536,
};

static const struct cli_option options[] = {
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ 'i', "interval", "SECONDS", "print the tables repeatedly" },
	{ KEY_BY, "by", "WHAT", "process (default), thread, stack, reason or waker" },
	{ KEY_TOP, "top", "NUMBER", "rows per table (20), or waits in JSON (1000)" },
	{ KEY_DEPTH, "depth", "FRAMES", "maximum depth of stack traces (32)" },
	{ KEY_WAKERS, "waker-stacks", NULL, "also collect stack traces of wakers" },
	{ KEY_SUMS, "sums", NULL, "times only: no stack traces, no wakers" },
	{ KEY_IDLE, "idle", NULL, "also show idle kernel threads and stopped tasks" },
	{ KEY_FOLDED, "folded", NULL, "one stack trace per line, with microseconds" },
	{ KEY_SVG, "svg", "FILE", "write a flame graph" },
	{ KEY_HTML, "html", "FILE", "write the flame graph as an HTML page" },
	{ 'o', "output", "FILE", "write tables, JSON or folded stacks to FILE" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{},
};

struct latency_run {
	struct cli_session session;
	struct cli_run run;
	struct cli_latency report;
	uint64_t interval_ns;
	unsigned int depth;
	bool folded;
	bool wakers;
	bool sums;
	const char *svg;
	const char *html;
};

/* --------------------------------------------------------------- the session */

static int set_up(struct latency_run *lr)
{
	struct kl_session *session = lr->session.session;
	bool all = kl_device_info(lr->session.device)->may & KL_MAY_SEE_ALL;
	struct kl_abi_stacks limits = { .what = KL_STACKS_LIMITS,
					.traces = all ? TRACES : 0,
					.kernel_frames = lr->depth,
					.user_frames = lr->depth };
	struct kl_abi_latency params = { 0 };
	int error;

	if (!lr->sums)
		params.flags = KL_LATENCY_ENTRIES | KL_LATENCY_USER_STACKS | KL_LATENCY_WAKERS |
			       KL_LATENCY_OWNERS;
	if (!lr->sums && kl_device_info(lr->session.device)->may & KL_MAY_SEE_ADDRESSES)
		params.flags |= KL_LATENCY_KERNEL_STACKS;
	if (lr->wakers)
		params.flags |= KL_LATENCY_WAKER_STACKS;
	error = kl_session_stacks(session, &limits);
	if (!error)
		error = kl_session_latency(session, &params);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int read_profile(struct latency_run *lr)
{
	uint64_t hz = kl_device_info(lr->session.device)->clock_hz;

	kl_latency_destroy(lr->report.latency);
	lr->report.latency = kl_latency_read(lr->session.session, hz);
	if (!lr->report.latency)
		return cli_library_error(-errno, NULL);
	return cli_session_collect(&lr->session, false) < 0 ? CLI_FAILED : CLI_OK;
}

/* ------------------------------------------------------------------- output */

static char *title_of(const struct latency_run *lr)
{
	const struct cli_select *select = &lr->session.select;
	const char *slash = select->words ? strrchr(select->words[0], '/') : NULL;

	if (select->user)
		return cli_format("Time asleep: user %s", select->user);
	if (select->cgroup.key)
		return cli_format("Time asleep: %s", cli_cgroup_subject(&select->cgroup));
	if (select->n_pids)
		return cli_format("Time asleep: process %d", select->pid[0]);
	if (select->all)
		return cli_format("Time asleep: all tasks");
	return cli_format("Time asleep: %s", slash ? slash + 1 : select->words[0]);
}

/* Write the requested flame graphs; with --folded, put the folded stacks into @folded. */
static int write_flames(struct latency_run *lr, struct kl_buffer *folded)
{
	struct kl_flame *flame = kl_latency_flame(lr->report.latency,
						  kl_record_names_stacks(lr->session.names),
						  lr->session.schema, lr->report.idle);
	char *title = title_of(lr);
	int status;

	if (!flame) {
		free(title);
		return cli_library_error(-errno, NULL);
	}
	if (lr->folded)
		kl_flame_folded(flame, folded);
	status = cli_flame_write(flame, title, "us", lr->svg, lr->html);
	kl_flame_destroy(flame);
	free(title);
	return status;
}

static int write_result(struct latency_run *lr, FILE *file)
{
	struct kl_buffer folded = { 0 };
	int status = write_flames(lr, &folded);

	if (!status && lr->folded)
		status = cli_write_buffer(&folded, file) ? CLI_OK : CLI_FAILED;
	else if (!status && cli_settings.json)
		status = cli_json_write(cli_latency_json(&lr->report));
	else if (!status)
		cli_latency_print(&lr->report, file);
	if (lr->folded && !status)
		cli_latency_print_lost(lr->report.latency, stderr);
	kl_buffer_deinit(&folded);
	return status;
}

/* ---------------------------------------------------------------------- run */

static int wait_for_end(struct latency_run *lr, FILE *file)
{
	int status = CLI_OK;

	while (!lr->run.over && !status) {
		cli_run_wait(&lr->run, -1, lr->interval_ns ? (int)(lr->interval_ns / 1000000) : -1);
		if (!lr->interval_ns || lr->run.over)
			continue;
		status = read_profile(lr);
		if (!status)
			cli_latency_print(&lr->report, file);
		fflush(file);
	}
	return status;
}

static int profile(struct latency_run *lr)
{
	const char *path = lr->session.select.output;
	FILE *file = NULL;
	int error, status = set_up(lr);

	if (!status) {
		file = cli_open_result(path, cli_settings.json || lr->folded);
		status = file ? cli_run_begin(&lr->run) : CLI_FAILED;
	}
	if (status)
		return status;
	status = wait_for_end(lr, file);
	error = kl_session_stop(lr->session.session);
	cli_note_suspended(lr->session.session);
	if (error)
		return cli_library_error(error, NULL);
	if (!status)
		status = read_profile(lr);
	cli_run_status(&lr->run, CLI_OK);
	if (!status && !cli_child_failed(&lr->session.child))
		status = write_result(lr, file);
	return cli_close_result(file, path, status);
}

static int run(struct latency_run *lr)
{
	int status = cli_run_init(&lr->run, &lr->session);

	if (!status)
		status = cli_session_open(&lr->session, NULL, KL_HANDLER_log);
	if (!status) {
		lr->report.session = &lr->session;
		status = profile(lr);
		if (lr->run.began_ns)
			status = cli_run_status(&lr->run, status);
		cli_session_close(&lr->session);
	}
	cli_run_deinit(&lr->run);
	kl_latency_destroy(lr->report.latency);
	return status;
}

static enum cli_latency_by parse_by(const struct cli_command *self, const char *word)
{
	static const char *const words[] = {
		[CLI_LATENCY_PROCESS] = "process", [CLI_LATENCY_THREAD] = "thread",
		[CLI_LATENCY_STACK] = "stack",	   [CLI_LATENCY_REASON] = "reason",
		[CLI_LATENCY_WAKER] = "waker",
	};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return (enum cli_latency_by)i;
	cli_usage_error(self,
			"invalid --by \"%s\"; expected process, thread, stack, reason or waker",
			word);
}

static unsigned int parse_number(const struct cli_command *self, const struct cli_parser *parser,
				 unsigned int most)
{
	uint64_t number;

	if (!cli_parse_unsigned(parser->arg, most, &number) || !number)
		cli_usage_error(self, "\"%s\" is not a number from 1 to %u", parser->arg, most);
	return (unsigned int)number;
}

static void take_option(struct latency_run *lr, const struct cli_parser *parser, int key)
{
	const struct cli_command *self = lr->session.command;

	switch (key) {
	case KEY_BY:
		lr->report.by = parse_by(self, parser->arg);
		break;
	case KEY_TOP:
		lr->report.top = parse_number(self, parser, 1000000);
		break;
	case KEY_DEPTH:
		lr->depth = parse_number(self, parser, KL_STACK_FRAMES_MAX);
		break;
	case KEY_FOLDED:
		lr->folded = true;
		lr->session.select.to_stdout = true;
		break;
	case KEY_IDLE:
		lr->report.idle = true;
		break;
	case KEY_WAKERS:
		lr->wakers = true;
		break;
	case KEY_SUMS:
		lr->sums = true;
		break;
	case KEY_SVG:
		lr->svg = parser->arg;
		break;
	case KEY_HTML:
		lr->html = parser->arg;
		break;
	case 'o':
		lr->session.select.output = parser->arg;
		break;
	case 'i':
		if (!cli_parse_seconds(parser->arg, &lr->interval_ns) ||
		    lr->interval_ns < 1000000 || lr->interval_ns > 86400000000000)
			cli_usage_error(self, "\"%s\" is not a number of seconds", parser->arg);
		break;
	}
}

static int exec_latency(const struct cli_command *self, int argc, char **argv)
{
	struct latency_run *lr = cli_alloc(sizeof(*lr));
	struct cli_parser parser;
	int key, status;

	lr->session.command = self;
	cli_select_init(&lr->session.select);
	/* No event is recorded, so the smallest buffers will do. */
	lr->session.select.buffer_bytes = 1;
	lr->session.select.maskset = KL_MASKSET_RNOTHING;
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(&lr->session.select, &parser, key))
			take_option(lr, &parser, key);
	if (lr->sums && (lr->wakers || lr->folded || lr->svg || lr->html))
		cli_usage_error(self, "--sums cannot be used with --waker-stacks, --folded, --svg "
				      "or --html");
	if (lr->interval_ns && (cli_settings.json || lr->folded))
		cli_usage_error(self, "--interval cannot be used with --json or --folded");
	if (!lr->report.top)
		lr->report.top = cli_settings.json ? TOP_JSON : TOP_TABLE;
	if (parser.n_words)
		lr->session.select.words = parser.words;
	status = run(lr);
	free(lr);
	return status;
}

const struct cli_command_ops cmd_latency = {
	.options = options,
	.runs_command = true,
	.text = "Measures, for each task, how long it ran, waited for a CPU and slept; where it\n"
		"slept and what it waited for; what woke it, and what that waker had itself been\n"
		"waiting for. The sums are made in the kernel; no events are recorded.\n"
		"\n"
		"  kernlens latency -- make\n"
		"  kernlens latency -a --duration 10 --by reason\n"
		"  kernlens latency -p 1234 --duration 5 --by stack --waker-stacks\n"
		"  kernlens latency -a --duration 10 --html sleep.html\n",
	.exec = exec_latency,
};
