// SPDX-License-Identifier: GPL-2.0
/*
 * The time in which tasks do not run, for a profile: from the switch to another task until the
 * switch back, with the stack traces of the first.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "profile.h"
#include "states.h"
#include "values.h"

/*
 * A task. Key: thread ID. @off: it does not run. @followed: the session has all of its switches,
 * not only those to and from tasks that were selected.
 */
struct kl_profile_off {
	uint64_t key;
	bool off;
	bool followed;
	uint64_t since_ns;
	int64_t path;
	int64_t task;
	uint32_t cpu;
};

int kl_profile_include_waits(struct kl_profile *profile, bool partial)
{
	if (!profile->counts.hz)
		return kl_fail(ENOENT, "the trace has no ticks of one frequency; record with "
				       "-e tick:99:stack");
	profile->off_event = kl_schema_find(profile->schema, "sched_switch");
	if (!profile->off_event)
		return kl_fail(ENOENT, "the trace has no sched_switch");
	profile->off.size = sizeof(struct kl_profile_off);
	profile->partial = partial;
	profile->weight = KL_NS_PER_S / profile->counts.hz;
	return 0;
}

void kl_profile_leave_out(struct kl_profile *profile, const pid_t pid[2])
{
	profile->own[0] = pid[0];
	profile->own[1] = pid[1];
}

void kl_profile_add_loss(struct kl_profile *profile)
{
	struct kl_profile_off *off = NULL;

	while ((off = kl_hash_next(&profile->off, off)))
		off->off = false;
}

/* The function that stands for what a task waits for, plus 1, or -ENOMEM. */
static int64_t add_wait(struct kl_profile *profile, const struct kl_profile_stacks *ids,
			int64_t state)
{
	const struct kl_stacks *stacks = kl_schema_stacks(profile->schema);
	const struct kl_abi_latency_entry entry = {
		.kstack = ids->kernel,
		.syscall = -1,
		.state = state & KL_STATE_UNINTERRUPTIBLE ? KL_LATENCY_UNINTERRUPTIBLE :
							    KL_LATENCY_INTERRUPTIBLE,
	};
	char text[128] = "[waits for a CPU]";
	int64_t number;

	/* Without privilege, the kernel's functions are not known. */
	if (state && !(state & KL_STATE_PREEMPTED))
		snprintf(text, sizeof(text), "[waits: %s]",
			 kl_stacks_get(stacks, ids->kernel) ?
				 kl_latency_reason(stacks, profile->schema, &entry) :
				 "unknown");
	number = kl_profile_add_function(profile, text, "off CPU", KL_PROFILE_WAIT);
	return number < 0 ? number : number + 1;
}

static int leave(struct kl_profile *profile, const struct kl_event *event)
{
	struct kl_profile_stacks ids = {
		.kernel = (uint32_t)kl_variable_of(event, profile->kstack),
		.user = (uint32_t)kl_variable_of(event, profile->ustack),
	};
	const int64_t state = kl_number_of(event, "prev_state");
	struct kl_profile_off *off;
	int64_t wait;

	if (!event->task.tid || state & (KL_STATE_DEAD | KL_STATE_IDLE) ||
	    kl_profile_is_own(profile, event->task.pid))
		return 0;
	off = kl_hash_get(&profile->off, (uint64_t)event->task.tid);
	wait = off ? add_wait(profile, &ids, state) : -ENOMEM;
	if (wait < 0)
		return -ENOMEM;
	ids.wait = (uint32_t)wait;
	off->path = kl_profile_path(profile, &ids);
	off->task = kl_profile_add_task(profile, event);
	if (off->path < 0 || off->task < 0)
		return -ENOMEM;
	off->off = true;
	off->since_ns = event->ns;
	off->cpu = event->cpu;
	return 0;
}

static int back(struct kl_profile *profile, struct kl_profile_off *off, uint64_t ns)
{
	const uint64_t weight = ns > off->since_ns ? ns - off->since_ns : 0;
	const struct kl_profile_path *path = &profile->path[off->path];
	const struct kl_profile_counts counts = {
		.samples = weight,
		.waits = weight,
		.no_stack = path->no_stack ? weight : 0,
		.uncertain = path->uncertain ? weight : 0,
		.first_ns = off->since_ns,
		.last_ns = ns,
	};

	off->off = false;
	return kl_profile_count(profile, off->path, off->task, off->cpu, weight, &counts);
}

int kl_profile_follow(struct kl_profile *profile, int32_t tid)
{
	struct kl_profile_off *off = tid > 0 ? kl_hash_get(&profile->off, (uint64_t)tid) : NULL;

	if (off)
		off->followed = true;
	return off || tid <= 0 ? 0 : -ENOMEM;
}

/* No session follows an idle task, so its switches are recorded because of the other task. */
int kl_profile_add_switch(struct kl_profile *profile, const struct kl_event *event)
{
	const int32_t next = (int32_t)kl_number_of(event, "next_tid");
	struct kl_profile_off *off = next > 0 ? kl_hash_get(&profile->off, (uint64_t)next) : NULL;
	int error = 0;

	if (next > 0 && !off)
		return -ENOMEM;
	if (off && off->off)
		error = back(profile, off, event->ns);
	if (!error && !event->task.tid)
		error = kl_profile_follow(profile, next);
	if (!error && !next)
		error = kl_profile_follow(profile, event->task.tid);
	return error ?: leave(profile, event);
}

/* Take the waits of tasks out that are in the trace because of others. */
static int leave_out_others(struct kl_profile *profile)
{
	const struct kl_profile_sample *next = NULL;

	while ((next = kl_profile_next(profile, next))) {
		const int32_t tid = kl_profile_task_of(profile, next)->tid;
		const struct kl_profile_off *off = kl_hash_get(&profile->off, (uint64_t)tid);
		struct kl_profile_sample *sample = kl_hash_get(&profile->samples, next->key);
		const struct kl_profile_path *path = &profile->path[next->path];

		if (!off || !sample)
			return -ENOMEM;
		if (off->followed)
			continue;
		profile->counts.samples -= sample->count;
		profile->counts.waits -= sample->count;
		profile->counts.no_stack -= path->no_stack ? sample->count : 0;
		profile->counts.uncertain -= path->uncertain ? sample->count : 0;
		sample->count = 0;
	}
	return 0;
}

int kl_profile_finish(struct kl_profile *profile)
{
	const uint64_t end = profile->counts.last_ns;
	struct kl_profile_off *off = NULL;
	int error = 0;

	while (!error && (off = kl_hash_next(&profile->off, off)))
		if (off->off)
			error = back(profile, off, end);
	return error || !profile->partial ? error : leave_out_others(profile);
}
