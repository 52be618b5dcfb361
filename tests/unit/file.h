/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a text to a file in a single write, as the kernel's control files require. */
#ifndef KL_TESTS_FILE_H
#define KL_TESTS_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Write a string to a kernel file; false if the kernel rejects it. */
static inline bool put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

#endif /* KL_TESTS_FILE_H */
