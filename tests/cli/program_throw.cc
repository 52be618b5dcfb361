// SPDX-License-Identifier: GPL-2.0
/*
 * program-throw N: functions that throw through each other, with destructors on the way, and a
 * check of the results. Exceptions unwind by the return addresses on the stack.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

static long destroyed;

struct guard {
	~guard()
	{
		destroyed++;
	}
};

extern "C" __attribute__((noinline)) long throw_some(long n)
{
	guard here;

	if (n % 3 == 0)
		throw std::runtime_error(std::to_string(n));
	if (n % 5 == 0)
		throw n;
	return n * 2;
}

extern "C" __attribute__((noinline)) long pass_on(long n)
{
	guard here;

	try {
		return throw_some(n) + 1;
	} catch (long number) {
		if (number % 2)
			throw;
		return number;
	}
}

extern "C" __attribute__((noinline)) long take_all(long n)
{
	try {
		return pass_on(n);
	} catch (const std::exception &e) {
		return -std::atol(e.what());
	} catch (long number) {
		return number + 7;
	}
}

static long expected(long n)
{
	if (n % 3 == 0)
		return -n;
	if (n % 5 == 0)
		return n % 2 ? n + 7 : n;
	return n * 2 + 1;
}

int main(int, char **argv)
{
	long most = std::atol(argv[1]), wrong = 0;

	for (long n = 1; n <= most; n++)
		wrong += take_all(n) != expected(n);
	std::fprintf(stderr, "%ld wrong, %ld destroyed\n", wrong, destroyed);
	return wrong || destroyed != 2 * most;
}
