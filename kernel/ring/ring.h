/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The per-CPU ring of blocks: one writer (a CPU with its interrupts), any number of readers. It
 * knows nothing about events: it hands out bytes with a time and accounts for each record
 * requested. Fed by kernel/core/record.h; read by kernel/ring/cursor.c, and by user space through
 * the shared pages. Takes no lock; docs/design/ring.md has the invariants and the races.
 */
#ifndef KL_RING_RING_H
#define KL_RING_RING_H

#include "../../uapi/kernlens.h"
#include "platform.h"

#define KL_RING_HOLDERS 8

/* Memory of one block and its place in the ring's lists. */
struct kl_ring_block {
	struct kl_ring_block *next;
	u8 *memory; /* block_bytes, begins with struct kl_abi_block */
	u32 index; /* identifies it to readers; never used twice in a ring */
	u64 *slot; /* where core/crash.c lists it; the ring does not use it */
};

/**
 * struct kl_ring - one CPU's ring
 *
 * The first cache line is what every record touches. Everything else belongs
 * to whoever has `preparing`, which only this CPU sets.
 *
 * @base: memory of the current block and of the prepared one, by seq & 1
 * @shared: the page that readers see
 * @last_time: time of the newest record, to keep times in order and within 48 bits
 * @block_bytes: size of each block
 * @settled: seq (low bits) whose predecessor is finished; only then may the
 *           next block be prepared
 * @ready: seq (low bits) that has been prepared
 * @preparing: a prepare is under way; an interrupt must not start another
 * @overwrite: reclaim the oldest block if no other is free
 * @free: blocks that are not in use
 * @incoming: blocks to be added; any CPU pushes
 * @outgoing: blocks that were removed; any CPU takes all
 * @wanted: number of blocks to shrink to, at least KL_BLOCKS_MIN
 * @map_mask: number of slots in the map, minus one
 * @window: block of seq at [seq & map_mask], as shared->map but pointers
 * @holders: positions of the readers for which discard mode waits; users may write them, so they
 *           are only compared
 * @header: a copy of the fields that are the same in all blocks
 */
struct kl_ring {
	u8 *base[2];
	struct kl_abi_ring *shared;
	u64 last_time;
	u32 block_bytes;
	u32 cpu;

	u64 settled;
	u64 ready;
	bool preparing;
	bool overwrite;
	struct kl_ring_block *free;
	struct kl_ring_block *incoming;
	struct kl_ring_block *outgoing;
	u32 wanted;
	u32 map_mask;
	struct kl_ring_block **window;
	const u64 *holders[KL_RING_HOLDERS];
	struct kl_abi_block header;
};

/* Where a record goes: filled in by a successful reservation. */
struct kl_slot {
	u64 time;
	u8 *at;
	u8 *base;
	u32 bytes;
};

enum kl_ring_result {
	KL_RING_LOST, /* buffer full: counted as lost */
	KL_RING_RETRY, /* an interrupt wrote in the meantime: compute again */
	KL_RING_WRITTEN, /* @bytes are reserved; commit them */
	KL_RING_WRITTEN_FIRST, /* @first_bytes are reserved; commit them */
};

/* Hand bytes of a record that have been written, some or all, to the readers. */
static __always_inline void kl_ring_commit_bytes(u8 *base, u32 bytes)
{
	/* A: the record's bytes before the commit word. Pairs with D, E. */
	kl_write_barrier();
	kl_local_add(&((struct kl_abi_block *)base)->committed, bytes);
}

/* Commit a whole record. */
static __always_inline void kl_ring_commit(const struct kl_slot *slot)
{
	kl_ring_commit_bytes(slot->base, slot->bytes);
}

static __always_inline void kl_ring_count_lost(struct kl_ring *ring)
{
	kl_local_add(&ring->shared->lost, 1);
}

enum kl_ring_result kl_ring_switch(struct kl_ring *ring, u64 old, u64 time, u32 bytes,
				   struct kl_slot *slot);

/*
 * Does a record fit into the current block, by size and by time? An interrupt's record changes
 * `last_time`; it also makes the caller's exchange fail.
 */
static __always_inline bool kl_ring_fits(const struct kl_ring *ring, u64 old, u64 time, u32 bytes)
{
	return likely((u32)KL_POS_OFFSET(old) + bytes <= ring->block_bytes &&
		      !((time - kl_racy(ring->last_time)) / KL_TIME_WRAP));
}

/* The position word after a record. */
static __always_inline u64 kl_ring_after(u64 old, u32 bytes)
{
	return old + bytes + (1ull << KL_POS_COUNT_SHIFT);
}

/* Reserve the room, unless a record was written since @old was read. */
static __always_inline bool kl_ring_take(struct kl_ring *ring, u64 old, u64 time, u32 bytes,
					 struct kl_slot *slot)
{
	/* Replaced only after two switches, which make the exchange fail. */
	u8 *base = kl_racy(ring->base[KL_POS_SEQ(old) & 1]);
	u32 offset = KL_POS_OFFSET(old);

	if (unlikely(!kl_local_try_cmpxchg(&ring->shared->position, &old,
					   kl_ring_after(old, bytes))))
		return false;
	kl_store(ring->last_time, time);
	slot->time = time;
	slot->base = base;
	slot->at = base + offset;
	slot->bytes = bytes;
	return true;
}

/**
 * kl_ring_reserve - one attempt to reserve room for a record
 * @ring: this CPU's ring
 * @old: position word, read by the caller before anything that the record's size depends on
 * @time: clock, read after @old
 * @bytes: size if the record goes into the current block
 * @first_bytes: size if it is the first record of a block
 * @slot: where to write, on success
 *
 * Succeeds only if no record was written since @old was read: what the caller computed is then
 * still valid. Context: any, preemption off.
 */
static __always_inline enum kl_ring_result kl_ring_reserve(struct kl_ring *ring, u64 old, u64 time,
							   u32 bytes, u32 first_bytes,
							   struct kl_slot *slot)
{
	if (unlikely(!kl_ring_fits(ring, old, time, bytes)))
		return kl_ring_switch(ring, old, time, first_bytes, slot);
	return kl_ring_take(ring, old, time, bytes, slot) ? KL_RING_WRITTEN : KL_RING_RETRY;
}

/* Sizes for kl_ring_init: the shared page(s) of a ring with @map_size slots. */
static inline size_t kl_ring_shared_bytes(u32 map_size)
{
	return sizeof(struct kl_abi_ring) + map_size * sizeof(u32);
}

void kl_ring_init(struct kl_ring *ring, struct kl_abi_ring *shared, struct kl_ring_block **window,
		  u32 map_size, u32 block_bytes, u32 cpu, bool overwrite,
		  const struct kl_abi_block *header);
void kl_ring_add(struct kl_ring *ring, struct kl_ring_block *block);
void kl_ring_prepare(struct kl_ring *ring);
struct kl_ring_block *kl_ring_take_outgoing(struct kl_ring *ring);
void kl_ring_finish(struct kl_ring *ring, u64 time);
bool kl_ring_is_nearly_full(const struct kl_ring *ring);

/* cursor.c: the reading side inside the kernel. */

/**
 * struct kl_cursor - a reader's position in one ring
 * @next: sequence number of the next block to read
 * @records: number of records before @next, as far as this reader knows
 * @missed: number of records that were overwritten before this reader got to them
 */
struct kl_cursor {
	u64 next;
	u64 records;
	u64 missed;
};

const u8 *kl_cursor_find(const struct kl_ring *ring, struct kl_cursor *cursor);
void kl_cursor_place_at_head(const struct kl_ring *ring, struct kl_cursor *cursor);
bool kl_cursor_advance(struct kl_cursor *cursor, const u8 *found, const struct kl_abi_block *copy);

#endif /* KL_RING_RING_H */
