// SPDX-License-Identifier: GPL-2.0
/* Print the memory of a process as it is: sums, and a table of its mappings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "memory.h"

static const struct cli_column columns[] = {
	{ "address", "address", CLI_CELL_TEXT }, { "mode", "mode", CLI_CELL_TEXT },
	{ "size", "size", CLI_CELL_MEMORY },	 { "in RAM", "rss", CLI_CELL_MEMORY },
	{ "its share", "pss", CLI_CELL_MEMORY }, { "private", "private", CLI_CELL_MEMORY },
	{ "written", "dirty", CLI_CELL_MEMORY }, { "referenced", "referenced", CLI_CELL_MEMORY },
	{ "huge", "huge", CLI_CELL_MEMORY },	 { "swapped", "swap", CLI_CELL_MEMORY },
	{ "name", "name", CLI_CELL_TEXT },
};

const char *cli_memory_name(const struct kl_memory_mapping *mapping)
{
	const struct kl_detail *entry = mapping->entry;

	return entry->text_bytes ? cli_clean_text(entry->text, entry->text_bytes) : "[anon]";
}

static uint64_t hugetlb(const struct kl_memory_sums *s)
{
	return s->shared_hugetlb + s->private_hugetlb;
}

static uint64_t huge(const struct kl_memory_sums *s)
{
	return s->anonhugepages + s->shmempmdmapped + s->filepmdmapped + hugetlb(s);
}

/* ---------------------------------------------------------------- mappings */

static void add_mapping(struct cli_rows *rows, const struct kl_memory_mapping *mapping)
{
	const struct kl_abi_detail_map *map = &mapping->entry->map;
	const struct kl_memory_sums *s = &mapping->sums;
	char mode[5], address[40];

	snprintf(address, sizeof(address), "%llx-%llx", (unsigned long long)map->start,
		 (unsigned long long)map->end);
	kl_detail_map_mode(mode, map->flags);
	cli_rows_add_text(rows, address);
	cli_rows_add_text(rows, mode);
	cli_rows_add_number(rows, map->end - map->start);
	cli_rows_add_number(rows, s->rss + hugetlb(s));
	cli_rows_add_number(rows, s->pss);
	cli_rows_add_number(rows, s->private_clean + s->private_dirty + s->private_hugetlb);
	cli_rows_add_number(rows, s->private_dirty + s->shared_dirty);
	cli_rows_add_number(rows, s->referenced);
	cli_rows_add_number(rows, huge(s));
	cli_rows_add_number(rows, s->swap);
	cli_rows_add_text(rows, cli_memory_name(mapping));
}

static uint64_t weight(const struct kl_memory_mapping *mapping)
{
	return mapping->sums.rss + mapping->sums.swap + hugetlb(&mapping->sums);
}

static int by_weight(const void *a, const void *b)
{
	const struct kl_memory_mapping *x = *(const struct kl_memory_mapping *const *)a;
	const struct kl_memory_mapping *y = *(const struct kl_memory_mapping *const *)b;

	if (weight(x) != weight(y))
		return weight(x) < weight(y) ? 1 : -1;
	return x < y ? -1 : 1;
}

/* By address, or the largest of them; those without memory are left out. */
static struct cli_rows *make_rows(const struct kl_memory *memory, uint64_t top, bool all)
{
	struct cli_rows *rows = cli_rows_create(columns, CLI_COUNT(columns), 0);
	const struct kl_memory_mapping **shown = cli_alloc((memory->n + 1) * sizeof(*shown));
	size_t n = 0;

	for (size_t i = 0; i < memory->n; i++)
		if (all || weight(&memory->mapping[i]))
			shown[n++] = &memory->mapping[i];
	if (top)
		qsort(shown, n, sizeof(*shown), by_weight);
	for (size_t i = 0; i < n; i++)
		add_mapping(rows, shown[i]);
	free(shown);
	return rows;
}

/* -------------------------------------------------------------------- text */

void cli_memory_print_head(const struct cli_memory *m, const struct kl_memory *memory)
{
	const struct kl_memory_sums *s = &memory->total;
	char all[CLI_NUMBER_MAX], own[CLI_NUMBER_MAX], share[CLI_NUMBER_MAX],
		swapped[CLI_NUMBER_MAX];

	printf("%s%s-%d%s: %s in RAM, of which %s is private; its share of all is %s; "
	       "%s is swapped out\n",
	       cli_style(stdout, CLI_BOLD), cli_clean_comm(m->comm), m->pid,
	       cli_style(stdout, CLI_PLAIN), cli_print_memory(all, s->rss + hugetlb(s)),
	       cli_print_memory(own, s->private_clean + s->private_dirty + s->private_hugetlb),
	       cli_print_memory(share, s->pss), cli_print_memory(swapped, s->swap));
}

struct part {
	const char *name;
	uint64_t bytes;
};

/* "TITLE  a 1 KiB, b 2 KiB", without parts that are zero. */
static void print_parts(const char *title, const struct part *part, size_t n)
{
	char text[CLI_NUMBER_MAX];
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		if (!part[i].bytes)
			continue;
		if (first)
			printf("  %-12s", title);
		printf("%s%s %s", first ? "" : ", ", part[i].name,
		       cli_print_memory(text, part[i].bytes));
		first = false;
	}
	if (!first)
		putchar('\n');
}

static void print_zones(const struct kl_memory *memory)
{
	struct part zones[KL_MEMORY_ZONES], nodes[KL_MEMORY_NODES];
	char name[KL_MEMORY_NODES][16];

	for (uint32_t i = 0; i < KL_MEMORY_ZONES; i++)
		zones[i] = (struct part){ kl_memory_zone_name(i), memory->zone_bytes[i] };
	print_parts("zones", zones, KL_MEMORY_ZONES);
	for (uint32_t i = 0; i < KL_MEMORY_NODES; i++) {
		snprintf(name[i], sizeof(name[i]), "%u:", i);
		nodes[i] = (struct part){ name[i], memory->node_bytes[i] };
	}
	/* Most machines have one. */
	if (memory->node_bytes[0] != memory->total.rss + hugetlb(&memory->total))
		print_parts("nodes", nodes, KL_MEMORY_NODES);
}

static void print_sums(const struct kl_memory *memory)
{
	const struct kl_memory_sums *s = &memory->total;
	const struct part kinds[] = {
		{ "anonymous", s->anonymous },	 { "files", s->rss - s->anonymous - s->shmem },
		{ "shared memory", s->shmem },	 { "hugetlb", hugetlb(s) },
		{ "freed lazily", s->lazyfree },
	};
	const struct part own[] = {
		{ "written", s->private_dirty },
		{ "clean", s->private_clean },
	};
	const struct part shared[] = {
		{ "written", s->shared_dirty },
		{ "clean", s->shared_clean },
	};
	const struct part huge_pages[] = {
		{ "anonymous", s->anonhugepages },
		{ "files", s->filepmdmapped },
		{ "shared memory", s->shmempmdmapped },
		{ "hugetlb", hugetlb(s) },
	};
	const struct part use[] = {
		{ "referenced", s->referenced },
		{ "through this process", s->accessed },
	};

	print_parts("kinds", kinds, sizeof(kinds) / sizeof(*kinds));
	print_parts("private", own, sizeof(own) / sizeof(*own));
	print_parts("shared", shared, sizeof(shared) / sizeof(*shared));
	print_parts("huge pages", huge_pages, sizeof(huge_pages) / sizeof(*huge_pages));
	print_parts("in use", use, sizeof(use) / sizeof(*use));
	print_zones(memory);
}

static int read_memory(const struct cli_memory *m, struct kl_memory *memory)
{
	int error = kl_memory_read(m->device, m->pid, KL_DETAIL_PAGES, memory);

	return error ? cli_library_error(error, NULL) : CLI_OK;
}

int cli_memory_print(const struct cli_memory *m)
{
	struct kl_memory memory;
	struct cli_rows *rows;
	int status = read_memory(m, &memory);

	if (status)
		return status;
	cli_memory_print_head(m, &memory);
	print_sums(&memory);
	putchar('\n');
	rows = make_rows(&memory, m->top, false);
	cli_rows_print(rows, stdout, 0, m->top);
	cli_rows_destroy(rows);
	kl_memory_deinit(&memory);
	if (m->sharers)
		status = cli_memory_print_sharers(m);
	if (!status && m->physical)
		status = cli_memory_print_physical(m);
	if (!status && m->map)
		status = cli_memory_print_map(m);
	if (!status && m->pages)
		status = cli_memory_print_pages(m);
	return status;
}

int cli_memory_write_csv(const struct cli_memory *m)
{
	struct kl_memory memory;
	struct cli_rows *rows;
	int status = read_memory(m, &memory);

	if (status)
		return status;
	rows = make_rows(&memory, m->top, true);
	status = cli_rows_write_csv(rows, m->top);
	cli_rows_destroy(rows);
	kl_memory_deinit(&memory);
	return status;
}

/* -------------------------------------------------------------------- JSON */

static void add_sums(json_t *to, const struct kl_memory_sums *sums)
{
	const struct kl_memory_sum *sum;

	for (size_t i = 0; (sum = kl_memory_sum(i)); i++) {
		uint64_t value;

		memcpy(&value, (const char *)sums + sum->offset, sizeof(value));
		json_object_set_new(to, sum->name, json_integer((json_int_t)value));
	}
}

static json_t *mapping_json(const struct kl_memory_mapping *mapping)
{
	const struct kl_abi_detail_map *map = &mapping->entry->map;
	char mode[5];
	json_t *to;

	kl_detail_map_mode(mode, map->flags);
	to = json_pack("{s:I, s:I, s:s, s:s, s:o, s:I, s:I, s:o}", "start", (json_int_t)map->start,
		       "end", (json_int_t)map->end, "mode", mode, "kind",
		       kl_detail_map_name(map->kind), "name", cli_json_text(mapping->entry->text),
		       "offset", (json_int_t)map->offset, "inode", (json_int_t)map->inode, "device",
		       json_sprintf("%u:%u", map->dev_major, map->dev_minor));
	add_sums(to, &mapping->sums);
	return to;
}

static json_t *places_json(const struct kl_memory *memory)
{
	json_t *zones = json_object(), *nodes = json_object();
	char name[16];

	for (uint32_t i = 0; i < KL_MEMORY_ZONES; i++)
		if (memory->zone_bytes[i])
			json_object_set_new(zones, kl_memory_zone_name(i),
					    json_integer((json_int_t)memory->zone_bytes[i]));
	for (uint32_t i = 0; i < KL_MEMORY_NODES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (memory->node_bytes[i])
			json_object_set_new(nodes, name,
					    json_integer((json_int_t)memory->node_bytes[i]));
	}
	return json_pack("[o, o]", zones, nodes);
}

json_t *cli_memory_sums_json(const struct cli_memory *m, const struct kl_memory *memory)
{
	json_t *document, *total = json_object(), *mappings = json_array();
	json_t *places = places_json(memory);

	add_sums(total, &memory->total);
	for (size_t i = 0; i < memory->n; i++)
		json_array_append_new(mappings, mapping_json(&memory->mapping[i]));
	document = json_pack("{s:i, s:o, s:I, s:o, s:O, s:O, s:o}", "pid", m->pid, "comm",
			     cli_json_text(m->comm), "time_ns", (json_int_t)memory->time_ns,
			     "total", total, "zones", json_array_get(places, 0), "nodes",
			     json_array_get(places, 1), "mappings", mappings);
	json_decref(places);
	return document;
}

json_t *cli_memory_json(const struct cli_memory *m)
{
	struct kl_memory memory;
	json_t *document;

	if (read_memory(m, &memory))
		return NULL;
	document = cli_memory_sums_json(m, &memory);
	kl_memory_deinit(&memory);
	if ((m->pages && cli_memory_add_pages(m, document)) ||
	    (m->map && cli_memory_add_map(m, document)) ||
	    (m->sharers && cli_memory_add_sharers(m, document))) {
		json_decref(document);
		return NULL;
	}
	return document;
}
