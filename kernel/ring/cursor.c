// SPDX-License-Identifier: GPL-2.0
/*
 * Moves a reader through one ring: finds the next block, and checks that a copy is intact. Never
 * makes the writer wait; a reader that was overtaken continues with the oldest block and knows what
 * it missed.
 */
#include "ring.h"

/**
 * kl_cursor_find - find the next complete block, if there is one
 * @ring: may be written to concurrently; its blocks are not freed during the call
 * @cursor: moved forward if the blocks at its position have been reused
 *
 * Copy the returned block, then call kl_cursor_advance to check that the copy is intact. Returns
 * NULL if no block is complete yet. Context: any.
 */
const u8 *kl_cursor_find(const struct kl_ring *ring, struct kl_cursor *cursor)
{
	const struct kl_abi_ring *shared = ring->shared;

	for (;;) {
		/*
		 * G: `tail` first, so that it is not beyond `head`: a reader that is preempted here
		 * and continues far behind must not find "nothing yet".
		 */
		u64 tail = kl_load_acquire(shared->tail);
		/* Pairs with the release of `head`: blocks before it are finished. */
		u64 head = kl_load_acquire(shared->head);
		const struct kl_ring_block *block;
		const struct kl_abi_block *header;
		u64 bits;

		if (cursor->next < tail)
			cursor->next = tail;
		if (head == KL_SEQ_NONE || cursor->next > head)
			return NULL;
		/* Pairs with F. */
		block = kl_load_acquire(ring->window[cursor->next & ring->map_mask]);
		header = (const struct kl_abi_block *)block->memory;
		/* E: pairs with A and with the releases of `seq`. */
		if (kl_load_acquire(header->seq) == cursor->next) {
			bits = kl_load_acquire(header->content_bits);
			if (bits && kl_load_acquire(header->committed) * 8 == bits)
				return block->memory;
		}
		/* Not complete; or reclaimed in the meantime: then `tail` has moved. */
		if (kl_load_acquire(shared->tail) == tail)
			return NULL;
	}
}

/**
 * kl_cursor_advance - check that the copy was intact, and advance past it
 * @cursor: as kl_cursor_find left it
 * @found: what kl_cursor_find returned
 * @copy: header of the copy made of it
 *
 * Returns false if the block was overwritten in the meantime: discard the copy and call
 * kl_cursor_find again. Context: any.
 */
bool kl_cursor_advance(struct kl_cursor *cursor, const u8 *found, const struct kl_abi_block *copy)
{
	const struct kl_abi_block *header = (const struct kl_abi_block *)found;

	/* The copy's loads before the check. Pairs with B. */
	kl_read_barrier();
	if (kl_load(header->seq) != cursor->next)
		return false;
	cursor->missed += copy->record_first - cursor->records;
	cursor->records = copy->record_first + copy->record_count;
	cursor->next++;
	return true;
}

/**
 * kl_cursor_place_at_head - start at the block being filled
 * @ring: may be written to concurrently; its blocks are not freed during the call
 * @cursor: set; records in earlier blocks do not count as missed
 *
 * Context: any.
 */
void kl_cursor_place_at_head(const struct kl_ring *ring, struct kl_cursor *cursor)
{
	const struct kl_abi_block *header;
	const struct kl_ring_block *block;

	for (;;) {
		/* Pairs with the release of `head`: record_first is set. */
		u64 head = kl_load_acquire(ring->shared->head);

		*cursor = (struct kl_cursor){};
		if (head == KL_SEQ_NONE)
			return;
		block = kl_load_acquire(ring->window[head & ring->map_mask]);
		header = (const struct kl_abi_block *)block->memory;
		cursor->next = head;
		cursor->records = kl_load(header->record_first);
		/* The load before the check. Pairs with B. */
		kl_read_barrier();
		if (kl_load(header->seq) == head)
			return;
	}
}
