// SPDX-License-Identifier: GPL-2.0
/*
 * A steady load: RATE calls of getppid() a second, a thousandth of them each millisecond, for SECONDS.
 *
 *	pace RATE SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const long each = argc == 3 ? atol(argv[1]) / 1000 : 0;
	struct timespec next;

	if (each <= 0)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long ms = atol(argv[2]) * 1000; ms > 0; ms--) {
		for (long i = 0; i < each; i++)
			syscall(SYS_getppid);
		next.tv_nsec += 1000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}
