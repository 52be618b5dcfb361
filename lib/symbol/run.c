// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the programs of expressions over events that have been recorded: one operation after the
 * other, as uapi/define.h defines them. Only operations that read the record are possible.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "expression.h"
#include "run.h"

int kl_run_check(const struct kl_code *code, const char *text)
{
	for (unsigned int i = 0; i < code->n_ops; i++) {
		switch (code->ops[i].code) {
		case KL_OP_END:
		case KL_OP_CONST:
		case KL_OP_MOVE:
		case KL_OP_FIELD:
		case KL_OP_VARIABLE:
		case KL_OP_BITS:
		case KL_OP_ALU:
		case KL_OP_JUMP:
		case KL_OP_JUMP_ZERO:
		case KL_OP_JUMP_NONZERO:
		case KL_OP_FIELD_TEXT:
		case KL_OP_VARIABLE_TEXT:
			break;
		default:
			return kl_fail(EINVAL,
				       "\"%s\" cannot be computed from recorded events: flags, "
				       "memory and the running task are known only when an event "
				       "happens",
				       text);
		}
	}
	return 0;
}

/* The field that an operation refers to, of at least @bytes; NULL: the record is too short. */
static const uint8_t *find_field(const struct kl_abi_op *op, unsigned int offset, size_t bytes,
				 const struct kl_event *event)
{
	unsigned int gap[2] = { op->imm64 >> 32 & 0xffff, (unsigned int)(op->imm64 >> 48) };
	const uint8_t *at = event->payload, *end = at + event->payload_bytes;

	for (unsigned int i = 0; i < op->a; i++) {
		unsigned int skip = i < 2 ? gap[i] : 0;
		const uint8_t *zero;

		if ((size_t)(end - at) < skip)
			return NULL;
		at += skip;
		zero = memchr(at, 0, (size_t)(end - at));
		if (!zero)
			return NULL;
		at = zero + 1;
	}
	if ((size_t)(end - at) < offset || (size_t)(end - at) - offset < bytes)
		return NULL;
	return at + offset;
}

static uint64_t extend(uint64_t value, unsigned int bits, bool is_signed)
{
	unsigned int unused = 64 - bits;

	value <<= unused;
	return is_signed ? (uint64_t)((int64_t)value >> unused) : value >> unused;
}

static uint64_t field(const struct kl_abi_op *op, const struct kl_event *event)
{
	unsigned int bytes = 1u << op->b / 2;
	const uint8_t *at = find_field(op, (unsigned int)op->imm, bytes, event);
	uint64_t value = 0;

	if (!at)
		return 0;
	memcpy(&value, at, bytes);
	return extend(value, 8 * bytes, !(op->b & 1));
}

static uint64_t relation(const struct kl_run *run, const struct kl_abi_op *op, const void *text,
			 size_t length)
{
	size_t wanted = op->imm64 >> 16 & 0xffff;

	if (length < wanted || memcmp(text, run->data + (op->imm64 & 0xffff), wanted) != 0)
		return 0;
	return op->b == KL_TEXT_PREFIX || length == wanted;
}

static uint64_t field_text(const struct kl_run *run, const struct kl_abi_op *op,
			   const struct kl_event *event)
{
	unsigned int size = (uint32_t)op->imm >> 16;
	const uint8_t *at = find_field(op, op->imm & 0xffff, size ? size : 1, event);

	if (!at)
		return 0;
	if (!size)
		size = (unsigned int)(event->payload + event->payload_bytes - at);
	return relation(run, op, at, strnlen((const char *)at, size));
}

static uint64_t variable(const struct kl_abi_op *op, const struct kl_event *event)
{
	switch (op->imm) {
	case KL_RECORDED_TID:
		return (uint64_t)event->task.tid;
	case KL_RECORDED_PID:
		return (uint64_t)event->task.pid;
	case KL_RECORDED_CPU:
		return event->cpu;
	default:
		return kl_event_variable(event, (unsigned int)op->imm).number;
	}
}

static uint64_t variable_text(const struct kl_run *run, const struct kl_abi_op *op,
			      const struct kl_event *event)
{
	struct kl_value value;

	if (op->imm == KL_RECORDED_COMM)
		return relation(run, op, event->task.comm, strlen(event->task.comm));
	value = kl_event_variable(event, (unsigned int)op->imm);
	return relation(run, op, value.bytes, value.length);
}

static uint64_t divide(unsigned int alu, uint64_t a, uint64_t b)
{
	if (!b)
		return 0;
	switch (alu) {
	case KL_ALU_UDIV:
		return a / b;
	case KL_ALU_UMOD:
		return a % b;
	case KL_ALU_DIV:
		/* The least number divided by -1 overflows in C. */
		return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
	default:
		return b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	}
}

static uint64_t calculate(unsigned int alu, uint64_t a, uint64_t b)
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
		return (uint64_t)((int64_t)a >> (b & 63));
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
		return divide(alu, a, b);
	}
}

/* The value of an operation that sets a register. */
static uint64_t value(const struct kl_run *run, const struct kl_abi_op *op, const uint64_t *r,
		      const struct kl_event *event)
{
	switch (op->code) {
	case KL_OP_CONST:
		return op->imm64;
	case KL_OP_MOVE:
		return r[op->a];
	case KL_OP_FIELD:
		return field(op, event);
	case KL_OP_VARIABLE:
		return variable(op, event);
	case KL_OP_BITS:
		return extend(r[op->a] >> (op->imm & 255), (unsigned int)op->imm >> 8, op->b);
	case KL_OP_ALU:
		return calculate(op->b, r[op->dst], r[op->a]);
	case KL_OP_FIELD_TEXT:
		return field_text(run, op, event);
	default: /* KL_OP_VARIABLE_TEXT */
		return variable_text(run, op, event);
	}
}

int kl_run_init(struct kl_run *run, const struct kl_code *code)
{
	const size_t bytes = code->n_ops * sizeof(*code->ops);

	run->ops = malloc(bytes);
	run->data = malloc(code->data_bytes + 1);
	if (!run->ops || !run->data) {
		kl_run_deinit(run);
		return kl_fail(ENOMEM, "out of memory");
	}
	memcpy(run->ops, code->ops, bytes);
	memcpy(run->data, code->data, code->data_bytes);
	return 0;
}

void kl_run_deinit(struct kl_run *run)
{
	free(run->ops);
	free(run->data);
	*run = (struct kl_run){ 0 };
}

uint64_t kl_run(const struct kl_run *run, const struct kl_event *event)
{
	uint64_t r[KL_PROGRAM_REGISTERS] = { 0 };

	for (const struct kl_abi_op *op = run->ops;; op++) {
		switch (op->code) {
		case KL_OP_END:
			return r[op->a];
		case KL_OP_JUMP:
			op += op->imm;
			break;
		case KL_OP_JUMP_ZERO:
			op += r[op->a] ? 0 : op->imm;
			break;
		case KL_OP_JUMP_NONZERO:
			op += r[op->a] ? op->imm : 0;
			break;
		default:
			r[op->dst] = value(run, op, r, event);
		}
	}
}
