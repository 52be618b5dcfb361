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
	KL_READER(first, kl_unaligned_word(value))                                                \
	KL_READER(second, kl_unaligned_word((value) + sizeof(u64)))

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
 * Each KL_OF_* of variable_values.h once more, as the location of the member. A row that is one of
 * them has seven arguments in place of its value, which PLACE counts; any other value is one.
 */
#define OF(base, type, member, offset, shift, add) base, type, member, offset, shift, add, PLACED
#define OF_SIMPLE(base, type, member) OF(base, type, member, 0, 0, 0)

#undef KL_OF_TASK
#undef KL_OF_TASK_PLUS
#undef KL_OF_PARENT
#undef KL_OF_CRED
#undef KL_OF_SIGNAL
#undef KL_OF_MM
#undef KL_OF_MM_PAGES
#undef KL_OF_REGISTERS
#undef KL_OF_ID
#undef KL_OF_CRED_BITS
#undef KL_OF_CGROUP_NODE
#define KL_OF_TASK(member) OF_SIMPLE(TASK, struct task_struct, member)
#define KL_OF_TASK_PLUS(member, add) OF(TASK, struct task_struct, member, 0, 0, add)
#define KL_OF_PARENT(member) OF_SIMPLE(PARENT, struct task_struct, member)
#define KL_OF_CRED(member) OF_SIMPLE(CRED, struct cred, member)
#define KL_OF_CRED_BITS(member) OF_SIMPLE(CRED, struct cred, member)
#define KL_OF_SIGNAL(member) OF_SIMPLE(SIGNAL, struct signal_struct, member)
/* kl_zeroes replaces a missing mm, so members must lie within it. */
#define IN_ZEROES(member) \
	BUILD_BUG_ON_ZERO(offsetof(struct mm_struct, member) + sizeof(u64) > KL_ZEROES_BYTES)
#define KL_OF_MM(member) OF(MM, struct mm_struct, member, IN_ZEROES(member), 0, 0)
#define KL_OF_MM_PAGES(member) OF(MM, struct mm_struct, member, IN_ZEROES(member), PAGE_SHIFT, 0)
#define USER_REGISTERS (THREAD_SIZE - TOP_OF_KERNEL_STACK_PADDING - sizeof(struct pt_regs))
#define KL_OF_REGISTERS(member) OF(STACK, struct pt_regs, member, USER_REGISTERS, 0, 0)
/* Each struct pid has at least one of `numbers`, so 8 bytes can be read there. */
#define KL_OF_ID(type) OF(type, struct upid, nr, offsetof(struct pid, numbers), 0, 0)
#define KL_OF_CGROUP_NODE(member) OF_SIMPLE(CGROUP, struct kernfs_node, member)

/*
 * If a member is wider than the value, only its lower bytes are compared, unless the value is
 * calculated from it.
 */
#define PLACED(name, base_, type, member, offset_, shift_, add_, placed)                           \
	[KL_VARIABLE_ID_##name] = {                                                                \
		.base = KL_BASE_##base_,                                                           \
		.bytes =                                                                           \
			((shift_) || (add_) ? sizeof_field(type, member) : SIZE_##name) +          \
			BUILD_BUG_ON_ZERO(SIZE_##name > sizeof_field(type, member) && !(shift_)) + \
			BUILD_BUG_ON_ZERO(offsetof(type, member) + sizeof(u64) > sizeof(type)),    \
		.shift = shift_,                                                                   \
		.add = add_,                                                                       \
		.offset = (offset_) + offsetof(type, member),                                      \
	},
#define OTHER(name, ...)
#define SEVENTH(_1, _2, _3, _4, _5, _6, seventh, ...) seventh
#define PLACE(name, ...)                                                      \
	SEVENTH(__VA_ARGS__, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER) \
	(name, __VA_ARGS__)

/*
 * Rows whose value is a plain member. Sessions that may use the fast path (`quick` in struct
 * kl_variables) read their values here, all others through the expressions;
 * tests/cli/variables.sh compares what is recorded with other sources.
 */
const struct kl_variable_place kl_variable_places[] = {
#define KL_VARIABLE(id, name, scope, type, unit, format, access, needs, cost, help, ...) \
	PLACE(name, __VA_ARGS__)
#include "../../uapi/variables.def"
#undef KL_VARIABLE
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
	[KL_BASE_PGID] = { FIRST(struct task_struct, signal),
			   SECOND(struct signal_struct, pids[PIDTYPE_PGID]) },
	[KL_BASE_SID] = { FIRST(struct task_struct, signal),
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
