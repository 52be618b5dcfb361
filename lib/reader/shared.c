// SPDX-License-Identifier: GPL-2.0
/*
 * Gets blocks from the writer's own pages. The writer never waits for us, so a copy is valid only
 * if the block still has its sequence number afterwards. The barriers are named as in kernel/ring/.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../base/base.h"
#include "reader.h"

#define PAGE_BYTES 4096
#define MAP_SIZE_MAX (1u << 20)
#define INDEX_MAX (1u << 24)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define load(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define load_acquire(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)

/*
 * Map the pages and fault them in, so that no later access can fail: where nothing is mapped (no
 * such CPU, a block just reclaimed) this returns -EFAULT instead of a later signal. Negative errno
 * without an error text; *@memory is set on success.
 */
static int map(struct kl_reader *reader, uint64_t offset, size_t bytes, int rights,
	       const void **memory)
{
	void *at = mmap(NULL, bytes, rights, MAP_SHARED, reader->fd, offset);
	int error;

	if (at == MAP_FAILED)
		return -errno;
	/* Reserved memory was mapped by mmap(), and cannot be faulted in (EINVAL). */
	if (madvise(at, bytes, MADV_POPULATE_READ) && errno != EINVAL) {
		error = errno;
		munmap(at, bytes);
		return -error;
	}
	*memory = at;
	return 0;
}

/* The ring's first page has the size of the rest. A CPU without a ring is not an error. */
static int map_ring(struct kl_reader *reader, unsigned int cpu)
{
	struct kl_ring_view *view = &reader->views[cpu];
	const void *memory;
	uint32_t slots;
	int ret;

	ret = map(reader, KL_MMAP_RING(cpu), PAGE_BYTES, PROT_READ, &memory);
	if (ret == -EFAULT)
		return 0;
	if (ret)
		return kl_fail_system(-ret, "cannot map the ring of CPU %u", cpu);
	slots = load(((const struct kl_abi_ring *)memory)->map_size);
	munmap((void *)memory, PAGE_BYTES);
	if (!slots)
		return 0;
	if (slots > MAP_SIZE_MAX || (slots & (slots - 1)))
		return kl_fail(EPROTO, "CPU %u: invalid number of ring slots: %u", cpu, slots);
	view->shared_bytes = sizeof(struct kl_abi_ring) + slots * sizeof(uint32_t);
	view->shared_bytes = (view->shared_bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	ret = map(reader, KL_MMAP_RING(cpu), view->shared_bytes, PROT_READ, &memory);
	if (ret)
		return kl_fail_system(-ret, "cannot map the ring of CPU %u", cpu);
	view->shared = memory;
	return 0;
}

int kl_shared_open(struct kl_reader *reader)
{
	size_t bytes = reader->n_cpus * sizeof(uint64_t);
	const void *position;
	int ret;

	reader->position_bytes = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	reader->copy = malloc(reader->block_bytes);
	if (!reader->copy)
		return kl_fail(ENOMEM, "out of memory");
	ret = map(reader, KL_MMAP_POSITION, reader->position_bytes, PROT_READ | PROT_WRITE,
		  &position);
	if (ret)
		return kl_fail_system(-ret, "cannot map the reader's position");
	reader->position = (uint64_t *)position;
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		struct kl_ring_view *view = &reader->views[cpu];

		ret = map_ring(reader, cpu);
		if (ret)
			return ret;
		/* Where the kernel wants us to start. */
		view->next = load(reader->position[cpu]);
	}
	return 0;
}

void kl_shared_close(struct kl_reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		struct kl_ring_view *view = &reader->views[cpu];

		for (size_t i = 0; i < view->n_blocks; i++)
			if (view->blocks[i])
				munmap((void *)view->blocks[i], reader->block_bytes);
		free(view->blocks);
		if (view->shared)
			munmap((void *)view->shared, view->shared_bytes);
	}
	if (reader->position)
		munmap(reader->position, reader->position_bytes);
}

/* *@block is NULL if the block has been reclaimed. */
static int block_by_index(struct kl_reader *reader, unsigned int cpu, uint32_t index,
			  const struct kl_abi_block **block)
{
	struct kl_ring_view *view = &reader->views[cpu];
	const void *memory = NULL;
	int ret;

	if (index >= INDEX_MAX)
		return kl_fail(EPROTO, "CPU %u: invalid block number %u", cpu, index);
	if (index >= view->n_blocks) {
		size_t n = (index | 63) + 1;
		const struct kl_abi_block **blocks;

		blocks = reallocarray(view->blocks, n, sizeof(*blocks));
		if (!blocks)
			return kl_fail(ENOMEM, "out of memory");
		memset(blocks + view->n_blocks, 0, (n - view->n_blocks) * sizeof(*blocks));
		view->blocks = blocks;
		view->n_blocks = n;
	}
	if (!view->blocks[index]) {
		ret = map(reader, KL_MMAP_BLOCK(cpu, index, reader->block_bytes),
			  reader->block_bytes, PROT_READ, &memory);
		if (ret && ret != -EFAULT && ret != -ENXIO)
			return kl_fail_system(-ret, "cannot map block %u of CPU %u", index, cpu);
		view->blocks[index] = memory;
	}
	*block = view->blocks[index];
	return 0;
}

/*
 * Copy the committed part of the block with number view->next. Returns its size, 0 if the block is
 * no longer that one, or -EAGAIN if a record in it is being written. @records: number of records in
 * the copy.
 */
static long copy_block(struct kl_reader *reader, struct kl_ring_view *view,
		       const struct kl_abi_block *block, bool partial, uint64_t *records)
{
	struct kl_abi_block *copy = (struct kl_abi_block *)reader->copy;
	uint64_t bits, end, position;

	/* E: load the header after the sequence number. Pairs with install_block's release. */
	if (load_acquire(block->seq) != view->next)
		return 0;
	bits = load_acquire(block->content_bits);
	/*
	 * Load the count before the position. In the opposite order, a record that was begun
	 * earlier could still be open while later ones make the sum match. Pairs with A: a reader
	 * that sees the count also sees the records.
	 */
	end = load_acquire(block->committed);
	position = load_acquire(view->shared->position);
	if (bits) {
		if (end * 8 != bits)
			return -EAGAIN;
	} else {
		uint64_t seq_mask = (1ull << (64 - KL_POS_SEQ_SHIFT)) - 1;

		if (!partial || KL_POS_SEQ(position) != (view->next & seq_mask) ||
		    end != KL_POS_OFFSET(position))
			return -EAGAIN;
	}
	if (end < KL_BLOCK_HEADER_BYTES || end > reader->block_bytes)
		return 0;
	/* Copy all of it, not only the new part: the copy may have held other blocks since. */
	memcpy(copy, block, end);
	/* The copy's loads come before the check. Pairs with B. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load(block->seq) != view->next)
		return 0;
	copy->content_bits = bits;
	/* The header of a block being filled does not have it yet. */
	if (!bits)
		copy->events_discarded = load(view->shared->lost);
	copy->committed = end;
	*records = bits ? copy->record_count : KL_POS_COUNT(position);
	return end;
}

/* The writer has reclaimed the block we were at: continue with the oldest one left. */
static void overtaken(struct kl_ring_view *view, uint64_t tail)
{
	view->next = tail;
	view->records += view->given_records;
	view->given = 0;
	view->given_records = 0;
}

static void hand_out(struct kl_reader *reader, unsigned int cpu, size_t bytes, uint64_t records,
		     struct kl_reader_block *block)
{
	struct kl_ring_view *view = &reader->views[cpu];
	const struct kl_abi_block *copy = (const struct kl_abi_block *)reader->copy;

	*block = (struct kl_reader_block){
		.cpu = cpu,
		.seq = view->next,
		.block = copy,
		.to = bytes,
		.complete = copy->content_bits,
	};
	kl_reader_take(reader, view, block, records);
	/* The copy is done, so the writer may reclaim the block. Pairs with C. */
	if (block->complete)
		__atomic_store_n(&reader->position[cpu], view->next, __ATOMIC_RELEASE);
}

static bool is_behind_end(const struct kl_ring_view *view)
{
	return view->ends && view->next > view->last;
}

/*
 * The current block has been handed out as it was when reading was to end: that was the last one.
 */
static void end_in_block(struct kl_ring_view *view)
{
	if (view->ends)
		view->next = view->last + 1;
}

int kl_shared_next(struct kl_reader *reader, unsigned int cpu, bool partial,
		   struct kl_reader_block *block)
{
	struct kl_ring_view *view = &reader->views[cpu];
	const struct kl_abi_ring *ring = view->shared;

	while (ring) {
		const struct kl_abi_block *source = NULL;
		/* Pairs with the release of `head`: blocks before it are finished. */
		uint64_t head = load_acquire(ring->head);
		uint64_t tail = load(ring->tail);
		uint64_t records;
		long bytes = 0;
		int ret;

		if (view->next < tail)
			overtaken(view, tail);
		if (head == KL_SEQ_NONE || view->next > head || is_behind_end(view))
			return 0;
		ret = block_by_index(reader, cpu,
				     load(ring->map[view->next & (ring->map_size - 1)]), &source);
		if (ret)
			return ret;
		if (source)
			bytes = copy_block(reader, view, source, partial, &records);
		if (bytes > 0) {
			bool complete = ((struct kl_abi_block *)reader->copy)->content_bits;

			if (!complete && records == view->given_records) {
				end_in_block(view);
				return 0;
			}
			hand_out(reader, cpu, bytes, records, block);
			if (!complete)
				end_in_block(view);
			return 1;
		}
		/*
		 * If the block was reclaimed after we read `tail`, then `tail` has moved: try
		 * again.
		 */
		if (bytes == -EAGAIN || load(ring->tail) == tail)
			return 0;
	}
	return 0;
}

bool kl_shared_ready(const struct kl_reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		const struct kl_abi_ring *ring = reader->views[cpu].shared;
		uint64_t head = ring ? load(ring->head) : KL_SEQ_NONE;

		if (head != KL_SEQ_NONE && reader->views[cpu].next < head)
			return true;
	}
	return false;
}

void kl_shared_join(struct kl_reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		struct kl_ring_view *view = &reader->views[cpu];

		if (!view->shared)
			continue;
		view->joined = true;
		view->records = load(view->shared->records);
		view->lost = load(view->shared->lost);
		reader->lost_before += view->lost;
	}
}

void kl_shared_end_here(struct kl_reader *reader)
{
	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++) {
		struct kl_ring_view *view = &reader->views[cpu];
		uint64_t head = view->shared ? load_acquire(view->shared->head) : KL_SEQ_NONE;

		view->ends = true;
		view->last = head;
		/* A CPU that has not started has no blocks. */
		if (head == KL_SEQ_NONE) {
			view->last = 0;
			view->next = 1;
		}
	}
}

uint64_t kl_shared_lost(const struct kl_reader *reader)
{
	uint64_t lost = 0;

	for (unsigned int cpu = 0; cpu < reader->n_cpus; cpu++)
		if (reader->views[cpu].shared)
			lost += load(reader->views[cpu].shared->lost);
	return lost;
}
