// SPDX-License-Identifier: GPL-2.0
/* kernlens export: writes a trace in a format of another program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/export.h>
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "latest.h"
#include "losses.h"
#include "pack.h"

enum {
	KEY_TO = CLI_KEY_OWN,
	KEY_FROM,
	KEY_UNTIL,
	KEY_FORCE,
	KEY_HOST,
};

static const struct cli_option options[] = {
	{ KEY_TO, "to", "FORMAT", "format to write" },
	{ 'o', "output", "FILE", "file to write, or -: standard output (default: named as TRACE)" },
	{ KEY_FORCE, "force", NULL, "replace an existing file" },
	{ 'e', "event", "EVENT", "take stack traces from this event (default: ticks, or all)" },
	{ KEY_FROM, "from", "SECONDS", "only events from this time since the start" },
	{ KEY_UNTIL, "until", "SECONDS", "only events up to this time since the start" },
	{ KEY_HOST, "host", "NAME", "clickhouse: name of the machine (default: as recorded)" },
	{ 'i', "input", "TRACE", "trace directory" },
	{},
};

/**
 * struct export_run - a run of the command
 * @path: of the trace
 * @output: file to write; "-": standard output
 */
struct export_run {
	const struct kl_export_format *format;
	char *path;
	char *output;
	bool force;
	struct kl_export_options options;
};

static const struct kl_export_format *find_format(const char *name)
{
	const struct kl_export_format *format;

	for (unsigned int i = 0; (format = kl_export_format(i)); i++)
		if (!strcmp(format->name, name))
			return format;
	return NULL;
}

/* Reports a format that is unknown or missing, with the ones that exist, and exits. */
static void fail_format(const struct cli_command *self, const char *name)
{
	const struct kl_export_format *format;
	struct kl_buffer list = { 0 };

	for (unsigned int i = 0; (format = kl_export_format(i)); i++)
		kl_buffer_printf(&list, "%s%s", i ? ", " : "", format->name);
	kl_buffer_add_char(&list, 0);
	if (name)
		cli_usage_error(self, "--to: no format is called \"%s\"; formats: %s", name,
				list.data);
	cli_usage_error(self, "choose a format with --to: %s", list.data);
}

static void print_result(const struct export_run *run, const struct kl_export_counts *counts)
{
	char records[CLI_NUMBER_MAX], spans[CLI_NUMBER_MAX], samples[CLI_NUMBER_MAX];

	cli_note("%s: from %s records, %s spans and %s stack traces", run->output,
		 cli_print_count(records, counts->records), cli_print_count(spans, counts->spans),
		 cli_print_count(samples, counts->samples));
	if (counts->omitted)
		cli_note("the states of %llu threads that were not selected are left out",
			 (unsigned long long)counts->omitted);
}

static int export_to(const struct export_run *run, struct kl_trace *trace, FILE *file)
{
	struct kl_export_counts counts = { 0 };
	int error;

	cli_busy("reading the trace");
	error = kl_export(trace, run->format, &run->options, file, run->output, &counts);
	cli_busy(NULL);
	if (error == -ENOENT || error == -EIO || error == -ENOMEM)
		return cli_library_error(error, NULL);
	if (error)
		return cli_error(error, "%s: %s", run->output, strerror(-error));
	if (file != stdout)
		print_result(run, &counts);
	cli_losses_warn(trace);
	return CLI_OK;
}

/* A part of a file is of no use. But a device stays, as does what a link leads to. */
static void remove_file(const char *path)
{
	struct stat file;

	if (!lstat(path, &file) && S_ISREG(file.st_mode))
		unlink(path);
}

static int run_export(const struct export_run *run)
{
	const bool to_stdout = !strcmp(run->output, "-");
	struct kl_trace *trace;
	FILE *file = stdout;
	int status;

	if (!to_stdout && !run->force && !access(run->output, F_OK))
		return cli_error(-EEXIST, "%s exists; --force replaces it", run->output);
	trace = cli_open_trace(run->path);
	if (!trace)
		return CLI_FAILED;
	if (!to_stdout)
		file = cli_create_file(run->output);
	status = file ? export_to(run, trace, file) : CLI_FAILED;
	if (file && !to_stdout) {
		status = cli_close_result(file, run->output, status);
		if (status != CLI_OK)
			remove_file(run->output);
	}
	kl_trace_close(trace);
	return status;
}

static void take_option(struct export_run *run, const struct cli_parser *parser, int key)
{
	if (key == KEY_TO) {
		run->format = find_format(parser->arg);
		if (!run->format)
			fail_format(parser->command, parser->arg);
	} else if (key == 'o') {
		run->output = cli_format("%s", parser->arg);
	} else if (key == KEY_FORCE) {
		run->force = true;
	} else if (key == 'e') {
		run->options.sample = parser->arg;
	} else if (key == KEY_FROM) {
		cli_take_seconds(parser, "--from", &run->options.from_ns);
	} else if (key == KEY_UNTIL) {
		cli_take_seconds(parser, "--until", &run->options.to_ns);
	} else if (key == KEY_HOST) {
		run->options.host = parser->arg;
	} else if (key == 'i') {
		run->path = cli_format("%s", parser->arg);
	}
}

static char *name_of(const struct export_run *run)
{
	char *extension = cli_format(".%s", run->format->extension);
	char *name = cli_trace_name(run->path, CLI_PACK_SUFFIX, extension);

	free(extension);
	return name;
}

static int exec_export(const struct cli_command *self, int argc, char **argv)
{
	struct export_run run = { .options = { .to_ns = UINT64_MAX } };
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&run, &parser, key);
	if (parser.n_words > 1 || (parser.n_words && run.path))
		cli_usage_error(self, "export writes one trace");
	if (!run.format)
		fail_format(self, NULL);
	if (parser.n_words)
		run.path = cli_format("%s", parser.words[0]);
	if (!run.path)
		run.path = cli_latest_trace();
	if (!run.path)
		cli_usage_error(self, "a trace is needed");
	if (run.options.from_ns > run.options.to_ns)
		cli_usage_error(self, "--from must be before --until");
	if (!run.output)
		run.output = name_of(&run);
	if (run.format->needs_file && !strcmp(run.output, "-"))
		cli_usage_error(self, "%s cannot be written to standard output", run.format->name);
	run.options.title = run.path;
	status = run_export(&run);
	free(run.path);
	free(run.output);
	return status;
}

const struct cli_command_ops cmd_export = {
	.options = options,
	.text = "Writes a trace in a format that another program opens:\n"
		"\n"
		"  perfetto    ui.perfetto.dev, trace_processor\n"
		"  chrome      chrome://tracing and other viewers of Chrome's trace events\n"
		"  speedscope  speedscope.app: stack traces by thread\n"
		"  firefox     profiler.firefox.com: stack traces, system calls, waits\n"
		"  pprof       pprof: stack traces\n"
		"  folded      flame graph scripts: stack traces, a line each\n"
		"  sqlite      sqlite3: tables of events, fields, spans, threads, stack traces\n"
		"  clickhouse  clickhouse-client: statements that insert the same into its tables\n"
		"  trace-dat   trace-cmd report, KernelShark: events\n"
		"  otlp        OpenTelemetry: spans and metrics, lines of JSON\n"
		"\n"
		"Without TRACE, reads the newest kernlens-YYYYmmdd-HHMMSS in this directory.\n"
		"\n"
		"  kernlens export --to perfetto TRACE -o trace.pftrace\n"
		"  kernlens export --to sqlite; sqlite3 kernlens-*.sqlite 'SELECT * FROM syscalls'\n"
		"  kernlens export --to folded -o - | flamegraph.pl > flame.svg\n",
	.exec = exec_export,
};
