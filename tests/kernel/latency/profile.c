// SPDX-License-Identifier: GPL-2.0
/* Reads and checks latency profiles, for the tests of these. */
#include <sched.h>

#include "latency.h"

struct kl_abi_latency_task tasks[TASKS_MAX];
struct kl_abi_latency_entry entries[ENTRIES_MAX];
struct kl_abi_latency_source sources[256];
struct kl_abi_latency_times times[KL_LATENCY_STATES + 1];
u32 n_tasks, n_entries, n_sources, n_times;
struct kl_abi_latency_read told;
double cycles_per_ns;

/* ---------------------------------------------------------------- reading */

static u32 read_all(int fd, u32 what, void *to, u32 room)
{
	struct kl_abi_latency_read call = {
		.size = sizeof(call), .what = what, .buffer = (uintptr_t)to, .n = room
	};

	if (kl_call(fd, KL_IOC_LATENCY_READ, &call))
		bail("KL_IOC_LATENCY_READ: %s", kl_why(fd));
	if (call.n == room)
		bail("no room in the test");
	told = call;
	return call.n;
}

void fetch(int fd)
{
	n_tasks = read_all(fd, KL_LATENCY_READ_TASKS, tasks, TASKS_MAX);
	n_entries = read_all(fd, KL_LATENCY_READ_ENTRIES, entries, ENTRIES_MAX);
	n_sources = read_all(fd, KL_LATENCY_READ_SOURCES, sources, 256);
	n_times = read_all(fd, KL_LATENCY_READ_TIMES, times, KL_LATENCY_STATES + 1);
}

const struct kl_abi_latency_task *task_of(int tid)
{
	for (u32 i = n_tasks; i--;)
		if (tasks[i].tid == tid)
			return &tasks[i];
	return NULL;
}

double ms(u64 cycles)
{
	return cycles / cycles_per_ns / 1e6;
}

static u64 sum_of(const struct kl_abi_latency_task *t)
{
	u64 sum = 0;

	for (u32 i = 0; i < KL_LATENCY_STATES; i++)
		sum += t->in[i].sum;
	return sum;
}

/* For each task that is measured: do its states add up to the elapsed time? */
bool add_up(void)
{
	for (u32 i = 0; i < n_tasks; i++) {
		const struct kl_abi_latency_task *t = &tasks[i];

		if (t->flags & KL_LATENCY_TASK_OUTSIDE || sum_of(t) == t->until - t->since)
			continue;
		printf("# task %d %.16s flags %x state %u: %llu of %llu\n", t->tid, t->comm,
		       t->flags, t->state, (unsigned long long)sum_of(t),
		       (unsigned long long)(t->until - t->since));
		return false;
	}
	return n_tasks > 0;
}

void print_task(const char *what, const struct kl_abi_latency_task *t)
{
	static const char *const names[] = { "running",	  "runnable",	     "preempted",
					     "interrupt", "uninterruptible", "io",
					     "idle",	  "stopped" };

	printf("# %s: %d %.16s", what, t->tid, t->comm);
	for (u32 i = 0; i < KL_LATENCY_STATES; i++)
		if (t->in[i].count)
			printf(", %s %llu %.3f ms (worst %.3f)", names[i],
			       (unsigned long long)t->in[i].count, ms(t->in[i].sum),
			       ms(t->in[i].worst));
	printf("\n");
}

/* Returns the entry with the longest wait of a task in a state. */
const struct kl_abi_latency_entry *longest(u32 id, u32 state)
{
	const struct kl_abi_latency_entry *best = NULL;

	for (u32 i = 0; i < n_entries; i++)
		if (entries[i].task == id && entries[i].state == state &&
		    (!best || entries[i].asleep.sum > best->asleep.sum))
			best = &entries[i];
	return best;
}

/* ---------------------------------------------------------------- session */

int open_profile(u32 flags, u32 n, u32 e)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE,
					 .block_bytes = 4096,
					 .blocks = 4 };
	struct kl_abi_latency latency = {
		.size = sizeof(latency), .flags = flags, .tasks = n, .entries = e
	};
	int fd = kl_open();

	if (kl_session(fd, &params) || kl_use(fd, KL_MASKSET_RNOTHING))
		bail("session: %s", kl_why(fd));
	if (kl_call(fd, KL_IOC_LATENCY, &latency))
		bail("KL_IOC_LATENCY: %s", kl_why(fd));
	return fd;
}

void start(int fd)
{
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
}

void stop(int fd)
{
	if (kl_stop(fd))
		bail("stop: %s", kl_why(fd));
}

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void burn_ms(unsigned int time)
{
	u64 end = now_ns() + time * 1000000ull;

	while (now_ns() < end)
		;
}

bool near(double a, double b, double share, double least)
{
	double off = a > b ? a - b : b - a;

	return off <= least || off <= share * (a > b ? a : b);
}

void print_entry(const char *what, const struct kl_abi_latency_entry *e)
{
	if (!e)
		return;
	printf("# %s: task %u, %.3f ms, hops", what, e->task, ms(e->asleep.sum));
	for (int i = 0; i < KL_LATENCY_HOPS; i++)
		printf(" %u:%u:%x", e->hop[i].kind, e->hop[i].id, e->hop[i].flags);
	for (u32 i = 0; i < n_sources; i++)
		if (sources[i].id == e->hop[0].id)
			printf(", source %u: kind %u, %#llx %.24s", sources[i].id, sources[i].kind,
			       (unsigned long long)sources[i].number, sources[i].name);
	printf("\n");
}
