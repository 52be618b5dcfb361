// SPDX-License-Identifier: GPL-2.0
/*
 * Which task holds the lock that a task waits for, for detail/wait_call.c: futexes, whose owner is
 * only known from the program's memory, and file locks, which the kernel manages.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <asm/unistd.h>

#include "../../base/task_iter.h"
#include "../../compat/file.h"
#include "../../compat/pi.h"
#include "../files.h"
#include "detail.h"

/* ------------------------------------------------------------------ futexes */

/* Find a task by its number in the waiting task's namespace, with a reference. */
static struct task_struct *find_thread(struct kl_detail_sleep *s, pid_t number)
{
	struct task_struct *t = NULL;
	struct pid_namespace *ns;

	if (number <= 0)
		return NULL;
	rcu_read_lock();
	ns = task_active_pid_ns(s->d->task);
	if (ns)
		t = pid_task(find_pid_ns(number, ns), PIDTYPE_PID);
	/* Only threads of the process can hold a futex in memory that is not shared. */
	if (t && !(s->wait.flags & KL_WAIT_SHARED) && !same_thread_group(t, s->d->task))
		t = NULL;
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

/* The thread at whose exit the kernel clears the word. Returns it with a reference, or NULL. */
static struct task_struct *find_joined(struct kl_detail_sleep *s)
{
	struct task_struct *found = NULL;
	struct kl_task_list l;

	if (kl_tasks_list(&l, s->d->task, true))
		return NULL;
	for (u32 i = 0; i < l.n && !found; i++) {
		struct task_struct *t = l.task[i];

		if ((__force unsigned long)READ_ONCE(t->clear_child_tid) == s->wait.address)
			found = get_task_struct(t);
		if (i % 128 == 127)
			cond_resched();
	}
	kl_tasks_put(&l);
	return found;
}

/* A glibc mutex, of the kinds without priority inheritance. */
struct mutex_words {
	u32 word;
	u32 depth;
	s32 owner;
	u32 users;
	u32 kind;
};

#define MUTEX_CONTENDED 2
#define MUTEX_KINDS 3 /* normal, recursive, error-checking, adaptive */
#define MUTEX_FLAGS 0x1f0 /* robust, shared, and the flags of lock elision */

/* Does the kernel confirm that this task owns the lock that the other waits for? */
static bool has_lock(struct kl_detail_sleep *s, const struct task_struct *owner)
{
	const struct kl_detail_stack *stack = s->stack;
	struct task_struct *t = s->d->task;
	unsigned long waiter = (unsigned long)READ_ONCE(t->pi_blocked_on), word;

	if (!kl_pi_is_on_stack(waiter, stack->base))
		return false;
	word = kl_pi_owner((const unsigned long *)(stack->copy + (waiter - stack->base)), t);
	/* The lock is not freed while the task is waiting for it. */
	return word == (unsigned long)owner && kl_detail_stands(t, stack);
}

/*
 * The program may have written anything to the word, and the lock may be changing hands: without
 * confirmation by the kernel no owner is reported.
 */
static struct task_struct *find_pi_owner(struct kl_detail_sleep *s)
{
	struct task_struct *owner = find_thread(s, s->wait.value & FUTEX_TID_MASK);

	if (owner && !has_lock(s, owner)) {
		put_task_struct(owner);
		owner = NULL;
	}
	return owner;
}

static struct task_struct *find_owner(struct kl_detail_sleep *s)
{
	struct mutex_words m;
	u32 word = s->wait.value;

	if (s->wait.flags & KL_WAIT_PI)
		return find_pi_owner(s);
	if (word & FUTEX_WAITERS)
		return find_thread(s, word & FUTEX_TID_MASK);
	if (word != MUTEX_CONTENDED || !kl_detail_read_memory(s->d, s->wait.address, &m, sizeof(m)))
		return NULL;
	if (m.word != word || !m.users || m.kind & ~(MUTEX_KINDS | MUTEX_FLAGS))
		return NULL;
	return find_thread(s, m.owner);
}

static void tell_owner(struct kl_detail_sleep *s, u32 reason, struct task_struct *owner, u32 role)
{
	bool is_told = role == KL_OTHER_OWNER && !(s->wait.flags & KL_WAIT_PI);

	s->wait.reason = reason;
	if (kl_detail_sees(s->d, owner))
		s->wait.pid = task_pid_vnr(owner);
	kl_detail_wait_done(s);
	kl_detail_add_other(s->d, owner, role, -1, -1, is_told ? KL_WAIT_FROM_MEMORY : 0);
	put_task_struct(owner);
}

/* If the task waits for several futexes, report the first one. */
static void take_first(struct kl_detail_sleep *s)
{
	struct {
		u64 value, address;
		u32 flags, reserved;
	} first;

	if (!kl_detail_read_memory(s->d, s->arg[0], &first, sizeof(first)))
		return;
	s->wait.address = first.address;
	s->wait.flags |= first.flags & FUTEX_PRIVATE_FLAG ? 0 : KL_WAIT_SHARED;
}

/**
 * kl_detail_explain_futex - explain a wait for a futex
 * @s: the wait
 */
void kl_detail_explain_futex(struct kl_detail_sleep *s)
{
	u32 operation = s->arg[1] & FUTEX_CMD_MASK, word = 0;
	struct task_struct *other;

	if (s->wait.syscall == __NR_futex) {
		s->wait.address = s->arg[0];
		s->wait.flags |= s->arg[1] & FUTEX_PRIVATE_FLAG ? 0 : KL_WAIT_SHARED;
		if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2)
			s->wait.flags |= KL_WAIT_PI;
	} else {
		take_first(s);
	}
	if (kl_detail_read_memory(s->d, s->wait.address, &word, sizeof(word)))
		s->wait.flags |= KL_WAIT_FROM_MEMORY;
	s->wait.value = word;
	other = find_joined(s);
	if (other) {
		tell_owner(s, KL_WAIT_THREAD, other, KL_OTHER_THREAD);
		return;
	}
	other = find_owner(s);
	if (other) {
		tell_owner(s, KL_WAIT_MUTEX, other, KL_OTHER_OWNER);
		return;
	}
	s->wait.reason = s->wait.flags & KL_WAIT_PI ? KL_WAIT_MUTEX : KL_WAIT_FUTEX;
	kl_detail_wait_done(s);
}

/* ------------------------------------------------------------ locks on files */

#define OWNERS_MAX 8
#define LOCKS_MAX 1024 /* maximum number of a file's locks to check */

/**
 * struct owners - owners of conflicting locks
 * @file: with a reference: the lock belongs to whichever process has it open; NULL: to a process
 * @process: in the initial pid namespace
 */
struct owners {
	struct file *file[OWNERS_MAX];
	pid_t process[OWNERS_MAX];
	u32 n;
};

/*
 * The lock of the list is held. A file whose last reference has been dropped keeps its locks until
 * it is torn down, which may take long: it is about to release the lock, and no process has it
 * open.
 */
static void note_owner(struct owners *o, struct file_lock *lock, bool of_file)
{
	struct file *file = NULL;

	if (of_file) {
		file = kl_get_file_live(kl_lock_file(lock));
		if (!file)
			return;
	}
	o->file[o->n] = file;
	o->process[o->n++] = of_file ? 0 : kl_lock_pid(lock);
}

/* A file may have any number of locks, and a walk of its list cannot be resumed later. */
static bool is_enough(struct kl_detail_sleep *s, const struct owners *o, u32 *looked_at)
{
	if (++*looked_at > LOCKS_MAX)
		s->d->flags |= KL_DETAIL_CUT;
	return *looked_at > LOCKS_MAX || o->n == OWNERS_MAX;
}

static bool conflicts(struct file_lock *lock, bool is_write)
{
	return is_write || kl_lock_type(lock) == F_WRLCK;
}

static void tell_process(struct kl_detail_sleep *s, pid_t number, int fd)
{
	struct task_struct *t;

	rcu_read_lock();
	t = pid_task(find_pid_ns(number, &init_pid_ns), PIDTYPE_PID);
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	if (!t)
		return;
	kl_detail_add_other(s->d, t, KL_OTHER_OWNER, -1, fd, 0);
	put_task_struct(t);
}

static void tell_owners(struct kl_detail_sleep *s, struct file *file, const struct owners *o)
{
	struct kl_detail_search search = {
		.match = KL_MATCH_FILE,
		.role = KL_OTHER_OWNER,
		.of = s->arg[0],
	};

	s->wait.reason = KL_WAIT_LOCK;
	kl_detail_wait_done(s);
	kl_detail_add_file(s->d, KL_DETAIL_RECORD_WAIT_ON, s->arg[0], file, 0, 0);
	for (u32 i = 0; i < o->n; i++) {
		if (o->file[i]) {
			search.file = o->file[i];
			kl_detail_search(s->d, &search);
			fput(o->file[i]);
		} else {
			tell_process(s, o->process[i], s->arg[0]);
		}
	}
}

/**
 * kl_detail_explain_flock - explain a wait in flock(2)
 * @s: the wait
 */
void kl_detail_explain_flock(struct kl_detail_sleep *s)
{
	struct file *file = kl_files_get(s->d->task, s->arg[0]);
	struct file_lock_context *locks;
	struct owners o = {};
	struct file_lock *lock;
	u32 looked_at = 0;

	if (!file) {
		s->wait.reason = KL_WAIT_LOCK;
		kl_detail_wait_done(s);
		return;
	}
	locks = locks_inode_context(file_inode(file));
	if (locks) {
		spin_lock(&locks->flc_lock);
		kl_for_each_lock(lock, &locks->flc_flock) {
			if (is_enough(s, &o, &looked_at))
				break;
			if (kl_lock_file(lock) != file && conflicts(lock, s->arg[1] & LOCK_EX))
				note_owner(&o, lock, true);
		}
		spin_unlock(&locks->flc_lock);
	}
	tell_owners(s, file, &o);
	fput(file);
}

static void find_record_owners(struct kl_detail_sleep *s, struct file *file, bool is_write,
			       bool of_file, struct owners *o)
{
	struct file_lock_context *locks = locks_inode_context(file_inode(file));
	fl_owner_t self = of_file ? (fl_owner_t)file : (fl_owner_t)READ_ONCE(s->d->task->files);
	struct file_lock *lock;
	u32 looked_at = 0;

	if (!locks)
		return;
	spin_lock(&locks->flc_lock);
	kl_for_each_lock(lock, &locks->flc_posix) {
		if (is_enough(s, o, &looked_at))
			break;
		if (kl_lock_owner(lock) == self || !conflicts(lock, is_write) ||
		    lock->fl_start > (s64)s->wait.end || lock->fl_end < (s64)s->wait.start)
			continue;
		/*
		 * Locks of open files belong to no process, though they record the one that
		 * created them.
		 */
		note_owner(o, lock, kl_lock_flags(lock) & FL_OFDLCK);
	}
	spin_unlock(&locks->flc_lock);
}

/* Set the byte range of the lock; a length of 0 extends to the end of the file. */
static void set_range(struct kl_detail_sleep *s, struct file *file, const struct flock *params)
{
	s64 start = params->l_start, length = params->l_len;

	if (params->l_whence == SEEK_CUR)
		start += READ_ONCE(file->f_pos);
	else if (params->l_whence == SEEK_END)
		start += i_size_read(file_inode(file));
	if (length < 0) {
		start += length;
		length = -length;
	}
	s->wait.start = start;
	s->wait.end = length ? start + length - 1 : OFFSET_MAX;
	s->wait.flags |= KL_WAIT_RECORD_LOCK;
}

/**
 * kl_detail_explain_record_lock - explain a wait in fcntl(2)
 * @s: the wait
 */
void kl_detail_explain_record_lock(struct kl_detail_sleep *s)
{
	bool of_file = s->arg[1] == F_OFD_SETLKW, is_lock = of_file || s->arg[1] == F_SETLKW;
	struct file *file = kl_files_get(s->d->task, s->arg[0]);
	struct owners o = {};
	struct flock params;

	if (!file || !is_lock || !kl_detail_read_memory(s->d, s->arg[2], &params, sizeof(params))) {
		s->wait.reason = is_lock ? KL_WAIT_LOCK : KL_WAIT_FILE;
		kl_detail_wait_done(s);
	} else {
		set_range(s, file, &params);
		find_record_owners(s, file, params.l_type == F_WRLCK, of_file, &o);
		tell_owners(s, file, &o);
	}
	if (file)
		fput(file);
}
