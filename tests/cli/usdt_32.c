// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program with a USDT marker, without a C library: hits it 100 times and exits with status
 * 7.
 */
#include "usdt_note.h"

__asm__(USDT_BASE);

__attribute__((used)) volatile int kl_global;
static volatile unsigned int table[4];

static void hit(int i)
{
	table[i % 4] = i * 5u;
	kl_global = -i;
	__asm__ volatile(USDT("narrow", "-4@%%eax 4@(%%edi,%%esi,4) -4@kl_global %%eax", "0", 0,
			      ".4byte")
			 : /* nothing */
			 : "a"(-i), "D"(table), "S"(i % 4), "m"(kl_global), "m"(table));
}

__attribute__((noreturn)) void _start(void)
{
	for (int i = 1; i <= 100; i++)
		hit(i);
	/* exit(7) */
	__asm__ volatile("int $0x80" : : "a"(1), "b"(7));
	__builtin_unreachable();
}
