// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks a session follows: set before it starts; the set of tasks can also change while it
 * runs. Under the session's lock; probes read it without the lock.
 */
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "../base/task_iter.h"
#include "../core/cgroup.h"
#include "../core/gate.h"
#include "../core/taskset.h"
#include "../latency/latency.h"
#include "session.h"

/* How many passes look for tasks that are created concurrently. */
#define PASSES_MAX 4

static int create_set(struct kl_session *s, struct kl_taskset **set, struct kl_error *why)
{
	struct kl_taskset *made;

	if (*set)
		return 0;
	made = kl_taskset_create(&s->payer, why);
	if (IS_ERR(made))
		return PTR_ERR(made);
	*set = made;
	return 0;
}

/*
 * The owner may read a task that is added, but its memory only if the security modules also allow
 * the owner to trace it.
 */
static void note_traceable(struct kl_session *s, struct task_struct *t)
{
	bool may = s->may & KL_MAY_SEE_ALL;

	if (!may) {
		preempt_disable();
		may = kl_access_may_trace_now(s->owner, t);
		preempt_enable();
	}
	if (!may)
		WRITE_ONCE(s->untraceable, true);
}

/* Returns whether this changes anything. */
static bool change_task(struct kl_session *s, struct task_struct *t, u32 flags)
{
	bool in = flags & KL_TASK_ADD, heir = in && flags & KL_TASK_INHERIT;
	bool is_new = kl_taskset_has(s->tasks, t->pid) != in ||
		      kl_taskset_has(s->heirs, t->pid) != heir;

	if (in)
		note_traceable(s, t);
	kl_gate_follow(s, t->pid, in, heir);
	if (in && is_new)
		kl_latency_add(s, t);
	return is_new;
}

/* What a filter selects, apart from a set of tasks. */
struct selection {
	u32 gate;
	kuid_t uid;
	u64 cgroup;
	u32 cgroup_depth;
};

static int select_user(const struct kl_session *s, u32 uid, struct selection *to,
		       struct kl_error *why)
{
	to->gate = KL_GATE_UID;
	to->uid = make_kuid(s->owner->user_ns, uid);
	if (!uid_valid(to->uid))
		return kl_fail(why, -EINVAL, "user ID %u is not valid in this user namespace", uid);
	return 0;
}

static int select_cgroup(int fd, struct selection *to, struct kl_error *why)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup = cgroup_get_from_fd(fd);
	u32 depth;

	if (IS_ERR(cgroup))
		return kl_fail(why, PTR_ERR(cgroup),
			       PTR_ERR(cgroup) == -ENOENT ?
				       "descriptor %d is of a cgroup that has been removed" :
				       "descriptor %d is not a directory of the cgroup v2 hierarchy",
			       fd);
	depth = cgroup->level;
	to->gate = KL_GATE_CGROUP;
	to->cgroup = cgroup_id(cgroup);
	to->cgroup_depth = depth;
	cgroup_put(cgroup);
	if (depth > KL_CGROUP_DEPTH_MAX)
		return kl_fail(why, -EINVAL, "the cgroup is %u levels below the root (maximum %u)",
			       depth, KL_CGROUP_DEPTH_MAX);
	return 0;
#else
	return kl_fail(why, -EOPNOTSUPP, "this kernel was built without CONFIG_CGROUPS");
#endif
}

static int select_tasks(struct kl_session *s, const struct kl_abi_filter *f, struct selection *to,
			struct kl_error *why)
{
	switch (f->kind) {
	case KL_FILTER_TASKS:
		to->gate = KL_GATE_TASKS;
		return create_set(s, &s->tasks, why) ?: create_set(s, &s->heirs, why);
	case KL_FILTER_UID:
		return select_user(s, f->uid, to, why);
	case KL_FILTER_CGROUP:
		return select_cgroup(f->fd, to, why);
	default:
		return 0;
	}
}

/**
 * kl_session_set_filter - set which tasks' events are recorded
 * @s: the session; must not be running
 * @f: the filter; tasks that the owner may not see stay hidden in any case
 * @why: set on failure
 *
 * Context: the process whose user namespace and descriptors are used; may sleep.
 */
int kl_session_set_filter(struct kl_session *s, const struct kl_abi_filter *f, struct kl_error *why)
{
	struct selection to = { .uid = INVALID_UID };
	int error;

	if (f->kind > KL_FILTER_CGROUP)
		return kl_fail(why, -EINVAL, "unknown filter kind %u", f->kind);
	if (f->fd && f->kind != KL_FILTER_CGROUP)
		return kl_fail(why, -EINVAL, "only a filter by cgroup has a descriptor");
	mutex_lock(&s->lock);
	if (s->running)
		error = kl_fail(why, -EBUSY,
				"cannot change the filter while the session is running");
	else
		error = select_tasks(s, f, &to, why);
	if (!error) {
		s->uid = to.uid;
		s->cgroup = to.cgroup;
		s->cgroup_depth = to.cgroup_depth;
		s->gate = to.gate | (s->gate & KL_GATE_OWN);
		kl_maskset_ask(s, rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock)));
	}
	mutex_unlock(&s->lock);
	return error;
}

/**
 * struct change - the state of a KL_IOC_TASKS call
 * @wanted: the requested task, with a reference
 * @tree: ids of the processes of this pass that descend from @wanted's
 * @n: selected tasks of this pass that the owner may see
 * @new: how many of these were added or removed by this pass
 */
struct change {
	struct kl_session *session;
	struct task_struct *wanted;
	u32 flags;
	struct kl_taskset *tree;
	u32 n;
	u32 new;
};

/*
 * Tasks are listed in the order of their creation, and a process only ever becomes a child of an
 * older one. So if the parent of a process belongs to the tree, it has been entered before the
 * process. Each process is entered or removed anew, as its id may have been another one's.
 */
static bool is_in_tree(struct change *c, struct task_struct *t)
{
	struct task_struct *parent;
	bool in = same_thread_group(t, c->wanted);

	if (!thread_group_leader(t))
		return in || kl_taskset_has(c->tree, t->tgid);
	rcu_read_lock();
	parent = kl_task_real_parent(t);
	in = in || (parent && kl_taskset_has(c->tree, parent->tgid));
	rcu_read_unlock();
	kl_taskset_set(c->tree, t->tgid, in);
	return in;
}

static void visit(struct change *c, struct task_struct *t)
{
	const struct kl_session *s = c->session;

	if (c->tree && !is_in_tree(c, t))
		return;
	/* The id of a task that has ended may already belong to another one. */
	if (!kl_task_is_alive(t) || !kl_access_sees(s->owner, s->may, t))
		return;
	c->n++;
	c->new += change_task(c->session, t, c->flags);
}

/* A task that is in the set stays there, as its events are recorded already. */
static void await(struct change *c)
{
	struct task_struct *t = c->wanted;

	if (!kl_task_is_alive(t))
		return;
	c->n = 1;
	if (kl_taskset_has(c->session->tasks, t->pid)) {
		change_task(c->session, t, c->flags);
	} else {
		note_traceable(c->session, t);
		kl_gate_await(c->session, t->pid, c->flags & KL_TASK_INHERIT);
	}
}

static int make_pass(struct change *c)
{
	struct kl_task_list l;
	int error = kl_tasks_list(&l, c->tree ? NULL : c->wanted, true);

	c->n = 0;
	c->new = 0;
	if (error)
		return error;
	for (u32 i = 0; i < l.n && !error; i++) {
		visit(c, l.task[i]);
		if (i % 64 == 63) {
			cond_resched();
			error = fatal_signal_pending(current) ? -EINTR : 0;
		}
	}
	kl_tasks_put(&l);
	return error;
}

/*
 * A task that is created by one in the set is added at its creation. One that is created by a task
 * not yet in the set follows that task in the list and is visited later in the same pass, unless
 * the list has been taken already, or kl_follow_attach()'s probe is just handling its creation. So
 * there are further passes, until one finds nothing new.
 */
static int change_several(struct change *c, struct kl_error *why)
{
	struct kl_payer *payer = &c->session->payer;
	int error = 0;

	if (c->flags & KL_TASK_TREE) {
		struct kl_taskset *tree = kl_taskset_create(payer, why);

		if (IS_ERR(tree))
			return PTR_ERR(tree);
		c->tree = tree;
	}
	for (u32 i = 0; i < PASSES_MAX && !error; i++) {
		error = make_pass(c);
		if (!c->new)
			break;
	}
	if (c->tree)
		kl_memory_uncharge(payer, sizeof(*c->tree));
	kl_taskset_destroy(c->tree);
	return error == -ENOMEM ? kl_fail(why, error, "no memory for a list of tasks") : error;
}

/* Gives the same answer for a task that does not exist and one that the owner may not see. */
static struct task_struct *find_wanted(const struct kl_session *s, pid_t pid)
{
	struct task_struct *t;

	rcu_read_lock();
	t = pid_task(find_vpid(pid), PIDTYPE_PID);
	if (t && !kl_access_sees(s->owner, s->may, t))
		t = NULL;
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

static int change_tasks(struct kl_session *s, struct kl_abi_tasks *t, struct kl_error *why)
{
	struct change c = { .session = s, .flags = t->flags };
	int error = 0;

	lockdep_assert_held(&s->lock);
	if (!s->tasks || !s->heirs)
		return kl_fail(why, -EINVAL, "the session's filter is not a set of tasks");
	c.wanted = find_wanted(s, t->pid);
	if (!c.wanted)
		return kl_fail(why, -ESRCH, "process %d does not exist", t->pid);
	if (t->flags & (KL_TASK_PROCESS | KL_TASK_TREE))
		error = change_several(&c, why);
	else if (t->flags & KL_TASK_EXEC)
		await(&c);
	else
		visit(&c, c.wanted);
	put_task_struct(c.wanted);
	t->count = c.n;
	return error;
}

/**
 * kl_session_change_tasks - add tasks to the session's set, or remove them
 * @s: the session, with KL_FILTER_TASKS
 * @t: the tasks; `count` is set to the number of those that the owner may see, others are ignored
 * @why: set on failure
 *
 * If the caller is killed, some tasks have been changed and others have not. Context: the process
 * whose pid namespace is used; may sleep.
 */
int kl_session_change_tasks(struct kl_session *s, struct kl_abi_tasks *t, struct kl_error *why)
{
	int error;

	if (!(t->flags & KL_TASK_ADD) == !(t->flags & KL_TASK_REMOVE))
		return kl_fail(why, -EINVAL, "specify either KL_TASK_ADD or KL_TASK_REMOVE");
	if (t->flags & KL_TASK_EXEC && t->flags & (KL_TASK_REMOVE | KL_TASK_PROCESS | KL_TASK_TREE))
		return kl_fail(why, -EINVAL, "KL_TASK_EXEC applies only to adding a single task");
	t->count = 0;
	mutex_lock(&s->lock);
	error = change_tasks(s, t, why);
	if (t->flags & KL_TASK_REMOVE)
		kl_gate_forget(s);
	mutex_unlock(&s->lock);
	return error;
}
