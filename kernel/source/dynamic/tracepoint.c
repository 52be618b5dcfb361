// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that are tracepoints, found by name: those of the kernel and of modules, which
 * may be loaded and unloaded. `modules_lock` guards the list of modules that have tracepoints; it
 * is the innermost of the module's own locks.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "../../compat/preempt.h"
#include "../../handler/dispatch.h"
#include "../hub.h"
#include "../source.h"
#include "kinds.h"

#define TRACEPOINT_NAME_MAX 256 /* including the NUL */
#define REGISTER_ARGUMENTS 5 /* besides the definition, which is passed first */

/* ------------------------------------------------------------------- probes */

/*
 * A probe is called with the tracepoint's own arguments, whose number and types it does not know.
 * By the x86-64 calling convention each integer or pointer takes a register, then 8 bytes of the
 * stack; the upper part of one smaller than 8 bytes is undefined, so programs mask it.
 *
 * Reading more arguments than were passed reads stale registers, or further up the stack, where
 * there is always something mapped: the caller's frame and, at the top of the stack, the saved
 * registers of the kernel's entry. Such a value is used only if a program reads an argument that
 * the tracepoint does not have. The library emits no such program, and it could show no more than
 * LOAD does, which needs the same capabilities.
 */
static void probe_registers(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4)
{
	const struct kl_dynevent *d = data;
	u64 argument[REGISTER_ARGUMENTS];

	kl_probe_begin();
	if (d->arguments) {
		argument[0] = a0;
		argument[1] = a1;
		argument[2] = a2;
		argument[3] = a3;
		argument[4] = a4;
	}
	kl_fire_dynevent(d->session, d->id, d->program, argument, d->arguments);
	kl_probe_end();
}

static void probe_stack(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7,
			u64 a8, u64 a9, u64 a10, u64 a11)
{
	const struct kl_dynevent *d = data;
	const u64 argument[] = { a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11 };

	static_assert(ARRAY_SIZE(argument) == KL_DEFINED_ARGUMENTS_MAX);
	kl_probe_begin();
	kl_fire_dynevent(d->session, d->id, d->program, argument, d->arguments);
	kl_probe_end();
}

static void *probe_of(const struct kl_dynevent *d)
{
	return d->arguments > REGISTER_ARGUMENTS ? (void *)probe_stack : (void *)probe_registers;
}

/* ------------------------------------------------------------------ modules */

struct module_entry {
	struct list_head list;
	struct module *module;
};

static DEFINE_MUTEX(modules_lock);
static LIST_HEAD(modules);

static struct tracepoint *find_in_module(const struct module *module, const char *name)
{
	for (u32 i = 0; i < module->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&module->tracepoints_ptrs[i]);

		if (!strcmp(tp->name, name))
			return tp;
	}
	return NULL;
}

static struct tracepoint *find(const char *name)
{
	struct tracepoint *tp = kl_tracepoint_find(name);
	struct module_entry *entry;

	if (tp)
		return tp;
	mutex_lock(&modules_lock);
	list_for_each_entry(entry, &modules, list) {
		tp = find_in_module(entry->module, name);
		if (tp)
			break;
	}
	mutex_unlock(&modules_lock);
	return tp;
}

static void attach_to_module(struct kl_dynevent_table *table, void *data)
{
	const struct module *module = data;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;

	for_each_defined(table, batch, d) {
		if (d->kind != KL_SOURCE_KIND_TRACEPOINT || d->tracepoint.tp)
			continue;
		d->tracepoint.tp = find_in_module(module, d->tracepoint.name);
		if (!d->tracepoint.tp || !d->attached)
			continue;
		if (kl_hub_attach(d->session, d->tracepoint.tp, probe_of(d), d)) {
			pr_warn("kernlens: cannot reattach to tracepoint %s\n", d->tracepoint.name);
			d->tracepoint.tp = NULL;
		}
	}
}

static void detach_from_module(struct kl_dynevent_table *table, void *data)
{
	const struct module *module = data;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;

	for_each_defined(table, batch, d) {
		if (d->kind != KL_SOURCE_KIND_TRACEPOINT || !d->tracepoint.tp ||
		    !within_module((unsigned long)d->tracepoint.tp, module))
			continue;
		if (d->attached)
			kl_hub_detach(d->session, d->tracepoint.tp, probe_of(d), d);
		d->tracepoint.tp = NULL;
	}
}

static void add_module(struct module *module)
{
	struct module_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	/* Its tracepoints are unusable then, and requests for them fail. */
	if (!entry)
		return;
	entry->module = module;
	mutex_lock(&modules_lock);
	list_add(&entry->list, &modules);
	mutex_unlock(&modules_lock);
	kl_dynevent_visit_tables(attach_to_module, module);
}

static void remove_module(struct module *module)
{
	struct module_entry *entry, *next;

	mutex_lock(&modules_lock);
	list_for_each_entry_safe(entry, next, &modules, list) {
		if (entry->module != module)
			continue;
		list_del(&entry->list);
		kfree(entry);
	}
	mutex_unlock(&modules_lock);
	kl_dynevent_visit_tables(detach_from_module, module);
}

/* Called under the kernel's lock of such modules, also for those that are already loaded. */
static int on_module(struct notifier_block *block, unsigned long state, void *data)
{
	struct tp_module *tp_module = data;

	if (state == MODULE_STATE_COMING)
		add_module(tp_module->mod);
	else if (state == MODULE_STATE_GOING)
		remove_module(tp_module->mod);
	return NOTIFY_DONE;
}

static struct notifier_block module_block = { .notifier_call = on_module };

/**
 * kl_dynevent_tracepoints_init - watch the modules that have tracepoints
 *
 * Returns 0 or a negative errno.
 */
int kl_dynevent_tracepoints_init(void)
{
	return register_tracepoint_module_notifier(&module_block);
}

/**
 * kl_dynevent_tracepoints_deinit - undo kl_dynevent_tracepoints_init
 */
void kl_dynevent_tracepoints_deinit(void)
{
	/*
	 * The kernel reports the removal of each module that it reported before, so the list is
	 * empty.
	 */
	unregister_tracepoint_module_notifier(&module_block);
}

/* ----------------------------------------------------------------- the kind */

static int create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		  struct kl_error *why)
{
	/* CFI traps an indirect call of a function whose type differs. */
	if (IS_ENABLED(CONFIG_CFI_CLANG))
		return kl_fail(
			why, -EOPNOTSUPP,
			"tracepoints are unavailable: the kernel checks indirect calls (CFI)");
	if (!params->name || !params->name[0])
		return kl_fail(why, -EINVAL, "a tracepoint requires a name");
	if (params->address || params->arg)
		return kl_fail(why, -EINVAL, "a tracepoint takes only a name");
	d->tracepoint.name = kstrdup(params->name, GFP_KERNEL_ACCOUNT);
	if (!d->tracepoint.name)
		return kl_fail(why, -ENOMEM, "no memory for a tracepoint's name");
	return 0;
}

static void destroy(struct kl_dynevent *d)
{
	kfree(d->tracepoint.name);
}

static int resolve(struct kl_dynevent *d, struct kl_error *why)
{
	d->tracepoint.tp = find(d->tracepoint.name);
	cond_resched();
	if (!d->tracepoint.tp)
		return kl_fail(why, -ENOENT,
			       "no tracepoint %s in the kernel and its loaded modules",
			       d->tracepoint.name);
	return 0;
}

static int attach(struct kl_dynevent *d, struct kl_error *why)
{
	int error;

	/* Its module is not loaded: the probe is attached when the module is loaded again. */
	if (!d->tracepoint.tp)
		return 0;
	error = kl_hub_attach(d->session, d->tracepoint.tp, probe_of(d), d);
	if (error)
		return kl_fail(why, error, "cannot attach to tracepoint %s", d->tracepoint.name);
	return 0;
}

static void detach(struct kl_dynevent *d)
{
	if (d->tracepoint.tp)
		kl_hub_detach(d->session, d->tracepoint.tp, probe_of(d), d);
}

const struct kl_dynevent_kind kl_dynevent_tracepoint = {
	.arguments = KL_DEFINED_ARGUMENTS_MAX,
	.name_max = TRACEPOINT_NAME_MAX,
	.create = create,
	.destroy = destroy,
	.resolve = resolve,
	.attach = attach,
	.detach = detach,
};
