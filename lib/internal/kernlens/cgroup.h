/* SPDX-License-Identifier: GPL-2.0 */
/* Cgroups of the default hierarchy (cgroup v2), as they are mounted here. */
#ifndef KERNLENS_CGROUP_H
#define KERNLENS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Depth at which kl_cgroup_walk() stops. */
#define KL_CGROUP_WALK_DEPTH 64

/**
 * kl_cgroup_path - find the directory of a cgroup
 * @path: below the root of the hierarchy, with or without a slash in front; or the full path of the
 *        directory
 * @full: set to the full path
 * @room: bytes of @full
 *
 * Uses the first cgroup v2 hierarchy that is mounted. Does not check that there is such a cgroup.
 * Returns 0 or a negative errno: -ENODEV (no hierarchy is mounted), -ENAMETOOLONG.
 */
int kl_cgroup_path(const char *path, char *full, size_t room);

/**
 * kl_cgroup_open - open the directory of a cgroup, for kl_session_filter_cgroup()
 * @path: as for kl_cgroup_path()
 *
 * Returns a descriptor (O_PATH) or a negative errno.
 */
int kl_cgroup_open(const char *path);

/**
 * typedef kl_cgroup_fn - called for a cgroup
 * @data: as given to kl_cgroup_walk()
 * @path: below the root of the hierarchy; begins with a slash
 * @id: the inode of its directory, as in the variable `cgroup`
 *
 * Returns 1 to visit the cgroups in it, too, 0 not to, or a negative errno to end the walk.
 */
typedef int (*kl_cgroup_fn)(void *data, const char *path, uint64_t id);

/**
 * kl_cgroup_walk - visit a cgroup, and those below it
 * @path: as for kl_cgroup_path()
 * @fn: called for each; a cgroup that is removed meanwhile is left out
 * @data: for @fn
 *
 * Returns 0 or a negative errno, with an error text unless @fn has returned it.
 */
int kl_cgroup_walk(const char *path, kl_cgroup_fn fn, void *data);

/**
 * struct kl_cgroup_set - a cgroup and all those below it, by id
 * @id: sorted
 */
struct kl_cgroup_set {
	uint64_t *id;
	size_t n, room;
};

/**
 * kl_cgroup_set_read - read which cgroups there are now
 * @set: replaced; zeroed before the first call
 * @path: as for kl_cgroup_path()
 *
 * Returns 0 or a negative errno; the set is empty then.
 */
int kl_cgroup_set_read(struct kl_cgroup_set *set, const char *path);

/**
 * kl_cgroup_set_has - is a cgroup in the set?
 * @set: set
 * @id: of the cgroup
 */
bool kl_cgroup_set_has(const struct kl_cgroup_set *set, uint64_t id);

/**
 * kl_cgroup_set_deinit - free a set's contents
 * @set: set
 */
void kl_cgroup_set_deinit(struct kl_cgroup_set *set);

#endif /* KERNLENS_CGROUP_H */
