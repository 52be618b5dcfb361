// SPDX-License-Identifier: GPL-2.0
/*
 * Events at the entry of a kernel function (KL_FN rows), through ftrace: one hook per function,
 * shared by the sessions that want it. The hook reads its list of sessions under RCU;
 * `functions_lock` guards changes.
 */
#include <linux/ftrace.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "../compat/ftrace.h"
#include "../core/session.h"
#include "source.h"

/* The sixth and further arguments are not passed on: no row uses them. */
typedef void (*function_probe)(void *data, unsigned long, unsigned long, unsigned long,
			       unsigned long, unsigned long);

struct follower {
	struct list_head list;
	struct kl_session *session;
};

struct hook {
	struct ftrace_ops ops;
	struct list_head list; /* of hooks */
	const struct kl_event *event;
	struct list_head followers;
};

static DEFINE_MUTEX(functions_lock);
static LIST_HEAD(hooks);

static void on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		     struct ftrace_regs *fregs)
{
	struct hook *hook = container_of(ops, struct hook, ops);
	function_probe probe = (function_probe)hook->event->probe;
	struct follower *f;

	preempt_disable_notrace();
	list_for_each_entry_rcu(f, &hook->followers, list, true)
		probe(f->session, kl_ftrace_argument(fregs, 0), kl_ftrace_argument(fregs, 1),
		      kl_ftrace_argument(fregs, 2), kl_ftrace_argument(fregs, 3),
		      kl_ftrace_argument(fregs, 4));
	preempt_enable_notrace();
}

static struct hook *find_hook(const struct kl_event *e)
{
	struct hook *hook;

	list_for_each_entry(hook, &hooks, list)
		if (hook->event == e)
			return hook;
	return NULL;
}

static struct hook *create_hook(const struct kl_event *e, struct kl_error *why)
{
	struct hook *hook = kzalloc(sizeof(*hook), GFP_KERNEL);
	int error = -ENOMEM;

	if (!hook)
		goto free;
	hook->event = e;
	hook->ops.func = on_entry;
	INIT_LIST_HEAD(&hook->followers);
	/*
	 * Set the filter by address. By name, ftrace_set_filter reports success even if it could
	 * not allocate the entry, and an empty filter hooks every function.
	 */
	error = ftrace_set_filter_ip(&hook->ops, (unsigned long)e->function, 0, 1);
	if (error)
		goto free;
	error = register_ftrace_function(&hook->ops);
	if (error)
		goto free_filter;
	list_add(&hook->list, &hooks);
	return hook;

free_filter:
	ftrace_free_filter(&hook->ops);
free:
	kl_fail(why, error, "cannot hook function %s", e->target);
	kfree(hook);
	return ERR_PTR(error);
}

static void destroy_hook(struct hook *hook)
{
	unregister_ftrace_function(&hook->ops);
	ftrace_free_filter(&hook->ops);
	list_del(&hook->list);
	kfree(hook);
}

/**
 * kl_function_attach - make a function's entry fire for a session
 * @s: the session; its lock is held
 * @e: a KL_FN row
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_function_attach(struct kl_session *s, const struct kl_event *e, struct kl_error *why)
{
	struct follower *f = kzalloc(sizeof(*f), GFP_KERNEL);
	struct hook *hook;

	lockdep_assert_held(&s->lock);
	if (!f)
		return kl_fail(why, -ENOMEM, "no memory to hook function %s", e->target);
	f->session = s;
	mutex_lock(&functions_lock);
	hook = find_hook(e);
	if (!hook)
		hook = create_hook(e, why);
	if (!IS_ERR(hook))
		list_add_rcu(&f->list, &hook->followers);
	mutex_unlock(&functions_lock);
	if (!IS_ERR(hook))
		return 0;
	kfree(f);
	return PTR_ERR(hook);
}

/**
 * kl_function_detach - undo kl_function_attach
 * @s: the session; its lock is held
 * @e: a KL_FN row that is attached
 *
 * Waits until the hook no longer sees the session. Context: may sleep.
 */
void kl_function_detach(struct kl_session *s, const struct kl_event *e)
{
	struct hook *hook;
	struct follower *f, *next;

	lockdep_assert_held(&s->lock);
	mutex_lock(&functions_lock);
	hook = find_hook(e);
	list_for_each_entry_safe(f, next, &hook->followers, list) {
		if (f->session != s)
			continue;
		list_del_rcu(&f->list);
		/*
		 * Free the last follower after its hook, which waits for running handlers anyway.
		 */
		if (list_empty(&hook->followers))
			destroy_hook(hook);
		else
			synchronize_rcu();
		kfree(f);
		break;
	}
	mutex_unlock(&functions_lock);
}
