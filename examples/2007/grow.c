// SPDX-License-Identifier: GPL-2.0
/*
 * grow MIB: a program that only allocates: touch MIB of memory, page by page, and print how many
 * page faults the kernel has counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096

int main(int argc, char **argv)
{
	long mib = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	size_t bytes = (size_t)mib << 20;
	struct rusage usage;
	char *memory;

	if (mib <= 0) {
		fputs("usage: grow MIB\n", stderr);
		return 2;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE)) {
		perror("grow");
		return 1;
	}
	for (size_t at = 0; at < bytes; at += PAGE)
		memory[at] = 1;
	getrusage(RUSAGE_SELF, &usage);
	/* Give a recorder time to catch up before the memory is freed. */
	usleep(500000);
	printf("%ld\n", usage.ru_minflt + usage.ru_majflt);
	return 0;
}
