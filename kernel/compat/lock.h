/* SPDX-License-Identifier: GPL-2.0 */
/* Who holds a lock that a task waits for. */
#ifndef KL_COMPAT_LOCK_H
#define KL_COMPAT_LOCK_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <trace/events/lock.h>

static inline unsigned long kl_rt_mutex_owner(const struct rt_mutex_base *lock)
{
	return (unsigned long)READ_ONCE(lock->owner) & ~1ul;
}

/*
 * The task that holds a lock; 0 if it is unknown. The address may only be compared: that task may
 * have exited by now.
 *
 * @lock: as passed to the tracepoint contention_begin, with its @flags
 *
 * With PREEMPT_RT, locks that sleep are built from an rt_mutex, with which they begin.
 */
static inline unsigned long kl_lock_owner_word(const void *lock, unsigned int flags)
{
#ifdef CONFIG_PREEMPT_RT
	return flags & LCB_F_RT ? kl_rt_mutex_owner(lock) : 0;
#else
	unsigned long word;

	if (flags & LCB_F_MUTEX)
		return atomic_long_read(&((const struct mutex *)lock)->owner) & ~7ul;
	if (flags & LCB_F_RT)
		return kl_rt_mutex_owner(lock);
	if (flags & (LCB_F_PERCPU | LCB_F_SPIN) || !(flags & (LCB_F_READ | LCB_F_WRITE)))
		return 0;
	/* For readers it names only the last one. */
	word = atomic_long_read(&((const struct rw_semaphore *)lock)->owner);
	return word & 1 ? 0 : word & ~7ul;
#endif
}

#endif /* KL_COMPAT_LOCK_H */
