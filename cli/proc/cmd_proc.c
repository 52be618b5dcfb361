// SPDX-License-Identifier: GPL-2.0
/* kernlens proc: show processes and their variables as they are now. */
#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cgroup.h"
#include "../base/cli.h"
#include "../base/output.h"
#include "detail.h"
#include "list.h"
#include "view.h"

enum {
	KEY_TREE = CLI_KEY_OWN,
	KEY_TOP,
	KEY_BY,
	KEY_WATCH,
	KEY_CSV,
	KEY_LIST,
	KEY_SHOW,
	KEY_MENU,
	KEY_COMM,
	KEY_NO_MOUSE,
	KEY_NO_SETUP,
};

static const struct cli_option options[] = {
	{ 'a', "all", NULL, "list all visible processes" },
	{ KEY_LIST, "list", NULL, "print a list even on a terminal" },
	{ 'u', "user", "USER", "only processes of this user" },
	CLI_CGROUP_OPTIONS,
	{ KEY_COMM, "comm", "PATTERN", "only matching command names" },
	{ 't', "threads", NULL, "one row per thread" },
	{ 'v', "variables", "LIST", "columns: variables, VARIABLE/s, cpu%, mem%, user" },
	{ KEY_TREE, "tree", NULL, "show children below their parents" },
	{ KEY_BY, "by", "COLUMN", "sort by COLUMN, or memory, cpu, io ... (see below)" },
	{ KEY_TOP, "top", "N", "only the first N rows (10 with --by)" },
	{ KEY_WATCH, "watch", "SECONDS", "repeat at this interval until Ctrl-C" },
	{ 'd', "interval", "SECONDS", "time over which rates are measured (1)" },
	{ KEY_CSV, "csv", NULL, "write CSV" },
	{ KEY_SHOW, "show", "LIST", "for a PID: wait, stack, files ... (all but env)" },
	{ KEY_MENU, "menu", NULL, "for a PID: a numbered menu" },
	{ KEY_NO_MOUSE, "no-mouse", NULL, "full-screen view: leave the mouse to the terminal" },
	{ KEY_NO_SETUP, "no-setup", NULL, "full-screen view: neither use nor save a setup" },
	{},
};

#define DEFAULT_TOP 10

/* Words for --by: the column to sort by, and the columns to show. */
static const struct top {
	const char *word;
	const char *by;
	const char *columns;
} tops[] = {
	{ "memory", "rss", "pid,user,rss,rss_anon,rss_file,rss_shmem,vm_size,mem%,comm" },
	{ "thrashing", "maj_faults/s", "pid,user,maj_faults/s,min_faults/s,rss,swap_entries,comm" },
	{ "cpu", "cpu%", "pid,user,priority,nice,state,threads,cpu%,cpu_time,run_delay/s,comm" },
	{ "io", "io/s",
	  "pid,user,io/s,io_read_bytes/s,io_write_bytes/s,io_reads/s,io_writes/s,comm" },
	{ "switches", "switches/s", "pid,user,switches/s,nvcsw/s,nivcsw/s,migrations/s,cpu%,comm" },
	{ "sleepers", "nvcsw/s", "pid,user,state,nvcsw/s,cpu%,run_delay/s,comm" },
	{ "files", "open_files/s", "pid,user,open_files/s,open_files,comm" },
};

#define DEFAULT_COLUMNS "pid,user,nice,state,threads,rss,vm_size,cpu_time,comm"
#define DEFAULT_THREADS "pid,tid,user,nice,state,cpu,cpu_time,comm"

/**
 * struct proc - the command line
 * @cgroup_path: cgroup of the options --cgroup, --unit and --container; NULL: all
 * @cgroups: that one and those below it, at the last read
 */
struct proc {
	struct cli_proc_list list;
	const char *columns;
	const char *by;
	const char *comm;
	uint64_t uid; /* UINT64_MAX: all users */
	struct cli_cgroup cgroup;
	char *cgroup_path;
	struct kl_cgroup_set cgroups;
	int pid_column, uid_column, comm_column, cgroup_column;
	int by_column; /* -1: not sorted */
	bool all, threads, tree, watch, menu, no_mouse, no_setup;
	uint32_t sections; /* bits 1u << CLI_PROC_* of the page about one process; 0: a list */
	enum cli_proc_style style;
	uint64_t interval_ns; /* 0: not given */
	int32_t *ids;
	size_t n_ids;
};

/* ----------------------------------------------------------------- options */

static uint64_t parse_user(const struct cli_command *self, const char *name)
{
	const struct passwd *user = getpwnam(name);
	uint64_t uid;

	if (user)
		return user->pw_uid;
	if (!cli_parse_unsigned(name, UINT32_MAX, &uid))
		cli_usage_error(self, "unknown user \"%s\"", name);
	return uid;
}

static uint64_t parse_interval(const struct cli_command *self, const char *text)
{
	uint64_t ns;

	if (!cli_parse_seconds(text, &ns) || !ns)
		cli_usage_error(self, "\"%s\" is not a number of seconds", text);
	return ns;
}

static uint32_t parse_sections(const struct cli_command *self, const char *list)
{
	char *rest = strdupa(list), *name;
	uint32_t sections = 0;

	while ((name = strsep(&rest, ","))) {
		unsigned int i = 0;
		struct kl_near near;

		kl_near_init(&near, name, strlen(name));
		for (; i < CLI_PROC_SECTIONS && strcmp(name, cli_proc_section_name(i)); i++)
			kl_near_offer(&near, cli_proc_section_name(i));
		if (!strcmp(name, "all"))
			sections |= CLI_PROC_ALL;
		else if (i < CLI_PROC_SECTIONS)
			sections |= 1u << i;
		else if (near.best)
			cli_usage_error(self, "unknown section \"%s\"; did you mean \"%s\"?", name,
					near.best);
		else
			cli_usage_error(self, "unknown section \"%s\"", name);
	}
	return sections;
}

static void take_option(const struct cli_command *self, struct proc *p, int key, char *arg)
{
	uint64_t number;

	switch (key) {
	case 'a':
	case KEY_LIST:
		p->all = true;
		break;
	case 'u':
		p->uid = parse_user(self, arg);
		break;
	case 't':
		p->threads = true;
		break;
	case 'v':
		p->columns = arg;
		break;
	case KEY_COMM:
		p->comm = arg;
		break;
	case KEY_TREE:
		p->tree = true;
		break;
	case KEY_BY:
		p->by = arg;
		break;
	case KEY_TOP:
		if (!cli_parse_unsigned(arg, UINT32_MAX, &number) || !number)
			cli_usage_error(self, "\"%s\" is not a number of rows", arg);
		p->list.rows = number;
		break;
	case KEY_WATCH:
		p->watch = true;
		p->interval_ns = parse_interval(self, arg);
		break;
	case 'd':
		p->interval_ns = parse_interval(self, arg);
		break;
	case KEY_SHOW:
		p->sections = parse_sections(self, arg);
		break;
	case KEY_MENU:
		p->menu = true;
		break;
	case KEY_NO_MOUSE:
		p->no_mouse = true;
		break;
	case KEY_NO_SETUP:
		p->no_setup = true;
		break;
	case KEY_CSV:
		p->style = CLI_PROC_CSV;
		break;
	}
}

/* Does an option request a list? */
static bool is_list(const struct proc *p)
{
	return p->all || p->columns || p->by || p->list.rows || p->tree || p->threads || p->watch ||
	       p->comm || p->uid != UINT64_MAX || p->cgroup.key || p->style == CLI_PROC_CSV;
}

static void take_ids(const struct cli_command *self, struct proc *p, char **words, int n)
{
	uint64_t id;

	p->ids = cli_alloc((size_t)(n + 1) * sizeof(*p->ids));
	for (int i = 0; i < n; i++) {
		if (!cli_parse_unsigned(words[i], INT32_MAX, &id) || !id)
			cli_usage_error(self, "\"%s\" is not a process ID", words[i]);
		p->ids[p->n_ids++] = (int32_t)id;
	}
	if (p->all && n)
		cli_usage_error(self, "-a cannot be used with process IDs");
	if ((p->menu || p->sections) && n != 1)
		cli_usage_error(self, "--show and --menu require exactly one PID");
	if ((p->menu || p->sections) && is_list(p))
		cli_usage_error(self, "--show and --menu cannot be used with options of a list");
	if (n == 1 && !is_list(p) && !p->sections)
		p->sections = CLI_PROC_DEFAULT;
	if (p->tree && p->by)
		cli_usage_error(self, "--tree cannot be used with --by");
	if (p->style == CLI_PROC_CSV && cli_settings.json)
		cli_usage_error(self, "--csv cannot be used with --json");
}

/* ------------------------------------------------------------------ columns */

static const struct top *find_top(const char *word)
{
	for (size_t i = 0; word && i < sizeof(tops) / sizeof(*tops); i++)
		if (!strcmp(tops[i].word, word))
			return &tops[i];
	return NULL;
}

static int add_columns(struct proc *p, const char *list)
{
	char *rest = strdupa(list), *name;
	int status = CLI_OK;

	while (!status && (name = strsep(&rest, ",")))
		status = cli_proc_add_column(&p->list, name);
	return status;
}

/* Add a column that is needed but not shown. */
static int need_column(struct proc *p, const char *name, int *column)
{
	*column = kl_processes_add(p->list.table, name);
	if (*column >= 0)
		return CLI_OK;
	cli_error(*column, "%s", kl_error_text());
	return CLI_USAGE;
}

static int choose_columns(struct proc *p)
{
	const struct top *top = find_top(p->by);
	const char *by = top ? top->by : p->by;
	const char *columns = p->columns ? p->columns :
			      top	 ? top->columns :
			      p->threads ? DEFAULT_THREADS :
					   DEFAULT_COLUMNS;
	int status = add_columns(p, columns);

	/* Show the column that rows are sorted by. */
	if (!status && by && !top && !p->columns)
		status = cli_proc_add_column(&p->list, by);
	if (!status && by)
		status = need_column(p, strcmp(by, "user") ? by : "uid", &p->by_column);
	if (!status)
		status = need_column(p, "pid", &p->pid_column);
	if (!status)
		status = need_column(p, "uid", &p->uid_column);
	if (!status)
		status = need_column(p, "comm", &p->comm_column);
	if (!status && p->cgroup.key)
		status = need_column(p, "cgroup", &p->cgroup_column);
	if (p->by && !p->list.rows)
		p->list.rows = DEFAULT_TOP;
	return status;
}

/* -------------------------------------------------------------------- rows */

static bool keep(const struct kl_processes *table, size_t row, void *data)
{
	const struct proc *p = data;
	struct kl_value comm = kl_processes_value(table, row, (size_t)p->comm_column);
	char *name = strndupa((const char *)comm.bytes, comm.length);

	return (p->uid == UINT64_MAX ||
		kl_processes_value(table, row, (size_t)p->uid_column).number == p->uid) &&
	       (!p->comm || !fnmatch(p->comm, name, 0)) &&
	       (!p->cgroup.key ||
		kl_cgroup_set_has(&p->cgroups,
				  kl_processes_value(table, row, (size_t)p->cgroup_column).number));
}

static bool is_text(const struct proc *p)
{
	return kl_processes_column(p->list.table, (size_t)p->by_column)->variable->field.type ==
	       KL_TYPE_TEXT;
}

static int read_rows(struct proc *p)
{
	int ret = p->cgroup_path ? kl_cgroup_set_read(&p->cgroups, p->cgroup_path) : 0;

	if (!ret)
		ret = kl_processes_read(p->list.table, p->n_ids ? p->ids : NULL, p->n_ids,
					p->threads ? KL_INSPECT_THREADS : 0);

	return ret < 0 ? cli_library_error(ret, NULL) : CLI_OK;
}

static int arrange(struct proc *p)
{
	int error = 0;

	kl_processes_keep(p->list.table, keep, p);
	if (p->by_column >= 0)
		kl_processes_sort(p->list.table, (size_t)p->by_column, !is_text(p));
	else if (!p->n_ids)
		kl_processes_sort(p->list.table, (size_t)p->pid_column, false);
	if (p->tree)
		error = kl_processes_sort_tree(p->list.table);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* Report requested processes that do not exist. */
static int note_missing(const struct proc *p)
{
	int status = CLI_OK;
	bool there;

	for (size_t row = 0; p->n_ids && row < kl_processes_count(p->list.table); row++) {
		int32_t id = kl_processes_row(p->list.table, row, &there);

		if (there)
			continue;
		status = CLI_FAILED;
		if (p->style != CLI_PROC_JSON)
			cli_note("process %d does not exist or is not visible to you", id);
	}
	return status;
}

static int show(struct proc *p)
{
	int status = read_rows(p);

	if (!status)
		status = arrange(p);
	if (status)
		return status;
	if (p->watch && p->style == CLI_PROC_TEXT && !cli_clear_screen())
		putchar('\n');
	cli_proc_print(&p->list, p->style);
	fflush(stdout);
	return note_missing(p);
}

static int run(struct proc *p)
{
	int status = CLI_OK;

	if (cli_proc_has_rates(&p->list)) {
		status = read_rows(p);
		if (!status && !cli_wait_until(cli_now_ns() + p->interval_ns))
			return status;
	}
	if (!status)
		status = show(p);
	while (!status && p->watch && cli_wait_until(cli_now_ns() + p->interval_ns))
		status = show(p);
	return status;
}

/* On a terminal, and no option requests a list: use the full-screen view. */
static bool is_view(const struct proc *p)
{
	const char *why;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || p->style != CLI_PROC_TEXT ||
	    p->n_ids || p->all || p->by || p->tree || p->watch || p->comm || p->cgroup.key ||
	    p->list.rows)
		return false;
	if (view_is_possible(&why))
		return true;
	cli_note("this terminal cannot show the full-screen view: %s; printing a list", why);
	/* Nor can a pager use it. */
	cli_settings.pager = false;
	return false;
}

static int run_view(const struct proc *p, struct kl_device *device)
{
	struct view_options options = {
		.columns = p->columns,
		.uid = p->uid,
		.interval_ns = p->interval_ns,
		.threads = p->threads,
		.no_mouse = p->no_mouse,
		.no_setup = p->no_setup,
	};

	return cli_proc_view(device, &options);
}

/* Make the table, and find the cgroup. */
static int prepare(struct proc *p, struct kl_device *device)
{
	int status;

	p->list.table = kl_processes_create(device);
	status = p->list.table ? choose_columns(p) : cli_library_error(-ENOMEM, NULL);
	if (status || !p->cgroup.key)
		return status;
	p->cgroup_path = cli_cgroup_find(&p->cgroup);
	return p->cgroup_path ? CLI_OK : CLI_FAILED;
}

static int exec_proc(const struct cli_command *self, int argc, char **argv)
{
	struct proc p = { .uid = UINT64_MAX, .by_column = -1 };
	struct kl_device *device;
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_cgroup_option(&p.cgroup, &parser, key))
			take_option(self, &p, key, parser.arg);
	take_ids(self, &p, parser.words, parser.n_words);
	if (cli_settings.json)
		p.style = CLI_PROC_JSON;
	device = cli_open_device();
	if (!device)
		return CLI_FAILED;
	if (is_view(&p)) {
		status = run_view(&p, device);
		kl_device_close(device);
		free(p.ids);
		return status;
	}
	if (!p.interval_ns)
		p.interval_ns = 1000000000;
	if (p.menu || p.sections) {
		if (!p.menu)
			cli_start_pager();
		status = p.menu ? cli_proc_menu(device, p.ids[0]) :
				  cli_proc_details(device, p.ids[0], p.sections);
		kl_device_close(device);
		free(p.ids);
		return status;
	}
	status = prepare(&p, device);
	if (p.watch)
		cli_wait_for_signal(SIGINT);
	else if (!status)
		cli_start_pager();
	if (!status)
		status = run(&p);
	cli_proc_deinit(&p.list);
	kl_cgroup_set_deinit(&p.cgroups);
	free(p.cgroup_path);
	free(p.ids);
	kl_device_close(device);
	return status;
}

const struct cli_command_ops cmd_proc = {
	.options = options,
	.text = "On a terminal, without PID, -a, --list, --by, --top, --tree, --comm, --cgroup,\n"
		"--unit, --container, --watch, --csv and --json, shows a full-screen view; see\n"
		"kernlens-proc-view(7).\n"
		"With one PID and no option that requests a list, prints a page about that\n"
		"process. --show selects its sections: task, wait, syscall, stack, memory, maps,\n"
		"files, sockets, io, signals, rights, limits, affinity, namespaces, cgroups,\n"
		"children, env.\n"
		"Ordinary users see their own processes. The values of a process are totals over\n"
		"its threads; if PID is the ID of a thread, they are those of the thread.\n"
		"--by takes a column, or the name of a list: memory, thrashing (major page\n"
		"faults), cpu, io, switches, sleepers, files (growth of the number of open\n"
		"files).\n"
		"The exit status is 1 if a PID does not exist.\n",
	.exec = exec_proc,
};
