// SPDX-License-Identifier: GPL-2.0
/* Opens files at paths that another user may control. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/*
 * Opening a device may have side effects, and opening a pipe blocks. So look up the path with
 * O_PATH, which opens nothing, check that it is a regular file, and open that very file through
 * /proc. Without /proc this fails and nothing is opened.
 */
int kl_open_regular_at(int dir, const char *path)
{
	int found = openat(dir, path, O_PATH | O_CLOEXEC), fd, error = 0;
	struct stat about;
	char name[32];

	if (found < 0)
		return kl_fail_system(errno, "%s", path);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	if (fstat(found, &about))
		error = kl_fail_system(errno, "%s", path);
	else if (!S_ISREG(about.st_mode))
		error = kl_fail(EINVAL, "%s is not a regular file", path);
	/* O_NONBLOCK: the file's owner may hold a lease on it. */
	fd = error ? error : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && !error)
		error = kl_fail_system(errno, "%s", path);
	close(found);
	return error ? error : fd;
}

int kl_open_regular(const char *path)
{
	return kl_open_regular_at(AT_FDCWD, path);
}

size_t kl_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	size_t done = 0;

	errno = 0;
	while (done < bytes) {
		ssize_t n = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR) {
			errno = 0;
			continue;
		}
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
