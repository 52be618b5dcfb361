// SPDX-License-Identifier: GPL-2.0
/*
 * The types of loaded modules, for their tracepoints and functions. Read when a request needs
 * something that the kernel's own types do not have.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "plan.h"

#define DIRECTORY "/sys/kernel/btf"

static int compare(const void *a, const void *b)
{
	const struct kl_plan_module *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_module(struct kl_plan *plan, const struct kl_btf *base, const char *name)
{
	struct kl_plan_module *modules = kl_array_grow(plan->modules, plan->n_modules,
						       &plan->modules_room, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	plan->modules = modules;
	modules += plan->n_modules;
	modules->name = strdup(name);
	if (!modules->name)
		return kl_fail(ENOMEM, "out of memory");
	/* A module that cannot be read, or has been unloaded in the meantime, has no types. */
	modules->btf = kl_btf_open_module(base, name);
	plan->n_modules++;
	return 0;
}

int kl_plan_read_modules(struct kl_plan *plan)
{
	const struct kl_btf *base = kl_plan_btf(plan);
	const struct dirent *entry;
	DIR *directory;
	int ret = 0;

	if (plan->has_modules || plan->is_foreign || !base)
		return 0;
	plan->has_modules = true;
	directory = opendir(DIRECTORY);
	if (!directory)
		return 0;
	while (!ret && (entry = readdir(directory)))
		if (*entry->d_name != '.' && strcmp(entry->d_name, "vmlinux"))
			ret = add_module(plan, base, entry->d_name);
	closedir(directory);
	kl_error_clear();
	if (plan->n_modules)
		qsort(plan->modules, plan->n_modules, sizeof(*plan->modules), compare);
	return ret;
}

const struct kl_btf *kl_plan_module_btf(struct kl_plan *plan, const char *module)
{
	struct kl_plan_module key = { .name = (char *)module };
	const struct kl_plan_module *found;

	if (kl_plan_read_modules(plan) || !plan->n_modules)
		return NULL;
	found = bsearch(&key, plan->modules, plan->n_modules, sizeof(key), compare);
	return found ? found->btf : NULL;
}

void kl_plan_free_modules(struct kl_plan *plan)
{
	for (size_t i = 0; i < plan->n_modules; i++) {
		free(plan->modules[i].name);
		kl_btf_close(plan->modules[i].btf);
	}
	free(plan->modules);
}
