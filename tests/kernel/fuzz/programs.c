// SPDX-License-Identifier: GPL-2.0
/*
 * Programs: mostly idioms that the module's decoder knows (a field or variable that is compared,
 * branches, texts, loads), which it accepts unless one operation is deliberately wrong; now and
 * then random operations.
 */
#include <pthread.h>

#include "fuzz.h"

/* 1 for the type `text`, 0 for numbers. */
#define SECOND(first, second, ...) second
#define IS_SECOND(...) SECOND(__VA_ARGS__)
#define TYPE_text ~, 1
#define IS_TEXT(type) IS_SECOND(TYPE_##type, 0)

static const struct variable {
	u16 id;
	bool text;
} variables[] = {
#define KL_VARIABLE(id, name, scope, type, ...) { id, IS_TEXT(type) },
#include "variables.def"
#undef KL_VARIABLE
};

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* Those that this user may use on this kernel, without the first one, `task`. */
static struct {
	pthread_once_t once;
	const struct variable *at[VARIABLES];
	u32 n;
} usable = { PTHREAD_ONCE_INIT };

static void find_usable(void)
{
	int fd = open_device(O_RDWR);

	for (u32 i = 1; i < VARIABLES; i++) {
		struct kl_abi_variable_info info = { .size = sizeof(info), .id = variables[i].id };

		if (!ioctl(fd, KL_IOC_VARIABLE_INFO, &info) && !info.absent)
			usable.at[usable.n++] = &variables[i];
	}
	close(fd);
	if (!usable.n)
		usable.at[usable.n++] = &variables[1];
}

static const struct variable *find_variable(u32 i)
{
	pthread_once(&usable.once, find_usable);
	return usable.at[i % usable.n];
}

u32 variable_at(u32 i)
{
	return find_variable(i)->id;
}

/* -------------------------------------------------------- random operations */

/* Data with texts of one to eight bytes at any position. */
static const char data[64] = "fuzzkernel/tmpbash\0kworker0123456789abcdef/etc/passwd";

static u64 text_place(void)
{
	return (u64)(1 + below(8)) << 16 | below(50);
}

static u64 number(void)
{
	return one_in(3) ? odd_number() : below(100);
}

static u32 any_register(void)
{
	return below(KL_PROGRAM_REGISTERS);
}

static struct kl_abi_op field(u32 reg)
{
	struct kl_abi_op op = {
		.code = KL_OP_FIELD,
		.dst = reg,
		.b = below(KL_NUMBER_COUNT),
		.imm = below(40),
	};

	/* A field that follows one or two strings, with numbers between them. */
	if (one_in(4)) {
		op.a = 1 + below(2);
		op.imm64 = (u64)below(16) << 32 | (op.a == 2 ? (u64)below(8) << 48 : 0);
	}
	return op;
}

static struct kl_abi_op variable(u32 reg)
{
	const struct variable *v = find_variable(below(VARIABLES));

	return (struct kl_abi_op){
		.code = KL_OP_VARIABLE, .dst = reg, .imm = v->id, .b = v->text && one_in(2)
	};
}

static struct kl_abi_op text_test(u32 reg)
{
	struct kl_abi_op op = {
		.dst = reg,
		.b = below(KL_TEXT_RELATION_COUNT),
		.imm64 = text_place(),
	};

	if (one_in(2)) {
		op.code = KL_OP_VARIABLE_TEXT;
		op.imm = one_in(2) ? VARIABLE_comm : VARIABLE_parent_comm;
		if (one_in(2))
			op.imm64 = 4 << 16; /* "fuzz", as this process is called */
		return op;
	}
	op.code = KL_OP_FIELD_TEXT;
	op.a = below(3);
	op.imm = below(24) | (one_in(2) ? 16 << 16 : 0);
	return op;
}

/* A random operation that every user may use; @left more follow, including the end. */
static struct kl_abi_op plain_op(u32 left)
{
	struct kl_abi_op op = { .dst = any_register() };
	u32 a = any_register();

	switch (below(12)) {
	case 0:
		op.code = KL_OP_CONST;
		op.imm64 = number();
		break;
	case 1:
		op.code = KL_OP_MOVE;
		op.a = a;
		break;
	case 2 ... 3:
		return field(op.dst);
	case 4:
		return variable(op.dst);
	case 5:
		op.code = KL_OP_BITS;
		op.a = a;
		op.imm = (1 + below(32)) << 8 | below(32);
		op.b = below(2);
		break;
	case 6 ... 7:
		op.code = KL_OP_ALU;
		op.a = a;
		op.b = below(KL_ALU_COUNT);
		break;
	case 8 ... 9:
		op = (struct kl_abi_op){ .code = KL_OP_JUMP_ZERO + below(2), .a = a };
		if (one_in(6))
			op = (struct kl_abi_op){ .code = KL_OP_JUMP };
		op.imm = left > 1 ? below(left) : 0;
		break;
	case 10:
		return text_test(op.dst);
	default:
		op.code = KL_OP_FLAG + below(2);
		op.imm = below(KL_FLAGS_MAX + (op.code == KL_OP_SINCE));
	}
	return op;
}

/* A random operation that reads memory; refused without privilege. */
static struct kl_abi_op mighty_op(void)
{
	struct kl_abi_op op = { .dst = any_register() };
	u32 a = any_register();

	switch (below(10)) {
	case 0:
		op.code = KL_OP_ARG;
		op.imm = below(6);
		break;
	case 1 ... 2:
		op.code = KL_OP_CURRENT;
		break;
	case 3:
		op.code = KL_OP_PERCPU;
		op.a = a;
		break;
	case 4 ... 5:
		op.code = KL_OP_LOAD + below(2);
		op.a = a;
		op.b = below(KL_NUMBER_COUNT);
		op.imm = below(3000);
		break;
	case 6:
		op.code = KL_OP_TEXT;
		op.a = a;
		op.b = below(KL_TEXT_RELATION_COUNT);
		op.imm64 = text_place();
		break;
	default:
		op = (struct kl_abi_op){ .code = KL_OP_PUT_STRING + below(3), .a = a };
		op.imm = 1 + below(64);
	}
	return op;
}

/* ------------------------------------------------------------------- idioms */

/* Puts a value into register @reg. */
static struct kl_abi_op value(u32 reg)
{
	switch (below(4)) {
	case 0:
		return variable(reg);
	case 1:
		return (struct kl_abi_op){ .code = KL_OP_FLAG + below(2),
					   .dst = reg,
					   .imm = one_in(4) ? below(KL_FLAGS_MAX) : any_flag() };
	default:
		return field(reg);
	}
}

/* Compares a value with a constant, and usually branches on it. */
static u32 compare(struct kl_abi_op *op, u32 reg)
{
	u32 n = 0;

	op[n++] = value(reg);
	if (one_in(4))
		op[n++] = (struct kl_abi_op){ .code = KL_OP_BITS,
					      .dst = reg,
					      .a = reg,
					      .b = below(2),
					      .imm = (1 + below(32)) << 8 | below(32) };
	if (below(4)) {
		op[n++] = (struct kl_abi_op){ .code = KL_OP_CONST, .dst = 7, .imm64 = number() };
		op[n++] = (struct kl_abi_op){ .code = KL_OP_ALU,
					      .dst = reg,
					      .a = 7,
					      .b = one_in(2) ? below(KL_ALU_COUNT) :
							       KL_ALU_EQ + below(6) };
	}
	if (one_in(2)) {
		op[n++] = (struct kl_abi_op){ .code = KL_OP_JUMP_ZERO + below(2),
					      .a = reg,
					      .imm = 1 };
		op[n++] = value(reg);
	}
	return n;
}

/* Takes an address in the kernel or in this program and reads what is there. */
static u32 look(struct kl_abi_op *op, u32 reg)
{
	static const char text[] = "text in the program";
	u32 n = 0;

	switch (below(5)) {
	case 0: /* of the task */
		op[n++] = (struct kl_abi_op){ .code = KL_OP_CURRENT, .dst = reg };
		op[n++] = (struct kl_abi_op){ .code = KL_OP_LOAD,
					      .dst = reg,
					      .a = reg,
					      .b = below(KL_NUMBER_COUNT),
					      .imm = below(one_in(4) ? 20000 : 2000) };
		break;
	case 1: /* an argument and what it points to */
		op[n++] = (struct kl_abi_op){ .code = KL_OP_ARG, .dst = reg, .imm = below(6) };
		op[n++] = (struct kl_abi_op){ .code = one_in(2) ? KL_OP_LOAD : KL_OP_TEXT,
					      .dst = reg,
					      .a = reg };
		break;
	case 2: /* memory at a symbol */
		op[n++] = (struct kl_abi_op){
			.code = KL_OP_CONST,
			.dst = reg,
			.imm64 = one_in(4) ? odd_number() : common->symbol[below(FUZZ_SYMBOLS)]
		};
		if (one_in(3))
			op[n++] = (struct kl_abi_op){ .code = KL_OP_PERCPU, .dst = reg, .a = reg };
		op[n++] = (struct kl_abi_op){ .code = KL_OP_PUT_STRING + 2 * below(2),
					      .a = reg,
					      .imm = 1 + below(64) };
		break;
	default: /* memory of this program */
		op[n++] = (struct kl_abi_op){ .code = KL_OP_CONST,
					      .dst = reg,
					      .imm64 = (u64)(uintptr_t)(text + below(9)) };
		op[n++] = (struct kl_abi_op){ .code = KL_OP_LOAD_USER, .dst = 6, .a = reg };
		op[n++] = (struct kl_abi_op){ .code = KL_OP_PUT_USER_STRING,
					      .a = reg,
					      .imm = 1 + below(80) };
	}
	return n;
}

/* Needs room for more than 40 operations at @op. */
static u32 make_idioms(struct kl_abi_op *op, bool puts, bool mighty)
{
	u32 n = 0, reg = 0;

	for (u32 left = 1 + below(3); left; left--) {
		reg = below(6);
		if (mighty && one_in(2)) {
			n += look(op + n, reg);
		} else if (one_in(5)) {
			op[n++] = text_test(reg);
		} else {
			n += compare(op + n, reg);
		}
		if (puts)
			op[n++] = (struct kl_abi_op){ .code = KL_OP_PUT,
						      .a = reg,
						      .b = below(KL_NUMBER_COUNT) };
	}
	op[n++] = (struct kl_abi_op){ .code = KL_OP_END, .a = reg };
	return n;
}

static u32 make_random(struct kl_abi_op *op, bool puts, bool mighty)
{
	u32 n = 2 + below(one_in(20) ? KL_PROGRAM_OPS_MAX : 14);

	for (u32 i = 0; i < n; i++) {
		op[i] = mighty && one_in(3) ? mighty_op() : plain_op(n - i - 1);
		if (puts && one_in(3))
			op[i] = (struct kl_abi_op){ .code = KL_OP_PUT,
						    .a = any_register(),
						    .b = below(KL_NUMBER_COUNT) };
	}
	op[n - 1] = (struct kl_abi_op){ .code = KL_OP_END, .a = any_register() };
	return n;
}

/* Returns the program's number if the module has accepted it, otherwise 0. */
u32 make_program(int fd, bool puts)
{
	struct kl_abi_op *op = (void *)room;
	struct kl_abi_program program = { .size = sizeof(program) };
	bool mighty = me->uid ? one_in(40) : one_in(2);

	program.n_ops = one_in(4) ? make_random(op, puts, mighty) : make_idioms(op, puts, mighty);
	if (one_in(20)) /* a single operation is wrong */
		mutate(op + below(program.n_ops), sizeof(*op));
	memcpy(room + 8192, data, sizeof(data));
	program.ops = (u64)(uintptr_t)odd_or(op, program.n_ops * sizeof(*op));
	program.data = (u64)(uintptr_t)(room + 8192);
	program.data_bytes = sizeof(data);
	return TRY(fd, KL_IOC_PROGRAM, program) ? 0 : program.id;
}

void op_program(void)
{
	make_program(session_fd(), one_in(3));
}
