// SPDX-License-Identifier: GPL-2.0
/*
 * program_blocks THREADS ROUNDS [MS]: threads that execute blocks a known number of times. Each
 * calls three functions per round: steps() loops three times, branches() takes one side or the
 * other, choose() jumps through a table by round % 8. With MS it prints its process id and runs
 * until its input ends, pausing MS milliseconds between rounds.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long rounds;
static volatile int sink;

__attribute__((noinline)) void steps(int n)
{
	for (int i = 0; i < n; i++)
		sink = i;
}

__attribute__((noinline)) int branches(long round)
{
	if (round & 1)
		sink = 1;
	else
		sink = 2;
	return sink;
}

__attribute__((noinline)) int choose(unsigned int which)
{
	switch (which) {
	case 0:
		sink = 7;
		break;
	case 1:
		return sink * 3;
	case 2:
		sink = 5 - sink;
		break;
	case 3:
		return getpid() < 0;
	case 4:
		sink ^= 0x55;
		break;
	case 5:
		sink = sink << 3;
		return 4;
	case 6:
		return -sink;
	}
	return sink;
}

int hidden(int which);

/* No visible edge leads to the code after the jump. */
__asm__(".text\n"
	".globl hidden\n"
	".type hidden, @function\n"
	"hidden:\n"
	"	leaq 1f(%rip), %rax\n"
	"	movslq %edi, %rdi\n"
	"	leaq (%rax,%rdi,8), %rax\n"
	"	jmp *%rax\n"
	"	.p2align 3\n"
	"1:	movl $11, %eax\n"
	"	ret\n"
	"	.p2align 3\n"
	"	movl $22, %eax\n"
	"	ret\n"
	"	.p2align 3\n"
	"	movl $33, %eax\n"
	"	ret\n"
	".size hidden, . - hidden\n");

static void *work(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		steps(3);
		branches(i);
		choose((unsigned int)(i % 8));
		hidden((int)(i % 3));
	}
	return unused;
}

static int run(int threads)
{
	pthread_t thread[64];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	if (threads < 1 || threads > 64)
		return 2;
	rounds = atol(argv[2]);
	if (argc < 4)
		return run(threads);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (!poll(&input, 1, atoi(argv[3])))
		if (run(threads))
			return 1;
	return 0;
}
