// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that a process fires itself, by a breakpoint followed by data that names the
 * event (struct kl_abi_trap). Unlike a uprobe this disturbs no other task; no register changes,
 * and no system call is made that could be forbidden. Called by the kernel's breakpoint handler
 * with interrupts off.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "../../core/session.h"
#include "../../core/stack.h"
#include "../../handler/dispatch.h"
#include "kinds.h"

#define TEXT_BYTES (sizeof(struct kl_abi_trap) - 1)

/* How often a breakpoint is executed again if its data could not be read. */
#define TRIES 8

/* Tables with traps, by session id; read under RCU. */
static DEFINE_XARRAY(tables);

/* The number of users of traps: definitions, and processes that pin the module. */
static atomic_long_t expected;

/* A breakpoint that is being executed again. */
struct again {
	const struct task_struct *task;
	unsigned long ip;
	u32 tries;
};

static DEFINE_PER_CPU(struct again, again);

/* Returns 1, 0 if the breakpoint is not ours, or -EFAULT if its data cannot be read now. */
static __always_inline int read_trap(unsigned long ip, struct kl_abi_trap *trap)
{
	const struct kl_abi_trap __user *at = (const void __user *)(ip - 1);
	int ret = -EFAULT;

	pagefault_disable();
	if (!user_access_begin(at, sizeof(*at)))
		goto enable;
	unsafe_get_user(trap->magic, &at->magic, end);
	if (trap->magic != KL_TRAP_MAGIC) {
		ret = 0;
		goto end;
	}
	unsafe_get_user(trap->session, &at->session, end);
	unsafe_get_user(trap->event, &at->event, end);
	unsafe_get_user(trap->from, &at->from, end);
	unsafe_get_user(trap->text, &at->text, end);
	ret = 1;
end:
	user_access_end();
enable:
	pagefault_enable();
	return ret;
}

/*
 * The page may have been reclaimed since the CPU fetched the breakpoint from it: executing that
 * again faults it in. If its data can never be read, the breakpoint is not ours.
 */
static bool meet_again(struct pt_regs *regs)
{
	struct again *before = this_cpu_ptr(&again);

	if (before->task != current || before->ip != regs->ip)
		*before = (struct again){ .task = current, .ip = regs->ip };
	if (before->tries++ == TRIES) {
		before->task = NULL;
		return false;
	}
	regs->ip--;
	return true;
}

static __always_inline const struct kl_dynevent *find(const struct kl_abi_trap *trap)
{
	const struct kl_dynevent_table *table = xa_load(&tables, trap->session);
	u32 i = trap->event - KL_EV_DYNAMIC;

	/* The program chooses the number, so guard the index against speculation. */
	return table && i < table->n ? table->traps[array_index_nospec(i, table->n)] : NULL;
}

static void fire(const struct kl_dynevent *d, struct pt_regs *regs, u32 text)
{
	struct kl_session *s = d->session;
	struct kl_stack_start before;

	/* Even for an owner who can see all tasks, only the owner's own processes fire traps. */
	if (!(s->gate & KL_GATE_OWN) && !kl_access_may_see(s->owner, current))
		return;
	if (likely(!s->stacks)) {
		kl_fire_dynevent(s, d->id, d->program, NULL, 0);
		return;
	}
	/* Stack traces begin in the program: no kernel frames belong to the event. */
	before = kl_stack_begin(regs, text);
	kl_fire_dynevent(s, d->id, d->program, NULL, 0);
	kl_stack_end(before);
}

/**
 * kl_dynevent_trap_fire - handle a breakpoint in a program
 * @regs: after the breakpoint; if it is ours, moved past the trap, or back to execute it again
 *
 * Returns false if it is not ours. Context: any from which a program can hit one, preemption off.
 */
bool kl_dynevent_trap_fire(struct pt_regs *regs)
{
	const struct kl_dynevent *d;
	struct kl_abi_trap trap;
	int found;

	if (!atomic_long_read(&expected) || !user_64bit_mode(regs))
		return false;
	found = read_trap(regs->ip, &trap);
	if (unlikely(found <= 0))
		return found && meet_again(regs);
	rcu_read_lock();
	d = find(&trap);
	if (d && READ_ONCE(d->attached)) {
		unsigned long ip = regs->ip;

		regs->ip = ip - 1 + trap.from;
		fire(d, regs, trap.text);
		regs->ip = ip;
	}
	rcu_read_unlock();
	regs->ip += TEXT_BYTES;
	return true;
}

/**
 * kl_traps_expect - count a user of traps in or out
 * @more: true: a process that may hit traps, or a definition, has been added; false: removed
 */
void kl_traps_expect(bool more)
{
	atomic_long_add(more ? 1 : -1, &expected);
}

/**
 * kl_traps_prepare - publish a session's traps for lookup by id
 * @s: the session; nothing more is defined in its table
 * @why: set on failure; the call may be repeated then
 */
int kl_traps_prepare(struct kl_session *s, struct kl_error *why)
{
	struct kl_dynevent_table *table = s->defined;
	const struct kl_dynevent **traps = NULL;
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	int error;

	for_each_defined(table, batch, d) {
		if (d->kind != KL_SOURCE_KIND_TRAP)
			continue;
		if (!traps)
			traps = kvcalloc(table->n, sizeof(d), GFP_KERNEL);
		if (!traps)
			return kl_fail(why, -ENOMEM, "no memory for %u events", table->n);
		traps[d->id - KL_EV_DYNAMIC] = d;
	}
	if (!traps)
		return 0;
	table->traps = traps;
	error = xa_insert(&tables, s->id, table, GFP_KERNEL);
	table->published = !error;
	if (!error)
		return 0;
	table->traps = NULL;
	kvfree(traps);
	return kl_fail(why, error, "no memory for events of processes");
}

/**
 * kl_traps_destroy - undo kl_traps_prepare(), also if it was not called
 * @s: the session; none of its events fires any more, but they may still be looked up
 *
 * Context: may sleep.
 */
void kl_traps_destroy(const struct kl_session *s)
{
	struct kl_dynevent_table *table = s->defined;

	if (table->published) {
		xa_erase(&tables, s->id);
		synchronize_rcu();
	}
	kvfree(table->traps);
}

static int create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		  struct kl_error *why)
{
	if (kl_rights_lack(d->session->may, kl_kind_needs(params->kind)))
		return kl_fail(why, -EPERM,
			       "this session is not allowed to define events of processes");
	if (params->address || params->arg || params->name)
		return kl_fail(why, -EINVAL, "an event that processes fire has no probe point");
	d->trap.expected = true;
	kl_traps_expect(true);
	return 0;
}

static void destroy(struct kl_dynevent *d)
{
	if (d->trap.expected)
		kl_traps_expect(false);
}

const struct kl_dynevent_kind kl_dynevent_trap = {
	.create = create,
	.destroy = destroy,
};
