/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine on which programs run in these tests: kernel and user memory, each with a hole, a
 * running task, variables, flags; shorthands for programs; and a second, simple interpreter to
 * compare with.
 */
#ifndef KL_TESTS_PROGRAM_MACHINE_H
#define KL_TESTS_PROGRAM_MACHINE_H

#include <stdio.h>

#include "../../../kernel/core/program.h"
#include "../../../kernel/core/program_platform.h"
#include "../../../kernel/core/program_values.h"

struct kl_error {
	int error;
	char text[KL_ERROR_TEXT_MAX];
};

struct kl_session {
	int unused;
};

#define MEMORY_BYTES 4096
#define HOLE_AT 2048
#define HOLE_BYTES 64
#define KERNEL_BASE 0xffff888000000000ull
#define USER_BASE 0x00007f0000000000ull
#define PERCPU_OFFSET 256
#define SINCE 1000 /* nanoseconds since a flag was set, plus the flag's number */
#define VARIABLE_OFFSET 24 /* in the task; an s16 */

enum variable {
	VARIABLE_STRUCT = 0,
	VARIABLE_NUMBER = 1,
	VARIABLE_TEXT = 2,
	VARIABLE_UNREADABLE = 3,
	VARIABLE_IN_TASK = 4,
	VARIABLE_COUNT,
};

struct machine {
	u8 kernel[MEMORY_BYTES];
	u8 user[MEMORY_BYTES];
	u8 task[KL_TASK_BYTES];
	u64 number;
	u64 flags;
	char text[KL_VARIABLE_TEXT_MAX];
	int allocations; /* not yet freed */
	int allocations_left; /* until one fails; negative: none does */
};

extern struct machine machine;
extern struct kl_session session;

#define MAY_ALL (KL_MAY_HOOK_FUNCTIONS | KL_MAY_SEE_ALL)
#define OP(code_, ...) ((struct kl_abi_op){ .code = KL_OP_##code_, __VA_ARGS__ })
#define TEXT_AT(at, bytes) ((at) | (u64)(bytes) << 16)
#define GAPS(first, second) ((u64)(first) << 32 | (u64)(second) << 48)
#define BITS_IMM(from, width) ((from) | (width) << 8)

struct outcome {
	u64 result;
	bool fault;
	u32 bytes;
	u8 out[KL_PROGRAM_OUT_MAX];
};

/* What the contract defines for a program, one operation at a time. */
void reference_run(const struct kl_abi_op *op, const u8 *data, const struct kl_event_ctx *f,
		   struct outcome *outcome);
/* Runs a program in both ways; false if their results or faults differ. */
bool program_outcome(const struct kl_program *p, const struct kl_event_ctx *f,
		     struct outcome *outcome);
bool outcomes_equal(const struct outcome *x, const struct outcome *y);
/* A copy of exactly @bytes, so that the address sanitizer catches reads past its end. */
u8 *exact_copy(const void *from, size_t bytes);

u64 random_number(void);
u32 random_below(u32 n);
extern u64 random_state;

void checks_run(void);
void operations_run(void);
void texts_run(void);
void expressions_run(void);
void fuzz_run(void);

#endif /* KL_TESTS_PROGRAM_MACHINE_H */
