// SPDX-License-Identifier: GPL-2.0
/* What the kernel's locking functions do, and how locks are laid out in memory. */
#include <string.h>

#include "../../base/base.h"
#include "calls.h"

/* A mutex and an rtmutex have flags in the low bits of the owner's address. */
#define MUTEX_FLAGS 7ull
#define RTMUTEX_FLAGS 1ull
/* An rwsem's count: whether a writer has it, and from a bit on how many readers. */
#define RWSEM_WRITER 1ull
#define RWSEM_READERS 8
/* An rwlock's: the writer's byte, and from a bit on how many readers. */
#define RWLOCK_WRITER 0xffull
#define RWLOCK_READERS 9
/* With PREEMPT_RT, both have in place of that: whether a writer has it, and how many readers. */
#define RT_WRITER (1u << 30)
#define RT_READERS (RT_WRITER - 1)
/* A spinlock's byte that says that it is taken. */
#define SPIN_TAKEN 0xffull

static const struct kl_lock_call calls[] = {
#define KL_LOCK_CALL(name, operation, type, disables, result) \
	{ #name, KL_LOCK_##operation, KL_LOCK_##type, KL_LOCK_##disables, KL_LOCK_##result },
#include "calls.def"
#undef KL_LOCK_CALL
};

const struct kl_lock_call *kl_lock_call_at(size_t index)
{
	return index < KL_ARRAY_SIZE(calls) ? &calls[index] : NULL;
}

const struct kl_lock_call *kl_lock_call_find(const char *name, size_t length)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(calls); i++)
		if (strlen(calls[i].name) == length && !strncmp(calls[i].name, name, length))
			return &calls[i];
	return NULL;
}

bool kl_lock_call_has(const struct kl_lock_call *call, uint64_t result)
{
	/* An int: the upper half of the register is undefined. */
	bool zero = !(uint32_t)result;

	switch (call->result) {
	case KL_LOCK_ZERO:
	case KL_LOCK_TRY_ZERO:
		return zero;
	case KL_LOCK_NONZERO:
	case KL_LOCK_TRY:
		return !zero;
	default:
		return true;
	}
}

bool kl_lock_type_spins(enum kl_lock_type type)
{
	return type == KL_LOCK_SPIN || type == KL_LOCK_RWLOCK_READ || type == KL_LOCK_RWLOCK_WRITE;
}

bool kl_lock_type_reads(enum kl_lock_type type)
{
	return type == KL_LOCK_RWLOCK_READ || type == KL_LOCK_RWSEM_READ ||
	       type == KL_LOCK_PERCPU_READ;
}

static enum kl_lock_type for_writing(enum kl_lock_type type)
{
	switch (type) {
	case KL_LOCK_RWLOCK_READ:
		return KL_LOCK_RWLOCK_WRITE;
	case KL_LOCK_RWSEM_READ:
		return KL_LOCK_RWSEM_WRITE;
	case KL_LOCK_PERCPU_READ:
		return KL_LOCK_PERCPU_WRITE;
	default:
		return type;
	}
}

bool kl_lock_types_fit(enum kl_lock_type a, enum kl_lock_type b)
{
	return for_writing(a) == for_writing(b);
}

/* With PREEMPT_RT, all but raw spinlocks contain an rtmutex. */
static bool has_rtmutex(const struct kl_lock_call *call, bool realtime)
{
	return realtime && kl_lock_call_sleeps(call);
}

bool kl_lock_has_owner(const struct kl_lock_call *call, bool realtime)
{
	return call->type == KL_LOCK_RTMUTEX ||
	       ((call->type == KL_LOCK_MUTEX || call->type == KL_LOCK_SPIN) &&
		has_rtmutex(call, realtime));
}

bool kl_lock_is_free(const struct kl_lock_call *call, bool realtime, uint64_t word, uint64_t owner)
{
	const bool rt = has_rtmutex(call, realtime);

	if (kl_lock_has_owner(call, realtime))
		return !(owner & ~RTMUTEX_FLAGS);
	switch (call->type) {
	case KL_LOCK_MUTEX:
		return !(word & ~MUTEX_FLAGS);
	case KL_LOCK_RWSEM_READ:
		return rt ? !(word & RT_READERS) : !(word >> RWSEM_READERS);
	case KL_LOCK_RWSEM_WRITE:
		return !(word & (rt ? RT_WRITER : RWSEM_WRITER));
	case KL_LOCK_SPIN:
		return !(word & SPIN_TAKEN);
	case KL_LOCK_RWLOCK_READ:
		return rt ? !(word & RT_READERS) : !((uint32_t)word >> RWLOCK_READERS);
	case KL_LOCK_RWLOCK_WRITE:
		return !(word & (rt ? RT_WRITER : RWLOCK_WRITER));
	default:
		return false;
	}
}
