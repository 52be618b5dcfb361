/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What programs read from a session: variables of variables.def, and flags. The unit tests of
 * programs have their own implementation.
 */
#ifndef KL_CORE_PROGRAM_VALUES_H
#define KL_CORE_PROGRAM_VALUES_H

#include "program_platform.h"

struct kl_cost;

#define KL_VARIABLE_TEXT_MAX 16 /* bytes of a variable that is text */

enum kl_variable_kind {
	KL_VARIABLE_ABSENT = 0, /* no such variable, or unavailable here */
	KL_VARIABLE_NUMBER = 1,
	KL_VARIABLE_TEXT = 2,
	KL_VARIABLE_OTHER = 3, /* a struct: programs cannot use it */
};

/**
 * kl_variable_kind - what a program can do with a variable
 * @id: any number
 *
 * The result does not change while the module is loaded. Context: any.
 */
enum kl_variable_kind kl_variable_kind(u32 id);

/**
 * kl_variable_in_task - is a variable just a number in the running task?
 * @id: any number
 * @may: KL_MAY_* of the program's creator
 * @offset: set to where it is in the task, if so
 * @number: set to its type, if so
 *
 * Returns false if each read would need a check whether the value may be shown. The result does not
 * change while the module is loaded. Context: any.
 */
bool kl_variable_in_task(u32 id, u32 may, u32 *offset, u32 *number);

/**
 * kl_variable_cost - add the cost of reading a variable
 * @id: of a variable that a program can use
 * @may: KL_MAY_* of the reader
 * @cost: added to
 */
void kl_variable_cost(u32 id, u32 may, struct kl_cost *cost);

/**
 * kl_variable_number - a variable's value, as the session's owner may see it
 * @s: the session
 * @id: of a variable that is a number
 * @fault: set if it could not be read, never cleared; 0 is returned then
 *
 * Signed numbers are sign-extended. Context: any, preemption off.
 */
u64 kl_variable_number(struct kl_session *s, u32 id, bool *fault);

/**
 * kl_variable_text - value of a variable that is text, as the session's owner may see it
 * @s: the session
 * @id: of a variable that is text
 * @text: all bytes are written; ended by NUL unless it fills all bytes; empty if the owner may not
 *        see it
 *
 * Context: any, preemption off.
 */
void kl_variable_text(struct kl_session *s, u32 id, char text[KL_VARIABLE_TEXT_MAX]);

/**
 * kl_flag_test - is a flag of a session set?
 * @s: the session
 * @flag: below KL_FLAGS_MAX; of the running task, or of this CPU
 *
 * Context: any, preemption off.
 */
bool kl_flag_test(struct kl_session *s, u32 flag);

/**
 * kl_flag_since - how long a flag has been set, in nanoseconds
 * @s: the session
 * @flag: of the running task, or of this CPU; KL_SINCE_SESSION: since the session was started
 * @fault: set if the flag is not set, or if its time has been forgotten; 0 is returned then
 *
 * Context: any, preemption off.
 */
u64 kl_flag_since(struct kl_session *s, u32 flag, bool *fault);

#endif /* KL_CORE_PROGRAM_VALUES_H */
