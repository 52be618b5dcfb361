// SPDX-License-Identifier: GPL-2.0
/*
 * Waits of programs for their own locks: the system call futex, whose user stack trace says what
 * the program waits for.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#include <kernlens/internal.h>
#include <kernlens/stack.h>
#include "../../base/base.h"
#include "../values.h"
#include "collect.h"

/* A task is in one system call at a time. */
#define THE_CALL 1

/* The word of a glibc lock that tasks wait for. */
#define CONTENDED 2

/* Key: hash of the futex. */
struct released {
	uint64_t key;
	uint64_t ns;
	int32_t tid;
};

/*
 * Functions of libraries that wait, by how their names begin, without underscores and "GI_", and by
 * a part of the rest.
 */
static const struct {
	const char *begins;
	const char *has;
	enum kl_lock_type type; /* KL_LOCK_FUTEX: another frame says it */
} functions[] = {
	{ "lll_lock_wait_private", "", KL_LOCK_LIBC },
	{ "lll_", "", KL_LOCK_FUTEX },
	{ "futex_", "", KL_LOCK_FUTEX },
	{ "syscall", "", KL_LOCK_FUTEX },
	{ "pthread_mutex_", "", KL_LOCK_PTHREAD_MUTEX },
	{ "pthread_rwlock_", "rd", KL_LOCK_PTHREAD_READ },
	{ "pthread_rwlock_", "wr", KL_LOCK_PTHREAD_WRITE },
	{ "pthread_cond_", "", KL_LOCK_CONDITION },
	{ "pthread_barrier_", "", KL_LOCK_BARRIER },
	{ "pthread_", "join", KL_LOCK_THREAD },
	{ "pthread_once", "", KL_LOCK_CONDITION },
	{ "new_sem_", "", KL_LOCK_POSIX_SEMAPHORE },
	{ "sem_", "", KL_LOCK_POSIX_SEMAPHORE },
	{ "gthread_", "", KL_LOCK_FUTEX },
	{ "std::", "futex::Mutex", KL_LOCK_RUST_MUTEX },
	{ "std::", "RwLock>::read", KL_LOCK_RUST_READ },
	{ "std::", "RwLock::read", KL_LOCK_RUST_READ },
	{ "std::", "RwLock>::write", KL_LOCK_RUST_WRITE },
	{ "std::", "RwLock::write", KL_LOCK_RUST_WRITE },
	{ "std::", "Condvar", KL_LOCK_CONDITION },
	{ "std::", "Parker", KL_LOCK_CONDITION },
	{ "std::", "Once", KL_LOCK_CONDITION },
	{ "std::", "thread::join", KL_LOCK_THREAD },
	{ "std::", "condition_variable", KL_LOCK_CONDITION },
	{ "std::", "atomic_futex", KL_LOCK_CONDITION },
	{ "std::", "", KL_LOCK_FUTEX },
};

bool kl_futexes_init(struct kl_locks *locks)
{
	struct kl_futexes *futexes = &locks->futexes;

	futexes->entry = kl_schema_find(locks->schema, "syscall_entry_futex");
	futexes->exit = kl_schema_find(locks->schema, "syscall_exit_futex");
	if (!futexes->entry || !futexes->exit)
		return false;
	futexes->address = kl_class_field(futexes->entry, "uaddr");
	futexes->op = kl_class_field(futexes->entry, "op");
	futexes->value = kl_class_field(futexes->entry, "val");
	futexes->other = kl_class_field(futexes->entry, "uaddr2");
	futexes->ret = kl_class_field(futexes->exit, "ret");
	futexes->released.size = sizeof(struct released);
	return true;
}

/* -------------------------------------------------------------- stack traces */

/* A method of Rust begins with the type, as "<std::sync::Mutex<u64>>::lock". */
static const char *plain_name(const struct kl_frame *frame)
{
	const char *name = frame->name ?: frame->symbol;

	name += strspn(name, "_<");
	return strncmp(name, "GI_", 3) ? name : name + 3 + strspn(name + 3, "_");
}

static bool begins_with(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool is_glibc(const struct kl_frame *frame)
{
	const char *file = frame->object ? strrchr(frame->object, '/') : NULL;

	return file && (begins_with(file, "/libc.so.6") || begins_with(file, "/libc-2.") ||
			begins_with(file, "/libpthread"));
}

/* Is a function part of waiting? Then notes what it waits for, if it says so. */
static bool is_inner(const struct kl_frame *frame, struct kl_lock_name *note)
{
	const bool glibc = is_glibc(frame);
	const char *name;

	if (!frame->symbol) {
		note->glibc |= glibc;
		return glibc;
	}
	name = plain_name(frame);
	for (size_t i = 0; i < KL_ARRAY_SIZE(functions); i++) {
		if (!begins_with(name, functions[i].begins) ||
		    !strstr(name + strlen(functions[i].begins), functions[i].has))
			continue;
		if (note->type == KL_LOCK_FUTEX)
			note->type = functions[i].type;
		note->glibc |= glibc;
		return true;
	}
	return false;
}

/* --------------------------------------------------------------------- calls */

static int32_t space_of(const struct kl_event *event, uint64_t op)
{
	return op & FUTEX_PRIVATE_FLAG ? event->task.pid : 0;
}

static struct released *released_of(struct kl_futexes *futexes, int32_t space, uint64_t address)
{
	uint64_t key = kl_hash_bytes(KL_HASH_START, &space, sizeof(space));

	key = kl_hash_bytes(key, &address, sizeof(address));
	return kl_hash_get(&futexes->released, key ? key : 1);
}

static int release(struct kl_futexes *futexes, const struct kl_event *event, int32_t space,
		   uint64_t address)
{
	struct released *released = released_of(futexes, space, address);

	if (!released)
		return -ENOMEM;
	released->ns = event->ns;
	released->tid = event->task.tid;
	return 0;
}

/* What a wait is for, if its operation says more than its stack trace. */
static enum kl_lock_type refine(struct kl_locks *locks, const struct kl_event *event,
				enum kl_lock_type type, uint64_t op)
{
	const uint64_t value = kl_field_of(event, locks->futexes.value);
	const bool plain = (op & FUTEX_CMD_MASK) == FUTEX_WAIT;

	/* A condition is waited for with another operation; then its mutex is taken again. */
	if (type == KL_LOCK_CONDITION && plain && value == CONTENDED)
		return KL_LOCK_PTHREAD_MUTEX;
	if (type != KL_LOCK_FUTEX)
		return type;
	if ((op & FUTEX_CMD_MASK) == FUTEX_LOCK_PI || (op & FUTEX_CMD_MASK) == FUTEX_LOCK_PI2)
		return KL_LOCK_PTHREAD_MUTEX;
	/* The kernel clears the word with a thread's ID when it exits, and wakes. */
	if (!(op & FUTEX_PRIVATE_FLAG) && kl_locks_comm(locks, (int32_t)value))
		return KL_LOCK_THREAD;
	return type;
}

static int begin(struct kl_locks *locks, const struct kl_event *event, uint64_t address,
		 uint64_t op)
{
	struct kl_lock_pending *pending = kl_locks_pending(locks, event, THE_CALL);
	const struct kl_lock_name *function;
	struct kl_lock_wait *wait;

	if (!pending)
		return -ENOMEM;
	kl_locks_begin(pending, event, address);
	pending->word = address;
	wait = &pending->wait;
	wait->space = space_of(event, op);
	wait->stack = (uint32_t)kl_variable_of(event, locks->ustack);
	function = kl_locks_function(locks, wait->stack, is_inner);
	if (!function)
		return -ENOMEM;
	wait->function = function->name;
	wait->type = refine(locks, event, function->type, op);
	/* Its rwlocks are waited for at two words, 8 and 12 bytes from the start. */
	if (function->glibc &&
	    (wait->type == KL_LOCK_PTHREAD_READ || wait->type == KL_LOCK_PTHREAD_WRITE))
		wait->address -= wait->address % 8 ? 12 : 8;
	return 0;
}

static int enter(struct kl_locks *locks, const struct kl_event *event)
{
	struct kl_futexes *futexes = &locks->futexes;
	const uint64_t op = kl_field_of(event, futexes->op);
	const uint64_t address = kl_field_of(event, futexes->address);
	const int32_t space = space_of(event, op);
	int error;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return begin(locks, event, address, op);
	case FUTEX_WAKE_OP:
		error = release(futexes, event, space, kl_field_of(event, futexes->other));
		return error ?: release(futexes, event, space, address);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_UNLOCK_PI:
		return release(futexes, event, space, address);
	default:
		return 0;
	}
}

static int leave(struct kl_locks *locks, const struct kl_event *event)
{
	const int64_t ret = (int64_t)kl_field_of(event, locks->futexes.ret);
	struct kl_lock_pending *pending = kl_locks_pending(locks, event, THE_CALL);
	const struct released *released;

	if (!pending)
		return -ENOMEM;
	/* Most calls that are not in progress as waits wake. */
	if (!pending->open)
		return 0;
	/* The word had changed before the task could wait for it. */
	if (ret == -EAGAIN) {
		pending->open = false;
		return 0;
	}
	released = released_of(&locks->futexes, pending->wait.space, pending->word);
	if (!released)
		return -ENOMEM;
	if (!ret && released->tid && released->ns >= pending->since_ns)
		pending->wait.owner = released->tid;
	return kl_locks_finish(locks, pending, event->ns, true, ret < 0);
}

int kl_futexes_add(struct kl_locks *locks, const struct kl_event *event)
{
	if (event->event_class == locks->futexes.entry)
		return enter(locks, event);
	return event->event_class == locks->futexes.exit ? leave(locks, event) : 0;
}
