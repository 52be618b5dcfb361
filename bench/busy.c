// SPDX-License-Identifier: GPL-2.0
/*
 * Run a command, and print for how many ticks of the time stamp counter the machine was busy and
 * idle until it ended; in a guest started with --icount, ticks are instructions. The kernel's idle
 * time is read from /proc/timer_list, in nanoseconds. The command's own output is dropped.
 *
 *	busy COMMAND...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

struct instant {
	unsigned long long cycles;
	unsigned long long ns;
	unsigned long long idle_ns;
};

static struct instant now(void)
{
	FILE *f = fopen("/proc/timer_list", "r");
	struct instant i = {};
	unsigned long long ns;
	struct timespec t;
	char line[256];

	if (!f) {
		perror("/proc/timer_list");
		exit(1);
	}
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu nsecs", &ns) == 1)
			i.idle_ns += ns;
	fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &t);
	i.ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	i.cycles = __rdtsc();
	return i;
}

int main(int argc, char **argv)
{
	struct instant begin, end;
	unsigned long long idle;
	double rate;
	pid_t child;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: busy COMMAND...\n");
		return 2;
	}
	begin = now();
	child = fork();
	if (!child) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		return 1;
	}
	end = now();
	rate = (double)(end.cycles - begin.cycles) / (end.ns - begin.ns);
	idle = (end.idle_ns - begin.idle_ns) * rate;
	printf("%llu %llu\n", end.cycles - begin.cycles - idle, idle);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
