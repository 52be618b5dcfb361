// SPDX-License-Identifier: GPL-2.0
/* Reads the paths of the cgroups that are there. Feeds format/cgroup.c. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <kernlens/cgroup.h>
#include <kernlens/cgroup_store.h>
#include <kernlens/error.h>
#include "../base/base.h"

/* Minimum time between two readings for IDs that are not known. */
#define AGAIN_NS KL_NS_PER_S

struct system {
	uint64_t read_ns; /* 0: never */
};

static int add(void *data, const char *path, uint64_t id)
{
	return kl_cgroups_add(data, id, path) ? -ENOMEM : 1;
}

void kl_cgroups_read(struct kl_cgroups *cgroups)
{
	kl_cgroup_walk("/", add, cgroups);
	kl_error_clear();
}

static void find(struct kl_cgroups *cgroups, void *data)
{
	struct system *system = data;
	uint64_t now = kl_monotonic_ns();

	if (system->read_ns && now - system->read_ns < AGAIN_NS)
		return;
	system->read_ns = now;
	kl_cgroups_read(cgroups);
}

struct kl_cgroups *kl_cgroups_of_system(void)
{
	struct kl_cgroups *cgroups = kl_cgroups_create();
	struct system *system = calloc(1, sizeof(*system));

	if (cgroups && system) {
		kl_cgroups_set_source(cgroups, find, system);
		return cgroups;
	}
	kl_cgroups_destroy(cgroups);
	free(system);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}
