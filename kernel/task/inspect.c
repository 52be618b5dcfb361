// SPDX-License-Identifier: GPL-2.0
/*
 * Variables of processes and threads, now, in packed rows: the rows of variables.def
 * once more, as functions of any task. Called by kernel/device. First the tasks are
 * listed with a reference each, then looked at one by one: a row is read under the
 * task's alloc_lock, which holds its memory, files and namespaces, and with preemption
 * off, so that what RCU frees stays. docs/design/task.md
 */
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "../session/variable.h"
#include "inspect.h"
#include "inspect_values.h"

typedef u64 (*tell_fn)(const struct kl_subject *subject, struct task_struct *t);

/* ------------------------------------------------------------- the values */

/* Macros that stand for declarations are laid out by hand. */
/* clang-format off */

#define TELLER(function, expression)                                                      \
	static u64 function(const struct kl_subject *subject, struct task_struct *t)      \
	{                                                                                 \
		return (u64)(expression);                                                 \
	}

static u64 load_word(const char *text)
{
	u64 word;

	memcpy(&word, text, sizeof(word));
	return word;
}

#define TELL_task(first, second, value)
#define TELL_s8(first, second, value) TELLER(first, (s8)(value))
#define TELL_u8(first, second, value) TELLER(first, (u8)(value))
#define TELL_s16(first, second, value) TELLER(first, (s16)(value))
#define TELL_s32(first, second, value) TELLER(first, (s32)(value))
#define TELL_u32(first, second, value) TELLER(first, (u32)(value))
#define TELL_u64(first, second, value) TELLER(first, (u64)(value))
#define TELL_text(first, second, value)                                                   \
	TELLER(first, load_word(value))                                                   \
	TELLER(second, load_word((value) + sizeof(u64)))

/* Only what a task or the whole machine has can be told without an event. */
#define SCOPE_task(type, first, second, value) TELL_##type(first, second, value)
#define SCOPE_system(type, first, second, value) TELL_##type(first, second, value)
#define SCOPE_place(type, first, second, value)
#define SCOPE_cpu(type, first, second, value)

#define KL_VARIABLE(id, name, scope, type, unit, format, access, needs, cost, help, ...)  \
	SCOPE_##scope(type, tell_##name, tell_more_##name, (__VA_ARGS__))
#include "../../uapi/variables.def"
#undef KL_VARIABLE

/* Of the CPU that the task was last on. */
TELLER(tell_cpu, task_cpu(t))
TELLER(tell_numa_node, cpu_to_node(task_cpu(t)))

/* clang-format on */

/**
 * struct teller - how a variable is told of a task
 * @tell: its value, or a text's first half; NULL: it cannot be told without an event
 * @more: a text's second half, else NULL
 * @is_summed: of a process it is what all its threads have together
 * @ended: offset in the process of what threads that have ended had of it; 0: that is lost
 */
struct teller {
	tell_fn tell;
	tell_fn more;
	bool is_summed;
	u16 ended;
};

#define ROW_task(name)
#define ROW_s8(name) .tell = tell_##name,
#define ROW_u8(name) .tell = tell_##name,
#define ROW_s16(name) .tell = tell_##name,
#define ROW_s32(name) .tell = tell_##name,
#define ROW_u32(name) .tell = tell_##name,
#define ROW_u64(name) .tell = tell_##name,
#define ROW_text(name) .tell = tell_##name, .more = tell_more_##name,
#define OF_task(type, name) ROW_##type(name)
#define OF_system(type, name) ROW_##type(name)
#define OF_place(type, name)
#define OF_cpu(type, name)

#define SUMMED(name)                 \
	[KL_VARIABLE_ID_##name] = {  \
		.tell = tell_##name, \
		.is_summed = true,   \
	}
#define SUMMED_WITH(name, member)                                                        \
	[KL_VARIABLE_ID_##name] = {                                                      \
		.tell = tell_##name,                                                     \
		.is_summed = true,                                                       \
		.ended = offsetof(struct signal_struct, member) +                        \
			 BUILD_BUG_ON_ZERO(sizeof_field(struct signal_struct, member) != \
					   sizeof(u64)),                                 \
	}

static const struct teller tellers[] = {
/* clang-format off */
#define KL_VARIABLE(id, name, scope, type, ...) [id] = { OF_##scope(type, name) },
#include "../../uapi/variables.def"
#undef KL_VARIABLE
	/* clang-format on */
	[KL_VARIABLE_ID_cpu] = { .tell = tell_cpu },
	[KL_VARIABLE_ID_numa_node] = { .tell = tell_numa_node },
	SUMMED_WITH(cpu_time, sum_sched_runtime),
	SUMMED_WITH(utime, utime),
	SUMMED_WITH(stime, stime),
	SUMMED(run_delay),
	SUMMED(runs),
	SUMMED(migrations),
	SUMMED_WITH(nvcsw, nvcsw),
	SUMMED_WITH(nivcsw, nivcsw),
	SUMMED_WITH(min_faults, min_flt),
	SUMMED_WITH(maj_faults, maj_flt),
#ifdef CONFIG_TASK_IO_ACCOUNTING
	SUMMED_WITH(io_read_bytes, ioac.read_bytes),
	SUMMED_WITH(io_write_bytes, ioac.write_bytes),
	SUMMED_WITH(io_read_chars, ioac.rchar),
	SUMMED_WITH(io_write_chars, ioac.wchar),
	SUMMED_WITH(io_reads, ioac.syscr),
	SUMMED_WITH(io_writes, ioac.syscw),
#endif
};

/* ---------------------------------------------------------------- the call */

/* Rows are brought to the caller by this much. */
#define BATCH_BYTES (16u << 10)

/**
 * struct column - a variable that was asked for
 */
struct column {
	const struct teller *teller;
	u8 bytes;
	u8 access; /* enum kl_variable_access */
};

/**
 * struct inspection - a call under way
 * @has_registers: some variables are registers of programs
 * @sums: some are sums over the threads of a process
 * @own: only what @cred may see
 * @batch: rows not yet with the caller
 */
struct inspection {
	struct kl_abi_inspect *wish;
	const struct cred *cred;
	struct kl_error *why;
	bool own;
	bool has_registers;
	bool sums;
	u32 filled; /* bytes of @batch */
	u64 written; /* bytes with the caller */
	u8 *batch;
	struct task_struct **tasks;
	u32 n_tasks;
	struct column column[KL_INSPECT_VARIABLES_MAX];
};

static int add_column(struct inspection *in, u32 i, u32 id, u32 may)
{
	char reason[KL_ERROR_TEXT_MAX];
	u32 absent = kl_variable_absent(id, may, reason);
	const struct kl_variable_row *row = &kl_variable_rows[id];

	if (absent)
		return kl_fail(in->why,
			       id >= kl_variable_count	  ? -EINVAL :
			       absent == KL_ABSENT_DENIED ? -EPERM :
							    -ENOENT,
			       "variable %u: %s", id, reason);
	if (!tellers[id].tell)
		return kl_fail(in->why, -EINVAL, "%s is known only where an event fires",
			       row->name);
	in->column[i] = (struct column){ &tellers[id], row->bytes, row->access };
	in->sums |= tellers[id].is_summed;
	in->has_registers |= (id >= KL_VARIABLE_ID_user_ip && id <= KL_VARIABLE_ID_user_r15) ||
			     id == KL_VARIABLE_ID_syscall;
	in->wish->row_bytes += row->bytes;
	return 0;
}

static int take_columns(struct inspection *in, u32 may)
{
	const u32 __user *from = u64_to_user_ptr(in->wish->variables);

	if (in->wish->n_variables > KL_INSPECT_VARIABLES_MAX)
		return kl_fail(in->why, -EINVAL, "%u variables: at most %u at once",
			       in->wish->n_variables, KL_INSPECT_VARIABLES_MAX);
	in->wish->row_bytes = sizeof(struct kl_abi_inspected);
	for (u32 i = 0; i < in->wish->n_variables; i++) {
		u32 id;
		int error;

		if (get_user(id, &from[i]))
			return kl_fail(in->why, -EFAULT, "the variables cannot be read");
		error = add_column(in, i, id, may);
		if (error)
			return error;
	}
	return 0;
}

/* --------------------------------------------------------------- the tasks */

static void list_task(struct inspection *in, struct task_struct *t, u32 room)
{
	if (in->n_tasks < room) {
		get_task_struct(t);
		in->tasks[in->n_tasks] = t;
	}
	in->n_tasks++;
}

static void list_threads(struct inspection *in, struct task_struct *leader, u32 room)
{
	struct task_struct *t;

	for_each_thread(leader, t) list_task(in, t, room);
}

/* With a reference to each that there is room for; counts all. */
static void list_tasks(struct inspection *in, struct task_struct *one, u32 room)
{
	struct task_struct *t;

	in->n_tasks = 0;
	rcu_read_lock();
	if (one)
		list_threads(in, one, room);
	else if (in->wish->flags & KL_INSPECT_THREADS)
		for_each_process(t) list_threads(in, t, room);
	else
		for_each_process(t) list_task(in, t, room);
	rcu_read_unlock();
}

static void put_tasks(struct inspection *in, u32 n)
{
	for (u32 i = 0; i < n; i++)
		put_task_struct(in->tasks[i]);
	kvfree(in->tasks);
	in->tasks = NULL;
}

/*
 * The threads of @one's process, or all that are asked for. More come while memory is got
 * for them: leave room, and try again if that was too little.
 */
static int find_tasks(struct inspection *in, struct task_struct *one)
{
	u32 room = 0;

	for (;;) {
		list_tasks(in, one, room);
		if (in->n_tasks <= room)
			return 0;
		put_tasks(in, room);
		room = in->n_tasks + in->n_tasks / 8 + 16;
		in->tasks = kvcalloc(room, sizeof(*in->tasks), GFP_KERNEL_ACCOUNT);
		if (!in->tasks)
			return kl_fail(in->why, -ENOMEM, "no memory for a list of tasks");
	}
}

/* The task that an id stands for, with a reference; NULL: there is none. */
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

/* What a process's other threads have of it, and those that have ended. */
static u64 sum_of(const struct teller *teller, const struct kl_subject *subject,
		  struct task_struct *t)
{
	const struct signal_struct *signal = t->signal;
	struct task_struct *thread;
	u64 sum = teller->ended ? *(const u64 *)((const u8 *)signal + teller->ended) : 0;

	for_each_thread(t, thread) sum += teller->tell(subject, thread);
	return sum;
}

/* Little endian: the first bytes of a word are the number. */
static void put_value(u8 *to, u32 bytes, u64 value)
{
	switch (bytes) {
	case 1:
		*to = value;
		break;
	case 2:
		memcpy(to, &value, 2);
		break;
	case 4:
		memcpy(to, &value, 4);
		break;
	default:
		memcpy(to, &value, 8);
	}
}

static bool is_shown(const struct inspection *in, const struct column *c, struct task_struct *t)
{
	return !in->own || c->access != KL_VARIABLE_parent ||
	       kl_access_may_see(in->cred, rcu_dereference_sched(t->real_parent));
}

static void put_values(const struct inspection *in, const struct kl_subject *subject,
		       struct task_struct *t, bool summed, u8 *to)
{
	const struct column *c = in->column;

	for (u32 n = in->wish->n_variables; n; n--, to += c->bytes, c++) {
		const struct teller *teller = c->teller;
		u64 value;

		if (c->access == KL_VARIABLE_parent && !is_shown(in, c, t)) {
			memset(to, 0, c->bytes);
			continue;
		}
		value = summed && teller->is_summed ? sum_of(teller, subject, t) :
						      teller->tell(subject, t);
		put_value(to, c->bytes, value);
		if (teller->more)
			put_value(to + sizeof(u64), sizeof(u64), teller->more(subject, t));
	}
}

/*
 * Threads that end meanwhile must be counted once: as themselves, or with those that
 * have ended. Which it is they change under this lock, which its readers do not take.
 */
static void put_sums(const struct inspection *in, const struct kl_subject *subject,
		     struct task_struct *t, u8 *to)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&t->signal->stats_lock);
		put_values(in, subject, t, true, to);
	} while (read_seqretry(&t->signal->stats_lock, seq));
}

static bool is_on_cpu(const struct task_struct *t)
{
#ifdef CONFIG_SMP
	return READ_ONCE(t->on_cpu);
#else
	return t == current;
#endif
}

static unsigned long switches_of(const struct task_struct *t)
{
	return READ_ONCE(t->nvcsw) + READ_ONCE(t->nivcsw);
}

/*
 * The registers that a program has left at the end of its kernel stack. On a CPU it may
 * be in user mode, where they are old. A stack goes to another task, or away after RCU,
 * only when the last reference to it is dropped.
 */
static bool copy_registers(struct pt_regs *to, struct task_struct *t)
{
	unsigned long switches = switches_of(t);
	void *stack = READ_ONCE(t->stack);

	if (t->flags & PF_KTHREAD || !stack)
		return false;
	if (t == current) {
		*to = *task_pt_regs(t);
		return true;
	}
	if (is_on_cpu(t) || copy_from_kernel_nofault(to, task_pt_regs(t), sizeof(*to)))
		return false;
	/* The registers before the second look: it has not run, and has its stack, still. */
	smp_rmb();
	return !is_on_cpu(t) && switches_of(t) == switches && refcount_read(&t->stack_refcount);
}

static void read_registers(struct kl_subject *subject, struct task_struct *t)
{
	subject->in_kernel = copy_registers(&subject->registers, t);
	if (!subject->in_kernel)
		memset(&subject->registers, 0, sizeof(subject->registers));
}

/* False: there is none, or none that the caller may know of. */
static bool put_task(const struct inspection *in, struct task_struct *t, bool alone, u8 *to)
{
	struct kl_abi_inspected head = { .status = KL_INSPECTED };
	struct kl_subject subject;

	task_lock(t);
	preempt_disable();
	/* 0: it has ended, or is of a pid namespace that the caller is not in. */
	head.id = alone || in->wish->flags & KL_INSPECT_THREADS ? task_pid_vnr(t) :
								  task_tgid_vnr(t);
	if (!pid_alive(t) || (in->own && !kl_access_may_see(in->cred, t)))
		head.id = 0;
	if (head.id) {
		memcpy(to, &head, sizeof(head));
		subject.mm = t->flags & PF_KTHREAD ? NULL : t->mm;
		if (in->has_registers)
			read_registers(&subject, t);
		if (in->sums && !alone && !(in->wish->flags & KL_INSPECT_THREADS))
			put_sums(in, &subject, t, to + sizeof(head));
		else
			put_values(in, &subject, t, false, to + sizeof(head));
	}
	preempt_enable();
	task_unlock(t);
	return head.id;
}

static int flush(struct inspection *in)
{
	u8 __user *to = u64_to_user_ptr(in->wish->rows);

	if (copy_to_user(to + in->written, in->batch, in->filled))
		return kl_fail(in->why, -EFAULT, "the rows cannot be written");
	in->written += in->filled;
	in->filled = 0;
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* The row that stands behind the others is there: it counts also if the caller has no room. */
static int finish_row(struct inspection *in)
{
	u32 bytes = in->wish->row_bytes;

	in->wish->n_there++;
	if (in->written + in->filled + bytes > in->wish->room)
		return 0;
	in->wish->n_rows++;
	in->filled += bytes;
	return in->filled + bytes > BATCH_BYTES ? flush(in) : 0;
}

static int tell_tasks(struct inspection *in)
{
	int error = 0;

	for (u32 i = 0; i < in->n_tasks && !error; i++)
		if (put_task(in, in->tasks[i], false, in->batch + in->filled))
			error = finish_row(in);
	put_tasks(in, in->n_tasks);
	return error;
}

static int tell_missing(struct inspection *in, s32 id)
{
	const struct kl_abi_inspected head = { id, KL_INSPECTED_NOT };
	u8 *row = in->batch + in->filled;

	memset(row, 0, in->wish->row_bytes);
	memcpy(row, &head, sizeof(head));
	return finish_row(in);
}

static int tell_id(struct inspection *in, s32 id)
{
	u32 before = in->wish->n_there;
	struct task_struct *t = find_task(id);
	int error = 0;

	if (!t)
		return tell_missing(in, id);
	if (in->wish->flags & KL_INSPECT_THREADS) {
		error = find_tasks(in, t);
		if (!error)
			error = tell_tasks(in);
	} else if (put_task(in, t, !thread_group_leader(t), in->batch + in->filled)) {
		error = finish_row(in);
	}
	put_task_struct(t);
	return !error && in->wish->n_there == before ? tell_missing(in, id) : error;
}

static int tell_ids(struct inspection *in)
{
	const s32 __user *from = u64_to_user_ptr(in->wish->ids);
	int error = 0;

	for (u32 i = 0; i < in->wish->n_ids && !error; i++) {
		s32 id;

		if (get_user(id, &from[i]))
			return kl_fail(in->why, -EFAULT, "the ids cannot be read");
		error = tell_id(in, id);
	}
	return error;
}

static int tell_all(struct inspection *in)
{
	int error = find_tasks(in, NULL);

	return error ? error : tell_tasks(in);
}

static int check(const struct kl_abi_inspect *wish, struct kl_error *why)
{
	if (wish->flags & ~(KL_INSPECT_ALL | KL_INSPECT_THREADS) || wish->reserved)
		return kl_fail(why, -EINVAL, "unknown flags of an inspection: %#x", wish->flags);
	if (wish->flags & KL_INSPECT_ALL && wish->n_ids)
		return kl_fail(why, -EINVAL, "all tasks, or those of a list");
	if (wish->n_ids > KL_INSPECT_IDS_MAX)
		return kl_fail(why, -EINVAL, "%u ids: at most %u at once", wish->n_ids,
			       KL_INSPECT_IDS_MAX);
	return 0;
}

/**
 * kl_inspect - variables of tasks, now
 * @wish: what of whom; the answer
 * @cred: of the descriptor's opener
 * @may: the opener's KL_MAY_*
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_inspect(struct kl_abi_inspect *wish, const struct cred *cred, u32 may, struct kl_error *why)
{
	struct inspection *in;
	int error = check(wish, why);

	if (error)
		return error;
	in = kvzalloc(sizeof(*in) + BATCH_BYTES, GFP_KERNEL_ACCOUNT);
	if (!in)
		return kl_fail(why, -ENOMEM, "no memory for an inspection");
	in->wish = wish;
	in->cred = cred;
	in->why = why;
	in->own = !(may & KL_MAY_SEE_ALL);
	in->batch = (u8 *)(in + 1);
	wish->n_rows = wish->n_there = 0;
	wish->monotonic_ns = ktime_get_ns();
	error = take_columns(in, may);
	if (!error)
		error = wish->flags & KL_INSPECT_ALL ? tell_all(in) : tell_ids(in);
	if (!error && in->filled)
		error = flush(in);
	kvfree(in);
	return error;
}
