// SPDX-License-Identifier: GPL-2.0
/* kernlens print: print a recorded trace as text, CSV, JSON or BER, or like strace. */
#include <stdint.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../format/format.h"
#include "latest.h"
#include "losses.h"

enum {
	KEY_FORMAT = CLI_KEY_OWN,
	KEY_FROM,
	KEY_TO,
	KEY_CPU,
	KEY_TIME,
	KEY_NO_DEMANGLE,
};

enum {
	PIDS_MAX = 64
};

static const struct cli_option options[] = {
	{ KEY_FORMAT, "format", "FORMAT", cli_format_help },
	{ 'i', "input", "TRACE", "trace directory, or file written with --format ber" },
	{ 'e', "event", "EVENTS", "only these events: names, globs, groups, /FILTER/" },
	{ 'p', "pid", "PID[,PID]", "only these processes or threads" },
	{ KEY_CPU, "cpu", "N", "only this CPU" },
	{ KEY_FROM, "from", "SECONDS", "only events from this time since the start" },
	{ KEY_TO, "to", "SECONDS", "only events up to this time since the start" },
	{ KEY_TIME, "time", "KIND", "relative (to the start) or wall (since 1970)" },
	{ KEY_NO_DEMANGLE, "no-demangle", NULL, "print mangled names of C++ and Rust functions" },
	{},
};

struct print {
	const struct cli_command *command;
	struct cli_printer printer;
	const char *path;
	char *names;
	uint64_t pid[PIDS_MAX];
	unsigned int n_pids;
	uint64_t cpu;
	uint64_t from_ns;
	uint64_t to_ns;
	bool raw_names;
	uint8_t seen[KL_EV_IDS];
	struct kl_filter *filter; /* NULL: all events */
	uint64_t events, cpu_events, printed; /* so far: all, those of @cpu, and printed ones */
};

static void take_option(struct print *print, const struct cli_parser *parser, int key)
{
	const char *arg = parser->arg;

	switch (key) {
	case KEY_FORMAT:
		cli_printer_format(&print->printer, parser);
		break;
	case KEY_TIME:
		cli_printer_time(&print->printer, parser);
		break;
	case KEY_NO_DEMANGLE:
		print->raw_names = true;
		break;
	case 'e':
		print->names = print->names ? cli_format("%s,%s", print->names, arg) : parser->arg;
		break;
	case 'i':
		print->path = arg;
		break;
	case 'p':
		print->n_pids +=
			cli_take_pids(parser, print->pid + print->n_pids, PIDS_MAX - print->n_pids);
		break;
	case KEY_CPU:
		if (!cli_parse_unsigned(arg, UINT32_MAX, &print->cpu))
			cli_usage_error(parser->command, "\"%s\" is not a CPU number", arg);
		break;
	case KEY_FROM:
	case KEY_TO:
		if (!cli_parse_seconds(arg, key == KEY_FROM ? &print->from_ns : &print->to_ns))
			cli_usage_error(parser->command, "\"%s\" is not a number of seconds", arg);
		break;
	}
}

static bool is_pid(const struct print *print, const struct kl_task *task)
{
	for (unsigned int i = 0; i < print->n_pids; i++)
		if ((int32_t)print->pid[i] == task->pid || (int32_t)print->pid[i] == task->tid)
			return true;
	return !print->n_pids;
}

/* With -e, as strace, what belongs to calls passes; the printer ignores that of other calls. */
static bool is_named(const struct print *print, const struct kl_event *event)
{
	const struct cli_format *format = print->printer.format;

	return !print->filter || kl_filter_wants(print->filter, event) ||
	       (format && format->is_strace &&
		!strncmp(event->event_class->name, "strace_", strlen("strace_")));
}

/* Losses pass all filters but --cpu: they may have hidden matching events. */
static bool is_wanted(const struct print *print, const struct kl_item *item)
{
	const struct kl_event *event = item->event;

	if (item->kind == KL_ITEM_LOSS)
		return print->cpu == UINT64_MAX || item->loss->cpu == print->cpu;
	return is_named(print, event) && (print->cpu == UINT64_MAX || event->cpu == print->cpu) &&
	       event->since_ns >= print->from_ns && event->since_ns <= print->to_ns &&
	       is_pid(print, &event->task);
}

/* Find out which events will be printed: a table's columns come before its first row. */
static void look_ahead(struct print *print, struct kl_trace *trace)
{
	struct kl_item item;

	while (kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_EVENT && is_wanted(print, &item))
			print->seen[item.event->id] = true;
	kl_trace_rewind(trace);
	print->printer.origin.events = print->seen;
}

/* Report that the options leave nothing: empty output looks like an empty trace. */
static void note_nothing(const struct print *print)
{
	char number[CLI_NUMBER_MAX];

	if (!print->events)
		cli_note("the trace has no events");
	else if (!print->cpu_events)
		cli_note("the trace has no events of CPU %llu", (unsigned long long)print->cpu);
	else if (print->from_ns)
		cli_note("none of the trace's events matches the options");
	else
		cli_note("none of the trace's %s events matches the options",
			 cli_print_count(number, print->events));
}

static bool choose(void *context, const struct kl_item *item)
{
	struct print *print = context;
	bool wanted = is_wanted(print, item);

	if (item->kind == KL_ITEM_EVENT) {
		print->events++;
		print->cpu_events += print->cpu == UINT64_MAX || item->event->cpu == print->cpu;
		print->printed += wanted;
	}
	return wanted;
}

static bool print_items(struct print *print, struct kl_trace *trace)
{
	bool good = cli_printer_add_all(&print->printer, trace, choose, print);

	good = cli_printer_deinit(&print->printer) && good;
	if (good && !print->printed)
		note_nothing(print);
	return good;
}

static int print_trace(struct print *print)
{
	struct kl_trace *trace = cli_open_trace(print->path);
	int status = CLI_OK;

	if (!trace)
		return CLI_FAILED;
	if (print->names)
		print->filter = kl_filter_create(kl_trace_schema(trace), print->names);
	if (print->names && !print->filter) {
		cli_usage_message("Try: kernlens report events TRACE", kl_error_text());
		status = CLI_USAGE;
		goto close;
	}
	if (print->raw_names)
		kl_trace_demangle(trace, false);
	if (print->from_ns)
		kl_trace_skip(trace, print->from_ns);
	print->printer.origin = (struct cli_origin){
		.schema = kl_trace_schema(trace),
		.info = kl_trace_about(trace),
		.begin_ns = kl_trace_begin(trace),
		.counts = kl_trace_counted(trace),
	};
	if (cli_printer_has_columns(&print->printer))
		look_ahead(print, trace);
	if (!(print->printer.format && print->printer.format->is_binary))
		cli_start_pager();
	status = cli_printer_init(&print->printer);
	if (status)
		goto close;
	if (!print_items(print, trace))
		status = CLI_FAILED;
	cli_losses_warn(trace);
close:
	kl_filter_destroy(print->filter);
	kl_trace_close(trace);
	return status;
}

static int exec_print(const struct cli_command *self, int argc, char **argv)
{
	struct print print = { .command = self, .cpu = UINT64_MAX, .to_ns = UINT64_MAX };
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&print, &parser, key);
	if (parser.n_words + !!print.path > 1)
		cli_usage_error(self, "too many arguments; expected one trace");
	if (print.from_ns > print.to_ns)
		cli_usage_error(self, "--from is later than --to");
	if (!print.path)
		print.path = parser.n_words ? parser.words[0] : cli_latest_trace();
	if (!print.path)
		cli_usage_error(self, "no trace given, and none that record has named is here");
	return print_trace(&print);
}

const struct cli_command_ops cmd_print = {
	.options = options,
	.text = "The events of all CPUs are merged in order of time. Lost records are shown as\n"
		"lines of their own, and their total is printed to stderr at the end.\n"
		"Without TRACE, prints the newest kernlens-YYYYmmdd-HHMMSS in this directory.\n"
		"\n"
		"  kernlens print DIR\n"
		"  kernlens print DIR -e sched_switch,irq --cpu 0 --from 1.5 --to 2\n"
		"  kernlens print DIR -e 'syscall_exit_* /ret < 0/'\n"
		"  kernlens print DIR --format strace -p 1234\n"
		"  kernlens print DIR --format json | jq 'select(.event == \"sched_wakeup\")'\n"
		"  kernlens print DIR --format ber > trace.ber\n"
		"  kernlens print trace.ber\n",
	.exec = exec_print,
};
