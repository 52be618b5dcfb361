// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose functions have known names, lines and callers: main calls shop::serve(int), which
 * is static and has Basket<long>::ask inlined, which in turn has ask_kernel inlined, which makes a
 * system call. The test searches for lines with a comment LINE. stack_names N: makes the call N
 * times.
 */
#include <cstdlib>
#include <sys/syscall.h>

__attribute__((always_inline)) static inline long ask_kernel(long number)
{
	long result;

	asm volatile("syscall" /* LINE ask_kernel */
		     : "=a"(result)
		     : "a"(number)
		     : "rcx", "r11", "memory");
	return result;
}

namespace shop
{

template <class T> struct Basket {
	T last = 0;

	__attribute__((always_inline)) void ask(T number)
	{
		last += ask_kernel(number); /* LINE ask */
	}
};

__attribute__((noinline)) static long serve(int times)
{
	Basket<long> basket;

	/* A function that makes no call has no frame. */
	std::srand(1);
	for (int i = 0; i < times; i++)
		basket.ask(SYS_getppid); /* LINE serve */
	return basket.last;
}

} // namespace shop

int main(int argc, char **argv)
{
	long sum = shop::serve(argc > 1 ? std::atoi(argv[1]) : 1); /* LINE main */

	return sum < 0;
}
