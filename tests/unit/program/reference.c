// SPDX-License-Identifier: GPL-2.0
/*
 * An interpreter that does what the contract defines for each operation, one after the other and a
 * byte at a time. kernel/core/program_run.c is compared with it. It knows nothing of steps.
 */
#include "machine.h"

struct state {
	const struct kl_abi_op *op;
	const u8 *data;
	const struct kl_event_ctx *f;
	struct outcome *outcome;
	u64 r[KL_PROGRAM_REGISTERS];
};

static u64 extend(const u8 *bytes, u32 type)
{
	u32 size = 1u << (type / 2);
	u64 number = 0;

	for (u32 i = 0; i < size; i++)
		number |= (u64)bytes[i] << 8 * i;
	if (type % 2 == 0 && bytes[size - 1] & 0x80)
		for (u32 i = size; i < 8; i++)
			number |= 0xffull << 8 * i;
	return number;
}

static u64 fault(struct state *s)
{
	s->outcome->fault = true;
	return 0;
}

/* Where FIELD and FIELD_TEXT of an operation read; false if they would read outside. */
static bool place_of(const struct state *s, u32 offset, u32 *place)
{
	u32 at = 0;

	for (u32 string = 0; string < s->op->a; string++) {
		if (string == 0)
			at += s->op->imm64 >> 32 & 0xffff;
		if (string == 1)
			at += s->op->imm64 >> 48;
		while (at < s->f->bytes && s->f->fields[at])
			at++;
		if (at >= s->f->bytes)
			return false;
		at++;
	}
	*place = at + offset;
	return *place <= s->f->bytes;
}

static u64 relate(const struct state *s, const u8 *text, u32 length)
{
	const u8 *wanted = s->data + (s->op->imm64 & 0xffff);
	u32 bytes = s->op->imm64 >> 16 & 0xffff;

	if (s->op->b == KL_TEXT_EQUAL && length != bytes)
		return 0;
	for (u32 i = 0; i < bytes; i++)
		if (i >= length || text[i] != wanted[i])
			return 0;
	return 1;
}

static u64 field_text(struct state *s)
{
	u32 place, length = 0, fixed = (u32)s->op->imm >> 16;

	if (!place_of(s, s->op->imm & 0xffff, &place))
		return fault(s);
	if (fixed && place + fixed > s->f->bytes)
		return fault(s);
	while (place + length < s->f->bytes && s->f->fields[place + length] &&
	       (!fixed || length < fixed))
		length++;
	if (!fixed && place + length >= s->f->bytes)
		return fault(s);
	return relate(s, s->f->fields + place, length);
}

/* An unreadable byte matters only if the ones before it do not decide. */
static u64 kernel_text(struct state *s)
{
	const u8 *wanted = s->data + (s->op->imm64 & 0xffff);
	u32 bytes = s->op->imm64 >> 16 & 0xffff;
	u8 byte;

	for (u32 i = 0; i < bytes; i++) {
		if (!kl_kernel_copy(&byte, s->r[s->op->a] + i, 1))
			return fault(s);
		if (!byte || byte != wanted[i])
			return 0;
	}
	if (s->op->b == KL_TEXT_PREFIX)
		return 1;
	if (!kl_kernel_copy(&byte, s->r[s->op->a] + bytes, 1))
		return fault(s);
	return !byte;
}

static u64 memory(struct state *s, bool (*copy)(void *to, u64 from, u32 bytes))
{
	u8 bytes[8];

	if (!copy(bytes, s->r[s->op->a] + s->op->imm, 1u << s->op->b / 2))
		return fault(s);
	return extend(bytes, s->op->b);
}

static u64 bits(u64 number, u32 from, u32 width, bool is_signed)
{
	u64 result = 0;

	for (u32 i = 0; i < width; i++)
		result |= (number >> (from + i) & 1) << i;
	if (is_signed && result >> (width - 1) & 1)
		for (u32 i = width; i < 64; i++)
			result |= 1ull << i;
	return result;
}

static u64 calculate(struct state *s, u64 x, u64 y)
{
	__int128 signed_x = (s64)x, signed_y = (s64)y;
	u32 alu = s->op->b;

	if (alu >= KL_ALU_DIV && alu <= KL_ALU_UMOD && !y)
		return fault(s);
	switch (alu) {
	case KL_ALU_ADD:
		return x + y;
	case KL_ALU_SUB:
		return x - y;
	case KL_ALU_MUL:
		return x * y;
	case KL_ALU_DIV:
		return (u64)(signed_x / signed_y);
	case KL_ALU_MOD:
		return (u64)(signed_x % signed_y);
	case KL_ALU_UDIV:
		return x / y;
	case KL_ALU_UMOD:
		return x % y;
	case KL_ALU_AND:
		return x & y;
	case KL_ALU_OR:
		return x | y;
	case KL_ALU_XOR:
		return x ^ y;
	case KL_ALU_SHL:
		return x << y % 64;
	case KL_ALU_SHR:
		return x >> y % 64;
	case KL_ALU_SAR:
		return (u64)(signed_x >> y % 64);
	case KL_ALU_EQ:
		return x == y;
	case KL_ALU_NE:
		return x != y;
	case KL_ALU_LT:
		return signed_x < signed_y;
	case KL_ALU_LE:
		return signed_x <= signed_y;
	case KL_ALU_ULT:
		return x < y;
	default:
		return x <= y;
	}
}

static void put_byte(struct state *s, u8 byte)
{
	s->outcome->out[s->outcome->bytes++] = byte;
}

static void put_text(struct state *s, bool (*copy)(void *to, u64 from, u32 bytes))
{
	u64 from = s->r[s->op->a];
	u8 byte = 0;

	for (s32 i = 0; i < s->op->imm - 1; i++) {
		if (!copy(&byte, from + i, 1)) {
			fault(s);
			break;
		}
		if (!byte)
			break;
		put_byte(s, byte);
	}
	put_byte(s, 0);
}

static void put_bytes(struct state *s)
{
	u8 bytes[KL_PROGRAM_OUT_MAX] = {};

	if (!kl_kernel_copy(bytes, s->r[s->op->a], s->op->imm))
		fault(s);
	for (s32 i = 0; i < s->op->imm; i++)
		put_byte(s, bytes[i]);
}

static u64 set_register(struct state *s)
{
	const struct kl_abi_op *op = s->op;
	char text[KL_VARIABLE_TEXT_MAX];
	u64 word;
	u32 place;

	switch (op->code) {
	case KL_OP_CONST:
		return op->imm64;
	case KL_OP_MOVE:
		return s->r[op->a];
	case KL_OP_FIELD:
		if (!place_of(s, op->imm, &place) || place + (1u << op->b / 2) > s->f->bytes)
			return fault(s);
		return extend(s->f->fields + place, op->b);
	case KL_OP_ARG:
		return (u32)op->imm < s->f->arguments ? s->f->argument[op->imm] : fault(s);
	case KL_OP_VARIABLE:
		if (kl_variable_kind(op->imm) == KL_VARIABLE_TEXT) {
			kl_variable_text(s->f->session, op->imm, text);
			memcpy(&word, text + 8 * op->b, sizeof(word));
			return word;
		}
		return kl_variable_number(s->f->session, op->imm, &s->outcome->fault);
	case KL_OP_CURRENT:
		return (u64)(unsigned long)kl_running_task();
	case KL_OP_PERCPU:
		return s->r[op->a] + kl_percpu_offset();
	case KL_OP_LOAD:
		return memory(s, kl_kernel_copy);
	case KL_OP_LOAD_USER:
		return memory(s, kl_user_copy);
	case KL_OP_BITS:
		return bits(s->r[op->a], op->imm & 255, op->imm >> 8, op->b);
	case KL_OP_ALU:
		return calculate(s, s->r[op->dst], s->r[op->a]);
	case KL_OP_FIELD_TEXT:
		return field_text(s);
	case KL_OP_TEXT:
		return kernel_text(s);
	case KL_OP_VARIABLE_TEXT:
		kl_variable_text(s->f->session, op->imm, text);
		return relate(s, (const u8 *)text, strnlen(text, sizeof(text)));
	case KL_OP_SINCE:
		return kl_flag_since(s->f->session, op->imm, &s->outcome->fault);
	default:
		return kl_flag_test(s->f->session, op->imm);
	}
}

void reference_run(const struct kl_abi_op *op, const u8 *data, const struct kl_event_ctx *f,
		   struct outcome *outcome)
{
	struct state s = { .op = op, .data = data, .f = f, .outcome = outcome };
	u64 number;

	memset(outcome, 0, sizeof(*outcome));
	for (;; s.op++) {
		number = s.r[s.op->a % KL_PROGRAM_REGISTERS];
		switch (s.op->code) {
		case KL_OP_END:
			outcome->result = number;
			return;
		case KL_OP_JUMP:
			s.op += s.op->imm;
			break;
		case KL_OP_JUMP_ZERO:
			s.op += number ? 0 : s.op->imm;
			break;
		case KL_OP_JUMP_NONZERO:
			s.op += number ? s.op->imm : 0;
			break;
		case KL_OP_PUT:
			for (u32 i = 0; i < 1u << s.op->b / 2; i++)
				put_byte(&s, number >> 8 * i);
			break;
		case KL_OP_PUT_STRING:
			put_text(&s, kl_kernel_copy);
			break;
		case KL_OP_PUT_USER_STRING:
			put_text(&s, kl_user_copy);
			break;
		case KL_OP_PUT_BYTES:
			put_bytes(&s);
			break;
		default:
			s.r[s.op->dst] = set_register(&s);
		}
	}
}
