// SPDX-License-Identifier: GPL-2.0
/*
 * Measure times from one block to another while a command runs, with rules as kernlens stat has,
 * and print them with histograms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "count_times.h"

struct timing {
	struct cli_count_times *of;
	struct cli_session *session;
	struct cli_run run;
	char *from[CLI_TIMES_MAX];
	char *to[CLI_TIMES_MAX];
	struct cli_time time[CLI_TIMES_MAX];
	uint64_t elapsed_ns;
};

/* -------------------------------------------------------------------- measuring */

static char *take_block(const char *text, size_t length)
{
	if (length > 6 && !strncmp(text, "block:", 6)) {
		text += 6;
		length -= 6;
	}
	return cli_format("%.*s", (int)length, text);
}

static void take_time(struct timing *t, unsigned int i)
{
	struct cli_select *select = &t->session->select;
	const char *text = t->of->text[i], *comma = strchr(text, ',');

	if (comma) {
		t->from[i] = take_block(text, (size_t)(comma - text));
		t->to[i] = take_block(comma + 1, strlen(comma + 1));
	}
	if (!comma || !strpbrk(t->from[i], "#+") || !strpbrk(t->to[i], "#+"))
		cli_usage_error(t->session->command,
				"invalid --time \"%s\"; expected two blocks, as in "
				"FUNCTION#NUMBER,FUNCTION#NUMBER",
				text);
	select->spec[select->n_specs++] = cli_time_rules(i, t->from[i], t->to[i]);
}

/* A time whose blocks do not both fire would be wrong. */
static int check_points(const struct cli_session *s)
{
	for (uint32_t i = 0; i < kl_plan_blocks(s->plan).points; i++) {
		const struct kl_plan_block point = kl_plan_block(s->plan, i);
		const struct kl_class *event = kl_schema_class(s->schema, point.event);

		if (point.reason)
			return cli_error(-EINVAL, "%s cannot be instrumented: %s",
					 event ? event->name : "the block", point.reason);
	}
	return CLI_OK;
}

static int read_times(struct timing *t)
{
	const struct cli_session *s = t->session;
	int error = 0;

	for (unsigned int i = 0; i < t->of->n && !error; i++)
		error = cli_time_read(s->plan, s->session, kl_device_info(s->device)->cpus, i,
				      &t->time[i]);
	return error;
}

static int measure(struct timing *t)
{
	int error, status = check_points(t->session);

	if (!status)
		status = cli_run_begin(&t->run);
	if (status)
		return status;
	while (!t->run.over)
		cli_run_wait(&t->run, -1, -1);
	error = cli_session_stop(t->session);
	t->elapsed_ns = cli_run_length(&t->run);
	if (!error)
		error = read_times(t);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* ---------------------------------------------------------------------- results */

static int write_json(const struct timing *t)
{
	json_t *rows = json_array();

	for (unsigned int i = 0; i < t->of->n; i++) {
		json_t *row = json_pack("{s:o, s:o}", "from", cli_json_text(t->from[i]), "to",
					cli_json_text(t->to[i]));

		json_object_update_new(row, cli_time_json(&t->time[i]));
		json_array_append_new(rows, row);
	}
	return cli_json_write(
		json_pack("{s:o, s:f}", "times", rows, "seconds", (double)t->elapsed_ns / 1e9));
}

static void add_time(struct cli_table *table, const struct cli_time *time, uint64_t ns)
{
	char text[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", time->count ? cli_print_time(text, ns) : "-");
}

static void print_sums(const struct timing *t, FILE *file)
{
	struct cli_table *table = cli_table_create("from|to|>count|>mean|>shortest|>longest");
	char count[CLI_NUMBER_MAX];

	for (unsigned int i = 0; i < t->of->n; i++) {
		const struct cli_time *time = &t->time[i];

		cli_table_add(table, "%s", t->from[i]);
		cli_table_add(table, "%s", t->to[i]);
		cli_table_add(table, "%s", cli_print_count(count, time->count));
		add_time(table, time, time->count ? time->sum_ns / time->count : 0);
		add_time(table, time, time->min_ns);
		add_time(table, time, time->max_ns);
	}
	cli_table_print(table, file, 4);
}

static void print_buckets(const struct cli_time *time, FILE *file)
{
	struct cli_table *table = cli_table_create(">from|>count|");
	char text[CLI_NUMBER_MAX];
	uint64_t most = 0;

	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++)
		most = time->bucket[i] > most ? time->bucket[i] : most;
	for (unsigned int i = 0; i < KL_HIST_BUCKETS; i++) {
		if (!time->bucket[i])
			continue;
		cli_table_add(table, "%s", cli_print_time(text, i ? 1ull << (i - 1) : 0));
		cli_table_add(table, "%s", cli_print_count(text, time->bucket[i]));
		cli_table_add_bar(table, time->bucket[i], most);
	}
	cli_table_print(table, file, 4);
}

static void write_text(const struct timing *t, FILE *file)
{
	char number[CLI_NUMBER_MAX];

	fputs("\n Times from block to block:\n\n", file);
	print_sums(t, file);
	for (unsigned int i = 0; i < t->of->n; i++) {
		const struct cli_time *time = &t->time[i];

		if (time->count) {
			fprintf(file, "\n    %s to %s:\n\n", t->from[i], t->to[i]);
			print_buckets(time, file);
		}
		if (time->dropped)
			fprintf(file, "    %s times are not among these\n",
				cli_print_count(number, time->dropped));
	}
	fprintf(file, "\n    %.6f seconds time elapsed\n\n", (double)t->elapsed_ns / 1e9);
}

static int write_result(const struct timing *t)
{
	const char *path = t->session->select.output;
	FILE *file = cli_open_result(path, cli_settings.json);
	int status = CLI_OK;

	if (!file)
		return CLI_FAILED;
	if (cli_settings.json)
		status = write_json(t);
	else
		write_text(t, file);
	return cli_close_result(file, path, status);
}

static int run(struct timing *t)
{
	int status = cli_run_init(&t->run, t->session);

	if (!status)
		status = cli_session_open(t->session, NULL, KL_HANDLER_log);
	if (!status) {
		status = measure(t);
		if (!status)
			cli_run_status(&t->run, CLI_OK);
		if (!status && !cli_child_failed(&t->session->child))
			status = write_result(t);
		if (t->run.began_ns)
			status = cli_run_status(&t->run, status);
		cli_session_close(t->session);
	}
	cli_run_deinit(&t->run);
	return status;
}

int cli_count_times(struct cli_count_times *of)
{
	struct timing *t = cli_alloc(sizeof(*t));
	struct cli_select *select = &of->session.select;
	int status;

	t->of = of;
	t->session = &of->session;
	/* Nothing is written to the buffers. */
	select->buffer_bytes = 1;
	for (unsigned int i = 0; i < of->n; i++)
		take_time(t, i);
	status = run(t);
	for (unsigned int i = 0; i < select->n_specs; i++)
		free((char *)select->spec[i]);
	for (unsigned int i = 0; i < of->n; i++) {
		free(t->from[i]);
		free(t->to[i]);
	}
	free(t);
	return status;
}
