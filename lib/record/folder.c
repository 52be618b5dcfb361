// SPDX-License-Identifier: GPL-2.0
/*
 * Directories of traces: make room for a new one, or remove one. Only files that a recorder writes
 * are removed, and only in directories that belong to the effective user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/cgroup_store.h>
#include <kernlens/compress.h>
#include <kernlens/error.h>
#include <kernlens/record.h>
#include <kernlens/trace_folder.h>
#include "../base/base.h"

/* Names to try within a second. */
#define FOLDERS_MAX 9999

/* cpuN, and cpuN.klz if it is compressed. */
static bool is_stream(const char *name)
{
	size_t digits = strncmp(name, "cpu", 3) ? 0 : strspn(name + 3, "0123456789");

	return digits && (!name[3 + digits] || !strcmp(name + 3 + digits, KL_TRACE_COMPRESSED));
}

/* Open a directory that belongs to us: another owner could change what we find there. */
static int open_own(const char *path, DIR **dir)
{
	int fd = kl_trace_folder(AT_FDCWD, path);

	*dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !*dir)
		close(fd);
	return fd < 0 ? fd : *dir ? 0 : kl_fail_system(errno, "%s", path);
}

/*
 * Count the entries of a directory that are part of a trace, and the others. Returns a negative
 * errno if its folder ".kernlens" must not be written to.
 */
static int count_entries(DIR *dir, unsigned int *ours, unsigned int *others)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!strcmp(entry->d_name, KL_TRACE_FOLDER)) {
			int folder = kl_trace_folder(dirfd(dir), KL_TRACE_FOLDER);

			if (folder < 0)
				return folder;
			close(folder);
		} else if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name)) {
			(*ours)++;
		} else {
			(*others)++;
		}
	}
	return 0;
}

static void remove_folder(int dir)
{
	static const char *const files[] = { KL_STACKS_FILE, KL_ADDRESSES_FILE, KL_CGROUPS_FILE,
					     KL_MANIFEST_FILE };
	int folder = kl_trace_folder(dir, KL_TRACE_FOLDER);

	if (folder < 0)
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(files); i++)
		unlinkat(folder, files[i] + sizeof(KL_TRACE_FOLDER), 0);
	close(folder);
	unlinkat(dir, KL_TRACE_FOLDER, AT_REMOVEDIR);
}

/* Remove the files of the existing trace, and only those. */
static int remove_trace(DIR *dir)
{
	const struct dirent *entry;

	rewinddir(dir);
	remove_folder(dirfd(dir));
	while ((entry = readdir(dir)))
		if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name))
			if (unlinkat(dirfd(dir), entry->d_name, 0))
				return -errno;
	return 0;
}

void kl_record_discard(const char *path)
{
	DIR *dir;

	if (open_own(path, &dir))
		return;
	remove_trace(dir);
	closedir(dir);
	rmdir(path);
}

int kl_record_clear(const char *path, bool force)
{
	unsigned int ours = 0, others = 0;
	DIR *dir;
	int ret = open_own(path, &dir);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = count_entries(dir, &ours, &others);
	if (ret)
		ret = kl_fail_about(ret, path);
	else if (others && !ours)
		ret = kl_fail(ENOTEMPTY, "%s contains other files", path);
	else if (ours && !force)
		ret = kl_fail(EEXIST, "%s already contains a trace", path);
	else if (ours && remove_trace(dir))
		ret = kl_fail_system(errno, "%s: cannot remove the old trace", path);
	closedir(dir);
	return ret;
}

char *kl_record_make_folder(const char *prefix)
{
	time_t now = time(NULL);
	int error = EEXIST;
	struct tm local;
	char text[32];
	char *path;

	if (!strftime(text, sizeof(text), "%Y%m%d-%H%M%S", localtime_r(&now, &local)))
		*text = 0;
	for (unsigned int i = 1; i <= FOLDERS_MAX && error == EEXIST; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%u", i);
		if (asprintf(&path, "%s-%s%s", prefix, text, number) < 0) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		if (!mkdir(path, 0700))
			return path;
		error = errno;
		free(path);
	}
	kl_fail_system(error, "cannot create directory %s-%s", prefix, text);
	return NULL;
}
