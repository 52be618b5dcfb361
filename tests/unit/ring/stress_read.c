// SPDX-License-Identifier: GPL-2.0
/*
 * The stress test's readers: one uses kl_cursor_find and kl_cursor_advance as the kernel does, one
 * reads the shared page and the blocks as a program does that has mapped them, and takes blocks
 * that are still being filled. Both check every byte of every record, its order and its time.
 */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define SEQ_MASK ((1ull << (64 - KL_POS_SEQ_SHIFT)) - 1)

/*
 * Copy bytes [@from, @to) of a block that may be overwritten concurrently. The race is intentional:
 * the copy counts only if the block's seq is found unchanged after it. ThreadSanitizer cannot know
 * that, so this one function is not instrumented. Volatile keeps the loop from becoming a call to
 * memcpy, which is instrumented.
 */
__attribute__((noinline, no_sanitize("thread"))) static void copy_racing(u8 *copy, const u8 *block,
									 u32 from, u32 to)
{
	for (u32 at = from & ~7u; at < to; at += 8)
		*(u64 *)(copy + at) = *(const volatile u64 *)(block + at);
}

static bool check_record(struct reader *reader, const struct stress_record *record, u64 *decoded)
{
	const u64 mask = (1ull << KL_RECORD_TIME_BITS) - 1;
	u64 *last = &reader->last[record->level % STRESS_LEVELS];

	if (record->lane != reader->lane->number || record->level >= STRESS_LEVELS) {
		stress_wrong("a record of lane %u level %u", record->lane, record->level);
		return false;
	}
	if (record->number < *last) {
		stress_wrong("level %u: record %llu after %llu", record->level, record->number,
			     *last - 1);
		return false;
	}
	*last = record->number + 1;
	*decoded += (record->header_time - *decoded) & mask;
	if (*decoded != record->time) {
		stress_wrong("time %llx decodes to %llx", record->time, *decoded);
		return false;
	}
	for (u32 i = 0; i < record->bytes - sizeof(*record); i++) {
		if (record->fill[i] != stress_fill(record->number, record->lane, record->level)) {
			stress_wrong("record %llu has a wrong byte", record->number);
			return false;
		}
	}
	return true;
}

/*
 * Checks records in [@at, @end) of the copy; returns how many, or -1. The clock does not step back
 * here, so `first` is set only in a block's first record.
 */
static long check_records(struct reader *reader, u32 at, u32 end, u64 *time)
{
	long records = 0;

	while (at < end) {
		const struct stress_record *record = (const void *)(reader->copy + at);

		if (end - at < sizeof(*record) || record->bytes < sizeof(*record) ||
		    record->bytes > end - at || record->first != (at == KL_BLOCK_HEADER_BYTES)) {
			stress_wrong("a broken record at %u of %u", at, end);
			return -1;
		}
		if (!check_record(reader, record, time))
			return -1;
		at += record->bytes;
		records++;
	}
	return records;
}

static void idle(void)
{
	usleep(100);
}

static bool read_with_cursor(struct reader *reader, struct kl_cursor *cursor)
{
	const struct kl_abi_block *copy = (const struct kl_abi_block *)reader->copy;
	const u8 *found = kl_cursor_find(&reader->lane->ring, cursor);
	u64 time;
	long records;

	if (!found)
		return false;
	copy_racing(reader->copy, found, 0, STRESS_BLOCK_BYTES);
	if (!kl_cursor_advance(cursor, found, copy)) {
		reader->refused++;
		return true;
	}
	time = copy->timestamp_begin;
	records = check_records(reader, KL_BLOCK_HEADER_BYTES, copy->content_bits / 8, &time);
	if (records >= 0 && records != copy->record_count)
		stress_wrong("%ld records, the header says %u", records, copy->record_count);
	if (time > copy->timestamp_end || copy->cpu_id != reader->lane->number)
		stress_wrong("block %llu: header", copy->seq);
	reader->read += copy->record_count;
	reader->missed = cursor->missed;
	__atomic_store_n(&reader->next, cursor->next, __ATOMIC_RELEASE);
	return true;
}

/* The position of a mapping reader: in block `seq`, after its first `offset` bytes. */
struct place {
	u64 seq;
	u64 record; /* number on this CPU of the next record */
	u64 time;
	u32 offset;
};

static void take_records(struct reader *reader, struct place *place, u32 end, bool complete)
{
	const struct kl_abi_block *copy = (const struct kl_abi_block *)reader->copy;
	long records;

	if (place->offset == KL_BLOCK_HEADER_BYTES) {
		reader->missed += copy->record_first - place->record;
		place->record = copy->record_first;
		place->time = copy->timestamp_begin;
	}
	records = check_records(reader, place->offset, end, &place->time);
	if (records < 0)
		return;
	place->record += records;
	place->offset = end;
	reader->read += records;
	if (!complete) {
		reader->partial += records;
		return;
	}
	if (place->record != copy->record_first + copy->record_count)
		stress_wrong("at record %llu, the header says %llu + %u", place->record,
			     copy->record_first, copy->record_count);
	place->offset = KL_BLOCK_HEADER_BYTES;
	place->seq++;
	__atomic_store_n(&reader->next, place->seq, __ATOMIC_RELEASE);
}

static bool read_mapped(struct reader *reader, struct place *place)
{
	const struct kl_abi_ring *shared = reader->lane->shared;
	u64 tail = kl_load_acquire(shared->tail);
	u64 head = kl_load_acquire(shared->head);
	const struct kl_abi_block *header;
	u64 bits, committed, position;
	u32 index;

	if (place->seq < tail) {
		place->seq = tail;
		place->offset = KL_BLOCK_HEADER_BYTES;
	}
	if (head == KL_SEQ_NONE || place->seq > head)
		return false;
	index = kl_load_acquire(shared->map[place->seq & (shared->map_size - 1)]);
	header = (const void *)reader->lane->pool[index].memory;
	if (kl_load_acquire(header->seq) != place->seq)
		return kl_load_acquire(shared->tail) != tail;
	bits = kl_load_acquire(header->content_bits);
	committed = kl_load_acquire(header->committed);
	/* Load after `committed`: the position then includes everything reserved before that. */
	position = kl_load(shared->position);
	if (bits ? bits != committed * 8 :
		   (KL_POS_SEQ(position) != (place->seq & SEQ_MASK) ||
		    KL_POS_OFFSET(position) != committed))
		return kl_load_acquire(shared->tail) != tail;
	if (!bits && committed == place->offset)
		return false;
	if (committed > STRESS_BLOCK_BYTES || committed < place->offset)
		committed = place->offset; /* a reused block: the check below detects it */
	copy_racing(reader->copy, (const u8 *)header, 0, KL_BLOCK_HEADER_BYTES);
	copy_racing(reader->copy, (const u8 *)header, place->offset, committed);
	kl_read_barrier();
	if (kl_load(header->seq) != place->seq)
		reader->refused++;
	else
		take_records(reader, place, committed, bits != 0);
	return true;
}

void *stress_reader(void *argument)
{
	struct reader *reader = argument;
	struct place place = { .offset = KL_BLOCK_HEADER_BYTES };
	struct kl_cursor cursor = {};

	for (;;) {
		bool done = __atomic_load_n(&reader->lane->done, __ATOMIC_ACQUIRE);
		bool more;

		__atomic_add_fetch(&reader->epoch, 1, __ATOMIC_SEQ_CST);
		more = reader->maps ? read_mapped(reader, &place) :
				      read_with_cursor(reader, &cursor);
		__atomic_add_fetch(&reader->epoch, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&stress_why[0], __ATOMIC_RELAXED))
			return NULL;
		if (!more && done)
			return NULL;
		if (!more)
			idle();
	}
}
