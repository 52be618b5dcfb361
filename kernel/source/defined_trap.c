// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that a process fires itself, by a breakpoint with a text behind it that says which
 * (struct kl_abi_trap). Nobody else is disturbed, as a uprobe does; no register changes, and no
 * system call is made that could be forbidden. Called by the kernel's handler of breakpoints, with
 * interrupts off.
 */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "../session/fire.h"
#include "../session/session.h"
#include "../session/stack.h"
#include "block/splice.h"
#include "defined_kinds.h"

#define TEXT_BYTES (sizeof(struct kl_abi_trap) - 1)

/* Tables that have traps, by the session's id; read under RCU. */
static DEFINE_XARRAY(tables);

static __always_inline bool read_trap(unsigned long ip, struct kl_abi_trap *trap)
{
	const struct kl_abi_trap __user *at = (const void __user *)(ip - 1);
	bool ok = false;

	pagefault_disable();
	if (!user_access_begin(at, sizeof(*at)))
		goto enable;
	unsafe_get_user(trap->magic, &at->magic, end);
	if (trap->magic != KL_TRAP_MAGIC)
		goto end;
	unsafe_get_user(trap->session, &at->session, end);
	unsafe_get_user(trap->event, &at->event, end);
	unsafe_get_user(trap->from, &at->from, end);
	ok = true;
end:
	user_access_end();
enable:
	pagefault_enable();
	return ok;
}

static __always_inline const struct kl_defined *find(const struct kl_abi_trap *trap)
{
	const struct kl_defined_table *table = xa_load(&tables, trap->session);
	u32 i = trap->event - KL_EV_DYNAMIC;

	return table && i < table->n ? table->traps[i] : NULL;
}

static void fire(const struct kl_defined *d, struct pt_regs *regs)
{
	struct kl_session *s = d->session;
	struct kl_stack_start before;

	/* An owner who is shown everybody's is fired for only by his own. */
	if (!(s->gate & KL_GATE_OWN) && !kl_access_may_see(s->owner, current))
		return;
	if (likely(!s->stacks)) {
		kl_fire_defined(s, d->id, d->program, NULL, 0);
		return;
	}
	/* The kernel has no part in it. */
	before = kl_stack_begin(regs);
	kl_fire_defined(s, d->id, d->program, NULL, 0);
	kl_stack_end(before);
}

/**
 * kl_defined_trap_fire - a program has come to a breakpoint
 * @regs: behind it; behind the trap, if it is one
 *
 * Returns false if it is none of ours. Context: any of a program's, preemption off.
 */
bool kl_defined_trap_fire(struct pt_regs *regs)
{
	const struct kl_defined *d;
	struct kl_abi_trap trap;

	if (!user_64bit_mode(regs) || !read_trap(regs->ip, &trap))
		return false;
	rcu_read_lock();
	d = find(&trap);
	if (d && READ_ONCE(d->attached)) {
		unsigned long ip = regs->ip;

		regs->ip = ip - 1 + trap.from;
		fire(d, regs);
		regs->ip = ip;
	}
	rcu_read_unlock();
	regs->ip += TEXT_BYTES;
	return true;
}

/**
 * kl_traps_prepare - have them found by id
 * @s: whose table it is, in which nothing more is defined
 * @why: set on failure; may be called again
 */
int kl_traps_prepare(struct kl_session *s, struct kl_error *why)
{
	struct kl_defined_table *table = s->defined;
	struct kl_defined_batch *batch;
	struct kl_defined *d;
	int error;

	for_each_defined(table, batch, d) {
		if (d->kind != KL_SOURCE_KIND_TRAP)
			continue;
		if (!table->traps)
			table->traps = kvcalloc(table->n, sizeof(d), GFP_KERNEL_ACCOUNT);
		if (!table->traps)
			return kl_fail(why, -ENOMEM, "no memory for %u events", table->n);
		table->traps[d->id - KL_EV_DYNAMIC] = d;
	}
	if (!table->traps)
		return 0;
	error = xa_err(xa_store(&tables, s->id, table, GFP_KERNEL));
	if (error)
		return kl_fail(why, error, "no memory for events of processes");
	table->trap_session = s->id;
	return 0;
}

/**
 * kl_traps_destroy - undo kl_traps_prepare(), also if it was not called
 * @table: no event of it fires any more
 *
 * Context: may sleep.
 */
void kl_traps_destroy(struct kl_defined_table *table)
{
	if (table->trap_session) {
		xa_erase(&tables, table->trap_session);
		synchronize_rcu();
	}
	kvfree(table->traps);
}

static int create(struct kl_defined *d, const struct kl_defined_wish *wish, struct kl_error *why)
{
	int error;

	if (kl_rights_lack(d->session->may, kl_kind_needs(wish->kind)))
		return kl_fail(why, -EPERM, "this session may have no such event");
	if (wish->address || wish->arg || wish->name)
		return kl_fail(why, -EINVAL, "an event that processes fire has no place");
	mutex_lock(&kl_splice_lock);
	error = kl_splices_handle_breakpoints(why);
	mutex_unlock(&kl_splice_lock);
	return error;
}

static void destroy(struct kl_defined *d)
{
}

const struct kl_defined_kind kl_defined_trap = {
	.create = create,
	.destroy = destroy,
};
