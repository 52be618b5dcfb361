// SPDX-License-Identifier: GPL-2.0
/* The plain interpreter: executes one operation after the other. */
#include <string.h>

#include "evaluate.h"

/* @bytes at @address in kernel or user memory; NULL: unmapped. */
static const uint8_t *memory(struct machine *m, uint64_t address, size_t bytes, bool user)
{
	uint64_t base = user ? USER_BASE : KERNEL_BASE, size = user ? USER_BYTES : KERNEL_BYTES;

	if (address < base || address - base > size || size - (address - base) < bytes) {
		m->fault = true;
		return NULL;
	}
	return (user ? m->user : m->kernel) + (address - base);
}

static uint64_t extend(uint64_t value, unsigned int bits, bool is_signed)
{
	if (bits == 64)
		return value;
	value &= (1ull << bits) - 1;
	if (is_signed && value >> (bits - 1))
		value |= ~0ull << bits;
	return value;
}

static uint64_t number(struct machine *m, const uint8_t *at, unsigned int type)
{
	unsigned int bytes = 1u << type / 2;
	uint64_t value = 0;

	if (!at) {
		m->fault = true;
		return 0;
	}
	memcpy(&value, at, bytes);
	return extend(value, 8 * bytes, !(type & 1));
}

/* Where FIELD reads; NULL: out of bounds. */
static const uint8_t *field(struct machine *m, const struct kl_abi_op *op, unsigned int offset,
			    size_t bytes)
{
	unsigned int gap[2] = { op->imm64 >> 32 & 0xffff, op->imm64 >> 48 };
	size_t at = 0;

	for (unsigned int i = 0; i < op->a; i++) {
		at += i < 2 ? gap[i] : 0;
		while (at < m->fields_bytes && m->fields[at])
			at++;
		at++;
	}
	at += offset;
	if (at + bytes > m->fields_bytes) {
		m->fault = true;
		return NULL;
	}
	return m->fields + at;
}

static uint64_t relation(const struct kl_code *code, const struct kl_abi_op *op,
			 const uint8_t *text, size_t most)
{
	const uint8_t *wanted = code->data + (op->imm64 & 0xffff);
	size_t bytes = op->imm64 >> 16 & 0xffff, length;

	if (!text)
		return 0;
	length = strnlen((const char *)text, most);
	if (length < bytes || memcmp(text, wanted, bytes) != 0)
		return 0;
	return op->b == KL_TEXT_PREFIX || length == bytes;
}

static uint64_t divide(struct machine *m, uint64_t a, uint64_t b, unsigned int alu)
{
	if (!b) {
		m->fault = true;
		return 0;
	}
	if ((alu == KL_ALU_DIV || alu == KL_ALU_MOD) && b == ~0ull)
		return alu == KL_ALU_DIV ? -a : 0;
	switch (alu) {
	case KL_ALU_DIV:
		return (int64_t)a / (int64_t)b;
	case KL_ALU_MOD:
		return (int64_t)a % (int64_t)b;
	case KL_ALU_UDIV:
		return a / b;
	default:
		return a % b;
	}
}

static uint64_t calculate(struct machine *m, uint64_t a, uint64_t b, unsigned int alu)
{
	switch (alu) {
	case KL_ALU_ADD:
		return a + b;
	case KL_ALU_SUB:
		return a - b;
	case KL_ALU_MUL:
		return a * b;
	case KL_ALU_AND:
		return a & b;
	case KL_ALU_OR:
		return a | b;
	case KL_ALU_XOR:
		return a ^ b;
	case KL_ALU_SHL:
		return a << (b & 63);
	case KL_ALU_SHR:
		return a >> (b & 63);
	case KL_ALU_SAR:
		return (int64_t)a >> (b & 63);
	case KL_ALU_EQ:
		return a == b;
	case KL_ALU_NE:
		return a != b;
	case KL_ALU_LT:
		return (int64_t)a < (int64_t)b;
	case KL_ALU_LE:
		return (int64_t)a <= (int64_t)b;
	case KL_ALU_ULT:
		return a < b;
	case KL_ALU_ULE:
		return a <= b;
	default:
		return divide(m, a, b, alu);
	}
}

static void put(struct machine *m, const void *bytes, size_t n)
{
	if (n > sizeof(m->out) - m->out_bytes)
		n = sizeof(m->out) - m->out_bytes;
	memcpy(m->out + m->out_bytes, bytes, n);
	m->out_bytes += n;
}

/* At most @most bytes, including the NUL. */
static void put_string(struct machine *m, uint64_t address, size_t most, bool user)
{
	const uint8_t *text = memory(m, address, 1, user);
	uint64_t end = user ? USER_BASE + USER_BYTES : KERNEL_BASE + KERNEL_BYTES;
	size_t room;

	if (text) {
		room = end - address < most - 1 ? end - address : most - 1;
		put(m, text, strnlen((const char *)text, room));
	}
	put(m, "", 1);
}

static void output(const struct kl_abi_op *op, uint64_t value, struct machine *m)
{
	const uint8_t *at;

	switch (op->code) {
	case KL_OP_PUT:
		put(m, &value, 1u << op->b / 2);
		break;
	case KL_OP_PUT_BYTES:
		at = memory(m, value, op->imm, false);
		if (at)
			put(m, at, op->imm);
		break;
	default:
		put_string(m, value, op->imm, op->code == KL_OP_PUT_USER_STRING);
	}
}

static uint64_t text(const struct kl_code *code, const struct kl_abi_op *op, uint64_t a,
		     struct machine *m)
{
	unsigned int bytes = op->imm >> 16;
	const uint8_t *at;

	switch (op->code) {
	case KL_OP_FIELD_TEXT:
		at = field(m, op, op->imm & 0xffff, bytes);
		return relation(code, op, at,
				bytes ? bytes : (size_t)(m->fields + m->fields_bytes - at));
	case KL_OP_TEXT:
		at = memory(m, a, 1, false);
		return relation(code, op, at, KERNEL_BASE + KERNEL_BYTES - a);
	default:
		return relation(code, op, (const uint8_t *)m->variable_text, 16);
	}
}

/* Operations that produce a number and neither jump nor write. */
static uint64_t compute(const struct kl_code *code, const struct kl_abi_op *op, const uint64_t *r,
			struct machine *m)
{
	unsigned int bytes = 1u << op->b / 2;

	switch (op->code) {
	case KL_OP_CONST:
		return op->imm64;
	case KL_OP_MOVE:
		return r[op->a];
	case KL_OP_FIELD:
		return number(m, field(m, op, op->imm, bytes), op->b);
	case KL_OP_ARG:
		return (unsigned int)op->imm < KL_BLOCK_ARGUMENTS ? m->argument[op->imm] : 0;
	case KL_OP_VARIABLE:
		return m->variable[op->imm & 511];
	case KL_OP_CURRENT:
		return m->current;
	case KL_OP_PERCPU:
		return r[op->a] + PERCPU_OFFSET;
	case KL_OP_LOAD:
	case KL_OP_LOAD_USER:
		return number(m, memory(m, r[op->a] + op->imm, bytes, op->code == KL_OP_LOAD_USER),
			      op->b);
	case KL_OP_BITS:
		return extend(r[op->a] >> (op->imm & 255), op->imm >> 8, op->b);
	case KL_OP_ALU:
		return calculate(m, r[op->dst], r[op->a], op->b);
	case KL_OP_FLAG:
		return m->flags >> op->imm & 1;
	case KL_OP_SINCE:
		return op->imm == KL_SINCE_SESSION || m->flags >> op->imm & 1 ? SINCE + op->imm : 0;
	default:
		return text(code, op, op->code == KL_OP_TEXT ? r[op->a] : 0, m);
	}
}

uint64_t evaluate(const struct kl_code *code, struct machine *m)
{
	uint64_t r[KL_PROGRAM_REGISTERS] = { 0 };

	m->fault = false;
	m->out_bytes = 0;
	for (unsigned int i = 0; i < code->n_ops; i++) {
		const struct kl_abi_op *op = &code->ops[i];

		switch (op->code) {
		case KL_OP_END:
			return r[op->a];
		case KL_OP_JUMP:
			i += op->imm;
			break;
		case KL_OP_JUMP_ZERO:
			i += r[op->a] ? 0 : op->imm;
			break;
		case KL_OP_JUMP_NONZERO:
			i += r[op->a] ? op->imm : 0;
			break;
		case KL_OP_PUT:
		case KL_OP_PUT_STRING:
		case KL_OP_PUT_USER_STRING:
		case KL_OP_PUT_BYTES:
			output(op, r[op->a], m);
			break;
		default:
			r[op->dst] = compute(code, op, r, m);
		}
	}
	return 0xbad;
}

static bool is_starred(unsigned int code)
{
	static const uint8_t starred[] = {
		KL_OP_ARG,	  KL_OP_CURRENT,	 KL_OP_PERCPU,
		KL_OP_LOAD,	  KL_OP_LOAD_USER,	 KL_OP_TEXT,
		KL_OP_PUT_STRING, KL_OP_PUT_USER_STRING, KL_OP_PUT_BYTES
	};

	return memchr(starred, code, sizeof(starred));
}

static const char *check_op(const struct kl_code *code, unsigned int i, unsigned int *out)
{
	const struct kl_abi_op *op = &code->ops[i];
	bool is_field = op->code == KL_OP_FIELD || op->code == KL_OP_FIELD_TEXT;

	if (op->code >= KL_OP_COUNT)
		return "unknown operation";
	if (op->dst >= KL_PROGRAM_REGISTERS || (!is_field && op->a >= KL_PROGRAM_REGISTERS))
		return "no such register";
	if (op->code >= KL_OP_JUMP && op->code <= KL_OP_JUMP_NONZERO &&
	    (op->imm < 0 || i + 1 + op->imm >= code->n_ops))
		return "jumps outside";
	if (op->code == KL_OP_BITS &&
	    (op->imm < 256 || (op->imm & 255) + (op->imm >> 8) > 64 || op->b > 1))
		return "impossible bits";
	if (op->code == KL_OP_FIELD_TEXT || op->code == KL_OP_TEXT ||
	    op->code == KL_OP_VARIABLE_TEXT) {
		if ((op->imm64 & 0xffff) + (op->imm64 >> 16 & 0xffff) > code->data_bytes)
			return "text outside the data";
	}
	if (op->code == KL_OP_PUT)
		*out += 1u << op->b / 2;
	if (op->code == KL_OP_PUT_STRING || op->code == KL_OP_PUT_USER_STRING) {
		if (op->imm < 1 || op->imm > KL_STRING_MAX)
			return "impossible length of a string";
		*out += op->imm;
	}
	if (is_starred(op->code) && !(code->may & KL_MAY_HOOK_FUNCTIONS))
		return "a right is missing";
	return NULL;
}

const char *check_code(const struct kl_code *code)
{
	unsigned int out = 0;
	const char *wrong;

	if (!code->n_ops || code->n_ops > KL_PROGRAM_OPS_MAX)
		return "number of operations";
	for (unsigned int i = 0; i < code->n_ops; i++) {
		wrong = check_op(code, i, &out);
		if (wrong)
			return wrong;
	}
	if (code->ops[code->n_ops - 1].code != KL_OP_END)
		return "does not end";
	return out > KL_PROGRAM_OUT_MAX || out != code->out_bytes ? "bytes of output" : NULL;
}
