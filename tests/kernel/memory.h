/* SPDX-License-Identifier: GPL-2.0 */
/* How much memory the machine has, for tests that check whether it is given back. */
#ifndef KL_TESTS_MEMORY_H
#define KL_TESTS_MEMORY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/meminfo, kB; -1 if no line has that name. */
static inline long meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[200], key[100];
	long value = 0, found = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%99[^:]: %ld", key, &value) == 2 && !strcmp(key, name))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/*
 * Number of objects in a slab cache; -1 if there is no cache of that name. Shrinks the cache first:
 * freed objects that a CPU or KASAN keeps would count.
 */
static inline long slab_objects(const char *name)
{
	char line[512], is[64];
	long found = -1, n;
	FILE *file;

	snprintf(line, sizeof(line), "/sys/kernel/slab/%s/shrink", name);
	file = fopen(line, "we");
	if (file) {
		fputs("1", file);
		fclose(file);
	}
	file = fopen("/proc/slabinfo", "re");
	while (file && found < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %ld", is, &n) == 2 && !strcmp(is, name))
			found = n;
	if (file)
		fclose(file);
	return found;
}

/* Free pages on the per-CPU lists, kB: fluctuates between 10 and 35 MB on a 2 GB machine. */
static inline long on_cpu_lists(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	char line[200];
	long sum = 0, n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &n) == 1)
			sum += n * (getpagesize() / 1024);
	if (f)
		fclose(f);
	return sum;
}

static inline bool has_symbol(const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), "grep -q ' %s$' /proc/kallsyms", name);
	return !system(command);
}

/* Does KASAN keep freed memory from being used again? */
static inline bool is_freed_memory_kept(void)
{
	return has_symbol("kasan_quarantine_put");
}

/*
 * KASAN's shadow of freed vmalloc addresses, kB: an eighth of their size. The kernel purges such
 * addresses only once there are many (64 MB with two CPUs).
 */
static inline long shadow_of_freed(void)
{
	static int has_shadow = -1;
	char line[300];
	long sum = 0, n;
	FILE *f;

	if (has_shadow < 0)
		has_shadow = has_symbol("kasan_populate_vmalloc");
	if (!has_shadow)
		return 0;
	f = fopen("/proc/vmallocinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "unpurged vm_area") && sscanf(line, "%*s %ld", &n) == 1)
			sum += n / 1024;
	if (f)
		fclose(f);
	return sum / 8;
}

/* Available memory, kB, including free memory that MemAvailable does not count. */
static inline long available_memory(void)
{
	return meminfo("MemAvailable") + on_cpu_lists() + shadow_of_freed();
}

#endif
