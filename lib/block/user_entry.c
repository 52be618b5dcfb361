// SPDX-License-Identifier: GPL-2.0
/*
 * Finds where a program's text may be entered, for relocating instructions. This is a superset of
 * the leaders, which define the blocks that users see. In functions that decode completely, it
 * consists of what their instructions refer to. In everything else, such as the parts of a stripped
 * file that have no symbols, it consists of the targets of anything that could be a jump, at any
 * byte.
 */
#include <errno.h>

#include "../base/base.h"
#include "block.h"
#include "user_patch.h"

static int add(struct kl_blocks *b, uint64_t address)
{
	if (address < b->begin || address >= b->end)
		return 0;
	return kl_set_add(&b->entry, address);
}

/* Returns 1 if the function decodes up to its end, 0 if not, or -ENOMEM. */
static int read_function(struct kl_blocks *b, const struct kl_function_entry *f)
{
	struct kl_block_instruction in;
	struct kl_taken taken;
	int ret = 0;

	for (uint64_t at = f->address; at < f->address + f->bytes && !ret; at += in.bytes) {
		uint64_t left = f->address + f->bytes - at;

		if (!kl_decode_shape(b, at, left, &in, &taken))
			return kl_is_padding(kl_text_of(b, at), left);
		if (in.target)
			ret = add(b, in.target);
		if (taken.taken && !ret)
			ret = add(b, taken.taken);
	}
	return ret ? ret : 1;
}

/* Jumps and calls by 1 and 4 bytes, and addresses that are taken, starting at any byte. */
static int scan(struct kl_blocks *b, uint64_t begin, uint64_t end)
{
	int ret = 0;

	for (uint64_t at = begin; at < end && !ret; at++) {
		const uint8_t *text = kl_text_of(b, at);
		bool near = (text[0] & 0xf0) == 0x70 || text[0] == 0xeb || (text[0] & 0xfc) == 0xe0;
		bool far = text[0] == 0xe8 || text[0] == 0xe9;
		bool branch = text[0] == 0x0f && (text[1] & 0xf0) == 0x80;
		bool taken = text[0] == 0x8d && (text[1] & 0xc7) == 0x05;

		/* This may read beyond the end of the text, where there is padding. */
		if (near)
			ret = add(b, at + 2 + (uint64_t)(int64_t)(int8_t)text[1]);
		else if (far)
			ret = add(b, at + 5 + (uint64_t)(int64_t)(int32_t)kl_get32(text + 1));
		else if (branch || taken)
			ret = add(b, at + 6 + (uint64_t)(int64_t)(int32_t)kl_get32(text + 2));
	}
	return ret;
}

int kl_user_entries(struct kl_blocks *b)
{
	uint64_t known = b->begin;
	int ret = 0;

	for (size_t i = 0; i < b->functions && !ret; i++) {
		const struct kl_function_entry *f = &b->function[i];

		ret = add(b, f->address);
		if (!ret && known < f->address)
			ret = scan(b, known, f->address);
		if (!ret)
			ret = read_function(b, f);
		if (!ret)
			ret = scan(b, f->address, f->address + f->bytes);
		if (ret > 0)
			ret = 0;
		if (known < f->address + f->bytes)
			known = f->address + f->bytes;
	}
	if (!ret && known < b->end)
		ret = scan(b, known, b->end);
	if (ret)
		return kl_fail(ENOMEM, "out of memory");
	kl_set_sort(&b->entry);
	return 0;
}

bool kl_user_is_entered(const struct kl_blocks *b, uint64_t begin, uint64_t end)
{
	size_t i = kl_set_from(&b->entry, begin);

	return i < b->entry.n && b->entry.at[i] < end;
}
