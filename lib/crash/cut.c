// SPDX-License-Identifier: GPL-2.0
/*
 * Which records of a block are whole. A block that is not complete may have a gap where a writer
 * had reserved room and not finished: an interrupt of it has written after the gap, or has crashed.
 * Blocks are reused, so the gap has bytes of older records. docs/design/crash.md says why the rules
 * here suffice.
 */
#include <kernlens/error.h>
#include "../base/base.h"
#include "../format/schema.h"
#include "dump.h"

/*
 * A walk over a block's records.
 * @sure: end of the records that were certainly finished
 * @n_sure: how many these are
 */
struct walk {
	struct kl_cursor cursor;
	const struct kl_abi_block *block;
	uint32_t end;
	uint32_t n;
	uint32_t sure;
	uint32_t n_sure;
	uint64_t cycles;
};

static uint32_t offset_of(const struct walk *w)
{
	return (uint32_t)(w->cursor.at - (const uint8_t *)w->block);
}

/*
 * A record that no interrupt writes: entries and exits of system calls, and context switches. When
 * it was written, the CPU's earlier records were finished.
 */
static bool is_of_task(const struct kl_event *event)
{
	return (event->id >= KL_EV_SYSCALL_ENTRY && event->id < KL_EV_MAX) ||
	       event->id == KL_EV_sched_switch;
}

static void begin(struct walk *w, const struct kl_schema *schema,
		  const struct kl_timebase *timebase, const struct kl_abi_block *block,
		  uint32_t end)
{
	*w = (struct walk){ .block = block, .cycles = block->timestamp_begin };
	kl_cursor_init(&w->cursor, schema, timebase, 0);
	kl_cursor_enter(&w->cursor, block, 0, end);
	w->end = block->header_bytes;
	w->sure = w->end;
}

/*
 * Go on to the next record. Returns false at the end, or at bytes that are no record: those of an
 * older one have a time that is before that of the record before it.
 */
static bool next(struct walk *w)
{
	const struct kl_event *event = &w->cursor.event;
	uint64_t every = (1ull << (w->cursor.schema->n_variables + 1)) - 1;
	bool first = !w->n;

	if (kl_cursor_next(&w->cursor) <= 0)
		return false;
	if (event->cycles - w->cycles >= KL_TIME_WRAP)
		return false;
	/* A block begins at its first record, which has all variables. */
	if (first && (event->cycles != w->block->timestamp_begin || event->changed != every))
		return false;
	if (is_of_task(event)) {
		w->sure = w->end;
		w->n_sure = w->n;
	}
	w->cycles = event->cycles;
	w->end = offset_of(w);
	w->n++;
	return true;
}

/*
 * A block of @limit bytes, of which @torn were not written. The gap is not before the last record
 * that a task wrote. If what follows are records up to the limit, one of the gap's size or less is
 * the first that may be in it.
 */
static struct kl_dump_cut cut_torn(struct walk *w, uint32_t limit, uint32_t torn)
{
	struct kl_dump_cut cut = { .why = "it was being written" };
	struct walk again = *w;
	uint32_t before;

	while (next(&again))
		;
	cut.end = again.sure;
	cut.records = again.n_sure;
	if (again.end != limit)
		return cut;
	while (w->end < cut.end && next(w))
		;
	for (before = w->end; next(w) && w->end - before > torn; before = w->end) {
		cut.end = w->end;
		cut.records = w->n;
	}
	return cut;
}

/* All records up to @limit, or those before the first damage and the one before it. */
static struct kl_dump_cut cut_damaged(struct walk *w, uint32_t limit, uint32_t records)
{
	struct kl_dump_cut cut = {};
	uint32_t before = w->end, n_before = 0;

	for (;;) {
		uint32_t end = w->end, n = w->n;

		if (!next(w))
			break;
		before = end;
		n_before = n;
	}
	cut.end = w->end;
	cut.records = w->n;
	if (w->end == limit && (!records || w->n == records))
		return cut;
	cut.why = "it is damaged";
	cut.end = before;
	cut.records = n_before;
	return cut;
}

/* What the writer had reserved of a block that is being filled; 0: not known. */
static uint32_t reserved_of(const struct kl_abi_block *block, const struct kl_dump_ring *ring)
{
	uint64_t position = ring->shared.position;

	if (!ring->sound || KL_POS_SEQ(position) != KL_POS_SEQ(block->seq << KL_POS_SEQ_SHIFT))
		return 0;
	return KL_POS_OFFSET(position) <= block->packet_bits / 8 ? KL_POS_OFFSET(position) : 0;
}

struct kl_dump_cut kl_dump_cut(const struct kl_schema *schema, const struct kl_timebase *timebase,
			       const struct kl_abi_block *block, const struct kl_dump_ring *ring)
{
	uint64_t content = block->content_bits / 8, size = block->packet_bits / 8;
	struct kl_dump_cut cut;
	uint32_t limit;
	struct walk w;

	if (content > size || (content && content < block->header_bytes))
		content = 0;
	limit = (uint32_t)(content ? content : reserved_of(block, ring));
	/* Neither is known: the writer was switching to the next block. */
	if (!limit) {
		begin(&w, schema, timebase, block, (uint32_t)block->committed);
		cut = cut_torn(&w, 0, 0);
	} else if (limit > block->committed) {
		begin(&w, schema, timebase, block, limit);
		cut = cut_torn(&w, limit, limit - (uint32_t)block->committed);
	} else {
		begin(&w, schema, timebase, block, limit);
		cut = cut_damaged(&w, limit, content ? block->record_count : 0);
	}
	cut.limit = limit;
	kl_error_clear();
	return cut;
}
