// SPDX-License-Identifier: GPL-2.0
/*
 * A file in pieces: a page with a header, then pieces, each after its place and length as two
 * big-endian numbers. Both are -1 after the last one. What is written twice, such as headers that
 * become known at the end, is what was written last.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "flat.h"

#define HEADER_BYTES 4096
#define PIECES_MAX (1u << 26)

struct piece_head {
	uint64_t at;
	uint64_t bytes;
};

/* @bytes of the file from @at on are at @offset of the file of pieces. */
struct piece {
	uint64_t at;
	uint64_t bytes;
	uint64_t offset;
};

/* @pieces: in order, without overlaps */
struct kl_flat {
	int fd;
	struct piece *pieces;
	size_t n, room;
};

bool kl_flat_is(const void *head)
{
	static const char magic[16] = "makedumpfile";

	return !memcmp(head, magic, sizeof(magic));
}

/* Of pieces at one place, the latest comes first. */
static int compare(const void *one, const void *two)
{
	const struct piece *a = one, *b = two;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->offset > b->offset ? -1 : a->offset < b->offset;
}

/* Of pieces with the same place and length, keep the latest. */
static int sort_pieces(struct kl_flat *flat)
{
	size_t n = 0;

	qsort(flat->pieces, flat->n, sizeof(*flat->pieces), compare);
	for (size_t i = 0; i < flat->n; i++) {
		const struct piece p = flat->pieces[i];
		const struct piece *before = n ? &flat->pieces[n - 1] : NULL;

		if (before && p.at == before->at && p.bytes == before->bytes)
			continue;
		if (before && p.at - before->at < before->bytes)
			return kl_fail(EINVAL, "pieces of it overlap");
		flat->pieces[n++] = p;
	}
	flat->n = n;
	return 0;
}

/* As far as the file goes: it may be cut off. */
static int find_pieces(struct kl_flat *flat, uint64_t size)
{
	struct piece_head head;
	uint64_t at = HEADER_BYTES;

	while (at < size && size - at >= sizeof(head) && flat->n < PIECES_MAX) {
		struct piece *grown, p;

		if (kl_read_at(flat->fd, &head, sizeof(head), at) != sizeof(head))
			break;
		p = (struct piece){ be64toh(head.at), be64toh(head.bytes), at + sizeof(head) };
		if (p.at > INT64_MAX || p.bytes > size - p.offset)
			break;
		at = p.offset + p.bytes;
		if (!p.bytes)
			continue;
		grown = kl_array_grow(flat->pieces, flat->n, &flat->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		flat->pieces = grown;
		grown[flat->n++] = p;
	}
	return flat->n ? sort_pieces(flat) : kl_fail(EINVAL, "it is cut off");
}

struct kl_flat *kl_flat_open(int fd, uint64_t bytes)
{
	struct kl_flat *flat = calloc(1, sizeof(*flat));
	int error;

	if (!flat) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	flat->fd = fd;
	error = find_pieces(flat, bytes);
	if (!error)
		return flat;
	kl_flat_close(flat);
	errno = -error;
	return NULL;
}

void kl_flat_close(struct kl_flat *flat)
{
	if (!flat)
		return;
	free(flat->pieces);
	free(flat);
}

uint64_t kl_flat_bytes(const struct kl_flat *flat)
{
	const struct piece *last = &flat->pieces[flat->n - 1];

	return last->at + last->bytes;
}

static const struct piece *find(const struct kl_flat *flat, uint64_t at)
{
	size_t low = 0, high = flat->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct piece *p = &flat->pieces[middle];

		if (at < p->at)
			high = middle;
		else if (at - p->at >= p->bytes)
			low = middle + 1;
		else
			return p;
	}
	return NULL;
}

bool kl_flat_read(const struct kl_flat *flat, uint64_t at, void *to, size_t bytes)
{
	uint8_t *into = to;

	while (bytes) {
		const struct piece *p = find(flat, at);
		uint64_t skip, part;

		if (!p)
			return false;
		skip = at - p->at;
		part = p->bytes - skip < bytes ? p->bytes - skip : bytes;
		if (kl_read_at(flat->fd, into, part, p->offset + skip) != part)
			return false;
		at += part;
		into += part;
		bytes -= part;
	}
	return true;
}
