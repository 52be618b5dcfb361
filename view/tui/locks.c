// SPDX-License-Identifier: GPL-2.0
/*
 * The locks on files that a process holds, from /proc/PID/fdinfo: unlike /proc/locks, these files
 * also show who holds locks of open file descriptions, and on which descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "view.h"

/* The page is read again at each refresh. */
#define DESCRIPTORS_MAX 1000

/* "lock:	1: POSIX  ADVISORY  WRITE 4711 08:01:131 0 EOF" */
static bool print_lock(struct kl_buffer *to, const char *line, const char *fd, const char *file)
{
	char type[16], strictness[16], access[16], place[64], from[24], until[24];

	if (sscanf(line, "lock: %*[0-9]: %15s %15s %15s %*d %63s %23s %23s", type, strictness,
		   access, place, from, until) != 6)
		return false;
	kl_buffer_printf(to, "%5s %-6s %-9s %-6s %-16s %10s %10s  %s\n", fd, type, strictness,
			 access, place, from, until, file);
	return true;
}

/* Returns the number of locks on a descriptor. */
static size_t print_descriptor(struct kl_buffer *to, int32_t pid, const char *fd)
{
	char path[64], file[PATH_MAX] = "?", *line = NULL;
	size_t room = 0, n = 0;
	ssize_t length;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.12s", pid, fd);
	length = readlink(path, file, sizeof(file) - 1);
	if (length >= 0)
		file[length] = 0;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.12s", pid, fd);
	info = fopen(path, "re");
	while (info && getline(&line, &room, info) > 0)
		n += print_lock(to, line, fd, file);
	free(line);
	if (info)
		fclose(info);
	return n;
}

static int is_number(const struct dirent *entry)
{
	return *entry->d_name >= '0' && *entry->d_name <= '9';
}

void locks_print(int32_t pid, struct kl_buffer *to)
{
	struct dirent **descriptors;
	size_t locks = 0;
	char path[32];
	int n;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	n = scandir(path, &descriptors, is_number, versionsort);
	if (n < 0) {
		kl_buffer_printf(to, "Cannot read %s: %s\n", path, strerror(errno));
		return;
	}
	kl_buffer_printf(to, "%5s %-6s %-9s %-6s %-16s %10s %10s  FILE\n", "FD", "TYPE", "KIND",
			 "ACCESS", "DEVICE:INODE", "FROM", "TO");
	for (int i = 0; i < n; i++) {
		if (i < DESCRIPTORS_MAX)
			locks += print_descriptor(to, pid, descriptors[i]->d_name);
		free(descriptors[i]);
	}
	free(descriptors);
	if (n > DESCRIPTORS_MAX)
		kl_buffer_printf(to, "Of %d descriptors, only the first %d were read.\n", n,
				 DESCRIPTORS_MAX);
	else if (!locks)
		kl_buffer_add_string(to, "No locks on files.\n");
}
