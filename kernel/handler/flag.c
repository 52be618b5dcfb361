// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers `set` and `clear`: a flag of the running task, or of the CPU, which filters of the
 * session read.
 */
#include "../core/flag_time.h"
#include "../core/gate.h"
#include "handler.h"

static void change_flag(struct kl_session *s, u64 flag, bool on)
{
	if (flag < KL_FLAGS_MAX / 2 && !kl_flags_are_shown(s))
		return;
	if (on && unlikely(READ_ONCE(s->defs.since) >> flag & 1))
		kl_flag_note(s, flag);
	if (flag < KL_FLAGS_MAX / 2) {
		kl_taskset_set(s->defs.task_flag[flag], current->pid, on);
		if (on)
			kl_gate_flag(s, current->pid);
	} else if (on) {
		/* One instruction each: an interrupt may change other flags. */
		this_cpu_or(s->cpu->flags, 1ull << flag);
	} else {
		this_cpu_and(s->cpu->flags, ~(1ull << flag));
	}
}

static int check_flag(const struct kl_session *s, const struct kl_abi_rule *params,
		      struct kl_error *why)
{
	if (params->arg >= KL_FLAGS_MAX)
		return kl_fail(why, -EINVAL, "flag %llu is out of range: flags are 0 to %u",
			       params->arg, KL_FLAGS_MAX - 1);
	return 0;
}

/* A probe cannot allocate memory, so the set exists before. */
static int make_flag(struct kl_session *s, const struct kl_rule *r, struct kl_error *why)
{
	struct kl_taskset **set, *made;
	u64 flag = r->arg;

	lockdep_assert_held(&s->lock);
	if (flag >= ARRAY_SIZE(s->defs.task_flag))
		return 0; /* a flag of CPUs, which always exists */
	set = &s->defs.task_flag[flag];
	if (*set)
		return 0;
	made = kl_taskset_create(&s->payer, why);
	if (IS_ERR(made))
		return PTR_ERR(made);
	/*
	 * Initialize the set before publishing it. Pairs with acquires in core/gate.c and
	 * core/flag_time.c.
	 */
	smp_store_release(set, made);
	return 0;
}

/* Only sessions without KL_MAY_SEE_ALL have a budget, and they check who may see the task. */
#define OPERATIONS (KL_HANDLER_OPERATIONS + KL_COST_SEES)

const struct kl_handler kl_handler_set = {
	.operations = OPERATIONS,
	.check = check_flag,
	.prepare = make_flag,
};

const struct kl_handler kl_handler_clear = {
	.operations = OPERATIONS,
	.check = check_flag,
	.prepare = make_flag,
};

KL_HIT(set)
{
	change_flag(s, r->arg, true);
}

KL_HIT(clear)
{
	change_flag(s, r->arg, false);
}
