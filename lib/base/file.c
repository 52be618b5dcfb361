// SPDX-License-Identifier: GPL-2.0
/* Files that somebody else may have put where they are. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

int kl_open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;

	if (fd < 0)
		return kl_fail_system(errno, "%s", path);
	if (!fstat(fd, &about) && S_ISREG(about.st_mode))
		return fd;
	close(fd);
	return kl_fail(EINVAL, "%s is not a regular file", path);
}
