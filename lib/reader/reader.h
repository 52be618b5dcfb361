/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of a live reader: reader.c keeps the counts and gets its blocks from shared.c (mapped
 * pages) or pipe.c (read()).
 */
#ifndef KL_LIB_READER_READER_H
#define KL_LIB_READER_READER_H

#include <kernlens/reader.h>

/* The read position of one CPU. */
struct kl_ring_view {
	const struct kl_abi_ring *shared; /* mapped pages only; NULL: the CPU has no ring */
	size_t shared_bytes;
	const struct kl_abi_block **blocks; /* by index, mapped on first use */
	size_t n_blocks;

	uint64_t next; /* sequence number to read next */
	size_t given; /* bytes of block `next` already handed out */
	uint64_t given_records;
	uint64_t records; /* expected record_first of block `next` */
	uint64_t lost; /* as of the last complete block */
	bool joined; /* records before its first block do not count */
	bool ends; /* nothing after block `last` is handed out */
	uint64_t last;
};

struct kl_reader {
	int fd;
	enum kl_backend backend;
	unsigned int n_cpus;
	unsigned int turn; /* CPU to poll next, so that none starves */
	struct kl_ring_view *views;
	uint64_t *position; /* mapped pages only: next[cpu] */
	size_t position_bytes;
	uint8_t *copy; /* of one block; read(): of as many as one call returned */
	size_t block_bytes;
	size_t copy_bytes; /* read() only: bytes in `copy`, and bytes already handed out */
	size_t copy_at;
	struct kl_reader_counts counts;
	uint64_t lost_before; /* `lost` of all CPUs when it joined */
};

/*
 * kl_shared_next() and kl_pipe_next() return 1 with a block in reader->copy, 0 if there is none, or
 * -errno.
 */
int kl_shared_open(struct kl_reader *reader);
void kl_shared_close(struct kl_reader *reader);
int kl_shared_next(struct kl_reader *reader, unsigned int cpu, bool partial,
		   struct kl_reader_block *block);
bool kl_shared_ready(const struct kl_reader *reader);
uint64_t kl_shared_lost(const struct kl_reader *reader);
void kl_shared_join(struct kl_reader *reader);
void kl_shared_end_here(struct kl_reader *reader);

int kl_pipe_open(struct kl_reader *reader);
int kl_pipe_next(struct kl_reader *reader, struct kl_reader_block *block);

/* Fill in @block's counts from its header, and advance the view past it. */
void kl_reader_take(struct kl_reader *reader, struct kl_ring_view *view,
		    struct kl_reader_block *block, uint64_t records);

#endif /* KL_LIB_READER_READER_H */
