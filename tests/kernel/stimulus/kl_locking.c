// SPDX-License-Identifier: GPL-2.0
/*
 * Takes and releases locks, rightly and wrongly. Writing a name to the parameter `run` calls the
 * function of that name: `wrong_...` has one fault, which no kernel without lock debugging notices;
 * `right_...` has none. What a fault breaks is mended without calls. Locks that are never released
 * can be taken only once.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

#include "contexts.h"

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_MUTEX(third);
static DEFINE_MUTEX(outer);
static DEFINE_MUTEX(inner);
static DEFINE_MUTEX(kept);
static DEFINE_MUTEX(left);
static DECLARE_RWSEM(rw);
static DECLARE_RWSEM(kept_rw);
static DECLARE_RWSEM(left_rw);
static DEFINE_SPINLOCK(spin);
static DEFINE_SPINLOCK(other_spin);
static DEFINE_SPINLOCK(hard_spin);
static DEFINE_SPINLOCK(soft_spin);
static DEFINE_SPINLOCK(safe_spin);
static DEFINE_RWLOCK(table);
static DEFINE_RWLOCK(irq_table);
static DEFINE_RWLOCK(bh_table);
static struct semaphore tickets;
static DEFINE_RT_MUTEX(boosted);

static struct mutex items[2] = { __MUTEX_INITIALIZER(items[0]), __MUTEX_INITIALIZER(items[1]) };

/* ------------------------------------------------------------- released wrongly */

static noinline void take_first(void)
{
	mutex_lock(&first);
}

static noinline void wrong_mutex_foreign(void)
{
	elsewhere(take_first);
	mutex_unlock(&first);
}

static noinline void wrong_mutex_free(void)
{
	mutex_unlock(&second);
}

static noinline void wrong_mutex_again(void)
{
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&first);
}

static noinline void wrong_trylock_ignored(void)
{
	elsewhere(take_first);
	mutex_trylock(&first);
	mutex_unlock(&first);
}

static noinline void take_boosted(void)
{
	rt_mutex_lock(&boosted);
}

static noinline void release_boosted(void)
{
	rt_mutex_unlock(&boosted);
}

static noinline void wrong_rtmutex_free(void)
{
	release_boosted();
	boosted = (struct rt_mutex)__RT_MUTEX_INITIALIZER(boosted);
}

static noinline void wrong_spin_free(void)
{
	preempt_disable();
	spin_unlock(&spin);
	preempt_disable();
	preempt_enable();
}

static noinline void wrong_rwsem_free(void)
{
	up_write(&rw);
	rw = (struct rw_semaphore)__RWSEM_INITIALIZER(rw);
}

static noinline void wrong_rwsem_mode(void)
{
	down_write(&rw);
	up_read(&rw);
	rw = (struct rw_semaphore)__RWSEM_INITIALIZER(rw);
}

static noinline void take_rw(void)
{
	down_write(&rw);
}

static noinline void wrong_rwsem_foreign(void)
{
	elsewhere(take_rw);
	up_write(&rw);
}

/* --------------------------------------------------------------- never released */

static noinline void wrong_mutex_kept(void)
{
	mutex_lock(&kept);
}

static noinline void wrong_rwsem_kept(void)
{
	down_read(&kept_rw);
}

static noinline void take_left(void)
{
	mutex_lock(&left);
}

static noinline void wrong_mutex_exit(void)
{
	elsewhere(take_left);
}

static noinline void take_left_rw(void)
{
	down_write(&left_rw);
}

static noinline void wrong_rwsem_exit(void)
{
	elsewhere(take_left_rw);
}

static noinline void wrong_init_held(void)
{
	mutex_lock(&inner);
	mutex_init(&inner);
}

/* ------------------------------------------------------------------ taken twice */

static noinline void take_twice(void)
{
	allow_signal(SIGKILL);
	mutex_lock(&first);
	send_sig(SIGKILL, current, 1);
	if (!mutex_lock_killable(&first))
		mutex_unlock(&first);
	mutex_unlock(&first);
}

static noinline void wrong_mutex_twice(void)
{
	elsewhere(take_twice);
}

static noinline void write_twice(void)
{
	allow_signal(SIGKILL);
	down_write(&rw);
	send_sig(SIGKILL, current, 1);
	if (!down_write_killable(&rw))
		up_write(&rw);
	up_write(&rw);
}

static noinline void wrong_rwsem_twice(void)
{
	elsewhere(write_twice);
}

static noinline void upgrade(void)
{
	allow_signal(SIGKILL);
	down_read(&rw);
	send_sig(SIGKILL, current, 1);
	if (!down_write_killable(&rw))
		up_write(&rw);
	up_read(&rw);
}

static noinline void wrong_rwsem_upgrade(void)
{
	elsewhere(upgrade);
}

static noinline void wrong_rwsem_read_twice(void)
{
	down_read(&rw);
	down_read(&rw);
	up_read(&rw);
	up_read(&rw);
}

/* A writer may wait between the two: only in interrupts do readers pass it. */
static noinline void wrong_rwlock_read_twice(void)
{
	read_lock(&table);
	read_lock(&table);
	read_unlock(&table);
	read_unlock(&table);
}

/* ------------------------------------------------------------------------ order */

static noinline void wrong_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static noinline void wrong_order_three(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&third);
	mutex_unlock(&third);
	mutex_unlock(&second);
	mutex_lock(&third);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&third);
}

static noinline void wrong_order_spin(void)
{
	spin_lock(&spin);
	spin_lock(&other_spin);
	spin_unlock(&other_spin);
	spin_unlock(&spin);
	spin_lock(&other_spin);
	spin_lock(&spin);
	spin_unlock(&spin);
	spin_unlock(&other_spin);
}

static noinline void lock_rw_in_inner(void)
{
	mutex_lock(&inner);
	down_write(&rw);
	up_write(&rw);
	mutex_unlock(&inner);
}

static noinline void lock_inner_in_rw(void)
{
	down_read(&rw);
	mutex_lock(&inner);
	mutex_unlock(&inner);
	up_read(&rw);
}

static noinline void wrong_order_tasks(void)
{
	elsewhere(lock_rw_in_inner);
	elsewhere(lock_inner_in_rw);
}

static noinline void lock_items(struct mutex *a, struct mutex *b)
{
	mutex_lock(a);
	mutex_lock(b);
	mutex_unlock(b);
	mutex_unlock(a);
}

static noinline void wrong_order_items(void)
{
	lock_items(&items[0], &items[1]);
	lock_items(&items[1], &items[0]);
}

/* ---------------------------------------------------------- where it must not be */

static noinline void wrong_mutex_in_spin(void)
{
	spin_lock(&spin);
	mutex_lock(&first);
	mutex_unlock(&first);
	spin_unlock(&spin);
}

static noinline void wrong_rwsem_in_rwlock(void)
{
	read_lock(&table);
	down_read(&rw);
	up_read(&rw);
	read_unlock(&table);
}

static noinline void wrong_mutex_irqs_off(void)
{
	local_irq_disable();
	mutex_lock(&first);
	mutex_unlock(&first);
	local_irq_enable();
}

static noinline void try_first(void)
{
	if (mutex_trylock(&first))
		mutex_unlock(&first);
}

static noinline void wrong_mutex_in_softirq(void)
{
	in_timer(try_first);
}

static noinline void lock_hard_spin(void)
{
	spin_lock(&hard_spin);
	spin_unlock(&hard_spin);
}

static noinline void wrong_spin_in_interrupt(void)
{
	in_hard_interrupt(lock_hard_spin);
	spin_lock(&hard_spin);
	spin_unlock(&hard_spin);
}

static noinline void lock_soft_spin(void)
{
	spin_lock(&soft_spin);
	spin_unlock(&soft_spin);
}

static noinline void wrong_spin_in_softirq(void)
{
	spin_lock(&soft_spin);
	spin_unlock(&soft_spin);
	in_timer(lock_soft_spin);
}

static noinline void read_irq_table(void)
{
	read_lock(&irq_table);
	read_unlock(&irq_table);
}

static noinline void wrong_rwlock_in_interrupt(void)
{
	in_hard_interrupt(read_irq_table);
	write_lock(&irq_table);
	write_unlock(&irq_table);
}

static noinline void wrong_held_long(void)
{
	mutex_lock(&first);
	msleep(1500);
	mutex_unlock(&first);
}

/* ------------------------------------------------------------------------ right */

static noinline void right_nested(void)
{
	mutex_lock(&outer);
	mutex_lock(&inner);
	mutex_unlock(&inner);
	mutex_unlock(&outer);
	mutex_lock(&outer);
	mutex_lock(&inner);
	mutex_unlock(&outer);
	mutex_unlock(&inner);
}

static noinline void right_trylock(void)
{
	mutex_lock(&first);
	elsewhere(try_first);
	mutex_unlock(&first);
}

/* A lock that is only tried cannot deadlock. */
static noinline void right_try_order(void)
{
	mutex_lock(&outer);
	mutex_lock(&inner);
	mutex_unlock(&inner);
	mutex_unlock(&outer);
	mutex_lock(&inner);
	if (mutex_trylock(&outer))
		mutex_unlock(&outer);
	mutex_unlock(&inner);
}

static noinline void fail_killable(void)
{
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	if (!mutex_lock_killable(&first))
		mutex_unlock(&first);
}

static noinline void right_interrupted(void)
{
	mutex_lock(&first);
	elsewhere(fail_killable);
	mutex_unlock(&first);
}

static noinline void give_ticket(void)
{
	up(&tickets);
}

/* Any task may release a semaphore. */
static noinline void right_semaphore(void)
{
	down(&tickets);
	elsewhere(give_ticket);
}

static noinline void lock_safe_spin(void)
{
	spin_lock(&safe_spin);
	spin_unlock(&safe_spin);
}

static noinline void right_irqsave(void)
{
	unsigned long flags;

	in_hard_interrupt(lock_safe_spin);
	spin_lock_irqsave(&safe_spin, flags);
	spin_unlock_irqrestore(&safe_spin, flags);
	spin_lock_irq(&safe_spin);
	spin_unlock_irq(&safe_spin);
}

static noinline void right_downgrade(void)
{
	down_write(&rw);
	downgrade_write(&rw);
	up_read(&rw);
}

static noinline void right_readers(void)
{
	read_lock_bh(&bh_table);
	read_lock(&bh_table);
	read_unlock(&bh_table);
	read_unlock_bh(&bh_table);
	write_lock_bh(&bh_table);
	write_unlock_bh(&bh_table);
}

static noinline void right_rtmutex(void)
{
	take_boosted();
	release_boosted();
}

/* ---------------------------------------------------------------------- running */

#define CASE(name)          \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(wrong_mutex_foreign),
	CASE(wrong_mutex_free),
	CASE(wrong_mutex_again),
	CASE(wrong_trylock_ignored),
	CASE(wrong_rtmutex_free),
	CASE(wrong_spin_free),
	CASE(wrong_rwsem_free),
	CASE(wrong_rwsem_mode),
	CASE(wrong_rwsem_foreign),
	CASE(wrong_mutex_kept),
	CASE(wrong_rwsem_kept),
	CASE(wrong_mutex_exit),
	CASE(wrong_rwsem_exit),
	CASE(wrong_init_held),
	CASE(wrong_mutex_twice),
	CASE(wrong_rwsem_twice),
	CASE(wrong_rwsem_upgrade),
	CASE(wrong_rwsem_read_twice),
	CASE(wrong_rwlock_read_twice),
	CASE(wrong_order),
	CASE(wrong_order_three),
	CASE(wrong_order_spin),
	CASE(wrong_order_tasks),
	CASE(wrong_order_items),
	CASE(wrong_mutex_in_spin),
	CASE(wrong_rwsem_in_rwlock),
	CASE(wrong_mutex_irqs_off),
	CASE(wrong_mutex_in_softirq),
	CASE(wrong_spin_in_interrupt),
	CASE(wrong_spin_in_softirq),
	CASE(wrong_rwlock_in_interrupt),
	CASE(wrong_held_long),
	CASE(right_nested),
	CASE(right_trylock),
	CASE(right_try_order),
	CASE(right_interrupted),
	CASE(right_semaphore),
	CASE(right_irqsave),
	CASE(right_downgrade),
	CASE(right_readers),
	CASE(right_rtmutex),
};

static int run_set(const char *value, const struct kernel_param *unused)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (sysfs_streq(value, cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return -EINVAL;
}

static int run_get(char *buffer, const struct kernel_param *unused)
{
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		used += scnprintf(buffer + used, PAGE_SIZE - used, "%s\n", cases[i].name);
	return used;
}

static const struct kernel_param_ops run_ops = { .set = run_set, .get = run_get };
module_param_cb(run, &run_ops, NULL, 0600);
MODULE_PARM_DESC(run, "Name of what to run; lists all if read");

static int __init locking_init(void)
{
	sema_init(&tickets, 1);
	return 0;
}

static void __exit locking_exit(void)
{
	/* Whoever waited for the timer saw it end, but for its last instructions. */
	msleep(20);
	irq_work_sync(&interrupt);
}

module_init(locking_init);
module_exit(locking_exit);

MODULE_DESCRIPTION("Uses locks rightly and wrongly, for the tests of kernlens");
MODULE_LICENSE("GPL");
