// SPDX-License-Identifier: GPL-2.0
/*
 * The map of a module's text, created by the first request for a splice in it. The module is held,
 * and cannot be unloaded, until the last one is removed. Under kl_splice_lock.
 */
#include <linux/cpumask.h>
#include <linux/extable.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "../core/session.h"
#include "kernel.h"
#include "map.h"

#ifdef KL_HAVE_MODULE_MEM
static void find_text(struct kl_map_part *part)
{
	part->begin = (unsigned long)part->module->mem[MOD_TEXT].base;
	part->bytes = part->module->mem[MOD_TEXT].size;
}

static void load_words(const struct module *module)
{
	static const enum mod_mem_type types[] = { MOD_RODATA, MOD_RO_AFTER_INIT, MOD_DATA };

	for (int i = 0; i < ARRAY_SIZE(types); i++) {
		const struct module_memory *memory = &module->mem[types[i]];

		kl_map_load_words(memory->base, memory->base + memory->size);
	}
}
#else
static void find_text(struct kl_map_part *part)
{
	part->begin = (unsigned long)part->module->core_layout.base;
	part->bytes = part->module->core_layout.text_size;
}

static void load_words(const struct module *module)
{
	const struct module_layout *layout = &module->core_layout;

	kl_map_load_words(layout->base + layout->text_size, layout->base + layout->size);
}
#endif

/* Only the symbols that remain after the module's initialization. */
static void load_symbols(struct kl_map_part *part)
{
	const struct mod_kallsyms *symbols = &part->module->core_kallsyms;

	for (u32 i = 0; i < symbols->num_symtab; i++)
		if (symbols->symtab[i].st_value - part->begin < part->bytes)
			kl_map_set(KL_MAP_START, symbols->symtab[i].st_value);
	for (u32 i = 0; i < symbols->num_symtab; i++)
		if (symbols->symtab[i].st_value - part->begin < part->bytes)
			kl_map_exclude_name(symbols->strtab + symbols->symtab[i].st_name,
					    symbols->symtab[i].st_value);
}

static void load_tables(struct kl_map_part *part)
{
	const struct module *m = part->module;
	unsigned long kept = (unsigned long)m->noinstr_text_start;

	kl_map_load_relative(m->jump_entries, m->num_jump_entries * sizeof(*m->jump_entries),
			     sizeof(*m->jump_entries), true);
	kl_map_load_relative(m->static_call_sites,
			     m->num_static_call_sites * sizeof(*m->static_call_sites),
			     sizeof(*m->static_call_sites), false);
	kl_map_load_relative(m->extable, m->num_exentries * sizeof(*m->extable),
			     sizeof(*m->extable), true);
	kl_map_exclude_in(part, kept, kept + m->noinstr_text_size);
	load_words(m);
}

/*
 * Exclude this module; and, where a second CPU may bring back lock prefixes, all modules, as
 * theirs are not known.
 */
static bool is_out_of_reach(const struct module *module)
{
	return module == THIS_MODULE || (kl_kernel_is_uniprocessor() && num_possible_cpus() > 1);
}

static int load(struct kl_map_part *part)
{
	int error;

	find_text(part);
	error = kl_map_part_alloc(part);
	if (error)
		return error;
	list_add_tail(&part->list, &kl_map.modules);
	load_symbols(part);
	load_tables(part);
	kl_map_load_blacklist(part);
	if (is_out_of_reach(part->module))
		kl_map_exclude_in(part, part->begin, part->begin + part->bytes);
	return kl_map_load_text(part);
}

static void forget(struct kl_map_part *part)
{
	struct module *module = part->module;

	if (part->list.next)
		list_del(&part->list);
	kl_map_part_free(part);
	kfree(part);
	module_put(module);
}

/* Find and hold the module whose text contains an address; NULL if none can be held. */
static struct module *hold(unsigned long address)
{
	struct module *module;

	preempt_disable(); /* no module is freed meanwhile */
	module = KL_CALL(__module_text_address)(address);
	if (module && (module->state != MODULE_STATE_LIVE || !try_module_get(module)))
		module = NULL;
	preempt_enable();
	return module;
}

/**
 * kl_map_load_module - create the map of the module that contains an address
 * @address: any; if no module contains it, later lookups in the map fail
 * @why: set on failure
 *
 * After kl_map_load(). Returns 0 or a negative errno, as kl_map_load_text(). Context: may sleep.
 */
int kl_map_load_module(unsigned long address, struct kl_error *why)
{
	struct kl_map_part *part;
	struct module *module;
	int error;

	if (kl_map_has(address))
		return 0;
	module = hold(address);
	if (!module)
		return 0;
	part = kzalloc(sizeof(*part), GFP_KERNEL);
	if (!part) {
		module_put(module);
		return kl_fail(why, -ENOMEM, "no memory for a map of a module's text");
	}
	part->module = module;
	error = load(part);
	if (!error)
		return 0;
	forget(part);
	return error == -ENOMEM ? kl_fail(why, error, "no memory for a map of a module's text") :
				  error;
}

/**
 * kl_map_prune - free the maps of unused modules, and release these
 * @used: is anything spliced in a range?
 */
void kl_map_prune(bool (*used)(unsigned long begin, unsigned long end))
{
	struct kl_map_part *part, *next;

	list_for_each_entry_safe(part, next, &kl_map.modules, list)
		if (!used(part->begin, part->begin + part->bytes))
			forget(part);
}
