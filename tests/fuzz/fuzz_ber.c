// SPDX-License-Identifier: GPL-2.0
/*
 * A trace in BER (format/ber_read.c and related files), printed in each style, in the reports, and
 * as BER again.
 */
#include <kernlens/ber.h>

#include "shared.h"

#define DEPTH 8

static int next(void *from, struct kl_item *item)
{
	return kl_ber_reader_next(from, item);
}

static void rewind_reader(void *from)
{
	kl_ber_reader_rewind(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_ber_reader *reader = kl_ber_reader_create(data, size);

	if (!reader) {
		fuzz_check_plain(kl_error_text(), strlen(kl_error_text()));
		return 0;
	}
	fuzz_items(&(struct fuzz_items){ reader, next, rewind_reader },
		   kl_ber_reader_schema(reader), kl_ber_reader_about(reader));
	kl_ber_reader_destroy(reader);
	return 0;
}

/* Parses a value's head and length. Returns false at the end or if there is no value. */
static bool take(const uint8_t *at, const uint8_t *end, size_t *head, size_t *length)
{
	const uint8_t *from = at;

	if (end - at < 2)
		return false;
	if ((*at++ & 31) == 31)
		while (at < end && *at++ & 0x80)
			;
	if (at >= end)
		return false;
	*length = *at++;
	if (*length > 0x80) {
		unsigned int n = *length & 0x7f;

		if (n > 4 || (size_t)(end - at) < n)
			return false;
		for (*length = 0; n; n--)
			*length = *length << 8 | *at++;
	}
	*head = (size_t)(at - from);
	return *length <= (size_t)(end - at);
}

/* Changes a value at some depth, and all lengths around it. Returns the new size. */
static size_t mutate(const uint8_t *from, size_t size, uint8_t *to, size_t room, unsigned int *seed,
		     unsigned int depth)
{
	const uint8_t *at = from, *end = from + size;
	size_t head = 0, length = 0, used = 0, n = 0, which, inner;
	uint8_t *copy;

	while (take(at, end, &head, &length)) {
		at += head + length;
		n++;
	}
	if (!n || depth == DEPTH || room < size + 16) {
		memcpy(to, from, size);
		return LLVMFuzzerMutate(to, size, room);
	}
	*seed = *seed * 1103515245u + 12345u;
	which = (*seed >> 16) % n;
	/*
	 * At the top level, the first value, which has the schema, is as likely as all others
	 * together.
	 */
	if (!depth && *seed & 1)
		which = 0;
	for (at = from; which && take(at, end, &head, &length); which--)
		at += head + length;
	if (!take(at, end, &head, &length))
		return LLVMFuzzerMutate(to, 0, room);
	used = (size_t)(at - from);
	memcpy(to, from, used);
	copy = malloc(room);
	fuzz_assert(copy);
	*seed = *seed * 1103515245u + 12345u;
	if ((*at & 0x20) && (*seed >> 16) % 8) {
		inner = mutate(at + head, length, copy, room - used - 16, seed, depth + 1);
	} else {
		memcpy(copy, at + head, length);
		inner = LLVMFuzzerMutate(copy, length, room - used - 16);
	}
	to[used++] = *at;
	for (size_t i = 1; (*at & 31) == 31 && i < head; i++) {
		to[used++] = at[i];
		if (!(at[i] & 0x80))
			break;
	}
	to[used++] = 0x83;
	to[used++] = inner >> 16 & 0xff;
	to[used++] = inner >> 8 & 0xff;
	to[used++] = inner & 0xff;
	if (used + inner > room)
		inner = room - used;
	memcpy(to + used, copy, inner);
	used += inner;
	free(copy);
	at += head + length;
	if ((size_t)(end - at) <= room - used) {
		memcpy(to + used, at, (size_t)(end - at));
		used += (size_t)(end - at);
	}
	return used;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	uint8_t *copy;
	size_t bytes;

	if (seed % 16 == 0 || room < 64)
		return LLVMFuzzerMutate(data, size, room);
	copy = malloc(room);
	fuzz_assert(copy);
	bytes = mutate(data, size, copy, room, &seed, 0);
	memcpy(data, copy, bytes);
	free(copy);
	return bytes;
}
