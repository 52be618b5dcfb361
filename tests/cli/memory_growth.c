// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is touched, given back and kept by functions of known names, for tests/cli/memory.sh.
 * With an argument, it takes a step for each line of its input, and prints a line after each. Built
 * without frame pointers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1 << 20)

static inline __attribute__((always_inline)) void touch(char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)memory)[i] = 1;
}

static char *map(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

/* 8 MiB by malloc, of which 2 MiB are freed. */
__attribute__((noinline)) char *leak_some(void)
{
	char *kept = NULL;

	for (int i = 0; i < 8; i++) {
		char *memory = malloc(MIB);

		touch(memory, MIB);
		if (i < 2)
			free(memory);
		else
			kept = memory;
	}
	return kept;
}

/* 4 MiB, all unmapped. */
__attribute__((noinline)) void give_back(void)
{
	char *memory = map(4 * MIB);

	touch(memory, 4 * MIB);
	munmap(memory, 4 * MIB);
	__asm__ volatile("");
}

/* 6 MiB, of which 4 are dropped in place, and 1 is moved. */
__attribute__((noinline)) char *drop_and_move(void)
{
	char *memory = map(6 * MIB);

	touch(memory, 6 * MIB);
	madvise(memory, 4 * MIB, MADV_DONTNEED);
	memory = mremap(memory + 5 * MIB, MIB, 2 * MIB, MREMAP_MAYMOVE);
	return memory;
}

/* 2 MiB that the kernel touches when it reads into them. */
__attribute__((noinline)) char *read_into(int fd)
{
	char *memory = map(2 * MIB);
	ssize_t n = read(fd, memory, 2 * MIB);

	return n == 2 * MIB ? memory : NULL;
}

/* One huge page, if there is one. */
__attribute__((noinline)) char *use_huge_page(void)
{
	char *memory =
		mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *aligned = (char *)(((unsigned long)memory + 2 * MIB - 1) & ~(2ul * MIB - 1));

	madvise(memory, 4 * MIB, MADV_HUGEPAGE);
	((volatile char *)aligned)[5000] = 1;
	return aligned;
}

/* The first step keeps memory, and each of the others gives back what it takes. */
static int take_steps(void)
{
	char line[16];
	int n = 0;

	while (fgets(line, sizeof(line), stdin)) {
		if (n++)
			give_back();
		else if (!leak_some())
			return 1;
		printf("%d\n", n);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd = fileno(fopen("/dev/zero", "r"));
	char *kept[4];

	(void)argv;
	if (argc > 1)
		return take_steps();
	kept[0] = leak_some();
	give_back();
	kept[1] = drop_and_move();
	kept[2] = read_into(fd);
	usleep(300000);
	kept[3] = use_huge_page();
	for (int i = 0; i < 4; i++)
		if (!kept[i])
			return 1;
	return 0;
}
