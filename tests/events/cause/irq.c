// SPDX-License-Identifier: GPL-2.0
/*
 * irq: interrupts between CPUs and of devices, RCU, idle CPUs.
 * irq nmi: NMIs alone. With ftrace's events of rcu, tlb and printk enabled, an NMI to an idle CPU
 * kills the virtual machine, even without kernlens.
 */
#include <linux/membarrier.h>
#include <pthread.h>

#include "cause.h"

#define TIMES 30

static int ping[2], pong[2];

static void *answer(void *data)
{
	char byte;

	run_on(1);
	while (read(ping[0], &byte, 1) == 1)
		CHECK(write(pong[1], &byte, 1));
	return NULL;
}

static void *spin(void *data)
{
	run_on(1);
	while (!*(volatile bool *)data)
		;
	return NULL;
}

/* Two threads on different CPUs wake each other. */
static void wake_across(void)
{
	pthread_t thread;
	char byte = 0;

	run_on(0);
	CHECK(pipe(ping));
	CHECK(pipe(pong));
	if (pthread_create(&thread, NULL, answer, NULL))
		DIE("pthread_create");
	for (int i = 0; i < TIMES; i++) {
		CHECK(write(ping[1], &byte, 1));
		CHECK(read(pong[0], &byte, 1));
	}
	close(ping[1]);
	pthread_join(thread, NULL);
}

/* The other CPU must flush its TLB and execute barriers while it runs a thread of this process. */
static void interrupt_other(void)
{
	bool stop = false;
	pthread_t thread;
	char *page;

	if (pthread_create(&thread, NULL, spin, &stop))
		DIE("pthread_create");
	sleep_ms(20);
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	for (int i = 0; i < TIMES; i++) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			DIE("mmap");
		*page = 1;
		CHECK(mprotect(page, 4096, PROT_READ));
		CHECK(munmap(page, 4096));
		CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	}
	stop = true;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc > 1 && !strcmp(argv[1], "nmi")) {
		/* Backtraces of all CPUs. */
		for (int i = 0; i < 3; i++) {
			must_write("/proc/sysrq-trigger", "l");
			sleep_ms(100);
		}
		return 0;
	}
	fd = CHECK(open("/dev/ttyS0", O_WRONLY | O_CLOEXEC));

	wake_across();
	interrupt_other();
	/* A device interrupt: the serial port's, when it has transmitted. */
	CHECK(write(fd, "events: irq\n", 12));
	sleep_ms(20);
	/* Makes the kernel print. */
	must_write("/proc/sysrq-trigger", "h");
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
	sleep_ms(200);
	return 0;
}
