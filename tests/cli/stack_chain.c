// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose call chain is known: main, chain_a, chain_b, chain_c. Built with frame
 * pointers; chain_c makes the system call itself, so that no wrapper without a frame is in
 * between. stack_chain MODE [ARGUMENT...]:
 *
 *   call N       chain_c calls getppid N times
 *   spin MS [N]  chain_c runs for MS milliseconds, with pauses of N
 *   paths N      chain_c makes a call through each of N different chains, again and again
 *   fork N       a child makes the calls, from chain_a on, and exits at once
 *   exec WORDS   executes another program
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;
static useconds_t pause_us;

__attribute__((noinline)) long chain_c(long calls, long ms)
{
	struct timespec begun, now;
	long result = 0;

	for (long i = 0; i < calls; i++)
		asm volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	if (!ms)
		return result;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		for (int i = 0; i < 1000000; i++)
			sink += i;
		if (pause_us)
			usleep(pause_us);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < ms);
	return sink;
}

__attribute__((noinline)) long chain_b(long calls, long ms)
{
	return chain_c(calls, ms) + 1;
}

__attribute__((noinline)) long chain_a(long calls, long ms)
{
	return chain_b(calls, ms) + 1;
}

long path_b(long bits, int depth);

/* Each bit chooses a function: no two numbers have the same chain. */
__attribute__((noinline)) long path_a(long bits, int depth)
{
	if (!depth)
		return chain_c(1, 0);
	return (bits & 1 ? path_b(bits >> 1, depth - 1) : path_a(bits >> 1, depth - 1)) + 1;
}

__attribute__((noinline)) long path_b(long bits, int depth)
{
	if (!depth)
		return chain_c(1, 0) + 1;
	return (bits & 1 ? path_b(bits >> 1, depth - 1) : path_a(bits >> 1, depth - 1)) + 2;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(mode, "call")) {
		sink = chain_a(number, 0);
	} else if (!strcmp(mode, "spin")) {
		pause_us = argc > 3 ? 1000 * atoi(argv[3]) : 0;
		sink = chain_a(0, number);
	} else if (!strcmp(mode, "paths")) {
		for (long i = 0;; i = (i + 1) % number)
			sink = path_a(i, 20);
	} else if (!strcmp(mode, "fork")) {
		pid_t child = fork();

		if (!child) {
			chain_a(number, 0);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (!strcmp(mode, "exec")) {
		execvp(argv[2], argv + 2);
		return 127;
	} else {
		fprintf(stderr, "stack_chain call|spin|paths|fork N, or exec WORDS\n");
		return 2;
	}
	return 0;
}
