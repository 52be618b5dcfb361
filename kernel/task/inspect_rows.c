// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of variables.def as functions of any task, for inspect.c, which holds the task as
 * described there.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "../base/task_iter.h"
#include "../compat/nofault.h"
#include "../core/variable.h"
#include "inspect_rows.h"
#include "inspect_values.h"

/* ------------------------------------------------------------- the values */

/* Macros that expand to declarations are laid out by hand. */
/* clang-format off */

/* The task keeps running: each value is of some instant of the call, as in /proc. */
#define GETTER(function, expression)                                                      \
	static u64 function(const struct kl_subject *subject, struct task_struct *t)      \
	{                                                                                 \
		return data_race((u64)(expression));                                      \
	}

#define GET_task(first, second, value)
#define GET_s8(first, second, value) GETTER(first, (s8)(value))
#define GET_u8(first, second, value) GETTER(first, (u8)(value))
#define GET_s16(first, second, value) GETTER(first, (s16)(value))
#define GET_s32(first, second, value) GETTER(first, (s32)(value))
#define GET_u32(first, second, value) GETTER(first, (u32)(value))
#define GET_u64(first, second, value) GETTER(first, (u64)(value))
#define GET_text(first, second, value)                                                   \
	GETTER(first, kl_unaligned_word(value))                                                   \
	GETTER(second, kl_unaligned_word((value) + sizeof(u64)))

/* Only variables of a task or of the whole machine are available without an event. */
#define SCOPE_task(type, first, second, value) GET_##type(first, second, value)
#define SCOPE_system(type, first, second, value) GET_##type(first, second, value)
#define SCOPE_place(type, first, second, value)
#define SCOPE_cpu(type, first, second, value)

#define KL_VARIABLE(id, name, scope, type, unit, format, access, needs, cost, help, ...)  \
	SCOPE_##scope(type, value_##name, second_##name, (__VA_ARGS__))
#include "../../uapi/variables.def"
#undef KL_VARIABLE

/* Of the CPU that the task was last on. */
GETTER(value_cpu, task_cpu(t))
GETTER(value_numa_node, cpu_to_node(task_cpu(t)))

/* clang-format on */

#define ROW_task(name)
#define ROW_s8(name) .get = value_##name,
#define ROW_u8(name) .get = value_##name,
#define ROW_s16(name) .get = value_##name,
#define ROW_s32(name) .get = value_##name,
#define ROW_u32(name) .get = value_##name,
#define ROW_u64(name) .get = value_##name,
#define ROW_text(name) .get = value_##name, .more = second_##name,
#define OF_task(type, name) ROW_##type(name)
#define OF_system(type, name) ROW_##type(name)
#define OF_place(type, name)
#define OF_cpu(type, name)

/* clang-format off */

const struct kl_getter kl_getters[] = {
#define KL_VARIABLE(id, name, scope, type, ...) [id] = { OF_##scope(type, name) },
#include "../../uapi/variables.def"
#undef KL_VARIABLE
};

/* clang-format on */

const kl_get_fn kl_cpu_getters[KL_VARIABLE_ID_COUNT] = {
	[KL_VARIABLE_ID_cpu] = value_cpu,
	[KL_VARIABLE_ID_numa_node] = value_numa_node,
};

#define SUMMED(name) [KL_VARIABLE_ID_##name] = { .is_summed = true }
#define SUMMED_WITH(name, member)                                                        \
	[KL_VARIABLE_ID_##name] = {                                                      \
		.is_summed = true,                                                       \
		.ended = offsetof(struct signal_struct, member) +                        \
			 BUILD_BUG_ON_ZERO(sizeof_field(struct signal_struct, member) != \
					   sizeof(u64)),                                 \
	}

const struct kl_getter_sum kl_getter_sums[KL_VARIABLE_ID_COUNT] = {
	SUMMED_WITH(cpu_time, sum_sched_runtime),
	SUMMED_WITH(utime, utime),
	SUMMED_WITH(stime, stime),
	SUMMED(run_delay),
	SUMMED(runs),
	SUMMED(migrations),
	SUMMED(blkio_delay),
	SUMMED(swapin_delay),
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

/* ----------------------------------------------------------- the registers */

static bool is_on_cpu(const struct task_struct *t)
{
#ifdef CONFIG_SMP
	return READ_ONCE(t->on_cpu);
#else
	return t == current;
#endif
}

/*
 * The registers that a program has left at the top of its kernel stack. If the task is on a CPU it
 * may be in user mode, where they are outdated. A stack is reused, or freed after RCU, only when
 * the last reference to it is dropped.
 */
static bool copy_registers(struct pt_regs *to, struct task_struct *t)
{
	unsigned long switches = kl_task_switches(t);
	void *stack = READ_ONCE(t->stack);

	if (kl_task_flags(t) & PF_KTHREAD || !stack)
		return false;
	if (t == current) {
		*to = *task_pt_regs(t);
		return true;
	}
	if (is_on_cpu(t) || kl_nofault(copy_from_kernel_nofault(to, task_pt_regs(t), sizeof(*to))))
		return false;
	/*
	 * Read the registers before checking again that the task has not run and still has its
	 * stack.
	 */
	smp_rmb();
	return !is_on_cpu(t) && kl_task_switches(t) == switches &&
	       refcount_read(&t->stack_refcount);
}

/**
 * kl_subject_read_registers - read the registers of a task's program
 * @subject: of @t; its registers are set
 * @t: any task, with a reference
 * @may_trace: the caller may trace it; else it looks as if it were running
 *
 * Context: preemption off.
 */
void kl_subject_read_registers(struct kl_subject *subject, struct task_struct *t, bool may_trace)
{
	subject->in_kernel = may_trace && copy_registers(&subject->registers, t);
	if (!subject->in_kernel)
		memset(&subject->registers, 0, sizeof(subject->registers));
}
