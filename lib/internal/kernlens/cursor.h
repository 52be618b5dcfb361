/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the blocks of one CPU in order and decodes their records. The variables are carried
 * forward, so a caller that skips records still sees correct values.
 */
#ifndef KERNLENS_CURSOR_H
#define KERNLENS_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/event.h>
#include <kernlens/schema.h>
#include <kernlens/timebase.h>

/**
 * kl_block_check - is a block consistent?
 * @block: its bytes; the block may claim to be larger than @bytes
 * @bytes: number of bytes that may be read
 * @uuid: the session's, or NULL: any
 *
 * Accepts only complete blocks. Returns -EINVAL with an error text: no magic number, a block of
 * another session, impossible sizes, or time that goes backwards.
 */
int kl_block_check(const struct kl_abi_block *block, size_t bytes, const uint8_t uuid[16]);

/**
 * struct kl_cursor - a walk over the blocks of one CPU
 * @schema: how to decode
 * @timebase: clock
 * @begin_ns: wall time that since_ns is relative to
 * @at: next record in the current block
 * @end: end of the block's records
 * @limit: time that no record may exceed
 * @event: the last record read
 * @variables: current values of the schema's variables
 */
struct kl_cursor {
	const struct kl_schema *schema;
	const struct kl_timebase *timebase;
	uint64_t begin_ns;
	const uint8_t *at;
	const uint8_t *end;
	uint64_t limit;
	struct kl_event event;
	uint8_t variables[KL_VARIABLES_BYTES_MAX];
};

/**
 * kl_cursor_init - start a walk
 * @cursor: filled in
 * @schema: of the trace; must outlive the cursor
 * @timebase: of the trace; must outlive the cursor
 * @begin_ns: wall time of the trace's start
 */
void kl_cursor_init(struct kl_cursor *cursor, const struct kl_schema *schema,
		    const struct kl_timebase *timebase, uint64_t begin_ns);

/**
 * kl_cursor_enter - continue with the records of a block
 * @cursor: walk over the same CPU
 * @block: its bytes; must stay valid until the last of its events has been used
 * @from: bytes of the block that have been read already; 0 for a new block
 * @to: end of its records in bytes, at most the block's size
 */
void kl_cursor_enter(struct kl_cursor *cursor, const struct kl_abi_block *block, size_t from,
		     size_t to);

/**
 * kl_cursor_return - continue with a block that has been read from the file again
 * @cursor: as it was in the block
 * @block: its bytes, now elsewhere, and checked by kl_block_check()
 * @done: bytes of the block that the cursor had read
 * @has_event: the cursor's event is the last record of these, and is used once more
 *
 * Returns 0, or -EINVAL if the block has other contents now, so that it does not have this event.
 */
int kl_cursor_return(struct kl_cursor *cursor, const struct kl_abi_block *block, size_t done,
		     bool has_event);

/**
 * kl_cursor_next - read one record
 * @cursor: its event is filled in
 *
 * Returns 1, 0 at the end of the block, or -EINVAL with an error text if the next bytes are not a
 * valid record; the rest of the block is then skipped.
 */
int kl_cursor_next(struct kl_cursor *cursor);

#endif /* KERNLENS_CURSOR_H */
