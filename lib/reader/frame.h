/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compressed files: a sequence of frames, each of which can be read by itself. A file of blocks
 * consists of frames of blocks, any other file of frames of bytes; docs/format/pack.md describes
 * the layout. frame_write.c writes frames, columns_split.c and columns_join.c rearrange the records
 * in them, and frame_read.c reads them as if the file were not compressed.
 */
#ifndef KL_LIB_READER_FRAME_H
#define KL_LIB_READER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/buffer.h>
#include <kernlens/schema.h>
#include "../base/window.h"

#define KL_FRAME_MAGIC 0x46a74b89 /* bytes 89 4b a7 46, which no text has */
#define KL_FRAME_VERSION 1

#define KL_FRAME_PLAIN_MAX (1u << 20) /* bytes of the plain file in a frame */
#define KL_FRAME_BODY_MAX (KL_FRAME_PLAIN_MAX + (64u << 10)) /* stored bytes */
#define KL_FRAME_ALIGN 8u /* frames start at multiples of this in their file */

enum kl_frame_kind {
	KL_FRAME_BYTES = 1, /* any bytes, compressed as they are */
	KL_FRAME_BLOCKS = 2, /* whole blocks: a table of their headers, and columns */
	KL_FRAME_INDEX = 3, /* last: where the other frames are; has no bytes of the plain file */
};

/*
 * Header of a frame. The table (BLOCKS: the blocks' headers, INDEX: struct kl_frame_place) and
 * the body follow; zeros up to a multiple of KL_FRAME_ALIGN end the frame.
 */
struct kl_frame_head {
	uint32_t magic;
	uint32_t crc; /* of the rest of the header */
	uint16_t version;
	uint16_t kind;
	uint32_t plain_bytes; /* that the frame stands for */
	uint32_t table_bytes;
	uint32_t body_bytes; /* compressed */
	uint32_t columns_bytes; /* the body's size, decompressed */
	uint32_t table_crc;
	uint32_t body_crc; /* of the compressed body */
	uint32_t plain_crc; /* of what the frame stands for */
	uint64_t index_at; /* INDEX: of this frame; else 0 */
};

_Static_assert(sizeof(struct kl_frame_head) == 48, "a frame's header");

/* Checksum of a header. */
uint32_t kl_frame_crc(const struct kl_frame_head *head);

/* An entry of the index. */
struct kl_frame_place {
	uint64_t at; /* offset in the file */
	uint32_t bytes; /* of the whole frame */
	uint32_t plain_bytes;
};

/* What ends a file with an index. */
struct kl_frame_tail {
	uint64_t index_at; /* where the frame with the index starts */
	uint32_t magic; /* KL_FRAME_MAGIC */
	uint32_t crc; /* of the members before it */
};

/* Size of a whole frame. */
static inline uint64_t kl_frame_bytes(const struct kl_frame_head *head)
{
	uint64_t bytes = sizeof(*head) + (uint64_t)head->table_bytes + head->body_bytes;

	return (bytes + KL_FRAME_ALIGN - 1) / KL_FRAME_ALIGN * KL_FRAME_ALIGN;
}

/* ---------------------------------------------------------------- columns */

struct kl_split;

/*
 * kl_split_create - prepare to rearrange blocks into columns
 * @schema: of the records; must outlive it
 *
 * Returns NULL if memory runs out.
 */
struct kl_split *kl_split_create(const struct kl_schema *schema);
void kl_split_destroy(struct kl_split *split);

/*
 * kl_split - rearrange the records of whole blocks into columns
 * @split: state
 * @plain: blocks
 * @bytes: their size
 * @columns: replaced
 * @cuts: out: ends of parts of @columns whose bytes are alike, in ascending order; valid until
 *        the next call. The last is its length
 * @n_cuts: out: number of @cuts
 *
 * Returns 0, -EINVAL if these are not blocks that kl_join_block() restores exactly, or -ENOMEM;
 * without an error text.
 */
int kl_split(struct kl_split *split, const uint8_t *plain, size_t bytes, struct kl_buffer *columns,
	     const size_t **cuts, size_t *n_cuts);

struct kl_join;

struct kl_join *kl_join_create(void);
void kl_join_destroy(struct kl_join *join);

/*
 * kl_join_begin - start to restore blocks from columns, which may be anything
 * @join: state
 * @columns: must stay valid until the last block has been restored, with KL_JOIN_SLACK bytes
 *           after it that can be read
 * @bytes: size of @columns
 *
 * Returns 0, -EINVAL or -ENOMEM, without an error text.
 */
int kl_join_begin(struct kl_join *join, const uint8_t *columns, size_t bytes);

#define KL_JOIN_SLACK 16

/*
 * kl_join_block - restore the next block's records
 * @join: state
 * @header: of the block; checked by the caller (kl_block_check())
 * @block: of header->packet_bits / 8 bytes, with room for KL_JOIN_SLACK more
 *
 * Fills in the whole block. Returns 0 or -EINVAL, without an error text.
 */
int kl_join_block(struct kl_join *join, const struct kl_abi_block *header, uint8_t *block);

/* ---------------------------------------------------------------- writing */

struct kl_frame_writer;

/*
 * kl_frame_writer_create - prepare to compress
 * @schema: of the blocks, or NULL: only bytes are compressed
 * @level: of zstd, 1 to KL_COMPRESS_LEVEL_MAX
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_frame_writer *kl_frame_writer_create(const struct kl_schema *schema, int level);
void kl_frame_writer_destroy(struct kl_frame_writer *writer);

/*
 * kl_frame_write - compress a part of a file
 * @writer: state
 * @plain: the next bytes of the file
 * @bytes: number of them, 1 to KL_FRAME_PLAIN_MAX
 * @out: the frame is appended
 *
 * Whole valid blocks become a frame of blocks, everything else one of bytes. Returns 0 or a
 * negative errno with an error text.
 */
int kl_frame_write(struct kl_frame_writer *writer, const void *plain, size_t bytes,
		   struct kl_buffer *out);

/*
 * kl_frame_write_index - end a file
 * @places: of all frames
 * @n: number of them
 * @at: where the index starts in the file
 * @out: the index is appended
 */
int kl_frame_write_index(const struct kl_frame_place *places, size_t n, uint64_t at,
			 struct kl_buffer *out);

/* ---------------------------------------------------------------- reading */

/*
 * kl_frames_open - access a compressed file as if it were not
 * @window: filled in; `size` is that of the plain file
 * @fd: the file
 * @owned: close @fd with the window, or on failure
 * @at: where the compressed file starts in @fd
 * @bytes: its size
 *
 * Frames that are damaged are missing from the plain file; `gone` counts their stored bytes.
 * Returns 0 or a negative errno with an error text.
 */
int kl_frames_open(struct kl_window *window, int fd, bool owned, uint64_t at, uint64_t bytes);

/*
 * kl_frames_verify - from now on, check the plain bytes of each frame, too
 * @window: opened by kl_frames_open(), and read in ascending order
 */
void kl_frames_verify(struct kl_window *window);

#endif /* KL_LIB_READER_FRAME_H */
