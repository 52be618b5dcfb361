// SPDX-License-Identifier: GPL-2.0
/* The directories of the cgroup v2 hierarchy: finds, opens and walks them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/cgroup.h>
#include "../base/base.h"

static int find_root(char *root, size_t room)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *mount = NULL;
	int ret = -ENODEV;

	while (mounts && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			break;
	if (mount)
		ret = (size_t)snprintf(root, room, "%s", mount->mnt_dir) < room ? 0 : -ENAMETOOLONG;
	if (mounts)
		endmntent(mounts);
	return ret ? kl_fail(-ret, "no cgroup v2 hierarchy is mounted") : 0;
}

int kl_cgroup_path(const char *path, char *full, size_t room)
{
	char root[PATH_MAX];
	size_t length;
	int ret = find_root(root, sizeof(root));

	if (ret)
		return ret;
	length = strlen(root);
	if (!strncmp(path, root, length) && (!path[length] || path[length] == '/'))
		path += length;
	while (*path == '/')
		path++;
	if ((size_t)snprintf(full, room, "%s%s%s", root, *path ? "/" : "", path) >= room)
		return kl_fail(ENAMETOOLONG, "the path of the cgroup is too long");
	length = strlen(full);
	while (length > 1 && full[length - 1] == '/')
		full[--length] = 0;
	return 0;
}

int kl_cgroup_open(const char *path)
{
	char full[PATH_MAX];
	int fd, ret = kl_cgroup_path(path, full, sizeof(full));

	if (ret)
		return ret;
	fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENOTDIR)
		return kl_fail(errno, "there is no cgroup %s", full);
	return kl_fail_system(errno, "%s", full);
}

/* ----------------------------------------------------------------- walking */

/**
 * struct walk - a walk
 * @path: full path of the current cgroup
 * @root: length of the path of the hierarchy's root, which begins @path
 * @length: of @path
 */
struct walk {
	char path[PATH_MAX];
	size_t root;
	size_t length;
	kl_cgroup_fn fn;
	void *data;
};

static int visit(struct walk *w, uint64_t id, unsigned int depth);

static int visit_children(struct walk *w, unsigned int depth)
{
	size_t length = w->length;
	DIR *dir = opendir(w->path);
	struct dirent *entry;
	int ret = 0;

	while (dir && !ret && (entry = readdir(dir))) {
		size_t more = strlen(entry->d_name) + 1;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") || length + more >= sizeof(w->path))
			continue;
		w->path[length] = '/';
		memcpy(w->path + length + 1, entry->d_name, more);
		w->length = length + more;
		ret = visit(w, entry->d_ino, depth);
		w->path[length] = 0;
		w->length = length;
	}
	if (dir)
		closedir(dir);
	return ret;
}

static int visit(struct walk *w, uint64_t id, unsigned int depth)
{
	int ret = w->fn(w->data, w->length > w->root ? w->path + w->root : "/", id);

	if (ret > 0)
		ret = depth < KL_CGROUP_WALK_DEPTH ? visit_children(w, depth + 1) : 0;
	return ret;
}

int kl_cgroup_walk(const char *path, kl_cgroup_fn fn, void *data)
{
	struct walk w = { .fn = fn, .data = data };
	struct stat st;
	int ret = kl_cgroup_path("", w.path, sizeof(w.path));

	if (ret)
		return ret;
	w.root = strlen(w.path);
	ret = kl_cgroup_path(path, w.path, sizeof(w.path));
	if (ret)
		return ret;
	w.length = strlen(w.path);
	if (stat(w.path, &st))
		return kl_fail(errno, "there is no cgroup %s", w.path);
	return visit(&w, st.st_ino, 0);
}

/* -------------------------------------------------------------------- sets */

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int add_id(void *data, const char *path, uint64_t id)
{
	struct kl_cgroup_set *set = data;
	uint64_t *more = kl_array_grow(set->id, set->n, &set->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	set->id = more;
	more[set->n++] = id;
	return 1;
}

int kl_cgroup_set_read(struct kl_cgroup_set *set, const char *path)
{
	int ret;

	set->n = 0;
	ret = kl_cgroup_walk(path, add_id, set);
	if (ret)
		set->n = 0;
	else
		qsort(set->id, set->n, sizeof(*set->id), compare_ids);
	return ret;
}

bool kl_cgroup_set_has(const struct kl_cgroup_set *set, uint64_t id)
{
	return set->n && bsearch(&id, set->id, set->n, sizeof(id), compare_ids);
}

void kl_cgroup_set_deinit(struct kl_cgroup_set *set)
{
	free(set->id);
	*set = (struct kl_cgroup_set){ 0 };
}
