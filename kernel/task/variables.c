// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of variables.def as functions: each reads one value of the running
 * task or of the machine, as a number of 64 bits; a text is two of them.
 * Called by kernel/session/variable.c for records and programs, with preemption
 * off, in any context.
 */
#include "../session/stack.h"
#include "../session/variable.h"
#include "variable_values.h"

/* Macros that stand for declarations are laid out by hand. */
/* clang-format off */

#define KL_READER(function, expression)                                                   \
	static u64 function(const struct kl_variable_slot *slot, struct task_struct *t)   \
	{                                                                                 \
		return (u64)(expression);                                                 \
	}

/* A number is extended as its type says, so that equal values are equal words. */
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
	KL_READER(first, load_word(value))                                                \
	KL_READER(second, load_word((value) + sizeof(u64)))

static u64 load_word(const char *text)
{
	u64 word;

	memcpy(&word, text, sizeof(word));
	return word;
}

/* Values may have commas; a task's id or policy is read as it is, signed or not. */
#define KL_VARIABLE(id, name, scope, type, unit, format, access, needs, cost, help, ...)  \
	KL_READ_##type(read_##name, more_##name, (__VA_ARGS__))
#include "../../uapi/variables.def"
#undef KL_VARIABLE

#define KL_ROW_task(first, second)
#define KL_ROW_s8(first, second) .read = first, .bytes = 1,
#define KL_ROW_u8(first, second) .read = first, .bytes = 1,
#define KL_ROW_s16(first, second) .read = first, .bytes = 2,
#define KL_ROW_u16(first, second) .read = first, .bytes = 2,
#define KL_ROW_s32(first, second) .read = first, .bytes = 4,
#define KL_ROW_u32(first, second) .read = first, .bytes = 4,
#define KL_ROW_s64(first, second) .read = first, .bytes = 8,
#define KL_ROW_u64(first, second) .read = first, .bytes = 8,
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

const u32 kl_variable_count = ARRAY_SIZE(kl_variable_rows);
