// SPDX-License-Identifier: GPL-2.0
/* kernlens view: writes a page that shows a trace as a timeline, in one file, or serves it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../view/page/page.h"
#include "../../view/page/serve.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../base/served.h"
#include "latest.h"
#include "pack.h"
#include "view.h"

enum {
	KEY_FROM = CLI_KEY_OWN,
	KEY_TO,
	KEY_SIZE,
	KEY_FORCE,
	KEY_PLOT,
	KEY_SERVE,
};

enum {
	MB_DEFAULT = 25,
	OVERVIEW_MB_DEFAULT = 4,
};

static const struct cli_option options[] = {
	{ 'o', "output", "FILE", "file to write (default: the name of the trace, and .html)" },
	{ KEY_FORCE, "force", NULL, "replace an existing file" },
	{ KEY_SERVE, "serve", "[=PORT]",
	  "serve the page to a browser here, for a trace of any size" },
	{ KEY_SIZE, "size", "MB", "size of the file, about (25): a small one has less detail" },
	{ 'p', "pid", "PID[,PID]", "show threads of these processes only" },
	{ KEY_PLOT, "plot", "EXPRESSION", "also show this over time, as kernlens plot does" },
	{ KEY_FROM, "from", "SECONDS", "show the time from here on" },
	{ KEY_TO, "to", "SECONDS", "to here" },
	{ 'i', "input", "TRACE", "trace directory; several: of as many machines" },
	{},
};

int cli_view_write_part(void *context, const void *bytes, size_t length)
{
	FILE *file = context;

	if (length && fwrite(bytes, 1, length, file) != length)
		return -errno;
	return 0;
}

struct kl_timeline *cli_view_timeline(const struct cli_view *v, struct kl_trace *trace,
				      size_t bytes, uint64_t from_ns, uint64_t to_ns)
{
	struct kl_timeline *timeline = kl_timeline_create(trace, bytes);
	struct kl_item item;
	int error = timeline ? 0 : -errno;

	if (!error)
		error = kl_timeline_explain(timeline);
	if (!error)
		kl_timeline_select(timeline, v->pid, v->n_pids);
	if (!error && v->n_plots)
		error = kl_timeline_plot(timeline, v->plot, v->n_plots);
	if (from_ns)
		kl_trace_skip(trace, from_ns);
	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			if (item.event->since_ns > to_ns)
				break;
			if (item.event->since_ns < from_ns)
				continue;
		}
		error = kl_timeline_add(timeline, &item);
	}
	if (!error)
		error = kl_timeline_finish(timeline);
	if (!error)
		return timeline;
	cli_library_error(error, NULL);
	kl_timeline_destroy(timeline);
	return NULL;
}

static void print_result(const struct cli_view *v, const struct kl_timeline *timeline, long bytes)
{
	const struct kl_timeline_counts *counts = kl_timeline_counts(timeline);
	char records[CLI_NUMBER_MAX], spans[CLI_NUMBER_MAX], time[CLI_NUMBER_MAX];

	cli_note("%s: %s records, %s spans, %.1f MB", v->output,
		 cli_print_count(records, counts->records), cli_print_count(spans, counts->spans),
		 (double)bytes / 1e6);
	if (counts->resolution_ns)
		cli_note("spans shorter than %s are merged; --from and --to show less time in more "
			 "detail",
			 cli_print_time(time, counts->resolution_ns));
	if (!counts->kept)
		cli_note("the records themselves are not in the page: there are too many");
	if (counts->omitted)
		cli_note("%zu threads that were not selected are left out", counts->omitted);
}

FILE *cli_view_create(const struct cli_view *v)
{
	if (!v->force && !access(v->output, F_OK)) {
		cli_error(-EEXIST, "%s exists; --force replaces it", v->output);
		return NULL;
	}
	return cli_create_file(v->output);
}

int cli_view_close(const struct cli_view *v, FILE *file, int error)
{
	if (fclose(file) && !error)
		error = -errno;
	return error ? cli_error(error, "%s: %s", v->output, strerror(-error)) : CLI_OK;
}

static int write_page(const struct cli_view *v, struct kl_timeline *timeline)
{
	FILE *file = cli_view_create(v);
	int error, status;
	long bytes;

	if (!file)
		return CLI_FAILED;
	error = view_page_write(timeline, v->path[0], cli_view_write_part, file);
	bytes = ftell(file);
	status = cli_view_close(v, file, error);
	if (!status)
		print_result(v, timeline, bytes);
	return status;
}

static int serve_index(const struct cli_view *v, struct kl_timeline_index *index)
{
	struct view_server *server = view_server_create(index, v->path[0], (uint16_t)v->port);
	int status, error;

	if (!server)
		return cli_error(-errno, "cannot serve at port %llu: %s",
				 (unsigned long long)v->port, strerror(errno));
	cli_stop_on_signals();
	status = cli_print_url(view_server_url(server));
	error = status ? 0 : view_server_run(server, cli_is_stopped);
	view_server_destroy(server);
	return error ? cli_library_error(error, NULL) : status;
}

static int serve(const struct cli_view *v)
{
	struct kl_trace *trace = cli_open_trace(v->path[0]);
	const struct kl_timeline_options options = {
		.bytes = (v->megabytes ? v->megabytes : OVERVIEW_MB_DEFAULT) * 1000000,
		.from_ns = v->from_ns,
		.to_ns = v->to_ns,
		.pid = v->pid,
		.n_pids = v->n_pids,
		.plot = v->plot,
		.n_plots = v->n_plots,
	};
	struct kl_timeline_index *index;
	int status, error;

	if (!trace)
		return CLI_FAILED;
	index = kl_timeline_index_create(trace, &options);
	error = index ? kl_timeline_index_step(index, 1) : -errno;
	status = error < 0 ? cli_library_error(error, NULL) : serve_index(v, index);
	kl_timeline_index_destroy(index);
	kl_trace_close(trace);
	return status;
}

static int run(const struct cli_view *v)
{
	struct kl_trace *trace;
	struct kl_timeline *timeline;
	int status = CLI_FAILED;

	if (v->serve)
		return serve(v);
	if (v->n_paths > 1)
		return cli_view_machines(v);
	trace = cli_open_trace(v->path[0]);
	if (!trace)
		return CLI_FAILED;
	cli_busy("reading the trace");
	timeline = cli_view_timeline(v, trace, (v->megabytes ? v->megabytes : MB_DEFAULT) * 1000000,
				     v->from_ns, v->to_ns);
	cli_busy(NULL);
	if (timeline)
		status = write_page(v, timeline);
	kl_timeline_destroy(timeline);
	kl_trace_close(trace);
	return status;
}

static void add_path(struct cli_view *v, const struct cli_command *self, const char *path)
{
	if (v->n_paths == KL_CLOCKS_MAX)
		cli_usage_error(self, "too many traces (maximum %d)", KL_CLOCKS_MAX);
	v->path[v->n_paths++] = cli_format("%s", path);
}

static void take_plot(struct cli_view *v, const struct cli_parser *parser)
{
	if (v->n_plots == CLI_VIEW_PLOTS_MAX)
		cli_usage_error(parser->command, "too many plots (maximum %d)", CLI_VIEW_PLOTS_MAX);
	v->plot[v->n_plots++] = parser->arg;
}

static void take_pids(struct cli_view *v, const struct cli_parser *parser)
{
	uint64_t pid[KL_TIMELINE_PIDS_MAX];
	const unsigned int n =
		cli_take_pids(parser, pid, KL_TIMELINE_PIDS_MAX - (unsigned int)v->n_pids);

	for (unsigned int i = 0; i < n; i++)
		v->pid[v->n_pids++] = (int32_t)pid[i];
}

static void take_option(struct cli_view *v, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'o':
		v->output = cli_format("%s", parser->arg);
		break;
	case KEY_SIZE:
		cli_take_number(parser, "--size", 1000, &v->megabytes);
		if (!v->megabytes)
			cli_usage_error(parser->command, "--size must be at least 1");
		break;
	case KEY_FORCE:
		v->force = true;
		break;
	case KEY_SERVE:
		v->serve = true;
		if (parser->arg)
			cli_take_number(parser, "--serve", UINT16_MAX, &v->port);
		break;
	case KEY_PLOT:
		take_plot(v, parser);
		break;
	case 'p':
		take_pids(v, parser);
		break;
	case KEY_FROM:
		cli_take_seconds(parser, "--from", &v->from_ns);
		break;
	case KEY_TO:
		cli_take_seconds(parser, "--to", &v->to_ns);
		break;
	case 'i':
		add_path(v, parser->command, parser->arg);
		break;
	}
}

static int exec_view(const struct cli_command *self, int argc, char **argv)
{
	struct cli_view v = { .to_ns = UINT64_MAX };
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&v, &parser, key);
	for (int i = 0; i < parser.n_words; i++)
		add_path(&v, self, parser.words[i]);
	if (!v.n_paths) {
		v.path[0] = cli_latest_trace();
		v.n_paths = v.path[0] ? 1 : 0;
	}
	if (!v.n_paths)
		cli_usage_error(self, "a trace is needed");
	if (v.n_paths > 1 && v.serve)
		cli_usage_error(self, "--serve shows one trace");
	if (v.n_paths > 1 && v.n_pids)
		cli_usage_error(self, "-p selects processes of one machine");
	if (v.from_ns >= v.to_ns)
		cli_usage_error(self, "--from must be before --to");
	if (v.serve && v.output)
		cli_usage_error(self, "--serve writes no file; it cannot be used with -o");
	if (!v.output)
		v.output = v.n_paths > 1 ? cli_format("machines.html") :
					   cli_trace_name(v.path[0], CLI_PACK_SUFFIX, ".html");
	status = run(&v);
	for (size_t i = 0; i < v.n_paths; i++)
		free(v.path[i]);
	free(v.output);
	return status;
}

const struct cli_command_ops cmd_view = {
	.options = options,
	.text = "Writes one HTML file, which any browser shows without a network: CPUs, threads\n"
		"with their states and system calls, disks, and all records. Without TRACE, reads\n"
		"the newest kernlens-YYYYmmdd-HHMMSS in this directory. --serve prints an address\n"
		"instead, at which a browser on this machine shows a trace of any size. Traces of\n"
		"several machines are shown on one timeline, with how far their clocks are apart.\n"
		"\n"
		"  kernlens record -a -- make; kernlens view\n"
		"  kernlens view TRACE -o trace.html --from 1.5 --to 2\n"
		"  kernlens view TRACE --serve\n"
		"  kernlens view web1 db1 db2 -o machines.html\n",
	.exec = exec_view,
};
