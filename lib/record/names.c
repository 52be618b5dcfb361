// SPDX-License-Identifier: GPL-2.0
/*
 * What the ids of stack traces and cgroups and the kernel addresses in a session's records stand
 * for: read while the session exists, and stored beside its blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/cgroup_store.h>
#include <kernlens/error.h>
#include <kernlens/record.h>
#include <kernlens/stack_store.h>
#include "../base/base.h"
#include "recorder.h"

/* Time limit for the pass over a new trace that looks for addresses. */
#define ADDRESSES_NS 10000000000ull

struct kl_record_names {
	struct kl_record_source source;
	bool demangle;
	struct kl_stacks *stacks;
	struct kl_stack_collector *collector;
	struct kl_addresses *addresses;
	struct kl_cgroups *cgroups;
};

struct kl_record_names *kl_record_names_create(const struct kl_record_source *source, bool demangle)
{
	struct kl_record_names *names = calloc(1, sizeof(*names));

	if (!names) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	names->source = *source;
	names->demangle = demangle;
	names->cgroups = kl_cgroups_of_system();
	kl_schema_set_cgroups(source->schema, names->cgroups);
	return names;
}

void kl_record_names_destroy(struct kl_record_names *names)
{
	if (!names)
		return;
	kl_schema_set_addresses(names->source.schema, NULL);
	kl_schema_set_stacks(names->source.schema, NULL);
	kl_schema_set_cgroups(names->source.schema, NULL);
	kl_cgroups_destroy(names->cgroups);
	kl_addresses_destroy(names->addresses);
	kl_stack_collector_destroy(names->collector);
	kl_stacks_destroy(names->stacks);
	free(names);
}

bool kl_record_names_has_cgroups(const struct kl_record_names *names)
{
	const struct kl_variable *variable;

	for (unsigned int i = 0; (variable = kl_schema_variable(names->source.schema, i)); i++)
		if (variable->field.format == KL_FORMAT_cgroup)
			return true;
	return false;
}

/* ------------------------------------------------------------ stack traces */

bool kl_record_names_has_stacks(const struct kl_record_names *names)
{
	return kl_schema_find_variable(names->source.schema, "kstack") >= 0 ||
	       kl_schema_find_variable(names->source.schema, "ustack") >= 0;
}

static int make_collector(struct kl_record_names *names)
{
	if (!names->stacks) {
		names->stacks = kl_stacks_create();
		if (names->stacks)
			kl_stacks_demangle(names->stacks, names->demangle);
	}
	if (names->stacks && !names->collector)
		names->collector = kl_stack_collector_create(names->source.session, names->stacks);
	if (!names->collector)
		return -errno;
	kl_schema_set_stacks(names->source.schema, names->stacks);
	return 0;
}

int kl_record_names_prepare(struct kl_record_names *names, pid_t pid, const char *program)
{
	int ret = make_collector(names);

	if (!ret)
		kl_stack_collector_prepare(names->collector, pid, program);
	return ret;
}

bool kl_record_names_update(struct kl_record_names *names)
{
	return names->collector && kl_stack_collector_update(names->collector);
}

bool kl_record_names_takes_stacks(const struct kl_record_names *names)
{
	struct kl_abi_stacks call = { .what = KL_STACKS_WANTED };

	return !kl_session_stacks(names->source.session, &call) && call.traces;
}

int kl_record_names_collect(struct kl_record_names *names, bool lines)
{
	int ret = make_collector(names);

	return ret ? ret : kl_stack_collect(names->collector, lines);
}

struct kl_stacks *kl_record_names_stacks(const struct kl_record_names *names)
{
	return names ? names->stacks : NULL;
}

pid_t kl_record_names_collector(const struct kl_record_names *names)
{
	return kl_stack_collector_pid(names ? names->collector : NULL);
}

int kl_record_names_save_stacks(struct kl_record_names *names, const char *path)
{
	int ret;

	if (!kl_record_names_has_stacks(names))
		return 0;
	ret = kl_record_names_collect(names, true);
	if (ret < 0)
		return ret;
	ret = kl_stacks_save(names->stacks, path);
	return ret ? kl_fail_about(ret, path) : 0;
}

/* ----------------------------------------------------------------- cgroups */

struct kl_cgroups *kl_record_names_cgroups(const struct kl_record_names *names)
{
	return names ? names->cgroups : NULL;
}

void kl_record_names_read_cgroups(struct kl_record_names *names)
{
	if (names && names->cgroups && kl_record_names_has_cgroups(names))
		kl_cgroups_read(names->cgroups);
}

int kl_record_names_save_cgroups(struct kl_record_names *names, const char *path)
{
	int ret;

	if (!names || !names->cgroups || !kl_record_names_has_cgroups(names))
		return 0;
	kl_cgroups_read(names->cgroups);
	ret = kl_cgroups_save(names->cgroups, path);
	return ret ? kl_fail_about(ret, path) : 0;
}

/* --------------------------------------------------------------- addresses */

void kl_record_names_use_kernel(struct kl_record_names *names)
{
	if (names->addresses || !(kl_device_info(names->source.device)->may & KL_MAY_SEE_ADDRESSES))
		return;
	names->addresses = kl_addresses_of_kernel();
	kl_schema_set_addresses(names->source.schema, names->addresses);
}

struct kl_addresses *kl_record_names_addresses(const struct kl_record_names *names)
{
	return names ? names->addresses : NULL;
}

static bool has_address(const struct kl_class *class)
{
	for (unsigned int i = 0; class->kind == KL_CLASS_EVENT && i < class->n_fields; i++)
		if (class->fields[i].format == KL_FORMAT_ptr)
			return true;
	return false;
}

/*
 * Does a maskset have an event with kernel addresses? Those of system calls are the programs'.
 * @maskset: scratch space
 */
static bool maskset_has_addresses(const struct kl_record_names *names, uint32_t id,
				  struct kl_abi_maskset *maskset)
{
	const struct kl_class *class = NULL;

	if (kl_session_read_maskset(names->source.session, id, maskset))
		return false;
	while ((class = kl_schema_next(names->source.schema, class)))
		if (has_address(class) &&
		    (class->id >= KL_EV_DYNAMIC || maskset->handler[class->id]))
			return true;
	return false;
}

/* Another process may have added masksets and switched between them. */
static bool any_maskset_has_addresses(const struct kl_record_names *names,
				      struct kl_abi_maskset *maskset)
{
	struct kl_abi_stats stats;

	for (uint32_t id = KL_MASKSET_FIRST_USER; id < KL_MASKSET_MAX; id++)
		if (maskset_has_addresses(names, id, maskset))
			return true;
	return !kl_session_stats(names->source.session, -1, &stats) &&
	       maskset_has_addresses(names, stats.maskset, maskset);
}

/* Returns 1 or 0, or a negative errno. */
static int may_have_addresses(const struct kl_record_names *names)
{
	const struct kl_variable *variable;
	struct kl_abi_maskset *maskset;
	bool has;

	for (unsigned int i = 0; (variable = kl_schema_variable(names->source.schema, i)); i++)
		if (variable->field.format == KL_FORMAT_ptr)
			return 1;
	maskset = malloc(sizeof(*maskset));
	if (!maskset)
		return kl_fail(ENOMEM, "out of memory");
	has = any_maskset_has_addresses(names, maskset);
	free(maskset);
	/* A maskset that does not exist is not an error. */
	kl_error_clear();
	return has;
}

int kl_record_names_save_addresses(struct kl_record_names *names, const char *path)
{
	int got = may_have_addresses(names), ret = 0;

	if (got <= 0)
		return got < 0 ? got : 1;
	kl_record_names_use_kernel(names);
	if (!names->addresses)
		return 1;
	got = kl_addresses_collect(names->addresses, path, ADDRESSES_NS);
	if (got >= 0 && kl_addresses_count(names->addresses))
		ret = kl_addresses_save(names->addresses, path);
	if (got < 0 || ret < 0)
		return kl_fail_about(got < 0 ? got : ret, path);
	return got;
}
