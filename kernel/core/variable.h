/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Variables: the rows of variables.def as kernel/core/variables.c has them, the
 * ones that a session's records carry, and single values for programs. What
 * records do with them is in record.c; docs/design/session.md has the rules.
 */
#ifndef KL_CORE_VARIABLE_H
#define KL_CORE_VARIABLE_H

#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/types.h>

#include "../../uapi/kernlens.h"
#include "../ring/platform.h"
#include "program.h"
#include "program_values.h"
#include "rights.h"

struct kl_error;
struct kl_program;
struct kl_session;
struct kl_variable_slot;

/* A value's word; @slot only matters to programs, to the parent and to call traces. */
typedef u64 (*kl_variable_fn)(const struct kl_variable_slot *slot, struct task_struct *t);

/* Where a number is that is just a member of something of the running task's. */
enum kl_variable_base {
	KL_BASE_NONE, /* it is not */
	KL_BASE_TASK,
	/* What a pointer in the task points to: the parent unless KL_PARENT_GONE, others always. */
	KL_BASE_PARENT,
	KL_BASE_CRED,
	KL_BASE_SIGNAL,
	/* Behind more pointers, or not always there. */
	KL_BASE_PGRP,
	KL_BASE_SESSION,
	KL_BASE_CGROUP,
	KL_BASE_MM,
	KL_BASE_STACK, /* not of kernel threads */
	KL_BASE_COUNT,
};

/**
 * struct kl_variable_place - where a number is
 * @base: enum kl_variable_base
 * @bytes: of the member that tell it; 8 can be read there
 * @shift: the value is the member, shifted left
 * @add: and this
 * @offset: in the base
 */
struct kl_variable_place {
	u8 base;
	u8 bytes;
	u8 shift;
	s16 add;
	u32 offset;
};

/**
 * struct kl_variable_row - a row of variables.def
 * @read: its value, or a text's first half; NULL of the task
 * @more: a text's second half, else NULL
 * @lacks: why this kernel or processor has it not; NULL if it has
 * @access: enum kl_variable_access
 * @bytes: in a record
 * @number: enum kl_number, if it is one
 */
struct kl_variable_row {
	const char *name;
	kl_variable_fn read;
	kl_variable_fn more;
	const char *(*lacks)(void);
	u8 access;
	u8 bytes;
	u8 number;
};

/* Ids by name. */
#define KL_VARIABLE(id, name, ...) KL_VARIABLE_ID_##name = id,
enum kl_variable_id {
#include "../../uapi/variables.def"
	KL_VARIABLE_ID_COUNT
};

#undef KL_VARIABLE

/* By id. */
extern const struct kl_variable_row kl_variable_rows[];
extern const u32 kl_variable_count;
extern const struct kl_variable_place kl_variable_places[];

/**
 * struct kl_variable_group - words of a session that are in the same base
 * @end: index behind the last of them
 * @hop: offset of the first pointer to the base, in the running task
 * @more: the base is not just what that points to; if it is not there, its words are 0
 * @is_parent: and once the task is released, init_task takes the parent's place
 * @is_stack: and kernel threads have none of it
 * @second, @third: offsets of the next pointers, or 0
 */
struct kl_variable_group {
	u32 end;
	u16 hop;
	bool more;
	bool is_parent;
	bool is_stack;
	u16 second;
	u16 third;
};

/* By enum kl_variable_base. */
extern const struct kl_variable_group kl_variable_bases[KL_BASE_COUNT];

/* Stands for a base that is not there: all that can be read of it is 0. */
#define KL_ZEROES_BYTES 2048
extern const u8 kl_zeroes[KL_ZEROES_BYTES];
extern const u8 *const kl_zero_stack;

/*
 * Set in a task's exit_state before the task is released. From then on the task keeps
 * a pointer to a parent that nothing keeps: RCU frees it at the earliest one grace
 * period after the bit was set. So whoever sees the bit clear, with preemption off,
 * may use the parent until preemption is on again.
 */
#define KL_PARENT_GONE EXIT_DEAD

/*
 * A word of what variables are in. Others may be writing it: the kernel on another CPU, or
 * the task that an interrupt has come into. A record has the value that was there.
 */
static __always_inline u64 kl_word_at(const u8 *base, u64 offset)
{
#ifdef KL_RING_TEST_HOOK
	kl_ring_test_hook();
#endif
	return kl_racy(*(const u64 *)(base + offset));
}

/* The base of a group that is not in the running task itself. */
static __always_inline const u8 *kl_variable_base(const struct task_struct *t,
						  const struct kl_variable_group *group)
{
	const u8 *base = (const u8 *)kl_word_at((const u8 *)t, group->hop);

	if (likely(!group->more))
		return base;
	if (group->is_parent)
		return READ_ONCE(t->exit_state) & KL_PARENT_GONE ? (const u8 *)&init_task : base;
	if (group->is_stack)
		/* This flag never changes, whatever is done to the others. */
		return kl_racy(t->flags) & PF_KTHREAD ? kl_zero_stack : base;
	if (group->second)
		base = (const u8 *)kl_word_at(base, group->second);
	if (group->third)
		base = (const u8 *)kl_word_at(base, group->third);
	return base ? base : kl_zeroes;
}

/* Words that the variables of a session have at most: texts have two. */
#define KL_VARIABLE_SLOTS_MAX 96

/**
 * struct kl_variable_slot - a word to be compared
 * @changed: the variable's bit among those of a record
 * @mask: of the word at its place, what tells the value; all, if it has none
 * @offset: of the word in its base
 * @at: its struct kl_word, in bytes from the CPU's struct kl_known
 * @bytes: of the variable in a record
 * @calculated: the value is not the word itself, but made with @shift and @add
 * @base: enum kl_variable_base; KL_BASE_NONE: @read tells it
 * @is_own: zero unless the owner may see the running task
 * @is_text: it is a text's first half, the next slot is its second
 * @read: reads the value
 * @session: whose
 * @row: of variables.def; NULL of a variable that is a program
 * @program: the same, else NULL
 */
struct kl_variable_slot {
	u64 changed;
	u64 mask;
	u32 offset;
	u16 at;
	u8 bytes;
	bool calculated;
	u8 shift;
	u8 base;
	bool is_own;
	bool is_text;
	s16 add;
	kl_variable_fn read;
	struct kl_session *session;
	const struct kl_variable_row *row;
	const struct kl_program *program;
};

/**
 * struct kl_variable_run - words of a session one after the other in the same base
 * @end: behind the last of them
 * @base: of them
 * @functions: it has none: functions tell them
 */
struct kl_variable_run {
	const struct kl_variable_slot *end;
	struct kl_variable_group base;
	bool functions;
};

/**
 * struct kl_word - what readers of a CPU's records know of one word
 * @known: it, masked
 * @mask: what of the word at its place tells the value
 * @offset: of the word in its base
 * @hop: offset of the pointer to the base in the running task, if it has one
 */
struct kl_word {
	u64 known;
	u64 mask;
	u32 offset;
	u32 hop;
};

/**
 * struct kl_known - all that readers of a CPU's records know of the variables
 * @task_end: behind the words in the running task, which are first in @word
 * @hop_end: behind those that are one pointer away from it
 * @stage: room for what is to be in a record, and 8 bytes on either side
 * @word: those in places by base, then those that functions tell
 */
struct kl_known {
	const struct kl_word *task_end;
	const struct kl_word *hop_end;
	u8 *stage;
	struct kl_word word[];
};

/**
 * struct kl_variables - what a session has beside the task
 * @n: number of variables
 * @n_slots: number of their words
 * @guards: 1 if some are the parent's: then the first known word says that there is one
 * @prefix: bytes of a record before the variables
 * @bytes: of all of them in a record
 * @all: a bit each, and the task's
 * @cost: of reading all of them once, at most
 * @quick: the usual way may be tried: the owner may see all, records carry only
 *         what has changed, the clock is the time stamp counter
 * @full: records carry all, changed or not
 * @stacks_asked: call traces are 0 but in records of the handler `stack`
 * @walks: some are call traces, which are walked when they are read
 * @placed: number of known words that are in a place, @guards among them
 * @groups: number of @group
 * @plain_groups: of them, those that are at most one pointer away
 * @group: of words by base; the first of those in the running task itself, if any
 * @slot: the variables' words, in order
 * @last_run: behind the last of @run
 * @run: the same by base
 * @of: bytes of each variable, and its first slot
 * @known: words as in the newest record that carried them, by CPU
 */
struct kl_variables {
	u32 n;
	u32 n_slots;
	u32 guards;
	u32 prefix;
	u32 bytes;
	u64 all;
	struct kl_cost cost;
	bool quick;
	bool full;
	bool stacks_asked;
	bool walks;
	u32 placed;
	u32 groups;
	u32 plain_groups;
	struct kl_variable_group group[KL_BASE_COUNT];
	struct kl_variable_slot slot[KL_VARIABLE_SLOTS_MAX];
	const struct kl_variable_run *last_run;
	struct kl_variable_run run[KL_VARIABLE_SLOTS_MAX];
	struct {
		u8 bytes;
		u8 slot;
	} of[KL_VARIABLES_MAX];
	struct kl_known __percpu *known;
};

static __always_inline struct kl_word *kl_word_of(struct kl_known *known,
						  const struct kl_variable_slot *slot)
{
	return (struct kl_word *)((u8 *)known + slot->at);
}

u32 kl_variable_absent(u32 id, u32 may, char reason[KL_ERROR_TEXT_MAX]);
int kl_variables_set(struct kl_session *s, const struct kl_abi_variables *params,
		     struct kl_error *why);
void kl_variables_deinit(struct kl_session *s);

#endif /* KL_CORE_VARIABLE_H */
