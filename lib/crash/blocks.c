// SPDX-License-Identifier: GPL-2.0
/*
 * Collects what the pages of a session lead to: its rings and its blocks. Links and
 * sums show what is missing; it is reported, and the rest is used.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../reader/pack.h"
#include "dump.h"

bool kl_dump_belongs(const struct kl_dump *dump, const struct kl_dump_found *session,
		     const struct kl_dump_page *page, enum kl_crash_kind kind)
{
	const struct kl_dump_page *anchor = &dump->loads[session->session.machine].page;

	return page->kind == kind &&
	       !memcmp(page->uuid, session->page.head.uuid, sizeof(page->uuid)) &&
	       kl_dump_page_at(dump, anchor, page->address) == page;
}

static void lose(const struct kl_dump *dump, struct kl_dump_parts *parts, uint32_t cpu,
		 uint64_t address, const char *what)
{
	parts->damaged++;
	kl_dump_damaged(dump, "CPU %u: %s at 0x%llx is damaged", cpu, what,
			(unsigned long long)address);
}

/* ------------------------------------------------------- rings */

static bool is_ring_sound(const struct kl_abi_ring *ring)
{
	uint64_t seq_mask = (1ull << (64 - KL_POS_SEQ_SHIFT)) - 1;
	uint64_t ahead = (KL_POS_SEQ(ring->position) - ring->head) & seq_mask;

	if (!ring->map_size || ring->map_size > KL_BLOCKS_MAX ||
	    ring->map_size & (ring->map_size - 1) || ring->blocks > ring->map_size)
		return false;
	/* Nothing was ever recorded. */
	if (ring->head == KL_SEQ_NONE)
		return !ring->tail && !ring->records && ahead <= 1;
	return ring->tail <= ring->head && ring->head - ring->tail < ring->map_size && ahead <= 1 &&
	       ring->switches <= ring->head + 1;
}

static int add_ring(const struct kl_dump *dump, struct kl_dump_parts *parts, uint32_t cpu,
		    uint64_t address)
{
	struct kl_dump_ring *ring;

	if (cpu >= KL_CPUS_MAX)
		return 0;
	if (cpu >= parts->n_rings) {
		struct kl_dump_ring *rings = reallocarray(parts->rings, cpu + 1, sizeof(*rings));

		if (!rings)
			return kl_fail(ENOMEM, "out of memory");
		memset(rings + parts->n_rings, 0, (cpu + 1 - parts->n_rings) * sizeof(*rings));
		parts->rings = rings;
		parts->n_rings = cpu + 1;
	}
	ring = &parts->rings[cpu];
	ring->found = kl_image_read(dump->image, address, &ring->shared, sizeof(ring->shared));
	ring->sound = ring->found && is_ring_sound(&ring->shared);
	if (!ring->sound)
		lose(dump, parts, cpu, address, "the page of its buffer's state");
	return 0;
}

/* ------------------------------------------------------- blocks */

static bool is_possible(const struct kl_dump_found *session, const struct kl_dump_block *block)
{
	const struct kl_abi_block *h = &block->header;

	return h->magic == KL_CTF_MAGIC && !h->stream_id && h->cpu_id == block->cpu &&
	       h->session_id == session->page.id && h->header_bytes == KL_BLOCK_HEADER_BYTES &&
	       h->packet_bits == 8ull * session->page.block_bytes &&
	       !memcmp(h->uuid, session->page.head.uuid, sizeof(h->uuid)) &&
	       h->committed >= KL_BLOCK_HEADER_BYTES && h->committed <= session->page.block_bytes;
}

static int add_block(const struct kl_dump *dump, const struct kl_dump_found *session,
		     struct kl_dump_parts *parts, uint32_t cpu, const __u64 *addresses)
{
	struct kl_dump_block block = { .cpu = cpu, .addresses = addresses };
	struct kl_dump_block *blocks;

	if (cpu >= KL_CPUS_MAX ||
	    !kl_image_read(dump->image, addresses[0], &block.header, sizeof(block.header))) {
		lose(dump, parts, cpu, addresses[0], "a block");
		return 0;
	}
	/* No ring uses it now. */
	if (block.header.seq == KL_SEQ_NONE)
		return 0;
	if (!is_possible(session, &block)) {
		lose(dump, parts, cpu, addresses[0], "the header of a block");
		return 0;
	}
	blocks = kl_array_grow(parts->blocks, parts->n_blocks, &parts->blocks_capacity,
			       sizeof(*blocks));
	if (!blocks)
		return -errno;
	parts->blocks = blocks;
	blocks[parts->n_blocks++] = block;
	return 0;
}

static int compare_blocks(const void *one, const void *two)
{
	const struct kl_dump_block *a = one, *b = two;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->header.seq < b->header.seq ? -1 : a->header.seq > b->header.seq;
}

/* ------------------------------------------------------- pieces */

static int take_slots(const struct kl_dump *dump, const struct kl_dump_found *session,
		      struct kl_dump_parts *parts, const struct kl_crash_pieces *pieces)
{
	uint32_t stride = pieces->stride;
	int ret = 0;

	for (uint32_t at = 0; at + stride <= KL_CRASH_PIECES_WORDS && !ret; at += stride) {
		const __u64 *slot = &pieces->word[at];
		uint32_t cpu = KL_CRASH_SLOT_CPU(slot[0]);

		if (!slot[0])
			continue;
		if (slot[0] != kl_crash_slot(cpu, slot + 1, stride - 1))
			lose(dump, parts, cpu,
			     pieces->head.address +
				     ((const uint8_t *)slot - (const uint8_t *)pieces),
			     "the entry of a block");
		else if (pieces->what == KL_CRASH_RINGS)
			ret = add_ring(dump, parts, cpu, slot[1]);
		else
			ret = add_block(dump, session, parts, cpu, slot + 1);
	}
	return ret;
}

static int take_pieces(const struct kl_dump *dump, const struct kl_dump_found *session,
		       struct kl_dump_parts *parts, const struct kl_dump_page *page)
{
	struct kl_crash_pieces *pieces = malloc(KL_CRASH_PAGE), **list;
	uint32_t stride;

	if (!pieces)
		return kl_fail(ENOMEM, "out of memory");
	list = reallocarray(parts->pieces, parts->n_pieces + 1, sizeof(*list));
	if (!list) {
		free(pieces);
		return kl_fail(ENOMEM, "out of memory");
	}
	parts->pieces = list;
	list[parts->n_pieces++] = pieces;
	memset(pieces, 0, KL_CRASH_PAGE);
	if (!kl_dump_read_page(dump, page, pieces))
		return 0;
	stride = pieces->what == KL_CRASH_RINGS ? 2 : 1 + session->page.block_bytes / KL_CRASH_PAGE;
	if (pieces->what > KL_CRASH_BLOCKS || !pieces->what || pieces->stride != stride) {
		parts->damaged++;
		kl_dump_damaged(dump, "the page of blocks at 0x%llx belongs to another session",
				(unsigned long long)page->address);
		return 0;
	}
	return take_slots(dump, session, parts, pieces);
}

/* Follow the links: each must lead to a page that was found. */
static void follow_links(const struct kl_dump *dump, const struct kl_dump_found *session,
			 struct kl_dump_parts *parts)
{
	uint64_t address = session->page.pieces;

	for (size_t i = 0; address && i <= parts->n_pieces; i++) {
		const struct kl_crash_pieces *found = NULL;

		for (size_t k = 0; k < parts->n_pieces && !found; k++)
			if (parts->pieces[k]->head.address == address)
				found = parts->pieces[k];
		if (!found) {
			parts->damaged++;
			kl_dump_damaged(
				dump,
				"the page at 0x%llx, which lists blocks, is damaged: they are "
				"lost",
				(unsigned long long)address);
			return;
		}
		address = found->next;
	}
}

/* Of two blocks with the same number, at most one is what it says: leave out both. */
static void remove_twins(const struct kl_dump *dump, struct kl_dump_parts *parts)
{
	size_t n = 0, same;

	for (size_t i = 0; i < parts->n_blocks; i += same) {
		const struct kl_dump_block *block = &parts->blocks[i];

		for (same = 1;
		     i + same < parts->n_blocks && !compare_blocks(block, &parts->blocks[i + same]);
		     same++)
			;
		if (same == 1) {
			parts->blocks[n++] = *block;
			continue;
		}
		parts->damaged += same;
		kl_dump_damaged(dump, "CPU %u: %zu blocks have the number %llu: they are left out",
				block->cpu, same, (unsigned long long)block->header.seq);
	}
	parts->n_blocks = n;
}

static int read_regions(const struct kl_dump *dump, const struct kl_dump_found *session,
			struct kl_dump_parts *parts)
{
	static const char *const names[KL_CRASH_REGIONS] = {
		[KL_CRASH_METADATA] = "the description of the session's events is",
		[KL_CRASH_NAMES] = "the names that the session has are",
		[KL_CRASH_STACKS] = "the session's stack traces are",
		[KL_CRASH_STACK_WORDS] = "the frames of the session's stack traces are",
	};

	for (int kind = 0; kind < KL_CRASH_REGIONS; kind++) {
		int ret = kl_dump_read_region(dump, session, kind, &parts->region[kind]);

		if (ret && ret != -EBADMSG)
			return ret;
		if (!ret)
			continue;
		parts->damaged++;
		kl_dump_damaged(dump, "%s damaged", names[kind]);
	}
	return 0;
}

int kl_dump_collect(const struct kl_dump *dump, const struct kl_dump_found *session,
		    struct kl_dump_parts *parts)
{
	int ret = 0;

	*parts = (struct kl_dump_parts){};
	if (session->page.block_bytes < KL_BLOCK_BYTES_MIN ||
	    session->page.block_bytes > KL_BLOCK_BYTES_MAX ||
	    session->page.block_bytes & (session->page.block_bytes - 1))
		return kl_fail(EBADMSG, "the session has impossible blocks of %u bytes",
			       session->page.block_bytes);
	for (size_t i = 0; i < dump->n_pages && !ret; i++)
		if (kl_dump_belongs(dump, session, &dump->pages[i], KL_CRASH_PIECES))
			ret = take_pieces(dump, session, parts, &dump->pages[i]);
	if (ret)
		return ret;
	follow_links(dump, session, parts);
	if (parts->n_blocks)
		qsort(parts->blocks, parts->n_blocks, sizeof(*parts->blocks), compare_blocks);
	remove_twins(dump, parts);
	return read_regions(dump, session, parts);
}

void kl_dump_parts_free(struct kl_dump_parts *parts)
{
	for (size_t i = 0; i < parts->n_pieces; i++)
		free(parts->pieces[i]);
	free(parts->pieces);
	free(parts->blocks);
	free(parts->rings);
	for (int kind = 0; kind < KL_CRASH_REGIONS; kind++)
		free(parts->region[kind].bytes);
}
