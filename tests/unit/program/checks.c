// SPDX-License-Identifier: GPL-2.0
/* Invalid programs, each for one reason, and programs at the limit. */
#include "../unit.h"
#include "machine.h"

#define N(...) (sizeof((struct kl_abi_op[]){ __VA_ARGS__ }) / sizeof(struct kl_abi_op))
#define BAD(error, text, ...) \
	check_bad(error, text, (struct kl_abi_op[]){ __VA_ARGS__ }, N(__VA_ARGS__), MAY_ALL)
#define DENIED(...) \
	check_bad(-EPERM, "CAP_SYS_ADMIN", (struct kl_abi_op[]){ __VA_ARGS__ }, N(__VA_ARGS__), 0)
#define GOOD(name, may, ...) \
	check_good(name, (struct kl_abi_op[]){ __VA_ARGS__ }, N(__VA_ARGS__), may)

static const u8 data[16] = "some text";

static void check_bad(int error, const char *text, const struct kl_abi_op *ops, u32 n, u32 may)
{
	struct kl_error why = {};
	struct kl_program *p = kl_program_create(ops, n, data, sizeof(data), may, &why);
	bool right = IS_ERR(p) && (long)p == error && why.error == error && strstr(why.text, text);
	char name[KL_ERROR_TEXT_MAX + 16];

	snprintf(name, sizeof(name), "rejected: %s", why.text);
	unit_result(right, name, text);
	if (!IS_ERR(p))
		kl_program_destroy(p);
}

static void check_good(const char *name, const struct kl_abi_op *ops, u32 n, u32 may)
{
	struct kl_error why = {};
	struct kl_program *p = kl_program_create(ops, n, data, sizeof(data), may, &why);

	unit_result(!IS_ERR(p), name, why.text);
	if (!IS_ERR(p))
		kl_program_destroy(p);
}

static void test_members(void)
{
	BAD(-EINVAL, "operation 1: unknown code 24", OP(CONST), { .code = KL_OP_COUNT });
	BAD(-EINVAL, "operation 0: unknown code 255", { .code = 255 });
	BAD(-EINVAL, "operation 0 (CONST): dst is register 8, which does not exist",
	    OP(CONST, .dst = 8), OP(END));
	BAD(-EINVAL, "(MOVE): a is register 8, which does not exist", OP(MOVE, .a = 8), OP(END));
	BAD(-EINVAL, "(END): a is register 255, which does not exist", OP(END, .a = 255));
	BAD(-EINVAL, "(END): sets no register", OP(END, .dst = 1));
	BAD(-EINVAL, "(CONST): reads no register", OP(CONST, .a = 1), OP(END));
	BAD(-EINVAL, "(END): b is 1", OP(END, .b = 1));
	BAD(-EINVAL, "(END): imm is 1", OP(END, .imm = 1));
	BAD(-EINVAL, "(END): imm64 has undefined bits", OP(END, .imm64 = 1));
	BAD(-EINVAL, "(END): imm64 locates strings", OP(END, .imm64 = GAPS(1, 0)));
	BAD(-EINVAL, "(FIELD): b is 8, the maximum is 7", OP(FIELD, .b = KL_NUMBER_COUNT), OP(END));
	BAD(-EINVAL, "(FIELD): imm is -1", OP(FIELD, .imm = -1), OP(END));
	BAD(-EINVAL, "(FIELD): imm is 65536", OP(FIELD, .imm = 65536), OP(END));
	BAD(-EINVAL, "does not count", OP(FIELD, .imm64 = GAPS(1, 0)), OP(END));
	BAD(-EINVAL, "does not count", OP(FIELD, .a = 1, .imm64 = GAPS(1, 1)), OP(END));
	BAD(-EINVAL, "(ARG): imm is -1", OP(ARG, .imm = -1), OP(END));
	BAD(-EINVAL, "(LOAD): b is 8", OP(LOAD, .b = 8), OP(END));
	BAD(-EINVAL, "(LOAD_USER): b is 8", OP(LOAD_USER, .b = 8), OP(END));
	BAD(-EINVAL, "(ALU): b is 19, the maximum is 18", OP(ALU, .b = KL_ALU_COUNT), OP(END));
	BAD(-EINVAL, "(BITS): b is 2", OP(BITS, .b = 2, .imm = BITS_IMM(0, 1)), OP(END));
	BAD(-EINVAL, "(BITS): imm is 0", OP(BITS), OP(END));
	BAD(-EINVAL, "(BITS): imm is -256", OP(BITS, .imm = -256), OP(END));
	BAD(-EINVAL, "2 bits from bit 63", OP(BITS, .imm = BITS_IMM(63, 2)), OP(END));
	BAD(-EINVAL, "1 bits from bit 64", OP(BITS, .imm = BITS_IMM(64, 1)), OP(END));
	BAD(-EINVAL, "(BITS): imm is 16640", OP(BITS, .imm = BITS_IMM(0, 65)), OP(END));
	BAD(-EINVAL, "(PUT): b is 8", OP(PUT, .b = 8), OP(END));
	BAD(-EINVAL, "(FLAG): imm is 64", OP(FLAG, .imm = KL_FLAGS_MAX), OP(END));
	BAD(-EINVAL, "(FLAG): imm is -1", OP(FLAG, .imm = -1), OP(END));
	BAD(-EINVAL, "(SINCE): imm is 65", OP(SINCE, .imm = KL_SINCE_SESSION + 1), OP(END));
}

static void test_texts_and_variables(void)
{
	BAD(-EINVAL, "(FIELD_TEXT): b is 2", OP(FIELD_TEXT, .b = 2), OP(END));
	BAD(-EINVAL, "text of 1 bytes at 16 is outside the 16",
	    OP(FIELD_TEXT, .imm64 = TEXT_AT(16, 1)), OP(END));
	BAD(-EINVAL, "(TEXT): text of 17 bytes at 0", OP(TEXT, .imm64 = TEXT_AT(0, 17)), OP(END));
	BAD(-EINVAL, "(VARIABLE_TEXT): text of 65535 bytes at 65535",
	    OP(VARIABLE_TEXT, .imm = VARIABLE_TEXT, .imm64 = 0xffffffff), OP(END));
	BAD(-EINVAL, "(TEXT): imm64 locates", OP(TEXT, .imm64 = GAPS(1, 0)), OP(END));
	BAD(-ENOENT, "variable 5 does not exist", OP(VARIABLE, .imm = VARIABLE_COUNT), OP(END));
	BAD(-EINVAL, "variable 1 is not text", OP(VARIABLE, .b = 1, .imm = VARIABLE_NUMBER),
	    OP(END));
	BAD(-EINVAL, "variable 0 is not a number or text", OP(VARIABLE, .imm = VARIABLE_STRUCT),
	    OP(END));
	BAD(-EINVAL, "(VARIABLE): b is 2", OP(VARIABLE, .b = 2, .imm = VARIABLE_TEXT), OP(END));
	BAD(-EINVAL, "variable 1 is not text", OP(VARIABLE_TEXT, .imm = VARIABLE_NUMBER), OP(END));
	BAD(-EINVAL, "(VARIABLE): imm is -1", OP(VARIABLE, .imm = -1), OP(END));
	GOOD("text may be all of the data, or none of it at its end", 0,
	     OP(FIELD_TEXT, .imm64 = TEXT_AT(0, 16)), OP(FIELD_TEXT, .imm64 = TEXT_AT(16, 0)),
	     OP(END));
}

static void test_flow(void)
{
	struct kl_abi_op many[KL_PROGRAM_OPS_MAX + 1] = {};
	struct kl_error why = {};

	BAD(-EINVAL, "(CONST): the last operation must be END", OP(CONST));
	BAD(-EINVAL, "(JUMP): skips 1 of the 1", OP(JUMP, .imm = 1), OP(END));
	BAD(-EINVAL, "(JUMP_ZERO): skips 2 of the 1", OP(JUMP_ZERO, .imm = 2), OP(END));
	BAD(-EINVAL, "(JUMP_NONZERO): imm is -1", OP(JUMP_NONZERO, .imm = -1), OP(END));
	BAD(-EINVAL, "(JUMP): skips 0 of the 0", OP(JUMP));
	GOOD("a jump to the last", 0, OP(JUMP, .imm = 1), OP(CONST), OP(END));
	unit_check(IS_ERR(kl_program_create(many, 0, NULL, 0, 0, &why)) &&
			   strstr(why.text, "0 operations"),
		   "a program has operations");
	check_good("as many as are allowed", many, KL_PROGRAM_OPS_MAX, 0);
	check_bad(-EINVAL, "257 operations", many, KL_PROGRAM_OPS_MAX + 1, 0);
	unit_check(IS_ERR(kl_program_create(many, 1, data, KL_PROGRAM_DATA_MAX + 1, 0, &why)) &&
			   strstr(why.text, "4097 bytes"),
		   "no more data than allowed");
}

static void test_output(void)
{
	BAD(-EINVAL, "(PUT_STRING): imm is 0", OP(PUT_STRING), OP(END));
	BAD(-EINVAL, "(PUT_STRING): imm is 257", OP(PUT_STRING, .imm = 257), OP(END));
	BAD(-EINVAL, "(PUT_USER_STRING): imm is 257", OP(PUT_USER_STRING, .imm = 257), OP(END));
	BAD(-EINVAL, "(PUT_BYTES): imm is 513", OP(PUT_BYTES, .imm = 513), OP(END));
	BAD(-EINVAL, "operation 2 (PUT): the output is longer than 512", OP(PUT_STRING, .imm = 256),
	    OP(PUT_BYTES, .imm = 256), OP(PUT), OP(END));
	GOOD("512 bytes of output", MAY_ALL, OP(PUT_STRING, .imm = 256),
	     OP(PUT_USER_STRING, .imm = 248), OP(PUT, .b = KL_NUMBER_U64), OP(END));
}

static void test_rights(void)
{
	DENIED(OP(ARG), OP(END));
	DENIED(OP(CURRENT), OP(END));
	DENIED(OP(PERCPU), OP(END));
	DENIED(OP(LOAD), OP(END));
	DENIED(OP(LOAD_USER), OP(END));
	DENIED(OP(TEXT), OP(END));
	DENIED(OP(PUT_STRING, .imm = 1), OP(END));
	DENIED(OP(PUT_USER_STRING, .imm = 1), OP(END));
	DENIED(OP(PUT_BYTES, .imm = 1), OP(END));
	GOOD("the others need no right", 0, OP(CONST), OP(MOVE), OP(FIELD),
	     OP(VARIABLE, .imm = VARIABLE_NUMBER), OP(BITS, .imm = BITS_IMM(0, 64)), OP(ALU),
	     OP(JUMP), OP(JUMP_ZERO), OP(JUMP_NONZERO), OP(FIELD_TEXT),
	     OP(VARIABLE_TEXT, .imm = VARIABLE_TEXT), OP(PUT), OP(FLAG), OP(END));
	check_bad(-EPERM, "CAP_SYS_ADMIN", (struct kl_abi_op[]){ OP(ARG), OP(END) }, 2,
		  KL_MAY_SEE_ALL | KL_MAY_SEE_ADDRESSES);
}

static void test_memory(void)
{
	struct kl_abi_op end = OP(END);
	struct kl_error why;

	for (int left = 0; left < 2; left++) {
		memset(&why, 0, sizeof(why));
		machine.allocations_left = left;
		unit_check(IS_ERR(kl_program_create(&end, 1, NULL, 0, 0, &why)) &&
				   why.error == -ENOMEM,
			   "no memory");
	}
	machine.allocations_left = -1;
	unit_check(!machine.allocations, "what failed has left nothing");
}

#define COST(...) cost_of((struct kl_abi_op[]){ __VA_ARGS__ }, N(__VA_ARGS__))

static struct kl_cost cost_of(const struct kl_abi_op *ops, u32 n)
{
	struct kl_program *p = kl_program_create(ops, n, data, sizeof(data), 0, NULL);
	struct kl_cost cost = {};

	if (IS_ERR(p))
		return cost;
	cost = kl_program_cost(p);
	kl_program_destroy(p);
	return cost;
}

/* The most expensive path counts, whichever is taken; machine.c defines the costs of variables. */
static void test_costs(void)
{
	struct kl_abi_op cheap = OP(VARIABLE, .imm = VARIABLE_NUMBER);
	struct kl_abi_op dear = OP(VARIABLE, .imm = VARIABLE_TEXT);
	struct kl_abi_op trace = OP(VARIABLE, .dst = 1, .imm = VARIABLE_UNREADABLE);
	struct kl_cost one = COST(cheap, OP(END)), three = COST(cheap, cheap, cheap, OP(END));
	struct kl_cost either, both;

	unit_check(three.operations > one.operations + 20, "costs: operations add up");
	unit_check(COST(dear, OP(END)).operations > 1000, "costs: what a variable costs counts");
	either = COST(cheap, OP(JUMP_ZERO, .imm = 2), dear, OP(JUMP, .imm = 1), cheap, OP(END));
	unit_check(either.operations > 1000 && either.operations < 2000,
		   "costs: the more expensive of two paths");
	either = COST(cheap, OP(JUMP_NONZERO, .imm = 2), cheap, OP(JUMP, .imm = 1), dear, OP(END));
	unit_check(either.operations > 1000 && either.operations < 2000,
		   "costs: the more expensive of two paths, if it is the second");
	either = COST(cheap, OP(JUMP_ZERO, .imm = 2), trace, OP(JUMP, .imm = 2), trace, trace,
		      OP(MOVE, .a = 1), OP(END));
	both = COST(trace, trace, trace, OP(MOVE, .a = 1), OP(END));
	unit_check(either.user_walks == 2 && both.user_walks == 3,
		   "costs: stack traces of the path with the most");
	unit_check(COST(cheap, OP(JUMP, .imm = 1), dear, OP(END)).operations < 100,
		   "costs: what is never run costs nothing");
	unit_check(COST(OP(FIELD_TEXT, .imm = 16 << 16), OP(END)).operations <
			   COST(OP(FIELD_TEXT, .a = 1), OP(END)).operations,
		   "costs: a string that has to be found costs more than one with a place");
}

void checks_run(void)
{
	test_costs();
	test_members();
	test_texts_and_variables();
	test_flow();
	test_output();
	test_rights();
	test_memory();
}
