// SPDX-License-Identifier: GPL-2.0
/*
 * Print the rate of this machine's time stamp counter in kHz, which is the one that an emulated
 * guest sees. On a busy machine, a guest measures it wrongly, and its clock then runs too fast or
 * too slow; so vm/run passes the rate to it.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* The same instant on both clocks: the closest of several tries. */
static unsigned long long sample(double *at)
{
	unsigned long long best = ~0ull, middle = 0;

	for (int i = 0; i < 200; i++) {
		unsigned long long before = __rdtsc();
		double now = seconds();
		unsigned long long took = __rdtsc() - before;

		if (took >= best)
			continue;
		best = took;
		middle = before + took / 2;
		*at = now;
	}
	return middle;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	double from, to;
	unsigned long long start = sample(&from), end;

	nanosleep(&pause, NULL);
	end = sample(&to);
	printf("%.0f\n", (end - start) / (to - from) / 1000);
	return 0;
}
