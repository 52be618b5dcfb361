// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens top: which functions use the CPU now. On a terminal, a full-screen view; else tables, or
 * JSON documents, at an interval.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../view/top/top.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "print.h"
#include "sampler.h"

enum {
	KEY_BY = CLI_KEY_OWN,
	KEY_WINDOW,
	KEY_TOP,
	KEY_LIST,
	KEY_SELF,
};

enum {
	TOP_DEFAULT = 20,
	READ_MS = 100,
};

#define SECOND_NS 1000000000ull
#define INTERVAL_NS (2 * SECOND_NS)
#define WINDOW_NS (10 * SECOND_NS)

/* Branches of trees with a smaller percentage are not shown. */
#define LEAST_PERCENT 0.5

static const struct cli_option options[] = {
	{ 'F', "frequency", "HZ", "samples per second and CPU (99)" },
	{ 'e', "event", "EVENT[/FILTER/]", "take a sample at each of these events instead" },
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "end after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ 'd', "interval", "SECONDS", "time between refreshes (2)" },
	{ KEY_WINDOW, "window", "SECONDS", "show the samples of this time (10)" },
	{ KEY_BY, "by", "KEY[,KEY]",
	  "function (default), object, line, process, thread, cpu, cgroup" },
	{ KEY_LIST, "list", NULL, "print tables even on a terminal" },
	{ 'n', "times", "NUMBER", "print this number of tables" },
	{ KEY_TOP, "top", "NUMBER", "rows of a table (20); 0: all" },
	{ KEY_SELF, "include-self", NULL, "do not leave out kernlens itself" },
	{ CLI_KEY_NO_DEMANGLE, "no-demangle", NULL,
	  "print mangled names of C++ and Rust functions" },
	{},
};

/**
 * struct top - a run of the command
 * @report: what is printed
 * @times: number of tables; 0: until the end
 * @list: no view
 */
struct top {
	struct cli_sampler sampler;
	struct cli_profile report;
	uint64_t hz;
	uint64_t interval_ns;
	uint64_t window_ns;
	uint64_t times;
	bool list;
	bool self;
};

static void update_report(struct top *t)
{
	t->report.profile = t->sampler.profile;
	t->report.lost = t->sampler.lost;
	t->report.restarts = t->sampler.restarts;
	t->report.seconds = (double)cli_sampler_length(&t->sampler) / SECOND_NS;
}

/* -------------------------------------------------------------------- tables */

static int print(struct top *t)
{
	char clock[16];
	time_t now = time(NULL);
	struct tm local;

	update_report(t);
	if (cli_settings.json)
		return cli_profile_write_json(&t->report);
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local));
	printf("%s  ", clock);
	if (cli_profile_print(&t->report, stdout))
		return CLI_FAILED;
	putchar('\n');
	return fflush(stdout) ? cli_error(-errno, "cannot write the output") : CLI_OK;
}

static int print_tables(struct top *t)
{
	struct cli_sampler *s = &t->sampler;
	uint64_t at, done = 0;
	int status = CLI_OK;

	while (!status && !s->run.over && (!t->times || done < t->times)) {
		at = cli_now_ns() + t->interval_ns;
		while (!status && !s->run.over && cli_now_ns() < at) {
			cli_run_wait(&s->run, -1, READ_MS);
			status = cli_sampler_read(s, false);
		}
		if (!status)
			status = print(t);
		if (!status)
			status = cli_sampler_next(s, false);
		done++;
	}
	return status;
}

/* ---------------------------------------------------------------------- view */

static int view_read(void *context, int wait_ms, bool paused, bool *over)
{
	struct top *t = context;
	int status;

	cli_run_wait(&t->sampler.run, STDIN_FILENO, wait_ms);
	status = cli_sampler_read(&t->sampler, paused);
	*over = t->sampler.run.over;
	return status;
}

static int view_next(void *context, bool all)
{
	struct top *t = context;

	return cli_sampler_next(&t->sampler, all);
}

static struct kl_profile *view_profile_of(void *context)
{
	struct top *t = context;

	return t->sampler.profile;
}

static void view_summary(void *context, struct kl_buffer *to)
{
	struct top *t = context;
	char number[CLI_NUMBER_MAX];

	update_report(t);
	cli_profile_summarize(&t->report, to);
	if (t->sampler.lost)
		kl_buffer_printf(to, "; %s missing", cli_print_count(number, t->sampler.lost));
}

static void view_tree(void *context, enum kl_profile_direction direction, const char *function,
		      struct kl_buffer *to)
{
	struct top *t = context;
	struct cli_profile report = t->report;
	size_t length = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return;
	report.tree = true;
	report.direction = direction;
	report.function = function;
	if (cli_profile_print(&report, file))
		fprintf(file, "no sample in it now\n");
	if (!fclose(file))
		kl_buffer_add(to, text, length);
	free(text);
}

/* What is written to stderr meanwhile would spoil the screen: it is shown afterwards. */
static int put_stderr_aside(void)
{
	int file = memfd_create("stderr", MFD_CLOEXEC);
	int before = file < 0 ? -1 : dup(STDERR_FILENO);

	if (before >= 0)
		dup2(file, STDERR_FILENO);
	if (file >= 0)
		close(file);
	return before;
}

static void show_stderr(int before)
{
	char bytes[4096];
	ssize_t n;
	off_t at = 0;

	if (before < 0)
		return;
	while ((n = pread(STDERR_FILENO, bytes, sizeof(bytes), at)) > 0) {
		if (write(before, bytes, (size_t)n) != n)
			break;
		at += n;
	}
	dup2(before, STDERR_FILENO);
	close(before);
}

static int show_view(struct top *t)
{
	struct view_top top = {
		.context = t,
		.n_keys = t->report.n_keys,
		.interval_ns = t->interval_ns,
		.color = cli_has_styles(stdout),
		.read = view_read,
		.next = view_next,
		.profile = view_profile_of,
		.summary = view_summary,
		.tree = view_tree,
	};
	int before = put_stderr_aside(), status;

	memcpy(top.key, t->report.key, sizeof(top.key));
	status = view_profile(&top);
	show_stderr(before);
	return status < 0 ? cli_error(status, "cannot use the terminal: %s", strerror(-status)) :
			    status;
}

/* ------------------------------------------------------------------- options */

static bool is_view(const struct top *t)
{
	const char *why;

	if (t->list || t->times || cli_settings.json || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO))
		return false;
	if (view_top_is_possible(&why))
		return true;
	cli_note("this terminal cannot show the full-screen view: %s; printing tables", why);
	return false;
}

static void take_time(const struct cli_parser *parser, uint64_t *ns)
{
	if (!cli_parse_seconds(parser->arg, ns) || *ns < SECOND_NS / 10)
		cli_usage_error(parser->command, "\"%s\" is not a number of seconds from 0.1 on",
				parser->arg);
}

static void take_option(struct top *t, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'F':
		cli_take_hz(parser, &t->hz);
		break;
	case 'd':
		take_time(parser, &t->interval_ns);
		break;
	case KEY_WINDOW:
		take_time(parser, &t->window_ns);
		break;
	case KEY_BY:
		cli_profile_take_keys(&t->report, parser->command, parser->arg);
		break;
	case KEY_LIST:
		t->list = true;
		break;
	case 'n':
		cli_take_number(parser, "--times", 1000000000, &t->times);
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", 1000000000, &t->report.top);
		break;
	case KEY_SELF:
		t->self = true;
		break;
	}
}

/* Slices take as long as the interval. */
static void choose_slices(struct top *t, const struct cli_command *self)
{
	uint64_t slices = t->window_ns / t->interval_ns;

	if (slices > CLI_SAMPLER_SLICES_MAX)
		cli_usage_error(self, "--window: at most %d times the interval",
				CLI_SAMPLER_SLICES_MAX);
	t->sampler.keep = slices ? slices - 1 : 0;
}

static int run(struct top *t)
{
	int status = cli_sampler_open(&t->sampler);

	if (!status)
		status = is_view(t) ? show_view(t) : print_tables(t);
	cli_sampler_close(&t->sampler);
	return status;
}

static bool has_lines(const struct cli_profile *report)
{
	bool any = false;

	for (unsigned int i = 0; i < report->n_keys; i++)
		any |= report->key[i] == KL_PROFILE_LINE;
	return any;
}

static int exec_top(const struct cli_command *self, int argc, char **argv)
{
	struct top *t = cli_alloc(sizeof(*t));
	struct cli_select *select = &t->sampler.session.select;
	struct cli_parser parser;
	int key, status;

	t->sampler.session.command = self;
	t->interval_ns = INTERVAL_NS;
	t->window_ns = WINDOW_NS;
	t->report.key[0] = KL_PROFILE_FUNCTION;
	t->report.n_keys = 1;
	t->report.top = TOP_DEFAULT;
	t->report.least = LEAST_PERCENT;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(select, &parser, key))
			take_option(t, &parser, key);
	if (parser.n_words)
		cli_usage_error(self,
				"unexpected \"%s\"; to profile a command, use kernlens "
				"profile",
				parser.words[0]);
	if (t->hz && select->events)
		cli_usage_error(self, "-F cannot be used with -e");
	choose_slices(t, self);
	if (!select->events)
		cli_select_add(select, self, cli_sampler_tick(t->hz, t->self));
	select->variables = cli_format("cgroup");
	select->own_suffice = true;
	t->sampler.self = t->self;
	t->sampler.lines = has_lines(&t->report);
	status = run(t);
	free(t);
	return status;
}

const struct cli_command_ops cmd_top = {
	.options = options,
	.text = "Like kernlens profile, but shows the samples of the last seconds, again and\n"
		"again: on a terminal in a full-screen view (h: help), else in tables. For\n"
		"processes and what they use, see kernlens proc.\n"
		"\n"
		"  kernlens top\n"
		"  kernlens top -p 1234 --by thread,function\n"
		"  kernlens top -n 1 -d 5 --by process\n"
		"  kernlens top -e kmem_mm_page_alloc\n"
		"  kernlens top --json -n 3\n",
	.exec = exec_top,
};
