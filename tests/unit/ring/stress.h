/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the stress test's parts: writers with nested signals (stress.c), readers
 * (stress_read.c). One `struct lane` is one CPU: a ring, its writer thread, and two reader threads.
 */
#ifndef KL_TESTS_RING_STRESS_H
#define KL_TESTS_RING_STRESS_H

#include <pthread.h>

#include "../../../kernel/ring/ring.h"

#define STRESS_LANES 2
#define STRESS_LEVELS 3 /* the thread, SIGUSR1, SIGUSR2 */
#define STRESS_BLOCK_BYTES 4096
#define STRESS_MAP_SIZE 32
#define STRESS_POOL 20000 /* blocks that one run may add to a ring */

struct stress_record {
	u32 bytes;
	u8 lane;
	u8 level;
	u8 first; /* in its block */
	u8 unused;
	u64 number; /* counts up per lane and level */
	u64 time;
	u64 header_time; /* its low 48 bits */
	u8 fill[];
} __attribute__((packed));

static inline u8 stress_fill(u64 number, u32 lane, u32 level)
{
	return number * 29 + lane * 7 + level;
}

struct lane;

struct reader {
	struct lane *lane;
	bool maps; /* as user space does: shared page and blocks, also partial ones */
	pthread_t thread;
	u64 epoch; /* odd while the reader may hold a pointer to a block */
	u64 next; /* the reader's position, used by the ring if it holds */
	u64 read, missed;
	u64 partial; /* records taken from blocks being filled */
	u64 refused; /* copies discarded */
	u64 last[STRESS_LEVELS]; /* number + 1 of the last record seen */
	u8 copy[STRESS_BLOCK_BYTES] __attribute__((aligned(8)));
};

struct lane {
	struct kl_ring ring;
	struct kl_abi_ring *shared;
	struct kl_ring_block *window[STRESS_MAP_SIZE];
	struct kl_ring_block pool[STRESS_POOL];
	u32 pool_used, taken;
	u32 number; /* of this lane */
	pthread_t thread;
	u64 clock;
	u64 garbage; /* a holder with random positions */
	u64 count[STRESS_LEVELS]; /* records fired */
	u64 written, lost;
	bool done;
	struct reader reader[2];
};

extern char stress_why[300]; /* the first error */

void stress_wrong(const char *format, ...);
void *stress_reader(void *reader);

#endif /* KL_TESTS_RING_STRESS_H */
