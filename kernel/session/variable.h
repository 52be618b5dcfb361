/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Variables: the rows of variables.def as kernel/task/variables.c has them, the
 * ones that a session's records carry, and single values for programs. What
 * records do with them is in record.c; docs/design/session.md has the rules.
 */
#ifndef KL_SESSION_VARIABLE_H
#define KL_SESSION_VARIABLE_H

#include <linux/sched.h>
#include <linux/types.h>

#include "../../uapi/kernlens.h"
#include "program_values.h"
#include "rights.h"

struct kl_error;
struct kl_program;
struct kl_session;
struct kl_variable_slot;

/* A value's word; @slot only matters to programs, to the parent and to call traces. */
typedef u64 (*kl_variable_fn)(const struct kl_variable_slot *slot, struct task_struct *t);

/**
 * struct kl_variable_row - a row of variables.def
 * @read: its value, or a text's first half; NULL of the task
 * @more: a text's second half, else NULL
 * @lacks: why this kernel or processor has it not; NULL if it has
 * @access: enum kl_variable_access
 * @bytes: in a record
 */
struct kl_variable_row {
	const char *name;
	kl_variable_fn read;
	kl_variable_fn more;
	const char *(*lacks)(void);
	u8 access;
	u8 bytes;
};

/* By id. */
extern const struct kl_variable_row kl_variable_rows[];
extern const u32 kl_variable_count;

/* Words that the variables of a session have at most: texts have two. */
#define KL_VARIABLE_SLOTS_MAX 96

/**
 * struct kl_variable_slot - a word to be compared
 * @read: reads it
 * @changed: the variable's bit among those of a record
 * @bytes: of the variable in a record
 * @is_own: zero unless the owner may see the running task
 * @session: whose
 * @row: of variables.def; NULL of a variable that is a program
 * @program: the same, else NULL
 */
struct kl_variable_slot {
	kl_variable_fn read;
	u64 changed;
	u32 bytes;
	bool is_own;
	struct kl_session *session;
	const struct kl_variable_row *row;
	const struct kl_program *program;
};

/**
 * struct kl_variables - what a session has beside the task
 * @n: number of variables
 * @n_slots: number of their words
 * @prefix: bytes of a record before the variables
 * @bytes: of all of them in a record
 * @all: a bit each, and the task's
 * @quick: the usual way may be tried: the owner may see all, records carry only
 *         what has changed, the clock is the time stamp counter
 * @full: records carry all, changed or not
 * @stacks_asked: call traces are 0 but in records of the handler `stack`
 * @slot: their words, in order
 * @of: bytes of each variable, and its first word
 * @values: words as in the newest record that carried them, by slot and CPU
 */
struct kl_variables {
	u32 n;
	u32 n_slots;
	u32 prefix;
	u32 bytes;
	u64 all;
	bool quick;
	bool full;
	bool stacks_asked;
	struct kl_variable_slot slot[KL_VARIABLE_SLOTS_MAX];
	struct {
		u8 bytes;
		u8 slot;
	} of[KL_VARIABLES_MAX];
	u64 __percpu *values;
};

u32 kl_variable_absent(u32 id, u32 may, char reason[KL_ERROR_TEXT_MAX]);
int kl_variables_set(struct kl_session *s, const struct kl_abi_variables *wish,
		     struct kl_error *why);
void kl_variables_destroy(struct kl_variables *v);

#endif /* KL_SESSION_VARIABLE_H */
