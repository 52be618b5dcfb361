// SPDX-License-Identifier: GPL-2.0
/*
 * System calls in signal handlers, on the stack and on an alternate one, in functions with a
 * variable and with a realigned stack, and in callbacks of the C library.
 */
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void handle(int number)
{
	(void)number;
	syscall(SYS_getppid);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) static void with_alloca(size_t bytes)
{
	/* cppcheck-suppress allocaCalled ; the frame's size is not known at build time */
	char *text = alloca(bytes);

	memset(text, 'x', bytes);
	__asm__ volatile("" : : "r"(text) : "memory");
	syscall(SYS_getuid);
	raise(SIGUSR1);
}

__attribute__((noinline)) static void with_alignment(size_t bytes)
{
	char aligned[64] __attribute__((aligned(64)));
	/* cppcheck-suppress allocaCalled ; the frame's size is not known at build time */
	char *text = alloca(bytes);

	__asm__ volatile("" : : "r"(aligned), "r"(text) : "memory");
	syscall(SYS_getgid);
	with_alloca(bytes);
}

static int compare(const void *a, const void *b)
{
	syscall(SYS_geteuid);
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	static char other[1 << 16];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = handle };
	int number[] = { 3, 1, 2 };

	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 1; i < 5; i++)
		with_alignment(i * 40);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	with_alignment(100);
	qsort(number, 3, sizeof(*number), compare);
	return 0;
}
