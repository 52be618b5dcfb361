// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that a breakpoint runs through before its handler knows whose it is. They must not
 * be spliced. As in the module, these are the functions that uapi/block_breakpoint.def names and
 * everything called from there, up to functions that probes must not touch anyway.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

static const struct {
	const char *name;
	bool leaf;
} names[] = {
#define KL_BREAKPOINT_ROOT(name) { #name, false },
#define KL_BREAKPOINT_LEAF(name) { #name, true },
#include "../../uapi/block_breakpoint.def"
#undef KL_BREAKPOINT_LEAF
#undef KL_BREAKPOINT_ROOT
};

/* Indices of functions, without duplicates. */
struct path {
	uint32_t *function;
	size_t n;
	size_t capacity;
	size_t roots; /* the callees of the first @roots are always followed */
};

static int add(struct path *path, long function)
{
	uint32_t *grown;

	for (size_t i = 0; i < path->n; i++)
		if (path->function[i] == function)
			return 0;
	grown = kl_array_grow(path->function, path->n, &path->capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	path->function = grown;
	grown[path->n++] = function;
	return 0;
}

static long find(const struct kl_blocks *b, const char *name)
{
	struct kl_symbol symbol = {};
	char full[64];

	snprintf(full, sizeof(full), "kernel:%s", name);
	if (!kl_symbols_lookup(b->symbols, full, &symbol))
		return -1;
	return kl_function_at(b, symbol.address);
}

static bool is_leaf(const struct kl_blocks *b, uint32_t function)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (names[i].leaf && find(b, names[i].name) == function)
			return true;
	return false;
}

static bool is_return(const struct kl_blocks *b, uint64_t target)
{
	for (size_t i = 0; i < b->return_thunks; i++)
		if (b->return_thunk[i] == target)
			return true;
	return false;
}

/* Add the functions that a function calls or jumps to. */
static int add_callees(const struct kl_blocks *b, struct path *path, uint32_t function)
{
	const struct kl_function_entry *f = &b->function[function];
	uint64_t end = f->address + f->bytes;
	struct kl_block_instruction in;
	struct kl_taken taken;
	int ret = 0;

	for (uint64_t at = f->address; !ret && at < end; at += in.bytes) {
		long callee;

		if (!kl_decode_shape(b, at, end - at, &in, &taken))
			break;
		if (!in.target || (in.target >= f->address && in.target < end) ||
		    is_return(b, in.target))
			continue;
		callee = in.target >= b->begin && in.target < b->end ?
				 kl_function_at(b, in.target) :
				 -1;
		if (callee >= 0)
			ret = add(path, callee);
	}
	return ret;
}

/* Are probes excluded from a function anyway? */
static bool is_excluded(const struct kl_blocks *b, uint32_t function)
{
	const struct kl_function_entry *f = &b->function[function];

	return f->reason || kl_mark_within(b, f->address, f->address + 1);
}

/* Exclude these functions from splicing. */
int kl_breakpoints_load(struct kl_blocks *b)
{
	struct path path = {};
	int ret = 0;

	for (size_t i = 0; !ret && i < KL_ARRAY_SIZE(names); i++) {
		long root = names[i].leaf ? -1 : find(b, names[i].name);

		if (root >= 0)
			ret = add(&path, root);
	}
	path.roots = path.n;
	for (size_t i = 0; !ret && i < path.n; i++)
		if (!is_leaf(b, path.function[i]) &&
		    (i < path.roots || !is_excluded(b, path.function[i])))
			ret = add_callees(b, &path, path.function[i]);
	for (size_t i = 0; !ret && i < path.n; i++)
		if (!b->function[path.function[i]].reason)
			b->function[path.function[i]].reason = KL_BLOCK_die_chain;
	free(path.function);
	return ret ? kl_fail(ENOMEM, "out of memory") : 0;
}
