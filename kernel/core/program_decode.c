// SPDX-License-Identifier: GPL-2.0
/*
 * Decodes operations that program.c has checked into steps (program_step.h).
 *
 * Jumps only go forward, so one backward pass finds which registers are still read, and one forward
 * pass which operations are reached at all. A pattern of operations becomes one step if the
 * registers between them are not read later. If the step does not continue with the next one, jumps
 * into the middle of the pattern do not matter: the operations there are then reached, and become
 * steps of their own.
 */
#include "program_step.h"
#include "program_values.h"

#define NOWHERE (~0u)

/**
 * struct decoder - the state of decoding a program
 * @op: the operations; @n and @n + 1 are two more ends with the results 0 and 1
 * @may: KL_MAY_* of the program's creator
 * @live: by operation, bitmap of the registers that are read from there on
 * @reached: by operation: a step made so far leads there
 * @jumped: by operation: not only the previous operation leads there
 * @step_of: by operation, index of its step
 * @target: by step, operations at which it continues: yes and no
 * @cost: by step, cost from there to the end
 */
struct decoder {
	struct kl_program *p;
	const struct kl_abi_op *op;
	u32 n;
	u32 may;
	u32 steps;
	u8 live[KL_PROGRAM_OPS_MAX + 2];
	bool reached[KL_PROGRAM_OPS_MAX + 2];
	bool jumped[KL_PROGRAM_OPS_MAX + 2];
	u16 step_of[KL_PROGRAM_OPS_MAX + 2];
	u16 target[KL_PROGRAM_OPS_MAX + 2][2];
	struct kl_cost cost[KL_PROGRAM_OPS_MAX + 2];
};

_Static_assert((KL_PROGRAM_OPS_MAX + 2) * sizeof(struct kl_step) <= U16_MAX, "step to step");

static u32 bit(u32 reg)
{
	return 1u << reg;
}

static bool is_jump(const struct kl_abi_op *op)
{
	return op->code == KL_OP_JUMP || op->code == KL_OP_JUMP_ZERO ||
	       op->code == KL_OP_JUMP_NONZERO;
}

static void find_live(struct decoder *d)
{
	for (u32 i = d->n; i-- > 0;) {
		const struct kl_abi_op *op = &d->op[i];
		u32 has = kl_op_members(op->code), live = 0;

		if (op->code != KL_OP_END && op->code != KL_OP_JUMP)
			live = d->live[i + 1];
		if (is_jump(op))
			live |= d->live[i + 1 + op->imm];
		if (has & KL_OP_HAS_DST)
			live &= ~bit(op->dst);
		if (has & KL_OP_HAS_A)
			live |= bit(op->a);
		if (op->code == KL_OP_ALU)
			live |= bit(op->dst);
		d->live[i] = live;
	}
}

/* ------------------------------------------------------- tests and ranges */

/* The range of numbers for which a comparison gives 1; if @negate, for which it gives 0. */
struct answer {
	u64 low;
	u64 span;
	bool negate;
};

static bool range_of(u32 alu, u64 k, struct answer *r)
{
	const u64 least = S64_MIN;

	*r = (struct answer){ .low = k };
	switch (alu) {
	case KL_ALU_NE:
		r->negate = true;
		return true;
	case KL_ALU_EQ:
		return true;
	case KL_ALU_LT:
	case KL_ALU_LE:
		r->low = least;
		break;
	case KL_ALU_ULT:
	case KL_ALU_ULE:
		r->low = 0;
		break;
	default:
		return false;
	}
	r->span = k - r->low;
	if (alu == KL_ALU_LE || alu == KL_ALU_ULE)
		return true;
	/* No number is less than the least one: invert the range of all numbers. */
	r->negate = !r->span;
	r->span--;
	return true;
}

/*
 * Where the program continues from @i if register @reg is known to be @value there (or just not 0,
 * if it is not @exact): after jumps that test it, at an end that returns it, or where it is not
 * read any more; else NOWHERE.
 */
static u32 follow(const struct decoder *d, u32 i, u32 reg, bool value, bool exact)
{
	for (;; i++) {
		const struct kl_abi_op *op = &d->op[i];

		if (op->code == KL_OP_JUMP) {
			i += op->imm;
		} else if (is_jump(op) && op->a == reg) {
			bool if_zero = op->code == KL_OP_JUMP_ZERO;

			if (value != if_zero)
				i += op->imm;
		} else if (op->code == KL_OP_END && op->a == reg && exact) {
			return d->n + value;
		} else {
			return d->live[i] & bit(reg) ? NOWHERE : i;
		}
	}
}

/* --------------------------------------------------------------- emitting */

static void reach(struct decoder *d, u32 i, bool jump)
{
	d->reached[i] = true;
	d->jumped[i] |= jump;
}

static struct kl_step *add_step(struct decoder *d, u32 code)
{
	struct kl_step *step = &d->p->step[d->steps++];

	step->code = code;
	return step;
}

static void go_to(struct decoder *d, const struct kl_step *step, u32 yes, u32 no)
{
	u32 index = step - d->p->step;

	d->target[index][0] = yes;
	d->target[index][1] = no;
	reach(d, yes, true);
	reach(d, no, true);
}

/* The step replaces @used operations; the next one follows it. */
static void fall_through(struct decoder *d, u32 i, u32 used)
{
	reach(d, i + used, false);
}

static u16 missing_bits(u32 number)
{
	return 64 - (8 << (number >> 1));
}

static void set_field(struct kl_step *step, const struct kl_abi_op *op)
{
	step->dst = op->dst;
	step->b = op->b;
	step->up = missing_bits(op->b);
	step->imm = op->imm + (1u << (op->b >> 1));
}

static u32 field_test_code(u32 number)
{
	switch (number) {
	case KL_NUMBER_S32:
		return KL_STEP_TEST_FIELD_S32;
	case KL_NUMBER_U32:
		return KL_STEP_TEST_FIELD_U32;
	case KL_NUMBER_S64:
	case KL_NUMBER_U64:
		return KL_STEP_TEST_FIELD_64;
	}
	return KL_STEP_TEST_FIELD_SMALL;
}

static bool is_plain_field(const struct kl_abi_op *op)
{
	return op->code == KL_OP_FIELD && !op->a;
}

/* Add a test of a field or, if @field is NULL, of a register. */
static struct kl_step *add_test(struct decoder *d, const struct kl_abi_op *field, u32 reg,
				const struct answer *r)
{
	struct kl_step *step;

	if (field) {
		step = add_step(d, field_test_code(field->b));
		set_field(step, field);
	} else {
		step = add_step(d, KL_STEP_TEST);
		step->a = reg;
	}
	step->low = r->low;
	step->span = r->span;
	return step;
}

/*
 * At @i register @reg is compared with a constant that has no other use. Add a test if the result
 * only decides where to continue; else a step that stores the result (not for @field, which would
 * have to be in the register first).
 */
static bool add_comparison(struct decoder *d, u32 i, const struct kl_abi_op *field, u32 reg,
			   u32 begin)
{
	const struct kl_abi_op *constant = &d->op[i], *alu = &d->op[i + 1];
	u32 yes, no, next = i + 2;
	struct kl_step *step;
	struct answer r;

	if (i + 2 >= d->n || constant->code != KL_OP_CONST || alu->code != KL_OP_ALU ||
	    alu->dst != reg || alu->a != constant->dst || constant->dst == reg ||
	    d->live[next] & bit(constant->dst) || !range_of(alu->b, constant->imm64, &r))
		return false;
	yes = follow(d, next, reg, !r.negate, true);
	no = follow(d, next, reg, r.negate, true);
	if (yes != NOWHERE && no != NOWHERE) {
		step = add_test(d, field, reg, &r);
		go_to(d, step, yes, no);
		return true;
	}
	if (field || d->jumped[begin + 1])
		return false;
	step = add_step(d, KL_STEP_RANGE);
	step->dst = reg;
	step->a = reg;
	step->b = r.negate;
	step->low = r.low;
	step->span = r.span;
	fall_through(d, begin, 2);
	return true;
}

/* Add a test for a jump at @i that tests whether a field, or a register if @field is NULL, is 0. */
static bool add_zero_test(struct decoder *d, u32 i, const struct kl_abi_op *field, u32 reg)
{
	const struct kl_abi_op *jump = &d->op[i];
	const struct answer zero = {};
	u32 yes, no;

	if (!is_jump(jump) || jump->code == KL_OP_JUMP || jump->a != reg)
		return false;
	yes = follow(d, i, reg, false, true);
	no = follow(d, i, reg, true, false);
	if (yes == NOWHERE || no == NOWHERE) {
		if (field)
			return false;
		yes = i + 1 + (jump->code == KL_OP_JUMP_ZERO ? jump->imm : 0);
		no = i + 1 + (jump->code == KL_OP_JUMP_NONZERO ? jump->imm : 0);
	}
	go_to(d, add_test(d, field, reg, &zero), yes, no);
	return true;
}

static bool ends_with(const struct kl_abi_op *op, u32 reg)
{
	return op->code == KL_OP_END && op->a == reg;
}

static bool add_field(struct decoder *d, u32 i)
{
	const struct kl_abi_op *op = &d->op[i];

	if (!is_plain_field(op))
		return false;
	if (ends_with(op + 1, op->dst)) {
		set_field(add_step(d, KL_STEP_END_FIELD), op);
		return true;
	}
	if (add_comparison(d, i + 1, op, op->dst, i) || add_zero_test(d, i + 1, op, op->dst))
		return true;
	set_field(add_step(d, KL_STEP_FIELD), op);
	fall_through(d, i, 1);
	return true;
}

/* The running task's memory can be read without a check. */
static bool add_task_load(struct decoder *d, u32 i)
{
	const struct kl_abi_op *op = &d->op[i], *load = op + 1;
	struct kl_step *step;
	bool end;

	if (op->code != KL_OP_CURRENT || load->code != KL_OP_LOAD || load->a != op->dst ||
	    load->imm < 0 || load->imm > (s32)KL_TASK_BYTES - 8)
		return false;
	end = ends_with(load + 1, load->dst);
	if (!end && (d->jumped[i + 1] || (load->dst != op->dst && d->live[i + 2] & bit(op->dst))))
		return false;
	step = add_step(d, end ? KL_STEP_END_TASK : KL_STEP_LOAD_TASK);
	step->dst = load->dst;
	step->b = load->b;
	step->up = missing_bits(load->b);
	step->imm = load->imm;
	if (!end)
		fall_through(d, i, 2);
	return true;
}

/* A variable that is a plain member of the running task. */
static bool add_task_variable(struct decoder *d, u32 i)
{
	const struct kl_abi_op *op = &d->op[i];
	struct kl_step *step;
	u32 offset, number;
	bool end;

	if (op->code != KL_OP_VARIABLE || !kl_variable_in_task(op->imm, d->may, &offset, &number))
		return false;
	end = ends_with(op + 1, op->dst);
	step = add_step(d, end ? KL_STEP_END_TASK : KL_STEP_LOAD_TASK);
	step->dst = op->dst;
	step->b = number;
	step->up = missing_bits(number);
	step->imm = offset;
	if (!end)
		fall_through(d, i, 1);
	return true;
}

static bool add_constant(struct decoder *d, u32 i)
{
	const struct kl_abi_op *op = &d->op[i], *alu = op + 1;
	struct kl_step *step;

	if (op->code != KL_OP_CONST)
		return false;
	if (ends_with(alu, op->dst)) {
		add_step(d, KL_STEP_END_CONST)->low = op->imm64;
		return true;
	}
	if (alu->code == KL_OP_ALU && add_comparison(d, i, NULL, alu->dst, i))
		return true;
	if (alu->code != KL_OP_ALU || alu->a != op->dst || alu->dst == op->dst ||
	    d->jumped[i + 1] || d->live[i + 2] & bit(op->dst))
		return false;
	step = add_step(d, KL_STEP_ALU_CONST);
	step->dst = alu->dst;
	step->b = alu->b;
	step->low = op->imm64;
	fall_through(d, i, 2);
	return true;
}

/* ------------------------------------------------------ single operations */

static const u8 step_code[KL_OP_COUNT] = {
	[KL_OP_END] = KL_STEP_END,
	[KL_OP_CONST] = KL_STEP_CONST,
	[KL_OP_MOVE] = KL_STEP_MOVE,
	[KL_OP_FIELD] = KL_STEP_FIELD_BEHIND,
	[KL_OP_ARG] = KL_STEP_ARG,
	[KL_OP_VARIABLE] = KL_STEP_VARIABLE,
	[KL_OP_CURRENT] = KL_STEP_CURRENT,
	[KL_OP_PERCPU] = KL_STEP_PERCPU,
	[KL_OP_LOAD] = KL_STEP_LOAD,
	[KL_OP_LOAD_USER] = KL_STEP_LOAD_USER,
	[KL_OP_BITS] = KL_STEP_BITS,
	[KL_OP_ALU] = KL_STEP_ALU,
	[KL_OP_JUMP] = KL_STEP_JUMP,
	[KL_OP_FIELD_TEXT] = KL_STEP_FIELD_TEXT,
	[KL_OP_TEXT] = KL_STEP_TEXT,
	[KL_OP_VARIABLE_TEXT] = KL_STEP_VARIABLE_TEXT,
	[KL_OP_PUT] = KL_STEP_PUT,
	[KL_OP_PUT_STRING] = KL_STEP_PUT_STRING,
	[KL_OP_PUT_USER_STRING] = KL_STEP_PUT_USER_STRING,
	[KL_OP_PUT_BYTES] = KL_STEP_PUT_BYTES,
	[KL_OP_FLAG] = KL_STEP_FLAG,
	[KL_OP_SINCE] = KL_STEP_SINCE,
};

static void set_numbers(const struct decoder *d, struct kl_step *step, const struct kl_abi_op *op)
{
	u32 has = kl_op_members(op->code);

	step->dst = op->dst;
	step->a = op->a;
	step->b = op->b;
	step->imm = op->imm;
	if (has & KL_OP_HAS_CONST)
		step->low = op->imm64;
	if (has & KL_OP_HAS_TEXT) {
		step->text = d->p->data + (op->imm64 & 0xffff);
		step->text_bytes = op->imm64 >> 16 & 0xffff;
	}
	if (has & KL_OP_HAS_STRING) {
		step->gap[0] = op->imm64 >> 32;
		step->gap[1] = op->imm64 >> 48;
	}
}

static void add_single(struct decoder *d, u32 i)
{
	const struct kl_abi_op *op = &d->op[i];
	struct kl_step *step = add_step(d, step_code[op->code]);
	u32 width = (u32)op->imm >> 8;

	set_numbers(d, step, op);
	switch (op->code) {
	case KL_OP_END:
		return;
	case KL_OP_JUMP:
		go_to(d, step, i + 1 + op->imm, i + 1 + op->imm);
		return;
	case KL_OP_VARIABLE:
		if (kl_variable_kind(op->imm) == KL_VARIABLE_TEXT)
			step->code = KL_STEP_VARIABLE_WORD;
		break;
	case KL_OP_FIELD:
	case KL_OP_LOAD:
	case KL_OP_LOAD_USER:
		step->up = missing_bits(op->b);
		break;
	case KL_OP_BITS:
		step->up = 64 - width - (op->imm & 255);
		step->down = 64 - width;
		break;
	case KL_OP_FIELD_TEXT:
		step->imm = op->imm & 0xffff;
		step->fixed = (u32)op->imm >> 16;
		break;
	}
	fall_through(d, i, 1);
}

/* Does a step read one field of up to 8 bytes? */
static bool reads_number(u32 code)
{
	switch (code) {
	case KL_STEP_TEST_FIELD_S32:
	case KL_STEP_TEST_FIELD_64:
	case KL_STEP_TEST_FIELD_U32:
	case KL_STEP_TEST_FIELD_SMALL:
	case KL_STEP_END_FIELD:
	case KL_STEP_FIELD:
		return true;
	}
	return false;
}

/*
 * What a step reads besides the task. A step that cannot fault and calls nothing is not
 * KL_USES_OUT.
 */
static u8 uses_of(u32 code)
{
	if (reads_number(code))
		return KL_USES_FIELDS;
	switch (code) {
	case KL_STEP_FIELD_TEXT:
	case KL_STEP_FIELD_BEHIND:
		return KL_USES_FIELDS | KL_USES_OUT;
	case KL_STEP_ARG:
		return KL_USES_ARGUMENTS;
	case KL_STEP_LOAD:
	case KL_STEP_LOAD_USER:
	case KL_STEP_TEXT:
	case KL_STEP_SINCE:
	case KL_STEP_VARIABLE:
	case KL_STEP_VARIABLE_TEXT:
	case KL_STEP_VARIABLE_WORD:
	case KL_STEP_PUT_STRING:
	case KL_STEP_PUT_USER_STRING:
	case KL_STEP_PUT_BYTES:
		return KL_USES_OUT;
	}
	return 0;
}

/* Bytes of fields and strings that a step reads: perhaps more, never fewer. */
static u64 reads_of(const struct kl_step *step)
{
	u32 bytes = 1u << (step->b >> 1);

	if (reads_number(step->code))
		return kl_reads(step->imm - bytes, bytes);
	switch (step->code) {
	case KL_STEP_FIELD_TEXT:
		if (step->a)
			return ~0ull;
		return kl_reads(step->imm, step->fixed ? step->fixed : KL_RECORD_MAX);
	case KL_STEP_FIELD_BEHIND:
		return ~0ull;
	}
	return 0;
}

/* Set the distances between steps, now that all have their positions. */
static void resolve(struct decoder *d)
{
	for (u32 i = 0; i < d->steps; i++) {
		struct kl_step *step = &d->p->step[i];

		d->p->uses |= uses_of(step->code);
		d->p->reads |= reads_of(step);
		if (step->code != KL_STEP_TEST && step->code > KL_STEP_LAST_JUMP)
			continue;
		step->yes = (d->step_of[d->target[i][0]] - i) * sizeof(*step);
		step->no = (d->step_of[d->target[i][1]] - i) * sizeof(*step);
	}
}

/**
 * kl_program_decode - decode a program's operations into steps
 * @p: with room for @n + 2 steps, all zero, and its data
 * @ops: operations that have been checked
 * @n: number of operations
 * @may: KL_MAY_* of the program's creator
 *
 * Returns 0 or -ENOMEM. Context: may sleep.
 */
int kl_program_decode(struct kl_program *p, const struct kl_abi_op *ops, u32 n, u32 may)
{
	struct decoder *d = kl_program_alloc(sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->p = p;
	d->op = ops;
	d->n = n;
	d->may = may;
	find_live(d);
	p->cleared = d->live[0];
	reach(d, 0, false);
	for (u32 i = 0; i < n + 2; i++) {
		if (!d->reached[i])
			continue;
		d->step_of[i] = d->steps;
		if (i >= n)
			add_step(d, KL_STEP_END_CONST)->low = i - n;
		else if (!add_field(d, i) && !add_task_load(d, i) && !add_task_variable(d, i) &&
			 !add_constant(d, i) && !add_zero_test(d, i, NULL, ops[i].a))
			add_single(d, i);
	}
	resolve(d);
	kl_program_measure(p, d->steps, may, d->cost);
	kl_program_free(d);
	return 0;
}
