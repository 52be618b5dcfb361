// SPDX-License-Identifier: GPL-2.0
/*
 * The test bench of the ring: writes records as kernel/core/record.h does, logs the result of each,
 * and checks blocks, bookkeeping and counts. Counters are atomic because tests interrupt
 * bench_fire() anywhere.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SEQ_MASK ((1ull << (64 - KL_POS_SEQ_SHIFT)) - 1)

static bool wrong(struct bench *bench, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(bench->why, sizeof(bench->why), format, arguments);
	va_end(arguments);
	return false;
}

void bench_add(struct bench *bench, u32 blocks)
{
	while (blocks--) {
		struct kl_ring_block *block = &bench->pool[bench->pool_used];

		block->memory = malloc(BENCH_BLOCK_BYTES);
		memset(block->memory, 0xEE, BENCH_BLOCK_BYTES);
		block->index = bench->pool_used++;
		kl_ring_add(&bench->ring, block);
	}
}

u32 bench_take_outgoing(struct bench *bench)
{
	struct kl_ring_block *block = kl_ring_take_outgoing(&bench->ring);
	u32 taken = 0;

	for (; block; block = block->next)
		taken++;
	bench->given_back += taken;
	return taken;
}

struct bench *bench_new(const struct bench_config *config)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC, .session_id = 7 };
	u64 before = config->start_seq - 1;

	memset(header.uuid, 0x5A, sizeof(header.uuid));
	bench->shared = calloc(1, kl_ring_shared_bytes(config->map_size));
	bench->window = calloc(config->map_size, sizeof(*bench->window));
	bench->clock = 1000;
	kl_ring_init(&bench->ring, bench->shared, bench->window, config->map_size,
		     BENCH_BLOCK_BYTES, 3, config->overwrite, &header);
	if (config->start_seq) {
		/* As if block `before` had been finished and returned. */
		bench->shared->head = before;
		bench->shared->tail = config->start_seq;
		bench->shared->position = (before & SEQ_MASK) << KL_POS_SEQ_SHIFT |
					  ((1ull << KL_POS_OFFSET_BITS) - 1);
		bench->ring.settled = before & SEQ_MASK;
		bench->ring.ready = before & SEQ_MASK;
	}
	bench_add(bench, config->blocks);
	return bench;
}

void bench_free(struct bench *bench)
{
	for (u32 i = 0; i < bench->pool_used; i++)
		free(bench->pool[i].memory);
	free(bench->window);
	free(bench->shared);
	free(bench);
}

static u8 fill_byte(u32 id)
{
	return id * 37 + 11;
}

enum kl_ring_result bench_begin(struct bench *bench, u32 bytes, struct bench_pending *pending)
{
	struct kl_ring *ring = &bench->ring;
	enum kl_ring_result result;

	pending->id = __atomic_fetch_add(&bench->fired, 1, __ATOMIC_RELAXED);
	do {
		u64 old = kl_load(ring->shared->position);
		u64 time;

		kl_local_barrier();
		time = __atomic_add_fetch(&bench->clock, 1, __ATOMIC_RELAXED);
		result = kl_ring_reserve(ring, old, time, bytes, bytes + BENCH_FIRST_EXTRA,
					 &pending->slot);
	} while (result == KL_RING_RETRY);
	bench->log[pending->id].result = result;
	if (result == KL_RING_LOST)
		__atomic_add_fetch(&bench->lost, 1, __ATOMIC_RELAXED);
	return result;
}

void bench_end(struct bench *bench, const struct bench_pending *pending)
{
	const struct kl_slot *slot = &pending->slot;
	struct bench_record record = {
		.bytes = slot->bytes,
		.id = pending->id,
		.time = slot->time,
		.header_time = slot->time & ((1ull << KL_RECORD_TIME_BITS) - 1),
		.first = bench->log[pending->id].result == KL_RING_WRITTEN_FIRST,
	};

	memcpy(slot->at, &record, sizeof(record));
	memset(slot->at + sizeof(record), fill_byte(record.id), slot->bytes - sizeof(record));
	kl_ring_commit(slot);
	__atomic_add_fetch(&bench->written, 1, __ATOMIC_RELAXED);
}

enum kl_ring_result bench_fire_bytes(struct bench *bench, u32 bytes)
{
	struct bench_pending pending;
	enum kl_ring_result result = bench_begin(bench, bytes, &pending);

	if (result != KL_RING_LOST)
		bench_end(bench, &pending);
	return result;
}

enum kl_ring_result bench_fire(struct bench *bench)
{
	return bench_fire_bytes(bench, BENCH_RECORD_BYTES);
}

void bench_fill_block(struct bench *bench)
{
	while (KL_POS_OFFSET(bench->shared->position) + BENCH_RECORD_BYTES <= BENCH_BLOCK_BYTES)
		bench_fire(bench);
}

static bool check_record(struct bench *bench, const struct bench_record *record, u64 *decoded,
			 bool mark)
{
	const u64 mask = (1ull << KL_RECORD_TIME_BITS) - 1;
	u64 time;

	if (record->id >= bench->fired)
		return wrong(bench, "record id %u of %u", record->id, bench->fired);
	for (u32 i = 0; i < record->bytes - sizeof(*record); i++)
		if (record->fill[i] != fill_byte(record->id))
			return wrong(bench, "record %u has a wrong byte", record->id);
	/* Extend the 48 bits as a CTF reader does. */
	time = *decoded + ((record->header_time - *decoded) & mask);
	if (time != record->time)
		return wrong(bench, "record %u: time %llx decodes to %llx", record->id,
			     record->time, time);
	*decoded = time;
	if (!mark)
		return true;
	if (bench->log[record->id].result == KL_RING_LOST)
		return wrong(bench, "record %u was lost but is there", record->id);
	if (bench->log[record->id].read++)
		return wrong(bench, "record %u is there twice", record->id);
	bench->read++;
	return true;
}

/* Records fill [header, @end) exactly, are intact, and their times decode. */
bool bench_check_records(struct bench *bench, const u8 *memory, u32 end, bool mark)
{
	const struct kl_abi_block *header = (const struct kl_abi_block *)memory;
	u64 time = header->timestamp_begin;
	u32 at = KL_BLOCK_HEADER_BYTES;
	struct bench_record first;

	if (end < at + sizeof(first) || end > BENCH_BLOCK_BYTES)
		return wrong(bench, "block %llu ends at %u", header->seq, end);
	memcpy(&first, memory + at, sizeof(first));
	if (first.time != time || !first.first)
		return wrong(bench, "block %llu begins at %llx, its first record at %llx%s",
			     header->seq, time, first.time, first.first ? "" : ", not as first");
	while (at < end) {
		const struct bench_record *record = (const void *)(memory + at);

		if (record->bytes < sizeof(*record) || record->bytes > end - at)
			return wrong(bench, "block %llu: %u bytes at %u of %u", header->seq,
				     record->bytes, at, end);
		if (!check_record(bench, record, &time, mark))
			return false;
		at += record->bytes;
	}
	if (header->content_bits && time > header->timestamp_end)
		return wrong(bench, "block %llu ends before its last record", header->seq);
	return true;
}

bool bench_check_block(struct bench *bench, const u8 *memory, u64 seq, bool mark)
{
	const struct kl_abi_block *header = (const struct kl_abi_block *)memory;
	u32 before = bench->read;

	if (header->magic != KL_CTF_MAGIC || header->uuid[15] != 0x5A || header->stream_id ||
	    header->session_id != 7 || header->cpu_id != 3 ||
	    header->packet_bits != BENCH_BLOCK_BYTES * 8)
		return wrong(bench, "block %llu: header", seq);
	if (header->seq != seq)
		return wrong(bench, "block %llu calls itself %llu", seq, header->seq);
	if (header->committed * 8 != header->content_bits)
		return wrong(bench, "block %llu: %llu bytes committed, %llu bits content", seq,
			     header->committed, header->content_bits);
	if (!bench_check_records(bench, memory, header->committed, mark))
		return false;
	if (mark && bench->read - before != header->record_count)
		return wrong(bench, "block %llu: %u records, header says %u", seq,
			     bench->read - before, header->record_count);
	return true;
}

bool bench_check_partial(struct bench *bench)
{
	struct kl_abi_ring *shared = bench->shared;
	const struct kl_abi_block *header;
	u64 committed;

	if (shared->head == KL_SEQ_NONE || shared->head < shared->tail)
		return true;
	for (u64 seq = shared->tail; seq != shared->head; seq++) {
		header = (void *)bench->window[seq & bench->ring.map_mask]->memory;
		if (header->seq != seq || !header->content_bits)
			return wrong(bench, "block %llu, before head, is not finished", seq);
	}
	header = (void *)bench->window[shared->head & bench->ring.map_mask]->memory;
	if (header->seq != shared->head)
		return wrong(bench, "head %llu is in a block called %llu", shared->head,
			     header->seq);
	committed = header->committed;
	if (KL_POS_SEQ(shared->position) != (shared->head & SEQ_MASK) ||
	    KL_POS_OFFSET(shared->position) != committed)
		return true;
	return bench_check_records(bench, (const u8 *)header, committed, false);
}

bool bench_check_state(struct bench *bench)
{
	struct kl_abi_ring *shared = bench->shared;
	struct kl_ring *ring = &bench->ring;
	u64 last = shared->head + ((ring->ready != (shared->head & SEQ_MASK)));
	u32 owned = 0, total, incoming = 0;
	u32 seen[BENCH_POOL_MAX] = {};

	if (ring->preparing)
		return wrong(bench, "still preparing");
	if (ring->settled != (shared->head & SEQ_MASK))
		return wrong(bench, "settled %llu, head %llu", ring->settled, shared->head);
	if (last + 1 - shared->tail > shared->map_size)
		return wrong(bench, "window %llu..%llu, map of %u", shared->tail, last,
			     shared->map_size);
	for (u64 seq = shared->tail; seq != last + 1; seq++) {
		struct kl_ring_block *block = bench->window[seq & ring->map_mask];
		struct kl_abi_block *header = (void *)block->memory;

		if (header->seq != seq || shared->map[seq & ring->map_mask] != block->index)
			return wrong(bench, "map of %llu", seq);
		if (seen[block->index]++)
			return wrong(bench, "block %u is twice in use", block->index);
		owned++;
	}
	for (struct kl_ring_block *block = ring->free; block; block = block->next, owned++)
		if (seen[block->index]++)
			return wrong(bench, "block %u is free and in use", block->index);
	if (owned != shared->blocks)
		return wrong(bench, "%u blocks, shared page says %u", owned, shared->blocks);
	for (struct kl_ring_block *block = ring->incoming; block; block = block->next)
		incoming++;
	bench_take_outgoing(bench);
	total = owned + incoming + bench->given_back;
	if (total != bench->pool_used)
		return wrong(bench, "%u blocks of %u", total, bench->pool_used);
	return true;
}

bool bench_drain(struct bench *bench, struct kl_cursor *cursor)
{
	const u8 *block;

	while ((block = kl_cursor_find(&bench->ring, cursor))) {
		const struct kl_abi_block *header = (const struct kl_abi_block *)block;

		if (!bench_check_block(bench, block, cursor->next, true))
			return false;
		if (cursor->records > header->record_first)
			return wrong(bench, "block %llu: record_first", cursor->next);
		if (!kl_cursor_advance(cursor, block, header))
			return wrong(bench, "block %llu went away", cursor->next);
	}
	return true;
}

bool bench_check_end(struct bench *bench)
{
	struct kl_cursor cursor = {};
	u64 end = 0;

	kl_ring_finish(&bench->ring, __atomic_add_fetch(&bench->clock, 1, __ATOMIC_RELAXED));
	if (!bench_check_state(bench) || !bench_drain(bench, &cursor))
		return false;
	for (u64 seq = bench->shared->tail; seq != bench->shared->head + 1; seq++) {
		struct kl_ring_block *block = bench->window[seq & bench->ring.map_mask];
		struct kl_abi_block *header = (void *)block->memory;

		if (header->timestamp_begin < end)
			return wrong(bench, "block %llu begins before the last ends", seq);
		end = header->timestamp_end;
	}
	if (bench->written + bench->lost != bench->fired || bench->shared->lost != bench->lost)
		return wrong(bench, "fired %u: written %u + lost %u, counted %llu", bench->fired,
			     bench->written, bench->lost, bench->shared->lost);
	if (bench->shared->records != bench->written)
		return wrong(bench, "written %u, counted %llu", bench->written,
			     bench->shared->records);
	if (bench->read + cursor.missed != bench->written)
		return wrong(bench, "written %u: read %u + missed %llu", bench->written,
			     bench->read, cursor.missed);
	if (!bench->ring.overwrite && bench->shared->tail > bench->hold)
		return wrong(bench, "block %llu is gone but held", bench->shared->tail - 1);
	return true;
}
