// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that are entries of functions. Called by ftrace with the
 * function's address; fires every definition of it. Takes no lock.
 */
#include <linux/trace_recursion.h>

#include "../compat/ftrace.h"
#include "../session/fire.h"
#include "defined_kinds.h"

#define ARGUMENTS 6 /* in registers; further ones are on the stack */

static __always_inline void fire(const struct kl_defined *d, struct ftrace_regs *fregs)
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
	kl_fire_defined(d->session, d->id, d->program, argument, d->arguments);
}

/*
 * The kernel's functions that firing itself calls may be hooked too: what is
 * called from here again is not fired but counted. Preemption is off between
 * trylock and unlock.
 */
static void on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		     struct ftrace_regs *fregs)
{
	struct kl_defined_table *table = container_of(ops, struct kl_defined_table, functions.ops);
	int bit = ftrace_test_recursion_trylock(ip, parent);
	const struct kl_defined *d;

	if (unlikely(bit < 0)) {
		this_cpu_inc(*table->missed);
		return;
	}
	if (kl_hooks_may_fire())
		for (d = kl_hooks_find(&table->functions, ip); d; d = d->next)
			fire(d, fregs);
	ftrace_test_recursion_unlock(bit);
}

/**
 * kl_functions_init - the hook of a new table
 * @hooks: zeroed
 *
 * Permanent: while it is there ftrace cannot be switched off by sysctl, which
 * would lose events unnoticed.
 */
void kl_functions_init(struct kl_hooks *hooks)
{
	hooks->func = on_entry;
	hooks->flags = FTRACE_OPS_FL_PERMANENT;
}

static void destroy(struct kl_defined *d)
{
}

const struct kl_defined_kind kl_defined_function = {
	.arguments = ARGUMENTS,
	.create = kl_hooks_create,
	.destroy = destroy,
};
