// SPDX-License-Identifier: GPL-2.0
/* Directories owned by the user, and new files in them. Used by everything that writes traces. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "folder.h"

/*
 * Strip trailing slashes: with one, the system would follow a symbolic link instead of opening it.
 */
static int copy_name(char copy[PATH_MAX], const char *name)
{
	size_t length = strlen(name);

	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(copy, name, length + 1);
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = 0;
	return 0;
}

static int fail_open(int dir, const char *path, int error)
{
	struct stat about;

	if ((error == ELOOP || error == ENOTDIR) &&
	    !fstatat(dir, path, &about, AT_SYMLINK_NOFOLLOW) && S_ISLNK(about.st_mode))
		return kl_fail(ELOOP, "%s is a symbolic link, which is not followed", path);
	return kl_fail_system(error, "%s", path);
}

int kl_folder_create(int folder, const char *name)
{
	int fd;

	if (unlinkat(folder, name, 0) && errno != ENOENT)
		return -errno;
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	return fd;
}

/*
 * A network file system, or one shared with a virtual machine, may assign everything we create to
 * one user. That user's files there are ours, too. Creating a file shows whether @owner is that
 * user.
 */
static bool is_mapped(int folder, uid_t owner)
{
	static const char name[] = ".kernlens.owner";
	int fd = kl_folder_create(folder, name);
	struct stat about;
	bool mapped;

	if (fd < 0)
		return false;
	mapped = !fstat(fd, &about) && about.st_uid == owner;
	unlinkat(folder, name, 0);
	close(fd);
	return mapped;
}

int kl_folder_open(int dir, const char *name, bool make)
{
	char path[PATH_MAX];
	struct stat about;
	int fd, error = copy_name(path, name);

	if (!error && make && mkdirat(dir, path, 0700) && errno != EEXIST)
		error = -errno;
	if (error)
		return kl_fail_system(-error, "%s", name);
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_open(dir, path, errno);
	/* Check this even after creating the directory: another user may have replaced it. */
	if (fstat(fd, &about))
		error = kl_fail_system(errno, "%s", path);
	else if (about.st_uid != geteuid() && !is_mapped(fd, about.st_uid))
		error = kl_fail(EPERM,
				"%s belongs to user %u; choose a directory that belongs to you",
				path, about.st_uid);
	if (!error)
		return fd;
	close(fd);
	return error;
}
