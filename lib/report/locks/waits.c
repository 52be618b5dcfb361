// SPDX-License-Identifier: GPL-2.0
/* Collects the waits for the kernel's locks; equal ones are summed up. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/addresses.h>
#include <kernlens/internal.h>
#include <kernlens/stack.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "../../base/texts.h"
#include "../profile.h"
#include "values.h"

/* Flags of contention_begin, as in the kernel's trace/events/lock.h. */
#define FLAG_SPIN 1
#define FLAG_READ 2
#define FLAG_WRITE 4
#define FLAG_RT 8
#define FLAG_PERCPU 16
#define FLAG_MUTEX 32

/**
 * struct wait - what waits have in common that are summed up
 * @address: of the lock
 * @function: that takes it; NULL if unknown
 * @stack: id of the stack trace
 */
struct wait {
	uint64_t address;
	const char *function;
	uint32_t stack;
	int32_t tid;
	int32_t pid;
	int32_t owner;
	uint32_t type;
};

/* A wait that may be in progress. Key: hash of the waiting task and the lock. */
struct pending {
	uint64_t key;
	bool open;
	uint64_t since_ns;
	struct wait wait;
};

/* Key: thread ID + 1, or id of a stack trace + 1. */
struct name {
	uint64_t key;
	const char *name;
	bool known;
};

/* Where an event has the ID and command name of a task. @event: NULL: not in the trace */
struct naming {
	const struct kl_class *event;
	int tid;
	int comm;
};

struct kl_locks {
	const struct kl_schema *schema;
	const struct kl_class *begin;
	const struct kl_class *end;
	int lock, flags, owner; /* fields of @begin */
	int end_lock, ret; /* and of @end */
	int kstack;
	struct naming naming[2];
	struct kl_locks_counts counts;
	struct kl_hash pending;
	struct kl_hash comms;
	struct kl_hash functions;
	struct kl_profile_list waits; /* struct wait */
	struct kl_lock_sum *sum; /* of each */
	size_t room;
	struct kl_texts texts;
};

/* ------------------------------------------------------------------ creation */

static void find_naming(struct kl_locks *locks, struct naming *naming, const char *event,
			const char *tid, const char *comm)
{
	naming->event = kl_schema_find(locks->schema, event);
	if (!naming->event)
		return;
	naming->tid = kl_class_field(naming->event, tid);
	naming->comm = kl_class_field(naming->event, comm);
	if (naming->tid < 0 || naming->comm < 0)
		naming->event = NULL;
}

struct kl_locks *kl_locks_create(const struct kl_schema *schema)
{
	struct kl_locks *locks = calloc(1, sizeof(*locks));

	if (!locks) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	locks->schema = schema;
	locks->begin = kl_schema_find(schema, "contention_begin");
	locks->end = kl_schema_find(schema, "contention_end");
	if (!locks->begin || !locks->end) {
		free(locks);
		errno = -kl_fail(ENOENT, "the trace has no waits for locks; record with "
					 "-e contention_begin:stack,contention_end");
		return NULL;
	}
	locks->lock = kl_class_field(locks->begin, "lock_addr");
	locks->flags = kl_class_field(locks->begin, "flags");
	locks->owner = kl_class_field(locks->begin, "owner_tid");
	locks->end_lock = kl_class_field(locks->end, "lock_addr");
	locks->ret = kl_class_field(locks->end, "ret");
	locks->kstack = kl_schema_find_variable(schema, "kstack");
	find_naming(locks, &locks->naming[0], "lttng_statedump_process_state", "tid", "name");
	find_naming(locks, &locks->naming[1], "sched_process_fork", "child_tid", "child_comm");
	locks->pending.size = sizeof(struct pending);
	locks->comms.size = sizeof(struct name);
	locks->functions.size = sizeof(struct name);
	locks->waits.size = sizeof(struct wait);
	return locks;
}

void kl_locks_destroy(struct kl_locks *locks)
{
	if (!locks)
		return;
	kl_hash_deinit(&locks->pending);
	kl_hash_deinit(&locks->comms);
	kl_hash_deinit(&locks->functions);
	kl_profile_list_deinit(&locks->waits);
	kl_texts_deinit(&locks->texts);
	free(locks->sum);
	free(locks);
}

/* --------------------------------------------------------------------- names */

static int set_comm(struct kl_locks *locks, int64_t tid, const char *comm)
{
	struct name *entry = kl_hash_get(&locks->comms, (uint64_t)(uint32_t)tid + 1);

	if (!entry)
		return -ENOMEM;
	if (entry->name && !strcmp(entry->name, comm))
		return 0;
	if (kl_texts_keep(&locks->texts, &comm))
		return -ENOMEM;
	entry->name = comm;
	return 0;
}

static int learn_names(struct kl_locks *locks, const struct kl_event *event)
{
	int error = event->task.tid ? set_comm(locks, event->task.tid, event->task.comm) : 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(locks->naming) && !error; i++) {
		const struct naming *naming = &locks->naming[i];
		struct kl_value comm;
		char text[64];

		if (event->event_class != naming->event)
			continue;
		comm = kl_event_value(event, (unsigned int)naming->comm);
		snprintf(text, sizeof(text), "%.*s", (int)comm.length, comm.bytes);
		error = set_comm(locks, kl_event_value(event, (unsigned int)naming->tid).number,
				 text);
	}
	return error;
}

/* Is a function part of taking a lock, not the one that takes it? */
static bool takes_lock(const char *symbol)
{
	static const char *const prefixes[] = {
		"__down",	  "__mutex_",	"__percpu_down", "__pv_queued",
		"__raw_",	  "__rt_mutex", "__rwbase",	 "__traceiter_contention",
		"_raw_",	  "do_raw_",	"down_",	 "mutex_",
		"native_queued_", "osq_",	"percpu_down_",	 "percpu_rwsem_",
		"queued_",	  "rt_mutex_",	"rt_read_",	 "rt_spin_",
		"rt_write_",	  "rtlock_",	"rwbase_",	 "rwsem_",
		"ww_mutex_",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(symbol, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strcmp(symbol, "down");
}

/* The function that takes the lock, or NULL if it is unknown. */
static int find_function(struct kl_locks *locks, uint32_t id, const char **function)
{
	const struct kl_stack *stack = kl_stacks_get(kl_schema_stacks(locks->schema), id);
	struct name *entry = kl_hash_get(&locks->functions, (uint64_t)id + 1);
	char text[256];

	*function = NULL;
	if (!entry)
		return -ENOMEM;
	if (!entry->known) {
		for (unsigned int i = 0; stack && i < stack->n; i++) {
			const struct kl_frame *frame = &stack->frame[i];

			if (kl_frame_is_tracing(frame) ||
			    (frame->symbol && takes_lock(frame->symbol)))
				continue;
			entry->name = kl_frame_label(frame, text, sizeof(text));
			if (kl_texts_keep(&locks->texts, &entry->name))
				return -ENOMEM;
			break;
		}
		entry->known = true;
	}
	*function = entry->name;
	return 0;
}

/* --------------------------------------------------------------------- waits */

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

/* Idle tasks have the same ID. A task waits for one lock once at a time. */
static struct pending *pending_of(struct kl_locks *locks, const struct kl_event *event,
				  uint64_t lock)
{
	const int64_t who = event->task.tid ? event->task.tid : -1 - (int64_t)event->cpu;
	uint64_t key = kl_hash_bytes(KL_HASH_START, &who, sizeof(who));

	key = kl_hash_bytes(key, &lock, sizeof(lock));
	return kl_hash_get(&locks->pending, key ? key : 1);
}

/* A mutex says so again when the task goes from spinning to sleeping. */
static int begin(struct kl_locks *locks, const struct kl_event *event)
{
	const uint64_t lock = kl_lock_field(event, locks->lock);
	struct pending *pending = pending_of(locks, event, lock);
	uint32_t stack;

	if (!pending)
		return -ENOMEM;
	if (pending->open) {
		if (!pending->wait.owner)
			pending->wait.owner = (int32_t)kl_lock_field(event, locks->owner);
		return 0;
	}
	stack = (uint32_t)kl_lock_variable(event, locks->kstack);
	pending->open = true;
	pending->since_ns = event->ns;
	/* Zeros where the struct has gaps: equal waits are found by their bytes. */
	memset(&pending->wait, 0, sizeof(pending->wait));
	pending->wait.address = lock;
	pending->wait.stack = stack;
	pending->wait.tid = event->task.tid;
	pending->wait.pid = event->task.pid;
	pending->wait.owner = (int32_t)kl_lock_field(event, locks->owner);
	pending->wait.type = type_of(kl_lock_field(event, locks->flags));
	return find_function(locks, stack, &pending->wait.function);
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int bits = ns ? 64 - (unsigned int)__builtin_clzll(ns) : 0;

	return bits < KL_LOCK_BUCKETS ? bits : KL_LOCK_BUCKETS - 1;
}

static void add_sum(struct kl_lock_sum *to, const struct kl_lock_sum *of)
{
	to->waits += of->waits;
	to->unfinished += of->unfinished;
	to->failed += of->failed;
	to->ns += of->ns;
	to->worst_ns = of->worst_ns > to->worst_ns ? of->worst_ns : to->worst_ns;
	for (unsigned int i = 0; i < KL_LOCK_BUCKETS; i++)
		to->bucket[i] += of->bucket[i];
}

static int finish(struct kl_locks *locks, struct pending *pending, uint64_t ns, bool ended,
		  bool failed)
{
	const uint64_t lasted = ns > pending->since_ns ? ns - pending->since_ns : 0;
	struct kl_lock_sum one = {
		.waits = 1, .unfinished = !ended, .failed = failed, .ns = lasted, .worst_ns = lasted
	};
	size_t before = locks->waits.n;
	int64_t number = kl_profile_list_add(&locks->waits, &pending->wait);
	struct kl_lock_sum *grown;

	if (number < 0)
		return (int)number;
	if (locks->waits.n > before) {
		grown = kl_array_grow(locks->sum, before, &locks->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		locks->sum = grown;
		locks->sum[before] = (struct kl_lock_sum){ 0 };
	}
	one.bucket[bucket_of(lasted)] = 1;
	add_sum(&locks->sum[number], &one);
	locks->counts.waits++;
	locks->counts.ns += lasted;
	pending->open = false;
	return 0;
}

static int end(struct kl_locks *locks, const struct kl_event *event)
{
	struct pending *pending = pending_of(locks, event, kl_lock_field(event, locks->end_lock));

	if (!pending)
		return -ENOMEM;
	if (pending->open)
		return finish(locks, pending, event->ns, true, kl_lock_field(event, locks->ret));
	locks->counts.unpaired++;
	return 0;
}

int kl_locks_add(struct kl_locks *locks, const struct kl_event *event)
{
	int error = learn_names(locks, event);

	if (!locks->counts.first_ns)
		locks->counts.first_ns = event->ns;
	locks->counts.last_ns = event->ns;
	if (!error && event->event_class == locks->begin)
		error = begin(locks, event);
	else if (!error && event->event_class == locks->end)
		error = end(locks, event);
	return error;
}

void kl_locks_add_loss(struct kl_locks *locks)
{
	struct pending *pending = NULL;

	while ((pending = kl_hash_next(&locks->pending, pending))) {
		locks->counts.dropped += pending->open;
		pending->open = false;
	}
}

/* The trace has ended: waits in progress took at least until then. */
static int finish_all(struct kl_locks *locks)
{
	struct pending *pending = NULL;
	int error = 0;

	while (!error && (pending = kl_hash_next(&locks->pending, pending)))
		if (pending->open)
			error = finish(locks, pending, locks->counts.last_ns, false, false);
	return error;
}

const struct kl_locks_counts *kl_locks_counts(struct kl_locks *locks)
{
	finish_all(locks);
	return &locks->counts;
}

/* ---------------------------------------------------------------------- rows */

/* Locks are the same if their address is; without it, only their type is known. */
static uint64_t key_of(const struct wait *wait, enum kl_lock_key by)
{
	switch (by) {
	case KL_LOCKS_BY_LOCK:
		return wait->address ? wait->address : wait->type;
	case KL_LOCKS_BY_TYPE:
		return wait->type;
	case KL_LOCKS_BY_FUNCTION:
		return (uintptr_t)wait->function;
	case KL_LOCKS_BY_PROCESS:
		return (uint32_t)wait->pid;
	case KL_LOCKS_BY_OWNER:
		return (uint32_t)wait->owner;
	default:
		return wait->stack;
	}
}

static const char *comm_of(struct kl_locks *locks, int32_t tid)
{
	struct name *entry = tid ? kl_hash_get(&locks->comms, (uint64_t)(uint32_t)tid + 1) : NULL;

	return entry ? entry->name : NULL;
}

static void describe(struct kl_locks *locks, struct kl_lock_row *row, const struct wait *wait,
		     enum kl_lock_key by)
{
	const struct kl_address *named;

	row->type = wait->type;
	switch (by) {
	case KL_LOCKS_BY_LOCK:
		named = kl_addresses_get(kl_schema_addresses(locks->schema), wait->address);
		row->address = wait->address;
		row->name = named ? named->symbol : NULL;
		break;
	case KL_LOCKS_BY_FUNCTION:
	case KL_LOCKS_BY_STACK:
		row->name = wait->function;
		break;
	case KL_LOCKS_BY_PROCESS:
		row->id = wait->pid;
		row->name = comm_of(locks, wait->pid) ?: comm_of(locks, wait->tid);
		break;
	case KL_LOCKS_BY_OWNER:
		row->id = wait->owner;
		row->name = comm_of(locks, wait->owner);
		break;
	default:
		break;
	}
}

/* The row of a key, which may be new; @keys numbers them. Returns NULL if memory is short. */
static struct kl_lock_row *row_of(struct kl_profile_list *keys, struct kl_lock_row **rows,
				  size_t *room, uint64_t key)
{
	const size_t before = keys->n;
	int64_t number = kl_profile_list_add(keys, &key);
	struct kl_lock_row *grown;

	if (number < 0)
		return NULL;
	if (keys->n > before) {
		grown = kl_array_grow(*rows, before, room, sizeof(*grown));
		if (!grown)
			return NULL;
		*rows = grown;
		grown[before] = (struct kl_lock_row){ .key = key };
	}
	return &(*rows)[number];
}

static int longest_first(const void *left, const void *right)
{
	const struct kl_lock_row *a = left, *b = right;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns < b->sum.ns ? 1 : -1;
	return (a->sum.waits < b->sum.waits) - (a->sum.waits > b->sum.waits);
}

struct kl_lock_row *kl_locks_rows(struct kl_locks *locks, enum kl_lock_key by,
				  enum kl_lock_key within, uint64_t key, size_t *n)
{
	struct kl_profile_list keys = { .size = sizeof(uint64_t) };
	struct kl_lock_row *rows = NULL, *row = NULL;
	size_t room = 0;
	int error = finish_all(locks);

	for (size_t i = 0; i < locks->waits.n && !error; i++) {
		const struct wait *wait = (const struct wait *)locks->waits.element + i;

		if (within != KL_LOCKS_KEYS && key_of(wait, within) != key)
			continue;
		row = row_of(&keys, &rows, &room, key_of(wait, by));
		if (!row) {
			error = -ENOMEM;
			break;
		}
		if (!row->sum.waits)
			describe(locks, row, wait, by);
		add_sum(&row->sum, &locks->sum[i]);
	}
	*n = keys.n;
	kl_profile_list_deinit(&keys);
	if (error) {
		*n = 0;
		free(rows);
		errno = ENOMEM;
		return NULL;
	}
	errno = 0;
	if (*n)
		qsort(rows, *n, sizeof(*rows), longest_first);
	return rows;
}

const char *kl_lock_type_name(enum kl_lock_type type, bool access)
{
	static const char *const names[][2] = {
		[KL_LOCK_SPIN] = { "spinlock", "spinlock" },
		[KL_LOCK_RWLOCK_READ] = { "rwlock", "rwlock, read" },
		[KL_LOCK_RWLOCK_WRITE] = { "rwlock", "rwlock, write" },
		[KL_LOCK_MUTEX] = { "mutex", "mutex" },
		[KL_LOCK_RWSEM_READ] = { "rwsem", "rwsem, read" },
		[KL_LOCK_RWSEM_WRITE] = { "rwsem", "rwsem, write" },
		[KL_LOCK_RTMUTEX] = { "rtmutex", "rtmutex" },
		[KL_LOCK_PERCPU_READ] = { "percpu-rwsem", "percpu-rwsem, read" },
		[KL_LOCK_PERCPU_WRITE] = { "percpu-rwsem", "percpu-rwsem, write" },
		[KL_LOCK_SEMAPHORE] = { "semaphore", "semaphore" },
	};

	return names[type][access];
}
