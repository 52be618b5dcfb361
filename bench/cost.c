// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of one operation: execute it many times, and print the minimum and the mean
 * count of the time stamp counter, which counts instructions in a guest started with --icount. The
 * difference between runs with and without a tracer is the tracer's cost. Used by bench/guest; the
 * operations are in a table below.
 *
 *	cost OPERATION [TIMES]
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

/* --------------------------------------------------------------- operations */

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

/* The same with twelve registers that change each time: variables that change. */
static void do_registers(void)
{
	static unsigned long counter;
	long number = SYS_getppid;

	/* Skip the red zone below the stack pointer, which the compiler may use. */
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\t"
			 "mov %%rdi, %%rsi\n\tmov %%rdi, %%rdx\n\tmov %%rdi, %%r8\n\t"
			 "mov %%rdi, %%r9\n\tmov %%rdi, %%r10\n\tmov %%rdi, %%rbx\n\t"
			 "mov %%rdi, %%rbp\n\tmov %%rdi, %%r12\n\tmov %%rdi, %%r13\n\t"
			 "mov %%rdi, %%r14\n\tmov %%rdi, %%r15\n\t"
			 "syscall\n\t"
			 "pop %%rbp\n\tlea 128(%%rsp), %%rsp"
			 : "+D"(counter), "+a"(number)
			 :
			 : "rsi", "rdx", "r8", "r9", "r10", "r11", "rcx", "rbx", "r12", "r13",
			   "r14", "r15", "memory");
	counter++;
}

/* An open that fails early: the path is copied and looked up, nothing is created. */
static void do_openat(void)
{
	syscall(SYS_openat, AT_FDCWD, "/dev/shm/no-such-file", O_RDONLY, 0);
}

/* One kmalloc and one kfree, for the message; nothing else is allocated. */
static int queue;

static void start_message(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	if (queue < 0)
		die("msgget");
}

static void do_message(void)
{
	struct {
		long type;
		char text[64];
	} message = { .type = 1 };

	if (msgsnd(queue, &message, sizeof(message.text), 0) ||
	    msgrcv(queue, &message, sizeof(message.text), 0, 0) < 0)
		die("msgsnd");
}

static void stop_message(void)
{
	msgctl(queue, IPC_RMID, NULL);
}

/* The first access to a page, of a region that is mapped anew when used up. */
#define PAGES 256ul
static char *region;
static unsigned long touched;

static void do_fault(void)
{
	region[touched * 4096] = 1;
}

/* Between two operations, and not measured. */
static void next_fault(void)
{
	if (region && ++touched < PAGES)
		return;
	if (region)
		munmap(region, PAGES * 4096);
	touched = 0;
	region = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (region == MAP_FAILED)
		die("mmap");
	/* Another page's fault allocates the page table itself. */
	region[touched++ * 4096] = 1;
}

/* A round trip through another thread on the same CPU: two switches, and as a rule one wakeup. */
static int to[2], from[2];
static pthread_t other;

static void *answer(void *unused)
{
	char byte;

	while (read(to[0], &byte, 1) == 1)
		if (write(from[1], &byte, 1) != 1)
			break;
	return NULL;
}

static void start_switch(void)
{
	if (pipe(to) || pipe(from) || pthread_create(&other, NULL, answer, NULL))
		die("pipe");
}

static void do_switch(void)
{
	char byte = 0;

	if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
		die("pipe");
}

static void stop_switch(void)
{
	close(to[1]);
	pthread_join(other, NULL);
}

/*
 * The same below this many frames: those of the C library, main(), and functions of which each other
 * one saves the frame pointer, as the compiler has it if it uses all registers.
 */
#define OUTER_FRAMES 5u

static void call_deep(unsigned int frames);

static __attribute__((noinline)) void call_plain(unsigned int frames)
{
	call_deep(frames - 1);
	/* The call is not a jump. */
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void call_saving(unsigned int frames)
{
	__asm__ volatile("" ::: "rbx", "rbp", "r12", "memory");
	call_deep(frames - 1);
	__asm__ volatile("" ::: "rbx", "rbp", "r12", "memory");
}

static inline __attribute__((always_inline)) void call_deep(unsigned int frames)
{
	if (!frames)
		do_getppid();
	else if (frames % 2)
		call_plain(frames);
	else
		call_saving(frames);
}

static void do_frames_10(void)
{
	call_deep(10 - OUTER_FRAMES);
}

static void do_frames_40(void)
{
	call_deep(40 - OUTER_FRAMES);
}

/* @times: default, enough for the minimum to be found */
static const struct operation {
	const char *name;
	unsigned long times;
	void (*once)(void);
	void (*before)(void);
	void (*start)(void);
	void (*stop)(void);
} operations[] = {
	{ "getppid", 20000, do_getppid, NULL, NULL, NULL },
	{ "frames-10", 20000, do_frames_10, NULL, NULL, NULL },
	{ "frames-40", 20000, do_frames_40, NULL, NULL, NULL },
	{ "registers", 20000, do_registers, NULL, NULL, NULL },
	{ "openat", 5000, do_openat, NULL, NULL, NULL },
	{ "kmalloc", 10000, do_message, NULL, start_message, stop_message },
	{ "fault", 10000, do_fault, next_fault, NULL, NULL },
	{ "switches", 10000, do_switch, NULL, start_switch, stop_switch },
};

int main(int argc, char **argv)
{
	unsigned long long least = ~0ull, sum = 0, t0, t;
	const struct operation *o = NULL;
	unsigned long times;
	cpu_set_t cpu;

	for (size_t i = 0; argc > 1 && i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(operations[i].name, argv[1]))
			o = &operations[i];
	if (!o) {
		fprintf(stderr, "usage: cost OPERATION [TIMES]\n");
		return 2;
	}
	times = argc > 2 ? strtoul(argv[2], NULL, 0) : o->times;
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		die("sched_setaffinity");
	if (o->start)
		o->start();
	for (unsigned long i = 0; i < times; i++) {
		if (o->before)
			o->before();
		t0 = cycles();
		o->once();
		t = cycles() - t0;
		sum += t;
		if (t < least)
			least = t;
	}
	if (o->stop)
		o->stop();
	printf("%llu %llu\n", least, sum / times);
	return 0;
}
