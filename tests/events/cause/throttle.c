// SPDX-License-Identifier: GPL-2.0
/*
 * A task that reclaims memory is throttled while most of its pages are isolated from the LRU lists,
 * here by another process that migrates them between two nodes. Needs two memory nodes.
 */
#include <signal.h>
#include <sys/swap.h>

#include "cause.h"

#define GROUP "/sys/fs/cgroup/kl-throttle"
#define MOVED_BYTES (192l << 20)
#define GROUP_BYTES (16l << 20)
#define MPOL_BIND 2
#define MPOL_MF_MOVE 2

static char *make_memory(long bytes)
{
	unsigned long mask = 1;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		DIE("mmap");
	CHECK(madvise(memory, bytes, MADV_NOHUGEPAGE));
	CHECK(syscall(SYS_mbind, memory, bytes, MPOL_BIND, &mask, 8, 0));
	memset(memory, 1, bytes);
	return memory;
}

static pid_t start_mover(int ready)
{
	pid_t pid = CHECK(fork());
	char *memory;

	if (pid)
		return pid;
	memory = make_memory(MOVED_BYTES);
	CHECK(write(ready, "x", 1));
	for (unsigned long mask = 2;; mask ^= 3)
		CHECK(syscall(SYS_mbind, memory, MOVED_BYTES, MPOL_BIND, &mask, 8, MPOL_MF_MOVE));
}

int main(void)
{
	char number[16], *memory;
	int ready[2];
	pid_t pid;

	try_write("/sys/kernel/mm/lru_gen/enabled", "n");
	MUST_RUN("modprobe", "brd", "rd_nr=1", "rd_size=65536");
	for (int i = 0; access("/dev/ram0", F_OK) && i < 100; i++)
		sleep_ms(10);
	MUST_RUN("mkswap", "-q", "/dev/ram0");
	CHECK(swapon("/dev/ram0", 0));
	try_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	CHECK(mkdir(GROUP, 0755));
	CHECK(pipe2(ready, O_CLOEXEC));
	pid = start_mover(ready[1]);
	CHECK(read(ready[0], number, 1));
	if (!fork()) {
		snprintf(number, sizeof(number), "%d", getpid());
		must_write(GROUP "/cgroup.procs", number);
		memory = make_memory(GROUP_BYTES);
		for (int i = 0; i < 8; i++) {
			try_write(GROUP "/memory.reclaim", "2097152");
			for (long at = 0; at < GROUP_BYTES; at += 4096)
				memory[at]++;
			sleep_ms(20);
		}
		_exit(0);
	}
	CHECK(wait(NULL));
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0));
	CHECK(rmdir(GROUP));
	CHECK(swapoff("/dev/ram0"));
	RUN("modprobe", "-r", "brd");
	return 0;
}
