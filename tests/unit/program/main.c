// SPDX-License-Identifier: GPL-2.0
/* Runs all tests of programs. */
#include "../unit.h"
#include "machine.h"

int main(void)
{
	checks_run();
	operations_run();
	texts_run();
	expressions_run();
	fuzz_run();
	return unit_end();
}
