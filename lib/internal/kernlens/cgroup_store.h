/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of cgroups by ID, for variables of the format `cgroup`: read from the running system, and
 * stored as text in a trace directory.
 */
#ifndef KERNLENS_CGROUP_STORE_H
#define KERNLENS_CGROUP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/schema.h>

#define KL_CGROUPS_FILE ".kernlens/cgroups"
#define KL_CGROUPS_MAX (1u << 16)

struct kl_cgroups;

/* Called for an ID that is not known; may add it. */
typedef void (*kl_cgroups_fn)(struct kl_cgroups *cgroups, void *data);

/**
 * kl_cgroups_create - create an empty set
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_cgroups *kl_cgroups_create(void);

/**
 * kl_cgroups_destroy - free a set
 * @cgroups: or NULL
 */
void kl_cgroups_destroy(struct kl_cgroups *cgroups);

/**
 * kl_cgroups_set_source - set what looks for IDs that are not known
 * @cgroups: changed
 * @find: called for each lookup of such an ID
 * @data: passed to @find; freed with free() when @cgroups is destroyed
 */
void kl_cgroups_set_source(struct kl_cgroups *cgroups, kl_cgroups_fn find, void *data);

/**
 * kl_cgroups_add - add a cgroup, or replace its path
 * @cgroups: changed
 * @id: not 0
 * @path: copied
 *
 * Returns 0, -EINVAL, -ENOSPC (there are KL_CGROUPS_MAX already) or -ENOMEM, with an error text.
 */
int kl_cgroups_add(struct kl_cgroups *cgroups, uint64_t id, const char *path);

/**
 * kl_cgroups_get - the path of a cgroup
 * @cgroups: or NULL: none is known
 * @id: any
 *
 * Returns NULL if it is not known. The path may contain any bytes but 0 and a slash in its names.
 */
const char *kl_cgroups_get(struct kl_cgroups *cgroups, uint64_t id);

/**
 * kl_cgroups_of_system - create a set that looks IDs up in the mounted cgroup v2 hierarchy
 *
 * Reads the hierarchy when an ID is not known, at most once a second. Returns NULL with errno
 * ENOMEM.
 */
struct kl_cgroups *kl_cgroups_of_system(void);

/**
 * kl_cgroups_read - add all cgroups that there are now
 * @cgroups: changed
 *
 * Without a hierarchy, or without memory, some are missing.
 */
void kl_cgroups_read(struct kl_cgroups *cgroups);

/**
 * kl_cgroups_save - store the paths in a trace directory
 * @cgroups: paths
 * @path: of the directory; an existing file is replaced atomically
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_cgroups_save(const struct kl_cgroups *cgroups, const char *path);

/**
 * kl_cgroups_write - format paths as in KL_CGROUPS_FILE
 * @cgroups: paths
 * @buffer: appended to
 */
void kl_cgroups_write(const struct kl_cgroups *cgroups, struct kl_buffer *buffer);

/**
 * kl_cgroups_parse - parse the contents of KL_CGROUPS_FILE
 * @text: any bytes
 * @bytes: size of @text
 *
 * Returns NULL with errno EINVAL (the error text contains the line number) or ENOMEM.
 */
struct kl_cgroups *kl_cgroups_parse(const char *text, size_t bytes);

/**
 * kl_schema_set_cgroups - print paths of cgroups in events
 * @schema: schema
 * @cgroups: must stay valid while the schema uses it; NULL: none
 */
void kl_schema_set_cgroups(struct kl_schema *schema, struct kl_cgroups *cgroups);

/**
 * kl_schema_cgroups - what kl_schema_set_cgroups() has set
 * @schema: schema
 *
 * Returns NULL if there is none.
 */
struct kl_cgroups *kl_schema_cgroups(const struct kl_schema *schema);

/**
 * kl_print_cgroup - print the path of a cgroup, on one line
 * @buffer: appended to
 * @cgroups: or NULL
 * @id: of the cgroup
 *
 * Returns false, having printed nothing, if it is not known.
 */
bool kl_print_cgroup(struct kl_buffer *buffer, struct kl_cgroups *cgroups, uint64_t id);

struct kl_record_names;

/**
 * kl_record_names_cgroups - the paths for a session's records
 * @names: or NULL
 *
 * Returns NULL if there was no memory for them.
 */
struct kl_cgroups *kl_record_names_cgroups(const struct kl_record_names *names);

/**
 * kl_record_names_read_cgroups - read the paths of the cgroups that there are now
 * @names: or NULL
 *
 * Does nothing if the session's records have no IDs of cgroups.
 */
void kl_record_names_read_cgroups(struct kl_record_names *names);

/**
 * kl_record_names_save_cgroups - store the paths that were read, and those of now, in a trace
 * @names: or NULL
 * @path: of the trace
 *
 * Returns 0, also if the session's records have no IDs of cgroups, or a negative errno with an
 * error text.
 */
int kl_record_names_save_cgroups(struct kl_record_names *names, const char *path);

#endif /* KERNLENS_CGROUP_STORE_H */
