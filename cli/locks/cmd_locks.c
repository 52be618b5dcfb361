// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens locks: which locks of the kernel and of programs tasks wait for, or with --module, how
 * a module uses locks, or with --holds, how often locks are taken and how long they are held.
 * Records the events into a trace, which is removed unless -o names it, and prints it as
 * `-i TRACE` prints one that exists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "../session/recording.h"
#include "holds.h"
#include "print.h"
#include "use.h"

enum {
	KEY_BY = CLI_KEY_OWN,
	KEY_TOP,
	KEY_HISTOGRAM,
	KEY_FORCE,
	KEY_MODULE,
	KEY_LONGER,
	KEY_ONLY,
	KEY_CONDITIONS,
	KEY_HOLDS,
};

enum {
	TOP_DEFAULT = 20,
};

/* A task that stops spinning for a mutex (LCB_F_MUTEX alone) has begun to wait before. */
#define KERNEL_EVENTS "contention_begin /flags != 32/ :stack(kernel),contention_end"
#define PROGRAM_EVENTS "syscall_entry_futex:stack,syscall_exit_futex"

/* Tasks that hold a lock are named by the events that name tasks. */
#define NAMING_EVENTS "lttng_statedump_process_state,sched_process_fork"

static const struct cli_option options[] = {
	{ 'p', "pid", "PID[,PID]", "running processes and their new children" },
	{ 'u', "user", "USER", "all tasks of a user" },
	CLI_CGROUP_OPTIONS,
	{ 'a', "all", NULL, "all tasks, and interrupts" },
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ CLI_KEY_BUFFER, "buffer", "SIZE", "buffer size per CPU, such as 512K or 16M (4M)" },
	{ CLI_KEY_NAME, "name", "NAME", "name of the session, for other commands" },
	{ KEY_BY, "by", "KEY", "lock (default), type, class, function, process, owner, stack" },
	{ KEY_TOP, "top", "NUMBER", "rows of the table (20); 0: all" },
	{ KEY_HISTOGRAM, "histogram", NULL, "also print how long waits were" },
	{ KEY_ONLY, "only", "KIND", "only locks of the kernel, or of programs" },
	{ KEY_CONDITIONS, "conditions", NULL,
	  "also waits for conditions, barriers and threads to end" },
	{ KEY_HOLDS, "holds", "TYPES",
	  "also how often and how long held: mutex, rwsem ..., sleeping, all" },
	{ KEY_MODULE, "module", "NAME",
	  "what this module does with locks, and what is wrong with it" },
	{ KEY_LONGER, "longer", "MS", "with --module: report locks held longer" },
	{ 'o', "output", "TRACE", "keep the trace in this directory" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace there" },
	{ 'i', "input", "TRACE", "print a trace that has been recorded" },
	{},
};

/**
 * struct locks_run - a run of the command
 * @input: trace to print, NULL: record
 * @module: --module, or NULL
 * @longer_ms: --longer; 0: not given
 * @holds: --holds: kinds of locks
 * @of_waits: an option for waits was given, other than those that --holds has, too
 * @of_rows: such an option
 * @kernel, @programs: whose locks
 * @conditions: --conditions
 */
struct locks_run {
	struct cli_recording recording;
	struct cli_locks report;
	const char *input;
	const char *module;
	struct kl_lock_layout layout; /* of the kernel that is recorded */
	uint64_t longer_ms;
	unsigned int holds;
	bool of_waits;
	bool of_rows;
	bool kernel, programs;
	bool conditions;
};

/* ------------------------------------------------------------------- reading */

static int read_trace(struct locks_run *lr, struct kl_trace *trace)
{
	struct cli_locks *report = &lr->report;
	struct kl_item item;
	int error = 0;

	report->locks = kl_locks_create(kl_trace_schema(trace), lr->conditions);
	report->stacks = kl_schema_stacks(kl_trace_schema(trace));
	if (!report->locks)
		return cli_library_error(-errno, NULL);
	if (!lr->input && lr->kernel)
		kl_locks_use_memory(report->locks);
	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_LOSS) {
			report->lost += item.loss->records;
			kl_locks_add_loss(report->locks);
		} else if (!cli_recording_is_own(&lr->recording, item.event)) {
			error = kl_locks_add(report->locks, item.event);
		}
	}
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* A trace that has been recorded with --module. */
static int print_use(const struct locks_run *lr, struct kl_trace *trace)
{
	const struct cli_lock_use how = {
		.limit_ns = lr->longer_ms * 1000000,
		.top = (size_t)lr->report.top,
		.plan = lr->input ? NULL : lr->recording.session.plan,
		.layout = lr->layout,
	};

	if (lr->input && !cli_settings.json)
		cli_start_pager();
	return cli_lock_use_print(trace, &how, lr->input ? stdout : stderr);
}

/* A trace that has been recorded with --holds. */
static int print_holds(const struct locks_run *lr, struct kl_trace *trace)
{
	if (lr->input && !cli_settings.json)
		cli_start_pager();
	return cli_lock_holds_print(trace, lr->input ? NULL : &lr->recording, &lr->report,
				    lr->input ? stdout : stderr);
}

static int print(void *context, const char *path)
{
	struct locks_run *lr = context;
	struct kl_trace *trace = cli_open_trace(path);
	int status;

	if (trace && kl_lock_use_is_in(kl_trace_schema(trace))) {
		status = print_use(lr, trace);
		kl_trace_close(trace);
		return status;
	}
	if (trace && kl_lock_holds_is_in(kl_trace_schema(trace))) {
		status = print_holds(lr, trace);
		kl_trace_close(trace);
		return status;
	}
	status = trace ? read_trace(lr, trace) : CLI_FAILED;

	if (!status && cli_settings.json) {
		status = cli_locks_write_json(&lr->report);
	} else if (!status) {
		if (lr->input && !kl_locks_counts(lr->report.locks)->waits)
			cli_note("waits for locks are recorded by kernlens locks -o, or with "
				 "-e contention_begin:stack,contention_end and -e " PROGRAM_EVENTS);
		if (lr->input)
			cli_start_pager();
		status = cli_locks_print(&lr->report, lr->input ? stdout : stderr);
	}
	kl_locks_destroy(lr->report.locks);
	kl_trace_close(trace);
	return status;
}

/* ------------------------------------------------------------------- options */

static void take_key(struct locks_run *lr, const struct cli_parser *parser)
{
	for (unsigned int i = 0; i < KL_LOCKS_KEYS; i++)
		if (!strcmp(parser->arg, cli_locks_keys[i])) {
			lr->report.by = i;
			return;
		}
	cli_usage_error(parser->command,
			"--by: \"%s\" is not lock, type, class, function, process, owner "
			"or stack",
			parser->arg);
}

static void take_kind(struct locks_run *lr, const struct cli_parser *parser)
{
	lr->kernel = !strcmp(parser->arg, "kernel");
	lr->programs = !strcmp(parser->arg, "programs");
	if (!lr->kernel && !lr->programs)
		cli_usage_error(parser->command, "--only: \"%s\" is not kernel or programs",
				parser->arg);
}

static void take_holds(struct locks_run *lr, const struct cli_parser *parser)
{
	lr->holds = cli_lock_holds_kinds(parser->arg);
	if (!lr->holds)
		cli_usage_error(parser->command,
				"--holds: \"%s\" is not a list of mutex, rwsem, rtmutex, "
				"spinlock, rwlock, sleeping and all",
				parser->arg);
}

static void take_option(struct locks_run *lr, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_BY:
		lr->of_rows = true;
		take_key(lr, parser);
		break;
	case KEY_TOP:
		cli_take_number(parser, "--top", 1000000000, &lr->report.top);
		break;
	case KEY_HISTOGRAM:
		lr->of_rows = true;
		lr->report.histogram = true;
		break;
	case 'o':
		lr->recording.output = parser->arg;
		break;
	case KEY_ONLY:
		lr->of_waits = true;
		take_kind(lr, parser);
		break;
	case KEY_CONDITIONS:
		lr->of_waits = true;
		lr->conditions = true;
		break;
	case KEY_HOLDS:
		take_holds(lr, parser);
		break;
	case KEY_MODULE:
		lr->module = parser->arg;
		break;
	case KEY_LONGER:
		cli_take_number(parser, "--longer", 1000000000, &lr->longer_ms);
		break;
	case KEY_FORCE:
		lr->recording.force = true;
		break;
	case 'i':
		lr->input = parser->arg;
		break;
	}
}

/* The addresses of the kernel's locks, and who holds them, are not for everyone. */
static int check_rights(struct locks_run *lr)
{
	const uint32_t needed = KL_MAY_SEE_ALL | KL_MAY_SEE_ADDRESSES;
	uint32_t may;
	int status = cli_rights(&may);

	if (status || (may & needed) == needed)
		return status;
	if (lr->module || lr->holds || !lr->programs)
		return cli_error(-EPERM, "the kernel's locks require CAP_SYS_ADMIN");
	lr->kernel = false;
	return CLI_OK;
}

/* Request the events of waits. */
static void select_waits(const struct locks_run *lr, struct cli_select *select,
			 const struct cli_command *self)
{
	if (lr->kernel)
		cli_select_add(select, self, cli_format(KERNEL_EVENTS));
	if (lr->programs)
		cli_select_add(select, self, cli_format(PROGRAM_EVENTS));
	cli_select_add(select, self, cli_format(NAMING_EVENTS));
}

static void select_module(struct locks_run *lr, struct cli_select *select,
			  const struct cli_command *self)
{
	if (lr->of_waits || lr->of_rows)
		cli_usage_error(self, "--by, --histogram, --only and --conditions are for "
				      "waits, not for --module");
	if (cli_select_has_tasks(select) && !select->all)
		cli_usage_error(self, "--module records the calls of all tasks");
	select->all = true;
	cli_lock_use_select(select, self, lr->module, &lr->layout);
}

/* What kernlens itself does while it records would be recorded, too, with no end. */
static bool would_record_itself(const struct locks_run *lr, const struct cli_select *select,
				const struct cli_parser *parser)
{
	return (lr->holds & ~KL_LOCK_SLEEPING) &&
	       (select->all || (!parser->n_words && !cli_select_has_tasks(select)));
}

static int select_events(struct locks_run *lr, const struct cli_parser *parser)
{
	struct cli_select *select = &lr->recording.session.select;
	const struct cli_command *self = parser->command;

	if (lr->module && lr->holds)
		cli_usage_error(self, "--module and --holds cannot be used together");
	if (lr->module) {
		select_module(lr, select, self);
		return CLI_OK;
	}
	if (!lr->holds) {
		select_waits(lr, select, self);
		return CLI_OK;
	}
	if (lr->of_waits)
		cli_usage_error(self, "--only and --conditions cannot be used with --holds");
	if (lr->report.by == KL_LOCKS_BY_OWNER)
		cli_usage_error(self, "--by owner is for waits, not for --holds");
	if (would_record_itself(lr, select, parser))
		cli_usage_error(self, "spinlocks and rwlocks are taken too often to record those "
				      "of all tasks: use --holds sleeping, or select tasks");
	cli_select_add(select, self, cli_format(NAMING_EVENTS));
	return cli_lock_holds_select(select, self, lr->holds);
}

static int exec_locks(const struct cli_command *self, int argc, char **argv)
{
	struct locks_run *lr = cli_alloc(sizeof(*lr));
	struct cli_select *select = &lr->recording.session.select;
	struct cli_parser parser;
	int key, status;

	lr->recording.session.command = self;
	lr->recording.handler = KL_HANDLER_log;
	lr->report.top = TOP_DEFAULT;
	lr->kernel = true;
	lr->programs = true;
	cli_select_init(select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_select_option(select, &parser, key))
			take_option(lr, &parser, key);
	if (lr->input && (parser.n_words || cli_select_has_tasks(select) || lr->recording.output ||
			  lr->module || lr->holds))
		cli_usage_error(self, "-i prints a trace; it cannot be used with -o, --module, "
				      "--holds, a selection of tasks or a command");
	if (lr->input) {
		status = print(lr, lr->input);
		free(lr);
		return status;
	}
	status = check_rights(lr);
	if (status) {
		free(lr);
		return status;
	}
	status = select_events(lr, &parser);
	if (status) {
		free(lr);
		return status;
	}
	if (parser.n_words)
		select->words = parser.words;
	status = cli_recording_run(&lr->recording, print, lr);
	free(lr);
	return status;
}

const struct cli_command_ops cmd_locks = {
	.options = options,
	.runs_command = true,
	.text = "Shows which locks tasks wait for, how long, in which functions, and who holds\n"
		"them: locks of the kernel, and mutexes and other locks of programs. The results\n"
		"go to stderr; with -i, to stdout.\n"
		"\n"
		"  kernlens locks -a --duration 10\n"
		"  kernlens locks -- make -j8\n"
		"  kernlens locks -p 1234 --duration 5 --by stack\n"
		"\n"
		"With --holds, shows how often locks of the kernel are taken, how long they are\n"
		"held, and who holds those that others wait for.\n"
		"\n"
		"  kernlens locks -a --holds sleeping --duration 5\n"
		"\n"
		"With --module, shows what is wrong with how a module takes and releases locks,\n"
		"and how long it holds them.\n"
		"\n"
		"  kernlens locks --module ext4 -- cp -r /usr/include /mnt\n",
	.exec = exec_locks,
};
