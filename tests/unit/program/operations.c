// SPDX-License-Identifier: GPL-2.0
/* Each operation on its own, with its expected result. */
#include "../unit.h"
#include "machine.h"

#define RUN(f, ...)                                   \
	run((f), (struct kl_abi_op[]){ __VA_ARGS__ }, \
	    sizeof((struct kl_abi_op[]){ __VA_ARGS__ }) / sizeof(struct kl_abi_op))
#define ALU_OF(x, y, alu)                                                                      \
	RUN(&none, OP(CONST, .dst = 1, .imm64 = x), OP(CONST, .dst = 2, .imm64 = y),           \
	    OP(MOVE, .dst = 3, .a = 1), OP(ALU, .dst = 3, .a = 2, .b = alu), OP(MOVE, .a = 3), \
	    OP(END))

static const u8 data[16] = "abcdef";
static struct kl_event_ctx none = { .session = &session };

/* Runs a program; sets f->fault for this run and returns the result. */
static u64 run(struct kl_event_ctx *f, const struct kl_abi_op *ops, u32 n)
{
	struct kl_error why = {};
	struct kl_program *p = kl_program_create(ops, n, data, sizeof(data), MAY_ALL, &why);
	u64 result;

	f->fault = false;
	if (IS_ERR(p)) {
		printf("# %s\n", why.text);
		return 0xbadbadbad;
	}
	result = kl_program_run(p, f);
	kl_program_destroy(p);
	return result;
}

static void test_registers(void)
{
	unit_check(RUN(&none, OP(END, .a = 7)) == 0, "registers are 0 at the start");
	unit_check(RUN(&none, OP(CONST, .dst = 7, .imm64 = ~5ull), OP(END, .a = 7)) == ~5ull,
		   "CONST, END");
	unit_check(RUN(&none, OP(CONST, .dst = 1, .imm64 = 9), OP(MOVE, .dst = 2, .a = 1),
		       OP(CONST, .dst = 1), OP(END, .a = 2)) == 9,
		   "MOVE");
	unit_check(RUN(&none, OP(CONST, .imm64 = 3), OP(CONST, .dst = 1, .imm64 = 3),
		       OP(ALU, .a = 1, .b = KL_ALU_EQ), OP(END, .a = 1)) == 3,
		   "a constant that is still read stays");
}

static void test_fields(void)
{
	u8 *bytes = exact_copy("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\x01", 9);
	struct kl_event_ctx f = { .fields = bytes, .bytes = 9 };
	static const u64 expected[KL_NUMBER_COUNT] = {
		~0ull,
		0xff,
		0xfffffffffffffeffull,
		0xfeff,
		0xfffffffffcfdfeffull,
		0xfcfdfeff,
		0xf8f9fafbfcfdfeffull,
		0xf8f9fafbfcfdfeffull,
	};
	bool right = true, faults = true, last = true;

	for (u32 b = 0; b < KL_NUMBER_COUNT; b++) {
		right &= RUN(&f, OP(FIELD, .b = b), OP(END)) == expected[b] && !f.fault;
		right &= RUN(&f, OP(FIELD, .dst = 1, .b = b), OP(FIELD), OP(END, .a = 1)) ==
			 expected[b];
		last &= (RUN(&f, OP(FIELD, .b = b, .imm = 9 - (1 << b / 2)), OP(END)), !f.fault);
		faults &= !RUN(&f, OP(FIELD, .b = b, .imm = 10 - (1 << b / 2)), OP(END)) && f.fault;
		faults &= RUN(&f, OP(FIELD, .b = b, .imm = 65535), OP(CONST, .dst = 1),
			      OP(ALU, .a = 1, .b = KL_ALU_EQ), OP(END)) == 1 &&
			  f.fault;
	}
	unit_check(right, "FIELD: every type");
	unit_check(last, "FIELD: up to the last byte");
	unit_check(faults, "FIELD: not behind it: 0 and a fault");
	free(bytes);
}

static void test_fields_behind(void)
{
	/* u32 5, "ab", u16 7, "c", u8 9 */
	u8 *bytes = exact_copy("\5\0\0\0ab\0\7\0c\0\x9", 12);
	struct kl_event_ctx f = { .fields = bytes, .bytes = 12 };
	const u64 gaps = GAPS(4, 2);

	unit_check(RUN(&f, OP(FIELD, .a = 1, .b = KL_NUMBER_U16, .imm64 = GAPS(4, 0)), OP(END)) ==
				   7 &&
			   !f.fault,
		   "FIELD behind a string");
	unit_check(RUN(&f, OP(FIELD, .a = 2, .b = KL_NUMBER_U8, .imm64 = gaps), OP(END)) == 9 &&
			   !f.fault,
		   "FIELD behind two, with a number between");
	unit_check(!RUN(&f, OP(FIELD, .a = 2, .b = KL_NUMBER_U16, .imm64 = gaps), OP(END)) &&
			   f.fault,
		   "not behind the end");
	unit_check(!RUN(&f, OP(FIELD, .a = 3, .imm64 = gaps), OP(END)) && f.fault,
		   "nor behind a string that does not end");
	unit_check(!RUN(&f, OP(FIELD, .a = 255, .imm64 = gaps), OP(END)) && f.fault,
		   "nor behind strings that are not there");
	unit_check(!RUN(&f, OP(FIELD, .a = 1, .imm64 = GAPS(65535, 0)), OP(END)) && f.fault,
		   "nor behind one that would be elsewhere");
	free(bytes);
}

static void test_sources(void)
{
	const u64 arguments[2] = { 11, ~0ull };
	struct kl_event_ctx f = { .session = &session, .argument = arguments, .arguments = 2 };
	u32 pid = 4321;

	machine.number = 77;
	machine.flags = 1ull << 63 | 2;
	memcpy(machine.task + 8, &pid, sizeof(pid));
	unit_check(RUN(&f, OP(ARG, .imm = 1), OP(END)) == ~0ull && !f.fault, "ARG");
	unit_check(!RUN(&f, OP(ARG, .imm = 2), OP(END)) && f.fault, "ARG that is not there");
	unit_check(!RUN(&none, OP(ARG), OP(END)) && none.fault, "ARG where there are none");
	unit_check(RUN(&f, OP(VARIABLE, .imm = VARIABLE_NUMBER), OP(END)) == 77 && !f.fault,
		   "VARIABLE");
	memcpy(machine.task + VARIABLE_OFFSET, &(short){ -5 }, sizeof(short));
	unit_check(RUN(&f, OP(VARIABLE, .imm = VARIABLE_IN_TASK), OP(END)) == (u64)-5 && !f.fault,
		   "VARIABLE in the task");
	unit_check(RUN(&f, OP(VARIABLE, .dst = 1, .imm = VARIABLE_IN_TASK),
		       OP(ALU, .dst = 0, .a = 1), OP(END)) == (u64)-5 &&
			   !f.fault,
		   "VARIABLE in the task, calculated with");
	unit_check(!RUN(&f, OP(VARIABLE, .imm = VARIABLE_UNREADABLE), OP(END)) && f.fault,
		   "VARIABLE that cannot be read");
	unit_check(RUN(&f, OP(FLAG, .imm = 1), OP(END)) == 1 &&
			   RUN(&f, OP(FLAG, .imm = 63), OP(END)) == 1 &&
			   RUN(&f, OP(FLAG, .imm = 2), OP(END)) == 0,
		   "FLAG");
	unit_check(RUN(&f, OP(SINCE, .imm = 63), OP(END)) == SINCE + 63 && !f.fault &&
			   RUN(&f, OP(SINCE, .imm = KL_SINCE_SESSION), OP(END)) ==
				   SINCE + KL_SINCE_SESSION &&
			   !f.fault,
		   "SINCE");
	unit_check(!RUN(&f, OP(SINCE, .imm = 2), OP(END)) && f.fault,
		   "SINCE of a flag that is not set");
	unit_check(RUN(&f, OP(CURRENT), OP(END)) == (u64)(unsigned long)machine.task, "CURRENT");
	unit_check(RUN(&f, OP(CURRENT), OP(LOAD, .b = KL_NUMBER_S32, .imm = 8), OP(END)) == pid,
		   "CURRENT, LOAD");
	unit_check(!RUN(&f, OP(CURRENT), OP(LOAD, .imm = KL_TASK_BYTES), OP(END)) && f.fault,
		   "CURRENT, LOAD behind the task");
	unit_check(RUN(&f, OP(CONST, .dst = 1, .imm64 = 5), OP(PERCPU, .a = 1), OP(END)) ==
			   5 + PERCPU_OFFSET,
		   "PERCPU");
}

static u64 load(u32 code, u64 base, s32 imm, u32 b)
{
	return RUN(&none, OP(CONST, .dst = 1, .imm64 = base),
		   { .code = code, .a = 1, .b = b, .imm = imm }, OP(END));
}

static void test_loads(void)
{
	for (u32 i = 0; i < MEMORY_BYTES; i++)
		machine.kernel[i] = machine.user[i] = 0x80 + i;
	unit_check(load(KL_OP_LOAD, KERNEL_BASE, 1, KL_NUMBER_U64) == 0x8887868584838281ull &&
			   !none.fault,
		   "LOAD");
	unit_check(load(KL_OP_LOAD, KERNEL_BASE + 8, -8, KL_NUMBER_S16) == 0xffffffffffff8180ull,
		   "LOAD: signed, before the address");
	unit_check(!load(KL_OP_LOAD, 0, 0, KL_NUMBER_U8) && none.fault, "LOAD from NULL");
	unit_check(!load(KL_OP_LOAD, KERNEL_BASE + HOLE_AT, -4, KL_NUMBER_U64) && none.fault,
		   "LOAD across into what cannot be read");
	unit_check(load(KL_OP_LOAD, KERNEL_BASE + HOLE_AT, -4, KL_NUMBER_U32) && !none.fault,
		   "LOAD before it");
	unit_check(load(KL_OP_LOAD_USER, USER_BASE, 1, KL_NUMBER_S8) == 0xffffffffffffff81ull &&
			   !none.fault,
		   "LOAD_USER");
	unit_check(!load(KL_OP_LOAD_USER, KERNEL_BASE, 0, KL_NUMBER_U8) && none.fault,
		   "LOAD_USER from the kernel");
	unit_check(!load(KL_OP_LOAD, USER_BASE, 0, KL_NUMBER_U8) && none.fault, "LOAD from a user");
}

static u64 bits(u64 number, u32 from, u32 width, u32 is_signed)
{
	return RUN(&none, OP(CONST, .imm64 = number),
		   OP(BITS, .dst = 1, .b = is_signed, .imm = BITS_IMM(from, width)),
		   OP(END, .a = 1));
}

static void test_calculations(void)
{
	const u64 least = 1ull << 63;

	unit_check(bits(0x1234, 4, 8, 0) == 0x23, "BITS");
	unit_check(bits(0x12f4, 4, 8, 1) == 0x2f && bits(0xf00, 8, 4, 1) == ~0ull, "BITS, signed");
	unit_check(bits(least | 5, 0, 64, 0) == (least | 5) && bits(least, 63, 1, 1) == ~0ull &&
			   bits(least, 63, 1, 0) == 1,
		   "BITS at their limits");
	unit_check(ALU_OF(~0ull, 2, KL_ALU_ADD) == 1 && ALU_OF(1, 2, KL_ALU_SUB) == ~0ull &&
			   ALU_OF(least, 2, KL_ALU_MUL) == 0,
		   "ADD, SUB, MUL go round");
	unit_check(ALU_OF(-7ull, 2, KL_ALU_DIV) == -3ull && ALU_OF(-7ull, 2, KL_ALU_MOD) == -1ull,
		   "DIV, MOD are signed, towards 0");
	unit_check(ALU_OF(-1ull, 2, KL_ALU_UDIV) == ~0ull >> 1 &&
			   ALU_OF(-1ull, 2, KL_ALU_UMOD) == 1,
		   "UDIV, UMOD");
	unit_check(ALU_OF(least, ~0ull, KL_ALU_DIV) == least && !none.fault &&
			   ALU_OF(least, ~0ull, KL_ALU_MOD) == 0 && !none.fault,
		   "the least by -1");
	for (u32 alu = KL_ALU_DIV; alu <= KL_ALU_UMOD; alu++)
		unit_check(!ALU_OF(5, 0, alu) && none.fault, "by 0: 0 and a fault");
	unit_check(ALU_OF(12, 10, KL_ALU_AND) == 8 && ALU_OF(12, 10, KL_ALU_OR) == 14 &&
			   ALU_OF(12, 10, KL_ALU_XOR) == 6,
		   "AND, OR, XOR");
	unit_check(ALU_OF(3, 65, KL_ALU_SHL) == 6 && ALU_OF(least, 127, KL_ALU_SHR) == 1 &&
			   ALU_OF(least, 63, KL_ALU_SAR) == ~0ull,
		   "shifts, by the low 6 bits");
	unit_check(ALU_OF(1, 1, KL_ALU_EQ) && !ALU_OF(1, 2, KL_ALU_EQ) && ALU_OF(1, 2, KL_ALU_NE) &&
			   !ALU_OF(2, 2, KL_ALU_NE),
		   "EQ, NE");
	unit_check(ALU_OF(~0ull, 0, KL_ALU_LT) && !ALU_OF(0, ~0ull, KL_ALU_LT) &&
			   ALU_OF(3, 3, KL_ALU_LE) && !ALU_OF(least, least, KL_ALU_LT),
		   "LT, LE");
	unit_check(!ALU_OF(~0ull, 0, KL_ALU_ULT) && ALU_OF(0, ~0ull, KL_ALU_ULT) &&
			   ALU_OF(3, 3, KL_ALU_ULE) && !ALU_OF(0, 0, KL_ALU_ULT),
		   "ULT, ULE");
}

static u64 jump(u32 code, u64 number, s32 imm)
{
	return RUN(&none, OP(CONST, .dst = 1, .imm64 = number),
		   { .code = code, .a = code == KL_OP_JUMP ? 0 : 1, .imm = imm },
		   OP(CONST, .imm64 = 1), OP(END), OP(CONST, .imm64 = 2), OP(END));
}

static void test_jumps(void)
{
	unit_check(jump(KL_OP_JUMP, 0, 2) == 2 && jump(KL_OP_JUMP, 0, 0) == 1 &&
			   jump(KL_OP_JUMP, 0, 1) == 0,
		   "JUMP");
	unit_check(jump(KL_OP_JUMP_ZERO, 0, 2) == 2 && jump(KL_OP_JUMP_ZERO, 1ull << 40, 2) == 1,
		   "JUMP_ZERO");
	unit_check(jump(KL_OP_JUMP_NONZERO, 0, 2) == 1 &&
			   jump(KL_OP_JUMP_NONZERO, 1ull << 63, 2) == 2,
		   "JUMP_NONZERO");
}

void operations_run(void)
{
	test_registers();
	test_fields();
	test_fields_behind();
	test_sources();
	test_loads();
	test_calculations();
	test_jumps();
}
