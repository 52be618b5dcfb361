// SPDX-License-Identifier: GPL-2.0
/* Files in the user's configuration directory. Used by masksets and the full-screen view. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/config.h>
#include "base.h"
#include "folder.h"

static char *join(const char *folder, const char *rest, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s", folder, rest, *name ? "/" : "", name) >= 0)
		return path;
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

char *kl_config_path(const char *name)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");

	/* Its specification says to ignore a relative path. */
	if (config && *config == '/')
		return join(config, "kernlens", name);
	if (home && *home == '/')
		return join(home, ".config/kernlens", name);
	kl_fail(ENOENT, "HOME is not set: no directory for configuration files");
	return NULL;
}

/* ----------------------------------------------------------------- reading */

static int read_all(int fd, const char *path, size_t most, struct kl_buffer *text)
{
	char bytes[4096];
	size_t sum = 0;
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes)))) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kl_fail_system(errno, "%s", path);
		sum += (size_t)got;
		if (sum > most)
			return kl_fail(EFBIG, "%s has more than %zu bytes", path, most);
		kl_buffer_add(text, bytes, (size_t)got);
	}
	return text->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

int kl_config_read(const char *name, size_t most, struct kl_buffer *text)
{
	char *path = kl_config_path(name);
	int fd = path ? kl_open_regular(path) : -errno;
	int ret = fd < 0 ? fd : read_all(fd, path, most, text);

	if (fd >= 0)
		close(fd);
	free(path);
	return ret;
}

/* ----------------------------------------------------------------- writing */

/* Create the parents of a directory, for their owner only, as the specification requires. */
static int make_parents(const char *folder)
{
	char *path = strdupa(folder);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return kl_fail_system(errno, "%s", path);
		*slash = '/';
	}
	return 0;
}

/* Write another file, and rename it when it is complete. */
static int replace(int folder, const char *name, const void *bytes, size_t length)
{
	char other[256];
	int fd, ret;

	if (snprintf(other, sizeof(other), ".%s.%d", name, getpid()) >= (int)sizeof(other))
		return -ENAMETOOLONG;
	fd = kl_folder_create(folder, other);
	if (fd < 0)
		return fd;
	ret = kl_write_all(fd, bytes, length);
	if (!ret && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(folder, other, folder, name))
		ret = -errno;
	if (ret)
		unlinkat(folder, other, 0);
	return ret;
}

int kl_config_write(const char *name, const void *bytes, size_t length)
{
	char *path = kl_config_path("");
	int folder, ret = path ? make_parents(path) : -errno;

	if (ret) {
		free(path);
		return ret;
	}
	folder = kl_folder_open(AT_FDCWD, path, true);
	if (folder < 0) {
		free(path);
		return folder;
	}
	ret = replace(folder, name, bytes, length);
	if (ret)
		kl_fail_system(-ret, "%s/%s", path, name);
	close(folder);
	free(path);
	return ret;
}
