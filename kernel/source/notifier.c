// SPDX-License-Identifier: GPL-2.0
/*
 * Events that the module fires itself, for every session that enabled them: machine trouble (`die`
 * and `panic`), marks that programs make, changed parameters of processes (kernel/session/set.c)
 * and a session's splices. The kernel reports machine trouble through notifier chains; one
 * notifier of each kind is registered while some session wants it. `notifiers_lock` guards the
 * lists of followers, which are read under RCU.
 */
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "../core/gate.h"
#include "../core/record.h"
#include "../core/session.h"
#include "probes.h"
#include "source.h"

struct follower {
	struct list_head list;
	struct rcu_head rcu;
	struct kl_session *session;
};

static DEFINE_MUTEX(notifiers_lock);
static LIST_HEAD(die_followers);
static LIST_HEAD(panic_followers);
static LIST_HEAD(mark_followers);
static LIST_HEAD(set_followers);
static LIST_HEAD(splice_followers);
static LIST_HEAD(unsplice_followers);

/*
 * Events that programs fire keep sessions with a gate in a separate list, so that one test of the
 * gate covers all of them.
 */
static LIST_HEAD(mark_followers_gated);
static LIST_HEAD(set_followers_gated);

static int on_die(struct notifier_block *block, unsigned long what, void *data)
{
	struct die_args *args = data;
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &die_followers, list, true)
		kl_probe_die(f->session, args->trapnr, args->signr, args->err,
			     args->regs ? instruction_pointer(args->regs) : 0, args->str);
	preempt_enable();
	return NOTIFY_DONE;
}

static int on_panic(struct notifier_block *block, unsigned long what, void *data)
{
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &panic_followers, list, true)
		kl_probe_panic(f->session, data);
	preempt_enable();
	return NOTIFY_DONE;
}

/**
 * kl_mark_fire - record a mark made by the running program
 * @value: the mark's number
 * @text: NUL-terminated, shorter than KL_STRING_MAX
 *
 * Fires for all sessions that have the event and whose gate allows the task.
 * Context: process.
 */
void kl_mark_fire(u64 value, const char *text)
{
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &mark_followers, list, true)
		kl_probe_mark(f->session, value, text);
	if (!list_empty(&mark_followers_gated) && kl_gate_wants(current))
		list_for_each_entry_rcu(f, &mark_followers_gated, list, true)
			if (kl_gate_may_want(f->session, current))
				kl_probe_mark(f->session, value, text);
	preempt_enable();
}

/**
 * kl_set_fire - report an attempt to set a parameter of a process, successful or not
 * @t: the process or thread, with a reference; NULL if it does not exist
 * @change: the change
 * @told: also report it to sessions that may see @t but not the running task
 *
 * Fires for all sessions that have the event. Context: process.
 */
void kl_set_fire(struct task_struct *t, const struct kl_change *change, bool told)
{
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &set_followers, list, true)
		kl_probe_process_set(f->session, t, change);
	if (!list_empty(&set_followers_gated) &&
	    (kl_gate_wants(current) || (told && t && kl_gate_wants(t))))
		list_for_each_entry_rcu(f, &set_followers_gated, list, true)
			if (told || kl_gate_self(f->session))
				kl_probe_process_set(f->session, t, change);
	preempt_enable();
}

/**
 * kl_splice_fire - report that a session's splices are in place
 * @session: its name
 * @windows: number of windows
 * @points: number of points in them
 *
 * Fires for all sessions that have the event. Context: process.
 */
void kl_splice_fire(const char *session, u32 windows, u32 points)
{
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &splice_followers, list, true)
		kl_probe_block_splice(f->session, session, windows, points);
	preempt_enable();
}

/**
 * kl_unsplice_fire - report that a session's splices have been removed
 * @session: its name
 * @windows: number of windows
 * @lost: number of windows that could not be removed
 *
 * Fires for all sessions that have the event. Context: process.
 */
void kl_unsplice_fire(const char *session, u32 windows, u32 lost)
{
	struct follower *f;

	preempt_disable();
	list_for_each_entry_rcu(f, &unsplice_followers, list, true)
		kl_probe_block_unsplice(f->session, session, windows, lost);
	preempt_enable();
}

/* Run before other notifiers, which may not return. */
static struct notifier_block die_block = { .notifier_call = on_die, .priority = INT_MAX };
static struct notifier_block panic_block = { .notifier_call = on_panic, .priority = INT_MAX };

/* Register or unregister the notifier of an event's chain. Events that programs fire have none. */
static void switch_notifier(const struct kl_event *e, bool on)
{
	if (e->probe == kl_probe_die) {
		if (on)
			register_die_notifier(&die_block);
		else
			unregister_die_notifier(&die_block);
	} else if (e->probe != kl_probe_panic) {
		return;
	} else if (on) {
		atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	} else {
		atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	}
}

/* The followers of an event, or NULL if another part of the module fires it. */
static struct list_head *followers_of(const struct kl_session *s, const struct kl_event *e)
{
	if (e->probe == kl_probe_die)
		return &die_followers;
	if (e->probe == kl_probe_panic)
		return &panic_followers;
	if (e->probe == kl_probe_mark)
		return s->gate ? &mark_followers_gated : &mark_followers;
	if (e->probe == kl_probe_process_set)
		return s->gate ? &set_followers_gated : &set_followers;
	if (e->probe == kl_probe_block_splice)
		return &splice_followers;
	if (e->probe == kl_probe_block_unsplice)
		return &unsplice_followers;
	return NULL;
}

/**
 * kl_notifier_attach - make an event that the module fires itself fire for a session
 * @s: the session; its lock is held
 * @e: a KL_OWN row
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_notifier_attach(struct kl_session *s, const struct kl_event *e, struct kl_error *why)
{
	struct list_head *followers = followers_of(s, e);
	struct follower *f;

	lockdep_assert_held(&s->lock);
	if (!followers)
		return 0;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return kl_fail(why, -ENOMEM, "no memory to attach %s", e->name);
	f->session = s;
	mutex_lock(&notifiers_lock);
	if (list_empty(followers))
		switch_notifier(e, true);
	list_add_rcu(&f->list, followers);
	mutex_unlock(&notifiers_lock);
	return 0;
}

/**
 * kl_notifier_detach - undo kl_notifier_attach
 * @s: the session; its lock is held
 * @e: a KL_OWN row that is attached
 *
 * The notifier may still be running for it: kl_source_synchronize waits for it.
 * Context: may sleep.
 */
void kl_notifier_detach(struct kl_session *s, const struct kl_event *e)
{
	struct list_head *followers = followers_of(s, e);
	struct follower *f, *next;

	lockdep_assert_held(&s->lock);
	if (!followers)
		return;
	mutex_lock(&notifiers_lock);
	list_for_each_entry_safe(f, next, followers, list) {
		if (f->session != s)
			continue;
		list_del_rcu(&f->list);
		if (list_empty(followers))
			switch_notifier(e, false);
		kfree_rcu(f, rcu);
		break;
	}
	mutex_unlock(&notifiers_lock);
}
