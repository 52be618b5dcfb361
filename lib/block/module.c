// SPDX-License-Identifier: GPL-2.0
/*
 * The text of a loaded module: where it is, and the module's part of the kernel's tables. Both come
 * from the kernel's struct module, whose layout is in the kernel's type information (BTF).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/btf.h>

#include "../base/base.h"
#include "block.h"

#define TEXT_MAX (64u << 20)
#define TYPES_MAX (64u << 20)

/* A struct in the kernel's memory: its address and type. */
struct object {
	const struct kl_blocks *b;
	const struct kl_btf *btf;
	uint32_t type;
	uint64_t address;
};

/* The kernel's type information is in its own memory. */
int kl_types_open(struct kl_blocks *kernel)
{
	struct kl_symbol begin = {}, end = {};
	uint64_t bytes;
	uint8_t *data;
	int ret;

	if (kernel->btf)
		return 0;
	if (!kl_symbols_lookup(kernel->symbols, "kernel:__start_BTF", &begin) ||
	    !kl_symbols_lookup(kernel->symbols, "kernel:__stop_BTF", &end) ||
	    end.address <= begin.address || end.address - begin.address > TYPES_MAX)
		return kl_fail(ENOENT, "blocks of modules require a kernel with BTF");
	bytes = end.address - begin.address;
	data = malloc(bytes);
	if (!data)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_text_read(kernel, begin.address, data, bytes);
	if (!ret) {
		kernel->btf = kl_btf_parse(data, bytes, NULL);
		ret = kernel->btf ? 0 : -errno;
	}
	free(data);
	return ret;
}

/*
 * Enter a member that is a struct, or element @index of an array of structs. False: no such member.
 */
static bool enter(const struct object *o, const char *name, unsigned int index, struct object *to)
{
	struct kl_btf_member member;
	uint32_t type;

	if (kl_btf_member_find(o->btf, o->type, name, &member))
		return false;
	type = kl_btf_resolve(o->btf, member.type);
	*to = *o;
	to->address += member.bit_offset / 8;
	if (kl_btf_kind(o->btf, type) == KL_BTF_ARRAY) {
		type = kl_btf_resolve(o->btf, kl_btf_target(o->btf, type));
		to->address += index * kl_btf_bytes(o->btf, type);
	}
	to->type = type;
	return true;
}

/* Read a member that is a number or an address. */
static int read_member(const struct object *o, const char *name, uint64_t *value)
{
	struct kl_btf_member member;
	uint64_t bytes;

	*value = 0;
	if (kl_btf_member_find(o->btf, o->type, name, &member))
		return kl_fail(ENOENT, "this kernel's struct %s has no member %s",
			       kl_btf_name(o->btf, o->type), name);
	bytes = kl_btf_bytes(o->btf, member.type);
	if (bytes > sizeof(*value))
		return kl_fail(EINVAL, "%s is not a number", name);
	return kl_text_read(o->b, o->address + member.bit_offset / 8, value, bytes);
}

/* Read an array's address and number of rows from two members. */
static int read_rows(const struct object *o, const char *at, const char *n, uint64_t row,
		     struct kl_kernel_range *to)
{
	int ret = read_member(o, at, &to->address);

	if (!ret)
		ret = read_member(o, n, &to->bytes);
	to->bytes *= row;
	return ret;
}

/* Since 6.4 there are separate kinds of memory: text, data, read-only, read-only after init. */
static int read_kinds(const struct object *module, struct kl_kernel_range *text,
		      struct kl_kernel_range *data)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct object memory;
		int ret;

		if (!enter(module, "mem", i, &memory))
			return kl_fail(ENOENT, "this kernel's struct module has no member mem");
		ret = read_rows(&memory, "base", "size", 1, i ? &data[i] : text);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_memory(const struct object *module, struct kl_kernel_range *text,
		       struct kl_kernel_range *data)
{
	struct object layout;
	int ret;

	if (!enter(module, "core_layout", 0, &layout))
		return read_kinds(module, text, data);
	ret = read_rows(&layout, "base", "text_size", 1, text);
	if (!ret)
		ret = read_rows(&layout, "base", "size", 1, data);
	if (!ret && data->bytes < text->bytes)
		ret = kl_fail(EINVAL, "invalid module layout: the text is larger than the module");
	data->address += text->bytes;
	data->bytes -= text->bytes;
	return ret;
}

/* The row sizes are those in table.c. */
static int read_tables(const struct object *module, struct kl_module_tables *t)
{
	int ret = read_rows(module, "jump_entries", "num_jump_entries", 16, &t->jumps);

	if (!ret)
		ret = read_rows(module, "static_call_sites", "num_static_call_sites", 8,
				&t->static_calls);
	if (!ret)
		ret = read_rows(module, "extable", "num_exentries", 12, &t->exceptions);
	if (!ret)
		ret = read_rows(module, "noinstr_text_start", "noinstr_text_size", 1, &t->noinstr);
	return ret;
}

static int load_text(struct kl_blocks *b, const struct kl_kernel_range *text)
{
	if (!text->bytes || text->bytes > TEXT_MAX)
		return kl_fail(EINVAL, "invalid text size of %s: %llu bytes", b->module,
			       (unsigned long long)text->bytes);
	b->begin = text->address;
	b->end = text->address + text->bytes;
	/* The decoder may read ahead. */
	b->text = calloc(1, text->bytes + ZYDIS_MAX_INSTRUCTION_LENGTH);
	if (!b->text)
		return kl_fail(ENOMEM, "out of memory");
	return kl_text_read(b, b->begin, b->text, text->bytes);
}

static int load(struct kl_blocks *b)
{
	struct kl_module_tables tables = {};
	struct kl_kernel_range text = {};
	struct object module = { .b = b, .btf = b->kernel->btf };
	struct kl_symbol symbol = {};
	char full[128];
	int ret = kl_btf_find(module.btf, "module", KL_BTF_BIT(KL_BTF_STRUCT));

	snprintf(full, sizeof(full), "%s:__this_module", b->module);
	if (ret < 0 || !kl_symbols_lookup(b->symbols, full, &symbol))
		return kl_fail(ENOENT, "the kernel does not show the address of module %s",
			       b->module);
	module.type = ret;
	module.address = symbol.address;
	ret = read_memory(&module, &text, tables.data);
	if (!ret)
		ret = read_tables(&module, &tables);
	if (!ret)
		ret = load_text(b, &text);
	if (!ret)
		ret = kl_tables_load_module(b, &tables);
	if (!ret)
		ret = kl_functions_load(b);
	return ret ?: kl_world_load(b);
}

static struct kl_blocks *create(struct kl_blocks *kernel, const char *name)
{
	struct kl_blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->fd = -1;
	b->kernel = kernel;
	b->symbols = kernel->symbols;
	b->decoder = kernel->decoder;
	memcpy(b->return_thunk, kernel->return_thunk, sizeof(b->return_thunk));
	b->return_thunks = kernel->return_thunks;
	b->tracked = kernel->tracked;
	b->module = strdup(name);
	if (b->module)
		return b;
	kl_blocks_close(b);
	return NULL;
}

/* Add a module. Its functions are numbered after all others. Adding it again has no effect. */
int kl_module_add(struct kl_blocks *kernel, const char *name)
{
	struct kl_blocks **grown, *b;
	int ret;

	for (size_t i = 0; i < kernel->modules; i++)
		if (!strcmp(kernel->added[i]->module, name))
			return 0;
	ret = kl_types_open(kernel);
	if (ret)
		return ret;
	grown = kl_array_grow(kernel->added, kernel->modules, &kernel->added_capacity,
			      sizeof(struct kl_blocks *));
	b = grown ? create(kernel, name) : NULL;
	if (grown)
		kernel->added = grown;
	if (!b)
		return kl_fail(ENOMEM, "out of memory");
	ret = load(b);
	if (ret)
		kl_blocks_close(b);
	else
		kernel->added[kernel->modules++] = b;
	return ret;
}
