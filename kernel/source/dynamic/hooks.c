// SPDX-License-Identifier: GPL-2.0
/*
 * What function entries and returns share: which functions can be hooked, a session's table from a
 * function to its definitions, and the filter of the one ftrace hook that all of them use. Changed
 * under the table's lock; handlers read the table without a lock, as it never changes once
 * created.
 */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "../../compat/text.h"
#include "../../core/session.h"
#include "kinds.h"

#define ENDBR_BYTES 4
#define CALL_OPCODE 0xe8
static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* -------------------------------------------------------- what can be hooked */

/*
 * The address that ftrace passes to handlers: that of the call or nop at the start of the
 * function, after the landing pad if there is one. Returns 0 if there is no such instruction.
 */
static unsigned long find_ip(unsigned long address)
{
	u8 code[sizeof(nop5)];
	u32 first;

	if (copy_from_kernel_nofault(&first, (void *)address, sizeof(first)))
		return 0;
	if (kl_is_endbr(first))
		address += ENDBR_BYTES;
	if (copy_from_kernel_nofault(code, (void *)address, sizeof(code)))
		return 0;
	if (code[0] != CALL_OPCODE && memcmp(code, nop5, sizeof(nop5)))
		return 0;
	return address;
}

/**
 * kl_hooks_create - check the address of a function
 * @d: the definition
 * @params: the requested function
 * @why: set on failure
 */
int kl_hooks_create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		    struct kl_error *why)
{
	unsigned long address = params->address;

	if (kl_rights_lack(d->session->may, kl_kind_needs(params->kind)))
		return kl_fail(why, -EPERM,
			       "hooking functions needs CAP_SYS_ADMIN and no kernel lockdown");
	if (params->arg)
		return kl_fail(why, -EINVAL, "a function takes an address, not a number");
	/* No function lies below the kernel's half of the address space, so do not read there. */
	if ((long)address >= 0)
		return kl_fail(why, -EINVAL, "%#lx is not a kernel address", address);
	d->function.address = address;
	if (within_module(address, THIS_MODULE)) {
		d->gone = params->optional;
		return d->gone ? 0 :
				 kl_fail(why, -EINVAL, "%pS is part of kernlens itself",
					 (void *)address);
	}
	d->function.ip = find_ip(address);
	d->gone = !d->function.ip && params->optional;
	if (!d->function.ip && !d->gone)
		return kl_fail(why, -EINVAL,
			       "%pS is not the start of a function that can be hooked",
			       (void *)address);
	return 0;
}

static bool is_function(const struct kl_dynevent *d)
{
	return d->kind == KL_SOURCE_KIND_FUNCTION || d->kind == KL_SOURCE_KIND_RETURN;
}

/* Does ftrace accept all of the first @n addresses? Hooks nothing. */
static int try_filter(unsigned long *ips, u32 n)
{
	struct ftrace_ops ops = {};
	int error = ftrace_set_filter_ips(&ops, ips, n, 0, 1);

	ftrace_free_filter(&ops);
	return error;
}

/* Functions tried together, before each of them is tried, to find those that ftrace rejects. */
#define TRIED_TOGETHER 64

/* The functions of a batch that may be hooked. */
struct candidates {
	unsigned long *ips;
	u32 *index; /* in the batch */
	u32 n;
};

/* Leave out the optional ones of up to TRIED_TOGETHER functions that ftrace rejects. */
static int sift_some(struct kl_dynevent_batch *batch, const struct candidates *c, u32 first,
		     u32 *bad)
{
	u32 end = min(first + TRIED_TOGETHER, c->n);
	int error = try_filter(c->ips + first, end - first);

	if (error != -EINVAL)
		return error;
	for (u32 i = first; i < end; i++) {
		error = try_filter(c->ips + i, 1);
		if (!error)
			continue;
		*bad = c->index[i];
		if (error != -EINVAL || !batch->of[*bad].optional)
			return error;
		batch->of[*bad].gone = true;
	}
	return 0;
}

static int sift(struct kl_dynevent_batch *batch, const struct candidates *c, u32 *bad)
{
	int error = 0;

	for (u32 i = 0; i < c->n && !error; i += TRIED_TOGETHER) {
		error = sift_some(batch, c, i, bad);
		cond_resched();
	}
	return error;
}

static int check(struct kl_dynevent_batch *batch, struct candidates *c, u32 *bad)
{
	int error;

	for (u32 i = 0; i < batch->n; i++) {
		if (!is_function(&batch->of[i]) || batch->of[i].gone)
			continue;
		c->ips[c->n] = batch->of[i].function.ip;
		c->index[c->n++] = i;
	}
	error = c->n ? try_filter(c->ips, c->n) : 0;
	return error == -EINVAL ? sift(batch, c, bad) : error;
}

/**
 * kl_hooks_check - can all functions of a batch be hooked?
 * @batch: created, not yet in the table, which is locked; optional functions that cannot be hooked
 *   are marked as gone
 * @bad: set on failure: index of the invalid definition
 * @why: set on failure
 *
 * While the table is locked, no module can be unloaded unnoticed. Context: may sleep.
 */
int kl_hooks_check(struct kl_dynevent_batch *batch, u32 *bad, struct kl_error *why)
{
	struct candidates c = {
		.ips = kvmalloc_array(batch->n, sizeof(*c.ips), GFP_KERNEL),
		.index = kvmalloc_array(batch->n, sizeof(*c.index), GFP_KERNEL),
	};
	int error = c.ips && c.index ? check(batch, &c, bad) : -ENOMEM;

	kvfree(c.ips);
	kvfree(c.index);
	if (error == -ENOMEM)
		kl_fail(why, error, "no memory for %u functions", batch->n);
	else if (error)
		kl_fail(why, error, "ftrace cannot hook %pS",
			(void *)batch->of[*bad].function.address);
	return error;
}

/* ----------------------------------------------------------------- the table */

/* The definitions of one function fire in the order in which they were defined. */
static void insert(struct kl_hooks *hooks, struct kl_dynevent *d)
{
	u32 mask = ~0ul >> hooks->shift, i = kl_ip_hash(d->function.ip, hooks->shift);
	struct kl_dynevent **end;

	while (hooks->slot[i].ip && hooks->slot[i].ip != d->function.ip)
		i = (i + 1) & mask;
	hooks->slot[i].ip = d->function.ip;
	for (end = &hooks->slot[i].defined; *end; end = &(*end)->next)
		;
	*end = d;
}

/**
 * kl_hooks_prepare - create the table that handlers read
 * @table: locked, about to be sealed
 * @hooks: the hooks of @table to prepare
 * @kind: which definitions go into it
 *
 * Returns 0 or -ENOMEM. Context: may sleep.
 */
int kl_hooks_prepare(struct kl_dynevent_table *table, struct kl_hooks *hooks, u8 kind)
{
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	u32 n = 0, slots;

	lockdep_assert_held(&table->lock);
	for_each_defined(table, batch, d)
		n += d->kind == kind && !d->gone;
	if (!n || hooks->slot)
		return 0;
	slots = roundup_pow_of_two(2 * n);
	hooks->ops = (struct ftrace_ops){ .func = hooks->func, .flags = hooks->flags };
	hooks->slot = kvcalloc(slots, sizeof(*hooks->slot), GFP_KERNEL);
	if (!hooks->slot)
		return -ENOMEM;
	hooks->end = hooks->slot + slots;
	hooks->shift = 64 - ilog2(slots);
	for_each_defined(table, batch, d) {
		if (d->kind == kind && !d->gone)
			insert(hooks, d);
	}
	return 0;
}

static u32 slots_of(const struct kl_hooks *hooks)
{
	return hooks->end - hooks->slot;
}

static bool is_attached(const struct kl_dynevent *d)
{
	for (; d; d = d->next)
		if (d->attached && !d->gone)
			return true;
	return false;
}

static u32 collect(const struct kl_hooks *hooks, unsigned long *ips)
{
	u32 n = 0;

	for (u32 i = 0; i < slots_of(hooks); i++) {
		if (!is_attached(hooks->slot[i].defined))
			continue;
		if (ips)
			ips[n] = hooks->slot[i].ip;
		n++;
	}
	return n;
}

/* The kernel frees the filter but would use it again: reset the hook to its initial state. */
static void free_filter(struct kl_hooks *hooks)
{
	ftrace_free_filter(&hooks->ops);
	hooks->ops = (struct ftrace_ops){ .func = hooks->func, .flags = hooks->flags };
}

static void unregister(struct kl_hooks *hooks)
{
	if (!hooks->registered)
		return;
	WRITE_ONCE(hooks->registered, false);
	unregister_ftrace_function(&hooks->ops);
	free_filter(hooks);
}

/**
 * kl_hooks_update - hook exactly those functions that are attached now
 * @hooks: of a table that is locked
 * @why: set on failure, which leaves the hooked functions unchanged
 *
 * ftrace replaces its filter as a whole: a function that stays is hooked throughout. An empty
 * filter would mean all functions, so it is never set. Context: may sleep.
 */
int kl_hooks_update(struct kl_hooks *hooks, struct kl_error *why)
{
	u32 n = collect(hooks, NULL);
	unsigned long *ips;
	int error;

	if (!n) {
		unregister(hooks);
		return 0;
	}
	ips = kvmalloc_array(n, sizeof(*ips), GFP_KERNEL);
	if (!ips)
		return kl_fail(why, -ENOMEM, "no memory to hook %u functions", n);
	collect(hooks, ips);
	error = ftrace_set_filter_ips(&hooks->ops, ips, n, 0, 1);
	kvfree(ips);
	if (!error && !hooks->registered) {
		WRITE_ONCE(hooks->registered, true);
		error = register_ftrace_function(&hooks->ops);
		if (error) {
			WRITE_ONCE(hooks->registered, false);
			free_filter(hooks);
		}
	}
	if (error == -EBUSY)
		return kl_fail(why, error,
			       "functions cannot be hooked: kernel.ftrace_enabled is 0");
	if (error)
		return kl_fail(why, error, "ftrace cannot hook the %u functions", n);
	return 0;
}

/**
 * kl_hooks_destroy - undo kl_hooks_prepare and all of kl_hooks_update
 * @hooks: which nothing uses any more
 */
void kl_hooks_destroy(struct kl_hooks *hooks)
{
	unregister(hooks);
	kvfree(hooks->slot);
	hooks->slot = NULL;
	hooks->end = NULL;
}

/**
 * kl_hooks_idle_may_fire - kl_hooks_may_fire for the idle task
 *
 * Context: any, preemption off.
 */
bool kl_hooks_idle_may_fire(void)
{
	return rcu_is_watching() && cpu_online(smp_processor_id());
}

/* ------------------------------------------------------------ modules that go */

static void forget_module(struct kl_dynevent_table *table, void *data)
{
	bool functions = false, returns = false;
	const struct module *module = data;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;

	for_each_defined(table, batch, d) {
		if (!is_function(d) || d->gone || !within_module(d->function.address, module))
			continue;
		d->gone = true;
		if (!d->attached)
			continue;
		d->attached = false;
		kl_payer_uncharge(&d->session->payer, KL_LIMIT_probes, 1);
		functions |= d->kind == KL_SOURCE_KIND_FUNCTION;
		returns |= d->kind == KL_SOURCE_KIND_RETURN;
	}
	if (functions)
		kl_hooks_update(&table->functions, NULL);
	if (returns)
		kl_hooks_update(&table->returns, NULL);
}

/*
 * Forget a module's functions when it is unloaded. Otherwise a module loaded later at the same
 * address would be hooked instead.
 */
static int on_module(struct notifier_block *block, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING)
		kl_dynevent_visit_tables(forget_module, module);
	return NOTIFY_DONE;
}

static struct notifier_block module_block = { .notifier_call = on_module };

/**
 * kl_hooks_init - watch for unloaded modules, before the first table
 *
 * Returns 0 or a negative errno.
 */
int kl_hooks_init(void)
{
	return register_module_notifier(&module_block);
}

/**
 * kl_hooks_deinit - undo kl_hooks_init, after the last table
 */
void kl_hooks_deinit(void)
{
	unregister_module_notifier(&module_block);
}
