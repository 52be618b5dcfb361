// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens memory: the pages of one process, as they are and as they change; or which code makes
 * processes grow, from a recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "growth.h"
#include "memory.h"

enum {
	KEY_TOP = CLI_KEY_OWN,
	KEY_WATCH,
	KEY_CSV,
	KEY_PAGES,
	KEY_PHYSICAL,
	KEY_SHARED,
	KEY_BY,
	KEY_FORCE,
	KEY_MAP,
	KEY_HTML,
};

#define GROWTH_TOP 20
#define WATCH_TOP 8
#define WATCH_NS 1000000000

static const struct cli_option options[] = {
	{ KEY_WATCH, "watch", "[=SECONDS]",
	  "show what changes, at this interval (1), until Ctrl-C" },
	{ KEY_TOP, "top", "NUMBER", "only this many rows, the largest" },
	{ KEY_SHARED, "shared", NULL, "also which processes map the same pages" },
	{ KEY_PAGES, "pages", NULL, "also each run of pages in the same state" },
	{ KEY_MAP, "map", NULL, "also a drawing of its pages, and of physical memory (root)" },
	{ KEY_HTML, "html", "FILE", "write a page for a browser" },
	{ KEY_PHYSICAL, "physical", NULL, "also how contiguous its physical memory is (root)" },
	{ KEY_CSV, "csv", NULL, "write CSV" },
	{ 'p', "pid", "PID[,PID]", "record growth: running processes and their new children" },
	{ 'u', "user", "USER", "record growth: all tasks of a user" },
	CLI_CGROUP_OPTIONS,
	{ 'a', "all", NULL, "record growth: all tasks" },
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ KEY_BY, "by", "KEY", "growth by function (default), stack or process" },
	{ 'o', "output", "TRACE", "keep the trace in this directory" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace there" },
	{ 'i', "input", "TRACE", "print the growth in a trace that has been recorded" },
	{},
};

/**
 * struct memory_run - a run of the command
 * @interval_ns: --watch; 0: not given
 * @has_top: --top was given
 * @of_growth: an option for growth was given
 * @by_code: that was --by
 */
struct memory_run {
	struct cli_memory memory;
	struct cli_growth growth;
	uint64_t interval_ns;
	bool csv;
	bool has_top;
	bool of_growth;
	bool by_code;
};

/* Ends with a message if a page is combined with another kind of output. */
static void check_html(const struct cli_command *self, const struct memory_run *run)
{
	const struct cli_memory *m = &run->memory;

	if (m->html && (cli_settings.json || run->csv || run->has_top))
		cli_usage_error(self, "--html cannot be used with --json, --csv or --top");
	if (m->html && (m->pages || m->physical || m->map))
		cli_usage_error(self, "--html has what --pages, --physical and --map print");
}

static void take_key(struct memory_run *run, const struct cli_parser *parser)
{
	for (unsigned int i = 0; i < KL_GROWTH_KEYS; i++)
		if (!strcmp(parser->arg, cli_growth_keys[i])) {
			run->growth.by = i;
			return;
		}
	cli_usage_error(parser->command, "--by: \"%s\" is not function, stack or process",
			parser->arg);
}

static void take_option(struct memory_run *run, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_WATCH:
		run->interval_ns = WATCH_NS;
		cli_take_interval(parser, "--watch", &run->interval_ns);
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", 1000000000, &run->memory.top);
		run->has_top = true;
		break;
	case KEY_BY:
		take_key(run, parser);
		run->of_growth = true;
		run->by_code = true;
		break;
	case 'o':
		run->growth.recording.output = parser->arg;
		run->of_growth = true;
		break;
	case KEY_FORCE:
		run->growth.recording.force = true;
		run->of_growth = true;
		break;
	case 'i':
		run->growth.input = parser->arg;
		run->of_growth = true;
		break;
	case KEY_MAP:
		run->memory.map = true;
		break;
	case KEY_HTML:
		run->memory.html = parser->arg;
		break;
	case KEY_SHARED:
		run->memory.sharers = true;
		break;
	case KEY_PAGES:
		run->memory.pages = true;
		break;
	case KEY_PHYSICAL:
		run->memory.physical = true;
		break;
	case KEY_CSV:
		run->csv = true;
		break;
	}
}

int cli_memory_read_comm(struct cli_memory *m)
{
	struct kl_details task;
	int error = kl_details_read(m->device, m->pid, KL_DETAIL_TASK, &task);

	if (!error && task.n)
		memcpy(m->comm, task.entry[0].task.comm, sizeof(m->comm));
	else if (!error)
		error = -ESRCH;
	kl_details_deinit(&task);
	return error;
}

/* The name is read first, so that a process that does not exist is an error in all modes. */
int cli_memory_find(struct cli_memory *m)
{
	int error = cli_memory_read_comm(m);

	if (error == -ESRCH)
		return cli_error(error, "process %d does not exist", m->pid);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int write_document(const struct cli_memory *m)
{
	json_t *document = cli_memory_json(m);

	return document ? cli_json_write(document) : CLI_FAILED;
}

static int show(struct memory_run *run)
{
	if (run->interval_ns)
		return cli_memory_watch(&run->memory, run->interval_ns);
	if (run->memory.html)
		return cli_memory_show_page(&run->memory);
	if (cli_settings.json)
		return write_document(&run->memory);
	if (run->csv)
		return cli_memory_write_csv(&run->memory);
	cli_start_pager();
	return cli_memory_print(&run->memory);
}

static bool is_pid(const struct cli_parser *parser, uint64_t *pid)
{
	return parser->n_words == 1 && cli_parse_unsigned(parser->words[0], INT32_MAX, pid) && *pid;
}

static int exec_now(const struct cli_command *self, struct memory_run *run, int pid)
{
	struct cli_memory *m = &run->memory;
	bool parts = m->pages || m->physical || m->map || (m->sharers && !m->html);
	int status;

	if (run->of_growth)
		cli_usage_error(self,
				"PID shows the memory of a process as it is; to record how it "
				"grows, use -p PID, or --watch with --by");
	if (run->csv && (cli_settings.json || run->interval_ns || parts))
		cli_usage_error(self, "--csv writes the table of mappings only");
	if (run->interval_ns && parts)
		cli_usage_error(self, "--watch shows changes, without --pages, --shared, "
				      "--physical or --map");
	if (m->duration_ns && !run->interval_ns)
		cli_usage_error(self, "--duration requires --watch, or -p PID");
	m->pid = pid;
	m->device = cli_open_device();
	if (!m->device)
		return CLI_FAILED;
	status = cli_memory_find(m);
	if (!status)
		status = show(run);
	kl_device_close(m->device);
	return status;
}

static int exec_growth(const struct cli_command *self, struct memory_run *run,
		       const struct cli_parser *parser)
{
	const struct cli_memory *m = &run->memory;
	struct cli_growth *g = &run->growth;
	bool has_tasks = cli_select_has_tasks(&g->recording.session.select);

	if (m->pages || m->sharers || m->physical || m->map || run->csv)
		cli_usage_error(self, "--pages, --shared, --physical, --map and --csv "
				      "show the memory of one process: kernlens memory PID");
	if (!parser->n_words && !has_tasks && !g->input)
		cli_usage_error(self, "expected the ID of a process, a command after \"--\", or "
				      "-p, -a or -i");
	if (g->input && (parser->n_words || has_tasks || g->recording.output))
		cli_usage_error(self,
				"-i prints a trace; it cannot be used with -o, a selection of "
				"tasks or a command");
	if (g->input && run->interval_ns)
		cli_usage_error(self, "-i prints a trace; --watch reads a process that runs");
	if (run->interval_ns && !m->html && g->recording.output)
		cli_usage_error(self, "--watch prints while it records, and keeps no trace: it "
				      "cannot be used with -o");
	/* A command may end before its names are found and a first page is written. */
	g->watches = run->interval_ns && !(m->html && (parser->n_words || g->recording.output));
	g->top = run->has_top ? m->top : g->watches ? WATCH_TOP : GROWTH_TOP;
	g->html = m->html;
	g->interval_ns = run->interval_ns ? run->interval_ns : WATCH_NS;
	if (parser->n_words)
		g->recording.session.select.words = parser->words;
	return cli_growth_run(g, self);
}

static int exec_memory(const struct cli_command *self, int argc, char **argv)
{
	struct memory_run *run = cli_alloc(sizeof(*run));
	struct cli_select *select = &run->growth.recording.session.select;
	struct cli_parser parser;
	uint64_t pid;
	int key, status;

	run->growth.recording.session.command = self;
	run->growth.recording.handler = KL_HANDLER_log;
	run->growth.by = KL_GROWTH_BY_FUNCTION;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		/* The time is also that of --watch. */
		if (cli_select_option(select, &parser, key))
			run->of_growth |= key != CLI_KEY_DURATION;
		else
			take_option(run, &parser, key);
	}
	check_html(self, run);
	run->memory.duration_ns = select->duration_ns;
	if (!is_pid(&parser, &pid)) {
		status = exec_growth(self, run, &parser);
	} else if (run->interval_ns && run->by_code && !cli_select_has_tasks(select)) {
		select->pid[select->n_pids++] = (int)pid;
		parser.n_words = 0;
		status = exec_growth(self, run, &parser);
	} else {
		status = exec_now(self, run, (int)pid);
	}
	free(run);
	return status;
}

const struct cli_command_ops cmd_memory = {
	.options = options,
	.text = "With a PID, shows the pages of that process in RAM and swap, by mapping: how\n"
		"many are private or shared, written, referenced and huge. \"its share\" divides each\n"
		"page by the number of its mappings. Ordinary users can show their own processes.\n"
		"\n"
		"  kernlens memory 1234\n"
		"  kernlens memory 1234 --watch --top 10\n"
		"  kernlens memory 1234 --watch --by function\n"
		"  kernlens memory 1234 --shared --map\n"
		"  kernlens memory 1234 --watch --duration 60 --html memory.html\n"
		"\n"
		"With a command after \"--\", or -p, -u or -a, records which code touches memory,\n"
		"which gives it back, and what is kept, with its age, and over time. The results go\n"
		"to stderr; with -i, to stdout. With --html, the page also has the pages of the\n"
		"command or process, read every second. With --watch, the results are printed at an\n"
		"interval while it records, with what is new, to stdout.\n"
		"\n"
		"  kernlens memory -- sort /etc/services\n"
		"  kernlens memory -p 1234 --duration 60 --by stack\n"
		"  kernlens memory -p 1234 --duration 60 --html memory.html\n",
	.exec = exec_memory,
};
