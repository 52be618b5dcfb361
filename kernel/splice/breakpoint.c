// SPDX-License-Identifier: GPL-2.0
/*
 * Code that runs between a breakpoint and our handler must not contain a breakpoint: it would hit
 * that again and again. The kernel keeps probes out of its own part of this path. What remains are
 * the functions which that part calls, and the handlers that are called before ours; they are
 * found by following calls. Under kl_splice_lock.
 */
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../core/session.h"
#include "kernel.h"
#include "map.h"
#include "splice.h"

/* Usually a few dozen; some thousands with KASAN and lockdep, because of their error reports. */
#define FUNCTIONS_MAX 4096

/* Functions that pass a breakpoint to its handlers. */
static const char *const roots[] = {
#define KL_BREAKPOINT_ROOT(name) #name,
#define KL_BREAKPOINT_LEAF(name)
#include "../../uapi/block_breakpoint.def"
#undef KL_BREAKPOINT_LEAF
#undef KL_BREAKPOINT_ROOT
};

/* Functions whose calls are not followed. */
static const char *const leaves[] = {
#define KL_BREAKPOINT_ROOT(name)
#define KL_BREAKPOINT_LEAF(name) #name,
#include "../../uapi/block_breakpoint.def"
#undef KL_BREAKPOINT_LEAF
#undef KL_BREAKPOINT_ROOT
};

struct callees {
	unsigned long function[FUNCTIONS_MAX];
	unsigned long leaf[ARRAY_SIZE(leaves)];
	u32 n;
};

static int add(struct callees *path, unsigned long function, struct kl_error *why)
{
	unsigned long begin, end;

	if (!kl_map_function(function, &begin, &end))
		return 0;
	for (u32 i = 0; i < path->n; i++)
		if (path->function[i] == begin)
			return 0;
	if (path->n == FUNCTIONS_MAX)
		return kl_fail(
			why, -EOPNOTSUPP,
			"blocks cannot be spliced: the breakpoint path has too many functions");
	path->function[path->n++] = begin;
	return 0;
}

/*
 * Handlers that are called before ours. The functions that a module's handler calls are unknown
 * here, and a breakpoint in one of them would call the handler again.
 */
static int add_notifiers(struct callees *path, struct kl_error *why)
{
	struct notifier_block *block;
	int error = 0;

	rcu_read_lock();
	for (block = rcu_dereference(kl_kernel.die_chain->head); block && !error;
	     block = rcu_dereference(block->next)) {
		if (block == &kl_splice_die_block)
			break;
		error = kl_map_has((unsigned long)block->notifier_call) ?
				add(path, (unsigned long)block->notifier_call, why) :
				kl_fail(why, -EOPNOTSUPP,
					"blocks cannot be spliced: %ps handles breakpoints first",
					(void *)block->notifier_call);
	}
	rcu_read_unlock();
	return error;
}

static bool is_leaf(const struct callees *path, unsigned long function)
{
	for (int i = 0; i < ARRAY_SIZE(leaves); i++)
		if (path->leaf[i] == function)
			return true;
	return false;
}

static int add_callees(struct callees *path, const struct kl_function *f, struct kl_error *why)
{
	int error = 0;

	for (u32 i = 0; i < f->steps && !error; i++) {
		const struct kl_instruction *in = &f->step[i].in;
		unsigned long target = f->begin + f->step[i].offset + in->bytes + in->by;

		if (in->at && in->flow != KL_FLOW_ON && (target < f->begin || target >= f->end) &&
		    !kl_map_returns(target))
			error = add(path, target, why);
	}
	return error;
}

/* Follows the first @begun in any case, and others unless they are excluded already. */
static int follow(struct callees *path, u32 begun, struct kl_error *why)
{
	struct kl_function f = {};
	int error = 0;

	for (u32 i = 0; i < path->n && !error; i++) {
		if (is_leaf(path, path->function[i]) ||
		    (i >= begun && kl_map_test(KL_MAP_NEVER, path->function[i])))
			continue;
		error = kl_function_load(&f, path->function[i]);
		if (!error)
			error = add_callees(path, &f, why);
	}
	kl_function_free(&f);
	return error;
}

/**
 * kl_map_exclude_die - keep splices off the path of breakpoints
 * @why: set on failure
 *
 * Called when the rest of the map is complete and our own handler is registered. Context: may
 * sleep.
 */
int kl_map_exclude_die(struct kl_error *why)
{
	struct callees *path = kvzalloc(sizeof(*path), GFP_KERNEL);
	int error = 0;

	if (!path)
		return kl_fail(why, -ENOMEM, "no memory for a map of the kernel's text");
	for (int i = 0; i < ARRAY_SIZE(leaves); i++)
		path->leaf[i] = kl_kernel_lookup(leaves[i]);
	for (int i = 0; i < ARRAY_SIZE(roots) && !error; i++)
		error = add(path, kl_kernel_lookup(roots[i]), why);
	if (!error)
		error = add_notifiers(path, why);
	if (!error)
		error = follow(path, path->n, why);
	for (u32 i = 0; i < path->n && !error; i++) {
		unsigned long begin, end;

		if (kl_map_function(path->function[i], &begin, &end))
			kl_map_exclude(begin, end);
	}
	kvfree(path);
	return error;
}
