// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks far from their memory, on a machine of two nodes with a CPU each: one moves to its memory
 * when that CPU is idle, two trade places.
 */
#include <signal.h>

#include "cause.h"

#define BYTES (8 << 20)
#define SECONDS 6
#define MPOL_BIND 2
#define MPOL_DEFAULT 0

/* Works on memory of the other node, until killed. */
static pid_t start_far(int cpu)
{
	pid_t pid = CHECK(fork());
	unsigned long mask = 1ul << !cpu;
	cpu_set_t all;
	char *memory;

	if (pid)
		return pid;
	run_on(cpu);
	CHECK(syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8));
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		DIE("mmap");
	memset(memory, 1, BYTES);
	CHECK(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
	CPU_ZERO(&all);
	CPU_SET(0, &all);
	CPU_SET(1, &all);
	CHECK(sched_setaffinity(0, sizeof(all), &all));
	for (;;)
		for (int at = 0; at < BYTES; at += 4096)
			memory[at]++;
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
	for (int i = 0; i < 3; i++) {
		a = start_far(i & 1);
		sleep_ms(SECONDS * 300);
		stop(a);
	}
	a = start_far(0);
	b = start_far(1);
	sleep_ms(SECONDS * 1000);
	stop(a);
	stop(b);
	return 0;
}
