// SPDX-License-Identifier: GPL-2.0
/*
 * Print the pages of a process, as runs of pages in the same state; with their frame numbers for
 * those who may know them, and how contiguous they are; and the processes that share pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "memory.h"

/* Only the kernel's own order and names of states: docs/man/kernlens-memory.1 explains them. */
static const struct state {
	uint32_t flag;
	const char *name;
} states[] = {
	{ KL_PAGE_SWAPPED, "swapped" },
	{ KL_PAGE_MIGRATING, "migrating" },
	{ KL_PAGE_ZERO, "zero" },
	{ KL_PAGE_ANON, "anon" },
	{ KL_PAGE_SWAPBACKED, "swapbacked" },
	{ KL_PAGE_HUGETLB, "hugetlb" },
	{ KL_PAGE_WRITABLE, "writable" },
	{ KL_PAGE_WRITTEN, "written" },
	{ KL_PAGE_ACCESSED, "accessed" },
	{ KL_PAGE_SOFT_DIRTY, "soft_dirty" },
	{ KL_PAGE_DIRTY, "dirty" },
	{ KL_PAGE_REFERENCED, "referenced" },
	{ KL_PAGE_UPTODATE, "uptodate" },
	{ KL_PAGE_LRU, "lru" },
	{ KL_PAGE_ACTIVE, "active" },
	{ KL_PAGE_WRITEBACK, "writeback" },
	{ KL_PAGE_RECLAIM, "reclaim" },
	{ KL_PAGE_UNEVICTABLE, "unevictable" },
	{ KL_PAGE_MLOCKED, "mlocked" },
	{ KL_PAGE_SWAPCACHE, "swapcache" },
	{ KL_PAGE_KSM, "ksm" },
	{ KL_PAGE_HWPOISON, "hwpoison" },
};

json_t *cli_memory_states_json(void)
{
	json_t *to = json_object();

	for (size_t i = 0; i < CLI_COUNT(states); i++)
		json_object_set_new(to, states[i].name, json_integer(states[i].flag));
	return to;
}

/* Frame numbers are read if the caller may know them. */
int cli_memory_what(const struct cli_memory *m, uint32_t *what)
{
	uint32_t may;
	int error = cli_rights(&may);

	if (error)
		return error;
	*what = may & KL_MAY_SEE_ADDRESSES ? KL_DETAIL_FRAMES : KL_DETAIL_PAGES;
	if (*what == KL_DETAIL_PAGES && m->physical)
		return cli_error(-EPERM, "physical addresses require CAP_SYS_ADMIN");
	return CLI_OK;
}

static int read_runs(const struct cli_memory *m, struct kl_page_runs *runs)
{
	uint32_t what;
	int error = cli_memory_what(m, &what);

	if (error)
		return error;
	error = kl_page_runs_read(m->device, m->pid, what, runs);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* -------------------------------------------------------------------- runs */

static void print_states(struct kl_buffer *text, uint32_t flags)
{
	kl_buffer_reset(text);
	for (size_t i = 0; i < CLI_COUNT(states); i++)
		if (flags & states[i].flag)
			kl_buffer_printf(text, "%s%s", text->length ? "," : "", states[i].name);
}

int cli_memory_print_pages(const struct cli_memory *m)
{
	static const struct cli_column columns[] = {
		{ "address", NULL, CLI_CELL_TEXT },   { "pages", NULL, CLI_CELL_COUNT },
		{ "mappings", NULL, CLI_CELL_COUNT }, { "frame", NULL, CLI_CELL_TEXT },
		{ "node", NULL, CLI_CELL_ID },	      { "zone", NULL, CLI_CELL_TEXT },
		{ "unit", NULL, CLI_CELL_MEMORY },    { "state", NULL, CLI_CELL_TEXT },
	};
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	struct kl_buffer text = {};
	struct kl_page_runs runs;
	int status = read_runs(m, &runs);

	for (size_t i = 0; !status && i < runs.n; i++) {
		const struct kl_abi_detail_pages *run = &runs.run[i];

		kl_buffer_reset(&text);
		kl_buffer_printf(&text, "%llx", (unsigned long long)run->start);
		cli_rows_add_text(rows, text.data);
		cli_rows_add_number(rows, run->pages);
		if (kl_page_run_is_in_ram(run)) {
			cli_rows_add_number(rows, run->mapcount);
			kl_buffer_reset(&text);
			kl_buffer_printf(&text, run->frame ? "%llx" : "-",
					 (unsigned long long)run->frame);
			cli_rows_add_text(rows, text.data);
			cli_rows_add_number(rows, run->node);
			cli_rows_add_text(rows, kl_memory_zone_name(run->zone));
			cli_rows_add_number(rows,
					    (uint64_t)KL_DETAIL_PAGE_BYTES << run->folio_order);
		} else {
			for (unsigned int none = 0; none < 5; none++)
				cli_rows_add_none(rows);
		}
		print_states(&text, run->flags);
		cli_rows_add_text(rows, text.data);
	}
	if (!status) {
		putchar('\n');
		cli_rows_print(rows, stdout, 0, m->top);
		kl_page_runs_deinit(&runs);
	}
	kl_buffer_deinit(&text);
	cli_rows_destroy(rows);
	return status;
}

static json_t *run_json(const struct kl_abi_detail_pages *run)
{
	json_t *flags = json_array(), *to;

	for (size_t i = 0; i < CLI_COUNT(states); i++)
		if (run->flags & states[i].flag)
			json_array_append_new(flags, json_string(states[i].name));
	to = json_pack("{s:I, s:I, s:o}", "start", (json_int_t)run->start, "pages",
		       (json_int_t)run->pages, "state", flags);
	if (!kl_page_run_is_in_ram(run))
		return to;
	json_object_set_new(to, "mappings", json_integer(run->mapcount));
	if (run->frame)
		json_object_set_new(to, "frame", json_integer((json_int_t)run->frame));
	json_object_set_new(to, "node", json_integer(run->node));
	json_object_set_new(to, "zone", json_string(kl_memory_zone_name(run->zone)));
	json_object_set_new(to, "map_order", json_integer(run->map_order));
	json_object_set_new(to, "folio_order", json_integer(run->folio_order));
	return to;
}

int cli_memory_add_pages(const struct cli_memory *m, json_t *document)
{
	struct kl_page_runs runs;
	int status = read_runs(m, &runs);
	json_t *to;

	if (status)
		return status;
	to = json_array();
	for (size_t i = 0; i < runs.n; i++)
		json_array_append_new(to, run_json(&runs.run[i]));
	json_object_set_new(document, "pages", to);
	kl_page_runs_deinit(&runs);
	return CLI_OK;
}

/* ---------------------------------------------------------------- physical */

static int read_ranges(const struct cli_memory *m, struct kl_page_range **range, size_t *n)
{
	struct kl_page_runs runs;
	int status = read_runs(m, &runs);

	if (status)
		return status;
	*range = kl_page_ranges(&runs, n);
	kl_page_runs_deinit(&runs);
	return *range ? CLI_OK : cli_library_error(-errno, NULL);
}

#define BUCKETS 64

int cli_memory_print_physical(const struct cli_memory *m)
{
	static const struct cli_column columns[] = {
		{ "from", NULL, CLI_CELL_MEMORY },  { "below", NULL, CLI_CELL_MEMORY },
		{ "ranges", NULL, CLI_CELL_COUNT }, { "memory", NULL, CLI_CELL_MEMORY },
		{ "", NULL, CLI_CELL_BAR },
	};
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	uint64_t ranges[BUCKETS] = {}, bytes[BUCKETS] = {};
	struct kl_page_range *range = NULL;
	size_t n = 0;
	int status = read_ranges(m, &range, &n);

	for (size_t i = 0; i < n; i++) {
		unsigned int order = 63u - (unsigned int)__builtin_clzll(range[i].pages);

		ranges[order]++;
		bytes[order] += range[i].pages * KL_DETAIL_PAGE_BYTES;
	}
	for (unsigned int i = 0; i < BUCKETS; i++) {
		if (!ranges[i])
			continue;
		cli_rows_add_number(rows, (uint64_t)KL_DETAIL_PAGE_BYTES << i);
		cli_rows_add_number(rows, (uint64_t)KL_DETAIL_PAGE_BYTES << (i + 1));
		cli_rows_add_number(rows, ranges[i]);
		cli_rows_add_number(rows, bytes[i]);
		cli_rows_add_number(rows, bytes[i]);
	}
	if (!status) {
		printf("\n%zu contiguous ranges of physical memory, by length\n\n", n);
		cli_rows_print(rows, stdout, 0, 0);
	}
	free(range);
	cli_rows_destroy(rows);
	return status;
}

/* ----------------------------------------------------------------- sharers */

int cli_memory_print_sharers(const struct cli_memory *m)
{
	static const struct cli_column columns[] = {
		{ "shared", NULL, CLI_CELL_MEMORY },
		{ "pid", NULL, CLI_CELL_ID },
		{ "process", NULL, CLI_CELL_TEXT },
	};
	struct kl_memory_sharer *sharer;
	struct cli_rows *rows;
	size_t n;
	int error = kl_memory_sharers(m->device, m->pid, &sharer, &n);

	if (error)
		return cli_library_error(error, NULL);
	rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	for (size_t i = 0; i < n; i++) {
		cli_rows_add_number(rows, sharer[i].bytes);
		cli_rows_add_number(rows, (uint64_t)sharer[i].pid);
		cli_rows_add_text(rows, sharer[i].comm);
	}
	printf("\nProcesses that map the same pages\n\n");
	if (n)
		cli_rows_print(rows, stdout, 0, m->top);
	else
		puts("  none that you may see");
	cli_rows_destroy(rows);
	free(sharer);
	return CLI_OK;
}

json_t *cli_memory_sharers_json(const struct cli_memory *m)
{
	struct kl_memory_sharer *sharer;
	json_t *to;
	size_t n;
	int error = kl_memory_sharers(m->device, m->pid, &sharer, &n);

	if (error) {
		cli_library_error(error, NULL);
		return NULL;
	}
	to = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(to, json_pack("{s:i, s:o, s:I}", "pid", sharer[i].pid, "comm",
						    cli_json_text(sharer[i].comm), "bytes",
						    (json_int_t)sharer[i].bytes));
	free(sharer);
	return to;
}

int cli_memory_add_sharers(const struct cli_memory *m, json_t *document)
{
	json_t *sharers = cli_memory_sharers_json(m);

	if (!sharers)
		return CLI_FAILED;
	json_object_set_new(document, "sharers", sharers);
	return CLI_OK;
}
