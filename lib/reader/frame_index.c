// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the frames of a compressed file. Its index, if there is one, only saves reading the header
 * of each frame: what it says is checked again when a frame is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/crc.h"
#include "frame_index.h"

#define SEARCH_BYTES (64u << 10) /* read at once to find the next frame */

bool kl_frame_read_bytes(const struct kl_frame_index *index, uint64_t at, void *to, size_t bytes)
{
	if (at > index->bytes || bytes > index->bytes - at)
		return false;
	return kl_read_at(index->fd, to, bytes, index->base + at) == bytes;
}

static bool is_valid(const struct kl_frame_head *head)
{
	if (head->magic != KL_FRAME_MAGIC || head->version != KL_FRAME_VERSION ||
	    head->crc != kl_frame_crc(head))
		return false;
	if (head->kind == KL_FRAME_INDEX)
		return !head->body_bytes && !head->plain_bytes;
	return (head->kind == KL_FRAME_BYTES || head->kind == KL_FRAME_BLOCKS) &&
	       head->plain_bytes && head->plain_bytes <= KL_FRAME_PLAIN_MAX &&
	       head->columns_bytes <= head->plain_bytes && head->body_bytes &&
	       head->body_bytes <= KL_FRAME_BODY_MAX &&
	       head->table_bytes <= KL_FRAME_PLAIN_MAX / KL_BLOCK_BYTES_MIN * KL_BLOCK_HEADER_BYTES;
}

bool kl_frame_read_head(const struct kl_frame_index *index, uint64_t at, struct kl_frame_head *head)
{
	return kl_frame_read_bytes(index, at, head, sizeof(*head)) && is_valid(head) &&
	       kl_frame_bytes(head) <= index->bytes - at;
}

static int add_place(struct kl_frame_index *index, const struct kl_frame_place *place)
{
	size_t before = index->capacity;
	struct kl_frame_place *places =
		kl_array_grow(index->places, index->n, &index->capacity, sizeof(*places));
	uint64_t *begins;

	if (!places)
		return -ENOMEM;
	index->places = places;
	if (index->capacity != before) {
		begins = reallocarray(index->begins, index->capacity, sizeof(*begins));
		if (!begins)
			return -ENOMEM;
		index->begins = begins;
	}
	places[index->n] = *place;
	index->begins[index->n++] = index->plain_bytes;
	index->plain_bytes += place->plain_bytes;
	return 0;
}

/* ---------------------------------------------------------------- the index */

/* Is it a place of a frame after @end and before @limit? */
static bool is_place(const struct kl_frame_place *place, uint64_t end, uint64_t limit)
{
	return place->at >= end && place->at % KL_FRAME_ALIGN == 0 && place->at <= limit &&
	       place->bytes <= limit - place->at && place->bytes >= sizeof(struct kl_frame_head) &&
	       place->plain_bytes && place->plain_bytes <= KL_FRAME_PLAIN_MAX;
}

/* The header of the file's index. */
static bool find_index(const struct kl_frame_index *index, struct kl_frame_head *head)
{
	struct kl_frame_tail tail;

	return index->bytes > sizeof(tail) &&
	       kl_frame_read_bytes(index, index->bytes - sizeof(tail), &tail, sizeof(tail)) &&
	       tail.magic == KL_FRAME_MAGIC &&
	       tail.crc == kl_crc32c(0, &tail, offsetof(struct kl_frame_tail, crc)) &&
	       kl_frame_read_head(index, tail.index_at, head) && head->kind == KL_FRAME_INDEX &&
	       head->index_at == tail.index_at && tail.index_at % KL_FRAME_ALIGN == 0 &&
	       head->table_bytes % sizeof(struct kl_frame_place) == 0 &&
	       tail.index_at + kl_frame_bytes(head) + sizeof(tail) == index->bytes;
}

/* Returns 1, 0 if the file has no valid index, or -ENOMEM. */
static int take_index(struct kl_frame_index *index)
{
	struct kl_frame_place *places;
	struct kl_frame_head head;
	uint64_t end = 0;
	int ret;

	if (!find_index(index, &head))
		return 0;
	places = malloc(head.table_bytes + 1);
	if (!places)
		return -ENOMEM;
	ret = kl_frame_read_bytes(index, head.index_at + sizeof(head), places, head.table_bytes) &&
	      kl_crc32c(0, places, head.table_bytes) == head.table_crc;
	for (size_t i = 0; ret > 0 && i < head.table_bytes / sizeof(*places); i++) {
		if (!is_place(&places[i], end, head.index_at))
			ret = 0;
		else if (add_place(index, &places[i]))
			ret = -ENOMEM;
		end = places[i].at + places[i].bytes;
	}
	free(places);
	return ret;
}

/* ----------------------------------------------------------- without an index */

/* Where the next valid frame after @at starts; the end of the file if there is none. */
static uint64_t next_frame(const struct kl_frame_index *index, uint64_t at)
{
	uint8_t bytes[SEARCH_BYTES];
	struct kl_frame_head head;

	for (at += KL_FRAME_ALIGN; at < index->bytes; at += sizeof(bytes)) {
		size_t length = index->bytes - at < sizeof(bytes) ? (size_t)(index->bytes - at) :
								    sizeof(bytes);

		if (!kl_frame_read_bytes(index, at, bytes, length))
			break;
		for (size_t i = 0; i + sizeof(uint32_t) <= length; i += KL_FRAME_ALIGN)
			if (kl_get32(bytes + i) == KL_FRAME_MAGIC &&
			    kl_frame_read_head(index, at + i, &head))
				return at + i;
	}
	return index->bytes;
}

static int scan(struct kl_frame_index *index)
{
	int ret = 0;

	index->n = 0;
	index->plain_bytes = 0;
	for (uint64_t at = 0; at < index->bytes && !ret;) {
		struct kl_frame_head head;
		struct kl_frame_place place = { .at = at };
		uint64_t next;

		if (kl_frame_read_head(index, at, &head)) {
			place.bytes = (uint32_t)kl_frame_bytes(&head);
			place.plain_bytes = head.plain_bytes;
			if (head.kind != KL_FRAME_INDEX)
				ret = add_place(index, &place);
			at += kl_frame_bytes(&head);
			continue;
		}
		next = next_frame(index, at);
		index->gone += next - at;
		at = next;
	}
	return ret;
}

int kl_frame_index_read(struct kl_frame_index *index)
{
	int ret = take_index(index);

	return ret > 0 ? 0 : ret < 0 ? ret : scan(index);
}

void kl_frame_index_deinit(struct kl_frame_index *index)
{
	free(index->places);
	free(index->begins);
	index->places = NULL;
	index->begins = NULL;
	index->n = 0;
}

size_t kl_frame_find(const struct kl_frame_index *index, uint64_t at, size_t near)
{
	size_t from = 0, to = index->n;

	for (size_t i = 0; i < 2 && near < index->n; i++, near++)
		if (index->begins[near] <= at &&
		    at - index->begins[near] < index->places[near].plain_bytes)
			return near;
	while (from + 1 < to) {
		size_t middle = (from + to) / 2;

		if (index->begins[middle] <= at)
			from = middle;
		else
			to = middle;
	}
	return from;
}
