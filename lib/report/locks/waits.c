// SPDX-License-Identifier: GPL-2.0
/* Collects the waits for locks; equal ones are summed up. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/addresses.h>
#include <kernlens/error.h>
#include <kernlens/internal.h>
#include <kernlens/stack.h>
#include "../../base/base.h"
#include "collect.h"

/* ------------------------------------------------------------------ creation */

static void find_naming(struct kl_locks *locks, struct kl_lock_naming *naming, const char *event,
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

struct kl_locks *kl_locks_create(const struct kl_schema *schema, bool conditions)
{
	struct kl_locks *locks = calloc(1, sizeof(*locks));
	bool kernel, programs;

	if (!locks) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	locks->schema = schema;
	locks->conditions = conditions;
	kernel = kl_contention_init(locks);
	programs = kl_futexes_init(locks);
	if (!kernel && !programs) {
		free(locks);
		errno = -kl_fail(ENOENT, "the trace has no waits for locks; record with "
					 "-e contention_begin:stack,contention_end, or with -e "
					 "syscall_entry_futex:stack,syscall_exit_futex");
		return NULL;
	}
	locks->kstack = kl_schema_find_variable(schema, "kstack");
	locks->ustack = kl_schema_find_variable(schema, "ustack");
	find_naming(locks, &locks->naming[0], "lttng_statedump_process_state", "tid", "name");
	find_naming(locks, &locks->naming[1], "sched_process_fork", "child_tid", "child_comm");
	locks->pending.size = sizeof(struct kl_lock_pending);
	locks->comms.size = sizeof(struct kl_lock_name);
	locks->functions.size = sizeof(struct kl_lock_name);
	locks->variables.size = sizeof(struct kl_lock_name);
	locks->classes.size = sizeof(struct kl_lock_class);
	locks->waits.size = sizeof(struct kl_lock_wait);
	return locks;
}

void kl_locks_destroy(struct kl_locks *locks)
{
	if (!locks)
		return;
	kl_hash_deinit(&locks->pending);
	kl_hash_deinit(&locks->comms);
	kl_hash_deinit(&locks->functions);
	kl_hash_deinit(&locks->variables);
	kl_hash_deinit(&locks->classes);
	kl_slabs_close(locks->slabs);
	kl_hash_deinit(&locks->futexes.released);
	kl_program_variables_destroy(locks->programs);
	kl_profile_list_deinit(&locks->waits);
	kl_texts_deinit(&locks->texts);
	free(locks->sum);
	free(locks);
}

/* --------------------------------------------------------------------- names */

static int set_comm(struct kl_locks *locks, int64_t tid, const char *comm)
{
	struct kl_lock_name *entry = kl_hash_get(&locks->comms, (uint64_t)(uint32_t)tid + 1);

	if (!entry)
		return -ENOMEM;
	if (entry->name && !strcmp(entry->name, comm))
		return 0;
	if (kl_texts_keep(&locks->texts, &comm))
		return -ENOMEM;
	entry->name = comm;
	return 0;
}

int kl_locks_learn_names(struct kl_locks *locks, const struct kl_event *event)
{
	int error = event->task.tid ? set_comm(locks, event->task.tid, event->task.comm) : 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(locks->naming) && !error; i++) {
		const struct kl_lock_naming *naming = &locks->naming[i];
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

const struct kl_lock_name *kl_locks_function(struct kl_locks *locks, uint32_t id,
					     kl_locks_inner_fn is_inner)
{
	const struct kl_stack *stack = kl_stacks_get(kl_schema_stacks(locks->schema), id);
	struct kl_lock_name *entry = kl_hash_get(&locks->functions, (uint64_t)id + 1);
	unsigned int i = 0;
	char text[256];

	if (!entry || entry->known)
		return entry;
	entry->type = KL_LOCK_FUTEX;
	while (stack && i < stack->n && is_inner(&stack->frame[i], entry))
		i++;
	if (stack && i < stack->n) {
		entry->name = kl_frame_label(&stack->frame[i], text, sizeof(text));
		if (kl_texts_keep(&locks->texts, &entry->name))
			return NULL;
	}
	entry->known = true;
	return entry;
}

/* --------------------------------------------------------------------- waits */

/* Idle tasks have the same ID. */
struct kl_lock_pending *kl_locks_pending(struct kl_locks *locks, const struct kl_event *event,
					 uint64_t what)
{
	const int64_t who = event->task.tid ? event->task.tid : -1 - (int64_t)event->cpu;
	uint64_t key = kl_hash_bytes(KL_HASH_START, &who, sizeof(who));

	key = kl_hash_bytes(key, &what, sizeof(what));
	return kl_hash_get(&locks->pending, key ? key : 1);
}

void kl_locks_begin(struct kl_lock_pending *pending, const struct kl_event *event, uint64_t lock)
{
	pending->open = true;
	pending->since_ns = event->ns;
	/* Zeros also where the struct has gaps: equal waits are found by their bytes. */
	memset(&pending->wait, 0, sizeof(pending->wait));
	pending->wait.address = lock;
	pending->wait.tid = event->task.tid;
	pending->wait.pid = event->task.pid;
}

unsigned int kl_locks_bucket(uint64_t ns)
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

int kl_locks_finish(struct kl_locks *locks, struct kl_lock_pending *pending, uint64_t ns,
		    bool ended, bool failed)
{
	const uint64_t lasted = ns > pending->since_ns ? ns - pending->since_ns : 0;
	struct kl_lock_sum one = {
		.waits = 1, .unfinished = !ended, .failed = failed, .ns = lasted, .worst_ns = lasted
	};
	void *sums = locks->sum;
	struct kl_lock_sum *sum;

	pending->open = false;
	if (!locks->conditions && kl_lock_is_condition(pending->wait.type)) {
		locks->counts.conditions++;
		locks->counts.conditions_ns += lasted;
		return 0;
	}
	sum = kl_profile_list_value(&locks->waits, &pending->wait, &sums, &locks->room,
				    sizeof(*sum));
	locks->sum = sums;
	if (!sum)
		return -ENOMEM;
	one.bucket[kl_locks_bucket(lasted)] = 1;
	add_sum(sum, &one);
	locks->counts.waits++;
	locks->counts.ns += lasted;
	return 0;
}

int kl_locks_add(struct kl_locks *locks, const struct kl_event *event)
{
	int error = kl_locks_learn_names(locks, event);

	if (!locks->counts.first_ns)
		locks->counts.first_ns = event->ns;
	locks->counts.last_ns = event->ns;
	error = error ?: kl_contention_add(locks, event);
	return error ?: kl_futexes_add(locks, event);
}

void kl_locks_add_loss(struct kl_locks *locks)
{
	struct kl_lock_pending *pending = NULL;

	while ((pending = kl_hash_next(&locks->pending, pending))) {
		locks->counts.dropped += pending->open;
		pending->open = false;
	}
}

/* The trace has ended: waits in progress took at least until then. */
static int finish_all(struct kl_locks *locks)
{
	struct kl_lock_pending *pending = NULL;
	int error = 0;

	while (!error && (pending = kl_hash_next(&locks->pending, pending)))
		if (pending->open)
			error = kl_locks_finish(locks, pending, locks->counts.last_ns, false,
						false);
	return error;
}

const struct kl_locks_counts *kl_locks_counts(struct kl_locks *locks)
{
	finish_all(locks);
	return &locks->counts;
}

/* ---------------------------------------------------------------------- rows */

/* Locks of two processes may be at the same address; without one, only their type is known. */
static uint64_t key_of_lock(const struct kl_lock_wait *wait)
{
	const uint64_t what = wait->address ? wait->address : wait->type;

	return wait->space ? kl_hash_bytes(what, &wait->space, sizeof(wait->space)) : what;
}

const char *kl_locks_comm(struct kl_locks *locks, int32_t tid)
{
	struct kl_lock_name *entry = tid ? kl_hash_get(&locks->comms, (uint64_t)(uint32_t)tid + 1) :
					   NULL;

	return entry ? entry->name : NULL;
}

/* The variable that is a program's lock or contains it, or NULL. */
static const char *program_variable(struct kl_locks *locks, const struct kl_lock_wait *wait)
{
	const struct kl_stack *stack = kl_stacks_get(kl_schema_stacks(locks->schema), wait->stack);
	const uint64_t key = key_of_lock(wait);
	struct kl_lock_name *entry = kl_hash_get(&locks->variables, key ? key : 1);
	struct kl_buffer name = { 0 };

	if (!entry || entry->known || !stack)
		return entry ? entry->name : NULL;
	entry->known = true;
	if (!locks->programs)
		locks->programs = kl_program_variables_create();
	if (!locks->programs ||
	    !kl_program_variables_name(locks->programs, stack, wait->address, &name))
		return NULL;
	entry->name = name.data;
	if (name.error || kl_texts_keep(&locks->texts, &entry->name))
		entry->name = NULL;
	kl_buffer_deinit(&name);
	return entry->name;
}

/* Structs and typedefs that locks of a type are. */
static const char *structs_of(enum kl_lock_type type)
{
	switch (type) {
	case KL_LOCK_SPIN:
		return "spinlock,raw_spinlock";
	case KL_LOCK_RWLOCK_READ:
	case KL_LOCK_RWLOCK_WRITE:
		return "rwlock_t";
	case KL_LOCK_MUTEX:
		return "mutex";
	case KL_LOCK_RWSEM_READ:
	case KL_LOCK_RWSEM_WRITE:
		return "rw_semaphore";
	case KL_LOCK_RTMUTEX:
		return "rt_mutex,rt_mutex_base";
	case KL_LOCK_PERCPU_READ:
	case KL_LOCK_PERCPU_WRITE:
		return "percpu_rw_semaphore";
	default:
		return "semaphore";
	}
}

static const char *kernel_symbol(const struct kl_locks *locks, const struct kl_lock_wait *wait)
{
	const struct kl_address *named =
		kl_addresses_get(kl_schema_addresses(locks->schema), wait->address);

	return named ? named->symbol : NULL;
}

/* Look up what a lock is, once; the first wait for it also says where it was taken first. */
static int find_class(struct kl_locks *locks, struct kl_lock_class *c,
		      const struct kl_lock_wait *wait)
{
	const bool program = kl_lock_is_program(wait->type);
	struct kl_buffer text = { 0 };
	int error;

	c->known = true;
	c->label = program ? program_variable(locks, wait) : kernel_symbol(locks, wait);
	if (!c->label && !program && locks->slabs &&
	    kl_slabs_name(locks->slabs, wait->address, structs_of(wait->type), &text)) {
		c->label = text.data;
		c->member = text.data;
	} else if (!c->label) {
		kl_buffer_printf(&text, "first taken in %s",
				 wait->function ? wait->function : "an unknown function");
		c->label = text.data;
	}
	error = text.error ? -ENOMEM : kl_texts_keep(&locks->texts, &c->label);
	if (c->member)
		c->member = c->label;
	kl_buffer_deinit(&text);
	return error;
}

/* What a lock is one of; if memory is short, it is nothing. */
static const struct kl_lock_class *class_of(struct kl_locks *locks, const struct kl_lock_wait *wait)
{
	static const struct kl_lock_class unknown;
	const uint64_t key = key_of_lock(wait);
	struct kl_lock_class *c = kl_hash_get(&locks->classes, key ? key : 1);

	if (!c || (!c->known && find_class(locks, c, wait)))
		return &unknown;
	return c;
}

void kl_locks_use_memory(struct kl_locks *locks)
{
	if (locks->slabs)
		return;
	locks->slabs = kl_slabs_open();
	if (!locks->slabs)
		kl_error_clear();
}

uint64_t kl_locks_key_of(struct kl_locks *locks, const struct kl_lock_wait *wait,
			 enum kl_lock_key by)
{
	switch (by) {
	case KL_LOCKS_BY_LOCK:
		return key_of_lock(wait);
	case KL_LOCKS_BY_TYPE:
		return wait->type;
	case KL_LOCKS_BY_FUNCTION:
		return (uintptr_t)wait->function;
	case KL_LOCKS_BY_PROCESS:
		return (uint32_t)wait->pid;
	case KL_LOCKS_BY_OWNER:
		return (uint32_t)wait->owner;
	case KL_LOCKS_BY_CLASS:
		return (uintptr_t)class_of(locks, wait)->label;
	default:
		return wait->stack;
	}
}

static void describe_lock(struct kl_locks *locks, struct kl_lock_row *row,
			  const struct kl_lock_wait *wait)
{
	row->address = wait->address;
	row->id = wait->space;
	if (kl_lock_is_program(wait->type)) {
		row->name = program_variable(locks, wait);
		return;
	}
	row->name = kernel_symbol(locks, wait);
	row->member = class_of(locks, wait)->member;
}

void kl_locks_describe(struct kl_locks *locks, struct kl_lock_row *row,
		       const struct kl_lock_wait *wait, enum kl_lock_key by)
{
	row->key = kl_locks_key_of(locks, wait, by);
	row->type = wait->type;
	switch (by) {
	case KL_LOCKS_BY_LOCK:
		describe_lock(locks, row, wait);
		break;
	case KL_LOCKS_BY_CLASS:
		row->name = class_of(locks, wait)->label;
		break;
	case KL_LOCKS_BY_FUNCTION:
	case KL_LOCKS_BY_STACK:
		row->name = wait->function;
		break;
	case KL_LOCKS_BY_PROCESS:
		row->id = wait->pid;
		row->name = kl_locks_comm(locks, wait->pid) ?: kl_locks_comm(locks, wait->tid);
		break;
	case KL_LOCKS_BY_OWNER:
		row->id = wait->owner;
		row->name = kl_locks_comm(locks, wait->owner);
		break;
	default:
		break;
	}
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
	struct kl_lock_row *row;
	void *rows = NULL;
	size_t room = 0;
	int error = finish_all(locks);

	for (size_t i = 0; i < locks->waits.n && !error; i++) {
		const struct kl_lock_wait *wait =
			(const struct kl_lock_wait *)locks->waits.element + i;
		uint64_t group;

		if (within != KL_LOCKS_KEYS && kl_locks_key_of(locks, wait, within) != key)
			continue;
		group = kl_locks_key_of(locks, wait, by);
		row = kl_profile_list_value(&keys, &group, &rows, &room, sizeof(*row));
		if (!row) {
			error = -ENOMEM;
			break;
		}
		if (!row->sum.waits)
			kl_locks_describe(locks, row, wait, by);
		add_sum(&row->sum, &locks->sum[i]);
	}
	*n = keys.n;
	kl_profile_list_deinit(&keys);
	return kl_locks_sort_rows(rows, n, sizeof(*row), error, longest_first);
}

void *kl_locks_sort_rows(void *rows, size_t *n, size_t bytes, int error,
			 int (*compare)(const void *, const void *))
{
	errno = 0;
	if (error) {
		*n = 0;
		free(rows);
		errno = ENOMEM;
		return NULL;
	}
	if (*n)
		qsort(rows, *n, bytes, compare);
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
		[KL_LOCK_FUTEX] = { "futex", "futex" },
		[KL_LOCK_LIBC] = { "lock of libc", "lock of libc" },
		[KL_LOCK_PTHREAD_MUTEX] = { "pthread mutex", "pthread mutex" },
		[KL_LOCK_PTHREAD_READ] = { "pthread rwlock", "pthread rwlock, read" },
		[KL_LOCK_PTHREAD_WRITE] = { "pthread rwlock", "pthread rwlock, write" },
		[KL_LOCK_RUST_MUTEX] = { "Rust mutex", "Rust mutex" },
		[KL_LOCK_RUST_READ] = { "Rust rwlock", "Rust rwlock, read" },
		[KL_LOCK_RUST_WRITE] = { "Rust rwlock", "Rust rwlock, write" },
		[KL_LOCK_POSIX_SEMAPHORE] = { "POSIX semaphore", "POSIX semaphore" },
		[KL_LOCK_CONDITION] = { "condition", "condition" },
		[KL_LOCK_BARRIER] = { "barrier", "barrier" },
		[KL_LOCK_THREAD] = { "end of a thread", "end of a thread" },
	};

	return names[type][access];
}

bool kl_lock_is_program(enum kl_lock_type type)
{
	return type >= KL_LOCK_FUTEX;
}

bool kl_lock_is_condition(enum kl_lock_type type)
{
	return type >= KL_LOCK_CONDITION;
}
