// SPDX-License-Identifier: GPL-2.0
/* Prints what hosts and the server say, as tables or JSON. None of their texts is trusted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "fleet_print.h"

uint64_t cli_fleet_time(const json_t *row)
{
	return cli_json_get_number(json_object_get(row, "about"), "frozen_ns");
}

static const char *clean(const char *text)
{
	return cli_clean_text(text, strlen(text));
}

int cli_fleet_compare_times(const void *a, const void *b)
{
	const json_t *const *first = a, *const *second = b;
	uint64_t one = cli_fleet_time(*first), other = cli_fleet_time(*second);

	return one < other ? -1 : one > other;
}

json_t *cli_fleet_sort(json_t *rows, int (*compare)(const void *, const void *))
{
	size_t n = json_array_size(rows);
	json_t **all = cli_alloc((n + 1) * sizeof(json_t *)), *sorted = json_array();

	for (size_t i = 0; i < n; i++)
		all[i] = json_array_get(rows, i);
	qsort(all, n, sizeof(json_t *), compare);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, all[i]);
	free(all);
	json_decref(rows);
	return sorted;
}

const char *cli_fleet_clock(char text[CLI_FLEET_CLOCK_MAX], const json_t *about)
{
	const json_t *clock = json_object_get(about, "clock");
	char error[CLI_NUMBER_MAX];

	if (!json_is_object(clock))
		return "unknown";
	if (!json_is_true(json_object_get(clock, "synchronized")))
		return "not synchronized";
	snprintf(text, CLI_FLEET_CLOCK_MAX, "within %s",
		 cli_print_time(error, cli_json_get_number(clock, "max_error_ns")));
	return text;
}

static void add_capture(struct cli_table *table, const json_t *row)
{
	const json_t *about = json_object_get(row, "about");
	char time[CLI_NUMBER_MAX], bytes[CLI_NUMBER_MAX], number[CLI_NUMBER_MAX],
		clock[CLI_FLEET_CLOCK_MAX];
	uint64_t lost = cli_json_get_number(about, "lost") + cli_json_get_number(about, "unstored");

	cli_table_add(table, "%s", cli_print_wall(time, cli_json_get_number(about, "frozen_ns")));
	cli_table_add(table, "%s", clean(cli_json_get_text(row, "host")));
	cli_table_add(table, "%s", clean(cli_json_get_text(row, "capture")));
	cli_table_add(table, "%s", cli_print_bytes(bytes, cli_json_get_number(row, "bytes")));
	cli_table_add(table, "%s", cli_print_count(number, cli_json_get_number(about, "records")));
	cli_table_add(table, "%s", cli_print_count(number, lost));
	cli_table_add(table, "%s",
		      !json_is_true(json_object_get(row, "whole"))	  ? "arriving" :
		      json_is_true(json_object_get(about, "interrupted")) ? "cut short" :
									    "whole");
	cli_table_add(table, "%s", cli_fleet_clock(clock, about));
	cli_table_add(table, "%s", clean(cli_json_get_text(about, "reason")));
}

int cli_fleet_print_captures(json_t *rows)
{
	struct cli_table *table;

	if (cli_settings.json)
		return cli_json_write(json_pack("{s:O}", "captures", rows));
	table = cli_table_create("TIME|HOST|CAPTURE|>SIZE|>RECORDS|>LOST|STATE|CLOCK|REASON");
	for (size_t i = 0; i < json_array_size(rows); i++)
		add_capture(table, json_array_get(rows, i));
	cli_table_print(table, stdout, 0);
	return cli_finish_output();
}

int cli_fleet_print_status(json_t *rows)
{
	char bytes[3][CLI_NUMBER_MAX], number[CLI_NUMBER_MAX];
	struct cli_table *table;

	if (cli_settings.json)
		return cli_json_write(json_pack("{s:O}", "hosts", rows));
	table = cli_table_create(
		"HOST|>TAKEN|>SENT|>WAITING|>REFUSED|>FAILED|>SPOOL|>LOST|TROUBLE");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *trouble = cli_json_get_text(row, "error");

		cli_table_add(table, "%s", clean(cli_json_get_text(row, "host")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "captures")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "sent")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "waiting")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "refused")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "failed")));
		cli_table_add(table, "%s of %s",
			      cli_print_bytes(bytes[0], cli_json_get_number(row, "spool")),
			      cli_print_bytes(bytes[1], cli_json_get_number(row, "spool_max")));
		cli_table_add(table, "%s",
			      cli_print_count(number, cli_json_get_number(row, "lost")));
		cli_table_add(table, "%s",
			      clean(*trouble ? trouble : cli_json_get_text(row, "why")));
	}
	cli_table_print(table, stdout, 0);
	return cli_finish_output();
}

/* Time between the first and the last host that froze, by their own clocks. */
static uint64_t spread_of(const json_t *rows, size_t *frozen, uint64_t *first)
{
	uint64_t last = 0;

	*frozen = 0;
	*first = 0;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t at = cli_json_get_number(row, "frozen_ns");

		if (!at)
			continue;
		if (!*frozen || at < *first)
			*first = at;
		if (at > last)
			last = at;
		(*frozen)++;
	}
	return *frozen ? last - *first : 0;
}

int cli_fleet_print_freeze(json_t *rows, const char *capture)
{
	char time[CLI_NUMBER_MAX];
	struct cli_table *table;
	uint64_t first, spread;
	size_t frozen;

	spread = spread_of(rows, &frozen, &first);
	if (cli_settings.json) {
		cli_json_write(json_pack("{s:s, s:I, s:I, s:O}", "capture", capture, "frozen",
					 (json_int_t)frozen, "spread_ns", (json_int_t)spread,
					 "hosts", rows));
		return frozen ? CLI_OK : CLI_FAILED;
	}
	table = cli_table_create("HOST|>AFTER|ANSWER");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t at = cli_json_get_number(row, "frozen_ns");

		cli_table_add(table, "%s", clean(cli_json_get_text(row, "host")));
		cli_table_add(table, "%s", at ? cli_print_time(time, at - first) : "-");
		cli_table_add(table, "%s",
			      at ? "frozen" : clean(cli_json_get_text(row, "refused")));
	}
	cli_table_print(table, stdout, 0);
	printf("capture %s: %zu of %zu hosts, within %s by their clocks\n", capture, frozen,
	       json_array_size(rows), cli_print_time(time, spread));
	if (!frozen)
		cli_error(0, json_array_size(rows) ? "no host has frozen" : "no host has answered");
	return frozen ? cli_finish_output() : CLI_FAILED;
}
