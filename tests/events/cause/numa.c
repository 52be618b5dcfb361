// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks far from their memory, on a machine of two nodes with a CPU each: one task migrates to its
 * memory when that CPU is idle, two tasks swap CPUs.
 */
#include <signal.h>

#include "cause.h"

#define BYTES (8 << 20)
#define MPOL_BIND 2
/* The kernel samples where the memory is used, and leaves it on its node. */
#define MPOL_F_NUMA_BALANCING (1 << 13)

/* Works on memory of the other node until killed. */
static pid_t start_far(int cpu)
{
	pid_t pid = CHECK(fork());
	unsigned long mask = 1ul << !cpu;
	char *memory;

	if (pid)
		return pid;
	run_on(cpu);
	CHECK(syscall(SYS_set_mempolicy, MPOL_BIND | MPOL_F_NUMA_BALANCING, &mask, 8));
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		DIE("mmap");
	memset(memory, 1, BYTES);
	run_anywhere();
	for (;;)
		for (int at = 0; at < BYTES; at += 4096)
			memory[at]++;
}

static int cpu_of(pid_t pid)
{
	char path[64], text[1024];
	int cpu = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file) && strrchr(text, ')')) {
		char *word = strtok(strrchr(text, ')') + 1, " ");

		/* The loop starts at the third field, the state; the 39th is the processor. */
		for (int i = 3; word && i < 39; i++)
			word = strtok(NULL, " ");
		if (word)
			cpu = atoi(word);
	}
	if (file)
		fclose(file);
	return cpu;
}

/* Waits until a task has settled on a CPU, for 10 s at most. */
static void wait_for_cpu(pid_t pid, int cpu)
{
	for (int i = 0, there = 0; i < 1000 && there < 20; i++) {
		sleep_ms(10);
		there = cpu_of(pid) == cpu ? there + 1 : 0;
	}
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0));
}

int main(void)
{
	static const char dir[] = "/sys/kernel/debug/sched/numa_balancing/";
	char path[128];
	pid_t a, b;

	must_write("/proc/sys/kernel/numa_balancing", "1");
	snprintf(path, sizeof(path), "%sscan_delay_ms", dir);
	must_write(path, "10");
	snprintf(path, sizeof(path), "%sscan_period_min_ms", dir);
	must_write(path, "20");
	for (int i = 0; i < 2; i++) {
		a = start_far(i & 1);
		wait_for_cpu(a, !(i & 1));
		stop(a);
	}
	for (int i = 0; i < 3; i++) {
		a = start_far(0);
		b = start_far(1);
		wait_for_cpu(a, 1);
		wait_for_cpu(b, 0);
		stop(a);
		stop(b);
	}
	return 0;
}
