// SPDX-License-Identifier: GPL-2.0
/* Files of masksets: a system directory and a user's, which takes precedence. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/buffer.h>
#include <kernlens/config.h>
#include "../base/base.h"
#include "maskset.h"

static char *join(const char *folder, const char *rest)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, rest) >= 0)
		return path;
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

char *kl_maskset_folder(bool system)
{
	return system ? strdup(KL_MASKSET_SYSTEM_FOLDER) : kl_config_path("masksets");
}

char *kl_maskset_path(const char *name, bool system)
{
	char *folder = kl_maskset_folder(system), *path;

	if (!folder)
		return NULL;
	path = join(folder, name);
	free(folder);
	return path;
}

/* Read a whole file, up to one byte more than a maskset may have, to detect longer ones. */
static int read_all(int fd, const char *origin, struct kl_buffer *buffer)
{
	char bytes[4096];
	ssize_t got;

	while (buffer->length <= KL_MASKSET_BYTES_MAX && (got = read(fd, bytes, sizeof(bytes)))) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kl_fail_system(errno, "%s", origin);
		kl_buffer_add(buffer, bytes, (size_t)got);
	}
	return buffer->error ? kl_fail(ENOMEM, "out of memory") : 0;
}

struct kl_maskset *kl_maskset_read(const char *name, const char *path)
{
	const char *origin = path ? path : "standard input";
	struct kl_buffer buffer = {};
	struct kl_maskset *m = NULL;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO, ret;

	if (fd < 0) {
		kl_fail_system(errno, "%s", origin);
		return NULL;
	}
	ret = read_all(fd, origin, &buffer);
	if (!ret)
		m = kl_maskset_parse(name, origin, buffer.data ? buffer.data : "", buffer.length);
	if (!ret && !m)
		ret = -errno;
	kl_buffer_deinit(&buffer);
	if (path)
		close(fd);
	errno = -ret;
	return m;
}

struct kl_maskset *kl_maskset_load(const char *name)
{
	struct kl_maskset *m = NULL;

	if (kl_maskset_check_name(name))
		return NULL;
	for (int system = 0; system < 2; system++) {
		char *path = kl_maskset_path(name, system);

		if (!path) {
			if (errno != ENOENT)
				return NULL;
			continue;
		}
		errno = 0;
		m = kl_maskset_read(name, path);
		free(path);
		if (m || (errno != ENOENT && errno != ENOTDIR))
			return m;
	}
	kl_fail(ENOENT, "unknown maskset \"%s\" (kernlens maskset list shows them)", name);
	return NULL;
}

/* Create a directory and its parents. */
static int make_folder(char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		int failed;

		if (slash)
			*slash = 0;
		failed = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
		if (failed)
			return kl_fail_system(failed, "%s", path);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Write to a temporary file, then rename it to @path, or link it there if @path must not exist. */
static int write_file(const struct kl_maskset *maskset, const char *folder, const char *path,
		      bool replace)
{
	char *other = join(folder, ".new-XXXXXX");
	mode_t mask = umask(0);
	int fd, ret;

	umask(mask);
	if (!other)
		return -ENOMEM;
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0) {
		ret = kl_fail_system(errno, "%s", folder);
		free(other);
		return ret;
	}
	ret = kl_write_all(fd, maskset->text, maskset->length);
	if (!ret && fchmod(fd, 0666 & ~mask))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && replace && rename(other, path))
		ret = -errno;
	else if (!ret && !replace && link(other, path))
		ret = -errno;
	if (ret || !replace)
		unlink(other);
	free(other);
	if (ret == -EEXIST)
		return kl_fail(EEXIST, "maskset %s already exists: %s", maskset->name, path);
	return ret ? kl_fail_system(-ret, "%s", path) : 0;
}

int kl_maskset_save(const struct kl_maskset *maskset, bool system, bool replace)
{
	char *folder = NULL, *path;
	int ret = kl_maskset_check_name(maskset->name);

	if (ret)
		return ret;
	path = kl_maskset_path(maskset->name, system);
	if (path)
		folder = kl_maskset_folder(system);
	ret = folder ? make_folder(folder) : -errno;
	if (!ret)
		ret = write_file(maskset, folder, path, replace);
	free(folder);
	free(path);
	return ret;
}

int kl_maskset_remove(const char *name, bool system)
{
	int ret = kl_maskset_check_name(name);
	char *path;

	if (ret)
		return ret;
	path = kl_maskset_path(name, system);
	if (!path)
		return -errno;
	if (unlink(path))
		ret = errno == ENOENT ? kl_fail(ENOENT, "%s does not exist", path) :
					kl_fail_system(errno, "%s", path);
	free(path);
	return ret;
}
