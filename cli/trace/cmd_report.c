// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens report: print tables about a recorded trace. All are filled in one pass; the overview
 * shows the top rows of each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "analysis.h"
#include "latest.h"
#include "losses.h"
#include "report.h"

enum {
	KEY_TOP = CLI_KEY_OWN,
	KEY_CSV,
	KEY_SVG,
};

enum {
	TOP_OF_OVERVIEW = 8,
	TOP_OF_ANALYSIS = 20,
};

static const struct cli_option options[] = {
	{ KEY_TOP, "top", "N", "show the first N rows of each table; 0: all" },
	{ 'p', "pid", "PID", "only this process or thread" },
	{ KEY_CSV, "csv", NULL, "write the first table of a report of events as CSV" },
	{ KEY_SVG, "svg", NULL, "draw the report states" },
	{ 'i', "input", "TRACE", "trace directory" },
	{},
};

struct report {
	const char *kind; /* NULL: overview */
	const struct cli_analysis_ops *analysis; /* NULL: one of the tables of this file */
	enum cli_analysis_format format;
	const char *path;
	uint64_t top;
	uint64_t pid;
	struct kl_trace *trace;
	struct kl_syscall_report *syscalls;
	struct kl_sleep_report *sleepers;
	struct kl_count_report *events;
	struct cli_processes processes;
};

static bool wants(const struct report *r, const char *kind)
{
	return !r->kind || !strcmp(r->kind, kind);
}

static size_t limit(const struct report *r, size_t n)
{
	return r->top && n > r->top ? r->top : n;
}

/* Is row @n, counted from 1, among those to show? */
static bool is_top(const struct report *r, size_t n)
{
	return limit(r, n) == n;
}

/* Print how many rows a table left out. */
static void print_rest(size_t shown, size_t n)
{
	if (shown < n)
		printf("  ... and %zu more (--top 0 shows all)\n", n - shown);
	putchar('\n');
}

static void print_head(const struct report *r, const char *text)
{
	if (!r->kind)
		printf("%s%s%s\n", cli_style(stdout, CLI_BOLD), text, cli_style(stdout, CLI_PLAIN));
}

/* Is this the process of -p? For rows of threads, @pid is the thread ID. */
static bool is_wanted(const struct report *r, int32_t pid)
{
	return !r->pid || (int32_t)r->pid == pid;
}

static void add_ns(struct cli_table *table, uint64_t ns)
{
	char text[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", cli_print_ns(text, ns));
}

static void add_count(struct cli_table *table, uint64_t count)
{
	char text[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", cli_print_count(text, count));
}

static void print_syscall(struct cli_table *table, const struct kl_syscall_row *row, bool open)
{
	cli_table_add(table, "%d", row->pid);
	cli_table_add(table, "%s", row->comm);
	cli_table_add(table, "%s", row->name);
	add_count(table, row->calls);
	add_count(table, row->errors);
	add_ns(table, row->total_ns);
	add_ns(table, row->calls ? row->total_ns / row->calls : 0);
	add_ns(table, row->max_ns);
	if (open)
		add_count(table, row->unfinished + row->unpaired);
}

static void print_syscalls(struct report *r)
{
	size_t n, shown = 0, all = 0;
	const struct kl_syscall_row *rows = kl_syscall_report_rows(r->syscalls, &n);
	struct cli_table *table;
	bool open = false;

	/* Are there calls of which one end is missing from the trace? */
	for (size_t i = 0; rows && i < n; i++)
		open |= rows[i].unfinished || rows[i].unpaired;
	table = cli_table_create(
		open ? ">pid|process|system call|>calls|>errors|>total|>mean|>worst|>incomplete" :
		       ">pid|process|system call|>calls|>errors|>total|>mean|>worst");
	for (size_t i = 0; rows && i < n; i++) {
		if (!is_wanted(r, rows[i].pid))
			continue;
		if (!is_top(r, ++all))
			continue;
		print_syscall(table, &rows[i], open);
		shown++;
	}
	print_head(r, "System calls, by total time");
	cli_table_print(table, stdout, 2);
	print_rest(shown, all);
}

static json_t *json_syscalls(struct report *r)
{
	size_t n, all = 0;
	const struct kl_syscall_row *rows = kl_syscall_report_rows(r->syscalls, &n);
	json_t *array = json_array();

	for (size_t i = 0; rows && i < n; i++) {
		const struct kl_syscall_row *row = &rows[i];

		if (!is_wanted(r, row->pid) || !is_top(r, ++all))
			continue;
		json_array_append_new(
			array,
			json_pack("{s:i, s:o, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "pid",
				  row->pid, "comm", cli_json_text(row->comm), "syscall", row->name,
				  "number", row->number, "calls", (json_int_t)row->calls, "errors",
				  (json_int_t)row->errors, "total_ns", (json_int_t)row->total_ns,
				  "max_ns", (json_int_t)row->max_ns, "unfinished",
				  (json_int_t)row->unfinished, "unpaired",
				  (json_int_t)row->unpaired));
	}
	return array;
}

/* An idle task does not sleep: it runs when nothing else does. */
static bool is_sleeper(const struct report *r, const struct kl_sleep_row *row)
{
	return row->tid && is_wanted(r, row->tid) &&
	       (row->sleeps || row->runnable_ns || row->run_ns);
}

static void print_sleepers(struct report *r)
{
	size_t n, shown = 0, all = 0, omitted = kl_sleep_report_omitted(r->sleepers);
	const struct kl_sleep_row *rows = kl_sleep_report_rows(r->sleepers, &n);
	struct cli_table *table = cli_table_create(
		">tid|thread|>sleeps|>asleep|>longest|>waits for CPU|>longest|>runs");

	for (size_t i = 0; rows && i < n; i++) {
		const struct kl_sleep_row *row = &rows[i];

		if (!is_sleeper(r, row) || !is_top(r, ++all))
			continue;
		cli_table_add(table, "%d", row->tid);
		cli_table_add(table, "%s", row->comm);
		add_count(table, row->sleeps);
		add_ns(table, row->sleep_ns);
		add_ns(table, row->sleep_max_ns);
		add_ns(table, row->runnable_ns);
		add_ns(table, row->runnable_max_ns);
		add_ns(table, row->run_ns);
		shown++;
	}
	print_head(r, "Sleepers, by time asleep");
	cli_table_print(table, stdout, 2);
	print_rest(shown, all);
	if (omitted)
		printf("  Omitted: %zu task%s that the session did not trace\n", omitted,
		       omitted == 1 ? "" : "s");
}

static json_t *json_sleepers(struct report *r)
{
	size_t n, all = 0;
	const struct kl_sleep_row *rows = kl_sleep_report_rows(r->sleepers, &n);
	json_t *array = json_array();

	for (size_t i = 0; rows && i < n; i++) {
		const struct kl_sleep_row *row = &rows[i];

		if (!is_sleeper(r, row) || !is_top(r, ++all))
			continue;
		json_array_append_new(array,
				      json_pack("{s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b}",
						"tid", row->tid, "comm", cli_json_text(row->comm),
						"sleeps", (json_int_t)row->sleeps, "sleep_ns",
						(json_int_t)row->sleep_ns, "sleep_max_ns",
						(json_int_t)row->sleep_max_ns, "runnable_ns",
						(json_int_t)row->runnable_ns, "runnable_max_ns",
						(json_int_t)row->runnable_max_ns, "run_ns",
						(json_int_t)row->run_ns, "open", row->open));
	}
	return array;
}

static void print_events(struct report *r)
{
	size_t n, shown;
	const struct kl_count_row *rows = kl_count_report_rows(r->events, &n);
	struct cli_table *table = cli_table_create(">count|event|group|>first|>last");
	uint64_t begin = r->processes.first_ns;

	shown = limit(r, n);
	for (size_t i = 0; i < shown; i++) {
		add_count(table, rows[i].count);
		cli_table_add(table, "%s", rows[i].event_class->name);
		cli_table_add(table, "%s", rows[i].event_class->group);
		cli_table_add(table, "%.6f s", (double)(rows[i].first_ns - begin) / 1e9);
		cli_table_add(table, "%.6f s", (double)(rows[i].last_ns - begin) / 1e9);
	}
	print_head(r, "Events");
	cli_table_print(table, stdout, 2);
	print_rest(shown, n);
}

static json_t *json_events(struct report *r)
{
	size_t n;
	const struct kl_count_row *rows = kl_count_report_rows(r->events, &n);
	json_t *array = json_array();

	for (size_t i = 0; i < limit(r, n); i++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:I, s:I}", "event",
						       rows[i].event_class->name, "group",
						       rows[i].event_class->group, "count",
						       (json_int_t)rows[i].count, "first_ns",
						       (json_int_t)rows[i].first_ns, "last_ns",
						       (json_int_t)rows[i].last_ns));
	return array;
}

static void print_processes(struct report *r)
{
	const struct cli_processes *processes = &r->processes;
	struct cli_table *table = cli_table_create(">pid|process|>events");
	size_t shown = limit(r, processes->n);

	for (size_t i = 0; i < shown; i++) {
		const struct cli_process *process = &processes->slot[i];

		cli_table_add(table, "%d", process->pid);
		cli_table_add(table, "%s", process->pid ? process->comm : "(idle)");
		add_count(table, process->events);
	}
	print_head(r, "Processes, by number of events");
	cli_table_print(table, stdout, 2);
	print_rest(shown, processes->n);
}

static json_t *json_processes(struct report *r)
{
	const struct cli_processes *processes = &r->processes;
	json_t *array = json_array();

	for (size_t i = 0; i < limit(r, processes->n); i++)
		json_array_append_new(array,
				      json_pack("{s:i, s:o, s:I}", "pid", processes->slot[i].pid,
						"comm", cli_json_text(processes->slot[i].comm),
						"events", (json_int_t)processes->slot[i].events));
	return array;
}

/* Use the times of the recording if the recorder noted them. */
static void print_time(const struct report *r)
{
	const struct kl_trace_state *state = kl_trace_state(r->trace);
	uint64_t begin = r->processes.first_ns, end = r->processes.last_ns;
	time_t start;
	char text[64];

	if (state->begin_ns && state->end_ns) {
		begin = state->begin_ns;
		end = state->end_ns;
	} else if (!r->processes.n) {
		return;
	}
	start = (time_t)(begin / 1000000000u);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", localtime(&start));
	printf("time       %.6f s, from %s\n", (double)(end - begin) / 1e9, text);
}

static void print_cpus(const struct report *r)
{
	const struct kl_trace_state *state = kl_trace_state(r->trace);

	printf("CPUs       %u with events", r->processes.n_cpus);
	if (state->streams_missing)
		printf(", %sfiles of %u of %u CPUs missing%s", cli_style(stdout, CLI_RED),
		       state->streams_missing, state->streams, cli_style(stdout, CLI_PLAIN));
	putchar('\n');
}

static void print_overview(struct report *r)
{
	const struct kl_trace_info *about = kl_trace_about(r->trace);
	const struct kl_trace_counts *counts = kl_trace_counted(r->trace);
	char number[CLI_NUMBER_MAX];

	printf("trace      %s (%s)\n", r->path, about->trace_name);
	printf("machine    %s, Linux %s\n", about->hostname, about->kernel_release);
	print_time(r);
	print_cpus(r);
	printf("records    %s\n", cli_print_count(number, counts->events));
	printf("losses     ");
	cli_losses_print(r->trace, stdout);
	fputs("\n\n", stdout);
	print_processes(r);
	print_syscalls(r);
	print_sleepers(r);
	print_events(r);
}

static json_t *json_overview(struct report *r)
{
	const struct kl_trace_info *about = kl_trace_about(r->trace);
	const struct kl_trace_counts *counts = kl_trace_counted(r->trace);
	const struct kl_trace_state *state = kl_trace_state(r->trace);

	return json_pack(
		"{s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:i, s:I, s:o, s:o, s:o, s:o, s:I, s:o}",
		"trace", cli_json_text(r->path), "name", cli_json_text(about->trace_name),
		"hostname", cli_json_text(about->hostname), "kernel", about->kernel_release,
		"first_ns", (json_int_t)r->processes.first_ns, "last_ns",
		(json_int_t)r->processes.last_ns, "begin_ns", (json_int_t)state->begin_ns, "end_ns",
		(json_int_t)state->end_ns, "cpus", r->processes.n_cpus, "records",
		(json_int_t)counts->events, "losses", cli_losses_json(r->trace), "processes",
		json_processes(r), "syscalls", json_syscalls(r), "sleepers", json_sleepers(r),
		"sleepers_omitted", (json_int_t)kl_sleep_report_omitted(r->sleepers), "events",
		json_events(r));
}

static const struct {
	const char *name;
	void (*print)(struct report *r);
	json_t *(*json)(struct report *r);
} kinds[] = {
	{ "syscalls", print_syscalls, json_syscalls },
	{ "sleepers", print_sleepers, json_sleepers },
	{ "events", print_events, json_events },
};

enum {
	KINDS = sizeof(kinds) / sizeof(*kinds)
};

static int show(struct report *r)
{
	unsigned int i;

	for (i = 0; i < KINDS && r->kind && strcmp(kinds[i].name, r->kind); i++)
		;
	if (cli_settings.json)
		return cli_json_write(r->kind ? kinds[i].json(r) : json_overview(r));
	cli_start_pager();
	if (!r->kind) {
		print_overview(r);
		cli_losses_explain(r->trace);
		return CLI_OK;
	}
	kinds[i].print(r);
	cli_losses_warn(r->trace);
	return CLI_OK;
}

/* Feed the whole trace to the requested reports. */
static int add_items(struct report *r)
{
	struct kl_item item;
	int error = 0;

	while (!error && kl_trace_next(r->trace, &item) > 0) {
		if (r->syscalls)
			error = kl_syscall_report_add(r->syscalls, &item);
		if (r->sleepers && !error)
			error = kl_sleep_report_add(r->sleepers, &item);
		if (item.kind != KL_ITEM_EVENT ||
		    !(is_wanted(r, item.event->task.pid) || is_wanted(r, item.event->task.tid)))
			continue;
		if (r->events)
			kl_count_report_add(r->events, &item);
		cli_processes_add(&r->processes, item.event);
	}
	cli_processes_sort(&r->processes);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static struct kl_sleep_report *create_sleepers(const struct report *r)
{
	const char *scope = kl_trace_about(r->trace)->scope;
	struct kl_sleep_report *report = kl_sleep_report_create();

	if (report && *scope && strcmp(scope, "all"))
		kl_sleep_report_set_partial(report);
	return report;
}

static int run(struct report *r)
{
	int status = CLI_FAILED;

	r->trace = cli_open_trace(r->path);
	if (!r->trace)
		return CLI_FAILED;
	if (wants(r, "syscalls"))
		r->syscalls = kl_syscall_report_create();
	if (wants(r, "sleepers"))
		r->sleepers = create_sleepers(r);
	if (wants(r, "events"))
		r->events = kl_count_report_create();
	if (wants(r, "syscalls") > !!r->syscalls || wants(r, "sleepers") > !!r->sleepers ||
	    wants(r, "events") > !!r->events)
		cli_error(-ENOMEM, "out of memory");
	else
		status = add_items(r);
	if (!status)
		status = show(r);
	kl_syscall_report_destroy(r->syscalls);
	kl_sleep_report_destroy(r->sleepers);
	kl_count_report_destroy(r->events);
	cli_processes_deinit(&r->processes);
	kl_trace_close(r->trace);
	return status;
}

/* Returns false if the word is no table, and may be a trace. */
static bool find_kind(struct report *r, const char *word)
{
	for (unsigned int i = 0; i < KINDS; i++)
		if (!strcmp(word, kinds[i].name))
			r->kind = kinds[i].name;
	r->analysis = cli_analysis_find(word);
	if (r->analysis)
		r->kind = r->analysis->name;
	return r->kind;
}

/* The table's name is the first word. */
static void take_kind(struct report *r, const struct cli_parser *parser)
{
	const char *word = parser->words[0];
	struct kl_near near;

	if (find_kind(r, word))
		return;
	kl_near_init(&near, word, strlen(word));
	for (unsigned int i = 0; i < KINDS; i++)
		kl_near_offer(&near, kinds[i].name);
	for (unsigned int i = 0; cli_analysis_get(i); i++)
		kl_near_offer(&near, cli_analysis_get(i)->name);
	cli_usage_error(parser->command, "unknown report \"%s\"%s%s%s", word,
			near.best ? "; did you mean \"" : "; see --help for their names",
			near.best ? near.best : "", near.best ? "\"?" : "");
}

/* The table, if one is named, and the trace: its last word, or -i, or the newest. */
static void take_words(struct report *r, const struct cli_parser *parser)
{
	int n = parser->n_words;

	if (n + !!r->path > 2)
		cli_usage_error(parser->command, "too many arguments; expected one trace");
	if (!r->path && n == 1 && access(parser->words[0], F_OK) && find_kind(r, parser->words[0]))
		n = 0;
	else if (!r->path && n)
		r->path = parser->words[--n];
	if (n)
		take_kind(r, parser);
	if (!r->path)
		r->path = cli_latest_trace();
	if (!r->path)
		cli_usage_error(parser->command,
				"no trace given, and none that record has named is here");
}

static void take_option(struct report *r, const struct cli_parser *parser, int key)
{
	if (key == 'i')
		r->path = parser->arg;
	else if (key == KEY_CSV || key == KEY_SVG)
		r->format = key == KEY_CSV ? CLI_ANALYSIS_CSV : CLI_ANALYSIS_SVG;
	else if (!cli_parse_unsigned(parser->arg, INT32_MAX, key == 'p' ? &r->pid : &r->top))
		cli_usage_error(parser->command, "\"%s\" is not a number", parser->arg);
}

/* Which format the options select; those of this file's tables are text and JSON. */
static void check_format(struct report *r, const struct cli_parser *parser)
{
	if (r->format && cli_settings.json)
		cli_usage_error(parser->command, "only one of --json, --csv and --svg can be used");
	if (r->format && !r->analysis)
		cli_usage_error(parser->command, "--csv and --svg are for the reports of events");
	if (r->format == CLI_ANALYSIS_SVG && !r->analysis->svg)
		cli_usage_error(parser->command, "--svg is for the report states");
	if (cli_settings.json)
		r->format = CLI_ANALYSIS_JSON;
}

static int run_analysis(const struct report *r)
{
	struct cli_analysis a = {
		.ops = r->analysis,
		.path = r->path,
		.format = r->format,
		.top = r->top,
		.pid = r->pid,
	};

	return cli_analysis_run(&a);
}

static int exec_report(const struct cli_command *self, int argc, char **argv)
{
	struct report r = { .top = UINT64_MAX };
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&r, &parser, key);
	take_words(&r, &parser);
	check_format(&r, &parser);
	if (r.top == UINT64_MAX && r.analysis && !r.format)
		r.top = TOP_OF_ANALYSIS;
	if (r.top == UINT64_MAX)
		r.top = r.kind || cli_settings.json ? 0 : TOP_OF_OVERVIEW;
	return r.analysis ? run_analysis(&r) : run(&r);
}

const struct cli_command_ops cmd_report = {
	.options = options,
	.text = "  syscalls  number of calls, errors and time, by process and system call\n"
		"  sleepers  time asleep, waiting for a CPU and running, by thread\n"
		"  events    number, first and last time, by event\n"
		"  sched     how long tasks wait for a CPU, and the longest waits\n"
		"  io        times and sizes of requests, by disk and process\n"
		"  irq       times of interrupts and softirqs\n"
		"  mm        page faults, reclaim and compaction, by process\n"
		"  net       TCP connections, devices and their queues, dropped packets\n"
		"  states    time running, ready, asleep and blocked, by task and over time\n"
		"\n"
		"Without the name of a table, prints an overview with the top rows of each; without\n"
		"TRACE, reads the newest kernlens-YYYYmmdd-HHMMSS in this directory.\n"
		"Each requires certain events: see kernlens-report(1).\n"
		"\n"
		"  kernlens report DIR\n"
		"  kernlens report syscalls DIR --top 20\n"
		"  kernlens report sched DIR --json\n"
		"  kernlens report states DIR --svg >states.svg\n",
	.exec = exec_report,
};
