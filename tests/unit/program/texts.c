// SPDX-License-Identifier: GPL-2.0
/* Text: relations, where texts end, and the output of programs. */
#include "../unit.h"
#include "machine.h"

static const u8 data[16] = "abcdef\0gh";

static u64 relate(struct kl_event_ctx *f, struct kl_abi_op op, u64 address)
{
	const struct kl_abi_op ops[] = { OP(CONST, .dst = 1, .imm64 = address), op, OP(END) };
	struct kl_program *p = kl_program_create(ops, 3, data, sizeof(data), MAY_ALL, NULL);
	u64 result;

	f->fault = false;
	if (IS_ERR(p))
		return 0xbadbadbad;
	result = kl_program_run(p, f);
	kl_program_destroy(p);
	return result;
}

/* Compares @text by FIELD_TEXT, TEXT and VARIABLE_TEXT; true if all give @expected. */
static bool all_say(const char *text, u32 relation, u32 bytes, bool expected)
{
	u32 length = strlen(text) + 1;
	u8 *string = exact_copy(text, length), fixed[16] = {};
	struct kl_event_ctx f = { .session = &session, .fields = string, .bytes = length };
	const u64 imm64 = TEXT_AT(0, bytes);
	bool right;

	right = relate(&f, OP(FIELD_TEXT, .b = relation, .imm64 = imm64), 0) == expected;
	memcpy(machine.kernel + 3, text, length);
	right &= relate(&f, OP(TEXT, .a = 1, .b = relation, .imm64 = imm64), KERNEL_BASE + 3) ==
		 expected;
	memset(machine.text, 0, sizeof(machine.text));
	memcpy(machine.text, text, length < 16 ? length : 16);
	right &= relate(&f, OP(VARIABLE_TEXT, .imm = VARIABLE_TEXT, .b = relation, .imm64 = imm64),
			0) == expected;
	memcpy(fixed, machine.text, sizeof(fixed));
	f.fields = fixed;
	f.bytes = sizeof(fixed);
	right &= relate(&f, OP(FIELD_TEXT, .b = relation, .imm = 16 << 16, .imm64 = imm64), 0) ==
		 expected;
	free(string);
	return right && !f.fault;
}

static void test_relations(void)
{
	unit_check(all_say("abc", KL_TEXT_EQUAL, 3, true), "equal");
	unit_check(all_say("abd", KL_TEXT_EQUAL, 3, false), "another last byte");
	unit_check(all_say("ab", KL_TEXT_EQUAL, 3, false), "shorter");
	unit_check(all_say("abcd", KL_TEXT_EQUAL, 3, false), "longer");
	unit_check(all_say("", KL_TEXT_EQUAL, 0, true), "both empty");
	unit_check(all_say("a", KL_TEXT_EQUAL, 0, false), "one empty");
	unit_check(all_say("abcdef", KL_TEXT_EQUAL, 9, false), "a NUL is no byte of a text");
	unit_check(all_say("abc", KL_TEXT_PREFIX, 3, true), "a prefix, all of it");
	unit_check(all_say("abcxyz", KL_TEXT_PREFIX, 3, true), "a prefix");
	unit_check(all_say("ab", KL_TEXT_PREFIX, 3, false), "shorter than the prefix");
	unit_check(all_say("", KL_TEXT_PREFIX, 0, true), "an empty prefix");
}

static void test_places(void)
{
	u8 *bytes = exact_copy("\1\2ab\0\3abc", 9);
	struct kl_event_ctx f = { .fields = bytes, .bytes = 9 };
	const u64 abc = TEXT_AT(0, 3);

	unit_check(relate(&f, OP(FIELD_TEXT, .imm = 2, .imm64 = TEXT_AT(0, 2)), 0) == 1 && !f.fault,
		   "a string behind numbers");
	unit_check(relate(&f, OP(FIELD_TEXT, .a = 1, .imm = 1 | 3 << 16, .imm64 = GAPS(2, 0) | abc),
			  0) == 1 &&
			   !f.fault,
		   "a fixed text up to the end, behind a string");
	unit_check(!relate(&f, OP(FIELD_TEXT, .a = 1, .imm = 1, .imm64 = GAPS(2, 0) | abc), 0) &&
			   f.fault,
		   "a string that does not end");
	unit_check(!relate(&f,
			   OP(FIELD_TEXT, .a = 1, .imm = 1 | 4 << 16, .imm64 = GAPS(2, 0) | abc),
			   0) &&
			   f.fault,
		   "a fixed text that is not all there");
	unit_check(!relate(&f, OP(FIELD_TEXT, .imm = 10, .imm64 = abc), 0) && f.fault,
		   "a text behind the end");
	free(bytes);
}

static void test_kernel_text(void)
{
	struct kl_event_ctx f = {};
	const u64 end = KERNEL_BASE + HOLE_AT;

	memcpy(machine.kernel + HOLE_AT - 3, "abc", 3);
	unit_check(!relate(&f, OP(TEXT, .a = 1, .imm64 = TEXT_AT(0, 3)), end - 3) && f.fault,
		   "TEXT: the end cannot be read");
	unit_check(relate(&f, OP(TEXT, .a = 1, .b = KL_TEXT_PREFIX, .imm64 = TEXT_AT(0, 3)),
			  end - 3) == 1 &&
			   !f.fault,
		   "TEXT: but need not");
	unit_check(!relate(&f, OP(TEXT, .a = 1, .imm64 = TEXT_AT(1, 5)), end - 3) && !f.fault,
		   "TEXT: nor if the first byte tells");
	unit_check(!relate(&f, OP(TEXT, .a = 1, .imm64 = TEXT_AT(0, 1)), 0) && f.fault,
		   "TEXT at NULL");
}

/* ------------------------------------------------------------------ output */

/* The output of one operation at @address, into a buffer of exactly the right size. */
static u32 put(struct kl_abi_op op, u64 address, u8 *out, bool *fault)
{
	const struct kl_abi_op ops[] = { OP(CONST, .dst = 1, .imm64 = address), op, OP(END) };
	struct kl_program *p = kl_program_create(ops, 3, NULL, 0, MAY_ALL, NULL);
	struct kl_event_ctx f = {};
	u32 room, bytes;
	u8 *exact;

	if (IS_ERR(p))
		return ~0u;
	room = kl_program_out_bytes(p);
	exact = exact_copy(out, room);
	bytes = kl_program_put(p, &f, exact, room);
	memcpy(out, exact, bytes);
	free(exact);
	kl_program_destroy(p);
	*fault = f.fault;
	return bytes;
}

static void test_put(void)
{
	u8 out[512] = {};
	bool fault, right = true;

	for (u32 b = 0; b < KL_NUMBER_COUNT; b++) {
		u32 size = 1u << b / 2;

		right &= put(OP(PUT, .a = 1, .b = b), 0x8877665544332211ull, out, &fault) == size &&
			 !memcmp(out, "\x11\x22\x33\x44\x55\x66\x77\x88", size) && !fault;
	}
	unit_check(right, "PUT: every type");
	memcpy(machine.kernel + 5, "some\0", 5);
	unit_check(put(OP(PUT_STRING, .a = 1, .imm = 20), KERNEL_BASE + 5, out, &fault) == 5 &&
			   !strcmp((char *)out, "some") && !fault,
		   "PUT_STRING");
	unit_check(put(OP(PUT_STRING, .a = 1, .imm = 3), KERNEL_BASE + 5, out, &fault) == 3 &&
			   !strcmp((char *)out, "so") && !fault,
		   "PUT_STRING: cut");
	unit_check(put(OP(PUT_STRING, .a = 1, .imm = 1), 0, out, &fault) == 1 && !out[0] && !fault,
		   "PUT_STRING: room for the NUL only");
	unit_check(put(OP(PUT_STRING, .a = 1, .imm = 9), 0, out, &fault) == 1 && !out[0] && fault,
		   "PUT_STRING that cannot be read");
	memcpy(machine.kernel + HOLE_AT - 2, "hi", 2);
	unit_check(put(OP(PUT_STRING, .a = 1, .imm = 9), KERNEL_BASE + HOLE_AT - 2, out, &fault) ==
				   3 &&
			   !strcmp((char *)out, "hi") && fault,
		   "PUT_STRING up to what cannot be read");
	unit_check(put(OP(PUT_BYTES, .a = 1, .imm = 5), KERNEL_BASE + 5, out, &fault) == 5 &&
			   !memcmp(out, "some", 5) && !fault,
		   "PUT_BYTES");
	memset(out, 1, sizeof(out));
	unit_check(put(OP(PUT_BYTES, .a = 1, .imm = 5), 0, out, &fault) == 5 &&
			   !memcmp(out, "\0\0\0\0\0", 5) && fault,
		   "PUT_BYTES that cannot be read");
}

static void test_put_user(void)
{
	u8 out[512] = {};
	bool fault;

	memset(machine.user + 64, 'u', 200);
	machine.user[264] = 0;
	unit_check(put(OP(PUT_USER_STRING, .a = 1, .imm = 256), USER_BASE + 70, out, &fault) ==
				   195 &&
			   !out[194] && out[193] == 'u' && !fault,
		   "PUT_USER_STRING, several pieces");
	unit_check(put(OP(PUT_USER_STRING, .a = 1, .imm = 100), USER_BASE + 70, out, &fault) ==
				   100 &&
			   !out[99] && out[98] == 'u' && !fault,
		   "PUT_USER_STRING: cut");
	unit_check(put(OP(PUT_USER_STRING, .a = 1, .imm = 9), KERNEL_BASE, out, &fault) == 1 &&
			   !out[0] && fault,
		   "PUT_USER_STRING from the kernel");
	memset(machine.user + HOLE_AT - 64, 'v', 64);
	unit_check(put(OP(PUT_USER_STRING, .a = 1, .imm = 200), USER_BASE + HOLE_AT - 10, out,
		       &fault) == 11 &&
			   !out[10] && fault,
		   "PUT_USER_STRING up to a hole");
}

static void test_room(void)
{
	const struct kl_abi_op ops[] = { OP(PUT, .b = KL_NUMBER_U32), OP(JUMP, .imm = 1),
					 OP(PUT, .b = KL_NUMBER_U64), OP(END) };
	struct kl_program *p = kl_program_create(ops, 4, NULL, 0, 0, NULL);
	struct kl_event_ctx f = {};
	u8 out[12] = {};

	unit_check(kl_program_out_bytes(p) == 12, "the most that can come out");
	unit_check(kl_program_put(p, &f, out, 12) == 4 && !f.fault, "what does come out");
	unit_check(!kl_program_put(p, &f, out, 11) && f.fault, "not where there is no room");
	f.fault = false;
	unit_check(!kl_program_run(p, &f) && !f.fault, "run without its output");
	kl_program_destroy(p);
}

void texts_run(void)
{
	test_relations();
	test_places();
	test_kernel_text();
	test_put();
	test_put_user();
	test_room();
}
