// SPDX-License-Identifier: GPL-2.0
/*
 * See check_stream.h. The readers of accounting.c feed it whole blocks copied out of the buffer.
 */
#include "check_stream.h"

__attribute__((format(printf, 2, 3))) static bool fault(struct stream *s, const char *format, ...)
{
	va_list args;

	if (s->what[0])
		return false;
	va_start(args, format);
	vsnprintf(s->what, sizeof(s->what), format, args);
	va_end(args);
	return false;
}

/* Checks the next number of a context, of which a record contains the low @bits. */
static bool take_number(struct stream *s, u32 source, u32 context, u32 low, u32 bits)
{
	u64 *next, number;

	if (source >= KLS_SOURCES || context >= KLS_CONTEXTS)
		return fault(s, "CPU %u: source %u context %u", s->cpu, source, context);
	next = &s->next[source][context];
	number = low;
	if (source != s->cpu && !s->roaming)
		return fault(s, "CPU %u has a record of CPU %u", s->cpu, source);
	if (number < *next)
		return fault(s, "CPU %u context %u: number %llu (%u bits) after %llu", s->cpu,
			     context, (unsigned long long)number, bits,
			     (unsigned long long)*next - 1);
	if (context == KLS_TASK)
		s->gap += number - *next;
	*next = number + 1;
	s->count[source][context]++;
	return true;
}

/* A record of a source's thread must report that thread as the running task. */
static bool check_task(struct stream *s, u32 source, u32 context)
{
	char comm[KL_COMM_LEN];

	if (context != KLS_TASK)
		return true;
	snprintf(comm, sizeof(comm), KLS_COMM "%u", source);
	if (strncmp(comm, s->task.comm, KL_COMM_LEN))
		return fault(s, "CPU %u: a record of %s says it is of %.16s", s->cpu, comm,
			     s->task.comm);
	s->tid[source] = s->task.tid;
	return true;
}

static bool take_plain(struct stream *s, const u8 *at)
{
	u32 number, mark;

	memcpy(&number, at, 4);
	memcpy(&mark, at + 4, 4);
	if (mark != kls_mark(KLS_MARK_SOURCE(mark), KLS_MARK_CONTEXT(mark), number))
		return fault(s, "CPU %u: torn record, number %u mark %#x", s->cpu, number, mark);
	return take_number(s, KLS_MARK_SOURCE(mark), KLS_MARK_CONTEXT(mark), number, 32) &&
	       check_task(s, KLS_MARK_SOURCE(mark), KLS_MARK_CONTEXT(mark));
}

/* Returns the size of the text with its NUL, 0 on a fault. */
static u32 take_text(struct stream *s, const u8 *at, const u8 *end)
{
	u32 val, number, bytes;

	memcpy(&val, at, 4);
	number = val & 0xffffff;
	bytes = strlen(kls_text(number)) + 1;
	if (at[4] != (number & 1) || at + 5 + bytes > end ||
	    memcmp(at + 5, kls_text(number), bytes)) {
		fault(s, "CPU %u: torn text, number %u", s->cpu, number);
		return 0;
	}
	if (!take_number(s, KLS_MARK_SOURCE(val), KLS_MARK_CONTEXT(val), number, 24) ||
	    !check_task(s, KLS_MARK_SOURCE(val), KLS_MARK_CONTEXT(val)))
		return 0;
	return bytes;
}

static bool take_time(struct stream *s, u64 low, const struct kl_abi_block *block, bool first)
{
	u64 time = (s->time & ~((1ull << 48) - 1)) | low;

	if (first)
		s->time = time = block->timestamp_begin;
	if ((time ^ low) & ((1ull << 48) - 1))
		return fault(s, "CPU %u seq %llu: timestamp_begin is not the first record's",
			     s->cpu, (unsigned long long)block->seq);
	if (time < s->time)
		time += 1ull << 48;
	if (time - s->time > KL_TIME_WRAP)
		return fault(s, "CPU %u seq %llu: time goes backwards", s->cpu,
			     (unsigned long long)block->seq);
	s->time = time;
	return true;
}

/* Parses one record. Returns its size, 0 on a fault. */
static u32 take_record(struct stream *s, const u8 *at, const u8 *end,
		       const struct kl_abi_block *block, bool first)
{
	const u8 *start = at;
	u64 header;
	u32 text;

	memcpy(&header, at, 8);
	if (at + KL_RECORD_PREFIX_BYTES > end || at[8] & ~KL_CHANGED_TASK ||
	    (first && !(at[8] & KL_CHANGED_TASK))) {
		fault(s, "CPU %u seq %llu: bad prefix", s->cpu, (unsigned long long)block->seq);
		return 0;
	}
	if (!take_time(s, header >> KL_RECORD_ID_BITS, block, first))
		return 0;
	if (at[8] & KL_CHANGED_TASK) {
		memcpy(&s->task, at + KL_RECORD_PREFIX_BYTES, sizeof(s->task));
		at += sizeof(s->task);
	}
	at += KL_RECORD_PREFIX_BYTES;
	s->records++;
	switch (header & 0xffff) {
	case CHECK_EVENT_PLAIN:
		return take_plain(s, at) ? at + 8 - start : 0;
	case CHECK_EVENT_TEXT:
		text = take_text(s, at, end);
		return text ? at + 5 + text - start : 0;
	}
	fault(s, "CPU %u: event %llu was not asked for", s->cpu,
	      (unsigned long long)(header & 0xffff));
	return 0;
}

static bool check_header(struct stream *s, const struct kl_abi_block *b,
			 const struct kl_abi_session *session)
{
	if (b->magic != KL_CTF_MAGIC || memcmp(b->uuid, session->uuid, 16) || b->stream_id ||
	    b->packet_bits != session->block_bytes * 8ull || b->session_id != session->id ||
	    b->cpu_id != s->cpu)
		return fault(s, "CPU %u: block header of another", s->cpu);
	if (b->content_bits != b->committed * 8 || b->committed > session->block_bytes ||
	    b->committed <= KL_BLOCK_HEADER_BYTES || !b->record_count)
		return fault(s, "CPU %u: block sizes", s->cpu);
	if (s->begun && b->seq <= s->seq)
		return fault(s, "CPU %u: block %llu after %llu", s->cpu, (unsigned long long)b->seq,
			     (unsigned long long)s->seq);
	if (b->record_first < s->expected ||
	    (b->record_first != s->expected && s->begun && b->seq == s->seq + 1))
		return fault(s, "CPU %u: record_first %llu, expected %llu", s->cpu,
			     (unsigned long long)b->record_first, (unsigned long long)s->expected);
	if (b->events_discarded < s->lost_noted)
		return fault(s, "CPU %u: events_discarded goes backwards", s->cpu);
	if (b->timestamp_end < b->timestamp_begin || b->timestamp_begin < s->time_end ||
	    (s->begun && b->seq == s->seq + 1 && b->timestamp_begin < s->time_end))
		return fault(s, "CPU %u: block times", s->cpu);
	return true;
}

/*
 * If only tasks fire, the records missing in a block and between it and the next one are exactly
 * those that it reports as discarded. (Records can be missing within a block: a short record may
 * still fit where a long one did not.)
 */
static bool check_gap(struct stream *s, u64 gap_before, u64 lost_before, bool follows)
{
	if (!s->exact || !follows || gap_before == lost_before)
		return true;
	return fault(s, "CPU %u seq %llu: %llu records did not come, %llu were discarded", s->cpu,
		     (unsigned long long)s->seq, (unsigned long long)gap_before,
		     (unsigned long long)lost_before);
}

/**
 * stream_take - check one more block
 * @s: zeroed at first, except for `cpu`, `roaming` and `exact`
 * @block: a whole block, copied
 * @session: as the module created it
 *
 * Returns false on a fault, described in @s->what.
 */
bool stream_take(struct stream *s, const struct kl_abi_block *block,
		 const struct kl_abi_session *session)
{
	const u8 *at = (const u8 *)block + KL_BLOCK_HEADER_BYTES;
	const u8 *end = (const u8 *)block + block->committed;
	bool follows = s->begun && block->seq == s->seq + 1 && s->before_known;
	u64 gap_before = s->gap, lost_before = s->lost_noted - s->lost_before;
	u32 count = 0, bytes;

	if (!check_header(s, block, session))
		return false;
	s->gap = 0;
	for (; at < end; at += bytes, count++) {
		bytes = take_record(s, at, end, block, !count);
		if (!bytes)
			return false;
		if (!count) {
			gap_before += s->gap;
			s->gap = 0;
		}
	}
	if (at != end || count != block->record_count)
		return fault(s, "CPU %u seq %llu: %u records, %u are said to be there", s->cpu,
			     (unsigned long long)block->seq, count, block->record_count);
	if (s->time > block->timestamp_end)
		return fault(s, "CPU %u seq %llu: ends after its end", s->cpu,
			     (unsigned long long)block->seq);
	/* Losses between two blocks are counted in the earlier one. */
	s->before_known = s->begun ? block->seq == s->seq + 1 : !block->seq;
	s->lost_before = s->begun ? s->lost_noted : 0;
	s->missed += block->record_first - s->expected;
	s->expected = block->record_first + count;
	s->lost_noted = block->events_discarded;
	s->time_end = block->timestamp_end;
	s->seq = block->seq;
	s->begun = true;
	s->blocks++;
	return check_gap(s, gap_before, lost_before, follows);
}
