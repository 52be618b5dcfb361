// SPDX-License-Identifier: GPL-2.0
/* Places in a trace: the state of each stream, so that a reader can return there at once. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include <kernlens/trace_place.h>
#include "../base/base.h"
#include "trace.h"

/*
 * A stream as it was; its window and what points into it are not of use later.
 * @block_bytes: size of its current block; 0: it was between two
 * @done: bytes of the block that had been read
 * @has_event: the stream's current item is the last event of these
 */
struct stream_place {
	struct kl_stream stream;
	uint64_t block_bytes;
	size_t done;
	bool has_event;
};

struct kl_trace_place {
	struct kl_trace_counts counts;
	uint64_t unseen;
	uint64_t items;
	bool started;
	size_t n_heap;
	size_t *heap; /* numbers of streams */
	struct stream_place stream[];
};

struct kl_trace_place *kl_trace_place_take(const struct kl_trace *trace)
{
	struct kl_trace_place *place =
		calloc(1, sizeof(*place) + trace->n_streams * sizeof(place->stream[0]) +
				  trace->n_streams * sizeof(*place->heap));

	if (!place) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	place->heap = (void *)&place->stream[trace->n_streams];
	place->counts = trace->counts;
	place->unseen = trace->unseen.records;
	place->items = trace->items;
	place->started = trace->started;
	place->n_heap = trace->n_heap;
	for (size_t i = 0; i < trace->n_heap; i++)
		place->heap[i] = (size_t)(trace->heap[i] - trace->streams);
	for (size_t i = 0; i < trace->n_streams; i++) {
		const struct kl_stream *s = &trace->streams[i];
		struct stream_place *to = &place->stream[i];

		to->stream = *s;
		if (!s->block)
			continue;
		to->block_bytes = s->block->packet_bits / 8;
		to->done = (size_t)(s->cursor.at - (const uint8_t *)s->block);
		to->has_event = s->got && !s->is_loss;
	}
	return place;
}

void kl_trace_place_free(struct kl_trace_place *place)
{
	free(place);
}

/* Load the block that a stream was in. */
static int restore_stream(struct kl_stream *s, const struct stream_place *from)
{
	struct kl_window file = s->file;
	const struct kl_abi_block *block;

	*s = from->stream;
	s->file = file;
	s->block = NULL;
	if (!from->block_bytes)
		return 0;
	block = kl_window_at(&s->file, s->at - from->block_bytes, from->block_bytes);
	if (!block || block->packet_bits / 8 != from->block_bytes || block->seq != s->seq ||
	    kl_block_check(block, from->block_bytes, s->uuid) ||
	    kl_cursor_return(&s->cursor, block, from->done, from->has_event))
		return kl_fail(EIO, "the trace has changed while it was read");
	s->block = block;
	return 0;
}

int kl_trace_place_go(struct kl_trace *trace, const struct kl_trace_place *place)
{
	int error = 0;

	if (trace->ber) {
		struct kl_item item;

		kl_trace_rewind(trace);
		while (trace->items < place->items && kl_trace_next(trace, &item) > 0)
			;
		return 0;
	}
	trace->counts = place->counts;
	trace->unseen.records = place->unseen;
	trace->items = place->items;
	trace->started = place->started;
	trace->n_heap = place->n_heap;
	for (size_t i = 0; i < place->n_heap; i++)
		trace->heap[i] = &trace->streams[place->heap[i]];
	for (size_t i = 0; i < trace->n_streams && !error; i++)
		error = restore_stream(&trace->streams[i], &place->stream[i]);
	if (error)
		trace->n_heap = 0;
	return error;
}

int kl_trace_blocks(const struct kl_trace *trace,
		    void (*add)(void *context, const struct kl_trace_block *block), void *context)
{
	const struct kl_manifest *manifest = &trace->manifest;
	const struct kl_timebase *timebase = &trace->info.timebase;

	for (size_t i = 0; i < manifest->n_cpus; i++)
		for (size_t k = 0; k < manifest->cpus[i].n_blocks; k++) {
			const struct kl_manifest_entry *entry = manifest->cpus[i].blocks[k];
			const struct kl_trace_block block = {
				.cpu = entry->cpu,
				.begin_ns = kl_timebase_ns(timebase, entry->begin),
				.end_ns = kl_timebase_ns(timebase, entry->end),
				.records = entry->block_records,
			};

			add(context, &block);
		}
	return trace->state.manifest ? 0 : -ENOENT;
}
