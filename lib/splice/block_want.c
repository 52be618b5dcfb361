// SPDX-License-Identifier: GPL-2.0
/*
 * Parses how users name blocks: [MODULE:]FUNCTION[+OFFSET|#NUMBER], where FUNCTION may be a
 * pattern. Finds the matching functions and blocks, for counting and for events.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/splice.h>
#include "../base/base.h"
#include "block_want.h"

int kl_block_want_take(struct kl_block_want *want, const char *text)
{
	char *at, *rest = NULL;

	*want = (struct kl_block_want){ .pattern = strdup(text) };
	if (!want->pattern)
		return -ENOMEM;
	at = strrchr(want->pattern, ':');
	if (at && (!strcmp(at, ":post") || !strcmp(at, ":pre"))) {
		want->behind = !strcmp(at, ":post");
		*at = '\0';
	}
	at = strpbrk(want->pattern, "+#");
	if (at) {
		want->at_offset = *at == '+';
		want->at_number = *at == '#';
		*at++ = '\0';
		want->number = strtoull(at, &rest, 0);
	}
	if (*want->pattern && (!at || (isdigit((unsigned char)*at) && !*rest)))
		return 0;
	kl_block_want_free(want);
	return -EINVAL;
}

int kl_block_want_parse(struct kl_block_want *want, const char *text)
{
	int ret = kl_block_want_take(want, strncmp(text, "block:", 6) ? text : text + 6);
	const char *colon = ret ? NULL : strchr(want->pattern, ':');

	if (ret == -ENOMEM)
		return kl_fail(ENOMEM, "out of memory");
	if (!ret && (!colon || (colon > want->pattern && colon[1] && !strchr(colon + 1, ':'))))
		return 0;
	kl_block_want_free(want);
	return kl_fail(EINVAL,
		       "invalid block \"%s\"; expected [MODULE:]FUNCTION[+OFFSET|#NUMBER][:post]",
		       text);
}

void kl_block_want_free(struct kl_block_want *want)
{
	free(want->pattern);
	want->pattern = NULL;
}

bool kl_block_want_fits(const struct kl_block_want *want, const struct kl_block_graph *graph,
			uint32_t block)
{
	if (want->at_offset)
		return graph->block[block].begin == want->number;
	return !want->at_number || want->number == block;
}

/*
 * The next matching function. Modules come after the kernel by address: a plain name refers to the
 * kernel's function if there is one. @own: in and out: the kernel has it.
 */
static bool next_symbol(const struct kl_block_want *want, const struct kl_symbols *symbols,
			size_t *position, bool *own, struct kl_symbol *symbol)
{
	bool several = strpbrk(want->pattern, "*?[");

	while (kl_symbols_next(symbols, want->pattern, true, position, symbol)) {
		*own |= !*symbol->module;
		if (!*symbol->module || !*own || several)
			return true;
	}
	return false;
}

int kl_block_want_load(const struct kl_block_want *want, const struct kl_symbols *symbols,
		       struct kl_blocks *blocks)
{
	bool several = strpbrk(want->pattern, "*?["), own = false;
	struct kl_symbol symbol;
	size_t position = 0;
	int ret = 0;

	/* A pattern may also match text that belongs to no module, such as BPF programs. */
	while (!ret && next_symbol(want, symbols, &position, &own, &symbol))
		if (*symbol.module && kl_blocks_add_module(blocks, symbol.module) && !several)
			ret = -ENOENT;
	return ret;
}

/* Report what is wrong with a name that matches no function. */
static int fail_name(const struct kl_block_want *want, const struct kl_symbols *symbols,
		     const struct kl_blocks *blocks)
{
	struct kl_symbol symbol;
	int ret = kl_symbols_find(symbols, want->pattern, &symbol);
	long found;

	if (ret < 0)
		return ret;
	found = kl_blocks_find(blocks, symbol.address);
	return found < 0 ? (int)found : -ENOENT;
}

int kl_block_want_visit(const struct kl_block_want *want, const struct kl_symbols *symbols,
			struct kl_blocks *blocks, int (*visit)(void *context, size_t function),
			void *context)
{
	struct kl_symbol symbol;
	size_t position = 0;
	bool named = false, own = false;
	long last = -1;
	int ret = kl_block_want_load(want, symbols, blocks);

	while (ret >= 0 && next_symbol(want, symbols, &position, &own, &symbol)) {
		/* Some kernels still have symbols of text that was freed after boot. */
		long function = kl_blocks_find(blocks, symbol.address);

		named |= function >= 0 || !*symbol.module;
		if (function >= 0 && function != last)
			ret = visit(context, function);
		last = function;
	}
	if (ret >= 0 && !named)
		ret = fail_name(want, symbols, blocks);
	return ret;
}
