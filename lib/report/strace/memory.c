// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that a call's arguments point to, from the events strace_memory and strace_list. The
 * printers of arguments look it up by address, whichever event it comes from.
 */
#include <string.h>

#include "../../base/base.h"
#include "call.h"

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static int digit_of(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_piece(struct kl_call *c, const struct kl_piece *piece)
{
	kl_buffer_add(&c->pieces, piece, sizeof(*piece));
}

void kl_call_add_memory(struct kl_call *c, uint64_t address, bool is_exit, const uint8_t *digits,
			size_t length)
{
	struct kl_piece piece = { .address = address, .length = length / 2, .is_exit = is_exit };

	for (size_t i = 0; i < length / 2 * 2; i++)
		if (digit_of(digits[i]) < 0)
			return;
	add_piece(c, &piece);
	for (size_t i = 0; i < padded(piece.length); i++) {
		uint8_t byte = 0;

		if (i < piece.length)
			byte = digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]);
		kl_buffer_add_char(&c->pieces, byte);
	}
}

void kl_call_add_list(struct kl_call *c, uint64_t address, bool is_exit, uint32_t entries,
		      bool has_more)
{
	const struct kl_piece piece = { .address = address,
					.entries = entries,
					.is_exit = is_exit,
					.is_list = true,
					.has_more = has_more };

	add_piece(c, &piece);
}

static const struct kl_piece *next_piece(const struct kl_call *c, const struct kl_piece *piece)
{
	const char *at = c->pieces.data, *end = at + c->pieces.length;

	if (piece)
		at = (const char *)(piece + 1) + padded(piece->length);
	return at && at < end ? (const struct kl_piece *)(const void *)at : NULL;
}

/* Copy from the piece that has @address; returns the number of bytes. */
static size_t copy_from(const struct kl_call *c, bool is_exit, uint64_t address, uint8_t *to,
			size_t most)
{
	for (const struct kl_piece *p = NULL; (p = next_piece(c, p));) {
		uint64_t offset = address - p->address;

		if (p->is_exit != is_exit || p->is_list || address < p->address ||
		    offset >= p->length)
			continue;
		if (most > p->length - offset)
			most = p->length - offset;
		memcpy(to, (const uint8_t *)(p + 1) + offset, most);
		return most;
	}
	return 0;
}

static size_t copy_some(const struct kl_call *c, bool exit, bool entry, uint64_t address,
			uint8_t *to, size_t most)
{
	size_t done = 0;

	while (done < most) {
		size_t got = 0;

		if (exit)
			got = copy_from(c, true, address + done, to + done, most - done);
		if (!got && entry)
			got = copy_from(c, false, address + done, to + done, most - done);
		if (!got)
			break;
		done += got;
	}
	return done;
}

bool kl_call_peek_entry(const struct kl_call *c, uint64_t address, void *to, size_t bytes)
{
	return copy_some(c, false, true, address, to, bytes) == bytes;
}

bool kl_call_peek(const struct kl_call *c, uint64_t address, void *to, size_t bytes)
{
	return kl_call_peek_some(c, address, to, bytes) == bytes;
}

size_t kl_call_peek_some(const struct kl_call *c, uint64_t address, void *to, size_t most)
{
	return copy_some(c, c->leaving, true, address, to, most);
}

bool kl_call_word(const struct kl_call *c, unsigned int index, uint64_t *word)
{
	for (const struct kl_piece *p = NULL; (p = next_piece(c, p));) {
		if (p->is_list || p->length != sizeof(*word) || index--)
			continue;
		memcpy(word, p + 1, sizeof(*word));
		return true;
	}
	return false;
}

const struct kl_piece *kl_call_find_list(const struct kl_call *c, uint64_t address)
{
	for (const struct kl_piece *p = NULL; (p = next_piece(c, p));)
		if (p->is_list && p->address == address)
			return p;
	return NULL;
}
