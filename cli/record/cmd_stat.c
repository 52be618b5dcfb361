// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens stat: count events without recording them. Writes a table like perf stat's to stderr, or
 * a JSON document to stdout.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/aggregate.h"
#include "../session/run.h"
#include "../session/select.h"

enum {
	KEY_SORT = CLI_KEY_OWN,
	KEY_ZEROS,
};

enum sort {
	SORT_COUNT,
	SORT_NAME,
};

static const struct cli_option options[] = {
	{ KEY_SORT, "sort", "KEY", "sort by count (default) or name" },
	{ KEY_ZEROS, "zeros", NULL, "also show events that did not occur" },
	{ 'o', "output", "FILE", "write the result to FILE" },
	{},
};

struct stat_run {
	struct cli_session session;
	struct cli_run run;
	struct kl_event_count *counts;
	int n_counts;
	uint64_t elapsed_ns;
	enum sort sort;
	bool zeros;
};

static int compare_names(const void *a, const void *b)
{
	const struct kl_event_count *x = a, *y = b;

	return strcmp(x->event_class->name, y->event_class->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct kl_event_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return compare_names(a, b);
}

/* An event that -e names literally is shown even if it did not occur. */
static bool is_shown(const struct stat_run *st, const struct kl_event_count *row)
{
	const char *events = st->session.select.events;
	char *rest, *word;

	if (row->count || st->zeros)
		return true;
	rest = events ? strdupa(events) : NULL;
	while ((word = strsep(&rest, ",")))
		if (!strcmp(word, row->event_class->name))
			return true;
	return false;
}

/* Sort the counts that are shown to the front. Returns how many. */
static size_t select_rows(struct stat_run *st)
{
	size_t n = 0;

	for (int i = 0; i < st->n_counts; i++)
		if (is_shown(st, &st->counts[i]))
			st->counts[n++] = st->counts[i];
	qsort(st->counts, n, sizeof(*st->counts),
	      st->sort == SORT_NAME ? compare_names : compare_counts);
	return n;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static int write_json(const struct stat_run *st, const struct kl_event_count *rows, size_t n)
{
	const struct cli_child *child = &st->session.child;
	json_t *events = json_array(), *document;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(events, json_pack("{s:s, s:s, s:I}", "name",
							rows[i].event_class->name, "group",
							rows[i].event_class->group, "count",
							(json_int_t)rows[i].count));
	document = json_pack("{s:o, s:o*, s:f}", "events", events, "rules",
			     cli_aggregate_json(&st->session), "seconds",
			     (double)st->elapsed_ns / 1e9);
	if (child->ended)
		json_object_update_new(document, json_pack("{s:f, s:f, s:i}", "user_seconds",
							   seconds_of(&child->usage.ru_utime),
							   "system_seconds",
							   seconds_of(&child->usage.ru_stime),
							   "status", cli_child_exit(child)));
	return cli_json_write(document);
}

static void print_subject(const struct cli_select *select, FILE *file)
{
	fprintf(file, "\n Events ");
	if (select->all)
		fputs("of all tasks", file);
	else if (select->user)
		fprintf(file, "of user %s", select->user);
	else if (select->cgroup.key)
		fprintf(file, "of %s", cli_cgroup_subject(&select->cgroup));
	for (unsigned int i = 0; i < select->n_pids; i++)
		fprintf(file, "%s%d", i ? ", " : "of process ", select->pid[i]);
	if (select->words && cli_select_has_tasks(select))
		fputs(" during ", file);
	else if (select->words)
		fputs("of ", file);
	for (char **word = select->words; word && *word; word++)
		fprintf(file, "%s%s", word == select->words ? "'" : " ", *word);
	fputs(select->words ? "':\n\n" : ":\n\n", file);
}

static void print_rows(const struct kl_event_count *rows, size_t n, double seconds, FILE *file)
{
	struct cli_table *table = cli_table_create(">count|event|>per second");
	char count[CLI_NUMBER_MAX], rate[CLI_NUMBER_MAX];

	for (size_t i = 0; i < n; i++) {
		cli_table_add(table, "%s", cli_print_count(count, rows[i].count));
		cli_table_add(table, "%s", rows[i].event_class->name);
		cli_table_add(table, "%s",
			      cli_print_count(rate,
					      (uint64_t)((double)rows[i].count / seconds + 0.5)));
	}
	cli_table_print(table, file, 4);
	if (!n)
		fputs("    no events occurred\n", file);
}

static void print_table(const struct stat_run *st, const struct kl_event_count *rows, size_t n,
			FILE *file)
{
	const struct cli_child *child = &st->session.child;
	double seconds = (double)st->elapsed_ns / 1e9;

	print_subject(&st->session.select, file);
	if (n || !kl_plan_rule(st->session.plan, 0))
		print_rows(rows, n, seconds, file);
	cli_aggregate_print(&st->session, file);
	fprintf(file, "\n    %.6f seconds time elapsed\n", seconds);
	if (child->ended)
		fprintf(file, "    %.6f seconds user\n    %.6f seconds sys\n",
			seconds_of(&child->usage.ru_utime), seconds_of(&child->usage.ru_stime));
	fputc('\n', file);
}

static int write_result(struct stat_run *st)
{
	size_t n = select_rows(st);
	const char *path = st->session.select.output;
	FILE *file = cli_open_result(path, cli_settings.json);
	int status = file ? CLI_OK : CLI_FAILED;

	if (file && cli_settings.json)
		status = write_json(st, st->counts, n);
	else if (file)
		print_table(st, st->counts, n, file);
	if (file)
		status = cli_close_result(file, path, status);
	return status;
}

static int count_events(struct stat_run *st)
{
	const struct cli_session *s = &st->session;
	int error, status;

	if (memchr(st->session.map, KL_HANDLER_log, KL_EV_MAX))
		cli_usage_error(st->session.command, "stat only counts events; use kernlens "
						     "record to record them");
	status = cli_run_begin(&st->run);
	if (status)
		return status;
	while (!st->run.over)
		cli_run_wait(&st->run, -1, -1);
	error = cli_session_stop(&st->session);
	st->elapsed_ns = cli_run_length(&st->run);
	if (!error) {
		st->n_counts = kl_event_counts_read(s->session, s->plan, s->schema, &st->counts);
		error = st->n_counts < 0 ? st->n_counts : 0;
	}
	if (error)
		return cli_library_error(error, NULL);
	cli_session_interrupts(&st->session, true);
	cli_busy("looking up names and source lines");
	cli_session_name_addresses(&st->session);
	status = cli_session_collect(&st->session, true) < 0 ? CLI_FAILED : CLI_OK;
	cli_busy(NULL);
	cli_session_interrupts(&st->session, false);
	if (status)
		return status;
	cli_run_status(&st->run, CLI_OK);
	return cli_child_failed(&st->session.child) ? CLI_OK : write_result(st);
}

static int run(struct stat_run *st)
{
	int status = cli_run_init(&st->run, &st->session);

	if (!status)
		status = cli_session_open(&st->session, NULL, KL_HANDLER_count);
	if (!status) {
		status = count_events(st);
		if (st->run.began_ns)
			status = cli_run_status(&st->run, status);
		cli_session_close(&st->session);
	}
	cli_run_deinit(&st->run);
	free(st->counts);
	return status;
}

static int exec_stat(const struct cli_command *self, int argc, char **argv)
{
	struct stat_run *st = cli_alloc(sizeof(*st));
	struct cli_parser parser;
	int key, status;

	st->session.command = self;
	cli_select_init(&st->session.select);
	/* Nothing is written to the buffers. */
	st->session.select.buffer_bytes = 1;
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (cli_select_option(&st->session.select, &parser, key))
			continue;
		if (key == KEY_ZEROS)
			st->zeros = true;
		else if (key == 'o')
			st->session.select.output = parser.arg;
		else if (!strcmp(parser.arg, "name"))
			st->sort = SORT_NAME;
		else if (strcmp(parser.arg, "count"))
			cli_usage_error(self, "invalid --sort \"%s\"; expected count or name",
					parser.arg);
	}
	if (parser.n_words)
		st->session.select.words = parser.words;
	status = run(st);
	free(st);
	return status;
}

const struct cli_command_ops cmd_stat = {
	.options = options,
	.shared = cli_select_options,
	.runs_command = true,
	.text = "Counts the events of RDEFAULT unless -e or -m is given. Events that did not\n"
		"occur are shown only if -e names them. The table goes to stderr. With --json, the\n"
		"document goes to stdout, and what COMMAND writes to stdout goes to stderr.\n"
		"\n"
		"  kernlens stat -- make\n"
		"  kernlens stat -e sched_switch,sched_migrate_task,exception -- make\n"
		"  kernlens stat -e 'syscall_entry_*' --sort name -p 1234 --duration 10\n"
		"  kernlens stat -a -e tick:99:stack --duration 5       a profile\n",
	.exec = exec_stat,
};
