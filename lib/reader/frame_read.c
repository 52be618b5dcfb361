// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a compressed file as if it were not compressed. One frame at a time is in memory, and of
 * its blocks one: reading in order restores each block once. The headers of blocks are not
 * compressed, so a reader that skips blocks decompresses nothing. The file may be anything and may
 * change while it is read; sizes in it are only used within their limits.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include <kernlens/cursor.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "frame.h"
#include "frame_index.h"

#define NONE SIZE_MAX

/*
 * @at: number of the frame in memory, or NONE
 * @stored: its table and body
 * @has_body: @columns have been decompressed
 * @bad: its body cannot be decompressed, or is not what it should be
 * @starts: where the parts that are restored at once start, and where the last ends; blocks, or
 *          the whole frame
 * @part: number of the one in @plain, or NONE
 * @next: number of the one that @join restores next
 * @span: a copy of bytes of more than one part
 */
struct frames {
	struct kl_frame_index index;
	bool owned;
	bool verify;
	size_t at;
	struct kl_frame_head head;
	uint8_t *stored;
	size_t stored_room;
	uint8_t *columns;
	size_t columns_room;
	bool has_body;
	bool bad;
	uint32_t starts[KL_FRAME_PLAIN_MAX / KL_BLOCK_BYTES_MIN + 1];
	size_t n_parts;
	uint8_t *plain;
	size_t plain_room;
	size_t part;
	size_t next;
	uint32_t crc;
	uint8_t *span;
	size_t span_room;
	struct kl_join *join;
	ZSTD_DCtx *zstd;
};

static bool make_room(uint8_t **bytes, size_t *room, size_t wanted)
{
	uint8_t *more;

	if (wanted <= *room)
		return true;
	more = malloc(wanted);
	if (!more)
		return false;
	free(*bytes);
	*bytes = more;
	*room = wanted;
	return true;
}

/* -------------------------------------------------------------- one frame */

/* The frame's blocks, by their headers: their sizes must add up. */
static bool take_table(struct frames *f)
{
	const struct kl_abi_block *block = (const struct kl_abi_block *)f->stored;
	uint32_t n = f->head.table_bytes / sizeof(*block);
	uint64_t at = 0;

	f->n_parts = 0;
	f->starts[0] = 0;
	if (f->head.kind == KL_FRAME_BYTES) {
		f->n_parts = 1;
		f->starts[1] = f->head.plain_bytes;
		return !f->head.table_bytes;
	}
	if (f->head.table_bytes % sizeof(*block) || n >= KL_ARRAY_SIZE(f->starts))
		return false;
	for (; f->n_parts < n; block++) {
		uint64_t bytes = block->packet_bits / 8;

		if (!bytes || bytes > f->head.plain_bytes - at || bytes % KL_BLOCK_BYTES_MIN)
			return false;
		at += bytes;
		f->starts[++f->n_parts] = (uint32_t)at;
	}
	return at == f->head.plain_bytes;
}

/* Read frame @number without its body. */
static bool load_frame(struct frames *f, size_t number)
{
	const struct kl_frame_place *place = &f->index.places[number];

	if (f->at == number)
		return true;
	f->at = NONE;
	f->part = NONE;
	f->next = 0;
	f->crc = 0;
	f->has_body = false;
	f->bad = false;
	if (!kl_frame_read_head(&f->index, place->at, &f->head) ||
	    f->head.plain_bytes != place->plain_bytes || kl_frame_bytes(&f->head) != place->bytes ||
	    f->head.kind == KL_FRAME_INDEX)
		return false;
	if (!make_room(&f->stored, &f->stored_room, f->head.table_bytes + f->head.body_bytes) ||
	    !kl_frame_read_bytes(&f->index, place->at + sizeof(f->head), f->stored,
				 f->head.table_bytes) ||
	    kl_crc32c(0, f->stored, f->head.table_bytes) != f->head.table_crc || !take_table(f))
		return false;
	f->at = number;
	return true;
}

static bool decompress(struct frames *f, uint8_t *to)
{
	uint64_t at = f->index.places[f->at].at + sizeof(f->head) + f->head.table_bytes;
	uint8_t *body = f->stored + f->head.table_bytes;

	return kl_frame_read_bytes(&f->index, at, body, f->head.body_bytes) &&
	       kl_crc32c(0, body, f->head.body_bytes) == f->head.body_crc &&
	       ZSTD_decompressDCtx(f->zstd, to, f->head.columns_bytes, body, f->head.body_bytes) ==
		       f->head.columns_bytes;
}

/* Make the columns ready, from the first block on. */
static bool load_body(struct frames *f)
{
	if (!f->has_body) {
		if (!make_room(&f->columns, &f->columns_room,
			       f->head.columns_bytes + KL_JOIN_SLACK) ||
		    !decompress(f, f->columns))
			return false;
		memset(f->columns + f->head.columns_bytes, 0, KL_JOIN_SLACK);
		f->has_body = true;
	}
	f->next = 0;
	f->crc = 0;
	return !kl_join_begin(f->join, f->columns, f->head.columns_bytes);
}

static bool is_checked(struct frames *f, size_t bytes)
{
	if (!f->verify)
		return true;
	f->crc = kl_crc32c(f->crc, f->plain, bytes);
	return f->next < f->n_parts || f->crc == f->head.plain_crc;
}

static bool join_next(struct frames *f)
{
	const struct kl_abi_block *header = (const struct kl_abi_block *)f->stored + f->next;
	size_t bytes = header->packet_bits / 8;

	f->part = NONE;
	if (kl_block_check(header, bytes, NULL) ||
	    !make_room(&f->plain, &f->plain_room, bytes + KL_JOIN_SLACK) ||
	    kl_join_block(f->join, header, f->plain))
		return false;
	f->part = f->next++;
	return is_checked(f, bytes);
}

static bool restore_bytes(struct frames *f)
{
	f->part = NONE;
	f->crc = 0;
	if (!make_room(&f->plain, &f->plain_room, f->head.plain_bytes) ||
	    f->head.columns_bytes != f->head.plain_bytes || !decompress(f, f->plain))
		return false;
	f->part = 0;
	f->next = 1;
	return is_checked(f, f->head.plain_bytes);
}

/* Put a part into f->plain. */
static bool restore(struct frames *f, size_t part)
{
	if (f->part == part)
		return true;
	if (f->bad)
		return false;
	if (f->head.kind == KL_FRAME_BYTES) {
		f->bad = !restore_bytes(f);
		return !f->bad;
	}
	if (!f->has_body || part < f->next)
		f->bad = !load_body(f);
	while (!f->bad && f->next <= part)
		f->bad = !join_next(f);
	return !f->bad;
}

/* ------------------------------------------------------------ the whole file */

/* Number of the part of the frame in memory that has the byte @at of the frame. */
static size_t part_of(const struct frames *f, uint32_t at)
{
	size_t from = 0, to = f->n_parts;

	if (f->part != NONE && at >= f->starts[f->part] && at < f->starts[f->part + 1])
		return f->part;
	while (from + 1 < to) {
		size_t middle = (from + to) / 2;

		if (f->starts[middle] <= at)
			from = middle;
		else
			to = middle;
	}
	return from;
}

/*
 * Restored bytes from @at on; @length: out: how many there are. With @header, only the header of a
 * block is needed. NULL: they cannot be restored.
 */
static const uint8_t *bytes_at(struct frames *f, uint64_t at, bool header, size_t *length)
{
	size_t number = kl_frame_find(&f->index, at, f->at), part;
	uint32_t within;

	if (!load_frame(f, number))
		return NULL;
	within = (uint32_t)(at - f->index.begins[number]);
	part = part_of(f, within);
	if (header && f->part != part && f->head.kind == KL_FRAME_BLOCKS &&
	    within == f->starts[part]) {
		*length = KL_BLOCK_HEADER_BYTES;
		return f->stored + part * KL_BLOCK_HEADER_BYTES;
	}
	if (!restore(f, part))
		return NULL;
	*length = f->starts[part + 1] - within;
	return f->plain + (within - f->starts[part]);
}

static const void *frames_at(struct kl_window *window, uint64_t at, size_t bytes)
{
	struct frames *f = window->source;
	bool header = bytes == KL_BLOCK_HEADER_BYTES;
	const uint8_t *from;
	size_t length, done = 0;

	if (!bytes || at == window->size)
		return bytes ? NULL : window;
	from = bytes_at(f, at, header, &length);
	if (!from || length >= bytes)
		return from;
	if (!make_room(&f->span, &f->span_room, bytes))
		return NULL;
	while (done < bytes) {
		from = bytes_at(f, at + done, false, &length);
		if (!from)
			return NULL;
		if (length > bytes - done)
			length = bytes - done;
		memcpy(f->span + done, from, length);
		done += length;
	}
	return f->span;
}

static void frames_close(struct kl_window *window)
{
	struct frames *f = window->source;

	if (f->owned)
		close(f->index.fd);
	kl_frame_index_deinit(&f->index);
	free(f->stored);
	free(f->columns);
	free(f->plain);
	free(f->span);
	kl_join_destroy(f->join);
	ZSTD_freeDCtx(f->zstd);
	free(f);
}

static const struct kl_window_ops ops = { .at = frames_at, .close = frames_close };

int kl_frames_open(struct kl_window *window, int fd, bool owned, uint64_t at, uint64_t bytes)
{
	struct frames *f = calloc(1, sizeof(*f));
	int ret = -ENOMEM;

	*window = (struct kl_window){ .fd = -1 };
	if (!f) {
		if (owned)
			close(fd);
		return kl_fail(ENOMEM, "out of memory");
	}
	f->at = NONE;
	f->part = NONE;
	f->owned = owned;
	f->index = (struct kl_frame_index){ .fd = fd, .base = at, .bytes = bytes };
	f->join = kl_join_create();
	f->zstd = ZSTD_createDCtx();
	if (f->join && f->zstd)
		ret = kl_frame_index_read(&f->index);
	window->source = f;
	if (ret) {
		frames_close(window);
		*window = (struct kl_window){ .fd = -1 };
		return kl_fail(-ret, "out of memory");
	}
	window->ops = &ops;
	window->size = f->index.plain_bytes;
	window->gone = f->index.gone;
	return 0;
}

void kl_frames_verify(struct kl_window *window)
{
	struct frames *f = window->source;

	f->verify = true;
}
