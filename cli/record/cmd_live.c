// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens live: print a session's events as they happen. Blocks that are still being filled are
 * read too, so that an event is printed within LATENCY_MS.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../format/format.h"
#include "../session/alarm.h"
#include "../session/attach.h"
#include "../session/live.h"
#include "../session/run.h"
#include "../session/select.h"

enum {
	KEY_FORMAT = CLI_KEY_OWN,
	KEY_TIME,
	KEY_SESSION,
	KEY_ON_ALARM,
};

#define LATENCY_MS 50

static const struct cli_option options[] = {
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ KEY_FORMAT, "format", "FORMAT", cli_format_help },
	{ KEY_TIME, "time", "KIND", "relative (to the first event) or wall (since 1970)" },
	{ 'v', "variable", "VALUES", "variables or expressions to add to each record" },
	{ KEY_SESSION, "session", "SESSION", "read an existing session, by name or number" },
	{ KEY_ON_ALARM, "on-alarm", "COMMAND", "run this in a shell for each alarm" },
	{ 'q', "quiet", NULL, "do not print alarms to stderr" },
	{ 'o', "output", "FILE", "write to FILE; leave stdout to COMMAND" },
	{},
};

struct live {
	struct cli_session session;
	struct cli_run run;
	struct cli_printer printer;
	struct cli_alarms alarms;
	struct cli_live live;
	struct kl_trace_info info;
	struct kl_trace_counts counts;
	const char *joined; /* the existing session that is only read */
	bool ran; /* it has been seen running */
	uint8_t events[KL_EV_IDS]; /* which may come, for formats with columns */
	uint64_t begin_ns; /* of the first item; relative times start here */
};

/* Even in an existing session, print only the processes of -p. */
static bool is_selected(const struct live *l, const struct kl_event *event)
{
	const struct cli_select *select = &l->session.select;

	for (unsigned int i = 0; i < select->n_pids; i++)
		if (event->task.pid == select->pid[i])
			return true;
	return !select->n_pids;
}

/* Leave out the events that printing itself causes. */
static bool is_shown(const struct live *l, const struct kl_item *item)
{
	if (item->kind != KL_ITEM_EVENT)
		return true;
	if (cli_session_is_own(&l->session, item->event))
		return false;
	return !l->joined || (item->event->cycles >= l->live.began && is_selected(l, item->event));
}

/* Items arrive in order, so the first is the oldest. Losses count from the same time. */
static int print_item(void *context, const struct kl_item *item)
{
	struct live *l = context;
	bool is_event = item->kind == KL_ITEM_EVENT;
	struct kl_item from_first = *item;
	struct kl_event event;
	struct kl_loss loss;

	if (!is_shown(l, item))
		return 0;
	if (!l->begin_ns && is_event)
		l->begin_ns = item->event->ns;
	else if (!l->begin_ns)
		l->begin_ns = item->loss->begin_ns ? item->loss->begin_ns : item->loss->end_ns;
	if (is_event) {
		event = *item->event;
		event.since_ns = event.ns - l->begin_ns;
		from_first.event = &event;
	} else {
		loss = *item->loss;
		loss.origin_ns = l->begin_ns;
		from_first.loss = &loss;
	}
	return cli_printer_add(&l->printer, &from_first) ? 0 : -EPIPE;
}

static int look(struct live *l)
{
	struct kl_abi_time time;
	int got = kl_device_time(l->session.device, &time);

	/* Read the stack traces before the records that refer to them. */
	if (!got && cli_session_has_stacks(&l->session) &&
	    cli_session_collect(&l->session, true) < 0)
		got = -EIO;
	if (!got)
		got = cli_live_read(&l->live, time.cycles, print_item, l);
	if (!cli_printer_flush(&l->printer) && got >= 0)
		got = -EPIPE;
	return got;
}

/* Read the statistics if a notification has arrived, or in any case if @wanted. */
static bool get_stats(struct live *l, bool wanted, struct kl_abi_stats *stats)
{
	if (!wanted && !l->run.told)
		return false;
	l->run.told = false;
	if (kl_session_stats(l->session.session, -1, stats))
		return false;
	if (cli_alarms_are_new(&l->alarms, stats->alarms))
		cli_alarms_take(&l->alarms);
	return true;
}

/* Has the session ended? An existing session that has not started yet has not. */
static bool has_ended(struct live *l)
{
	struct kl_abi_stats stats;

	cli_alarms_run(&l->alarms);
	if (!get_stats(l, l->joined, &stats))
		return false;
	if (!l->joined)
		return stats.suspended.times;
	l->ran |= stats.running || stats.written;
	return l->ran && !stats.running;
}

static int finish(struct live *l)
{
	int got;

	/* A session that keeps running would never let us finish. */
	if (l->joined && !has_ended(l))
		return look(l);
	got = l->joined ? 0 : cli_session_stop(&l->session);

	if (!got && cli_session_has_stacks(&l->session) &&
	    cli_session_collect(&l->session, true) < 0)
		got = -EIO;
	while (!got && (got = cli_live_read(&l->live, UINT64_MAX, print_item, l)) > 0)
		got = 0;
	return got;
}

static void note_losses(const struct live *l)
{
	struct kl_reader_counts counts;
	char number[CLI_NUMBER_MAX], own[CLI_NUMBER_MAX];

	kl_reader_counts(l->live.reader, &counts);
	if (l->joined && counts.lost + counts.missed)
		cli_note("%s records lost by the session, and %s by this reader (too slow)",
			 cli_print_count(number, counts.lost), cli_print_count(own, counts.missed));
	else if (counts.lost + counts.missed)
		cli_note("%s records lost (try a larger --buffer, or fewer events)",
			 cli_print_count(number, counts.lost + counts.missed));
	if (!l->joined)
		cli_session_note_left_out(&l->session);
}

/* Of an existing session, take only alarms from now on. */
static void begin_alarms(struct live *l)
{
	struct kl_abi_stats stats;

	cli_alarms_init(&l->alarms, &l->session);
	if (l->joined && !kl_session_stats(l->session.session, -1, &stats))
		cli_alarms_skip(&l->alarms, stats.alarms);
	l->run.news = kl_session_fd(l->session.session);
}

static int follow(struct live *l)
{
	int got = 0, status = l->joined ? cli_run_watch(&l->run) : cli_run_begin(&l->run);
	struct kl_reader_counts counts;
	struct kl_abi_stats stats;

	if (status)
		return status;
	begin_alarms(l);
	while (!l->run.over && got >= 0) {
		/* Check before the last pass, so that the pass sees everything. */
		l->run.over = has_ended(l);
		got = look(l);
		if (l->run.over)
			break;
		cli_run_wait(&l->run, kl_reader_fd(l->live.reader), got > 0 ? 0 : LATENCY_MS);
	}
	if (got >= 0)
		got = finish(l);
	get_stats(l, true, &stats);
	cli_alarms_finish(&l->alarms);
	kl_reader_counts(l->live.reader, &counts);
	l->counts = (struct kl_trace_counts){ .blocks = counts.blocks, .corrupt = counts.bad };
	if (!cli_printer_deinit(&l->printer) || got == -EPIPE)
		return cli_error(-EPIPE, "cannot write the output");
	note_losses(l);
	return got < 0 ? cli_library_error(got, NULL) : CLI_OK;
}

/* Find out which events may come, from any maskset. Of an existing session, that is not known. */
static const uint8_t *events_of(struct live *l)
{
	const struct cli_session *s = &l->session;
	const uint8_t *map;
	bool any = false;

	if (l->joined)
		return NULL;
	for (unsigned int i = 0; (map = kl_plan_maskset_map(s->plan, i)); i++) {
		for (unsigned int id = 0; id < KL_EV_MAX; id++)
			l->events[id] |= map[id];
		any |= !!memchr(map, KL_HANDLER_log, KL_EV_MAX);
	}
	/* A built-in maskset is not in the plan. */
	if (!any && s->select.maskset != KL_MASKSET_RNOTHING && !s->select.n_specs)
		kl_events_match(s->schema, s->select.maskset == KL_MASKSET_RALL ? "all" : "default",
				KL_HANDLER_log, l->events);
	memset(l->events + KL_EV_DYNAMIC, true, KL_EV_DYNAMIC_MAX);
	return l->events;
}

/* Describe the trace for formats that print it; @counts is filled in at the end. */
static void describe(struct live *l)
{
	kl_trace_info_init(&l->info);
	memcpy(l->info.uuid, l->session.config.uuid, sizeof(l->info.uuid));
	snprintf(l->info.trace_name, sizeof(l->info.trace_name), "%s", l->session.config.name);
	l->info.timebase = l->live.timebase;
	l->printer.origin = (struct cli_origin){
		.schema = l->session.schema,
		.info = &l->info,
		.counts = &l->counts,
		.events = cli_printer_has_columns(&l->printer) ? events_of(l) : NULL,
	};
}

static int run(struct live *l)
{
	int status = cli_run_init(&l->run, &l->session);

	if (!status && l->joined)
		status = cli_attach(&l->session, l->joined);
	else if (!status)
		status = cli_session_open(&l->session, NULL, KL_HANDLER_log);
	if (status && l->joined)
		cli_session_close(&l->session);
	if (!status) {
		/* Only now: the command keeps our stdout. */
		l->printer.file = cli_open_result(l->session.select.output, true);
		status = l->printer.file ? cli_live_open(&l->live, &l->session, l->joined) :
					   CLI_FAILED;
		if (!status) {
			cli_session_name_addresses(&l->session);
			describe(l);
			status = cli_printer_init(&l->printer);
		}
		if (!status)
			status = cli_run_status(&l->run, follow(l));
		cli_live_close(&l->live);
		cli_session_close(&l->session);
	}
	cli_run_deinit(&l->run);
	return status;
}

/* An existing session keeps its own selection of events. */
static void check_joined(const struct live *l)
{
	const struct cli_select *select = &l->session.select;

	if (select->n_specs || select->maskset >= 0 || select->variables || select->user ||
	    select->cgroup.key || select->all || select->words || select->buffer_bytes ||
	    select->name || select->raw_names)
		cli_usage_error(l->session.command,
				"--session can be used only with -p, -o, -q, --format, --time, "
				"--duration and --on-alarm");
}

static int exec_live(const struct cli_command *self, int argc, char **argv)
{
	struct live *l = cli_alloc(sizeof(*l));
	struct cli_parser parser;
	int key, status;

	l->session.command = self;
	cli_select_init(&l->session.select);
	l->session.select.to_stdout = true;
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (cli_select_option(&l->session.select, &parser, key))
			continue;
		if (key == KEY_FORMAT)
			cli_printer_format(&l->printer, &parser);
		else if (key == KEY_TIME)
			cli_printer_time(&l->printer, &parser);
		else if (key == KEY_SESSION)
			l->joined = parser.arg;
		else if (key == KEY_ON_ALARM)
			l->alarms.command = parser.arg;
		else if (key == 'q')
			l->alarms.quiet = true;
		else
			l->session.select.output = parser.arg;
	}
	if (l->printer.format && l->printer.format->is_strace && !l->joined)
		cli_select_strace(&l->session.select, self);
	if (parser.n_words)
		l->session.select.words = parser.words;
	if (l->joined)
		check_joined(l);
	status = run(l);
	free(l);
	return status;
}

const struct cli_command_ops cmd_live = {
	.options = options,
	.shared = cli_select_options,
	.runs_command = true,
	.text = "Works like record, but prints to stdout and omits events of kernlens itself.\n"
		"What COMMAND writes to stdout goes to stderr, unless -o is given.\n"
		"With --format strace, it prints the calls that -e names, or all, with signals and exits.\n"
		"\n"
		"  kernlens live -e sched_process_exec,sched_process_exit -a\n"
		"  kernlens live --format strace -o calls.txt -- ls\n"
		"  kernlens live -p 1234 -e 'syscall_*_futex'\n"
		"  kernlens live --session flight -p 1234\n"
		"  kernlens live -v rss,min_faults -e exception -- ls\n",
	.exec = exec_live,
};
