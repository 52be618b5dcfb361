// SPDX-License-Identifier: GPL-2.0
/* Which context holds which locks, and whether it may take and release them as it does. */
#include <errno.h>
#include <string.h>

#include "use.h"

#define FLAG_INTERRUPTS 0x200ull /* of rflags: they are enabled */
#define SOFTIRQS_OFF 0xff00u /* of preempt_count */
#define IN_INTERRUPT 0xffff00u /* in one, or softirqs are disabled */

/* ------------------------------------------------------------------ what is held */

static struct kl_held *find_held(struct kl_lock_context *context, uint64_t lock)
{
	for (unsigned int i = context->n; i--;)
		if (context->held[i].lock == lock)
			return &context->held[i];
	return NULL;
}

static void remove_held(struct kl_lock_context *context, struct kl_held *held)
{
	size_t after = (size_t)(&context->held[context->n] - (held + 1));

	memmove(held, held + 1, after * sizeof(*held));
	context->n--;
}

static void add_time(uint64_t *sum, uint64_t *worst, uint64_t ns)
{
	*sum += ns;
	*worst = ns > *worst ? ns : *worst;
}

/* A context has a lock from @place->ns on. */
static int acquired(struct kl_lock_use *use, struct kl_lock_context *context,
		    const struct kl_lock_call *call, uint64_t address,
		    const struct kl_lock_place *place, uint64_t ns)
{
	struct kl_lock *lock = kl_lock_get(use, address);

	if (!lock)
		return -ENOMEM;
	lock->times.type = call->type;
	lock->times.taken++;
	lock->last = context;
	add_time(&lock->times.waited_ns, &lock->times.worst_wait_ns, ns - place->ns);
	if (context->n == KL_HELD_MAX)
		remove_held(context, &context->held[0]);
	context->held[context->n] =
		(struct kl_held){ .lock = address, .call = call, .place = *place };
	context->held[context->n++].place.ns = ns;
	return 0;
}

/* The context goes on, and what it waited for was not recorded. */
int kl_lock_settle(struct kl_lock_use *use, struct kl_lock_context *context)
{
	const struct kl_lock_call *call = context->call;

	context->call = NULL;
	if (!call || call->result != KL_LOCK_ALWAYS)
		return 0;
	return acquired(use, context, call, context->lock, &context->place, context->place.ns);
}

/* Was the lock that @call takes or releases free at the event? */
static bool is_free(const struct kl_lock_use *use, const struct kl_lock_call *call,
		    const struct kl_lock_event *e)
{
	return e->has_words && kl_lock_is_free(call, use->layout.realtime, e->word, e->owner);
}

/* ------------------------------------------------------------------------ taking */

static int add_fault(struct kl_lock_use *use, enum kl_lock_fault_kind kind,
		     const struct kl_lock_event *e, uint64_t other,
		     const struct kl_lock_place *there)
{
	struct kl_lock_fault fault = {
		.kind = kind, .lock = e->lock, .other = other, .here = e->place, .certain = true
	};

	if (there)
		fault.there = *there;
	return kl_lock_add_fault(use, &fault);
}

/* Was the event in an interrupt in which the lock must not be taken? */
static bool is_in_interrupt(const struct kl_lock_event *e)
{
	return e->place.context > kl_lock_call_is_asleep(e->call);
}

/* The call may sleep: not with a spinlock, nor with interrupts disabled, nor in one. */
int kl_lock_check_sleep(struct kl_lock_use *use, const struct kl_lock_context *context,
			const struct kl_lock_event *e)
{
	for (unsigned int i = context->n; i--;)
		if (kl_lock_type_spins(context->held[i].call->type) &&
		    !(kl_lock_call_is_asleep(e->call) &&
		      kl_lock_call_is_asleep(context->held[i].call)))
			return add_fault(use, KL_LOCK_SLEEP_SPIN, e, context->held[i].lock,
					 &context->held[i].place);
	if (is_in_interrupt(e) || !(e->flags & FLAG_INTERRUPTS))
		return add_fault(use, KL_LOCK_SLEEP_IRQ, e, 0, NULL);
	return 0;
}

/*
 * A task that reads waits behind a writer that waits for the same task. Only in interrupts, and
 * with softirqs disabled, does an rwlock let readers pass writers.
 */
static bool is_twice(const struct kl_lock_call *before, const struct kl_lock_event *now)
{
	return now->call->type != KL_LOCK_SEMAPHORE &&
	       !(before->type == KL_LOCK_RWLOCK_READ && now->call->type == KL_LOCK_RWLOCK_READ &&
		 !kl_lock_call_is_asleep(now->call) &&
		 (now->place.context || now->preempt_count & IN_INTERRUPT));
}

static int check_held(struct kl_lock_use *use, const struct kl_lock_context *context,
		      const struct kl_lock_event *e)
{
	int ret = 0;

	for (unsigned int i = 0; i < context->n && !ret; i++) {
		const struct kl_held *held = &context->held[i];

		if (held->lock != e->lock) {
			if (held->call->type != KL_LOCK_SEMAPHORE &&
			    e->call->type != KL_LOCK_SEMAPHORE)
				ret = kl_lock_note_order(use, held, e->lock, &e->place);
		} else if (is_twice(held->call, e)) {
			ret = add_fault(use, KL_LOCK_TWICE, e, 0, &held->place);
		}
	}
	return ret;
}

/*
 * A lock that interrupts take must be taken elsewhere with these interrupts disabled; unless both
 * only read. @kind: 0 softirqs, 1 interrupts
 */
static int check_irq(struct kl_lock_use *use, struct kl_lock *lock, const struct kl_lock_event *e,
		     unsigned int kind)
{
	const bool enabled =
		kind ? (e->flags & FLAG_INTERRUPTS) && e->call->disables != KL_LOCK_IRQS :
		       (e->flags & FLAG_INTERRUPTS) && e->call->disables == KL_LOCK_NOTHING &&
				!(e->preempt_count & SOFTIRQS_OFF);
	const unsigned int writes = !kl_lock_type_reads(e->call->type);
	struct kl_lock_irq_use *irq = &lock->irq[kind];
	const struct kl_lock_place *other;

	if (e->place.context == kind + 1)
		irq->in[writes] = e->place;
	else if (e->place.context <= kind && enabled)
		irq->enabled[writes] = e->place;
	else
		return 0;
	other = e->place.context == kind + 1 ? irq->enabled : irq->in;
	for (unsigned int i = 0; i < 2; i++)
		if (other[i].call && (i || writes))
			return add_fault(use, KL_LOCK_IN_IRQ, e, 0, &other[i]);
	return 0;
}

static int check_irqs(struct kl_lock_use *use, const struct kl_lock_event *e)
{
	struct kl_lock *lock = kl_lock_get(use, e->lock);
	int ret = lock ? check_irq(use, lock, e, 0) : -ENOMEM;

	return ret ? ret : check_irq(use, lock, e, 1);
}

/*
 * Somebody took the lock, and it is free now: it was released where this is not recorded, such as
 * in a function of the kernel.
 */
static void drop_released(struct kl_lock_use *use, const struct kl_lock_event *e)
{
	struct kl_lock *lock = kl_lock_get(use, e->lock);
	struct kl_held *held = lock && lock->last ? find_held(lock->last, e->lock) : NULL;

	if (held && is_free(use, held->call, e))
		remove_held(lock->last, held);
	for (size_t i = 0; i < use->n_kept; i++)
		if (use->kept[i].lock == e->lock && is_free(use, use->kept[i].call, e))
			use->kept[i--] = use->kept[--use->n_kept];
}

int kl_lock_take(struct kl_lock_use *use, struct kl_lock_context *context,
		 const struct kl_lock_event *e)
{
	int ret = 0;

	drop_released(use, e);
	if (kl_lock_call_waits(e->call) && kl_lock_call_sleeps(e->call))
		ret = kl_lock_check_sleep(use, context, e);
	else if (is_in_interrupt(e) &&
		 (kl_lock_call_is_asleep(e->call) || e->call->type == KL_LOCK_MUTEX ||
		  e->call->type == KL_LOCK_RTMUTEX))
		/* These must not even be tried there. */
		ret = add_fault(use, KL_LOCK_SLEEP_IRQ, e, 0, NULL);
	if (!ret && kl_lock_call_waits(e->call))
		ret = check_held(use, context, e);
	if (!ret && !kl_lock_call_sleeps(e->call) && kl_lock_call_waits(e->call))
		ret = check_irqs(use, e);
	context->call = e->call;
	context->lock = e->lock;
	context->place = e->place;
	if (!ret && !e->returns)
		ret = kl_lock_settle(use, context);
	return ret;
}

/* The call has come back; is it the one that was made? */
int kl_lock_returned(struct kl_lock_use *use, struct kl_lock_context *context,
		     const struct kl_lock_event *e)
{
	const struct kl_lock_call *call = context->call;
	struct kl_lock *lock;

	if (call != e->call ||
	    strncmp(context->place.call, e->place.call, strlen(context->place.call)))
		return kl_lock_settle(use, context);
	context->call = NULL;
	if (kl_lock_call_has(call, e->result))
		return acquired(use, context, call, context->lock, &context->place, e->place.ns);
	lock = kl_lock_get(use, context->lock);
	if (!lock)
		return -ENOMEM;
	lock->times.failed++;
	return 0;
}

/* --------------------------------------------------------------------- releasing */

static int released(struct kl_lock_use *use, struct kl_lock_context *context, struct kl_held *held,
		    const struct kl_lock_event *e)
{
	struct kl_lock *lock = kl_lock_get(use, e->lock);
	struct kl_lock_fault fault = {
		.lock = e->lock, .here = e->place, .there = held->place, .certain = true
	};
	uint64_t ns = e->place.ns - held->place.ns;
	int ret = 0;

	if (!lock)
		return -ENOMEM;
	lock->times.releases++;
	add_time(&lock->times.held_ns, &lock->times.worst_held_ns, ns);
	if (kl_lock_type_reads(held->call->type) != kl_lock_type_reads(e->call->type)) {
		fault.kind = KL_LOCK_WRONG_MODE;
		ret = kl_lock_add_fault(use, &fault);
	}
	if (!ret && use->limit_ns && ns > use->limit_ns && held->call->type != KL_LOCK_SEMAPHORE) {
		fault.kind = KL_LOCK_LONG;
		fault.here = held->place;
		fault.there = e->place;
		fault.held_ns = ns;
		ret = kl_lock_add_fault(use, &fault);
	}
	remove_held(context, held);
	return ret;
}

/* A lock is released that a task has kept when it returned to user space, or exited. */
static int released_kept(struct kl_lock_use *use, size_t index, const struct kl_lock_event *e)
{
	struct kl_held held = use->kept[index];
	struct kl_lock_fault fault = {
		.kind = KL_LOCK_KEPT,
		.lock = e->lock,
		.here = held.place,
		.there = e->place,
		.certain = true,
	};

	use->kept[index] = use->kept[--use->n_kept];
	if (!held.exited && held.place.tid == e->place.tid)
		return kl_lock_add_fault(use, &fault);
	if (kl_lock_type_reads(e->call->type))
		return 0;
	return add_fault(use, KL_LOCK_FOREIGN_RELEASED, e, 0, &held.place);
}

/* By a context that did not take it: whoever did has it no more. */
static int released_foreign(struct kl_lock_use *use, const struct kl_lock_event *e)
{
	struct kl_lock *lock = kl_lock_get(use, e->lock);
	struct kl_held *held = lock && lock->last ? find_held(lock->last, e->lock) : NULL;
	const bool owned = e->call->type != KL_LOCK_SEMAPHORE && !kl_lock_type_reads(e->call->type);
	int ret;

	if (!lock)
		return -ENOMEM;
	if (held) {
		struct kl_lock_place there = held->place;

		remove_held(lock->last, held);
		return owned ? add_fault(use, KL_LOCK_FOREIGN_RELEASED, e, 0, &there) : 0;
	}
	for (size_t i = 0; i < use->n_kept; i++)
		if (use->kept[i].lock == e->lock)
			return released_kept(use, i, e);
	if (lock->broken || !is_free(use, e->call, e))
		return 0;
	ret = add_fault(use, KL_LOCK_FREE_RELEASED, e, 0, NULL);
	lock->broken = true;
	return ret;
}

int kl_lock_release(struct kl_lock_use *use, struct kl_lock_context *context,
		    const struct kl_lock_event *e)
{
	struct kl_held *held = find_held(context, e->lock);

	if (held && kl_lock_types_fit(held->call->type, e->call->type))
		return released(use, context, held, e);
	return released_foreign(use, e);
}

int kl_lock_initialize(struct kl_lock_use *use, const struct kl_lock_event *e)
{
	struct kl_lock *lock = kl_lock_get(use, e->lock);
	struct kl_held *held;
	int ret = 0;

	if (!lock)
		return -ENOMEM;
	drop_released(use, e);
	held = lock->last ? find_held(lock->last, e->lock) : NULL;
	/* Where memory is new, it does not look like a lock that is held. */
	if (held && e->has_words && !is_free(use, held->call, e)) {
		ret = add_fault(use, KL_LOCK_INIT_HELD, e, 0, &held->place);
		remove_held(lock->last, held);
	}
	return ret ? ret : kl_lock_forget(use, lock);
}

int kl_lock_downgrade(struct kl_lock_context *context, const struct kl_lock_event *e)
{
	struct kl_held *held = find_held(context, e->lock);

	if (held && held->call->type == KL_LOCK_RWSEM_WRITE)
		held->call = kl_lock_call_find("down_read", strlen("down_read"));
	return 0;
}
