// SPDX-License-Identifier: GPL-2.0
/*
 * Random expressions of fields and constants, with && || and comparisons, compiled to programs as a
 * compiler would and compared with their value in C.
 */
#include "../../../kernel/core/program_step.h"
#include "../unit.h"
#include "machine.h"

#define EXPRESSIONS 320000u
#define LEAVES_MAX 12

static const struct __attribute__((packed)) {
	s32 tid;
	u32 cpu;
	s64 state;
	u16 port;
	signed char nice;
} layout;

struct fields {
	s64 tid, cpu, state, port, nice;
};

struct builder {
	struct kl_abi_op op[KL_PROGRAM_OPS_MAX];
	u32 n;
	u32 leaves;
};

static struct kl_abi_op *add(struct builder *b, struct kl_abi_op op)
{
	b->op[b->n] = op;
	return &b->op[b->n++];
}

#define FIELD_OF(name, type, reg) \
	OP(FIELD, .dst = reg, .b = type, .imm = offsetof(typeof(layout), name))

static s64 add_leaf(struct builder *b, const struct fields *f, u32 reg)
{
	s64 number = random_below(2) ? (s64)random_below(4) - 1 : (s64)random_number();

	b->leaves++;
	switch (random_below(8)) {
	case 0:
		add(b, FIELD_OF(tid, KL_NUMBER_S32, reg));
		return f->tid;
	case 1:
		add(b, FIELD_OF(cpu, KL_NUMBER_U32, reg));
		return f->cpu;
	case 2:
		add(b, FIELD_OF(state, KL_NUMBER_S64, reg));
		return f->state;
	case 3:
		add(b, FIELD_OF(port, KL_NUMBER_U16, reg));
		return f->port;
	case 4:
		add(b, FIELD_OF(nice, KL_NUMBER_S8, reg));
		return f->nice;
	}
	add(b, OP(CONST, .dst = reg, .imm64 = number));
	return number;
}

static s64 compute(u32 alu, s64 x, s64 y, bool *fault)
{
	bool divides = alu >= KL_ALU_DIV && alu <= KL_ALU_UMOD;

	*fault |= divides && !y;
	if (divides && !y)
		return 0;
	/* The only division besides that by zero that is undefined in C. */
	if (divides && y == -1 && x == INT64_MIN && alu <= KL_ALU_MOD)
		return alu == KL_ALU_DIV ? INT64_MIN : 0;
	switch (alu) {
	case KL_ALU_ADD:
		return (u64)x + y;
	case KL_ALU_SUB:
		return (u64)x - y;
	case KL_ALU_MUL:
		return (u64)x * y;
	case KL_ALU_DIV:
		return x / y;
	case KL_ALU_MOD:
		return x % y;
	case KL_ALU_UDIV:
		return (u64)x / (u64)y;
	case KL_ALU_UMOD:
		return (u64)x % (u64)y;
	case KL_ALU_AND:
		return x & y;
	case KL_ALU_OR:
		return x | y;
	case KL_ALU_XOR:
		return x ^ y;
	case KL_ALU_SHL:
		return (u64)x << (y & 63);
	case KL_ALU_SHR:
		return (u64)x >> (y & 63);
	case KL_ALU_SAR:
		return x >> (y & 63);
	case KL_ALU_EQ:
		return x == y;
	case KL_ALU_NE:
		return x != y;
	case KL_ALU_LT:
		return x < y;
	case KL_ALU_LE:
		return x <= y;
	case KL_ALU_ULT:
		return (u64)x < (u64)y;
	default:
		return (u64)x <= (u64)y;
	}
}

/*
 * Generates code that puts the value in register @reg, and returns its value in C. @live: does C
 * evaluate it?
 */
static s64 add_tree(struct builder *b, const struct fields *f, u32 reg, u32 depth, bool live,
		    bool *fault)
{
	u32 kind = random_below(4), alu, jump;
	bool and = random_below(2), none = false;
	s64 x, y;

	if (!depth || b->leaves >= LEAVES_MAX || reg + 1 >= KL_PROGRAM_REGISTERS)
		return add_leaf(b, f, reg);
	if (kind == 0) {
		x = add_tree(b, f, reg, depth - 1, live, fault);
		jump = b->n;
		add(b, and? OP(JUMP_ZERO, .a = reg) : OP(JUMP_NONZERO, .a = reg));
		y = add_tree(b, f, reg, depth - 1, live && and == !!x, fault);
		b->op[jump].imm = b->n - jump - 1;
		return and == !!x ? y : x;
	}
	x = add_tree(b, f, reg, depth - 1, live, fault);
	y = add_tree(b, f, reg + 1, kind == 1 ? depth - 1 : 0, live, fault);
	alu = random_below(2) ? KL_ALU_EQ + random_below(6) : random_below(KL_ALU_COUNT);
	add(b, OP(ALU, .dst = reg, .a = reg + 1, .b = alu));
	return compute(alu, x, y, live ? fault : &none);
}

/* If the guard field alone rejects, so does the program, without a fault. */
static bool is_guarded(const struct kl_program *p, const struct kl_event_ctx *f, s64 value,
		       u32 *guarded)
{
	bool opposite;
	u64 from, span, number;
	u32 guard = kl_program_guard(p, &from, &span, &opposite);

	if (!guard)
		return true;
	number = kl_number_before(f->fields + (guard >> 8), guard & 0xff);
	if ((number - from <= span) != opposite)
		return true;
	++*guarded;
	return !value && !f->fault;
}

static bool try_one(u32 *guarded)
{
	struct fields f = { .tid = (s32)random_number() >> random_below(32),
			    .cpu = (u32)random_number() >> random_below(32),
			    .state = (s64)random_number() >> random_below(64),
			    .port = random_below(4),
			    .nice = (s64)random_below(6) - 3 };
	typeof(layout) payload = { f.tid, f.cpu, f.state, f.port, f.nice };
	u8 *bytes = exact_copy(&payload, sizeof(payload));
	struct kl_event_ctx firing = { .fields = bytes, .bytes = sizeof(payload) };
	struct builder b = {};
	bool fault = false, same;
	s64 value = add_tree(&b, &f, 0, 1 + random_below(5), true, &fault);
	struct kl_program *p;

	add(&b, OP(END));
	p = kl_program_create(b.op, b.n, NULL, 0, 0, NULL);
	same = !IS_ERR(p) && (s64)kl_program_run(p, &firing) == value && firing.fault == fault &&
	       is_guarded(p, &firing, value, guarded);
	if (!IS_ERR(p))
		kl_program_destroy(p);
	free(bytes);
	return same;
}

void expressions_run(void)
{
	u32 different = 0, guarded = 0;
	char text[64];

	for (u32 i = 0; i < EXPRESSIONS; i++)
		different += !try_one(&guarded);
	snprintf(text, sizeof(text), "%u of %u are not", different, EXPRESSIONS);
	unit_result(!different, "expressions have the value that they have in C", text);
	snprintf(text, sizeof(text), "to %u of %u", guarded, EXPRESSIONS);
	unit_result(guarded > EXPRESSIONS / 1000, "to some of them one field alone says no", text);
}
