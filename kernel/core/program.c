// SPDX-License-Identifier: GPL-2.0
/*
 * Checks programs when they are created, so that at run time only what depends on the event needs a
 * check. A row of the table below describes each operation. Fed by the session's calls;
 * program_decode.c decodes the operations into the steps that program_run.c runs.
 */
#include "program_step.h"
#include "program_values.h"

/**
 * struct op_rule - what an operation must look like
 * @name: for messages
 * @has: KL_OP_HAS_*; members that it does not have must be 0
 * @b: number of values that b can have, from 0
 * @low, @high: range of imm
 */
struct op_rule {
	const char *name;
	u8 has;
	u8 b;
	s32 low;
	s32 high;
};

#define DST KL_OP_HAS_DST
#define A KL_OP_HAS_A
#define STRING KL_OP_HAS_STRING
#define NUMBER KL_OP_HAS_CONST
#define TEXT KL_OP_HAS_TEXT
#define TO KL_OP_HAS_JUMP
#define RIGHT KL_OP_HAS_RIGHT

static const struct op_rule rules[KL_OP_COUNT] = {
	[KL_OP_END] = { "END", A, 1, 0, 0 },
	[KL_OP_CONST] = { "CONST", DST | NUMBER, 1, 0, 0 },
	[KL_OP_MOVE] = { "MOVE", DST | A, 1, 0, 0 },
	[KL_OP_FIELD] = { "FIELD", DST | STRING, KL_NUMBER_COUNT, 0, U16_MAX },
	[KL_OP_ARG] = { "ARG", DST | RIGHT, 1, 0, S32_MAX },
	[KL_OP_VARIABLE] = { "VARIABLE", DST, KL_VARIABLE_TEXT_MAX / 8, 0, S32_MAX },
	[KL_OP_CURRENT] = { "CURRENT", DST | RIGHT, 1, 0, 0 },
	[KL_OP_PERCPU] = { "PERCPU", DST | A | RIGHT, 1, 0, 0 },
	[KL_OP_LOAD] = { "LOAD", DST | A | RIGHT, KL_NUMBER_COUNT, S32_MIN, S32_MAX },
	[KL_OP_LOAD_USER] = { "LOAD_USER", DST | A | RIGHT, KL_NUMBER_COUNT, S32_MIN, S32_MAX },
	[KL_OP_BITS] = { "BITS", DST | A, 2, 1 << 8, 64 << 8 },
	[KL_OP_ALU] = { "ALU", DST | A, KL_ALU_COUNT, 0, 0 },
	[KL_OP_JUMP] = { "JUMP", TO, 1, 0, KL_PROGRAM_OPS_MAX },
	[KL_OP_JUMP_ZERO] = { "JUMP_ZERO", A | TO, 1, 0, KL_PROGRAM_OPS_MAX },
	[KL_OP_JUMP_NONZERO] = { "JUMP_NONZERO", A | TO, 1, 0, KL_PROGRAM_OPS_MAX },
	[KL_OP_FIELD_TEXT] = { "FIELD_TEXT", DST | STRING | TEXT, KL_TEXT_RELATION_COUNT, S32_MIN,
			       S32_MAX },
	[KL_OP_TEXT] = { "TEXT", DST | A | TEXT | RIGHT, KL_TEXT_RELATION_COUNT, 0, 0 },
	[KL_OP_VARIABLE_TEXT] = { "VARIABLE_TEXT", DST | TEXT, KL_TEXT_RELATION_COUNT, 0, S32_MAX },
	[KL_OP_PUT] = { "PUT", A, KL_NUMBER_COUNT, 0, 0 },
	[KL_OP_PUT_STRING] = { "PUT_STRING", A | RIGHT, 1, 1, KL_STRING_MAX },
	[KL_OP_PUT_USER_STRING] = { "PUT_USER_STRING", A | RIGHT, 1, 1, KL_STRING_MAX },
	[KL_OP_PUT_BYTES] = { "PUT_BYTES", A | RIGHT, 1, 1, KL_PROGRAM_OUT_MAX },
	[KL_OP_FLAG] = { "FLAG", DST, 1, 0, KL_FLAGS_MAX - 1 },
	[KL_OP_SINCE] = { "SINCE", DST, 1, 0, KL_SINCE_SESSION },
};

/**
 * kl_op_members - which members an operation has
 * @code: enum kl_op_code
 *
 * Returns KL_OP_HAS_*.
 */
u32 kl_op_members(u32 code)
{
	return rules[code].has;
}

/* The program being checked. */
struct checked {
	const struct kl_abi_op *op;
	u32 n;
	u32 data_bytes;
	u32 may;
	u32 out_bytes;
	struct kl_error *why;
};

/* Begins each message about an operation; takes its number and name. */
#define OPERATION "operation %u (%s): "

static int check_registers(struct checked *c, u32 i)
{
	const struct kl_abi_op *op = &c->op[i];
	u32 has = rules[op->code].has;

	if (op->dst && !(has & DST))
		return kl_fail(c->why, -EINVAL, OPERATION "sets no register, but dst is %u", i,
			       rules[c->op[i].code].name, op->dst);
	if (op->dst >= KL_PROGRAM_REGISTERS)
		return kl_fail(c->why, -EINVAL,
			       OPERATION "dst is register %u, which does not exist", i,
			       rules[c->op[i].code].name, op->dst);
	if (has & STRING)
		return 0;
	if (op->a && !(has & A))
		return kl_fail(c->why, -EINVAL, OPERATION "reads no register, but a is %u", i,
			       rules[c->op[i].code].name, op->a);
	if (op->a >= KL_PROGRAM_REGISTERS)
		return kl_fail(c->why, -EINVAL, OPERATION "a is register %u, which does not exist",
			       i, rules[c->op[i].code].name, op->a);
	return 0;
}

/* Check b, imm and the bits of imm64 that locate strings. */
static int check_numbers(struct checked *c, u32 i)
{
	const struct kl_abi_op *op = &c->op[i];
	const struct op_rule *rule = &rules[op->code];
	u32 gaps = op->imm64 >> 32;

	if (op->b >= rule->b)
		return kl_fail(c->why, -EINVAL, OPERATION "b is %u, the maximum is %u", i,
			       rules[c->op[i].code].name, op->b, rule->b - 1);
	if (op->imm < rule->low || op->imm > rule->high)
		return kl_fail(c->why, -EINVAL, OPERATION "imm is %d, the range is %d to %d", i,
			       rules[c->op[i].code].name, op->imm, rule->low, rule->high);
	if (rule->has & NUMBER)
		return 0;
	if (!(rule->has & TEXT) && (u32)op->imm64)
		return kl_fail(c->why, -EINVAL, OPERATION "imm64 has undefined bits set", i,
			       rules[c->op[i].code].name);
	if (gaps && (!(rule->has & STRING) || !op->a || (gaps >> 16 && op->a < 2)))
		return kl_fail(c->why, -EINVAL,
			       OPERATION "imm64 locates strings that a does not count", i,
			       rules[c->op[i].code].name);
	return 0;
}

static int check_text(struct checked *c, u32 i)
{
	u32 at = c->op[i].imm64 & 0xffff, bytes = c->op[i].imm64 >> 16 & 0xffff;

	if (at + bytes > c->data_bytes)
		return kl_fail(c->why, -EINVAL,
			       OPERATION "text of %u bytes at %u is outside the %u bytes of data",
			       i, rules[c->op[i].code].name, bytes, at, c->data_bytes);
	return 0;
}

static int check_variable(struct checked *c, u32 i)
{
	bool text = c->op[i].code == KL_OP_VARIABLE_TEXT || c->op[i].b;
	enum kl_variable_kind kind = kl_variable_kind(c->op[i].imm);

	if (kind == KL_VARIABLE_ABSENT)
		return kl_fail(c->why, -ENOENT, OPERATION "variable %d does not exist", i,
			       rules[c->op[i].code].name, c->op[i].imm);
	if (kind == KL_VARIABLE_OTHER || (text && kind != KL_VARIABLE_TEXT))
		return kl_fail(c->why, -EINVAL, OPERATION "variable %d is not %s", i,
			       rules[c->op[i].code].name, c->op[i].imm,
			       text ? "text" : "a number or text");
	return 0;
}

static u32 put_bytes(const struct kl_abi_op *op)
{
	switch (op->code) {
	case KL_OP_PUT:
		return 1u << (op->b >> 1);
	case KL_OP_PUT_STRING:
	case KL_OP_PUT_USER_STRING:
	case KL_OP_PUT_BYTES:
		return op->imm;
	}
	return 0;
}

static int check_op(struct checked *c, u32 i)
{
	const struct kl_abi_op *op = &c->op[i];
	u32 has, width = (u32)op->imm >> 8;
	int error;

	if (op->code >= KL_OP_COUNT)
		return kl_fail(c->why, -EINVAL, "operation %u: unknown code %u", i, op->code);
	has = rules[op->code].has;
	if (has & RIGHT && !(c->may & KL_MAY_HOOK_FUNCTIONS))
		return kl_fail(c->why, -EPERM,
			       OPERATION "needs CAP_SYS_ADMIN and no kernel lockdown", i,
			       rules[c->op[i].code].name);
	error = check_registers(c, i);
	if (!error)
		error = check_numbers(c, i);
	if (!error && has & TEXT)
		error = check_text(c, i);
	if (!error && (op->code == KL_OP_VARIABLE || op->code == KL_OP_VARIABLE_TEXT))
		error = check_variable(c, i);
	if (error)
		return error;
	if (has & TO && i + 1 + (u32)op->imm >= c->n)
		return kl_fail(c->why, -EINVAL,
			       OPERATION "skips %d of the %u operations that follow", i,
			       rules[c->op[i].code].name, op->imm, c->n - i - 1);
	if (op->code == KL_OP_BITS && (op->imm & 255) + width > 64)
		return kl_fail(c->why, -EINVAL, OPERATION "%u bits from bit %d do not fit into 64",
			       i, rules[c->op[i].code].name, width, op->imm & 255);
	c->out_bytes += put_bytes(op);
	if (c->out_bytes > KL_PROGRAM_OUT_MAX)
		return kl_fail(c->why, -EINVAL, OPERATION "the output is longer than %u bytes", i,
			       rules[c->op[i].code].name, KL_PROGRAM_OUT_MAX);
	return 0;
}

static int check(struct checked *c)
{
	int error;

	if (!c->n || c->n > KL_PROGRAM_OPS_MAX)
		return kl_fail(c->why, -EINVAL, "a program of %u operations, the range is 1 to %u",
			       c->n, KL_PROGRAM_OPS_MAX);
	if (c->data_bytes > KL_PROGRAM_DATA_MAX)
		return kl_fail(c->why, -EINVAL, "a program with %u bytes of data, the limit is %u",
			       c->data_bytes, KL_PROGRAM_DATA_MAX);
	for (u32 i = 0; i < c->n; i++) {
		error = check_op(c, i);
		if (error)
			return error;
	}
	if (c->op[c->n - 1].code != KL_OP_END)
		return kl_fail(c->why, -EINVAL, OPERATION "the last operation must be END",
			       c->n - 1, rules[c->op[c->n - 1].code].name);
	return 0;
}

/* In addition to its operations, a program may have two constant ends. */
static size_t steps_bytes_of(u32 n_ops)
{
	return (n_ops + 2) * sizeof(struct kl_step);
}

/**
 * kl_program_bytes - memory that a program takes
 * @n_ops: number of its operations
 * @data_bytes: size of its texts
 */
size_t kl_program_bytes(u32 n_ops, u32 data_bytes)
{
	return sizeof(struct kl_program) + steps_bytes_of(n_ops) + data_bytes;
}

/**
 * kl_program_create - check operations and create a program from them
 * @ops: the operations, in memory of the caller that no other task can change
 * @n_ops: number of operations
 * @data: texts; may be NULL if there are none
 * @data_bytes: size of the texts
 * @may: KL_MAY_* of the program's creator
 * @why: set on failure; may be NULL
 *
 * Operations and texts are copied. Returns the program or an ERR_PTR(). Context: may sleep.
 */
struct kl_program *kl_program_create(const struct kl_abi_op *ops, u32 n_ops, const u8 *data,
				     u32 data_bytes, u32 may, struct kl_error *why)
{
	struct checked c = {
		.op = ops, .n = n_ops, .data_bytes = data_bytes, .may = may, .why = why
	};
	struct kl_program *p;
	int error = check(&c);

	if (error)
		return ERR_PTR(error);
	p = kl_program_alloc(kl_program_bytes(n_ops, data_bytes));
	if (!p)
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a program"));
	p->out_bytes = c.out_bytes;
	p->data = (u8 *)p->step + steps_bytes_of(n_ops);
	if (data_bytes)
		memcpy(p->data, data, data_bytes);
	error = kl_program_decode(p, ops, n_ops, may);
	if (error) {
		kl_program_destroy(p);
		return ERR_PTR(kl_fail(why, error, "no memory for a program"));
	}
	return p;
}

/**
 * kl_program_destroy - free a program that does not run any more
 * @p: from kl_program_create
 */
void kl_program_destroy(struct kl_program *p)
{
	kl_program_free(p);
}

/**
 * kl_program_out_bytes - the most that kl_program_put writes
 * @p: the program
 */
u32 kl_program_out_bytes(const struct kl_program *p)
{
	return p->out_bytes;
}

/**
 * kl_program_uses - what a program reads besides the running task
 * @p: the program
 *
 * Returns KL_USES_*.
 */
u32 kl_program_uses(const struct kl_program *p)
{
	return p->uses;
}

/**
 * kl_program_reads - which bytes of an event's fields and strings a program reads
 * @p: the program
 *
 * Returns a bitmap as of kl_reads().
 */
u64 kl_program_reads(const struct kl_program *p)
{
	return p->reads;
}

/**
 * kl_program_is_task_s32 - is a program's result just an s32 of the running task?
 * @p: the program
 * @offset: set to where it is, if so
 */
bool kl_program_is_task_s32(const struct kl_program *p, u32 *offset)
{
	*offset = p->step->imm;
	return p->step->code == KL_STEP_END_TASK && p->step->b == KL_NUMBER_S32;
}

static bool is_first(const struct kl_step *step)
{
	return (step->b | 1) == KL_NUMBER_U64 && step->imm == sizeof(u64);
}

/**
 * kl_program_is_first_field - is the result just the event's first field, of 64 bits?
 * @p: the program
 */
bool kl_program_is_first_field(const struct kl_program *p)
{
	return p->step->code == KL_STEP_END_FIELD && is_first(p->step);
}

static const struct kl_step *step_at(const struct kl_step *step, u32 bytes)
{
	return (const void *)((const u8 *)step + bytes);
}

static bool is_no(const struct kl_step *step)
{
	return step->code == KL_STEP_END_CONST && !step->low;
}

/**
 * kl_program_guard - is there a field that alone may decide that the result is 0?
 * @p: the program
 * @from: set to the least number of a range, if there is one
 * @span: set to how far the range goes from there, if there is one
 * @negate: set to true if the result is 0 for numbers within the range, to false if outside
 *
 * Returns the field as KL_FIELD_NUMBER, or 0 if there is none.
 */
u32 kl_program_guard(const struct kl_program *p, u64 *from, u64 *span, bool *negate)
{
	const struct kl_step *step = p->step;

	if (step->code > KL_STEP_TEST_FIELD_SMALL)
		return 0;
	*negate = is_no(step_at(step, step->yes));
	if (!*negate && !is_no(step_at(step, step->no)))
		return 0;
	*from = step->low;
	*span = step->span;
	return KL_FIELD_NUMBER(step->b, step->imm);
}

/**
 * kl_program_is_test - is a program just a range test of the event's first field, of 64 bits?
 * @p: the program
 * @from: set to the least number of the range, if so
 * @span: set to how far the range goes from there, if so
 * @negate: set to whether the result is 0 within the range, if so
 */
bool kl_program_is_test(const struct kl_program *p, u64 *from, u64 *span, bool *negate)
{
	const struct kl_step *step = p->step;
	const struct kl_step *yes = step_at(step, step->yes);
	const struct kl_step *no = step_at(step, step->no);

	if (step->code != KL_STEP_TEST_FIELD_64 || !is_first(step) ||
	    yes->code != KL_STEP_END_CONST || no->code != KL_STEP_END_CONST ||
	    !yes->low == !no->low)
		return false;
	*from = step->low;
	*span = step->span;
	*negate = !yes->low;
	return true;
}
