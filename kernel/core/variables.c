// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of variables.def as functions. Each reads one value of the running task or of the
 * machine as a 64-bit number; a text is two such numbers. Called by kernel/core/variable.c for
 * records and programs, with preemption off, in any context.
 */
#include "stack.h"
#include "variable.h"
#include "variable_values.h"

/* Macros that expand to declarations are laid out by hand. */
/* clang-format off */

/*
 * Most values have a writer that does not synchronize with us: the interrupted task, or the kernel
 * on another CPU. A record gets the value found at that moment.
 */
#define KL_READER(function, expression)                                                   \
	static u64 function(const struct kl_variable_slot *slot, struct task_struct *t)   \
	{                                                                                 \
		return data_race((u64)(expression));                                      \
	}

/* Numbers are extended according to their type, so that equal values are equal words. */
#define KL_READ_task(first, second, value)
#define KL_READ_s8(first, second, value) KL_READER(first, (s8)(value))
#define KL_READ_u8(first, second, value) KL_READER(first, (u8)(value))
#define KL_READ_s16(first, second, value) KL_READER(first, (s16)(value))
#define KL_READ_u16(first, second, value) KL_READER(first, (u16)(value))
#define KL_READ_s32(first, second, value) KL_READER(first, (s32)(value))
#define KL_READ_u32(first, second, value) KL_READER(first, (u32)(value))
#define KL_READ_s64(first, second, value) KL_READER(first, (s64)(value))
#define KL_READ_u64(first, second, value) KL_READER(first, (u64)(value))
#define KL_READ_text(first, second, value)                                                \
	KL_READER(first, kl_text_word(value))                                                \
	KL_READER(second, kl_text_word((value) + sizeof(u64)))

/*
 * A value may contain commas. The row's type decides about the sign, whatever the kernel's type is.
 */
#define KL_VARIABLE(id, name, scope, type, unit, format, access, needs, cost, help, ...)  \
	KL_READ_##type(read_##name, more_##name, (__VA_ARGS__))
#include "../../uapi/variables.def"
#undef KL_VARIABLE

#define KL_ROW_task(first, second)
#define KL_ROW_s8(first, second) .read = first, .bytes = 1, .number = KL_NUMBER_S8,
#define KL_ROW_u8(first, second) .read = first, .bytes = 1, .number = KL_NUMBER_U8,
#define KL_ROW_s16(first, second) .read = first, .bytes = 2, .number = KL_NUMBER_S16,
#define KL_ROW_u16(first, second) .read = first, .bytes = 2, .number = KL_NUMBER_U16,
#define KL_ROW_s32(first, second) .read = first, .bytes = 4, .number = KL_NUMBER_S32,
#define KL_ROW_u32(first, second) .read = first, .bytes = 4, .number = KL_NUMBER_U32,
#define KL_ROW_s64(first, second) .read = first, .bytes = 8, .number = KL_NUMBER_S64,
#define KL_ROW_u64(first, second) .read = first, .bytes = 8, .number = KL_NUMBER_U64,
#define KL_ROW_text(first, second) .read = first, .more = second, .bytes = KL_COMM_LEN,
#define KL_VARIABLE(id, name_, scope, type, unit, format, access_, needs, cost, help, ...) \
	[id] = {                                                                          \
		.name = #name_,                                                           \
		.lacks = kl_lacks_##needs,                                                \
		.access = KL_VARIABLE_##access_,                                          \
		KL_ROW_##type(read_##name_, more_##name_)                                 \
	},
const struct kl_variable_row kl_variable_rows[] = {
#include "../../uapi/variables.def"
};

/* clang-format on */

#undef KL_VARIABLE

const u32 kl_variable_count = ARRAY_SIZE(kl_variable_rows);

/* --------------------------------------------------- values that are plain members */

/* Sizes in bytes of the rows' types. */
#define KL_SIZE_task 1
#define KL_SIZE_s8 1
#define KL_SIZE_u8 1
#define KL_SIZE_s16 2
#define KL_SIZE_u16 2
#define KL_SIZE_s32 4
#define KL_SIZE_u32 4
#define KL_SIZE_s64 8
#define KL_SIZE_u64 8
#define KL_SIZE_text 16
#define KL_VARIABLE(id, name, scope, type, ...) SIZE_##name = KL_SIZE_##type,
enum variable_size {
#include "../../uapi/variables.def"
};

#undef KL_VARIABLE

/*
 * If a member is wider than the value, only its lower bytes are compared, unless the value is
 * calculated from it.
 */
#define CALCULATED(name, base_, type, member, offset_, shift_, add_)                             \
	[KL_VARIABLE_ID_##name] = {                                                              \
		.base = KL_BASE_##base_,                                                         \
		.bytes = sizeof(((type *)0)->member) +                                           \
			 BUILD_BUG_ON_ZERO(SIZE_##name > sizeof(((type *)0)->member) &&          \
					   !(shift_)) +                                          \
			 BUILD_BUG_ON_ZERO(offsetof(type, member) + sizeof(u64) > sizeof(type)), \
		.shift = shift_,                                                                 \
		.add = add_,                                                                     \
		.offset = (offset_) + offsetof(type, member),                                    \
	}
#define MEMBER(name, base_, type, member, offset_)                                               \
	[KL_VARIABLE_ID_##name] = {                                                              \
		.base = KL_BASE_##base_,                                                         \
		.bytes = SIZE_##name +                                                           \
			 BUILD_BUG_ON_ZERO(SIZE_##name > sizeof(((type *)0)->member)) +          \
			 BUILD_BUG_ON_ZERO(offsetof(type, member) + sizeof(u64) > sizeof(type)), \
		.offset = (offset_) + offsetof(type, member),                                    \
	}
#define TASK(name, member) MEMBER(name, TASK, struct task_struct, member, 0)
#define CRED(name, member) MEMBER(name, CRED, struct cred, member, 0)
#define SIGNAL(name, member) MEMBER(name, SIGNAL, struct signal_struct, member, 0)
/* kl_zeroes replaces a missing mm, so members must lie within it. */
#define IN_ZEROES(type, member) \
	BUILD_BUG_ON_ZERO(offsetof(type, member) + sizeof(u64) > KL_ZEROES_BYTES)
#define MM(name, member) \
	MEMBER(name, MM, struct mm_struct, member, IN_ZEROES(struct mm_struct, member))
#define PAGES(name, member)                                                                 \
	CALCULATED(name, MM, struct mm_struct, member, IN_ZEROES(struct mm_struct, member), \
		   PAGE_SHIFT, 0)
/* Each struct pid has at least one of `numbers`, so 8 bytes can be read there. */
#define GROUP(name, base) MEMBER(name, base, struct upid, nr, offsetof(struct pid, numbers))
#define USER_REGISTERS (THREAD_SIZE - TOP_OF_KERNEL_STACK_PADDING - sizeof(struct pt_regs))
#define USER(name, member) MEMBER(name, STACK, struct pt_regs, member, USER_REGISTERS)

/*
 * Rows whose value is a plain member. An entry must give the same value as the row's expression,
 * which is authoritative. Sessions that may use the fast path (`quick` in struct kl_variables) read
 * their values here, all others through the expressions; tests/cli/variables.sh compares what is
 * recorded with other sources.
 */
const struct kl_variable_place kl_variable_places[] = {
	TASK(tid, pid),
	TASK(pid, tgid),
	MEMBER(ppid, PARENT, struct task_struct, tgid, 0),
	GROUP(pgid, PGRP),
	GROUP(sid, SESSION),
	CRED(uid, uid),
	CRED(gid, gid),
	CRED(euid, euid),
	CRED(egid, egid),
	CRED(capabilities, cap_effective),
#ifdef CONFIG_CGROUPS
	MEMBER(cgroup, CGROUP, struct kernfs_node, id, 0),
#endif
	TASK(task_flags, flags),
#ifdef CONFIG_SECCOMP
	TASK(seccomp, seccomp.mode),
#endif
	SIGNAL(threads, nr_threads),
	SIGNAL(oom_score_adj, oom_score_adj),
	CALCULATED(priority, TASK, struct task_struct, prio, 0, 0, -MAX_RT_PRIO),
	CALCULATED(nice, TASK, struct task_struct, static_prio, 0, 0, -DEFAULT_PRIO),
	TASK(policy, policy),
	TASK(rt_priority, rt_priority),
	TASK(cpus_allowed, nr_cpus_allowed),
	TASK(start_time, start_boottime),
	TASK(cpu_time, se.sum_exec_runtime),
	TASK(utime, utime),
	TASK(stime, stime),
#ifdef CONFIG_SCHED_INFO
	TASK(run_delay, sched_info.run_delay),
	TASK(runs, sched_info.pcount),
#endif
	TASK(migrations, se.nr_migrations),
	TASK(nvcsw, nvcsw),
	TASK(nivcsw, nivcsw),
	TASK(timer_slack, timer_slack_ns),
	TASK(min_faults, min_flt),
	TASK(maj_faults, maj_flt),
	PAGES(vm_size, total_vm),
	PAGES(vm_data, data_vm),
	PAGES(vm_stack, stack_vm),
	PAGES(vm_exec, exec_vm),
	PAGES(vm_locked, locked_vm),
	MM(mappings, map_count),
#ifdef CONFIG_TASK_IO_ACCOUNTING
	TASK(io_read_bytes, ioac.read_bytes),
	TASK(io_write_bytes, ioac.write_bytes),
	TASK(io_read_chars, ioac.rchar),
	TASK(io_write_chars, ioac.wchar),
	TASK(io_reads, ioac.syscr),
	TASK(io_writes, ioac.syscw),
#endif
	TASK(signal_blocked, blocked.sig[0]),
	USER(user_ip, ip),
	USER(user_sp, sp),
	USER(user_flags, flags),
	USER(user_ax, ax),
	USER(user_bx, bx),
	USER(user_cx, cx),
	USER(user_dx, dx),
	USER(user_si, si),
	USER(user_di, di),
	USER(user_bp, bp),
	USER(user_r8, r8),
	USER(user_r9, r9),
	USER(user_r10, r10),
	USER(user_r11, r11),
	USER(user_r12, r12),
	USER(user_r13, r13),
	USER(user_r14, r14),
	USER(user_r15, r15),
	[KL_VARIABLE_ID_COUNT] = {},
};

#define FIRST(type, member) .hop = offsetof(type, member)
#define SECOND(type, member) .more = true, .second = offsetof(type, member)
#define THIRD(type, member) .third = offsetof(type, member)
const struct kl_variable_group kl_variable_bases[KL_BASE_COUNT] = {
	[KL_BASE_PARENT] = { FIRST(struct task_struct, real_parent), .more = true,
			     .is_parent = true },
	[KL_BASE_CRED] = { FIRST(struct task_struct, cred) },
	[KL_BASE_SIGNAL] = { FIRST(struct task_struct, signal) },
	[KL_BASE_PGRP] = { FIRST(struct task_struct, signal),
			   SECOND(struct signal_struct, pids[PIDTYPE_PGID]) },
	[KL_BASE_SESSION] = { FIRST(struct task_struct, signal),
			      SECOND(struct signal_struct, pids[PIDTYPE_SID]) },
#ifdef CONFIG_CGROUPS
	[KL_BASE_CGROUP] = { FIRST(struct task_struct, cgroups), SECOND(struct css_set, dfl_cgrp),
			     THIRD(struct cgroup, kn) },
#endif
	[KL_BASE_MM] = { FIRST(struct task_struct, mm), .more = true },
	[KL_BASE_STACK] = { FIRST(struct task_struct, stack), .more = true, .is_stack = true },
};

const u8 kl_zeroes[KL_ZEROES_BYTES] __aligned(8);
const u8 *const kl_zero_stack = kl_zeroes - USER_REGISTERS;
