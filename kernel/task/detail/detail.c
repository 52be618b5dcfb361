// SPDX-License-Identifier: GPL-2.0
/*
 * KL_IOC_DETAIL: records of one kind about one task, for device.c. This file checks access and
 * assembles the records; the other files fill them in.
 *
 * A task may execute another program during the call, one that the caller may not see. So the
 * access check is made before the records are written and again afterwards, each time while no
 * exec can be in progress. If there was one in between, the records are discarded.
 */
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../base/task_iter.h"
#include "../../core/rights.h"
#include "../files.h"
#include "detail.h"

#define COPY_BYTES (64u << 10) /* bytes copied to the caller between two preemption points */
#define TRIES 4 /* attempts while the task executes one program after another */

static const kl_detail_fn kinds[KL_DETAIL_KINDS] = {
	[KL_DETAIL_TASK] = kl_detail_task,
	[KL_DETAIL_COMMAND] = kl_detail_command,
	[KL_DETAIL_PATHS] = kl_detail_paths,
	[KL_DETAIL_FILES] = kl_detail_files,
	[KL_DETAIL_SOCKETS] = kl_detail_sockets,
	[KL_DETAIL_MAPS] = kl_detail_maps,
	[KL_DETAIL_MEMORY] = kl_detail_memory,
	[KL_DETAIL_SIGNALS] = kl_detail_signals,
	[KL_DETAIL_NAMESPACES] = kl_detail_namespaces,
	[KL_DETAIL_CGROUPS] = kl_detail_cgroups,
	[KL_DETAIL_RIGHTS] = kl_detail_rights,
	[KL_DETAIL_AFFINITY] = kl_detail_affinity,
	[KL_DETAIL_LIMITS] = kl_detail_limits,
	[KL_DETAIL_IO] = kl_detail_io,
	[KL_DETAIL_SYSCALL] = kl_detail_syscall,
	[KL_DETAIL_STACK] = kl_detail_stack,
	[KL_DETAIL_WAIT] = kl_detail_wait,
	[KL_DETAIL_CHILDREN] = kl_detail_children,
	[KL_DETAIL_ENVIRONMENT] = kl_detail_environment,
	[KL_DETAIL_PAGES] = kl_detail_pages,
	[KL_DETAIL_FRAMES] = kl_detail_pages,
	[KL_DETAIL_SHARED_PAGES] = kl_detail_pages,
};

/**
 * kl_detail_add - add a record that is zero except for its head
 * @d: the call
 * @kind: of the record
 * @bytes: size of its struct
 * @text_bytes: size of all its texts, including a NUL after each
 *
 * Returns NULL if there is no room, and sets KL_DETAIL_MORE in the call's flags.
 */
void *kl_detail_add(struct kl_detail *d, u32 kind, u32 bytes, u32 text_bytes)
{
	u32 all = ALIGN(bytes + text_bytes, 8);
	struct kl_abi_detail_record *record;

	if (all > d->room - d->used) {
		d->flags |= KL_DETAIL_MORE;
		return NULL;
	}
	record = (void *)(d->buffer + d->used);
	memset(record, 0, all);
	record->bytes = all;
	record->kind = kind;
	d->used += all;
	d->records++;
	return record;
}

/**
 * kl_detail_put_text - store a text in a record
 * @record: from kl_detail_add()
 * @at: offset after its struct and previous texts
 * @text: any bytes
 * @bytes: size of the text; the NUL after it is there already
 *
 * Returns its address.
 */
char *kl_detail_put_text(void *record, u32 at, const void *text, u32 bytes)
{
	return memcpy((u8 *)record + at, text, bytes);
}

/* Gives the same answer for a task that does not exist and one that may not be seen. */
static int fail_missing(struct kl_detail *d)
{
	return kl_fail(d->why, -ESRCH, "process %d does not exist", d->call->pid);
}

/* Check access while no exec is in progress. @exec: set to the number of the task's execs. */
static int check(struct kl_detail *d, u64 *exec)
{
	struct rw_semaphore *lock = &d->task->signal->exec_update_lock;
	bool sees;

	/* Do not delay the programs of a task that the caller may not see. */
	if (!kl_detail_sees(d, d->task))
		return fail_missing(d);
	if (down_read_killable(lock))
		return -EINTR;
	sees = kl_detail_sees(d, d->task);
	*exec = READ_ONCE(d->task->self_exec_id);
	up_read(lock);
	return sees ? 0 : fail_missing(d);
}

/**
 * kl_detail_read_memory - read memory that a task has passed to the kernel
 * @d: the call
 * @at: address in the task
 * @to: buffer
 * @bytes: size
 *
 * Reads pages that are present, and anonymous pages even if they are not: a page of a file may
 * belong to a file system that never answers. Returns false if not all of it can be read. Context:
 * may sleep.
 */
bool kl_detail_read_memory(struct kl_detail *d, u64 at, void *to, u32 bytes)
{
	return access_process_vm(d->task, at, to, bytes, FOLL_NOFAULT) == bytes ||
	       access_process_vm(d->task, at, to, bytes, FOLL_ANON) == bytes;
}

/*
 * Is the file /proc/PID/mem of the program that the task runs now? The kernel opens it only for a
 * process that may trace the task; another one may have received the descriptor from it.
 */
static bool is_proof(struct kl_detail *d, struct file *file)
{
	const struct inode *inode = file_inode(file);
	const char *name = (const char *)file->f_path.dentry->d_name.name;
	bool is_same;

	if (inode->i_sb->s_magic != PROC_SUPER_MAGIC || !S_ISREG(inode->i_mode))
		return false;
	if (strcmp(name, "mem") &&
	    (d->call->what != KL_DETAIL_ENVIRONMENT || strcmp(name, "environ")))
		return false;
	task_lock(d->task);
	is_same = d->task->mm && file->private_data == d->task->mm;
	task_unlock(d->task);
	return is_same;
}

static bool is_tracer(struct kl_detail *d)
{
	struct file *file;
	bool is;

	if (same_thread_group(d->task, current))
		return true;
	if (d->call->proof < 0)
		return false;
	file = fget(d->call->proof);
	if (!file)
		return false;
	is = is_proof(d, file);
	fput(file);
	return is;
}

/*
 * Kernel threads have nothing to protect. A task that is ending keeps its memory until it has left
 * all locks behind, which can take for ever.
 */
static bool has_secrets(struct task_struct *t)
{
	u32 flags = kl_task_flags(t);

	return !(flags & PF_KTHREAD) && !(flags & PF_EXITING && !data_race(READ_ONCE(t->mm)));
}

static int check_guard(struct kl_detail *d)
{
	u32 what = d->call->what;

	d->is_tracer = is_tracer(d);
	if (kl_rights_lack(d->may, kl_detail_needs(what)))
		return kl_fail(d->why, -EPERM,
			       "kernel stack traces and frame numbers need CAP_SYS_ADMIN");
	if (kl_detail_guard(what) == KL_GUARD_TRACER && !d->is_tracer && has_secrets(d->task))
		return kl_fail(d->why, -EACCES,
			       "details of process %d require permission to trace it",
			       d->call->pid);
	return 0;
}

static bool is_ended(const struct task_struct *t)
{
	return kl_task_flags(t) & PF_EXITING || kl_task_exit_state(t);
}

/* One attempt. Returns 1 if the task has executed another program in the meantime. */
static int look(struct kl_detail *d)
{
	u64 before, after;
	int error;

	d->used = 0;
	d->records = 0;
	d->flags = 0;
	d->cursor = d->call->cursor;
	error = check(d, &before);
	if (!error)
		error = check_guard(d);
	if (!error)
		error = kinds[array_index_nospec(d->call->what, KL_DETAIL_KINDS)](d);
	if (is_ended(d->task))
		d->flags |= KL_DETAIL_ENDED;
	if (error)
		return error;
	error = check(d, &after);
	return error ?: before != after;
}

static struct task_struct *find(pid_t pid)
{
	struct task_struct *t;

	if (pid <= 0)
		return NULL;
	rcu_read_lock();
	t = pid_task(find_vpid(pid), PIDTYPE_PID);
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

static int look_until_same(struct kl_detail *d)
{
	int error = 1;

	for (u32 i = 0; error == 1 && i < TRIES; i++)
		error = look(d);
	if (error == 1)
		return kl_fail(d->why, -EAGAIN, "process %d keeps executing new programs",
			       d->call->pid);
	/* Killed while it waited for a lock. */
	if (error == -EINTR)
		kl_fail(d->why, error, "interrupted by a signal");
	return error;
}

static int give(struct kl_detail *d)
{
	struct kl_abi_detail *call = d->call;

	u8 __user *to = u64_to_user_ptr(call->buffer);

	/* Each page may have to be faulted in first. */
	for (u32 at = 0; at < d->used; at += COPY_BYTES) {
		if (copy_to_user(to + at, d->buffer + at, min(d->used - at, COPY_BYTES)))
			return kl_fail(d->why, -EFAULT, "cannot write the records to user memory");
		cond_resched();
	}
	call->bytes = d->used;
	call->records = d->records;
	call->flags = d->flags;
	call->cursor = d->cursor;
	return 0;
}

static int check_call(const struct kl_abi_detail *call, struct kl_error *why)
{
	if (call->reserved)
		return kl_fail(why, -EINVAL, "a reserved member is not 0");
	if (call->what >= KL_DETAIL_KINDS ||
	    !kinds[array_index_nospec(call->what, KL_DETAIL_KINDS)])
		return kl_fail(why, -EINVAL, "unknown kind of details %u", call->what);
	if (call->bytes < KL_DETAIL_BYTES_MIN || call->bytes > KL_DETAIL_BYTES_MAX)
		return kl_fail(why, -EINVAL, "details require a buffer of %u to %u bytes",
			       KL_DETAIL_BYTES_MIN, KL_DETAIL_BYTES_MAX);
	return 0;
}

/**
 * kl_detail_read - KL_IOC_DETAIL
 * @call: the request; the result is filled in
 * @cred: of the caller
 * @may: KL_MAY_* of the caller
 * @why: set on failure
 *
 * Context: the caller's system call; may sleep. Returns 0 or a negative errno.
 */
int kl_detail_read(struct kl_abi_detail *call, const struct cred *cred, u32 may,
		   struct kl_error *why)
{
	struct kl_detail d = { .call = call, .cred = cred, .may = may, .why = why };
	int error = check_call(call, why);

	if (error)
		return error;
	d.task = find(call->pid);
	if (!d.task)
		return fail_missing(&d);
	d.room = round_down(call->bytes, 8);
	d.buffer = kvmalloc(d.room, GFP_KERNEL_ACCOUNT);
	d.path = kvmalloc(2 * KL_DETAIL_PATH_BYTES_MAX + sizeof(*d.files), GFP_KERNEL_ACCOUNT);
	d.info = d.path + KL_DETAIL_PATH_BYTES_MAX;
	d.files = (struct kl_file_batch *)(d.info + KL_DETAIL_PATH_BYTES_MAX);
	if (d.buffer && d.path)
		error = look_until_same(&d);
	else
		error = kl_fail(why, -ENOMEM, "no memory for details");
	put_task_struct(d.task);
	if (!error)
		error = give(&d);
	kvfree(d.path);
	kvfree(d.buffer);
	return error;
}
