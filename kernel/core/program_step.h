/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program in the form in which it runs: the operations of uapi/kernlens.h, decoded into fewer and
 * more specialized steps. Written by program_decode.c, run by program_run.c.
 *
 * Any comparison with a constant becomes one test: is the number within [low, low + span], modulo
 * 2^64? So a filter is a chain of tests that load a field, test it, and continue at `yes` or `no`;
 * none touches a register.
 */
#ifndef KL_CORE_PROGRAM_STEP_H
#define KL_CORE_PROGRAM_STEP_H

#include "program.h"
#include "program_platform.h"

enum kl_step_code {
	/* Is the field that ends `imm` bytes after the start of the fields within the range? */
	KL_STEP_TEST_FIELD_S32,
	KL_STEP_TEST_FIELD_64,
	KL_STEP_TEST_FIELD_U32,
	KL_STEP_TEST_FIELD_SMALL, /* 1 or 2 bytes */
	KL_STEP_JUMP,
	/* The ends, by their result; KL_STEP_END is the last of them */
	KL_STEP_END_CONST, /* low */
	KL_STEP_END_TASK, /* as LOAD_TASK */
	KL_STEP_END_FIELD, /* as FIELD */
	KL_STEP_END, /* r[a] */
	/* Steps that need registers */
	KL_STEP_TEST, /* is r[a] within the range? */
	KL_STEP_FIELD, /* r[dst] = number of type b that ends at imm */
	KL_STEP_LOAD,
	KL_STEP_ARG,
	KL_STEP_PUT,
	KL_STEP_RANGE, /* r[dst] = whether r[a] is within the range, inverted if b is 1 */
	KL_STEP_LOAD_TASK, /* r[dst] = number of type b at imm in the running task */
	KL_STEP_CONST, /* r[dst] = low */
	KL_STEP_ALU,
	KL_STEP_ALU_CONST, /* r[dst] = r[dst] (b) low */
	KL_STEP_VARIABLE,
	KL_STEP_MOVE,
	KL_STEP_CURRENT,
	KL_STEP_PERCPU,
	KL_STEP_BITS,
	KL_STEP_FIELD_TEXT,
	KL_STEP_VARIABLE_TEXT,
	KL_STEP_VARIABLE_WORD, /* 8 bytes of text */
	KL_STEP_FIELD_BEHIND, /* FIELD after a string */
	KL_STEP_LOAD_USER,
	KL_STEP_TEXT,
	KL_STEP_FLAG,
	KL_STEP_SINCE,
	KL_STEP_PUT_STRING,
	KL_STEP_PUT_USER_STRING,
	KL_STEP_PUT_BYTES,
};

#define KL_STEP_LAST_JUMP KL_STEP_JUMP

/**
 * struct kl_step - one step of a program
 * @code: enum kl_step_code
 * @dst, @a, @b, @imm: as in struct kl_abi_op, or as the code's comment states
 * @low, @span: a range; @low alone: a constant
 * @text, @text_bytes: a text in the program's data
 * @yes, @no: tests: bytes from this step to the next one; JUMP: @yes
 * @gap: bytes before the first string, and between it and the second
 * @up: number of bits that a number lacks to 64; BITS: shift left before @down
 * @down: BITS: shift right
 * @fixed: FIELD_TEXT: length of the field, 0: a string
 */
struct kl_step {
	u8 code;
	u8 dst;
	u8 a;
	u8 b;
	u32 imm;
	union {
		u64 low;
		const u8 *text;
	};
	union {
		u64 span;
		u64 text_bytes;
	};
	union {
		struct {
			u16 yes;
			u16 no;
		};
		u16 gap[2];
	};
	union {
		struct {
			u16 up;
			u16 down;
		};
		u16 fixed;
	};
};

_Static_assert(sizeof(struct kl_step) == 32, "step");

/**
 * struct kl_program - a program that has been checked and decoded
 * @out_bytes: the most bytes that it outputs
 * @uses: KL_USES_*
 * @reads: bytes of fields and strings that it reads, as of kl_reads()
 * @cost: upper bound of a run's cost
 * @cleared: it reads registers that it has not set, so they are cleared first
 * @data: texts, after the steps
 * @step: the steps; every path ends with an END_
 */
struct kl_program {
	u32 out_bytes;
	u8 uses;
	bool cleared;
	u64 reads;
	struct kl_cost cost;
	u8 *data;
	struct kl_step step[];
};

/* Members that an operation has, and their meaning. */
#define KL_OP_HAS_DST 0x01 /* register that it sets */
#define KL_OP_HAS_A 0x02 /* register that it reads */
#define KL_OP_HAS_STRING 0x04 /* `a` counts strings, and imm64 >> 32 locates them */
#define KL_OP_HAS_CONST 0x08 /* imm64 is a number */
#define KL_OP_HAS_TEXT 0x10 /* imm64 & 0xffffffff locates a text in the data */
#define KL_OP_HAS_JUMP 0x20
#define KL_OP_HAS_RIGHT 0x40 /* needs KL_MAY_HOOK_FUNCTIONS */

u32 kl_op_members(u32 code);
int kl_program_decode(struct kl_program *p, const struct kl_abi_op *ops, u32 n, u32 may);
void kl_program_measure(struct kl_program *p, u32 steps, u32 may, struct kl_cost *cost_of);

/* ------------------------------------------------ programs that are one load */

/* Extend the lowest 64 - up bits to a number of type b, which is odd if unsigned. */
static __always_inline u64 kl_step_widen(u64 bits, u32 up, u32 b)
{
	bits <<= up;
	return b & 1 ? bits >> up : (u64)((s64)bits >> up);
}

static __always_inline bool kl_step_fits(const struct kl_step *step, const struct kl_event_ctx *f)
{
	return likely(step->imm <= f->bytes);
}

/* The end of a field that fits, also if the CPU only speculates that it fits. */
static __always_inline const u8 *kl_step_end(const struct kl_step *step,
					     const struct kl_event_ctx *f)
{
	return f->fields + kl_index_nospec(step->imm, f->bytes + 1ul);
}

static __always_inline u64 kl_s32_before(const u8 *end)
{
	s32 number;

	memcpy(&number, end - sizeof(number), sizeof(number));
	return (s64)number;
}

static __always_inline u64 kl_u32_before(const u8 *end)
{
	u32 number;

	memcpy(&number, end - sizeof(number), sizeof(number));
	return number;
}

static __always_inline u64 kl_u64_before(const u8 *end)
{
	u64 number;

	memcpy(&number, end - sizeof(number), sizeof(number));
	return number;
}

/* The number of type b that ends here; frequent types come first. */
static __always_inline u64 kl_number_before(const u8 *end, u32 b)
{
	if (b == KL_NUMBER_S32)
		return kl_s32_before(end);
	if ((b | 1) == KL_NUMBER_U64)
		return kl_u64_before(end);
	if (b == KL_NUMBER_U32)
		return kl_u32_before(end);
	if (b == KL_NUMBER_U8)
		return end[-1];
	if (b == KL_NUMBER_S8)
		return (s64)(signed char)end[-1];
	/* Little endian. */
	return kl_step_widen(end[-2] | end[-1] << 8, 48, b);
}

static __always_inline u64 kl_step_load_task(const struct kl_step *step)
{
	u64 bits;

	memcpy(&bits, kl_running_task() + step->imm, sizeof(bits));
	if (step->b == KL_NUMBER_S32)
		return (s64)(s32)bits;
	return kl_step_widen(bits, step->up, step->b);
}

#endif /* KL_CORE_PROGRAM_STEP_H */
