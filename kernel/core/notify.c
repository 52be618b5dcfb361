// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications that a session's rules send to its owner, whatever the buffers are doing: alarms
 * and snapshot requests. Probes on all CPUs write them; a task that polls the session's descriptor
 * is woken and reads them. No lock: a writer that finds its slot busy drops its alarm, which a
 * reader detects by a gap in the numbers.
 */
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat/clock.h"
#include "notify.h"
#include "session.h"

#define COPY_TRIES 20

static void wake(struct irq_work *irq)
{
	kl_waiters_wake(&container_of(irq, struct kl_notify, irq)->waiters);
}

/**
 * kl_notify_init - initialize, with no notifications
 * @notify: notifications of a new session
 */
void kl_notify_init(struct kl_notify *notify)
{
	init_irq_work(&notify->irq, wake);
	kl_waiters_init(&notify->waiters);
}

/**
 * kl_notify_deinit - free a session's notifications
 * @notify: notifications of a session in which no probe runs, and which no task polls
 */
void kl_notify_deinit(struct kl_notify *notify)
{
	irq_work_sync(&notify->irq);
	kl_waiters_deinit(&notify->waiters);
	kfree(notify->kept);
}

/**
 * kl_notify_prepare - allocate what a rule needs to raise alarms
 * @s: the session; its lock is held
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_notify_prepare(struct kl_session *s, struct kl_error *why)
{
	u64 bytes = kl_memory_size(KL_ALARMS_KEPT * sizeof(struct kl_alarm));
	struct kl_alarm *kept;
	int error;

	if (s->notify.kept)
		return 0;
	error = kl_memory_charge(&s->payer, bytes, why);
	if (error)
		return error;
	kept = kcalloc(KL_ALARMS_KEPT, sizeof(*kept), GFP_KERNEL_ACCOUNT);
	if (!kept) {
		kl_memory_uncharge(&s->payer, bytes);
		return kl_fail(why, -ENOMEM, "no memory for alarms");
	}
	/* The zeroed alarms before the pointer; pairs with the acquires of `kept`. */
	smp_store_release(&s->notify.kept, kept);
	return 0;
}

static void keep(struct kl_session *s, struct kl_alarm *to, u64 number, u32 event,
		 const struct kl_rule *r)
{
	bool shown = kl_access_shows_current(s);

	WRITE_ONCE(to->number, 0);
	/* The number before the new alarm. Pairs with the smp_rmb in try_copy. */
	smp_wmb();
	to->time = kl_clock();
	to->event = event;
	to->tid = shown ? current->pid : 0;
	to->pid = shown ? current->tgid : 0;
	if (shown)
		memcpy(to->comm, current->comm, KL_COMM_LEN);
	else
		memset(to->comm, 0, KL_COMM_LEN);
	to->rule = r;
	/* The number last: a reader that sees it also sees the rest. Pairs with try_copy. */
	smp_store_release(&to->number, number);
}

/**
 * kl_notify_alarm - raise the alarm of a rule
 * @s: the session
 * @event: id of the event
 * @r: the rule, for which kl_notify_prepare() has succeeded
 *
 * Context: any, preemption off.
 */
void kl_notify_alarm(struct kl_session *s, u32 event, const struct kl_rule *r)
{
	u64 number = atomic64_inc_return(&s->notify.alarms);
	/* Pairs with kl_notify_prepare. */
	struct kl_alarm *kept = smp_load_acquire(&s->notify.kept);
	struct kl_alarm *to = &kept[number % KL_ALARMS_KEPT];

	/* One writer at a time, and a delayed writer does not replace a newer alarm. */
	if (!cmpxchg(&to->busy, 0, 1)) {
		if (to->number < number)
			keep(s, to, number, event, r);
		/* The whole alarm before the next writer. Pairs with the cmpxchg. */
		smp_store_release(&to->busy, 0);
	}
	kl_waiters_kick(&s->notify.waiters, &s->notify.irq);
}

/**
 * kl_notify_snapshot - a rule requests a snapshot of the buffers
 * @s: the session
 *
 * Context: any, preemption off.
 */
void kl_notify_snapshot(struct kl_session *s)
{
	atomic64_inc(&s->notify.snapshots);
	kl_waiters_kick(&s->notify.waiters, &s->notify.irq);
}

/**
 * kl_notify_file - a file has no unwind table yet, and a stack trace leads there
 * @s: the session
 *
 * Context: any, preemption off.
 */
void kl_notify_file(struct kl_session *s)
{
	atomic64_inc(&s->notify.files);
	kl_waiters_kick(&s->notify.waiters, &s->notify.irq);
}

/**
 * kl_notify_check_snapshot - can snapshots of a session be requested?
 * @s: the session
 * @why: set on failure
 *
 * Returns 0, or -EINVAL if the session is not in overwrite mode.
 */
int kl_notify_check_snapshot(const struct kl_session *s, struct kl_error *why)
{
	if (s->mode != KL_MODE_OVERWRITE)
		return kl_fail(
			why, -EINVAL,
			"a snapshot requires overwrite mode: this session is in discard mode");
	return 0;
}

/**
 * kl_notify_request_snapshot - request a snapshot other than by a rule
 * @s: the session
 * @why: set on failure
 *
 * Returns -EINVAL if the session is not in overwrite mode, -ENODATA if it is not running. Context:
 * may sleep.
 */
int kl_notify_request_snapshot(struct kl_session *s, struct kl_error *why)
{
	int error = kl_notify_check_snapshot(s, why);

	if (error)
		return error;
	if (!READ_ONCE(s->running))
		return kl_fail(why, -ENODATA, "the session is not running");
	atomic64_inc(&s->notify.snapshots);
	wake_up_interruptible_all(&s->notify.waiters.wait);
	return 0;
}

/**
 * kl_notify_wake - wake waiting tasks: the session has been frozen or suspended
 * @s: the session
 */
void kl_notify_wake(struct kl_session *s)
{
	wake_up_interruptible_all(&s->notify.waiters.wait);
}

/**
 * kl_notify_number - a number that grows with each notification
 * @s: the session
 */
u64 kl_notify_number(const struct kl_session *s)
{
	return atomic64_read(&s->notify.alarms) + atomic64_read(&s->notify.snapshots) +
	       atomic64_read(&s->notify.files) + READ_ONCE(s->frozen) +
	       READ_ONCE(s->meter.suspended.times);
}

/* Returns false if the alarm is no longer kept, or not yet complete. */
static bool try_copy(struct kl_alarm *from, u64 number, struct kl_abi_alarm *to)
{
	struct kl_alarm copy;

	/* Pairs with the release in keep. */
	if (smp_load_acquire(&from->number) != number)
		return false;
	copy = *from;
	/* The copy before the check. Pairs with the smp_wmb in keep. */
	smp_rmb();
	if (READ_ONCE(from->number) != number)
		return false;
	*to = (struct kl_abi_alarm){
		.number = number,
		.time = copy.time,
		.event = copy.event,
		.tid = copy.tid,
		.pid = copy.pid,
	};
	memcpy(to->comm, copy.comm, KL_COMM_LEN);
	memcpy(to->text, copy.rule->text, sizeof(to->text));
	return true;
}

/* An alarm is counted before it is written. The gap is short unless the writer is delayed. */
static bool copy_alarm(struct kl_alarm *from, u64 number, struct kl_abi_alarm *to)
{
	for (int i = 0; i < COPY_TRIES; i++) {
		if (try_copy(from, number, to))
			return true;
		if (READ_ONCE(from->number) > number)
			break;
		usleep_range(20, 100);
	}
	return false;
}

/**
 * kl_notify_read - copy alarms to user space
 * @s: the session
 * @alarms: first number and size of the buffer in; the rest out
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_notify_read(struct kl_session *s, struct kl_abi_alarms *alarms, struct kl_error *why)
{
	struct kl_abi_alarm __user *to = u64_to_user_ptr(alarms->alarm);
	u64 last = atomic64_read(&s->notify.alarms), number = max_t(u64, alarms->first, 1);
	/* Pairs with kl_notify_prepare. */
	struct kl_alarm *kept = smp_load_acquire(&s->notify.kept);
	struct kl_abi_alarm one;
	u32 room = alarms->n;

	alarms->n = 0;
	alarms->missed = 0;
	if (last >= KL_ALARMS_KEPT && number <= last - KL_ALARMS_KEPT) {
		alarms->missed = last - KL_ALARMS_KEPT + 1 - number;
		number += alarms->missed;
	}
	for (; kept && number <= last && alarms->n < room; number++) {
		if (!copy_alarm(&kept[number % KL_ALARMS_KEPT], number, &one)) {
			alarms->missed++;
			continue;
		}
		if (copy_to_user(&to[alarms->n], &one, sizeof(one)))
			return kl_fail(why, -EFAULT, "cannot write the alarms to user memory");
		alarms->n++;
	}
	alarms->first = number;
	return 0;
}
