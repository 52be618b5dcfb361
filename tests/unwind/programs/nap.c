// SPDX-License-Identifier: GPL-2.0
/* Sleeps several functions deep. */
#include <unistd.h>

__attribute__((noinline)) static int inner_nap(int n)
{
	usleep(1000);
	return n + 1;
}

__attribute__((noinline)) static int middle(int n)
{
	return inner_nap(n + 1) * 3;
}

__attribute__((noinline)) static int outer(int n)
{
	return middle(n + 2) + 5;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 20; i++)
		sum += outer(i);
	return sum == 7;
}
