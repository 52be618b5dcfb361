// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of variables.def once more, as functions of any task: for inspect.c, which
 * holds the task as it says.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "../session/variable.h"
#include "inspect_rows.h"
#include "inspect_values.h"

/* ------------------------------------------------------------- the values */

/* Macros that stand for declarations are laid out by hand. */
/* clang-format off */

#define TELLER(function, expression)                                                      \
	static u64 function(const struct kl_subject *subject, struct task_struct *t)      \
	{                                                                                 \
		return (u64)(expression);                                                 \
	}

#define TELL_task(first, second, value)
#define TELL_s8(first, second, value) TELLER(first, (s8)(value))
#define TELL_u8(first, second, value) TELLER(first, (u8)(value))
#define TELL_s16(first, second, value) TELLER(first, (s16)(value))
#define TELL_s32(first, second, value) TELLER(first, (s32)(value))
#define TELL_u32(first, second, value) TELLER(first, (u32)(value))
#define TELL_u64(first, second, value) TELLER(first, (u64)(value))
#define TELL_text(first, second, value)                                                   \
	TELLER(first, kl_text_word(value))                                                   \
	TELLER(second, kl_text_word((value) + sizeof(u64)))

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

/* clang-format off */

const struct kl_teller kl_tellers[] = {
#define KL_VARIABLE(id, name, scope, type, ...) [id] = { OF_##scope(type, name) },
#include "../../uapi/variables.def"
#undef KL_VARIABLE
};

/* clang-format on */

const kl_tell_fn kl_cpu_tellers[KL_VARIABLE_ID_COUNT] = {
	[KL_VARIABLE_ID_cpu] = tell_cpu,
	[KL_VARIABLE_ID_numa_node] = tell_numa_node,
};

#define SUMMED(name) [KL_VARIABLE_ID_##name] = { .is_summed = true }
#define SUMMED_WITH(name, member)                                                        \
	[KL_VARIABLE_ID_##name] = {                                                      \
		.is_summed = true,                                                       \
		.ended = offsetof(struct signal_struct, member) +                        \
			 BUILD_BUG_ON_ZERO(sizeof_field(struct signal_struct, member) != \
					   sizeof(u64)),                                 \
	}

const struct kl_teller_sum kl_teller_sums[KL_VARIABLE_ID_COUNT] = {
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
