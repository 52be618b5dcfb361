// SPDX-License-Identifier: GPL-2.0
/*
 * The ring with real threads. Two lanes, each with a writer that timers interrupt (SIGUSR1, and
 * SIGUSR2 also inside SIGUSR1), a reader with a cursor and one that maps; a control thread adds and
 * removes blocks and sets a holder with garbage positions. At the end: written + lost == fired for
 * each lane, read + missed == written for each reader.
 *
 * With KL_RING_TEST_HOOK (sanitizer builds: ThreadSanitizer delays signals to the next system call)
 * the ring's operations are interrupted at random, too.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../unit.h"
#include "stress.h"

#ifndef STRESS_MS
#define STRESS_MS 2500 /* per mode */
#endif

char stress_why[300];

static __thread struct lane *self;
static __thread u32 self_level;
static bool stop;

void stress_wrong(const char *format, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char why[sizeof(stress_why)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&lock);
	if (!__atomic_load_n(&stress_why[0], __ATOMIC_RELAXED)) {
		memcpy(stress_why + 1, why + 1, sizeof(why) - 1);
		__atomic_store_n(&stress_why[0], why[0], __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

static void fill_record(const struct kl_slot *slot, u64 number, bool first)
{
	struct stress_record record = {
		.bytes = slot->bytes,
		.lane = self->number,
		.level = self_level,
		.first = first,
		.number = number,
		.time = slot->time,
		.header_time = slot->time & ((1ull << KL_RECORD_TIME_BITS) - 1),
	};

	memcpy(slot->at, &record, sizeof(record));
	memset(slot->at + sizeof(record), stress_fill(number, self->number, self_level),
	       slot->bytes - sizeof(record));
}

static void fire(u64 jump)
{
	struct lane *lane = self;
	u64 number = lane->count[self_level]++;
	u32 bytes = sizeof(struct stress_record) + number * 13 % 173;
	enum kl_ring_result result;
	struct kl_slot slot;

	do {
		u64 old = kl_load(lane->shared->position);
		u64 time;

		kl_local_barrier();
		time = __atomic_add_fetch(&lane->clock, 1 + jump, __ATOMIC_RELAXED);
		result = kl_ring_reserve(&lane->ring, old, time, bytes, bytes + 24, &slot);
	} while (result == KL_RING_RETRY);
	if (result == KL_RING_LOST) {
		__atomic_add_fetch(&lane->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	fill_record(&slot, number, result == KL_RING_WRITTEN_FIRST);
	kl_ring_commit(&slot);
	__atomic_add_fetch(&lane->written, 1, __ATOMIC_RELAXED);
}

static u64 roll(void)
{
	static __thread u64 dice = 1;

	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return dice >> 33;
}

/* A few records of a higher level; occasionally many blocks of them. */
static void interrupt_at(u32 level)
{
	u32 before = self_level;
	u32 records = roll() % 64 ? 1 + roll() % 4 : 900;

	self_level = level;
	while (records--)
		fire(0);
	self_level = before;
}

static void on_signal(int signal)
{
	u32 level = signal == SIGUSR1 ? 1 : 2;

	if (self && self_level < level)
		interrupt_at(level);
}

#ifdef KL_RING_TEST_HOOK
void kl_ring_test_hook(void)
{
	if (self && self_level < STRESS_LEVELS - 1 && roll() % 499 == 0)
		interrupt_at(self_level + 1);
}
#endif

static void start_timer(timer_t *timer, int signal, long period_ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal };
	struct itimerspec period = { .it_value.tv_nsec = period_ns,
				     .it_interval.tv_nsec = period_ns };

	event._sigev_un._tid = syscall(SYS_gettid);
	timer_create(CLOCK_MONOTONIC, &event, timer);
	timer_settime(*timer, 0, &period, NULL);
}

static void *write_records(void *argument)
{
	struct lane *lane = argument;
	timer_t timer[2];
	sigset_t signals;

	__atomic_store_n(&self, lane, __ATOMIC_RELAXED);
	start_timer(&timer[0], SIGUSR1, 41000);
	start_timer(&timer[1], SIGUSR2, 59000);
	for (u64 i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		fire(i % 100000 ? 0 : KL_TIME_WRAP + 5);
		if (i % 16384 == 0)
			usleep(200);
	}
	timer_delete(timer[0]);
	timer_delete(timer[1]);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	__atomic_store_n(&self, NULL, __ATOMIC_RELAXED);
	kl_ring_finish(&lane->ring, lane->clock + 1);
	__atomic_store_n(&lane->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void add_block(struct lane *lane)
{
	struct kl_ring_block *block = &lane->pool[lane->pool_used];

	block->memory = aligned_alloc(64, STRESS_BLOCK_BYTES);
	memset(block->memory, 0xEE, STRESS_BLOCK_BYTES);
	block->index = lane->pool_used++;
	kl_ring_add(&lane->ring, block);
}

/* After this call, no reader holds a pointer that it got before. */
static void wait_for_readers(struct lane *lane)
{
	for (int i = 0; i < 2; i++) {
		u64 epoch = __atomic_load_n(&lane->reader[i].epoch, __ATOMIC_SEQ_CST);

		while (epoch % 2 &&
		       epoch == __atomic_load_n(&lane->reader[i].epoch, __ATOMIC_SEQ_CST))
			usleep(20);
	}
}

static void control(struct lane *lane)
{
	static const u64 nonsense[] = { KL_SEQ_NONE, 0, 1ull << 40, KL_SEQ_NONE - 5, ~0ull >> 1 };
	struct kl_ring_block *block = kl_ring_take_outgoing(&lane->ring);
	u32 wanted = 4 + roll() % (STRESS_MAP_SIZE - 3);

	if (block)
		wait_for_readers(lane);
	while (block) {
		struct kl_ring_block *next = block->next;

		memset(block->memory, 0xDD, STRESS_BLOCK_BYTES);
		free(block->memory);
		block->memory = NULL;
		lane->taken++;
		block = next;
	}
	kl_store(lane->ring.wanted, wanted);
	while (lane->pool_used - lane->taken < wanted && lane->pool_used < STRESS_POOL)
		add_block(lane);
	__atomic_store_n(&lane->garbage, nonsense[roll() % 5], __ATOMIC_RELAXED);
	kl_store(lane->ring.holders[3], roll() % 2 ? &lane->garbage : NULL);
}

static void lane_start(struct lane *lane, u32 number, bool overwrite)
{
	struct kl_abi_block header = { .magic = KL_CTF_MAGIC };

	lane->number = number;
	lane->shared = calloc(1, kl_ring_shared_bytes(STRESS_MAP_SIZE));
	kl_ring_init(&lane->ring, lane->shared, lane->window, STRESS_MAP_SIZE, STRESS_BLOCK_BYTES,
		     number, overwrite, &header);
	for (int i = 0; i < 8; i++)
		add_block(lane);
	/* In discard mode the writer waits for the reader with the cursor. */
	lane->ring.holders[0] = &lane->reader[0].next;
	for (int i = 0; i < 2; i++) {
		lane->reader[i].lane = lane;
		lane->reader[i].maps = i;
		pthread_create(&lane->reader[i].thread, NULL, stress_reader, &lane->reader[i]);
	}
	pthread_create(&lane->thread, NULL, write_records, lane);
}

static void lane_end(struct lane *lane, const char *mode, bool overwrite)
{
	u64 fired = lane->count[0] + lane->count[1] + lane->count[2];
	char name[200], why[200];

	for (int i = 0; i < 2; i++)
		pthread_join(lane->reader[i].thread, NULL);
	snprintf(why, sizeof(why), "fired %llu, written %llu, lost %llu; ring: %llu and %llu",
		 fired, lane->written, lane->lost, lane->shared->records, lane->shared->lost);
	snprintf(name, sizeof(name), "%s: %llu fired (%llu + %llu nested), %llu lost, %llu blocks",
		 mode, fired, lane->count[1], lane->count[2], lane->lost, lane->shared->switches);
	unit_result(lane->written + lane->lost == fired && lane->shared->lost == lane->lost &&
			    lane->shared->records == lane->written && fired > 10000,
		    name, why);
	for (int i = 0; i < 2; i++) {
		struct reader *reader = &lane->reader[i];

		snprintf(name, sizeof(name),
			 "%s: reader with %s: %llu read (%llu partial), %llu missed, %llu refused",
			 mode, reader->maps ? "mapping" : "cursor", reader->read, reader->partial,
			 reader->missed, reader->refused);
		snprintf(why, sizeof(why), "written %llu", lane->written);
		unit_result(reader->read + reader->missed == lane->written &&
				    (overwrite || reader->maps || !reader->missed),
			    name, why);
	}
	for (u32 i = 0; i < lane->pool_used; i++)
		free(lane->pool[i].memory);
	free(lane->shared);
	free(lane);
}

static void run(const char *mode, bool overwrite)
{
	struct lane *lane[STRESS_LANES];
	u32 turns = STRESS_MS;
	char name[100];

	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (u32 i = 0; i < STRESS_LANES; i++) {
		lane[i] = calloc(1, sizeof(*lane[i]));
		lane_start(lane[i], i, overwrite);
	}
	while (turns-- && !__atomic_load_n(&stress_why[0], __ATOMIC_RELAXED)) {
		usleep(900);
		for (u32 i = 0; i < STRESS_LANES; i++)
			control(lane[i]);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (u32 i = 0; i < STRESS_LANES; i++)
		pthread_join(lane[i]->thread, NULL);
	for (u32 i = 0; i < STRESS_LANES; i++)
		lane_end(lane[i], mode, overwrite);
	snprintf(name, sizeof(name), "%s: every record whole and in order", mode);
	unit_result(!stress_why[0], name, stress_why);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	/* SIGUSR2 interrupts SIGUSR1, but not vice versa. */
	sigaction(SIGUSR1, &action, NULL);
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGUSR2, &action, NULL);
	run("overwrite", true);
	run("discard", false);
	return unit_end();
}
