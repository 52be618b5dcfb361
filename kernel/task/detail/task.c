// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a task, for detail.c: the numbers at the head of a page about it, its arguments and
 * environment, paths, namespaces and cgroups.
 */
#include <linux/cgroup.h>
#include <linux/file.h>
#include <linux/fs_struct.h>
#include <linux/ipc_namespace.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/path.h>
#include <linux/pid_namespace.h>
#include <linux/proc_ns.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "../../base/task_iter.h"
#include "../../compat/file.h"
#include "../../compat/task.h"
#include "detail.h"

/* ---------------------------------------------------------------- numbers */

/* Another task's number is reported only if the caller may see that task. */
static pid_t seen_id(const struct kl_detail *d, struct task_struct *t)
{
	return t && kl_detail_sees(d, t) ? task_tgid_vnr(t) : 0;
}

static void note_ended(const struct signal_struct *signal, void *record)
{
	struct kl_abi_detail_task *to = record;

	to->min_faults = signal->min_flt;
	to->maj_faults = signal->maj_flt;
	to->cpu_ns = signal->sum_sched_runtime;
}

/* What its threads have used, including those that have ended. */
static int add_threads(struct task_struct *t, struct kl_abi_detail_task *to)
{
	struct kl_task_list l;
	int error = kl_threads_list(&l, t, note_ended, to);

	if (error)
		return error;
	for (u32 i = 0; i < l.n; i++) {
		/* The threads keep running: each number is of some instant of the call. */
		to->min_faults += data_race(l.task[i]->min_flt);
		to->maj_faults += data_race(l.task[i]->maj_flt);
		to->cpu_ns += data_race(l.task[i]->se.sum_exec_runtime);
		if (i % 128 == 127)
			cond_resched();
	}
	kl_tasks_put(&l);
	return 0;
}

static void fill_relatives(const struct kl_detail *d, struct kl_abi_detail_task *to)
{
	struct task_struct *t = d->task;

	rcu_read_lock();
	to->tid = task_pid_vnr(t);
	to->pid = task_tgid_vnr(t);
	to->pgid = task_pgrp_vnr(t);
	to->sid = task_session_vnr(t);
	to->ppid = seen_id(d, kl_task_real_parent(t));
	if (t->ptrace)
		to->tracer = seen_id(d, kl_task_parent(t));
	to->uid = from_kuid_munged(current_user_ns(), __task_cred(t)->uid);
	to->gid = from_kgid_munged(current_user_ns(), __task_cred(t)->gid);
	rcu_read_unlock();
}

/* Numbers that the task and the scheduler change at any time. Returns the flags. */
static u32 read_numbers(struct task_struct *t, struct kl_abi_detail_task *to)
{
	to->state = task_state_index(t);
	to->exit_code = t->exit_state ? t->exit_code : 0;
	to->prio = t->prio;
	to->static_prio = t->static_prio;
	to->normal_prio = t->normal_prio;
	to->nice = task_nice(t);
	to->policy = t->policy;
	to->cpu = task_cpu(t);
	to->threads = get_nr_threads(t);
	return (t->flags & PF_KTHREAD ? KL_DETAIL_TASK_KERNEL : 0) |
	       (t->flags & PF_EXITING ? KL_DETAIL_TASK_ENDING : 0) |
	       (READ_ONCE(t->on_cpu) ? KL_DETAIL_TASK_ON_CPU : 0);
}

static u32 count_links(struct task_struct *t)
{
	struct mm_struct *mm = kl_task_get_mm(t);
	struct file *exe;
	u32 links = 0;

	if (!mm)
		return 0;
	exe = kl_mm_exe_file(mm);
	mmput(mm);
	if (exe) {
		links = file_inode(exe)->i_nlink;
		fput(exe);
	}
	return links;
}

/**
 * kl_detail_task - KL_DETAIL_TASK
 * @d: the call
 */
int kl_detail_task(struct kl_detail *d)
{
	struct kl_abi_detail_task *to = kl_detail_add(d, KL_DETAIL_TASK, sizeof(*to), 0);
	struct task_struct *t = d->task;
	int error;

	/*
	 * Read the name first, so that no state from before a rename is reported with the new
	 * name.
	 */
	get_task_comm(to->comm, t);
	fill_relatives(d, to);
	error = add_threads(t, to);
	if (error == -ENOMEM)
		return kl_fail(d->why, error, "no memory for a list of threads");
	if (error)
		return error;
	/* Each number is of some instant of the call, as in /proc. */
	to->flags = data_race(read_numbers(t, to));
	to->start_ns = t->start_boottime;
	to->now_ns = ktime_get_boottime_ns();
	to->exe_links = count_links(t);
	return 0;
}

/* ------------------------------------------------------------------ texts */

/*
 * Copy as much of the program's memory as there is room for. The cursor counts its bytes; it is the
 * caller's, who must not reach memory before the start with it.
 */
static int add_program_bytes(struct kl_detail *d, u32 kind, unsigned long start, unsigned long end)
{
	unsigned long all = end > start ? end - start : 0;

	while (d->cursor < all) {
		u32 bytes = min_t(unsigned long, all - d->cursor, KL_DETAIL_PATH_BYTES_MAX);
		struct kl_abi_detail_bytes *to;
		int got;

		got = access_process_vm(d->task, start + d->cursor, d->path, bytes, FOLL_ANON);
		if (got <= 0)
			break;
		to = kl_detail_add(d, kind, sizeof(*to), got + 1);
		if (!to)
			break;
		to->offset = d->cursor;
		to->text_bytes = got;
		kl_detail_put_text(to, sizeof(*to), d->path, got);
		d->cursor += got;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Where a program's arguments and its environment are in its memory. */
struct strings {
	unsigned long arg_start;
	unsigned long arg_end;
	unsigned long env_start;
	unsigned long env_end;
};

/*
 * Execution of a program sets them without the lock, while others can already see its memory. A
 * mixture of old and new positions is as good as any: only this program's memory is read there.
 */
static bool get_strings(struct task_struct *t, struct strings *to)
{
	struct mm_struct *mm = kl_task_get_mm(t);

	if (!mm)
		return false;
	spin_lock(&mm->arg_lock);
	to->arg_start = data_race(mm->arg_start);
	to->arg_end = data_race(mm->arg_end);
	to->env_start = data_race(mm->env_start);
	to->env_end = data_race(mm->env_end);
	spin_unlock(&mm->arg_lock);
	mmput(mm);
	return true;
}

/*
 * A program that has overwritten the NUL at the end of its arguments shows a title there. The
 * title may extend into its environment and ends at the first NUL.
 */
static unsigned long title_end(struct kl_detail *d, const struct strings *at)
{
	char last = 0;
	int got;

	if (at->env_start != at->arg_end || at->env_end < at->env_start ||
	    at->arg_start >= at->arg_end ||
	    access_process_vm(d->task, at->arg_end - 1, &last, 1, FOLL_ANON) != 1 || !last)
		return at->arg_end;
	got = access_process_vm(d->task, at->arg_start, d->path,
				min_t(unsigned long, at->env_end - at->arg_start,
				      KL_DETAIL_PATH_BYTES_MAX),
				FOLL_ANON);
	return got > 0 ? at->arg_start + strnlen(d->path, got) : at->arg_end;
}

/**
 * kl_detail_command - KL_DETAIL_COMMAND
 * @d: the call
 */
int kl_detail_command(struct kl_detail *d)
{
	struct strings at;

	if (!get_strings(d->task, &at))
		return 0;
	at.arg_end = title_end(d, &at);
	return add_program_bytes(d, KL_DETAIL_COMMAND, at.arg_start, at.arg_end);
}

/**
 * kl_detail_environment - KL_DETAIL_ENVIRONMENT
 * @d: the call
 */
int kl_detail_environment(struct kl_detail *d)
{
	struct strings at;

	if (!get_strings(d->task, &at))
		return 0;
	return add_program_bytes(d, KL_DETAIL_ENVIRONMENT, at.env_start, at.env_end);
}

/* ------------------------------------------------------------------ paths */

/* Returns the path with a reference. */
static bool get_path(struct task_struct *t, u32 which, struct path *path)
{
	bool there = false;

	if (which == KL_DETAIL_PATH_EXE) {
		struct mm_struct *mm = kl_task_get_mm(t);
		struct file *exe = mm ? kl_mm_exe_file(mm) : NULL;

		if (exe) {
			*path = exe->f_path;
			path_get(path);
			fput(exe);
			there = true;
		}
		if (mm)
			mmput(mm);
		return there;
	}
	task_lock(t);
	if (t->fs) {
		if (which == KL_DETAIL_PATH_CWD)
			get_fs_pwd(t->fs, path);
		else
			get_fs_root(t->fs, path);
		there = true;
	}
	task_unlock(t);
	return there;
}

static bool add_path(struct kl_detail *d, u32 which)
{
	struct kl_abi_detail_path *to;
	const char *text;
	struct path path;
	u32 bytes;

	if (!get_path(d->task, which, &path))
		return true;
	text = d_path(&path, d->path, KL_DETAIL_PATH_BYTES_MAX);
	path_put(&path);
	bytes = IS_ERR(text) ? 0 : strlen(text);
	to = kl_detail_add(d, KL_DETAIL_PATHS, sizeof(*to), bytes + 1);
	if (!to)
		return false;
	to->which = which;
	to->text_bytes = bytes;
	to->record.flags = IS_ERR(text) ? KL_DETAIL_CUT : 0;
	kl_detail_put_text(to, sizeof(*to), IS_ERR(text) ? "" : text, bytes);
	return true;
}

/**
 * kl_detail_paths - KL_DETAIL_PATHS
 * @d: the call; the cursor is the next path
 */
int kl_detail_paths(struct kl_detail *d)
{
	while (d->cursor <= KL_DETAIL_PATH_ROOT && add_path(d, d->cursor))
		d->cursor++;
	return 0;
}

/* ------------------------------------------------------------- namespaces */

/*
 * Modules do not know the layout of a mount namespace except that it begins with a struct
 * ns_common, as all namespaces do; otherwise the type would not match.
 */
static u32 mount_inode(const void *ns)
{
	struct ns_common common;

	if (!ns || copy_from_kernel_nofault(&common, ns, sizeof(common)))
		return 0;
	return kl_ns_type(&common) == CLONE_NEWNS ? common.inum : 0;
}

#define NAMESPACES 10

struct inodes {
	u32 type;
	u32 children;
	u32 inode;
};

static u32 time_inode(const struct time_namespace *ns)
{
#ifdef CONFIG_TIME_NS
	return ns->ns.inum;
#else
	return 0;
#endif
}

static void get_inodes(struct task_struct *t, struct inodes to[NAMESPACES])
{
	const struct pid_namespace *pid;
	const struct nsproxy *proxy;

	task_lock(t);
	proxy = t->nsproxy;
	if (proxy) {
		to[0] = (struct inodes){ CLONE_NEWNS, 0, mount_inode(proxy->mnt_ns) };
		to[1] = (struct inodes){ CLONE_NEWUTS, 0, proxy->uts_ns->ns.inum };
		to[2] = (struct inodes){ CLONE_NEWIPC, 0, proxy->ipc_ns->ns.inum };
		to[3] = (struct inodes){ CLONE_NEWNET, 0, proxy->net_ns->ns.inum };
		to[4] = (struct inodes){ CLONE_NEWCGROUP, 0, proxy->cgroup_ns->ns.inum };
		to[5] = (struct inodes){ CLONE_NEWTIME, 0, time_inode(proxy->time_ns) };
		to[6] = (struct inodes){ CLONE_NEWTIME, 1,
					 time_inode(proxy->time_ns_for_children) };
		to[7] = (struct inodes){ CLONE_NEWPID, 1, proxy->pid_ns_for_children->ns.inum };
	}
	task_unlock(t);
	rcu_read_lock();
	pid = task_active_pid_ns(t);
	to[8] = (struct inodes){ CLONE_NEWPID, 0, pid ? pid->ns.inum : 0 };
	to[9] = (struct inodes){ CLONE_NEWUSER, 0, __task_cred(t)->user_ns->ns.inum };
	rcu_read_unlock();
}

/**
 * kl_detail_namespaces - KL_DETAIL_NAMESPACES
 * @d: the call
 */
int kl_detail_namespaces(struct kl_detail *d)
{
	struct inodes of[NAMESPACES] = {}, own[NAMESPACES] = {};

	get_inodes(d->task, of);
	get_inodes(current, own);
	for (u32 i = 0; i < NAMESPACES; i++) {
		struct kl_abi_detail_namespace *to;

		if (!of[i].inode)
			continue;
		to = kl_detail_add(d, KL_DETAIL_NAMESPACES, sizeof(*to), 0);
		to->type = of[i].type;
		to->children = of[i].children;
		to->inode = of[i].inode;
		to->same = of[i].inode == own[i].inode;
	}
	return 0;
}

/* ---------------------------------------------------------------- cgroups */

#ifdef CONFIG_CGROUPS

#define CONTROLLERS_BYTES 128

struct cgroups {
	struct cgroup *at[CGROUP_SUBSYS_COUNT + 1];
	char controllers[CGROUP_SUBSYS_COUNT + 1][CONTROLLERS_BYTES];
	u32 n;
};

static void note_cgroup(struct cgroups *c, struct cgroup *cgroup, const char *controller)
{
	u32 i = 0;

	while (i < c->n && c->at[i] != cgroup)
		i++;
	if (i == c->n) {
		if (!cgroup_tryget(cgroup))
			return;
		c->controllers[i][0] = 0;
		c->at[c->n++] = cgroup;
	}
	if (!controller)
		return;
	if (c->controllers[i][0])
		strlcat(c->controllers[i], ",", CONTROLLERS_BYTES);
	strlcat(c->controllers[i], controller, CONTROLLERS_BYTES);
}

/* The unified hierarchy, and the v1 hierarchies of controllers that are not in it. */
static void get_cgroups(struct task_struct *t, struct cgroups *c)
{
	struct css_set *set;

	rcu_read_lock();
	set = task_css_set(t);
	note_cgroup(c, set->dfl_cgrp, NULL);
	for (u32 i = 0; i < CGROUP_SUBSYS_COUNT; i++) {
		struct cgroup_subsys_state *css = set->subsys[i];

		if (css && css->cgroup->root != set->dfl_cgrp->root)
			note_cgroup(c, css->cgroup, css->ss->legacy_name ?: css->ss->name);
	}
	rcu_read_unlock();
}

static void add_cgroup(struct kl_detail *d, struct cgroup *cgroup, const char *controllers)
{
	struct kl_abi_detail_cgroup *to;
	u32 name = strlen(controllers), text;
	int got = -ENAMETOOLONG;

	if (cgroup->level <= KL_CGROUP_LEVELS_MAX)
		got = cgroup_path_ns(cgroup, d->path, KL_DETAIL_PATH_BYTES_MAX,
				     current->nsproxy->cgroup_ns);

	if (got < 0)
		d->path[0] = 0;
	text = strlen(d->path);
	to = kl_detail_add(d, KL_DETAIL_CGROUPS, sizeof(*to), name + text + 2);
	if (!to)
		return;
	to->hierarchy = cgroup->root->hierarchy_id;
	to->id = cgroup->kn->id;
	to->name_bytes = name;
	to->text_bytes = text;
	to->record.flags = got < 0 || got >= KL_DETAIL_PATH_BYTES_MAX ? KL_DETAIL_CUT : 0;
	kl_detail_put_text(to, sizeof(*to), controllers, name);
	kl_detail_put_text(to, sizeof(*to) + name + 1, d->path, text);
}

/**
 * kl_detail_cgroups - KL_DETAIL_CGROUPS
 * @d: the call; the cursor counts the cgroups that were returned
 */
int kl_detail_cgroups(struct kl_detail *d)
{
	struct cgroups *c = (struct cgroups *)d->info;

	BUILD_BUG_ON(sizeof(*c) > KL_DETAIL_PATH_BYTES_MAX);
	c->n = 0;
	get_cgroups(d->task, c);
	for (u32 i = 0; i < c->n; i++) {
		if (i >= d->cursor && !(d->flags & KL_DETAIL_MORE)) {
			add_cgroup(d, c->at[i], c->controllers[i]);
			d->cursor += !(d->flags & KL_DETAIL_MORE);
		}
		cgroup_put(c->at[i]);
	}
	return 0;
}

#else

/**
 * kl_detail_cgroups - KL_DETAIL_CGROUPS, unavailable on this kernel
 * @d: the call
 */
int kl_detail_cgroups(struct kl_detail *d)
{
	return 0;
}

#endif
