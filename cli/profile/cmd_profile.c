// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens profile: where CPU time goes. Records ticks with stack traces into a trace, which is
 * removed unless -o names it, and prints it as `-i TRACE` prints one that exists.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/flame.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../session/recording.h"
#include "annotate.h"
#include "print.h"
#include "sampler.h"

enum {
	KEY_BY = CLI_KEY_OWN,
	KEY_CALLERS,
	KEY_CALLEES,
	KEY_OF,
	KEY_ANNOTATE,
	KEY_ASM,
	KEY_COUNTS,
	KEY_DIFF,
	KEY_TOP,
	KEY_LEAST,
	KEY_FOLDED,
	KEY_SVG,
	KEY_HTML,
	KEY_SELF,
	KEY_OFF_CPU,
	KEY_FORCE,
};

enum {
	TOP_DEFAULT = 40,
};

#define LEAST_DEFAULT 0.5

static const struct cli_option options[] = {
	{ 'F', "frequency", "HZ", "samples per second and CPU (99)" },
	{ 'e', "event", "EVENT[/FILTER/]", "take a sample at each of these events instead" },
	{ KEY_OFF_CPU, "off-cpu", NULL, "also the time in which tasks wait, and for what" },
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ 'o', "output", "TRACE", "keep the samples in this directory" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace there" },
	{ 'i', "input", "TRACE", "print samples that have been recorded" },
	{ KEY_DIFF, "diff", "TRACE", "compare with an earlier profile" },
	{ KEY_BY, "by", "KEY[,KEY]",
	  "function (default), object, line, process, thread, cpu, cgroup" },
	{ KEY_CALLEES, "callees", NULL, "print a tree: functions, and what they call" },
	{ KEY_CALLERS, "callers", NULL, "print a tree: functions, and what calls them" },
	{ KEY_OF, "of", "FUNCTION", "the tree of this function only" },
	{ KEY_ANNOTATE, "annotate", "FUNCTION",
	  "the samples in each basic block of this function" },
	{ KEY_ASM, "asm", NULL, "with --annotate: and in each instruction" },
	{ KEY_COUNTS, "counts", "FILE",
	  "with --annotate: --json result of count, path or coverage" },
	{ KEY_TOP, "top", "NUMBER", "rows of a table (40); 0: all" },
	{ KEY_LEAST, "least", "PERCENT", "leave out smaller branches of trees (0.5)" },
	{ KEY_FOLDED, "folded", NULL, "one stack trace per line, with its number of samples" },
	{ KEY_SVG, "svg", "FILE", "write a flame graph" },
	{ KEY_HTML, "html", "FILE", "write the flame graph as an HTML page" },
	{ KEY_SELF, "include-self", NULL, "do not leave out kernlens itself" },
	{ CLI_KEY_NO_DEMANGLE, "no-demangle", NULL,
	  "print mangled names of C++ and Rust functions" },
	{},
};

/**
 * struct profile_run - a run of the command
 * @input: trace to print, NULL: record
 */
struct profile_run {
	struct cli_recording recording;
	struct cli_profile report;
	struct cli_annotation annotation;
	const char *input;
	const char *diff;
	uint64_t hz;
	bool folded;
	bool self;
	const char *svg;
	const char *html;
};

/* ------------------------------------------------------------------- reading */

/* The profile of an open trace, or NULL after an error message. */
static struct kl_profile *read_trace(const struct profile_run *pr, struct kl_trace *trace,
				     struct cli_profile *losses)
{
	const char *scope = kl_trace_about(trace)->scope;
	struct kl_profile *profile;
	struct kl_item item;
	int error = 0;

	kl_trace_demangle(trace, !pr->recording.session.select.raw_names);
	profile = kl_profile_create(kl_trace_schema(trace),
				    pr->input ? pr->recording.session.select.events : NULL);
	if (!profile) {
		cli_library_error(-errno, NULL);
		return NULL;
	}
	if (!pr->self)
		kl_profile_leave_out(profile, pr->recording.own);
	if (pr->report.off_cpu)
		error = kl_profile_include_waits(profile, *scope && strcmp(scope, "all"));
	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			error = kl_profile_add(profile, item.event);
			continue;
		}
		*(item.loss->kind == KL_LOSS_UNSEEN ? &losses->late : &losses->lost) +=
			item.loss->records;
		kl_profile_add_loss(profile);
	}
	error = error ?: kl_profile_finish(profile);
	if (!error)
		return profile;
	cli_library_error(error, NULL);
	kl_profile_destroy(profile);
	return NULL;
}

/* ------------------------------------------------------------------- writing */

static int write_flames(struct profile_run *pr)
{
	struct kl_flame *flame = kl_profile_flame(pr->report.profile);
	struct kl_buffer buffer = { 0 };
	int status = CLI_OK;

	if (!flame)
		return cli_library_error(-errno, NULL);
	if (pr->folded) {
		kl_flame_folded(flame, &buffer);
		status = cli_write_buffer(&buffer, stdout) ? CLI_OK : CLI_FAILED;
	}
	if (!status)
		status = cli_flame_write(flame,
					 pr->report.off_cpu ? "Time on and off the CPU" :
							      "CPU profile",
					 pr->report.off_cpu ? "us" : "samples", pr->svg, pr->html);
	kl_buffer_deinit(&buffer);
	kl_flame_destroy(flame);
	return status;
}

/* Results of a run with a command go to stderr, where they do not mix with its output. */
static int write_result(struct profile_run *pr)
{
	FILE *file = pr->input ? stdout : stderr;
	int status = pr->folded || pr->svg || pr->html ? write_flames(pr) : CLI_OK;

	if (status || pr->folded)
		return status;
	if (pr->input && !cli_settings.json)
		cli_start_pager();
	if (pr->annotation.function)
		return cli_profile_annotate(&pr->report, &pr->annotation, file);
	return cli_settings.json ? cli_profile_write_json(&pr->report) :
				   cli_profile_print(&pr->report, file);
}

static int print(struct profile_run *pr, const char *path)
{
	struct kl_trace *trace = cli_open_trace(path);
	struct kl_trace *old = trace && pr->diff ? cli_open_trace(pr->diff) : NULL;
	struct cli_profile losses = { 0 };
	int status = CLI_FAILED;

	if (trace && (old || !pr->diff))
		pr->report.profile = read_trace(pr, trace, &pr->report);
	if (pr->report.profile && old)
		pr->report.old = read_trace(pr, old, &losses);
	if (pr->report.profile && (pr->report.old || !pr->diff)) {
		pr->annotation.about = kl_trace_about(trace);
		status = write_result(pr);
	}
	kl_profile_destroy(pr->report.profile);
	kl_profile_destroy(pr->report.old);
	kl_trace_close(trace);
	kl_trace_close(old);
	return status;
}

static int print_recorded(void *context, const char *path)
{
	return print(context, path);
}

/* ------------------------------------------------------------------- options */

static void take_tree(struct profile_run *pr, enum kl_profile_direction direction)
{
	if (pr->report.tree && pr->report.direction != direction)
		cli_usage_error(pr->recording.session.command,
				"--callers cannot be used with --callees");
	pr->report.tree = true;
	pr->report.direction = direction;
}

static void take_annotation(struct cli_annotation *annotation, const struct cli_parser *parser,
			    int key)
{
	switch (key) {
	case KEY_ANNOTATE:
		annotation->function = parser->arg;
		break;
	case KEY_ASM:
		annotation->instructions = true;
		break;
	case KEY_COUNTS:
		annotation->counts = parser->arg;
		break;
	}
}

static void take_option(struct profile_run *pr, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'F':
		cli_take_hz(parser, &pr->hz);
		break;
	case 'i':
		pr->input = parser->arg;
		break;
	case 'o':
		pr->recording.output = parser->arg;
		break;
	case KEY_FORCE:
		pr->recording.force = true;
		break;
	case KEY_DIFF:
		pr->diff = parser->arg;
		break;
	case KEY_BY:
		cli_profile_take_keys(&pr->report, parser->command, parser->arg);
		break;
	case KEY_CALLERS:
		take_tree(pr, KL_PROFILE_CALLERS);
		break;
	case KEY_CALLEES:
		take_tree(pr, KL_PROFILE_CALLEES);
		break;
	case KEY_OF:
		pr->report.function = parser->arg;
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", 1000000000, &pr->report.top);
		break;
	case KEY_LEAST:
		if (!cli_parse_percent(parser->arg, &pr->report.least))
			cli_usage_error(parser->command, "--least: \"%s\" is not a percentage",
					parser->arg);
		break;
	case KEY_FOLDED:
		pr->folded = true;
		break;
	case KEY_SVG:
		pr->svg = parser->arg;
		break;
	case KEY_HTML:
		pr->html = parser->arg;
		break;
	case KEY_SELF:
		pr->self = true;
		break;
	case KEY_OFF_CPU:
		pr->report.off_cpu = true;
		break;
	default:
		take_annotation(&pr->annotation, parser, key);
	}
}

static void check_annotation(const struct profile_run *pr, const struct cli_command *self)
{
	const struct cli_annotation *annotation = &pr->annotation;

	if (annotation->function && (pr->report.tree || pr->diff || pr->report.off_cpu ||
				     pr->folded || pr->svg || pr->html))
		cli_usage_error(self, "--annotate cannot be used with trees, flame graphs, --diff "
				      "or --off-cpu");
	if (!annotation->function && (annotation->instructions || annotation->counts))
		cli_usage_error(self, "--asm and --counts require --annotate");
}

static void check_options(const struct profile_run *pr, const struct cli_parser *parser)
{
	const struct cli_command *self = parser->command;
	const struct cli_select *select = &pr->recording.session.select;

	if (pr->input && (parser->n_words || cli_select_has_tasks(select) || pr->recording.output))
		cli_usage_error(self, "-i prints a trace; it cannot be used with -o, a selection "
				      "of tasks or a command");
	if (pr->report.function && !pr->report.tree)
		cli_usage_error(self, "--of requires --callers or --callees");
	if (pr->diff && (pr->report.tree || pr->folded || pr->svg || pr->html))
		cli_usage_error(self, "--diff compares tables; it cannot be used with trees or "
				      "flame graphs");
	if (pr->folded && cli_settings.json)
		cli_usage_error(self, "--folded cannot be used with --json");
	if (pr->report.off_cpu && select->events)
		cli_usage_error(self, "--off-cpu cannot be used with -e");
	if (pr->hz && select->events)
		cli_usage_error(self, "-F cannot be used with -e");
}

static int exec_profile(const struct cli_command *self, int argc, char **argv)
{
	struct profile_run *pr = cli_alloc(sizeof(*pr));
	struct cli_select *select = &pr->recording.session.select;
	struct cli_parser parser;
	int key, status;

	pr->recording.session.command = self;
	pr->report.key[0] = KL_PROFILE_FUNCTION;
	pr->report.n_keys = 1;
	pr->report.top = TOP_DEFAULT;
	pr->report.least = LEAST_DEFAULT;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(select, &parser, key))
			take_option(pr, &parser, key);
	check_options(pr, &parser);
	check_annotation(pr, self);
	if (pr->input) {
		status = print(pr, pr->input);
		free(pr);
		return status;
	}
	if (!select->events)
		cli_select_add(select, self, cli_sampler_tick(pr->hz, pr->self));
	if (pr->report.off_cpu)
		cli_select_add(select, self, cli_format("sched_switch"));
	select->variables = cli_format("cgroup");
	select->to_stdout = pr->folded;
	if (parser.n_words)
		select->words = parser.words;
	pr->recording.handler = KL_HANDLER_stack;
	status = cli_recording_run(&pr->recording, print_recorded, pr);
	free(pr);
	return status;
}

const struct cli_command_ops cmd_profile = {
	.options = options,
	.runs_command = true,
	.text = "Interrupts each CPU 99 times a second, and shows in which functions the tasks\n"
		"were, and what had called them. The tables go to stderr; with -i, to stdout.\n"
		"\n"
		"  kernlens profile -- make\n"
		"  kernlens profile -a --duration 10 --by process,function\n"
		"  kernlens profile -p 1234 --duration 5 --callers --of malloc\n"
		"  kernlens profile -e kmem_mm_page_alloc --callees -- ls\n"
		"  kernlens profile -a --duration 10 --html flame.html\n"
		"  kernlens profile -a --duration 10 --annotate clear_page_erms\n"
		"  kernlens profile --off-cpu -p 1234 --duration 10 --html flame.html\n"
		"  kernlens profile -o old -- ./program; kernlens profile --diff old -- ./program\n",
	.exec = exec_profile,
};
