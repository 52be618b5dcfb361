// SPDX-License-Identifier: GPL-2.0
/*
 * All events of a session begin and end at one moment, which the session reports. Attaching all of
 * them takes long; a load fires several kinds continuously, and none may appear in the trace
 * earlier or later than the others.
 *
 *	kernel-moment
 */
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "decode.h"

#define RUN_MS 400
#define BLOCK_BYTES (256u << 10)
#define BLOCKS 128
#define LOADS 2

/* The load fires these every few milliseconds; they are attached at different times. */
static const u32 watched[] = {
	KL_EV_SYSCALL_ENTRY + SYS_nanosleep,
	KL_EV_SYSCALL_EXIT + SYS_nanosleep,
	KL_EV_SYSCALL_ENTRY + SYS_getppid,
	KL_EV_SYSCALL_EXIT + SYS_getppid,
	KL_EV_sched_switch,
	KL_EV_sched_wakeup,
};

#define WATCHED (sizeof(watched) / sizeof(*watched))

/* Times relative to the session's start, in cycles. */
struct seen {
	s64 first[WATCHED], last[WATCHED];
	u64 number[WATCHED];
	s64 first_of_all, last_of_all;
	u64 records, bad;
};

static bool stop;

static void *run_load(void *data)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		const struct timespec pause = { .tv_nsec = 1000000 };

		syscall(SYS_getppid);
		syscall(SYS_nanosleep, &pause, NULL);
	}
	return NULL;
}

static void take_record(struct seen *seen, const struct record *r, s64 time)
{
	if (!seen->records || time < seen->first_of_all)
		seen->first_of_all = time;
	if (!seen->records || time > seen->last_of_all)
		seen->last_of_all = time;
	seen->records++;
	for (u32 i = 0; i < WATCHED; i++) {
		if (r->id != watched[i])
			continue;
		if (!seen->number[i] || time < seen->first[i])
			seen->first[i] = time;
		if (!seen->number[i] || time > seen->last[i])
			seen->last[i] = time;
		seen->number[i]++;
	}
}

static void take_block(struct seen *seen, const struct kl_abi_block *block, u64 begin)
{
	const u8 *at = (const u8 *)(block + 1);
	const u8 *end = (const u8 *)block + block->committed;
	u64 time = block->timestamp_begin;
	struct record r;

	for (u32 i = 0; i < block->record_count; i++) {
		if (!decode_record(&r, at, end)) {
			seen->bad++;
			return;
		}
		time += (r.time - time) & ((1ull << KL_RECORD_TIME_BITS) - 1);
		take_record(seen, &r, (s64)(time - begin));
		at += r.bytes;
	}
}

static void read_blocks(int reader, struct seen *seen, u64 begin)
{
	u8 *block = malloc(BLOCK_BYTES);

	while (read(reader, block, BLOCK_BYTES) == BLOCK_BYTES)
		take_block(seen, (const struct kl_abi_block *)block, begin);
	free(block);
}

static void check(const struct seen *seen, const struct kl_abi_stats *stats, double attach_s)
{
	s64 length = stats->end_cycles - stats->begin_cycles;
	u32 late = 0, early = 0, least = ~0u;

	for (u32 i = 0; i < WATCHED; i++) {
		late += !seen->number[i] || seen->first[i] > length / 4;
		early += !seen->number[i] || seen->last[i] < length - length / 4;
		least = seen->number[i] < least ? seen->number[i] : least;
	}
	tap_result(!seen->bad && !stats->lost && seen->records == stats->written,
		   "all records are read", "%llu bad, %llu lost, %llu of %llu",
		   (unsigned long long)seen->bad, (unsigned long long)stats->lost,
		   (unsigned long long)seen->records, (unsigned long long)stats->written);
	tap_result(stats->begin_cycles && length > 0, "the session has a start and an end",
		   "%llu to %llu", (unsigned long long)stats->begin_cycles,
		   (unsigned long long)stats->end_cycles);
	tap_result(seen->first_of_all >= 0, "no event is recorded before the start",
		   "%.3f of the session's length earlier", -(double)seen->first_of_all / length);
	/* Probes that were running at the end finish their work. */
	tap_result(seen->last_of_all <= length + length / 10, "and none after the end",
		   "%.3f of the session's length later",
		   (double)(seen->last_of_all - length) / length);
	tap_result(!late, "all kinds begin together", "%u of %zu late, least %u", late, WATCHED,
		   least);
	tap_result(!early, "and end together", "%u of %zu early, least %u", early, WATCHED, least);
	printf("# %u kinds in %llu records; start and stop of all took %.1f s\n", (u32)WATCHED,
	       (unsigned long long)seen->records, attach_s);
}

static void run_session(u32 maskset)
{
	struct kl_abi_session params = {
		.mode = KL_MODE_DISCARD,
		.block_bytes = BLOCK_BYTES,
		.blocks = BLOCKS,
	};
	struct seen seen = {};
	struct kl_abi_stats stats;
	double started, stopped;
	int fd = kl_open(), reader;

	if (kl_session(fd, &params) || kl_use(fd, maskset))
		bail("session: %s", kl_why(fd));
	reader = kl_reader(fd, KL_READER_HOLD);
	started = now_seconds();
	if (reader < 0 || kl_start(fd))
		bail("start: %s", kl_why(fd));
	started = now_seconds() - started;
	tap_result(!kl_stats(fd, -1).end_cycles, "a session that records has no end yet", "it has");
	sleep_ms(RUN_MS);
	stopped = now_seconds();
	if (kl_stop(fd))
		bail("stop: %s", kl_why(fd));
	stopped = now_seconds() - stopped;
	stats = kl_stats(fd, -1);
	read_blocks(reader, &seen, stats.begin_cycles);
	check(&seen, &stats, started + stopped);
	close(reader);
	close(fd);
}

int main(void)
{
	pthread_t load[LOADS];

	for (u32 i = 0; i < LOADS; i++)
		if (pthread_create(&load[i], NULL, run_load, NULL))
			bail("pthread_create");
	run_session(KL_MASKSET_RALL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (u32 i = 0; i < LOADS; i++)
		pthread_join(load[i], NULL);
	return tap_end();
}
