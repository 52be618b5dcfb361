// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events at the entries of functions. Called by ftrace with the function's address; fires
 * every definition of that function. Takes no lock.
 */

#include "../../compat/ftrace.h"
#include "../../core/record.h"
#include "../../core/stack.h"
#include "../../handler/dispatch.h"
#include "../../handler/handler.h"
#include "kinds.h"

#define ARGUMENTS 6 /* those in registers */

static __always_inline void fire(const struct kl_dynevent *d, struct ftrace_regs *fregs)
{
	u64 argument[ARGUMENTS];

	if (d->arguments) {
		argument[0] = kl_ftrace_argument(fregs, 0);
		argument[1] = kl_ftrace_argument(fregs, 1);
		argument[2] = kl_ftrace_argument(fregs, 2);
		argument[3] = kl_ftrace_argument(fregs, 3);
		argument[4] = kl_ftrace_argument(fregs, 4);
		argument[5] = kl_ftrace_argument(fregs, 5);
	}
	kl_fire_dynevent(d->session, d->id, d->program, argument, d->arguments);
}

/*
 * The general path. Kernel functions that it calls can be hooked, too: a call from here is not
 * recorded but counted as missed. @d is NULL if it has not been looked up. Enables preemption,
 * which its caller has disabled.
 */
static noinline void fire_all(const struct kl_dynevent *d, unsigned long ip, unsigned long parent,
			      struct kl_dynevent_table *table, struct ftrace_regs *fregs)
{
	int bit = kl_recursion_enter(ip, parent);
	unsigned long before;

	if (unlikely(bit < 0)) {
		this_cpu_inc(*table->missed);
	} else {
		if (!d && kl_hooks_may_fire())
			d = kl_hooks_find(&table->functions, ip);
		before = this_cpu_read(kl_stack_function);
		this_cpu_write(kl_stack_function, ip);
		for (; d; d = d->next)
			if (READ_ONCE(d->attached))
				fire(d, fregs);
		this_cpu_write(kl_stack_function, before);
		kl_recursion_leave(bit);
	}
	preempt_enable_notrace();
}

/*
 * Everything but `count`. A rule that reads nothing but the running task calls nothing that can be
 * hooked, so it needs no recursion guard; fire_all handles the rest.
 */
static noinline void fire_other(const struct kl_dynevent *d, unsigned long ip, unsigned long parent,
				struct kl_dynevent_table *table, struct ftrace_regs *fregs)
{
	const struct kl_rule *r;
	u8 action;

	if (d && !d->next) {
		action = kl_action_defined(d->session, d->id);
		if (action >= KL_ACTION_RULE && !(action & KL_ACTION_ASK)) {
			r = kl_rule_of(d->session, action);
			if (kl_fire_blind(r)) {
				preempt_enable_notrace();
				return;
			}
		}
	}
	fire_all(d, ip, parent, table, fregs);
}

/*
 * The common case: `count`, not on an idle CPU. It calls nothing, so it needs neither a stack
 * frame nor a recursion guard.
 */
static void on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		     struct ftrace_regs *fregs)
{
	struct kl_dynevent_table *table =
		container_of(ops, struct kl_dynevent_table, functions.ops);
	const struct kl_dynevent *d = NULL;

	preempt_disable_notrace();
	if (likely(!is_idle_task(current))) {
		d = kl_hooks_find(&table->functions, ip);
		if (likely(d && !d->next &&
			   kl_action_defined(d->session, d->id) == KL_HANDLER_count)) {
			kl_count_hit(d->session, d->id);
			preempt_enable_notrace();
			return;
		}
	}
	fire_other(d, ip, parent, table, fregs);
}

/**
 * kl_functions_init - set the hook of a new table
 * @hooks: zeroed
 *
 * Permanent: while it is registered, ftrace cannot be disabled by sysctl, which would silently
 * lose events.
 */
void kl_functions_init(struct kl_hooks *hooks)
{
	hooks->func = on_entry;
	hooks->flags = FTRACE_OPS_FL_PERMANENT;
}

static void destroy(struct kl_dynevent *d)
{
}

const struct kl_dynevent_kind kl_dynevent_function = {
	.arguments = ARGUMENTS,
	.create = kl_hooks_create,
	.destroy = destroy,
};
