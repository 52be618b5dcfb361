// SPDX-License-Identifier: GPL-2.0
/*
 * Reads one CPU's file, copying a block at a time, since the file may change concurrently. Damaged
 * data is skipped up to the next position where a block of this trace starts, and reported as a
 * loss. If the trace has a manifest, each block must be as it was stored, and each listed block
 * that is missing is reported with its number, records and times.
 */
#include <kernlens/error.h>
#include "../base/base.h"
#include "../base/crc.h"
#include "../base/loss.h"
#include "stream.h"

/*
 * The header at @at if it looks like one of this trace's blocks, else NULL. Valid until the window
 * is next used.
 */
static const struct kl_abi_block *header_at(struct kl_stream *s, uint64_t at)
{
	const struct kl_abi_block *block = kl_window_at(&s->file, at, KL_BLOCK_HEADER_BYTES);

	if (!block || block->magic != KL_CTF_MAGIC || memcmp(block->uuid, s->uuid, 16) != 0)
		return NULL;
	return block;
}

/* Where the next loss to be pushed occurred. */
struct range {
	uint64_t first_block, blocks;
	uint64_t begin, end; /* clock cycles; 0 and ~0: unknown */
};

static void push_loss(struct kl_stream *s, enum kl_loss_kind kind, uint64_t records,
		      const struct range *range)
{
	unsigned int n = s->n_pending++;

	s->pending[n] = (struct kl_loss){
		.kind = kind,
		.cpu = s->cpu,
		.records = records,
		.blocks = range->blocks,
		.first_block = range->first_block,
		.begin_ns = range->begin ? kl_timebase_ns(s->timebase, range->begin) : 0,
		.end_ns = range->end == ~0ull ? 0 : kl_timebase_ns(s->timebase, range->end),
	};
	s->pending_key[n] = range->end;
	kl_loss_count(s->counts, &s->pending[n]);
}

static bool is_whole(const struct kl_stream *s)
{
	return s->manifest && s->manifest->whole;
}

/* Report records before @first that are not in the manifest, up to block @seq and @time. */
static void push_gap(struct kl_stream *s, uint64_t first, uint64_t seq, uint64_t time)
{
	struct range range = {
		.first_block = s->any ? s->seq + 1 : 0,
		.begin = s->end,
		.end = time,
	};
	enum kl_loss_kind kind = s->any ? KL_LOSS_OVERWRITTEN : KL_LOSS_BEFORE;

	range.blocks = seq > range.first_block ? seq - range.first_block : 0;
	/* A whole manifest lists all stored blocks, so skipped bytes do not explain a gap. */
	if (s->skipped && !is_whole(s))
		kind = KL_LOSS_CORRUPT;
	if (first > s->expected)
		push_loss(s, kind, first - s->expected, &range);
}

/* Report the manifest's blocks before entry @upto as missing. */
static void count_missing(struct kl_stream *s, size_t upto)
{
	const struct kl_manifest_entry *first, *last;
	uint64_t records = 0, gaps = 0;
	struct range range;

	if (s->entry >= upto)
		return;
	first = s->known->blocks[s->entry];
	last = s->known->blocks[upto - 1];
	range = (struct range){
		.first_block = first->seq,
		.blocks = upto - s->entry,
		.begin = first->begin,
		.end = last->end,
	};
	push_gap(s, first->record_first, first->seq, first->begin);
	s->expected = first->record_first;
	for (size_t i = s->entry; i < upto; i++) {
		const struct kl_manifest_entry *entry = s->known->blocks[i];

		if (entry->record_first > s->expected)
			gaps += entry->record_first - s->expected;
		records += entry->block_records;
		s->expected = entry->record_first + entry->block_records;
	}
	push_loss(s, KL_LOSS_CORRUPT, records, &range);
	s->counts->corrupt += upto - s->entry;
	s->any = true;
	/* Records between the missing blocks were never stored: they were overwritten before. */
	if (gaps)
		push_loss(s, KL_LOSS_OVERWRITTEN, gaps, &range);
	s->entry = upto;
	s->seq = last->seq;
	s->end = last->end;
}

/* Index of the manifest's entry for an upcoming block; n_blocks if there is none. */
static size_t find_entry(const struct kl_stream *s, uint64_t seq)
{
	size_t from = s->entry, to = s->known ? s->known->n_blocks : 0, n = to;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (s->known->blocks[middle]->seq == seq)
			return middle;
		if (s->known->blocks[middle]->seq < seq)
			from = middle + 1;
		else
			to = middle;
	}
	return n;
}

/* Is a block as the recorder stored it? Without an entry there is nothing to compare with. */
static bool is_as_stored(const struct kl_stream *s, const struct kl_abi_block *block)
{
	const struct kl_manifest_entry *entry;
	size_t i = find_entry(s, block->seq);

	if (!s->known || i == s->known->n_blocks)
		return !is_whole(s);
	entry = s->known->blocks[i];
	return entry->bytes == block->committed &&
	       entry->content_crc == kl_crc32c(0, block, entry->bytes);
}

static void enter(struct kl_stream *s, const struct kl_abi_block *block)
{
	size_t entry = find_entry(s, block->seq);

	if (s->known && entry < s->known->n_blocks) {
		count_missing(s, entry);
		s->entry = entry + 1;
	}
	push_gap(s, block->record_first, block->seq, block->timestamp_begin);
	s->skipped = false;
	s->block = block;
	s->got = 0;
	s->at += block->packet_bits / 8;
	s->any = true;
	s->seq = block->seq;
	s->expected = block->record_first + block->record_count;
	s->counts->blocks++;
	kl_cursor_enter(&s->cursor, block, 0, block->content_bits / 8);
}

/* Are block numbers, times and record numbers in order? */
static bool is_in_order(const struct kl_stream *s, const struct kl_abi_block *block)
{
	uint64_t next = s->any ? s->seq + 1 : 0;

	if (block->cpu_id != s->cpu)
		return false;
	if (block->seq == next && block->record_first != s->expected)
		return false;
	if (!s->any)
		return true;
	return block->seq >= next && block->record_first >= s->expected &&
	       block->timestamp_begin >= s->end && block->events_discarded >= s->discarded;
}

/* Where the next block may start: block sizes are multiples of the smallest one. */
static uint64_t next_start(struct kl_stream *s)
{
	for (uint64_t at = s->at + KL_BLOCK_BYTES_MIN;
	     at < s->file.size && s->file.size - at >= KL_BLOCK_HEADER_BYTES;
	     at += KL_BLOCK_BYTES_MIN)
		if (header_at(s, at))
			return at;
	return s->file.size;
}

/* Is it a block at the end of the file that has been truncated? */
static bool is_cut(struct kl_stream *s, uint64_t next)
{
	const struct kl_abi_block *block;
	uint64_t rest = s->file.size - s->at;

	if (rest < KL_BLOCK_HEADER_BYTES)
		return true;
	block = next == s->file.size ? header_at(s, s->at) : NULL;
	return block && block->packet_bits / 8 > rest &&
	       block->packet_bits / 8 <= KL_BLOCK_BYTES_MAX;
}

/* Load and check the whole next block; NULL if it is invalid. */
static const struct kl_abi_block *load(struct kl_stream *s)
{
	const struct kl_abi_block *block = header_at(s, s->at);
	uint64_t bytes = block ? block->packet_bits / 8 : 0;

	if (!block || bytes > KL_BLOCK_BYTES_MAX)
		return NULL;
	block = kl_window_at(&s->file, s->at, bytes);
	/* It may have changed since its header was read. */
	if (!block || kl_block_check(block, bytes, s->uuid) || !is_in_order(s, block) ||
	    !is_as_stored(s, block))
		return NULL;
	return block;
}

/* Count what was removed since the trace was opened. */
static void count_gone(struct kl_stream *s)
{
	if (!s->file.gone)
		return;
	s->counts->cut_bytes += s->file.gone;
	s->file.gone = 0;
	s->skipped = true;
}

/* Find the next block, which becomes s->block. False: there is none. */
static bool next_block(struct kl_stream *s)
{
	while (s->at < s->file.size) {
		const struct kl_abi_block *block = load(s);
		bool starts;
		uint64_t next;

		if (block) {
			enter(s, block);
			return true;
		}
		next = next_start(s);
		if (s->at >= s->file.size)
			break;
		if (is_cut(s, next)) {
			s->counts->cut_bytes += s->file.size - s->at;
			s->at = s->file.size;
			break;
		}
		/* A block listed in the manifest is counted when it is found to be missing. */
		starts = header_at(s, s->at);
		if (!s->known && (!s->skipped || starts))
			s->counts->corrupt++;
		s->skipped = true;
		s->at = next;
	}
	count_gone(s);
	return false;
}

static void push_discarded(struct kl_stream *s, uint64_t discarded, uint64_t begin, uint64_t end)
{
	const struct range range = { .begin = begin, .end = end };

	if (discarded > s->discarded)
		push_loss(s, KL_LOSS_DISCARDED, discarded - s->discarded, &range);
	if (discarded > s->discarded)
		s->discarded = discarded;
}

/* Report what the recorder has read but could not store. */
static void count_unstored(struct kl_stream *s, const struct kl_manifest_entry *entry)
{
	const struct range range = {
		.first_block = entry->seq,
		.blocks = entry->blocks,
		.begin = entry->begin,
		.end = entry->end,
	};

	push_gap(s, entry->record_first, entry->seq, entry->begin);
	push_loss(s, KL_LOSS_UNSTORED, entry->records, &range);
	s->any = true;
	s->expected = entry->record_first + entry->records;
	s->end = entry->end;
}

/* After the last block: report the losses that the manifest lists, and those of unknown extent. */
static void count_rest(struct kl_stream *s)
{
	const struct kl_manifest_cpu *known = s->known;
	uint64_t discarded = 0, begin = s->end;
	struct range range = { .begin = s->end, .end = ~0ull };
	bool corrupt = s->skipped && !is_whole(s);

	if (known && known->n_blocks) {
		discarded = known->blocks[known->n_blocks - 1]->discarded;
		count_missing(s, known->n_blocks);
	}
	if (known && known->unstored) {
		discarded = known->unstored->discarded;
		count_unstored(s, known->unstored);
	}
	range.begin = s->end;
	if (s->manifest && s->manifest->end)
		range.end = s->manifest->end->end > s->end ? s->manifest->end->end : s->end;
	if (known && known->total) {
		uint64_t written = known->total->record_first;

		discarded = known->total->discarded;
		if (written > s->expected)
			push_loss(s, is_whole(s) ? KL_LOSS_UNSTORED : KL_LOSS_CORRUPT,
				  written - s->expected, &range);
	} else if (s->manifest && !s->manifest->finished) {
		range.end = ~0ull;
		push_loss(s, KL_LOSS_UNSTORED, 0, &range);
	} else if (corrupt || (s->manifest && !is_whole(s))) {
		push_loss(s, KL_LOSS_CORRUPT, 0, &range);
	}
	push_discarded(s, discarded, begin, range.end);
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
	struct range range = { .begin = s->cursor.event.cycles, .end = block->timestamp_end };

	if (bad || s->got < block->record_count) {
		uint64_t missing = block->record_count > s->got ? block->record_count - s->got : 0;

		s->counts->corrupt++;
		push_loss(s, KL_LOSS_CORRUPT, missing, &range);
	}
	push_discarded(s, block->events_discarded, range.begin, range.end);
	s->end = block->timestamp_end;
	s->block = NULL;
}

/*
 * Leave out the next block if it ends too early: only its header is read, so of its records only
 * their number is known, and damage to them is not noticed.
 */
static bool skip_block(struct kl_stream *s)
{
	const struct kl_abi_block *block = s->from_ns ? header_at(s, s->at) : NULL;
	uint64_t bytes = block ? block->packet_bits / 8 : 0;
	size_t entry;

	if (!block || kl_timebase_ns(s->timebase, block->timestamp_end) >= s->from_ns ||
	    bytes > s->file.size - s->at)
		return false;
	if (kl_block_check(block, bytes, s->uuid) || !is_in_order(s, block)) {
		kl_error_clear();
		return false;
	}
	entry = find_entry(s, block->seq);
	if (s->known ? entry == s->known->n_blocks ||
			       s->known->blocks[entry]->bytes != block->committed :
		       is_whole(s))
		return false;
	enter(s, block);
	s->got = block->record_count;
	s->cursor.event.cycles = block->timestamp_begin;
	leave(s, false);
	return true;
}

static bool pop_loss(struct kl_stream *s)
{
	if (!s->n_pending)
		return false;
	s->loss = s->pending[0];
	s->loss.origin_ns = s->cursor.begin_ns;
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
		} else if (!skip_block(s) && !next_block(s)) {
			if (s->ended)
				return false;
			s->ended = true;
			count_rest(s);
		}
	}
	return true;
}
