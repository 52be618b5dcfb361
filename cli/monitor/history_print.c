// SPDX-License-Identifier: GPL-2.0
/* Print summaries of a history as tables, CSV and JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/cli.h"
#include "../base/output.h"
#include "history.h"

char *cli_history_time(char text[CLI_HISTORY_TIME_MAX], int64_t time)
{
	time_t at = (time_t)time;
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(text, CLI_HISTORY_TIME_MAX, tm.tm_sec ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M",
		 &tm);
	return text;
}

void cli_history_number(struct kl_buffer *buffer, const struct kl_history_figure *figure,
			double number)
{
	const char *second = figure->grows ? "/s" : "";
	char text[CLI_NUMBER_MAX];

	/* Nanoseconds per second are a share of a CPU. */
	if (!strcmp(figure->unit, "ns") && figure->grows)
		kl_buffer_printf(buffer, "%.1f%%", number / 1e7);
	else if (!strcmp(figure->unit, "B"))
		kl_buffer_printf(buffer, "%s%s", cli_print_bytes(text, (uint64_t)number), second);
	else if (!strcmp(figure->unit, "KiB"))
		kl_buffer_printf(buffer, "%s%s", cli_print_bytes(text, (uint64_t)(number * 1024)),
				 second);
	else
		kl_buffer_printf(buffer, "%.2f%s", number, second);
}

static const char *user_name(uint32_t uid, char text[16])
{
	const char *name = cli_user_name(uid);

	if (name)
		return name;
	snprintf(text, 16, "%u", uid);
	return text;
}

/* Do both rows have the same time and group? */
static bool goes_on(const struct kl_history_row *a, const struct kl_history_row *b)
{
	return a->begin == b->begin &&
	       (!a->comm || (a->uid == b->uid && !strcmp(a->comm, b->comm)));
}

static void add_cell(struct cli_table *table, const struct kl_history_figure *figure, double number)
{
	struct kl_buffer cell = { 0 };

	cli_history_number(&cell, figure, number);
	cli_table_add(table, "%s", cell.data);
	kl_buffer_deinit(&cell);
}

static void add_heads(struct cli_table *table, const struct kl_history_row *row)
{
	char time[CLI_HISTORY_TIME_MAX], uid[16];

	cli_table_add(table, "%s", cli_history_time(time, row->begin));
	if (!row->comm)
		return;
	cli_table_add(table, "%s", row->comm);
	cli_table_add(table, "%s", user_name(row->uid, uid));
}

/* One line per time, with the means. */
static void print_wide(const struct cli_history *h)
{
	struct kl_buffer heads = { 0 };
	struct cli_table *table;
	size_t next;

	kl_buffer_add_string(&heads, h->query.comm ? "time|comm|user" : "time");
	for (size_t i = 0; i < h->n_figures; i++)
		kl_buffer_printf(&heads, "|>%s", kl_history_figure(h->figures[i])->name);
	kl_buffer_add_char(&heads, 0);
	table = cli_table_create(heads.data);
	for (size_t row = 0; row < h->n; row = next) {
		for (next = row; next < h->n && goes_on(&h->rows[row], &h->rows[next]);)
			next++;
		add_heads(table, &h->rows[row]);
		for (size_t i = 0; i < h->n_figures; i++) {
			size_t at = row;

			while (at < next && h->rows[at].figure != h->figures[i])
				at++;
			if (at < next)
				add_cell(table, kl_history_figure(h->figures[i]), h->rows[at].mean);
			else
				cli_table_add(table, "-");
		}
	}
	cli_table_print(table, stdout, 0);
	kl_buffer_deinit(&heads);
}

static void print_full(const struct cli_history *h)
{
	struct cli_table *table = cli_table_create(
		h->query.comm ? "time|comm|user|figure|>min|>mean|>max|>sum|>seconds" :
				"time|figure|>min|>mean|>max|>sum|>seconds");

	for (size_t i = 0; i < h->n; i++) {
		const struct kl_history_row *row = &h->rows[i];
		const struct kl_history_figure *figure = kl_history_figure(row->figure);

		add_heads(table, row);
		cli_table_add(table, "%s", figure->name);
		add_cell(table, figure, row->min);
		add_cell(table, figure, row->mean);
		add_cell(table, figure, row->max);
		if (figure->grows)
			cli_table_add(table, "%.0f", row->sum);
		else
			cli_table_add(table, "-");
		cli_table_add(table, "%.1f", row->seconds);
	}
	cli_table_print(table, stdout, 0);
}

static void print_csv(const struct cli_history *h)
{
	struct kl_buffer line = { 0 };

	kl_buffer_add_string(&line, "begin,comm,uid,figure,samples,seconds,min,mean,max,sum\n");
	for (size_t i = 0; i < h->n; i++) {
		const struct kl_history_row *row = &h->rows[i];

		kl_buffer_printf(&line, "%lld,", (long long)row->begin);
		if (row->comm) {
			cli_print_csv_text(&line, row->comm, strlen(row->comm));
			kl_buffer_printf(&line, ",%u,", row->uid);
		} else {
			kl_buffer_add_string(&line, ",,");
		}
		kl_buffer_printf(&line, "%s,%llu,%.3f,%.15g,%.15g,%.15g,",
				 kl_history_figure(row->figure)->name,
				 (unsigned long long)row->samples, row->seconds, row->min,
				 row->mean, row->max);
		if (kl_history_figure(row->figure)->grows)
			kl_buffer_printf(&line, "%.15g", row->sum);
		kl_buffer_add_char(&line, '\n');
	}
	cli_write_buffer(&line, stdout);
	kl_buffer_deinit(&line);
}

static int print_json(const struct cli_history *h)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < h->n; i++) {
		const struct kl_history_row *row = &h->rows[i];
		json_t *object = json_pack("{s:I, s:s, s:I, s:f, s:f, s:f, s:f}", "begin",
					   (json_int_t)row->begin, "figure",
					   kl_history_figure(row->figure)->name, "samples",
					   (json_int_t)row->samples, "seconds", row->seconds, "min",
					   row->min, "mean", row->mean, "max", row->max);

		if (kl_history_figure(row->figure)->grows)
			json_object_set_new(object, "sum", json_real(row->sum));
		if (row->comm) {
			json_object_set_new(object, "comm", cli_json_text(row->comm));
			json_object_set_new(object, "uid", json_integer(row->uid));
		}
		json_array_append_new(rows, object);
	}
	return cli_json_write(json_pack("{s:o}", "summaries", rows));
}

int cli_history_print(const struct cli_history *h)
{
	switch (h->style) {
	case CLI_HISTORY_CSV:
		print_csv(h);
		return CLI_OK;
	case CLI_HISTORY_JSON:
		return print_json(h);
	default:
		if (!h->n)
			cli_note("no summaries in this period");
		else if (h->full)
			print_full(h);
		else
			print_wide(h);
		return CLI_OK;
	}
}
