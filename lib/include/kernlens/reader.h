/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading a session's buffers while it runs: blocks (for a recorder) or events
 * merged by time (for a screen). No reader slows the writer; one that is too
 * slow is moved forward and told what it missed.
 */
#ifndef KERNLENS_READER_H
#define KERNLENS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/timebase.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

enum kl_backend {
	KL_BACKEND_MMAP, /* shared pages: no system call a block, and blocks being filled */
	KL_BACKEND_READ, /* read(): complete blocks only */
};

struct kl_reader;
struct kl_live;

/**
 * struct kl_reader_counts - what became of the records
 * @read: handed out
 * @missed: overwritten before this reader came to them
 * @lost: never written for want of room
 * @blocks: complete blocks handed out
 * @bad: blocks that did not hold together (read() only) and were left out;
 *       their records are counted as missed when the next block comes
 *
 * When the session has stopped and everything has been handed out, read +
 * missed + lost is the number of records fired since the session's start
 * (with KL_READER_FROM_NOW: those before that count as missed).
 */
struct kl_reader_counts {
	uint64_t read;
	uint64_t missed;
	uint64_t lost;
	uint64_t blocks;
	uint64_t bad;
};

/**
 * struct kl_reader_block - a block, or the new part of one
 * @cpu: whose
 * @seq: its number on that CPU
 * @block: a private copy from its first byte; valid until the next call
 * @from: bytes that were handed out before; 0 for the first part
 * @to: end of the records in it
 * @complete: nothing more comes in this block
 * @missed: records between the last block of this CPU and this one
 * @lost: on this CPU since the last complete block; known when @complete
 */
struct kl_reader_block {
	uint32_t cpu;
	uint64_t seq;
	const struct kl_abi_block *block;
	size_t from;
	size_t to;
	bool complete;
	uint64_t missed;
	uint64_t lost;
};

/**
 * kl_reader_create - read from a reader's descriptor
 * @fd: from kl_session_reader(); closed with the reader, or at once on failure
 * @cpus: number of possible CPU ids, from struct kl_abi_info
 * @block_bytes: kl_session_block_bytes()
 * @backend: how
 *
 * Returns NULL with errno.
 */
struct kl_reader *kl_reader_create(int fd, unsigned int cpus, size_t block_bytes,
				   enum kl_backend backend);

/**
 * kl_reader_destroy - unmap, close and free
 * @reader: or NULL
 */
void kl_reader_destroy(struct kl_reader *reader);

/**
 * kl_reader_next_block - the next block there is, of any CPU
 * @reader: reader
 * @partial: also give what is finished of blocks that are being filled
 *           (KL_BACKEND_MMAP). What was given so comes again with the rest
 *           of the block, with @from behind it
 * @block: filled in
 *
 * Returns 1, 0 if there is nothing now, or a negative errno. The blocks of one
 * CPU come in order. Does not wait.
 */
int kl_reader_next_block(struct kl_reader *reader, bool partial, struct kl_reader_block *block);

/**
 * kl_reader_wait - sleep until a block is complete
 * @reader: reader
 * @timeout_ms: at most this long; -1: no limit
 *
 * Returns 1 if there is one; 2 if there is none and the session is stopped, so
 * that this call does not sleep; 0 after the time; or a negative errno (-EINTR
 * for a signal).
 */
int kl_reader_wait(struct kl_reader *reader, int timeout_ms);

/**
 * kl_reader_fd - the descriptor, to poll() together with others
 * @reader: reader
 */
int kl_reader_fd(const struct kl_reader *reader);

/**
 * kl_reader_counts - what was read, missed and lost until now
 * @reader: reader
 * @counts: filled in. With KL_BACKEND_MMAP `lost` is taken from the shared
 *          page and includes what no block has reported yet
 */
void kl_reader_counts(const struct kl_reader *reader, struct kl_reader_counts *counts);

/**
 * kl_reader_join - count only from here on
 * @reader: with KL_BACKEND_MMAP and KL_READER_FROM_NOW, just created
 *
 * What was written or lost before the block that is being filled is neither
 * missed nor lost for this reader. Returns -EINVAL for another back end.
 */
int kl_reader_join(struct kl_reader *reader);

/**
 * kl_reader_end_here - give what there is now, and nothing that comes later
 * @reader: with KL_BACKEND_MMAP
 *
 * From here on kl_reader_next_block() with `partial` gives each CPU's blocks up to
 * that which is now being filled, and that one once, as far as it is then. So a
 * reader comes to an end however fast the session goes on. Returns -EINVAL for
 * another back end.
 */
int kl_reader_end_here(struct kl_reader *reader);

/**
 * kl_reader_at_end - has all been given that there was at kl_reader_end_here()?
 * @reader: reader
 *
 * If not, though there was no next block, a record is just being written.
 */
bool kl_reader_at_end(const struct kl_reader *reader);

/**
 * kl_live_create - events of all CPUs merged by time, as they happen
 * @reader: used by nobody else from now on; not owned
 * @schema: of the module; must outlive this
 * @timebase: must outlive this
 *
 * Returns NULL with errno.
 */
struct kl_live *kl_live_create(struct kl_reader *reader, const struct kl_schema *schema,
			       const struct kl_timebase *timebase);

/**
 * kl_live_destroy - free
 * @live: or NULL
 */
void kl_live_destroy(struct kl_live *live);

/**
 * kl_live_next - the next event or loss
 * @live: live
 * @now: clock cycles (kl_device_time()) read before this call; events newer
 *       than that stay back until a later call, because an older one of
 *       another CPU may still come. Take a margin off, such as 1 ms: a record
 *       that is being written at that instant is older than its end. ~0: give
 *       everything there is
 * @item: filled in; valid until the next call
 *
 * Returns 1, 0 if there is nothing now (then kl_reader_wait()), or a negative
 * errno. @now is looked at when the buffers are, which is when everything
 * from the last look has been given.
 */
int kl_live_next(struct kl_live *live, uint64_t now, struct kl_item *item);

KL_PUBLIC_END

#endif /* KERNLENS_READER_H */
