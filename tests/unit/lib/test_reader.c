// SPDX-License-Identifier: GPL-2.0
/*
 * Live readers on the module's own ring: shared pages with slow and fast readers, blocks being
 * filled, blocks added concurrently, read(), and events merged as they happen. Always: read +
 * missed + lost = fired.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <kernlens/cursor.h>
#include "ring_writer.h"
#include "synth.h"
#include "unit.h"

#define CPUS 2
#define FIRED 200000u /* by each writer thread */

struct payload {
	char comm[16];
	int32_t tid; /* counts up and identifies the record */
	int32_t prio;
	int32_t target_cpu;
} __attribute__((packed));

static const uint8_t uuid[16] = "kernlens test";
static struct kl_schema *schema;
static struct kl_timebase timebase;
static uint32_t waking;
static uint64_t clock_now; /* the writers' common clock */

struct writer_thread {
	struct ring_writer *writer;
	pthread_t thread;
	uint32_t cpu;
	uint32_t fired;
	uint64_t writing; /* no record in progress is older; ~0: none in progress */
	bool done;
};

static void fire(struct writer_thread *w)
{
	struct payload payload = { .comm = "x", .tid = w->fired++, .target_cpu = w->cpu };
	struct kl_abi_task task = { .tid = 1000 + w->cpu, .pid = 1000, .comm = "writer" };

	__atomic_store_n(&w->writing, __atomic_load_n(&clock_now, __ATOMIC_SEQ_CST),
			 __ATOMIC_SEQ_CST);
	ring_writer_fire(w->writer, waking, __atomic_fetch_add(&clock_now, 1, __ATOMIC_SEQ_CST),
			 &task, &payload, sizeof(payload));
	__atomic_store_n(&w->writing, ~0ull, __ATOMIC_SEQ_CST);
}

/* The newest time up to which all records have been written. */
static uint64_t settled_time(const struct writer_thread *w)
{
	uint64_t time = __atomic_load_n(&clock_now, __ATOMIC_SEQ_CST);

	for (int cpu = 0; cpu < CPUS; cpu++) {
		uint64_t writing = __atomic_load_n(&w[cpu].writing, __ATOMIC_SEQ_CST);

		if (writing < time)
			time = writing;
	}
	return time - 1;
}

static void *write_all(void *argument)
{
	struct writer_thread *w = argument;

	for (uint32_t i = 0; i < FIRED; i++) {
		fire(w);
		if (i == FIRED / 2)
			ring_writer_add(w->writer, 4);
	}
	ring_writer_finish(w->writer, __atomic_fetch_add(&clock_now, 1, __ATOMIC_SEQ_CST));
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static struct writer_thread *make_writers(int device, uint32_t blocks, bool overwrite)
{
	struct writer_thread *w = calloc(CPUS, sizeof(*w));

	clock_now = 1000;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		w[cpu].cpu = cpu;
		w[cpu].writing = ~0ull;
		w[cpu].writer = ring_writer_new(device, cpu, blocks, overwrite, uuid);
	}
	return w;
}

static bool all_done(struct writer_thread *w)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		if (!__atomic_load_n(&w[cpu].done, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static void free_writers(struct writer_thread *w)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		ring_writer_free(w[cpu].writer);
	free(w);
}

static uint64_t fired_in_all(const struct writer_thread *w)
{
	uint64_t sum = 0;

	for (int cpu = 0; cpu < CPUS; cpu++)
		sum += w[cpu].fired;
	return sum;
}

/* What a reader has seen of one CPU. */
struct seen {
	struct kl_cursor cursor;
	int64_t last;
	uint64_t records;
	uint64_t wrong;
};

/* Records count up; any gap must have been reported as missed or lost. */
static void check_block(struct seen *seen, const struct kl_reader_block *block)
{
	struct kl_value value;

	seen += block->cpu;
	kl_cursor_enter(&seen->cursor, block->block, block->from, block->to);
	for (;;) {
		int ret = kl_cursor_next(&seen->cursor);

		if (!ret)
			break;
		if (ret < 0) {
			seen->wrong++;
			break;
		}
		seen->wrong += kl_event_field(&seen->cursor.event, "tid", &value) ||
			       (int64_t)value.number <= seen->last ||
			       seen->cursor.event.task.tid != 1000 + (int)block->cpu;
		seen->last = value.number;
		seen->records++;
	}
}

static void read_live(const char *name, bool overwrite, bool partial, bool slow)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 6, overwrite);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS + 1, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	struct seen seen[CPUS + 1] = { 0 };
	struct kl_reader_counts counts;
	struct kl_reader_block block;
	uint64_t records = 0, wrong = 0, parts = 0;
	char line[128];
	int ret;

	if (!unit_result(reader, name, kl_error_text()))
		return;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		kl_cursor_init(&seen[cpu].cursor, schema, &timebase, 0);
		seen[cpu].last = -1;
		pthread_create(&w[cpu].thread, NULL, write_all, &w[cpu]);
	}
	for (;;) {
		bool last = all_done(w);

		ret = kl_reader_next_block(reader, partial, &block);
		if (ret > 0) {
			parts += !block.complete;
			check_block(seen, &block);
			if (slow)
				usleep(200);
		} else if (ret < 0 || last) {
			break;
		}
	}
	for (int cpu = 0; cpu < CPUS; cpu++) {
		pthread_join(w[cpu].thread, NULL);
		records += seen[cpu].records;
		wrong += seen[cpu].wrong;
	}
	kl_reader_counts(reader, &counts);
	snprintf(line, sizeof(line), "%s: read %llu, missed %llu, lost %llu, parts %llu", name,
		 (unsigned long long)counts.read, (unsigned long long)counts.missed,
		 (unsigned long long)counts.lost, (unsigned long long)parts);
	printf("# %s\n", line);
	unit_check(!ret && !wrong && records == counts.read, "each record read is right");
	unit_check(counts.read + counts.missed + counts.lost == fired_in_all(w),
		   "read + missed + lost = fired");
	unit_check(!overwrite || !counts.lost, "nothing is lost in overwrite mode");
	unit_check(!slow || counts.missed > 0, "a slow reader misses records");
	unit_check(partial || !parts, "only readers that request parts get them");
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

/* In discard mode a holding reader misses nothing: records that do not fit are lost. */
static void test_hold(void)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 4, false);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	uint64_t *position = mmap(NULL, 4096, PROT_READ, MAP_SHARED, device, KL_MMAP_POSITION);
	struct kl_reader_counts counts;
	struct kl_reader_block block;
	uint64_t lost = 0;

	for (int cpu = 0; cpu < CPUS; cpu++)
		ring_writer_hold(w[cpu].writer, &position[cpu]);
	for (int i = 0; i < 3000; i++) {
		fire(&w[0]);
		/* No reader reads at first; then this one does. */
		if (i > 1500 && i % 50 == 0)
			while (kl_reader_next_block(reader, false, &block) > 0)
				lost += block.lost;
	}
	ring_writer_finish(w[0].writer, clock_now);
	while (kl_reader_next_block(reader, false, &block) > 0)
		lost += block.lost;
	kl_reader_counts(reader, &counts);
	unit_check(counts.lost > 500 && counts.lost == lost,
		   "lost records are in the blocks and in the ring's page");
	unit_check(!counts.missed && counts.read + counts.lost == 3000,
		   "a holding reader misses nothing");
	munmap(position, 4096);
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

static void test_partial(void)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 4, true);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	struct kl_reader_block block;
	size_t first;

	unit_check(kl_reader_next_block(reader, true, &block) == 0, "an empty ring has nothing");
	fire(&w[1]);
	unit_check(kl_reader_next_block(reader, false, &block) == 0 &&
			   kl_reader_next_block(reader, true, &block) == 1 && block.cpu == 1 &&
			   !block.complete && block.from == 0,
		   "a record in a block being filled");
	first = block.to;
	unit_check(kl_reader_next_block(reader, true, &block) == 0, "is given once");
	fire(&w[1]);
	unit_check(kl_reader_next_block(reader, true, &block) == 1 && block.from == first &&
			   block.to > first,
		   "the next one follows it");
	ring_writer_finish(w[1].writer, clock_now);
	unit_check(kl_reader_next_block(reader, true, &block) == 1 && block.complete &&
			   block.from == block.to && block.block->record_count == 2,
		   "and the block's end when it is complete");
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

/* A block that the module has removed must not kill the program. */
static void test_gone(void)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 4, true);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	struct kl_reader_block block;

	fire(&w[0]);
	fire(&w[1]);
	if (ftruncate(device, KL_MMAP_BLOCK(1, 0, 0)))
		abort();
	unit_check(kl_reader_next_block(reader, true, &block) == 1 && block.cpu == 0 &&
			   kl_reader_next_block(reader, true, &block) == 0,
		   "a block that is gone is not there, and no signal");
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

/* A socket delivers what the device's read() would: whole blocks. */
static void test_read(struct synth *s)
{
	struct kl_reader_counts counts;
	struct kl_reader_block block;
	struct kl_reader *reader;
	int pair[2], got = 0;
	uint64_t missed = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	reader = kl_reader_create(pair[0], 4, SYNTH_BLOCK_BYTES, KL_BACKEND_READ);
	unit_check(kl_reader_next_block(reader, false, &block) == 0 &&
			   kl_reader_wait(reader, 1) == 0,
		   "read(): nothing yet");
	synth_init(s, schema, 2);
	for (int k = 0; k < 5; k++) {
		struct payload payload = { .tid = k };

		synth_begin(s, 1000 + k * 10);
		synth_add(s, "sched_waking", 1000 + k * 10,
			  ARGS(BYTES("x"), NUMBER(payload.tid), NUMBER(1), NUMBER(1)));
		synth_add(s, "sched_waking", 1001 + k * 10,
			  ARGS(BYTES("x"), NUMBER(payload.tid), NUMBER(1), NUMBER(1)));
		s->discarded += k;
		synth_end(s, 1009 + k * 10);
		if (k == 3)
			synth_block(s)->magic = 0;
		if (k != 1 && write(pair[1], s->bytes, SYNTH_BLOCK_BYTES) < 0)
			abort();
	}
	unit_check(kl_reader_wait(reader, 1000) == 1, "read(): poll reports blocks");
	while (kl_reader_next_block(reader, false, &block) > 0) {
		got++;
		missed += block.missed;
	}
	kl_reader_counts(reader, &counts);
	unit_check(got == 3 && counts.read == 6 && counts.bad == 1 && counts.missed == 4 &&
			   missed == 4 && counts.lost == 10,
		   "read(): read, missed, lost and bad are counted");
	if (write(pair[1], s->bytes, 100) < 0)
		abort();
	unit_check(kl_reader_next_block(reader, false, &block) == -EPROTO,
		   "read(): an invalid block is an error");
	kl_reader_destroy(reader);
	close(pair[1]);
	unit_check(!kl_reader_create(dup(1), 4, 5000, KL_BACKEND_READ) && errno == EINVAL,
		   "blocks have sizes of powers of two");
}

static void fire_at(struct writer_thread *w, uint64_t time)
{
	struct payload payload = { .comm = "x" };
	struct kl_abi_task task = { .tid = 1, .pid = 1 };

	ring_writer_fire(w->writer, waking, time, &task, &payload, sizeof(payload));
}

/*
 * A record of one CPU that is newer than the current round waits for an older one of another CPU.
 */
static void test_live_order(void)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 4, true);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	struct kl_live *live = kl_live_create(reader, schema, &timebase);
	struct kl_item item;

	fire_at(&w[1], 5000);
	unit_check(kl_live_next(live, 3000, &item) == 0, "live: what is too new stays back");
	fire_at(&w[0], 4000);
	unit_check(kl_live_next(live, 6000, &item) == 1 && item.event->cycles == 4000 &&
			   kl_live_next(live, 6000, &item) == 1 && item.event->cycles == 5000 &&
			   kl_live_next(live, 6000, &item) == 0,
		   "live: until what is older has come");
	kl_live_destroy(live);
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

static void test_live(void)
{
	int device = ring_device();
	struct writer_thread *w = make_writers(device, 50, true);
	struct kl_reader *reader =
		kl_reader_create(dup(device), CPUS, RING_BLOCK_BYTES, KL_BACKEND_MMAP);
	struct kl_live *live = kl_live_create(reader, schema, &timebase);
	uint64_t events = 0, lost = 0, last = 0, disordered = 0;
	struct kl_reader_counts counts;
	struct kl_item item;
	bool ended = false;
	int ret;

	for (int cpu = 0; cpu < CPUS; cpu++)
		pthread_create(&w[cpu].thread, NULL, write_all, &w[cpu]);
	for (;;) {
		ret = kl_live_next(live, ended ? ~0ull : settled_time(w), &item);
		if (ret > 0 && item.kind == KL_ITEM_EVENT) {
			events++;
			disordered += item.event->cycles < last;
			last = item.event->cycles;
		} else if (ret > 0) {
			lost += item.loss->records;
		} else if (ret < 0 || ended) {
			break;
		} else {
			ended = all_done(w);
		}
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		pthread_join(w[cpu].thread, NULL);
	kl_reader_counts(reader, &counts);
	printf("# live: %llu events, %llu lost\n", (unsigned long long)events,
	       (unsigned long long)lost);
	unit_check(!ret && events == counts.read && events + lost == fired_in_all(w),
		   "live: every record is an event or counted as lost");
	unit_check(!disordered, "live: in order of time over all CPUs");
	kl_live_destroy(live);
	kl_reader_destroy(reader);
	free_writers(w);
	close(device);
}

int main(void)
{
	struct synth *s = malloc(sizeof(*s));

	schema = kl_schema_create();
	waking = kl_schema_find(schema, "sched_waking")->id;
	kl_timebase_init(&timebase, KL_CLOCK_MONOTONIC, 1000000000, 1700000000, 0);
	test_partial();
	read_live("overwrite, whole blocks", true, false, false);
	read_live("overwrite, parts of blocks", true, true, false);
	read_live("overwrite, slow", true, false, true);
	read_live("discard, without a holder", false, true, false);
	test_hold();
	test_gone();
	test_read(s);
	test_live_order();
	test_live();
	kl_schema_destroy(schema);
	free(s);
	return unit_end();
}
