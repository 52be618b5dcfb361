// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens why: where the wall time of a command or a process went, and what was behind each wait.
 * Records the switches and wakeups of all tasks into a trace, which is removed unless -o names it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../session/recording.h"
#include "print.h"
#include "watch.h"

enum {
	KEY_FROM = CLI_KEY_OWN,
	KEY_TO,
	KEY_LEAST,
	KEY_FORCE,
	KEY_WATCH,
};

#define SECOND_NS 1000000000ull
#define LEAST_DEFAULT 1.0
#define WATCH_NS (5 * SECOND_NS)

/* What an explanation is made from. */
#define EVENTS "sched_switch,sched_waking,sched_process_fork,sched_process_exit,mark"
/* What wakes tasks other than tasks: of the machine, so not for everyone. */
#define INTERRUPTS                                                                 \
	",irq_handler_entry,irq_handler_exit,irq_softirq_entry,irq_softirq_exit,"  \
	"timer_hrtimer_expire_entry,timer_hrtimer_expire_exit,timer_expire_entry," \
	"timer_expire_exit,block_rq_complete"
/* What tasks leave to be done later: packets from task to task, and work items. */
#define LATER                                                                 \
	",net_dev_queue/name == \"lo\"/,netif_receive_skb/name == \"lo\"/,"   \
	"workqueue_queue_work,workqueue_execute_start,workqueue_execute_end," \
	"sched_kthread_work_queue_work,sched_kthread_work_execute_start,"     \
	"sched_kthread_work_execute_end"

static const struct cli_option options[] = {
	{ 'p', "pid", "PID", "a running process or thread; with -i, one of the trace" },
	{ 'F', "frequency", "HZ", "say what runs, from samples per second and CPU (none)" },
	{ KEY_WATCH, "watch", "[=SECONDS]", "print while it runs, at this interval (5); no trace" },
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ KEY_FROM, "from", "SECONDS|MARK", "explain the time from here on" },
	{ KEY_TO, "to", "SECONDS|MARK", "to here" },
	{ 'o', "output", "TRACE", "keep the trace in this directory" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace there" },
	{ 'i', "input", "TRACE", "explain a trace that has been recorded; or name it as COMMAND" },
	{ KEY_LEAST, "least", "PERCENT", "leave out smaller parts (1)" },
	{},
};

/**
 * struct point - a time that an option names
 * @text: seconds since the first event, or the text of a mark; NULL: not given
 * @ns: that time, once it is known
 */
struct point {
	const char *text;
	uint64_t ns;
};

/**
 * struct why_run - a run of the command
 * @tid: the thread to explain; 0: the command
 * @hz: samples per second; 0: none
 * @interval_ns: --watch; 0: not given
 */
struct why_run {
	struct cli_recording recording;
	const char *input;
	int32_t tid;
	uint64_t hz;
	uint64_t interval_ns;
	struct point from;
	struct point to;
	double least;
};

/* ------------------------------------------------------------------- reading */

static void look_for_mark(struct point *point, const struct kl_event *event)
{
	struct kl_value text;

	if (!point->text || point->ns || strcmp(event->event_class->name, "mark"))
		return;
	if (!kl_event_field(event, "text", &text) && text.length == strlen(point->text) &&
	    !memcmp(text.bytes, point->text, text.length))
		point->ns = event->ns;
}

static struct kl_why *read_trace(struct why_run *wr, struct kl_trace *trace, uint64_t *lost,
				 uint64_t *first_ns)
{
	struct kl_why *why = kl_why_create(kl_trace_schema(trace));
	int error = why ? 0 : -errno;
	struct kl_item item;

	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_EVENT) {
			if (!*first_ns)
				*first_ns = item.event->ns;
			look_for_mark(&wr->from, item.event);
			look_for_mark(&wr->to, item.event);
		}
		error = cli_why_add(why, &item, lost);
	}
	if (!error)
		return why;
	cli_library_error(error, NULL);
	kl_why_destroy(why);
	return NULL;
}

/* ------------------------------------------------------------------ choosing */

/* Seconds since the first event, unless it was the text of a mark. */
static int resolve(struct point *point, uint64_t first_ns, uint64_t otherwise)
{
	uint64_t ns;

	if (!point->text) {
		point->ns = otherwise;
		return CLI_OK;
	}
	if (point->ns)
		return CLI_OK;
	if (!cli_parse_seconds(point->text, &ns))
		return cli_error(-ENOENT, "the trace has no mark \"%s\"", point->text);
	point->ns = first_ns + ns;
	return CLI_OK;
}

static int explain(struct why_run *wr, const struct kl_trace *trace, struct kl_why *why,
		   uint64_t first_ns, uint64_t lost)
{
	struct cli_why report = { .least = wr->least,
				  .lost = lost,
				  .interrupts = kl_why_knows_interrupts(why),
				  .boot_id = kl_trace_about(trace)->boot_id };
	size_t task;
	bool found = kl_why_find(why, wr->tid, &task);
	struct kl_why_node *node;
	int status;

	if (!found && !wr->input)
		return cli_error(-ENOENT,
				 "%d has not run; if it sleeps, kernlens latency -p %d says what it "
				 "waits for",
				 wr->tid, wr->tid);
	if (!found)
		return cli_error(-ENOENT, "the trace has no switches or wakeups of %d", wr->tid);
	status = resolve(&wr->from, first_ns, 0);
	if (!status)
		status = resolve(&wr->to, first_ns, UINT64_MAX);
	if (status)
		return status;
	node = kl_why_explain(why, task, wr->from.ns, wr->to.ns);
	if (!node)
		return cli_library_error(-errno, NULL);
	report.node = node;
	if (cli_settings.json)
		status = cli_json_write(cli_why_json(&report));
	else
		cli_why_print(&report, wr->input ? stdout : stderr);
	kl_why_node_destroy(node);
	return status;
}

static int print(void *context, const char *path)
{
	struct why_run *wr = context;
	struct kl_trace *trace = cli_open_trace(path);
	uint64_t lost = 0, first_ns = 0;
	struct kl_why *why;
	int status;

	if (!trace)
		return CLI_FAILED;
	if (!wr->tid)
		wr->tid = kl_trace_about(trace)->command;
	if (!wr->tid) {
		kl_trace_close(trace);
		return cli_error(-ENOENT, "no command was run for this trace: which task? -p PID");
	}
	why = read_trace(wr, trace, &lost, &first_ns);
	status = why ? explain(wr, trace, why, first_ns, lost) : CLI_FAILED;
	kl_why_destroy(why);
	kl_trace_close(trace);
	return status;
}

/* ------------------------------------------------------------------- options */

static void take_option(struct why_run *wr, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'F':
		cli_take_hz(parser, &wr->hz);
		break;
	case KEY_FROM:
		wr->from.text = parser->arg;
		break;
	case KEY_TO:
		wr->to.text = parser->arg;
		break;
	case 'o':
		wr->recording.output = parser->arg;
		break;
	case KEY_FORCE:
		wr->recording.force = true;
		break;
	case 'i':
		wr->input = parser->arg;
		break;
	case KEY_WATCH:
		wr->interval_ns = WATCH_NS;
		cli_take_interval(parser, "--watch", &wr->interval_ns);
		break;
	case KEY_LEAST:
		if (!cli_parse_percent(parser->arg, &wr->least))
			cli_usage_error(parser->command, "--least: \"%s\" is not a percentage",
					parser->arg);
		break;
	}
}

static bool is_trace(const char *path)
{
	char *metadata = cli_format("%s/metadata", path);
	bool is = !access(metadata, F_OK);

	free(metadata);
	return is;
}

static void check_options(struct why_run *wr, struct cli_parser *parser)
{
	struct cli_select *select = &wr->recording.session.select;

	if (select->n_pids > 1)
		cli_usage_error(parser->command, "-p: one process only");
	if (select->n_pids)
		wr->tid = select->pid[0];
	/* A directory is not a command. */
	if (!wr->input && parser->n_words && is_trace(parser->words[0])) {
		if (parser->n_words > 1)
			cli_usage_error(parser->command, "options go before the trace");
		wr->input = parser->words[0];
		parser->n_words = 0;
	}
	if (wr->input && (parser->n_words || wr->recording.output))
		cli_usage_error(parser->command, "-i explains a trace; it cannot be used with -o "
						 "or a command");
	if (wr->interval_ns && (wr->input || wr->recording.output || wr->from.text || wr->to.text))
		cli_usage_error(parser->command,
				"--watch keeps no trace; it cannot be used with -i, "
				"-o, --from or --to");
	if (!wr->input && !wr->tid && !parser->n_words)
		cli_usage_error(parser->command, "a command or -p PID is required");
}

/* What others do is behind the waits, as far as the user may see it. */
static int choose(struct why_run *wr)
{
	struct cli_session *session = &wr->recording.session;
	bool all, addresses;
	uint32_t may;
	int status = cli_rights(&may);

	if (status)
		return status;
	all = may & KL_MAY_SEE_ALL;
	addresses = may & KL_MAY_SEE_ADDRESSES;
	cli_select_add(&session->select, session->command,
		       cli_format("%s%s%s", EVENTS, all ? INTERRUPTS : "",
				  all && addresses ? LATER : ""));
	if (wr->hz)
		cli_select_add(&session->select, session->command,
			       cli_format("tick:%u:stack", (unsigned int)wr->hz));
	session->select.variables = cli_format("in_irq,syscall%s", addresses ? ",wchan" : "");
	session->select.others = all ? CLI_OTHERS_ALL : CLI_OTHERS_OWN;
	return CLI_OK;
}

static int exec_why(const struct cli_command *self, int argc, char **argv)
{
	struct why_run *wr = cli_alloc(sizeof(*wr));
	struct cli_select *select = &wr->recording.session.select;
	struct cli_parser parser;
	int key, status;

	wr->recording.session.command = self;
	wr->recording.handler = KL_HANDLER_log;
	wr->least = LEAST_DEFAULT;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(select, &parser, key))
			take_option(wr, &parser, key);
	check_options(wr, &parser);
	if (wr->input) {
		status = print(wr, wr->input);
		free(wr);
		return status;
	}
	if (parser.n_words)
		select->words = parser.words;
	status = choose(wr);
	if (!status && wr->interval_ns) {
		struct cli_why_watch watch = { .recording = &wr->recording,
					       .tid = wr->tid,
					       .interval_ns = wr->interval_ns,
					       .least = wr->least };

		status = cli_why_watch(&watch);
	} else if (!status) {
		status = cli_recording_run(&wr->recording, print, wr);
	}
	free(wr);
	return status;
}

const struct cli_command_ops cmd_why = {
	.options = options,
	.runs_command = true,
	.text = "Shows where the wall time of a command or a process went: running, waiting for a\n"
		"CPU, or waiting for something, and then what was behind that: the tasks, timers\n"
		"and devices that ended each wait, and what these had waited for. The results go\n"
		"to stderr; with -i, to stdout. With --watch, the time of each interval is\n"
		"explained while it runs, on stdout, in bounded memory.\n"
		"\n"
		"  kernlens why -- make\n"
		"  kernlens why -p 1234 --duration 5\n"
		"  kernlens why -p 1234 --watch\n"
		"  kernlens why -o trace -- ./program; kernlens why --from begin --to end trace\n",
	.exec = exec_why,
};
