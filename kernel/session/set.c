// SPDX-License-Identifier: GPL-2.0
/*
 * KL_IOC_SET: a parameter of a process is about to be set, and has been. Called by kernel/device,
 * which keeps the pending change of each open file. The caller makes the kernel's call between the
 * two steps; this file reads the value before and after it, and fires the event. See
 * docs/design/set.md.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/iocontext.h>
#include <linux/ioprio.h>
#include <linux/nospec.h>
#include <linux/pid.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../base/task_iter.h"
#include "../source/probes.h"
#include "../source/source.h"
#include "set.h"

/**
 * struct kl_setting - a pending change
 * @by: the process that began it, and the only one that can make it an event
 * @task: with a reference; NULL if none has that id and start time
 * @seen: the caller may see @task, or there is none
 */
struct kl_setting {
	struct pid *by;
	struct task_struct *task;
	bool seen;
	struct kl_change change;
};

/* ------------------------------------------------------------- the values */

typedef s64 (*read_fn)(struct task_struct *t, u32 what, char text[KL_STRING_MAX]);

static s64 put_number(char *text, s64 number)
{
	snprintf(text, KL_STRING_MAX, "%lld", number);
	return number;
}

static s64 read_nice(struct task_struct *t, u32 what, char *text)
{
	return put_number(text, task_nice(t));
}

static s64 read_priority(struct task_struct *t, u32 what, char *text)
{
	return put_number(text, t->rt_priority);
}

static s64 read_oom_score_adj(struct task_struct *t, u32 what, char *text)
{
	return put_number(text, t->signal->oom_score_adj);
}

static s64 read_timer_slack(struct task_struct *t, u32 what, char *text)
{
	return put_number(text, t->timer_slack_ns);
}

static s64 read_policy(struct task_struct *t, u32 what, char *text)
{
	static const char *const names[] = {
		[SCHED_NORMAL] = "other",     [SCHED_FIFO] = "fifo", [SCHED_RR] = "rr",
		[SCHED_BATCH] = "batch",      [SCHED_IDLE] = "idle", [SCHED_DEADLINE] = "deadline",
		[SCHED_DEADLINE + 1] = "ext",
	};
	unsigned int policy = READ_ONCE(t->policy);
	const char *name = policy < ARRAY_SIZE(names) ? names[policy] : NULL;
	int n = scnprintf(text, KL_STRING_MAX, "%s", name ?: "unknown");

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		n += scnprintf(text + n, KL_STRING_MAX - n, ":%u", t->rt_priority);
	else if (policy == SCHED_DEADLINE)
		n += scnprintf(text + n, KL_STRING_MAX - n, ":%llu:%llu:%llu", t->dl.dl_runtime,
			       t->dl.dl_deadline, t->dl.dl_period);
	if (t->sched_reset_on_fork)
		scnprintf(text + n, KL_STRING_MAX - n, ",reset_on_fork");
	return policy;
}

/* As sched_getaffinity(2): the CPUs in use. Stays empty if there is no memory for a mask. */
static s64 read_affinity(struct task_struct *t, u32 what, char *text)
{
	cpumask_var_t mask;
	s64 first;

	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return 0;
	cpumask_and(mask, &t->cpus_mask, cpu_active_mask);
	snprintf(text, KL_STRING_MAX, "%*pbl", cpumask_pr_args(mask));
	first = cpumask_bits(mask)[0];
	free_cpumask_var(mask);
	return first;
}

/* As it was set: "none" if it was not, whatever the kernel derives then. */
static s64 read_ioprio(struct task_struct *t, u32 what, char *text)
{
	static const char *const names[] = { "none", "realtime", "best-effort", "idle" };
	u32 value = IOPRIO_DEFAULT, class;

	task_lock(t);
#ifdef CONFIG_BLOCK
	if (t->io_context)
		value = t->io_context->ioprio;
#endif
	task_unlock(t);
	class = IOPRIO_PRIO_CLASS(value);
	if (class == IOPRIO_CLASS_RT || class == IOPRIO_CLASS_BE)
		snprintf(text, KL_STRING_MAX, "%s:%lu", names[class], IOPRIO_PRIO_DATA(value) & 7);
	else
		snprintf(text, KL_STRING_MAX, "%s",
			 class < ARRAY_SIZE(names) ? names[class] : "unknown");
	return value;
}

/* The path in the caller's own cgroup namespace. A task that is exiting has none any more. */
static s64 read_cgroup(struct task_struct *t, u32 what, char *text)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup;
	s64 id;

	rcu_read_lock();
	cgroup = task_css_set(t)->dfl_cgrp;
	if (!cgroup_tryget(cgroup))
		cgroup = NULL;
	rcu_read_unlock();
	if (!cgroup)
		return 0;
	id = cgroup->kn->id;
	if (!current->nsproxy || cgroup->level > KL_CGROUP_LEVELS_MAX ||
	    cgroup_path_ns(cgroup, text, KL_STRING_MAX, current->nsproxy->cgroup_ns) < 0)
		text[0] = 0;
	cgroup_put(cgroup);
	return id;
#else
	return 0;
#endif
}

static int put_limit(char *text, int room, unsigned long limit)
{
	return limit == RLIM_INFINITY ? scnprintf(text, room, "unlimited") :
					scnprintf(text, room, "%lu", limit);
}

static s64 read_limit(struct task_struct *t, u32 what, char *text)
{
	struct task_struct *leader = kl_task_get_leader(t);
	struct rlimit limit;
	int n;

	/* Read both at once, as prlimit(2) writes them. */
	task_lock(leader);
	limit = t->signal->rlim[what - KL_SET_LIMIT];
	task_unlock(leader);
	put_task_struct(leader);
	n = put_limit(text, KL_STRING_MAX, limit.rlim_cur);
	n += scnprintf(text + n, KL_STRING_MAX - n, ":");
	put_limit(text + n, KL_STRING_MAX - n, limit.rlim_max);
	return limit.rlim_cur == RLIM_INFINITY ? -1 : (s64)limit.rlim_cur;
}

static const read_fn readers[] = {
	[KL_SET_NICE] = read_nice,
	[KL_SET_POLICY] = read_policy,
	[KL_SET_PRIORITY] = read_priority,
	[KL_SET_AFFINITY] = read_affinity,
	[KL_SET_IOPRIO] = read_ioprio,
	[KL_SET_OOM_SCORE_ADJ] = read_oom_score_adj,
	[KL_SET_TIMER_SLACK] = read_timer_slack,
	[KL_SET_CGROUP] = read_cgroup,
	[KL_SET_LIMIT... KL_SET_LIMIT + RLIM_NLIMITS - 1] = read_limit,
};

/* Each row of settings.def has a reader. */
#define KL_SETTING(id, macro, name, scope, help) \
	static_assert(KL_SET_##macro < ARRAY_SIZE(readers));
#include "../../uapi/settings.def"
#undef KL_SETTING

/* --------------------------------------------------------------- the call */

/*
 * Find the requested task, with a reference. NULL if there is none, if it was started at another
 * time, or if the caller may not learn when it was started.
 */
static struct task_struct *find(const struct kl_abi_set *call, const struct cred *cred, u32 may,
				bool *seen)
{
	struct task_struct *t = NULL;

	*seen = true;
	rcu_read_lock();
	if (call->id > 0)
		t = pid_task(find_vpid(call->id), PIDTYPE_PID);
	if (t) {
		*seen = kl_access_sees(cred, may, t);
		if (call->start_ns && (!*seen || call->start_ns != t->start_boottime))
			t = NULL;
	}
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

static void fire(struct kl_setting *s, int error)
{
	struct kl_change *c = &s->change;

	c->error = error;
	if (s->task)
		c->new_value = readers[c->what](s->task, c->what, c->new_text);
	/*
	 * An attempt by a caller that cannot even see the task must not flood the task's owner
	 * with events; a real change is reported.
	 */
	kl_set_fire(s->task, c,
		    s->seen || c->old_value != c->new_value || strcmp(c->old_text, c->new_text));
}

static void destroy(struct kl_setting *s)
{
	if (s->task)
		put_task_struct(s->task);
	put_pid(s->by);
	kfree(s);
}

static int begin(struct kl_abi_set *call, const struct cred *cred, u32 may,
		 struct kl_setting **pending, struct kl_error *why)
{
	struct kl_setting *s;
	struct kl_change *c;

	if (call->what >= ARRAY_SIZE(readers) ||
	    !readers[array_index_nospec(call->what, ARRAY_SIZE(readers))])
		return kl_fail(why, -EINVAL, "unknown setting %u", call->what);
	if (strnlen(call->asked, sizeof(call->asked)) == sizeof(call->asked))
		return kl_fail(why, -EINVAL, "the requested value is not NUL-terminated");
	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return kl_fail(why, -ENOMEM, "no memory to record the change");
	c = &s->change;
	s->by = get_pid(task_tgid(current));
	s->task = find(call, cred, may, &s->seen);
	c->tid = s->task ? s->task->pid : call->id;
	c->pid = s->task ? s->task->tgid : 0;
	c->what = array_index_nospec(call->what, ARRAY_SIZE(readers));
	strscpy(c->asked, call->asked, sizeof(c->asked));
	if (s->task)
		c->old_value = readers[c->what](s->task, c->what, c->old_text);
	call->flags = call->start_ns && !s->task ? KL_SET_ABSENT : 0;
	kl_set_abandon(*pending);
	*pending = s;
	return 0;
}

static int end(struct kl_abi_set *call, const struct cred *cred, u32 may,
	       struct kl_setting **pending, struct kl_error *why)
{
	struct kl_setting *s = *pending;
	const struct kl_change *c;

	if (!s || s->by != task_tgid(current))
		return kl_fail(why, -EINVAL,
			       "this process has not begun a change on this descriptor");
	if (call->error < 0 || call->error > KL_SET_ERROR_MAX)
		return kl_fail(why, -EINVAL, "invalid error number %d", call->error);
	/* The task may have executed another program in the meantime. */
	s->seen = s->seen && (!s->task || kl_access_sees(cred, may, s->task));
	fire(s, call->error);
	c = &s->change;
	call->flags = 0;
	if (s->task && s->seen) {
		call->flags = KL_SET_TOLD | (kl_task_is_alive(s->task) ? 0 : KL_SET_ENDED);
		call->old_value = c->old_value;
		call->new_value = c->new_value;
		memcpy(call->old_text, c->old_text, sizeof(call->old_text));
		memcpy(call->new_text, c->new_text, sizeof(call->new_text));
	}
	*pending = NULL;
	destroy(s);
	return 0;
}

/**
 * kl_set - KL_IOC_SET
 * @call: the request; the result is filled in
 * @cred: of the opener
 * @may: KL_MAY_* of the opener
 * @pending: the change pending on this descriptor, or NULL; updated
 * @why: set on failure
 *
 * Context: the caller's system call, one at a time for @pending; may sleep. Returns 0 or a
 * negative errno.
 */
int kl_set(struct kl_abi_set *call, const struct cred *cred, u32 may, struct kl_setting **pending,
	   struct kl_error *why)
{
	switch (call->step) {
	case KL_SET_BEGIN:
		return begin(call, cred, may, pending, why);
	case KL_SET_END:
		return end(call, cred, may, pending, why);
	default:
		return kl_fail(why, -EINVAL, "unknown step %u of a change", call->step);
	}
}

/**
 * kl_set_abandon - report and free a change that its caller will not end
 * @pending: the change, or NULL
 *
 * A descriptor may have been passed on: no event claims that another process which closes it
 * wanted a change. Context: process; may sleep.
 */
void kl_set_abandon(struct kl_setting *pending)
{
	if (!pending)
		return;
	if (pending->by == task_tgid(current))
		fire(pending, ECANCELED);
	destroy(pending);
}
