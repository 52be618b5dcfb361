// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens coverage: which basic blocks of the kernel run during a command, and how often. Writes a
 * table by function to stderr, JSON to stdout, or a tracefile for lcov; or compares two runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "coverage.h"
#include "page.h"

enum {
	KEY_FUNCTIONS = CLI_SPLICED_OWN,
	KEY_ALL,
	KEY_LCOV,
	KEY_HTML,
	KEY_TOP,
	KEY_DIFF,
	WANTS_MAX = 64,
	TOP = 40,
};

static const struct cli_option options[] = {
	{ KEY_FUNCTIONS, "functions", "PATTERN", "count these functions; repeatable" },
	{ KEY_ALL, "all", NULL, "count every function of the kernel and its modules" },
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_SPLICED_IN_PLACE, "in-place", NULL,
	  "patch each block in place; do not move functions" },
	{ KEY_TOP, "top", "NUMBER", "rows of the table (40); 0: all" },
	{ KEY_LCOV, "lcov", "FILE", "write a tracefile for lcov" },
	{ KEY_HTML, "html", "FILE", "write a page for the browser; with --diff: with both runs" },
	{ CLI_SPLICED_DEBUG, "debug", "PATH", "with --lcov or --html: kernel debug information" },
	{ 'o', "output", "FILE", "write the table or JSON to FILE" },
	{ KEY_DIFF, "diff", NULL, "compare two --json results instead of counting" },
	{},
};

struct coverage_run {
	struct cli_spliced spliced;
	struct cli_coverage coverage;
	char *want[WANTS_MAX];
	size_t wants;
	bool all;
	bool diff;
	uint64_t top;
	const char *lcov;
	const char *html;
};

static int write_lcov(struct coverage_run *cr)
{
	FILE *file = cli_create_file(cr->lcov);

	if (!file)
		return CLI_FAILED;
	cli_coverage_lcov(&cr->coverage, file);
	if (fclose(file))
		return cli_error(-errno, "%s: %s", cr->lcov, strerror(errno));
	return CLI_OK;
}

static int write_page(struct coverage_run *cr)
{
	char *subject = cli_spliced_subject(&cr->spliced),
	     *about = cli_format("blocks %s", subject);
	json_t *run = cli_coverage_json(&cr->coverage, &cr->spliced);
	int status = cli_page_write_coverage(cr->html, json_pack("[o]", run), about);

	free(about);
	free(subject);
	return status;
}

static int write_result(struct coverage_run *cr)
{
	const char *path = cr->spliced.session.select.output;
	FILE *file = cli_open_result(path, cli_settings.json);
	int status = CLI_OK;

	if (!file)
		return CLI_FAILED;
	if (cli_settings.json) {
		status = cli_json_write(cli_coverage_json(&cr->coverage, &cr->spliced));
	} else {
		char *subject = cli_spliced_subject(&cr->spliced);

		fprintf(file, "\n Blocks %s:\n\n", subject);
		cli_coverage_print(&cr->coverage, cr->top, file);
		cli_spliced_print_sum(&cr->spliced, file);
		free(subject);
	}
	return cli_close_result(file, path, status);
}

static int run(struct coverage_run *cr)
{
	int status = cli_spliced_run(&cr->spliced, cr->want, cr->wants);

	if (!status)
		status = cli_coverage_read(&cr->coverage, &cr->spliced);
	if (!status && cr->lcov)
		status = write_lcov(cr);
	if (!status)
		status = write_result(cr);
	if (!status && cr->html)
		status = write_page(cr);
	cli_coverage_deinit(&cr->coverage);
	return cli_spliced_end(&cr->spliced, status);
}

static void take_option(struct coverage_run *cr, const struct cli_parser *parser, int key)
{
	const struct cli_command *self = cr->spliced.session.command;

	switch (key) {
	case KEY_FUNCTIONS:
		if (cr->wants == WANTS_MAX)
			cli_usage_error(self, "too many --functions options (maximum %d)",
					WANTS_MAX);
		cr->want[cr->wants++] = parser->arg;
		break;
	case KEY_ALL:
		cr->all = true;
		break;
	case KEY_LCOV:
		cr->lcov = parser->arg;
		cr->spliced.lines = true;
		break;
	case KEY_HTML:
		cr->html = parser->arg;
		cr->spliced.lines = true;
		break;
	case KEY_TOP:
		if (!cli_parse_unsigned(parser->arg, UINT32_MAX, &cr->top))
			cli_usage_error(self, "\"%s\" is not a number", parser->arg);
		break;
	case KEY_DIFF:
		cr->diff = true;
		break;
	default:
		cli_spliced_option(&cr->spliced, parser, key);
	}
}

static int exec_coverage(const struct cli_command *self, int argc, char **argv)
{
	struct coverage_run *cr = cli_alloc(sizeof(*cr));
	struct cli_parser parser;
	int key, status;

	cr->top = TOP;
	cr->spliced.session.command = self;
	cli_select_init(&cr->spliced.session.select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(cr, &parser, key);
	if (cr->diff && cr->html && cli_settings.json)
		cli_usage_error(self, "--diff writes either --json or --html");
	if (cr->diff) {
		if (parser.n_words != 2 || cr->wants || cr->all || cr->lcov || cr->spliced.debug)
			cli_usage_error(self, "--diff requires exactly two --json results, without "
					      "--functions, --all, --lcov or --debug");
		status = cli_coverage_diff(parser.words[0], parser.words[1], cr->html);
	} else {
		if (cr->spliced.debug && !cr->lcov && !cr->html)
			cli_usage_error(self, "--debug requires --lcov or --html");
		if (!cr->wants == !cr->all)
			cli_usage_error(self, "expected either --functions PATTERN or --all");
		if (parser.n_words)
			cr->spliced.session.select.words = parser.words;
		status = run(cr);
	}
	free(cr);
	return status;
}

const struct cli_command_ops cmd_coverage = {
	.options = options,
	.runs_command = true,
	.text = "Attaches a counter to each block, runs COMMAND, and removes the counters.\n"
		"Executions by all tasks and interrupts are counted. --all needs several hundred\n"
		"megabytes of memory, and up to half a minute for setup on an emulated machine.\n"
		"Requires CAP_SYS_ADMIN, CAP_SYS_RAWIO and CAP_SYSLOG, and no kernel lockdown.\n"
		"\n"
		"  kernlens coverage --functions 'ext4_*' -- tar xf linux.tar\n"
		"  kernlens coverage --all --json -o a.json -- make\n"
		"  kernlens coverage --diff a.json b.json\n"
		"  kernlens coverage --all --html coverage.html -- make\n"
		"  kernlens coverage --functions 'vfs_*' --lcov vfs.info -- ls\n",
	.exec = exec_coverage,
};
