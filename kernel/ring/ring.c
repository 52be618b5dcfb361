// SPDX-License-Identifier: GPL-2.0
/*
 * The ring's slow path: switches from a full block to the next, prepares blocks ahead, and adds and
 * removes blocks while the writer runs. Runs in the writer's context (any, preemption off) unless
 * stated otherwise. Takes no lock.
 */
#include "ring.h"

#define SEQ_MASK ((1ull << (64 - KL_POS_SEQ_SHIFT)) - 1)
#define OFFSET_MASK ((1ull << KL_POS_OFFSET_BITS) - 1)

/* Limits the blocks given back in one prepare, so that no record waits long. */
#define GIVE_BACK_MAX 8

/* A position after which no record fits: the block is closed, or there is none. */
static u64 closed_position(u64 seq)
{
	return (seq & SEQ_MASK) << KL_POS_SEQ_SHIFT | OFFSET_MASK;
}

/* Push a block on a list that another CPU may be emptying. */
static void push_block(struct kl_ring_block **list, struct kl_ring_block *block)
{
	struct kl_ring_block *first = kl_load(*list);

	do {
		block->next = first;
	} while (!kl_try_cmpxchg(*list, &first, block));
}

static bool block_is_complete(struct kl_abi_block *block)
{
	/* D: pairs with A, and with the release in finish_block. */
	u64 bits = kl_load_acquire(block->content_bits);

	return bits && kl_load_acquire(block->committed) * 8 == bits;
}

/* The first block that some holding reader still needs; 0 without such a reader. */
static u64 first_held(const struct kl_ring *ring)
{
	u64 first = KL_SEQ_NONE;
	bool any = false;

	for (int i = 0; i < KL_RING_HOLDERS; i++) {
		const u64 *next = kl_load(ring->holders[i]);
		u64 seq;

		if (!next)
			continue;
		any = true;
		/* C: the reader's copy is done. Pairs with its release of `next`. */
		seq = kl_load_acquire(*next);
		if (seq < first)
			first = seq;
	}
	return any ? first : 0;
}

/* Take the oldest block out of the readers' window, if the mode allows it. */
static struct kl_ring_block *reclaim_oldest(struct kl_ring *ring)
{
	struct kl_abi_ring *shared = ring->shared;
	u64 tail = shared->tail;
	struct kl_ring_block *block;

	if (shared->head == KL_SEQ_NONE || tail >= shared->head)
		return NULL;
	if (!ring->overwrite && tail >= first_held(ring))
		return NULL;
	block = ring->window[tail & ring->map_mask];
	/* A writer that we have interrupted may still be writing there. */
	if (!block_is_complete((struct kl_abi_block *)block->memory))
		return NULL;
	/* G: before the block changes. Pairs with the loads of `tail` in kl_cursor_find. */
	kl_store_release(shared->tail, tail + 1);
	return block;
}

static struct kl_ring_block *take_block(struct kl_ring *ring)
{
	struct kl_ring_block *block = ring->free;

	if (!block)
		return reclaim_oldest(ring);
	ring->free = block->next;
	return block;
}

static void take_incoming(struct kl_ring *ring)
{
	struct kl_ring_block *block, *next;

	if (!kl_load(ring->incoming))
		return;
	for (block = kl_exchange(ring->incoming, NULL); block; block = next) {
		next = block->next;
		block->next = ring->free;
		ring->free = block;
		kl_store(ring->shared->blocks, ring->shared->blocks + 1);
	}
}

static struct kl_ring_block *pick_block(struct kl_ring *ring)
{
	take_incoming(ring);
	for (int i = 0; i < GIVE_BACK_MAX && ring->shared->blocks > kl_load(ring->wanted); i++) {
		struct kl_ring_block *extra = take_block(ring);

		if (!extra)
			break;
		kl_store_release(((struct kl_abi_block *)extra->memory)->seq, KL_SEQ_NONE);
		push_block(&ring->outgoing, extra);
		kl_store(ring->shared->blocks, ring->shared->blocks - 1);
	}
	return take_block(ring);
}

/* Make @block the one for @seq. Readers see it once `head` reaches it. */
static void install_block(struct kl_ring *ring, struct kl_ring_block *block, u64 seq)
{
	struct kl_abi_block *header = (struct kl_abi_block *)block->memory;
	u32 slot = seq & ring->map_mask;

	/* A reader that finds KL_SEQ_NONE here also finds that `tail` has moved: pairs with E. */
	kl_store_release(header->seq, KL_SEQ_NONE);
	/* B: no byte changes before `seq` does. Pairs with kl_cursor_advance. */
	kl_write_barrier();
	header->magic = ring->header.magic;
	for (int i = 0; i < 16; i++)
		header->uuid[i] = ring->header.uuid[i];
	header->stream_id = 0;
	header->timestamp_begin = 0;
	header->timestamp_end = 0;
	kl_store(header->content_bits, 0);
	header->packet_bits = (u64)ring->block_bytes * 8;
	header->events_discarded = 0;
	kl_store(header->record_first, 0);
	kl_store(header->committed, KL_BLOCK_HEADER_BYTES);
	header->record_count = 0;
	header->cpu_id = ring->cpu;
	header->session_id = ring->header.session_id;
	header->header_bytes = KL_BLOCK_HEADER_BYTES;
	/* F: a late reader may come with an old seq: *block before the pointer to it. */
	kl_store_release(ring->window[slot], block);
	kl_store(ring->shared->map[slot], block->index);
	kl_store(ring->base[seq & 1], block->memory);
	/* The header is complete before `seq` names the block. Pairs with E. */
	kl_store_release(header->seq, seq);
	/* The block is named before an interrupt can use it. */
	kl_local_barrier();
	kl_store(ring->ready, seq & SEQ_MASK);
}

/*
 * Prepare a block after the current one. An interrupt may enter this again: it gives up, and loses
 * its record only if it reaches the end of a block at that moment, for which it must write a whole
 * block of records.
 */
static bool prepare_next(struct kl_ring *ring)
{
	struct kl_ring_block *block;
	bool ready = true;
	u64 seq;

	/* An interrupt that sets it clears it before it returns. */
	if (kl_racy(ring->preparing))
		return false;
	kl_store(ring->preparing, true);
	kl_local_barrier();
	seq = kl_load(ring->shared->head) + 1;
	if (kl_load(ring->ready) != (seq & SEQ_MASK)) {
		block = pick_block(ring);
		if (block)
			install_block(ring, block, seq);
		else
			ready = false;
	}
	kl_local_barrier();
	kl_store(ring->preparing, false);
	return ready;
}

/* The block of position @old gets no further records. */
static void finish_block(struct kl_ring *ring, u64 old, u64 time)
{
	struct kl_abi_block *block;
	u64 content = KL_POS_OFFSET(old);

	if (content > ring->block_bytes)
		return;
	block = (struct kl_abi_block *)ring->base[KL_POS_SEQ(old) & 1];
	block->timestamp_end = time;
	block->events_discarded = kl_load(ring->shared->lost);
	block->record_count = KL_POS_COUNT(old);
	kl_store(ring->shared->records, ring->shared->records + KL_POS_COUNT(old));
	kl_store(ring->shared->switches, ring->shared->switches + 1);
	/* Pairs with D: code that sees the size also sees the counters. */
	kl_store_release(block->content_bits, content * 8);
}

/**
 * kl_ring_switch - reserve room if the fast path could not
 * @ring: this CPU's ring
 * @old: position word for which the caller computed
 * @time: clock, read after @old
 * @bytes: size of the record with all variables
 * @slot: where to write, on success
 *
 * Switches to the next block, or stays if only the clock has stepped back (then the newest record's
 * time is used: times within a packet never decrease).
 */
enum kl_ring_result kl_ring_switch(struct kl_ring *ring, u64 old, u64 time, u32 bytes,
				   struct kl_slot *slot)
{
	u64 seq = KL_POS_SEQ(old);
	u64 next = (seq + 1) & SEQ_MASK;
	u64 offset = KL_POS_OFFSET(old);
	u64 last = kl_load(ring->last_time);
	bool back = (s64)(time - last) < 0;
	struct kl_abi_block *block;

	if (back)
		time = last;
	slot->time = time;
	slot->bytes = bytes;
	if (back && offset + bytes <= ring->block_bytes) {
		slot->base = kl_load(ring->base[seq & 1]);
		slot->at = slot->base + offset;
		if (!kl_local_try_cmpxchg(&ring->shared->position, &old, kl_ring_after(old, bytes)))
			return KL_RING_RETRY;
		return KL_RING_WRITTEN_FIRST;
	}
	if (kl_load(ring->ready) != next &&
	    (kl_load(ring->settled) != seq || !prepare_next(ring))) {
		/*
		 * The buffer is not full: a writer that interrupted us moved on, so
		 * retry there.
		 */
		if (kl_load(ring->shared->position) != old)
			return KL_RING_RETRY;
		kl_ring_count_lost(ring);
		return KL_RING_LOST;
	}
	slot->base = kl_load(ring->base[next & 1]);
	slot->at = slot->base + KL_BLOCK_HEADER_BYTES;
	if (!kl_local_try_cmpxchg(&ring->shared->position, &old,
				  next << KL_POS_SEQ_SHIFT | 1ull << KL_POS_COUNT_SHIFT |
					  (KL_BLOCK_HEADER_BYTES + bytes)))
		return KL_RING_RETRY;
	/*
	 * Not before: an interrupt before the exchange that found @time here would not see the gap
	 * and would write after it in the old block. An interrupt right after the exchange may see
	 * a gap that does not exist any more; its record is then counted as lost.
	 */
	kl_store(ring->last_time, time);
	finish_block(ring, old, time);
	block = (struct kl_abi_block *)slot->base;
	block->timestamp_begin = time;
	kl_store(block->record_first, ring->shared->records);
	/* Pairs with kl_cursor_find: blocks before `head` have been finished. */
	kl_store_release(ring->shared->head, ring->shared->head + 1);
	kl_local_barrier();
	kl_store(ring->settled, next);
	prepare_next(ring);
	return KL_RING_WRITTEN_FIRST;
}

/**
 * kl_ring_finish - close the current block although it is not full
 * @ring: a ring to which no record can be written now
 * @time: clock
 *
 * The next record begins a new block. Context: no writer on this ring.
 */
void kl_ring_finish(struct kl_ring *ring, u64 time)
{
	u64 old = ring->shared->position;

	if ((s64)(time - ring->last_time) < 0)
		time = ring->last_time;
	/* The clock of the caller's CPU may be ahead of that of the next record's CPU. */
	ring->last_time = time;
	finish_block(ring, old, time);
	kl_store(ring->shared->position, closed_position(KL_POS_SEQ(old)));
}

/**
 * kl_ring_init - initialize an empty ring; kl_ring_add() adds blocks
 * @ring: zeroed
 * @shared: zeroed, kl_ring_shared_bytes(@map_size)
 * @window: @map_size pointers
 * @map_size: a power of two, at least the most blocks it will ever have
 * @block_bytes: size of each block
 * @cpu: CPU that writes the records
 * @overwrite: reclaim the oldest block if no other is free
 * @header: magic, uuid and session_id for the blocks' headers
 */
void kl_ring_init(struct kl_ring *ring, struct kl_abi_ring *shared, struct kl_ring_block **window,
		  u32 map_size, u32 block_bytes, u32 cpu, bool overwrite,
		  const struct kl_abi_block *header)
{
	ring->shared = shared;
	ring->window = window;
	ring->map_mask = map_size - 1;
	ring->block_bytes = block_bytes;
	ring->cpu = cpu;
	ring->overwrite = overwrite;
	ring->header = *header;
	ring->wanted = map_size;
	ring->settled = SEQ_MASK;
	ring->ready = SEQ_MASK;
	shared->map_size = map_size;
	shared->head = KL_SEQ_NONE;
	shared->position = closed_position(SEQ_MASK);
}

/**
 * kl_ring_add - add a block to the ring
 * @ring: may be written to concurrently
 * @block: a block with memory, and with an index never used before in this ring
 *
 * The writer uses it from its next switch of blocks on. Context: any CPU.
 */
void kl_ring_add(struct kl_ring *ring, struct kl_ring_block *block)
{
	kl_store(((struct kl_abi_block *)block->memory)->seq, KL_SEQ_NONE);
	push_block(&ring->incoming, block);
}

/**
 * kl_ring_prepare - prepare a block before the first record
 * @ring: blocks have been added to it
 *
 * Otherwise the first record does so, and records of an interrupt at that moment are lost. Context:
 * the ring's CPU with interrupts off, or any as long as no record can be written.
 */
void kl_ring_prepare(struct kl_ring *ring)
{
	prepare_next(ring);
}

/**
 * kl_ring_take_outgoing - take the blocks that the writer has given back
 * @ring: may be written to concurrently
 *
 * Readers may still be copying from them: free them after a grace period.
 * Returns a list. Context: any CPU.
 */
struct kl_ring_block *kl_ring_take_outgoing(struct kl_ring *ring)
{
	return kl_exchange(ring->outgoing, NULL);
}

/**
 * kl_ring_is_nearly_full - would a few more blocks be lost, or replace others?
 * @ring: may be written to concurrently
 *
 * A hint, which may be outdated at once. Context: any CPU, preemption off: it reads the holders'
 * positions, which are freed a grace period after their holders.
 */
bool kl_ring_is_nearly_full(const struct kl_ring *ring)
{
	const struct kl_abi_ring *shared = ring->shared;
	u64 head = kl_load(shared->head);
	u64 first = first_held(ring);

	return head != KL_SEQ_NONE && head > first && head - first + 3 >= kl_load(shared->blocks);
}
