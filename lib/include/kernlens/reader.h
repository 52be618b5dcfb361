/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads a session's buffers while it runs: as blocks (for a recorder) or as events merged by time
 * (for a display). No reader slows down the writer: a reader that falls behind is moved forward,
 * and the records that it missed are counted.
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
	KL_BACKEND_MMAP, /* shared memory: no system call per block; includes blocks being filled */
	KL_BACKEND_READ, /* read(): complete blocks only */
};

struct kl_reader;
struct kl_live;

/**
 * struct kl_reader_counts - what became of the records
 * @read: returned to the caller
 * @missed: overwritten before this reader got to them
 * @lost: never written, because the buffer was full
 * @blocks: complete blocks returned to the caller
 * @bad: inconsistent blocks (KL_BACKEND_READ only), which are skipped; their records are counted
 *       as missed when the next block arrives
 *
 * Once the session has stopped and everything has been read, read + missed + lost is the number
 * of records fired since the session started. With KL_READER_FROM_NOW, earlier records count as
 * missed.
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
 * @cpu: CPU that wrote it
 * @seq: its sequence number on that CPU
 * @block: a private copy of the whole block; valid until the next call
 * @from: number of bytes that were returned before; 0 for the first part
 * @to: end of its records, in bytes from the start of the block
 * @complete: nothing will be added to this block
 * @missed: records between this CPU's previous block and this one
 * @lost: records lost on this CPU since its last complete block; only known if @complete
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
 * @block_bytes: from kl_session_block_bytes()
 * @backend: how to read
 *
 * Returns NULL with errno and an error text: EINVAL, ENOMEM, EPROTO (inconsistent ring), or the
 * error from mmap.
 */
struct kl_reader *kl_reader_create(int fd, unsigned int cpus, size_t block_bytes,
				   enum kl_backend backend);

/**
 * kl_reader_destroy - unmap, close and free
 * @reader: or NULL
 */
void kl_reader_destroy(struct kl_reader *reader);

/**
 * kl_reader_next_block - the next available block of any CPU
 * @reader: reader
 * @partial: also return the finished records of blocks that are still being filled
 *           (KL_BACKEND_MMAP); the rest of such a block is returned later, together with this
 *           part, and @from then says where the rest begins
 * @block: filled in
 *
 * Returns 1, 0 if there is nothing now, or a negative errno. The blocks of one CPU are returned
 * in order. Does not wait.
 */
int kl_reader_next_block(struct kl_reader *reader, bool partial, struct kl_reader_block *block);

/**
 * kl_reader_wait - wait until a block is complete
 * @reader: reader
 * @timeout_ms: maximum time to wait; -1: no limit
 *
 * Returns 1 if there is a complete block; 2 if there is none and the session is stopped, in which
 * case this call does not sleep; 0 after the timeout; or a negative errno (-EINTR if interrupted
 * by a signal).
 */
int kl_reader_wait(struct kl_reader *reader, int timeout_ms);

/**
 * kl_reader_fd - the reader's descriptor, for poll()
 * @reader: reader
 *
 * Returns the descriptor, which remains the reader's.
 */
int kl_reader_fd(const struct kl_reader *reader);

/**
 * kl_reader_counts - how many records have been read, missed and lost so far
 * @reader: reader
 * @counts: filled in; with KL_BACKEND_MMAP `lost` comes from shared memory and includes losses
 *          that no block has reported yet
 */
void kl_reader_counts(const struct kl_reader *reader, struct kl_reader_counts *counts);

/**
 * kl_reader_join - count only from the current position on
 * @reader: with KL_BACKEND_MMAP and KL_READER_FROM_NOW, just created
 *
 * Records written or lost before the block that is being filled do not count as missed or lost.
 * Returns 0, or -EINVAL with an error text for another backend.
 */
int kl_reader_join(struct kl_reader *reader);

/**
 * kl_reader_end_here - return what is in the buffers now, and nothing later
 * @reader: with KL_BACKEND_MMAP
 *
 * After this call, kl_reader_next_block() with `partial` returns each CPU's blocks up to the one
 * that is being filled now, and that one once, with the records that it then has. So the reader
 * reaches an end however fast the session produces records. Returns 0, or -EINVAL with an error
 * text for another backend.
 */
int kl_reader_end_here(struct kl_reader *reader);

/**
 * kl_reader_at_end - has everything been returned that was there at kl_reader_end_here()?
 * @reader: reader
 *
 * If this is false although kl_reader_next_block() returned 0, a record is still being written.
 */
bool kl_reader_at_end(const struct kl_reader *reader);

/**
 * kl_live_create - merge the events of all CPUs by time, as they happen
 * @reader: must not be used by anything else from now on; stays the caller's, and must outlive
 *          this
 * @schema: of the module; must outlive this
 * @timebase: must outlive this
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_live *kl_live_create(struct kl_reader *reader, const struct kl_schema *schema,
			       const struct kl_timebase *timebase);

/**
 * kl_live_destroy - free; does not destroy the reader
 * @live: or NULL
 */
void kl_live_destroy(struct kl_live *live);

/**
 * kl_live_next - the next event or loss
 * @live: live
 * @now: clock cycles (kl_device_time()) read before this call. Newer events are held back until a
 *       later call, because an older event of another CPU may still arrive. Subtract a margin
 *       such as 1 ms: a record that is just being written has a timestamp from before its end.
 *       ~0: return everything
 * @item: filled in; valid until the next call
 *
 * Returns 1, 0 if there is nothing now (then call kl_reader_wait()), or a negative errno. @now
 * takes effect when this function reads the buffers again, that is, once everything up to the
 * previous @now has been returned.
 */
int kl_live_next(struct kl_live *live, uint64_t now, struct kl_item *item);

KL_PUBLIC_END

#endif /* KERNLENS_READER_H */
