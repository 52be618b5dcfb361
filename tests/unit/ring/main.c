// SPDX-License-Identifier: GPL-2.0
/* Runs all tests of the ring that need only one thread. */
#include "../unit.h"
#include "bench.h"

int main(void)
{
	rules_run();
	nesting_run();
	reading_run();
	return unit_end();
}
