/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The minimum that a unit test needs: numbered TAP lines on stdout and an exit status. A test
 * program includes this in one or more files, calls unit_check() or unit_result() for each thing it
 * tests, and ends with `return unit_end();`.
 */
#ifndef KL_TESTS_UNIT_H
#define KL_TESTS_UNIT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

struct unit {
	int tests;
	int failures;
};

/* One instance per program, even if several files include this. */
__attribute__((weak)) struct unit unit_state;

/* One TAP line; @why (may be NULL) is printed below a failure. */
static inline bool unit_result(bool ok, const char *name, const char *why)
{
	unit_state.tests++;
	unit_state.failures += !ok;
	printf("%s %d - %s\n", ok ? "ok" : "not ok", unit_state.tests, name);
	if (!ok && why)
		printf("# %s\n", why);
	fflush(stdout);
	return ok;
}

#define UNIT_STRING_(x) #x
#define UNIT_STRING(x) UNIT_STRING_(x)
#define unit_check(condition, name) \
	unit_result(condition, name, __FILE__ ":" UNIT_STRING(__LINE__) ": " #condition)

/* Prints the plan line; returns the program's exit status. */
static inline int unit_end(void)
{
	printf("1..%d\n", unit_state.tests);
	return unit_state.failures ? 1 : 0;
}

#endif /* KL_TESTS_UNIT_H */
