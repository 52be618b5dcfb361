// SPDX-License-Identifier: GPL-2.0
/* Files that somebody else may have put where they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/*
 * Opening a device may already do something, and opening a pipe waits. So what is behind the path
 * is found first, without being opened, and only a regular file is opened then: the very one that
 * was found. Without /proc that cannot be done, and nothing is opened.
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
	/* O_NONBLOCK: its owner may hold a lease on it. */
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
