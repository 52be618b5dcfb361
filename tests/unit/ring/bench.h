/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring on a test bench: a fake clock, a log of every record fired, and the checks that must
 * always hold. Used by rules.c, nesting.c and reading.c; each bench is used by a single thread.
 */
#ifndef KL_TESTS_RING_BENCH_H
#define KL_TESTS_RING_BENCH_H

#include "../../../kernel/ring/ring.h"

#define BENCH_LOG_MAX 1024
#define BENCH_POOL_MAX 64
#define BENCH_BLOCK_BYTES 288 /* header and a few records, so that blocks change often */
#define BENCH_RECORD_BYTES 32
#define BENCH_FIRST_EXTRA 8 /* additional length of a block's first record */

struct bench_config {
	u32 blocks;
	u32 map_size;
	bool overwrite;
	u64 start_seq; /* of the first block; starts near a wrap */
};

/* A record as the bench writes it. `time` is the slot's, all 64 bits. */
struct bench_record {
	u32 bytes;
	u32 id;
	u64 time;
	u64 header_time; /* the low 48 bits, as a real record has */
	u32 first;
	u8 fill[];
} __attribute__((packed));

struct bench {
	struct kl_ring ring;
	struct kl_abi_ring *shared;
	struct kl_ring_block **window;
	struct kl_ring_block pool[BENCH_POOL_MAX];
	u32 pool_used;
	u32 given_back; /* blocks that bench_take_outgoing has seen */
	u64 clock;
	u64 hold; /* a holder's position */
	bool controlling; /* act_control is running */
	u32 fired;
	u32 lost;
	u32 written;
	struct {
		u8 result;
		u8 read;
	} log[BENCH_LOG_MAX];
	u32 read; /* by bench_drain */
	char why[256];
};

/* A record with reserved space that is not written yet. */
struct bench_pending {
	u32 id;
	struct kl_slot slot;
};

struct bench *bench_new(const struct bench_config *config);
void bench_free(struct bench *bench);
void bench_add(struct bench *bench, u32 blocks);
u32 bench_take_outgoing(struct bench *bench);

/* One record of the bench's usual size, or of @bytes. */
enum kl_ring_result bench_fire(struct bench *bench);
enum kl_ring_result bench_fire_bytes(struct bench *bench, u32 bytes);
/* The two halves of a record; no bench_end if it was lost. */
enum kl_ring_result bench_begin(struct bench *bench, u32 bytes, struct bench_pending *pending);
void bench_end(struct bench *bench, const struct bench_pending *pending);
/* Fire until the current block has no room for another record. */
void bench_fill_block(struct bench *bench);

/*
 * The checks set bench->why and return false on the first thing that is wrong.
 *
 * bench_check_block: the bytes of a complete block (or a copy of one)
 * bench_check_partial: what a reader may see at any moment: blocks before head
 *                      are finished, and the committed part of the one at head
 * bench_check_state: the ring's own bookkeeping, with no write in progress
 * bench_drain: read everything from @cursor on
 * bench_check_end: finish the ring, drain it, and account for every record
 */
bool bench_check_block(struct bench *bench, const u8 *memory, u64 seq, bool mark);
bool bench_check_partial(struct bench *bench);
bool bench_check_records(struct bench *bench, const u8 *memory, u32 end, bool mark);
bool bench_check_state(struct bench *bench);
bool bench_drain(struct bench *bench, struct kl_cursor *cursor);
bool bench_check_end(struct bench *bench);

/* Called at every operation of the ring, if set; only with KL_RING_TEST_HOOK. */
extern void (*bench_observer)(void);

void rules_run(void);
void nesting_run(void);
void reading_run(void);

#endif /* KL_TESTS_RING_BENCH_H */
