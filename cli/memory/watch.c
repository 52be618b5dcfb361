// SPDX-License-Identifier: GPL-2.0
/* Print at an interval how the memory of a process changes, by mapping. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "memory.h"

static const struct cli_column columns[] = {
	{ "address", "start", CLI_CELL_TEXT },
	{ "in RAM", "rss", CLI_CELL_MEMORY },
	{ "arrived", "arrived", CLI_CELL_MEMORY },
	{ "gone", "gone", CLI_CELL_MEMORY },
	{ "swapped out", "swapped_out", CLI_CELL_MEMORY },
	{ "swapped in", "swapped_in", CLI_CELL_MEMORY },
	{ "written", "written", CLI_CELL_MEMORY },
	{ "name", "name", CLI_CELL_TEXT },
};

/**
 * struct row - a mapping that has changed
 * @mapping: of one of the two reads
 */
struct row {
	uint64_t start;
	uint64_t rss;
	struct kl_memory_change change;
	const struct kl_memory_mapping *mapping;
};

static uint64_t weight(const struct kl_memory_change *c)
{
	return c->arrived + c->gone + c->swapped_out + c->swapped_in + c->written;
}

static int by_weight(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (weight(&x->change) != weight(&y->change))
		return weight(&x->change) < weight(&y->change) ? 1 : -1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t add_row(struct row *row, size_t n, const struct kl_memory *before,
		      const struct kl_memory *now, const struct kl_memory_mapping *mapping,
		      uint64_t start, uint64_t end)
{
	row[n].start = start;
	row[n].mapping = mapping;
	kl_memory_compare(before, now, start, end, &row[n].change);
	return weight(&row[n].change) ? n + 1 : n;
}

/* Address ranges that are mapped now; then those that no longer are, under their old names. */
static size_t find_changes(const struct kl_memory *before, const struct kl_memory *now,
			   struct row *row)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct kl_abi_detail_map *map = &now->mapping[i].entry->map;

		row[n].rss = now->mapping[i].sums.rss;
		n = add_row(row, n, before, now, &now->mapping[i], map->start, map->end);
	}
	for (size_t i = 0; i < before->n; i++) {
		const struct kl_abi_detail_map *map = &before->mapping[i].entry->map;
		uint64_t start = map->start;

		while (at < now->n && now->mapping[at].entry->map.end <= start)
			at++;
		for (size_t j = at; start < map->end; j++) {
			const struct kl_abi_detail_map *next =
				j < now->n ? &now->mapping[j].entry->map : NULL;
			uint64_t end = next && next->start < map->end ? next->start : map->end;

			row[n].rss = 0;
			if (end > start)
				n = add_row(row, n, before, now, &before->mapping[i], start, end);
			start = next && next->end > end ? next->end : map->end;
		}
	}
	return n;
}

static void add_change(struct cli_rows *rows, const struct row *row)
{
	char address[24];

	snprintf(address, sizeof(address), "%llx", (unsigned long long)row->start);
	cli_rows_add_text(rows, address);
	cli_rows_add_number(rows, row->rss);
	cli_rows_add_number(rows, row->change.arrived);
	cli_rows_add_number(rows, row->change.gone);
	cli_rows_add_number(rows, row->change.swapped_out);
	cli_rows_add_number(rows, row->change.swapped_in);
	cli_rows_add_number(rows, row->change.written);
	cli_rows_add_text(rows, cli_memory_name(row->mapping));
}

static void print_text(const struct cli_memory *m, const struct kl_memory *now,
		       const struct cli_rows *rows)
{
	cli_clear_screen();
	cli_memory_print_head(m, now);
	if (cli_rows_count(rows))
		cli_rows_print(rows, stdout, 0, m->top);
	else
		puts("  no change");
	putchar('\n');
}

static int write_json(const struct cli_memory *m, const struct kl_memory *now,
		      const struct cli_rows *rows)
{
	return cli_json_write(
		json_pack("{s:i, s:o, s:I, s:I, s:I, s:I, s:o}", "pid", m->pid, "comm",
			  cli_json_text(m->comm), "time_ns", (json_int_t)now->time_ns, "rss",
			  (json_int_t)now->total.rss, "pss", (json_int_t)now->total.pss, "swap",
			  (json_int_t)now->total.swap, "changes", cli_rows_json(rows, m->top)));
}

static int show(const struct cli_memory *m, const struct kl_memory *before,
		const struct kl_memory *now)
{
	/* Between two mappings that remain, at most one is gone, and one at each end. */
	struct row *row = cli_alloc((now->n * 2 + before->n + 2) * sizeof(*row));
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	size_t n = find_changes(before, now, row);
	int status = CLI_OK;

	qsort(row, n, sizeof(*row), by_weight);
	for (size_t i = 0; i < n; i++)
		add_change(rows, &row[i]);
	if (cli_settings.json)
		status = write_json(m, now, rows);
	else
		print_text(m, now, rows);
	fflush(stdout);
	cli_rows_destroy(rows);
	free(row);
	return status;
}

int cli_memory_watch(struct cli_memory *m, uint64_t interval_ns)
{
	struct cli_memory_walk walk;
	int status = cli_memory_walk_init(&walk, m, interval_ns, m->html);
	const uint64_t end = m->duration_ns ? cli_now_ns() + m->duration_ns : UINT64_MAX;

	if (!status)
		status = cli_memory_walk_step(&walk, show);
	while (!status && !walk.has_ended && walk.next_ns <= end && cli_wait_until(walk.next_ns))
		status = cli_memory_walk_step(&walk, show);
	if (walk.has_ended && !cli_settings.json)
		cli_note("process %d has ended", m->pid);
	if (!status && m->html)
		status = cli_memory_write_page(m, &walk, NULL);
	cli_memory_walk_deinit(&walk);
	return status;
}
