// SPDX-License-Identifier: GPL-2.0
/* Follows which task or CPU waits for which lock, and holds it. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../../base/base.h"
#include "holds.h"

/* A context may take a lock again in an interrupt before it has it, or read it twice. */
#define NESTED_MAX 2

/* ------------------------------------------------------------------- what is open */

static bool conflicts(const struct kl_hold *hold, enum kl_lock_type type)
{
	return !kl_lock_type_reads(hold->what.type) || !kl_lock_type_reads(type);
}

/* The last attempt of a context to take the lock for reading, or for writing. */
static struct kl_hold *find_own(const struct kl_held_lock *lock, int64_t who,
				enum kl_lock_type type)
{
	struct kl_hold *hold = lock->open;

	while (hold && (hold->who != who ||
			kl_lock_type_reads(hold->what.type) != kl_lock_type_reads(type)))
		hold = hold->next;
	return hold;
}

static unsigned int count_own(const struct kl_held_lock *lock, int64_t who)
{
	unsigned int n = 0;

	for (const struct kl_hold *hold = lock->open; hold; hold = hold->next)
		n += hold->who == who;
	return n;
}

static void remove_hold(struct kl_lock_holds *holds, struct kl_held_lock *lock,
			struct kl_hold *hold)
{
	struct kl_hold **at = &lock->open;

	while (*at != hold)
		at = &(*at)->next;
	*at = hold->next;
	hold->next = holds->spare;
	holds->spare = hold;
}

static struct kl_hold *add_hold(struct kl_lock_holds *holds, struct kl_held_lock *lock)
{
	struct kl_hold *hold = holds->spare;

	if (hold)
		holds->spare = hold->next;
	else
		hold = malloc(sizeof(*hold));
	if (!hold) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	*hold = (struct kl_hold){ .next = lock->open };
	lock->open = hold;
	return hold;
}

/* ----------------------------------------------------------------------- counting */

static int count_failed(struct kl_lock_holds *holds, const struct kl_hold *hold)
{
	const struct kl_lock_hold_sum one = { .failed = 1 };

	return hold->hidden ? 0 : kl_hold_count(holds, &hold->what, &one);
}

/* Its end was not seen: of a try, it is not even known whether it had the lock. */
static int count_unknown(struct kl_lock_holds *holds, const struct kl_hold *hold)
{
	const struct kl_lock_hold_sum one = { .taken = 1, .unknown = 1 };

	if (hold->tries)
		return count_failed(holds, hold);
	return hold->hidden ? 0 : kl_hold_count(holds, &hold->what, &one);
}

/*
 * When the holder has got the lock: at once, at the end of its wait, or when another one that
 * excludes it has released it after it wanted it.
 */
static uint64_t acquired_ns(const struct kl_held_lock *lock, const struct kl_hold *hold)
{
	uint64_t released_ns = kl_lock_type_reads(hold->what.type) ? lock->write_released_ns :
								     lock->released_ns;

	if (hold->got_ns)
		return hold->got_ns;
	return !hold->tries && released_ns > hold->since_ns ? released_ns : hold->since_ns;
}

/* The one who had the lock before still seems to have it: its release was not seen. */
static bool is_owner_unsure(const struct kl_held_lock *lock, const struct kl_hold *hold)
{
	for (const struct kl_hold *other = lock->open; other; other = other->next)
		if (other != hold && other->what.tid == hold->owner &&
		    other->what.stack == hold->owner_stack && other->since_ns < hold->since_ns)
			return true;
	return false;
}

static int count_hold(struct kl_lock_holds *holds, const struct kl_held_lock *lock,
		      const struct kl_hold *hold, uint64_t ns)
{
	const uint64_t acquired = acquired_ns(lock, hold), waited = acquired - hold->since_ns;
	const bool contended = hold->begun || waited;
	const bool unsure = is_owner_unsure(lock, hold);
	const struct kl_hold_pair pair = {
		.address = hold->what.address,
		.type = hold->what.type,
		.stack = hold->what.stack,
		.owner_stack = unsure ? 0 : hold->owner_stack,
		.owner = unsure ? 0 : hold->owner,
	};
	const uint64_t held = ns > acquired ? ns - acquired : 0;
	struct kl_lock_hold_sum one = {
		.taken = 1,
		.contended = contended,
		.waited_ns = contended ? waited : 0,
		.worst_wait_ns = contended ? waited : 0,
		.held_ns = held,
		.worst_held_ns = held,
	};
	int error;

	if (hold->hidden)
		return 0;
	one.held[kl_locks_bucket(held)] = 1;
	if (contended)
		one.wait[kl_locks_bucket(waited)] = 1;
	error = kl_hold_count(holds, &hold->what, &one);
	return error || !contended ? error : kl_hold_count_pair(holds, &pair, waited);
}

/* ------------------------------------------------------------------------- taking */

/* A task that holds a spinlock keeps its CPU: if another one runs there, it has released it. */
static bool is_of_other_task(const struct kl_hold *hold, const struct kl_hold_event *e)
{
	return hold->who == e->who && e->who >= KL_HOLD_CPUS && hold->releaser != e->what.tid;
}

static int settle_other_tasks(struct kl_lock_holds *holds, struct kl_held_lock *lock,
			      const struct kl_hold_event *e)
{
	struct kl_hold *hold = lock->open, *next;
	int error = 0;

	for (; hold && !error; hold = next) {
		next = hold->next;
		if (!is_of_other_task(hold, e))
			continue;
		error = count_unknown(holds, hold);
		remove_hold(holds, lock, hold);
	}
	return error;
}

/* Earlier attempts of this context: a try that it repeats has failed. */
static int settle_own(struct kl_lock_holds *holds, struct kl_held_lock *lock,
		      const struct kl_hold_event *e)
{
	int error = settle_other_tasks(holds, lock, e);
	struct kl_hold *hold = find_own(lock, e->who, e->call->type), *oldest = NULL;

	if (error)
		return error;
	if (hold && hold->tries) {
		error = count_failed(holds, hold);
		remove_hold(holds, lock, hold);
	}
	if (error || count_own(lock, e->who) < NESTED_MAX)
		return error;
	for (hold = lock->open; hold; hold = hold->next)
		oldest = hold->who == e->who ? hold : oldest;
	error = count_unknown(holds, oldest);
	remove_hold(holds, lock, oldest);
	return error;
}

int kl_hold_take(struct kl_lock_holds *holds, const struct kl_hold_event *e)
{
	struct kl_held_lock *lock = kl_hash_get(&holds->held, e->what.address);
	const struct kl_hold *other;
	struct kl_hold *hold;
	int error = lock ? settle_own(holds, lock, e) : -ENOMEM;

	if (error)
		return error;
	for (other = lock->open; other; other = other->next)
		if (other->has && other->who != e->who && conflicts(other, e->call->type))
			break;
	hold = add_hold(holds, lock);
	if (!hold)
		return -ENOMEM;
	hold->who = e->who;
	hold->what = e->what;
	hold->releaser = e->what.tid;
	hold->since_ns = e->ns;
	hold->tries = !kl_lock_call_waits(e->call);
	hold->has = !other;
	hold->hidden = e->hidden;
	if (other) {
		hold->owner = other->what.tid;
		hold->owner_stack = other->what.stack;
	}
	return 0;
}

/* ------------------------------------------------------------------------ waiting */

/* The last attempt of a thread or of its CPU; NULL: it was not seen. */
static struct kl_hold *find_waiting(const struct kl_lock_holds *holds, uint64_t address,
				    const struct kl_event *event)
{
	const struct kl_held_lock *lock = kl_hash_find(&holds->held, address);
	struct kl_hold *hold = lock ? lock->open : NULL;
	const int64_t cpu = KL_HOLD_CPUS + event->cpu;

	while (hold && (hold->tries || (hold->who != cpu && hold->who != event->task.tid)))
		hold = hold->next;
	return hold;
}

void kl_hold_wait(struct kl_lock_holds *holds, uint64_t address, const struct kl_event *event,
		  int32_t owner)
{
	struct kl_hold *hold = find_waiting(holds, address, event);

	if (!hold || hold->got_ns)
		return;
	hold->begun = true;
	hold->has = false;
	if (!hold->owner)
		hold->owner = owner;
}

/*
 * @hold has, or had, the lock, so those that exclude it do not have it: a try has failed, and
 * others wait, or have released it where this was not seen.
 */
static int exclude_others(struct kl_lock_holds *holds, struct kl_held_lock *lock,
			  const struct kl_hold *hold)
{
	struct kl_hold *other = lock->open, *next;
	int error = 0;

	for (; other && !error; other = next) {
		next = other->next;
		if (other == hold || !conflicts(other, hold->what.type))
			continue;
		other->has = false;
		if (!other->tries)
			continue;
		error = count_failed(holds, other);
		remove_hold(holds, lock, other);
	}
	return error;
}

int kl_hold_waited(struct kl_lock_holds *holds, uint64_t address, const struct kl_event *event,
		   bool failed)
{
	struct kl_hold *hold = find_waiting(holds, address, event);
	struct kl_held_lock *lock = hold ? kl_hash_find(&holds->held, address) : NULL;
	int error;

	if (!hold || !hold->begun || hold->got_ns)
		return 0;
	if (!failed) {
		hold->got_ns = event->ns;
		hold->has = true;
		return exclude_others(holds, lock, hold);
	}
	error = count_failed(holds, hold);
	remove_hold(holds, lock, hold);
	if (!lock->open)
		kl_hash_remove(&holds->held, address);
	return error;
}

/* ---------------------------------------------------------------------- releasing */

/* The one that has waited longest gets it. Where this is not so, the end of a wait says who has. */
static void pass_on(struct kl_held_lock *lock)
{
	struct kl_hold *oldest = NULL;

	for (struct kl_hold *hold = lock->open; hold; hold = hold->next) {
		if (hold->has)
			return;
		oldest = hold->tries ? oldest : hold;
	}
	if (oldest)
		oldest->has = true;
}

/* From writing to reading: the same task takes it again at once. */
static int downgrade(struct kl_held_lock *lock, struct kl_hold *hold, uint64_t ns)
{
	lock->released_ns = ns;
	lock->write_released_ns = ns;
	hold->what.type = KL_LOCK_RWSEM_READ;
	hold->since_ns = ns;
	hold->got_ns = ns;
	hold->begun = false;
	hold->tries = false;
	hold->has = true;
	return 0;
}

int kl_hold_release(struct kl_lock_holds *holds, const struct kl_hold_event *e)
{
	struct kl_held_lock *lock = kl_hash_find(&holds->held, e->what.address);
	struct kl_hold *hold;
	int error = lock ? settle_other_tasks(holds, lock, e) : 0;

	hold = lock ? find_own(lock, e->who, e->call->type) : NULL;
	if (error || !hold) {
		holds->counts.unpaired += !e->hidden;
		return error;
	}
	error = count_hold(holds, lock, hold, e->ns);
	if (!error)
		error = exclude_others(holds, lock, hold);
	if (error)
		return error;
	if (e->call->operation == KL_LOCK_DOWNGRADE)
		return downgrade(lock, hold, e->ns);
	lock->released_ns = e->ns;
	if (!kl_lock_type_reads(e->call->type))
		lock->write_released_ns = e->ns;
	remove_hold(holds, lock, hold);
	if (lock->open)
		pass_on(lock);
	else
		kl_hash_remove(&holds->held, e->what.address);
	return 0;
}

/* A lock that has been passed on before has been released since then, where this was not seen. */
static int pass_lock(struct kl_lock_holds *holds, struct kl_held_lock *lock, int64_t who,
		     int32_t next_tid)
{
	struct kl_hold *hold = lock->open, *next;
	int error = 0;

	for (; hold && !error; hold = next) {
		next = hold->next;
		if (hold->who != who)
			continue;
		if (!hold->passed) {
			hold->passed = true;
			hold->releaser = next_tid;
			continue;
		}
		error = count_unknown(holds, hold);
		remove_hold(holds, lock, hold);
	}
	return error;
}

int kl_hold_pass(struct kl_lock_holds *holds, uint32_t cpu, int32_t next_tid)
{
	struct kl_held_lock *lock = NULL;
	int error = 0;

	while (!error && (lock = kl_hash_next(&holds->held, lock)))
		error = pass_lock(holds, lock, KL_HOLD_CPUS + cpu, next_tid);
	return error;
}

int kl_hold_forget(struct kl_lock_holds *holds, bool count)
{
	struct kl_held_lock *lock = NULL;
	int error = 0;

	while ((lock = kl_hash_next(&holds->held, lock)))
		while (lock->open) {
			if (count && !error)
				error = count_unknown(holds, lock->open);
			holds->counts.dropped += !count;
			remove_hold(holds, lock, lock->open);
		}
	return error;
}
