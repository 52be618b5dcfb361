// SPDX-License-Identifier: GPL-2.0
/*
 * Print which code makes processes grow, and which gives memory back: from a trace with page faults
 * and the system calls that unmap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "growth.h"

#define FAULTS_USER "x86_exceptions_page_fault_user:stack"
#define FAULTS_KERNEL "x86_exceptions_page_fault_kernel:stack"
#define CALLS                                               \
	"syscall_entry_munmap:stack,syscall_exit_munmap,"   \
	"syscall_entry_madvise:stack,syscall_exit_madvise," \
	"syscall_entry_brk:stack,syscall_exit_brk,"         \
	"syscall_entry_mremap:stack,syscall_exit_mremap,"   \
	"syscall_entry_mmap:stack,syscall_exit_mmap"
#define NAMES "sched_process_exec,sched_process_fork,syscall_entry_exit_group"

const char *const cli_growth_keys[KL_GROWTH_KEYS] = {
	[KL_GROWTH_BY_STACK] = "stack",
	[KL_GROWTH_BY_FUNCTION] = "function",
	[KL_GROWTH_BY_PROCESS] = "process",
};

#define CLI_CODE_COLUMNS                                                           \
	{ NULL, "stack", CLI_CELL_ID }, { "function", "function", CLI_CELL_TEXT }, \
		{ "in", NULL, CLI_CELL_TEXT }, { NULL, "object", CLI_CELL_TEXT },  \
		{ "process", NULL, CLI_CELL_TEXT }, { NULL, "pid", CLI_CELL_ID },  \
	{                                                                          \
		NULL, "comm", CLI_CELL_TEXT                                        \
	}

static const struct cli_column touched_columns[] = {
	{ "kept", "kept", CLI_CELL_MEMORY },
	{ "touched", "touched", CLI_CELL_MEMORY },
	{ "given back", "freed", CLI_CELL_MEMORY },
	{ "page faults", "events", CLI_CELL_COUNT },
	{ "mean age", "age_ns", CLI_CELL_NS },
	{ "oldest", "oldest_ns", CLI_CELL_NS },
	CLI_CODE_COLUMNS,
};

static const struct cli_column freed_columns[] = {
	{ "given back", "freed", CLI_CELL_MEMORY },
	{ "calls", "events", CLI_CELL_COUNT },
	CLI_CODE_COLUMNS,
};

/* The same while it is recorded: first what has happened since the last time. */
static const struct cli_column new_touched_columns[] = {
	{ "new", "new_touched", CLI_CELL_MEMORY },   { "gone", "new_freed", CLI_CELL_MEMORY },
	{ NULL, "new_events", CLI_CELL_COUNT },	     { "kept", "kept", CLI_CELL_MEMORY },
	{ "touched", "touched", CLI_CELL_MEMORY },   { "given back", "freed", CLI_CELL_MEMORY },
	{ "page faults", "events", CLI_CELL_COUNT }, { "mean age", "age_ns", CLI_CELL_NS },
	{ "oldest", "oldest_ns", CLI_CELL_NS },	     CLI_CODE_COLUMNS,
};

static const struct cli_column new_freed_columns[] = {
	{ "now", "new_freed", CLI_CELL_MEMORY },
	{ NULL, "new_events", CLI_CELL_COUNT },
	{ "given back", "freed", CLI_CELL_MEMORY },
	{ "calls", "events", CLI_CELL_COUNT },
	CLI_CODE_COLUMNS,
};

static const struct cli_column time_columns[] = {
	{ "from", NULL, CLI_CELL_TIME },
	{ "touched", NULL, CLI_CELL_MEMORY },
	{ "given back", NULL, CLI_CELL_MEMORY },
	{ "there then", NULL, CLI_CELL_MEMORY },
	{ "", NULL, CLI_CELL_BAR },
	{ "kept", NULL, CLI_CELL_MEMORY },
};

/* -------------------------------------------------------------------- rows */

static void add_code(struct cli_rows *rows, const struct cli_growth *g,
		     const struct kl_growth_row *row)
{
	char name[KL_COMM_LEN + 16] = "-";

	cli_rows_add_optional(rows, row->stack, row->stack);
	if (g->by == KL_GROWTH_BY_PROCESS) {
		for (unsigned int none = 0; none < 3; none++)
			cli_rows_add_none(rows);
	} else {
		const char *file = row->object ? strrchr(row->object, '/') : NULL;

		cli_rows_add_text(rows, row->function);
		if (row->object) {
			cli_rows_add_text(rows, file ? file + 1 : row->object);
			cli_rows_add_text(rows, row->object);
		} else {
			cli_rows_add_none(rows);
			cli_rows_add_none(rows);
		}
	}
	if (!row->pid) {
		cli_rows_add_text(rows, "several");
		cli_rows_add_none(rows);
		cli_rows_add_none(rows);
		return;
	}
	snprintf(name, sizeof(name), "%s-%d", row->comm, row->pid);
	cli_rows_add_text(rows, name);
	cli_rows_add_number(rows, (uint64_t)row->pid);
	cli_rows_add_text(rows, row->comm);
}

static void add_touched(struct cli_rows *rows, const struct cli_growth *g,
			const struct kl_growth_row *row)
{
	if (g->watches) {
		cli_rows_add_number(rows, row->new_touched);
		cli_rows_add_number(rows, row->new_freed);
		cli_rows_add_number(rows, row->new_events);
	}
	cli_rows_add_number(rows, row->kept);
	cli_rows_add_number(rows, row->touched);
	cli_rows_add_number(rows, row->freed);
	cli_rows_add_number(rows, row->events);
	cli_rows_add_optional(rows, row->kept, row->age_ns);
	cli_rows_add_optional(rows, row->kept, row->oldest_ns);
	add_code(rows, g, row);
}

static void add_freed(struct cli_rows *rows, const struct cli_growth *g,
		      const struct kl_growth_row *row)
{
	if (g->watches) {
		cli_rows_add_number(rows, row->new_freed);
		cli_rows_add_number(rows, row->new_events);
	}
	cli_rows_add_number(rows, row->freed);
	cli_rows_add_number(rows, row->events);
	add_code(rows, g, row);
}

/**
 * struct part - a table
 * @row: what it is made of, @n of them
 */
struct part {
	struct kl_growth_row *row;
	size_t n;
	struct cli_rows *rows;
};

static struct cli_rows *create_rows(const struct cli_growth *g, bool calls)
{
	if (g->watches)
		return calls ? cli_rows_create(new_freed_columns, CLI_COUNT(new_freed_columns), 0) :
			       cli_rows_create(new_touched_columns, CLI_COUNT(new_touched_columns),
					       0);
	return calls ? cli_rows_create(freed_columns, CLI_COUNT(freed_columns), 0) :
		       cli_rows_create(touched_columns, CLI_COUNT(touched_columns), 0);
}

static int make_part(const struct cli_growth *g, bool calls, struct part *part)
{
	part->row = kl_growth_rows(g->growth, g->by, calls, &part->n);
	if (!part->row)
		return cli_library_error(-errno, NULL);
	part->rows = create_rows(g, calls);
	for (size_t i = 0; i < part->n; i++) {
		if (calls)
			add_freed(part->rows, g, &part->row[i]);
		else
			add_touched(part->rows, g, &part->row[i]);
	}
	return CLI_OK;
}

static void free_part(struct part *part)
{
	free(part->row);
	cli_rows_destroy(part->rows);
}

/* -------------------------------------------------------------------- text */

static void print_summary(const struct cli_growth *g, FILE *file)
{
	const struct kl_growth_totals *t = kl_growth_totals(g->growth);
	char touched[CLI_NUMBER_MAX], kept[CLI_NUMBER_MAX], freed[CLI_NUMBER_MAX],
		again[CLI_NUMBER_MAX], number[CLI_NUMBER_MAX];

	fprintf(file, "%s page fault%s brought %s: %s kept, %s given back\n",
		cli_print_count(number, t->faults), t->faults == 1 ? "" : "s",
		cli_print_memory(touched, t->touched), cli_print_memory(kept, t->kept),
		cli_print_memory(freed, t->freed - t->again));
	if (t->again)
		fprintf(file, "%s came twice: it had been reclaimed in between\n",
			cli_print_memory(again, t->again));
	if (!t->sized)
		fputs("each page fault counts as one page: the trace does not have the variable "
		      "rss\n",
		      file);
	if (t->gaps)
		fprintf(file,
			"records are missing at %llu places: pages may be missing, or have "
			"been given back\n",
			(unsigned long long)t->gaps);
}

static void print_stacks(const struct cli_growth *g, const struct part *part, bool calls,
			 FILE *file)
{
	const struct kl_stacks *stacks = kl_schema_stacks(g->schema);
	size_t n = g->top && g->top < part->n ? (size_t)g->top : part->n;

	for (size_t i = 0; i < n; i++) {
		const struct kl_growth_row *row = &part->row[i];
		char kept[CLI_NUMBER_MAX], bytes[CLI_NUMBER_MAX], number[CLI_NUMBER_MAX];
		struct kl_buffer text = {};

		if (calls)
			fprintf(file, "\n%s given back in %s call%s",
				cli_print_memory(bytes, row->freed),
				cli_print_count(number, row->events), row->events == 1 ? "" : "s");
		else
			fprintf(file, "\n%s kept of %s touched in %s page fault%s",
				cli_print_memory(kept, row->kept),
				cli_print_memory(bytes, row->touched),
				cli_print_count(number, row->events), row->events == 1 ? "" : "s");
		if (row->pid)
			fprintf(file, " by %s-%d", cli_clean_comm(row->comm), row->pid);
		fputs(":\n", file);
		kl_print_stack(&text, stacks, row->stack, 4);
		if (!text.length)
			kl_buffer_add_string(&text, "    unknown\n");
		cli_write_buffer(&text, file);
		kl_buffer_deinit(&text);
	}
	if (n < part->n)
		fprintf(file, "\n... and %zu more (--top 0 shows all)\n", part->n - n);
}

#define TIMES_MAX 16 /* rows */

/* What was there then is what these rows are about: not memory from before the recording. */
static void print_history(const struct cli_growth *g, FILE *file)
{
	struct kl_growth_history h;
	struct cli_rows *rows;
	uint64_t there = 0;
	unsigned int together;

	kl_growth_history(g->growth, &h);
	if (!kl_growth_totals(g->growth)->touched)
		return;
	rows = cli_rows_create(time_columns, CLI_COUNT(time_columns), h.begin_ns);
	together = (h.n + TIMES_MAX - 1) / TIMES_MAX;
	for (unsigned int i = 0; i < h.n; i += together) {
		uint64_t touched = 0, freed = 0, kept = 0;

		for (unsigned int j = i; j < i + together && j < h.n; j++) {
			touched += h.touched[j];
			freed += h.freed[j];
			kept += h.kept[j];
		}
		there += touched - freed;
		cli_rows_add_number(rows, h.begin_ns + i * h.interval_ns);
		cli_rows_add_number(rows, touched);
		cli_rows_add_number(rows, freed);
		cli_rows_add_number(rows, there);
		cli_rows_add_number(rows, there);
		cli_rows_add_number(rows, kept);
	}
	fprintf(file, "\n%sOver time, and what was kept of what came then%s\n\n",
		cli_style(file, CLI_BOLD), cli_style(file, CLI_PLAIN));
	cli_rows_print(rows, file, 0, 0);
	cli_rows_destroy(rows);
}

static void print_part(const struct cli_growth *g, const struct part *part, bool calls, FILE *file)
{
	if (!part->n)
		return;
	fprintf(file, "\n%s%s%s\n", cli_style(file, CLI_BOLD),
		calls ? "Who gave memory back" : "Who touched memory first",
		cli_style(file, CLI_PLAIN));
	if (g->by == KL_GROWTH_BY_STACK) {
		print_stacks(g, part, calls, file);
		return;
	}
	putc('\n', file);
	cli_rows_print(part->rows, file, 0, (size_t)g->top);
}

/* -------------------------------------------------------------------- JSON */

static void add_frames(const struct cli_growth *g, json_t *rows)
{
	const struct kl_stacks *stacks = kl_schema_stacks(g->schema);
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_int_t id = json_integer_value(json_object_get(row, "stack"));

		json_object_set_new(row, "frames", cli_json_stack(stacks, (uint64_t)id));
	}
}

static json_t *bytes_json(const uint64_t *bytes, unsigned int n)
{
	json_t *to = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(to, json_integer((json_int_t)bytes[i]));
	return to;
}

json_t *cli_growth_history_json(const struct cli_growth *g)
{
	struct kl_growth_history h;

	kl_growth_history(g->growth, &h);
	return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "begin_ns", (json_int_t)h.begin_ns,
			 "end_ns", (json_int_t)h.end_ns, "interval_ns", (json_int_t)h.interval_ns,
			 "touched", bytes_json(h.touched, h.n), "freed", bytes_json(h.freed, h.n),
			 "kept", bytes_json(h.kept, h.n));
}

static int write_json(const struct cli_growth *g, const struct part *touched,
		      const struct part *freed)
{
	const struct kl_growth_totals *t = kl_growth_totals(g->growth);
	json_t *first = cli_rows_json(touched->rows, (size_t)g->top);
	json_t *second = cli_rows_json(freed->rows, (size_t)g->top);

	if (g->by == KL_GROWTH_BY_STACK) {
		add_frames(g, first);
		add_frames(g, second);
	}
	return cli_json_write(
		json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o}", "by",
			  cli_growth_keys[g->by], "faults", (json_int_t)t->faults, "calls",
			  (json_int_t)t->calls, "touched", (json_int_t)t->touched, "kept",
			  (json_int_t)t->kept, "freed", (json_int_t)t->freed, "again",
			  (json_int_t)t->again, "processes", (json_int_t)t->processes, "gaps",
			  (json_int_t)t->gaps, "sized", t->sized, "history",
			  cli_growth_history_json(g), "rows", first, "freeing", second));
}

int cli_growth_write(const struct cli_growth *g, FILE *file)
{
	struct part touched = {}, freed = {};
	int status = make_part(g, false, &touched);

	if (!status)
		status = make_part(g, true, &freed);
	if (!status && cli_settings.json) {
		status = write_json(g, &touched, &freed);
	} else if (!status) {
		print_summary(g, file);
		print_part(g, &touched, false, file);
		print_part(g, &freed, true, file);
		print_history(g, file);
	}
	free_part(&touched);
	free_part(&freed);
	return status;
}

/* ----------------------------------------------------------------- running */

static int read_trace(struct cli_growth *g, struct kl_trace *trace)
{
	struct kl_buffer missing = {};
	struct kl_item item;
	int error = 0, status = CLI_OK;

	while (!error && kl_trace_next(trace, &item) > 0)
		if (item.kind == KL_ITEM_LOSS || !cli_recording_is_own(&g->recording, item.event))
			error = kl_growth_add(g->growth, &item);
	if (!error)
		error = kl_growth_finish(g->growth);
	if (error)
		return cli_library_error(error, NULL);
	kl_growth_missing(g->growth, &missing);
	if (missing.length && g->input)
		status = cli_error(-ENOENT,
				   "the trace has none of %s; record with kernlens memory -o TRACE",
				   missing.data);
	kl_buffer_deinit(&missing);
	return status;
}

/* A page is for people, and has all rows. */
int cli_growth_write_page(struct cli_growth *g)
{
	const bool walked = g->walks && g->walk.has_last;
	json_t *growth = cli_growth_page_json(g);

	if (!growth)
		return CLI_FAILED;
	g->memory.html = g->html;
	return cli_memory_write_page(&g->memory, walked ? &g->walk : NULL, growth);
}

static int show(struct cli_growth *g)
{
	if (g->html)
		return cli_growth_write_page(g);
	if (g->input && !cli_settings.json)
		cli_start_pager();
	return cli_growth_write(g, g->input ? stdout : stderr);
}

static int print(void *context, const char *path)
{
	struct cli_growth *g = context;
	struct kl_trace *trace = cli_open_trace(path);
	int status;

	if (!trace)
		return CLI_FAILED;
	g->schema = kl_trace_schema(trace);
	g->growth = kl_growth_create(g->schema);
	status = g->growth ? read_trace(g, trace) : cli_library_error(-errno, NULL);
	if (!status)
		status = show(g);
	kl_growth_destroy(g->growth);
	kl_trace_close(trace);
	return status;
}

/*
 * Reads the process while it is recorded. A command has been started before its first read, so
 * that it is not this program.
 */
void cli_growth_walk(void *context)
{
	struct cli_growth *g = context;
	const struct cli_session *session = &g->recording.session;
	struct cli_memory *m = &g->memory;

	if (!session->child.pid && session->select.n_pids != 1)
		return;
	if (!g->walks) {
		const bool is_command = session->child.pid;

		m->device = session->device;
		m->pid = is_command ? session->child.pid : session->select.pid[0];
		if (cli_memory_walk_init(&g->walk, m, g->interval_ns, true))
			g->walk.has_ended = true;
		if (is_command)
			g->walk.next_ns += g->interval_ns;
		g->walks = true;
	}
	if (g->walk.has_ended || cli_now_ns() < g->walk.next_ns)
		return;
	/* Nothing more is read after an error. */
	if (cli_memory_read_comm(m) || cli_memory_walk_step(&g->walk, NULL))
		g->walk.has_ended = true;
}

int cli_growth_select(struct cli_growth *g, const struct cli_command *self)
{
	struct cli_select *select = &g->recording.session.select;
	uint32_t may;
	int status = cli_rights(&may);

	if (status)
		return status;
	cli_select_add(select, self, cli_format(FAULTS_USER));
	/* What the kernel touches for a process is not for everyone. */
	if (may & KL_MAY_SEE_ALL)
		cli_select_add(select, self, cli_format(FAULTS_KERNEL));
	cli_select_add(select, self, cli_format(CALLS));
	cli_select_add(select, self, cli_format(NAMES));
	select->variables = cli_format("rss");
	return CLI_OK;
}

static int record(struct cli_growth *g, const struct cli_command *self)
{
	int status = cli_growth_select(g, self);

	if (status)
		return status;
	if (g->html) {
		g->recording.meanwhile = cli_growth_walk;
		g->recording.context = g;
	}
	return cli_recording_run(&g->recording, print, g);
}

int cli_growth_run(struct cli_growth *g, const struct cli_command *self)
{
	int status = g->watches ? cli_growth_watch(g, self) :
		     g->input	? print(g, g->input) :
				  record(g, self);

	if (g->walks)
		cli_memory_walk_deinit(&g->walk);
	return status;
}
