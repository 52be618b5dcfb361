// SPDX-License-Identifier: GPL-2.0
/*
 * Current values of variables of processes and threads, in packed rows, through the functions of
 * inspect_rows.c. Called by kernel/device. First the tasks are listed with a reference each, then
 * read one by one. A row is read under the task's alloc_lock, which holds its memory, files and
 * namespaces, and with preemption off, so that RCU frees nothing. The sums over many threads are
 * made before that, with nothing held. See docs/design/task.md.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pid.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "../base/task_iter.h"
#include "../core/variable.h"
#include "inspect.h"
#include "inspect_rows.h"
#include "kept_rows.h"

/* ---------------------------------------------------------------- the call */

/*
 * Rows are copied to the caller in such batches. With the extra word a batch fits a kmalloc size.
 */
#define BATCH_BYTES (SZ_4K - (u32)sizeof(u64))
/* A row fits even if all its values are texts. */
static_assert(sizeof(struct kl_abi_inspected) + KL_INSPECT_VARIABLES_MAX * 2 * sizeof(u64) <=
	      BATCH_BYTES);

/* Threads that are summed up while a row is read; sums of more threads are made beforehand. */
#define THREADS_IN_PLACE 64
/* Rows, or threads, between two points where the call can be preempted and killed. */
#define PAUSE 32

/**
 * struct column - a requested number, or half of a requested text
 * @get: returns its value
 * @mask: the bits of the word at @place that are the value
 * @place: its location, if it is just a member of one of bases[]; else its base is KL_BASE_NONE
 * @bytes: its size in a row
 * @is_plain: the value is what begins at @place
 * @of_parent: hidden from callers that may not see the parent
 * @is_summed: for a process it is the sum over all threads
 * @ended: offset in the process of the sum over threads that have ended
 * @sum: for the current task, if that has many threads
 */
struct column {
	kl_get_fn get;
	u64 mask;
	u64 sum;
	struct kl_variable_place place;
	u16 ended;
	u8 bytes;
	bool is_plain;
	bool of_parent;
	bool is_summed;
};

/**
 * struct inspection - a call in progress
 * @has_registers: some variables are registers of programs
 * @sums: some variables are sums over the threads of a process
 * @own: only tasks that @cred may see
 * @is_initial: the caller is in the initial pid namespace, whose ids are the tasks' own
 * @is_summed: the columns have their sums for the current task
 * @n_columns: number of @column
 * @steps: rows and threads since the call began
 * @asked: variables that have a column
 * @subject: the current task
 * @bases: the structs of the current task that places refer to
 * @batch: rows not yet copied to the caller; one word longer, as each value is stored as a word
 * @sink: takes the rows if the module itself is the caller; or NULL
 * @kept: rows that wait to be copied
 */
struct inspection {
	struct kl_abi_inspect *params;
	struct kl_inspect_sink *sink;
	const struct cred *cred;
	struct kl_error *why;
	bool own;
	bool is_initial;
	bool has_registers;
	bool sums;
	bool is_summed;
	u32 filled; /* bytes of @batch */
	u64 written; /* bytes copied to the caller, or in @kept */
	struct kl_kept_rows kept;
	struct kl_subject subject;
	const void *bases[KL_BASE_COUNT];
	u8 *batch;
	struct kl_task_list tasks;
	u32 steps;
	DECLARE_BITMAP(asked, KL_VARIABLE_ID_COUNT);
	u32 n_columns;
	struct column column[];
};

/* Structs that remain valid under the task's lock and RCU. */
static bool is_in_base(const struct kl_variable_place *place)
{
	return place->base == KL_BASE_TASK || place->base == KL_BASE_SIGNAL ||
	       place->base == KL_BASE_MM || place->base == KL_BASE_PARENT;
}

static struct column *add_column(struct inspection *in, kl_get_fn get, u32 bytes,
				 const struct kl_variable_place *place)
{
	struct column *c = &in->column[in->n_columns++];

	c->get = get;
	c->bytes = bytes;
	if (is_in_base(place)) {
		c->place = *place;
		c->mask = ~0ull >> (64 - 8 * place->bytes);
		c->is_plain = !place->shift && !place->add;
	}
	in->params->row_bytes += bytes;
	return c;
}

/* A text takes two columns of a word each. */
static void add_text(struct inspection *in, u32 id, const struct kl_variable_row *row)
{
	static const struct kl_variable_place in_task[2] = {
		{ KL_BASE_TASK, 8, .offset = offsetof(struct task_struct, comm) },
		{ KL_BASE_TASK, 8, .offset = offsetof(struct task_struct, comm) + sizeof(u64) },
	}, nowhere;
	bool is_comm = id == KL_VARIABLE_ID_comm;
	const struct kl_getter *getter = &kl_getters[id];
	struct column *first, *second;

	first = add_column(in, getter->get, 8, is_comm ? &in_task[0] : &nowhere);
	second = add_column(in, getter->more, 8, is_comm ? &in_task[1] : &nowhere);
	first->of_parent = row->access == KL_VARIABLE_parent;
	second->of_parent = first->of_parent;
}

static int add_variable(struct inspection *in, u32 id, u32 may)
{
	char reason[KL_ERROR_TEXT_MAX];
	u32 absent = kl_variable_absent(id, may, reason);
	const struct kl_variable_row *row;
	struct column *c;
	kl_get_fn get;

	if (absent)
		return kl_fail(in->why,
			       id >= kl_variable_count	  ? -EINVAL :
			       absent == KL_ABSENT_DENIED ? -EPERM :
							    -ENOENT,
			       "variable %u: %s", id, reason);
	id = array_index_nospec(id, KL_VARIABLE_ID_COUNT);
	row = &kl_variable_rows[id];
	if (__test_and_set_bit(id, in->asked))
		return kl_fail(in->why, -EINVAL, "%s is requested twice", row->name);
	get = kl_getters[id].get ?: kl_cpu_getters[id];
	if (!get)
		return kl_fail(in->why, -EINVAL, "%s is available only when an event fires",
			       row->name);
	in->has_registers |= (id >= KL_VARIABLE_ID_user_ip && id <= KL_VARIABLE_ID_user_r15) ||
			     id == KL_VARIABLE_ID_syscall || id == KL_VARIABLE_ID_user_stack_used;
	if (row->more) {
		add_text(in, id, row);
		return 0;
	}
	c = add_column(in, get, row->bytes, &kl_variable_places[id]);
	c->of_parent = row->access == KL_VARIABLE_parent;
	c->is_summed = kl_getter_sums[id].is_summed;
	c->ended = kl_getter_sums[id].ended;
	c->is_plain &= !c->is_summed && !c->of_parent;
	in->sums |= c->is_summed;
	return 0;
}

static int take_columns(struct inspection *in, u32 may)
{
	const u32 __user *from = u64_to_user_ptr(in->params->variables);

	in->params->row_bytes = sizeof(struct kl_abi_inspected);
	for (u32 i = 0; i < in->params->n_variables; i++) {
		u32 id;
		int error;

		if (in->sink)
			id = in->sink->variables[i];
		else if (get_user(id, &from[i]))
			return kl_fail(in->why, -EFAULT,
				       "cannot read the variables from user memory");
		error = add_variable(in, id, may);
		if (error)
			return error;
	}
	return 0;
}

/* --------------------------------------------------------------- the tasks */

/* Allow preemption from time to time, and check whether the caller is being killed. */
static int pause(struct inspection *in)
{
	if (++in->steps % PAUSE)
		return 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static int fail_list(struct inspection *in, int error)
{
	return error == -ENOMEM ? kl_fail(in->why, error, "no memory for a list of tasks") : error;
}

/* The threads of @one's process, or all requested tasks. */
static int find_tasks(struct inspection *in, struct task_struct *one)
{
	int error = kl_tasks_list(&in->tasks, one, one || in->params->flags & KL_INSPECT_THREADS);

	return fail_list(in, error);
}

/* Find the task with an id, with a reference; NULL if there is none. */
static struct task_struct *find_task(s32 id)
{
	struct task_struct *t;

	rcu_read_lock();
	t = pid_task(find_vpid(id), PIDTYPE_PID);
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

/* ---------------------------------------------------------------- a row */

/*
 * The task keeps running, as it does in the getters: any value seen here or in put_values is
 * right.
 */
static __always_inline u64 word_at(const struct inspection *in, const struct column *c)
{
	const u8 *base = in->bases[c->place.base];

	return ((data_race(*(const u64 *)(base + c->place.offset)) & c->mask) << c->place.shift) +
	       c->place.add;
}

/* Ignores threads in excess: they were created since the check, and have used nothing. */
static noinline u64 sum_of(const struct inspection *in, const struct column *c,
			   struct task_struct *t)
{
	struct task_struct *thread;
	u64 sum = 0;
	u32 n = 0;

	for_each_thread(t, thread) {
		sum += c->get(&in->subject, thread);
		if (++n == 2 * THREADS_IN_PLACE)
			break;
	}
	return sum;
}

static __always_inline u64 get_value(const struct inspection *in, const struct column *c,
				     struct task_struct *t)
{
	if (c->of_parent && in->own &&
	    !kl_access_may_read_now(in->cred, rcu_dereference_sched(t->real_parent)))
		return 0;
	return c->get(&in->subject, t);
}

/* Store a word each; the next value overwrites what exceeds its size (little endian). */
static __always_inline void put_values(const struct inspection *in, struct task_struct *t,
				       bool sums, u8 *to)
{
	const struct column *c = in->column, *end = c + in->n_columns;
	bool many = sums && (in->is_summed || !thread_group_empty(t));

	for (; c < end; to += c->bytes, c++) {
		u64 value;

		if (c->is_plain) {
			data_race(memcpy(to, in->bases[c->place.base] + c->place.offset,
					 sizeof(value)));
			continue;
		}
		if (c->is_summed && many)
			value = in->is_summed ? c->sum : sum_of(in, c, t);
		else
			value = c->place.base ? word_at(in, c) : get_value(in, c, t);
		/* Plus the values of threads that have ended. */
		if (c->ended && sums && !in->is_summed)
			value += data_race(
				*(const u64 *)((const u8 *)in->bases[KL_BASE_SIGNAL] + c->ended));
		memcpy(to, &value, sizeof(value));
	}
}

/*
 * A thread that ends concurrently must be counted once, either as itself or among those that have
 * ended; it moves under this lock. Threads may end all the time, so the second try takes the lock;
 * it is short, as there are few threads.
 */
static void put_sums(const struct inspection *in, struct task_struct *t, u8 *to)
{
	seqlock_t *lock = &t->signal->stats_lock;
	unsigned int seq = read_seqbegin(lock);
	unsigned long irqs;

	put_values(in, t, true, to);
	if (in->is_summed || !read_seqretry(lock, seq))
		return;
	read_seqlock_excl_irqsave(lock, irqs);
	put_values(in, t, true, to);
	read_sequnlock_excl_irqrestore(lock, irqs);
}

static void note_ended(const struct signal_struct *signal, void *inspection)
{
	struct inspection *in = inspection;

	for (struct column *c = in->column; c < in->column + in->n_columns; c++)
		c->sum = c->ended ? *(const u64 *)((const u8 *)signal + c->ended) : 0;
}

/* The sums of a process with many threads. Such variables are members of the threads themselves. */
static int sum_threads(struct inspection *in, struct task_struct *t)
{
	struct kl_task_list l;
	int error = kl_threads_list(&l, t, note_ended, in);

	if (error)
		return fail_list(in, error);
	for (u32 i = 0; i < l.n && !error; i++) {
		for (struct column *c = in->column; c < in->column + in->n_columns; c++)
			if (c->is_summed)
				c->sum += c->get(&in->subject, l.task[i]);
		error = pause(in);
	}
	kl_tasks_put(&l);
	return error;
}

/* They tell the system call and its arguments, as /proc/PID/syscall does. */
static noinline void look_at_registers(struct inspection *in, struct task_struct *t)
{
	kl_subject_read_registers(&in->subject, t, kl_access_may_trace_now(in->cred, t));
}

/* Inlined into the loop over all tasks, of which each pays for it. */
static __always_inline void look_at(struct inspection *in, struct task_struct *t)
{
	struct mm_struct *mm = kl_task_flags(t) & PF_KTHREAD ? NULL : t->mm;

	in->subject.mm = mm;
	in->bases[KL_BASE_TASK] = t;
	in->bases[KL_BASE_SIGNAL] = t->signal;
	in->bases[KL_BASE_PARENT] = rcu_dereference_sched(t->real_parent);
	in->bases[KL_BASE_MM] = mm ? (const void *)mm : kl_zeroes;
	if (in->has_registers)
		look_at_registers(in, t);
}

/* In the caller's pid namespace; 0 if the task has ended or is not in the namespace. */
static s32 id_of(const struct inspection *in, struct task_struct *t, bool of_thread)
{
	if (in->is_initial)
		return of_thread ? t->pid : t->tgid;
	return of_thread ? task_pid_vnr(t) : task_tgid_vnr(t);
}

/* Returns false if there is no such task, or none that the caller may see. */
static __always_inline bool write_row(struct inspection *in, struct task_struct *t, bool of_thread,
				      u8 *to)
{
	struct kl_abi_inspected head = { .status = KL_INSPECTED };

	task_lock(t);
	preempt_disable();
	if (kl_task_is_alive(t) && (!in->own || kl_access_may_read_now(in->cred, t)))
		head.id = id_of(in, t, of_thread);
	if (head.id) {
		memcpy(to, &head, sizeof(head));
		look_at(in, t);
		if (in->sums && !of_thread)
			put_sums(in, t, to + sizeof(head));
		else
			put_values(in, t, false, to + sizeof(head));
	}
	preempt_enable();
	task_unlock(t);
	return head.id;
}

static noinline bool has_many_threads(struct inspection *in, struct task_struct *t, int *error)
{
	bool sees;

	if (get_nr_threads(t) <= THREADS_IN_PLACE)
		return false;
	preempt_disable();
	sees = !in->own || kl_access_may_read_now(in->cred, t);
	preempt_enable();
	if (sees)
		*error = sum_threads(in, t);
	return sees && !*error;
}

/* Build the row of a task. Returns 1 if it has one, 0 if the caller may not see the task. */
static __always_inline int put_task(struct inspection *in, struct task_struct *t, bool alone)
{
	bool of_thread = alone || in->params->flags & KL_INSPECT_THREADS;
	int error = pause(in);

	in->is_summed = in->sums && !of_thread && has_many_threads(in, t, &error);
	return error ?: write_row(in, t, of_thread, in->batch + in->filled);
}

/*
 * Copy the rows to the caller. @holds: references to many tasks are held. The caller's memory may
 * block a copy for as long as the caller likes, so faults are not handled then.
 */
static int flush(struct inspection *in, bool holds)
{
	u8 __user *to = (u8 __user *)u64_to_user_ptr(in->params->rows) + in->written;
	int error = 0;

	if (in->sink)
		error = in->sink->take(in->sink, in->batch, in->filled);
	else if (!holds && copy_to_user(to, in->batch, in->filled))
		error = kl_fail(in->why, -EFAULT, "cannot write the rows to user memory");
	else if (holds && copy_to_user_nofault(to, in->batch, in->filled))
		error = kl_kept_rows_add(&in->kept, in->written, in->batch, in->filled, in->why);
	if (error)
		return error;
	in->written += in->filled;
	in->filled = 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Complete the row at the end of the batch: it counts even if the caller has no room for it. */
static __always_inline int finish_row(struct inspection *in, bool holds)
{
	u32 bytes = in->params->row_bytes;

	in->params->n_there++;
	if (in->written + in->filled + bytes > in->params->room)
		return 0;
	in->params->n_rows++;
	in->filled += bytes;
	return in->filled + bytes > BATCH_BYTES ? flush(in, holds) : 0;
}

static int write_tasks(struct inspection *in)
{
	int error = 0, copied;

	for (u32 i = 0; i < in->tasks.n && error >= 0; i++) {
		error = put_task(in, in->tasks.task[i], false);
		if (error > 0)
			error = finish_row(in, true);
	}
	kl_tasks_put(&in->tasks);
	copied = kl_kept_rows_give(&in->kept, u64_to_user_ptr(in->params->rows), in->why);
	return error ?: copied;
}

static int write_missing(struct inspection *in, s32 id)
{
	const struct kl_abi_inspected head = { id, KL_INSPECTED_NOT };
	u8 *row = in->batch + in->filled;

	memset(row, 0, in->params->row_bytes);
	memcpy(row, &head, sizeof(head));
	return finish_row(in, false);
}

static int write_id(struct inspection *in, s32 id)
{
	u32 before = in->params->n_there;
	struct task_struct *t = find_task(id);
	int error = 0;

	if (!t)
		return write_missing(in, id);
	if (in->params->flags & KL_INSPECT_THREADS)
		error = find_tasks(in, t);
	else
		error = put_task(in, t, !thread_group_leader(t));
	put_task_struct(t);
	if (error > 0)
		error = finish_row(in, false);
	else if (!error && in->params->flags & KL_INSPECT_THREADS)
		error = write_tasks(in);
	return !error && in->params->n_there == before ? write_missing(in, id) : error;
}

static int write_ids(struct inspection *in)
{
	const s32 __user *from = u64_to_user_ptr(in->params->ids);
	int error = 0;

	for (u32 i = 0; i < in->params->n_ids && !error; i++) {
		s32 id;

		if (get_user(id, &from[i]))
			return kl_fail(in->why, -EFAULT, "cannot read the IDs from user memory");
		error = write_id(in, id) ?: pause(in);
	}
	return error;
}

static int write_all(struct inspection *in)
{
	int error = find_tasks(in, NULL);

	return error ? error : write_tasks(in);
}

/* As small as the rows allow, since many kernels clear all memory that they allocate. */
static int make_batch(struct inspection *in)
{
	const struct kl_abi_inspect *params = in->params;
	u64 bytes = (u64)params->n_ids * params->row_bytes;

	if (params->flags & (KL_INSPECT_ALL | KL_INSPECT_THREADS) || bytes > BATCH_BYTES)
		bytes = BATCH_BYTES;
	in->batch = kmalloc(bytes + sizeof(u64), GFP_KERNEL_ACCOUNT);
	return in->batch ? 0 : kl_fail(in->why, -ENOMEM, "no memory for the rows");
}

static int check(const struct kl_abi_inspect *params, struct kl_error *why)
{
	if (params->flags & ~(KL_INSPECT_ALL | KL_INSPECT_THREADS) || params->reserved)
		return kl_fail(why, -EINVAL, "unknown inspection flags: %#x", params->flags);
	if (params->flags & KL_INSPECT_ALL && params->n_ids)
		return kl_fail(why, -EINVAL, "request either all tasks or a list of IDs");
	if (params->n_variables > KL_INSPECT_VARIABLES_MAX)
		return kl_fail(why, -EINVAL, "%u variables requested, the limit is %u",
			       params->n_variables, KL_INSPECT_VARIABLES_MAX);
	if (params->n_ids > KL_INSPECT_IDS_MAX)
		return kl_fail(why, -EINVAL, "%u IDs requested, the limit is %u", params->n_ids,
			       KL_INSPECT_IDS_MAX);
	return 0;
}

/**
 * kl_inspect - report current values of variables of tasks
 * @params: the requested variables and tasks; the result is filled in
 * @cred: of the descriptor's opener
 * @may: the opener's KL_MAY_*
 * @sink: names the variables and takes the rows if the module itself is the caller; else NULL
 * @payer: charged for rows that must wait
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_inspect(struct kl_abi_inspect *params, const struct cred *cred, u32 may,
	       struct kl_inspect_sink *sink, struct kl_payer *payer, struct kl_error *why)
{
	struct inspection *in;
	int error = check(params, why);

	if (error)
		return error;
	in = kzalloc(struct_size(in, column, 2 * params->n_variables), GFP_KERNEL_ACCOUNT);
	if (!in)
		return kl_fail(why, -ENOMEM, "no memory for an inspection");
	in->params = params;
	in->sink = sink;
	kl_kept_rows_init(&in->kept, payer);
	in->cred = cred;
	in->why = why;
	in->own = !(may & KL_MAY_SEE_ALL);
	in->is_initial = task_active_pid_ns(current) == &init_pid_ns;
	params->n_rows = 0;
	params->n_there = 0;
	params->monotonic_ns = ktime_get_ns();
	error = take_columns(in, may);
	if (!error)
		error = make_batch(in);
	if (!error)
		error = params->flags & KL_INSPECT_ALL ? write_all(in) : write_ids(in);
	if (!error && in->filled)
		error = flush(in, false);
	kfree(in->batch);
	kfree(in);
	return error;
}
