// SPDX-License-Identifier: GPL-2.0
/*
 * Decodes the entries of the kernel's locking functions and the tracepoints of contention. The
 * rules are in docs/design/locks.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/internal.h>
#include "../../base/base.h"
#include "../values.h"
#include "holds.h"

#define FUNCTION "fn:"
#define SWITCH "sched_switch"

/* What an event is. Key: address of the class. @call: NULL: not a locking function */
struct hold_class {
	uint64_t key;
	bool known;
	const struct kl_lock_call *call;
	int lock;
};

/* ---------------------------------------------------------------------- selection */

/* Of which kind a function's locks are; 0: it is not followed. */
static unsigned int kind_of(const struct kl_lock_call *call)
{
	static const unsigned int kinds[] = {
		[KL_LOCK_SPIN] = KL_LOCK_SPINLOCKS,	  [KL_LOCK_RWLOCK_READ] = KL_LOCK_RWLOCKS,
		[KL_LOCK_RWLOCK_WRITE] = KL_LOCK_RWLOCKS, [KL_LOCK_MUTEX] = KL_LOCK_MUTEXES,
		[KL_LOCK_RWSEM_READ] = KL_LOCK_RWSEMS,	  [KL_LOCK_RWSEM_WRITE] = KL_LOCK_RWSEMS,
		[KL_LOCK_RTMUTEX] = KL_LOCK_RTMUTEXES,
	};

	if (call->operation != KL_LOCK_TAKE && call->operation != KL_LOCK_RELEASE &&
	    call->operation != KL_LOCK_DOWNGRADE)
		return 0;
	/* It calls mutex_lock(). */
	if (!strcmp(call->name, "mutex_lock_io"))
		return 0;
	return call->type < KL_ARRAY_SIZE(kinds) ? kinds[call->type] : 0;
}

size_t kl_lock_holds_specs(struct kl_buffer *buffer, unsigned int kinds,
			   const struct kl_symbols *symbols)
{
	const struct kl_lock_call *call;
	struct kl_symbol symbol;
	size_t n = 0;

	for (size_t i = 0; (call = kl_lock_call_at(i)); i++) {
		if (!(kind_of(call) & kinds) || !kl_symbols_lookup(symbols, call->name, &symbol))
			continue;
		kl_buffer_printf(buffer, FUNCTION "%s,", call->name);
		n++;
	}
	if (kinds & ~(unsigned int)KL_LOCK_SLEEPING)
		kl_buffer_printf(buffer, SWITCH ",");
	kl_buffer_printf(buffer, "contention_begin,contention_end");
	return n;
}

static void describe_class(struct hold_class *c, const struct kl_class *class)
{
	static const char *const fields[] = { "lock", "sem", "arg1" };
	const char *name = class->name;

	c->known = true;
	c->lock = -1;
	if (strncmp(name, FUNCTION, strlen(FUNCTION)))
		return;
	name += strlen(FUNCTION);
	c->call = kl_lock_call_find(name, strlen(name));
	for (size_t i = 0; i < KL_ARRAY_SIZE(fields) && c->lock < 0; i++)
		c->lock = kl_class_field(class, fields[i]);
	if (c->call && (c->lock < 0 || !kind_of(c->call)))
		c->call = NULL;
}

bool kl_lock_holds_is_in(const struct kl_schema *schema)
{
	const struct kl_class *class = NULL;

	while ((class = kl_schema_next(schema, class))) {
		struct hold_class c = {};

		describe_class(&c, class);
		if (c.call)
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------------- creation */

struct kl_lock_holds *kl_lock_holds_create(const struct kl_schema *schema)
{
	struct kl_lock_holds *holds = calloc(1, sizeof(*holds));

	if (!holds) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	holds->schema = schema;
	holds->locks = kl_locks_create(schema, false);
	if (!holds->locks) {
		free(holds);
		return NULL;
	}
	holds->kstack = kl_schema_find_variable(schema, "kstack");
	holds->task_switch = kl_schema_find(schema, SWITCH);
	if (holds->task_switch)
		holds->next_tid = kl_class_field(holds->task_switch, "next_tid");
	holds->classes.size = sizeof(struct hold_class);
	holds->held.size = sizeof(struct kl_held_lock);
	holds->places.size = sizeof(struct kl_lock_wait);
	holds->pairs.size = sizeof(struct kl_hold_pair);
	return holds;
}

void kl_lock_holds_destroy(struct kl_lock_holds *holds)
{
	if (!holds)
		return;
	kl_hold_forget(holds, false);
	while (holds->spare) {
		struct kl_hold *next = holds->spare->next;

		free(holds->spare);
		holds->spare = next;
	}
	kl_locks_destroy(holds->locks);
	kl_hash_deinit(&holds->classes);
	kl_hash_deinit(&holds->held);
	kl_profile_list_deinit(&holds->places);
	kl_profile_list_deinit(&holds->pairs);
	free(holds->sum);
	free(holds->pair_sum);
	free(holds);
}

/* ------------------------------------------------------------------------- events */

static int add_call(struct kl_lock_holds *holds, const struct kl_event *event,
		    const struct hold_class *c, bool hidden)
{
	const bool sleeps = kl_lock_call_sleeps(c->call);
	struct kl_hold_event e = { .call = c->call, .ns = event->ns, .hidden = hidden };
	const struct kl_lock_name *function;

	e.who = sleeps && event->task.tid ? event->task.tid : KL_HOLD_CPUS + event->cpu;
	/* Zeros also where the struct has gaps: equal places are found by their bytes. */
	memset(&e.what, 0, sizeof(e.what));
	e.what.address = kl_field_of(event, c->lock);
	e.what.type = c->call->type;
	e.what.tid = event->task.tid;
	if (!e.what.address)
		return 0;
	if (c->call->operation != KL_LOCK_TAKE)
		return kl_hold_release(holds, &e);
	e.what.pid = event->task.pid;
	e.what.stack = (uint32_t)kl_variable_of(event, holds->kstack);
	/* What kernlens takes in order to read a user stack, in the middle of an event. */
	e.hidden |= holds->kstack >= 0 && !e.what.stack;
	function = kl_locks_function(holds->locks, e.what.stack, kl_contention_is_inner);
	if (!function)
		return -ENOMEM;
	e.what.function = function->name;
	return kl_hold_take(holds, &e);
}

int kl_lock_holds_add(struct kl_lock_holds *holds, const struct kl_event *event, bool hidden)
{
	const struct kl_contention *contention = &holds->locks->contention;
	struct hold_class *c = kl_hash_get(&holds->classes, (uintptr_t)event->event_class);
	int error = kl_locks_learn_names(holds->locks, event);

	if (!holds->counts.first_ns)
		holds->counts.first_ns = event->ns;
	holds->counts.last_ns = event->ns;
	if (!c || error)
		return -ENOMEM;
	if (!c->known)
		describe_class(c, event->event_class);
	if (c->call)
		return add_call(holds, event, c, hidden);
	if (event->event_class == holds->task_switch)
		return kl_hold_pass(holds, event->cpu,
				    (int32_t)kl_field_of(event, holds->next_tid));
	if (event->event_class == contention->begin)
		kl_hold_wait(holds, kl_field_of(event, contention->lock), event,
			     (int32_t)kl_field_of(event, contention->owner));
	else if (event->event_class == contention->end)
		return kl_hold_waited(holds, kl_field_of(event, contention->end_lock), event,
				      kl_field_of(event, contention->ret));
	return 0;
}

void kl_lock_holds_add_loss(struct kl_lock_holds *holds)
{
	kl_hold_forget(holds, false);
}

void kl_lock_holds_use_memory(struct kl_lock_holds *holds)
{
	kl_locks_use_memory(holds->locks);
}

const struct kl_lock_holds_counts *kl_lock_holds_counts(struct kl_lock_holds *holds)
{
	kl_hold_forget(holds, true);
	return &holds->counts;
}
