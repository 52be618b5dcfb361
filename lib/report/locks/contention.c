// SPDX-License-Identifier: GPL-2.0
/* Waits for the kernel's locks, from its two tracepoints. */
#include <errno.h>
#include <string.h>

#include <kernlens/internal.h>
#include <kernlens/stack.h>
#include "../../base/base.h"
#include "../values.h"
#include "collect.h"

/* Flags of contention_begin, as in the kernel's trace/events/lock.h. */
#define FLAG_SPIN 1
#define FLAG_READ 2
#define FLAG_WRITE 4
#define FLAG_RT 8
#define FLAG_PERCPU 16
#define FLAG_MUTEX 32

bool kl_contention_init(struct kl_locks *locks)
{
	struct kl_contention *contention = &locks->contention;

	contention->begin = kl_schema_find(locks->schema, "contention_begin");
	contention->end = kl_schema_find(locks->schema, "contention_end");
	if (!contention->begin || !contention->end)
		return false;
	contention->lock = kl_class_field(contention->begin, "lock_addr");
	contention->flags = kl_class_field(contention->begin, "flags");
	contention->owner = kl_class_field(contention->begin, "owner_tid");
	contention->end_lock = kl_class_field(contention->end, "lock_addr");
	contention->ret = kl_class_field(contention->end, "ret");
	return true;
}

/* Is a function part of taking a lock, not the one that takes it? */
static bool takes_lock(const char *symbol)
{
	static const char *const prefixes[] = {
		"__down",
		"__mutex_",
		"__percpu_down",
		"__pv_queued",
		"__raw_",
		"__rt_mutex",
		"__rwbase",
		"__traceiter_contention",
		"_raw_",
		"do_raw_",
		"down_",
		"mutex_",
		"native_queued_",
		"osq_",
		"percpu_down_",
		"percpu_rwsem_",
		"queued_",
		"rt_mutex_",
		"rt_read_",
		"rt_spin_",
		"rt_write_",
		"rtlock_",
		"rwbase_",
		"rwsem_",
		"trace_contention_",
		"ww_mutex_",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(symbol, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strcmp(symbol, "down");
}

bool kl_contention_is_inner(const struct kl_frame *frame, struct kl_lock_name *unused)
{
	(void)unused;
	return kl_frame_is_tracing(frame) || (frame->symbol && takes_lock(frame->symbol));
}

static enum kl_lock_type type_of(uint64_t flags)
{
	if (flags & FLAG_MUTEX)
		return KL_LOCK_MUTEX;
	if (flags & FLAG_RT)
		return KL_LOCK_RTMUTEX;
	if (flags & FLAG_PERCPU)
		return flags & FLAG_READ ? KL_LOCK_PERCPU_READ : KL_LOCK_PERCPU_WRITE;
	if (flags & FLAG_READ)
		return flags & FLAG_SPIN ? KL_LOCK_RWLOCK_READ : KL_LOCK_RWSEM_READ;
	if (flags & FLAG_WRITE)
		return flags & FLAG_SPIN ? KL_LOCK_RWLOCK_WRITE : KL_LOCK_RWSEM_WRITE;
	return flags & FLAG_SPIN ? KL_LOCK_SPIN : KL_LOCK_SEMAPHORE;
}

/* A mutex says so again when the task goes from spinning to sleeping. */
static int begin(struct kl_locks *locks, const struct kl_event *event)
{
	const struct kl_contention *contention = &locks->contention;
	const uint64_t lock = kl_field_of(event, contention->lock);
	const int32_t owner = (int32_t)kl_field_of(event, contention->owner);
	struct kl_lock_pending *pending = kl_locks_pending(locks, event, lock);
	const struct kl_lock_name *function;

	if (!pending)
		return -ENOMEM;
	if (pending->open) {
		if (!pending->wait.owner)
			pending->wait.owner = owner;
		return 0;
	}
	kl_locks_begin(pending, event, lock);
	pending->wait.stack = (uint32_t)kl_variable_of(event, locks->kstack);
	pending->wait.owner = owner;
	pending->wait.type = type_of(kl_field_of(event, contention->flags));
	function = kl_locks_function(locks, pending->wait.stack, kl_contention_is_inner);
	if (!function)
		return -ENOMEM;
	pending->wait.function = function->name;
	return 0;
}

static int end(struct kl_locks *locks, const struct kl_event *event)
{
	const struct kl_contention *contention = &locks->contention;
	struct kl_lock_pending *pending =
		kl_locks_pending(locks, event, kl_field_of(event, contention->end_lock));

	if (!pending)
		return -ENOMEM;
	if (pending->open)
		return kl_locks_finish(locks, pending, event->ns, true,
				       kl_field_of(event, contention->ret));
	locks->counts.unpaired++;
	return 0;
}

int kl_contention_add(struct kl_locks *locks, const struct kl_event *event)
{
	if (event->event_class == locks->contention.begin)
		return begin(locks, event);
	return event->event_class == locks->contention.end ? end(locks, event) : 0;
}
