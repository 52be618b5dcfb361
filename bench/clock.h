/* SPDX-License-Identifier: GPL-2.0 */
/* The time stamp counter, and the end of a program that cannot measure. */
#ifndef KL_BENCH_CLOCK_H
#define KL_BENCH_CLOCK_H

#include <stdio.h>
#include <stdlib.h>

static inline unsigned long long cycles(void)
{
	unsigned int low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (unsigned long long)high << 32 | low;
}

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

#endif /* KL_BENCH_CLOCK_H */
