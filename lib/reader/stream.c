// SPDX-License-Identifier: GPL-2.0
/*
 * Reads one CPU's file, mapped in memory. What is damaged is skipped up to the
 * next place where a block of this trace starts, and reported as a loss.
 */
#include "../base/base.h"
#include "stream.h"

static const struct kl_abi_block *block_at(const struct kl_stream *s, size_t at)
{
	return (const struct kl_abi_block *)(s->map + at);
}

static bool starts_here(const struct kl_stream *s, size_t at)
{
	return block_at(s, at)->magic == KL_CTF_MAGIC &&
	       !memcmp(block_at(s, at)->uuid, s->uuid, 16);
}

static void push_loss(struct kl_stream *s, enum kl_loss_kind kind, uint64_t records,
		      uint64_t blocks, uint64_t begin, uint64_t key)
{
	unsigned int n = s->n_pending++;

	s->pending[n] = (struct kl_loss){
		.kind = kind,
		.cpu = s->cpu,
		.records = records,
		.blocks = blocks,
		.begin_ns = begin ? kl_timebase_ns(s->timebase, begin) : 0,
		.end_ns = key == ~0ull ? 0 : kl_timebase_ns(s->timebase, key),
	};
	s->pending_key[n] = key;
	if (kind == KL_LOSS_DISCARDED)
		s->counts->discarded += records;
	else if (kind == KL_LOSS_OVERWRITTEN)
		s->counts->overwritten += records;
	else if (kind == KL_LOSS_BEFORE)
		s->counts->before += records;
	else
		s->counts->damaged += records;
}

/* What is missing between the block before and @block. */
static void find_gap(struct kl_stream *s, const struct kl_abi_block *block)
{
	uint64_t records = block->record_first - s->expected;
	enum kl_loss_kind kind = KL_LOSS_OVERWRITTEN;

	if (s->skipped)
		kind = KL_LOSS_CORRUPT;
	else if (!s->any)
		kind = KL_LOSS_BEFORE;
	if (records || s->skipped)
		push_loss(s, kind, records, block->seq - (s->any ? s->seq + 1 : 0), s->end,
			  block->timestamp_begin);
	s->skipped = false;
}

static void enter(struct kl_stream *s, const struct kl_abi_block *block)
{
	find_gap(s, block);
	s->block = block;
	s->got = 0;
	s->at += block->packet_bits / 8;
	s->any = true;
	s->seq = block->seq;
	s->expected = block->record_first + block->record_count;
	s->counts->blocks++;
	kl_cursor_enter(&s->cursor, block, 0, block->content_bits / 8);
}

/* Blocks follow each other in number and time. */
static bool is_in_order(const struct kl_stream *s, const struct kl_abi_block *block)
{
	if (block->cpu_id != s->cpu)
		return false;
	if (!s->any)
		return true;
	return block->seq > s->seq && block->record_first >= s->expected &&
	       block->timestamp_begin >= s->end && block->events_discarded >= s->discarded;
}

static bool is_cut(const struct kl_stream *s)
{
	size_t rest = s->size - s->at;

	if (rest < KL_BLOCK_HEADER_BYTES)
		return true;
	return starts_here(s, s->at) && block_at(s, s->at)->packet_bits / 8 > rest &&
	       block_at(s, s->at)->packet_bits / 8 <= KL_BLOCK_BYTES_MAX;
}

static bool next_block(struct kl_stream *s)
{
	while (s->at < s->size) {
		if (is_cut(s)) {
			s->counts->cut_bytes += s->size - s->at;
			s->at = s->size;
			break;
		}
		if (!kl_block_check(block_at(s, s->at), s->size - s->at, s->uuid) &&
		    is_in_order(s, block_at(s, s->at))) {
			enter(s, block_at(s, s->at));
			return true;
		}
		if (!s->skipped || starts_here(s, s->at))
			s->counts->corrupt++;
		s->skipped = true;
		/* Blocks are multiples of the smallest block: look there. */
		do {
			s->at += KL_BLOCK_BYTES_MIN;
		} while (s->size - s->at >= KL_BLOCK_HEADER_BYTES && s->at < s->size &&
			 !starts_here(s, s->at));
		if (s->at > s->size)
			s->at = s->size;
	}
	return false;
}

bool kl_stream_start(struct kl_stream *s)
{
	if (!next_block(s))
		return false;
	s->cursor.event.cpu = s->cpu;
	return true;
}

static void leave(struct kl_stream *s, bool bad)
{
	const struct kl_abi_block *block = s->block;
	uint64_t discarded = block->events_discarded - s->discarded;

	if (bad || s->got < block->record_count) {
		uint64_t missing = block->record_count > s->got ? block->record_count - s->got : 0;

		s->counts->corrupt++;
		push_loss(s, KL_LOSS_CORRUPT, missing, 0, s->cursor.event.cycles,
			  block->timestamp_end);
	}
	if (discarded)
		push_loss(s, KL_LOSS_DISCARDED, discarded, 0, s->any ? s->cursor.event.cycles : 0,
			  block->timestamp_end);
	s->discarded = block->events_discarded;
	s->end = block->timestamp_end;
	s->block = NULL;
}

static bool pop_loss(struct kl_stream *s)
{
	if (!s->n_pending)
		return false;
	s->loss = s->pending[0];
	s->key = s->pending_key[0];
	s->is_loss = true;
	s->n_pending--;
	for (unsigned int i = 0; i < s->n_pending; i++) {
		s->pending[i] = s->pending[i + 1];
		s->pending_key[i] = s->pending_key[i + 1];
	}
	return true;
}

bool kl_stream_next(struct kl_stream *s)
{
	while (!pop_loss(s)) {
		if (s->block) {
			int ret = kl_cursor_next(&s->cursor);

			if (ret > 0) {
				s->got++;
				s->key = s->cursor.event.cycles;
				s->is_loss = false;
				return true;
			}
			leave(s, ret < 0);
		} else if (!next_block(s)) {
			if (!s->skipped)
				return false;
			s->skipped = false;
			push_loss(s, KL_LOSS_CORRUPT, 0, 0, s->end, ~0ull);
		}
	}
	return true;
}
