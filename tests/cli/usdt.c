// SPDX-License-Identifier: GPL-2.0
/*
 * A program with USDT markers whose arguments are known, in every kind of operand.
 *
 *	usdt run N	hits each marker N times, with values computed from 1 to N, and prints the
 *			address of an array
 *	usdt watch	prints a marker's semaphore whenever it changes, until its input ends
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usdt_note.h"

#define MARKER(name, arguments) USDT(name, arguments, "0", 0, ".8byte")

__asm__(USDT_BASE);

struct place {
	uint64_t a;
	int32_t b[4];
	int16_t c;
	int8_t d;
};

__attribute__((used, section(".probes"))) volatile uint16_t kl_semaphore;
__attribute__((used)) static volatile int32_t kl_global;
__attribute__((used)) static volatile uint64_t kl_array[3];
__attribute__((used)) static volatile uint32_t kl_table[4];

__attribute__((noinline)) static void registers(uint64_t i)
{
	__asm__ volatile(MARKER("registers", "8@%%rax -4@%%ecx -2@%%dx 1@%%bl 1@%%bh 4@$5 -4@$-7 "
					     "8@%%r13 -4@%%r14d")
			 : /* nothing */
			 : "a"(i << 33 | i), "c"(-i), "d"(-i),
			   "b"((i * 3 & 0xff) << 8 | (i & 0xff)));
}

__attribute__((noinline)) static void memory(uint64_t i)
{
	volatile struct place p = { i << 40, { -1, -2, -3, (int32_t)i }, (int16_t)-i, -3 };
	volatile uint32_t local = (uint32_t)i * 7;

	__asm__ volatile(MARKER("memory", "8@(%%rdi) -4@8(%%rdi,%%rsi,4) -2@24(%%rdi) "
					  "-1@0x1a(%%rdi) 4@%[local] 8@-8(%%rdi,%%rdx)")
			 : /* nothing */
			 : "D"(&p), "S"(i % 4), "d"(8ul), [local] "m"(local), "m"(p));
}

__attribute__((noinline)) static void globals(uint64_t i)
{
	kl_global = (int32_t)-i;
	kl_array[2] = i << 35;
	kl_table[i % 4] = (uint32_t)i;
	__asm__ volatile(MARKER("globals", "-4@kl_global(%%rip) 8@kl_array+16(%%rip) 8@$kl_array "
					   "8@kl_array+8-8(%%rip)")
			 : /* nothing */
			 : "m"(kl_global), "m"(kl_array));
}

__attribute__((noinline)) static void twice(uint64_t i)
{
	if (i % 2)
		__asm__ volatile(MARKER("twice", "-4@%%eax") : : "a"(-i));
	else
		__asm__ volatile(MARKER("twice", "8@%%rbx 4@$1") : : "b"(i << 40));
}

__attribute__((noinline)) static void floating(uint64_t i)
{
	__asm__ volatile(MARKER("floating", "8f@%%xmm0 8@%%rdi 8@%%fs:16 16@(%%rdi) 8@x@GOT(%%rax) "
					    "4@%%zzz 4@ 8@none(%%rip)")
			 : /* nothing */
			 : "D"(i));
}

__attribute__((noinline)) static void text(uint64_t i)
{
	char word[32];

	snprintf(word, sizeof(word), "word %d", (int)i);
	__asm__ volatile(MARKER("text", "8@%%rdi") : : "D"(word) : "memory");
}

__attribute__((noinline)) static void guarded(uint64_t i)
{
	if (kl_semaphore)
		__asm__ volatile(USDT("guarded", "8@%%rdi -4@%%esi", "kl_semaphore", 0, ".8byte")
				 : /* nothing */
				 : "D"(i), "S"(kl_semaphore));
}

__attribute__((noinline)) static void moved(uint64_t i)
{
	__asm__ volatile(USDT("moved", "8@%%rdi", "0", 0x10000, ".8byte") : : "D"(i));
}

static void watch(void)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };
	int before = -1;

	do {
		if (kl_semaphore == before)
			continue;
		before = kl_semaphore;
		printf("%d\n", before);
		fflush(stdout);
	} while (!poll(&end, 1, 5));
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc > 1 && !strcmp(argv[1], "watch"))
		watch();
	for (uint64_t i = 1; i <= n; i++) {
		registers(i);
		memory(i);
		globals(i);
		twice(i);
		floating(i);
		text(i);
		guarded(i);
		moved(i);
	}
	fprintf(stderr, "%#lx\n", (unsigned long)kl_array);
	return 0;
}
