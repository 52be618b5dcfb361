// SPDX-License-Identifier: GPL-2.0
/*
 * Dynamic events at places in a program: each is fired a known number of times with known values, and
 * several at one place fire in the order of their definition. Run as root.
 *
 *	kernel-places
 */
#include <pthread.h>

#include "defined.h"
#include "text.h"

static struct defined d;

#define THREADS 4
#define CALLS 500

__attribute__((noinline, noclone)) static u64 place(u64 a, u64 b, u64 c, u64 e, u64 f, u64 g)
{
	__asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(e), "r"(f), "r"(g));
	return a + g;
}

static u64 (*volatile place_called)(u64, u64, u64, u64, u64, u64) = place;

static void *run_place(void *unused)
{
	for (u64 i = 1; i <= CALLS; i++)
		place_called(i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i);
	return NULL;
}

static bool check_place(u64 i, const u64 *number)
{
	return number[0] && number[0] <= CALLS && number[1] == 2 * number[0] &&
	       number[2] == 3 * number[0] && number[3] == 4 * number[0] &&
	       number[4] == 5 * number[0] && number[5] == 6 * number[0];
}

static u64 value_sum;

static bool sum_value(u64 i, const u64 *number)
{
	value_sum += number[0];
	return number[0] % 7 == 0;
}

static void test_uprobes(void)
{
	const u64 times = THREADS * CALLS;
	pthread_t thread[THREADS];
	u64 at = kl_file_offset(place);
	char self[256] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !at)
		bail("/proc/self");
	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, KL_SOURCE_KIND_UPROBE, 0, at, self, 6, check_place);
	defined_add(&d, KL_SOURCE_KIND_URETPROBE, 0, at, self, 1, sum_value);
	if (!tap_result(!defined_make(&d), "places in a program are defined", "%s", kl_why(d.fd)))
		return;
	defined_use(&d, d.n);
	defined_start(&d);
	for (u32 i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_place, NULL);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	defined_stop(&d);
	tap_result(d.seen[0] == times && d.seen[1] == times && !d.wrong,
		   "programs: each call of each thread", "%llu and %llu of %llu, %llu wrong",
		   (unsigned long long)d.seen[0], (unsigned long long)d.seen[1],
		   (unsigned long long)times, (unsigned long long)d.wrong);
	tap_check(value_sum == THREADS * 7ull * CALLS * (CALLS + 1) / 2,
		  "programs: what they return");
	run_place(NULL);
	tap_check(kl_stats(d.fd, -1).written == 2 * times, "programs: nothing after the end");
	close(d.fd);
}

/* In which order the definitions of a place have fired: their numbers. */
static char fired[6 * CALLS + 1];
static u32 n_fired;

static bool note(u32 definition)
{
	if (n_fired < sizeof(fired) - 1)
		fired[n_fired++] = (char)('0' + definition);
	return true;
}

static bool note_0(u64 i, const u64 *number)
{
	return note(0);
}

static bool note_1(u64 i, const u64 *number)
{
	return note(1);
}

static bool note_2(u64 i, const u64 *number)
{
	return note(2);
}

/* Logs those definitions whose letter is not '-'. */
static void use_some(u32 id, const char *which)
{
	u8 handler[3] = {};
	struct kl_abi_maskset m = {
		.size = sizeof(m),
		.id = id,
		.dynamic = (u64)(uintptr_t)handler,
		.n_dynamic = 3,
	};

	for (u32 i = 0; i < 3; i++)
		handler[i] = which[i] == '-' ? KL_HANDLER_nothing : KL_HANDLER_log;
	if (kl_call(d.fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(d.fd, id))
		bail("maskset: %s", kl_why(d.fd));
}

static size_t same_length(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* What one call of `place` fires in each part of test_order, and what is expected of it. */
static const char *const order_use[] = { "-12", "012", "0--", "0-2", "---", "--2", "012" };

static void test_order(u32 kind, const char *name)
{
	char self[256] = "", expected[sizeof(fired)] = "", *end = expected;
	cpu_set_t before, one;
	u64 at = kl_file_offset(place);

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !at)
		bail("/proc/self");
	/* The records of one processor are in order. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_getaffinity(0, sizeof(before), &before);
	sched_setaffinity(0, sizeof(one), &one);
	n_fired = 0;
	defined_open(&d, KL_MODE_DISCARD);
	defined_add(&d, kind, 0, at, self, 1, note_0);
	defined_add(&d, kind, 0, at, self, 1, note_1);
	defined_add(&d, kind, 0, at, self, 1, note_2);
	if (defined_make(&d))
		bail("definitions of one place: %s", kl_why(d.fd));
	for (u32 part = 0; part < sizeof(order_use) / sizeof(order_use[0]); part++) {
		use_some(MASKSET + part % 2, order_use[part]);
		if (!part)
			defined_start(&d);
		for (u32 i = 1; i <= CALLS / 5; i++) {
			place_called(i, 0, 0, 0, 0, 0);
			for (const char *c = order_use[part]; *c; c++)
				if (*c != '-')
					*end++ = *c;
		}
	}
	defined_stop(&d);
	fired[n_fired] = 0;
	tap_result(!strcmp(fired, expected), name, "%u records, expected %zu; first different: %zu",
		   n_fired, strlen(expected), same_length(fired, expected));
	close(d.fd);
	sched_setaffinity(0, sizeof(before), &before);
}

int main(void)
{
	test_uprobes();
	test_order(KL_SOURCE_KIND_UPROBE, "definitions of one place fire in order");
	test_order(KL_SOURCE_KIND_URETPROBE, "definitions of one return fire in order");
	test_order(KL_SOURCE_KIND_USDT, "definitions of one marker fire in order");
	return tap_end();
}
