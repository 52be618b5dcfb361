// SPDX-License-Identifier: GPL-2.0
/*
 * The Basic Encoding Rules themselves, X.690. Writes the shortest encoding, which is also DER; the
 * bytes read may be anything.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "ber.h"

#define HEAD_MAX 16 /* bytes of a tag and a length */
#define NUMBER_MAX 9 /* bytes of a non-negative 64-bit number */
#define TAG_LONG 31 /* the tag number is in the bytes that follow */

/* ------------------------------------------------------------- writing */

static size_t put_tag(uint8_t *at, uint32_t tag)
{
	uint8_t first = KL_BER_CLASS(tag) << 6 | (tag & KL_BER_CONSTRUCTED ? 0x20 : 0);
	uint32_t number = KL_BER_NUMBER(tag);
	size_t n = 0;

	if (number < TAG_LONG) {
		at[n++] = first | number;
		return n;
	}
	at[n++] = first | TAG_LONG;
	for (int shift = 21; shift > 0; shift -= 7)
		if (number >> shift)
			at[n++] = 0x80 | (number >> shift & 0x7f);
	at[n++] = number & 0x7f;
	return n;
}

static size_t put_length(uint8_t *at, size_t length)
{
	size_t bytes = 0;

	if (length < 0x80) {
		at[0] = length;
		return 1;
	}
	for (size_t rest = length; rest; rest >>= 8)
		bytes++;
	at[0] = 0x80 | bytes;
	for (size_t i = bytes; i; i--, length >>= 8)
		at[i] = length;
	return 1 + bytes;
}

static size_t put_head(uint8_t *at, uint32_t tag, size_t length)
{
	size_t n = put_tag(at, tag);

	return n + put_length(at + n, length);
}

void kl_ber_add(struct kl_buffer *buffer, uint32_t tag, const void *bytes, size_t length)
{
	uint8_t head[HEAD_MAX];

	kl_buffer_add(buffer, head, put_head(head, tag, length));
	kl_buffer_add(buffer, bytes, length);
}

void kl_ber_add_number(struct kl_buffer *buffer, uint32_t tag, uint64_t number, bool is_signed)
{
	uint8_t bytes[NUMBER_MAX];
	size_t skip = 0;

	bytes[0] = is_signed && number >> 63 ? 0xff : 0;
	for (int i = NUMBER_MAX - 1; i > 0; i--, number >>= 8)
		bytes[i] = number;
	/* A byte is redundant if it only repeats the next byte's highest bit. */
	while (skip < NUMBER_MAX - 1 && (bytes[skip] == 0 || bytes[skip] == 0xff) &&
	       (bytes[skip] ^ bytes[skip + 1]) < 0x80)
		skip++;
	kl_ber_add(buffer, tag, bytes + skip, NUMBER_MAX - skip);
}

void kl_ber_wrap(struct kl_buffer *buffer, size_t from, uint32_t tag)
{
	uint8_t head[HEAD_MAX];
	size_t n, length = buffer->length - from;

	n = put_head(head, tag, length);
	if (!kl_buffer_reserve(buffer, n))
		return;
	memmove(buffer->data + from + n, buffer->data + from, length);
	memcpy(buffer->data + from, head, n);
	buffer->length += n;
	buffer->data[buffer->length] = 0;
}

/* ------------------------------------------------------------- reading */

static int take_tag(struct kl_ber *from, uint32_t *tag)
{
	uint8_t first, byte;
	uint32_t number;

	if (kl_ber_is_empty(from))
		return -ENODATA;
	first = *from->at++;
	number = first & TAG_LONG;
	if (number == TAG_LONG) {
		number = 0;
		do {
			if (kl_ber_is_empty(from))
				return -ENODATA;
			byte = *from->at++;
			if (number > KL_BER_NUMBER_MAX >> 7 || (!number && byte == 0x80))
				return -EINVAL;
			number = number << 7 | (byte & 0x7f);
		} while (byte & 0x80);
		if (number < TAG_LONG)
			return -EINVAL;
	}
	*tag = (uint32_t)(first >> 6) << 30 | (first & 0x20 ? KL_BER_CONSTRUCTED : 0) | number;
	return 0;
}

static int take_length(struct kl_ber *from, size_t *length)
{
	uint8_t first;

	if (kl_ber_is_empty(from))
		return -ENODATA;
	first = *from->at++;
	*length = first;
	if (first < 0x80)
		return 0;
	/* 0x80 is an indefinite length, which we do not accept. */
	if (first == 0x80 || first > 0x88)
		return -EINVAL;
	*length = 0;
	for (unsigned int i = first & 0x7f; i; i--) {
		if (kl_ber_is_empty(from))
			return -ENODATA;
		*length = *length << 8 | *from->at++;
	}
	return 0;
}

/* A tag number of up to 28 bits and a length of 64. */
#define HEAD_BYTES_MAX 16

int kl_ber_item(struct kl_window *file, uint64_t *at, size_t most, uint32_t *tag,
		struct kl_ber *value)
{
	uint64_t left = file->size > *at ? file->size - *at : 0, behind;
	size_t bytes = left < HEAD_BYTES_MAX ? (size_t)left : HEAD_BYTES_MAX, length = 0;
	const uint8_t *head = kl_window_at(file, *at, bytes);
	struct kl_ber rest = { .at = head, .end = head ? head + bytes : NULL };
	int ret = head ? take_tag(&rest, tag) : -ENODATA;

	if (!ret)
		ret = take_length(&rest, &length);
	if (ret)
		return ret;
	behind = (uint64_t)(rest.at - head);
	if (length > left - behind)
		return -ENODATA;
	if (length > most)
		return -EFBIG;
	value->at = kl_window_at(file, *at + behind, length);
	if (!value->at)
		return file->gone ? -ENODATA : -ENOMEM;
	value->end = value->at + length;
	value->bad = false;
	*at += behind + length;
	return 0;
}

int kl_ber_take(struct kl_ber *from, uint32_t *tag, struct kl_ber *value)
{
	struct kl_ber rest = *from;
	size_t length = 0;
	int ret = take_tag(&rest, tag);

	if (!ret)
		ret = take_length(&rest, &length);
	if (ret)
		return ret;
	if (length > kl_ber_length(&rest))
		return -ENODATA;
	*value = (struct kl_ber){ .at = rest.at, .end = rest.at + length };
	from->at = value->end;
	return 0;
}

bool kl_ber_next_is(const struct kl_ber *from, uint32_t tag)
{
	struct kl_ber rest = *from;
	uint32_t next;

	return !from->bad && !take_tag(&rest, &next) && next == tag;
}

struct kl_ber kl_ber_take_tag(struct kl_ber *from, uint32_t tag)
{
	struct kl_ber value;
	uint32_t next;

	if (!from->bad && !kl_ber_take(from, &next, &value) && next == tag)
		return value;
	from->bad = true;
	from->at = from->end;
	return (struct kl_ber){ .at = from->end, .end = from->end, .bad = true };
}

/* Sets *@negative; the number is extended to 64 bits by its sign. */
static uint64_t take_number(struct kl_ber *from, uint32_t tag, bool *negative)
{
	struct kl_ber value = kl_ber_take_tag(from, tag);
	size_t length = kl_ber_length(&value);
	uint64_t number;

	*negative = length && *value.at & 0x80;
	if (!length || length > NUMBER_MAX || (length == NUMBER_MAX && *value.at)) {
		from->bad = true;
		return 0;
	}
	number = *negative ? ~0ull : 0;
	while (!kl_ber_is_empty(&value))
		number = number << 8 | *value.at++;
	return number;
}

uint64_t kl_ber_take_unsigned(struct kl_ber *from, uint32_t tag, uint64_t most)
{
	bool negative;
	uint64_t number = take_number(from, tag, &negative);

	if (from->bad || negative || number > most) {
		from->bad = true;
		return 0;
	}
	return number;
}

int64_t kl_ber_take_signed(struct kl_ber *from, uint32_t tag, int64_t least, int64_t most)
{
	bool negative;
	uint64_t number = take_number(from, tag, &negative);

	if (from->bad || (!negative && number > INT64_MAX) || (int64_t)number < least ||
	    (int64_t)number > most) {
		from->bad = true;
		return 0;
	}
	return (int64_t)number;
}

/* ----------------------------------------------------------- variables */

struct kl_ber_cpu *kl_ber_cpu(struct kl_ber_cpus *cpus, uint32_t cpu)
{
	size_t from = 0, to = cpus->n;
	struct kl_ber_cpu *array;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (cpus->cpu[middle].cpu < cpu)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < cpus->n && cpus->cpu[from].cpu == cpu)
		return &cpus->cpu[from];
	if (cpus->n == KL_BER_CPUS_MAX)
		return NULL;
	array = kl_array_grow(cpus->cpu, cpus->n, &cpus->capacity, sizeof(*array));
	if (!array)
		return NULL;
	cpus->cpu = array;
	memmove(&array[from + 1], &array[from], (cpus->n - from) * sizeof(*array));
	array[from] = (struct kl_ber_cpu){ .cpu = cpu };
	cpus->n++;
	return &array[from];
}
