// SPDX-License-Identifier: GPL-2.0
/* Print the memory of a process: sums, and its mappings as pmap(1) lists them. */
#include <stdio.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "detail.h"

/* ----------------------------------------------------------------- mappings */

static void add_map(struct cli_table *table, const struct kl_detail *e)
{
	const struct kl_abi_detail_map *m = &e->map;
	char rights[5];

	kl_detail_map_mode(rights, m->flags);
	cli_table_add(table, "%llx-%llx", (unsigned long long)m->start, (unsigned long long)m->end);
	cli_table_add(table, "%s", rights);
	cli_table_add(table, "%llu", (unsigned long long)(m->end - m->start) >> 10);
	cli_table_add(table, "%llu", (unsigned long long)m->rss >> 10);
	cli_table_add(table, "%llu", (unsigned long long)(m->huge + m->hugetlb) >> 10);
	cli_table_add(table, "%llu", (unsigned long long)m->swapped >> 10);
	cli_table_add(table, "%llx", (unsigned long long)m->offset);
	cli_table_add(table, "%s%s%s",
		      e->text_bytes ? cli_clean_text(e->text, e->text_bytes) : "[anon]",
		      m->flags & KL_DETAIL_MAP_LOCKED ? " locked" : "",
		      m->flags & KL_DETAIL_MAP_HUGETLB ? " hugetlb" : "");
}

void cli_proc_print_maps(const struct kl_details *list)
{
	struct cli_table *table =
		cli_table_create("address|mode|>KiB|>in RAM|>huge|>swapped|>offset|name");
	uint64_t all = 0, rss = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct kl_abi_detail_map *m = &list->entry[i].map;

		add_map(table, &list->entry[i]);
		all += m->end - m->start;
		rss += m->rss;
	}
	cli_table_print(table, stdout, 2);
	printf("  %zu mappings of %llu KiB, %llu KiB of them in RAM\n", list->n,
	       (unsigned long long)all >> 10, (unsigned long long)rss >> 10);
}

json_t *cli_proc_map_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_map *m = &e->map;
	char rights[5];

	kl_detail_map_mode(rights, m->flags);
	return json_pack("{s:I, s:I, s:s, s:s, s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:b,"
			 " s:b}",
			 "start", (json_int_t)m->start, "end", (json_int_t)m->end, "mode", rights,
			 "kind", kl_detail_map_name(m->kind), "name", cli_json_text(e->text),
			 "offset", (json_int_t)m->offset, "inode", (json_int_t)m->inode, "device",
			 json_sprintf("%u:%u", m->dev_major, m->dev_minor), "rss",
			 (json_int_t)m->rss, "huge", (json_int_t)m->huge, "hugetlb",
			 (json_int_t)m->hugetlb, "swapped", (json_int_t)m->swapped, "page_bytes",
			 (json_int_t)m->page_bytes, "locked", !!(m->flags & KL_DETAIL_MAP_LOCKED),
			 "device_memory", !!(m->flags & KL_DETAIL_MAP_DEVICE));
}

/* --------------------------------------------------------------------- sums */

/* Each is one line of text, or one member of the JSON object. */
#define SUM(title_, member_)                                          \
	{                                                             \
		.title = title_, .key = #member_,                     \
		.at = offsetof(struct kl_abi_detail_memory, member_), \
	}

static const struct sum {
	const char *title;
	const char *key;
	size_t at;
} sizes[] = {
	SUM("address space", size),	 SUM("  peak", size_peak),
	SUM("  code", code),		 SUM("  data", data),
	SUM("  stack", stack),		 SUM("  locked", locked),
	SUM("  pinned", pinned),	 SUM("in RAM", rss),
	SUM("  anonymous", rss_anon),	 SUM("  file-backed", rss_file),
	SUM("  shared", rss_shared),	 SUM("  peak", rss_peak),
	SUM("swapped", swap),		 SUM("page tables", page_tables),
}, places[] = {
	SUM("code", code_start),	 SUM("code", code_end),
	SUM("data", data_start),	 SUM("data", data_end),
	SUM("heap", heap_start),	 SUM("heap", heap_end),
	SUM("arguments", arguments_start), SUM("arguments", arguments_end),
	SUM("environment", environment_start), SUM("environment", environment_end),
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static unsigned long long value(const struct kl_abi_detail_memory *m, const struct sum *sum)
{
	uint64_t number;

	memcpy(&number, (const char *)m + sum->at, sizeof(number));
	return number;
}

void cli_proc_print_memory(const struct kl_details *list)
{
	const struct kl_abi_detail_memory *m = &list->entry[0].memory;

	if (!m->size) {
		puts("  none of its own");
		return;
	}
	for (size_t i = 0; i < COUNT(sizes); i++)
		printf("  %-15s%12llu KiB\n", sizes[i].title, value(m, &sizes[i]) >> 10);
	for (size_t i = 0; i < COUNT(places); i += 2)
		printf("  %-15s%#llx-%#llx, %llu KiB\n", places[i].title, value(m, &places[i]),
		       value(m, &places[i + 1]),
		       (value(m, &places[i + 1]) - value(m, &places[i])) >> 10);
	printf("  %-15s%#llx\n", "stack start", (unsigned long long)m->stack_start);
}

json_t *cli_proc_memory_json(const struct kl_detail *e)
{
	const struct kl_abi_detail_memory *m = &e->memory;
	json_t *to = json_object();

	for (size_t i = 0; i < COUNT(sizes); i++)
		json_object_set_new(to, sizes[i].key,
				    json_integer((json_int_t)value(m, &sizes[i])));
	for (size_t i = 0; i < COUNT(places); i++)
		json_object_set_new(to, places[i].key,
				    json_integer((json_int_t)value(m, &places[i])));
	json_object_set_new(to, "stack_start", json_integer((json_int_t)m->stack_start));
	json_object_set_new(to, "mappings", json_integer(m->mappings));
	return to;
}
