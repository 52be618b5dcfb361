// SPDX-License-Identifier: GPL-2.0
/*
 * Merges the events of all CPUs by time while they happen. The buffers are polled in rounds: new
 * data is copied into a queue for each CPU, then events up to the round's time are returned from
 * the queues, oldest first. An event newer than the round waits, because an older one may still
 * arrive from another CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/cursor.h>
#include "../base/base.h"
#include "reader.h"

#define ROUND_BLOCKS_MAX 64 /* of a CPU, for a round without a time limit */

/* A copied part of a block, with the number of records lost before and after it. */
struct part {
	struct part *next;
	size_t from;
	size_t to;
	uint64_t missed;
	uint64_t lost;
	uint8_t bytes[] __attribute__((aligned(8)));
};

struct queue {
	struct part *first;
	struct part **last;
	struct kl_cursor cursor;
	struct kl_loss loss;
	bool entered; /* the cursor is in `first` */
	bool ready; /* an item is pending: the cursor's event, or the loss */
	bool is_loss;
	uint64_t key;
};

struct kl_live {
	struct kl_reader *reader;
	const struct kl_timebase *timebase;
	struct queue *queues;
	unsigned int n;
	struct queue *given; /* the queue of the item that the caller holds */
	uint64_t round; /* no newer event is returned */
	bool begun;
};

struct kl_live *kl_live_create(struct kl_reader *reader, const struct kl_schema *schema,
			       const struct kl_timebase *timebase)
{
	struct kl_live *live = calloc(1, sizeof(*live));

	if (live)
		live->queues = calloc(reader->n_cpus, sizeof(*live->queues));
	if (!live || !live->queues) {
		free(live);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	live->reader = reader;
	live->timebase = timebase;
	live->n = reader->n_cpus;
	for (unsigned int cpu = 0; cpu < live->n; cpu++) {
		live->queues[cpu].last = &live->queues[cpu].first;
		kl_cursor_init(&live->queues[cpu].cursor, schema, timebase, 0);
		live->queues[cpu].cursor.event.cpu = cpu;
	}
	return live;
}

static void drop_first(struct queue *queue)
{
	struct part *part = queue->first;

	queue->first = part->next;
	if (!queue->first)
		queue->last = &queue->first;
	queue->entered = false;
	free(part);
}

void kl_live_destroy(struct kl_live *live)
{
	if (!live)
		return;
	for (unsigned int cpu = 0; cpu < live->n; cpu++)
		while (live->queues[cpu].first)
			drop_first(&live->queues[cpu]);
	free(live->queues);
	free(live);
}

/* Set the origin of since_ns: the start of the first block seen. */
static void begin(struct kl_live *live, const struct kl_abi_block *block)
{
	if (live->begun)
		return;
	live->begun = true;
	for (unsigned int cpu = 0; cpu < live->n; cpu++)
		live->queues[cpu].cursor.begin_ns =
			kl_timebase_ns(live->timebase, block->timestamp_begin);
}

static int add_part(struct kl_live *live, const struct kl_reader_block *block)
{
	struct queue *queue = &live->queues[block->cpu];
	struct part *part = malloc(sizeof(*part) + block->to);

	if (!part)
		return kl_fail(ENOMEM, "out of memory");
	*part = (struct part){
		.from = block->from,
		.to = block->to,
		.missed = block->missed,
		.lost = block->lost,
	};
	memcpy(part->bytes, block->block, block->to);
	*queue->last = part;
	queue->last = &part->next;
	begin(live, block->block);
	return 0;
}

static void set_loss(struct kl_live *live, struct queue *queue, enum kl_loss_kind kind,
		     uint64_t records, uint64_t time)
{
	queue->loss = (struct kl_loss){
		.kind = kind,
		.cpu = queue->cursor.event.cpu,
		.records = records,
		.begin_ns = queue->cursor.event.ns,
		.end_ns = kl_timebase_ns(live->timebase, time),
		.origin_ns = queue->cursor.begin_ns,
	};
	queue->key = time;
	queue->is_loss = true;
	queue->ready = true;
}

/* Find the queue's next item, if it has one. */
static void advance(struct kl_live *live, struct queue *queue)
{
	while (!queue->ready && queue->first) {
		struct part *part = queue->first;
		const struct kl_abi_block *block = (const struct kl_abi_block *)part->bytes;
		int ret;

		if (!queue->entered) {
			queue->entered = true;
			if (part->missed)
				set_loss(live, queue, KL_LOSS_OVERWRITTEN, part->missed,
					 block->timestamp_begin);
			kl_cursor_enter(&queue->cursor, block, part->from, part->to);
			continue;
		}
		ret = kl_cursor_next(&queue->cursor);
		if (ret > 0) {
			queue->key = queue->cursor.event.cycles;
			queue->is_loss = false;
			queue->ready = true;
			continue;
		}
		if (ret < 0)
			set_loss(live, queue, KL_LOSS_CORRUPT, 0, queue->cursor.event.cycles);
		else if (part->lost)
			set_loss(live, queue, KL_LOSS_DISCARDED, part->lost, block->timestamp_end);
		drop_first(queue);
	}
}

static struct queue *oldest(struct kl_live *live)
{
	struct queue *best = NULL;

	for (unsigned int cpu = 0; cpu < live->n; cpu++) {
		struct queue *queue = &live->queues[cpu];

		advance(live, queue);
		if (queue->ready && (!best || queue->key < best->key))
			best = queue;
	}
	return best && best->key <= live->round ? best : NULL;
}

/*
 * Copy new data. A CPU that writes faster than we copy must not keep us here: once a full turn over
 * the CPUs returned only blocks that began after @now, the queues hold everything that the round
 * may return. Without a time limit (@now is ~0) the number of blocks is limited.
 */
static int look(struct kl_live *live, uint64_t now)
{
	unsigned int newer = 0, blocks = 0;
	struct kl_reader_block block;
	int ret;

	while (newer <= live->n && blocks < live->n * ROUND_BLOCKS_MAX) {
		ret = kl_reader_next_block(live->reader, true, &block);
		if (ret < 0)
			return ret;
		if (!ret)
			break;
		ret = add_part(live, &block);
		if (ret)
			return ret;
		newer = block.block->timestamp_begin > now ? newer + 1 : 0;
		blocks += now == ~0ull;
	}
	live->round = now;
	return 0;
}

int kl_live_next(struct kl_live *live, uint64_t now, struct kl_item *item)
{
	struct queue *queue;
	int ret;

	if (live->given)
		live->given->ready = false;
	live->given = NULL;
	queue = oldest(live);
	if (!queue) {
		ret = look(live, now);
		if (ret)
			return ret;
		queue = oldest(live);
	}
	if (!queue)
		return 0;
	live->given = queue;
	if (queue->is_loss)
		*item = (struct kl_item){ .kind = KL_ITEM_LOSS, .loss = &queue->loss };
	else
		*item = (struct kl_item){ .kind = KL_ITEM_EVENT, .event = &queue->cursor.event };
	return 1;
}
