// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events at points of the kernel's text. Called from patches, in the context in which the
 * text runs, with interrupts unchanged; fires the event with the registers. Takes no lock.
 * docs/design/block.md explains why a task may be in here while its patch is being removed.
 */
#include <linux/ptrace.h>

#include "../../compat/ftrace.h"
#include "../../core/record.h"
#include "../../core/session.h"
#include "../../core/stack.h"
#include "../../handler/dispatch.h"
#include "../../handler/handler.h"
#include "block.h"
#include "kinds.h"

static_assert(sizeof(struct kl_block_registers) == 17 * sizeof(long));

static unsigned long stack_of(const struct kl_block_registers *regs)
{
	return (unsigned long)(regs + 1);
}

/* Registers by their numbers in instruction encodings. */
static void fill_arguments(u64 argument[KL_BLOCK_ARGUMENTS], const struct kl_block_place *place,
			   const struct kl_block_registers *regs)
{
	argument[0] = regs->ax;
	argument[1] = regs->cx;
	argument[2] = regs->dx;
	argument[3] = regs->bx;
	argument[4] = stack_of(regs);
	argument[5] = regs->bp;
	argument[6] = regs->si;
	argument[7] = regs->di;
	argument[8] = regs->r8;
	argument[9] = regs->r9;
	argument[10] = regs->r10;
	argument[11] = regs->r11;
	argument[12] = regs->r12;
	argument[13] = regs->r13;
	argument[14] = regs->r14;
	argument[15] = regs->r15;
	argument[KL_BLOCK_FLAGS] = regs->flags;
	argument[KL_BLOCK_IP] = place->address;
}

static noinline void fire_with_registers(const struct kl_dynevent *d,
					 const struct kl_block_place *place,
					 const struct kl_block_registers *regs)
{
	u64 argument[KL_BLOCK_ARGUMENTS];

	fill_arguments(argument, place, regs);
	kl_fire_dynevent(d->session, d->id, d->program, argument, d->arguments);
}

static __always_inline void fire(const struct kl_dynevent *d, const struct kl_block_place *place,
				 const struct kl_block_registers *regs)
{
	if (d->arguments)
		fire_with_registers(d, place, regs);
	else
		kl_fire_dynevent(d->session, d->id, d->program, NULL, 0);
}

/* A stack trace begins where the kernel's text was left, not in the patch. */
static noinline void fire_with_stack(const struct kl_dynevent *d,
				     const struct kl_block_place *place,
				     const struct kl_block_registers *regs)
{
	struct pt_regs origin = {
		.ip = place->address,
		.sp = stack_of(regs),
		.bp = regs->bp,
		.r10 = regs->r10,
		.di = regs->di,
		.dx = regs->dx,
		.flags = regs->flags,
		.cs = __KERNEL_CS,
		.ss = __KERNEL_DS,
	};
	struct kl_stack_start before = kl_stack_begin(&origin, 0);

	fire(d, place, regs);
	kl_stack_end(before);
}

/*
 * The general path. Functions that it calls can be spliced, too: a hit from within them is not
 * recorded but counted as missed. Enables preemption, which its caller has disabled.
 */
static noinline void fire_any(const struct kl_dynevent *d, const struct kl_block_place *place,
			      const struct kl_block_registers *regs)
{
	int bit = kl_recursion_enter(place->address, regs->back);

	if (unlikely(bit < 0)) {
		if (READ_ONCE(d->attached))
			this_cpu_inc(*d->session->defined->missed);
	} else {
		if (likely(READ_ONCE(d->attached) && kl_hooks_may_fire())) {
			if (unlikely(d->session->stacks))
				fire_with_stack(d, place, regs);
			else
				fire(d, place, regs);
		}
		kl_recursion_leave(bit);
	}
	preempt_enable_notrace();
}

/* A rule that reads nothing but the running task calls nothing that can be spliced, either. */
static noinline void fire_other(const struct kl_dynevent *d, const struct kl_block_place *place,
				const struct kl_block_registers *regs, u8 action)
{
	if (action >= KL_ACTION_RULE && !(action & KL_ACTION_ASK) &&
	    kl_fire_blind(kl_rule_of(d->session, action)))
		preempt_enable_notrace();
	else
		fire_any(d, place, regs);
}

/**
 * kl_block_fire - handle a patch that has reached its point
 * @place: the point
 * @regs: the registers at the point
 *
 * The common cases, `count` and a record without fields, call nothing, so they need no recursion
 * guard.
 */
void kl_block_fire(const struct kl_block_place *place, const struct kl_block_registers *regs)
{
	const struct kl_dynevent *d = place->defined;
	struct kl_session *s = d->session;
	u8 action = KL_HANDLER_nothing;
	struct kl_reservation record;

	preempt_disable_notrace();
	if (likely(READ_ONCE(d->attached) && !s->gate && !is_idle_task(current))) {
		action = kl_action_defined(s, d->id);
		if (action == KL_HANDLER_count) {
			kl_count_hit(s, d->id);
			preempt_enable_notrace();
			return;
		}
		if (likely(action == KL_HANDLER_log && !d->program &&
			   kl_record_try(this_cpu_ptr(s->cpu), d->id, 0, &record))) {
			kl_record_end(record, 0);
			preempt_enable_notrace();
			return;
		}
	}
	fire_other(d, place, regs, action);
}

/**
 * kl_dynevent_block - the event of a point
 * @s: the session
 * @id: KL_EV_DYNAMIC and up
 *
 * Returns NULL if there is no event with that id and kind. Context: the session's creator; may
 * sleep.
 */
const struct kl_dynevent *kl_dynevent_block(struct kl_session *s, u32 id)
{
	struct kl_dynevent_table *table = s->defined;
	const struct kl_dynevent *found;

	if (!table)
		return NULL;
	mutex_lock(&table->lock);
	found = kl_dynevent_find(table, id);
	mutex_unlock(&table->lock);
	return found && found->kind == KL_SOURCE_KIND_BLOCK ? found : NULL;
}

/**
 * kl_dynevent_block_reads - does the event read registers?
 * @d: an event of a point
 */
bool kl_dynevent_block_reads(const struct kl_dynevent *d)
{
	return d->arguments;
}

static int create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		  struct kl_error *why)
{
	if (kl_rights_lack(d->session->may, kl_kind_needs(params->kind)))
		return kl_fail(why, -EPERM,
			       "block events need CAP_SYS_ADMIN and no kernel lockdown");
	if (params->address || params->arg || params->name)
		return kl_fail(why, -EINVAL,
			       "a block event has no probe point: KL_IOC_SPLICE sets it");
	return 0;
}

static void destroy(struct kl_dynevent *d)
{
}

const struct kl_dynevent_kind kl_dynevent_block_kind = {
	.arguments = KL_BLOCK_ARGUMENTS,
	.create = create,
	.destroy = destroy,
};
