// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the kernel's own tables about its text: instructions that are rewritten or looked up by
 * address, targets of jumps from there, and parts that must not be changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

#define BLACKLIST_MAX 10000 /* some thousand are usual */
#define TABLE_MAX (256u << 20)

/* Parts of the text between two symbols. Not every kernel has all of them. */
static const struct {
	const char *begin;
	const char *end;
	enum kl_block_reason reason;
} sections[] = {
#define KL_TEXT_SECTION(begin, end, reason) { #begin, #end, KL_BLOCK_##reason },
#define KL_TEXT_NAME(pattern, reason)
#include "../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
};

int kl_set_add(struct kl_addresses_set *set, uint64_t address)
{
	uint64_t *grown = kl_array_grow(set->at, set->n, &set->capacity, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	set->at = grown;
	grown[set->n++] = address;
	return 0;
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Sort, and remove duplicates. */
void kl_set_sort(struct kl_addresses_set *set)
{
	size_t n = 0;

	if (set->n)
		qsort(set->at, set->n, sizeof(*set->at), compare_addresses);
	for (size_t i = 0; i < set->n; i++)
		if (!n || set->at[i] != set->at[n - 1])
			set->at[n++] = set->at[i];
	set->n = n;
}

/*
 * Index of the first of @n rows that is not below @address. Rows have @row bytes, begin with a
 * 64-bit address, and are sorted by it.
 */
size_t kl_rows_from(const void *rows, size_t n, size_t row, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)rows + middle * row) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Index of the first element that is not below @address. */
size_t kl_set_from(const struct kl_addresses_set *set, uint64_t address)
{
	return kl_rows_from(set->at, set->n, sizeof(*set->at), address);
}

static bool is_text(const struct kl_blocks *b, uint64_t address)
{
	return address >= b->begin && address < b->end;
}

static int add_mark(struct kl_blocks *b, uint64_t address, enum kl_block_reason reason)
{
	struct kl_mark *grown;

	/* Tables also list text that was freed after boot. */
	if (!is_text(b, address))
		return 0;
	grown = kl_array_grow(b->mark, b->marks, &b->mark_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->mark = grown;
	grown[b->marks++] = (struct kl_mark){ .address = address, .reason = reason };
	return 0;
}

static int add_range(struct kl_blocks *b, uint64_t begin, uint64_t end, enum kl_block_reason reason)
{
	struct kl_range *grown =
		kl_array_grow(b->range, b->ranges, &b->range_capacity, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	b->range = grown;
	grown[b->ranges++] = (struct kl_range){ .begin = begin, .end = end, .reason = reason };
	return 0;
}

/* The address of one of the kernel's own symbols. Returns false if there is none. */
static bool find_symbol(const struct kl_blocks *b, const char *name, uint64_t *address)
{
	struct kl_symbol symbol = {};
	char full[64];

	snprintf(full, sizeof(full), "kernel:%s", name);
	if (!kl_symbols_lookup(b->symbols, full, &symbol))
		return false;
	*address = symbol.address;
	return true;
}

/* The range between two symbols; empty if the kernel does not have them. */
static struct kl_kernel_range between(const struct kl_blocks *b, const char *begin, const char *end)
{
	struct kl_kernel_range memory = {};
	uint64_t last;

	if (find_symbol(b, begin, &memory.address) && find_symbol(b, end, &last) &&
	    last > memory.address)
		memory.bytes = last - memory.address;
	return memory;
}

/* @data: the caller frees it; NULL if there is nothing to read */
static int read_memory(const struct kl_blocks *b, struct kl_kernel_range memory, uint8_t **data)
{
	int ret;

	*data = NULL;
	if (!memory.bytes)
		return 0;
	if (memory.bytes > TABLE_MAX)
		return kl_fail(EINVAL, "invalid size of a kernel table: %llu bytes",
			       (unsigned long long)memory.bytes);
	*data = malloc(memory.bytes);
	if (!*data)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_text_read(b, memory.address, *data, memory.bytes);
	if (!ret)
		return 0;
	free(*data);
	*data = NULL;
	return ret;
}

/* Rows of @row bytes whose first word is relative to itself, as is the second if @has_target. */
static int load_relative(struct kl_blocks *b, struct kl_kernel_range memory, size_t row,
			 enum kl_block_reason reason, bool has_target)
{
	uint8_t *table;
	int ret = read_memory(b, memory, &table);

	for (size_t at = 0; table && !ret && at + row <= memory.bytes; at += row) {
		uint64_t place = memory.address + at;

		ret = add_mark(b, place + (int32_t)kl_get32(table + at), reason);
		place += 4;
		if (!ret && has_target)
			ret = kl_set_add(&b->leader, place + (int32_t)kl_get32(table + at + 4));
	}
	free(table);
	return ret;
}

/*
 * The kernel's list of functions that probes must not touch, as in kernel/kprobes.c: each entry is
 * a list head, then the first address and the end address.
 */
static int load_blacklist(struct kl_blocks *b)
{
	uint64_t entry[4], head, at;
	int ret;

	if (!find_symbol(b, "kprobe_blacklist", &head))
		return 0;
	ret = kl_text_read(b, head, &at, sizeof(at));
	for (int i = 0; !ret && at && at != head && i < BLACKLIST_MAX; i++) {
		ret = kl_text_read(b, at, entry, sizeof(entry));
		at = entry[0];
		if (!ret && is_text(b, entry[2]) && entry[3] > entry[2])
			ret = add_range(b, entry[2], entry[3], KL_BLOCK_kprobe_blacklist);
	}
	return ret;
}

static int load_sections(struct kl_blocks *b)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(sections); i++) {
		uint64_t begin, end;
		int ret;

		if (!find_symbol(b, sections[i].begin, &begin) ||
		    !find_symbol(b, sections[i].end, &end))
			continue;
		ret = add_range(b, begin, end, sections[i].reason);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Words of read-only data that are addresses inside the text. At the start of a function they are
 * nothing new; at another instruction they may be jump targets. Other data may look like that, too.
 */
static int load_code_pointers(struct kl_blocks *b, struct kl_kernel_range memory)
{
	uint8_t *table;
	int ret = read_memory(b, memory, &table);

	for (size_t at = 0; table && !ret && at + 8 <= memory.bytes; at += 8) {
		uint64_t word = kl_get64(table + at);

		if (is_text(b, word))
			ret = kl_set_add(&b->word, word);
	}
	free(table);
	return ret;
}

/*
 * On a machine that booted with one processor, lock prefixes are patched out of the text and return
 * with the second processor. The kernel records whether they are.
 */
static int load_locks(struct kl_blocks *b)
{
	uint64_t address;
	uint8_t patched = 0;
	int ret = 0;

	if (find_symbol(b, "uniproc_patched", &address))
		ret = kl_text_read(b, address, &patched, sizeof(patched));
	if (ret || !patched)
		return ret;
	return load_relative(b, between(b, "__smp_locks", "__smp_locks_end"), 4, KL_BLOCK_smp_lock,
			     false);
}

static int compare_marks(const void *left, const void *right)
{
	const struct kl_mark *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void sort_marks(struct kl_blocks *b)
{
	if (b->marks)
		qsort(b->mark, b->marks, sizeof(*b->mark), compare_marks);
}

/*
 * The rows are those of include/linux/jump_label.h, static_call_types.h and asm/extable.h. Those of
 * BUG() and WARN() are not needed: their instructions are like no others.
 */
static int load_instructions(struct kl_blocks *b, struct kl_kernel_range jumps,
			     struct kl_kernel_range static_calls, struct kl_kernel_range exceptions)
{
	int ret = load_relative(b, jumps, 16, KL_BLOCK_jump_label, true);

	if (!ret)
		ret = load_relative(b, static_calls, 8, KL_BLOCK_static_call, false);
	return ret ?: load_relative(b, exceptions, 12, KL_BLOCK_exception_table, true);
}

int kl_tables_load(struct kl_blocks *b)
{
	int ret = load_instructions(b, between(b, "__start___jump_table", "__stop___jump_table"),
				    between(b, "__start_static_call_sites",
					    "__stop_static_call_sites"),
				    between(b, "__start___ex_table", "__stop___ex_table"));

	if (!ret)
		ret = load_locks(b);
	if (!ret)
		ret = load_sections(b);
	if (!ret)
		ret = load_blacklist(b);
	if (!ret)
		ret = load_code_pointers(b, between(b, "__start_rodata", "__end_rodata"));
	sort_marks(b);
	return ret;
}

/* Lock prefixes of modules are unknown: where they are patched, the module refuses all splices. */
int kl_tables_load_module(struct kl_blocks *b, const struct kl_module_tables *t)
{
	int ret = load_instructions(b, t->jumps, t->static_calls, t->exceptions);

	if (!ret && t->noinstr.bytes)
		ret = add_range(b, t->noinstr.address, t->noinstr.address + t->noinstr.bytes,
				KL_BLOCK_noinstr);
	if (!ret)
		ret = load_blacklist(b);
	for (size_t i = 0; !ret && i < KL_ARRAY_SIZE(t->data); i++)
		ret = load_code_pointers(b, t->data[i]);
	sort_marks(b);
	return ret;
}

/* The first mark in [@begin, @end); NULL: none. */
const struct kl_mark *kl_mark_within(const struct kl_blocks *b, uint64_t begin, uint64_t end)
{
	size_t i = kl_rows_from(b->mark, b->marks, sizeof(*b->mark), begin);

	return i < b->marks && b->mark[i].address < end ? &b->mark[i] : NULL;
}
