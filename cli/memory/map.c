// SPDX-License-Identifier: GPL-2.0
/*
 * Draw the memory of a process in characters: the pages of each mapping, and, for those who may
 * know physical addresses, where these pages are in RAM.
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

#define CELLS_MAX 128 /* of a mapping, or of a line of physical memory */
#define CELLS 64 /* if the output does not go to a terminal */
#define AROUND 60 /* columns of the terminal that the other cells of a row take */
#define LINES_MAX 24 /* of physical memory */

/* What a page is drawn as: the first that applies. */
enum state {
	SWAPPED,
	ZERO,
	HUGE_PAGE,
	SHARED,
	WRITTEN,
	CLEAN,
	STATES,
};

static const char letters[STATES] = "xzhswc";

static enum state state_of(const struct kl_abi_detail_pages *run)
{
	if (run->flags & (KL_PAGE_SWAPPED | KL_PAGE_MIGRATING))
		return SWAPPED;
	if (run->flags & KL_PAGE_ZERO)
		return ZERO;
	if (run->map_order)
		return HUGE_PAGE;
	if (run->mapcount > 1)
		return SHARED;
	return run->flags & (KL_PAGE_WRITTEN | KL_PAGE_DIRTY) ? WRITTEN : CLEAN;
}

static unsigned int cells_of_line(void)
{
	const unsigned int columns = cli_columns();

	if (!columns)
		return CELLS;
	if (columns < AROUND + 16)
		return 16;
	return columns - AROUND < CELLS_MAX ? columns - AROUND : CELLS_MAX;
}

/* ----------------------------------------------------------- address space */

/**
 * struct cell - a part of a mapping
 * @pages: its size
 * @of: how many of them are in each state
 */
struct cell {
	uint64_t pages;
	uint64_t of[STATES];
};

/* Add pages, counted from the mapping's first one, to cells of 2^@order pages. */
static void add_pages(struct cell *cell, unsigned int order, uint64_t first, uint64_t n,
		      enum state state)
{
	while (n) {
		const uint64_t at = first >> order, end = (at + 1) << order;
		const uint64_t part = end - first < n ? end - first : n;

		cell[at].of[state] += part;
		first += part;
		n -= part;
	}
}

/* The state of most pages; a capital if none is missing. */
static char letter_of(const struct cell *cell)
{
	uint64_t all = 0;
	unsigned int most = 0;

	for (unsigned int i = 0; i < STATES; i++) {
		all += cell->of[i];
		if (cell->of[i] > cell->of[most])
			most = i;
	}
	if (!all)
		return '.';
	return (char)(all == cell->pages ? letters[most] - 'a' + 'A' : letters[most]);
}

/* Draw a mapping into @text. Returns the number of pages that a character stands for. */
static uint64_t draw_mapping(const struct kl_memory *memory,
			     const struct kl_memory_mapping *mapping, unsigned int room,
			     char text[CELLS_MAX + 1])
{
	const struct kl_abi_detail_map *map = &mapping->entry->map;
	const uint64_t pages = (map->end - map->start) / KL_DETAIL_PAGE_BYTES;
	struct cell cell[CELLS_MAX] = {};
	unsigned int order = 0, n;

	while (pages > (uint64_t)room << order)
		order++;
	n = (unsigned int)((pages + (1ull << order) - 1) >> order);
	for (unsigned int i = 0; i < n; i++)
		cell[i].pages = i + 1 < n ? 1ull << order : pages - ((uint64_t)i << order);
	for (size_t i = mapping->first; i < mapping->end; i++) {
		const struct kl_abi_detail_pages *run = &memory->runs.run[i];

		add_pages(cell, order, (run->start - map->start) / KL_DETAIL_PAGE_BYTES, run->pages,
			  state_of(run));
	}
	for (unsigned int i = 0; i < n; i++)
		text[i] = letter_of(&cell[i]);
	text[n] = 0;
	return 1ull << order;
}

static void print_space(const struct cli_memory *m, const struct kl_memory *memory)
{
	static const struct cli_column columns[] = {
		{ "address", NULL, CLI_CELL_TEXT },
		{ "a character", NULL, CLI_CELL_POWER },
		{ "pages", NULL, CLI_CELL_TEXT },
		{ "name", NULL, CLI_CELL_TEXT },
	};
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	const unsigned int room = cells_of_line();

	for (size_t i = 0; i < memory->n; i++) {
		const struct kl_memory_mapping *mapping = &memory->mapping[i];
		char address[24], text[CELLS_MAX + 1];
		uint64_t pages;

		if (mapping->first == mapping->end)
			continue;
		pages = draw_mapping(memory, mapping, room, text);
		snprintf(address, sizeof(address), "%llx",
			 (unsigned long long)mapping->entry->map.start);
		cli_rows_add_text(rows, address);
		cli_rows_add_number(rows, pages * KL_DETAIL_PAGE_BYTES);
		cli_rows_add_text(rows, text);
		cli_rows_add_text(rows, cli_memory_name(mapping));
	}
	puts("\nPages by address: W written, C clean, S mapped more than once, H huge, X swapped,\n"
	     "Z of zeros, . not there. The state of most pages; a capital: all are there.\n");
	cli_rows_print(rows, stdout, 0, m->top);
	cli_rows_destroy(rows);
}

/* ---------------------------------------------------------- physical memory */

/* Lines of 2^@order frames that any range is in. */
static size_t lines_of(const struct kl_page_range *range, size_t n, unsigned int order)
{
	uint64_t next = 0;
	size_t lines = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t first = range[i].frame >> order;
		const uint64_t last = (range[i].frame + range[i].pages - 1) >> order;

		if (last < next)
			continue;
		lines += last - (first > next ? first : next) + 1;
		next = last + 1;
	}
	return lines;
}

/* '.': none of @all pages; '1' to '9': up to so many ninths; '#': all */
static char density(uint64_t pages, uint64_t all)
{
	if (!pages)
		return '.';
	return (char)(pages == all ? '#' : '1' + pages * 9 / all);
}

static void print_line(const uint64_t *pages, uint64_t line, unsigned int order,
		       unsigned int cell_order)
{
	const unsigned int cells = 1u << (order - cell_order);
	char text[CELLS + 1];

	for (unsigned int i = 0; i < cells; i++)
		text[i] = density(pages[i], 1ull << cell_order);
	text[cells] = 0;
	printf("%12llx  %s\n", (unsigned long long)(line << order) * KL_DETAIL_PAGE_BYTES, text);
}

/* Lines with nothing in them are left out. */
static void print_physical(const struct kl_page_range *range, size_t n)
{
	const unsigned int per_line = 6; /* 2^6 are CELLS */
	unsigned int order = per_line;
	uint64_t pages[CELLS] = {}, line = 0;
	char size[CLI_NUMBER_MAX];
	bool any = false;

	while (lines_of(range, n, order) > LINES_MAX)
		order++;
	printf("\nPhysical memory, %s a character: 1 to 9 ninths of it are of this process, "
	       "# all\n\n",
	       cli_print_size(size, (uint64_t)KL_DETAIL_PAGE_BYTES << (order - per_line)));
	for (size_t i = 0; i < n; i++) {
		uint64_t frame = range[i].frame, left = range[i].pages;

		while (left) {
			const unsigned int cell_order = order - per_line;
			const uint64_t at = frame >> cell_order;
			const uint64_t end = (at + 1) << cell_order;
			const uint64_t part = end - frame < left ? end - frame : left;

			if (any && at >> per_line != line) {
				print_line(pages, line, order, cell_order);
				memset(pages, 0, sizeof(pages));
			}
			line = at >> per_line;
			any = true;
			pages[at % CELLS] += part;
			frame += part;
			left -= part;
		}
	}
	if (any)
		print_line(pages, line, order, order - per_line);
}

static void print_ranges(const struct cli_memory *m, const struct kl_page_range *range, size_t n)
{
	static const struct cli_column columns[] = {
		{ "physical address", NULL, CLI_CELL_TEXT },
		{ "size", NULL, CLI_CELL_MEMORY },
		{ "node", NULL, CLI_CELL_ID },
		{ "zone", NULL, CLI_CELL_TEXT },
	};
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);

	for (size_t i = 0; i < n; i++) {
		const uint64_t start = range[i].frame * KL_DETAIL_PAGE_BYTES;
		const uint64_t bytes = range[i].pages * KL_DETAIL_PAGE_BYTES;
		char address[40];

		snprintf(address, sizeof(address), "%llx-%llx", (unsigned long long)start,
			 (unsigned long long)(start + bytes));
		cli_rows_add_text(rows, address);
		cli_rows_add_number(rows, bytes);
		cli_rows_add_number(rows, range[i].node);
		cli_rows_add_text(rows, kl_memory_zone_name(range[i].zone));
	}
	printf("\n%zu contiguous ranges\n\n", n);
	cli_rows_print(rows, stdout, 0, m->top);
	cli_rows_destroy(rows);
}

static int by_size(const void *a, const void *b)
{
	const struct kl_page_range *x = a, *y = b;

	if (x->pages != y->pages)
		return x->pages < y->pages ? 1 : -1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* ------------------------------------------------------------------------- all */

/* One read, so that both drawings are of the same pages. */
static int read_memory(const struct cli_memory *m, struct kl_memory *memory,
		       struct kl_page_range **range, size_t *n)
{
	uint32_t what;
	int error = cli_memory_what(m, &what);

	*range = NULL;
	*n = 0;
	if (error)
		return error;
	error = kl_memory_read(m->device, m->pid, what, memory);
	if (error)
		return cli_library_error(error, NULL);
	if (what != KL_DETAIL_FRAMES)
		return CLI_OK;
	*range = kl_page_ranges(&memory->runs, n);
	if (*range)
		return CLI_OK;
	kl_memory_deinit(memory);
	return cli_library_error(-ENOMEM, NULL);
}

int cli_memory_print_map(const struct cli_memory *m)
{
	struct kl_memory memory;
	struct kl_page_range *range;
	size_t n;
	int status = read_memory(m, &memory, &range, &n);

	if (status)
		return status;
	print_space(m, &memory);
	if (range) {
		print_physical(range, n);
		if (m->top)
			qsort(range, n, sizeof(*range), by_size);
		print_ranges(m, range, n);
	} else {
		puts("\nWhere these pages are in physical memory requires CAP_SYS_ADMIN.");
	}
	free(range);
	kl_memory_deinit(&memory);
	return CLI_OK;
}

int cli_memory_add_map(const struct cli_memory *m, json_t *document)
{
	struct kl_memory memory;
	struct kl_page_range *range;
	size_t n;
	int status = read_memory(m, &memory, &range, &n);
	json_t *to;

	if (status)
		return status;
	kl_memory_deinit(&memory);
	/* Nothing is known, rather than that there are none. */
	to = range ? json_array() : json_null();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(to, json_pack("{s:I, s:I, s:i, s:s}", "frame",
						    (json_int_t)range[i].frame, "pages",
						    (json_int_t)range[i].pages, "node",
						    (int)range[i].node, "zone",
						    kl_memory_zone_name(range[i].zone)));
	json_object_set_new(document, "ranges", to);
	free(range);
	return CLI_OK;
}
