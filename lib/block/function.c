// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of the kernel's text: each begins at a symbol and ends at the next one. Functions
 * that are excluded as a whole get their reason.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/names.h"
#include "block.h"

/* Functions excluded by name, where no section or list of the kernel has them. */
static const struct {
	const char *pattern;
	enum kl_block_reason reason;
} names[] = {
#define KL_TEXT_SECTION(begin, end, reason)
#define KL_TEXT_NAME(pattern, reason) { pattern, KL_BLOCK_##reason },
#include "../../uapi/block_text.def"
#undef KL_TEXT_NAME
#undef KL_TEXT_SECTION
};

static uint8_t reason_of_name(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (kl_name_fits(names[i].pattern, name))
			return names[i].reason;
	return 0;
}

/* Functions in a range have its reason; where ranges overlap, the first one counts. */
static void exclude_ranges(struct kl_blocks *b)
{
	for (size_t r = b->ranges; r-- > 0;) {
		const struct kl_range *range = &b->range[r];
		size_t i =
			kl_rows_from(b->function, b->functions, sizeof(*b->function), range->begin);

		if (i && b->function[i - 1].address + b->function[i - 1].bytes > range->begin)
			i--;
		for (; i < b->functions && b->function[i].address < range->end; i++)
			b->function[i].reason = range->reason;
	}
}

/* The nops before a function are not a function, but they end the previous one. */
static bool is_prefix(const char *name)
{
	return !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6);
}

static bool is_return_thunk(const char *name)
{
	return !strcmp(name, "__x86_return_thunk") || !strcmp(name, "retbleed_return_thunk") ||
	       !strcmp(name, "srso_return_thunk") || !strcmp(name, "srso_alias_return_thunk") ||
	       !strcmp(name, "its_return_thunk");
}

static int add_function(struct kl_blocks *b, const struct kl_symbol *symbol)
{
	struct kl_function_entry *grown;

	if (is_return_thunk(symbol->name) && b->return_thunks < KL_ARRAY_SIZE(b->return_thunk))
		b->return_thunk[b->return_thunks++] = symbol->address;
	/* Any of its aliases may give the reason. */
	if (b->functions && b->function[b->functions - 1].address == symbol->address) {
		struct kl_function_entry *same = &b->function[b->functions - 1];

		if (is_prefix(symbol->name))
			same->name = symbol->name;
		if (!same->reason)
			same->reason = reason_of_name(symbol->name);
		return 0;
	}
	grown = kl_array_grow(b->function, b->functions, &b->function_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->function = grown;
	grown[b->functions++] = (struct kl_function_entry){
		.address = symbol->address,
		.name = symbol->name,
		.reason = reason_of_name(symbol->name),
	};
	return 0;
}

int kl_functions_load(struct kl_blocks *b)
{
	struct kl_symbol symbol;
	size_t position = 0, kept = 0;

	while (kl_symbols_next(b->symbols, NULL, false, &position, &symbol)) {
		if (strcmp(symbol.module, b->module) != 0 || symbol.address < b->begin ||
		    symbol.address >= b->end)
			continue;
		if (add_function(b, &symbol))
			return -ENOMEM;
	}
	if (!b->functions)
		return kl_fail(EINVAL, "the text of %s has no symbols",
			       b->kernel ? b->module : "the kernel");
	for (size_t i = 0; i < b->functions; i++) {
		uint64_t end = i + 1 < b->functions ? b->function[i + 1].address : b->end;

		b->function[i].bytes = end - b->function[i].address;
	}
	for (size_t i = 0; i < b->functions; i++) {
		if (is_prefix(b->function[i].name))
			continue;
		b->function[kept++] = b->function[i];
	}
	b->functions = kept;
	exclude_ranges(b);
	if (!strcmp(b->module, "kernlens"))
		for (size_t i = 0; i < b->functions; i++)
			b->function[i].reason = KL_BLOCK_own;
	return 0;
}

/* Index of the function that contains an address, or -1. */
long kl_function_at(const struct kl_blocks *b, uint64_t address)
{
	size_t i = kl_rows_from(b->function, b->functions, sizeof(*b->function), address + 1);

	if (!i || address - b->function[i - 1].address >= b->function[i - 1].bytes)
		return -1;
	return i - 1;
}

/* The function that contains an address, in a module or in the kernel; NULL: none. */
const struct kl_function_entry *kl_function_entry_at(const struct kl_blocks *b, uint64_t address)
{
	long index = kl_function_at(b, address);

	if (index < 0 && b->kernel) {
		b = b->kernel;
		index = kl_function_at(b, address);
	}
	return index < 0 ? NULL : &b->function[index];
}
