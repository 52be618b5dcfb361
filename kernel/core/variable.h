/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Variables: the rows of variables.def as kernel/core/variables.c implements them, the variables
 * that a session's records carry, and single values for programs. record.h and record_values.h
 * write records with them; docs/design/session.md has the rules.
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

/* Returns a word of a value. Only programs, the parent, stack traces and counters use @slot. */
typedef u64 (*kl_variable_fn)(const struct kl_variable_slot *slot, struct task_struct *t);

/* The struct in which a number is a plain member, reached from the running task. */
enum kl_variable_base {
	KL_BASE_NONE, /* not a plain member */
	KL_BASE_TASK,
	/* One pointer away from the task: the parent unless KL_PARENT_GONE, the others always. */
	KL_BASE_PARENT,
	KL_BASE_CRED,
	KL_BASE_SIGNAL,
	/* More pointers away, or not always available. */
	KL_BASE_PGID,
	KL_BASE_SID,
	KL_BASE_CGROUP,
	KL_BASE_MM,
	KL_BASE_STACK, /* unavailable for kernel threads */
	KL_BASE_COUNT,
};

/**
 * struct kl_variable_place - location of a number
 * @base: enum kl_variable_base
 * @bytes: number of the member's bytes that hold the value; 8 bytes can be read there
 * @shift: the value is the member shifted left by this
 * @add: added after the shift
 * @offset: offset in the base
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
 * @read: returns the value, or a text's first half; NULL for the task
 * @more: returns a text's second half, else NULL
 * @lacks: returns why this kernel or processor lacks it; NULL if it is available
 * @access: enum kl_variable_access
 * @bytes: size in a record
 * @number: enum kl_number, if it is a number
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

/* Rows are not in the order of ids: the largest array is one byte longer than the largest id. */
#define KL_VARIABLE(id, name, ...) char name##_[(id) + 1];
union kl_variable_ids {
#include "../../uapi/variables.def"
};

#undef KL_VARIABLE

/* Ids, by name. */
#define KL_VARIABLE(id, name, ...) KL_VARIABLE_ID_##name = id,
enum kl_variable_id {
#include "../../uapi/variables.def"
	KL_VARIABLE_ID_COUNT = sizeof(union kl_variable_ids)
};

#undef KL_VARIABLE

/* Indexed by id. */
extern const struct kl_variable_row kl_variable_rows[];
extern const u32 kl_variable_count;
extern const struct kl_variable_place kl_variable_places[];

/**
 * struct kl_variable_group - words of a session that are in the same base
 * @end: index after the last of these words
 * @hop: offset of the first pointer to the base, in the running task
 * @more: the base is not just what that points to; if it is unavailable, its words are 0
 * @is_parent: the base is the parent; once the task is released, init_task replaces it
 * @is_stack: the base is the kernel stack; for kernel threads, zeroes replace it
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

/* Indexed by enum kl_variable_base. */
extern const struct kl_variable_group kl_variable_bases[KL_BASE_COUNT];

/* Replaces an unavailable base: everything that is read from it is 0. */
#define KL_ZEROES_BYTES 2048
extern const u8 kl_zeroes[KL_ZEROES_BYTES];
extern const u8 *const kl_zero_stack;

/*
 * Set in a task's exit_state before the task is released. From then on nothing holds the parent to
 * which the task still points: RCU frees it at the earliest one grace period after the bit was set.
 * So code that sees the bit clear, with preemption off, may use the parent until preemption is on
 * again.
 */
#define KL_PARENT_GONE EXIT_DEAD

/*
 * Read a word of a base. Its writer does not synchronize with us: the kernel on another CPU, or the
 * interrupted task. A record gets the value found at that moment.
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
		/* This flag never changes, even if others do. */
		return kl_racy(t->flags) & PF_KTHREAD ? kl_zero_stack : base;
	if (group->second)
		base = (const u8 *)kl_word_at(base, group->second);
	if (group->third)
		base = (const u8 *)kl_word_at(base, group->third);
	return base ? base : kl_zeroes;
}

/* Maximum number of words of a session's variables; a text has two. */
#define KL_VARIABLE_SLOTS_MAX 96

/**
 * struct kl_variable_slot - a word of a variable, to be compared
 * @changed: the variable's bit in a record
 * @mask: bits of the word at its location that hold the value; all bits without a location
 * @offset: offset of the word in its base
 * @at: offset of its struct kl_word in the CPU's struct kl_known, in bytes
 * @bytes: size of the variable in a record
 * @calculated: the value is not the word itself, but calculated with @shift and @add
 * @base: enum kl_variable_base; KL_BASE_NONE: @read returns the value
 * @is_own: zero unless the owner may see the running task
 * @is_text: it is a text's first half; the next slot is the second half
 * @read: reads the value
 * @session: the session
 * @row: row of variables.def; NULL if the variable is a program
 * @program: the program, if the variable is one, else NULL
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
 * struct kl_variable_run - consecutive words of a session in the same base
 * @end: after the last of them
 * @base: their base
 * @functions: they have no base: functions return them
 */
struct kl_variable_run {
	const struct kl_variable_slot *end;
	struct kl_variable_group base;
	bool functions;
};

/**
 * struct kl_word - what readers of a CPU's records know of one word
 * @known: the word, masked
 * @mask: bits of the word at its location that hold the value
 * @offset: offset of the word in its base
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
 * @task_end: after the words in the running task, which come first in @word
 * @hop_end: after the words that are one pointer away from the task
 * @stage: staging area for the values of a record, with 8 spare bytes on either side
 * @word: words with a location, by base, then words that functions return
 */
struct kl_known {
	const struct kl_word *task_end;
	const struct kl_word *hop_end;
	u8 *stage;
	struct kl_word word[];
};

/**
 * struct kl_variables - the variables of a session besides the task
 * @n: number of variables
 * @n_slots: number of their words
 * @guards: 1 if some are the parent's: then the first known word tests that the parent exists
 * @prefix: bytes of a record before the variables
 * @bytes: size of all variables in a record
 * @all: bits of all variables and of the task
 * @cost: upper bound of the cost of reading all variables once
 * @quick: the fast path may be tried: the owner may see everything, records carry only what has
 *         changed, the clock is the time stamp counter
 * @full: records carry all variables, changed or not
 * @stacks_asked: stack traces are 0 except in records of the handler `stack`
 * @walks: some variables are stack traces, which are walked when they are read
 * @placed: number of known words that have a location, @guards included
 * @groups: number of @group
 * @plain_groups: number of groups that are at most one pointer away from the task
 * @group: words by base; the first group is that of the running task itself and may be empty
 * @slot: the variables' words, in order
 * @last_run: after the last of @run
 * @run: the words of @slot, in runs of the same base
 * @of: size of each variable, and its first slot
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

bool kl_variable_is_prepared(u32 id);
int kl_variable_prepare(struct kl_session *s, u32 id, struct kl_error *why);
u32 kl_variable_absent(u32 id, u32 may, char reason[KL_ERROR_TEXT_MAX]);
int kl_variables_set(struct kl_session *s, const struct kl_abi_variables *params,
		     struct kl_error *why);
void kl_variables_deinit(struct kl_session *s);

#endif /* KL_CORE_VARIABLE_H */
