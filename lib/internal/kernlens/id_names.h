/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the IDs in a session's records stand for, as one compressed text: a flight recorder stores
 * it in its session (KL_METADATA_NAMES), where kernlens-extract(1) finds it after a crash.
 */
#ifndef KERNLENS_ID_NAMES_H
#define KERNLENS_ID_NAMES_H

#include <stddef.h>
#include <kernlens/buffer.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/stack_store.h>

/**
 * struct kl_id_names - the names
 * @stacks: of stack traces; NULL: none
 * @cgroups: of cgroups; NULL: none
 */
struct kl_id_names {
	struct kl_stacks *stacks;
	struct kl_cgroups *cgroups;
};

/**
 * kl_id_names_write - compress names
 * @names: names
 * @buffer: appended to
 *
 * Returns 0 or -ENOMEM with an error text.
 */
int kl_id_names_write(const struct kl_id_names *names, struct kl_buffer *buffer);

/**
 * kl_id_names_parse - parse the output of kl_id_names_write()
 * @bytes: any bytes
 * @size: of @bytes
 * @names: filled in; the caller destroys its members, also after a failure
 *
 * Returns 0, -EINVAL with an error text or -ENOMEM.
 */
int kl_id_names_parse(const char *bytes, size_t size, struct kl_id_names *names);

#endif /* KERNLENS_ID_NAMES_H */
