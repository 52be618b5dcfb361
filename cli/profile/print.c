// SPDX-License-Identifier: GPL-2.0
/* Prints a profile as a table, as a tree of calls, or beside an earlier one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "compare.h"
#include "print.h"

/* Names of keys in --by and in JSON, and the heads of their columns. */
static const struct {
	const char *name;
	const char *head;
} keys[KL_PROFILE_KEY_COUNT] = {
	[KL_PROFILE_FUNCTION] = { "function", "function" },
	[KL_PROFILE_OBJECT] = { "object", "object" },
	[KL_PROFILE_LINE] = { "line", "source line" },
	[KL_PROFILE_PROCESS] = { "process", ">pid|process" },
	[KL_PROFILE_THREAD] = { "thread", ">tid|thread" },
	[KL_PROFILE_CPU] = { "cpu", ">CPU" },
	[KL_PROFILE_CGROUP] = { "cgroup", "cgroup" },
};

void cli_profile_take_keys(struct cli_profile *report, const struct cli_command *command,
			   const char *list)
{
	char *rest = strdupa(list), *word;
	unsigned int frames = 0, k;

	report->n_keys = 0;
	while ((word = strsep(&rest, ","))) {
		for (k = 0; k < KL_PROFILE_KEY_COUNT && strcmp(word, keys[k].name); k++)
			;
		if (k == KL_PROFILE_KEY_COUNT)
			cli_usage_error(command,
					"invalid --by \"%s\"; expected function, object, "
					"line, process, thread, cpu or cgroup",
					word);
		for (unsigned int i = 0; i < report->n_keys; i++)
			if (report->key[i] == k)
				cli_usage_error(command, "--by: %s is given twice", word);
		if (report->n_keys == KL_PROFILE_KEYS_MAX)
			cli_usage_error(command, "--by: too many keys (maximum %d)",
					KL_PROFILE_KEYS_MAX);
		frames += kl_profile_key_is_frame(k);
		report->key[report->n_keys++] = k;
	}
	if (frames > 1)
		cli_usage_error(command, "--by: only one of function, object and line");
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* ------------------------------------------------------------------- summary */

static void summarize_time(const struct kl_profile_counts *counts, struct kl_buffer *to)
{
	char on[CLI_NUMBER_MAX], off[CLI_NUMBER_MAX];

	kl_buffer_printf(to, "%s on the CPU, %s off it, by ticks at %u Hz and switches of tasks",
			 cli_print_time(on, counts->samples - counts->waits),
			 cli_print_time(off, counts->waits), counts->hz);
}

static void summarize_samples(const struct cli_profile *report, struct kl_buffer *to)
{
	const struct kl_profile_counts *counts = kl_profile_counts(report->profile);
	double time = counts->hz ? (double)counts->samples / counts->hz : 0;
	char number[CLI_NUMBER_MAX];

	kl_buffer_printf(to, "%s sample%s", cli_print_count(number, counts->samples),
			 counts->samples == 1 ? "" : "s");
	if (counts->hz)
		kl_buffer_printf(to, " at %u Hz", counts->hz);
	if (counts->hz && report->seconds)
		kl_buffer_printf(to, ", %.2f CPUs busy", time / report->seconds);
	else if (counts->hz)
		kl_buffer_printf(to, ", %.3g s of CPU time", time);
}

/* A number of samples, or a time. */
static const char *print_amount(char text[CLI_NUMBER_MAX], const struct cli_profile *report,
				uint64_t amount)
{
	return report->off_cpu ? cli_print_ns(text, amount) : cli_print_count(text, amount);
}

void cli_profile_summarize(const struct cli_profile *report, struct kl_buffer *to)
{
	const struct kl_profile_counts *counts = kl_profile_counts(report->profile);
	char number[CLI_NUMBER_MAX];

	if (report->seconds)
		kl_buffer_printf(to, "last %.3g s: ", report->seconds);
	if (report->off_cpu)
		summarize_time(counts, to);
	else
		summarize_samples(report, to);
	if (counts->modes)
		kl_buffer_printf(to, ", %.1f%% in the kernel",
				 percent(counts->kernel, counts->modes));
	if (counts->idle)
		kl_buffer_printf(to, "; %s idle", print_amount(number, report, counts->idle));
}

static void print_summary(const struct cli_profile *report, FILE *file)
{
	const struct kl_profile_counts *counts = kl_profile_counts(report->profile);
	const char *unit = report->off_cpu ? "" : " samples";
	struct kl_buffer summary = { 0 };
	char number[CLI_NUMBER_MAX];

	cli_profile_summarize(report, &summary);
	fprintf(file, "%s\n", summary.data ? summary.data : "");
	kl_buffer_deinit(&summary);
	if (report->lost)
		fprintf(file, "%s%s samples are missing%s\n", cli_style(file, CLI_RED),
			cli_print_count(number, report->lost), cli_style(file, CLI_PLAIN));
	if (report->late)
		fprintf(file, "up to %s samples are missing: ticks were late\n",
			cli_print_count(number, report->late));
	if (counts->no_stack)
		fprintf(file, "%s%s without a stack trace\n",
			print_amount(number, report, counts->no_stack), unit);
	if (counts->uncertain)
		fprintf(file, "%s%s with uncertain frames\n",
			print_amount(number, report, counts->uncertain), unit);
	fputc('\n', file);
}

/* ---------------------------------------------------------------------- rows */

static struct cli_table *create_table(const struct cli_profile *report, const char *heads)
{
	struct kl_buffer all = { 0 };
	struct cli_table *table;

	kl_buffer_printf(&all, "%s", heads);
	for (unsigned int i = 0; i < report->n_keys; i++)
		kl_buffer_printf(&all, "|%s%s", keys[report->key[i]].head,
				 report->key[i] == KL_PROFILE_FUNCTION ? "|object" : "");
	kl_buffer_add_char(&all, 0);
	table = cli_table_create(all.error ? heads : all.data);
	kl_buffer_deinit(&all);
	return table;
}

static void add_keys(struct cli_table *table, const struct cli_profile *report,
		     const struct kl_profile_row *row)
{
	for (unsigned int i = 0; i < report->n_keys; i++) {
		if (report->key[i] == KL_PROFILE_PROCESS)
			cli_table_add(table, "%d", row->pid);
		else if (report->key[i] == KL_PROFILE_THREAD)
			cli_table_add(table, "%d", row->tid);
		cli_table_add(table, "%s", row->key[i]);
		if (report->key[i] == KL_PROFILE_FUNCTION)
			cli_table_add(table, "%s", row->function.object);
	}
}

static size_t limit(const struct cli_profile *report, size_t n)
{
	return report->top && n > report->top ? report->top : n;
}

static void print_rest(const struct cli_profile *report, size_t n, FILE *file)
{
	if (limit(report, n) < n)
		fprintf(file, "... and %zu more (--top 0 shows all)\n", n - limit(report, n));
}

static int print_rows(const struct cli_profile *report, FILE *file)
{
	uint64_t samples = kl_profile_counts(report->profile)->samples;
	bool frames = kl_profile_has_frames(report->key, report->n_keys);
	char number[CLI_NUMBER_MAX];
	struct cli_table *table;
	size_t n;
	struct kl_profile_row *rows =
		kl_profile_rows(report->profile, report->key, report->n_keys, &n);

	if (!rows)
		return errno ? cli_library_error(-errno, NULL) : CLI_OK;
	table = create_table(report, frames	     ? report->off_cpu ? ">self|>total|>time" :
									 ">self|>total|>samples" :
				     report->off_cpu ? ">share|>time" :
						       ">share|>samples");
	for (size_t i = 0; i < limit(report, n); i++) {
		cli_table_add(table, "%.2f%%", percent(rows[i].self, samples));
		if (frames)
			cli_table_add(table, "%.2f%%", percent(rows[i].total, samples));
		cli_table_add(table, "%s", print_amount(number, report, rows[i].self));
		add_keys(table, report, &rows[i]);
	}
	cli_table_print(table, file, 0);
	print_rest(report, n, file);
	free(rows);
	return CLI_OK;
}

/* --------------------------------------------------------------- differences */

static int print_changes(const struct cli_profile *report, FILE *file)
{
	struct cli_profile_changes changes;
	int error = cli_profile_compare(report, &changes);
	struct cli_table *table;

	if (error)
		return cli_library_error(error, NULL);
	table = create_table(report, ">old|>new|>change");
	for (size_t i = 0; i < limit(report, changes.n); i++) {
		const struct cli_profile_change *change = &changes.change[i];

		cli_table_add(table, "%.2f%%", change->old_percent);
		cli_table_add(table, "%.2f%%", change->new_percent);
		cli_table_add(table, "%+.2f%%", change->new_percent - change->old_percent);
		add_keys(table, report, change->row);
	}
	cli_table_print(table, file, 0);
	print_rest(report, changes.n, file);
	cli_profile_changes_deinit(&changes);
	return CLI_OK;
}

/* --------------------------------------------------------------------- trees */

/*
 * Children are indented only where calls branch: most frames of a deep stack have one callee, and
 * would push the others off the screen.
 */
static void print_node(const struct cli_profile *report, const struct kl_profile_node *node,
		       unsigned int indent, FILE *file)
{
	uint64_t samples = kl_profile_counts(report->profile)->samples;
	bool branches = node->n > 1 || (node->n && node->self);
	double rest = 0;

	fprintf(file, "%6.2f%% %6.2f%%  %*s%s", percent(node->total, samples),
		percent(node->self, samples), (int)indent, "", node->function->name);
	if (strcmp(node->function->object, "kernel") && *node->function->name != '[')
		fprintf(file, "  %s(%s)%s", cli_style(file, CLI_DIM), node->function->object,
			cli_style(file, CLI_PLAIN));
	fputc('\n', file);
	for (size_t i = 0; i < node->n; i++) {
		double share = percent(node->child[i]->total, samples);

		if (share >= report->least)
			print_node(report, node->child[i], indent + 2 * branches, file);
		else
			rest += share;
	}
	if (rest >= report->least)
		fprintf(file, "%6.2f%%          %*s%s(others)%s\n", rest,
			(int)(indent + 2 * branches), "", cli_style(file, CLI_DIM),
			cli_style(file, CLI_PLAIN));
}

static int print_tree(const struct cli_profile *report, FILE *file)
{
	uint64_t samples = kl_profile_counts(report->profile)->samples;
	struct kl_profile_node *root;
	double rest = 0;

	root = kl_profile_tree(report->profile, report->direction, report->function);
	if (!root)
		return cli_library_error(-errno, NULL);
	if (!report->seconds)
		print_summary(report, file);
	fprintf(file, "%s  total    self  %s%s\n", cli_style(file, CLI_BOLD),
		report->direction == KL_PROFILE_CALLERS ? "function, and what calls it" :
							  "function, and what it calls",
		cli_style(file, CLI_PLAIN));
	for (size_t i = 0; i < root->n; i++) {
		double share = percent(root->child[i]->total, samples);

		if (share >= report->least)
			print_node(report, root->child[i], 0, file);
		else
			rest += share;
	}
	if (rest >= report->least)
		fprintf(file, "%6.2f%%          (others)\n", rest);
	kl_profile_tree_destroy(root);
	return CLI_OK;
}

int cli_profile_print(const struct cli_profile *report, FILE *file)
{
	if (report->tree && !report->old)
		return print_tree(report, file);
	print_summary(report, file);
	return report->old ? print_changes(report, file) : print_rows(report, file);
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_keys(const struct cli_profile *report, const struct kl_profile_row *row)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < report->n_keys; i++) {
		json_object_set_new(object, keys[report->key[i]].name, cli_json_text(row->key[i]));
		if (report->key[i] == KL_PROFILE_PROCESS || report->key[i] == KL_PROFILE_THREAD)
			json_object_set_new(object, "pid", json_integer(row->pid));
		if (report->key[i] == KL_PROFILE_THREAD)
			json_object_set_new(object, "tid", json_integer(row->tid));
		if (report->key[i] == KL_PROFILE_FUNCTION)
			json_object_set_new(object, "object", cli_json_text(row->function.object));
	}
	return object;
}

static int json_rows(const struct cli_profile *report, json_t *array)
{
	size_t n;
	struct kl_profile_row *rows =
		kl_profile_rows(report->profile, report->key, report->n_keys, &n);

	if (!rows && errno)
		return -errno;
	for (size_t i = 0; rows && i < limit(report, n); i++) {
		json_t *object = json_keys(report, &rows[i]);

		json_object_set_new(object, "self", json_integer((json_int_t)rows[i].self));
		json_object_set_new(object, "total", json_integer((json_int_t)rows[i].total));
		json_array_append_new(array, object);
	}
	free(rows);
	return 0;
}

static int json_changes(const struct cli_profile *report, json_t *array)
{
	struct cli_profile_changes changes;
	int error = cli_profile_compare(report, &changes);

	for (size_t i = 0; !error && i < limit(report, changes.n); i++) {
		json_t *object = json_keys(report, changes.change[i].row);

		json_object_set_new(object, "old_percent",
				    json_real(changes.change[i].old_percent));
		json_object_set_new(object, "new_percent",
				    json_real(changes.change[i].new_percent));
		json_array_append_new(array, object);
	}
	cli_profile_changes_deinit(&changes);
	return error;
}

static json_t *json_node(const struct kl_profile_node *node)
{
	json_t *object = json_object();
	json_t *children = json_array();

	if (node->function) {
		json_object_set_new(object, "function", cli_json_text(node->function->name));
		json_object_set_new(object, "object", cli_json_text(node->function->object));
	}
	json_object_set_new(object, "self", json_integer((json_int_t)node->self));
	json_object_set_new(object, "total", json_integer((json_int_t)node->total));
	for (size_t i = 0; i < node->n; i++)
		json_array_append_new(children, json_node(node->child[i]));
	json_object_set_new(object, "children", children);
	return object;
}

int cli_profile_write_json(const struct cli_profile *report)
{
	const struct kl_profile_counts *counts = kl_profile_counts(report->profile);
	json_t *document =
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:I}", "samples",
			  (json_int_t)counts->samples, "idle", (json_int_t)counts->idle, "kernel",
			  (json_int_t)counts->kernel, "no_stack", (json_int_t)counts->no_stack,
			  "uncertain", (json_int_t)counts->uncertain, "lost",
			  (json_int_t)report->lost, "late", (json_int_t)report->late, "hz",
			  (int)counts->hz, "first_ns", (json_int_t)counts->first_ns, "last_ns",
			  (json_int_t)counts->last_ns);
	json_t *array = json_array();
	struct kl_profile_node *root;
	int error = 0;

	if (report->off_cpu)
		json_object_set_new(document, "waits", json_integer((json_int_t)counts->waits));
	json_object_set_new(document, "unit", json_string(report->off_cpu ? "ns" : "samples"));
	if (!counts->modes)
		json_object_set_new(document, "kernel", json_null());
	if (report->seconds) {
		json_object_set_new(document, "seconds", json_real(report->seconds));
		json_object_set_new(document, "restarts", json_integer(report->restarts));
	}

	if (report->tree && !report->old) {
		root = kl_profile_tree(report->profile, report->direction, report->function);
		error = root ? 0 : -errno;
		if (root)
			json_object_set_new(document, "tree", json_node(root));
		kl_profile_tree_destroy(root);
		json_decref(array);
	} else {
		error = report->old ? json_changes(report, array) : json_rows(report, array);
		json_object_set_new(document, "rows", array);
	}
	if (!error)
		return cli_json_write(document);
	json_decref(document);
	return cli_library_error(error, NULL);
}
