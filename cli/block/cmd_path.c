// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens path: which paths through a kernel function are taken, and how often. Each block is an
 * event. The records are read while the command runs, and only the counts of paths are retained.
 * The table goes to stderr, JSON to stdout, as for count.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../session/run.h"
#include "path.h"

enum {
	KEY_TOP = CLI_KEY_OWN,
	KEY_EDGES,
	KEY_CHECK,
	KEY_ASM,
	KEY_HTML,
	KEY_DEBUG,
};

#define TOP 20
#define LATENCY_MS 50

/* Above any thread ID: base of the numbers for code outside tasks, by context and CPU. */
#define NO_TASK (1ull << 40)

static const struct cli_option options[] = {
	CLI_TASK_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ KEY_TOP, "top", "N", "show this many paths or edges (20); 0: all" },
	{ KEY_EDGES, "edges", NULL, "count edges with the fewest counters, in all tasks" },
	{ KEY_CHECK, "check", NULL, "with --edges: count all other blocks, and compare" },
	{ KEY_ASM, "asm", NULL, "also show the instructions" },
	{ KEY_HTML, "html", "FILE", "also write a page with the graph and its counts" },
	{ KEY_DEBUG, "debug", "PATH", "file or directory with kernel debug information" },
	{ 'o', "output", "FILE", "write the result to FILE" },
	{},
};

struct path_run {
	struct cli_path_request request;
	struct cli_session session;
	struct cli_run run;
	struct cli_path_result result;
	struct cli_source source;
	struct kl_reader *reader;
	struct kl_live *live;
	struct kl_timebase timebase;
	uint32_t *block_of; /* indexed by event - KL_EV_DYNAMIC */
	size_t events;
	int context; /* index of the variable in_irq */
	bool edges;
};

/* ------------------------------------------------------------------------ set-up */

static int take_function(struct path_run *pr)
{
	const struct kl_plan *plan = pr->session.plan;
	struct cli_path_result *r = &pr->result;
	uint32_t points = kl_plan_blocks(plan).points;
	size_t function = kl_plan_block(plan, 0).function;
	bool *seen;
	int ret;

	for (uint32_t i = 1; i < points; i++)
		if (kl_plan_block(plan, i).function != function)
			return cli_error(-EINVAL, "several functions are named %s",
					 pr->request.function);
	r->blocks = kl_plan_text(plan);
	r->source = &pr->source;
	pr->source.kernel = kl_source_open(r->blocks, true, pr->request.debug);
	if (!pr->source.kernel)
		return cli_library_error(-errno, NULL);
	ret = kl_blocks_graph(r->blocks, function, &r->graph);
	if (ret)
		return cli_library_error(ret, NULL);
	pr->events = kl_plan_defined(plan);
	pr->block_of = cli_alloc((pr->events + 1) * sizeof(*pr->block_of));
	r->block = cli_alloc(r->graph.blocks * sizeof(*r->block));
	seen = cli_alloc(r->graph.blocks);
	for (uint32_t i = 0; i < points; i++) {
		struct kl_plan_block point = kl_plan_block(plan, i);

		r->block[point.block].reason = point.reason;
		pr->block_of[point.event - KL_EV_DYNAMIC] = point.block;
		seen[point.block] = !point.reason;
	}
	r->paths = kl_paths_create(&r->graph, seen, 0);
	free(seen);
	if (r->paths)
		r->profile = kl_path_profile_create(r->paths);
	return r->profile ? CLI_OK : cli_library_error(-errno, NULL);
}

static int attach(struct path_run *pr)
{
	struct cli_session *s = &pr->session;
	struct kl_abi_time time;
	int fd, error = kl_device_time(s->device, &time);

	if (error)
		return cli_library_error(error, NULL);
	kl_timebase_fit(&pr->timebase, &time, NULL);
	fd = kl_session_reader(s->session, KL_READER_HOLD);
	if (fd < 0)
		return cli_library_error(fd, NULL);
	pr->context = kl_schema_find_variable(s->schema, "in_irq");
	pr->reader = kl_reader_create(fd, kl_device_info(s->device)->cpus, s->config.block_bytes,
				      KL_BACKEND_MMAP);
	if (pr->reader)
		pr->live = kl_live_create(pr->reader, s->schema, &pr->timebase);
	return pr->live ? CLI_OK : cli_library_error(-errno, NULL);
}

/* ----------------------------------------------------------------------- reading */

/* A sequential flow of execution: a task, or the interrupts of one kind on one CPU. */
static uint64_t thread_of(const struct path_run *pr, const struct kl_event *event)
{
	uint64_t context = kl_event_variable(event, (unsigned int)pr->context).number;

	if (context)
		return NO_TASK * (1 + context) + event->cpu;
	return event->task.tid ? (uint64_t)event->task.tid : NO_TASK + event->cpu;
}

static int take_item(struct path_run *pr, const struct kl_item *item)
{
	const struct kl_event *event = item->event;

	if (item->kind == KL_ITEM_LOSS) {
		pr->result.lost += item->loss->records;
		return kl_path_profile_lose(pr->result.profile);
	}
	if (event->id < KL_EV_DYNAMIC || event->id - KL_EV_DYNAMIC >= pr->events)
		return 0;
	return kl_path_profile_add(pr->result.profile, thread_of(pr, event),
				   pr->block_of[event->id - KL_EV_DYNAMIC]);
}

static int take_items(struct path_run *pr, uint64_t now)
{
	struct kl_item item;
	int got;

	while ((got = kl_live_next(pr->live, now, &item)) > 0) {
		got = take_item(pr, &item);
		if (got)
			return got;
	}
	return got;
}

static int follow(struct path_run *pr)
{
	struct kl_abi_time time;
	int got = 0;

	while (!pr->run.over && !got) {
		cli_run_wait(&pr->run, kl_reader_fd(pr->reader), LATENCY_MS);
		got = kl_device_time(pr->session.device, &time);
		if (!got)
			got = take_items(pr, time.cycles);
	}
	if (!got)
		got = kl_session_stop(pr->session.session);
	pr->result.elapsed_ns = cli_run_length(&pr->run);
	if (!got)
		got = take_items(pr, UINT64_MAX);
	if (!got)
		got = kl_path_profile_end(pr->result.profile);
	return got ? cli_library_error(got, NULL) : CLI_OK;
}

/* ------------------------------------------------------------------------ result */

static void take_counts(struct path_run *pr)
{
	struct cli_path_result *r = &pr->result;
	const uint64_t *passes = kl_path_profile_blocks(r->profile, false);
	const uint64_t *unexplained = kl_path_profile_blocks(r->profile, true);
	const uint64_t *edge = kl_path_profile_edges(r->profile);
	const struct kl_path_edge *list;
	size_t edges = kl_paths_edges(r->paths, &list);

	for (uint32_t i = 0; i < r->graph.blocks; i++) {
		r->block[i].count = passes[i];
		r->block[i].known = !r->block[i].reason;
		r->block[i].unexplained = unexplained[i];
	}
	r->edge = cli_alloc((edges + 1) * sizeof(*r->edge));
	for (size_t i = 0; i < edges; i++)
		r->edge[i] = (struct kl_path_value){ .count = edge[i], .known = true };
}

/* Such as "of 'make'" or "of process 1234 during 'sleep 5'". */
static char *subject_of(const struct cli_select *select)
{
	struct kl_buffer text = {};
	char *subject;

	if (select->all)
		kl_buffer_add_string(&text, "of all tasks");
	else if (select->user)
		kl_buffer_printf(&text, "of user %s", select->user);
	else if (select->cgroup.key)
		kl_buffer_printf(&text, "of %s", cli_cgroup_subject(&select->cgroup));
	for (unsigned int i = 0; i < select->n_pids; i++)
		kl_buffer_printf(&text, "%s%d", i ? ", " : "of process ", select->pid[i]);
	if (select->words)
		kl_buffer_add_string(&text, text.length ? " during '" : "of '");
	for (char **word = select->words; word && *word; word++)
		kl_buffer_printf(&text, "%s%s", word == select->words ? "" : " ", *word);
	if (select->words)
		kl_buffer_add_char(&text, '\'');
	subject = cli_format("%.*s", (int)text.length, text.data);
	kl_buffer_deinit(&text);
	return subject;
}

static int record(struct path_run *pr)
{
	int status;

	cli_session_interrupts(&pr->session, true);
	status = take_function(pr);
	cli_session_interrupts(&pr->session, false);
	if (!status)
		status = attach(pr);
	if (!status)
		status = cli_run_begin(&pr->run);
	if (!status)
		status = follow(pr);
	if (!status) {
		take_counts(pr);
		pr->result.subject = subject_of(&pr->session.select);
		cli_session_interrupts(&pr->session, true);
		status = cli_path_write(&pr->request, &pr->result);
		cli_session_interrupts(&pr->session, false);
	}
	return status;
}

static int run(struct path_run *pr)
{
	struct cli_select *select = &pr->session.select;
	int status = cli_run_init(&pr->run, &pr->session);

	select->spec[select->n_specs++] = cli_format("block:%s", pr->request.function);
	select->events = cli_format("block:%s", pr->request.function);
	select->variables = cli_format("in_irq");
	if (!status)
		status = cli_session_open(&pr->session, NULL, KL_HANDLER_log);
	if (!status) {
		status = record(pr);
		if (pr->run.began_ns)
			status = cli_run_status(&pr->run, status);
		kl_live_destroy(pr->live);
		kl_reader_destroy(pr->reader);
		cli_path_result_deinit(&pr->result);
		kl_source_close(pr->source.kernel);
		cli_source_deinit(&pr->source);
		cli_session_close(&pr->session);
	}
	free(pr->block_of);
	cli_run_deinit(&pr->run);
	return status;
}

static void take_option(struct path_run *pr, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_TOP:
		if (!cli_parse_unsigned(parser->arg, UINT32_MAX, &pr->request.top))
			cli_usage_error(parser->command, "\"%s\" is not a number", parser->arg);
		break;
	case KEY_EDGES:
		pr->edges = true;
		break;
	case KEY_CHECK:
		pr->request.check = true;
		break;
	case KEY_ASM:
		pr->request.instructions = true;
		break;
	case KEY_HTML:
		pr->request.html = parser->arg;
		break;
	case KEY_DEBUG:
		pr->request.debug = parser->arg;
		break;
	case 'o':
		pr->request.path = parser->arg;
		pr->session.select.output = parser->arg;
		break;
	default:
		cli_select_option(&pr->session.select, parser, key);
	}
}

static void check_request(const struct path_run *pr)
{
	const struct cli_command *self = pr->session.command;
	const struct cli_select *select = &pr->session.select;

	if (!pr->request.function)
		cli_usage_error(self, "no function given");
	if (strpbrk(pr->request.function, "*?[]{},/+#: "))
		cli_usage_error(self, "\"%s\" is not the name of a single function",
				pr->request.function);
	if (pr->request.check && !pr->edges)
		cli_usage_error(self, "--check requires --edges");
	if (pr->edges && !select->all && cli_select_has_tasks(select))
		cli_usage_error(self, "--edges counts executions by all tasks; it cannot be "
				      "used with -p, -u, --cgroup, --unit or --container");
}

/* FUNCTION and options, in any order; then "--" and a command. */
static int exec_path(const struct cli_command *self, int argc, char **argv)
{
	struct path_run *pr = cli_alloc(sizeof(*pr));
	struct cli_command_ops ops = *self->ops;
	struct cli_command before = *self;
	struct cli_parser parser;
	int key, end, status;

	for (end = 1; end < argc && strcmp(argv[end], "--"); end++)
		;
	/* All words before "--" belong to kernlens, in any order. */
	ops.runs_command = false;
	before.ops = &ops;
	pr->request.top = TOP;
	pr->session.command = self;
	cli_select_init(&pr->session.select);
	cli_parser_init(&parser, &before, end, argv);
	while ((key = cli_parse(&parser)))
		take_option(pr, &parser, key);
	if (parser.n_words > 1)
		cli_usage_error(self, "too many arguments; expected one function, and a command "
				      "after --");
	pr->request.function = parser.n_words ? parser.words[0] : NULL;
	check_request(pr);
	if (end + 1 < argc)
		pr->session.select.words = argv + end + 1;
	if (pr->edges)
		status = cli_path_count_edges(&pr->request, self, &pr->session.select);
	else
		status = run(pr);
	free(pr);
	return status;
}

const struct cli_command_ops cmd_path = {
	.options = options,
	.runs_command = true,
	.text = "Records each basic block of FUNCTION that COMMAND executes, or the tasks given\n"
		"with -a, -p, -u, --cgroup, --unit or --container (for --duration or until\n"
		"Ctrl-C), and counts the paths. A path ends where the function is left or a loop\n"
		"starts again. With --edges, nothing is recorded: a few blocks are counted, and\n"
		"the counts of all other blocks and of the edges are derived from these.\n"
		"Requires CAP_SYS_ADMIN, CAP_SYS_RAWIO and CAP_SYSLOG, and no kernel lockdown.\n"
		"\n"
		"  kernlens path ksys_read -- cat /etc/passwd\n"
		"  kernlens path vfs_write --top 5 --asm -p 1234 --duration 10\n"
		"  kernlens path do_filp_open --edges --html open.html -- make\n",
	.exec = exec_path,
};
