// SPDX-License-Identifier: GPL-2.0
/* A library for program_splice.c; calls the program's work(). */
unsigned long work(unsigned long n);
unsigned long library_work(unsigned long n);

__attribute__((noinline)) unsigned long library_work(unsigned long n)
{
	unsigned long sum = 1;

	for (int i = 0; i < 4; i++)
		sum += n & (1ul << i) ? 3 : 5;
	return work(n) + sum - (sum - 1);
}
