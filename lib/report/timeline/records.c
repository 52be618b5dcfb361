// SPDX-License-Identifier: GPL-2.0
/* The records of a timeline, in blocks that are compressed by themselves, column by column. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include <kernlens/event.h>
#include "../../base/base.h"
#include "../../format/print.h"
#include "timeline.h"

#define BLOCK_RECORDS 4096

void kl_add_varint(struct kl_buffer *buffer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		kl_buffer_add_char(buffer, (char)(value | 0x80));
	kl_buffer_add_char(buffer, (char)value);
}

void kl_add_zigzag(struct kl_buffer *buffer, int64_t value)
{
	kl_add_varint(buffer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

int kl_deflate(const void *bytes, size_t length, int level, uint8_t **to, size_t *to_length)
{
	z_stream stream = { .next_in = (void *)bytes, .avail_in = (uInt)length };
	uLong most;
	int ret;

	if (length > UINT32_MAX / 2 ||
	    deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return kl_fail(ENOMEM, "out of memory");
	most = deflateBound(&stream, length);
	*to = malloc(most);
	stream.next_out = *to;
	stream.avail_out = (uInt)most;
	ret = *to ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	*to_length = stream.total_out;
	deflateEnd(&stream);
	if (ret == Z_STREAM_END)
		return 0;
	free(*to);
	*to = NULL;
	return kl_fail(ENOMEM, "out of memory");
}

static void reset_columns(struct kl_records *records)
{
	kl_buffer_reset(&records->times);
	kl_buffer_reset(&records->cpus);
	kl_buffer_reset(&records->threads);
	kl_buffer_reset(&records->names);
	kl_buffer_reset(&records->texts);
	records->now = (struct kl_record_block){ 0 };
}

static void drop_all(struct kl_timeline *t)
{
	for (size_t i = 0; i < t->records.n; i++)
		free(t->records.block[i].bytes);
	t->records.n = 0;
	t->counts.kept = false;
	reset_columns(&t->records);
}

/* Compress the block, if it has any records. */
static int end_block(struct kl_timeline *t)
{
	struct kl_records *records = &t->records;
	const struct kl_buffer *const columns[] = { &records->times, &records->cpus,
						    &records->threads, &records->names,
						    &records->texts };
	struct kl_record_block *grown;
	struct kl_buffer all = { 0 };
	int error;

	if (!records->now.n)
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(columns); i++) {
		kl_buffer_add(&all, columns[i]->data, columns[i]->length);
		if (columns[i]->error)
			all.error = columns[i]->error;
	}
	error = all.error ? -ENOMEM :
			    kl_deflate(all.data, all.length, KL_DEFLATE_SMALL, &records->now.bytes,
				       &records->now.length);
	kl_buffer_deinit(&all);
	if (error)
		return error;
	grown = kl_array_grow(records->block, records->n, &records->room, sizeof(*grown));
	if (!grown) {
		free(records->now.bytes);
		return -ENOMEM;
	}
	records->block = grown;
	grown[records->n++] = records->now;
	records->bytes += records->now.length;
	reset_columns(records);
	if (KL_BASE64(records->bytes) > t->bytes)
		drop_all(t);
	return 0;
}

int kl_records_add(struct kl_timeline *t, const struct kl_event *event, uint32_t thread,
		   uint32_t name)
{
	const uint64_t ns = event->ns > t->first_ns ? event->ns - t->first_ns : 0;
	struct kl_records *records = &t->records;

	if (!t->counts.kept)
		return 0;
	if (!records->now.n) {
		records->now.first_ns = ns;
		records->last_ns = ns;
	}
	kl_add_zigzag(&records->times, (int64_t)(ns - records->last_ns));
	kl_add_varint(&records->cpus, event->cpu);
	kl_add_varint(&records->threads, thread);
	kl_add_varint(&records->names, name);
	kl_print_event_fields(&records->texts, event);
	if (kl_words_add(records, event))
		return -ENOMEM;
	kl_buffer_add_char(&records->texts, 0);
	records->last_ns = ns;
	records->now.last_ns = ns;
	return ++records->now.n == BLOCK_RECORDS ? end_block(t) : 0;
}

int kl_records_finish(struct kl_timeline *t)
{
	int error = end_block(t);

	if (t->counts.spans * KL_SPAN_BYTES + t->n_points * KL_POINT_BYTES +
		    t->samples.n * KL_SAMPLE_BYTES + KL_BASE64(t->records.bytes) >
	    t->bytes)
		drop_all(t);
	return error;
}

void kl_records_deinit(struct kl_records *records)
{
	for (size_t i = 0; i < records->n; i++)
		free(records->block[i].bytes);
	free(records->block);
	kl_hash_deinit(&records->words);
	kl_buffer_deinit(&records->times);
	kl_buffer_deinit(&records->cpus);
	kl_buffer_deinit(&records->threads);
	kl_buffer_deinit(&records->names);
	kl_buffer_deinit(&records->texts);
}
