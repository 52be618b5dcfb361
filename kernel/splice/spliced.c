// SPDX-License-Identifier: GPL-2.0
/*
 * The existing splices: one set for each session that has requested some. A session's set is
 * removed when the session ends, and all sets before the machine suspends or starts another
 * kernel. Also handles breakpoints. kl_splice_lock guards the sets. Lock order: kl_splice_lock,
 * kprobe_mutex, CPU hotplug, text_mutex.
 */
#include <linux/delay.h>
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../compat/text.h"
#include "../core/session.h"
#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "kernel.h"
#include "map.h"
#include "splice.h"

DEFINE_MUTEX(kl_splice_lock); /* guards the sets and everything in them */

static LIST_HEAD(sets);
static u32 windows; /* in use; moved functions count by weight_of() */
static bool asleep; /* from the notice that the machine suspends until it has resumed */
static bool handles_breakpoints;

#define PROBES_WAIT (3 * HZ) /* time for the users of kprobes to remove them */

/* ------------------------------------------------------------- breakpoints */

static int on_die(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;
	const struct kl_splice *sp;

	if (what != DIE_INT3)
		return NOTIFY_DONE;
	if (user_mode(args->regs))
		return kl_dynevent_trap_fire(args->regs) ? NOTIFY_STOP : NOTIFY_DONE;
	sp = kl_splices_find(args->regs->ip - INT3_INSN_SIZE);
	if (!sp)
		return NOTIFY_DONE;
	/* A call's patch continues in the called function, which returns after the call. */
	if (sp->tier == KL_SPLICE_CALL)
		kl_emulate_call(args->regs, sp->patch);
	else
		int3_emulate_jmp(args->regs, sp->patch);
	return NOTIFY_STOP;
}

struct notifier_block kl_splice_die_block = { .notifier_call = on_die, .priority = INT_MAX };

/**
 * kl_splices_handle_breakpoints - register the breakpoint handler
 * @why: set on failure
 *
 * Called before the first splice, and the first trap of a program. Context: may sleep.
 */
int kl_splices_handle_breakpoints(struct kl_error *why)
{
	static DEFINE_MUTEX(lock);
	int error = 0;

	/* Never reset. */
	if (READ_ONCE(handles_breakpoints))
		return 0;
	mutex_lock(&lock);
	if (!handles_breakpoints)
		error = register_die_notifier(&kl_splice_die_block);
	if (!error)
		WRITE_ONCE(handles_breakpoints, true);
	mutex_unlock(&lock);
	return error ? kl_fail(why, error, "cannot register a breakpoint handler") : 0;
}

/* -------------------------------------------------------------------- lookup */

#define for_each_splices(set, c)              \
	list_for_each_entry(set, &sets, list) \
		list_for_each_entry(c, &(set)->splices, list)

/**
 * kl_splices_from - the first window of a request at or after an address
 * @c: its splices
 * @address: where to begin
 *
 * Returns its index, or the number of windows if there is none.
 */
u32 kl_splices_from(const struct kl_splices *c, unsigned long address)
{
	u32 low = 0, high = c->n;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (c->splice[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool overlaps(unsigned long begin, unsigned long end, unsigned long at, u32 bytes)
{
	return begin < at + bytes && at < end;
}

/* How far from its address a window's bytes, or its slot, may lie. */
#define NEAR_BYTES (KL_SPLICE_WINDOW_BYTES_MAX + 128)

/**
 * kl_splices_taken - does a splice overlap a range?
 * @begin: address
 * @end: of the range
 */
bool kl_splices_taken(unsigned long begin, unsigned long end)
{
	const struct kl_splice_set *set;
	const struct kl_splices *c;

	lockdep_assert_held(&kl_splice_lock);
	for_each_splices(set, c) {
		for (u32 i = kl_splices_from(c, begin - NEAR_BYTES); i < c->n; i++) {
			const struct kl_splice *sp = &c->splice[i];

			if (sp->address >= end + NEAR_BYTES)
				break;
			if (overlaps(begin, end, sp->address, sp->bytes) ||
			    (sp->slot && overlaps(begin, end, sp->slot, KL_JUMP_BYTES)))
				return true;
		}
	}
	return false;
}

/**
 * kl_splices_relocated - is a function moved, so that its text may be bypassed?
 * @begin: of the function
 * @end: of the function
 */
bool kl_splices_relocated(unsigned long begin, unsigned long end)
{
	const struct kl_splice_set *set;
	const struct kl_splices *c;

	lockdep_assert_held(&kl_splice_lock);
	for_each_splices(set, c) {
		u32 i = kl_splices_from(c, begin);

		if (i < c->n && c->splice[i].address < end && c->splice[i].moves)
			return true;
	}
	return false;
}

static void restore(unsigned long begin, unsigned long end, u8 *text, unsigned long at,
		    const u8 *original, u32 bytes)
{
	for (u32 i = 0; i < bytes; i++)
		if (at + i >= begin && at + i < end)
			text[at + i - begin] = original[i];
}

/**
 * kl_splices_restore - undo all splices in a copy of text
 * @begin: address of the text
 * @end: of the text
 * @text: the copy, which is changed
 */
void kl_splices_restore(unsigned long begin, unsigned long end, u8 *text)
{
	const struct kl_splice_set *set;
	const struct kl_splices *c;

	lockdep_assert_held(&kl_splice_lock);
	for_each_splices(set, c) {
		for (u32 i = kl_splices_from(c, begin); i < c->n && c->splice[i].address < end;
		     i++) {
			const struct kl_splice *sp = &c->splice[i];
			u32 bytes = sp->tier == KL_SPLICE_TRAP	 ? 1 :
				    sp->tier == KL_SPLICE_BOUNCE ? KL_BOUNCE_BYTES :
								   KL_JUMP_BYTES;

			restore(begin, end, text, sp->address, sp->original, bytes);
			if (sp->slot)
				restore(begin, end, text, sp->slot, sp->slot_original,
					KL_JUMP_BYTES);
		}
	}
}

/* A moved function may have so many points that these count instead of its windows. */
static u32 weight_of(u32 n, u32 points)
{
	return max_t(u32, n, DIV_ROUND_UP(points, KL_SPLICE_POINTS_MAX));
}

/**
 * kl_splices_room - may there be this many more windows now?
 * @n: number of windows
 * @points: their points
 * @most: maximum number of windows
 * @why: set if not
 */
int kl_splices_room(u32 n, u32 points, u32 most, struct kl_error *why)
{
	u32 more = weight_of(n, points);

	lockdep_assert_held(&kl_splice_lock);
	if (asleep)
		return kl_fail(why, -EBUSY, "the machine is being suspended or shut down");
	if (more > most || windows > most - more)
		return kl_fail(why, -ENOSPC,
			       "%u patch sites are in use, the limit is %u (splices_max)", windows,
			       most);
	return 0;
}

/**
 * kl_splices_of - a session's set, created if it has none
 * @s: the session
 *
 * Returns NULL if memory is short.
 */
struct kl_splice_set *kl_splices_of(struct kl_session *s)
{
	struct kl_splice_set *set = s->splices;

	lockdep_assert_held(&kl_splice_lock);
	set = set ?: kzalloc(sizeof(*set), GFP_KERNEL);
	if (!set || s->splices)
		return set;
	set->session = s;
	INIT_LIST_HEAD(&set->splices);
	list_add_tail(&set->list, &sets);
	/* kl_splices_remove and kl_splices_counts read it without the lock. */
	WRITE_ONCE(s->splices, set);
	return set;
}

/**
 * kl_splices_keep - add written splices to a set
 * @set: of their session
 * @c: the splices
 */
void kl_splices_keep(struct kl_splice_set *set, struct kl_splices *c)
{
	lockdep_assert_held(&kl_splice_lock);
	list_add_tail(&c->list, &set->splices);
	windows += weight_of(c->n, c->points);
	set->points += c->points;
	kl_splice_fire(set->session->name, c->n, c->points);
}

/**
 * kl_splices_free - free the memory of splices
 * @c: not written, or removed, and no task is in its patches
 */
void kl_splices_free(struct kl_splices *c)
{
	for (u32 i = 0; c->hot && i < c->points; i++)
		free_percpu(c->hot[i]);
	kfree(c->hot);
	vfree(c->arena);
	vfree(c->place);
	vfree(c->counter);
	kvfree(c->listed);
	kvfree(c->splice);
	kfree(c);
}

/* ---------------------------------------------------------------- removing */

/* Number of windows in the text. */
static u32 written_in(const struct kl_splice_set *set)
{
	const struct kl_splices *c;
	u32 n = 0;

	list_for_each_entry(c, &set->splices, list)
		for (u32 i = 0; i < c->n; i++)
			n += !c->splice[i].gone;
	return n;
}

/* Wait until no kprobe is in the way, but at most PROBES_WAIT. Takes kprobe_mutex. */
static void hold_kprobes(struct kl_splice_set *set)
{
	unsigned long end = jiffies + PROBES_WAIT;

	mutex_lock(kl_kernel.kprobe_mutex);
	while (kl_splices_probed(set) && time_before(jiffies, end)) {
		mutex_unlock(kl_kernel.kprobe_mutex);
		msleep(20);
		mutex_lock(kl_kernel.kprobe_mutex);
	}
}

/* Keep what lost windows may use, unless their session's creator removes them later. */
static void hold(struct kl_splice_set *set)
{
	if (set->held)
		return;
	set->held = true;
	__module_get(THIS_MODULE);
	/* The patches fire the session's events. */
	kl_session_get(set->session);
}

/*
 * Remove the splices of a set. Returns the number of windows that stay because other code has
 * changed them or a bounce that uses them. These windows, what the set holds for them, and this
 * module stay.
 */
static u32 take_back(struct kl_splice_set *set)
{
	u32 n = written_in(set), lost;
	struct kl_splices *c;

	if (!n)
		return 0;
	hold_kprobes(set);
	kl_splices_unwrite(set);
	mutex_unlock(kl_kernel.kprobe_mutex);
	lost = written_in(set);
	kl_unsplice_fire(set->session->name, n - lost, lost);
	if (lost) {
		pr_err("kernlens: %u patch sites modified by others, left unchanged\n", lost);
		hold(set);
		return lost;
	}
	list_for_each_entry(c, &set->splices, list) {
		if (!c->arena)
			continue;
		windows -= weight_of(c->n, c->points);
		kl_splices_unlist(c);
		kl_splices_withdraw(c);
	}
	/* Wait for breakpoints that are being handled, and for searches of kprobes' blacklist. */
	synchronize_rcu();
	list_for_each_entry(c, &set->splices, list) {
		vfree(c->arena);
		c->arena = NULL;
		c->n = 0;
	}
	kl_splices_rest();
	return 0;
}

static bool is_spliced(unsigned long begin, unsigned long end)
{
	const struct kl_splice_set *set;
	const struct kl_splices *c;

	for_each_splices(set, c) {
		u32 i = kl_splices_from(c, begin);

		if (i < c->n && c->splice[i].address < end)
			return true;
	}
	return false;
}

/**
 * kl_splices_rest - free the maps of modules without splices now, and the kernel's map later
 */
void kl_splices_rest(void)
{
	lockdep_assert_held(&kl_splice_lock);
	kl_map_prune(is_spliced);
	if (!windows)
		kl_map_release();
}

/**
 * kl_splices_remove - remove all splices of a session
 * @s: the session
 * @result: set to the number of windows removed and lost
 *
 * May be called again for lost windows. Does not wait if the session has no splices. Context: the
 * session's creator; may sleep.
 */
void kl_splices_remove(struct kl_session *s, struct kl_abi_unsplice *result)
{
	result->windows = 0;
	result->lost = 0;
	/* Pairs with kl_splices_of. */
	if (!READ_ONCE(s->splices))
		return;
	mutex_lock(&kl_splice_lock);
	result->windows = written_in(s->splices);
	result->lost = take_back(s->splices);
	result->windows -= result->lost;
	if (s->splices->held && !result->lost) {
		s->splices->held = false;
		kl_session_put(s);
		module_put(THIS_MODULE);
	}
	mutex_unlock(&kl_splice_lock);
}

/**
 * kl_splices_close - remove all splices of a session whose creator has closed it
 * @s: the session
 *
 * Does not wait for splices of other sessions if the session has none.
 */
void kl_splices_close(struct kl_session *s)
{
	/* Only set by calls of the creator. */
	if (!s->splices)
		return;
	mutex_lock(&kl_splice_lock);
	take_back(s->splices);
	mutex_unlock(&kl_splice_lock);
}

/**
 * kl_splices_destroy - free a session's counters
 * @s: a closed session that nothing uses any more
 */
void kl_splices_destroy(struct kl_session *s)
{
	struct kl_splices *c, *next;

	if (!s->splices || s->splices->held)
		return;
	mutex_lock(&kl_splice_lock);
	list_del(&s->splices->list);
	mutex_unlock(&kl_splice_lock);
	list_for_each_entry_safe(c, next, &s->splices->splices, list)
		kl_splices_free(c);
	kfree(s->splices);
}

/* ------------------------------------------------------------------ reading */

static u64 count_of(const struct kl_splices *c, u32 point)
{
	u64 count = READ_ONCE(c->counter[point]);
	int cpu;

	if (c->hot)
		for_each_possible_cpu(cpu)
			count += READ_ONCE(*per_cpu_ptr(c->hot[point], cpu));
	return count;
}

/* Copy the counts of points from @first on, at most @room. Returns their number. */
static u32 read_counts(const struct kl_splice_set *set, u32 first, u32 room, u64 *to)
{
	const struct kl_splices *c;
	u32 n = 0;

	list_for_each_entry(c, &set->splices, list) {
		u32 i = first;

		first -= min(first, c->points);
		for (; i < c->points && n < room; i++)
			to[n++] = count_of(c, i);
		if (n == room)
			break;
	}
	return n;
}

/**
 * kl_splices_counts - copy how often points have been executed
 * @s: the session
 * @counts: the first point and the room; filled in
 * @why: set on failure
 *
 * Does not wait if the session has no splices. Context: may sleep; drops the lock while it writes
 * to the caller's memory, which may block.
 */
int kl_splices_counts(struct kl_session *s, struct kl_abi_splice_counts *counts,
		      struct kl_error *why)
{
	u64 __user *to = u64_to_user_ptr(counts->count);
	u32 room = counts->n, most = PAGE_SIZE / sizeof(u64), n;
	int error = 0;
	u64 *some;

	counts->n = 0;
	counts->points = 0;
	/* Pairs with kl_splices_of. */
	if (!READ_ONCE(s->splices))
		return 0;
	some = (u64 *)__get_free_page(GFP_KERNEL);
	if (!some)
		return kl_fail(why, -ENOMEM, "no memory for counts");
	do {
		error = mutex_lock_killable(&kl_splice_lock);
		if (error)
			break;
		counts->points = s->splices->points;
		n = read_counts(s->splices, counts->first + counts->n, min(room - counts->n, most),
				some);
		mutex_unlock(&kl_splice_lock);
		if (copy_to_user(to + counts->n, some, n * sizeof(*some)))
			error = kl_fail(why, -EFAULT, "cannot write the counts to user memory");
		else
			counts->n += n;
		cond_resched();
	} while (!error && n && counts->n < room);
	free_page((unsigned long)some);
	return error;
}

/* ----------------------------------------------------- suspend and reboot */

/* Remove all splices and refuse new ones. Returns the number of windows that stay. */
static u32 fall_asleep(void)
{
	struct kl_splice_set *set;
	u32 lost = 0;

	mutex_lock(&kl_splice_lock);
	asleep = true;
	list_for_each_entry(set, &sets, list)
		lost += take_back(set);
	mutex_unlock(&kl_splice_lock);
	return lost;
}

static void wake_again(void)
{
	mutex_lock(&kl_splice_lock);
	asleep = false;
	mutex_unlock(&kl_splice_lock);
}

/* Restore the text before the machine halts or starts another kernel. */
static int on_reboot(struct notifier_block *block, unsigned long what, void *data)
{
	fall_asleep();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_block = { .notifier_call = on_reboot };

/*
 * What is written to disk, and what runs with other page tables, must be the kernel's own text. If
 * windows stay, the machine does not suspend.
 */
static int on_sleep(struct notifier_block *block, unsigned long what, void *data)
{
	switch (what) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		if (!fall_asleep())
			break;
		wake_again();
		return notifier_from_errno(-EBUSY);
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		wake_again();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block sleep_block = { .notifier_call = on_sleep };

/**
 * kl_splices_init - watch suspend and reboot, before the first session
 *
 * Returns 0 or a negative errno.
 */
int kl_splices_init(void)
{
	int error = register_reboot_notifier(&reboot_block);

	if (error)
		return error;
	error = register_pm_notifier(&sleep_block);
	if (error)
		unregister_reboot_notifier(&reboot_block);
	return error;
}

/**
 * kl_splices_deinit - undo kl_splices_init, after the last session
 */
void kl_splices_deinit(void)
{
	unregister_pm_notifier(&sleep_block);
	unregister_reboot_notifier(&reboot_block);
	if (handles_breakpoints)
		unregister_die_notifier(&kl_splice_die_block);
	kl_map_deinit();
}
