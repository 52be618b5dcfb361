// SPDX-License-Identifier: GPL-2.0
/* Reads numbers, pointers and expressions of call frame information, which may be damaged. */
#include <string.h>

#include "cfi_internal.h"

uint64_t kl_cfi_take_fixed(struct kl_cfi_bytes *b, size_t n)
{
	uint64_t value = 0;

	if (b->bad || (size_t)(b->end - b->at) < n) {
		b->bad = true;
		return 0;
	}
	memcpy(&value, b->at, n);
	b->at += n;
	return value;
}

static uint64_t take_leb(struct kl_cfi_bytes *b, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte = 0x80;

	while (byte & 0x80 && !b->bad) {
		byte = (uint8_t)kl_cfi_take_fixed(b, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	}
	if (is_signed && shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return value;
}

uint64_t kl_cfi_take_uleb(struct kl_cfi_bytes *b)
{
	return take_leb(b, false);
}

int64_t kl_cfi_take_sleb(struct kl_cfi_bytes *b)
{
	return (int64_t)take_leb(b, true);
}

struct kl_cfi_bytes kl_cfi_take_block(struct kl_cfi_bytes *b, uint64_t n)
{
	struct kl_cfi_bytes block = { b->at, b->at, false };

	if (b->bad || (uint64_t)(b->end - b->at) < n) {
		b->bad = true;
		block.bad = true;
		return block;
	}
	b->at += n;
	block.end = b->at;
	return block;
}

struct kl_cfi_expression kl_cfi_take_expression(struct kl_cfi_bytes *b)
{
	struct kl_cfi_bytes block = kl_cfi_take_block(b, kl_cfi_take_uleb(b));

	return (struct kl_cfi_expression){ block.at, (size_t)(block.end - block.at) };
}

uint64_t kl_cfi_take_pointer(struct kl_cfi_bytes *b, uint8_t encoding,
			     const struct kl_cfi_section *section)
{
	uint64_t base = section->address + (uint64_t)(b->at - section->data), value;

	switch (encoding & 0x0f) {
	case PE_absptr:
	case PE_udata8:
	case PE_sdata8:
		value = kl_cfi_take_fixed(b, 8);
		break;
	case PE_uleb:
		value = kl_cfi_take_uleb(b);
		break;
	case PE_sleb:
		value = (uint64_t)kl_cfi_take_sleb(b);
		break;
	case PE_udata2:
		value = kl_cfi_take_fixed(b, 2);
		break;
	case PE_sdata2:
		value = (uint64_t)(int16_t)kl_cfi_take_fixed(b, 2);
		break;
	case PE_udata4:
		value = kl_cfi_take_fixed(b, 4);
		break;
	case PE_sdata4:
		value = (uint64_t)(int32_t)kl_cfi_take_fixed(b, 4);
		break;
	default:
		b->bad = true;
		return 0;
	}
	if (encoding & 0xe0)
		b->bad = true;
	return encoding & PE_pcrel ? base + value : value;
}

bool kl_cfi_take_breg(struct kl_cfi_bytes *b, uint64_t *number, int64_t *offset)
{
	uint64_t op = kl_cfi_take_fixed(b, 1);

	if (b->bad || op < OP_breg0 || op > OP_breg0 + 31)
		return false;
	*number = op - OP_breg0;
	*offset = kl_cfi_take_sleb(b);
	return !b->bad;
}
