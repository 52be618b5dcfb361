/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the frames of a compressed file are: from its index, or, if it has none because its writer
 * was killed, from the headers of all frames. Used by frame_read.c and for packs.
 */
#ifndef KL_LIB_READER_FRAME_INDEX_H
#define KL_LIB_READER_FRAME_INDEX_H

#include "frame.h"

/*
 * @fd: file
 * @base: where the compressed file starts in it
 * @bytes: size of the compressed file
 * @places: of its frames with bytes of the plain file, in ascending order
 * @begins: offset in the plain file of each of them
 * @plain_bytes: size of the plain file
 * @gone: bytes that belong to no valid frame
 */
struct kl_frame_index {
	int fd;
	uint64_t base;
	uint64_t bytes;
	struct kl_frame_place *places;
	uint64_t *begins;
	size_t n;
	size_t capacity;
	uint64_t plain_bytes;
	uint64_t gone;
};

/* Fill in what follows `bytes`. Returns 0 or -ENOMEM, without an error text. */
int kl_frame_index_read(struct kl_frame_index *index);
void kl_frame_index_deinit(struct kl_frame_index *index);

/* Number of the frame that has the byte @at of the plain file, which exists. @near: a guess. */
size_t kl_frame_find(const struct kl_frame_index *index, uint64_t at, size_t near);

/* Read bytes of the compressed file. False if it does not have all of them. */
bool kl_frame_read_bytes(const struct kl_frame_index *index, uint64_t at, void *to, size_t bytes);

/* Read the header of the frame at @at. False if it is invalid, or the frame is incomplete. */
bool kl_frame_read_head(const struct kl_frame_index *index, uint64_t at,
			struct kl_frame_head *head);

#endif /* KL_LIB_READER_FRAME_INDEX_H */
