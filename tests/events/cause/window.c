// SPDX-License-Identifier: GPL-2.0
/*
 * window FILE COMMAND...: runs COMMAND and writes the cycle counter from before and after it to
 * FILE, so that the comparison knows when both recorders were certainly enabled. Exits with
 * COMMAND's status.
 */
#include <x86intrin.h>

#include "cause.h"

int main(int argc, char **argv)
{
	uint64_t from, to;
	int status;
	FILE *file;

	if (argc < 3) {
		fputs("usage: window FILE COMMAND...\n", stderr);
		return 2;
	}
	from = __rdtsc();
	status = run_words((const char *const *)argv + 2);
	to = __rdtsc();
	file = fopen(argv[1], "we");
	if (!file || fprintf(file, "%lu %lu\n", from, to) < 0 || fclose(file))
		DIE("%s", argv[1]);
	return status;
}
