// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events at the returns of functions. Takes no lock.
 *
 * The kernel's kretprobe replaces a return address and saves the original one, but attaching one
 * to each function patches the kernel's text each time, and fprobe, which attaches many at once,
 * is not in every kernel. So a session has one kretprobe, its pool of open calls, which is never
 * armed, and one ftrace hook at the entries of all its functions, which passes each call to that
 * kretprobe's entry handler, as the function's kprobe would. The kernel's own unwinder, trampoline
 * and bookkeeping are used throughout.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "../../compat/ftrace.h"
#include "../../handler/dispatch.h"
#include "kinds.h"

/* Bounds of the number of calls that a session can have open at a time. */
#define POOL_MIN 4096
#define POOL_MAX 32768

/* Passed from on_entry to on_call; nested calls restore it. */
static DEFINE_PER_CPU(const struct kl_dynevent *, entering);

/* The data stored for each open call. */
struct call {
	const struct kl_dynevent *defined;
};

/* Called by the kernel when it starts to track a call. */
static int on_call(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (struct call *)instance->data;

	call->defined = __this_cpu_read(entering);
	return 0;
}

static void fire(const struct kl_dynevent *d, u64 value)
{
	kl_fire_dynevent(d->session, d->id, d->program, &value, d->arguments);
}

/* Called by the kernel when the call returns; preemption is off. */
static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *pool = get_kretprobe(instance);
	struct kl_dynevent_table *table = container_of(pool, struct kl_dynevent_table, pool);
	struct call *call = (struct call *)instance->data;
	const struct kl_dynevent *d;
	int bit;

	/* Entered before a stop. Pairs with the wait for handlers after `registered` is cleared. */
	if (!READ_ONCE(table->returns.registered) || !kl_hooks_may_fire())
		return 0;
	bit = kl_recursion_enter(instruction_pointer(regs), 0);
	if (unlikely(bit < 0)) {
		this_cpu_inc(*table->missed);
		return 0;
	}
	for (d = call->defined; d; d = d->next)
		if (READ_ONCE(d->attached))
			fire(d, regs_return_value(regs));
	kl_recursion_leave(bit);
	return 0;
}

/* The entry of a function whose return is wanted. */
static void on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		     struct ftrace_regs *fregs)
{
	struct kl_dynevent_table *table = container_of(ops, struct kl_dynevent_table, returns.ops);
	int bit = kl_recursion_enter(ip, parent);
	const struct kl_dynevent *d, *outer;
	struct pt_regs *regs;

	if (unlikely(bit < 0)) {
		this_cpu_inc(*table->missed);
		return;
	}
	d = kl_hooks_find(&table->returns, ip);
	regs = ftrace_get_regs(fregs);
	if (likely(d && regs) && kl_hooks_may_fire()) {
		/* An interrupt between these lines restores the value that it found. */
		outer = __this_cpu_read(entering);
		__this_cpu_write(entering, d);
		table->pool.kp.pre_handler(&table->pool.kp, regs);
		__this_cpu_write(entering, outer);
	}
	kl_recursion_leave(bit);
}

/**
 * kl_returns_init - set the hook of a new table
 * @hooks: zeroed
 */
void kl_returns_init(struct kl_hooks *hooks)
{
	hooks->func = on_entry;
	hooks->flags = FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_SAVE_REGS;
}

/* The probe address that a kretprobe must have. Never called and never armed. */
static noinline void nowhere(void)
{
	barrier();
}

/**
 * kl_returns_prepare - register the pool that tracks calls
 * @table: locked, about to be sealed
 * @n: number of functions whose returns are defined
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_returns_prepare(struct kl_dynevent_table *table, u32 n, struct kl_error *why)
{
	struct kretprobe *pool = &table->pool;
	int error;

	if (table->pool_made)
		return 0;
	pool->kp.addr = (kprobe_opcode_t *)nowhere;
	pool->kp.flags = KPROBE_FLAG_DISABLED;
	pool->entry_handler = on_call;
	pool->handler = on_return;
	pool->data_size = sizeof(struct call);
	pool->maxactive = clamp(2 * n * num_possible_cpus(), (u32)POOL_MIN, (u32)POOL_MAX);
	error = register_kretprobe(pool);
	if (error)
		return kl_fail(why, error, "cannot register a return probe");
	table->pool_made = true;
	return 0;
}

/**
 * kl_returns_destroy - undo kl_returns_prepare
 * @table: which nothing uses any more
 *
 * Calls that have not returned yet do so through the kernel's own code and memory; none of our
 * handlers runs any more. Context: may sleep.
 */
void kl_returns_destroy(struct kl_dynevent_table *table)
{
	if (table->pool_made)
		unregister_kretprobe(&table->pool);
	table->pool_made = false;
}

/* Number of kretprobes registered before they are removed together, which waits for RCU. */
#define TRIES 512

/*
 * Let the kernel decide whether a function's return may be hooked: it refuses __switch_to and the
 * functions that handle returns. The probes are never armed.
 */
static int try_returns(struct kl_dynevent_batch *batch, u32 *i, struct kretprobe *probe,
		       struct kretprobe **list)
{
	int error = 0, n = 0;

	for (; *i < batch->n && n < TRIES; ++*i) {
		struct kl_dynevent *d = &batch->of[*i];

		if (d->kind != KL_SOURCE_KIND_RETURN || d->gone)
			continue;
		memset(&probe[n], 0, sizeof(probe[n]));
		probe[n].kp.addr = (kprobe_opcode_t *)d->function.address;
		probe[n].kp.flags = KPROBE_FLAG_DISABLED;
		probe[n].handler = on_return;
		probe[n].maxactive = 1;
		error = register_kretprobe(&probe[n]);
		d->gone = error && error != -ENOMEM && d->optional;
		if (d->gone) {
			error = 0;
			continue;
		}
		if (error)
			break;
		list[n] = &probe[n];
		n++;
	}
	if (n)
		unregister_kretprobes(list, n);
	cond_resched();
	return error;
}

/**
 * kl_returns_check - can the returns of a batch be hooked?
 * @batch: checked by kl_hooks_check, not yet in the table, which is locked; optional functions
 *   whose return cannot be hooked are marked as gone
 * @bad: set on failure: index of the invalid definition
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_returns_check(struct kl_dynevent_batch *batch, u32 *bad, struct kl_error *why)
{
	struct kretprobe *probe = NULL, **list = NULL;
	int error = 0;

	for (u32 i = 0; i < batch->n && !error;) {
		if (batch->of[i].kind != KL_SOURCE_KIND_RETURN) {
			i++;
			continue;
		}
		if (!probe) {
			probe = kvmalloc_array(TRIES, sizeof(*probe), GFP_KERNEL);
			list = kvmalloc_array(TRIES, sizeof(*list), GFP_KERNEL);
		}
		error = probe && list ? try_returns(batch, &i, probe, list) : -ENOMEM;
		*bad = i;
	}
	kvfree(probe);
	kvfree(list);
	if (error == -ENOMEM)
		return kl_fail(why, error, "no memory to check functions");
	if (error)
		return kl_fail(why, error, "the kernel does not allow hooking the return of %pS",
			       (void *)batch->of[*bad].function.address);
	return 0;
}

static void destroy(struct kl_dynevent *d)
{
}

const struct kl_dynevent_kind kl_dynevent_return = {
	.arguments = 1,
	.create = kl_hooks_create,
	.destroy = destroy,
};
